//! Layouts without a shape, such as `{1,3,2,0}` or `NHWC`. The array is known from elsewhere.

use std::{fmt::Display, ops::Range};

use super::{Tensor, dml::minor_to_major_from_letters, tensor::broken_rule};
use crate::{
    error_kind::ErrorKind,
    shape::{Layout, ParseError, Shape},
    stride::StrideDescriptor,
};

/// Parses a layout such as `{1,3,2,0}`, `NHWC` or `NHWC over NCHW`, and completes it with the
/// extents `sizes` and the element type of `source`. Returns `None` if the text is no such layout,
/// for example because it is a whole shape.
///
/// Elements of a layout in letters are as wide as the elements of the source. In braces, a layout
/// states their width itself.
///
/// ```
/// use stridec::{Tensor, notation::ordered};
/// let source: Tensor = "f32[8,64,112,112]".parse()?;
/// let sizes = source.descriptor().sizes();
/// let channels_last = ordered("NHWC", source.descriptor(), sizes).unwrap()?;
/// assert_eq!(channels_last.to_string(), "f32[8,64,112,112]{1,3,2,0}");
/// assert!(ordered("f32[8]", source.descriptor(), sizes).is_none());
/// # Ok::<(), stridec::Error>(())
/// ```
#[must_use]
pub fn ordered(
    text: &str,
    source: &StrideDescriptor,
    sizes: &[u64],
) -> Option<Result<Tensor, ParseError>> {
    let layout = if text.trim_start().starts_with('{') {
        text.parse()
    } else if !text.trim().is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphabetic() || letter == ' ')
    {
        from_letters(text, source, sizes.len())
    } else {
        return None;
    };
    Some(layout.and_then(|layout| {
        let shape = Shape::new(source.element_type(), sizes.iter().copied(), layout);
        Tensor::of_shape(shape.map_err(|error| broken(text, error.kind(), error))?, whole(text))
    }))
}

/// Parses a layout that is written with letters.
fn from_letters(text: &str, source: &StrideDescriptor, rank: usize) -> Result<Layout, ParseError> {
    let (order, over) = match text.split_once(" over ") {
        Some((order, over)) => (order.trim(), Some(over.trim())),
        None => (text.trim(), None),
    };
    let order = minor_to_major_from_letters(order, over, rank)
        .map_err(|error| broken(text, error.kind(), error))?;
    let mut layout = Layout::new(order);
    if source.element_type().storage_bits() != Some(source.element_bits()) {
        layout.element_size_in_bits = source.element_bits().into();
    }
    Ok(layout)
}

fn whole(text: &str) -> Range<usize> {
    0..text.len()
}

/// Converts an error to a parse error about the whole text.
fn broken(text: &str, kind: ErrorKind, error: impl Display) -> ParseError {
    broken_rule(whole(text), kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_completed() {
        let source: Tensor = "s4[2,3,4,5]{3,2,1,0:E(4)}".parse().unwrap();
        let read = |text| ordered(text, source.descriptor(), &[2, 3, 4, 6]);
        for (text, expected) in [
            ("NHWC", "s4[2,3,4,6]{1,3,2,0:E(4)}"),
            (" nhwc ", "s4[2,3,4,6]{1,3,2,0:E(4)}"),
            ("NHWC over NHWC", "s4[2,3,4,6]{3,2,1,0:E(4)}"),
            ("{0,1,2,3}", "s4[2,3,4,6]{0,1,2,3}"),
        ] {
            assert_eq!(read(text).unwrap().unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "s4[2]", "{0,1", "HWC"] {
            assert!(read(text).is_none_or(|tensor| tensor.is_err()), "{text}");
        }
        assert!(read("s4[2]").is_none() && read("").is_none());
    }
}
