//! Kernels that convert elements: every function of every pair of types is interpreted.

use super::{
    check::check,
    support::{
        conversions::{ConvertingRelayout, converted, random_relayout, types, values},
        random::Random,
        scope::cases,
    },
};
use stridec::{Operation, Target, nest::Conversion, shape::Shape};

fn checked(operation: &Operation, target: &Target, image: &[u8], expected: &[u8]) {
    // The small target has too few workgroups for some.
    let Ok(kernel) = operation.compile(target) else {
        assert_eq!(target.name, "small", "{}", operation.title());
        return;
    };
    if kernel.dispatches.is_empty() {
        return;
    }
    let proof = kernel.proof().expect("a relayout has a proof");
    let seen = check(&kernel, proof, target, &[image], expected);
    if let Err(fault) = seen {
        panic!("{} for {}: {fault}\n{}", operation.title(), target.name, kernel.wgsl);
    }
}

/// A few special and random values of each type.
#[test]
fn every_pair_of_types_is_interpreted() {
    let mut random = Random(391);
    for from in types() {
        let bytes = usize::try_from(from.storage_bits().unwrap() / 8).unwrap();
        let all = values(from, 0, &mut random);
        let count = all.len() / bytes;
        let picked: Vec<u8> = (0..count.min(150))
            .flat_map(|number| {
                let at = if count <= 256 {
                    number
                } else {
                    usize::try_from(random.below(count as u64)).unwrap()
                };
                all[at * bytes..(at + 1) * bytes].to_vec()
            })
            .collect();
        let count = picked.len() / bytes;
        for to in types().into_iter().filter(|&to| to != from) {
            let conversion = Conversion::new(from, to).unwrap();
            let shape = |kind| Shape::new(kind, [count as u64], None).unwrap().try_into().unwrap();
            let operation = Operation::relayout(shape(from), shape(to)).unwrap();
            let expected = converted(conversion, &picked);
            checked(&operation, &Target::webgpu(), &picked, &expected);
        }
    }
}

#[test]
fn random_layouts_between_types_are_checked() {
    let mut random = Random(3903);
    for _ in 0..cases(150) {
        let ConvertingRelayout { operation, image, expected, .. } = random_relayout(&mut random);
        for target in super::targets() {
            checked(&operation, &target, &image, &expected);
        }
    }
}
