//! Copies on the GPU that keep the contents of the destination between elements. They are compared
//! with the oracle, also in parts and on the caller's buffers.

use stridec::{
    Operation, Target,
    internals::keep_gaps,
    nest::{self, Gaps},
    schedule::schedule,
    wgsl,
};

use super::support::{
    gpu::gpu,
    oracle,
    random::{self, Random},
    scope::cases,
};

#[test]
fn random_operations_keep_every_other_bit() {
    let Some(gpu) = gpu("random_operations_keep_every_other_bit") else { return };
    let cases = cases(60);
    let (mut ran, mut parts) = (0, 0);
    for case in 0..cases {
        let mut random = Random((case << 8) + 40);
        let makes = [random::operation, random::relayout, random::runs, random::padded_tiles];
        let make = makes[usize::try_from(case % 4).unwrap()];
        let random::Operation { source, destination, window, .. } = make(&mut random);
        let Ok(nest) = nest::lower(&source, &destination, &window).map(keep_gaps) else {
            continue;
        };
        let image = random.bytes(source.image_bytes());
        let before = random.bytes(destination.image_bytes());
        let mut expected = before.clone();
        oracle::keep(&source, &destination, &window, &image, &mut expected);
        let target = random.pick(&[Target::webgpu as fn() -> Target, Target::webgpu_cpu])();
        let kernel = wgsl::emit(&schedule(nest.clone(), &target).unwrap(), &target, &[]);
        let mut out = before.clone();
        gpu.run(&kernel, &image, &mut out).unwrap();
        assert!(out == expected, "{case}: {nest}\n{}", kernel.wgsl);
        if case % 8 == 0 {
            let mut small = target;
            small.max_storage_buffer_binding_size = 64.max(nest.dst_bytes() / 4);
            let mut out = before.clone();
            gpu.run_in_parts(&nest, &small, &image, &mut out, |_| parts += 1).unwrap();
            assert!(out == expected, "{case}, in parts: {nest}");
        }
        ran += 1;
    }
    assert!(ran >= cases / 10 * 8 && parts > 0, "{ran} of {cases}, {parts} parts");
}

/// Updates one row of a cache that stays in the caller's buffer on the device.
#[test]
fn a_row_of_a_buffer_on_the_device() {
    let Some(gpu) = gpu("a_row_of_a_buffer_on_the_device") else { return };
    let [row, cache] = ["bf16[2,1,7]", "bf16[2,9,7]"].map(|text| text.parse().unwrap());
    let operation = Operation::update(row, cache, &[0, 4, 0]).unwrap();
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    assert_eq!(kernel.gaps, Gaps::Keep);
    let mut random = Random(1);
    let image = random.bytes(kernel.source_bytes);
    let mut expected = random.bytes(kernel.destination_bytes);
    let (source, destination) = (gpu.upload(&image).unwrap(), gpu.upload(&expected).unwrap());
    gpu.dispatch(&kernel, &source, &destination).unwrap();
    let mut out = vec![0; expected.len()];
    gpu.download(&destination, &mut out).unwrap();
    operation.run_on_host(&image, &mut expected).unwrap();
    assert_eq!(out, expected);
}
