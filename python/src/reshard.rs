//! The function `reshard`, and the classes of its plan.

use std::collections::BTreeMap;

use pyo3::{
    prelude::*,
    types::{PyDict, PyList, PySlice, PyTuple, PyType},
};
use stridec::{
    explain::ReshardPicture,
    reshard::{ReshardPlan as Planned, Shards, Transfer as Moved, plan, rank_plan, simulate},
    sharding::{Placement, Region},
    stride::StrideDescriptor,
};

use crate::{
    array::{HostArray, Image, Room, lies_as, numpy},
    errors::{invalid, raised},
    library::Library,
    numbers::{self, shown},
    picture::{self, Form},
    shape::Shape,
    sharding::{Ranges, Sharding, ranges, shown_ranges, xla_shape},
};

/// A part of an array that a device sends to another one, or keeps.
#[pyclass(frozen, module = "stridec")]
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
    ranges: Ranges,
    /// The ranges in the shards of both devices.
    local: [Ranges; 2],
}

#[pymethods]
impl Transfer {
    /// The extents of the part.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let extent = |ranges: &Vec<(u64, u64)>| ranges.iter().map(|(start, end)| end - start).sum();
        PyTuple::new(py, self.ranges.iter().map(extent).collect::<Vec<u64>>())
    }

    /// The ranges of the part in the whole array: for each dimension the first index and the end,
    /// or a tuple of several ranges.
    #[getter]
    fn ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        shown_ranges(py, &self.ranges)
    }

    /// The place of the part in the shard of the device that has it, as an index of numpy.
    #[getter]
    fn source_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        index(py, &self.local[0])
    }

    /// The place of the part in the shard of the device that gets it, as an index of numpy.
    #[getter]
    fn destination_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        index(py, &self.local[1])
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Self { source, destination, nbytes, .. } = self;
        let ranges = self.ranges(py)?;
        Ok(format!("<stridec.Transfer {source} to {destination}: {ranges}, {nbytes} bytes>"))
    }
}

