//! Programs: what XLA made of its modules, and random modules against an oracle that goes instruction by instruction.

#[path = "../support/base64.rs"]
mod base64;
#[allow(dead_code)]
#[path = "../hlo/cases.rs"]
mod cases;
mod generate;
mod interpreter;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use stridec::hlo::Module;
use support::{random::Random, scope};

use cases::cases;

fn images(record: &Value, of: &str) -> Vec<Vec<u8>> {
    let images = record[of].as_array().unwrap();
    images.iter().map(|image| base64::decode(image["data"].as_str().unwrap())).collect()
}

/// The oracle itself is held to what XLA computed.
#[test]
fn the_oracle_agrees_with_xla() {
    let (mut equal, mut not_interpreted) = (0, BTreeMap::<String, u32>::new());
    for case in cases().iter().filter(|case| case.record["expect"] == "ok") {
        let module = Module::decode(&case.bytes).unwrap();
        match interpreter::run(&module, &images(&case.record, "inputs")) {
            Some(out) => {
                assert_eq!(out, images(&case.record, "outputs"), "{}", case.id);
                equal += 1;
            }
            None => *not_interpreted.entry(case.record["needs"].to_string()).or_default() += 1,
        }
    }
    println!("{equal} equal; not interpreted: {not_interpreted:?}");
    assert!(not_interpreted.is_empty());
}

#[test]
fn random_programs_are_valid() {
    let mut opcodes = BTreeMap::new();
    for seed in 0..scope::cases(2_000) {
        let mut random = Random((seed << 32) + 5);
        let module = generate::module(&mut random);
        let images = generate::images(&mut random, &module);
        assert!(interpreter::run(&module, &images).is_some(), "{module:?}");
        for instruction in module.instructions() {
            *opcodes.entry(instruction.opcode().name().to_owned()).or_insert(0) += 1;
        }
    }
    println!("{opcodes:?}");
}
