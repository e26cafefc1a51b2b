//! The crate's error: an error of any room, with its kind and the field that it is about.

use crate::{
    host::HostError,
    nest::NestError,
    request::RequestError,
    schedule::ScheduleError,
    shape::{ParseError, ShapeError},
    stride::{DmlError, StrideError},
    wgsl::WgslError,
    window::WindowError,
};

/// Why an operation was not compiled, or did not run: an error of one of the rooms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A notation that does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// An invalid shape or proto.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A tensor without strides.
    #[error(transparent)]
    Stride(#[from] StrideError),
    /// A DirectML description or layout letters that are invalid, or a tensor that has none.
    #[error(transparent)]
    Dml(#[from] DmlError),
    /// An invalid window.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// An operation whose sides do not fit.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// An operation that the target does not run.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A kernel that naga refuses: a defect of stridec.
    #[error(transparent)]
    Wgsl(#[from] WgslError),
    /// A kernel that has no translation.
    #[cfg(feature = "backends")]
    #[error(transparent)]
    Backend(#[from] crate::backend::BackendError),
    /// An incomplete request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An error of a part of a request, with the place of that part.
    #[error("{}", located(path, error))]
    Located {
        /// The path of the field in the request.
        path: String,
        /// What is wrong there.
        error: Box<Error>,
    },
    /// A run on the host with buffers of other sizes.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A run on a device.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is wrong.
    Invalid,
    /// The input is valid, but more than stridec, or the target, does.
    Unsupported,
    /// There is no device.
    NoDevice,
    /// The run failed.
    Failed,
}

impl Error {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        let unsupported = match self {
            Self::Parse(_) | Self::Shape(_) | Self::Window(_) | Self::Host(_) => false,
            Self::Request(error) => error.is_unsupported(),
            Self::Stride(error) => error.is_unsupported(),
            Self::Dml(error) => error.is_unsupported(),
            Self::Nest(error) => error.is_unsupported(),
            Self::Schedule(error) => error.is_unsupported(),
            Self::Located { error, .. } => return error.kind(),
            Self::Wgsl(_) => return ErrorKind::Failed,
            #[cfg(feature = "backends")]
            Self::Backend(error) if error.is_invalid() => false,
            #[cfg(feature = "backends")]
            Self::Backend(_) => return ErrorKind::Failed,
            #[cfg(feature = "gpu")]
            Self::Gpu(error) if error.is_no_device() => return ErrorKind::NoDevice,
            #[cfg(feature = "gpu")]
            Self::Gpu(crate::gpu::GpuError::Schedule(error)) => error.is_unsupported(),
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => return ErrorKind::Failed,
        };
        if unsupported { ErrorKind::Unsupported } else { ErrorKind::Invalid }
    }

    /// The field that the error is about, as a path from the message, or the description, that was given.
    ///
    /// ```
    /// use stridec::{Error, Operation};
    /// let (source, destination) = ("f32[2,3]".parse()?, "f32[2,4]".parse()?);
    /// let error = Operation::relayout(source, destination).unwrap_err();
    /// assert_eq!(error.field().as_deref(), Some("dimensions[1]"));
    /// let error = Error::from("f32[2,3]{1,1}".parse::<stridec::Tensor>().unwrap_err());
    /// assert_eq!(error.field().as_deref(), Some("layout.minor_to_major[1]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn field(&self) -> Option<String> {
        match self {
            Self::Parse(error) => error.invalid_shape()?.field().map(ToString::to_string),
            Self::Shape(error) => error.field().map(ToString::to_string),
            Self::Stride(error) => error.field(),
            Self::Dml(error) => error.field(),
            Self::Window(error) => Some(error.field()),
            Self::Nest(error) => error.field(),
            Self::Request(error) => Some(error.field().to_owned()),
            Self::Schedule(ScheduleError::Preset { .. }) => Some("target".into()),
            Self::Schedule(ScheduleError::Target { field, .. }) => Some(format!("target.{field}")),
            Self::Located { path, .. } => Some(path.clone()),
            _ => None,
        }
    }
}

/// The message of `error`, its leading field replaced by the whole path.
fn located(path: &str, error: &Error) -> String {
    let message = error.to_string();
    match error.field().and_then(|field| message.strip_prefix(&field)) {
        Some(rest) => format!("{path}{rest}"),
        None => format!("{path}: {message}"),
    }
}
