use super::check::{self, BindingSizes};
use super::scope::scoped;
use super::{Gpu, GpuError, Side};
use crate::wgsl::Kernel;

impl Gpu {
    /// Encodes a kernel into the caller's encoder, from one range of the caller's buffers to another.
    ///
    /// Nothing is copied, submitted or waited for. The ranges start at their offsets, which the device's
    /// `min_storage_buffer_offset_alignment` must divide (256 bytes at most), and hold at least the bytes that
    /// [`Kernel::bindings`] ask for; what lies past those is neither read nor written. Both buffers need
    /// [`wgpu::BufferUsages::STORAGE`] and must be two: wgpu tracks a buffer as a whole, so that no part of one can be
    /// read while another part is written. Encoder and buffers must be this device's own: wgpu may panic where they
    /// come from another `wgpu::Instance`. A kernel without dispatches encodes nothing.
    ///
    /// # Errors
    /// A kernel or a range that does not fit the other or the device, a shader that does not compile, or what wgpu
    /// reports while binding. What wgpu finds wrong with the encoder itself it says when the caller finishes it.
    pub fn encode(
        &self,
        kernel: &Kernel,
        encoder: &mut wgpu::CommandEncoder,
        source: &wgpu::BufferBinding<'_>,
        destination: &wgpu::BufferBinding<'_>,
    ) -> Result<(), GpuError> {
        if kernel.dispatches.is_empty() {
            return Ok(());
        }
        let sizes = check::kernel(kernel, &self.limits)?;
        check::range(Side::Source, source, sizes.source, &self.limits)?;
        check::range(Side::Destination, destination, sizes.destination, &self.limits)?;
        if source.buffer == destination.buffer {
            return Err(GpuError::SameBuffer {
                source_offset: source.offset,
                destination_offset: destination.offset,
            });
        }
        let source = (source.buffer, source.offset);
        let destination = (destination.buffer, destination.offset);
        self.encode_checked(kernel, encoder, sizes, source, destination, 1)
    }

    /// Encodes a kernel `times` over, on ranges that have been checked.
    pub(super) fn encode_checked(
        &self,
        kernel: &Kernel,
        encoder: &mut wgpu::CommandEncoder,
        sizes: BindingSizes,
        source: (&wgpu::Buffer, u64),
        destination: (&wgpu::Buffer, u64),
        times: u32,
    ) -> Result<(), GpuError> {
        let pipeline = self.cache.pipeline(&self.device, kernel, sizes)?;
        scoped(&self.device, "encoding the kernel", || {
            let group = pipeline.bind(&self.device, sizes, source, destination);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("stridec"),
                timestamp_writes: None,
            });
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            for _ in 0..times {
                for dispatch in &kernel.dispatches {
                    let [x, y, z] = dispatch.workgroups;
                    pass.dispatch_workgroups(x, y, z);
                }
            }
        })
    }
}
