//! The kinds of failure.

/// The kind of failure of an [`Error`](crate::Error), or of an error of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is wrong, or a function was called with invalid arguments.
    Invalid,
    /// The input is valid, but stridec or the target does not support it.
    Unsupported,
    /// There is no device.
    NoDevice,
    /// The run failed: the device was lost, or memory ran out. If nothing runs, this is a defect of
    /// stridec.
    Failed,
}