/// Returns ranges as an index of numpy: slices, or arrays if a dimension has several ranges.
fn index<'py>(py: Python<'py>, ranges: &Ranges) -> PyResult<Bound<'py, PyAny>> {
    if ranges.iter().all(|ranges| ranges.len() == 1) {
        let slices = ranges.iter().map(|ranges| {
            let (start, end) = ranges[0];
            Ok(PySlice::new(py, isize::try_from(start)?, isize::try_from(end)?, 1))
        });
        return Ok(PyTuple::new(py, slices.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    let lists = ranges
        .iter()
        .map(|ranges| ranges.iter().flat_map(|&(start, end)| start..end).collect::<Vec<u64>>());
    numpy(py)?.call_method1("ix_", PyTuple::new(py, lists)?)
}

/// Returns the ranges of a part as they are counted inside another part, which contains it.
fn within(part: &Region, whole: &Region) -> Ranges {
    let dimensions = part.dimensions().zip(whole.dimensions());
    let inside = dimensions.map(|(part, whole)| {
        let place = |at: u64| {
            let before = whole.iter().map(|&(start, end)| at.clamp(start, end) - start);
            before.sum::<u64>()
        };
        part.iter().map(|&(start, end)| (place(start), place(start) + (end - start))).collect()
    });
    inside.collect()
}

/// The transfers of one device.
#[pyclass(frozen, module = "stridec")]
pub(crate) struct RankPlan {
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
        let (sends, receives) = (self.sends.bind(py).len(), self.receives.bind(py).len());
        format!("<stridec.RankPlan: {sends} sends, {receives} receives>")
    }
}

/// The messages that change the sharding of an array.
#[pyclass(frozen, module = "stridec")]
pub(crate) struct ReshardPlan {
    planned: Planned,
    source: Sharding,
    destination: Sharding,
}

impl ReshardPlan {
    fn transfer(&self, moved: &Moved) -> Transfer {
        let local = [(self.planned.from(), moved.from), (self.planned.to(), moved.to)];
        let local = local.map(|(placement, device): (&Placement, u64)| {
            placement.region(device).map_or_else(Vec::new, |whole| within(&moved.region, &whole))
        });
        Transfer {
            source: moved.from,
            destination: moved.to,
            nbytes: self.planned.bytes(&moved.region),
            ranges: ranges(&moved.region),
            local,
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
        self.source.again()
    }

    /// The sharding after.
    #[getter]
    fn destination(&self) -> Sharding {
        self.destination.again()
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
            invalid("device", &format!("a whole number below {devices}"), shown(device))
        })?;
        let part = rank_plan(self.planned.from(), self.planned.to(), device).map_err(raised)?;
        let copy = part.copy.map(|region| {
            let kept = Moved { from: device, to: device, region };
            Py::new(py, self.transfer(&kept))
        });
        Ok(RankPlan {
            sends: self.transfers_of(py, &part.sends)?.unbind(),
            receives: self.transfers_of(py, &part.receives)?.unbind(),
            copy: copy.transpose()?,
        })
    }

    /// Moves the shards of all devices in this process. `arrays` is a list with the shard of each
    /// device, or a dictionary by device. Returns the new shards in the same form.
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
        let (plan, shards) = (&self.planned, Shards::default());
        let by_device = arrays.cast::<PyDict>().is_ok();
        let mut given = Vec::new();
        let mut sources = BTreeMap::new();
        let descriptor = |placement: &Placement, device: u64| {
            let shape = shards.shape(plan.shape(), placement, device).map_err(raised)?;
            shape.map(|shape| StrideDescriptor::try_from(&shape).map_err(raised)).transpose()
        };
        for (device, _) in plan.from().regions() {
            let name = format!("arrays[{device}]");
            let array = arrays
                .get_item(device)
                .map_err(|_| invalid(&name, "the shard of each device that has one", "none"))?;
            let Some(layout) = descriptor(plan.from(), device)? else { continue };
            let mut found = HostArray::of(&array, &name)?;
            if !found.is_row_major() && !lies_as(&found, &layout)? {
                found = found.packed(&array)?;
            }
            Image::of(&layout).check(&found, &name)?;
            given.push(array);
            sources.insert(device, found);
        }
        let mut images = BTreeMap::new();
        for (&device, array) in &sources {
            images.insert(device, array.bytes()?);
        }
        let (from, to) = (plan.from(), plan.to());
        let moved =
            py.detach(|| simulate(plan.shape(), (from, &shards), (to, &shards), None, &images));
        let moved = moved.map_err(raised)?;
        let library = Library::of(&given);
        let results = PyDict::new(py);
        for (device, bytes) in moved {
            let Some(layout) = descriptor(to, device)? else { continue };
            let room = Room::of(py, &layout, None, &[])?;
            room.array.bytes_mut("result")?.copy_from_slice(&bytes);
            results.set_item(device, library.array(room.object, layout.element_type())?)?;
        }
        Ok(if by_device { results.into_any() } else { results.values().into_any() })
    }

    /// Returns a drawing of both shardings and of the bytes between devices, as text.
    #[pyo3(signature = (columns=80))]
    fn draw(&self, #[pyo3(from_py_with = numbers::columns)] columns: usize) -> String {
        picture::plain(&self.pictured(|drawn| drawn.terminal(columns)))
    }

    /// Saves the picture to a file. The name of the file ends in .svg, .html or .txt.
    #[pyo3(signature = (path, /))]
    fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        picture::save(path, |form| {
            Ok(Some(match form {
                Form::Svg => self._repr_svg_(),
                Form::Html => self.pictured(|drawn| drawn.html()),
                Form::Text => self.draw(picture::COLUMNS),
            }))
        })
    }

    #[allow(clippy::type_complexity)] // it is of Python's protocol
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Shape, Sharding, Sharding, u64, u64))> {
        let restored = PyType::new::<Self>(py).getattr("_of_sides")?;
        let devices = (self.planned.from().devices(), self.planned.to().devices());
        Ok((restored, (self.shape(), self.source(), self.destination(), devices.0, devices.1)))
    }

    #[classmethod]
    #[pyo3(name = "_of_sides")]
    fn of_sides(
        _class: &Bound<'_, PyType>,
        shape: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        before: u64,
        after: u64,
    ) -> PyResult<Self> {
        planned(shape, source, destination, [Some(before), Some(after)])
    }

    fn __repr__(&self) -> String {
        let (messages, bytes) = (self.planned.transfers().len(), self.total_bytes());
        format!(
            "<stridec.ReshardPlan {}: {messages} messages, {bytes} bytes>",
            self.planned.shape()
        )
    }

    /// Returns the picture for a notebook, and a page to explore it.
    fn _repr_html_(&self) -> Option<String> {
        picture::notebook(Some(self._repr_svg_()), Some(self.pictured(|drawn| drawn.html())))
    }

    /// Returns the picture as an SVG document.
    fn _repr_svg_(&self) -> String {
        self.pictured(|drawn| drawn.svg())
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
        picture::bundle(py, self.__repr__(), self._repr_html_(), Some(self._repr_svg_()))
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
    planned(shape, source, destination, [devices; 2])
}

fn planned(
    shape: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    devices: [Option<u64>; 2],
) -> PyResult<ReshardPlan> {
    let py = shape.py();
    let shape = xla_shape(shape, "shape")?;
    let source = Sharding::of(source, "source")?;
    let destination = Sharding::of(destination, "destination")?;
    let own = [source.count()?, destination.count()?];
    let from = source.place(&shape, own[0].or(devices[0]).or(own[1]), "source")?;
    let to = destination.place(&shape, own[1].or(devices[1]).or(own[0]), "destination")?;
    let planned = py.detach(|| plan(&shape, &from, &to)).map_err(raised)?;
    Ok(ReshardPlan { planned, source, destination })
}
