//! Copies that exceed a target's limits and run in parts on the GPU. The results are compared with
//! the host.

use std::time::{Duration, Instant};

use stridec::{
    Error, ErrorKind, Operation, Target,
    gpu::GpuError,
    hlo::Module,
    host,
    internals::Inspect,
    nest::{self, CopyNest, Operand},
    program::{ArrayBuffer, BufferId, Program, ProgramError},
    schedule::ScheduleError,
};

use super::support::{
    conversions::{ConvertingRelayout, random_relayout},
    gpu::gpu,
    hlo_cases::{hlo_cases, stablehlo_cases},
    random::{self, Random},
    scope::{cases, given_cases, time},
};

/// Returns the target with bindings of at most `bytes` bytes.
fn small(mut target: Target, bytes: u64) -> Target {
    target.max_storage_buffer_binding_size = bytes;
    target
}

/// Runs a copy in parts and on the host, and returns the number of parts. Checks that the progress
/// ends at the size of the destination.
fn check(gpu: &stridec::gpu::Gpu, nest: &CopyNest, target: &Target, image: &[u8]) -> u64 {
    let mut expected = vec![0x5a; usize::try_from(nest.dst_bytes()).unwrap()];
    host::run(nest, image, &mut expected).unwrap();
    let mut out = vec![0xa5; expected.len()];
    let (mut parts, mut last) = (0, 0);
    gpu.run_in_parts(nest, target, image, &mut out, |done| {
        assert!(done >= last);
        (parts, last) = (parts + 1, done);
    })
    .unwrap();
    assert_eq!(last, nest.dst_units() * u64::from(nest.dst_bits()) / 8);
    assert!(out == expected, "{nest}");
    parts
}

/// Runs random operations in parts of 64 bytes and more, for twenty seconds or `STRIDEC_CASES` of
/// them.
#[test]
fn random_operations() {
    let Some(gpu) = gpu("random_operations") else { return };
    let mut random = Random(17);
    let (start, cases, most) = (Instant::now(), given_cases(), time(Duration::from_secs(20)));
    let (mut ran, mut parts) = (0, 0);
    for case in 0.. {
        if cases.map_or(start.elapsed() > most, |cases| case == cases) {
            break;
        }
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        let target = random.pick(&[Target::webgpu as fn() -> Target, Target::webgpu_cpu])();
        // Use at most a dozen parts, because each different nest among them is compiled.
        let bytes = random.pick(&[64, 128, 256, 1024, 4096]).max(nest.dst_bytes() / 6);
        let image = random.bytes(nest.src_bytes());
        parts += check(&gpu, &nest, &small(target, bytes), &image);
        ran += 1;
    }
    eprintln!("{ran} operations in {parts} parts");
    assert!(parts > ran && ran > 20, "{ran} operations in {parts} parts");
}

/// Runs relayouts between two element types in parts.
#[test]
fn random_conversions() {
    let Some(gpu) = gpu("random conversions in parts") else { return };
    let mut random = Random(39);
    let mut parts = 0;
    let count = cases(40);
    for _ in 0..count {
        let ConvertingRelayout { operation, image, .. } = random_relayout(&mut random);
        let nest = operation.nest();
        let bytes = random.pick(&[64, 256, 1024]).max(nest.dst_bytes() / 6);
        parts += check(&gpu, nest, &small(Target::webgpu(), bytes), &image);
    }
    assert!(parts > count, "{parts}");
}

/// Runs tensors of more than 128 MiB, the size that the WebGPU standard lets every kernel bind, as
/// `stridec run` does.
#[test]
fn tensors_past_a_binding() {
    let Some(gpu) = gpu("tensors_past_a_binding") else { return };
    let gpu = gpu.as_ref().clone();
    let target = gpu.limits().target("device");
    for (from, to) in [
        ("u8[8200,16384]{1,0}", "u8[8200,16384]{0,1}"),
        ("s4[8200,32769]{1,0:E(4)}", "s4[8200,32769]{0,1:E(4)}"),
    ] {
        let operation = Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap();
        let nest = operation.nest();
        assert!(nest.src_bytes() > 128 << 20);
        let mut image: Vec<u8> = (0..nest.src_bytes().div_ceil(8))
            .flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
            .collect();
        image.truncate(usize::try_from(nest.src_bytes()).unwrap());
        let start = Instant::now();
        let gpu = gpu.clone().with_cache_capacity(64);
        let parts = check(&gpu, nest, &target, &image);
        eprintln!("{from}: {parts} parts, {:?} with the host's run", start.elapsed());
        // Parts with equal nests share a kernel, and only the nest of the last part differs.
        let kernels = gpu.cache().len();
        assert!((16..32).contains(&parts) && kernels <= 2, "{kernels} kernels for {parts} parts");
    }
}

#[test]
fn what_no_part_fits_is_refused() {
    let Some(gpu) = gpu("what_no_part_fits") else { return };
    let relayout = |from: &str, to: &str| {
        Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap()
    };
    let operation = relayout("f64[2,3]", "f64[2,3]{0,1}");
    let run = |source: &[u8], target: Target| {
        gpu.run_in_parts(operation.nest(), &target, source, &mut [0; 48], |_| {}).unwrap_err()
    };
    let error = run(&[0; 48], small(Target::webgpu(), 4));
    let GpuError::Schedule(ScheduleError::Binding { given: 8, limit: 4, .. }) = error else {
        panic!("{error}");
    };
    assert!(error.is_beyond_limits() && Error::from(error).kind() == ErrorKind::Unsupported);
    let error = run(&[0; 47], Target::webgpu());
    assert_eq!(error, GpuError::ImageSize { operand: Operand::Source(0), given: 47, expected: 48 });
    // A copy without elements is not refused.
    let empty = relayout("f64[0,3]", "f64[0,3]{0,1}");
    gpu.run_in_parts(empty.nest(), &Target::webgpu(), &[], &mut [], |_| panic!("no part")).unwrap();
}

