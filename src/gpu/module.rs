use crate::wgsl::Kernel;

/// Hands a kernel's text to wgpu. Every access is checked at run time by what naga adds to the shader.
pub(super) fn create(device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("stridec"),
        source: wgpu::ShaderSource::Wgsl(kernel.wgsl.as_str().into()),
    })
}

/// How its pipeline is compiled: workgroup memory is zeroed, whatever the kernel does with it.
pub(super) fn compilation_options(_kernel: &Kernel) -> wgpu::PipelineCompilationOptions<'static> {
    wgpu::PipelineCompilationOptions {
        zero_initialize_workgroup_memory: true,
        ..Default::default()
    }
}
