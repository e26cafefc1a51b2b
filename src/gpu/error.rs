//! What kept a kernel from running on a device.

use std::time::Duration;

use crate::{error_kind::ErrorKind, nest::Operand, program::ProgramError, schedule::ScheduleError};

/// What kept a kernel from running.
///
/// [`is_no_device`](Self::is_no_device) and [`is_beyond_limits`](Self::is_beyond_limits) tell apart what a caller can
/// answer by running on the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter, or none that was asked for.
    #[error("no GPU adapter: {reason}")]
    NoDevice {
        /// What was looked for and what was found.
        reason: String,
    },
    /// The adapter is there, and would not open.
    #[error("adapter {adapter:?} would not open: {message}")]
    DeviceRefused {
        /// The adapter's name.
        adapter: String,
        /// What the driver answered.
        message: String,
    },
    /// The kernel's bindings are not the two that the runner knows.
    #[error(
        "kernel bindings: expected the source, read-only, at binding 0 of group 0 and the destination, writable, at binding 1, got {reason}"
    )]
    Bindings {
        /// What was found.
        reason: String,
    },
    /// A host slice that is not the whole image.
    #[error("{operand}: expected {expected} bytes, the kernel's whole image, got {given}")]
    ImageSize {
        /// Which buffer.
        operand: Operand,
        /// Bytes given.
        given: u64,
        /// Bytes of the image.
        expected: u64,
    },
    /// Other buffers than one for each parameter and each result of a program.
    #[error(
        "expected {} buffers for parameters and {} for results, got {} and {}",
        expected[0], expected[1], given[0], given[1]
    )]
    BufferCount {
        /// Buffers given, for parameters and for results.
        given: [usize; 2],
        /// Parameters and results of the program.
        expected: [usize; 2],
    },
    /// A device buffer, or a range of one, that is smaller than the kernel needs.
    #[error("{operand} buffer: expected at least {needed} bytes from its offset, got {given}")]
    BufferTooSmall {
        /// Which buffer.
        operand: Operand,
        /// Bytes given.
        given: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// A [`Buffer`](super::Buffer) that another [`Gpu`](super::Gpu), not a clone of this one, allocated.
    #[error(
        "{operand} buffer: expected a buffer of this `Gpu` or of a clone of it, got one of another"
    )]
    ForeignBuffer {
        /// Which buffer.
        operand: Operand,
    },
    /// An offset that the device cannot bind.
    #[error(
        "{operand} offset: expected a multiple of {alignment}, the device's alignment of storage offsets, got {offset}"
    )]
    OffsetAlignment {
        /// Which buffer.
        operand: Operand,
        /// The offset in bytes.
        offset: u64,
        /// `min_storage_buffer_offset_alignment`.
        alignment: u32,
    },
    /// A buffer that was created without a usage that is needed.
    #[error("{operand} buffer: expected a buffer with usage {needed:?}, got {given:?}")]
    Usage {
        /// Which buffer.
        operand: Operand,
        /// The buffer's usages.
        given: wgpu::BufferUsages,
        /// The usage that it lacks.
        needed: wgpu::BufferUsages,
    },
    /// Source and destination are ranges of one buffer; wgpu allows a buffer one writer, or readers, as a whole.
    #[error(
        "expected two buffers, got one that holds the source at {source_offset} and the destination at {destination_offset}; copy one of them to a buffer of its own"
    )]
    SameBuffer {
        /// Where the source starts, in bytes.
        source_offset: u64,
        /// Where the destination starts, in bytes.
        destination_offset: u64,
    },
    /// A number of the kernel that passes a limit of the device.
    #[error("{what}: expected at most {limit}, the limit of this device, got {given}")]
    BeyondLimit {
        /// What passes the limit.
        what: &'static str,
        /// The kernel's number.
        given: u64,
        /// The device's limit.
        limit: u64,
    },
    /// A part of a copy, cut down to one position, that the device does not run.
    #[error(transparent)]
    Schedule(ScheduleError),
    /// A program whose buffers cannot be packed for the kernels of a device.
    #[error(transparent)]
    Program(ProgramError),
    /// The shader or its entry point does not compile.
    #[error("entry point {entry_point:?} does not compile: {message}")]
    Shader {
        /// The entry point.
        entry_point: String,
        /// What the compiler says, cut to a few lines.
        message: String,
    },
    /// wgpu refused a call.
    #[error("{operation} was refused: {message}")]
    Validation {
        /// What was being done.
        operation: &'static str,
        /// What wgpu says, cut to a few lines.
        message: String,
    },
    /// The device has no memory left.
    #[error("{operation}: out of device memory")]
    OutOfMemory {
        /// What was being done.
        operation: &'static str,
    },
    /// The driver failed.
    #[error("{operation} failed in the driver: {message}")]
    Internal {
        /// What was being done.
        operation: &'static str,
        /// What wgpu says, cut to a few lines.
        message: String,
    },
    /// The device is gone; what it held is lost, and it has to be opened again.
    #[error("{operation}: the device is lost: {message}")]
    DeviceLost {
        /// What was being done.
        operation: &'static str,
        /// What the driver says.
        message: String,
    },
    /// The device did not finish in time; it may still be working.
    #[error("{operation} took longer than the {limit:?} allowed")]
    Timeout {
        /// What was being done.
        operation: &'static str,
        /// The wait's limit.
        limit: Duration,
    },
}

impl GpuError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoDevice { .. } | Self::DeviceRefused { .. } => ErrorKind::NoDevice,
            Self::Bindings { .. }
            | Self::BufferCount { .. }
            | Self::ImageSize { .. }
            | Self::BufferTooSmall { .. }
            | Self::ForeignBuffer { .. }
            | Self::OffsetAlignment { .. }
            | Self::Usage { .. }
            | Self::SameBuffer { .. } => ErrorKind::Invalid,
            Self::BeyondLimit { .. } => ErrorKind::Unsupported,
            Self::Schedule(error) => error.kind(),
            Self::Program(error) => error.kind(),
            Self::Shader { .. }
            | Self::Validation { .. }
            | Self::OutOfMemory { .. }
            | Self::Internal { .. }
            | Self::DeviceLost { .. }
            | Self::Timeout { .. } => ErrorKind::Failed,
        }
    }

    /// Whether there is no device to run on: the command line's exit code 4.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::NoDevice { .. } | Self::DeviceRefused { .. })
    }

    /// Whether the kernel is fine and only this device too small for it: another device or the host can run it.
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

/// The first lines of a message: what wgpu prints can hold a whole shader.
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
