//! The class `stridec.Program`.

use std::{borrow::Cow, sync::OnceLock};

use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyTuple},
};
use stridec::{
    Error, Operation, Target, Tensor,
    explain::ProgramPicture,
    hlo::Module,
    notation::NumpyArray,
    program::{ArrayBuffer, Program as Lowered, ProgramError, Ways},
    shape::{ElementType, Shape as XlaShape},
    stride::StrideDescriptor,
};

use crate::{
    array::{HostArray, Room, dtype, lies_as, numpy},
    device::Device,
    errors::{at, invalid, raised, with_advice},
    kernel::Kernel,
    library::Library,
    module::{Call, Given},
    numbers::{self, shown},
    picture::{self, Form},
    shape::Shape,
    target,
};

/// A module that moves data, compiled to kernels, which can be called on arrays.
///
/// `module` is a serialized `HloModuleProto`, HLO or StableHLO text, or the result of
/// `jax.jit(f).lower(x)`, of its `compile()`, or of `jax.export.export(f)(x)`. A program that was
/// made from a function of JAX takes and returns the values of that function. With
/// `layouts="default"`, parameters and results are in row-major order, whatever the layouts in the
/// module. Calls run on `device`: "host", "gpu", or "auto" for a GPU if there is one.
///
/// >>> import numpy, stridec
/// >>> program = stridec.Program('''
/// ... ENTRY main {
/// ...   x = s32[2,3] parameter(0)
/// ...   ROOT y = s32[3,2] transpose(x), dimensions={1,0}
/// ... }''')
/// >>> program(numpy.arange(6, dtype=numpy.int32).reshape(2, 3)).tolist()
/// [[0, 3], [1, 4], [2, 5]]
/// >>> len(program.kernels), program.kernels[0].destination_bytes
/// (1, 24)
#[pyclass(frozen, module = "stridec")]
pub(crate) struct Program {
    module: Module,
    lowered: Lowered,
    target: Target,
    compiled: OnceLock<Lowered>,
    call: Option<Call>,
    /// The device of calls.
    device: Device,
}

impl Program {
    /// Returns the page, or `None` if there is nothing to draw or the limits of the target are too
    /// low.
    fn page(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| {
            let ways = Ways::new(&self.module).ok()?;
            ProgramPicture::new(&ways).html(&self.target).ok()
        })
    }

    /// Returns the program with its kernels, which are compiled on the first call.
    fn compiled(&self, py: Python<'_>) -> PyResult<&Lowered> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let compiled = py.detach(|| self.lowered.clone().compiled(&self.target)).map_err(raised)?;
        Ok(self.compiled.get_or_init(|| compiled))
    }

    fn run_flat<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, PyAny>],
        accepts: Accepts,
        device: Device,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let parameters = self.lowered.parameters();
        if arguments.len() != parameters.len() {
            let shapes: Vec<String> =
                parameters.iter().map(|of| of.shape().without_layout().to_string()).collect();
            let shapes = if shapes.is_empty() { "none".to_owned() } else { shapes.join(", ") };
            let expected = format!("{} arrays ({shapes})", parameters.len());
            return Err(invalid("arguments", &expected, arguments.len()));
        }
        let mut arrays = Vec::with_capacity(arguments.len());
        for (number, (given, buffer)) in arguments.iter().zip(parameters).enumerate() {
            arrays.push(argument(given, buffer, number, accepts)?);
        }
        let mut images = Vec::with_capacity(arrays.len());
        for (array, buffer) in arrays.iter().zip(parameters) {
            images.push(image(py, array, buffer)?);
        }
        let sources: Vec<&[u8]> = images.iter().map(|image| &**image).collect();
        let sources_of: Vec<&HostArray> = arrays.iter().collect();
        let rooms: PyResult<Vec<Room<'py>>> = self
            .lowered
            .results()
            .iter()
            .map(|of| Room::of(py, of.descriptor(), None, &sources_of))
            .collect();
        let rooms = rooms?;
        let mut results = Vec::with_capacity(rooms.len());
        for room in &rooms {
            results.push(room.array.bytes_mut("result")?);
        }
        py.detach(|| device.run(&self.lowered, &sources, &mut results)).map_err(past_limits)?;
        let library = Library::of(arguments);
        let rooms = rooms.into_iter().zip(self.lowered.results());
        rooms
            .map(|(room, of)| library.array(logical(py, room, of)?, of.shape().element_type()))
            .collect()
    }
}

