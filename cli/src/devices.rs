//! `stridec devices`: lists the adapters of this machine, and the host.

use serde_json::{Value, json};
use stridec::Target;

use super::{
    args::{DevicesArgs, DevicesFormat},
    errors::{Failure, printable},
    output::print,
};

pub(super) fn devices(args: &DevicesArgs) -> Result<(), Failure> {
    let adapters = adapters();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    match args.format {
        DevicesFormat::Json => {
            let devices = json!({ "adapters": adapters, "host": { "threads": threads } });
            print(&format!("{devices:#}\n"))
        }
        DevicesFormat::Text => {
            let mut text: String = adapters.iter().map(describe).collect();
            if adapters.is_empty() {
                text += "no adapter: no driver for Vulkan, Metal, DX12 or OpenGL was found\n";
            }
            text += &describe(&json!({ "name": "host", "threads": threads }));
            print(&text)
        }
    }
}

/// Formats an adapter as text: its name, and below it one line for each property.
fn describe(adapter: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => printable(text).replace('\n', " "),
        other => other.to_string(),
    };
    let properties = adapter.as_object().into_iter().flatten();
    let lines: Vec<String> = properties
        .filter(|(key, _)| *key != "name")
        .map(|(key, value)| format!("  {key:<38} {}\n", shown(value)))
        .collect();
    format!("{}\n{}", shown(&adapter["name"]), lines.concat())
}

/// Returns the properties of each adapter, as JSON objects.
#[cfg(feature = "gpu")]
fn adapters() -> Vec<Value> {
    let adapters = stridec::gpu::Adapters::enumerate();
    let value = |adapter: &stridec::gpu::Adapter| {
        let limits = adapter.limits();
        json!({
            "name": adapter.name(),
            "kind": adapter.device_type().to_string(),
            "backend": adapter.backend(),
            "driver": adapter.driver(),
            "computes": adapter.computes(),
            "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
            "max_buffer_size": limits.max_buffer_size,
            "max_compute_workgroups_per_dimension": limits.max_compute_workgroups_per_dimension,
            "max_compute_invocations_per_workgroup": limits.max_compute_invocations_per_workgroup,
            "max_storage_buffers_per_shader_stage": limits.max_storage_buffers_per_shader_stage,
        })
    };
    adapters.iter().map(value).collect()
}

#[cfg(not(feature = "gpu"))]
fn adapters() -> Vec<Value> {
    Vec::new()
}

/// Returns the target for the best adapter of the machine.
#[cfg(feature = "gpu")]
pub(super) fn adapter_target() -> Result<Target, Failure> {
    let adapters = stridec::gpu::Adapters::enumerate();
    let adapter = adapters.choose().map_err(stridec::Error::from)?;
    Ok(adapter.limits().target("adapter"))
}

/// Returns the target for the best adapter of the machine.
#[cfg(not(feature = "gpu"))]
pub(super) fn adapter_target() -> Result<Target, Failure> {
    Err(without_gpu())
}

/// Returns the failure for a request for a GPU, because this build does not support GPUs.
#[cfg(not(feature = "gpu"))]
pub(super) fn without_gpu() -> Failure {
    let why = "no GPU: this stridec was built without the feature `gpu`";
    Failure::new(super::errors::Exit::NoDevice, why)
}
