//! Programs of which one kernel is not enough: scratch buffers, their number, and what happens at limits.

use stridec::{
    ErrorKind, Target,
    hlo::{Builder, Module, Opcode, SliceDimension},
    program::{Program, ProgramError, compile_module},
    schedule::ScheduleError,
};

#[cfg(feature = "gpu")]
use crate::gpu;

/// Bytes that differ from number to number.
pub(crate) fn bytes(count: usize, start: usize) -> Vec<u8> {
    (start..start + count)
        .map(|byte| (byte * 7).to_le_bytes()[0] ^ (byte >> 6).to_le_bytes()[0])
        .collect()
}

/// A concatenation of so many parameters along their first dimension, number n of n % 3 + 1 rows, and its parameters.
fn concatenate(count: usize, element: &str, columns: usize) -> (Module, Vec<Vec<u8>>) {
    let mut builder = Builder::new("concatenate");
    let (mut operands, mut images) = (Vec::new(), Vec::new());
    for number in 0..count {
        let rows = number % 3 + 1;
        let shape = format!("{element}[{rows},{columns}]").parse().unwrap();
        operands.push(builder.parameter(shape).unwrap());
        let width = if element == "f32" { 4 } else { 1 };
        images.push(bytes(rows * columns * width, 31 * number));
    }
    let root = builder.add(Opcode::Concatenate { dimension: 0 }, &operands).unwrap();
    (builder.finish("main", root).unwrap(), images)
}

/// A stack of so many parameters along a new innermost dimension, and its parameters.
fn stack(count: usize) -> (Module, Vec<Vec<u8>>) {
    let mut builder = Builder::new("stack");
    let (mut operands, mut images) = (Vec::new(), Vec::new());
    for number in 0..count {
        let operand = builder.parameter("f32[3,5]".parse().unwrap()).unwrap();
        let column = "f32[3,5,1]".parse().unwrap();
        operands.push(builder.add_as(Opcode::Reshape, &[operand], column).unwrap());
        images.push(bytes(60, 17 * number));
    }
    let root = builder.add(Opcode::Concatenate { dimension: 2 }, &operands).unwrap();
    (builder.finish("main", root).unwrap(), images)
}

/// Runs the program as it is lowered and as it is compiled, on the host and, where there is one, on a GPU.
fn check(module: &Module, images: &[Vec<u8>], expected: &[u8], steps: [usize; 2]) {
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let lowered = Program::lower(module).unwrap();
    let compiled = compile_module(module, &Target::webgpu()).unwrap();
    for (program, steps) in [(&lowered, steps[0]), (&compiled, steps[1])] {
        assert_eq!((program.steps().len(), program.scratch().len()), (steps, steps - 1));
        assert_eq!(program.run_on_host(&images).unwrap(), [expected]);
        #[cfg(feature = "gpu")]
        if let Some(gpu) = gpu::gpu("programs of many sources") {
            assert_eq!(gpu.run_program(program, &images).unwrap(), [expected]);
        }
    }
    assert!(compiled.steps().iter().all(|step| step.sources().len() <= 7));
    assert_eq!(compiled.kernels().len(), steps[1]);
}

/// The host reads any number of buffers in a step. A kernel binds 7: the smallest images are packed before.
#[test]
fn concatenations_of_many_parameters() {
    for (count, kernels) in [(7, 1), (8, 2), (9, 2), (13, 2), (14, 3), (30, 5), (100, 17)] {
        for (element, columns) in [("f32", 5), ("u8", 3)] {
            let (module, images) = concatenate(count, element, columns);
            check(&module, &images, &images.concat(), [1, kernels]);
        }
    }
}

#[test]
fn a_stack_of_many_parameters() {
    let (module, images) = stack(16);
    let units = (0..15).flat_map(|unit| images.iter().map(move |image| &image[unit * 4..][..4]));
    let expected: Vec<u8> = units.flatten().copied().collect();
    check(&module, &images, &expected, [1, 3]);
}

/// Starts of dynamic slices are read too: of many parameters, of several widths.
#[test]
fn starts_of_many_dynamic_slices() {
    let mut builder = Builder::new("starts");
    let (mut parts, mut images, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..9_usize {
        let array = builder.parameter("u16[9]".parse().unwrap()).unwrap();
        let (element, width) = [("s32", 4), ("u8", 1), ("s64", 8)][number % 3];
        let start = builder.parameter(format!("{element}[]").parse().unwrap()).unwrap();
        let slice = Opcode::DynamicSlice { sizes: vec![2] };
        parts.push(builder.add(slice, &[array, start]).unwrap());
        let array = bytes(18, 19 * number);
        // Past 7, the last start, it is clamped.
        let value = (number as u64 * 2).to_le_bytes()[..width].to_vec();
        let first = (number * 2).min(7) * 2;
        expected.extend(&array[first..first + 4]);
        images.extend([array, value]);
    }
    let root = builder.add(Opcode::Concatenate { dimension: 0 }, &parts).unwrap();
    check(&builder.finish("main", root).unwrap(), &images, &expected, [1, 4]);
}

/// A value that is used at two runtime starts at each of eight levels has 256 ways: it is computed once a level where a
/// kernel would pass its bounds.
#[test]
fn what_doubles_at_each_level_goes_through_scratch() {
    let mut builder = Builder::new("doubling");
    let mut value = builder.parameter("u8[64]".parse().unwrap()).unwrap();
    let starts: Vec<usize> =
        (0..2).map(|_| builder.parameter("s32[]".parse().unwrap()).unwrap()).collect();
    for _ in 0..8 {
        let sizes = || Opcode::DynamicSlice { sizes: vec![32] };
        let halves = starts.iter().map(|&start| builder.add(sizes(), &[value, start]).unwrap());
        let halves: Vec<usize> = halves.collect();
        value = builder.add(Opcode::Concatenate { dimension: 0 }, &halves).unwrap();
    }
    let module = builder.finish("main", value).unwrap();
    let array: Vec<u8> = (0..64).collect();
    let mut expected = array.clone();
    for _ in 0..8 {
        expected = [&expected[5..37], &expected[20..52]].concat();
    }
    let images = [array, vec![5, 0, 0, 0], vec![20, 0, 0, 0]];
    let steps = Program::lower(&module).unwrap().steps().len();
    assert!((2..=4).contains(&steps), "{steps}");
    check(&module, &images, &expected, [steps, steps]);
}

/// A scratch buffer that the target does not bind is refused by its name, with its size and the limit. The host has none.
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
         which is what target webgpu binds, got 6000000"
    );
    let images = vec![vec![7; 3_000_000]; 8];
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    assert_eq!(Program::lower(&module).unwrap().run_on_host(&images).unwrap(), [[7; 80]]);
}

/// What was only lowered has no kernel where a step reads too much.
#[test]
fn a_step_of_eight_sources_has_no_kernel() {
    let (module, _) = concatenate(8, "u8", 3);
    let error = Program::lower(&module).unwrap().compile(&Target::webgpu()).unwrap_err();
    let ProgramError::Kernel { error, .. } = error else { panic!("{error}") };
    assert_eq!(*error, ScheduleError::Sources { given: 8, limit: 7 });
}
