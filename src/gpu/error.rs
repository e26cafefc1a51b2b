//! [`GpuError`]: the reasons why a kernel could not run on a device.

use std::{ops::Range, time::Duration};

use crate::{
    error_kind::ErrorKind,
    nest::Operand,
    program::{BufferId, ProgramError},
    schedule::{ExtentError, ScheduleError},
};

/// The reason why a kernel could not run on a device.
///
/// The caller can run the operation on the host instead if [`is_no_device`](Self::is_no_device) or
/// [`is_beyond_limits`](Self::is_beyond_limits) returns true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The machine has no adapter, or no suitable one.
    #[error("no GPU adapter: {reason}")]
    NoDevice {
        /// The requested adapters and the existing adapters, in words.
        reason: String,
    },
    /// The adapter exists, but cannot be opened.
    #[error("adapter {adapter:?} would not open: {message}")]
    DeviceRefused {
        /// The adapter's name.
        adapter: String,
        /// The driver's message.
        message: String,
    },
    /// The kernel's bindings are not sources followed by one destination, or a method for kernels
    /// with one source was called with a kernel that has several.
    #[error(
        "kernel bindings: expected the source, read-only, at binding 0 of group 0 and the destination, writable, at binding 1, got {reason}"
    )]
    Bindings {
        /// The bindings that were found.
        reason: String,
    },
    /// Extents that the kernel does not take.
    #[error(transparent)]
    Extent(ExtentError),
    /// A slice of host memory does not have the size of its tensor in memory.
    #[error("{operand}: expected {expected} bytes, the kernel's whole image, got {given}")]
    ImageSize {
        /// The role of the slice.
        operand: Operand,
        /// The size of the slice, in bytes.
        given: u64,
        /// The size of the tensor in memory, in bytes.
        expected: u64,
    },
    /// The number of buffers differs from the number that the kernel or the program binds.
    #[error("expected {expected} buffers, {roles}, got {given}")]
    RangeCount {
        /// The number of buffers that were passed.
        given: usize,
        /// The number of buffers that the kernel or the program binds.
        expected: usize,
        /// The meaning of the buffers, in order, with the number of each.
        roles: String,
    },
    /// The number of buffers differs from the number of parameters and results of the program.
    #[error(
        "expected {} buffers for parameters and {} for results, got {} and {}",
        expected[0], expected[1], given[0], given[1]
    )]
    BufferCount {
        /// The numbers of buffers that were passed for parameters and for results.
        given: [usize; 2],
        /// The numbers of parameters and of results of the program.
        expected: [usize; 2],
    },
    /// A device buffer, or a range in it, is smaller than the kernel needs.
    #[error("{operand} buffer: expected at least {needed} bytes from its offset, got {given}")]
    BufferTooSmall {
        /// The role of the buffer.
        operand: Operand,
        /// The number of bytes from the given offset to the end of the buffer or range.
        given: u64,
        /// The number of bytes that the kernel needs.
        needed: u64,
    },
    /// The [`Buffer`](super::Buffer) was not allocated by this [`Gpu`](super::Gpu) or a clone of
    /// it.
    #[error(
        "{operand} buffer: expected a buffer of this `Gpu` or of a clone of it, got one of another"
    )]
    ForeignBuffer {
        /// The role of the buffer.
        operand: Operand,
    },
    /// The device cannot bind a buffer at this offset.
    #[error(
        "{operand} offset: expected a multiple of {alignment}, the device's alignment of storage offsets, got {offset}"
    )]
    OffsetAlignment {
        /// The role of the buffer.
        operand: Operand,
        /// The offset, in bytes.
        offset: u64,
        /// The device's `min_storage_buffer_offset_alignment`.
        alignment: u32,
    },
    /// A buffer lacks a required usage.
    #[error("{operand} buffer: expected a buffer with usage {needed:?}, got {given:?}")]
    Usage {
        /// The role of the buffer.
        operand: Operand,
        /// The usages that the buffer has.
        given: wgpu::BufferUsages,
        /// The usage that the buffer lacks.
        needed: wgpu::BufferUsages,
    },
    /// A source and the destination are in the same buffer, and the kernel declares its sources
    /// read-only. WebGPU does not allow a buffer to have `read_write` and read-only bindings at
    /// once.
    #[error(
        "expected two buffers, got one that holds the source at {source_offset} and the destination at {destination_offset}; compile for a target with `read_write_sources`, or copy one of them to a buffer of its own"
    )]
    SameBuffer {
        /// The offset of the source, in bytes.
        source_offset: u64,
        /// The offset of the destination, in bytes.
        destination_offset: u64,
    },
    /// Two ranges of one buffer overlap, and one of them is written.
    #[error(
        "expected ranges without a byte in common, because one of them is written, got bytes {} to {} and {} to {} of one buffer",
        written.start, written.end, other.start, other.end
    )]
    Overlap {
        /// The range that is written, in bytes.
        written: Range<u64>,
        /// The other range, in bytes.
        other: Range<u64>,
    },
    /// Two ranges that were given for a program overlap, and the program writes one of them.
    #[error(
        "{buffer}: expected a range without a byte in common with {other}, because one of them is written, got bytes {} to {}, and {} to {} of the same buffer for {other}",
        range.start, range.end, other_range.start, other_range.end
    )]
    ProgramOverlap {
        /// The later of the two buffers of the program.
        buffer: BufferId,
        /// The bytes that the program needs of its range.
        range: Range<u64>,
        /// The earlier of the two buffers of the program.
        other: BufferId,
        /// The bytes that the program needs of the other range.
        other_range: Range<u64>,
    },
    /// A result takes over the buffer of a parameter, but the caller passed another buffer for it.
    #[error(
        "result {result}: expected the buffer and the offset of parameter {parameter}, which it takes over; `compile_module` gives every result a buffer of its own"
    )]
    NotInPlace {
        /// The number of the result.
        result: usize,
        /// The number of the parameter.
        parameter: usize,
    },
    /// A buffer that was given for a program cannot be used.
    #[error("{buffer}: {error}")]
    ProgramBuffer {
        /// The parameter, result or scratch buffer of the program.
        buffer: BufferId,
        /// The reason why the buffer cannot be used.
        error: Box<GpuError>,
    },
    /// A quantity exceeds a limit of the device.
    #[error("{what}: expected at most {limit}, the limit of this device, got {given}")]
    BeyondLimit {
        /// The quantity that is limited.
        what: &'static str,
        /// The quantity that was requested.
        given: u64,
        /// The limit of the device.
        limit: u64,
    },
    /// The device cannot run the copy, even if it is split into the smallest possible parts.
    #[error(transparent)]
    Schedule(ScheduleError),
    /// The buffers of the program cannot be packed for the kernels of the device, or a step of the
    /// program cannot run in parts.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The shader or its entry point cannot be compiled.
    #[error("entry point {entry_point:?} does not compile: {message}")]
    Shader {
        /// The name of the entry point.
        entry_point: String,
        /// The compiler's message, shortened to a few lines.
        message: String,
    },
    /// wgpu refused a call.
    #[error("{operation} was refused: {message}")]
    Validation {
        /// The step that failed.
        operation: &'static str,
        /// wgpu's message, shortened to a few lines.
        message: String,
    },
    /// The device is out of memory.
    #[error("{operation}: out of device memory")]
    OutOfMemory {
        /// The step that failed.
        operation: &'static str,
    },
    /// The driver failed.
    #[error("{operation} failed in the driver: {message}")]
    Internal {
        /// The step that failed.
        operation: &'static str,
        /// wgpu's message, shortened to a few lines.
        message: String,
    },
    /// The device was lost with all its contents, and must be opened again.
    #[error("{operation}: the device is lost: {message}")]
    DeviceLost {
        /// The step that failed.
        operation: &'static str,
        /// The driver's message.
        message: String,
    },
    /// The device did not finish within the timeout, and may still be working.
    #[error("{operation} took longer than the {limit:?} allowed")]
    Timeout {
        /// The step that failed.
        operation: &'static str,
        /// The timeout.
        limit: Duration,
    },
}

