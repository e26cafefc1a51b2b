//! [`ErrorKind`]: the kinds of failure, by which a caller can decide what to do: change the input,
//! use another target, or try again.

/// The kind of failure that an [`Error`](crate::Error), or an error of one module, reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input or the arguments of a function are invalid.
    Invalid,
    /// The input is valid, but stridec or the target does not support it.
    Unsupported,
    /// There is no device.
    NoDevice,
    /// A run failed, because the device was lost or memory ran out. If nothing was run, the failure
    /// is a defect of stridec.
    Failed,
}
