//! Parses the argument `SHARDING`: XLA's text, Shardy's text, or an `@FILE` with an
//! `xla.OpSharding` or with the region of each device.

use std::path::Path;

use serde_json::Value;
use stridec::{
    Error,
    proto::xla,
    sharding::{Sharding, ShardingError},
};

use super::{
    errors::{Failure, input_name},
    proto_file::Serialized,
};

/// Parses a `SHARDING` argument.
pub(super) fn sharding(argument: &str) -> Result<Sharding, Failure> {
    let Some(file) = argument.strip_prefix('@') else {
        return argument.parse().map_err(|error| failure(argument, error));
    };
    let path = Path::new(file);
    let serialized = Serialized::read(path)?;
    let about = |failure: Failure| failure.about(input_name(path));
    if let Some(parts) = serialized.json().and_then(parts) {
        return parts.map_err(about);
    }
    let proto: xla::OpSharding = serialized.message()?;
    Sharding::try_from(&proto).map_err(|error| about(Error::from(error).into()))
}

/// Returns the failure for an invalid sharding. Marks the position of the error if it is known.
fn failure(text: &str, error: ShardingError) -> Failure {
    match &error {
        ShardingError::Syntax { offset, reason } => Failure::in_text(text, *offset, reason),
        _ => Error::from(error).into(),
    }
}

/// Returns the sharding that a JSON object describes, or `None` if `value` is not such an object.
/// The names in the object are ids of devices, and their values are parts of the array, in the text
/// that [`Sharding`] parses. The object may also be the field `devices` in the output of `describe
/// --sharding`.
fn parts(value: Value) -> Option<Result<Sharding, Failure>> {
    let Value::Object(mut devices) = value else { return None };
    if let Some(Value::Object(described)) = devices.get_mut("devices") {
        devices = std::mem::take(described);
    }
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    if devices.is_empty() || !devices.keys().all(is_number) {
        return None;
    }
    let text = Value::Object(devices).to_string();
    Some(text.parse().map_err(|error| failure(&text, error)))
}
