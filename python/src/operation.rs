//! The class `stridec.Operation`, and the functions `relayout`, `slice` and `compile`.

use std::hash::{Hash, Hasher};

use prost::Message as _;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};
use stridec::{
    Operation as Lowered, Tensor,
    explain::{svg, terminal},
    proto::stridec as proto,
    request::Table,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

use crate::{
    array::{HostArray, Image, Room, element_type},
    device::Device,
    errors::{at, invalid, raised, renamed, with_advice},
    kernel::Kernel,
    layout::{default_tiles, destination, named_memory, rank_of, tensor, tiled},
    library::Library,
    numbers::{self, numbers},
    picture::{self, Drawn},
    recent,
    shape::{Described, Shape},
};

/// A relayout or a slice between two layouts, which can be compiled or run.
///
/// A call, `operation(source, out=None, device=None)`, runs it on the memory of the source. It
/// returns the memory of the destination, as an array of the library that `source` is from, or
/// `out`.
///
/// >>> import numpy, stridec
/// >>> operation = stridec.Operation.relayout("u8[2,3]", "{0,1}")
/// >>> str(operation.source), str(operation.destination)
/// ('u8[2,3]', 'u8[2,3]{0,1}')
/// >>> operation(numpy.arange(6, dtype=numpy.uint8).reshape(2, 3)).tolist()
/// [[0, 3], [1, 4], [2, 5]]
/// >>> operation.compile().strategy
/// 'gather'
#[pyclass(frozen, module = "stridec", eq, hash)]
pub(crate) struct Operation {
    lowered: Lowered,
    /// The window of a slice as it was given, or `None` for a relayout.
    window: Option<Slice>,
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.lowered == other.lowered
    }
}

impl Eq for Operation {}

impl Hash for Operation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lowered.hash(state);
    }
}

impl Operation {
    fn between(source: Tensor, destination: Tensor) -> PyResult<Self> {
        Ok(Self { lowered: Lowered::relayout(source, destination).map_err(raised)?, window: None })
    }

    fn window(source: Tensor, window: Slice, to: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let to = match to {
            None => None,
            Some(to) => {
                let window = Window::slice(&sizes(&source), &window).map_err(sliced)?;
                let extents: Vec<u64> = window.sizes().collect();
                Some(destination(to, &source, &extents, None, "to")?)
            }
        };
        let lowered = Lowered::slice(source, &window, to).map_err(sliced)?;
        Ok(Self { lowered, window: Some(window) })
    }
}

/// Returns the exception for an error of a slice, which has the names of the arguments.
fn sliced(error: impl Into<stridec::Error>) -> PyErr {
    renamed(error, "window_", "")
}

/// Runs an operation on an array that has the layout of the operation's source. `given` is the
/// object of the array. The result is `out`, or a new array of the same library as `given`.
fn run_on<'py>(
    py: Python<'py>,
    operation: &Lowered,
    (given, source): (&Bound<'py, PyAny>, &HostArray),
    out: Option<&Bound<'py, PyAny>>,
    device: Device,
) -> PyResult<Bound<'py, PyAny>> {
    let room = Room::of(py, operation.destination_descriptor(), out, &[source])?;
    let (from, to) = (source.bytes()?, room.array.bytes_mut("out")?);
    // The storage of a view may be larger than the source.
    let length = usize::try_from(operation.source_descriptor().image_bytes());
    let from = length.ok().and_then(|length| from.get(..length)).unwrap_or(from);
    py.detach(|| device.copy(operation, from, to)).map_err(raised)?;
    match out {
        Some(_) => Ok(room.object),
        None => Library::of([given]).array(room.object, room.array.element_type()),
    }
}

