//! A module may come from an untrusted source, so stridec limits the modules that it accepts. The
//! limits bound the time and the memory that a hostile module can take. A module that exceeds one
//! is refused with an error that names the limit.

/// The maximum total number of instructions in all computations of a module. In StableHLO text, the
/// arguments and the results of operations count as well.
pub const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The maximum number of computations in a module.
pub const MAX_COMPUTATIONS: usize = 1 << 16;

/// The maximum number of computations in a chain of callers and callees. Some passes recurse from a
/// caller to its callees, so an unlimited chain could overflow the stack.
pub(super) const MAX_CALL_DEPTH: usize = 256;

/// The maximum size of a module in bytes, without the values of its constants, which have the limit
/// [`MAX_LITERAL_BYTES`]. It applies to the length of a text, and to the part of a proto that is
/// decoded; fields of the module that stridec does not need are skipped and not counted.
pub const MAX_MODULE_BYTES: usize = 64 << 20;

/// The maximum total number of shapes in the operands of all calls and fusions. Every such shape is
/// compared with the shape of a parameter, so a small module that passes a large tuple to many
/// calls would take long to check. A tuple counts as one shape plus the shapes of its elements.
pub(super) const MAX_CALLED_SHAPES: usize = 1 << 26;

/// The maximum total size of all constants of a module, in bytes.
pub const MAX_LITERAL_BYTES: usize = 64 << 20;