impl GpuError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoDevice { .. } | Self::DeviceRefused { .. } => ErrorKind::NoDevice,
            Self::Bindings { .. }
            | Self::BufferCount { .. }
            | Self::RangeCount { .. }
            | Self::ImageSize { .. }
            | Self::BufferTooSmall { .. }
            | Self::ForeignBuffer { .. }
            | Self::OffsetAlignment { .. }
            | Self::Usage { .. }
            | Self::Overlap { .. }
            | Self::ProgramOverlap { .. }
            | Self::NotInPlace { .. }
            | Self::SameBuffer { .. } => ErrorKind::Invalid,
            Self::ProgramBuffer { error, .. } => error.kind(),
            Self::BeyondLimit { .. } => ErrorKind::Unsupported,
            Self::Schedule(error) => error.kind(),
            Self::Extent(error) => error.kind(),
            Self::Program(error) => error.kind(),
            Self::Shader { .. }
            | Self::Validation { .. }
            | Self::OutOfMemory { .. }
            | Self::Internal { .. }
            | Self::DeviceLost { .. }
            | Self::Timeout { .. } => ErrorKind::Failed,
        }
    }

    /// Returns the parameter, result or scratch buffer of a program whose range was refused, or
    /// `None` if the error is about something else.
    #[must_use]
    pub fn program_buffer(&self) -> Option<BufferId> {
        match *self {
            Self::ProgramBuffer { buffer, .. } | Self::ProgramOverlap { buffer, .. } => {
                Some(buffer)
            }
            Self::NotInPlace { result, .. } => Some(BufferId::Result(result)),
            _ => None,
        }
    }

    /// Returns true if there is no device to run on. The command line exits with code 4 in this
    /// case.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::NoDevice { .. } | Self::DeviceRefused { .. })
    }

    /// Returns true if the kernel is valid but exceeds the limits of this device, so that another
    /// device or the host may still run it.
    #[must_use]
    pub fn is_beyond_limits(&self) -> bool {
        matches!(
            self,
            Self::BeyondLimit { .. }
                | Self::OutOfMemory { .. }
                | Self::Schedule(_)
                | Self::Program(_)
        )
    }
}