#[pymethods]
impl Operation {
    /// Returns the operation that copies every element to the same index in another layout, and
    /// converts it to the element type `dtype` or that of `to`.
    #[classmethod]
    #[pyo3(name = "relayout", signature = (source, to, *, dtype=None))]
    fn of_relayout(
        _class: &Bound<'_, PyType>,
        source: &Bound<'_, PyAny>,
        to: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = tensor(source, "source")?;
        let dtype = dtype.map(|dtype| element_type(dtype, "dtype")).transpose()?;
        let sizes = sizes(&source);
        let to = destination(to, &source, &sizes, dtype, "to")?;
        Self::between(source, to)
    }

    /// Returns DirectML's SLICE1, which copies a window of the source in steps. A negative stride
    /// starts at the end of the window.
    #[classmethod]
    #[pyo3(name = "slice", signature = (source, offsets, sizes, strides=None, *, to=None))]
    fn of_slice(
        _class: &Bound<'_, PyType>,
        source: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        sizes: &Bound<'_, PyAny>,
        strides: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Self::window(tensor(source, "source")?, window(offsets, sizes, strides)?, to)
    }

    /// The source's layout.
    #[getter]
    fn source(&self) -> Shape {
        Shape { described: Described::Tensor(self.lowered.source().clone()) }
    }

    /// The destination's layout.
    #[getter]
    fn destination(&self) -> Shape {
        Shape { described: Described::Tensor(self.lowered.destination().clone()) }
    }

    /// Compiles the operation for a target. The kernel's text is validated by naga.
    #[pyo3(signature = (target=None))]
    fn compile(&self, py: Python<'_>, target: Option<&Bound<'_, PyAny>>) -> PyResult<Kernel> {
        let target = crate::target::of(target, "target")?;
        let kernel = py.detach(|| self.lowered.compile(&target)).map_err(raised)?;
        Ok(Kernel::of_operation(kernel))
    }

    /// Returns every stage from the shapes to the kernel, as text.
    #[pyo3(signature = (target=None))]
    fn stages(&self, target: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        self.lowered.stages(&crate::target::of(target, "target")?).map_err(raised)
    }

