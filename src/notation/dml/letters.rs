//! Layouts and strides from the letters of dimensions: `NHWC` over `NCHW`, `WH`, `WHD`.

use smallvec::SmallVec;

use super::DmlError;
use crate::{
    shape::{excerpt, permutation, signed},
    stride::StrideError,
};

/// The letters that need no `over`, in the order of their logical dimensions: DirectML's, and XLA's `p z y x`.
const CANONICAL: [&str; 2] = ["NCDHW", "PZYX"];

/// Reads a layout from letters, the most major in memory first; capitals and small letters are the same.
///
/// `over` gives the letters of the logical dimensions. Without it they stand in their customary order: NCHW, NCDHW, HW,
/// DHW, or any part of these; `x` is the last of `y x`, `z y x` and `p z y x`.
///
/// ```
/// use stridec::notation::dml::minor_to_major_from_letters as letters;
/// assert_eq!(letters("NHWC", None, 4)?[..], [1, 3, 2, 0]);
/// assert_eq!(letters("WHD", None, 3)?[..], [0, 1, 2]);
/// assert_eq!(letters("NHWC", Some("NHWC"), 4)?[..], [3, 2, 1, 0]);
/// assert_eq!(
///     letters("NHWC", None, 3).unwrap_err().to_string(),
///     "layout letters \"NHWC\": expected 3 letters, one for each dimension, got 4"
/// );
/// # Ok::<(), stridec::notation::dml::DmlError>(())
/// ```
///
/// # Errors
///
/// Where a letter repeats, is not among the logical dimensions, or there are not as many as `rank`.
pub fn minor_to_major_from_letters(
    order: &str,
    over: Option<&str>,
    rank: usize,
) -> Result<SmallVec<[usize; 8]>, DmlError> {
    let physical = distinct(order)?;
    let logical = match over {
        Some(over) => distinct(over)?,
        None => customary(order, &physical)?,
    };
    for (text, letters) in [(order, &physical), (over.unwrap_or(order), &logical)] {
        if letters.len() != rank {
            let (text, given) = (shown(text), letters.len());
            return Err(DmlError::LetterCount { text, given, rank });
        }
    }
    physical
        .iter()
        .rev()
        .map(|&letter| {
            logical
                .iter()
                .position(|&dimension| dimension == letter)
                .ok_or_else(|| unknown(order, letter, over.unwrap_or(order).to_owned()))
        })
        .collect()
}

/// The strides that letters give, in elements: those of [`minor_to_major_from_letters`] over packed sizes.
///
/// ```
/// use stridec::notation::dml::strides_from_letters;
/// assert_eq!(strides_from_letters("NCHW", None, &[1, 1, 3, 5])?[..], [15, 15, 5, 1]);
/// assert_eq!(strides_from_letters("NHWC", None, &[1, 1, 3, 5])?[..], [15, 1, 5, 1]);
/// # Ok::<(), stridec::notation::dml::DmlError>(())
/// ```
///
/// # Errors
///
/// As [`minor_to_major_from_letters`] and [`strides_from_minor_to_major`].
pub fn strides_from_letters(
    order: &str,
    over: Option<&str>,
    sizes: &[u32],
) -> Result<SmallVec<[u32; 8]>, DmlError> {
    strides_from_minor_to_major(sizes, &minor_to_major_from_letters(order, over, sizes.len())?)
}

/// Packed strides, in elements, of sizes whose dimensions lie in this order, the most minor first.
///
/// # Errors
///
/// Where the order is no permutation of the dimensions, or a stride passes 2^32-1.
pub fn strides_from_minor_to_major(
    sizes: &[u32],
    minor_to_major: &[usize],
) -> Result<SmallVec<[u32; 8]>, DmlError> {
    let order = permutation(&signed(minor_to_major), sizes.len());
    let mut strides = SmallVec::from_elem(0, sizes.len());
    let mut stride = 1_u64;
    for dimension in order.map_err(StrideError::from)? {
        let given = i64::try_from(stride).unwrap_or(i64::MAX);
        strides[dimension] =
            u32::try_from(stride).map_err(|_| DmlError::Stride { dimension, given })?;
        stride = stride.saturating_mul(u64::from(sizes[dimension]));
    }
    Ok(strides)
}

/// The interleaved-channel policy for any rank: dimension 1 lies innermost, the rest in order; NHWC, NDHWC.
///
/// ```
/// use stridec::notation::dml::interleaved_channel_minor_to_major;
/// assert_eq!(interleaved_channel_minor_to_major(4)[..], [1, 3, 2, 0]);
/// assert_eq!(interleaved_channel_minor_to_major(1)[..], [0]);
/// ```
#[must_use]
pub fn interleaved_channel_minor_to_major(rank: usize) -> SmallVec<[usize; 8]> {
    let channel = (rank > 1).then_some(1);
    channel
        .into_iter()
        .chain((0..rank).rev().filter(|&dimension| Some(dimension) != channel))
        .collect()
}

