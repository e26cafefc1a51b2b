//! The class `stridec.Target`, and the function `adapters`.

use std::borrow::Cow;

use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple, PyType},
};
use stridec::{
    Target as Limits,
    gpu::{Adapter, Adapters},
};

use crate::{
    errors::{at, invalid, raised},
    layout::text,
    numbers::shown,
};

/// The limits and costs of the device that kernels are compiled for.
///
/// `preset` is a name, a target, or None for "webgpu", which has the limits that the standard
/// guarantees. The other arguments replace single limits.
///
/// >>> import stridec
/// >>> target = stridec.Target(max_storage_buffer_binding_size=1 << 30)
/// >>> kernel = stridec.compile("f32[8192,16384]", "{0,1}", target=target)
/// >>> kernel.destination_bytes
/// 536870912
/// >>> stridec.Target.from_json(target.to_json()) == target
/// True
#[pyclass(frozen, module = "stridec", eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Target {
    limits: Limits,
}

#[pymethods]
impl Target {
    #[new]
    #[pyo3(signature = (preset=None, /, *, name=None, max_storage_buffer_binding_size=None, max_compute_workgroups_per_dimension=None, max_compute_invocations_per_workgroup=None, max_storage_buffers_per_shader_stage=None, read_write_sources=None))]
    #[allow(clippy::too_many_arguments)] // they are Python's, by keyword
    fn new(
        preset: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
        max_storage_buffer_binding_size: Option<&Bound<'_, PyAny>>,
        max_compute_workgroups_per_dimension: Option<&Bound<'_, PyAny>>,
        max_compute_invocations_per_workgroup: Option<&Bound<'_, PyAny>>,
        max_storage_buffers_per_shader_stage: Option<&Bound<'_, PyAny>>,
        read_write_sources: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut limits = of(preset, "preset")?;
        let count = |given: Option<&Bound<'_, PyAny>>, limit: &mut u32, name, least| {
            if let Some(given) = given {
                let number = given.extract::<u32>().ok().filter(|&number| number >= least);
                let expected = format!("a whole number from {least} to 2^32-1");
                *limit = number.ok_or_else(|| invalid(name, &expected, shown(given)))?;
            }
            PyResult::Ok(())
        };
        count(
            max_compute_workgroups_per_dimension,
            &mut limits.max_compute_workgroups_per_dimension,
            "max_compute_workgroups_per_dimension",
            1,
        )?;
        count(
            max_compute_invocations_per_workgroup,
            &mut limits.max_compute_invocations_per_workgroup,
            "max_compute_invocations_per_workgroup",
            1,
        )?;
        count(
            max_storage_buffers_per_shader_stage,
            &mut limits.max_storage_buffers_per_shader_stage,
            "max_storage_buffers_per_shader_stage",
            2,
        )?;
        if let Some(given) = max_storage_buffer_binding_size {
            let bytes = given.extract::<u64>().ok().filter(|&bytes| bytes >= 4);
            let expected = "a whole number of bytes from 4 to 2^64-1";
            limits.max_storage_buffer_binding_size = bytes.ok_or_else(|| {
                invalid("max_storage_buffer_binding_size", expected, shown(given))
            })?;
        }
        if let Some(name) = name {
            limits.name = string(name, "name")?.into_owned();
        }
        if let Some(given) = read_write_sources {
            let refused = |_| invalid("read_write_sources", "True or False", shown(given));
            limits.read_write_sources = given.extract::<bool>().map_err(refused)?;
        }
        Ok(Self { limits })
    }

    /// Returns a target with the limits of an adapter of this machine: the one of `device="gpu"`,
    /// or the first that can run kernels and whose name contains `name`.
    #[classmethod]
    #[pyo3(signature = (name=None))]
    fn adapter(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let name = name.map(|name| string(name, "name")).transpose()?;
        let adapters = py.detach(Adapters::enumerate);
        let adapter = match name.as_deref() {
            None => adapters.choose().map_err(raised)?,
            Some(name) => {
                let names: Vec<&str> = adapters.iter().map(Adapter::name).collect();
                let expected = match &names[..] {
                    [] => "a part of an adapter's name, but this machine has no adapter".into(),
                    names => format!("a part of an adapter's name, one of {}", names.join(", ")),
                };
                named(&adapters, name)
                    .ok_or_else(|| invalid("name", &expected, format!("{name:?}")))?
            }
        };
        Ok(Self { limits: adapter.limits().target(adapter.name()) })
    }

    /// Reads what `to_json` returns or `stridec calibrate` writes.
    #[classmethod]
    #[pyo3(signature = (text, /))]
    fn from_json(_class: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = string(text, "text")?;
        Ok(Self { limits: Limits::from_json(&text).map_err(|error| at("text", error))? })
    }

    /// Returns the target as JSON, with its limits and costs.
    fn to_json(&self) -> String {
        self.limits.to_json()
    }

    /// The name, which messages use.
    #[getter]
    fn name(&self) -> &str {
        &self.limits.name
    }

    /// The kind of the device: "gpu", or "cpu" for a software driver.
    #[getter]
    fn kind(&self) -> &'static str {
        self.limits.kind.name()
    }

    /// The maximum size of a buffer that a kernel binds, in bytes.
    #[getter]
    fn max_storage_buffer_binding_size(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size
    }

    /// The maximum number of workgroups of a dispatch along each dimension.
    #[getter]
    fn max_compute_workgroups_per_dimension(&self) -> u32 {
        self.limits.max_compute_workgroups_per_dimension
    }

    /// The maximum number of invocations of a workgroup.
    #[getter]
    fn max_compute_invocations_per_workgroup(&self) -> u32 {
        self.limits.max_compute_invocations_per_workgroup
    }

    /// The maximum number of buffers that a kernel binds, including the destination.
    #[getter]
    fn max_storage_buffers_per_shader_stage(&self) -> u32 {
        self.limits.max_storage_buffers_per_shader_stage
    }

    /// True if the sources are bound as `read_write`, so that they may share a buffer with the
    /// destination.
    #[getter]
    fn read_write_sources(&self) -> bool {
        self.limits.read_write_sources
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((PyType::new::<Self>(py).getattr("from_json")?, (self.to_json(),)))
    }

    fn __repr__(&self) -> String {
        let Limits { name, max_storage_buffer_binding_size, .. } = &self.limits;
        format!(
            "<stridec.Target {name}: bindings of at most {max_storage_buffer_binding_size} bytes>"
        )
    }
}

