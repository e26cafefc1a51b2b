//! [`Target`]: the adapter that a kernel is compiled for, as data.

use super::{CostModel, ScheduleError};

/// The limits, the kind and the cost model of an adapter, for which a kernel is compiled.
///
/// A target is an input of compilation: the same operation and target give the same kernel on every
/// machine, and no device is opened. `stridec calibrate` measures one, and `Target::from_json`
/// reads it. You can also change the limits of a preset:
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
    /// The name in messages.
    pub name: String,
    /// The kind of adapter: a GPU, or a CPU that runs invocations in a loop.
    pub kind: AdapterKind,
    /// The maximum number of bytes of one storage binding.
    pub max_storage_buffer_binding_size: u64,
    /// The maximum number of workgroups in one dimension of a dispatch.
    pub max_compute_workgroups_per_dimension: u32,
    /// The maximum number of invocations in a workgroup.
    pub max_compute_invocations_per_workgroup: u32,
    /// The costs of accesses, by which the kernel is chosen.
    pub model: CostModel,
    /// The machine and the date of the model's measurement; empty if it was not measured.
    pub measured_on: String,
}

/// The kinds of adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdapterKind {
    /// A GPU: neighbouring invocations run together and share memory transactions.
    Gpu,
    /// A software driver: invocations are a loop, vectorised a few at a time.
    Cpu,
}

impl AdapterKind {
    /// The name in a target's JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        }
    }
}

impl Target {
    /// Returns the limits that the WebGPU standard guarantees, on a GPU.
    #[must_use]
    pub fn webgpu() -> Self {
        Self {
            name: "webgpu".into(),
            kind: AdapterKind::Gpu,
            max_storage_buffer_binding_size: 128 << 20,
            max_compute_workgroups_per_dimension: 65_535,
            max_compute_invocations_per_workgroup: 256,
            model: CostModel::of(AdapterKind::Gpu),
            measured_on: String::new(),
        }
    }

    /// Returns the same limits on an unknown software driver.
    #[must_use]
    pub fn webgpu_cpu() -> Self {
        let (kind, model) = (AdapterKind::Cpu, CostModel::of(AdapterKind::Cpu));
        Self { name: "webgpu-cpu".into(), kind, model, ..Self::webgpu() }
    }

    /// Returns the target of Mesa's lavapipe. The numbers of [`CostModel::of`] were measured on it.
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

    /// Returns the target of Google's SwiftShader, measured.
    #[must_use]
    pub fn swiftshader() -> Self {
        Self {
            name: "swiftshader".into(),
            max_storage_buffer_binding_size: 1 << 30,
            model: CostModel { lanes: 4, access: 2129, word: 5461, line: 0, byte: 0, spill: 0 },
            measured_on: "SwiftShader of Chromium 156 (Subzero), AMD EPYC of family 26, threads: 2, 2026-11-22".into(),
            ..Self::webgpu_cpu()
        }
    }

    /// Checks that the target can dispatch a workgroup of one invocation, and that costs can be
    /// computed.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        let limits = [
            ("max_compute_workgroups_per_dimension", self.max_compute_workgroups_per_dimension),
            ("max_compute_invocations_per_workgroup", self.max_compute_invocations_per_workgroup),
        ];
        match limits.into_iter().find(|&(_, given)| given == 0) {
            Some((field, given)) => Err(ScheduleError::Target { field, given }),
            None => self.model.check(),
        }
    }

    /// Returns every preset.
    #[must_use]
    pub fn presets() -> Vec<Self> {
        vec![Self::webgpu(), Self::webgpu_cpu(), Self::lavapipe(), Self::swiftshader()]
    }

    /// Returns the preset with this name.
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
