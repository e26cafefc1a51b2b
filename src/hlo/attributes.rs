//! Converts the fields of an `xla.HloInstructionProto` to an [`Opcode`] with its attributes.
//!
//! The readers of HLO text and of StableHLO text store the attributes that they parse in such a
//! message, too. So this conversion and its checks are the same for a module in any form. The
//! checks that depend on the shapes of the operands are in `infer`.

use super::{
    Binary, ComparisonDirection, Gather, IdentityCall, InstructionError, Literal, Opcode,
    PaddingDimension, Scatter, SliceDimension, Unary,
    infer::{is_dynamic, mixes_floats},
};
use crate::{
    proto::hlo as proto,
    shape::{ElementType, FieldPath, Shape, ShapeError, queries},
};

type Result<T> = std::result::Result<T, InstructionError>;

/// The opcodes that accept extents that are bounded, such as `f32[<=8]`, or unknown, such as
/// `f32[?]`. They pass on whole values or call computations, so the extents do not matter. An
/// instruction with any other opcode becomes [`Opcode::Other`] if a shape has such an extent,
/// because the compiler supports it only with fixed extents.
const OPCODES_WITH_DYNAMIC_EXTENTS: [&str; 16] = [
    "parameter",
    "copy",
    "tuple",
    "get-tuple-element",
    "call",
    "fusion",
    "conditional",
    "async-start",
    "async-update",
    "async-done",
    "copy-start",
    "copy-done",
    "opt-barrier",
    "add-dependency",
    "domain",
    "custom-call",
];

/// Everything that [`opcode`] needs in addition to the instruction's message.
pub(super) struct OpcodeContext<'a> {
    /// The value of a constant. It is `None` for any other instruction, and also for a constant
    /// whose value the module omits.
    pub(super) literal: Option<Literal>,
    /// The called computations, as indices into the module's computations.
    pub(super) called: Vec<usize>,
    /// The shapes of the operands.
    pub(super) operands: &'a [&'a Shape],
    /// The declared shape of the instruction, or `None` if the shape will be inferred.
    pub(super) shape: Option<&'a Shape>,
}

/// Converts the fields of an instruction to an opcode with its attributes. Returns
/// [`Opcode::Other`] if the compiler does not support the instruction, for example because an
/// extent is dynamic.
pub(super) fn opcode(
    proto: &proto::HloInstructionProto,
    context: OpcodeContext<'_>,
) -> Result<Opcode> {
    let is_known =
        OPCODES_WITH_DYNAMIC_EXTENTS.contains(&proto.opcode.as_str()) || proto.opcode.is_empty();
    if !is_known && context.operands.iter().copied().chain(context.shape).any(is_dynamic) {
        return Ok(other(proto, context.called));
    }
    if is_mixed(proto, &context) {
        return Ok(other(proto, context.called));
    }
    known(proto, context)
}

/// Returns true if the operands and the result of an instruction have different float types, so
/// that XLA converts between them. The compiler does not support this, so such an instruction
/// becomes [`Opcode::Other`] and loses its attributes.
///
/// Copy and reshape are left out, because they have no attributes to lose. The builder replaces
/// them after it has checked their shapes.
fn is_mixed(proto: &proto::HloInstructionProto, context: &OpcodeContext<'_>) -> bool {
    let name = proto.opcode.as_str();
    !matches!(name, "copy" | "reshape")
        && Opcode::mixes_floats(name)
        && mixes_floats(context.operands.iter().copied().chain(context.shape))
}

