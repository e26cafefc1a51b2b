//! Parses the argument `--to` of an operation. It is a whole `SHAPE`, or only a layout, to which
//! the operation adds the extents and the element type.

use stridec::{Tensor, notation::ordered, stride::StrideDescriptor};

use super::{errors::Failure, shape_arg::tensor};

/// Parses `--to`: a shape, or only a layout such as `{1,3,2,0}`, `NHWC` or `NHWC over NCHW`. A
/// layout is completed by the extents `sizes` and the element type of `source`.
pub(super) fn destination(
    argument: &str,
    source: &StrideDescriptor,
    sizes: &[u64],
) -> Result<Tensor, Failure> {
    let text = argument.trim();
    if text.contains(',') && text.chars().all(|c| c.is_ascii_digit() || c == ',' || c == ' ') {
        let reason = format!("expected a layout in braces, '{{{text}}}', or a shape, got `{text}`");
        return Err(Failure::invalid(reason));
    }
    match ordered(text, source, sizes) {
        Some(tensor) => tensor.map_err(|error| Failure::notation(text, &error)),
        None => tensor(argument),
    }
}

/// Guesses the layout for a user who wrote extents in the order of memory, to suggest it in a
/// message. For example, `f32[2,4,5,3]` for `f32[2,3,4,5]` means NHWC. Returns `None` if the
/// extents are no permutation of the source's extents.
pub(super) fn meant(source: &[u64], destination: &[u64]) -> Option<String> {
    if source == destination || source.len() != destination.len() {
        return None;
    }
    let mut left: Vec<usize> = (0..source.len()).collect();
    let mut minor_to_major = Vec::with_capacity(source.len());
    for extent in destination {
        let at = left.iter().position(|&dimension| source[dimension] == *extent)?;
        minor_to_major.insert(0, left.remove(at).to_string());
    }
    let layout = format!("'{{{}}}'", minor_to_major.join(","));
    Some(if layout == "'{1,3,2,0}'" { format!("{layout} or NHWC") } else { layout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_in_the_order_of_memory_are_a_layout() {
        let meant = |to: &[u64]| meant(&[2, 3, 4, 5], to);
        assert_eq!(meant(&[2, 4, 5, 3]).as_deref(), Some("'{1,3,2,0}' or NHWC"));
        assert_eq!(meant(&[5, 4, 3, 2]).as_deref(), Some("'{0,1,2,3}'"));
        assert_eq!(meant(&[2, 3, 4, 5]), None);
        assert_eq!(meant(&[2, 3, 4, 6]), None);
        assert_eq!(meant(&[2, 3, 20]), None);
        assert_eq!(super::meant(&[7, 7, 8], &[8, 7, 7]).as_deref(), Some("'{1,0,2}'"));
    }
}
