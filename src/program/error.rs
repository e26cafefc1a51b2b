//! [`ProgramError`]: the reasons why a module cannot be compiled or run.

use super::BufferId;
use crate::{
    error_kind::ErrorKind, hlo::SourceLine, host::HostError, nest::NestError,
    schedule::ScheduleError, shape::Shape, stride::StrideError, wgsl::WgslError,
};

/// The reason why a module cannot be compiled or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// An instruction computes new values, or moves data in a way that stridec does not support.
    #[error("`{instruction}`, {shape}: {opcode} is not supported{reason}{}", from(line.as_deref()))]
    Unsupported {
        /// The instruction's name.
        instruction: Box<str>,
        /// The instruction's shape in XLA's notation, such as `f32[2,3]`.
        shape: Box<str>,
        /// The instruction's opcode.
        opcode: Box<str>,
        /// The detail that is not supported, as the end of the message, with a colon or semicolon
        /// before it. Empty if the opcode itself is not supported.
        reason: Box<str>,
        /// The line of the user's program that produced the instruction, or `None` if the module
        /// does not record it.
        line: Option<Box<SourceLine>>,
    },
    /// The memory layout of a parameter or result cannot be described by strides.
    #[error("{value}: {error}")]
    Layout {
        /// The name and the shape of the parameter or result.
        value: String,
        /// The reason, from the module `stride`.
        error: Box<StrideError>,
    },
    /// A result cannot be lowered to a nest.
    #[error("`{instruction}`: {error}")]
    Nest {
        /// The instruction whose value is the result.
        instruction: String,
        /// The reason, from the module `nest`.
        error: Box<NestError>,
    },
    /// A kernel exceeds the limits of the target.
    #[error(
        "kernel of {destination}, {shape}: {error}{}{}",
        of_buffer(*buffer), without_kernel(error, results)
    )]
    Kernel {
        /// The buffer that the kernel writes.
        destination: BufferId,
        /// The shape of that buffer.
        shape: Box<str>,
        /// The indices of the results that depend on the kernel, in ascending order.
        results: Vec<usize>,
        /// The buffer that is too large, if it is a source of the kernel.
        buffer: Option<BufferId>,
        /// The limit that is exceeded.
        error: Box<ScheduleError>,
    },
    /// naga rejects a generated kernel, which is a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A run on the host failed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There are more instructions between the results and the parameters than stridec follows.
    #[error(
        "expected at most {limit} instructions between the results and the parameters, with a computation counted at each of its calls"
    )]
    TooLong {
        /// The maximum number of instructions.
        limit: usize,
    },
    /// The program needs more scratch buffers than the limit allows.
    #[error("expected a program of at most {limit} scratch buffers")]
    TooManyScratchBuffers {
        /// The maximum number of scratch buffers.
        limit: usize,
    },
    /// The host has no memory for a result or a scratch buffer.
    #[error(
        "{value}, {shape}: expected {bytes} bytes of memory for it on the host, which are not free"
    )]
    Memory {
        /// The result or the scratch buffer.
        value: BufferId,
        /// The shape of the buffer.
        shape: Box<Shape>,
        /// The size of the buffer, in bytes.
        bytes: u64,
    },
    /// The caller passed too few or too many buffers for the parameters or results.
    #[error("expected {expected} buffers, one for each {what} ({shapes}), got {given}")]
    Count {
        /// The kind of the buffers: `parameter` or `result`.
        what: &'static str,
        /// The number of parameters or results.
        expected: usize,
        /// The number of buffers that were given.
        given: usize,
        /// The shapes of the parameters or results.
        shapes: String,
    },
    /// The length of a buffer differs from the size of its parameter or result in memory.
    #[error("{what} {number}: expected {expected} bytes, the memory of {shape}, got {given}")]
    Length {
        /// The kind of the buffer: `parameter` or `result`.
        what: &'static str,
        /// The index of the parameter or result.
        number: usize,
        /// The shape of the parameter or result.
        shape: Box<Shape>,
        /// The size of the shape in memory, in bytes.
        expected: u64,
        /// The length of the given buffer, in bytes.
        given: usize,
    },
    /// The caller passed a parameter as read-only although a result takes over its buffer.
    #[error(
        "parameter {parameter}: expected `HostParameter::Donated`, because result {result} takes over its buffer, got `HostParameter::Read`; `Program::lower` gives every result a buffer of its own"
    )]
    NotDonated {
        /// The index of the parameter.
        parameter: usize,
        /// The index of the result.
        result: usize,
    },
}

/// Returns the source line as the end of an error message: in parentheses after a blank, such as `
/// (layers.py:12)`. Returns an empty string if there is no line.
fn from(line: Option<&SourceLine>) -> String {
    line.map(|line| format!(" ({line})")).unwrap_or_default()
}

/// Returns the name of a source that is too large, for the middle of an error message.
fn of_buffer(buffer: Option<BufferId>) -> String {
    buffer.map(|buffer| format!(" for {buffer}")).unwrap_or_default()
}

/// Returns the end of an error message for a kernel that exceeds a limit. It names ways to run the
/// program nevertheless: on the host, or with kernels that each compute only some elements of the
/// results. Returns an empty string if the target itself is invalid.
fn without_kernel(error: &ScheduleError, results: &[usize]) -> String {
    if error.kind() == ErrorKind::Invalid {
        return String::new();
    }
    let numbers: Vec<String> = results.iter().map(usize::to_string).collect();
    let (s, need) = if results.len() == 1 { ("", "needs") } else { ("s", "need") };
    let numbers = numbers.join(" and ");
    format!(
        "; `run_on_host` runs the program, and so may kernels for parts of result{s} {numbers}, which {need} this one"
    )
}

impl ProgramError {
    /// Returns the error for a buffer whose memory layout cannot be described by strides.
    pub(super) fn layout(value: BufferId, shape: &Shape, error: StrideError) -> Self {
        Self::Layout { value: format!("{value}, {shape}"), error: Box::new(error) }
    }

    /// Returns the kind of failure, by which a caller can decide how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Layout { error, .. } => error.kind(),
            Self::Nest { error, .. } => error.kind(),
            Self::Kernel { error, .. } => error.kind(),
            Self::Wgsl(error) => error.kind(),
            Self::Host(error) => error.kind(),
            Self::Memory { .. } => ErrorKind::Failed,
            Self::Count { .. } | Self::Length { .. } | Self::NotDonated { .. } => {
                ErrorKind::Invalid
            }
            Self::Unsupported { .. }
            | Self::TooLong { .. }
            | Self::TooManyScratchBuffers { .. } => ErrorKind::Unsupported,
        }
    }
}
