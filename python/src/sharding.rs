//! The class `stridec.Sharding`: shardings of JAX, `PyTorch` and XLA, or a part for each device.

use std::{
    borrow::Cow,
    hash::{Hash, Hasher},
    sync::Arc,
};

use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyList, PyString, PyTuple, PyType},
};
use stridec::{
    shape::Shape as XlaShape,
    sharding::{Placement, Region, Sharding as Parsed},
};

use crate::{
    errors::{inside, invalid, raised, renamed, unsupported},
    layout::described,
    numbers::{self, numbers, shown},
    placements::of_placements,
};

/// The maximum number of ranges in all parts of a sharding that Python lists or gives.
pub(crate) const MOST_RANGES: u64 = 1 << 22;
/// The maximum number of objects that are followed through their `sharding` attributes.
const MOST_NESTED: usize = 8;

/// The parts of an array that lie on devices.
///
/// `source` is XLA's or Shardy's text, a `jax.sharding.NamedSharding`, the text of one with an
/// abstract mesh, a `jax.Array`, a `DTensor` of torch, or a dictionary with the part of each
/// device: a range for each dimension, or a list of ranges. Devices have the numbers of the
/// framework: ids in JAX, ranks in torch.
///
/// The text of a `NamedSharding` with devices does not give their order, so the object is needed.
/// Equal shardings divide every array in the same way. They are compared by their tiles and by their
/// lists of devices, so two that list devices differently may be unequal all the same.
///
/// >>> import stridec
/// >>> rows = stridec.Sharding("{devices=[2,1]<=[2]}")
/// >>> rows.regions("f32[8,6]")
/// {0: ((0, 4), (0, 6)), 1: ((4, 8), (0, 6))}
/// >>> rows == stridec.Sharding("{mesh['x'=2], [{'x'}, {}]}")
/// True
/// >>> stridec.Sharding({0: [(0, 3), (0, 6)], 1: [(3, 8), (0, 6)]}).devices
/// 2
/// >>> text = "NamedSharding(mesh=AbstractMesh('x': 2, 'y': 4), spec=P(None, ('y', 'x')))"
/// >>> str(stridec.Sharding(text))
/// "{mesh['x'=2,'y'=4], [{}, {'y', 'x'}]}"
#[pyclass(frozen, module = "stridec", eq, hash)]
#[derive(Clone)]
pub(crate) struct Sharding {
    form: Form,
    /// The device at each place of the form, or `None` if the form has the devices' own numbers.
    ids: Option<Arc<[u64]>>,
}

#[derive(Clone)]
enum Form {
    Whole(Parsed),
    /// The part of each device.
    Parts(Parsed),
    Axes(Axes),
}

/// Axes of a mesh for the first dimensions. The other dimensions are not divided.
#[derive(Clone)]
struct Axes {
    mesh: String,
    spec: Vec<Vec<String>>,
    unreduced: Vec<String>,
}

impl Axes {
    /// Returns the text of the sharding of an array with this number of dimensions.
    fn text(&self, rank: usize) -> String {
        let dimension = |at: usize| {
            let axes = self.spec.get(at).map(Vec::as_slice).unwrap_or_default();
            format!("{{{}}}", axes.join(", "))
        };
        let dimensions: Vec<String> = (0..rank).map(dimension).collect();
        let unreduced = match &self.unreduced[..] {
            [] => String::new(),
            axes => format!(", unreduced={{{}}}", axes.join(", ")),
        };
        format!("{{{}, [{}]{unreduced}}}", self.mesh, dimensions.join(", "))
    }

    /// Returns the number of dimensions up to the last one that is divided.
    fn divided(&self) -> usize {
        self.spec.iter().rposition(|axes| !axes.is_empty()).map_or(0, |last| last + 1)
    }
}

/// The devices that a sharding or a program has.
#[derive(Clone)]
pub(crate) struct Devices {
    count: u64,
    ids: Option<Arc<[u64]>>,
}

impl Devices {
    pub(crate) fn numbered(count: u64) -> Self {
        Self { count, ids: None }
    }
}

impl PartialEq for Sharding {
    fn eq(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }
}

impl Eq for Sharding {}

impl Hash for Sharding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning().hash(state);
    }
}

