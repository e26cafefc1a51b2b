//! The class `stridec.Program`.

use std::sync::OnceLock;

use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyModule, PyTuple, PyType},
};
use stridec::{
    Error, ErrorKind, Target,
    explain::ProgramPicture,
    hlo::Module,
    notation::NumpyArray,
    program::{ArrayBuffer, Program as Lowered, ProgramError, Ways, parameter_names},
    shape::{ElementType, Shape as XlaShape},
};

use crate::{
    array::{HostArray, Room, dtype, numpy},
    device::Device,
    errors::{at, invalid, raised, with_advice},
    kernel::Kernel,
    layout::text,
    library::Library,
    logical::{image, logical},
    module::{Call, DEVICE_ADVICE, Given, LOWER},
    numbers::{self, counted, shown},
    picture::{self, Drawn},
    shape::Shape,
    target,
};

/// A module that moves data, compiled to kernels, which can be called on arrays.
///
/// `module` is a serialized `HloModuleProto`, HLO or StableHLO text, or the result of
/// `jax.jit(f).lower(x)`, of its `compile()`, or of `jax.export.export(f)(x)`. A program that was
/// made from a function of JAX takes and returns the values of that function. Parameters and
/// results have the layouts that the module declares. Of a function that JAX lowered, these are
/// the ones of its `Format`s, and row-major order where it has none. With `layouts="default"`, all
/// are in row-major order. Calls run on `device`: "host", as without it, "gpu", or "auto" for a GPU
/// if there is one.
///
/// A call of the program, `program(x, y)`, takes the arguments of the function and returns its
/// results. 64-bit numbers of numpy are read as the 32-bit ones of the function. A result is an
/// array with the extents of the function's result. If its layout is not row-major, the array is
/// not contiguous. A program without a function takes an array for each parameter, and returns an
/// array or a tuple of them. Gradients are not followed.
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
    /// Returns the program with its kernels, which are compiled on the first call.
    fn compiled(&self, py: Python<'_>) -> PyResult<&Lowered> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let named = self.lowered.clone().with_parameter_names(&self.parameter_names(py));
        let named = named.with_result_names(&self.result_names(py));
        let compiled = py.detach(|| named.compiled(&self.target)).map_err(raised)?;
        Ok(self.compiled.get_or_init(|| compiled))
    }

    fn pictured<T: Send>(
        &self,
        py: Python<'_>,
        draw: impl FnOnce(&ProgramPicture<'_>) -> T + Send,
    ) -> PyResult<T> {
        let names = self.result_names(py);
        py.detach(|| Ok(draw(&ProgramPicture::new(&Ways::new(&self.module)?).names(names))))
            .map_err(|error: ProgramError| raised(error))
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
            let expected = format!("{} ({shapes})", counted(parameters.len(), "array"));
            return Err(invalid("arguments", &expected, arguments.len()));
        }
        let mut arrays = Vec::with_capacity(arguments.len());
        for (number, (given, buffer)) in arguments.iter().zip(parameters).enumerate() {
            arrays.push(argument(given, buffer, number, accepts)?);
        }
        let mut images = Vec::with_capacity(arrays.len());
        for (array, buffer) in arrays.iter().zip(parameters) {
            images.push(image(py, array, buffer.shape(), buffer.descriptor())?);
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
            .map(|(room, of)| {
                let array = logical(py, room, of.shape(), of.descriptor())?;
                library.array(array, of.shape().element_type())
            })
            .collect()
    }
}

/// Returns the exception for a run that failed. If the GPU's limits are too low, it names the way
/// out.
fn past_limits(error: Error) -> PyErr {
    if !matches!(&error, Error::Gpu(gpu) if gpu.is_beyond_limits()) {
        return raised(error);
    }
    let advice = "; a program that is too large runs in parts, except for indices into a buffer that is too large, and for scatters; device=\"host\" runs every program, and device=\"auto\" does where the GPU cannot";
    with_advice(raised(error), advice)
}

