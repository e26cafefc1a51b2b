//! Limits for the modules that stridec accepts. They bound the time and the memory that a hostile
//! module can take. A module that exceeds a limit is refused.

/// The maximum total number of instructions in all computations of a module.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The maximum number of computations in a module.
pub const MAX_COMPUTATIONS: usize = 1 << 16;

/// The maximum depth of nested calls and fusions, because some passes recurse over calls.
pub(super) const MAX_CALL_DEPTH: usize = 256;

/// The maximum size of a serialized module, in bytes. Constants and skipped fields are not
/// included.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// The maximum total number of shapes in the operands of all calls and fusions, because each is
/// compared with a parameter. A tuple counts as one shape plus the shapes of its elements.
pub(super) const MAX_CALLED_SHAPES: usize = 1 << 26;

/// The maximum total size of all constants of a module, in bytes.
pub const MAX_LITERAL_BYTES: usize = 64 << 20;
