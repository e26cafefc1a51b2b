//! Copies that exceed a target's limits and run in parts on the GPU. The results are compared with
//! the host.

use std::time::{Duration, Instant};

use stridec::{
    Error, ErrorKind, Operation, Target,
    gpu::GpuError,
    host,
    internals::Inspect,
    nest::{self, CopyNest, Operand},
    schedule::ScheduleError,
};

use super::support::{
    conversions::{ConvertingRelayout, random_relayout},
    gpu::gpu,
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
