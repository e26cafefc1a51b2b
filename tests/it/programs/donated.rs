//! Programs in place: modules of JAX with donated arguments, in `tests/data/donated_cases.jsonl`.

use std::ops::Range;

use rayon::prelude::*;
use stridec::{
    ErrorKind, Target,
    hlo::Module,
    program::{AliasRefusal, HostParameter, Program, ProgramAlias, compile_in_place},
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

/// Every alias that is safe is honoured, and bytes that do not change are not written. The bytes of
/// the parameter are inverted before the run, so that every write is seen.
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

/// A kernel in place visits the updates, and not the array.
#[test]
fn updates_have_invocations_for_the_updates_alone() {
    let rows = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=replace";
    let heads = "update_window_dims={1,2}, inserted_window_dims={},
        scatter_dims_to_operand_dims={1}, input_batching_dims={0},
        scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=replace";
    let token = "zero = s32[] constant(0)
        ROOT r = CACHE dynamic-update-slice(x, y, zero, zero, at, zero)";
    for (cache, index, update, body, kernels, invocations) in [
        ("bf16[2,8,512,64]", "s32[]", "bf16[2,8,1,64]", token.to_owned(), 1, 128),
        ("bf16[2,8,512,64]{3,1,2,0}", "s32[]", "bf16[2,8,1,64]", token.to_owned(), 1, 128),
        (
            "f32[8192,64]",
            "s32[100,1]",
            "f32[100,64]",
            format!("ROOT r = CACHE scatter(x, at, y), {rows}"),
            3,
            1600,
        ),
        (
            "f32[8192,64]",
            "s32[9,1]",
            "f32[9,64]",
            format!("ROOT r = CACHE scatter(x, at, y), {rows}"),
            3,
            144,
        ),
        (
            "f32[4,4096,64]",
            "s32[4,1]",
            "f32[4,1,64]",
            format!("ROOT r = CACHE scatter(x, at, y), {heads}"),
            1,
            64,
        ),
    ] {
        let plain = cache.split_once('{').map_or(cache, |(plain, _)| plain);
        let element = &cache[..cache.find('[').unwrap()];
        let text = format!(
            "HloModule m, input_output_alias={{ {{}}: (0, {{}}, may-alias) }},
               entry_computation_layout={{({cache}, {index}, {update})->{cache}}}
             replace {{ o = {element}[] parameter(0) ROOT n = {element}[] parameter(1) }}
             ENTRY e {{
               x = {plain} parameter(0)
               at = {index} parameter(1)
               y = {update} parameter(2)
               {}
             }}",
            body.replace("CACHE", plain)
        );
        let program = compile_in_place(&Module::parse(&text).unwrap(), &Target::webgpu()).unwrap();
        assert_eq!(program.kernels().len(), kernels, "{text}");
        let kernel = program.kernels().last().unwrap();
        assert_eq!(kernel.proof().unwrap().invocations(), invocations, "{}", kernel.wgsl);
    }
}

/// Windows of more than 512 KiB, which several threads store, with updates in the order of the
/// array and in another order.
#[test]
fn large_windows_are_stored_by_threads() {
    let mut random = Random(516);
    for (array, layout, update, of_update) in [
        ("f32[1024,600]", "{1,0}", "f32[500,600]", "{1,0}"),
        ("f32[1024,600]", "{1,0}", "f32[500,600]", "{0,1}"),
        ("f32[1024,600]", "{0,1}", "f32[500,300]", "{1,0}"),
        ("bf16[16,512,128]", "{2,1,0}", "bf16[16,300,128]", "{2,0,1}"),
        ("f32[1024,640]", "{1,0:T(8,128)}", "f32[512,640]", "{1,0:T(8,128)}"),
    ] {
        let rank = array.matches(',').count() + 1;
        let starts: Vec<String> = (0..rank).map(|n| format!("s{n}")).collect();
        let parameters = (0..rank).map(|n| format!("s{n} = s32[] parameter({})", n + 2));
        let parameters = parameters.collect::<Vec<_>>().join(" ");
        let types = vec!["s32[]"; rank].join(", ");
        let text = format!(
            "HloModule m, input_output_alias={{ {{}}: (0, {{}}, may-alias) }},
               entry_computation_layout={{({array}{layout}, {update}{of_update}, {types})->{array}{layout}}}
             ENTRY e {{
               x = {array} parameter(0)
               y = {update} parameter(1)
               {parameters}
               ROOT r = {array} dynamic-update-slice(x, y, {})
             }}",
            starts.join(", ")
        );
        let module = Module::parse(&text).unwrap();
        let program = Program::lower_in_place(&module).unwrap();
        let mut images: Vec<Vec<u8>> =
            program.parameters()[..2].iter().map(|of| random.bytes(of.bytes())).collect();
        images.extend((0..rank).map(|n| [7_i32, 100, 0][n].to_le_bytes().to_vec()));
        let bytes: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let expected = interpreter::run(&module, &images).unwrap();
        assert!(run_in_place(&program, &images) == expected, "{text}");
        assert!(program.run_on_host(&bytes).unwrap() == expected, "{text}");
    }
}

/// There are more scatters than scratch buffers for their tables. The last ones visit the array.
#[test]
fn more_scatters_than_tables() {
    let each = |line: &dyn Fn(usize) -> String, between: &str| -> String {
        (0..65).map(line).collect::<Vec<_>>().join(between)
    };
    let text = format!(
        "HloModule m, input_output_alias={{ {} }}
         replace {{ o = f32[] parameter(0) ROOT n = f32[] parameter(1) }}
         ENTRY e {{ at = s32[4,1] parameter(65) y = f32[4,64] parameter(66) {} ROOT t = ({}) tuple({}) }}",
        each(&|k| format!("{{{k}}}: ({k}, {{}}, may-alias)"), ", "),
        each(
            &|k| format!(
                "x{k} = f32[128,64] parameter({k})
                 r{k} = f32[128,64] scatter(x{k}, at, y), update_window_dims={{1}},
                   inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}},
                   index_vector_dim=1, to_apply=replace"
            ),
            " "
        ),
        each(&|_| "f32[128,64]".to_owned(), ", "),
        each(&|k| format!("r{k}"), ", "),
    );
    let program = lower(&text);
    assert_eq!((program.aliases().len(), program.scratch().len()), (65, 64));
}

