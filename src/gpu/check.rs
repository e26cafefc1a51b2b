//! Checks kernels and buffers against each other and against the device's limits. wgpu panics at
//! some of these mistakes. These checks find them first, and return errors that name the buffer.

use std::ops::Range;

use smallvec::SmallVec;

use super::{AdapterLimits, GpuError};
use crate::{
    nest::{CopyNest, Operand},
    program::BufferId,
    wgsl::Kernel,
};

/// The sizes of a kernel's bindings, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BindingSizes {
    pub(super) sources: SmallVec<[u64; 1]>,
    pub(super) destination: u64,
    /// True if the kernel declares its sources as `read_write`, in the same way as its destination.
    pub(super) read_write_sources: bool,
    /// True if the kernel reads extents from a uniform buffer. The sizes of the source and of the
    /// destination are then those of one item.
    pub(super) has_extents: bool,
}

impl BindingSizes {
    /// Returns the size of the source's binding, in bytes. The kernel must have a single source.
    pub(super) fn source(&self) -> u64 {
        self.sources.first().copied().unwrap_or_default()
    }

    /// Returns each operand with the size of its binding in bytes, in the order of the kernel's
    /// bindings.
    pub(super) fn operands(&self) -> impl Iterator<Item = (Operand, u64)> + '_ {
        let sources = self.sources.iter().enumerate();
        let sources = sources.map(|(number, &size)| (Operand::Source(number), size));
        sources.chain([(Operand::Destination, self.destination)])
    }
}

/// Checks a kernel that has dispatches and reads no extents: its bindings, and its demands on the
/// device's limits. Returns the sizes of the bindings.
pub(super) fn kernel(kernel: &Kernel, limits: &AdapterLimits) -> Result<BindingSizes, GpuError> {
    let sizes = kernel_of_bounds(kernel, limits)?;
    if kernel.extents.is_some() {
        let reason = "a kernel with extents at run time, for run_with_extents or bind_with_extents";
        return Err(GpuError::Bindings { reason: reason.to_owned() });
    }
    Ok(sizes)
}

/// Checks a kernel that reads extents, in the same way. Returns the sizes of the bindings for one
/// item.
pub(super) fn kernel_with_extents(
    kernel: &Kernel,
    limits: &AdapterLimits,
) -> Result<BindingSizes, GpuError> {
    let mut sizes = kernel_of_bounds(kernel, limits)?;
    let Some(extents) = &kernel.extents else {
        let reason = "a kernel without extents at run time, which run and bind take";
        return Err(GpuError::Bindings { reason: reason.to_owned() });
    };
    let items = extents.loops.most_items();
    sizes.sources.iter_mut().take(1).for_each(|size| *size /= items);
    sizes.destination /= items;
    sizes.has_extents = true;
    Ok(sizes)
}

/// Checks a kernel by its bindings for the maximum extents.
fn kernel_of_bounds(kernel: &Kernel, limits: &AdapterLimits) -> Result<BindingSizes, GpuError> {
    let sizes = bindings(kernel)?;
    check_limit(
        "storage buffers of a kernel",
        kernel.bindings.len() as u64,
        limits.max_storage_buffers_per_shader_stage.into(),
    )?;
    let sources = sizes
        .sources
        .iter()
        .map(|&bytes| (bytes, "the source's binding in bytes", "the source's buffer in bytes"));
    let destination = (
        sizes.destination,
        "the destination's binding in bytes",
        "the destination's buffer in bytes",
    );
    for (bytes, binding, buffer) in sources.chain([destination]) {
        check_limit(binding, bytes, limits.max_storage_buffer_binding_size)?;
        check_limit(buffer, bytes, limits.max_buffer_size)?;
    }
    let axes = ["x", "y", "z"].into_iter().zip(kernel.workgroup_size);
    for ((axis, size), limit) in axes.zip(limits.max_compute_workgroup_size) {
        let what = match axis {
            "x" => "workgroup size x",
            "y" => "workgroup size y",
            _ => "workgroup size z",
        };
        check_limit(what, size.into(), limit.into())?;
    }
    let invocations = kernel.workgroup_size.iter().map(|&size| u128::from(size)).product::<u128>();
    check_limit(
        "invocations of a workgroup",
        u64::try_from(invocations).unwrap_or(u64::MAX),
        limits.max_compute_invocations_per_workgroup.into(),
    )?;
    for count in kernel.dispatches.iter().flat_map(|dispatch| dispatch.workgroups) {
        check_limit(
            "workgroups in a dimension",
            count.into(),
            limits.max_compute_workgroups_per_dimension.into(),
        )?;
    }
    Ok(sizes)
}

