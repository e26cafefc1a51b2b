//! The limits of the modules that stridec reads. They bound the time and memory that hostile
//! modules can take.

/// The maximum number of instructions in a module, over all its computations.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The maximum number of computations in a module.
pub const MAX_COMPUTATIONS: usize = 1 << 16;

/// The maximum nesting depth of calls and fusions.
pub(super) const MAX_CALL_DEPTH: usize = 256;

/// The maximum number of bytes read of a module, without constants and skipped fields.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// The maximum number of shapes among the operands of all calls and fusions. A tuple counts with
/// all its elements.
pub(super) const MAX_CALLED_SHAPES: usize = 1 << 26;

/// The maximum number of bytes of all constants in a module.
pub const MAX_LITERAL_BYTES: usize = 64 << 20;
