//! Why a module is not compiled, or does not run.

use super::BufferId;
use crate::{
    error_kind::ErrorKind, hlo::SourceLine, host::HostError, nest::NestError,
    schedule::ScheduleError, shape::Shape, stride::StrideError, wgsl::WgslError,
};

/// Why a module is not compiled, or does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// An instruction that does more than move data, or moves it in a way that is not supported.
    #[error("`{instruction}`, {shape}: {opcode} is not supported{reason}{}", from(line.as_deref()))]
    Unsupported {
        /// The instruction's name.
        instruction: Box<str>,
        /// What it gives, such as `f32[2,3]`.
        shape: Box<str>,
        /// Its opcode.
        opcode: Box<str>,
        /// What about it is not supported, after a colon or a semicolon; empty where that is the opcode itself.
        reason: Box<str>,
        /// The line of the program's source that it comes from, where the module says it.
        line: Option<Box<SourceLine>>,
    },
    /// A parameter or a result whose memory cannot be described by strides.
    #[error("{value}: {error}")]
    Layout {
        /// The parameter or the result, with its shape.
        value: String,
        /// What is wrong with it.
        error: Box<StrideError>,
    },
    /// A result that no kernel computes.
    #[error("`{instruction}`: {error}")]
    Nest {
        /// The instruction whose value was to be computed.
        instruction: String,
        /// What is wrong.
        error: Box<NestError>,
    },
    /// A kernel that the target does not run.
    #[error("kernel of {destination}: {error}")]
    Kernel {
        /// The buffer that it writes, with its shape.
        destination: String,
        /// What the target does not allow.
        error: Box<ScheduleError>,
    },
    /// A kernel that naga refuses: a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A run on the host that fails.
    #[error(transparent)]
    Host(#[from] HostError),
    /// More instructions on the ways from the results to the parameters than are followed.
    #[error(
        "expected at most {limit} instructions on the ways from a result to the parameters, calls counted each time"
    )]
    TooLong {
        /// The most accepted.
        limit: usize,
    },
    /// More scratch buffers than a program has.
    #[error("expected a program of at most {limit} scratch buffers")]
    TooManyScratchBuffers {
        /// The most accepted.
        limit: usize,
    },
    /// Another number of buffers than the program has parameters, or results.
    #[error("expected {expected} buffers, one for each {what} ({shapes}), got {given}")]
    Count {
        /// `parameter` or `result`.
        what: &'static str,
        /// How many of them the program has.
        expected: usize,
        /// The number of buffers.
        given: usize,
        /// Their shapes.
        shapes: String,
    },
    /// A buffer that has not the length of its parameter or result.
    #[error("{what} {number}: expected {expected} bytes, the memory of {shape}, got {given}")]
    Length {
        /// `parameter` or `result`.
        what: &'static str,
        /// Which one.
        number: usize,
        /// Its shape.
        shape: Box<Shape>,
        /// The bytes that it takes.
        expected: u64,
        /// The bytes that were given.
        given: usize,
    },
}

/// ` (layers.py:12)`
fn from(line: Option<&SourceLine>) -> String {
    line.map(|line| format!(" ({line})")).unwrap_or_default()
}

impl ProgramError {
    /// The error of a buffer that holds an array of this shape.
    pub(super) fn layout(value: BufferId, shape: &Shape, error: StrideError) -> Self {
        Self::Layout { value: format!("{value}, {shape}"), error: Box::new(error) }
    }

    /// What kind of failure it is.
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
