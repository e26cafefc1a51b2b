//! The function `reshard`, and the classes of its plan.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{Hash, Hasher},
};

use pyo3::{
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyMapping, PySlice, PyTuple, PyType},
};
use stridec::{
    explain::ReshardPicture,
    reshard::{
        MAX_DEVICES, ReshardError, ReshardPlan as Planned, Shards, Transfer as Moved, plan,
        rank_plan, simulate,
    },
    shape::Shape as XlaShape,
    sharding::{Placement, Region, Sharding as Parsed},
    stride::StrideDescriptor,
};

use crate::{
    array::{HostArray, Room, numpy},
    errors::{invalid, names, raised, renamed, unsupported, with_advice},
    library::Library,
    logical::{image, logical, memory_error},
    numbers::{self, counted, shown},
    picture::{self, Drawn},
    shape::Shape,
    sharding::{Devices, Sharding, ranges, xla_shape},
};

/// The maximum number of indices in an index of numpy, which takes 8 bytes for each.
const MOST_INDICES: u64 = 1 << 24;

/// A part of an array that a device sends to another one, or keeps.
#[pyclass(frozen, module = "stridec", eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Transfer {
    /// The number of the device that has the part.
    #[pyo3(get)]
    source: u64,
    /// The number of the device that gets the part.
    #[pyo3(get)]
    destination: u64,
    /// The size of the part in a message, in bytes.
    #[pyo3(get)]
    nbytes: u64,
    region: Region,
    /// The parts of the array that the two devices have, before and after.
    shards: [Region; 2],
}

#[pymethods]
impl Transfer {
    /// The extents of the part.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.region.sizes().collect::<Vec<u64>>())
    }

    /// The ranges of the part in the whole array: for each dimension the first index and the end,
    /// or a tuple of several ranges.
    #[getter]
    fn ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        ranges(py, &self.region)
    }

    /// The place of the part in the shard of the device that has it, as an index of numpy.
    #[getter]
    fn source_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        index(py, &self.region.within(&self.shards[0]), "source_index")
    }

    /// The place of the part in the shard of the device that gets it, as an index of numpy.
    #[getter]
    fn destination_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        index(py, &self.region.within(&self.shards[1]), "destination_index")
    }

    fn __repr__(&self) -> String {
        let Self { source, destination, nbytes, region, .. } = self;
        let part = region.to_string();
        let part = match part.char_indices().nth(120) {
            Some((end, _)) => format!("{}…", &part[..end]),
            None => part,
        };
        format!("<stridec.Transfer {source} to {destination}: {part}, {nbytes} bytes>")
    }
}

