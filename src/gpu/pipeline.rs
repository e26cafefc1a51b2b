//! [`Pipeline`]: a kernel that is compiled for one device, and the binding of buffers to it.

use super::check::BindingSizes;
use super::scope::scoped;
use super::{GpuError, module};
use crate::wgsl::Kernel;

/// A kernel that is compiled for one device, with the layout of its bindings.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

impl Pipeline {
    /// Compiles a kernel. Returns [`GpuError::Shader`] if its text is invalid.
    pub(super) fn new(
        device: &wgpu::Device,
        kernel: &Kernel,
        sizes: &BindingSizes,
        driver_cache: Option<&wgpu::PipelineCache>,
    ) -> Result<Self, GpuError> {
        scoped(device, "compiling the kernel", || {
            let layout = bind_group_layout(device, sizes);
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("stridec"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("stridec"),
                layout: Some(&pipeline_layout),
                module: &module::create(device, kernel),
                entry_point: Some(&kernel.entry_point),
                compilation_options: module::compilation_options(kernel),
                cache: driver_cache,
            });
            Self { pipeline, layout }
        })
        .map_err(|error| match error {
            // An invalid text of the kernel is the only possible cause, because the layout consists
            // of storage buffers alone.
            GpuError::Validation { message, .. } => {
                GpuError::Shader { entry_point: kernel.entry_point.clone(), message }
            }
            other => other,
        })
    }

    /// Creates a bind group. Each buffer is bound from the offset that is given with it, with the
    /// size in `sizes`.
    pub(super) fn bind(
        &self,
        device: &wgpu::Device,
        sizes: &BindingSizes,
        sources: &[(&wgpu::Buffer, u64)],
        destination: (&wgpu::Buffer, u64),
    ) -> wgpu::BindGroup {
        let entry =
            |(binding, ((buffer, offset), size)): (u32, ((_, u64), u64))| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset,
                    size: wgpu::BufferSize::new(size),
                }),
            };
        let buffers = sources.iter().copied().zip(sizes.sources.iter().copied());
        let buffers = buffers.chain([(destination, sizes.destination)]);
        let entries: Vec<_> = (0..).zip(buffers).map(entry).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("stridec"),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

fn bind_group_layout(device: &wgpu::Device, sizes: &BindingSizes) -> wgpu::BindGroupLayout {
    let entry = |binding: u32, read_only: bool, size: u64| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(size),
        },
        count: None,
    };
    let sources = sizes.sources.iter().map(|&size| (!sizes.read_write_sources, size));
    let buffers = sources.chain([(false, sizes.destination)]);
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, (read_only, size))| entry(binding, read_only, size))
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("stridec"),
        entries: &entries,
    })
}
