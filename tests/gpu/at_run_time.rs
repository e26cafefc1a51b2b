//! Kernels with extents at run time on a device: one pipeline serves all extents, on host bytes and
//! on the caller's buffers.

use stridec::{Operation, Target, gpu::GpuError, nest::Gaps, request::AtRunTime};
use wgpu::BufferUsages;

use super::{
    handwritten::{buffer, part},
    support::{gpu::gpu, random::Random},
};

fn at_run_time(from: &str, to: &str, dimensions: &[usize]) -> AtRunTime {
    let operation = Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap();
    operation.at_run_time(dimensions).unwrap()
}

/// Runs operations at a few extents each, and compares the results with the host.
#[test]
fn kernels_at_several_extents() {
    let Some(gpu) = gpu("kernels_at_several_extents") else { return };
    let mut random = Random(72);
    for (from, to, dimensions, most) in [
        ("f32[64,19,76]", "f32[64,19,76]", &[0][..], &[64][..]),
        ("f32[64,3,20,24]", "f32[64,3,20,24]{1,3,2,0}", &[0], &[64]),
        ("bf16[9,12,5,6]", "bf16[9,12,5,6]{3,2,0,1}", &[1, 0], &[12, 9]),
        ("f16[7,6,16]", "f16[7,6,16]{2,0,1}", &[0], &[7]),
        ("f32[6,7,5]", "f32[6,7,5]{0,1,2}", &[2, 1, 0], &[5, 7, 6]),
        ("bf16[10,33,200]", "bf16[10,33,200]{2,1,0:T(8,128)(2,1)}", &[0], &[10]),
        ("s4[20,8,64]{2,1,0:E(4)}", "s4[20,8,64]{1,2,0:E(4)}", &[0], &[20]),
        ("u8[11,13,20]", "f32[11,13,20]{1,2,0}", &[0], &[11]),
        ("f64[5,4,9]", "f64[5,4,9]{1,2,0}", &[0], &[5]),
        ("c128[5,4,9]", "c128[5,4,9]{2,0,1}", &[0, 1], &[5, 4]),
    ] {
        let mut operation = at_run_time(from, to, dimensions);
        if random.one_in(2) {
            operation = operation.with_gaps(Gaps::Keep);
        }
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            let kernel = operation.compile(&target).unwrap();
            for _ in 0..5 {
                let extents: Vec<u64> = most.iter().map(|&most| random.below(most + 1)).collect();
                let exact = operation.with_extents(&extents).unwrap();
                let image = random.bytes(exact.source_descriptor().image_bytes());
                let mut expected = random.bytes(exact.destination_descriptor().image_bytes());
                let mut out = expected.clone();
                exact.run_on_host(&image, &mut expected).unwrap();
                gpu.run_with_extents(&kernel, &extents, &[&image], &mut out).unwrap();
                assert!(out == expected, "{from} to {to} at {extents:?}\n{}", kernel.wgsl);
            }
        }
    }
}

/// Records one kernel for every batch from 1 to 64 on buffers for 64 images. Only the uniform and
/// the number of workgroups change.
#[test]
fn one_recording_serves_every_batch() {
    let Some(gpu) = gpu("one_recording_serves_every_batch") else { return };
    let operation = at_run_time("f32[64,3,4,8]", "f32[64,3,4,8]{1,3,2,0}", &[0]);
    let kernel = operation.compile(&gpu.limits().target("device")).unwrap();
    let loops = &kernel.extents.as_ref().unwrap().loops;
    let mut random = Random(73);
    let image = random.bytes(kernel.source_bytes);
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let source = buffer(&gpu, kernel.source_bytes, storage);
    let destination = buffer(&gpu, kernel.destination_bytes, storage);
    let uniform = buffer(&gpu, 16, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
    gpu.queue().write_buffer(&source, 0, &image);
    let whole = |of| part(of, 0, kernel.source_bytes);
    let ranges = [whole(&source), whole(&destination)];
    let recording = gpu.bind_with_extents(&kernel, &ranges, &part(&uniform, 0, 16)).unwrap();
    for batch in 1..=64 {
        gpu.queue().write_buffer(&uniform, 0, &loops.uniform(&[batch]).unwrap());
        gpu.queue().write_buffer(&destination, 0, &vec![0xdb; image.len()]);
        let mut encoder = super::recording::encoder(&gpu);
        // If only the device knows the batch, the workgroups for 64 images serve it too.
        let dispatched = if batch % 2 == 0 { batch } else { 64 };
        recording.record(&mut encoder, &[dispatched]).unwrap();
        let out = super::recording::finish(&gpu, encoder, &destination);
        let exact = operation.with_extents(&[batch]).unwrap();
        let bytes = usize::try_from(exact.source_descriptor().image_bytes()).unwrap();
        let mut expected = vec![0xdb; image.len()];
        exact.run_on_host(&image[..bytes], &mut expected[..bytes]).unwrap();
        assert!(out == expected, "{batch}");
    }
}

/// A uniform that describes more items than the buffers have must not lead outside of them.
#[test]
fn a_uniform_that_lies_is_harmless() {
    let Some(gpu) = gpu("a_uniform_that_lies_is_harmless") else { return };
    let operation = at_run_time("f32[64,5,4]", "f32[64,5,4]{1,2,0}", &[0]);
    let kernel = operation.compile(&gpu.limits().target("device")).unwrap();
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let [source, destination] = [(); 2].map(|()| buffer(&gpu, 512, storage));
    let uniform = buffer(&gpu, 16, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
    gpu.queue().write_buffer(&source, 0, &[7; 512]);
    gpu.queue().write_buffer(&uniform, 0, &[0xff; 16]);
    let ranges = [part(&source, 0, 240), part(&destination, 0, 240)];
    let recording = gpu.bind_with_extents(&kernel, &ranges, &part(&uniform, 0, 16)).unwrap();
    let mut encoder = super::recording::encoder(&gpu);
    recording.record(&mut encoder, &[64]).unwrap();
    let out = super::recording::finish(&gpu, encoder, &destination);
    assert_eq!(out, [0; 512]);
}

#[test]
fn other_calls_refuse_a_kernel_with_extents() {
    let Some(gpu) = gpu("other_calls_refuse_a_kernel_with_extents") else { return };
    let operation = at_run_time("f32[8,5,4]", "f32[8,5,4]{1,2,0}", &[0]);
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    let (image, mut out) = ([0; 640], [0; 640]);
    let error = gpu.run(&kernel, &image, &mut out).unwrap_err();
    assert!(error.to_string().contains("run_with_extents"), "{error}");
    let fixed = operation.operation().compile(&Target::webgpu()).unwrap();
    let error = gpu.run_with_extents(&fixed, &[8], &[&image], &mut out).unwrap_err();
    assert!(matches!(error, GpuError::Bindings { .. }), "{error}");
    let error = gpu.run_with_extents(&kernel, &[9], &[&image], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "extents: expected at most 8 for d0, as compiled, got 9");
    let error = gpu.run_with_extents(&kernel, &[7], &[&image], &mut out).unwrap_err();
    assert!(matches!(error, GpuError::ImageSize { .. }), "{error}");
}
