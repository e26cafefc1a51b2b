//! `stridec doctor`: lists drivers and adapters, and what to install if there are none.

use std::{env, fmt::Write as _, fs};

use super::{
    errors::{Failure, printable},
    output::print,
};

/// The folders in which Vulkan's loader looks for drivers on Linux.
const MANIFESTS: [&str; 3] =
    ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// The environment variables that can hide or replace drivers.
const VARIABLES: [&str; 6] = [
    "VK_ICD_FILENAMES",
    "VK_DRIVER_FILES",
    "VK_LOADER_DRIVERS_DISABLE",
    "CUDA_VISIBLE_DEVICES",
    "WGPU_BACKEND",
    "LIBGL_ALWAYS_SOFTWARE",
];

pub(super) fn doctor() -> Result<(), Failure> {
    let mut text = format!("stridec {}\n", env!("CARGO_PKG_VERSION"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "host: {threads} threads; it runs every operation, without a driver");
    for manifest in manifests() {
        let _ = writeln!(text, "driver: {manifest}");
    }
    for name in VARIABLES {
        if let Some(value) = env::var_os(name) {
            let _ = writeln!(text, "variable: {name}={}", value.to_string_lossy());
        }
    }
    text += &adapters();
    print(&printable(&text))
}

/// Returns the paths of the driver manifests that Vulkan's loader finds.
fn manifests() -> Vec<String> {
    let entries = MANIFESTS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut manifests: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| path.display().to_string())
        .collect();
    manifests.sort();
    manifests
}

#[cfg(feature = "gpu")]
fn adapters() -> String {
    let adapters = stridec::gpu::Adapters::enumerate();
    let mut text = String::new();
    for adapter in &adapters {
        let computes = if adapter.computes() { "computes" } else { "does not compute" };
        let (name, kind, backend) = (adapter.name(), adapter.device_type(), adapter.backend());
        let _ =
            writeln!(text, "adapter: {name} ({kind}, {backend}, {}): {computes}", adapter.driver());
    }
    match (adapters.choose(), adapters.choose_hardware()) {
        (Ok(gpu), Ok(_)) => {
            let _ = writeln!(text, "--device auto and gpu take {}", gpu.name());
        }
        (Ok(gpu), Err(why)) => {
            let _ = writeln!(text, "--device gpu takes {}", gpu.name());
            let _ = writeln!(text, "--device auto takes the host: {why}");
        }
        (Err(why), _) => {
            let _ = writeln!(text, "--device gpu fails: {why}");
            let _ = writeln!(text, "--device auto takes the host");
            text += &advice();
        }
    }
    text
}

#[cfg(not(feature = "gpu"))]
fn adapters() -> String {
    "this stridec was built without the feature `gpu`: it runs on the host alone\n".to_owned()
}

/// Returns advice on the drivers to install on this system.
#[cfg(feature = "gpu")]
fn advice() -> String {
    let mut text = String::new();
    if cfg!(target_os = "linux") {
        if std::path::Path::new("/proc/driver/nvidia").exists() {
            text += "install: NVIDIA's kernel driver is there; its Vulkan driver comes with libnvidia-gl (a container \
                     needs NVIDIA_DRIVER_CAPABILITIES=graphics,compute)\n";
        }
        if std::path::Path::new("/dev/dri").exists() && fs::read_dir("/dev/dri").is_err() {
            text += "permission: /dev/dri cannot be read; join the group `render`\n";
        }
        text += "install: mesa-vulkan-drivers and libvulkan1 on Debian and Ubuntu, mesa-vulkan-drivers and vulkan-loader \
                 on Fedora, vulkan-swrast on Arch; they hold drivers for AMD and Intel, and lavapipe, which needs no GPU\n";
    } else if cfg!(target_os = "windows") {
        text += "install: the GPU vendor's driver, for Direct3D 12 or Vulkan\n";
    } else if cfg!(target_os = "macos") {
        text += "Metal comes with macOS; a virtual machine may have none\n";
    }
    text
}
