//! Converts an index between two shapes with the same elements, for reshape, bitcast and
//! bitcast-convert.
//!
//! For example, element (i,j) of an array `[6,4]` is element `n = 4·i + j` in row-major order. In
//! `[2,12]`, its index is (n / 12, n % 12).

use super::literal::signed;
use crate::nest::{Assembly, Index, NestError, WalkRegion};

/// Converts the index of an element in an array with the extents `from` to its index in an array
/// with the extents `to`. Elements are counted in row-major order in both arrays.
///
/// Consecutive dimensions whose extents have the same product in `from` and `to` form a group. The
/// indices along a group are joined to one number, which is then split along the dimensions of
/// `to`. If this split reverses an earlier one, the divisions cancel out.
pub(super) fn regroup(
    assembly: &mut Assembly,
    region: &mut WalkRegion,
    index: &[Index],
    from: &[u64],
    to: &[u64],
) -> Result<Vec<Index>, NestError> {
    let mut out = Vec::with_capacity(to.len());
    let (mut next_from, mut next_to) = (0, 0);
    while next_from < from.len() || next_to < to.len() {
        let (first_from, first_to) = (next_from, next_to);
        let (mut elements, mut wanted) = (1_u64, 1_u64);
        // Find the shortest next group that has at least one dimension of `to`, because short
        // groups need fewer divisions.
        loop {
            let take_from = elements <= wanted && next_from < from.len();
            if take_from {
                elements = elements.saturating_mul(from[next_from]);
                next_from += 1;
            } else if next_to < to.len() {
                wanted = wanted.saturating_mul(to[next_to]);
                next_to += 1;
            } else {
                break;
            }
            if elements == wanted && next_to > first_to {
                break;
            }
        }
        let (group, shape) = (first_from..next_from, &to[first_to..next_to]);
        if let ([only], [extent]) = (&index[group.clone()], shape)
            && from[first_from] == *extent
        {
            out.push(only.clone());
            continue;
        }
        let mut whole = Index::constant(0);
        for dimension in group {
            let scaled = whole.scaled(signed(from[dimension]), 0);
            whole = scaled.and_then(|whole| whole.plus(1, &index[dimension])).ok_or(TOO_LARGE)?;
        }
        let first = out.len();
        for &extent in shape.iter().rev() {
            let [quotient, rest] = if extent > 1 {
                assembly.divide(region, &whole, extent)?
            } else {
                [whole, Index::constant(0)]
            };
            out.insert(first, rest);
            whole = quotient;
        }
    }
    Ok(out)
}

/// The error for a group that has more elements than a nest can count.
const TOO_LARGE: NestError = NestError::PAST_LIMIT;
