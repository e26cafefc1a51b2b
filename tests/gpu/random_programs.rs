//! Random programs on the GPU, compared with an interpreter of HLO.

use std::{collections::BTreeSet, sync::Mutex};

use rayon::prelude::*;
use stridec::{hlo::Module, program::Program};

use super::support::{
    gpu::gpu,
    programs::{
        chains::{self, Limits},
        check_random_programs, generate, interpreter,
    },
    random::Random,
    scope,
};

/// Padding in the tiles of the result is tested before the padding of the program, although the
/// first test needs a division and the second one does not.
#[test]
fn empty_tiles_come_before_padding() {
    let Some(gpu) = gpu("tiles and padding on the GPU") else { return };
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

#[test]
fn the_gpu_agrees_with_the_oracle() {
    let Some(gpu) = gpu("random programs on the GPU") else { return };
    let (target, texts) = (gpu.limits().target("the GPU"), Mutex::new(BTreeSet::new()));
    check_random_programs(scope::cases(200), |program, images| {
        let kernels = program.compile_unvalidated(&target).unwrap_or_default();
        let code = |line: &str| line.split("//").next().unwrap_or_default().trim_end().to_owned();
        let kernels =
            kernels.iter().map(|kernel| kernel.wgsl.lines().map(code).collect::<String>());
        texts.lock().unwrap().extend(kernels);
        Ok(gpu.run_program(program, images)?)
    });
    println!("{} distinct kernels on {}", texts.lock().unwrap().len(), gpu.name());
}

/// A sample of the chains that `tests/it/programs/chains.rs` runs on the host.
#[test]
fn random_chains_are_equal_to_the_oracle() {
    let Some(gpu) = gpu("random chains on the GPU") else { return };
    (0..scope::cases(150)).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 8);
        let limits = Limits { elements: 20_000, steps: 12, only_shapes: random.one_in(3) };
        let module = chains::chain(&mut random, limits).module;
        let images = generate::images(&mut random, &module);
        let expected = interpreter::run(&module, &images).expect("an interpreter of all of it");
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let program = Program::lower(&module).unwrap();
        let given = gpu.run_program(&program, &images);
        let given = given.unwrap_or_else(|error| panic!("{seed}: {error}\n{module:#?}"));
        assert!(given == expected, "{seed}: other bytes\n{module:#?}");
    });
    println!("{} chains on {}", scope::cases(150), gpu.name());
}
