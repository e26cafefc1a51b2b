//! The class `stridec.Kernel`.

use std::hash::{Hash, Hasher};

use prost::Message as _;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};
use stridec::{
    Kernel as Compiled,
    backend::{Language, translate},
    proto,
};

use stridec::program::{BufferId, Program, ProgramStep};

use crate::errors::{at, invalid, raised};

/// A compiled kernel as plain data: the shader, its bindings and its dispatches.
///
/// Kernels are equal if they have the same code, apart from comments, for the same buffers. A
/// kernel that is read from a pickle is compiled and proved again.
///
/// >>> import stridec
/// >>> kernel = stridec.compile("f32[64,8]", "{0,1}")
/// >>> kernel.entry_point
/// 'main'
/// >>> [binding["size_in_bytes"] for binding in kernel.bindings]
/// [2048, 2048]
/// >>> kernel.spirv()[:4].hex()
/// '03022307'
#[pyclass(frozen, module = "stridec", eq, hash)]
pub(crate) struct Kernel {
    compiled: Compiled,
    /// The kind and the number of the buffer of each binding.
    buffers: Vec<(&'static str, usize)>,
    /// The name of the buffer of each binding. Like the comments of the code, it says nothing about
    /// what the kernel does, so it is not compared.
    names: Vec<Option<String>>,
}

/// The arguments of `_restored`: the serialized kernel, and its buffers with their names.
type Saved<'py> = (Bound<'py, PyBytes>, Vec<(&'static str, usize)>, Vec<Option<String>>);

/// The kinds of buffers.
const KINDS: [&str; 7] =
    ["source", "table", "destination", "parameter", "constant", "scratch", "result"];

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.compiled == other.compiled && self.buffers == other.buffers
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.compiled.hash(state);
        self.buffers.hash(state);
    }
}

impl Kernel {
    /// Returns the kernel of a relayout or a slice.
    pub(crate) fn of_operation(kernel: Compiled) -> Self {
        let sources = kernel.bindings.len().saturating_sub(1);
        let kind = |number| if number == 0 { ("source", 0) } else { ("table", number - 1) };
        let buffers = (0..sources).map(kind).chain([("destination", 0)]);
        let buffers = buffers.take(kernel.bindings.len()).collect();
        let names = vec![None; kernel.bindings.len()];
        Self { compiled: kernel, buffers, names }
    }

    /// Returns the kernel of a step of a program.
    pub(crate) fn of_step(kernel: Compiled, program: &Program, step: &ProgramStep) -> Self {
        let all = step.sources().iter().copied().chain([step.destination()]);
        let all: Vec<BufferId> =
            all.map(|of| program.home(of)).take(kernel.bindings.len()).collect();
        let buffers = all.iter().map(|of| (of.kind(), of.number())).collect();
        let names = all.iter().map(|&of| program.name_of(of).map(str::to_owned)).collect();
        Self { compiled: kernel, buffers, names }
    }

    fn translated(&self, py: Python<'_>, language: Language) -> PyResult<Vec<u8>> {
        Ok(py.detach(|| translate(&self.compiled, language)).map_err(raised)?.code)
    }

    fn text(&self, py: Python<'_>, language: Language) -> PyResult<String> {
        Ok(String::from_utf8(self.translated(py, language)?)?)
    }
}

#[pymethods]
impl Kernel {
    /// The shader in WGSL. Empty if there is nothing to dispatch.
    #[getter]
    fn wgsl(&self) -> &str {
        &self.compiled.wgsl
    }

    /// The name of the compute entry point.
    #[getter]
    fn entry_point(&self) -> &str {
        &self.compiled.entry_point
    }