impl Sharding {
    /// Returns the sharding that an argument describes.
    pub(crate) fn of(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Self> {
        let mut given = given.clone();
        for _ in 0..MOST_NESTED {
            if let Some(found) = Self::of_one(&given, argument)? {
                return Ok(found);
            }
            given = given.getattr_opt("sharding")?.ok_or_else(|| refused(&given, argument))?;
        }
        Err(refused(&given, argument))
    }

    /// Returns the sharding that an object describes, or `None` if it may have one as its attribute
    /// `sharding`.
    fn of_one(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Option<Self>> {
        let py = given.py();
        if let Ok(sharding) = given.cast::<Self>() {
            return Ok(Some(sharding.get().clone()));
        }
        if let Ok(text) = given.cast::<PyString>() {
            return of_text(&text.to_string_lossy(), given, argument).map(Some);
        }
        let form = if let Ok(parts) = given.cast::<PyDict>() {
            Form::Parts(of_parts(parts, argument)?)
        } else if given.hasattr("placements")? && given.hasattr("device_mesh")? {
            let mesh = given.getattr("device_mesh")?;
            let shape = numbers(&given.getattr("shape")?, &format!("{argument}.shape"))?;
            let fields = [format!("{argument}.device_mesh"), format!("{argument}.placements")];
            let fields = [&*fields[0], &*fields[1]];
            Form::Parts(of_placements(&shape, &mesh, &given.getattr("placements")?, fields)?)
        } else if given.hasattr("spec")? && given.hasattr("mesh")? {
            return of_named(given, argument).map(Some);
        } else if let Some(text) = given.getattr_opt(intern!(py, "_hlo_sharding"))? {
            // `GSPMDSharding` of JAX numbers the places of its devices.
            let text = text.str()?;
            let parsed = text.to_string_lossy().parse();
            let parsed: Parsed = parsed.map_err(|error| inside(argument, error))?;
            let devices = given.getattr(intern!(py, "_device_assignment"))?;
            let ids = device_ids(&devices, argument)?;
            if parsed.devices().is_some_and(|count| count != ids.len() as u64) {
                let expected = format!("{} devices, as {argument} lists", ids.len());
                return Err(invalid(argument, &expected, &parsed));
            }
            let is_plain = parsed.devices().is_some() && ids.iter().copied().eq(0..);
            let ids = (!is_plain).then(|| ids.into());
            return Ok(Some(Self { form: Form::Whole(parsed), ids }));
        } else if given.get_type().name()? == "SingleDeviceSharding" {
            let ids = device_ids(&given.getattr("device_set")?, argument)?;
            return Ok(Some(Self {
                form: Form::Whole(Parsed::replicated()),
                ids: Some(ids.into()),
            }));
        } else if given.hasattr("sharding")? {
            return Ok(None);
        } else {
            return Err(refused(given, argument));
        };
        Ok(Some(Self { form, ids: None }))
    }

    /// Returns the sharding of an array with this number of dimensions.
    fn of_rank(&self, rank: usize) -> PyResult<Cow<'_, Parsed>> {
        match &self.form {
            Form::Whole(parsed) | Form::Parts(parsed) => Ok(Cow::Borrowed(parsed)),
            // An array of a lower rank is refused, because the text has more dimensions.
            Form::Axes(axes) => {
                let text = axes.text(rank.max(axes.divided()));
                text.parse().map(Cow::Owned).map_err(raised)
            }
        }
    }

    /// Returns the value by which shardings are compared: tiles and devices. Shardings of equal
    /// values divide every array in the same way.
    fn meaning(&self) -> (bool, Option<Parsed>, Option<u64>, Option<&[u64]>) {
        let parsed = self.of_rank(0).ok().map(Cow::into_owned);
        let count = parsed.as_ref().and_then(Parsed::devices);
        let listed = |of: Parsed| of.as_list().or_else(|| of.as_tiles()).unwrap_or(of);
        let tiles = parsed.map(listed);
        (matches!(self.form, Form::Axes(_)), tiles, count, self.ids.as_deref())
    }

    /// Returns the devices, or `None` if they depend on the program.
    pub(crate) fn members(&self) -> PyResult<Option<Devices>> {
        Ok(match &self.ids {
            Some(ids) => Some(Devices { count: ids.len() as u64, ids: self.ids.clone() }),
            None => self.of_rank(0)?.devices().map(Devices::numbered),
        })
    }

    /// Returns the sharding as text.
    pub(crate) fn name(&self) -> String {
        self.__str__()
    }

    /// Returns an error if a program of `devices` devices cannot have the sharding.
    pub(crate) fn check_count(&self, devices: Option<u64>, argument: &str) -> PyResult<()> {
        let (Some(devices), Some(own)) = (devices, self.end()?) else { return Ok(()) };
        // Devices without a part may have numbers between and after the numbers of the parts.
        let is_open = self.ids.is_some() || matches!(self.form, Form::Parts(_));
        let expected = match is_open {
            true if own > devices => {
                format!("at least {own}, because {argument} has device {}", own - 1)
            }
            false if own != devices => format!("{own}, as {argument} has"),
            _ => return Ok(()),
        };
        Err(invalid("devices", &expected, devices))
    }

    /// Returns the number after the greatest device, or `None` if it depends on the program.
    fn end(&self) -> PyResult<Option<u64>> {
        match &self.ids {
            Some(ids) => Ok(ids.iter().max().map(|last| last.saturating_add(1))),
            None => Ok(self.of_rank(0)?.devices()),
        }
    }

    /// Returns the parts of an array on the devices. `program` has the devices of a sharding that
    /// does not give them.
    pub(crate) fn place(
        &self,
        shape: &XlaShape,
        program: Option<&Devices>,
        argument: &str,
    ) -> PyResult<Placement> {
        let sharding = self.of_rank(shape.rank())?;
        let own = self.members()?;
        let is_part = matches!(self.form, Form::Parts(_));
        let devices = if is_part { program.or(own.as_ref()) } else { own.as_ref().or(program) };
        let count = devices.map(|devices| devices.count);
        let ids = devices.and_then(|devices| devices.ids.as_deref()).filter(|_| !is_part);
        let failed = |error| inside(argument, error);
        let Some(ids) = ids else {
            let count = if is_part { count.max(sharding.devices()) } else { count };
            return sharding.place(shape, count).map_err(failed);
        };
        let placement = sharding.place(shape, count).map_err(failed)?;
        if let [kind, ..] = sharding.not_whole()[..] {
            let expected = format!("shards that are parts of the array; {}", kind.reason());
            return Err(unsupported(argument, &expected, kind.name()));
        }
        let number = |device: u64| usize::try_from(device).ok().and_then(|at| ids.get(at).copied());
        let parts = placement.regions().filter_map(|(at, region)| Some((number(at)?, region)));
        let parts = Parsed::regions(parts).map_err(failed)?;
        parts.place(shape, None).map_err(failed)
    }
}

#[pymethods]
impl Sharding {
    #[new]
    #[pyo3(signature = (source, /))]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(source, "source")
    }

