//! Recorded modules, with their inputs and the outputs that XLA computed. The files are
//! `hlo_cases.jsonl`, `stablehlo_cases.jsonl`, `donated_cases.jsonl` and `scatter_rows_cases.jsonl`
//! in `tests/data`.

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

static CONVERT_CASES: LazyLock<Vec<HloCase>> = LazyLock::new(|| {
    cases("convert_cases", |record| base64::decode(record["module"].as_str().unwrap()))
});

static DONATED_CASES: LazyLock<Vec<HloCase>> = LazyLock::new(|| {
    cases("donated_cases", |record| base64::decode(record["module"].as_str().unwrap()))
});

static SCATTER_ROWS_CASES: LazyLock<Vec<HloCase>> = LazyLock::new(|| {
    cases("scatter_rows_cases", |record| base64::decode(record["module"].as_str().unwrap()))
});

/// Reads the cases of `tests/data/{name}.jsonl`, one on each line. `bytes` returns the module of a
/// line.
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

/// A module that JAX or XLA wrote, and what XLA does with it.
pub struct HloCase {
    /// The name of the case, for messages.
    pub id: String,
    /// The serialized module, or its text.
    pub bytes: Vec<u8>,
    /// The line of the file, which also has the inputs and the outputs.
    pub record: Value,
}

impl HloCase {
    /// Returns true if XLA runs the module, so that there are outputs.
    pub fn is_ok(&self) -> bool {
        self.record["expect"] == "ok"
    }

    /// Returns true if XLA refuses the module.
    pub fn is_invalid(&self) -> bool {
        self.record["expect"] == "invalid"
    }

    /// Returns the features that the module uses beyond the core, or `core` if there are none. The
    /// results are counted by this text.
    pub fn needs(&self) -> String {
        let needs = self.record["needs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let needs: Vec<&str> = needs.iter().map(|need| need.as_str().unwrap()).collect();
        if needs.is_empty() { "core".to_owned() } else { needs.join(" + ") }
    }

    /// Returns the images of the parameters, which are the bytes of their memory.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        self.images("inputs")
    }

    /// Returns the images of the results, as XLA computed them.
    pub fn outputs(&self) -> Vec<Vec<u8>> {
        self.images("outputs")
    }

    /// Returns the images in a field of the record: bytes in base64, or the product of a generator.
    fn images(&self, field: &str) -> Vec<Vec<u8>> {
        let images = self.record[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let bytes = |image: &Value| match image["data"].as_str() {
            Some(data) => base64::decode(data),
            None => generated(image),
        };
        images.iter().map(bytes).collect()
    }

    /// Returns true if these are the images of the results. The record has only the CRC of a large
    /// image.
    pub fn has_outputs(&self, images: &[Vec<u8>]) -> bool {
        let expected = self.record["outputs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_same = |(expected, image): (&Value, &Vec<u8>)| match expected["crc32"].as_str() {
            Some(crc) => expected["bytes"] == image.len() && crc == format!("{:08x}", crc32(image)),
            None => base64::decode(expected["data"].as_str().unwrap()) == *image,
        };
        expected.len() == images.len() && expected.iter().zip(images).all(is_same)
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

/// Returns all cases of HLO protos. The file is read once.
pub fn hlo_cases() -> &'static [HloCase] {
    &CASES
}

/// Returns all cases of StableHLO text. The file is read once.
pub fn stablehlo_cases() -> &'static [HloCase] {
    &STABLEHLO_CASES
}

/// Returns the modules that convert elements.
pub fn convert_cases() -> &'static [HloCase] {
    &CONVERT_CASES
}

/// Returns the modules that JAX compiled with donated arguments: parameters whose buffers the
/// results may overwrite.
pub fn donated_cases() -> &'static [HloCase] {
    &DONATED_CASES
}

/// Returns the scatters and gathers of many rows.
pub fn scatter_rows_cases() -> &'static [HloCase] {
    &SCATTER_ROWS_CASES
}

/// Returns the image of an input that the record describes by a formula, in row-major order. The
/// formula makes indices, or words that are cut to the width of the element.
fn generated(image: &Value) -> Vec<u8> {
    let dims = image["dims"].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap());
    let (count, dtype) = (dims.product::<u64>(), image["dtype"].as_str().unwrap());
    let bytes = match dtype {
        "u8" | "s8" | "pred" => 1,
        "bf16" | "f16" => 2,
        "f32" | "s32" | "u32" => 4,
        _ => 8,
    };
    let generator = &image["generator"];
    if let Some(numbers) = generator["indices"].as_array() {
        let [a, b, n, offset] = [0, 1, 2, 3].map(|at| numbers[at].as_i64().unwrap());
        let index = |k: u64| (a * k.cast_signed() + b).rem_euclid(n) + offset;
        return (0..count).flat_map(|k| index(k).to_le_bytes()[..bytes].to_vec()).collect();
    }
    let first = generator["values"].as_u64().unwrap();
    let word = |j: u64| ((j + first) * 2_654_435_761) & 0xffff_ffff;
    let element = |k: u64| match bytes {
        1 => word(k) >> 24,
        2 => word(k) >> 16,
        4 => word(k),
        _ => word(2 * k) | word(2 * k + 1) << 32,
    };
    let is_float = ["f32", "f64", "bf16"].contains(&dtype);
    let cut = if is_float { !(1 << (bytes * 8 - 2)) } else { u64::MAX };
    (0..count).flat_map(|k| (element(k) & cut).to_le_bytes()[..bytes].to_vec()).collect()
}

/// Returns the CRC-32 of zlib.
pub fn crc32(bytes: &[u8]) -> u32 {
    let of_byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(!0, of_byte)
}

/// Runs every case that has outputs, and compares these byte for byte. Prints the number of equal
/// cases by the features that they need.
///
/// # Panics
///
/// Panics with a list of the cases that fail or have other bytes.
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
            Ok(outputs) if case.has_outputs(&outputs) => *counts.entry(needs).or_default() += 1,
            Ok(_) => faults.push(format!("{}: other bytes", case.id)),
            Err(error) => faults.push(format!("{} ({needs}): {error}", case.id)),
        }
    }
    for (needs, exact) in &counts {
        println!("{needs}: {exact} exact");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
