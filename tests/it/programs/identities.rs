//! Instructions that change no value, and conditionals whose branches move data.

use stridec::{hlo::Module, program::Program};

/// Returns the bytes of all results of a module on these parameters.
fn results(text: &str, parameters: &[&[u8]]) -> Vec<u8> {
    super::results(text, parameters).concat()
}

/// Returns the error for a module that cannot be lowered, as text.
fn refusal(text: &str) -> String {
    Program::lower(&Module::parse(text).unwrap()).unwrap_err().to_string()
}

#[test]
fn calls_of_placement_return_their_operand() {
    for target in [
        "annotate_device_placement",
        "MoveToHost",
        "MoveToDevice",
        "PinToDevice",
        "PinToDeviceSram",
        "SPMDFullToShardShape",
    ] {
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = u8[2,3] parameter(0)
               d = u8[2,3] custom-call(p), custom_call_target=\"{target}\"
               ROOT t = u8[3,2] transpose(d), dimensions={{1,0}}
             }}"
        );
        assert_eq!(results(&text, &[b"abcdef"]), b"adbecf", "{target}");
    }
    let text = "HloModule m
        ENTRY e {
          p = u8[2,3] parameter(0)
          b = b(u8[2,3]) custom-call(p), custom_call_target=\"Pin\"
          d = u8[2,3] custom-call(b), custom_call_target=\"Unpin\"
          ROOT t = u8[3,2] transpose(d), dimensions={1,0}
        }";
    assert_eq!(results(text, &[b"abcdef"]), b"adbecf");
}

#[test]
fn conversions_to_the_same_type_dependencies_and_domains_return_their_operand() {
    for instruction in [
        "d = f32[2] convert(p)",
        "t = token[] after-all()
         d = f32[2] add-dependency(p, t)",
        "d = f32[2] domain(p), domain={kind=\"sharding\", entry={maximal device=0}, exit={maximal device=1}}",
        "d = f32[2] opt-barrier(p)",
    ] {
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = f32[2] parameter(0)
               {instruction}
               ROOT r = f32[2] reverse(d), dimensions={{0}}
             }}"
        );
        assert_eq!(results(&text, &[b"aaaabbbb"]), b"bbbbaaaa", "{instruction}");
    }
}

/// `copy-start` returns the copy, the operand and a context.
#[test]
fn started_copies_return_their_operand() {
    let text = "HloModule m
        ENTRY e {
          p = u8[2,3]{1,0} parameter(0)
          s = (u8[2,3]{0,1}, u8[2,3]{1,0}, u32[]) copy-start(p)
          o = u8[2,3]{1,0} get-tuple-element(s), index=1
          d = u8[2,3]{0,1} copy-done(s)
          ROOT r = (u8[2,3]{0,1}, u8[2,3]{1,0}) tuple(d, o)
        }";
    assert_eq!(results(text, &[b"abcdef"]), b"adbecfabcdef");
}

#[test]
fn started_calls_return_the_result_of_their_computation() {
    let text = "HloModule m
        f {
          x = u8[8] parameter(0)
          i = s32[] parameter(1)
          ROOT y = u8[4] dynamic-slice(x, i), dynamic_slice_sizes={4}
        }
        ENTRY e {
          p = u8[8] parameter(0)
          i = s32[] parameter(1)
          s = ((u8[8], s32[]), u8[4], s32[]) async-start(p, i), calls=f
          u = ((u8[8], s32[]), u8[4], s32[]) async-update(s)
          o = (u8[8], s32[]) get-tuple-element(u), index=0
          x = u8[8] get-tuple-element(o), index=0
          d = u8[4] async-done(u)
          ROOT r = (u8[4], u8[8]) tuple(d, x)
        }";
    let start = 3_i32.to_le_bytes();
    assert_eq!(results(text, &[b"abcdefgh", &start]), b"defgabcdefgh");
}

#[test]
fn sizes_of_dimensions_are_constants() {
    let text = "HloModule m
        ENTRY e {
          p = f32[4,7] parameter(0)
          ROOT d = s32[] get-dimension-size(p), dimensions={1}
        }";
    assert_eq!(results(text, &[&[0; 112]]), 7_i32.to_le_bytes());
    // The size is used as an index.
    let text = "HloModule m
        ENTRY e {
          p = u8[4,3] parameter(0)
          x = u8[8] parameter(1)
          d = s32[] get-dimension-size(p), dimensions={1}
          ROOT r = u8[2] dynamic-slice(x, d), dynamic_slice_sizes={2}
        }";
    assert_eq!(results(text, &[&[0; 12], b"abcdefgh"]), b"de");
}

#[test]
fn a_predicate_chooses_a_branch() {
    let text = "HloModule m
        f { x = (u8[4], u8[2]) parameter(0)
            a = u8[4] get-tuple-element(x), index=0
            r = u8[4] reverse(a), dimensions={0}
            b = u8[2] get-tuple-element(x), index=1
            ROOT t = (u8[4], u8[2]) tuple(r, b) }
        g { x = u8[2] parameter(0)
            z = u8[] constant(122)
            p = u8[4] pad(x, z), padding=1_1
            ROOT t = (u8[4], u8[2]) tuple(p, x) }
        ENTRY e {
          c = pred[] parameter(0)
          a = u8[4] parameter(1)
          b = u8[2] parameter(2)
          t = (u8[4], u8[2]) tuple(a, b)
          ROOT r = (u8[4], u8[2]) conditional(c, t, b), true_computation=f, false_computation=g
        }";
    assert_eq!(results(text, &[&[1], b"abcd", b"xy"]), b"dcbaxy");
    assert_eq!(results(text, &[&[0], b"abcd", b"xy"]), b"zxyzxy");
}

