//! Limits of shapes. They bound the time and memory that a hostile message can take.

/// The deepest nesting of shapes: tuples, buffers, and physical shapes, which count twice.
///
/// A serialized shape of this depth stays below the recursion limit of protobuf's decoders, 100
/// messages.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of shapes in a tuple, itself and the parts of its parts included.
pub const MAX_SHAPES: usize = 65_536;

/// The maximum number of tiles in a layout.
pub const MAX_TILES: usize = 64;
