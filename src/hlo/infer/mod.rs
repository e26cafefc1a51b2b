//! Infers an instruction's result shape from its operands and attributes. The rules are those of
//! XLA's `shape_inference.cc`.

mod checks;
mod elementwise;
mod indexed;
mod movement;
mod reduce;
mod structure;

use super::{Computation, InstructionError, Opcode};
use crate::shape::{Dimension, FieldPath, Shape, queries};

type Result<T> = std::result::Result<T, InstructionError>;

/// The inputs of shape inference, other than the opcode.
pub(super) struct Inputs<'a> {
    /// The shapes of the operands.
    pub(super) operands: &'a [&'a Shape],
    /// The declared shape. Instructions from a builder may lack one.
    pub(super) declared: Option<&'a Shape>,
    /// The computations that the instruction may call.
    pub(super) computations: &'a [Computation],
}

impl<'a> Inputs<'a> {
    /// Returns the declared shape, for opcodes whose operands and attributes do not determine the
    /// result shape. Returns an error if it is missing.
    fn declared(&self) -> Result<&'a Shape> {
        let accepted = "a shape, which the operands and attributes of this opcode do not give";
        let missing = || InstructionError::Missing { field: FieldPath::new("shape"), accepted };
        self.declared.ok_or_else(missing)
    }

    /// Returns true if any extent of an operand or of the declared shape is bounded or unknown.
    pub(super) fn are_dynamic(&self) -> bool {
        self.operands.iter().copied().chain(self.declared).any(is_dynamic)
    }
}

/// Returns true if any extent of the shape is bounded or unknown.
pub(super) fn is_dynamic(shape: &Shape) -> bool {
    shape.dimensions().iter().any(|extent| !matches!(extent, Dimension::Fixed(_)))
        || shape.tuple_shapes().iter().any(is_dynamic)
}

/// Infers the shape of an instruction and compares it with the declared shape, if there is one. The
/// layouts of the result are either missing or copied from an operand or the declared shape.
///
/// # Errors
///
/// Returns an error if the operands or the attributes break a rule of the opcode, or if the
/// declared shape differs from the inferred one.
pub(super) fn infer(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    let inferred = infer_undeclared(opcode, inputs)?;
    match inputs.declared {
        Some(declared) if !queries::compatible(&inferred, declared) => {
            Err(checks::mismatch(inferred.without_layout().to_string(), declared))
        }
        _ => Ok(inferred),
    }
}

/// Infers the shape without comparing it with the declared one.
fn infer_undeclared(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    match opcode {
        Opcode::Parameter { .. } => structure::parameter(inputs),
        Opcode::Constant(literal) => structure::constant(literal, inputs),
        Opcode::Copy | Opcode::OptBarrier | Opcode::IdentityCall(_) => structure::identity(inputs),
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