/// Returns a part of a shard as an index of numpy: slices, or arrays if a dimension has several
/// ranges.
fn index<'py>(py: Python<'py>, part: &Region, field: &str) -> PyResult<Bound<'py, PyAny>> {
    if part.as_box().is_some() {
        let slices = part.dimensions().map(|ranges| {
            let (start, end) = ranges[0];
            Ok(PySlice::new(py, isize::try_from(start)?, isize::try_from(end)?, 1))
        });
        return Ok(PyTuple::new(py, slices.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    let count = part.sizes().fold(0, u64::saturating_add);
    if count > MOST_INDICES {
        let expected =
            format!("at most {MOST_INDICES} indices; `ranges` has the part without them");
        return Err(unsupported(field, &expected, count));
    }
    let numpy = numpy(py)?;
    let list = |ranges: &[(u64, u64)]| {
        let indices = ranges.iter().flat_map(|&(start, end)| start..end);
        let bytes: Vec<u8> = indices.flat_map(u64::to_ne_bytes).collect();
        numpy
            .call_method1("frombuffer", (PyBytes::new(py, &bytes), "uint64"))?
            .call_method1("astype", ("int64",))
    };
    let lists = part.dimensions().map(list).collect::<PyResult<Vec<_>>>()?;
    numpy.call_method1("ix_", PyTuple::new(py, lists)?)
}

/// The transfers of one device.
///
/// >>> import stridec
/// >>> plan = stridec.reshard("f32[8,8]", "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}")
/// >>> own = plan.rank(1)
/// >>> own
/// <stridec.RankPlan of device 1: 3 sends, 3 receives>
/// >>> [(send.destination, send.nbytes) for send in own.sends], own.send_bytes
/// ([(0, 16), (2, 16), (3, 16)], 48)
/// >>> own.copy.source_index, own.copy.destination_index
/// ((slice(0, 2, 1), slice(2, 4, 1)), (slice(2, 4, 1), slice(0, 2, 1)))
#[pyclass(frozen, module = "stridec")]
pub(crate) struct RankPlan {
    /// The number of the device.
    #[pyo3(get)]
    device: u64,
    /// The size of all parts that the device sends, in bytes.
    #[pyo3(get)]
    send_bytes: u128,
    /// The size of all parts that the device receives, in bytes.
    #[pyo3(get)]
    receive_bytes: u128,
    sends: Py<PyList>,
    receives: Py<PyList>,
    copy: Option<Py<Transfer>>,
}

#[pymethods]
impl RankPlan {
    /// The parts that the device sends.
    #[getter]
    fn sends(&self, py: Python<'_>) -> Py<PyList> {
        self.sends.clone_ref(py)
    }

    /// The parts that the device receives.
    #[getter]
    fn receives(&self, py: Python<'_>) -> Py<PyList> {
        self.receives.clone_ref(py)
    }

    /// The part that the device has and needs, or None.
    #[getter]
    fn copy(&self, py: Python<'_>) -> Option<Py<Transfer>> {
        self.copy.as_ref().map(|copy| copy.clone_ref(py))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let sends = counted(self.sends.bind(py).len(), "send");
        let receives = counted(self.receives.bind(py).len(), "receive");
        format!("<stridec.RankPlan of device {}: {sends}, {receives}>", self.device)
    }
}

/// The messages that change the sharding of an array.
///
/// Plans are equal if they move the same parts of equal arrays between the same devices.
///
/// >>> import numpy, stridec
/// >>> plan = stridec.reshard("u8[2,4]", "{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}")
/// >>> shards = plan.split(numpy.arange(8, dtype=numpy.uint8).reshape(2, 4))
/// >>> new = plan.simulate(shards)
/// >>> new[1].tolist(), plan.join(new).tolist()
/// ([[2, 3], [6, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]])
#[pyclass(frozen, module = "stridec", eq, hash)]
pub(crate) struct ReshardPlan {
    planned: Planned,
    source: Sharding,
    destination: Sharding,
    /// The argument `devices`.
    devices: Option<u64>,
}

impl PartialEq for ReshardPlan {
    fn eq(&self, other: &Self) -> bool {
        self.planned == other.planned
    }
}

impl Eq for ReshardPlan {}

impl Hash for ReshardPlan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.planned.shape(), self.devices(), self.total_bytes()).hash(state);
    }
}

impl ReshardPlan {
    fn transfer(&self, moved: &Moved) -> Transfer {
        let Moved { from, to, region } = moved;
        let shards = [(self.planned.from(), *from), (self.planned.to(), *to)];
        let shards = shards.map(|(placement, device): (&Placement, u64)| {
            placement.region(device).unwrap_or_else(|| region.clone())
        });
        Transfer {
            source: *from,
            destination: *to,
            nbytes: self.planned.bytes(region),
            region: region.clone(),
            shards,
        }
    }

    fn transfers_of<'py>(&self, py: Python<'py>, moved: &[Moved]) -> PyResult<Bound<'py, PyList>> {
        let made = moved.iter().map(|moved| Bound::new(py, self.transfer(moved)));
        PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
    }

    fn pictured<T>(&self, draw: impl FnOnce(&ReshardPicture<'_>) -> T) -> T {
        let names = [self.source.name(), self.destination.name()];
        draw(&ReshardPicture::new(&self.planned, [&names[0], &names[1]]))
    }
}

#[pymethods]
#[allow(clippy::redundant_closure_for_method_calls)] // the methods are of one lifetime
impl ReshardPlan {
    /// The shape of the whole array.
    #[getter]
    fn shape(&self) -> Shape {
        Shape::of_shape(self.planned.shape().clone())
    }

    /// The sharding before.
    #[getter]
    fn source(&self) -> Sharding {
        self.source.clone()
    }

    /// The sharding after.
    #[getter]
    fn destination(&self) -> Sharding {
        self.destination.clone()
    }

    /// The number of devices before or after, whichever is larger.
    #[getter]
    fn devices(&self) -> u64 {
        self.planned.from().devices().max(self.planned.to().devices())
    }

