//! Creates the shader module of a kernel. naga adds a check to every memory access, unless the
//! kernel has a proof that no access leaves its buffer.

#![allow(unsafe_code)] // this file passes a proved kernel to wgpu

use crate::wgsl::Kernel;

/// Creates the shader module of a kernel. The module checks every access at run time, unless the
/// kernel has a proof.
pub(super) fn create(device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some("stridec"),
        source: wgpu::ShaderSource::Wgsl(kernel.wgsl.as_str().into()),
    };
    if !is_proved(kernel) {
        return device.create_shader_module(descriptor);
    }
    let checks = wgpu::ShaderRuntimeChecks::unchecked();
    // SAFETY: The kernel is unchanged since stridec emitted it. Its proof shows that every access
    // stays inside bindings of the sizes that the kernel specifies, and that its loops are bounded.
    // Bind groups have at least these sizes: the layout's `min_binding_size` is the kernel's, and
    // every run checks its buffers first.
    unsafe { device.create_shader_module_trusted(descriptor, checks) }
}

/// Returns the compilation options for a kernel. They turn off the zeroing of workgroup memory for
/// a proved kernel, because such a kernel has no workgroup memory.
pub(super) fn compilation_options(kernel: &Kernel) -> wgpu::PipelineCompilationOptions<'static> {
    wgpu::PipelineCompilationOptions {
        zero_initialize_workgroup_memory: !is_proved(kernel),
        ..Default::default()
    }
}

fn is_proved(kernel: &Kernel) -> bool {
    kernel.proof().is_some()
}
