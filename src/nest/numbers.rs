//! Integers: the bounds that a nest keeps, conversions, and the greatest common divisor.

use std::ops::Rem;

/// The widest memory access of a kernel, in bytes: a `vec4<u32>`.
///
/// Units of a nest are at most this wide. Packed images begin at multiples of it, and bindings end
/// at one if an access may pass the end of the image.
pub(crate) const ACCESS_BYTES: u64 = 16;

/// The maximum number of elements of an image, and of the magnitude of any form over the walk.
///
/// Sums of a few forms, and of products of extents and strides, then fit 63 bits.
pub(super) const LIMIT: u64 = 1 << 60;

/// Converts a count of a nest to a signed number.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).expect("a nest counts at most 2^60 units")
}

/// Returns the greatest common divisor of two integers; if one of them is 0, the other.
///
/// If an argument is negative, the result may be negative too.
pub(crate) fn gcd<N: Copy + Default + PartialEq + Rem<Output = N>>(mut a: N, mut b: N) -> N {
    while b != N::default() {
        (a, b) = (b, a % b);
    }
    a
}