fn bindings(kernel: &Kernel) -> Result<BindingSizes, GpuError> {
    let refuse = |reason: String| Err(GpuError::Bindings { reason });
    let mut bindings = kernel.bindings.clone();
    bindings.sort_by_key(|binding| binding.binding);
    let [sources @ .., destination] = &bindings[..] else {
        return refuse("no bindings".to_owned());
    };
    // Either all sources are read-only, or all are `read_write`.
    let read_write_sources = sources.first().is_some_and(|source| source.writable);
    for (number, binding) in (0..).zip(&bindings) {
        let writable = read_write_sources || usize::try_from(number) == Ok(sources.len());
        if (binding.group, binding.binding, binding.writable) != (0, number, writable) {
            return refuse(format!(
                "group {} binding {} writable {}",
                binding.group, binding.binding, binding.writable
            ));
        }
        let size = binding.size_in_bytes;
        if size == 0 || !size.is_multiple_of(4) {
            return refuse(format!(
                "binding {number} of {size} bytes, which is no positive multiple of 4"
            ));
        }
    }
    if destination.size_in_bytes < kernel.destination_bytes {
        return refuse(format!(
            "binding {} of {} bytes for an image of {}",
            destination.binding, destination.size_in_bytes, kernel.destination_bytes
        ));
    }
    let sizes = sources.iter().map(|source| source.size_in_bytes).collect();
    let destination = destination.size_in_bytes;
    Ok(BindingSizes { sources: sizes, destination, read_write_sources, has_extents: false })
}

/// Returns an error if a kernel does not have exactly one source. Methods that take a single source
/// buffer call this.
pub(super) fn one_source(kernel: &Kernel) -> Result<(), GpuError> {
    match kernel.bindings.len() {
        2 => Ok(()),
        bindings => Err(GpuError::Bindings { reason: format!("{bindings} bindings") }),
    }
}

/// Returns an error if the number of slices differs from the number of a kernel's sources, or if
/// the slices do not have the sizes of these sources.
pub(super) fn sources(
    kernel: &Kernel,
    sizes: &BindingSizes,
    sources: &[&[u8]],
) -> Result<(), GpuError> {
    let (given, expected) = (sources.len(), sizes.sources.len());
    if given != expected {
        let reason = format!("{expected} sources, but {given} slices were given");
        return Err(GpuError::Bindings { reason });
    }
    let mut left = kernel.source_bytes;
    for (number, (source, &size)) in sources.iter().zip(&sizes.sources).enumerate() {
        let is_last = number + 1 == given;
        let bytes = source.len() as u64;
        // A binding may be larger than its source, because its size is rounded up. Only the sum of
        // all sources is known exactly.
        if bytes > size.min(left) || is_last && bytes != left {
            let expected = if is_last { left } else { size };
            return Err(GpuError::ImageSize {
                operand: Operand::Source(number),
                given: bytes,
                expected,
            });
        }
        left -= bytes;
    }
    Ok(())
}

fn check_limit(what: &'static str, given: u64, limit: u64) -> Result<(), GpuError> {
    if given > limit {
        return Err(GpuError::BeyondLimit { what, given, limit });
    }
    Ok(())
}

