//! Encodes modules as serialized `xla.HloModuleProto` messages, which XLA can read.

use prost::Message;

use super::{Computation, Instruction, Module, Opcode, literal_proto};
use crate::{proto::hlo as proto, shape::Shape};

impl Module {
    /// Serializes the module as an `xla.HloModuleProto`. As in XLA, every array in the message has
    /// a layout, even if it is the default one. [`Module::decode`] decodes the result to a module
    /// that is equal except for these explicit layouts.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let program_shape = proto::ProgramShape {
            parameters: self.parameters().iter().map(shape).collect(),
            result: Some(shape(self.result())),
            parameter_names: parameter_names(self.entry()),
        };
        let module = proto::HloModuleProto {
            name: self.name().to_owned(),
            entry_computation_name: self.entry().name().to_owned(),
            host_program_shape: Some(program_shape),
            entry_computation_id: int64(self.entry_index() as u64),
            input_output_alias: self.donated_buffers().into(),
            buffer_donor: self.donated_buffers().into(),
            ..Default::default()
        };
        // Encode one instruction at a time, because the messages of all instructions together would
        // take more memory than the module.
        let mut bytes = module.encode_to_vec();
        let mut first = 1;
        for (id, computation) in self.computations().iter().enumerate() {
            push(&mut bytes, COMPUTATIONS, &encoded(computation, int64(id as u64), first));
            first += int64(computation.instructions().len() as u64);
        }
        bytes
    }
}

/// The tag of the field `HloModuleProto.computations`: its number, and the wire type of a message.
const COMPUTATIONS: u8 = 3 << 3 | 2;

/// The tag of the field `HloComputationProto.instructions`: its number, and the wire type of a
/// message.
const INSTRUCTIONS: u8 = 2 << 3 | 2;

/// Appends a field that contains a serialized message: its tag, its length as an integer of
/// variable length, and its bytes.
#[allow(clippy::cast_possible_truncation)] // seven bits at a time
fn push(bytes: &mut Vec<u8>, tag: u8, message: &[u8]) {
    bytes.push(tag);
    let mut length = message.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(message);
}

/// Serializes a computation. Its instructions get consecutive ids from `first` on, so that an id is
/// unique in the module.
fn encoded(computation: &Computation, id: i64, first: i64) -> Vec<u8> {
    let number = |place: usize| first + int64(place as u64);
    let program_shape = proto::ProgramShape {
        parameters: computation.parameter_shapes().map(shape).collect(),
        result: Some(shape(computation.root_shape())),
        parameter_names: parameter_names(computation),
    };
    let message = proto::HloComputationProto {
        name: computation.name().to_owned(),
        instructions: Vec::new(),
        program_shape: Some(program_shape),
        id,
        root_id: number(computation.root()),
    };
    let mut bytes = message.encode_to_vec();
    for (place, instruction) in computation.instructions().iter().enumerate() {
        let message = proto::HloInstructionProto {
            id: number(place),
            operand_ids: instruction.operands().iter().map(|&place| number(place)).collect(),
            ..self::instruction(instruction)
        };
        push(&mut bytes, INSTRUCTIONS, &message.encode_to_vec());
    }
    bytes
}

/// Converts a shape, and adds the default layout to each array that has no layout.
fn shape(shape: &Shape) -> proto::Shape {
    (&shape.clone().with_default_layouts()).into()
}

fn parameter_names(computation: &Computation) -> Vec<String> {
    let instructions = computation.instructions();
    let places = computation.parameters().iter();
    places.map(|&place| instructions[place].name().to_owned()).collect()
}

/// Converts a number to the type that protos use. A number that is too large becomes the greatest
/// one.
fn int64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn numbers(list: &[usize]) -> Vec<i64> {
    list.iter().map(|&number| int64(number as u64)).collect()
}

fn sizes(list: &[u64]) -> Vec<i64> {
    list.iter().copied().map(int64).collect()
}

