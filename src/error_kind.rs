//! What kind of failure an error is.

/// What kind of failure an [`Error`](crate::Error), or the error of a module, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is wrong, or a function was called with what it does not take.
    Invalid,
    /// The input is valid, but more than stridec, or the target, does.
    Unsupported,
    /// There is no device.
    NoDevice,
    /// The run failed: the device was lost, or memory ran out. Where nothing runs, it is a defect of stridec.
    Failed,
}