/// Shortens a message to its first 12 lines and each line to 200 characters, because a message of
/// wgpu may contain a whole shader.
pub(super) fn brief(message: &str) -> String {
    const LINES: usize = 12;
    const COLUMNS: usize = 200;
    let mut lines = message.trim().lines();
    let mut kept: Vec<String> =
        lines.by_ref().take(LINES).map(|line| line.chars().take(COLUMNS).collect()).collect();
    let left = lines.count();
    if left > 0 {
        kept.push(format!("… {left} more lines"));
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_keeps_twelve_lines_and_counts_the_rest() {
        let long = "line\n".repeat(20);
        let short = brief(&long);
        assert_eq!(short.lines().count(), 13);
        assert!(short.ends_with("… 8 more lines"));
        assert_eq!(brief(" one\n"), "one");
    }

    #[test]
    fn a_missing_device_and_a_failed_run_are_told_apart() {
        let missing = GpuError::NoDevice { reason: String::new() };
        let failed = GpuError::OutOfMemory { operation: "upload" };
        assert!(missing.is_no_device() && !missing.is_beyond_limits());
        assert!(!failed.is_no_device() && failed.is_beyond_limits());
        assert_eq!((missing.kind(), failed.kind()), (ErrorKind::NoDevice, ErrorKind::Failed));
    }

    #[test]
    fn misuse_is_invalid_and_a_small_device_unsupported() {
        let small = GpuError::BeyondLimit { what: "workgroups in a dimension", given: 2, limit: 1 };
        assert_eq!(small.kind(), ErrorKind::Unsupported);
        for misuse in [
            GpuError::SameBuffer { source_offset: 0, destination_offset: 4 },
            GpuError::OffsetAlignment { operand: Operand::Destination, offset: 2, alignment: 32 },
            GpuError::BufferTooSmall { operand: Operand::Source(0), given: 4, needed: 8 },
        ] {
            assert_eq!(crate::Error::from(misuse).kind(), ErrorKind::Invalid);
        }
    }
}