/// Windows with a start in each of four dimensions, and a scatter of two arrays.
#[test]
fn scatters_of_many_dimensions_and_of_several_arrays() {
    let windows = "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
        replace { o = f32[] parameter(0) ROOT n = f32[] parameter(1) }
        ENTRY e {
          x = f32[8,8,8,8] parameter(0)
          at = s32[3,4] parameter(1)
          y = f32[3,7,6,7,8] parameter(2)
          ROOT r = f32[8,8,8,8] scatter(x, at, y), update_window_dims={1,2,3,4},
            inserted_window_dims={}, scatter_dims_to_operand_dims={0,1,2,3}, index_vector_dim=1,
            to_apply=replace
        }";
    let several = "HloModule m,
          input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
        replace {
          a = f32[] parameter(0) b = s32[] parameter(1)
          c = f32[] parameter(2) d = s32[] parameter(3)
          ROOT t = (f32[], s32[]) tuple(c, d)
        }
        ENTRY e {
          x = f32[8,8,8,8] parameter(0)
          z = s32[8,8,8,8] parameter(1)
          at = s32[3,1] parameter(2)
          y = f32[3,8,8,8] parameter(3)
          w = s32[3,8,8,8] parameter(4)
          ROOT r = (f32[8,8,8,8], s32[8,8,8,8]) scatter(x, z, at, y, w),
            update_window_dims={1,2,3}, inserted_window_dims={0},
            scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=replace
        }";
    let mut random = Random(517);
    for (text, indices, count) in [(windows, 1, 1), (several, 2, 2)] {
        let module = Module::parse(text).unwrap();
        let program = Program::lower_in_place(&module).unwrap();
        assert_eq!(program.aliases().len(), count, "{:?}", program.refused_aliases());
        for _ in 0..20 {
            let images: Vec<Vec<u8>> = program
                .parameters()
                .iter()
                .enumerate()
                .map(|(number, of)| {
                    if number != indices {
                        return random.bytes(of.bytes());
                    }
                    let index = |random: &mut Random| [random.below(4).to_le_bytes()[0], 0, 0, 0];
                    (0..of.bytes() / 4).flat_map(|_| index(&mut random)).collect()
                })
                .collect();
            assert!(run_in_place(&program, &images) == interpreter::run(&module, &images).unwrap());
        }
    }
}

/// Random modules against the interpreter: in place, and with buffers of their own. The padding of
/// a tile is zero in a buffer of its own, and keeps its bytes in place.
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
