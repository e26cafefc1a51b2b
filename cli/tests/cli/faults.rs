//! Machines without a device: an error with exit code 4. `--device auto` runs on the host.

use crate::sandbox::{Sandbox, f32s};

const RELAYOUT: [&str; 11] = [
    "run",
    "relayout",
    "--from",
    "f32[2,3]",
    "--to",
    "f32[2,3]{0,1}",
    "-i",
    "in.bin",
    "-o",
    "-",
    "--device",
];

/// Runs on a device with these variables, by both flags.
fn without_device(sandbox: &Sandbox, variables: &[(&str, &str)]) {
    sandbox.write("in.bin", f32s(1..=6));
    let run = |device| {
        let mut command = sandbox.command(&[&RELAYOUT[..], &[device]].concat());
        // Without this folder, drivers write lines of their own.
        command.env("XDG_RUNTIME_DIR", sandbox.path(""));
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let (code, stdout, stderr) = run("gpu");
    assert_eq!(code, Some(4), "{variables:?}: {stderr}");
    assert!(stdout.is_empty() && stderr.contains("error: no GPU adapter"), "{stderr}");
    assert!(stderr.lines().count() <= 3, "{stderr}");
    let (code, stdout, stderr) = run("auto");
    assert_eq!((code, stdout), (Some(0), f32s([1, 4, 2, 5, 3, 6])), "{variables:?}: {stderr}");
}

#[test]
fn no_adapter() {
    let sandbox = Sandbox::new();
    without_device(&sandbox, &[("WGPU_ADAPTER_NAME", "abacus")]);
    without_device(&sandbox, &[("WGPU_BACKEND", "vulkan"), ("VK_DRIVER_FILES", "/nowhere.json")]);
}

/// A file that is no library, in the folder that the loader searches first.
#[test]
#[cfg(target_os = "linux")]
fn no_loader() {
    let sandbox = Sandbox::new();
    for library in ["libvulkan.so.1", "libvulkan.so", "libEGL.so.1", "libEGL.so"] {
        sandbox.write(library, "no library");
    }
    let folder = sandbox.path("");
    without_device(&sandbox, &[("LD_LIBRARY_PATH", folder.to_str().unwrap())]);
}