/// The end of a message about a function that XLA compiled to instructions that are not supported.
const COMPILED_ADVICE: &str = "; XLA rewrote the function when it compiled it, so try what `lower()` returns, without `compile()`";

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
/// integer does not fit, or if a number becomes an infinity or NaN.
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
    let quiet = PyDict::new(py);
    quiet.set_item(intern!(py, "all"), "ignore")?;
    // numpy warns of a number that becomes an infinity, which is refused below.
    let quiet = numpy.call_method(intern!(py, "errstate"), (), Some(&quiet))?;
    quiet.call_method0(intern!(py, "__enter__"))?;
    let made = whole.call_method1(intern!(py, "astype"), (dtype(py, name)?,));
    quiet.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
    let made = made.map_err(refused)?;
    let differ = |a, b| numpy.call_method1(intern!(py, "not_equal"), (a, b));
    let misfits = if is_integer(element_type) {
        differ(&whole, &made)?
    } else if given.is_instance_of::<PyInt>() {
        numpy.call_method1(intern!(py, "logical_not"), (is_finite(numpy, &made)?,))?
    } else {
        differ(&is_finite(numpy, &whole)?, &is_finite(numpy, &made)?)?
    };
    if !numpy.call_method1(intern!(py, "any"), (&misfits,))?.is_truthy()? {
        return HostArray::of(&made, argument);
    }
    let rank: usize = whole.getattr(intern!(py, "ndim"))?.extract()?;
    if rank == 0 {
        return Err(invalid(argument, &expected, shown(given)));
    }
    // An array may have millions of elements, so the message names the first that does not fit.
    let first = numpy.call_method1(intern!(py, "argwhere"), (&misfits,))?.get_item(0)?;
    let index = PyTuple::new(
        py,
        first.call_method0(intern!(py, "tolist"))?.try_iter()?.collect::<PyResult<Vec<_>>>()?,
    )?;
    let (value, dtype) = (whole.get_item(&index)?.str()?, whole.getattr(intern!(py, "dtype"))?);
    Err(invalid(argument, &expected, format!("{value} at {index} of an array of {dtype}")))
}