/// Converts the fields of an instruction to an opcode as [`opcode`] does, but also accepts dynamic
/// extents and mixed float types, which shape inference can handle.
pub(super) fn known(
    proto: &proto::HloInstructionProto,
    context: OpcodeContext<'_>,
) -> Result<Opcode> {
    let dimensions = || naturals(|| FieldPath::new("dimensions"), &proto.dimensions);
    Ok(match proto.opcode.as_str() {
        "" => return Err(missing("opcode", "the name of an opcode, such as `transpose`")),
        "parameter" => {
            let number = index("parameter_number", proto.parameter_number)?;
            Opcode::Parameter { number }
        }
        "constant" => {
            let accepted = "the value of the constant, which dumps leave out that elide large ones";
            Opcode::Constant(context.literal.ok_or_else(|| missing("literal", accepted))?.into())
        }
        "iota" => Opcode::Iota { dimension: single_dimension(&dimensions()?)? },
        "copy" => Opcode::Copy,
        "bitcast" => Opcode::Bitcast,
        "bitcast-convert" => Opcode::BitcastConvert,
        "reshape" => Opcode::Reshape,
        "convert" => Opcode::Convert,
        "transpose" => Opcode::Transpose { dimensions: dimensions()? },
        "broadcast" => Opcode::Broadcast { dimensions: dimensions()? },
        "reverse" => Opcode::Reverse { dimensions: dimensions()? },
        "slice" => Opcode::Slice { dimensions: slice(proto)? },
        "pad" => Opcode::Pad { dimensions: padding(proto)? },
        "concatenate" => Opcode::Concatenate { dimension: single_dimension(&dimensions()?)? },
        "dynamic-slice" => {
            let field = || FieldPath::new("dynamic_slice_sizes");
            Opcode::DynamicSlice { sizes: naturals(field, &proto.dynamic_slice_sizes)? }
        }
        "dynamic-update-slice" => Opcode::DynamicUpdateSlice,
        // In XLA, an index vector may also have an entry for a batching dimension. The compiler
        // does not support this.
        "gather" => match gather(proto)? {
            gather if overlaps(&gather.operand_batching_dims, &gather.start_index_map) => {
                other(proto, context.called)
            }
            gather => Opcode::Gather(gather.into()),
        },
        "scatter" => Opcode::Scatter(scatter(proto, single_callee(&context)?)?.into()),
        // A reduce of several arrays returns a tuple. The compiler does not support it, so it
        // becomes `Opcode::Other`.
        "reduce" if context.operands.len() == 2 && context.shape.is_none_or(Shape::is_array) => {
            Opcode::Reduce { dimensions: dimensions()?, computation: single_callee(&context)? }
        }
        "sort" => Opcode::Sort {
            dimension: single_dimension(&dimensions()?)?,
            is_stable: proto.is_stable,
            computation: single_callee(&context)?,
        },
        "get-dimension-size" => {
            Opcode::GetDimensionSize { dimension: single_dimension(&dimensions()?)? }
        }
        "tuple" => Opcode::Tuple,
        "get-tuple-element" => {
            Opcode::GetTupleElement { index: index("tuple_index", proto.tuple_index)? }
        }
        "call" => Opcode::Call { computation: single_callee(&context)? },
        "fusion" => Opcode::Fusion {
            computation: single_callee(&context)?,
            kind: proto.fusion_kind.clone(),
        },
        "conditional" => Opcode::Conditional { computations: context.called },
        "async-start" => Opcode::AsyncStart { computation: single_callee(&context)? },
        "async-update" => Opcode::AsyncUpdate,
        "async-done" => Opcode::AsyncDone,
        "copy-start" => Opcode::CopyStart,
        "copy-done" => Opcode::CopyDone,
        "opt-barrier" => Opcode::OptBarrier,
        "add-dependency" => Opcode::AddDependency,
        "domain" => Opcode::Domain,
        "custom-call" => match IdentityCall::from_name(&proto.custom_call_target) {
            Some(call) if returns_its_operand(&context, call) => Opcode::IdentityCall(call),
            _ => other(proto, context.called),
        },
        "compare" => compare(proto)?,
        "select" => Opcode::Select,
        "clamp" => Opcode::Clamp,
        "complex" => Opcode::Complex,
        "real" => Opcode::Real,
        "imag" => Opcode::Imag,
        name => match (Unary::from_name(name), Binary::from_name(name)) {
            (Some(unary), _) => Opcode::Unary(unary),
            (_, Some(binary)) => Opcode::Binary(binary),
            _ => other(proto, context.called),
        },
    })
}

