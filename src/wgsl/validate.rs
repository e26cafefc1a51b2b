//! Parses and validates kernels with naga, as a WebGPU implementation would. This finds an invalid
//! kernel before it is returned, and not later in a user's driver.

use naga::{
    Module,
    front::wgsl,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};

use super::WgslError;

/// Parses and validates the text of a kernel with naga, with WebGPU's default capabilities only.
///
/// # Errors
///
/// Returns an error with naga's message if the text does not parse or is invalid.
pub fn validate(text: &str) -> Result<(), WgslError> {
    check(text).map(|_| ())
}

/// Parses and validates the text of a kernel, and returns naga's module and its analysis.
pub(crate) fn check(text: &str) -> Result<(Module, ModuleInfo), WgslError> {
    let module = wgsl::parse_str(text)
        .map_err(|error| WgslError::Parse { message: error.message().to_owned() })?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| WgslError::Invalid { message: error.into_inner().to_string() })?;
    Ok((module, info))
}
