//! A scanner for serialized modules that reads only names, opcodes and shapes.

use prost::Message;

use super::scan::{ScannedModule, runs_callees};
use crate::{
    hlo::{
        HloError,
        decode::module_message,
        wire::{WireFields, malformed},
    },
    proto::hlo as proto,
    shape::{FieldPath, Shape},
};

type Result<T> = std::result::Result<T, HloError>;

/// Scans the instructions of a serialized module.
pub(super) fn scan(bytes: &[u8]) -> Result<ScannedModule<'_>> {
    let mut scan = ScannedModule::default();
    let mut entry = 0;
    for field in WireFields::of(module_message(bytes)?) {
        let field = field?;
        match field.number {
            3 => computation(field.message("computations")?, &mut scan)?,
            4 => scan.buffers = buffers(field.message("host_program_shape")?)?,
            6 => entry = field.number("entry_computation_id")?,
            _ => {}
        }
    }
    scan.entry = Some(entry);
    if scan.count() == 0 {
        return Err(malformed("computations", "no computation").into());
    }
    Ok(scan)
}

fn buffers(bytes: &[u8]) -> Result<Option<(Vec<Shape>, Shape)>> {
    let path = FieldPath::new("host_program_shape");
    let program: proto::ProgramShape = decoded("host_program_shape", bytes)?;
    let Some(result) = &program.result else { return Ok(None) };
    let result =
        Shape::try_from(result).map_err(|error| error.below(&path.clone().field("result")))?;
    let parameters = program.parameters.iter().enumerate().map(|(i, shape)| {
        let field = || path.clone().field("parameters").index(i);
        Shape::try_from(shape).map_err(|error| error.below(&field()))
    });
    Ok(Some((parameters.collect::<std::result::Result<_, _>>()?, result)))
}

fn decoded<M: Message + Default>(name: &str, bytes: &[u8]) -> Result<M> {
    M::decode(bytes).map_err(|error| malformed(name, &error.to_string()).into())
}

fn computation<'a>(bytes: &'a [u8], scan: &mut ScannedModule<'a>) -> Result<()> {
    let (mut name, mut id, mut root) = ("", 0, 0);
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            1 => name = field.text("computations.name")?,
            5 => id = field.number("computations.id")?,
            6 => root = field.number("computations.root_id")?,
            _ => {}
        }
    }
    scan.computation(id, name);
    for field in WireFields::of(bytes) {
        let field = field?;
        if field.number == 2 {
            instruction(field.message("computations.instructions")?, root, scan)?;
        }
    }
    Ok(())
}

/// Adds an instruction. It is the root if the low 32 bits of its id equal those of `root`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // only the low bits are wanted
fn instruction<'a>(bytes: &'a [u8], root: i64, scan: &mut ScannedModule<'a>) -> Result<()> {
    let (mut name, mut opcode, mut shape, mut id) = ("", "", None, 0);
    let mut called = Vec::new();
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            1 => name = field.text("computations.instructions.name")?,
            2 => opcode = field.text("computations.instructions.opcode")?,
            3 => shape = Some(field.message("computations.instructions.shape")?),
            35 => id = field.number("computations.instructions.id")?,
            38 => called.push(field.raw),
            _ => {}
        }
    }
    if !runs_callees(opcode) {
        for field in called {
            let fields: proto::HloInstructionProto =
                decoded("computations.instructions.called_computation_ids", field)?;
            scan.applied.extend(fields.called_computation_ids);
        }
    }
    let place = FieldPath::new("computations").index(scan.count() - 1);
    let path = || place.clone().field("instructions").field("shape");
    let Some(shape) = shape else {
        let (given, accepted) = ("missing".to_owned(), "what the instruction gives");
        return Err(HloError::Field { field: path(), given, accepted });
    };
    scan.instruction(name, opcode, id as u32 == root as u32, shape, || {
        let proto: proto::Shape = decoded("computations.instructions.shape", shape)?;
        Ok(Shape::try_from(&proto).map_err(|error| error.below(&path()))?)
    })
}