/// Returns the exception for a run that failed. If the GPU's limits are too low, it names the way
/// out.
fn past_limits(error: Error) -> PyErr {
    if !matches!(&error, Error::Gpu(gpu) if gpu.is_beyond_limits()) {
        return raised(error);
    }
    let advice = "; device=\"host\" runs the program in any size, and device=\"auto\" does where the GPU cannot";
    with_advice(raised(error), advice)
}

/// The arguments that a program accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepts {
    /// Arrays of the types of the parameters, and Python's numbers.
    Exact,
    /// Also arrays of the 64-bit types that JAX reads as 32-bit types, as numpy makes them by
    /// default.
    LikeJax,
}

/// Returns the array of an argument. Returns an error if its type or extents differ from the
/// parameter's.
fn argument(
    given: &Bound<'_, PyAny>,
    buffer: &ArrayBuffer,
    number: usize,
    accepts: Accepts,
) -> PyResult<HostArray> {
    let name = format!("arguments[{number}]");
    let expected = buffer.shape();
    if let Some(array) = scalar(given, expected, &name)? {
        return Ok(array);
    }
    let mut array = HostArray::of(given, &name)?;
    if accepts == Accepts::LikeJax
        && is_read_as(array.element_type(), expected.element_type())
        && array.sizes() == buffer.descriptor().sizes()
    {
        return converted(given, expected.element_type(), &name);
    }
    let fits = array.element_type() == expected.element_type()
        && array.sizes() == buffer.descriptor().sizes();
    if !fits {
        let given = array.tensor()?;
        return Err(invalid(&name, &expected.without_layout().to_string(), given));
    }
    if !array.has_whole_strides() {
        array = array.packed(given)?;
    }
    Ok(array)
}

/// Returns the array of a Python number, or `None` for another object. Integers are accepted for
/// every numeric type, and other numbers for types of their kind.
fn scalar(
    given: &Bound<'_, PyAny>,
    expected: &XlaShape,
    argument: &str,
) -> PyResult<Option<HostArray>> {
    let element_type = expected.element_type();
    let is_complex = matches!(element_type, ElementType::C64 | ElementType::C128);
    let fits = if given.is_instance_of::<PyBool>() {
        element_type == ElementType::Pred
    } else if given.is_instance_of::<PyInt>() {
        element_type != ElementType::Pred
    } else if given.is_instance_of::<PyFloat>() {
        element_type != ElementType::Pred && !is_integer(element_type)
    } else if given.is_instance_of::<PyComplex>() {
        is_complex
    } else {
        return Ok(None);
    };
    if !fits || expected.rank() > 0 {
        return Err(invalid(argument, &expected.without_layout().to_string(), shown(given)));
    }
    converted(given, element_type, argument).map(Some)
}

/// Returns true for the types of integers, whose names are an `s` or a `u` before the width.
fn is_integer(element_type: ElementType) -> bool {
    matches!(element_type.name().as_bytes(), [b's' | b'u', b'0'..=b'9', ..])
}

/// Returns true if JAX reads arrays of type `given` as `expected`, unless it is told to keep 64-bit
/// types.
fn is_read_as(given: ElementType, expected: ElementType) -> bool {
    use ElementType as E;
    matches!(
        (given, expected),
        (E::S64, E::S32) | (E::U64, E::U32) | (E::F64, E::F32) | (E::C128, E::C64)
    )
}

