//! The targets of kernels.

use pyo3::prelude::*;
use stridec::Target;

use crate::errors::raised;

/// Returns the preset with this name: `webgpu`, `webgpu-cpu`, `lavapipe` or `swiftshader`.
pub(crate) fn target(name: &str) -> PyResult<Target> {
    Target::preset(name).map_err(raised)
}
