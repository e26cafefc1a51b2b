//! Layouts given as letters of dimensions, such as `NHWC` for an array in the order `NCHW`, or
//! `WHD`.

use smallvec::SmallVec;

use super::DmlError;
use crate::text::excerpt;

/// The known sets of letters, each in the customary order of logical dimensions: DirectML's
/// letters, and XLA's `p z y x`.
const CANONICAL: [&str; 2] = ["NCDHW", "PZYX"];

/// Parses a layout from the letters of the dimensions, the most major first. Upper and lower case
/// are equivalent.
///
/// `over` lists the letters of the logical dimensions in order. If it is `None`, the customary
/// order is used: NCDHW for DirectML's letters, and `p z y x` for XLA's. A text may use only some
/// of these letters.
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
/// Returns an error if a letter is repeated, if a letter is not one of the logical dimensions, or
/// if the number of letters is not `rank`.
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

/// Converts the letters to upper case. Returns an error if a character is not a letter, or if a
/// letter is repeated.
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

/// Returns `letters` in the customary order of the logical dimensions. Returns an error if
/// `letters` are not all from the same known set.
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

/// Shortens the letters for an error message.
fn shown(text: &str) -> String {
    excerpt(text, 30).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
