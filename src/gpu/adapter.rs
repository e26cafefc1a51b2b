//! The adapters of this machine, ordered by preference: hardware before software drivers, and
//! native drivers before OpenGL.

use std::fmt;

use super::{AdapterLimits, GpuError};

/// The kind of an adapter's device, as its driver reports it: wgpu's `DeviceType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DeviceType {
    /// A GPU with separate memory.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU that is accessed through a virtual machine.
    Virtual,
    /// A device whose kind the driver does not report.
    Unknown,
    /// A software driver on the CPU.
    Cpu,
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Unknown => "unknown",
            Self::Cpu => "cpu",
        })
    }
}

impl From<wgpu::DeviceType> for DeviceType {
    fn from(kind: wgpu::DeviceType) -> Self {
        match kind {
            wgpu::DeviceType::DiscreteGpu => Self::Discrete,
            wgpu::DeviceType::IntegratedGpu => Self::Integrated,
            wgpu::DeviceType::VirtualGpu => Self::Virtual,
            wgpu::DeviceType::Other => Self::Unknown,
            wgpu::DeviceType::Cpu => Self::Cpu,
        }
    }
}

/// A device as one driver presents it. A GPU that has drivers for several backends appears once for
/// each backend.
#[derive(Clone, Debug)]
pub struct Adapter {
    handle: wgpu::Adapter,
    info: wgpu::AdapterInfo,
    limits: AdapterLimits,
    computes: bool,
}

impl Adapter {
    fn new(handle: wgpu::Adapter) -> Self {
        let info = handle.get_info();
        let limits = handle.limits();
        let flags = handle.get_downlevel_capabilities().flags;
        let computes = flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
            && limits.max_storage_buffers_per_shader_stage >= 2
            && limits.max_compute_invocations_per_workgroup > 0;
        let limits = AdapterLimits::new(&limits, info.device_type);
        Self { handle, info, limits, computes }
    }

    /// Returns the name of the adapter as the driver reports it, such as `llvmpipe (LLVM 15.0.6,
    /// 256 bits)`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the backend that drives the adapter: `vulkan`, `metal`, `dx12` or `gl`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.info.backend.to_str()
    }

    /// Returns the kind of the adapter's device.
    #[must_use]
    pub fn device_type(&self) -> DeviceType {
        self.info.device_type.into()
    }

    /// Returns the name and the version of the driver, separated by a space. A part that the driver
    /// does not report is left out.
    #[must_use]
    pub fn driver(&self) -> String {
        let driver = format!("{} {}", self.info.driver, self.info.driver_info);
        driver.trim().to_owned()
    }

    /// Returns the adapter's limits.
    #[must_use]
    pub fn limits(&self) -> AdapterLimits {
        self.limits
    }

    /// Returns true if the adapter can run kernels. Kernels require compute shaders with at least
    /// two storage buffers.
    #[must_use]
    pub fn computes(&self) -> bool {
        self.computes
    }

    /// Returns wgpu's adapter.
    pub(super) fn handle(&self) -> &wgpu::Adapter {
        &self.handle
    }
}

/// The adapters of this machine, in order of preference.
///
/// Hardware comes before software. A discrete GPU comes before an integrated one, unless the
/// environment variable `WGPU_POWER_PREF` is `low`. If a device has two drivers, the native driver
/// (Vulkan, Metal, DX12) comes before OpenGL. wgpu's own choice may be OpenGL if there is no Vulkan
/// loader.
#[derive(Clone, Debug, Default)]
pub struct Adapters {
    list: Vec<Adapter>,
    wanted: Option<String>,
}

impl Adapters {
    /// Lists the adapters of the machine; the list is empty if there is no driver. If the
    /// environment variable `WGPU_BACKEND` is set, only its backends are used. The variable
    /// `WGPU_ADAPTER_NAME` does not shorten the list, because only [`choose`](Self::choose) applies
    /// it.
    #[must_use]
    pub fn enumerate() -> Self {
        let mut adapters = Self::on(wgpu::Backends::all().with_env());
        adapters.wanted = std::env::var("WGPU_ADAPTER_NAME").ok().filter(|name| !name.is_empty());
        adapters
    }

    /// Lists the adapters of the given backends, whatever the value of `WGPU_BACKEND`.
    fn on(backends: wgpu::Backends) -> Self {
        let available = wgpu::Instance::enabled_backend_features() & backends;
        if available.is_empty() {
            return Self::default();
        }
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.flags = wgpu::InstanceFlags::empty();
        let mut descriptor = descriptor.with_env();
        descriptor.backends = available;
        let instance = wgpu::Instance::new(descriptor);
        let found = pollster::block_on(instance.enumerate_adapters(available));
        let mut list: Vec<Adapter> = found.into_iter().map(Adapter::new).collect();
        let low_power = wgpu::PowerPreference::from_env() == Some(wgpu::PowerPreference::LowPower);
        list.sort_by_key(|adapter| rank(adapter.device_type(), adapter.info.backend, low_power));
        Self { list, wanted: None }
    }