    /// Runs the operation on the memory of the source. Returns the memory of the destination, as an
    /// array of the library that the source is from, or `out`.
    #[pyo3(signature = (source, /, *, out=None, device=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = HostArray::of(source, "source")?;
        Image::of_source(self.lowered.source()).check(&array, "source")?;
        run_on(py, &self.lowered, (source, &array), out, Device::given(device)?)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        use proto::compile_request::Operation as Kind;
        let tensor = |of: &Tensor| proto::Tensor::try_from(of).map(Some).map_err(raised);
        let source = tensor(self.lowered.source())?;
        let destination = tensor(self.lowered.destination())?;
        let operation = match self.window.clone() {
            None => Kind::Relayout(proto::Relayout { source, destination }),
            Some(window) => Kind::Slice(proto::Slice {
                source,
                destination,
                window_offsets: window.window_offsets,
                window_sizes: window.window_sizes,
                window_strides: window.window_strides,
                output_sizes: window.output_sizes.unwrap_or_default(),
            }),
        };
        let request = proto::CompileRequest { operation: Some(operation), ..Default::default() };
        let restored = PyType::new::<Self>(py).getattr("_restored")?;
        Ok((restored, (PyBytes::new(py, &request.encode_to_vec()),)))
    }

    #[classmethod]
    #[pyo3(name = "_restored")]
    fn restored(_class: &Bound<'_, PyType>, request: &[u8]) -> PyResult<Self> {
        use proto::compile_request::Operation as Kind;
        let message = stridec::shape::decode::<proto::CompileRequest>(request);
        let message = message.map_err(|error| at("request", error))?;
        let lowered = Lowered::try_from(&message).map_err(|error| at("request", error))?;
        let window = match message.operation {
            Some(Kind::Slice(of)) => {
                let mut window = Slice::new(of.window_offsets, of.window_sizes, of.window_strides);
                window.output_sizes = Some(of.output_sizes).filter(|sizes| !sizes.is_empty());
                Some(window)
            }
            _ => None,
        };
        Ok(Self { lowered, window })
    }

    fn __str__(&self) -> String {
        self.lowered.title().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<stridec.Operation {}>", self.lowered.title())
    }

    /// Returns a drawing of both layouts and of the elements that move, as text.
    #[pyo3(signature = (columns=80))]
    fn draw(&self, #[pyo3(from_py_with = numbers::columns)] columns: usize) -> String {
        picture::plain(&self.lowered.draw(|drawn| terminal(drawn, columns)))
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    /// Returns the picture for a notebook, and a page to explore it, with the kernel for `webgpu`.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns the drawing as an SVG document.
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

impl Drawn for Operation {
    fn name(&self, _py: Python<'_>) -> String {
        self.__repr__()
    }

    fn svg(&self, _py: Python<'_>) -> PyResult<String> {
        Ok(self.lowered.draw(svg))
    }

    fn page(&self, _py: Python<'_>) -> PyResult<String> {
        let target = stridec::Target::webgpu();
        let compilation = self.lowered.compilation(&target);
        Ok(compilation.map_err(picture::without_kernel)?.page())
    }

    fn text(&self, _py: Python<'_>, columns: usize) -> PyResult<String> {
        Ok(self.draw(columns))
    }
}

fn window(
    offsets: &Bound<'_, PyAny>,
    sizes: &Bound<'_, PyAny>,
    strides: Option<&Bound<'_, PyAny>>,
) -> PyResult<Slice> {
    let sizes: Vec<u64> = numbers(sizes, "sizes")?;
    let strides = match strides {
        None => vec![1; sizes.len()],
        Some(strides) => numbers(strides, "strides")?,
    };
    Ok(Slice::new(numbers::<u64>(offsets, "offsets")?, sizes, strides))
}

fn sizes(tensor: &Tensor) -> Vec<u64> {
    tensor.descriptor().sizes().to_vec()
}

/// Returns an array whose strides are multiples of an element. This is `array` itself, or a copy if
/// its strides are not.
fn whole(array: &Bound<'_, PyAny>) -> PyResult<HostArray> {
    let found = HostArray::of(array, "array")?;
    if found.has_whole_strides() { Ok(found) } else { found.packed(array) }
}

/// Returns an array that is the memory of the layout `source`, and that layout as a tensor.
fn described<'py>(
    array: &Bound<'py, PyAny>,
    source: &Bound<'py, PyAny>,
) -> PyResult<(HostArray, Tensor)> {
    let found = HostArray::of(array, "array")?;
    let tensor = match named_memory(source, &found, "source") {
        Some(named) => named?,
        None => tensor(source, "source")?,
    };
    Image::of_source(&tensor).check(&found, "array")?;
    Ok((found, tensor))
}

/// Returns an array and its layout. If `source` is given, the array is the memory of that layout;
/// otherwise the layout has the array's own strides.
fn described_or_whole<'py>(
    array: &Bound<'py, PyAny>,
    source: Option<&Bound<'py, PyAny>>,
) -> PyResult<(HostArray, Tensor)> {
    if let Some(source) = source {
        return described(array, source);
    }
    let array = whole(array)?;
    let tensor = array.tensor()?;
    Ok((array, tensor))
}

