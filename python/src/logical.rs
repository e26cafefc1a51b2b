//! The memory of a shape from an array with the extents of the shape, and back.

use std::borrow::Cow;

use pyo3::{exceptions::PyMemoryError, intern, prelude::*, types::PyTuple};
use stridec::{
    Operation, Tensor,
    host::{HostError, zeroed},
    shape::Shape as XlaShape,
    stride::StrideDescriptor,
};

use crate::{
    array::{HostArray, Room, lies_as},
    device::Device,
    errors::raised,
};

/// Returns the memory of a shape that an array of its extents fills. This is the memory of the
/// array itself if its elements are at the places of the layout, and a copy otherwise.
pub(crate) fn image<'a>(
    py: Python<'_>,
    array: &'a HostArray,
    shape: &XlaShape,
    layout: &StrideDescriptor,
) -> PyResult<Cow<'a, [u8]>> {
    if lies_as(array, layout)? {
        return Ok(Cow::Borrowed(array.bytes()?));
    }
    let to = Tensor::try_from(shape.clone()).map_err(raised)?;
    let operation = Operation::relayout(array.tensor()?, to).map_err(raised)?;
    let mut image = zeroed(usize::try_from(layout.image_bytes())?).map_err(memory_error)?;
    let source = array.bytes()?;
    py.detach(|| Device::Host.copy(&operation, source, &mut image)).map_err(raised)?;
    Ok(Cow::Owned(image))
}

/// Returns the exception for an error of a copy, which is `MemoryError` if there is not enough
/// memory.
pub(crate) fn memory_error(error: HostError) -> PyErr {
    match error {
        HostError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        error => raised(error),
    }
}

/// Returns the memory of a shape as an array with the dimensions of the shape. This is a view if
/// the memory consists of the elements alone, and a copy otherwise.
pub(crate) fn logical<'py>(
    py: Python<'py>,
    room: Room<'py>,
    shape: &XlaShape,
    layout: &StrideDescriptor,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(order) = order(layout) {
        if order.is_sorted() {
            return Ok(room.object);
        }
        // Dimension d of the array is the dimension of the memory that has the coordinate d.
        let places = (0..order.len()).map(|dimension| order.iter().position(|&it| it == dimension));
        let axes = PyTuple::new(py, places.collect::<Vec<_>>())?;
        return room.object.call_method1(intern!(py, "transpose"), (axes,));
    }
    let sizes = layout.sizes().iter().copied();
    let plain = XlaShape::new(shape.element_type(), sizes, None).map_err(raised)?;
    let from = Tensor::try_from(shape.clone()).map_err(raised)?;
    let to = Tensor::try_from(plain).map_err(raised)?;
    let operation = Operation::relayout(from, to).map_err(raised)?;
    let made = Room::of(py, operation.destination_descriptor(), None, &[&room.array])?;
    let (from, to) = (room.array.bytes()?, made.array.bytes_mut("result")?);
    py.detach(|| Device::Host.copy(&operation, from, to)).map_err(raised)?;
    Ok(made.object)
}

/// Returns the dimensions of the memory, major to minor, or `None` if the memory does not consist
/// of the elements in some order of the dimensions.
fn order(layout: &StrideDescriptor) -> Option<Vec<usize>> {
    let natural = layout.element_type().storage_bits() == Some(layout.element_bits());
    let cells = layout.physical_dimensions()?;
    let whole = natural && layout.steps().is_empty() && cells.len() == layout.rank();
    let order: Vec<usize> = layout.axes().iter().map(|axis| axis.coordinate).collect();
    let sizes = order.iter().map(|&dimension| layout.sizes()[dimension]);
    (whole && sizes.eq(cells.iter().copied())).then_some(order)
}
