//! One bit of a valid module or one token of a text is changed. The result is refused, or gives the
//! bytes of the oracle.

use std::{ops::Range, sync::Mutex};

use rayon::prelude::*;
use stridec::{
    ErrorKind,
    hlo::{Footprint, HloError, Instruction, Module},
    program::Program,
    shape::{Dimension, Shape},
    stride::StrideDescriptor,
};

use super::support::{
    hlo_cases::{HloCase, hlo_cases, stablehlo_cases},
    programs::{generate, interpreter},
    random::Random,
    scope,
};

/// The greatest number of elements, and of bytes, of an instruction that is interpreted.
const MAX_ELEMENTS: u64 = 1 << 14;

/// The outcomes of the changed modules.
#[derive(Default)]
struct Counts {
    invalid: u64,
    unsupported: u64,
    exact: u64,
    not_interpreted: u64,
}

fn check(name: &str, module: Result<Module, HloError>, seed: u64, counts: &Mutex<Counts>) {
    let count = |of: fn(&mut Counts) -> &mut u64| *of(&mut counts.lock().unwrap()) += 1;
    let Ok(module) = module else { return count(|counts| &mut counts.invalid) };
    let program = match Program::lower(&module) {
        Ok(program) => program,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Failed, "{name}: {error}");
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
    let images = generate::images(&mut Random(seed), &module);
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
    assert!(found == expected, "{name}: other bytes\n{module}");
    count(|counts| &mut counts.exact);
}

/// Clears the bits above each element, as the interpreter does. In a byte that holds an unpacked
/// signed integer below 8 bits, these bits repeat the sign.
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
        let mut bytes = case.bytes.clone();
        bytes[at] ^= 1 << bit;
        let name = format!("{} at {at}, bit {bit}", case.id);
        check(&name, Module::decode(&bytes), at as u64, &counts);
    });
    finish(&counts);
    let counts = counts.into_inner().unwrap();
    assert!(counts.exact > counts.not_interpreted);
}

/// Prints the outcomes, and checks that some modules were refused.
fn finish(counts: &Mutex<Counts>) {
    let counts = counts.lock().unwrap();
    let Counts { invalid, unsupported, exact, not_interpreted } = &*counts;
    println!(
        "{exact} exact, {invalid} invalid, {unsupported} unsupported, {not_interpreted} not interpreted"
    );
    assert!(*exact > 0 && *invalid > 0);
}

/// Returns the ranges of the tokens of a text: words, numbers, and all other characters except
/// blanks.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match tokens.last_mut() {
            Some(last) if in_word && is_word(c) => last.end = end,
            _ if c.is_whitespace() => {}
            _ => tokens.push(at..end),
        }
        in_word = is_word(c);
    }
    tokens
}

/// Returns a text with one token left out, repeated, or replaced by another token of the text or by
/// a number.
fn changed(text: &str, random: &mut Random) -> String {
    let tokens = tokens(text);
    let mut any = || &tokens[usize::try_from(random.below(tokens.len() as u64)).unwrap()];
    let (token, other) = (any().clone(), any().clone());
    let new = match random.below(6) {
        0 => String::new(),
        1 => text[token.clone()].repeat(2),
        2 => random.below(9).to_string(),
        _ => text[other].to_owned(),
    };
    [&text[..token.start], &new, &text[token.end..]].concat()
}

/// HLO text in the form that stridec prints, the forms that only XLA's parser reads, and StableHLO
/// text.
#[test]
fn a_changed_token_is_refused_or_exact() {
    let forms = std::fs::read_dir("tests/data/xla_text").unwrap().map(|file| {
        let path = file.unwrap().path();
        (path.display().to_string(), std::fs::read_to_string(path).unwrap())
    });
    let printed = hlo_cases().iter().filter(|case| case.is_ok()).step_by(5);
    let printed = printed.map(|case| (case.id.clone(), case.module().unwrap().to_string()));
    let stablehlo = stablehlo_cases().iter().filter(|case| case.is_ok());
    let stablehlo =
        stablehlo.map(|case| (case.id.clone(), String::from_utf8(case.bytes.clone()).unwrap()));
    let kinds: [Vec<(String, String)>; 3] =
        [forms.collect(), printed.collect(), stablehlo.collect()];
    for texts in kinds {
        let counts = Mutex::new(Counts::default());
        (0..scope::cases(4_000)).into_par_iter().for_each(|seed| {
            let mut random = Random((seed << 32) + 12);
            let place = usize::try_from(random.below(texts.len() as u64)).unwrap();
            let (name, text) = &texts[place];
            let text = changed(text, &mut random);
            check(&format!("{name}, seed {seed}:\n{text}"), Module::parse(&text), seed, &counts);
        });
        finish(&counts);
    }
}
