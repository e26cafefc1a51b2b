//! Reshape, bitcast and bitcast-convert: an index under other dimensions.

use super::literal::signed;
use crate::nest::{Assembly, Index, NestError, WalkRegion};

/// Converts an index under the dimensions `from` to the index of the same element under `to`, both
/// row-major.
///
/// Groups of dimensions with equal products are folded to one coordinate and split again. If a fold
/// undoes an earlier split, the weights add up and no quotient remains.
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
        // Find the shortest groups, of at least one dimension, with equal numbers of elements on
        // both sides.
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

/// The error of an array with more elements than a nest counts.
const TOO_LARGE: NestError = NestError::PAST_LIMIT;
