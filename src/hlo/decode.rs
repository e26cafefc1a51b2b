//! Decodes modules from serialized protos.
//!
//! The decoder splits a message into its fields, and decodes, checks and converts one instruction
//! at a time. Decoding the whole message first would be simpler, but a hostile message could then
//! take many times its size in memory before the first check.

use std::collections::HashMap;

use prost::Message;

use super::{
    Builder, HloError, InstructionError, MAX_COMPUTATIONS, MAX_INSTRUCTIONS, MAX_LITERAL_BYTES,
    MAX_MODULE_BYTES, Module, Opcode,
    alias::DonatedBuffers,
    attributes::{self, OpcodeContext},
    infer::is_dynamic,
    literal_proto,
    source_line::StackFrames,
    wire::{WireFields, malformed},
};
use crate::{
    proto::hlo as proto,
    shape::{FieldPath, Shape},
};

/// The first bytes of MLIR's bytecode. Users may mistake it for a proto, because JAX also exports
/// modules in this form, so it has an error of its own.
const MLIR_BYTECODE: &[u8] = b"ML\xefR";

impl Module {
    /// Decodes a serialized `xla.HloModuleProto`, or an `xla.HloProto` that contains one.
    ///
    /// The decoder skips fields that do not affect data movement. If the compiler does not support
    /// an instruction, the module keeps the instruction without its attributes; see
    /// [`Opcode::Other`].
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is neither message, if the module is invalid, or if it exceeds a
    /// limit on instructions, computations, nested calls or bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HloError> {
        let parts = ModuleParts::read(module_message(bytes)?)?;
        let mut builder = Builder::new(parts.name);
        let mut ids = HashMap::with_capacity(parts.computations.len());
        let mut decoded = 0;
        for bytes in &parts.computations {
            let computation = ComputationParts::read(bytes)?;
            let place = computation.build(&mut builder, &ids, &parts.frames, &mut decoded)?;
            if ids.insert(computation.id, place).is_some() {
                return Err(HloError::Field {
                    field: FieldPath::new("computations").index(place).field("id"),
                    given: format!("{} is taken by a computation before this one", computation.id),
                    accepted: "each number once",
                });
            }
        }
        let Some(&entry) = ids.get(&parts.entry) else {
            return Err(HloError::Field {
                field: FieldPath::new("entry_computation_id"),
                given: format!("{} is no computation", parts.entry),
                accepted: "the number of a computation",
            });
        };
        let field = FieldPath::new("host_program_shape");
        let Some(buffers) = parts.buffers else {
            return Err(HloError::Field {
                field,
                given: "missing".to_owned(),
                accepted: "the shapes of the entry computation's parameters and result",
            });
        };
        let parameter = |(i, shape): (usize, &proto::Shape)| {
            let field = || field.clone().field("parameters").index(i);
            Shape::try_from(shape).map_err(|error| error.below(&field()))
        };
        let parameters =
            buffers.parameters.iter().enumerate().map(parameter).collect::<Result<_, _>>()?;
        let result = field.field("result");
        let shape = buffers.result.unwrap_or_default();
        let shape = Shape::try_from(&shape).map_err(|error| error.below(&result))?;
        let donated = DonatedBuffers {
            aliases: parts.aliases.entries.into_iter().map(Into::into).collect(),
            donors: parts.donors.entries.into_iter().map(Into::into).collect(),
        };
        builder.module(entry, parameters, shape)?.with_donated_buffers(donated)
    }
}

/// Returns the bytes of the `HloModuleProto`: the contents of field 1 if `bytes` is an `HloProto`,
/// and all of `bytes` if it is an `HloModuleProto` already.
///
/// The two messages are told apart by their fields. An `HloProto` has only the fields 1 and 3, and
/// an `HloModuleProto` always has `host_program_shape`, which is field 4.
pub(super) fn module_message(bytes: &[u8]) -> Result<&[u8], HloError> {
    if bytes.starts_with(MLIR_BYTECODE) {
        return Err(HloError::Field {
            field: FieldPath::new("bytes"),
            given: "MLIR bytecode".to_owned(),
            accepted: "a serialized HloModuleProto, or the module's text, which JAX's \
                       `exported.mlir_module()` and `stablehlo-translate --deserialize` give",
        });
    }
    let mut module = None;
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            1 => module = Some(field.message("hlo_module")?),
            3 => {}
            _ => return Ok(bytes),
        }
    }
    module.ok_or_else(|| malformed("bytes", "no module").into())
}

