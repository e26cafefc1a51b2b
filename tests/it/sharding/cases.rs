//! The cases of `tests/data/sharding_cases.jsonl`.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use stridec::sharding::{Placement, Sharding};

use super::base64;

/// Returns every case of a kind.
pub(crate) fn cases(kind: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sharding_cases.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == kind).collect()
}

/// Returns the sharding in a text field of a record. It is printed in the same form.
pub(crate) fn text(record: &Value, field: &str) -> Sharding {
    let text = record[field].as_str().unwrap();
    let sharding: Sharding = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(sharding.to_string(), text);
    sharding
}

/// Returns the sharding in a field of a record that has a serialized message.
pub(crate) fn proto(record: &Value, field: &str) -> Option<Sharding> {
    let bytes = base64::decode(record[field].as_str()?);
    Some(Sharding::decode(&bytes).unwrap_or_else(|error| panic!("{record}: {error}")))
}

/// The ranges of every device, in the form of the cases.
pub(crate) type Ranges = BTreeMap<u64, Vec<(u64, u64)>>;

pub(crate) fn ranges(boxes: &Value) -> Ranges {
    let boxes = boxes.as_object().unwrap().iter();
    boxes.map(|(device, ranges)| (device.parse().unwrap(), list(ranges))).collect()
}

/// Converts `[[start, limit], …]` to pairs.
pub(crate) fn list(ranges: &Value) -> Vec<(u64, u64)> {
    let pair = |range: &Value| (range[0].as_u64().unwrap(), range[1].as_u64().unwrap());
    ranges.as_array().unwrap().iter().map(pair).collect()
}

pub(crate) fn placed(placement: &Placement) -> Ranges {
    placement.tiles().map(|(device, tile)| (device, tile.ranges().to_vec())).collect()
}