    /// All messages between different devices.
    #[getter]
    fn transfers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.transfers_of(py, self.planned.transfers())
    }

    /// The size of all messages, in bytes.
    #[getter]
    fn total_bytes(&self) -> u128 {
        self.planned.cost().total_bytes
    }

    /// The number of bytes that the busiest sender sends.
    #[getter]
    fn send_bytes(&self) -> u128 {
        self.planned.cost().send_bytes
    }

    /// The number of bytes that the busiest receiver receives.
    #[getter]
    fn receive_bytes(&self) -> u128 {
        self.planned.cost().receive_bytes
    }

    /// Returns the transfers of a device.
    #[pyo3(signature = (device, /))]
    fn rank(&self, py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<RankPlan> {
        let devices = self.devices();
        let found = device.extract::<u64>().ok().filter(|&device| device < devices);
        let device = found.ok_or_else(|| {
            let expected = format!("a whole number from 0 to {}", devices - 1);
            invalid("device", &expected, shown(device))
        })?;
        let part = rank_plan(self.planned.from(), self.planned.to(), device).map_err(raised)?;
        let copy = part.copy.map(|region| {
            let kept = Moved { from: device, to: device, region };
            Py::new(py, self.transfer(&kept))
        });
        let bytes = |moved: &[Moved]| {
            moved.iter().map(|moved| u128::from(self.planned.bytes(&moved.region))).sum()
        };
        Ok(RankPlan {
            device,
            send_bytes: bytes(&part.sends),
            receive_bytes: bytes(&part.receives),
            sends: self.transfers_of(py, &part.sends)?.unbind(),
            receives: self.transfers_of(py, &part.receives)?.unbind(),
            copy: copy.transpose()?,
        })
    }

    /// Moves the shards of all devices in this process. `arrays` is a dictionary with the shard of
    /// each device, a list in which each shard is at the place that its device's number says, or a
    /// `jax.Array` in the sharding of the source. Shards are arrays of the indices of their part,
    /// whatever the layout of `shape`. Returns the new shards as a list for a list, and otherwise
    /// as a dictionary by device. In a list, the place of a device without a shard has None.
    ///
    /// The devices of JAX have the numbers that are their ids, which may be in another order than
    /// the array's shards. `{s.device.id: s.data for s in x.addressable_shards}` is right for every
    /// order.
    ///
    /// >>> import numpy, stridec
    /// >>> plan = stridec.reshard("u8[2,4]", "{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}")
    /// >>> shards = numpy.arange(8, dtype=numpy.uint8).reshape(2, 1, 4)
    /// >>> [shard.tolist() for shard in plan.simulate(list(shards))]
    /// [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    #[pyo3(signature = (arrays, /))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.planned.shape();
        let (from, to) = (self.planned.from(), self.planned.to());
        let given =
            GivenShards::of(arrays, shape, from, "; `split` cuts a whole array into shards")?;
        let new =
            moved(py, shape, (from, &given.arrays), to, |device| format!("arrays[{device}]"))?;
        if given.is_list {
            let list = (0..to.devices()).map(|device| new.get(&device));
            return Ok(PyList::new(py, list)?.into_any());
        }
        by_device(py, new)
    }

    /// Returns the shards of a whole array in the sharding of the source, as a dictionary by
    /// device.
    #[pyo3(signature = (array, /))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.planned.shape();
        let given = BTreeMap::from([(0, array.clone())]);
        let whole = whole(shape)?;
        by_device(
            py,
            moved(py, shape, (&whole, &given), self.planned.from(), |_| "array".to_owned())?,
        )
    }

    /// Returns the whole array whose shards in the sharding of the destination are given, in the
    /// forms that `simulate` takes. If several devices have a part, one of them is read.
    #[pyo3(signature = (arrays, /))]
    fn join<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (shape, to) = (self.planned.shape(), self.planned.to());
        let given = GivenShards::of(arrays, shape, to, "")?;
        let name = |device| format!("arrays[{device}]");
        let mut joined = moved(py, shape, (to, &given.arrays), &whole(shape)?, name)?;
        Ok(joined.remove(&0).expect("the whole array is on device 0"))
    }

    /// Returns a drawing of both shardings and of the bytes between devices, as text.
    #[pyo3(signature = (columns=80))]
    fn draw(&self, #[pyo3(from_py_with = numbers::columns)] columns: usize) -> String {
        picture::plain(&self.pictured(|drawn| drawn.terminal(columns)))
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(py, path, self)
    }

    #[allow(clippy::type_complexity)] // it is of Python's protocol
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Shape, Sharding, Sharding, Option<u64>))> {
        let restored = PyType::new::<Self>(py).getattr("_of_sides")?;
        Ok((restored, (self.shape(), self.source(), self.destination(), self.devices)))
    }

    #[classmethod]
    #[pyo3(name = "_of_sides")]
    fn of_sides(
        _class: &Bound<'_, PyType>,
        shape: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        devices: Option<u64>,
    ) -> PyResult<Self> {
        reshard(shape, source, destination, devices)
    }

    fn __repr__(&self) -> String {
        let messages = counted(self.planned.transfers().len(), "message");
        let (shape, bytes) = (self.planned.shape(), self.total_bytes());
        format!("<stridec.ReshardPlan {shape}: {messages}, {bytes} bytes>")
    }

    /// Returns the picture for a notebook, and a page to explore it.
    fn _repr_html_(&self, py: Python<'_>) -> Option<String> {
        self.html(py)
    }

    /// Returns the picture as an SVG document.
    fn _repr_svg_(&self, py: Python<'_>) -> Option<String> {
        self.svg(py).ok()
    }

    /// Returns the plan as text, and its picture as SVG and as a page.
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
impl Drawn for ReshardPlan {
    fn name(&self, _py: Python<'_>) -> String {
        self.__repr__()
    }

