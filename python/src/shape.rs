//! The class `stridec.Shape`.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use pyo3::{
    IntoPyObjectExt,
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType},
};
use stridec::{
    Error, Tensor,
    explain::{Picture, html, svg, terminal},
    notation::TensorForm,
    shape::{Dimension, Layout, Notation, Shape as XlaShape, TileDimension},
    stride::{PaddingReport, StrideDescriptor},
};

use crate::{
    array::{HostArray, element_type},
    errors::{about, at, invalid, raised, renamed, unsupported},
    layout::{default_tiles, layout, tiled},
    numbers::{self, counted, number, numbers, shown},
    picture::{self, Drawn},
    torch,
};

/// The element type, the extents and the memory layout of an array.
///
/// `source` is text in XLA's notation, the bytes of a serialized `xla.Shape`, an array (whose
/// strides are read), a `jax.ShapeDtypeStruct` or `jax.Array`, or extents together with `dtype`.
/// `layout` replaces the layout. It is text such as "{0,1:T(8,128)}", dimension numbers with the
/// most minor first, or JAX's `Layout` or `Format`. It may also be a name: numpy's "C" and "F",
/// `"channels_last"` of torch, or letters of the dimensions such as "NHWC" for an array that XLA
/// has as NCHW. With `tiles="tpu"`, the layout has the tiles that XLA gives an array of these
/// extents on a TPU.
///
/// >>> import stridec
/// >>> shape = stridec.Shape("f32[3,5]{1,0:T(2,2)}")
/// >>> shape.dimensions, shape.minor_to_major, shape.tiles
/// ((3, 5), (1, 0), ((2, 2),))
/// >>> shape.offset((2, 3)), shape.index(17), shape.index(18)
/// (17, (2, 3), None)
/// >>> shape.nbytes, shape.padding
/// (96, 36)
/// >>> str(stridec.Shape((2, 3), dtype="bf16", layout=(0, 1)))
/// 'bf16[2,3]{0,1}'
/// >>> str(stridec.Shape((100, 64), dtype="bf16", tiles="tpu"))
/// 'bf16[100,64]{1,0:T(8,128)(2,1)}'
///
/// `draw` is a drawing of the memory. A notebook shows the picture, and a page to explore it.
#[pyclass(frozen, module = "stridec", eq, hash)]
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) described: Described,
}

/// A tensor, or an XLA shape without memory, such as a tuple.
#[derive(Clone, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "a call has one")]
pub(crate) enum Described {
    Tensor(Tensor),
    Abstract(XlaShape),
}

impl Described {
    /// Parses a notation of a tensor or of an XLA shape.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(tensor) => Ok(Self::Tensor(tensor)),
            Err(error @ Error::Parse(_)) => Err(error),
            Err(error) => match text.parse() {
                Ok(Notation::Shape(shape)) => Ok(Self::Abstract(shape)),
                _ => Err(error),
            },
        }
    }

    /// Returns the tensor, or an error if the shape has no memory.
    pub(crate) fn tensor(&self) -> Result<&Tensor, Error> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            Self::Abstract(shape) => match Tensor::try_from(shape.clone()) {
                Err(error) => Err(error.into()),
                Ok(_) => unreachable!("a shape with memory is a tensor"),
            },
        }
    }

    /// Returns the XLA shape, or `None` for an array with strides.
    pub(crate) fn xla(&self) -> Option<&XlaShape> {
        match self {
            Self::Tensor(tensor) => match tensor.form() {
                TensorForm::Shape(shape) => Some(shape),
                _ => None,
            },
            Self::Abstract(shape) => Some(shape),
        }
    }
}

impl From<XlaShape> for Described {
    fn from(shape: XlaShape) -> Self {
        match Tensor::try_from(shape.clone()) {
            Ok(tensor) => Self::Tensor(tensor),
            Err(_) => Self::Abstract(shape),
        }
    }
}

/// Shapes are equal if they are written in the same way, apart from a layout that is left out. Such
/// a layout is the default one.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.with_default() == other.with_default()
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.with_default().hash(state);
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => tensor.fmt(f),
            Self::Abstract(shape) => shape.fmt(f),
        }
    }
}

