//! Limits on the modules that stridec accepts. They bound the time and the memory that a hostile
//! module can use.

/// The maximum number of instructions in all computations of a module together.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The maximum number of computations in a module.
pub const MAX_COMPUTATIONS: usize = 1 << 16;

/// The maximum depth of nested calls and fusions.
pub(super) const MAX_CALL_DEPTH: usize = 256;

/// The maximum size of a serialized module without its constants and skipped fields, in bytes.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// The maximum number of shapes in the operands of all calls and fusions together. A tuple counts
/// as one shape plus the shapes of all its elements.
pub(super) const MAX_CALLED_SHAPES: usize = 1 << 26;

/// The maximum total size of all constants in a module, in bytes.
pub const MAX_LITERAL_BYTES: usize = 64 << 20;
