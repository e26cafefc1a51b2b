//! Validation of a kernel's text by naga.

use naga::{
    Module,
    front::wgsl,
    valid::{Capabilities, ModuleInfo, ValidationFlags, Validator},
};

use super::WgslError;

/// Parses and validates a kernel's text with naga, without capabilities beyond WebGPU's default.
///
/// # Errors
///
/// Returns naga's message.
pub fn validate(text: &str) -> Result<(), WgslError> {
    check(text).map(|_| ())
}

/// Returns naga's module of a kernel, and the results of its validation.
pub(crate) fn check(text: &str) -> Result<(Module, ModuleInfo), WgslError> {
    let module = wgsl::parse_str(text)
        .map_err(|error| WgslError::Parse { message: error.message().to_owned() })?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| WgslError::Invalid { message: error.into_inner().to_string() })?;
    Ok((module, info))
}
