//! Programs on the GPU: the modules of `tests/data/hlo_cases.jsonl` and
//! `tests/data/stablehlo_cases.jsonl`, and programs that need several kernels.

use super::support::{
    gpu::gpu,
    hlo_cases::{check_outputs, hlo_cases, stablehlo_cases},
    scratch,
};

#[test]
fn outputs_are_equal_to_the_byte() {
    let Some(gpu) = gpu("programs on the GPU") else { return };
    for cases in [hlo_cases(), stablehlo_cases()] {
        check_outputs(cases, |program, images| Ok(gpu.run_program(program, images)?));
    }
}

#[test]
fn programs_of_several_kernels() {
    let Some(gpu) = gpu("programs of several kernels") else { return };
    let others = [scratch::stack(), scratch::dynamic_slices(), scratch::doubling()];
    let concatenations = scratch::concatenations().map(|(case, _)| case);
    for case in concatenations.chain(others) {
        for program in case.programs() {
            assert_eq!(
                gpu.run_program(&program, &case.sources()).unwrap(),
                [case.expected.as_slice()]
            );
        }
    }
}
