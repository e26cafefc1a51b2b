//! Limits of shapes. They bound the time and memory that a hostile message can take.

/// The maximum nesting depth of shapes. Tuples and buffers count as one level, and physical shapes
/// as two.
///
/// A serialized shape of this depth stays below the recursion limit of protobuf's decoders, 100
/// messages.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of shapes in a tuple, including the tuple itself and all nested shapes.
pub const MAX_SHAPES: usize = 65_536;

/// The maximum number of tiles in a layout.
pub const MAX_TILES: usize = 64;
