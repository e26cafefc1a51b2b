//! The function `main`, which is the command line.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line `stridec` with the given arguments, and returns its exit code. Without
/// arguments to this function, it takes the process's.
///
/// Results are written to the standard output of the process, and errors to its standard error.
///
/// >>> import stridec
/// >>> stridec.main(["describe", "f32[2,3]{1,1}"])
/// 2
#[pyfunction]
#[pyo3(signature = (arguments=None, /))]
pub(crate) fn main(py: Python<'_>, arguments: Option<Vec<OsString>>) -> PyResult<u8> {
    let sys = py.import("sys")?;
    // The command line writes to the same files as Python, without Python's buffers.
    for stream in ["stdout", "stderr"] {
        let stream = sys.getattr(stream)?;
        if !stream.is_none() {
            stream.call_method0("flush")?;
        }
    }
    let arguments = match arguments {
        Some(arguments) => arguments,
        None => sys.getattr("argv")?.extract::<Vec<OsString>>()?.into_iter().skip(1).collect(),
    };
    let all = std::iter::once(OsString::from("stridec")).chain(arguments);
    Ok(py.detach(|| stridec_cli::run(all)))
}