/// The fields of a module, with its computations still serialized.
struct ModuleParts<'a> {
    name: &'a str,
    computations: Vec<&'a [u8]>,
    buffers: Option<proto::ProgramShape>,
    entry: i64,
    aliases: proto::HloInputOutputAliasProto,
    donors: proto::HloBufferDonorProto,
    frames: StackFrames,
}

impl<'a> ModuleParts<'a> {
    /// Splits the message of a module into its fields, and decodes the short ones. Skips fields
    /// that do not affect data movement.
    fn read(bytes: &'a [u8]) -> Result<Self, HloError> {
        let mut parts = Self {
            name: "",
            computations: Vec::new(),
            buffers: None,
            entry: 0,
            aliases: proto::HloInputOutputAliasProto::default(),
            donors: proto::HloBufferDonorProto::default(),
            frames: StackFrames::default(),
        };
        let mut frames = proto::StackFrameIndexProto::default();
        for field in WireFields::of(bytes) {
            let field = field?;
            match field.number {
                1 => parts.name = field.text("name")?,
                3 => {
                    let (given, limit) = (parts.computations.len() + 1, MAX_COMPUTATIONS);
                    if given > limit {
                        return Err(HloError::TooManyComputations { given, limit });
                    }
                    parts.computations.push(field.message("computations")?);
                }
                4 => {
                    let message = field.message("host_program_shape")?;
                    let buffers = parts.buffers.get_or_insert_default();
                    merge(buffers, message, "host_program_shape")?;
                }
                6 => parts.entry = field.number("entry_computation_id")?,
                8 => {
                    let message = field.message("input_output_alias")?;
                    merge(&mut parts.aliases, message, "input_output_alias")?;
                }
                18 => {
                    let message = field.message("buffer_donor")?;
                    merge(&mut parts.donors, message, "buffer_donor")?;
                }
                17 => {
                    let message = field.message("stack_frame_index")?;
                    merge(&mut frames, message, "stack_frame_index")?;
                }
                _ => {}
            }
        }
        parts.frames = frames.into();
        Ok(parts)
    }
}

/// Merges a serialized message into `known`, because the wire format allows a message field to
/// occur several times. Returns an error if the message is malformed or too long.
fn merge(known: &mut impl Message, message: &[u8], name: &'static str) -> Result<(), HloError> {
    within_limit(message.len())?;
    Ok(known.merge(message).map_err(|error| malformed(name, &error.to_string()))?)
}

/// Returns an error if the number of decoded bytes exceeds [`MAX_MODULE_BYTES`].
fn within_limit(given: usize) -> Result<(), HloError> {
    if given > MAX_MODULE_BYTES {
        return Err(HloError::TooManyBytes { given, limit: MAX_MODULE_BYTES });
    }
    Ok(())
}

/// The fields of a computation, with its instructions still serialized.
struct ComputationParts<'a> {
    name: &'a str,
    instructions: Vec<&'a [u8]>,
    id: i64,
    root: i64,
}

impl<'a> ComputationParts<'a> {
    /// Splits the message of a computation into its fields.
    fn read(bytes: &'a [u8]) -> Result<Self, HloError> {
        let mut parts = Self { name: "", instructions: Vec::new(), id: 0, root: 0 };
        for field in WireFields::of(bytes) {
            let field = field?;
            match field.number {
                1 => parts.name = field.text("computations.name")?,
                2 => {
                    let (given, limit) = (parts.instructions.len() + 1, MAX_INSTRUCTIONS);
                    if given > limit {
                        return Err(HloError::TooManyInstructions { given, limit });
                    }
                    parts.instructions.push(field.message("computations.instructions")?);
                }
                5 => parts.id = field.number("computations.id")?,
                6 => parts.root = field.number("computations.root_id")?,
                _ => {}
            }
        }
        Ok(parts)
    }

    /// Decodes the instructions and adds them to `builder`, finishes the computation, and returns
    /// its index in the module. `computations` maps the id of each earlier computation to its
    /// index. `decoded` counts the bytes that were decoded in all computations, which are limited.
    fn build(
        &self,
        builder: &mut Builder,
        computations: &HashMap<i64, usize>,
        frames: &StackFrames,
        decoded: &mut usize,
    ) -> Result<usize, HloError> {
        builder.begin(self.name);
        let mut ids = HashMap::with_capacity(self.instructions.len());
        for bytes in &self.instructions {
            let (proto, literal) = split_literal(bytes, decoded)?;
            builder.source(proto.metadata.as_ref().and_then(|metadata| frames.line(metadata)));
            instruction(proto, literal.as_deref(), builder, &mut ids, computations)?;
        }
        let Some(&root) = ids.get(&low_bits(self.root)) else {
            let place = builder.computations().len();
            return Err(HloError::Field {
                field: FieldPath::new("computations").index(place).field("root_id"),
                given: format!("{} is no instruction of the computation", self.root),
                accepted: "the number of an instruction",
            });
        };
        builder.computation(self.name, root)
    }
}