    /// The strategy of the kernel: "copy", "rows", "transpose" or "gather", or "empty" if the
    /// destination has no elements.
    #[getter]
    fn strategy(&self) -> &'static str {
        self.compiled.strategy.name()
    }

    /// The number of invocations of a workgroup in x, y and z.
    #[getter]
    fn workgroup_size(&self) -> (u32, u32, u32) {
        self.compiled.workgroup_size.into()
    }

    /// The buffers to bind, as dictionaries with `group`, `binding`, `writable` and
    /// `size_in_bytes`, the least size of the buffer. `kind` and `number` say which buffer it is:
    /// "source", "table" or "destination" of an operation, and of a program "parameter",
    /// "constant", "scratch" or "result". `name` is the one that `Program.parameter_names` or
    /// `Program.result_names` has for the buffer, or None if that is only its number.
    #[getter]
    fn bindings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let binding = |(number, given): (usize, &stridec::wgsl::Binding)| {
            let ((kind, of), name) = (self.buffers[number], &self.names[number]);
            let dict = PyDict::new(py);
            dict.set_item("group", given.group)?;
            dict.set_item("binding", given.binding)?;
            dict.set_item("writable", given.writable)?;
            dict.set_item("size_in_bytes", given.size_in_bytes)?;
            dict.set_item("kind", kind)?;
            dict.set_item("number", of)?;
            dict.set_item("name", name)?;
            Ok(dict)
        };
        self.compiled.bindings.iter().enumerate().map(binding).collect()
    }

    /// The numbers of workgroups of each dispatch in x, y and z.
    #[getter]
    fn dispatches(&self) -> Vec<(u32, u32, u32)> {
        self.compiled.dispatches.iter().map(|dispatch| dispatch.workgroups.into()).collect()
    }

    /// The operation as buffer copies, each with its source offset, destination offset and size, in
    /// bytes. Empty if the operation cannot be expressed as buffer copies.
    #[getter]
    fn copy_regions(&self) -> Vec<(u64, u64, u64)> {
        let regions = self.compiled.copy_regions.iter();
        regions.map(|it| (it.source_offset, it.destination_offset, it.size)).collect()
    }

    /// The size of the source's image, in bytes, or of all sources together if there are several.
    #[getter]
    fn source_bytes(&self) -> u64 {
        self.compiled.source_bytes
    }

    /// The size of the destination's image, in bytes.
    #[getter]
    fn destination_bytes(&self) -> u64 {
        self.compiled.destination_bytes
    }

    /// The proved bounds of the kernel: the last words that it reads and writes, and the least
    /// number of words of each binding. None if there is nothing to dispatch or the bounds could
    /// not be proved.
    #[getter]
    fn proof<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(proof) = self.compiled.proof() else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("last_source_word", proof.last_word_of_source(0))?;
        dict.set_item("last_destination_word", proof.last_destination_word())?;
        dict.set_item("source_words", proof.words_of_source(0))?;
        dict.set_item("destination_words", proof.destination_words())?;
        dict.set_item("invocations", proof.invocations())?;
        dict.set_item("trips", proof.trips())?;
        Ok(Some(dict))
    }

    /// Returns the shader as SPIR-V 1.3, for Vulkan 1.1.
    fn spirv<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.translated(py, Language::Spirv)?))
    }

    /// Returns the shader in Metal's language, version 2.1.
    fn msl(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, Language::Msl)
    }

    /// Returns the shader in Direct3D's language, shader model 5.1.
    fn hlsl(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, Language::Hlsl)
    }

    /// Returns the shader in OpenGL's language, ES 3.10.
    fn glsl(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, Language::Glsl)
    }

    /// Returns the kernel as a serialized `stridec.Kernel`.
    fn to_proto<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &proto::stridec::Kernel::from(&self.compiled).encode_to_vec())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Saved<'py>)> {
        let bytes = py.detach(|| self.compiled.encode()).map_err(raised)?;
        let restored = PyType::new::<Self>(py).getattr("_restored")?;
        Ok((restored, (PyBytes::new(py, &bytes), self.buffers.clone(), self.names.clone())))
    }

    #[classmethod]
    #[pyo3(name = "_restored")]
    fn restored(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        bytes: &[u8],
        buffers: Vec<(String, usize)>,
        names: Vec<Option<String>>,
    ) -> PyResult<Self> {
        let kernel = py.detach(|| Compiled::decode(bytes)).map_err(|error| at("bytes", error))?;
        let known = |(kind, number): (String, usize)| {
            let found = KINDS.into_iter().find(|known| **known == kind);
            let kind = found.ok_or_else(|| invalid("buffers", "kinds of buffers", &kind))?;
            Ok::<_, PyErr>((kind, number))
        };
        let buffers = buffers.into_iter().map(known).collect::<PyResult<Vec<_>>>()?;
        for (field, given) in [("buffers", buffers.len()), ("names", names.len())] {
            if given != kernel.bindings.len() {
                let expected = format!("{} {field}, as the kernel binds", kernel.bindings.len());
                return Err(invalid(field, &expected, given));
            }
        }
        Ok(Self { compiled: kernel, buffers, names })
    }

    fn __str__(&self) -> String {
        self.compiled.wgsl.clone()
    }

    fn __repr__(&self) -> String {
        let (from, to) = (self.compiled.source_bytes, self.compiled.destination_bytes);
        format!("<stridec.Kernel {}: {from} bytes to {to}>", self.compiled.strategy.name())
    }
}
