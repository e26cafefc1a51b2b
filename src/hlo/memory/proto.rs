//! Decodes the fields of a serialized module that determine its memory, and skips all others. So it
//! can measure a module that is too large for [`Module::decode`](crate::hlo::Module::decode).

use std::{collections::HashMap, sync::Arc};

use prost::Message;

use super::scan::ScannedModule;
use crate::{
    hlo::{
        HloError, InputOutputAlias,
        decode::{low_bits, module_message},
        wire::{WireFields, malformed},
    },
    proto::hlo as proto,
    shape::{FieldPath, Shape},
};

type Result<T> = std::result::Result<T, HloError>;

/// Collects the instructions of a serialized module, without checking the rules of their opcodes.
pub(super) fn scan(bytes: &[u8]) -> Result<ScannedModule> {
    let mut scan = ScannedModule::default();
    let (mut entry, mut shapes) = (0, HashMap::new());
    for field in WireFields::of(module_message(bytes)?) {
        let field = field?;
        match field.number {
            3 => computation(field.message("computations")?, &mut scan, &mut shapes)?,
            4 => scan.buffers = buffers(field.message("host_program_shape")?)?,
            6 => entry = field.number("entry_computation_id")?,
            8 => scan.aliases = aliases(field.message("input_output_alias")?)?,
            _ => {}
        }
    }
    scan.entry = Some(entry);
    if scan.computations.is_empty() {
        return Err(malformed("computations", "no computation").into());
    }
    Ok(scan)
}

/// Decodes the shapes of the entry computation's parameters and result. Returns `None` if the
/// module does not declare a result.
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

/// Decodes a message. `name` is the name of its field, for the error.
fn decoded<M: Message + Default>(name: &str, bytes: &[u8]) -> Result<M> {
    M::decode(bytes).map_err(|error| malformed(name, &error.to_string()).into())
}

/// Decodes the list of arrays in the result that reuse buffers of parameters.
fn aliases(bytes: &[u8]) -> Result<Vec<InputOutputAlias>> {
    let aliases: proto::HloInputOutputAliasProto = decoded("input_output_alias", bytes)?;
    Ok(aliases.entries.into_iter().map(Into::into).collect())
}

/// The shapes that were decoded so far, by their serialized form. Most instructions of a module
/// share a few shapes, so this saves most of the decoding.
type KnownShapes<'a> = HashMap<&'a [u8], Arc<Shape>>;

/// Decodes a computation with its instructions, and adds them to `scan`.
fn computation<'a>(
    bytes: &'a [u8],
    scan: &mut ScannedModule,
    shapes: &mut KnownShapes<'a>,
) -> Result<()> {
    let (mut name, mut id, mut root) = ("", 0, 0);
    let (mut ids, mut instructions) = (HashMap::new(), Vec::new());
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            1 => name = field.text("computations.name")?,
            2 => {
                let message = field.message("computations.instructions")?;
                instructions.push(instruction(message, &mut ids, scan, shapes)?);
            }
            5 => id = field.number("computations.id")?,
            6 => root = field.number("computations.root_id")?,
            _ => {}
        }
    }
    let root = ids.get(&low_bits(root)).copied();
    scan.finish(id, name, instructions, root);
    Ok(())
}

/// Decodes an instruction and adds it to `scan`. Records its index under its id, and returns the
/// index.
fn instruction<'a>(
    bytes: &'a [u8],
    ids: &mut HashMap<u32, usize>,
    scan: &mut ScannedModule,
    shapes: &mut KnownShapes<'a>,
) -> Result<usize> {
    let (mut name, mut shape) = ("", None);
    let mut fields = proto::HloInstructionProto::default();
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            1 => name = field.text("computations.instructions.name")?,
            3 => shape = Some(field.message("computations.instructions.shape")?),
            2 | 9 | 13 | 35 | 36 | 38 | 74 => fields
                .merge(field.raw)
                .map_err(|error| malformed("computations.instructions", &error.to_string()))?,
            _ => {}
        }
    }
    let place = FieldPath::new("computations").index(scan.computations.len());
    let path = || place.clone().field("instructions").field("shape");
    let Some(bytes) = shape else {
        let (given, accepted) = ("missing".to_owned(), "what the instruction gives");
        return Err(HloError::Field { field: path(), given, accepted });
    };
    let shape = if let Some(shape) = shapes.get(bytes) {
        shape.clone()
    } else {
        let proto: proto::Shape = decoded("computations.instructions.shape", bytes)?;
        let shape = Shape::try_from(&proto).map_err(|error| error.below(&path()))?;
        let shape = Arc::new(shape);
        shapes.insert(bytes, shape.clone());
        shape
    };
    let operands = fields.operand_ids.iter().filter_map(|&id| ids.get(&low_bits(id)).copied());
    let operands = operands.collect();
    let id = low_bits(fields.id);
    let place = scan.add(name, &shape, &fields, operands)?;
    ids.insert(id, place);
    Ok(place)
}
