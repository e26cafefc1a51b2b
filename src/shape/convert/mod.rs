//! Conversions between [`Shape`](super::Shape) and its proto. Every error contains the path of the
//! offending field.

mod from_proto;
#[cfg(test)]
mod tests;
mod to_proto;

/// The number that represents `?` in a dimension and `*` in a tile.
const UNBOUNDED: i64 = i64::MIN;
