//! Modules that XLA ran and random modules, compared with an interpreter that runs one instruction
//! after another.

mod mutations;
mod ways;

use std::collections::BTreeMap;

use rayon::prelude::*;
use stridec::{
    Kernel, Target,
    hlo::{Module, Opcode},
    program::{Program, compile_module},
};

use super::support::{
    self,
    hlo_cases::hlo_cases,
    programs::{check_random_programs, generate, interpreter},
    random::Random,
    scope,
};

/// The interpreter itself agrees with XLA.
#[test]
fn the_oracle_agrees_with_xla() {
    let (mut equal, mut not_interpreted) = (0, BTreeMap::<String, u32>::new());
    for case in hlo_cases().iter().filter(|case| case.is_ok()) {
        let module = Module::decode(&case.bytes).unwrap();
        match interpreter::run(&module, &case.inputs()) {
            Some(out) => {
                assert_eq!(out, case.outputs(), "{}", case.id);
                equal += 1;
            }
            None => *not_interpreted.entry(case.needs()).or_default() += 1,
        }
    }
    println!("{equal} equal; not interpreted: {not_interpreted:?}");
    assert!(not_interpreted.is_empty());
}

#[test]
fn the_host_agrees_with_the_oracle() {
    check_random_programs(scope::cases(10_000), |program, images| Ok(program.run_on_host(images)?));
}

#[test]
fn random_programs_scatter_to_two_arrays_and_reinterpret_tiles() {
    let (mut scatters, mut tiled) = (0, 0);
    for seed in 0..400 {
        let module = generate::module(&mut Random(seed << 32));
        for instruction in module.instructions() {
            let has_tiles = instruction.shape().layout().is_some_and(|of| !of.tiles.is_empty());
            match instruction.opcode() {
                Opcode::Scatter(_) if instruction.operands().len() == 5 => scatters += 1,
                Opcode::Bitcast if has_tiles => tiled += 1,
                _ => {}
            }
        }
    }
    assert!(scatters > 10 && tiled > 10, "{scatters} and {tiled}");
}

/// If `STRIDEC_WGSL` names a folder, the kernels are written to it, for other validators.
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
