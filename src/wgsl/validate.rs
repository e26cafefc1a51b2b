use naga::{
    front::wgsl,
    valid::{Capabilities, ValidationFlags, Validator},
};

use super::WgslError;

/// Parses and validates a kernel's text with naga, without any capability beyond WebGPU's default.
///
/// # Errors
///
/// What naga says.
pub fn validate(text: &str) -> Result<(), WgslError> {
    let module = wgsl::parse_str(text)
        .map_err(|error| WgslError::Parse { message: error.message().to_owned() })?;
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map(|_| ())
        .map_err(|error| WgslError::Invalid { message: error.into_inner().to_string() })
}
