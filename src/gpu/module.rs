//! The shader module of a kernel, without run-time checks if the kernel has a proof.

#![allow(unsafe_code)] // this file hands a proved kernel to wgpu

use crate::wgsl::Kernel;

/// Makes a shader module. It checks every access at run time unless the kernel's proof makes the
/// checks needless.
pub(super) fn create(device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some("stridec"),
        source: wgpu::ShaderSource::Wgsl(kernel.wgsl.as_str().into()),
    };
    if !is_proved(kernel) {
        return device.create_shader_module(descriptor);
    }
    let checks = wgpu::ShaderRuntimeChecks::unchecked();
    // SAFETY: the kernel is the one that stridec emitted, unchanged, and its proof places every
    // access inside bindings of the sizes that the kernel names, and bounds its loops. Bind groups
    // bind at least those sizes: the layout's `min_binding_size` is the kernel's, and every run
    // checks its buffers first.
    unsafe { device.create_shader_module_trusted(descriptor, checks) }
}

/// Returns the pipeline's options. Workgroup memory of a proved kernel is not zeroed, because it
/// has none.
pub(super) fn compilation_options(kernel: &Kernel) -> wgpu::PipelineCompilationOptions<'static> {
    wgpu::PipelineCompilationOptions {
        zero_initialize_workgroup_memory: !is_proved(kernel),
        ..Default::default()
    }
}

fn is_proved(kernel: &Kernel) -> bool {
    kernel.proof().is_some()
}