/// Returns an array that has True for each element that is neither infinite nor NaN.
fn is_finite<'py>(
    numpy: &Bound<'py, PyModule>,
    array: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    numpy.call_method1(intern!(numpy.py(), "isfinite"), (array,))
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(
        signature = (module, /, *others, target=None, layouts=None, device=None),
        text_signature = "(module, /, *, target=None, layouts=None, device=None)",
    )]
    fn new(
        py: Python<'_>,
        module: &Bound<'_, PyAny>,
        others: &Bound<'_, PyTuple>,
        target: Option<&Bound<'_, PyAny>>,
        layouts: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if !others.is_empty() {
            let given = counted(others.len() + 1, "argument");
            return Err(PyTypeError::new_err(format!(
                "module: expected one argument, {LOWER}, got {given}"
            )));
        }
        let device = Device::given(device)?;
        let is_compiled = module.hasattr(intern!(py, "runtime_executable"))?;
        let given = Given::of(module, "module", "")?;
        let module = given.module(py)?;
        let module = match layouts.map(|layouts| (text(layouts), layouts)) {
            None => module,
            Some((Some(name), _)) if name == "module" => module,
            Some((Some(name), _)) if name == "default" => module.with_default_layouts(),
            Some((_, given)) => {
                return Err(invalid("layouts", "\"module\" or \"default\"", shown(given)));
            }
        };
        let lowered = py.detach(|| Lowered::lower(&module)).map_err(|error| {
            let is_unsupported = error.kind() == ErrorKind::Unsupported;
            let advice = if is_compiled && is_unsupported { COMPILED_ADVICE } else { "" };
            with_advice(at("module", error), advice)
        })?;
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

    /// The name of each parameter: its place in the arguments of the function of JAX, such as
    /// "args.0.cache" or, if it is passed by name, "cache", and its name in the module if there is
    /// no such function.
    #[getter]
    fn parameter_names(&self, py: Python<'_>) -> Vec<String> {
        let names = self.call.as_ref().and_then(|call| call.parameter_names(py).ok());
        let names = names.filter(|names| names.len() == self.lowered.parameters().len());
        names.unwrap_or_else(|| parameter_names(&self.module))
    }

    /// The name of each result: its place in the tree that the function of JAX returns, such as
    /// "cache.0", and its number if there is no such tree.
    #[getter]
    fn result_names(&self, py: Python<'_>) -> Vec<String> {
        let count = self.lowered.results().len();
        let names = self.call.as_ref().and_then(|call| call.result_names(py, count).ok());
        let mut names = names.filter(|names| names.len() == count).unwrap_or_default();
        names.resize(count, String::new());
        let named = |(number, name): (usize, String)| {
            if name.is_empty() { number.to_string() } else { name }
        };
        names.into_iter().enumerate().map(named).collect()
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

    /// Runs the program. Takes one array for each parameter, or for each argument of the function
    /// of JAX, in the order of their tree, and returns one array for each result. Results are
    /// tensors of torch if an argument is one, or else arrays of JAX if an argument is one, and
    /// numpy arrays otherwise. A scalar may be a Python number. `device` is that of the program
    /// unless it is given.
    #[pyo3(signature = (*arguments, device=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let device = match device {
            None => self.device.clone(),
            given => Device::given(given)?,
        };
        let arguments = match &self.call {
            Some(call) => call.parameters(py, arguments)?,
            None => arguments,
        };
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
            if let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) {
                let advice = if kwargs.contains("device")? { DEVICE_ADVICE } else { "" };
                return Err(PyTypeError::new_err(format!(
                    "a program without a function of JAX takes no arguments by name{advice}"
                )));
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

    #[allow(clippy::type_complexity)] // it is of Python's protocol
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyAny>,
        (
            Bound<'py, PyBytes>,
            String,
            String,
            Option<(Py<PyAny>, Py<PyAny>, Option<Vec<usize>>)>,
            bool,
        ),
    )> {
        let module = PyBytes::new(py, &self.module.encode());
        let call = self.call.as_ref().map(|call| call.saved(py));
        let restored = PyType::new::<Self>(py).getattr("_restored")?;
        let (target, device) = (self.target.to_json(), self.device.name());
        let buffers = self.lowered.parameters().iter().chain(self.lowered.results());
        let is_plain = buffers.map(ArrayBuffer::shape).all(|shape| shape.layout().is_none());
        Ok((restored, (module, target, device, call, is_plain)))
    }

    #[classmethod]
    #[pyo3(name = "_restored")]
    #[allow(clippy::type_complexity)] // the arguments are the tuple of `__reduce__`
    fn restored(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        module: &[u8],
        target: &str,
        device: &str,
        call: Option<(Py<PyAny>, Py<PyAny>, Option<Vec<usize>>)>,
        is_plain: bool,
    ) -> PyResult<Self> {
        let target = Target::from_json(target).map_err(|error| at("target", error))?;
        let module = Module::decode(module).map_err(|error| at("module", error))?;
        // A serialized module spells out the layouts of shapes that have none.
        let module = if is_plain { module.with_default_layouts() } else { module };
        let lowered = py.detach(|| Lowered::lower(&module)).map_err(|error| at("module", error))?;
        // The kernels are compiled again when they are asked for, so that they are always those of
        // the module.
        let compiled = OnceLock::new();
        let (call, device) = (call.map(Call::restored), Device::of(device)?);
        Ok(Self { module, lowered, target, compiled, call, device })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let list = |of: &[ArrayBuffer], names: &[String]| {
            let shapes = of.iter().zip(0_usize..).map(|(of, number)| match names.get(number) {
                Some(name) if *name != number.to_string() => format!("{name}: {}", of.shape()),
                _ => of.shape().to_string(),
            });
            shapes.collect::<Vec<_>>().join(", ")
        };
        let from = list(self.lowered.parameters(), &[]);
        let to = list(self.lowered.results(), &self.result_names(py));
        let kernels = counted(self.lowered.steps().len(), "kernel");
        format!("<stridec.Program {}: ({from}) -> ({to}), {kernels}>", self.lowered.name())
    }

    /// Returns a drawing of the origins of the results' elements, as text.
    #[pyo3(signature = (columns=80))]
    fn draw(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = numbers::columns)] columns: usize,
    ) -> PyResult<String> {
        Ok(picture::plain(&self.pictured(py, |drawn| drawn.terminal(columns))?))
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    /// Returns a picture of the origin of each element of the results for a notebook, and a page
    /// with the kernels. None if there is nothing to draw.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns a drawing of the origins of the results' elements, as an SVG document. None if there
    /// is nothing to draw.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        self.svg(py).ok()
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
        picture::bundle(py, self)
    }
}

#[allow(clippy::redundant_closure_for_method_calls)] // the methods are of one lifetime
impl Drawn for Program {
    fn name(&self, py: Python<'_>) -> String {
        self.__repr__(py)
    }

    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        self.pictured(py, |drawn| drawn.svg())
    }

    fn page(&self, py: Python<'_>) -> PyResult<String> {
        self.pictured(py, |drawn| drawn.html(&self.target))?.map_err(picture::without_kernel)
    }

    fn text(&self, py: Python<'_>, columns: usize) -> PyResult<String> {
        self.draw(py, columns)
    }
}

fn shapes(buffers: &[ArrayBuffer]) -> Vec<Shape> {
    buffers.iter().map(|of| Shape::of_shape(of.shape().clone())).collect()
}
