//! Parses the argument `SHARDING`: XLA's text, Shardy's text, or an `@FILE` with an
//! `xla.OpSharding` or with the region of each device.

use std::path::Path;

use serde_json::Value;
use stridec::{
    Error,
    proto::xla,
    sharding::{Region, Sharding, ShardingError},
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
    if let Some(boxes) = serialized.json().and_then(boxes) {
        return boxes.map_err(about);
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
/// The names in the object are ids of devices. The object may also be the field `devices` in the
/// output of `describe --sharding`.
///
/// The value of a device is a box, `[[start, limit], …]`, or a list of ranges for each dimension,
/// `[[[start, limit], …], …]`.
fn boxes(value: Value) -> Option<Result<Sharding, Failure>> {
    let Value::Object(mut devices) = value else { return None };
    if let Some(Value::Object(described)) = devices.get_mut("devices") {
        devices = std::mem::take(described);
    }
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    if devices.is_empty() || !devices.keys().all(is_number) {
        return None;
    }
    let boxes = devices.iter().map(|(device, ranges)| {
        let invalid = || {
            let expected =
                "expected [[start, limit], …], numbers of 0 to 2^63-1, no start above its limit";
            let lists = "or for each dimension a list of such ranges, in ascending order";
            Failure::invalid(format!("{device}: {expected}, {lists}, got {ranges}"))
        };
        let pair = |range: &Value| match &range.as_array()?[..] {
            [start, limit] => {
                let small = |number: &Value| {
                    number.as_u64().filter(|number| i64::try_from(*number).is_ok())
                };
                Some((small(start)?, small(limit)?))
            }
            _ => None,
        };
        let dimension = |value: &Value| match pair(value) {
            Some(range) => Some(vec![range]),
            None => value.as_array()?.iter().map(pair).collect(),
        };
        let ranges: Option<Vec<Vec<(u64, u64)>>> =
            ranges.as_array().ok_or_else(invalid)?.iter().map(dimension).collect();
        let device = device.parse::<u64>().map_err(|_| invalid())?;
        Ok((device, ranges.and_then(Region::from_ranges).ok_or_else(invalid)?))
    });
    let boxes: Result<Vec<_>, Failure> = boxes.collect();
    let sharding =
        |boxes| Sharding::regions(boxes).map_err(|error| Failure::from(Error::from(error)));
    Some(boxes.and_then(sharding))
}
