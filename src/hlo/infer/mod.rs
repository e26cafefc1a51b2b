//! Infers the shape of an instruction's result from its operands and attributes. An instruction has
//! a result only if they fit each other, so they are checked at the same time. The rules follow
//! XLA's `shape_inference.cc`. [`Builder`](super::Builder) applies them to every instruction, so
//! that every module is valid.
//!
//! Two words occur in the submodules. The *declared* shape is the one that the module itself gives
//! for the result of an instruction. An extent is *dynamic* if it is bounded, as in `f32[<=8]`, or
//! unknown, as in `f32[?]`; otherwise it is *fixed*.

mod checks;
mod elementwise;
mod indexed;
mod movement;
mod reduce;
mod structure;

use super::{InstructionError, Opcode};
use crate::shape::{Dimension, ElementType, FieldPath, Shape, queries};

pub(super) use reduce::reduced;

type Result<T> = std::result::Result<T, InstructionError>;

/// The inputs of shape inference in addition to the opcode with its attributes.
pub(super) struct Inputs<'a> {
    /// The shapes of the operands.
    pub(super) operands: &'a [&'a Shape],
    /// The declared shape of the result. Protos and most texts declare it; an instruction that is
    /// built in code may have none.
    pub(super) declared: Option<&'a Shape>,
    /// The computations that the instruction may call.
    pub(super) callees: &'a dyn Callees,
}

/// The name of a computation and the shapes of its parameters and its result, against which calls
/// are checked.
pub(super) struct Signature<'a> {
    pub(super) name: &'a str,
    /// The shapes of the parameters, in their order.
    pub(super) parameters: Vec<&'a Shape>,
    pub(super) result: &'a Shape,
}

/// The computations that instructions may call. The builder and the memory report store them in
/// different types.
pub(super) trait Callees {
    /// Returns the signature of the computation with this index in the module, or `None` if there
    /// is none.
    fn signature(&self, computation: usize) -> Option<Signature<'_>>;
}

impl<'a> Inputs<'a> {
    /// Returns the declared shape of an opcode whose operands and attributes do not determine the
    /// shape of the result. Returns an error if there is no declared shape.
    fn declared(&self) -> Result<&'a Shape> {
        let accepted = "a shape, which the operands and attributes of this opcode do not give";
        let missing = || InstructionError::Missing { field: FieldPath::new("shape"), accepted };
        self.declared.ok_or_else(missing)
    }

    /// Returns true if an operand or the declared shape has a dynamic extent.
    pub(super) fn are_dynamic(&self) -> bool {
        self.operands.iter().copied().chain(self.declared).any(is_dynamic)
    }
}

/// Infers the shape of an instruction that mixes float types, if XLA accepts mixed types for its
/// opcode. The result is the declared shape, because the rules do not determine its float type.
/// Returns `None` for any other instruction.
///
/// # Errors
///
/// Returns an error if the instruction has no declared shape. If its opcode calls no computation,
/// also returns the errors of [`infer`] for the same instruction with `f32` in place of all float
/// types.
pub(super) fn infer_mixed(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Option<Shape>> {
    let mut all = inputs.operands.iter().copied().chain(inputs.declared);
    if !mixes_floats(all.clone())
        || !Opcode::mixes_floats(opcode.name())
        || all.any(|shape| !shape.is_array())
    {
        return Ok(None);
    }
    if opcode.computations().is_empty() {
        let operands = all_with_equal_floats(inputs.operands)?;
        let operands: Vec<&Shape> = operands.iter().collect();
        let declared = inputs.declared.map(with_equal_floats).transpose()?;
        let declared = declared.as_ref();
        infer(opcode, &Inputs { operands: &operands, declared, ..*inputs })?;
    }
    Ok(Some(inputs.declared()?.clone()))
}

/// Returns true if two of the shapes are arrays of different float types.
pub(super) fn mixes_floats<'a>(shapes: impl Iterator<Item = &'a Shape>) -> bool {
    let mut floats = shapes.map(Shape::element_type).filter(|&of| is_float(of));
    floats.next().is_some_and(|first| floats.any(|other| other != first))
}

/// Returns true if the type is a real floating-point type.
fn is_float(element_type: ElementType) -> bool {
    element_type.float_bits(0.0).is_some()
        || matches!(element_type, ElementType::F32 | ElementType::F64)
}

/// Returns the shapes of arrays with `f32` in place of every float type, so that rules that require
/// equal types can be checked.
fn all_with_equal_floats(shapes: &[&Shape]) -> Result<Vec<Shape>> {
    shapes.iter().map(|shape| with_equal_floats(shape)).collect()
}

