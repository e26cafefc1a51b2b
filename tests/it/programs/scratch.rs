//! Programs that need several kernels: their scratch buffers, and errors at limits.

use stridec::{
    ErrorKind, Target,
    hlo::{Builder, Module, Opcode, SliceDimension},
    program::{BufferId, Program, ProgramError, compile_in_place, compile_module},
    schedule::ScheduleError,
};

use super::support::scratch::{self, ScratchCase};

/// Checks the number of steps of the lowered and of the compiled program, and the result on the
/// host.
fn check(case: &ScratchCase, steps: [usize; 2]) {
    let [lowered, compiled] = case.programs();
    for (program, steps) in [(&lowered, steps[0]), (&compiled, steps[1])] {
        assert_eq!((program.steps().len(), program.scratch().len()), (steps, steps - 1));
        assert_eq!(program.run_on_host(&case.sources()).unwrap(), [case.expected.as_slice()]);
    }
    assert!(compiled.steps().iter().all(|step| step.sources().len() <= 7));
    assert_eq!(compiled.kernels().len(), steps[1]);
}

/// On the host, a step reads any number of buffers. A kernel binds 7 sources, so the smallest
/// buffers are packed first.
#[test]
fn concatenations_of_many_parameters() {
    for (case, kernels) in scratch::concatenations() {
        check(&case, [1, kernels]);
    }
}

#[test]
fn a_stack_of_many_parameters() {
    check(&scratch::stack(), [1, 3]);
}

/// The buffers with the starts of dynamic slices are sources too.
#[test]
fn starts_of_many_dynamic_slices() {
    check(&scratch::dynamic_slices(), [1, 4]);
}

/// A value with 256 paths to its sources would exceed the bounds of a kernel, so it is computed
/// once for each level.
#[test]
fn a_value_that_doubles_at_each_level_passes_through_scratch() {
    let case = scratch::doubling();
    let steps = Program::lower(&case.module).unwrap().steps().len();
    assert!((2..=4).contains(&steps), "{steps}");
    check(&case, [steps, steps]);
}

/// A scratch buffer that the target cannot bind is refused with its name, its size and the limit.
/// The host has no such limit.
#[test]
fn a_scratch_past_the_binding_limit_is_refused() {
    let mut builder = Builder::new("slices");
    let mut parts = Vec::new();
    for _ in 0..8 {
        let array = builder.parameter("u8[3000000]".parse().unwrap()).unwrap();
        let dimensions = vec![SliceDimension { start: 1, limit: 11, stride: 1 }];
        parts.push(builder.add(Opcode::Slice { dimensions }, &[array]).unwrap());
    }
    let root = builder.add(Opcode::Concatenate { dimension: 0 }, &parts).unwrap();
    let module = builder.finish("main", root).unwrap();
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 1 << 22;
    let error = compile_module(&module, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "kernel of scratch 0, u8[6000000]: destination: expected an image of at most 4194304 bytes, \
         which is what target webgpu binds, got 6000000; `run_on_host` runs the program, and so \
         may kernels for parts of result 0, which needs this one"
    );
    let images = vec![vec![7; 3_000_000]; 8];
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    assert_eq!(Program::lower(&module).unwrap().run_on_host(&images).unwrap(), [[7; 80]]);
}

/// A program that was only lowered has no kernels for steps that read too many sources, until the
/// sources are packed.
#[test]
fn a_step_of_eight_sources_is_packed_first() {
    let case = scratch::concatenate(8, "u8", 3);
    let lowered = Program::lower(&case.module).unwrap();
    let compiled = lowered.clone().compiled(&Target::webgpu()).unwrap();
    assert_eq!(compiled, compile_module(&case.module, &Target::webgpu()).unwrap());
    assert_eq!((compiled.steps().len(), compiled.kernels().len()), (2, 2));
    let error = lowered.compile(&Target::webgpu()).unwrap_err();
    let ProgramError::Kernel { destination, results, error, .. } = error else { panic!("{error}") };
    assert_eq!((destination, results), (BufferId::Result(0), vec![0]));
    assert_eq!(*error, ScheduleError::Sources { given: 8, limit: 7 });
}

/// If a target binds fewer buffers, more steps are added that pack buffers.
#[test]
fn packing_respects_the_buffers_that_a_target_binds() {
    let mut cases: Vec<ScratchCase> = scratch::concatenations().map(|(case, _)| case).collect();
    cases.extend([scratch::concatenate(6, "u8", 3), scratch::stack(), scratch::dynamic_slices()]);
    for case in &cases {
        for most in 3..8 {
            let mut target = Target::webgpu();
            target.max_storage_buffers_per_shader_stage = most;
            let program = compile_module(&case.module, &target).unwrap();
            let bound = program.kernels().iter().map(|kernel| kernel.bindings.len()).max();
            assert!(bound <= usize::try_from(most).ok(), "{bound:?}");
            assert_eq!(program.run_on_host(&case.sources()).unwrap(), [case.expected.as_slice()]);
        }
    }
    let mut target = Target::webgpu();
    for (most, says) in [
        (
            2,
            "sources: expected at most 1, as many as the target binds beside the destination, got ",
        ),
        (1, "target.max_storage_buffers_per_shader_stage: expected at least 2, got 1"),
    ] {
        target.max_storage_buffers_per_shader_stage = most;
        let error = compile_module(&cases[0].module, &target).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// A binding is a whole number of words. Parameters that no kernel binds take nothing, unless a
/// result takes them over.
#[test]
fn bindings_hold_their_buffers() {
    let text = "HloModule m, input_output_alias={ {1}: (1, {}, may-alias) }
        ENTRY e {
          x = u8[5] parameter(0)
          y = u8[7] parameter(1)
          z = u8[9] parameter(2)
          r = u8[5] reverse(x), dimensions={0}
          ROOT t = (u8[5], u8[7]) tuple(r, y)
        }";
    let program = compile_in_place(&Module::parse(text).unwrap(), &Target::webgpu()).unwrap();
    assert_eq!(program.aliases().len(), 1);
    let bytes = |value| program.binding_bytes(value);
    assert_eq!([0, 1, 2].map(|number| bytes(BufferId::Parameter(number))), [8, 8, 0]);
    assert_eq!([0, 1].map(|number| bytes(BufferId::Result(number))), [8, 8]);
}

/// The stages of one result have its steps only.
#[test]
fn stages_of_a_result_are_those_of_its_steps() {
    let text = "HloModule m
        ENTRY e {
          x = u8[5] parameter(0)
          y = u8[7] parameter(1)
          a = u8[5] reverse(x), dimensions={0}
          b = u8[7] reverse(y), dimensions={0}
          ROOT t = (u8[5], u8[7]) tuple(a, b)
        }";
    let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
    let target = Target::webgpu();
    let [all, first, second] = [
        program.stages(&target).unwrap(),
        program.stages_of(0, &target).unwrap(),
        program.stages_of(1, &target).unwrap(),
    ];
    let count = |text: &str| text.matches(": its nest").count();
    assert_eq!([&all, &first, &second].map(|text| count(text)), [2, 1, 1], "{all}");
    assert!(first != second && first.starts_with("m\n\n== buffers\n"), "{first}");
}
