//! The errors of programs.

use super::BufferId;
use crate::{
    error_kind::ErrorKind, hlo::SourceLine, host::HostError, nest::NestError,
    schedule::ScheduleError, shape::Shape, stride::StrideError, wgsl::WgslError,
};

/// An error of compiling a module, or of running it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// An instruction that does more than move data, or moves it in a way that is not supported.
    #[error("`{instruction}`, {shape}: {opcode} is not supported{reason}{}", from(line.as_deref()))]
    Unsupported {
        /// The instruction's name.
        instruction: Box<str>,
        /// Its shape, such as `f32[2,3]`.
        shape: Box<str>,
        /// Its opcode.
        opcode: Box<str>,
        /// The part of it that is not supported, after a colon or a semicolon; empty if that is the
        /// opcode itself.
        reason: Box<str>,
        /// The line of the user's program that it was made from, if the module says so.
        line: Option<Box<SourceLine>>,
    },
    /// A parameter or a result whose memory cannot be described by strides.
    #[error("{value}: {error}")]
    Layout {
        /// The parameter or the result, with its shape.
        value: String,
        /// The reason.
        error: Box<StrideError>,
    },
    /// A result that cannot be lowered to a nest.
    #[error("`{instruction}`: {error}")]
    Nest {
        /// The instruction whose value was to be computed.
        instruction: String,
        /// The reason.
        error: Box<NestError>,
    },
    /// A kernel that the target does not run.
    #[error("kernel of {destination}: {error}")]
    Kernel {
        /// The buffer that it writes, with its shape.
        destination: String,
        /// The limit that is exceeded.
        error: Box<ScheduleError>,
    },
    /// A kernel that naga rejects: a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A failed run on the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// More instructions between the results and the parameters than stridec follows.
    #[error(
        "expected at most {limit} instructions on the ways from a result to the parameters, calls counted each time"
    )]
    TooLong {
        /// The maximum accepted number.
        limit: usize,
    },
    /// More scratch buffers than a program may have.
    #[error("expected a program of at most {limit} scratch buffers")]
    TooManyScratchBuffers {
        /// The maximum accepted number.
        limit: usize,
    },
    /// A number of buffers different from the number of parameters or results.
    #[error("expected {expected} buffers, one for each {what} ({shapes}), got {given}")]
    Count {
        /// `parameter` or `result`.
        what: &'static str,
        /// The number that the program has.
        expected: usize,
        /// The number of buffers.
        given: usize,
        /// Their shapes.
        shapes: String,
    },
    /// A buffer with another length than its parameter or result.
    #[error("{what} {number}: expected {expected} bytes, the memory of {shape}, got {given}")]
    Length {
        /// `parameter` or `result`.
        what: &'static str,
        /// Its number.
        number: usize,
        /// Its shape.
        shape: Box<Shape>,
        /// The length of its image, in bytes.
        expected: u64,
        /// The length that was given, in bytes.
        given: usize,
    },
}

/// Returns the line in the form ` (layers.py:12)`, or nothing.
fn from(line: Option<&SourceLine>) -> String {
    line.map(|line| format!(" ({line})")).unwrap_or_default()
}

impl ProgramError {
    /// Returns the error of a buffer whose shape has no strides.
    pub(super) fn layout(value: BufferId, shape: &Shape, error: StrideError) -> Self {
        Self::Layout { value: format!("{value}, {shape}"), error: Box::new(error) }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Layout { error, .. } => error.kind(),
            Self::Nest { error, .. } => error.kind(),
            Self::Kernel { error, .. } => error.kind(),
            Self::Wgsl(error) => error.kind(),
            Self::Host(error) => error.kind(),
            Self::Count { .. } | Self::Length { .. } => ErrorKind::Invalid,
            Self::Unsupported { .. }
            | Self::TooLong { .. }
            | Self::TooManyScratchBuffers { .. } => ErrorKind::Unsupported,
        }
    }
}
