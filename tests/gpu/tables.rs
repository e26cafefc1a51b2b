//! Copies through tables on the GPU.

use stridec::{
    Operation, Target,
    gpu::GpuError,
    request::Table,
    run::{Device, Ran},
};

use super::support::{
    gpu::gpu,
    random::Random,
    scope::cases,
    tables::{TableRelayout, random_table_relayout},
};

#[test]
fn random_layouts_are_looked_up() {
    let Some(gpu) = gpu("random tables") else { return };
    let mut random = Random(3924);
    for number in 0..cases(300) {
        let table = random_table_relayout(&mut random);
        let TableRelayout { operation, expected, .. } = &table;
        let target = [Target::webgpu(), Target::webgpu_cpu()][usize::from(number % 2 == 0)].clone();
        let kernel = operation.compile(&target).unwrap();
        let mut out = vec![0xa5; expected.len()];
        gpu.run_sources(&kernel, &table.sources(), &mut out).unwrap();
        assert!(out == *expected, "{} for {}\n{}", operation.title(), target.name, kernel.wgsl);
    }
}

#[test]
fn a_device_is_given_the_table() {
    let Some(gpu) = gpu("a table") else { return };
    let table: Vec<u8> = (0..=255_u8).rev().collect();
    let (from, to) = ("u8[2,3]".parse().unwrap(), "u8[2,3]{0,1}".parse().unwrap());
    let operation = Operation::relayout(from, to).unwrap();
    let operation = operation.with_table(Table::new(table, None)).unwrap();
    let mut out = [0; 6];
    let ran = operation.run(Device::Gpu, &[0, 1, 2, 3, 4, 5], &mut out, |_| {}).unwrap();
    assert!(matches!(ran, Ran::OnGpu { parts: 1, .. }), "{ran}");
    assert_eq!(out, [255, 252, 254, 251, 253, 250]);
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    let images: [&[&[u8]]; 3] = [&[&[0; 6]], &[&[0; 6], &[0; 255]], &[&[0; 9], &[0; 256]]];
    for sources in images {
        let error = gpu.run_sources(&kernel, sources, &mut out).unwrap_err();
        let is_of_sources = matches!(error, GpuError::Bindings { .. } | GpuError::ImageSize { .. });
        assert!(is_of_sources, "{error}");
    }
}