/// Runs recorded programs step by step, in parts of a dozen or fewer for each step. A program may
/// be refused if its lookups select elements of a buffer that is too large, or if it scatters.
#[test]
fn programs_in_parts() {
    let Some(gpu) = gpu("programs in parts") else { return };
    let mut random = Random(41);
    let (mut ran, mut kernels, mut refused) = (0, 0, 0);
    let every = if given_cases().is_some() { 1 } else { 8 };
    let all = hlo_cases().iter().chain(stablehlo_cases()).filter(|case| case.is_ok());
    for case in all.step_by(every) {
        let Ok(program) = case.lower() else { continue };
        let images = case.inputs();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let largest = program.results().iter().map(ArrayBuffer::bytes).max().unwrap_or(0);
        let bytes = random.pick(&[64, 128, 256, 1024]).max(largest / 6).next_multiple_of(16);
        match gpu.run_program_in_parts(&program, &small(Target::webgpu(), bytes), &images) {
            Ok((results, count)) => {
                assert!(case.has_outputs(&results), "{} in parts of {bytes} bytes", case.id);
                (ran, kernels) = (ran + 1, kernels + count);
            }
            Err(error) => {
                assert!(error.is_beyond_limits(), "{}: {error}", case.id);
                assert!(error.to_string().starts_with("kernel of "), "{}: {error}", case.id);
                refused += 1;
            }
        }
    }
    eprintln!("{ran} programs in {kernels} kernels, {refused} refused");
    assert!(ran > 50 && kernels > 2 * ran && refused * 5 < ran, "{ran} {kernels} {refused}");
}

/// Runs programs of more than 128 MiB as `stridec run` and Python do.
#[test]
fn programs_past_a_binding() {
    let Some(gpu) = gpu("programs past a binding") else { return };
    let limit = gpu.limits().max_storage_buffer_binding_size;
    let rows = limit / 16384 + 8;
    for text in [
        format!(
            "ENTRY e {{
               x = u8[16384,{rows}] parameter(0)
               y = u8[4,16384] parameter(1)
               t = u8[{rows},16384] transpose(x), dimensions={{1,0}}
               ROOT r = u8[{},16384] concatenate(t, y), dimensions={{0}}
             }}",
            rows + 4
        ),
        format!(
            "ENTRY e {{
               x = u8[{rows},16384] parameter(0)
               i = s32[] parameter(1)
               z = s32[] constant(0)
               ROOT r = u8[4,16384] dynamic-slice(x, i, z), dynamic_slice_sizes={{4,16384}}
             }}"
        ),
        format!(
            "ENTRY e {{
               m = pred[{rows},16384] parameter(0)
               z = u8[] constant(9)
               x = u8[16384] parameter(1)
               a = u8[{rows},16384] broadcast(x), dimensions={{1}}
               b = u8[{rows},16384] broadcast(z), dimensions={{}}
               ROOT r = u8[{rows},16384] select(m, a, b)
             }}"
        ),
    ] {
        let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
        let images = program.parameters().iter().map(|of| {
            let bytes = usize::try_from(of.bytes()).unwrap();
            if bytes == 4 { vec![0, 32, 0, 0] } else { (0..bytes).map(byte).collect::<Vec<u8>>() }
        });
        let images: Vec<Vec<u8>> = images.collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let start = Instant::now();
        let results = gpu.run_program(&program, &images).unwrap();
        eprintln!("{:?} on {}", start.elapsed(), gpu.name());
        assert!(results == program.run_on_host(&images).unwrap(), "{text}");
    }
}

/// Returns a byte of a buffer: a predicate in every second place, so that any buffer may have one.
fn byte(at: usize) -> u8 {
    u8::from(at.wrapping_mul(0x9e37_79b9) >> 13 & 1 == 1)
}

/// Indices that may select any element of a buffer that is too large, and scatters.
#[test]
fn programs_that_do_not_run_in_parts_are_refused() {
    let Some(gpu) = gpu("programs that do not run in parts") else { return };
    let gather = "ENTRY e {
        i = s32[64,1] parameter(0)
        x = f32[200,8] parameter(1)
        ROOT r = f32[64,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
      }";
    let scatter = "f { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
      ENTRY e {
        x = f32[200,8] parameter(0)
        i = s32[64,1] parameter(1)
        u = f32[64,8] parameter(2)
        ROOT r = f32[200,8] scatter(x, i, u), to_apply=f, update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1
      }";
    for (text, buffer, limit) in [
        (gather, Some(BufferId::Parameter(1)), 1024),
        (scatter, Some(BufferId::Parameter(2)), 1024),
    ] {
        let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
        let images: Vec<Vec<u8>> = program
            .parameters()
            .iter()
            .map(|of| vec![0; usize::try_from(of.bytes()).unwrap()])
            .collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let run =
            |limit| gpu.run_program_in_parts(&program, &small(Target::webgpu(), limit), &images);
        let error = run(limit).unwrap_err();
        assert_eq!(Error::from(error.clone()).kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        let GpuError::Program(ProgramError::Kernel { buffer: given, .. }) = error else {
            panic!("{text}")
        };
        assert_eq!(given, buffer, "{text}");
        assert!(text.contains("`run_on_host` runs the program"), "{text}");
        // A limit that is large enough for the whole operand is enough for all parts.
        assert_eq!(run(6400).unwrap().0, program.run_on_host(&images).unwrap());
    }
}
