//! The integers of a nest: how large they become, and what is computed with them.

/// The most elements of an image that a nest counts, and the greatest magnitude of any form over its walk.
///
/// Sums of a few forms, and of products of extents and strides, then fit 63 bits.
pub(super) const LIMIT: u64 = 1 << 60;

/// A count of a nest as a signed number.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).expect("a nest counts at most 2^60 units")
}

/// The greatest common divisor; that of 0 and `n` is the magnitude of `n`.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