/// Returns the text of an argument that must be a string.
fn string<'a>(given: &'a Bound<'_, PyAny>, argument: &str) -> PyResult<Cow<'a, str>> {
    text(given).ok_or_else(|| invalid(argument, "a string", shown(given)))
}

/// Returns the first adapter that can run kernels and has `name` in its name. Case is ignored.
pub(crate) fn named<'a>(adapters: &'a Adapters, name: &str) -> Option<&'a Adapter> {
    let name = name.to_lowercase();
    adapters.iter().find(|it| it.computes() && it.name().to_lowercase().contains(&name))
}

/// Returns the target that an argument describes: a `Target`, the name of a preset, or None for
/// "webgpu".
pub(crate) fn of(given: Option<&Bound<'_, PyAny>>, argument: &str) -> PyResult<Limits> {
    let Some(given) = given else { return Ok(Limits::webgpu()) };
    if let Ok(target) = given.cast::<Target>() {
        return Ok(target.get().limits.clone());
    }
    let presets = Limits::presets();
    let names: Vec<&str> = presets.iter().map(|preset| &*preset.name).collect();
    let expected = format!("a Target, or one of {}", names.join(", "));
    let text = given.cast::<PyString>().map(|text| text.to_string_lossy().into_owned());
    let found = text.ok().and_then(|text| presets.iter().find(|preset| preset.name == text));
    found.cloned().ok_or_else(|| invalid(argument, &expected, shown(given)))
}

/// Returns the adapters of this machine that can run kernels, as dictionaries with `name`,
/// `backend`, `driver`, `is_cpu` and `target`. Hardware comes before software. `device="gpu"` runs
/// on the first adapter whose name contains the environment variable `WGPU_ADAPTER_NAME`, if that
/// is set, and `device="gpu:NAME"` on the first whose name contains NAME.
#[pyfunction]
pub(crate) fn adapters(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let adapters = py.detach(Adapters::enumerate);
    let adapters = adapters.iter().filter(|adapter| adapter.computes());
    let dicts: PyResult<Vec<_>> = adapters
        .map(|adapter| {
            let dict = PyDict::new(py);
            dict.set_item("name", adapter.name())?;
            dict.set_item("backend", adapter.backend())?;
            dict.set_item("driver", adapter.driver())?;
            dict.set_item("is_cpu", adapter.limits().is_cpu)?;
            let target = Target { limits: adapter.limits().target(adapter.name()) };
            dict.set_item("target", Bound::new(py, target)?)?;
            Ok(dict)
        })
        .collect();
    PyTuple::new(py, dicts?)
}
