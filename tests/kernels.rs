//! Every kernel passes naga.

mod support;

use stridec::{
    nest,
    schedule::{Target, schedule},
    wgsl,
};
use support::random::{self, Random};

#[test]
fn random_kernels_are_valid() {
    let mut random = Random(2);
    let mut count = std::collections::BTreeMap::new();
    for case in 0..std::env::var("STRIDEC_CASES").map_or(3_000, |n| n.parse().unwrap()) {
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            let schedule = schedule(nest.clone(), &target).unwrap();
            let kernel = wgsl::emit(&schedule, &target, &[]);
            *count.entry(kernel.strategy.clone()).or_insert(0) += 1;
            if kernel.dispatches.is_empty() {
                continue;
            }
            if let Err(error) = wgsl::validate(&kernel.wgsl) {
                panic!("{case}: {error}\n{}\n{nest}", kernel.wgsl);
            }
        }
    }
    eprintln!("{count:?}");
}
#[test]
fn show() {
    use stridec::{shape::*, stride::StrideDescriptor, window::*};
    let s = |t: ElementType, d: &[u64], l: Layout| {
        StrideDescriptor::try_from(&Shape::new(t, d.iter().copied(), l).unwrap()).unwrap()
    };
    let cases = [
        (
            ElementType::F32,
            vec![8u64, 64, 112, 112],
            Layout::new([3, 2, 1, 0]),
            Layout::new([1, 3, 2, 0]),
        ),
        (
            ElementType::U8,
            vec![8u64, 64, 112, 112],
            Layout::new([3, 2, 1, 0]),
            Layout::new([1, 3, 2, 0]),
        ),
        (
            ElementType::F32,
            vec![20u64, 300],
            Layout::new([1, 0]),
            Layout::new([1, 0]).tiled([TileDimension::Size(8), TileDimension::Size(128)]),
        ),
        (
            ElementType::F32,
            vec![20u64, 300],
            Layout::new([1, 0]).tiled([TileDimension::Size(8), TileDimension::Size(128)]),
            Layout::new([1, 0]),
        ),
        (
            ElementType::F32,
            vec![2, 3],
            Layout::new([1, 0]),
            Layout::new([0, 1]).padded([3, 5], Some(PaddingValue::One)),
        ),
        (ElementType::U8, vec![2, 7], Layout::new([1, 0]), Layout::new([0, 1])),
        (ElementType::S4, vec![64, 64], Layout::new([1, 0]), {
            let mut l = Layout::new([0, 1]);
            l.element_size_in_bits = 4;
            l
        }),
    ];
    for (t, d, a, b) in cases {
        let (a, b) = (s(t, &d, a), s(t, &d, b));
        let nest = nest::lower(&a, &b, &Window::identity(&d)).unwrap();
        let target = Target::webgpu();
        let sc = schedule(nest.clone(), &target).unwrap();
        println!("{nest}\n{}\n", wgsl::emit(&sc, &target, &[]).wgsl);
    }
}