    /// Returns the sharding of torch's placements, such as `[Shard(0), Replicate()]`, for a tensor
    /// of the given extents. `mesh` is a `DeviceMesh`, or the extents of a mesh whose ranks are in
    /// row-major order.
    #[classmethod]
    #[pyo3(signature = (shape, mesh, placements))]
    fn from_placements(
        _class: &Bound<'_, PyType>,
        shape: &Bound<'_, PyAny>,
        mesh: &Bound<'_, PyAny>,
        placements: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let shape = numbers(shape, "shape")?;
        let parts = of_placements(&shape, mesh, placements, ["mesh", "placements"])?;
        Ok(Self { form: Form::Parts(parts), ids: None })
    }

    #[classmethod]
    #[pyo3(name = "_restored")]
    fn restored(
        _class: &Bound<'_, PyType>,
        text: Option<&str>,
        mesh: String,
        spec: Vec<Vec<String>>,
        unreduced: Vec<String>,
        ids: Option<Vec<u64>>,
    ) -> PyResult<Self> {
        let form = match text {
            Some(text) => Form::Whole(text.parse().map_err(|error| inside("text", error))?),
            None => Form::Axes(Axes { mesh, spec, unreduced }),
        };
        let restored = Self { form, ids: ids.map(Into::into) };
        restored.of_rank(0)?;
        Ok(restored)
    }

    /// The number of devices, including those without a part whose numbers are below that of
    /// another one. None if it depends on the program.
    #[getter]
    fn devices(&self) -> PyResult<Option<u64>> {
        self.end()
    }

