//! The crate's error: an error of any module, with its kind and its field.

mod request;

use std::fmt;

pub use request::RequestError;

use crate::{
    error_kind::ErrorKind,
    hlo::HloError,
    host::HostError,
    nest::{NestError, Operand},
    notation::{CuteError, NotationError, dml::DmlError},
    program::ProgramError,
    reshard::ReshardError,
    schedule::ScheduleError,
    shape::{FieldPath, ParseError, ShapeError},
    sharding::ShardingError,
    stride::StrideError,
    wgsl::WgslError,
    window::WindowError,
};

/// An error of one of the modules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A notation that does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// An invalid shape or proto.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// An invalid sharding, or one that does not fit its array.
    #[error(transparent)]
    Sharding(#[from] ShardingError),
    /// A tensor without strides.
    #[error(transparent)]
    Stride(#[from] StrideError),
    /// An array that a notation cannot describe.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// Layouts of CuTe that do not fit each other.
    #[error(transparent)]
    Cute(#[from] CuteError),
    /// A DirectML description or layout letters that are invalid, or a tensor that has none.
    #[error(transparent)]
    Dml(#[from] DmlError),
    /// An invalid window.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// An operation whose sides do not fit.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// An operation that exceeds the limits of a target.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A target's JSON that is refused.
    #[cfg(feature = "text-protos")]
    #[error(transparent)]
    Target(#[from] crate::schedule::TargetError),
    /// A kernel that naga refuses, which is a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A kernel that has no translation.
    #[cfg(feature = "backends")]
    #[error(transparent)]
    Backend(#[from] crate::backend::BackendError),
    /// An incomplete request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An error about a part of an operation or of a request, with the path of that part.
    #[error("{}", Located { outer, error })]
    Located {
        /// The path of the part. [`Error::field`] is the whole path of the wrong field.
        outer: FieldPath,
        /// The error about that part.
        error: Box<Error>,
    },
    /// An invalid module, or one that stridec does not support.
    #[error(transparent)]
    Hlo(#[from] HloError),
    /// A program that cannot be compiled or run.
    #[error(transparent)]
    Program(ProgramError),
    /// A run on the host with buffers of wrong lengths.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A run on a device.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
}

impl From<ProgramError> for Error {
    /// Errors of naga and of the host are those of their modules, also if a program met them.
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
            #[cfg(feature = "text-protos")]
            Self::Target(error) => error.kind(),
            Self::Wgsl(error) => error.kind(),
            #[cfg(feature = "backends")]
            Self::Backend(error) => error.kind(),
            Self::Request(error) => error.kind(),
            Self::Located { error, .. } => error.kind(),
            Self::Hlo(error) => error.kind(),
            Self::Program(error) => error.kind(),
            Self::Host(error) => error.kind(),
            #[cfg(feature = "gpu")]
            Self::Gpu(error) => error.kind(),
        }
    }

    /// Returns the field that the error is about, as a path from the given operation, message or
    /// description.
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
            Self::Located { outer, error } => Some(match error.leading_field() {
                Some(field) => field.below(outer),
                None => outer.clone(),
            }),
            _ => self.leading_field(),
        }
    }

    /// Returns the field that the message begins with. Messages of [`NestError`] begin with none.
    fn leading_field(&self) -> Option<FieldPath> {
        match self {
            Self::Parse(error) => error.invalid_shape()?.field().cloned(),
            Self::Shape(error) => error.field().cloned(),
            Self::Sharding(error) => error.field(),
            Self::Stride(error) => error.field(),
            Self::Dml(error) => error.field(),
            Self::Window(error) => Some(error.field()),
            Self::Request(error) => Some(error.field()),
            Self::Schedule(error) => error.field(),
            Self::Located { .. } => self.field(),
            _ => None,
        }
    }

    /// Returns the error with the path `outer` before its field, or unchanged if `outer` is empty.
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

/// The message of an error, after the path of its part.
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