impl Shape {
    /// Converts an XLA shape.
    pub(crate) fn of_shape(shape: XlaShape) -> Self {
        Self { described: shape.into() }
    }

    /// Returns the shape of an array, of an object with a type, extents and a layout, or of a
    /// serialized `xla.Shape`.
    pub(crate) fn from_object(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Described> {
        let py = given.py();
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(XlaShape::decode(bytes.as_bytes())
                .map_err(|error| at(argument, error))?
                .into());
        }
        if let Some(tensor) = torch::described(given, argument)? {
            return Ok(Described::Tensor(tensor));
        }
        // JAX's arrays have their layout in `format`, which may be None in a `ShapeDtypeStruct`.
        let format = given.getattr_opt(intern!(py, "format"))?;
        let has_type = given.hasattr("dtype")? && given.hasattr("shape")?;
        if let Some(format) = format.filter(|_| has_type) {
            return Self::described(given, &format, argument);
        }
        if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
            let expected =
                "an element type beside the extents, as in Shape((64, 96), dtype=\"f32\")";
            return Err(invalid(argument, expected, shown(given)));
        }
        if given.hasattr("major_to_minor")?
            || given.hasattr("layout")? && !given.hasattr("shape")?
        {
            let expected = "extents too: Shape((16, 256), dtype=\"bf16\", layout=layout)";
            return Err(invalid(argument, expected, "a layout alone"));
        }
        Ok(Described::Tensor(HostArray::of(given, argument)?.tensor()?))
    }

    fn described(
        given: &Bound<'_, PyAny>,
        format: &Bound<'_, PyAny>,
        argument: &str,
    ) -> PyResult<Described> {
        let py = given.py();
        let dtype = given.getattr(intern!(py, "dtype"))?;
        let element_type = element_type(&dtype, &format!("{argument}.dtype"))?;
        let sizes: Vec<u64> =
            numbers(&given.getattr(intern!(py, "shape"))?, &format!("{argument}.shape"))?;
        let layout = layout(format, sizes.len(), &format!("{argument}.format"))?;
        Ok(XlaShape::new(element_type, sizes, layout).map_err(raised)?.into())
    }

    /// Returns the described shape, with the default layout if the layout is left out.
    fn with_default(&self) -> Described {
        let shape = self.xla().filter(|shape| shape.is_array() && shape.layout().is_none());
        let spelled = shape.and_then(|shape| {
            let layout = shape.layout_or_default().into_owned();
            let dimensions: Vec<Dimension> = shape.dimensions().to_vec();
            XlaShape::array(shape.element_type(), dimensions, Some(layout)).ok()
        });
        spelled.map_or_else(|| self.described.clone(), Described::from)
    }

    pub(crate) fn descriptor(&self) -> PyResult<&StrideDescriptor> {
        Ok(self.described.tensor().map_err(raised)?.descriptor())
    }

    fn xla(&self) -> Option<&XlaShape> {
        self.described.xla()
    }

    /// Returns the layout of an array, or `None` for an array with strides and for a shape that has
    /// no layout.
    fn layout(&self) -> Option<std::borrow::Cow<'_, Layout>> {
        self.xla().filter(|shape| shape.is_array()).map(XlaShape::layout_or_default)
    }

    /// Draws the layout. Returns `None` if the shape has no memory.
    fn draw<T>(&self, draw: impl FnOnce(&Picture<'_>) -> T) -> Option<T> {
        self.described.tensor().ok().map(|tensor| tensor.draw(draw))
    }

    fn with_layout(self, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let shape = self.xla().filter(|shape| shape.is_array());
        let Some(shape) = shape else {
            return Err(invalid("layout", "an array's shape to give it to", &self.described));
        };
        let layout = layout(given, shape.rank(), "layout")?;
        let dimensions: Vec<Dimension> = shape.dimensions().to_vec();
        let made = XlaShape::array(shape.element_type(), dimensions, layout).map_err(raised)?;
        Ok(Self::of_shape(made))
    }
}

