//! Programs on the GPU: the modules of `tests/data/hlo_cases.jsonl` and
//! `tests/data/stablehlo_cases.jsonl`, and programs that need several kernels.

use stridec::{
    gpu::{Buffer, GpuError},
    hlo::Module,
    program::{BufferId, Program, ProgramAlias, compile_in_place},
};

use super::support::{
    gpu::gpu,
    hlo_cases::{check_outputs, donated_cases, hlo_cases, scatter_rows_cases, stablehlo_cases},
    in_place::InPlaceCase,
    random::Random,
    scope::cases,
    scratch,
};

#[test]
fn outputs_are_equal_to_the_byte() {
    let Some(gpu) = gpu("programs on the GPU") else { return };
    for cases in [hlo_cases(), stablehlo_cases(), scatter_rows_cases()] {
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

/// Elements below a byte that are joined to wider elements, divided, padded and concatenated.
/// Results are compared with the host.
#[test]
fn bits_of_elements_below_a_byte() {
    let Some(gpu) = gpu("elements below a byte on the GPU") else { return };
    for (entry, instructions) in [
        ("(s4[37,2])->s8[37]", "p = s4[37,2] parameter(0)\nROOT b = s8[37] bitcast-convert(p)"),
        ("(f32[9])->s4[9,8]", "p = f32[9] parameter(0)\nROOT b = s4[9,8] bitcast-convert(p)"),
        (
            "(f32[9])->s4[9,8]{0,1:E(4)}",
            "p = f32[9] parameter(0)\nROOT b = s4[9,8]{0,1:E(4)} bitcast-convert(p)",
        ),
        ("(u1[11,2])->s2[11]", "p = u1[11,2] parameter(0)\nROOT b = s2[11] bitcast-convert(p)"),
        ("(s32[23])->s4[23]", "p = s32[23] parameter(0)\nROOT b = s4[23] convert(p)"),
        (
            "(s4[3], s4[5]{0:E(4)})->(s4[10], s8[5]{0:T(4)})",
            "p = s4[3] parameter(0)
             q = s4[5]{0:E(4)} parameter(1)
             n = s4[] constant(-3)
             j = s4[8] concatenate(p, q), dimensions={0}
             w = s4[10] pad(j, n), padding=1_1
             g = s4[5,2] reshape(w)
             b = s8[5] bitcast-convert(g)
             ROOT t = (s4[10], s8[5]) tuple(w, b)",
        ),
    ] {
        let text = format!(
            "HloModule m, entry_computation_layout={{{entry}}}\nENTRY e {{\n{instructions}\n}}"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let program = Program::lower(&module).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let image = |bytes: u64| -> Vec<u8> {
            (0..bytes).map(|n| u8::try_from((n * 89 + 7) % 251).unwrap()).collect()
        };
        let images: Vec<Vec<u8>> =
            program.parameters().iter().map(|parameter| image(parameter.bytes())).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let expected = program.run_on_host(&images).unwrap();
        assert_eq!(gpu.run_program(&program, &images).unwrap(), expected, "{text}");
    }
}

/// Programs that compute results in the buffers of parameters. The results are compared here;
/// `tests/it/checker/` checks the writes of each kernel.
#[test]
fn programs_in_place() {
    let Some(gpu) = gpu("programs in place") else { return };
    let mut honoured = 0;
    for case in donated_cases() {
        let target = gpu.limits().target("the tested device");
        let program = compile_in_place(&case.module().unwrap(), &target).unwrap();
        let images = case.inputs();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let outputs = gpu.run_program(&program, &images).unwrap();
        assert!(outputs == case.outputs(), "{}", case.id);

        let parameters: Vec<Buffer> =
            images.iter().map(|image| gpu.upload(image).unwrap()).collect();
        let own: Vec<Buffer> =
            program.results().iter().map(|of| gpu.allocate(of.bytes()).unwrap()).collect();
        let parameters: Vec<&Buffer> = parameters.iter().collect();
        let results: Vec<&Buffer> = (0..own.len())
            .map(|number| match program.home(BufferId::Result(number)) {
                BufferId::Parameter(parameter) => parameters[parameter],
                _ => &own[number],
            })
            .collect();
        gpu.dispatch_program(&program, &parameters, &results).unwrap();
        for (result, expected) in results.iter().zip(case.outputs()) {
            let mut bytes = vec![0; expected.len()];
            gpu.download(result, &mut bytes).unwrap();
            assert_eq!(bytes, expected, "{}", case.id);
        }
        honoured += program.aliases().len();
        if let [alias, ..] = program.aliases() {
            let mut results = results;
            results[alias.result] = &own[alias.result];
            let error = gpu.dispatch_program(&program, &parameters, &results).unwrap_err();
            let ProgramAlias { result, parameter } = *alias;
            assert_eq!(error, GpuError::NotInPlace { result, parameter });
        }
    }
    assert!(honoured > 110, "{honoured}");
}

/// Random programs in place give the same bytes as on the host, which are compared with the
/// interpreter elsewhere.
#[test]
fn random_programs_in_place() {
    let Some(gpu) = gpu("random programs in place") else { return };
    for seed in 0..cases(400) {
        let case = InPlaceCase::new(&mut Random((seed << 32) + 83));
        let program = Program::lower_in_place(&case.module).unwrap();
        let expected = program.run_on_host(&case.images()).unwrap();
        assert_eq!(gpu.run_program(&program, &case.images()).unwrap(), expected, "{}", case.text);
    }
}
