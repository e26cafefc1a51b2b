//! Layouts in the forms that callers use: XLA's notation, dimension numbers, or JAX's `Layout` and
//! `Format`.

use std::borrow::Cow;

use pyo3::{intern, prelude::*, types::PyString};
use stridec::{
    Tensor,
    hlo::DefaultTiles,
    notation::{TensorForm, dml::minor_to_major_from_letters},
    shape::{Dimension, ElementType, Layout, Shape as XlaShape},
};

use crate::{
    array::HostArray,
    errors::{at, invalid, with_advice},
    numbers::{counted, numbers, shown},
    shape::{Described, Shape},
};

/// Returns the text of an argument, or `None` if it is not a string.
pub(crate) fn text<'a>(given: &'a Bound<'_, PyAny>) -> Option<Cow<'a, str>> {
    given.cast::<PyString>().ok().map(PyStringMethods::to_string_lossy)
}

/// Returns the layout of an array of `rank` dimensions that an argument describes, or `None` if the
/// argument is None.
pub(crate) fn layout(
    given: &Bound<'_, PyAny>,
    rank: usize,
    argument: &str,
) -> PyResult<Option<Layout>> {
    let py = given.py();
    if given.is_none() {
        return Ok(None);
    }
    if let Some(text) = text(given) {
        return match named(&text, rank, argument) {
            Some(layout) => layout.map(Some),
            None => {
                let layout = text.parse::<Layout>().map(Some);
                layout.map_err(|error| advised(&text, at(argument, error)))
            }
        };
    }
    if let Some(name) = memory_format(given) {
        let expected = "a memory format that fits the rank, such as torch.channels_last for rank 4";
        let layout = named(&name, rank, argument).and_then(Result::ok);
        return layout.map(Some).ok_or_else(|| invalid(argument, expected, shown(given)));
    }
    // JAX's `Format` holds a `Layout`, which holds none itself.
    if let Some(inner) = given.getattr_opt(intern!(py, "layout"))? {
        if inner.hasattr(intern!(py, "layout"))? {
            return Err(invalid(argument, "a Format with a Layout of JAX", shown(given)));
        }
        return layout(&inner, rank, argument);
    }
    let Some(order) = given.getattr_opt(intern!(py, "major_to_minor"))? else {
        let expected = "a layout: text such as \"{0,1:T(8,128)}\" or \"NHWC\", dimension numbers, the most minor first, torch.channels_last, or JAX's Layout or Format";
        let order =
            numbers(given, argument).map_err(|_| invalid(argument, expected, shown(given)))?;
        return Ok(Some(Layout::new(order)));
    };
    let order: Vec<usize> = numbers(&order, &format!("{argument}.major_to_minor"))?;
    let mut made = Layout::new(order.into_iter().rev());
    if let Some(tiling) =
        given.getattr_opt(intern!(py, "tiling"))?.filter(|tiling| !tiling.is_none())
    {
        for tile in tiling.try_iter()? {
            made = made.tiled(numbers::<u64>(&tile?, &format!("{argument}.tiling"))?);
        }
    }
    let bits = given.getattr_opt(intern!(py, "sub_byte_element_size_in_bits"))?;
    if let Some(bits) = bits {
        let name = format!("{argument}.sub_byte_element_size_in_bits");
        let broken = |_| invalid(&name, "a number of bits", shown(&bits));
        made = made.element_size(bits.extract().map_err(broken)?);
    }
    Ok(Some(made))
}

/// Returns the tiles that the argument `tiles` describes.
pub(crate) fn default_tiles(given: Option<&Bound<'_, PyAny>>) -> PyResult<DefaultTiles> {
    match given {
        None => Ok(DefaultTiles::None),
        Some(given) if text(given).is_some_and(|name| name == "tpu") => Ok(DefaultTiles::Tpu),
        Some(given) => Err(invalid("tiles", "\"tpu\" or None", shown(given))),
    }
}

/// Returns a shape with the given tiles. Returns an error if it has a layout that tiles cannot be
/// added to.
pub(crate) fn tiled(described: Described, tiles: DefaultTiles) -> PyResult<Described> {
    if tiles == DefaultTiles::None {
        return Ok(described);
    }
    let made = described.xla().map(|shape| Described::from(tiles.apply(shape)));
    made.filter(|made| *made != described).ok_or_else(|| {
        let expected = "None unless the shape is an array without tiles, padding and strides";
        invalid("tiles", expected, format!("\"tpu\" for {described}"))
    })
}

/// Returns the tensor whose memory is an array, if `given` is the name of a layout such as "NHWC".
/// The dimensions of the array are those of the memory, the most major one first.
pub(crate) fn named_memory(
    given: &Bound<'_, PyAny>,
    array: &HostArray,
    argument: &str,
) -> Option<PyResult<Tensor>> {
    let name = text(given).map(Cow::into_owned).or_else(|| memory_format(given))?;
    let layout = named(&name, array.sizes().len(), argument)?;
    Some(layout.and_then(|layout| {
        let mut sizes = vec![0; array.sizes().len()];
        for (&dimension, &size) in layout.minor_to_major.iter().rev().zip(array.sizes()) {
            sizes[dimension] = size;
        }
        let shape = XlaShape::new(array.element_type(), sizes, Some(layout));
        let shape = shape.map_err(|error| at(argument, error))?;
        Tensor::try_from(shape).map_err(|error| at(argument, error))
    }))
}

