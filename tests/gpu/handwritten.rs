//! Kernels written by hand, and their inputs.

use stridec::gpu::Gpu;
use stridec::{
    schedule::Strategy,
    wgsl::{Binding, Dispatch, Kernel, KernelParts},
};
use wgpu::BufferUsages;

/// Returns a kernel with this body, on two arrays of `words` words each.
pub(crate) fn kernel(words: u64, workgroups: &[[u32; 3]], body: &str) -> Kernel {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;
@compute @workgroup_size(64)
fn relayout(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{
    {body}
}}
"
    );
    let size_in_bytes = words * 4;
    let mut kernel = KernelParts::default();
    kernel.wgsl = wgsl;
    kernel.entry_point = "relayout".into();
    kernel.workgroup_size = [64, 1, 1];
    kernel.strategy = Strategy::Gather;
    kernel.bindings = vec![
        Binding { group: 0, binding: 0, writable: false, size_in_bytes },
        Binding { group: 0, binding: 1, writable: true, size_in_bytes },
    ];
    kernel.dispatches = workgroups.iter().map(|&workgroups| Dispatch { workgroups }).collect();
    (kernel.source_bytes, kernel.destination_bytes) = (size_in_bytes, size_in_bytes);
    Kernel::from_parts(kernel)
}

/// Returns the kernel with one change.
pub(crate) fn with(kernel: Kernel, change: impl FnOnce(&mut KernelParts)) -> Kernel {
    let mut parts = kernel.into_parts();
    change(&mut parts);
    Kernel::from_parts(parts)
}

/// Returns a kernel that copies `words` words, one in each invocation.
pub(crate) fn identity(words: u32) -> Kernel {
    let body = format!("if id.x < {words}u {{ destination[id.x] = source[id.x]; }}");
    kernel(words.into(), &[[words.div_ceil(64), 1, 1]], &body)
}

/// Returns bytes that differ from their neighbours.
pub(crate) fn pattern(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

pub(crate) fn bytes_of(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Creates a buffer as an embedder would.
pub(crate) fn buffer(gpu: &Gpu, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    let label = None;
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label,
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// Returns a range of a buffer. If `size` is 0, the range extends to the end of the buffer.
pub(crate) fn part(buffer: &wgpu::Buffer, offset: u64, size: u64) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) }
}
