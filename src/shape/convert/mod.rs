//! Between [`Shape`](super::Shape) and its proto; every error names the field by its path.

mod from_proto;
#[cfg(test)]
mod tests;
mod to_proto;

/// `?` in a dimension and `*` in a tile.
const UNBOUNDED: i64 = i64::MIN;