/// Returns the layout that a name describes, or `None` if the text is no such name. A name is one
/// of numpy's orders "C" and "F", a memory format of `PyTorch`, or the letters of the dimensions
/// from major to minor, such as "NHWC".
fn named(text: &str, rank: usize, argument: &str) -> Option<PyResult<Layout>> {
    let last = |own: usize| {
        if rank != own {
            let expected = format!("an array of {own} dimensions for {text:?}");
            return Err(invalid(argument, &expected, counted(rank, "dimension")));
        }
        Ok(Layout::new(std::iter::once(1).chain((2..rank).rev()).chain([0])))
    };
    Some(match text {
        "C" | "contiguous_format" => Ok(Layout::default_for_rank(rank)),
        "F" => Ok(Layout::new(0..rank)),
        "channels_last" => last(4),
        "channels_last_3d" => last(5),
        _ if text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            let order = minor_to_major_from_letters(text, None, rank);
            order.map(Layout::new).map_err(|error| at(argument, error))
        }
        _ => return None,
    })
}

/// Returns the exception for text that is no layout, with the names of layouts if the text is a
/// word.
fn advised(text: &str, raised: PyErr) -> PyErr {
    if text.contains(['{', '[', '(']) || text.trim().is_empty() {
        return raised;
    }
    let advice = "; names of layouts are \"C\", \"F\", \"channels_last\" and letters such as \"NHWC\", \
                  and `tiles=\"tpu\"` of relayout and Shape gives the tiles of a TPU";
    with_advice(raised, advice)
}

/// Returns the number of dimensions of a layout or a whole shape, or `None` if it is neither text
/// nor a `Shape`.
pub(crate) fn rank_of(given: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(shape) = given.cast::<Shape>() {
        return shape.get().described.tensor().ok().map(|tensor| tensor.descriptor().rank());
    }
    let text = text(given)?;
    match text.parse::<Layout>() {
        Ok(layout) => Some(layout.minor_to_major.len()),
        Err(_) => text.parse::<Tensor>().ok().map(|tensor| tensor.descriptor().rank()),
    }
}

/// Returns the name of a `torch.memory_format`, or `None` for another object.
fn memory_format(given: &Bound<'_, PyAny>) -> Option<String> {
    let is_format = given.get_type().name().is_ok_and(|name| name == "memory_format");
    let text = given.str().ok().filter(|_| is_format)?.to_string();
    text.strip_prefix("torch.").map(str::to_owned)
}

/// Returns the shape that an argument describes, which may be text, a `Shape` or an array.
pub(crate) fn described(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Described> {
    if let Ok(shape) = given.cast::<Shape>() {
        return Ok(shape.get().described.clone());
    }
    match text(given) {
        Some(text) if text.trim_start().starts_with('{') => {
            let expected = "a whole shape, such as \"f32[2,3]{1,0:T(8,128)}\"";
            Err(invalid(argument, expected, format!("the layout {} alone", shown(given))))
        }
        Some(text) => Described::parse(&text).map_err(|error| at(argument, error)),
        None => Shape::from_object(given, argument),
    }
}

/// Returns the tensor that an argument describes, which may be text, a `Shape` or an array.
pub(crate) fn tensor(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Tensor> {
    described(given, argument)?.tensor().cloned().map_err(|error| at(argument, error))
}

/// Returns the tensor that an argument describes as a destination. The argument is a whole shape,
/// or a layout for the extents `sizes` and the element type `dtype`. If there is no `dtype`, it is
/// the element type of `source`.
pub(crate) fn destination(
    given: &Bound<'_, PyAny>,
    source: &Tensor,
    sizes: &[u64],
    dtype: Option<ElementType>,
    argument: &str,
) -> PyResult<Tensor> {
    let is_whole = |text: Cow<'_, str>| {
        !text.trim_start().starts_with('{') && named(&text, sizes.len(), argument).is_none()
    };
    let whole = given.is_instance_of::<Shape>() || text(given).is_some_and(is_whole);
    if whole {
        let tensor = tensor(given, argument).map_err(|error| match text(given) {
            Some(name) => advised(&name, error),
            None => error,
        })?;
        let own = tensor.descriptor().element_type();
        return match dtype.filter(|&dtype| dtype != own) {
            Some(dtype) => Err(invalid("dtype", own.name(), dtype.name())),
            None => Ok(tensor),
        };
    }
    let layout = layout(given, sizes.len(), argument)?;
    let own = match source.form() {
        TensorForm::Shape(shape) => shape.element_type(),
        TensorForm::Strided(shape) => shape.element_type(),
        _ => return Err(invalid(argument, "a whole shape", "a layout")),
    };
    let element_type = dtype.unwrap_or(own);
    let extents = sizes.iter().map(|&size| Dimension::Fixed(size));
    let shape = XlaShape::array(element_type, extents, layout);
    let shape = shape.map_err(|error| at(argument, error))?;
    Tensor::try_from(shape).map_err(|error| at(argument, error))
}