#[pymethods]
impl Shape {
    #[new]
    #[pyo3(signature = (source, /, *, dtype=None, layout=None, tiles=None))]
    fn new(
        source: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        layout: Option<&Bound<'_, PyAny>>,
        tiles: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let tiles = default_tiles(tiles)?;
        let extents = source.is_instance_of::<PyTuple>() || source.is_instance_of::<PyList>();
        let described = match dtype {
            Some(dtype) if extents => {
                let element_type = element_type(dtype, "dtype")?;
                let sizes: Vec<u64> = numbers(source, "source")?;
                XlaShape::new(element_type, sizes, None).map_err(raised)?.into()
            }
            Some(dtype) => {
                return Err(invalid("dtype", "None where the source says it", shown(dtype)));
            }
            None if extents => {
                return Err(invalid("dtype", "an element type beside extents", "None"));
            }
            None => crate::layout::described(source, "source")?,
        };
        let shape = Self { described };
        let shape = match layout {
            None => shape,
            Some(layout) => shape.with_layout(layout)?,
        };
        Ok(Self { described: tiled(shape.described, tiles)? })
    }

    /// Returns the shape of an array. Its layout is an order of the dimensions if the elements have
    /// no gaps between them, and strides otherwise.
    ///
    /// >>> import numpy, stridec
    /// >>> str(stridec.Shape.from_array(numpy.zeros((2, 3), numpy.float32, order="F")))
    /// 'f32[2,3]{0,1}'
    /// >>> str(stridec.Shape.from_array(numpy.zeros((4, 6), numpy.int8)[::-1, ::2]))
    /// 's8[4,3] strided<[-6,2], offset: 18>'
    #[classmethod]
    #[pyo3(signature = (array, /))]
    fn from_array(_class: &Bound<'_, PyType>, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tensor = match torch::described(array, "array")? {
            Some(tensor) => tensor,
            None => HostArray::of(array, "array")?.tensor()?,
        };
        Ok(Self { described: Described::Tensor(tensor) })
    }

    /// XLA's name of the element type.
    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.described {
            Described::Abstract(shape) => shape.element_type().name(),
            Described::Tensor(tensor) => match tensor.form() {
                TensorForm::Shape(shape) => shape.element_type().name(),
                TensorForm::Strided(shape) => shape.element_type().name(),
                _ => "",
            },
        }
    }

    /// The extents. An unknown extent is None.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if let Some(shape) = self.xla() {
            return PyTuple::new(py, shape.dimensions().iter().map(|extent| extent.bound()));
        }
        match self.described.tensor().map(Tensor::form) {
            Ok(TensorForm::Strided(shape)) => PyTuple::new(py, shape.sizes()),
            _ => PyTuple::new(py, [0_u64; 0]),
        }
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        match (&self.described, self.xla()) {
            (_, Some(shape)) => shape.rank(),
            (Described::Tensor(tensor), None) => tensor.descriptor().rank(),
            (Described::Abstract(_), None) => 0,
        }
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        Ok(self.descriptor()?.elements())
    }

    /// The extents of the memory, major to minor, including padding and the dimensions of tiles.
    /// None if strides leave gaps or overlap, so that the memory has no such extents.
    #[getter]
    fn memory_dimensions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let sizes = self.descriptor()?.array_dimensions();
        sizes.map(|sizes| PyTuple::new(py, sizes)).transpose()
    }

    /// The distance between neighbours along each dimension, in elements. None for a dimension that
    /// tiles divide.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.descriptor()?.strides().collect::<Vec<_>>())
    }

    /// The place of the element at index 0, counted in elements.
    #[getter]
    fn base_offset(&self) -> PyResult<u64> {
        Ok(self.descriptor()?.base_offset())
    }

    /// The size of the memory including padding, in bytes.
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        Ok(self.descriptor()?.image_bytes())
    }

    /// The number of bytes of the memory that hold no element.
    #[getter]
    fn padding(&self) -> PyResult<u64> {
        Ok(PaddingReport::of(self.descriptor()?).padding_bytes)
    }

    /// The dimension numbers, the most minor first. None for an array with strides.
    #[getter]
    fn minor_to_major<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.layout().map(|layout| PyTuple::new(py, &layout.minor_to_major)).transpose()
    }

    /// The extents of each tile. None for a dimension that is combined with the next one, which the
    /// notation writes as `*`.
    #[getter]
    fn tiles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let layout = self.layout();
        let tiles = layout.as_deref().map_or(&[][..], |layout| &layout.tiles);
        let tiles: PyResult<Vec<_>> = tiles
            .iter()
            .map(|tile| {
                PyTuple::new(
                    py,
                    tile.dimensions.iter().map(|extent| match extent {
                        TileDimension::Size(size) => Some(*size),
                        TileDimension::Combine => None,
                    }),
                )
            })
            .collect();
        PyTuple::new(py, tiles?)
    }

    /// Returns the place of the element at `index`, counted in elements.
    #[pyo3(signature = (index, /, *others), text_signature = "($self, index, /)")]
    fn offset(&self, index: &Bound<'_, PyAny>, others: &Bound<'_, PyTuple>) -> PyResult<u64> {
        if !others.is_empty() {
            let expected = "the index as one tuple, such as offset((3, 5))";
            let given = counted(others.len() + 1, "argument");
            return Err(PyTypeError::new_err(format!("index: expected {expected}, got {given}")));
        }
        self.descriptor()?
            .offset(&numbers::<u64>(index, "index")?)
            .map_err(|error| about("index", error))
    }

    /// Returns the index of the element at a place, counted in elements. None if the place holds
    /// padding.
    #[pyo3(signature = (offset, /))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        offset: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let offset: u64 = number(offset, "offset")?;
        let index =
            self.descriptor()?.index(offset).map_err(|error| renamed(error, "linear", "offset"))?;
        index.map(|index| PyTuple::new(py, index)).transpose()
    }

    /// Returns the shape as a serialized `xla.Shape`.
    ///
    /// >>> import stridec
    /// >>> shape = stridec.Shape("f32[2,3]{0,1}")
    /// >>> stridec.Shape(shape.to_proto()) == shape
    /// True
    fn to_proto<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(shape) = self.xla() else {
            let expected = "a shape that XLA can describe, without explicit strides";
            return Err(unsupported("shape", expected, &self.described));
        };
        Ok(PyBytes::new(py, &shape.encode()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let class = PyType::new::<Self>(py).into_any();
        let arguments = (PyString::new(py, &self.described.to_string()),).into_bound_py_any(py)?;
        PyTuple::new(py, [class, arguments])
    }

    fn __str__(&self) -> String {
        self.described.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Shape('{}')", self.described)
    }

    /// Returns a drawing of the memory as text, or the notation if the shape has no memory.
    #[pyo3(name = "draw", signature = (columns=80))]
    fn drawing(&self, #[pyo3(from_py_with = numbers::columns)] columns: usize) -> String {
        let drawing = self.draw(|drawn| picture::plain(&terminal(drawn, columns)));
        drawing.unwrap_or_else(|| self.described.to_string())
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    /// Returns the picture for a notebook, and a page to explore it. None if the shape has no
    /// memory.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns the drawing as an SVG document. None if the shape has no memory.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        self.svg(py).ok()
    }

    /// Returns the drawing as text, as SVG and as a page.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _ = (include, exclude);
        picture::bundle(py, self)
    }
}

impl Drawn for Shape {
    fn name(&self, _py: Python<'_>) -> String {
        self.__repr__()
    }

    fn svg(&self, _py: Python<'_>) -> PyResult<String> {
        self.draw(svg).ok_or_else(picture::nothing)
    }

    fn page(&self, _py: Python<'_>) -> PyResult<String> {
        self.draw(|drawn| html(drawn, None)).ok_or_else(picture::nothing)
    }

    fn text(&self, _py: Python<'_>, columns: usize) -> PyResult<String> {
        Ok(self.drawing(columns))
    }
}
