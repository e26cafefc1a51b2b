//! Programs: what XLA made of its modules, and random modules against an oracle that goes instruction by instruction.

#[path = "../support/base64.rs"]
mod base64;
#[allow(dead_code)]
#[path = "../hlo/cases.rs"]
mod cases;
mod generate;
mod interpreter;
mod mutations;
#[path = "../support/mod.rs"]
mod support;
mod ways;

use std::{collections::BTreeMap, sync::Mutex};

use rayon::prelude::*;
use serde_json::Value;
use stridec::{Error, ErrorKind, hlo::Module, program::Program};
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

/// Runs random programs, and prints what became of them. One that is refused is refused as unsupported; every other one
/// gives the oracle's bytes.
fn random_programs(
    count: u64,
    run: impl Fn(&Program, &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> + Sync,
) {
    let outcomes = Mutex::new(BTreeMap::<String, u64>::new());
    (0..count).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 7);
        let module = generate::module(&mut random);
        let images = generate::images(&mut random, &module);
        let expected = interpreter::run(&module, &images).expect("an interpreter of all of it");
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let outcome = match Program::lower(&module).and_then(|program| run(&program, &images)) {
            Ok(out) => {
                assert!(out == expected, "{seed}: other bytes\n{module:#?}");
                "exact".to_owned()
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{seed}: {error}");
                let reason = error.to_string();
                let reason = reason.split_once("`: ").map_or(reason.as_str(), |(_, reason)| reason);
                format!("refused: {reason}")
            }
        };
        *outcomes.lock().unwrap().entry(outcome).or_default() += 1;
    });
    let outcomes = outcomes.into_inner().unwrap();
    for (outcome, count) in &outcomes {
        println!("{count} {outcome}");
    }
    assert!(outcomes["exact"] * 5 >= count * 4);
}

#[test]
fn the_host_agrees_with_the_oracle() {
    random_programs(scope::cases(10_000), Program::run_on_host);
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_agrees_with_the_oracle() {
    let Some(gpu) = support::gpu::gpu("random programs on the GPU") else { return };
    random_programs(scope::cases(200), |program, images| Ok(gpu.run_program(program, images)?));
}
