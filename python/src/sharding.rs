//! The class `stridec.Sharding`: shardings of JAX, `PyTorch` and XLA, or a part for each device.

use std::{
    collections::BTreeSet,
    hash::{Hash, Hasher},
};

use pyo3::{
    intern,
    prelude::*,
    types::{PyDict, PyString, PyTuple, PyType},
};
use stridec::{
    shape::Shape as XlaShape,
    sharding::{Placement, Region, Sharding as Parsed},
};

use crate::{
    errors::{inside, invalid, raised, unsupported},
    layout::described,
    numbers::{self, number, numbers, shown},
};

/// The ranges of a part of an array: for each dimension, the first index and the end of each range.
pub(crate) type Ranges = Vec<Vec<(u64, u64)>>;

/// The parts of an array that lie on devices.
///
/// `source` is XLA's or Shardy's text, a `jax.sharding.NamedSharding` or its text, a `jax.Array`, a
/// `DTensor` of torch, or a dictionary with the part of each device: a range for each dimension, or
/// a list of ranges. Devices have the numbers of the framework: ids in JAX, ranks in torch.
///
/// >>> import stridec
/// >>> rows = stridec.Sharding("{devices=[2,1]<=[2]}")
/// >>> rows.regions("f32[8,6]")
/// {0: ((0, 4), (0, 6)), 1: ((4, 8), (0, 6))}
/// >>> stridec.Sharding({0: [(0, 3), (0, 6)], 1: [(3, 8), (0, 6)]}).devices
/// 2
/// >>> text = "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=P(None, ('y', 'x')))"
/// >>> str(stridec.Sharding(text))
/// "{mesh['x'=2,'y'=4], [{}, {'y', 'x'}]}"
#[pyclass(frozen, module = "stridec", eq, hash)]
pub(crate) struct Sharding {
    form: Form,
}

enum Form {
    Whole(Parsed),
    /// Axes of a mesh for the first dimensions. The other dimensions are not divided.
    Axes {
        mesh: String,
        spec: Vec<Vec<String>>,
    },
}

impl PartialEq for Sharding {
    fn eq(&self, other: &Self) -> bool {
        self.__str__() == other.__str__()
    }
}

impl Eq for Sharding {}

impl Hash for Sharding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.__str__().hash(state);
    }
}

