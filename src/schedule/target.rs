//! [`Target`]: describes the adapter for which a kernel is compiled. It is data, so that compiling
//! needs no device.

use super::{CostModel, ScheduleError};

/// The limits, the kind and the cost model of the adapter for which a kernel is compiled.
///
/// A target is an input of compilation, like the shapes: on every machine, the same operation and
/// target give the same kernel. `stridec calibrate` measures a target, and `Target::from_json`
/// reads it. The fields of a preset can be changed:
///
/// ```
/// use stridec::Target;
/// let mut target = Target::webgpu();
/// target.name = "my board".into();
/// target.max_storage_buffer_binding_size = 1 << 30;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Target {
    /// The name of the target, for messages.
    pub name: String,
    /// The kind of adapter: a GPU, or a CPU that runs invocations in a loop.
    pub kind: AdapterKind,
    /// The maximum size of a storage binding, in bytes.
    pub max_storage_buffer_binding_size: u64,
    /// The maximum number of workgroups in one dimension of a dispatch.
    pub max_compute_workgroups_per_dimension: u32,
    /// The maximum number of invocations in a workgroup.
    pub max_compute_invocations_per_workgroup: u32,
    /// The maximum number of storage buffers that a kernel binds, including its destination.
    pub max_storage_buffers_per_shader_stage: u32,
    /// True if kernels declare their sources `read_write`, like their destination. WebGPU then
    /// allows that all of them are parts of one buffer, as a pool allocator needs. By default,
    /// sources are read-only.
    pub read_write_sources: bool,
    /// The cost model, which estimates the time of possible kernels so that the fastest is chosen.
    pub model: CostModel,
    /// The machine on which the model was measured, with the date. Empty if it was not measured.
    pub measured_on: String,
}

/// The kinds of adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdapterKind {
    /// A GPU. Neighbouring invocations run together and share memory transactions.
    Gpu,
    /// A software driver, which runs invocations in a loop, a few at a time as a vector.
    Cpu,
}

impl AdapterKind {
    /// Returns the name in the JSON of a target.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        }
    }
}

impl Target {
    /// The number of storage buffers that the WebGPU standard guarantees.
    pub(super) const STORAGE_BUFFERS: u32 = 8;

    /// Returns a GPU with the limits that the WebGPU standard guarantees.
    #[must_use]
    pub fn webgpu() -> Self {
        Self {
            name: "webgpu".into(),
            kind: AdapterKind::Gpu,
            max_storage_buffer_binding_size: 128 << 20,
            max_compute_workgroups_per_dimension: 65_535,
            max_compute_invocations_per_workgroup: 256,
            max_storage_buffers_per_shader_stage: Self::STORAGE_BUFFERS,
            read_write_sources: false,
            model: CostModel::of(AdapterKind::Gpu),
            measured_on: String::new(),
        }
    }

    /// Returns an unknown software driver with the limits of [`webgpu`](Self::webgpu).
    #[must_use]
    pub fn webgpu_cpu() -> Self {
        let (kind, model) = (AdapterKind::Cpu, CostModel::of(AdapterKind::Cpu));
        Self { name: "webgpu-cpu".into(), kind, model, ..Self::webgpu() }
    }

    /// Returns Mesa's lavapipe, on which the CPU numbers of [`CostModel::of`] were measured.
    #[must_use]
    pub fn lavapipe() -> Self {
        Self {
            name: "lavapipe".into(),
            max_compute_invocations_per_workgroup: 1024,
            measured_on:
                "Mesa 22.3.6 (LLVM 15.0.6, 256 bits), AMD EPYC of family 26, threads: 2, 2026-11-22"
                    .into(),
            ..Self::webgpu_cpu()
        }
    }

    /// Returns Google's SwiftShader, with a measured cost model.
    #[must_use]
    pub fn swiftshader() -> Self {
        Self {
            name: "swiftshader".into(),
            max_storage_buffer_binding_size: 1 << 30,
            model: CostModel {
                lanes: 4,
                access: 2129,
                word: 5461,
                line: 0,
                byte: 0,
                spill: 0,
                // The rates are those of the everyday cases on an Intel Xeon with 2 threads.
                operations_per_microsecond: 2000,
                dispatch_nanoseconds: 10_000,
            },
            measured_on: "SwiftShader of Chromium 156 (Subzero), AMD EPYC of family 26, threads: 2, 2026-11-22".into(),
            ..Self::webgpu_cpu()
        }
    }

    /// Returns the maximum number of sources of a kernel. It is one less than the number of buffers
    /// that a kernel binds, and at most 7, even on targets that bind more.
    pub(crate) fn max_sources(&self) -> usize {
        let most = self.max_storage_buffers_per_shader_stage.clamp(1, Self::STORAGE_BUFFERS) - 1;
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Checks that the limits allow at least the smallest kernel, one invocation that reads one
    /// buffer and writes another, and that the costs are in range.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        let limits = [
            ("max_compute_workgroups_per_dimension", 1, self.max_compute_workgroups_per_dimension),
            (
                "max_compute_invocations_per_workgroup",
                1,
                self.max_compute_invocations_per_workgroup,
            ),
            ("max_storage_buffers_per_shader_stage", 2, self.max_storage_buffers_per_shader_stage),
        ];
        match limits.into_iter().find(|&(_, least, given)| given < least) {
            Some((field, least, given)) => Err(ScheduleError::Target { field, least, given }),
            None => self.model.check(),
        }
    }

    /// Returns all presets.
    #[must_use]
    pub fn presets() -> Vec<Self> {
        vec![Self::webgpu(), Self::webgpu_cpu(), Self::lavapipe(), Self::swiftshader()]
    }

    /// Returns the preset with the given name.
    ///
    /// # Errors
    ///
    /// Returns an error if no preset has the name.
    pub fn preset(name: &str) -> Result<Self, ScheduleError> {
        let presets = Self::presets();
        let names: Vec<String> = presets.iter().map(|target| target.name.clone()).collect();
        presets.into_iter().find(|target| target.name == name).ok_or_else(|| {
            ScheduleError::Preset { given: name.to_owned(), accepted: names.join(", ") }
        })
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::webgpu()
    }
}
