//! The modules of `tests/data/hlo_cases.jsonl` and the texts of `tests/data/stablehlo_cases.jsonl`,
//! with their inputs and outputs.

use std::{collections::BTreeMap, fs, sync::LazyLock};

use serde_json::Value;
use stridec::{
    Error,
    hlo::{HloError, Module},
    program::Program,
};

use super::base64;

static CASES: LazyLock<Vec<HloCase>> = LazyLock::new(|| {
    cases("hlo_cases", |record| base64::decode(record["module"].as_str().unwrap()))
});

static STABLEHLO_CASES: LazyLock<Vec<HloCase>> = LazyLock::new(|| {
    cases("stablehlo_cases", |record| record["text"].as_str().unwrap().as_bytes().to_vec())
});

/// Reads the cases of a file, one on each line.
fn cases(name: &str, bytes: impl Fn(&Value) -> Vec<u8>) -> Vec<HloCase> {
    let path = format!("{}/tests/data/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let case = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap().to_owned();
        HloCase { id, bytes: bytes(&record), record }
    };
    text.lines().map(case).collect()
}

/// A module that JAX or XLA wrote.
pub struct HloCase {
    pub id: String,
    /// The serialized module, or its text.
    pub bytes: Vec<u8>,
    pub record: Value,
}

impl HloCase {
    /// True if XLA runs the module, so that there are outputs.
    pub fn is_ok(&self) -> bool {
        self.record["expect"] == "ok"
    }

    /// True if XLA refuses the module.
    pub fn is_invalid(&self) -> bool {
        self.record["expect"] == "invalid"
    }

    /// The features that the module uses beyond the core.
    pub fn needs(&self) -> String {
        let needs = self.record["needs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let needs: Vec<&str> = needs.iter().map(|need| need.as_str().unwrap()).collect();
        if needs.is_empty() { "core".to_owned() } else { needs.join(" + ") }
    }

    /// The images of the parameters.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        self.images("inputs")
    }

    /// The images of the results, as XLA computed them.
    pub fn outputs(&self) -> Vec<Vec<u8>> {
        self.images("outputs")
    }

    fn images(&self, field: &str) -> Vec<Vec<u8>> {
        let images = self.record[field].as_array().map(Vec::as_slice).unwrap_or_default();
        images.iter().map(|image| base64::decode(image["data"].as_str().unwrap())).collect()
    }

    /// Reads the module.
    pub fn module(&self) -> Result<Module, HloError> {
        match self.record["text"].as_str() {
            Some(text) => Module::parse(text),
            None => Module::decode(&self.bytes),
        }
    }

    /// Lowers the module.
    pub fn lower(&self) -> Result<Program, Error> {
        Ok(Program::lower(&self.module()?)?)
    }
}

/// Returns all cases, which are read once.
pub fn hlo_cases() -> &'static [HloCase] {
    &CASES
}

/// Returns all cases of StableHLO text, which are read once.
pub fn stablehlo_cases() -> &'static [HloCase] {
    &STABLEHLO_CASES
}

/// Runs every case that has outputs, and compares these byte for byte.
pub fn check_outputs(
    cases: &[HloCase],
    mut run: impl FnMut(&Program, &[&[u8]]) -> Result<Vec<Vec<u8>>, Error>,
) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for case in cases.iter().filter(|case| case.is_ok()) {
        let (inputs, needs) = (case.inputs(), case.needs());
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        match case.lower().and_then(|program| run(&program, &inputs)) {
            Ok(outputs) if outputs == case.outputs() => *counts.entry(needs).or_default() += 1,
            Ok(_) => faults.push(format!("{}: other bytes", case.id)),
            Err(error) => faults.push(format!("{} ({needs}): {error}", case.id)),
        }
    }
    for (needs, exact) in &counts {
        println!("{needs}: {exact} exact");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