/// Returns true if two lists of dimensions have an entry in common.
fn overlaps(one: &[usize], other: &[usize]) -> bool {
    one.iter().any(|dimension| other.contains(dimension))
}

/// Returns true if the result of the custom call has the shape of its operand, as a call that
/// returns its operand must have. For `Pin` and `Unpin`, one of the two is a buffer of that shape.
fn returns_its_operand(context: &OpcodeContext<'_>, call: IdentityCall) -> bool {
    let ([operand], Some(shape)) = (context.operands, context.shape) else { return false };
    let content = |shape: &Shape, buffer: &Shape| {
        let content = buffer.tuple_shapes().first();
        buffer.element_type() == ElementType::Buffer
            && content.is_some_and(|content| queries::compatible(content, shape))
    };
    match call {
        IdentityCall::Pin => content(operand, shape),
        IdentityCall::Unpin => content(shape, operand),
        _ => queries::compatible(operand, shape),
    }
}

/// Returns [`Opcode::Other`], which keeps the name of the opcode, the target of a custom call and
/// the called computations, but no attributes.
fn other(proto: &proto::HloInstructionProto, computations: Vec<usize>) -> Opcode {
    let target = match proto.opcode.as_str() {
        "custom-call" => proto.custom_call_target.clone(),
        _ => String::new(),
    };
    Opcode::Other { opcode: proto.opcode.clone(), target, computations }
}

fn missing(field: &'static str, accepted: &'static str) -> InstructionError {
    InstructionError::Missing { field: FieldPath::new(field), accepted }
}

/// Returns the called computation of an opcode that calls exactly one. Returns an error if the
/// instruction calls none or several.
fn single_callee(context: &OpcodeContext<'_>) -> Result<usize> {
    match *context.called {
        [computation] => Ok(computation),
        _ => Err(InstructionError::Callee {
            expected: "one computation".to_owned(),
            given: context.called.len().to_string(),
        }),
    }
}

/// Returns the dimension of an opcode that works along exactly one. Returns an error if there is
/// none or several.
fn single_dimension(dimensions: &[usize]) -> Result<usize> {
    match *dimensions {
        [dimension] => Ok(dimension),
        _ => Err(ShapeError::Count {
            field: FieldPath::new("dimensions"),
            given: dimensions.len(),
            rank: 1,
            accepted: "the dimension that the opcode works along",
        }
        .into()),
    }
}

/// Converts the value of the field `name` to an index. Returns an error if it is negative.
fn index(name: &'static str, given: i64) -> Result<usize> {
    natural(|| FieldPath::new(name), given)
}

/// Converts a number that must not be negative. `field` is the path of the number, for the error.
fn natural<T: TryFrom<i64>>(field: impl FnOnce() -> FieldPath, given: i64) -> Result<T> {
    T::try_from(given).map_err(|_| {
        let (given, least, greatest) = (given.into(), 0, i64::MAX);
        ShapeError::Range { field: field(), given, least, greatest }.into()
    })
}

/// Converts a list of numbers that must not be negative.
fn naturals<T: TryFrom<i64>>(field: impl Fn() -> FieldPath, given: &[i64]) -> Result<Vec<T>> {
    given.iter().enumerate().map(|(i, &n)| natural(|| field().index(i), n)).collect()
}

/// Converts the ranges of a slice. Their numbers must not be negative.
fn slice(proto: &proto::HloInstructionProto) -> Result<Vec<SliceDimension>> {
    let convert = |(i, slice): (usize, &proto::hlo_instruction_proto::SliceDimensions)| {
        let field = |name| FieldPath::new("slice_dimensions").index(i).field(name);
        Ok(SliceDimension {
            start: natural(|| field("start"), slice.start)?,
            limit: natural(|| field("limit"), slice.limit)?,
            stride: natural(|| field("stride"), slice.stride)?,
        })
    };
    proto.slice_dimensions.iter().enumerate().map(convert).collect()
}