/// Copies an array into another memory layout, and returns that memory.
///
/// `to` is a layout such as "{0,1:T(8,128)}", dimension numbers with the most minor first, a
/// whole shape, or JAX's `Layout` or `Format`. It may also be a name: "C", "F",
/// `"channels_last"` or `torch.channels_last`, or the letters of the dimensions such as "NHWC".
/// The result is an array with the dimensions of the memory, most major first, or `out` if that
/// is given. It is a tensor of torch or an array of JAX if `array` is one and the library has
/// the element type, and a numpy array otherwise. Elements are converted to `dtype`, or to the
/// element type of `to` if it is a whole shape. With `tiles="tpu"`, the result has the tiles that
/// XLA gives an array of its extents on a TPU.
///
/// If `array` is the memory of a layout, `source` is the whole shape with that layout, or the
/// layout's name. Letters name the dimensions of an array that XLA has as NCHW, so `to="NCHW"`
/// alone changes nothing. For an image whose channels are last, `source` is "NHWC".
///
/// Gradients are not followed: the result is new memory, also for a parameter of a module. A tensor
/// that torch computed with a record of its gradient is refused.
///
/// With a `table`, each element becomes the entry of the table at its bits: the table is an
/// array of 256 entries for elements of 8 bits, and of 16 for 4 bits. The entries have the type
/// of the result. If each index along a dimension has its own table, `table_dimension` is that
/// dimension of `array`, and the table has a row for each of its indices.
///
/// >>> import numpy, stridec
/// >>> x = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
/// >>> image = stridec.relayout(x, to="{0,1:T(2,2)}")
/// >>> image.shape, image.ravel().tolist()
/// ((2, 1, 2, 2), [0, 3, 1, 4, 2, 5, 0, 0])
/// >>> stridec.relayout(image, to="{1,0}", source="s32[2,3]{0,1:T(2,2)}").tolist()
/// [[0, 1, 2], [3, 4, 5]]
/// >>> stridec.relayout(x, to="{0,1}", dtype=numpy.float16).tolist()
/// [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
/// >>> stridec.relayout(numpy.zeros((2, 3, 4, 5)), to="NHWC").shape
/// (2, 4, 5, 3)
/// >>> stridec.relayout(numpy.zeros((2, 4, 5, 3)), to="NCHW", source="NHWC").shape
/// (2, 3, 4, 5)
/// >>> pixels = numpy.array([[0, 51], [102, 255]], numpy.uint8)
/// >>> unit = numpy.arange(256, dtype=numpy.float32) / 255
/// >>> stridec.relayout(pixels, to="{0,1}", table=unit).tolist()
/// [[0.0, 0.4000000059604645], [0.20000000298023224, 1.0]]
#[pyfunction]
#[pyo3(signature = (array, to, *, dtype=None, tiles=None, table=None, table_dimension=None, source=None, out=None, device=None))]
#[allow(clippy::too_many_arguments)] // they are Python's, by keyword
pub(crate) fn relayout<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    to: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    tiles: Option<&Bound<'py, PyAny>>,
    table: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = table_dimension_of)] table_dimension: Option<usize>,
    source: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = Device::given(device)?;
    let dtype = dtype.map(|dtype| element_type(dtype, "dtype")).transpose()?;
    let tiles = default_tiles(tiles)?;
    let destination = |from: &Tensor, sizes: &[u64], dtype| {
        let to = Described::Tensor(destination(to, from, sizes, dtype, "to")?);
        tiled(to, tiles)?.tensor().cloned().map_err(raised)
    };
    if table.is_none() && table_dimension.is_some() {
        return Err(invalid("table_dimension", "a table beside it", "none".to_owned()));
    }
    if source.is_some() || table.is_some() {
        let given = array;
        let (array, from) = described_or_whole(array, source)?;
        let table = table.map(|table| HostArray::of(table, "table")?.packed(table)).transpose()?;
        let dtype = dtype.or(table.as_ref().map(HostArray::element_type));
        let to = destination(&from, &sizes(&from), dtype)?;
        let operation = Operation::between(from, to)?.lowered;
        let operation = match &table {
            Some(table) => with_table(&operation, table, table_dimension)?,
            None => operation,
        };
        return run_on(py, &operation, (given, &array), out, device);
    }
    let given = array;
    let array = whole(array)?;
    let operation = recent::relayout(&array, recent::Destination { to, dtype, tiles }, || {
        let from = array.tensor()?;
        let advised = |error| memory_advice(error, array.sizes().len(), rank_of(to));
        let to = destination(&from, array.sizes(), dtype).map_err(advised)?;
        let differs = to.descriptor().sizes() != array.sizes();
        let operation = Operation::between(from, to);
        let advised = |error| if differs { with_advice(error, MEMORY_ADVICE) } else { error };
        Ok(operation.map_err(advised)?.lowered)
    })?;
    run_on(py, &operation, (given, &array), out, device)
}

