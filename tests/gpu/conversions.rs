//! Conversions of elements on the GPU, compared with the host and with recorded results.

use stridec::{Operation, Target, gpu::Gpu, nest::Conversion, shape::Shape};

use super::support::{
    conversions::{
        ConvertingRelayout, check_relayouts, converted, has_outputs, random_relayout, types, values,
    },
    gpu::gpu,
    hlo_cases::convert_cases,
    random::Random,
    scope::{cases, long_cases},
};

fn run(gpu: &Gpu, operation: &Operation, target: &Target, image: &[u8]) -> (Vec<u8>, String) {
    let kernel = operation.compile(target).unwrap();
    let mut out = vec![0xa5; usize::try_from(kernel.destination_bytes).unwrap()];
    gpu.run(&kernel, image, &mut out).unwrap();
    (out, kernel.wgsl.clone())
}

#[test]
fn relayouts_between_types_are_exact() {
    let Some(gpu) = gpu("relayouts between types") else { return };
    for target in [Target::webgpu(), Target::webgpu_cpu()] {
        check_relayouts(|operation, image| run(&gpu, operation, &target, image).0);
    }
}

#[test]
fn modules_that_convert_are_exact() {
    let Some(gpu) = gpu("modules that convert") else { return };
    for case in convert_cases() {
        let inputs = case.inputs();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let outputs = gpu.run_program(&case.lower().unwrap(), &inputs).unwrap();
        assert!(has_outputs(case, &outputs), "{}", case.id);
    }
}

/// Converts from every type to every other: all values of types of at most 16 bits, and special and
/// random values of the others.
#[test]
fn every_pair_of_types() {
    let Some(gpu) = gpu("every pair of types") else { return };
    let mut random = Random(390);
    for from in long_cases(types()) {
        let image = values(from, 1 << 16, &mut random);
        let count = image.len() as u64 * 8 / u64::from(from.storage_bits().unwrap());
        for to in types().into_iter().filter(|&to| to != from) {
            let conversion = Conversion::new(from, to).unwrap();
            let shape = |kind| Shape::new(kind, [count], None).unwrap().try_into().unwrap();
            let operation = Operation::relayout(shape(from), shape(to)).unwrap();
            let (out, wgsl) = run(&gpu, &operation, &Target::webgpu(), &image);
            let expected = converted(conversion, &image);
            let width = usize::try_from(to.storage_bits().unwrap() / 8).unwrap();
            let differs = out.chunks(width).zip(expected.chunks(width)).position(|(a, b)| a != b);
            if let Some(at) = differs {
                let bytes = usize::try_from(from.storage_bits().unwrap() / 8).unwrap();
                let [given, expected] =
                    [&out, &expected].map(|of| &of[at * width..(at + 1) * width]);
                let value = &image[at * bytes..(at + 1) * bytes];
                panic!("{conversion} of {value:02x?}: {given:02x?}, not {expected:02x?}\n{wgsl}");
            }
        }
    }
}

#[test]
fn random_layouts_between_types() {
    let Some(gpu) = gpu("random layouts between types") else { return };
    let mut random = Random(3902);
    for number in 0..cases(300) {
        let ConvertingRelayout { operation, image, expected, .. } = random_relayout(&mut random);
        let target = [Target::webgpu(), Target::webgpu_cpu()][usize::from(number % 2 == 0)].clone();
        let (out, wgsl) = run(&gpu, &operation, &target, &image);
        assert!(out == expected, "{} for {}\n{wgsl}", operation.title(), target.name);
    }
}