    /// Returns the part of an array on each device, as a dictionary of ranges by device. A part has
    /// a range for each dimension, the first index and the end, or a tuple of several ranges.
    /// `devices` is the number of devices, if the sharding does not give it.
    #[pyo3(signature = (shape, /, *, devices=None))]
    fn regions<'py>(
        &self,
        py: Python<'py>,
        shape: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = numbers::devices)] devices: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.check_count(devices, "the sharding")?;
        let shape = xla_shape(shape, "shape")?;
        let devices = devices.map(Devices::numbered);
        let placement = self.place(&shape, devices.as_ref(), "source")?;
        few_ranges(placement.owner_count().saturating_mul(shape.rank().max(1) as u64))?;
        let (regions, mut count) = (PyDict::new(py), 0);
        for (device, region) in placement.regions() {
            count += region.dimensions().map(|ranges| ranges.len() as u64).sum::<u64>().max(1);
            few_ranges(count)?;
            regions.set_item(device, ranges(py, &region)?)?;
        }
        Ok(regions)
    }

    #[allow(clippy::type_complexity)] // it is of Python's protocol
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = PyType::new::<Self>(py);
        let (text, axes) = match &self.form {
            Form::Whole(parsed) | Form::Parts(parsed) => (Some(parsed.to_string()), None),
            Form::Axes(axes) => (None, Some(axes.clone())),
        };
        if let (Some(text), None) = (&text, &self.ids) {
            return Ok((class.into_any(), PyTuple::new(py, [text])?));
        }
        let none = Axes { mesh: String::new(), spec: Vec::new(), unreduced: Vec::new() };
        let Axes { mesh, spec, unreduced } = axes.unwrap_or(none);
        let ids = self.ids.as_ref().map(|ids| ids.to_vec());
        let arguments = (text, mesh, spec, unreduced, ids).into_pyobject(py)?;
        Ok((class.getattr("_restored")?, arguments))
    }

    fn __str__(&self) -> String {
        let text = match &self.form {
            Form::Whole(parsed) | Form::Parts(parsed) => parsed.to_string(),
            Form::Axes(axes) => axes.text(axes.spec.len()),
        };
        match &self.ids {
            None => text,
            Some(ids) => {
                let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
                format!("{text} on devices {}", ids.join(","))
            }
        }
    }

    fn __repr__(&self) -> String {
        let text = self.__str__();
        match text.char_indices().nth(120) {
            Some((end, _)) => format!("<stridec.Sharding {}…>", &text[..end]),
            None => format!("<stridec.Sharding {text}>"),
        }
    }
}

fn refused(given: &Bound<'_, PyAny>, argument: &str) -> PyErr {
    let expected = "a sharding: XLA's text, NamedSharding, a jax.Array, a DTensor, or a dictionary of ranges by device";
    invalid(argument, expected, shown(given))
}

/// Returns an error if a result would list more ranges than fit into memory with ease.
fn few_ranges(count: u64) -> PyResult<()> {
    if count <= MOST_RANGES {
        return Ok(());
    }
    Err(unsupported("source", &format!("at most {MOST_RANGES} ranges in all"), count))
}

