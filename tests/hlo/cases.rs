//! The modules of `tests/data/hlo_cases.jsonl`.

use std::fs;

use serde_json::Value;

use crate::base64;

/// A module that JAX or XLA wrote.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) record: Value,
}

impl Case {
    /// Whether XLA refuses the module.
    pub(crate) fn is_invalid(&self) -> bool {
        self.record["expect"] == "invalid"
    }
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hlo_cases.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let case = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap().to_owned();
        Case { id, bytes: base64::decode(record["module"].as_str().unwrap()), record }
    };
    text.lines().map(case).collect()
}