/// The end of a message about an array whose extents are not those of a layout.
const MEMORY_ADVICE: &str =
    "; if the array is the memory of a layout, give the shape with that layout as `source=`";

/// Returns the exception for an array of `rank` dimensions and another argument, with advice if
/// that one has another number of dimensions.
fn memory_advice(raised: PyErr, rank: usize, other: Option<usize>) -> PyErr {
    match other {
        Some(other) if other != rank => with_advice(raised, MEMORY_ADVICE),
        _ => raised,
    }
}

/// Returns the number of a dimension, or `None` for None.
fn table_dimension_of(given: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if given.is_none() { Ok(None) } else { numbers::number(given, "table_dimension").map(Some) }
}

/// Returns an operation through a table.
fn with_table(
    operation: &Lowered,
    table: &HostArray,
    dimension: Option<usize>,
) -> PyResult<Lowered> {
    let rank = operation.source_descriptor().rank();
    if let Some(dimension) = dimension.filter(|&dimension| dimension >= rank) {
        let expected = format!("a dimension below {rank}, the rank of the array");
        return Err(invalid("table_dimension", &expected, dimension));
    }
    let to = operation.destination_descriptor().element_type();
    let shape = Table::shape(operation.source(), to, dimension);
    let shape = shape.map_err(|error| at("array", error))?;
    let descriptor = StrideDescriptor::try_from(&shape).map_err(raised)?;
    Image::of(&descriptor).check(table, "table")?;
    let table = Table::new(table.bytes()?.to_vec(), dimension);
    operation.clone().with_table(table).map_err(raised)
}

/// Copies a window of an array in steps, as DirectML's SLICE1 does. A negative stride starts at the
/// end of the window.
///
/// The other arguments are as for `relayout`. The result is in row-major order unless `to` is
/// another layout.
///
/// >>> import numpy, stridec
/// >>> x = numpy.arange(16, dtype=numpy.uint8).reshape(4, 4)
/// >>> stridec.slice(x, (0, 0), (4, 4), (-2, 1)).tolist()
/// [[12, 13, 14, 15], [4, 5, 6, 7]]
#[pyfunction]
#[pyo3(signature = (array, offsets, sizes, strides=None, *, to=None, source=None, out=None, device=None))]
#[allow(clippy::too_many_arguments)] // they are Python's, by keyword
pub(crate) fn slice<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    sizes: &Bound<'py, PyAny>,
    strides: Option<&Bound<'py, PyAny>>,
    to: Option<&Bound<'py, PyAny>>,
    source: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = array;
    let (array, from) = described_or_whole(array, source)?;
    let window = window(offsets, sizes, strides)?;
    let (rank, other) = (array.sizes().len(), window.window_sizes.len());
    let advised = |error| match source {
        None => memory_advice(error, rank, Some(other)),
        Some(_) => error,
    };
    let operation = Operation::window(from, window, to).map_err(advised)?;
    run_on(py, &operation.lowered, (given, &array), out, Device::given(device)?)
}

/// Compiles a relayout to a kernel. No device is needed.
///
/// >>> import stridec
/// >>> kernel = stridec.compile("f32[8,64,112,112]", "{1,3,2,0}")
/// >>> kernel.strategy, kernel.workgroup_size, kernel.dispatches
/// ('transpose', (256, 1, 1), [(1568, 1, 1)])
#[pyfunction]
#[pyo3(signature = (source, to, *, target=None))]
pub(crate) fn compile(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    to: &Bound<'_, PyAny>,
    target: Option<&Bound<'_, PyAny>>,
) -> PyResult<Kernel> {
    let source = tensor(source, "source")?;
    let extents = sizes(&source);
    let to = destination(to, &source, &extents, None, "to")?;
    Operation::between(source, to)?.compile(py, target)
}
