//! What an instruction gives, from its operands and attributes: the rules of XLA's `shape_inference.cc`.

mod checks;
mod elementwise;
mod indexed;
mod movement;
mod reduce;
mod structure;

use super::{Computation, InstructionError, Opcode};
use crate::{
    shape::{Dimension, FieldPath, Shape},
    xla::shape_util,
};

type Result<T> = std::result::Result<T, InstructionError>;

/// What is known of an instruction beside its opcode.
pub(super) struct Inputs<'a> {
    /// The shapes of its operands.
    pub(super) operands: &'a [&'a Shape],
    /// The shape that it declares; a builder may leave it out.
    pub(super) declared: Option<&'a Shape>,
    /// The computations that it may call.
    pub(super) computations: &'a [Computation],
}

impl<'a> Inputs<'a> {
    /// The declared shape, of an opcode that does not give one itself.
    fn declared(&self) -> Result<&'a Shape> {
        let accepted = "a shape, which the operands and attributes of this opcode do not give";
        let missing = || InstructionError::Missing { field: FieldPath::new("shape"), accepted };
        self.declared.ok_or_else(missing)
    }

    /// Whether an extent of an operand or of the result is a bound or unknown.
    pub(super) fn are_dynamic(&self) -> bool {
        self.operands.iter().copied().chain(self.declared).any(is_dynamic)
    }
}

/// Whether an extent is a bound or unknown.
pub(super) fn is_dynamic(shape: &Shape) -> bool {
    shape.dimensions().iter().any(|extent| !matches!(extent, Dimension::Fixed(_)))
        || shape.tuple_shapes().iter().any(is_dynamic)
}

/// The shape that an instruction gives. Layouts are left out, or those of an operand or of the declared shape.
///
/// # Errors
///
/// Where the operands or the attributes break a rule of the opcode, or the declared shape is another.
pub(super) fn infer(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    let inferred = given(opcode, inputs)?;
    match inputs.declared {
        Some(declared) if !shape_util::compatible(&inferred, declared) => {
            Err(checks::mismatch(inferred.without_layout().to_string(), declared))
        }
        _ => Ok(inferred),
    }
}

/// What the operands and the attributes give.
fn given(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    match opcode {
        Opcode::Parameter { .. } => structure::parameter(inputs),
        Opcode::Constant(literal) => structure::constant(literal, inputs),
        Opcode::Copy | Opcode::OptBarrier | Opcode::IdentityCall(_) => structure::same(inputs),
        Opcode::Tuple => structure::tuple(inputs),
        Opcode::GetTupleElement { index } => structure::element(*index, inputs),
        Opcode::Call { computation } | Opcode::Fusion { computation, .. } => {
            structure::call(*computation, inputs)
        }
        Opcode::Other { computations, .. } => structure::other(computations, inputs),
        Opcode::Iota { dimension } => movement::iota(*dimension, inputs),
        Opcode::Bitcast => movement::bitcast(inputs),
        Opcode::BitcastConvert => movement::bitcast_convert(inputs),
        Opcode::Reshape => movement::reshape(inputs),
        Opcode::Transpose { dimensions } => movement::transpose(dimensions, inputs),
        Opcode::Broadcast { dimensions } => movement::broadcast(dimensions, inputs),
        Opcode::Reverse { dimensions } => movement::reverse(dimensions, inputs),
        Opcode::Slice { dimensions } => movement::slice(dimensions, inputs),
        Opcode::Pad { dimensions } => movement::pad(dimensions, inputs),
        Opcode::Concatenate { dimension } => movement::concatenate(*dimension, inputs),
        Opcode::DynamicSlice { sizes } => indexed::dynamic_slice(sizes, inputs),
        Opcode::DynamicUpdateSlice => indexed::dynamic_update_slice(inputs),
        Opcode::Gather(gather) => indexed::gather(gather, inputs),
        Opcode::Scatter(scatter) => indexed::scatter(scatter, inputs),
        Opcode::Reduce { dimensions, computation } => {
            reduce::reduce(dimensions, *computation, inputs)
        }
        Opcode::Convert => elementwise::convert(inputs),
        Opcode::Compare { .. } => elementwise::compare(inputs),
        Opcode::Select => elementwise::select(inputs),
        Opcode::Clamp => elementwise::clamp(inputs),
        Opcode::Unary(unary) => elementwise::unary(*unary, inputs),
        Opcode::Binary(binary) => elementwise::binary(*binary, inputs),
        Opcode::Complex => elementwise::complex(inputs),
        Opcode::Real | Opcode::Imag => elementwise::part(inputs),
    }
}
