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
use stridec::{
    Error, ErrorKind, Kernel, Target,
    hlo::Module,
    program::{Program, compile_module},
};
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
        let outcome = match Program::lower(&module)
            .map_err(Error::from)
            .and_then(|program| run(&program, &images))
        {
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
    random_programs(scope::cases(10_000), |program, images| Ok(program.run_on_host(images)?));
}

/// Tiles of the result that hold no element, told by a quotient, and padding of the program, told by axes alone: the
/// first decides, whatever is cheaper to ask.
#[cfg(feature = "gpu")]
#[test]
fn empty_tiles_come_before_padding() {
    let Some(gpu) = support::gpu::gpu("tiles and padding on the GPU") else { return };
    let text = "HloModule m, entry_computation_layout={(c64[2,4,3]{1,2,0:T(4)(3,2)L(2)})->c64[9,7,5]{1,2,0:T(8)(1,5)(*,2)}}
        ENTRY main {
          x = c64[2,4,3] parameter(0)
          c = c64[] constant((1, 2))
          p = c64[5,7,9] pad(x, c), padding=2_1x1_2x3_3
          ROOT t = c64[9,7,5] transpose(p), dimensions={2,1,0}
        }";
    let module = Module::parse(text).unwrap();
    let images = generate::images(&mut Random(1), &module);
    let expected = interpreter::run(&module, &images).unwrap();
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let program = Program::lower(&module).unwrap();
    assert!(gpu.run_program(&program, &images).unwrap() == expected);
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_agrees_with_the_oracle() {
    let Some(gpu) = support::gpu::gpu("random programs on the GPU") else { return };
    let (target, texts) =
        (gpu.limits().target("the GPU"), Mutex::new(std::collections::BTreeSet::new()));
    random_programs(scope::cases(200), |program, images| {
        let kernels = program.compile_unvalidated(&target).unwrap_or_default();
        let code = |line: &str| line.split("//").next().unwrap_or_default().trim_end().to_owned();
        let kernels =
            kernels.iter().map(|kernel| kernel.wgsl.lines().map(code).collect::<String>());
        texts.lock().unwrap().extend(kernels);
        Ok(gpu.run_program(program, images)?)
    });
    println!("{} distinct kernels on {}", texts.lock().unwrap().len(), gpu.name());
}

/// Where `STRIDEC_WGSL` names a folder, the kernels are written to it, for other validators.
#[test]
fn kernels_of_random_programs_are_valid() {
    let folder = std::env::var_os("STRIDEC_WGSL").map(std::path::PathBuf::from);
    if let Some(folder) = &folder {
        std::fs::create_dir_all(folder).unwrap();
    }
    let count: usize = (0..scope::cases(500))
        .into_par_iter()
        .map(|seed| {
            let module = generate::module(&mut Random((seed << 32) + 13));
            if Program::lower(&module).is_err() {
                return 0;
            }
            let kernels: Vec<Kernel> = [Target::webgpu(), Target::webgpu_cpu()]
                .iter()
                .flat_map(|target| compile_module(&module, target).unwrap().kernels().to_vec())
                .filter(|kernel| !kernel.dispatches.is_empty())
                .collect();
            for (number, kernel) in kernels.iter().enumerate() {
                if let Some(folder) = &folder {
                    let name = folder.join(format!("program-{seed}-{number}.wgsl"));
                    std::fs::write(name, &kernel.wgsl).unwrap();
                }
            }
            kernels.len()
        })
        .sum();
    println!("{count} kernels");
    assert!(count > 0);
}