    fn svg(&self, _py: Python<'_>) -> PyResult<String> {
        Ok(self.pictured(|drawn| drawn.svg()))
    }

    fn page(&self, _py: Python<'_>) -> PyResult<String> {
        Ok(self.pictured(|drawn| drawn.html()))
    }

    fn text(&self, _py: Python<'_>, columns: usize) -> PyResult<String> {
        Ok(self.draw(columns))
    }
}

/// Plans the messages that change the sharding of an array. `source` and `destination` are what
/// `Sharding` takes. A sharding that does not give the number of devices is on `devices`, or on the
/// devices of the other side.
///
/// Every device computes the same plan, so the devices need not agree on one. No message is
/// forwarded, and the number of bytes is the least for that.
///
/// >>> import stridec
/// >>> plan = stridec.reshard("f32[8,8]", "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}")
/// >>> plan
/// <stridec.ReshardPlan f32[8,8]: 12 messages, 192 bytes>
/// >>> send = plan.rank(0).sends[0]
/// >>> send.destination, send.source_index, send.nbytes
/// (1, (slice(0, 2, 1), slice(2, 4, 1)), 16)
#[pyfunction]
#[pyo3(signature = (shape, source, destination, *, devices=None))]
pub(crate) fn reshard(
    shape: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = numbers::devices)] devices: Option<u64>,
) -> PyResult<ReshardPlan> {
    let py = shape.py();
    let shape = xla_shape(shape, "shape")?;
    let source = Sharding::of(source, "source")?;
    let destination = Sharding::of(destination, "destination")?;
    source.check_count(devices, "source")?;
    destination.check_count(devices, "destination")?;
    match devices {
        Some(0) => return Err(invalid("devices", "at least one device", 0)),
        Some(count) if count > MAX_DEVICES => {
            return Err(unsupported("devices", &format!("at most {MAX_DEVICES} devices"), count));
        }
        _ => {}
    }
    let own = [source.members()?, destination.members()?];
    let given = devices.map(Devices::numbered);
    let from = source.place(&shape, given.as_ref().or(own[1].as_ref()), "source")?;
    let to = destination.place(&shape, given.as_ref().or(own[0].as_ref()), "destination")?;
    let planned = py.detach(|| plan(&shape, &from, &to)).map_err(|error| {
        let sides = [("from", "source"), ("to", "destination")];
        let side = sides.into_iter().find(|(name, _)| names(&error.to_string(), name));
        match side {
            Some((name, argument)) => renamed(error, name, argument),
            None => raised(error),
        }
    })?;
    Ok(ReshardPlan { planned, source, destination, devices })
}

/// Returns a dictionary by device.
fn by_device<'py>(
    py: Python<'py>,
    shards: BTreeMap<u64, Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let results = PyDict::new(py);
    for (device, shard) in shards {
        results.set_item(device, shard)?;
    }
    Ok(results.into_any())
}

/// Returns the placement of a whole array on device 0.
fn whole(shape: &XlaShape) -> PyResult<Placement> {
    Parsed::replicated().place(shape, Some(1)).map_err(raised)
}