/// Checks a range of a buffer that is bound to a kernel. The kernel needs `needed` bytes of the
/// range. Returns the size of the range.
pub(super) fn range(
    operand: Operand,
    binding: &wgpu::BufferBinding<'_>,
    needed: u64,
    limits: &AdapterLimits,
) -> Result<u64, GpuError> {
    let usage = binding.buffer.usage();
    if !usage.contains(wgpu::BufferUsages::STORAGE) {
        return Err(GpuError::Usage { operand, given: usage, needed: wgpu::BufferUsages::STORAGE });
    }
    let alignment = limits.min_storage_buffer_offset_alignment;
    if !binding.offset.is_multiple_of(u64::from(alignment.max(1))) {
        return Err(GpuError::OffsetAlignment { operand, offset: binding.offset, alignment });
    }
    let left = binding.buffer.size().saturating_sub(binding.offset);
    // A range may extend past the end of the buffer; only the bytes inside the buffer count.
    let given = binding.size.map_or(left, |size| size.get().min(left));
    if given < needed {
        return Err(GpuError::BufferTooSmall { operand, given, needed });
    }
    Ok(given)
}

/// Checks that a kernel can read a range of one buffer and write a range of another. Both ranges
/// may be in the same buffer only if they do not overlap and the kernel declares its sources
/// `read_write`. Each range has the number of bytes that is given with it.
pub(super) fn apart(
    (source, source_bytes): (&wgpu::BufferBinding<'_>, u64),
    (destination, destination_bytes): (&wgpu::BufferBinding<'_>, u64),
    read_write_sources: bool,
) -> Result<(), GpuError> {
    if source.buffer != destination.buffer {
        return Ok(());
    }
    let (source_offset, destination_offset) = (source.offset, destination.offset);
    if !read_write_sources {
        return Err(GpuError::SameBuffer { source_offset, destination_offset });
    }
    match overlap((destination, destination_bytes), (source, source_bytes)) {
        Some([written, other]) => Err(GpuError::Overlap { written, other }),
        None => Ok(()),
    }
}

/// Returns the bytes of two ranges if they overlap, and `None` if they do not. Each range has the
/// number of bytes that is given with it.
pub(super) fn overlap(
    (one, one_bytes): (&wgpu::BufferBinding<'_>, u64),
    (other, other_bytes): (&wgpu::BufferBinding<'_>, u64),
) -> Option<[Range<u64>; 2]> {
    let [one_end, other_end] =
        [(one, one_bytes), (other, other_bytes)].map(|(of, bytes)| of.offset.saturating_add(bytes));
    (one.buffer == other.buffer && one.offset < other_end && other.offset < one_end)
        .then_some([one.offset..one_end, other.offset..other_end])
}

/// Checks the buffer of a result that takes over the buffer of a parameter. `is_same` returns true
/// for a parameter if the result was given the buffer of that parameter.
pub(super) fn in_place(
    result: usize,
    home: BufferId,
    is_same: impl Fn(usize) -> bool,
) -> Result<(), GpuError> {
    match home {
        BufferId::Parameter(parameter) if !is_same(parameter) => {
            Err(GpuError::NotInPlace { result, parameter })
        }
        _ => Ok(()),
    }
}

/// Checks that slices of host memory have exactly the sizes of the sources and of the destination
/// of a nest.
pub(super) fn images(
    nest: &CopyNest,
    sources: &[&[u8]],
    destination: &[u8],
) -> Result<(), GpuError> {
    for (number, source) in nest.sources().iter().enumerate() {
        let given = sources.get(number).map_or(0, |bytes| bytes.len());
        image(Operand::Source(number), given, source.bytes())?;
    }
    image(Operand::Destination, destination.len(), nest.dst_bytes())
}

/// Checks that the size of a slice of host memory, `given`, is exactly the size of its tensor in
/// memory.
pub(super) fn image(operand: Operand, given: usize, expected: u64) -> Result<(), GpuError> {
    let given = given as u64;
    if given != expected {
        return Err(GpuError::ImageSize { operand, given, expected });
    }
    Ok(())
}