/// If no branch has the number of the index, the last branch is chosen.
#[test]
fn an_index_chooses_a_branch() {
    let text = "HloModule m
        f { ROOT x = u8[2] parameter(0) }
        g { x = u8[2] parameter(0)
            ROOT r = u8[2] reverse(x), dimensions={0} }
        ENTRY e {
          c = s32[] parameter(0)
          x = u8[2] parameter(1)
          y = u8[2] parameter(2)
          ROOT r = u8[2] conditional(c, x, y, y), branch_computations={f, f, g}
        }";
    for (index, expected) in [(0, b"ab"), (1, b"cd"), (2, b"dc"), (3, b"dc"), (-1, b"dc")] {
        let index = i32::to_le_bytes(index);
        assert_eq!(results(text, &[&index, b"ab", b"cd"]), expected, "{index:?}");
    }
}

#[test]
fn a_conditional_chooses_an_index() {
    let text = "HloModule m
        f { ROOT x = s32[2] parameter(0) }
        g { x = s32[2] parameter(0)
            ROOT r = s32[2] reverse(x), dimensions={0} }
        h { x = s32[2] parameter(0)
            ROOT t = (s32[2], s32[2]) tuple(x, x) }
        ENTRY e {
          c = pred[] parameter(0)
          i = s32[2] parameter(1)
          x = u8[4] parameter(2)
          j = s32[2] conditional(c, i, i), true_computation=f, false_computation=g
          t = (s32[2], s32[2]) conditional(c, j, j), true_computation=h, false_computation=h
          k = s32[2] get-tuple-element(t), index=1
          ROOT r = u8[2] gather(x, k), offset_dims={}, collapsed_slice_dims={0},
            start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        }";
    let indices: Vec<u8> = [3_i32, 1].into_iter().flat_map(i32::to_le_bytes).collect();
    assert_eq!(results(text, &[&[1], &indices, b"abcd"]), b"db");
    assert_eq!(results(text, &[&[0], &indices, b"abcd"]), b"bd");
}

#[test]
fn a_branch_that_computes_is_refused_by_name() {
    let text = "HloModule m
        f { ROOT x = f32[2] parameter(0) }
        g { x = f32[2] parameter(0)
            ROOT square = f32[2] multiply(x, x) }
        ENTRY e {
          c = pred[] parameter(0)
          x = f32[2] parameter(1)
          ROOT r = f32[2] conditional(c, x, x), true_computation=f, false_computation=g
        }";
    let error = refusal(text);
    assert!(error.contains("square"), "{error}");
}

/// A scatter of several arrays replaces elements at the same places in each of them.
#[test]
fn scatters_of_several_arrays_replace_elements() {
    let text = "HloModule m
        f {
          a0 = s32[] parameter(0)
          a1 = u8[] parameter(1)
          b0 = s32[] parameter(2)
          b1 = u8[] parameter(3)
          ROOT t = (s32[], u8[]) tuple(b0, b1)
        }
        ENTRY e {
          o0 = s32[3] parameter(0)
          o1 = u8[3] parameter(1)
          i = s32[2,1] parameter(2)
          v0 = s32[2] parameter(3)
          v1 = u8[2] parameter(4)
          ROOT s = (s32[3], u8[3]) scatter(o0, o1, i, v0, v1), update_window_dims={},
            inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,
            to_apply=f
        }";
    let words = |words: &[i32]| words.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let given =
        results(text, &[&words(&[1, 2, 3]), b"abc", &words(&[2, 0]), &words(&[70, 80]), b"xy"]);
    assert_eq!(given, [words(&[80, 2, 70]), b"ybx".to_vec()].concat());
    // The first array is computed.
    let sums = text.replace("tuple(b0, b1)", "tuple(s, b1)").replace(
        "ROOT t =",
        "s = s32[] add(a0, b0)
          ROOT t =",
    );
    let error = refusal(&sums);
    assert!(error.contains("combiner"), "{error}");
}

/// A dimension of one element is moved in front of tiles, and rows of 128 bytes are put in tiles of
/// 4 rows.
#[test]
fn bitcasts_between_tiles_keep_the_bytes() {
    for (from, to) in [
        ("s8[1,32,128]{2,1,0:T(8,128)(4,1)}", "s8[32,128]{1,0:T(8,128)(4,1)}"),
        ("s8[8,256]{1,0:T(8,128)}", "s8[2,8,128]{2,1,0}"),
        ("s8[2,8,128]{2,1,0}", "s8[8,256]{1,0:T(8,128)}"),
        ("s8[4,6]{1,0:T(2,3)}", "s8[24]{0}"),
        ("s8[3,5]{1,0:T(2,4)}", "s8[3,1,5]{2,0,1:T(2,4)}"),
        ("s8[2,3,4]{2,1,0:T(*,3)}", "s8[24]{0:T(3)}"),
    ] {
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = {from} parameter(0)
               ROOT b = {to} bitcast(p)
             }}"
        );
        let program = Program::lower(&Module::parse(&text).unwrap())
            .unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        let length = program.parameters()[0].bytes();
        let image: Vec<u8> = (0..length).map(|n| u8::try_from(n % 251 + 1).unwrap()).collect();
        let given = program.run_on_host(&[&image]).unwrap().concat();
        assert_eq!(given.len(), image.len());
        // The padding of the result is zero.
        let filled = given.iter().zip(&image).filter(|(given, _)| **given != 0);
        let count = filled.clone().filter(|(given, byte)| given == byte).count();
        assert_eq!(count, filled.count(), "{from} to {to}");
        let elements: u64 = program.results()[0].descriptor().sizes().iter().product();
        assert_eq!(count as u64, elements, "{from} to {to}");
    }
}