/// Moves the shards of one placement to another one. `name` is the name of a device's shard in
/// messages.
fn moved<'py>(
    py: Python<'py>,
    array: &XlaShape,
    (from, given): (&Placement, &BTreeMap<u64, Bound<'py, PyAny>>),
    to: &Placement,
    name: impl Fn(u64) -> String,
) -> PyResult<BTreeMap<u64, Bound<'py, PyAny>>> {
    let shards = Shards::default();
    let shape_on = |placement: &Placement, device: u64| {
        let shape = shards.shape(array, placement, device).map_err(raised)?;
        let with_layout = |shape: XlaShape| {
            let layout = StrideDescriptor::try_from(&shape).map_err(raised)?;
            Ok::<_, PyErr>((shape, layout))
        };
        shape.map(with_layout).transpose()
    };
    let mut sources = BTreeMap::new();
    for (device, _) in from.regions() {
        let name = name(device);
        let none = || invalid(&name, "the shard of each device that has one", "none");
        let array = given.get(&device).ok_or_else(none)?;
        let Some((shape, layout)) = shape_on(from, device)? else { continue };
        let mut found = HostArray::of(array, &name)?;
        let expected = shape.without_layout().to_string();
        if found.sizes() != layout.sizes() {
            return Err(invalid(&format!("{name}.shape"), &expected, found.tensor()?));
        }
        if found.element_type() != shape.element_type() {
            return Err(invalid(&format!("{name}.dtype"), &expected, found.tensor()?));
        }
        if !found.has_whole_strides() {
            found = found.packed(array)?;
        }
        sources.insert(device, (found, shape, layout));
    }
    let mut images = BTreeMap::new();
    for (&device, (found, shape, layout)) in &sources {
        images.insert(device, image(py, found, shape, layout)?);
    }
    let images = images.iter().map(|(device, image)| (*device, &**image)).collect();
    let moved = py.detach(|| simulate(array, (from, &shards), (to, &shards), None, &images));
    let moved = moved.map_err(|error| match error {
        ReshardError::Host(error) => memory_error(error),
        error => raised(error),
    })?;
    let library = Library::of(given.values());
    let mut results = BTreeMap::new();
    for (device, bytes) in moved {
        let Some((shape, layout)) = shape_on(to, device)? else { continue };
        let room = Room::of(py, &layout, None, &[])?;
        room.array.bytes_mut("result")?.copy_from_slice(&bytes);
        let result = logical(py, room, &shape, &layout)?;
        results.insert(device, library.array(result, shape.element_type())?);
    }
    Ok(results)
}

/// The shards in an argument.
struct GivenShards<'py> {
    arrays: BTreeMap<u64, Bound<'py, PyAny>>,
    /// True if the places in a list say which devices have the shards.
    is_list: bool,
}

impl<'py> GivenShards<'py> {
    /// Returns the shards in the argument `arrays`. Those that are None are left out. The argument
    /// is not read past the first shard of a device without a part. `way_out` is the end of the
    /// message for a whole array.
    fn of(
        arrays: &Bound<'py, PyAny>,
        shape: &XlaShape,
        placement: &Placement,
        way_out: &str,
    ) -> PyResult<Self> {
        if arrays.cast::<PyMapping>().is_ok() {
            let arrays = listed(arrays, placement, |device| {
                Ok((numbers::number(&device, "arrays (a device)")?, arrays.get_item(device)?))
            })?;
            return Ok(Self { arrays, is_list: false });
        }
        if let Some(arrays) = sharded(arrays, shape, placement)? {
            return Ok(Self { arrays, is_list: false });
        }
        // The rows of a whole array are not its shards, although they can be iterated.
        if let Ok(array) = HostArray::of(arrays, "arrays")
            && array.sizes().len() == shape.rank()
        {
            let shards = counted(usize::try_from(placement.owner_count())?, "shard");
            let array = array.tensor()?;
            let array = array.to_string();
            let given = format!("an array of {}", array.split('{').next().unwrap_or(&array));
            return Err(with_advice(invalid("arrays", &shards, given), way_out));
        }
        let mut next = 0_u64..;
        let arrays = listed(arrays, placement, |array| Ok((next.next().unwrap_or(0), array)))?;
        in_order(&arrays, placement)?;
        Ok(Self { arrays, is_list: true })
    }
}

