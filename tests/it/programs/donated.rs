//! Programs in place: modules of JAX with donated arguments, in `tests/data/donated_cases.jsonl`.

use std::ops::Range;

use rayon::prelude::*;
use stridec::{
    ErrorKind,
    hlo::Module,
    program::{AliasRefusal, HostParameter, Program, ProgramAlias},
};

use super::support::{
    hlo_cases::{HloCase, check_outputs, donated_cases},
    in_place::{InPlaceCase, run_in_place},
    programs::interpreter,
    random::Random,
    scope::cases,
};

/// An alias of a case: the number of the parameter, and the ranges of bytes that may be written.
type Writes = (usize, Vec<Range<usize>>);

/// The alias of each result of a case.
fn aliases(case: &HloCase) -> Vec<Option<Writes>> {
    let outputs = case.record["outputs"].as_array().unwrap();
    let of = |output: &serde_json::Value| {
        let alias = output.get("alias")?;
        let number = |value: &serde_json::Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        let writes = alias["writes"].as_array().unwrap();
        let writes = writes.iter().map(|range| number(&range[0])..number(&range[1])).collect();
        Some((number(&alias["parameter"]), writes))
    };
    outputs.iter().map(of).collect()
}

#[test]
fn outputs_are_equal_to_the_byte_on_the_host() {
    check_outputs(donated_cases(), |program, images| Ok(program.run_on_host(images)?));
    for case in donated_cases() {
        let program = Program::lower_in_place(&case.module().unwrap()).unwrap();
        let images = case.inputs();
        assert_eq!(run_in_place(&program, &images), case.outputs(), "{}", case.id);
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        assert_eq!(program.run_on_host(&images).unwrap(), case.outputs(), "{}", case.id);
    }
}

/// Every alias without a danger is honoured, and no byte is written that stays as it is. The bytes
/// of the parameter are inverted before the run, so that a byte that is written is seen.
#[test]
fn bytes_that_stay_are_not_written() {
    let (mut honoured, mut refused) = (0, 0);
    for case in donated_cases() {
        let program = Program::lower_in_place(&case.module().unwrap()).unwrap();
        for (result, alias) in aliases(case).into_iter().enumerate() {
            let Some((parameter, writes)) = alias else { continue };
            if !program.aliases().contains(&ProgramAlias { result, parameter }) {
                assert_ne!(case.record["hazard"], "", "{}", case.id);
                assert!(program.refused_aliases().iter().any(|of| of.0.result == result));
                refused += 1;
                continue;
            }
            let mut images = case.inputs();
            images[parameter].iter_mut().for_each(|byte| *byte = !*byte);
            let before = images[parameter].clone();
            let written = &run_in_place(&program, &images)[result];
            let expected = &case.outputs()[result];
            for at in 0..before.len() {
                let is_written = writes.iter().any(|range| range.contains(&at));
                let byte = if is_written { expected[at] } else { before[at] };
                assert_eq!(written[at], byte, "{}: byte {at} of result {result}", case.id);
            }
            honoured += 1;
        }
    }
    println!("{honoured} honoured, {refused} refused");
    assert!(honoured > 110 && refused > 20, "{honoured} {refused}");
}

fn lower(text: &str) -> Program {
    Program::lower_in_place(&Module::parse(text).unwrap()).unwrap()
}

#[test]
fn aliases_that_are_not_honoured_have_a_reason() {
    for (aliases, body, expected) in [
        (
            "{}: (0, {}, may-alias)",
            "ROOT r = u8[3] reverse(x), dimensions={0}",
            AliasRefusal::ReadsWhatItWrites,
        ),
        (
            "{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)",
            "ROOT r = (u8[3], u8[3]) tuple(y, x)",
            AliasRefusal::NoOrder,
        ),
    ] {
        let program = lower(&format!(
            "HloModule m, input_output_alias={{ {aliases} }}
             ENTRY e {{ x = u8[3] parameter(0) y = u8[3] parameter(1) {body} }}"
        ));
        let [(_, reason)] = program.refused_aliases() else { panic!("{body}: one is refused") };
        assert_eq!(*reason, expected, "{body}");
    }
}

#[test]
fn a_parameter_that_is_only_read_is_refused() {
    let program = lower(
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
         ENTRY e { ROOT x = u8[3] parameter(0) }",
    );
    let error = program.run_on_host_in_place([HostParameter::Read(b"abc")], &mut []).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.to_string(),
        "parameter 0: expected `HostParameter::Donated`, because result 0 takes over its buffer, \
         got `HostParameter::Read`; `Program::lower` gives every result a buffer of its own"
    );
    let mut image = *b"abc";
    let parameters = || [HostParameter::Read(b"ab")];
    let error = program.run_on_host_in_place(parameters(), &mut []).unwrap_err();
    assert!(error.to_string().starts_with("parameter 0: expected 3 bytes"), "{error}");
    program.run_on_host_in_place([HostParameter::Donated(&mut image)], &mut []).unwrap();
    assert_eq!(&image, b"abc");
}

/// Random modules against the interpreter: in place, and with buffers of their own. Padding of a
/// tile is zero in a buffer of its own, and keeps what it has in place.
#[test]
fn random_modules_in_place_agree_with_the_oracle() {
    let count = cases(4_000);
    let honoured: usize = (0..count)
        .into_par_iter()
        .map(|seed| {
            let case = InPlaceCase::new(&mut Random((seed << 32) + 3838));
            let expected = interpreter::run(&case.module, &case.images).unwrap();
            let plain = Program::lower(&case.module).unwrap();
            assert_eq!(plain.run_on_host(&case.images()).unwrap(), expected, "{}", case.text);
            let program = Program::lower_in_place(&case.module).unwrap();
            let is_tiled = case.text.contains("T(");
            let padding = if is_tiled { padding(&plain, &case) } else { vec![] };
            let results = [
                run_in_place(&program, &case.images),
                program.run_on_host(&case.images()).unwrap(),
            ];
            for mut results in results {
                for &at in &padding {
                    for result in &mut results {
                        result[at] = 0;
                    }
                }
                assert_eq!(results, expected, "{}", case.text);
            }
            program.aliases().len()
        })
        .sum();
    println!("{honoured} aliases honoured in {count} modules");
    assert!(honoured as u64 > count * 3 / 4, "{honoured}");
}

/// The bytes of padding in the results of a case. All results have one shape.
fn padding(program: &Program, case: &InPlaceCase) -> Vec<usize> {
    let ones: Vec<Vec<u8>> = case.images.iter().map(|image| vec![0xff; image.len()]).collect();
    let ones: Vec<&[u8]> = ones.iter().map(Vec::as_slice).collect();
    let image = program.run_on_host(&ones).unwrap().swap_remove(0);
    (0..image.len()).filter(|&at| image[at] == 0).collect()
}