    /// Returns the adapters in order of preference.
    pub fn iter(&self) -> std::slice::Iter<'_, Adapter> {
        self.list.iter()
    }

    /// Returns true if the list has no adapter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the first adapter that can run kernels. If `WGPU_ADAPTER_NAME` is set, the name of
    /// the adapter must also contain its value; case is ignored.
    ///
    /// # Errors
    /// Returns [`GpuError::NoDevice`] if no adapter meets these conditions.
    pub fn choose(&self) -> Result<&Adapter, GpuError> {
        let wanted = self.wanted.as_deref().map(str::to_lowercase);
        let named = |adapter: &&Adapter| {
            wanted.as_deref().is_none_or(|wanted| adapter.name().to_lowercase().contains(wanted))
        };
        self.list
            .iter()
            .filter(named)
            .find(|adapter| adapter.computes())
            .ok_or_else(|| GpuError::NoDevice { reason: self.no_device_reason() })
    }

    /// Returns the same adapter as [`choose`](Self::choose), but returns an error if it is a
    /// software driver. Such a driver shares the host's cores, and is slower than
    /// [`host::run`](crate::host::run).
    ///
    /// # Errors
    /// Returns [`GpuError::NoDevice`] if no adapter can run kernels, if the preferred one is a
    /// software driver, or if this is a Linux machine whose `/dev` shows no GPU.
    pub fn choose_hardware(&self) -> Result<&Adapter, GpuError> {
        check_device_files()?;
        let adapter = self.choose()?;
        if adapter.device_type() == DeviceType::Cpu {
            let reason = format!("{} is a software driver", adapter.name());
            return Err(GpuError::NoDevice { reason });
        }
        Ok(adapter)
    }

    /// Returns the preferred hardware adapter of the machine. If the system shows no GPU, returns
    /// an error without loading any driver, because loading takes time and some drivers write to
    /// stderr.
    ///
    /// # Errors
    /// Returns the errors of [`choose_hardware`](Self::choose_hardware).
    pub(super) fn hardware() -> Result<Adapter, GpuError> {
        check_device_files()?;
        Self::enumerate().choose_hardware().cloned()
    }

    fn no_device_reason(&self) -> String {
        if self.list.is_empty() {
            return "no driver was found for Vulkan, Metal, DX12 or OpenGL among the backends asked for".to_owned();
        }
        let names: Vec<&str> = self.list.iter().map(Adapter::name).collect();
        match &self.wanted {
            Some(wanted) => format!(
                "WGPU_ADAPTER_NAME is {wanted:?}, and those that compute are among {names:?}"
            ),
            None => format!("none of {names:?} runs compute shaders"),
        }
    }
}

impl<'a> IntoIterator for &'a Adapters {
    type Item = &'a Adapter;
    type IntoIter = std::slice::Iter<'a, Adapter>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Returns an error if this is a Linux machine without a GPU's device file in `/dev`.
fn check_device_files() -> Result<(), GpuError> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let is_gpu = |name: &str| GPU_DEVICE_FILES.iter().any(|file| name.starts_with(file));
    let mut names = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    if names.any(|entry| entry.file_name().to_str().is_some_and(is_gpu)) {
        return Ok(());
    }
    Err(GpuError::NoDevice { reason: "/dev has no device file of a GPU".to_owned() })
}

/// The prefixes of the names of GPU device files in `/dev`: the kernel's drivers (`dri`), NVIDIA,
/// WSL, and the vendors' drivers for Adreno, Mali, `PowerVR`, Tegra and Vivante.
const GPU_DEVICE_FILES: [&str; 8] =
    ["dri", "nvidia", "dxg", "kgsl-3d", "mali", "pvr", "nvhost", "galcore"];

/// Returns the sort key of an adapter. The kind of device comes first in the key, so native drivers
/// come before OpenGL only among devices of the same kind. An OpenGL driver that does not report
/// the kind of its device is usually a software driver, so it is ranked as a software driver.
fn rank(kind: DeviceType, backend: wgpu::Backend, low_power: bool) -> (DeviceType, bool) {
    let gl = backend == wgpu::Backend::Gl;
    let kind = match kind {
        DeviceType::Discrete if low_power => DeviceType::Integrated,
        DeviceType::Integrated if low_power => DeviceType::Discrete,
        DeviceType::Unknown if gl => DeviceType::Cpu,
        kind => kind,
    };
    (kind, gl)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::Backend::{Gl, Vulkan};

    #[test]
    fn hardware_comes_before_software_and_native_drivers_before_opengl() {
        use DeviceType::{Cpu, Discrete, Integrated, Unknown};
        let mut order = vec![
            (Unknown, Gl),
            (Cpu, Vulkan),
            (Discrete, Gl),
            (Integrated, Vulkan),
            (Discrete, Vulkan),
        ];
        order.sort_by_key(|&(kind, backend)| rank(kind, backend, false));
        let best = [
            (Discrete, Vulkan),
            (Discrete, Gl),
            (Integrated, Vulkan),
            (Cpu, Vulkan),
            (Unknown, Gl),
        ];
        assert_eq!(order, best);
        order.sort_by_key(|&(kind, backend)| rank(kind, backend, true));
        assert_eq!(order[0], (Integrated, Vulkan));
    }

    #[test]
    fn no_backend_is_an_empty_list_and_a_typed_error() {
        let none = Adapters::on(wgpu::Backends::empty());
        assert!(none.is_empty());
        assert!(none.choose().is_err_and(|error| error.is_no_device()));
    }
}
