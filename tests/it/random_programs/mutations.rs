//! One bit of a valid module changed: the result is refused, or gives the oracle's bytes.

use std::sync::Mutex;

use rayon::prelude::*;
use stridec::{
    ErrorKind,
    hlo::{Footprint, Instruction, Module},
    program::Program,
    shape::{Dimension, Shape},
    stride::StrideDescriptor,
};

use super::support::{
    hlo_cases::{HloCase, hlo_cases},
    programs::{generate, interpreter},
    random::Random,
    scope,
};

/// The most elements and bytes of an instruction that is still interpreted.
const MAX_ELEMENTS: u64 = 1 << 14;

/// The outcomes of the changed modules.
#[derive(Default)]
struct Counts {
    invalid: u64,
    unsupported: u64,
    exact: u64,
    not_interpreted: u64,
}

fn check(case: &HloCase, at: usize, bit: usize, counts: &Mutex<Counts>) {
    let mut bytes = case.bytes.clone();
    bytes[at] ^= 1 << bit;
    let count = |of: fn(&mut Counts) -> &mut u64| *of(&mut counts.lock().unwrap()) += 1;
    let Ok(module) = Module::decode(&bytes) else { return count(|counts| &mut counts.invalid) };
    let program = match Program::lower(&module) {
        Ok(program) => program,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Failed, "{} at {at}: {error}", case.id);
            return count(|counts| &mut counts.unsupported);
        }
    };
    let is_small = |shape: &Shape| {
        let fixed = |of: &Dimension| matches!(of, Dimension::Fixed(_));
        shape.dimensions().iter().all(fixed)
            && Footprint::of(shape).is_some_and(|of| of.elements.max(of.bytes) <= MAX_ELEMENTS)
    };
    let shapes = module.instructions().map(Instruction::shape);
    if !shapes.chain(module.parameters()).chain([module.result()]).all(is_small)
        || !module.parameters().iter().all(Shape::is_array)
    {
        return count(|counts| &mut counts.not_interpreted);
    }
    let images = generate::images(&mut Random(at as u64), &module);
    let Some(expected) = interpreter::run(&module, &images) else {
        return count(|counts| &mut counts.not_interpreted);
    };
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let found = program.run_on_host(&images);
    let found: Vec<Vec<u8>> = program
        .results()
        .iter()
        .zip(found.unwrap())
        .map(|(result, image)| elements(result.shape(), image))
        .collect();
    assert!(found == expected, "{} at {at}, bit {bit}: other bytes\n{module}", case.id);
    count(|counts| &mut counts.exact);
}

/// Clears the bits above each element, as the interpreter does. Packed signed integers below 8 bits
/// that are unpacked to bytes have their sign there.
fn elements(shape: &Shape, mut image: Vec<u8>) -> Vec<u8> {
    let element_type = shape.element_type();
    let lowered = StrideDescriptor::try_from(shape).expect("the shape of a buffer");
    if let Some(bits) = element_type.bits()
        && bits < 8
        && lowered.element_bits() == 8
        && element_type.is_signed_integer()
    {
        for byte in &mut image {
            *byte &= (1 << bits) - 1;
        }
    }
    image
}

#[test]
fn a_changed_bit_is_refused_or_exact() {
    let counts = Mutex::new(Counts::default());
    let cases: Vec<&HloCase> = hlo_cases().iter().filter(|case| case.is_ok()).collect();
    (0..scope::cases(20_000)).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 11);
        let mut below = |count: usize| usize::try_from(random.below(count as u64)).unwrap();
        let case = cases[below(cases.len())];
        let (at, bit) = (below(case.bytes.len()), below(8));
        check(case, at, bit, &counts);
    });
    let Counts { invalid, unsupported, exact, not_interpreted } = counts.into_inner().unwrap();
    println!(
        "{exact} exact, {invalid} invalid, {unsupported} unsupported, {not_interpreted} not interpreted"
    );
    assert!(exact > not_interpreted && invalid > 0);
}