/// Returns the shards of an iterable by device. `read` returns the device and the shard of an item.
fn listed<'py>(
    arrays: &Bound<'py, PyAny>,
    placement: &Placement,
    mut read: impl FnMut(Bound<'py, PyAny>) -> PyResult<(u64, Bound<'py, PyAny>)>,
) -> PyResult<BTreeMap<u64, Bound<'py, PyAny>>> {
    let expected = "a dictionary with the shard of each device, a list of them by the number of the device, or a jax.Array in the same sharding";
    let refused = |_| invalid("arrays", expected, shown(arrays));
    let mut given = BTreeMap::new();
    for (number, item) in (0_u64..).zip(arrays.try_iter().map_err(refused)?) {
        if number > MAX_DEVICES {
            let expected = format!("at most {MAX_DEVICES} shards");
            return Err(invalid("arrays", &expected, "more"));
        }
        let (device, array) = read(item?)?;
        if array.is_none() {
            continue;
        }
        if placement.region(device).is_none() {
            let expected =
                "shards of the devices that have a part; a dictionary gives them by device";
            let given = format!("one of device {device}");
            return Err(invalid(&format!("arrays[{device}]"), expected, given));
        }
        given.insert(device, array);
    }
    Ok(given)
}

/// Returns the shards of a `jax.Array` by device, or `None` if it is another object or a whole
/// array on one device. Returns an error if they are not the parts of `placement`.
fn sharded<'py>(
    array: &Bound<'py, PyAny>,
    shape: &XlaShape,
    placement: &Placement,
) -> PyResult<Option<BTreeMap<u64, Bound<'py, PyAny>>>> {
    let py = array.py();
    if Library::of([array]) != Library::Jax {
        return Ok(None);
    }
    let Some(shards) = array.getattr_opt(intern!(py, "addressable_shards"))? else {
        return Ok(None);
    };
    let rank = array.getattr(intern!(py, "ndim"))?.extract::<usize>()?;
    if rank != shape.rank() {
        return Ok(None);
    }
    let sharding = Sharding::of(array, "arrays")?;
    let own = sharding.place(shape, None, "arrays")?;
    if !placement.regions().all(|(device, region)| own.region(device) == Some(region)) {
        if shards.len()? == 1 {
            return Ok(None);
        }
        let expected = "an array with the parts that the plan's devices have";
        return Err(invalid("arrays", expected, sharding.name()));
    }
    let mut given = BTreeMap::new();
    for shard in shards.try_iter()? {
        let shard = shard?;
        let id = shard.getattr(intern!(py, "device"))?.getattr(intern!(py, "id"))?;
        given.insert(id.extract()?, shard.getattr(intern!(py, "data"))?);
    }
    Ok(Some(given))
}

/// Returns an error if the shards of a list lie on devices of JAX in another order than the list's.
/// Arrays that share a device say nothing about the order: JAX makes every new array on the first
/// device.
fn in_order(arrays: &BTreeMap<u64, Bound<'_, PyAny>>, placement: &Placement) -> PyResult<()> {
    let (mut ids, mut wrong) = (BTreeSet::new(), None);
    let mut count = 0;
    for (&place, array) in arrays {
        let Some(id) = device_of(array)? else { continue };
        count += 1;
        ids.insert(id);
        if id != place && wrong.is_none() {
            wrong = Some((place, id));
        }
    }
    let is_spread = count > 1 && ids.len() == count;
    match wrong {
        Some((place, id)) if is_spread && ids.iter().all(|&id| placement.region(id).is_some()) => {
            let expected = format!(
                "the shard of device {place}, as a list has the shards in the order of the devices' ids; give a dictionary, {{s.device.id: s.data for s in x.addressable_shards}}"
            );
            Err(invalid(&format!("arrays[{place}]"), &expected, format!("one on device {id}")))
        }
        _ => Ok(()),
    }
}

/// Returns the id of the only device of a `jax.Array`, or `None` for another object.
fn device_of(array: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = array.py();
    if Library::of([array]) != Library::Jax || !array.hasattr(intern!(py, "devices"))? {
        return Ok(None);
    }
    let devices = array.call_method0(intern!(py, "devices"))?;
    if devices.len()? != 1 {
        return Ok(None);
    }
    let device = devices.try_iter()?.next().transpose()?;
    let id = device.map(|device| device.getattr(intern!(py, "id"))).transpose()?;
    Ok(id.and_then(|id| id.extract().ok()))
}
