//! Limits on the numbers in a nest, conversions between integer types, and the greatest common
//! divisor.

use std::ops::Rem;

/// The widest memory access of a kernel, in bytes: a `vec4<u32>`.
///
/// A unit of a nest is at most this wide. Tensors that are packed into one buffer start at
/// multiples of this size. A binding ends at a multiple of it if an access may extend past the end
/// of the tensor.
pub(crate) const ACCESS_BYTES: u64 = 16;

/// The maximum number of elements for which a tensor has room, and the maximum magnitude of any
/// expression of a nest.
///
/// With this limit, sums of a few expressions, or of products of extents and strides, fit in 63
/// bits.
pub(super) const LIMIT: u64 = 1 << 60;

/// Converts a number of units or elements to a signed integer. Panics if it does not fit, which
/// [`LIMIT`] prevents.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).expect("a nest counts at most 2^60 units")
}

/// Returns the greatest common divisor of two integers. If one of them is 0, the result is the
/// other.
pub(crate) fn gcd<N: Copy + Default + PartialEq + Rem<Output = N>>(mut a: N, mut b: N) -> N {
    while b != N::default() {
        (a, b) = (b, a % b);
    }
    a
}