impl Sharding {
    /// Returns the sharding that an argument describes.
    pub(crate) fn of(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Self> {
        if let Ok(sharding) = given.cast::<Self>() {
            return Ok(sharding.get().again());
        }
        let form = if let Ok(text) = given.cast::<PyString>() {
            of_text(&text.to_string_lossy(), given, argument)?
        } else if let Ok(parts) = given.cast::<PyDict>() {
            Form::Whole(of_parts(parts, argument)?)
        } else if given.hasattr("placements")? && given.hasattr("device_mesh")? {
            let mesh = given.getattr("device_mesh")?;
            let shape = numbers(&given.getattr("shape")?, &format!("{argument}.shape"))?;
            Form::Whole(of_placements(&shape, &mesh, &given.getattr("placements")?, argument)?)
        } else if given.hasattr("spec")? && given.hasattr("mesh")? {
            of_named(given, argument)?
        } else if let Some(sharding) = given.getattr_opt("sharding")? {
            return Self::of(&sharding, argument);
        } else if given.get_type().name()? == "SingleDeviceSharding" {
            let device = given.getattr("device_set")?.try_iter()?.next();
            let device = device.ok_or_else(|| refused(given, argument))??;
            Form::Whole(Parsed::maximal(device.getattr("id")?.extract()?))
        } else {
            return Err(refused(given, argument));
        };
        Ok(Self { form })
    }

    pub(crate) fn again(&self) -> Self {
        let form = match &self.form {
            Form::Whole(parsed) => Form::Whole(parsed.clone()),
            Form::Axes { mesh, spec } => Form::Axes { mesh: mesh.clone(), spec: spec.clone() },
        };
        Self { form }
    }

    /// Returns the sharding of an array with this number of dimensions.
    fn of_rank(&self, rank: usize) -> PyResult<Parsed> {
        match &self.form {
            Form::Whole(parsed) => Ok(parsed.clone()),
            Form::Axes { mesh, spec } => text(mesh, spec, rank).parse().map_err(raised),
        }
    }

    /// Returns the number of devices, or `None` if it depends on the program.
    pub(crate) fn count(&self) -> PyResult<Option<u64>> {
        Ok(self.of_rank(0)?.devices())
    }

    /// Returns the sharding as text.
    pub(crate) fn name(&self) -> String {
        self.__str__()
    }

    /// Returns the parts of an array on the devices.
    pub(crate) fn place(
        &self,
        shape: &XlaShape,
        devices: Option<u64>,
        argument: &str,
    ) -> PyResult<Placement> {
        let sharding = self.of_rank(shape.rank())?;
        sharding.place(shape, devices).map_err(|error| inside(argument, error))
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
        Ok(Self { form: Form::Whole(of_placements(&shape, mesh, placements, "placements")?) })
    }

    #[classmethod]
    #[pyo3(name = "_of_axes")]
    fn of_axes(_class: &Bound<'_, PyType>, mesh: String, spec: Vec<Vec<String>>) -> Self {
        Self { form: Form::Axes { mesh, spec } }
    }

    /// The number of devices. None if it depends on the program.
    #[getter]
    fn devices(&self) -> PyResult<Option<u64>> {
        self.count()
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
        let placement = self.place(&xla_shape(shape, "shape")?, devices, "source")?;
        let regions = PyDict::new(py);
        for (device, region) in placement.regions() {
            regions.set_item(device, shown_ranges(py, &ranges(&region))?)?;
        }
        Ok(regions)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = PyType::new::<Self>(py);
        match &self.form {
            Form::Whole(parsed) => Ok((class.into_any(), PyTuple::new(py, [parsed.to_string()])?)),
            Form::Axes { mesh, spec } => {
                let arguments = (mesh.clone(), spec.clone()).into_pyobject(py)?;
                Ok((class.getattr("_of_axes")?, arguments))
            }
        }
    }

    fn __str__(&self) -> String {
        match &self.form {
            Form::Whole(parsed) => parsed.to_string(),
            Form::Axes { mesh, spec } => text(mesh, spec, spec.len()),
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

/// Returns the XLA shape that an argument describes.
pub(crate) fn xla_shape(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<XlaShape> {
    let described = described(given, argument)?;
    let shape = described.xla().filter(|shape| shape.is_array()).cloned();
    shape.ok_or_else(|| invalid(argument, "the shape of an array, without strides", &described))
}

/// Returns the text of a sharding of an array with this number of dimensions.
fn text(mesh: &str, spec: &[Vec<String>], rank: usize) -> String {
    let dimension = |at: usize| {
        let axes = spec.get(at).map(Vec::as_slice).unwrap_or_default();
        format!("{{{}}}", axes.join(", "))
    };
    let dimensions: Vec<String> = (0..rank.max(spec.len())).map(dimension).collect();
    format!("{{{mesh}, [{}]}}", dimensions.join(", "))
}

fn of_text(text: &str, given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Form> {
    let py = given.py();
    if text.starts_with("{\"") {
        let parts = py.import("json")?.call_method1("loads", (text,));
        let parts = parts.map_err(|_| refused(given, argument))?;
        let parts = parts.cast::<PyDict>().map_err(|_| refused(given, argument))?;
        return Ok(Form::Whole(of_parts(parts, argument)?));
    }
    let Some(rest) = text.strip_prefix("NamedSharding(") else {
        return Ok(Form::Whole(text.parse().map_err(|error| inside(argument, error))?));
    };
    // `repr` of a NamedSharding: mesh=Mesh('x': 2, 'y': 4, …), spec=P('x', ('y', 'z')), …
    let broken = || refused(given, argument);
    let (_, mesh) = rest.split_once("Mesh(").ok_or_else(broken)?;
    let (mesh, rest) = mesh.split_once("spec=").ok_or_else(broken)?;
    let mut axes = Vec::new();
    for part in mesh.split(", ").take_while(|part| part.starts_with('\'')) {
        let (name, size) = part.split_once(": ").ok_or_else(broken)?;
        let size = size.trim_end_matches([')', ',']).parse::<u64>().map_err(|_| broken())?;
        axes.push((name.trim_matches('\'').to_owned(), size));
    }
    let (_, spec) = rest.split_once('(').ok_or_else(broken)?;
    let mut depth = 1;
    let end = spec.char_indices().find(|(_, letter)| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    let spec = &spec[..end.ok_or_else(broken)?.0];
    let spec =
        if spec.is_empty() { "()".to_owned() } else { format!("({spec},)").replace(",,", ",") };
    let spec = py.import("ast")?.call_method1("literal_eval", (spec,)).map_err(|_| broken())?;
    axes_of(&axes, &[], &spec, argument)
}

/// Returns the sharding of a `NamedSharding`.
fn of_named(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<Form> {
    let py = given.py();
    let mesh = given.getattr(intern!(py, "mesh"))?;
    let mut axes = Vec::new();
    for axis in mesh.getattr(intern!(py, "shape"))?.call_method0("items")?.try_iter()? {
        axes.push(axis?.extract::<(String, u64)>()?);
    }
    // An abstract mesh has no devices.
    let mut ids = Vec::new();
    if let Ok(devices) = mesh.getattr("devices") {
        for device in devices.getattr("flat")?.try_iter()? {
            ids.push(device?.getattr("id")?.extract::<u64>()?);
        }
    }
    axes_of(&axes, &ids, &given.getattr(intern!(py, "spec"))?, argument)
}

/// Returns the sharding by the axes of a mesh. An entry of `spec` is None, the name of an axis, or
/// a tuple of names.
fn axes_of(
    axes: &[(String, u64)],
    ids: &[u64],
    spec: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<Form> {
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
        names.push(dimension.iter().map(|name| format!("'{name}'")).collect());
    }
    if let Some((name, _)) = axes.iter().find(|(name, _)| name.contains(['\'', '\\'])) {
        return Err(unsupported(&format!("{argument}.mesh"), "names without quotes", name));
    }
    let sizes: Vec<String> = axes.iter().map(|(name, size)| format!("'{name}'={size}")).collect();
    let mut mesh = format!("mesh[{}]", sizes.join(","));
    if !ids.iter().copied().eq(0..ids.len() as u64) {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        mesh = format!("{mesh}, device_ids=({})", ids.join(","));
    }
    // The text is parsed here, so that an error is about the argument.
    let parsed: Result<Parsed, _> = text(&mesh, &names, 0).parse();
    parsed.map_err(|error| inside(argument, error))?;
    Ok(Form::Axes { mesh, spec: names })
}

/// Returns the sharding with the given part on each device.
fn of_parts(parts: &Bound<'_, PyDict>, argument: &str) -> PyResult<Parsed> {
    let mut regions = Vec::new();
    for (device, part) in parts {
        let field = format!("{argument}[{}]", shown(&device));
        let expected =
            "for each dimension a range (start, end), or a list of ranges in ascending order";
        let broken = || invalid(&field, expected, shown(&part));
        let device = match device.cast::<PyString>() {
            Ok(text) => text.to_string().parse().map_err(|_| broken())?,
            Err(_) => number(&device, &format!("{argument} (a device)"))?,
        };
        let mut dimensions: Ranges = Vec::new();
        for dimension in part.try_iter().map_err(|_| broken())? {
            let dimension = dimension?;
            dimensions.push(match dimension.extract::<[u64; 2]>() {
                Ok(range) => vec![range.into()],
                Err(_) => {
                    let several: Vec<[u64; 2]> = dimension.extract().map_err(|_| broken())?;
                    several.into_iter().map(Into::into).collect()
                }
            });
        }
        regions.push((device, Region::from_ranges(dimensions).ok_or_else(broken)?));
    }
    Parsed::regions(regions).map_err(|error| inside(argument, error))
}

/// Returns the sharding of torch's placements, an entry for each dimension of the mesh. Each
/// `Shard` divides the part that the entries before it leave, as `torch.chunk` does.
fn of_placements(
    shape: &[u64],
    mesh: &Bound<'_, PyAny>,
    placements: &Bound<'_, PyAny>,
    argument: &str,
) -> PyResult<Parsed> {
    let (extents, ranks) = match mesh.getattr_opt("mesh")? {
        Some(ranks) => {
            let flat = ranks.call_method0("flatten")?.call_method0("tolist")?;
            (numbers(&ranks.getattr("shape")?, "mesh.shape")?, flat.extract::<Vec<u64>>()?)
        }
        None => {
            let extents: Vec<u64> = numbers(mesh, "mesh")?;
            let count = extents.iter().try_fold(1_u64, |count, &extent| count.checked_mul(extent));
            let count = count.filter(|&count| count <= stridec::reshard::MAX_DEVICES);
            let count =
                count.ok_or_else(|| invalid("mesh", "at most 2^24 devices", shown(mesh)))?;
            (extents, (0..count).collect())
        }
    };
    let mut divided = Vec::new();
    for placement in placements.try_iter()? {
        divided.push(sharded(&placement?, shape.len(), argument)?);
    }
    if divided.len() != extents.len() || ranks.iter().collect::<BTreeSet<_>>().len() != ranks.len()
    {
        let expected = format!("{} placements, one for each dimension of the mesh", extents.len());
        return Err(invalid(argument, &expected, divided.len()));
    }
    let region = |place: u64| {
        let mut part: Vec<(u64, u64)> = shape.iter().map(|&extent| (0, extent)).collect();
        let mut rest = place;
        let mut coordinates = Vec::new();
        for &extent in extents.iter().rev() {
            coordinates.push(rest % extent);
            rest /= extent;
        }
        for ((dimension, &count), at) in divided.iter().zip(&extents).zip(coordinates.iter().rev())
        {
            if let Some(dimension) = *dimension {
                let (start, end) = part[dimension];
                let chunk = (end - start).div_ceil(count);
                let first = end.min(start + chunk * at);
                part[dimension] = (first, end.min(first + chunk));
            }
        }
        Region::from_ranges(part.into_iter().map(|range| [range]))
    };
    let parts = (0_u64..).zip(&ranks).filter_map(|(place, &rank)| Some((rank, region(place)?)));
    Parsed::regions(parts).map_err(|error| inside(argument, error))
}

/// Returns the dimension that a placement divides, or `None` if it replicates.
fn sharded(placement: &Bound<'_, PyAny>, rank: usize, argument: &str) -> PyResult<Option<usize>> {
    let is = |method: &str| placement.call_method0(method).and_then(|is| is.is_truthy());
    if is("is_replicate").unwrap_or(false) {
        return Ok(None);
    }
    if placement.get_type().name()? != "Shard" {
        return Err(unsupported(argument, "Shard or Replicate", shown(placement)));
    }
    let dimension: i64 = placement.getattr("dim")?.extract()?;
    let signed = i64::try_from(rank)?;
    let counted = if dimension < 0 { dimension + signed } else { dimension };
    let expected = format!("a dimension of {rank}");
    let found = usize::try_from(counted).ok().filter(|&dimension| dimension < rank);
    found.map(Some).ok_or_else(|| invalid(argument, &expected, shown(placement)))
}

/// Returns the ranges of a part.
pub(crate) fn ranges(region: &Region) -> Ranges {
    region.dimensions().map(<[_]>::to_vec).collect()
}

/// Returns ranges as a tuple: for each dimension a range, or a tuple of several.
pub(crate) fn shown_ranges<'py>(py: Python<'py>, ranges: &Ranges) -> PyResult<Bound<'py, PyTuple>> {
    let dimension = |ranges: &Vec<(u64, u64)>| match ranges[..] {
        [range] => range.into_pyobject(py),
        _ => PyTuple::new(py, ranges),
    };
    PyTuple::new(py, ranges.iter().map(dimension).collect::<PyResult<Vec<_>>>()?)
}
