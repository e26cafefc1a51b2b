//! The shader module of a kernel: without run-time checks where its proof holds.

#![allow(unsafe_code)] // this file hands a proved kernel to wgpu

use crate::wgsl::Kernel;

/// Hands a kernel's text to wgpu, with run-time checks of every access unless the kernel's proof makes them needless.
pub(super) fn create(device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some("stridec"),
        source: wgpu::ShaderSource::Wgsl(kernel.wgsl.as_str().into()),
    };
    if !is_proved(kernel) {
        return device.create_shader_module(descriptor);
    }
    let checks = wgpu::ShaderRuntimeChecks::unchecked();
    // SAFETY: the kernel is the one that stridec emitted, unchanged, and its proof places every access inside bindings
    // of the sizes that the kernel names, and bounds its loops. Bind groups bind at least those sizes: the layout's
    // `min_binding_size` is the kernel's, and every run checks its buffers first.
    unsafe { device.create_shader_module_trusted(descriptor, checks) }
}

/// The pipeline's options: workgroup memory is zeroed unless the kernel is proved, since a proved kernel uses none.
pub(super) fn compilation_options(kernel: &Kernel) -> wgpu::PipelineCompilationOptions<'static> {
    wgpu::PipelineCompilationOptions {
        zero_initialize_workgroup_memory: !is_proved(kernel),
        ..Default::default()
    }
}

fn is_proved(kernel: &Kernel) -> bool {
    kernel.proof().is_some()
}
