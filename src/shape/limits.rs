//! Limits of shapes, which bound the time and memory that a hostile message can take.

/// The maximum nesting depth of shapes. A tuple or a buffer adds one level, and a physical shape
/// adds two.
///
/// A serialized shape of this depth stays below 100 nested messages, the recursion limit of
/// protobuf's decoders.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of shapes in a tuple, including the tuple itself and all nested shapes.
pub const MAX_SHAPES: usize = 65_536;

/// The maximum number of tiles in a layout.
pub const MAX_TILES: usize = 64;