/// Returns a copy of an array or of a number, converted to another type. Returns an error if an
/// integer does not fit.
fn converted(
    given: &Bound<'_, PyAny>,
    element_type: ElementType,
    argument: &str,
) -> PyResult<HostArray> {
    let py = given.py();
    let expected = format!("numbers that fit {}", element_type.name());
    let refused = |_| invalid(argument, &expected, shown(given));
    let name = NumpyArray::dtype(element_type).unwrap_or("uint8");
    let numpy = numpy(py)?;
    let whole = numpy.call_method1(intern!(py, "asarray"), (given,))?;
    let made = whole.call_method1(intern!(py, "astype"), (dtype(py, name)?,)).map_err(refused)?;
    if is_integer(element_type) {
        let same = numpy.call_method1(intern!(py, "array_equal"), (&whole, &made))?;
        if !same.is_truthy()? {
            return Err(invalid(argument, &expected, shown(given)));
        }
    }
    HostArray::of(&made, argument)
}

/// Returns the memory of a parameter. This is the memory of the array itself if its elements are at
/// the places of the layout, and a copy otherwise.
fn image<'a>(
    py: Python<'_>,
    array: &'a HostArray,
    buffer: &ArrayBuffer,
) -> PyResult<Cow<'a, [u8]>> {
    if lies_as(array, buffer.descriptor())? {
        return Ok(Cow::Borrowed(array.bytes()?));
    }
    let to = Tensor::try_from(buffer.shape().clone()).map_err(raised)?;
    let operation = Operation::relayout(array.tensor()?, to).map_err(raised)?;
    let mut image = vec![0; usize::try_from(buffer.bytes())?];
    let source = array.bytes()?;
    py.detach(|| Device::Host.copy(&operation, source, &mut image)).map_err(raised)?;
    Ok(Cow::Owned(image))
}