/// Returns the shape of an array with `f32` in place of any float type.
fn with_equal_floats(shape: &Shape) -> Result<Shape> {
    let element_type = match shape.element_type() {
        float if is_float(float) => ElementType::F32,
        other => other,
    };
    Ok(Shape::array(element_type, shape.dimensions().iter().copied(), None)?)
}

/// Returns true if the shape, or an array inside it, has a dynamic extent.
pub(super) fn is_dynamic(shape: &Shape) -> bool {
    shape.dimensions().iter().any(|extent| !matches!(extent, Dimension::Fixed(_)))
        || shape.tuple_shapes().iter().any(is_dynamic)
}

/// Infers the shape of an instruction, and compares it with the declared shape if there is one.
/// Layouts are not compared, and the returned shape may have none.
///
/// # Errors
///
/// Returns an error if the operands or the attributes break a rule of the opcode, or if the
/// declared shape differs from the inferred one.
pub(super) fn infer(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    let inferred = inferred(opcode, inputs)?;
    match inputs.declared {
        Some(declared) if !queries::compatible(&inferred, declared) => {
            Err(checks::mismatch(inferred.without_layout().to_string(), declared))
        }
        _ => Ok(inferred),
    }
}

/// Infers the shape of an instruction that has no declared shape.
///
/// XLA's text parser does this for instructions whose shape the text omits. As there, the operands
/// may mix float types. The result then has the widest one, except for a clamp, a
/// dynamic-update-slice and a scatter, whose results have the type of the array that is clamped or
/// updated. Bounds of the operands become bounds of the result.
///
/// # Errors
///
/// Returns an error if the operands or the attributes break a rule of the opcode, or do not
/// determine the shape.
pub(super) fn infer_undeclared(
    opcode: &Opcode,
    operands: &[&Shape],
    callees: &dyn Callees,
) -> Result<Shape> {
    let inputs = Inputs { operands, declared: None, callees };
    let result = inferred(opcode, &inputs);
    let is_mixed = Opcode::mixes_floats(opcode.name())
        && mixes_floats(operands.iter().copied())
        && operands.iter().all(|shape| shape.is_array());
    if result.is_ok() || !is_mixed {
        return result;
    }
    let equal = all_with_equal_floats(operands)?;
    let equal: Vec<&Shape> = equal.iter().collect();
    let shape = inferred(opcode, &Inputs { operands: &equal, ..inputs })?;
    if !shape.is_array() || !is_float(shape.element_type()) {
        return Ok(shape);
    }
    let element_type = match opcode {
        Opcode::Clamp => operands[1].element_type(),
        Opcode::DynamicUpdateSlice | Opcode::Scatter(_) => operands[0].element_type(),
        _ => widest_float(operands),
    };
    Ok(Shape::array(element_type, shape.dimensions().iter().copied(), None)?)
}

/// Returns the widest float type of the operands. If several have this width, returns the first of
/// them.
fn widest_float(operands: &[&Shape]) -> ElementType {
    let floats = operands.iter().map(|shape| shape.element_type()).filter(|&of| is_float(of));
    let wider = |a: ElementType, b: ElementType| if b.bits() > a.bits() { b } else { a };
    floats.reduce(wider).unwrap_or(ElementType::F32)
}

/// Infers the shape of an instruction by the rule of its opcode. Uses the declared shape only if
/// the operands and attributes do not determine the result. Does not compare the result with it.
fn inferred(opcode: &Opcode, inputs: &Inputs<'_>) -> Result<Shape> {
    match opcode {
        Opcode::Parameter { .. } => structure::parameter(inputs),
        Opcode::Constant(literal) => structure::constant(literal, inputs),
        Opcode::Copy | Opcode::OptBarrier | Opcode::Domain => structure::identity(inputs),
        Opcode::IdentityCall(call) => structure::identity_call(*call, inputs),
        Opcode::AddDependency => structure::add_dependency(inputs),
        Opcode::Conditional { computations } => structure::conditional(computations, inputs),
        Opcode::AsyncStart { computation } => structure::async_start(*computation, inputs),
        Opcode::AsyncUpdate => structure::async_update(inputs),
        Opcode::AsyncDone => structure::element(1, inputs),
        Opcode::CopyStart => structure::copy_start(inputs),
        Opcode::CopyDone => structure::element(0, inputs),
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
        Opcode::Sort { dimension, computation, .. } => {
            reduce::sort(*dimension, *computation, inputs)
        }
        Opcode::GetDimensionSize { dimension } => structure::dimension_size(*dimension, inputs),
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
