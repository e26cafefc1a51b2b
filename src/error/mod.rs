//! [`Error`]: the error type of the crate. It wraps the errors of all modules and reports their
//! kind and field.

mod request;
mod saved;

use std::fmt;

pub use request::RequestError;
pub use saved::SavedError;

#[cfg(feature = "gpu")]
use crate::program::BufferId;
use crate::{
    error_kind::ErrorKind,
    hlo::{HloError, InstructionError},
    host::HostError,
    nest::{NestError, Operand},
    notation::{CuteError, NotationError, dml::DmlError},
    program::ProgramError,
    reshard::ReshardError,
    schedule::{ExtentError, ScheduleError},
    shape::{FieldPath, ParseError, ShapeError},
    sharding::ShardingError,
    stride::StrideError,
    wgsl::WgslError,
    window::WindowError,
};

/// An error of one of the crate's modules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that cannot be parsed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// An invalid shape or proto.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A sharding that is invalid or does not fit its array.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
    /// A tensor whose memory cannot be described by strides.
    #[error(transparent)]
    Stride(#[from] StrideError),
    /// An array that a notation cannot describe.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// CuTe layouts that do not fit each other.
    #[error(transparent)]
    Cute(#[from] CuteError),
    /// A DirectML description or layout letters that are invalid, or a tensor that cannot be
    /// described by them.
    #[error(transparent)]
    Dml(#[from] DmlError),
    /// An invalid window.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// An operation whose source and destination do not fit each other.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// An operation that exceeds the limits of a target.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Extents at run time that an operation does not support or a kernel does not take.
    #[error(transparent)]
    Extent(#[from] ExtentError),
    /// A target in JSON that is invalid.
    #[cfg(feature = "text-protos")]
    #[error(transparent)]
    Target(#[from] crate::schedule::TargetError),
    /// A kernel that naga rejects, which is a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A kernel that cannot be translated.
    #[cfg(feature = "backends")]
    #[error(transparent)]
    Backend(#[from] crate::backend::BackendError),
    /// An incomplete request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A kernel or a program that cannot be saved, or cannot be read again.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// An error in a part of an operation or of a request, with the path of that part.
    #[error("{}", Located { outer, error })]
    Located {
        /// The path of the part. [`Error::field`] returns the whole path of the invalid field.
        outer: FieldPath,
        /// The error in that part.
        error: Box<Error>,
    },
    /// An invalid module, or one that stridec does not support.
    #[error(transparent)]
    Hlo(#[from] HloError),
    /// A literal or another part of an HLO instruction that is invalid by itself.
    #[error(transparent)]
    Instruction(#[from] InstructionError),
    /// A program that cannot be compiled or run.
    #[error(transparent)]
    Program(ProgramError),
    /// A layout or a program that has no accessor.
    #[cfg(feature = "accessors")]
    #[error(transparent)]
    Accessor(#[from] crate::accessor::AccessorError),
    /// A failed run on the host, because buffers have wrong lengths.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A failed run on a device.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
}

impl From<ProgramError> for Error {
    /// Unwraps errors of naga and of the host, so that they are reported as the errors of their
    /// modules.
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Wgsl(error) => error.into(),
            ProgramError::Host(error) => error.into(),
            error => Self::Program(error),
        }
    }
}

impl Error {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Shape(_) => ErrorKind::Invalid,
            Self::Sharding(error) => error.kind(),
            Self::Stride(error) => error.kind(),
            Self::Notation(error) => error.kind(),
            Self::Cute(error) => error.kind(),
            Self::Dml(error) => error.kind(),
            Self::Window(error) => error.kind(),
            Self::Nest(error) => error.kind(),
            Self::Schedule(error) => error.kind(),
            Self::Extent(error) => error.kind(),
            #[cfg(feature = "text-protos")]
            Self::Target(error) => error.kind(),
            Self::Wgsl(error) => error.kind(),
            #[cfg(feature = "backends")]
            Self::Backend(error) => error.kind(),
            Self::Request(error) => error.kind(),
            Self::Saved(error) => error.kind(),
            Self::Located { error, .. } => error.kind(),
            Self::Hlo(error) => error.kind(),
            Self::Instruction(_) => ErrorKind::Invalid,
            Self::Program(error) => error.kind(),
            #[cfg(feature = "accessors")]
            Self::Accessor(error) => error.kind(),
            Self::Host(error) => error.kind(),
            #[cfg(feature = "gpu")]
            Self::Gpu(error) => error.kind(),
        }
    }

    /// Returns the path of the field that the error is about. The path starts at the given
    /// operation, message or description.
    ///
    /// ```
    /// use stridec::{Error, Operation};
    /// let (source, destination) = ("f32[2,3]".parse()?, "f32[2,4]".parse()?);
    /// let error = Operation::relayout(source, destination).unwrap_err();
    /// assert_eq!(error.field().unwrap().to_string(), "destination.dimensions[1]");
    /// let error = "f32[2,3]{1,1}".parse::<stridec::Tensor>().unwrap_err();
    /// assert_eq!(error.field().unwrap().to_string(), "layout.minor_to_major[1]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Nest(error) => {
                let outer = match error.operand() {
                    Operand::Source(_) => FieldPath::new("source"),
                    Operand::Destination => FieldPath::new("destination"),
                };
                Some(error.field().unwrap_or_default().below(&outer))
            }
            Self::Located { outer, error } => {
                let field = match &**error {
                    Self::Hlo(error) => error.field(),
                    error => error.leading_field(),
                };
                Some(field.unwrap_or_default().below(outer))
            }
            Self::Hlo(error) => error.field(),
            #[cfg(feature = "gpu")]
            Self::Gpu(error) => Some(match error.program_buffer()? {
                BufferId::Parameter(number) => FieldPath::new("parameters").index(number),
                BufferId::Constant(number) => FieldPath::new("constants").index(number),
                BufferId::Scratch(number) => FieldPath::new("scratch").index(number),
                BufferId::Result(number) => FieldPath::new("results").index(number),
            }),
            _ => self.leading_field(),
        }
    }

    /// Returns the field with which the error's message begins. Messages of [`NestError`] and of
    /// [`HloError`] do not begin with a field.
    fn leading_field(&self) -> Option<FieldPath> {
        match self {
            Self::Parse(error) => error.invalid_shape()?.field().cloned(),
            Self::Shape(error) => error.field().cloned(),
            Self::Sharding(error) => error.field(),
            Self::Stride(error) => error.field(),
            Self::Dml(error) => error.field(),
            Self::Window(error) => Some(error.field()),
            Self::Request(error) => Some(error.field()),
            Self::Saved(error) => error.field(),
            Self::Schedule(error) => error.field(),
            Self::Extent(error) => Some(error.field()),
            Self::Instruction(error) => Some(error.field()).filter(|field| !field.is_empty()),
            Self::Located { .. } => self.field(),
            _ => None,
        }
    }

    /// Returns the error with the path `outer` added before its field. If `outer` is empty, returns
    /// the error unchanged.
    pub(crate) fn below(self, outer: &FieldPath) -> Self {
        if outer.is_empty() {
            return self;
        }
        Self::Located { outer: outer.clone(), error: self.into() }
    }
}

impl From<ReshardError> for Error {
    fn from(error: ReshardError) -> Self {
        match error {
            ReshardError::Sharding(error) => error.into(),
            ReshardError::Shape(error) => error.into(),
            ReshardError::Stride(error) => error.into(),
            ReshardError::Window(error) => error.into(),
            ReshardError::Nest(error) => error.into(),
            ReshardError::Host(error) => error.into(),
        }
    }
}

/// The message of an error, preceded by the path of the part that it is about.
struct Located<'a> {
    outer: &'a FieldPath,
    error: &'a Error,
}

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outer, error } = self;
        match error.leading_field() {
            Some(_) => write!(f, "{outer}.{error}"),
            None => write!(f, "{outer}: {error}"),
        }
    }
}
