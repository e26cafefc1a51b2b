//! The modules of `tests/data/hlo_cases.jsonl`, with their inputs and outputs.

use std::fs;

use serde_json::Value;
use stridec::{Error, hlo::Module, program::Program};

use crate::base64;

/// A module, its inputs and its outputs.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) expect: String,
    /// What the module takes beyond the core, in words.
    pub(crate) needs: String,
    pub(crate) module: Vec<u8>,
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) outputs: Vec<Vec<u8>>,
}

impl Case {
    /// The inputs as a program takes them.
    pub(crate) fn images(&self) -> Vec<&[u8]> {
        self.inputs.iter().map(Vec::as_slice).collect()
    }

    /// The program, or why there is none.
    pub(crate) fn lower(&self) -> Result<Program, Error> {
        Ok(Program::lower(&Module::decode(&self.module)?)?)
    }
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hlo_cases.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let images = |record: &Value| -> Vec<Vec<u8>> {
        let images = record.as_array().map(Vec::as_slice).unwrap_or_default();
        images.iter().map(|image| base64::decode(image["data"].as_str().unwrap())).collect()
    };
    let case = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let needs = record["needs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let needs: Vec<&str> = needs.iter().map(|need| need.as_str().unwrap()).collect();
        Case {
            id: record["id"].as_str().unwrap().to_owned(),
            expect: record["expect"].as_str().unwrap().to_owned(),
            needs: if needs.is_empty() { "core".to_owned() } else { needs.join(" + ") },
            module: base64::decode(record["module"].as_str().unwrap()),
            inputs: images(&record["inputs"]),
            outputs: images(&record["outputs"]),
        }
    };
    text.lines().map(case).collect()
}
