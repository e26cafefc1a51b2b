//! Named operations on the GPU, compared with the host byte by byte.

#[allow(unreachable_pub)]
#[path = "../../benches/support/everyday.rs"]
mod everyday;
use std::collections::BTreeMap;

use stridec::{
    Kernel, Operation, Target, Tensor,
    gpu::Gpu,
    schedule::Strategy,
    shape::{ElementType, Layout, Shape},
    window::Slice,
};

use super::support::{
    gpu::gpu,
    random::{self, Random},
    scope::long_cases,
};

/// Runs an operation on the GPU and on the host, and compares every byte. Returns the kernel.
fn check(gpu: &Gpu, operation: &Operation, target: &Target) -> Kernel {
    let kernel = operation.compile(target).unwrap();
    let image = Random(kernel.source_bytes).bytes(kernel.source_bytes);
    let mut expected = vec![0x5a; usize::try_from(kernel.destination_bytes).unwrap()];
    let mut out = vec![0xa5; expected.len()];
    operation.run_on_host(&image, &mut expected).unwrap();
    gpu.run(&kernel, &image, &mut out).unwrap();
    assert!(out == expected, "{} for {}\n{}", operation.title(), target.name, kernel.wgsl);
    kernel
}

fn relayout(from: &str, to: &str) -> Operation {
    Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap()
}

fn targets() -> [Target; 2] {
    [Target::webgpu(), Target::webgpu_cpu()]
}

/// Runs the operations of the command line's three examples.
#[test]
fn the_three_examples() {
    let Some(gpu) = gpu("the_three_examples") else { return };
    let images = relayout("f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}");
    let padded = relayout("bf16[2,3]{0,1:PAD(3,5,lowest)}", "bf16[2,3]{1,0}");
    let slice = Slice::new([0, 0, 0, 1], [1, 1, 4, 3], [1, 1, -2, 2]);
    let source: Tensor = "f32[1,1,4,4]".parse().unwrap();
    let slice = Operation::slice(source, &slice, None).unwrap();
    for target in targets() {
        assert_eq!(check(&gpu, &images, &target).strategy, Strategy::Transpose);
        check(&gpu, &padded, &target);
        check(&gpu, &slice, &target);
    }
}

/// Runs the everyday shapes at full size. The kernels are compiled for a GPU, whatever the device.
/// CI runs those for a CPU too.
#[test]
fn everyday_shapes() {
    let Some(gpu) = gpu("everyday_shapes") else { return };
    let mut wide = 0;
    for everyday::Everyday { operation, .. } in everyday::everyday().unwrap() {
        for target in long_cases(targets()) {
            let kernel = check(&gpu, &operation, &target);
            let sizes = kernel.bindings.iter().map(|binding| binding.size_in_bytes);
            let images = [kernel.source_bytes, kernel.destination_bytes];
            wide += usize::from(sizes.zip(images).any(|(size, bytes)| size >= bytes + 4));
        }
    }
    // Some accesses of 16 bytes extend past the end of a tensor.
    assert!(wide >= 4, "{wide}");
}

/// Transposes every element type, from and to padded, tiled and packed layouts.
#[test]
fn every_element_type() {
    let Some(gpu) = gpu("every_element_type") else { return };
    let mut types = 0;
    for kind in ElementType::ALL {
        let Some(bits) = kind.bits() else { continue };
        types += 1;
        let shape = |text: &str| -> Tensor { format!("{kind}{text}").parse().unwrap() };
        let mut sides = vec![
            shape("[24,40]{1,0}"),
            shape("[24,40]{0,1}"),
            shape("[24,40]{0,1:PAD(25,41)}"),
            shape("[24,40]{1,0:T(8,16)}"),
            shape("[24,40] strided<[43,1], offset: 5>"),
        ];
        if bits.is_power_of_two() && bits < 8 {
            let layout = Layout::new([1, 0]).element_size(bits.into());
            sides.push(Shape::new(kind, [24, 40], layout).unwrap().try_into().unwrap());
        }
        for from in &sides {
            for (to, target) in sides.iter().zip(targets().iter().cycle()) {
                let operation = Operation::relayout(from.clone(), to.clone()).unwrap();
                check(&gpu, &operation, target);
            }
        }
    }
    assert_eq!(types, 32);
}

/// Runs kernels in dispatches of two and three dimensions, for targets with few workgroups in a
/// dimension.
#[test]
fn dispatches_of_two_and_three_dimensions() {
    let Some(gpu) = gpu("dispatches_of_two_and_three_dimensions") else { return };
    let mut random = Random(31);
    let mut seen = BTreeMap::new();
    for _ in 0..300 {
        let operation = random::operation(&mut random);
        let (from, to) = (operation.source_side.tensor(), operation.destination_side.tensor());
        let Ok(operation) = Operation::relayout(from, to) else { continue };
        let mut target = random.pick(&[Target::webgpu as fn() -> Target, Target::webgpu_cpu])();
        target.max_compute_workgroups_per_dimension = random.pick(&[3, 5, 9]);
        target.max_compute_invocations_per_workgroup = random.pick(&[1, 4, 16]);
        if operation.schedule(&target).is_err() {
            continue;
        }
        let kernel = check(&gpu, &operation, &target);
        for dispatch in &kernel.dispatches {
            let dimensions = dispatch.workgroups.iter().filter(|&&n| n > 1).count();
            *seen.entry((kernel.strategy, dimensions)).or_insert(0) += 1;
        }
    }
    let of = |dimensions| seen.keys().filter(|key| key.1 == dimensions).count();
    assert!(of(2) >= 3 && of(3) >= 2, "{seen:?}");
}

/// Runs an operation without elements. Nothing is dispatched, and the result is empty.
#[test]
fn an_empty_operation_runs() {
    let Some(gpu) = gpu("an_empty_operation_runs") else { return };
    let kernel = check(&gpu, &relayout("f32[0,3]", "f32[0,3]{0,1}"), &Target::webgpu());
    assert!(kernel.dispatches.is_empty());
}
