//! Converts between [`Shape`](super::Shape) and its proto. Every error contains the path of the
//! wrong field.

mod from_proto;
#[cfg(test)]
mod tests;
mod to_proto;

/// The number that represents `?` among the extents of a shape, and `*` among the extents of a
/// tile.
const UNBOUNDED: i64 = i64::MIN;