/// Returns the low 32 bits of an instruction's id. XLA identifies instructions inside a computation
/// by these bits only.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // only the low bits are wanted
pub(super) fn low_bits(id: i64) -> u32 {
    id as u32
}

/// Converts one instruction and adds it to `builder`. Records its index under its id in `ids`, for
/// later instructions that use it as an operand.
fn instruction(
    proto: proto::HloInstructionProto,
    literal: Option<&[u8]>,
    builder: &mut Builder,
    ids: &mut HashMap<u32, usize>,
    computations: &HashMap<i64, usize>,
) -> Result<(), HloError> {
    let read = |builder: &Builder| -> Result<(Opcode, Vec<usize>, Shape), InstructionError> {
        if ids.contains_key(&low_bits(proto.id)) {
            let (field, given) = (FieldPath::new("id"), low_bits(proto.id).into());
            return Err(InstructionError::Taken { field, given });
        }
        let field = FieldPath::new("shape");
        let shape = proto.shape.as_ref().ok_or_else(|| InstructionError::Missing {
            field: field.clone(),
            accepted: "what the instruction gives",
        })?;
        let shape = Shape::try_from(shape).map_err(|error| error.below(&field))?;
        let operands =
            places("operand_ids", &proto.operand_ids, |id| ids.get(&low_bits(id)).copied())?;
        let called = &proto.called_computation_ids;
        let called = places("called_computation_ids", called, |id| computations.get(&id).copied())?;
        let literal = match literal {
            Some(bytes) if proto.opcode == "constant" && !is_dynamic(&shape) => {
                Some(literal_proto::decode(bytes)?)
            }
            _ => None,
        };
        let instructions = builder.instructions();
        let shapes: Vec<&Shape> =
            operands.iter().map(|&place| instructions[place].shape()).collect();
        let context = OpcodeContext { literal, called, operands: &shapes, shape: Some(&shape) };
        Ok((attributes::opcode(&proto, context)?, operands, shape))
    };
    let (opcode, operands, shape) =
        read(builder).map_err(|error| builder.instruction_error(&proto.name, error))?;
    let id = low_bits(proto.id);
    let place = builder.add_named(proto.name, opcode, operands, Some(shape))?;
    ids.insert(id, place);
    Ok(())
}

/// Splits the message of an instruction into its literal, which is still serialized, and a message
/// with all other fields. The literal is split off because it has a separate limit.
fn split_literal(
    bytes: &[u8],
    decoded: &mut usize,
) -> Result<(proto::HloInstructionProto, Option<Vec<u8>>), HloError> {
    let mut literal: Option<Vec<u8>> = None;
    let mut rest = proto::HloInstructionProto::default();
    for field in WireFields::of(bytes) {
        let field = field?;
        if field.number == 8 {
            let given = field.message("literal")?;
            let length = literal.as_ref().map_or(0, Vec::len).saturating_add(given.len());
            if length > MAX_LITERAL_BYTES {
                let (given, limit) = (length, MAX_LITERAL_BYTES);
                return Err(HloError::TooManyLiteralBytes { given, limit });
            }
            // The wire format allows a message field to occur several times, and requires that the
            // occurrences are merged. Concatenating their bytes has this effect.
            literal.get_or_insert_default().extend_from_slice(given);
        } else {
            *decoded += field.raw.len();
            within_limit(*decoded)?;
            rest.merge(field.raw)
                .map_err(|error| malformed("computations.instructions", &error.to_string()))?;
        }
    }
    Ok((rest, literal))
}

/// Converts a list of ids to indices of instructions or computations. `find` returns the index for
/// an id, or `None` if there is no such id, which is an error. `name` is the name of the field with
/// the ids.
fn places(
    name: &'static str,
    ids: &[i64],
    find: impl Fn(i64) -> Option<usize>,
) -> Result<Vec<usize>, InstructionError> {
    let accepted = match name {
        "operand_ids" => "the number of an instruction before this one, of the same computation",
        _ => "the number of a computation before this one",
    };
    let place = |(i, &id): (usize, &i64)| {
        let field = || FieldPath::new(name).index(i);
        let given = || id.to_string();
        find(id).ok_or_else(|| InstructionError::Unknown {
            field: field(),
            given: given(),
            accepted,
        })
    };
    ids.iter().enumerate().map(place).collect()
}