/// Converts the padding of each dimension of a pad. The interior padding must not be negative.
fn padding(proto: &proto::HloInstructionProto) -> Result<Vec<PaddingDimension>> {
    let accepted = "the padding of each dimension";
    let config = proto.padding_config.as_ref();
    let config = config.ok_or_else(|| missing("padding_config", accepted))?;
    let convert = |(i, pad): (usize, &proto::padding_config::PaddingConfigDimension)| {
        let field = || {
            let field = FieldPath::new("padding_config").field("dimensions");
            field.index(i).field("interior_padding")
        };
        Ok(PaddingDimension {
            edge_padding_low: pad.edge_padding_low,
            edge_padding_high: pad.edge_padding_high,
            interior_padding: natural(field, pad.interior_padding)?,
        })
    };
    config.dimensions.iter().enumerate().map(convert).collect()
}

/// Converts the dimension numbers of a gather, and the extents of its slices, which must not be
/// negative.
fn gather(proto: &proto::HloInstructionProto) -> Result<Gather> {
    let name = "gather_dimension_numbers";
    let numbers = proto.gather_dimension_numbers.as_ref();
    let numbers =
        numbers.ok_or_else(|| missing(name, "the dimensions of the indices and the slices"))?;
    let list = |field, given: &[i64]| naturals(|| FieldPath::new(name).field(field), given);
    let vector = || FieldPath::new(name).field("index_vector_dim");
    let sizes = || FieldPath::new("gather_slice_sizes");
    Ok(Gather {
        offset_dims: list("offset_dims", &numbers.offset_dims)?,
        collapsed_slice_dims: list("collapsed_slice_dims", &numbers.collapsed_slice_dims)?,
        start_index_map: list("start_index_map", &numbers.start_index_map)?,
        index_vector_dim: natural(vector, numbers.index_vector_dim)?,
        operand_batching_dims: list("operand_batching_dims", &numbers.operand_batching_dims)?,
        start_indices_batching_dims: list(
            "start_indices_batching_dims",
            &numbers.start_indices_batching_dims,
        )?,
        slice_sizes: naturals(sizes, &proto.gather_slice_sizes)?,
    })
}

/// Converts the dimension numbers of a scatter, which must not be negative. `computation` is the
/// index of the computation that combines elements.
fn scatter(proto: &proto::HloInstructionProto, computation: usize) -> Result<Scatter> {
    let name = "scatter_dimension_numbers";
    let numbers = proto.scatter_dimension_numbers.as_ref();
    let numbers =
        numbers.ok_or_else(|| missing(name, "the dimensions of the indices and the updates"))?;
    let list = |field, given: &[i64]| naturals(|| FieldPath::new(name).field(field), given);
    let vector = || FieldPath::new(name).field("index_vector_dim");
    Ok(Scatter {
        update_window_dims: list("update_window_dims", &numbers.update_window_dims)?,
        inserted_window_dims: list("inserted_window_dims", &numbers.inserted_window_dims)?,
        scatter_dims_to_operand_dims: list(
            "scatter_dims_to_operand_dims",
            &numbers.scatter_dims_to_operand_dims,
        )?,
        index_vector_dim: natural(vector, numbers.index_vector_dim)?,
        input_batching_dims: list("input_batching_dims", &numbers.input_batching_dims)?,
        scatter_indices_batching_dims: list(
            "scatter_indices_batching_dims",
            &numbers.scatter_indices_batching_dims,
        )?,
        computation,
    })
}

/// Converts the attributes of a comparison: its direction, and its type, which tells if floats are
/// compared in the total order.
fn compare(proto: &proto::HloInstructionProto) -> Result<Opcode> {
    let direction = ComparisonDirection::from_name(&proto.comparison_direction);
    let direction = direction.ok_or_else(|| InstructionError::Unknown {
        field: FieldPath::new("comparison_direction"),
        given: format!("`{}`", crate::text::excerpt(&proto.comparison_direction, 40)),
        accepted: "EQ, NE, GE, GT, LE or LT",
    })?;
    let total_order = proto.comparison_type == "TOTALORDER";
    Ok(Opcode::Compare { direction, total_order })
}
