//! `--to`: a `SHAPE`, or a layout alone for the elements that the operation gives.

use stridec::{
    Error, Tensor,
    shape::{Layout, Shape},
    stride::{StrideDescriptor, minor_to_major_from_letters},
};

use super::{errors::Failure, shape_arg::tensor};

/// Reads `--to`: a shape; or a layout, `{1,3,2,0}` or `NHWC` or `NHWC over NCHW`, of `sizes` of the source's elements.
pub(super) fn destination(
    argument: &str,
    source: &StrideDescriptor,
    sizes: &[u64],
) -> Result<Tensor, Failure> {
    let text = argument.trim();
    let layout = if text.starts_with('{') {
        text.parse().map_err(|error| Failure::notation(text, &error))?
    } else if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic() || c == ' ') {
        from_letters(text, source, sizes.len())?
    } else {
        return tensor(argument);
    };
    let shape = Shape::new(source.element_type(), sizes.iter().copied(), layout);
    Ok(Tensor::Shape(shape.map_err(Error::from)?))
}

/// The order that letters give; elements stay as wide as they are.
fn from_letters(text: &str, source: &StrideDescriptor, rank: usize) -> Result<Layout, Failure> {
    let (order, over) = match text.split_once(" over ") {
        Some((order, over)) => (order.trim(), Some(over.trim())),
        None => (text, None),
    };
    let order = minor_to_major_from_letters(order, over, rank).map_err(Error::from)?;
    let mut layout = Layout::new(order);
    if source.element_type().storage_bits() != Some(source.element_bits()) {
        layout.element_size_in_bits = source.element_bits().into();
    }
    Ok(layout)
}