/// Returns a result as an array with the dimensions of its shape. This is a view if the memory
/// consists of the elements alone, and a copy otherwise.
fn logical<'py>(py: Python<'py>, room: Room<'py>, of: &ArrayBuffer) -> PyResult<Bound<'py, PyAny>> {
    let layout = of.descriptor();
    if let Some(order) = order(layout) {
        if order.is_sorted() {
            return Ok(room.object);
        }
        // Dimension d of the array is the dimension of the memory that has the coordinate d.
        let places = (0..order.len()).map(|dimension| order.iter().position(|&it| it == dimension));
        let axes = PyTuple::new(py, places.collect::<Vec<_>>())?;
        return room.object.call_method1(intern!(py, "transpose"), (axes,));
    }
    let shape = of.shape();
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

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (module, /, *, target=None, layouts="module", device="host"))]
    fn new(
        py: Python<'_>,
        module: &Bound<'_, PyAny>,
        target: Option<&Bound<'_, PyAny>>,
        layouts: &str,
        device: &str,
    ) -> PyResult<Self> {
        let device = Device::of(device)?;
        let given = Given::of(module, "module")?;
        let module = given.module(py)?;
        let module = match layouts {
            "module" => module,
            "default" => module.with_default_layouts(),
            _ => {
                return Err(invalid(
                    "layouts",
                    "\"module\" or \"default\"",
                    format!("{layouts:?}"),
                ));
            }
        };
        let lowered = py.detach(|| Lowered::lower(&module)).map_err(|error| at("module", error))?;
        let target = target::of(target, "target")?;
        Ok(Self { module, lowered, target, compiled: OnceLock::new(), call: given.call, device })
    }

    /// The name of the module.
    #[getter]
    fn name(&self) -> &str {
        self.lowered.name()
    }

    /// The arrays that the program reads, in order. A tuple counts as the arrays inside it.
    #[getter]
    fn parameters(&self) -> Vec<Shape> {
        shapes(self.lowered.parameters())
    }

    /// The arrays that the program writes, in order. A tuple counts as the arrays inside it.
    #[getter]
    fn results(&self) -> Vec<Shape> {
        shapes(self.lowered.results())
    }

    /// The kernels, in the order in which they run.
    #[getter]
    fn kernels(&self, py: Python<'_>) -> PyResult<Vec<Kernel>> {
        let compiled = self.compiled(py)?;
        let kernels = compiled.kernels().iter().zip(compiled.steps());
        Ok(kernels.map(|(kernel, step)| Kernel::of_step(kernel.clone(), compiled, step)).collect())
    }

    /// Returns every stage of every result, as text.
    fn stages(&self, py: Python<'_>) -> PyResult<String> {
        self.compiled(py)?.stages(&self.target).map_err(raised)
    }

    /// Runs the program. Takes one array for each parameter, and returns one array for each result.
    /// Results are tensors of torch if an argument is one, or else arrays of JAX if an argument is
    /// one, and numpy arrays otherwise. A scalar may be a Python number. `device` is that of the
    /// program unless it is given.
    #[pyo3(signature = (*arguments, device=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<Bound<'py, PyAny>>,
        device: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let device = device.map_or_else(|| Ok(self.device.clone()), Device::of)?;
        self.run_flat(py, &arguments, Accepts::Exact, device)
    }

    /// Runs the program. A program that was made from a function of JAX takes and
    /// returns the values of that function; 64-bit numbers of numpy are read as the 32-bit ones of
    /// the function. Any other program takes one array for each parameter,
    /// and returns an array or a tuple of arrays.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(call) = &self.call else {
            if kwargs.is_some_and(|kwargs| !kwargs.is_empty()) {
                let message = "a program without a function of JAX takes no arguments by name";
                return Err(PyTypeError::new_err(message));
            }
            let arguments: Vec<_> = args.iter().collect();
            let mut results = self.run_flat(py, &arguments, Accepts::Exact, self.device.clone())?;
            let is_tuple = self.module.result().element_type() == ElementType::Tuple;
            return match (is_tuple, results.len()) {
                (false, 1) => Ok(results.remove(0)),
                _ => Ok(PyTuple::new(py, results)?.into_any()),
            };
        };
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        let arguments = PyTuple::new(py, [args.as_any(), kwargs.as_any()])?;
        let flat = call.flatten(py, arguments.into_any())?;
        let results = self.run_flat(py, &flat, Accepts::LikeJax, self.device.clone())?;
        call.unflatten(py, results)
    }

    fn __repr__(&self) -> String {
        let list = |of: &[ArrayBuffer]| {
            let shapes: Vec<String> = of.iter().map(|of| of.shape().to_string()).collect();
            shapes.join(", ")
        };
        let (from, to) = (list(self.lowered.parameters()), list(self.lowered.results()));
        let kernels = self.lowered.steps().len();
        let s = if kernels == 1 { "" } else { "s" };
        format!(
            "<stridec.Program {}: ({from}) -> ({to}), {kernels} kernel{s}>",
            self.lowered.name()
        )
    }

    /// Returns a drawing of the origins of the results' elements, as text.
    #[pyo3(signature = (columns=80))]
    fn draw(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::columns)] columns: usize,
    ) -> PyResult<String> {
        let drawing = py.detach(|| {
            let ways = Ways::new(&self.module)?;
            Ok::<_, ProgramError>(ProgramPicture::new(&ways).terminal(columns))
        });
        drawing.map(|drawing| picture::plain(&drawing)).map_err(raised)
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(path, |form| {
            Ok(match form {
                Form::Svg => self._repr_svg_(py),
                Form::Html => self.page(py),
                Form::Text => Some(self.draw(py, picture::COLUMNS)?),
            })
        })
    }

    /// Returns a picture of the origin of each element of the results for a notebook, and a page
    /// with the kernels. None if there is nothing to draw.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        picture::notebook(self._repr_svg_(py), self.page(py))
    }

    /// Returns a drawing of the origins of the results' elements, as an SVG document. None if there
    /// is nothing to draw.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| Ways::new(&self.module).ok().map(|ways| ProgramPicture::new(&ways).svg()))
    }

    /// Returns the program as text, and its drawing as SVG and as a page.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _ = (include, exclude);
        picture::bundle(py, self.__repr__(), self._repr_html_(py), self._repr_svg_(py))
    }
}

fn shapes(buffers: &[ArrayBuffer]) -> Vec<Shape> {
    buffers.iter().map(|of| Shape::of_shape(of.shape().clone())).collect()
}