/// The letters in capitals, each once.
fn distinct(text: &str) -> Result<SmallVec<[char; 8]>, DmlError> {
    let mut letters: SmallVec<[char; 8]> = SmallVec::new();
    for letter in text.chars().map(|letter| letter.to_ascii_uppercase()) {
        if !letter.is_ascii_uppercase() {
            return Err(unknown(text, letter, "A to Z".to_owned()));
        }
        if letters.contains(&letter) {
            return Err(DmlError::RepeatedLetter { text: shown(text), letter });
        }
        letters.push(letter);
    }
    Ok(letters)
}

/// The letters in the order of their logical dimensions.
fn customary(text: &str, letters: &[char]) -> Result<SmallVec<[char; 8]>, DmlError> {
    let first = letters.first().copied().unwrap_or('N');
    let Some(known) = CANONICAL.into_iter().find(|known| known.contains(first)) else {
        return Err(unknown(text, first, CANONICAL.join(" or ")));
    };
    match letters.iter().find(|&&letter| !known.contains(letter)) {
        Some(&letter) => Err(unknown(text, letter, known.to_owned())),
        None => Ok(known.chars().filter(|letter| letters.contains(letter)).collect()),
    }
}

fn unknown(text: &str, letter: char, accepted: String) -> DmlError {
    DmlError::UnknownLetter { text: shown(text), letter, accepted }
}

/// The letters in messages: all that there can be, and the start of what is no letters.
fn shown(text: &str) -> String {
    excerpt(text, 30).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_lie_innermost_where_there_are_any() {
        assert_eq!(interleaved_channel_minor_to_major(1)[..], [0]);
        assert_eq!(interleaved_channel_minor_to_major(2)[..], [1, 0]);
        assert_eq!(interleaved_channel_minor_to_major(4)[..], [1, 3, 2, 0]);
    }

    #[test]
    fn the_customary_orders() {
        for (order, expected) in [
            ("HW", &[1, 0][..]),
            ("WH", &[0, 1]),
            ("DHW", &[2, 1, 0]),
            ("WHD", &[0, 1, 2]),
            ("NCHW", &[3, 2, 1, 0]),
            ("nhwc", &[1, 3, 2, 0]),
            ("NCDHW", &[4, 3, 2, 1, 0]),
            ("NDHWC", &[1, 4, 3, 2, 0]),
            ("HWC", &[0, 2, 1]),
            ("xy", &[0, 1]),
            ("zyx", &[2, 1, 0]),
            ("", &[]),
        ] {
            let given = minor_to_major_from_letters(order, None, expected.len()).unwrap();
            assert_eq!(given[..], *expected, "{order}");
        }
        assert_eq!(minor_to_major_from_letters("BAC", Some("ABC"), 3).unwrap()[..], [2, 0, 1]);
        // 2×2×3 DHW has strides 6, 3, 1.
        assert_eq!(strides_from_letters("DHW", None, &[2, 2, 3]).unwrap()[..], [6, 3, 1]);
        assert_eq!(
            strides_from_letters("NDHWC", None, &[1, 2, 3, 4, 5]).unwrap()[..],
            [120, 1, 40, 10, 2]
        );
        assert_eq!(interleaved_channel_minor_to_major(5)[..], [1, 4, 3, 2, 0]);
    }

    #[test]
    fn refusals_name_the_letter() {
        for (order, over, rank, why) in [
            (
                "NHHW",
                None,
                4,
                "layout letters \"NHHW\": expected a letter of its own for each dimension, got 'H' twice",
            ),
            ("NHWX", None, 4, "layout letters \"NHWX\": expected letters among NCDHW, got 'X'"),
            (
                "ABC",
                None,
                3,
                "layout letters \"ABC\": expected letters among NCDHW or PZYX, got 'A'",
            ),
            (
                "NHWC",
                Some("NCHQ"),
                4,
                "layout letters \"NHWC\": expected letters among NCHQ, got 'W'",
            ),
            ("N,W", None, 3, "layout letters \"N,W\": expected letters among A to Z, got ','"),
            (
                "NHWC",
                Some("NCDHW"),
                4,
                "layout letters \"NCDHW\": expected 4 letters, one for each dimension, got 5",
            ),
        ] {
            let error = minor_to_major_from_letters(order, over, rank).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
        let error = strides_from_letters("HW", None, &[2, u32::MAX]).map(|_| ());
        assert_eq!(error, Ok(()));
        let error = strides_from_letters("DHW", None, &[2, u32::MAX, 2]).unwrap_err();
        assert_eq!(error, DmlError::Stride { dimension: 0, given: 8_589_934_590 });
    }
}
