//! [`Pipeline`]: a kernel that is compiled for one device, and the binding of buffers to it.

use super::check::BindingSizes;
use super::scope::scoped;
use super::{GpuError, module};
use crate::wgsl::Kernel;

/// The size of the uniform buffer with the extents of a kernel, in bytes.
pub(super) const UNIFORM_BYTES: u64 = 16;

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
            // of storage buffers and a uniform buffer.
            GpuError::Validation { message, .. } => {
                GpuError::Shader { entry_point: kernel.entry_point.clone(), message }
            }
            other => other,
        })
    }

    /// Creates a bind group of ranges of buffers, in the order of the kernel's bindings. Each range
    /// is a buffer, an offset and a size in bytes.
    pub(super) fn bind<'a>(
        &self,
        device: &wgpu::Device,
        ranges: impl Iterator<Item = (&'a wgpu::Buffer, u64, u64)>,
    ) -> wgpu::BindGroup {
        let entry = |(binding, (buffer, offset, size))| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset,
                size: wgpu::BufferSize::new(size),
            }),
        };
        let entries: Vec<_> = (0..).zip(ranges).map(entry).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("stridec"),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

fn bind_group_layout(device: &wgpu::Device, sizes: &BindingSizes) -> wgpu::BindGroupLayout {
    let entry = |(binding, (ty, size))| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(size),
        },
        count: None,
    };
    let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
    let sources = sizes.sources.iter().map(|&size| (storage(!sizes.read_write_sources), size));
    let extents = sizes.has_extents.then_some((wgpu::BufferBindingType::Uniform, UNIFORM_BYTES));
    let buffers = sources.chain([(storage(false), sizes.destination)]).chain(extents);
    let entries: Vec<_> = (0..).zip(buffers).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("stridec"),
        entries: &entries,
    })
}