/// Converts an instruction. The caller adds the id and the ids of the operands, because they depend
/// on the position of the computation in the module.
fn instruction(instruction: &Instruction) -> proto::HloInstructionProto {
    let opcode = instruction.opcode();
    let mut proto = proto::HloInstructionProto {
        name: instruction.name().to_owned(),
        opcode: opcode.name().to_owned(),
        shape: Some(shape(instruction.shape())),
        called_computation_ids: numbers(opcode.computations()),
        metadata: instruction.source().map(|source| proto::OpMetadata {
            source_file: source.file().to_owned(),
            source_line: i32::try_from(source.line()).unwrap_or(i32::MAX),
            ..Default::default()
        }),
        ..Default::default()
    };
    match opcode {
        Opcode::Parameter { number } => proto.parameter_number = int64(*number as u64),
        Opcode::Constant(literal) => proto.literal = Some(literal_proto::encode(literal)),
        Opcode::Iota { dimension }
        | Opcode::Concatenate { dimension }
        | Opcode::GetDimensionSize { dimension } => proto.dimensions = numbers(&[*dimension]),
        Opcode::Sort { dimension, is_stable, .. } => {
            proto.dimensions = numbers(&[*dimension]);
            proto.is_stable = *is_stable;
        }
        Opcode::Transpose { dimensions }
        | Opcode::Broadcast { dimensions }
        | Opcode::Reverse { dimensions }
        | Opcode::Reduce { dimensions, .. } => proto.dimensions = numbers(dimensions),
        Opcode::Slice { dimensions } => {
            let slice =
                |slice: &super::SliceDimension| proto::hlo_instruction_proto::SliceDimensions {
                    start: int64(slice.start),
                    limit: int64(slice.limit),
                    stride: int64(slice.stride),
                };
            proto.slice_dimensions = dimensions.iter().map(slice).collect();
        }
        Opcode::Pad { dimensions } => {
            let pad =
                |pad: &super::PaddingDimension| proto::padding_config::PaddingConfigDimension {
                    edge_padding_low: pad.edge_padding_low,
                    edge_padding_high: pad.edge_padding_high,
                    interior_padding: int64(pad.interior_padding),
                };
            let dimensions = dimensions.iter().map(pad).collect();
            proto.padding_config = Some(proto::PaddingConfig { dimensions });
        }
        Opcode::DynamicSlice { sizes: list } => proto.dynamic_slice_sizes = sizes(list),
        Opcode::Gather(gather) => {
            proto.gather_slice_sizes = sizes(&gather.slice_sizes);
            proto.gather_dimension_numbers = Some(proto::GatherDimensionNumbers {
                offset_dims: numbers(&gather.offset_dims),
                collapsed_slice_dims: numbers(&gather.collapsed_slice_dims),
                start_index_map: numbers(&gather.start_index_map),
                index_vector_dim: int64(gather.index_vector_dim as u64),
                operand_batching_dims: numbers(&gather.operand_batching_dims),
                start_indices_batching_dims: numbers(&gather.start_indices_batching_dims),
            });
        }
        Opcode::Scatter(scatter) => {
            proto.scatter_dimension_numbers = Some(proto::ScatterDimensionNumbers {
                update_window_dims: numbers(&scatter.update_window_dims),
                inserted_window_dims: numbers(&scatter.inserted_window_dims),
                scatter_dims_to_operand_dims: numbers(&scatter.scatter_dims_to_operand_dims),
                index_vector_dim: int64(scatter.index_vector_dim as u64),
                input_batching_dims: numbers(&scatter.input_batching_dims),
                scatter_indices_batching_dims: numbers(&scatter.scatter_indices_batching_dims),
            });
        }
        Opcode::GetTupleElement { index } => proto.tuple_index = int64(*index as u64),
        Opcode::Fusion { kind, .. } => proto.fusion_kind.clone_from(kind),
        Opcode::IdentityCall(call) => call.name().clone_into(&mut proto.custom_call_target),
        Opcode::Other { target, .. } => proto.custom_call_target.clone_from(target),
        Opcode::Compare { direction, total_order } => {
            direction.name().clone_into(&mut proto.comparison_direction);
            if *total_order {
                "TOTALORDER".clone_into(&mut proto.comparison_type);
            }
        }
        _ => {}
    }
    proto
}
