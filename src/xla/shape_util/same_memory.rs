//! Compares the memory of two tensors. If every element has the same offset in both, a bitcast can
//! change one into the other.

use crate::{
    nest::{NestError, places},
    stride::StrideDescriptor,
    xla::index_util::bump_indices,
};

/// The maximum number of elements whose offsets are compared individually, if the layouts are
/// written differently. A higher limit takes more time, and a lower one misses more pairs of equal
/// layouts.
const COMPARE_LIMIT: u64 = 1 << 22;

/// Returns true if two tensors have memories of equal size in which the *i*-th element in row-major
/// order has the same offset, for every *i*.
///
/// The padding between the elements must be the same too. If `ignore_element_type` is true, element
/// types, element widths and padding are ignored. A result of true is always correct. A result of
/// false can be wrong in one case: two tilings of more than 2^22 elements that are written
/// differently and agree on the first 2^22 elements.
///
/// # Errors
///
/// Returns an error if a tensor has more than 2^60 elements.
pub(super) fn same_memory(
    a: &StrideDescriptor,
    b: &StrideDescriptor,
    ignore_element_type: bool,
) -> Result<bool, NestError> {
    let same_type = a.element_type() == b.element_type() && a.element_bits() == b.element_bits();
    let same_padding = a.padding() == b.padding()
        && (a.padding() == 0 || padded_elements(a) == padded_elements(b));
    if a.elements() != b.elements()
        || a.physical_elements() != b.physical_elements()
        || a.prefix_bytes() != b.prefix_bytes()
        || !(same_type && same_padding || ignore_element_type)
    {
        return Ok(false);
    }
    if a.elements() == 0 {
        return Ok(true);
    }
    if places(a)? == places(b)? {
        return Ok(true);
    }
    Ok(agree_one_by_one(a, b))
}

/// Returns the number of elements of the padded array, including the padding but not the tail.
fn padded_elements(tensor: &StrideDescriptor) -> u64 {
    tensor.axes().iter().map(|axis| axis.extent).product()
}

fn agree_one_by_one(a: &StrideDescriptor, b: &StrideDescriptor) -> bool {
    let (mut in_a, mut in_b) = (vec![0; a.rank()], vec![0; b.rank()]);
    for _ in 0..COMPARE_LIMIT {
        match (a.offset(&in_a), b.offset(&in_b)) {
            (Ok(place), Ok(other)) if place == other => {}
            _ => return false,
        }
        if !bump_indices(a.sizes(), &mut in_a) || !bump_indices(b.sizes(), &mut in_b) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nest::build, shape::Shape, window::Window};

    /// Compares the result with the offsets of all elements.
    #[test]
    fn the_answer_agrees_with_all_offsets() {
        let layouts = [
            "{2,1,0}",
            "{0,1,2}",
            "{1,2,0}",
            "{2,0,1}",
            "{2,1,0:T(2,2)}",
            "{2,1,0:T(4)}",
            "{2,1,0:T(1,4)}",
            "{2,1,0:T(2,4)(2,1)}",
            "{2,1,0:PAD(2,3,5)}",
            "{2,1,0:T(*,4)}",
            "{1,2,0:T(3)}",
            "{2,1,0:T(3,4)}",
            "{2,1,0:T(6)(4)}",
        ];
        let (mut yes, mut no) = (0, 0);
        let few = if cfg!(miri) { 1 } else { 5 };
        for dimensions in ["2,3,4", "1,6,4", "4,3,2", "2,12,1", "2,3,5"].into_iter().take(few) {
            for (a, b) in layouts.iter().flat_map(|a| layouts.iter().map(move |b| (a, b))) {
                let Ok(a) = format!("u8[2,3,4]{a}").parse::<Shape>() else { continue };
                let Ok(b) = format!("u8[{dimensions}]{b}").parse::<Shape>() else { continue };
                let lowered = [&a, &b].map(|s| StrideDescriptor::try_from(s).unwrap());
                let expected = lowered[0].physical_elements() == lowered[1].physical_elements()
                    && lowered[0].elements() == lowered[1].elements()
                    && agree_one_by_one(&lowered[0], &lowered[1]);
                assert_eq!(same_memory(&lowered[0], &lowered[1], false), Ok(expected), "{a} {b}");
                if expected { yes += 1 } else { no += 1 }
            }
        }
        assert!(yes > 4 * few && no > 20 * few, "{yes} {no}");
    }

    #[test]
    fn places_after_the_elements_count() {
        let [plain, tail] = ["u8[2,3]", "u8[2,3]{1,0:L(8)}"]
            .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
        assert_eq!(same_memory(&plain, &tail, true), Ok(false));
    }

    /// Checks prefixes that are too long to be compared as elements.
    #[test]
    fn prefixes_are_equal_whatever_their_size() {
        let [none, short, long] = ["", "M(4)", "M(1152921504606846900)"].map(|prefix| {
            let shape: Shape = format!("s4[2,3]{{1,0:E(4){prefix}}}").parse().unwrap();
            StrideDescriptor::try_from(&shape).unwrap()
        });
        let outside = build(&long, &long, &Window::identity(&[2, 3]));
        assert!(matches!(outside, Err(NestError::TooLarge { .. })), "{outside:?}");
        for (a, b, same) in [(&short, &short, true), (&long, &long, true), (&short, &long, false)] {
            assert_eq!(same_memory(a, b, false), Ok(same));
        }
        assert_eq!(same_memory(&none, &short, true), Ok(false));
    }
}