/// Returns the XLA shape that an argument describes.
pub(crate) fn xla_shape(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<XlaShape> {
    let described = described(given, argument)?;
    let shape = described.xla().filter(|shape| shape.is_array()).cloned();
    shape.ok_or_else(|| invalid(argument, "the shape of an array, without strides", &described))
}

fn of_text(text: &str, given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Sharding> {
    let py = given.py();
    let without_devices = |kind: &str| {
        let expected =
            format!("the {kind} itself, because its text does not have the devices in their order");
        invalid(argument, &expected, format!("the text {}", shown(given)))
    };
    for kind in ["GSPMDSharding", "SingleDeviceSharding"] {
        if text.starts_with(&format!("{kind}(")) {
            return Err(without_devices(kind));
        }
    }
    let Some(rest) = text.strip_prefix("NamedSharding(") else {
        let parsed = text.parse().map_err(|error| inside(argument, error))?;
        let is_parts = text.trim_start().strip_prefix('{').map(str::trim_start);
        let is_parts = is_parts.is_some_and(|inside| inside.starts_with('"'));
        let form = if is_parts { Form::Parts(parsed) } else { Form::Whole(parsed) };
        return Ok(Sharding { form, ids: None });
    };
    // `repr` of a NamedSharding: mesh=AbstractMesh('x': 2, 'y': 4, …), spec=P('x', ('y', 'z')), …
    let broken = || refused(given, argument);
    let (kind, mesh) = rest.split_once("Mesh(").ok_or_else(broken)?;
    if !kind.ends_with("Abstract") {
        return Err(without_devices("NamedSharding"));
    }
    let (mesh, rest) = mesh.split_once("spec=").ok_or_else(broken)?;
    let mut axes = Vec::new();
    for part in mesh.split(", ").take_while(|part| part.starts_with('\'')) {
        let (name, size) = part.split_once(": ").ok_or_else(broken)?;
        let size = size.trim_end_matches([')', ',']).parse::<u64>().map_err(|_| broken())?;
        axes.push((name.trim_matches('\'').to_owned(), size));
    }
    // The rest of the text is a call in Python's syntax.
    let ast = py.import("ast")?;
    let read = || {
        let module = ast.call_method1("parse", (format!("_(spec={rest}"),))?;
        let call = module.getattr("body")?.get_item(0)?.getattr("value")?;
        let spec = call.getattr("keywords")?.get_item(0)?.getattr("value")?;
        let mut dimensions = Vec::new();
        for dimension in spec.getattr("args")?.try_iter()? {
            dimensions.push(ast.call_method1("literal_eval", (dimension?,))?);
        }
        let mut unreduced = Vec::new();
        for keyword in spec.getattr("keywords")?.try_iter()? {
            let keyword = keyword?;
            if keyword.getattr("arg")?.eq("unreduced")? {
                let names = ast.call_method1("literal_eval", (keyword.getattr("value")?,))?;
                for name in names.try_iter()? {
                    unreduced.push(name?.extract::<String>()?);
                }
            }
        }
        Ok::<_, PyErr>((PyTuple::new(py, dimensions)?, unreduced))
    };
    let (dimensions, unreduced) = read().map_err(|_| broken())?;
    axes_of(&axes, &[], &dimensions, unreduced, argument)
}

/// Returns the sharding of a `NamedSharding`.
fn of_named(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Sharding> {
    let py = given.py();
    let mesh = given.getattr(intern!(py, "mesh"))?;
    let expected = "a mesh with the size of each axis";
    let field = format!("{argument}.mesh");
    let broken = |_| invalid(&field, expected, shown(&mesh));
    let mut axes = Vec::new();
    let sizes = mesh.getattr(intern!(py, "shape")).and_then(|sizes| sizes.call_method0("items"));
    for axis in sizes.and_then(|sizes| sizes.try_iter()).map_err(broken)? {
        axes.push(axis?.extract::<(String, u64)>().map_err(broken)?);
    }
    // An abstract mesh has no devices.
    let ids = match mesh.getattr("devices") {
        Ok(devices) => device_ids(&devices.getattr("flat").map_err(broken)?, argument)?,
        Err(_) => Vec::new(),
    };
    let spec = given.getattr(intern!(py, "spec"))?;
    // A `PartitionSpec` with unreduced axes refuses to be iterated itself.
    let dimensions = spec.getattr_opt(intern!(py, "partitions"))?.unwrap_or_else(|| spec.clone());
    let unreduced = match spec.getattr_opt(intern!(py, "unreduced"))? {
        None => Vec::new(),
        Some(names) => {
            let expected = "names of axes";
            let field = format!("{argument}.spec.unreduced");
            let names: PyResult<Vec<String>> =
                names.try_iter().and_then(|names| names.map(|name| name?.extract()).collect());
            names.map_err(|error| invalid(&field, expected, error))?
        }
    };
    axes_of(&axes, &ids, &dimensions, unreduced, argument)
}

/// Returns the ids of devices.
fn device_ids(devices: &Bound<'_, PyAny>, argument: &str) -> PyResult<Vec<u64>> {
    let field = format!("{argument}.mesh.devices");
    let id = |device: PyResult<Bound<'_, PyAny>>| {
        let device = device?;
        let id = device.getattr("id").and_then(|id| id.extract::<u64>());
        id.map_err(|_| invalid(&field, "devices with an id of 0 to 2^64-1", shown(&device)))
    };
    devices.try_iter()?.map(id).collect()
}

/// Returns the sharding by the axes of a mesh. An entry of `spec` is None, the name of an axis, or
/// a tuple of names.
fn axes_of(
    axes: &[(String, u64)],
    ids: &[u64],
    spec: &Bound<'_, PyAny>,
    mut unreduced: Vec<String>,
    argument: &str,
) -> PyResult<Sharding> {
    let quoted = |name: &String| format!("'{name}'");
    let mut names = Vec::new();
    for entry in spec.try_iter()? {
        let entry = entry?;
        let dimension = if entry.is_none() {
            Vec::new()
        } else if let Ok(name) = entry.cast::<PyString>() {
            vec![name.to_string()]
        } else if let Ok(several) = entry.extract::<Vec<String>>() {
            several
        } else {
            let expected = "None, a name or a tuple of names for each dimension";
            return Err(unsupported(&format!("{argument}.spec"), expected, shown(&entry)));
        };
        names.push(dimension.iter().map(quoted).collect());
    }
    if let Some((name, _)) = axes.iter().find(|(name, _)| name.contains(['\'', '\\'])) {
        return Err(unsupported(&format!("{argument}.mesh"), "names without quotes", name));
    }
    let sizes: Vec<String> = axes.iter().map(|(name, size)| format!("'{name}'={size}")).collect();
    let mut mesh = format!("mesh[{}]", sizes.join(","));
    // The text has a permutation of all devices. A mesh over some of them numbers its places.
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let is_permutation = sorted.iter().copied().eq(0..sorted.len() as u64);
    if is_permutation && !ids.is_sorted() {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        mesh = format!("{mesh}, device_ids=({})", ids.join(","));
    }
    unreduced.sort_unstable_by_key(|name| axes.iter().position(|(axis, _)| axis == name));
    let unreduced = unreduced.iter().map(quoted).collect();
    let axes = Axes { mesh, spec: names, unreduced };
    // The text is parsed here, so that an error is about the argument.
    let parsed: Result<Parsed, _> = axes.text(axes.spec.len()).parse();
    let parsed = parsed.map_err(|error| inside(argument, error))?;
    if !ids.is_empty() && parsed.devices() != Some(ids.len() as u64) {
        let expected = format!("{} devices, as the mesh has", ids.len());
        return Err(invalid(&format!("{argument}.mesh"), &expected, &axes.mesh));
    }
    let ids = (!is_permutation).then(|| ids.into());
    Ok(Sharding { form: Form::Axes(axes), ids })
}

/// Returns the sharding with the given part on each device. The library reads the parts as text.
fn of_parts(parts: &Bound<'_, PyDict>, argument: &str) -> PyResult<Parsed> {
    if parts.is_empty() {
        return Err(invalid(argument, "a part for at least one device", "none"));
    }
    let mut texts = Vec::new();
    for (device, part) in parts {
        let field = format!("{argument}[{}]", shown(&device));
        let expected =
            "for each dimension a range (start, end), or a list of ranges in ascending order";
        let device = match device.cast::<PyString>() {
            Ok(text) => text.to_string().parse::<u64>().ok(),
            Err(_) => device.extract::<u64>().ok(),
        };
        let expected_device = "numbers of devices, 0 to 2^63-1, as keys";
        let device = device.ok_or_else(|| invalid(argument, expected_device, &field))?;
        let part = json(&part, 3)
            .filter(|text| text.starts_with('['))
            .ok_or_else(|| invalid(&field, expected, shown(&part)))?;
        texts.push(format!("\"{device}\": {part}"));
    }
    let parsed: Result<Parsed, _> = format!("{{{}}}", texts.join(", ")).parse();
    parsed.map_err(|error| renamed(error, "boxes", argument))
}

/// Returns nested lists and tuples of whole numbers as JSON, or `None` for any other object. Other
/// iterables are refused because they may have no end.
fn json(given: &Bound<'_, PyAny>, depth: usize) -> Option<String> {
    if let Ok(number) = given.extract::<u64>() {
        return Some(number.to_string());
    }
    if depth == 0 || !(given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>()) {
        return None;
    }
    let inner = given.try_iter().ok()?.map(|inner| json(&inner.ok()?, depth - 1));
    Some(format!("[{}]", inner.collect::<Option<Vec<_>>>()?.join(", ")))
}

/// Returns the ranges of a region as a tuple: for each dimension a range, or a tuple of several.
pub(crate) fn ranges<'py>(py: Python<'py>, region: &Region) -> PyResult<Bound<'py, PyTuple>> {
    let dimension = |ranges: &[(u64, u64)]| match ranges {
        [range] => range.into_pyobject(py),
        _ => PyTuple::new(py, ranges),
    };
    PyTuple::new(py, region.dimensions().map(dimension).collect::<PyResult<Vec<_>>>()?)
}
