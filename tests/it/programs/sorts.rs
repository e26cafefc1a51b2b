//! Sorts of constants, and scatters of constants at known places.

use stridec::{hlo::Module, program::Program};

use super::results;

fn words(list: &[i32]) -> Vec<u8> {
    list.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// `x[argsort(constant)]` uses the second result of a sort as indices.
#[test]
fn the_order_of_a_constant_is_an_index() {
    let text = "HloModule m
        less {
          a = s32[] parameter(0)
          b = s32[] parameter(1)
          i = s32[] parameter(2)
          j = s32[] parameter(3)
          ROOT l = pred[] compare(a, b), direction=LT
        }
        ENTRY e {
          x = u8[6] parameter(0)
          keys = s32[6] constant({5, -1, 5, 0, 7, -1})
          places = s32[6] iota(), iota_dimension=0
          sorted = (s32[6], s32[6]) sort(keys, places), dimensions={0}, is_stable=true, to_apply=less
          order = s32[6] get-tuple-element(sorted), index=1
          first = s32[6] get-tuple-element(sorted), index=0
          g = u8[6] gather(x, order), offset_dims={}, collapsed_slice_dims={0},
            start_index_map={0}, index_vector_dim=1, slice_sizes={1}
          ROOT t = (u8[6], s32[6], (s32[6], s32[6])) tuple(g, first, sorted)
        }";
    let sorted = words(&[-1, -1, 0, 5, 5, 7]);
    let order = words(&[1, 5, 3, 0, 2, 4]);
    assert_eq!(results(text, &[b"abcdef"]), [b"bfdace".to_vec(), sorted.clone(), sorted, order]);
}

/// Rows and columns are compared with the result of `slice::sort`. The comparator has several
/// instructions.
#[test]
fn each_row_is_sorted_along_the_dimension() {
    let values: Vec<i32> = (0..60).map(|n| n * n % 37 - 18).collect();
    for (dimension, [outer, length, inner]) in [(0, [1, 3, 20]), (1, [3, 4, 5]), (2, [12, 5, 1])] {
        let text = format!(
            "HloModule m
             greater {{
               a = s32[] parameter(0)
               b = s32[] parameter(1)
               one = s32[] constant(1)
               c = s32[] add(b, one)
               ROOT l = pred[] compare(a, c), direction=GE
             }}
             ENTRY e {{
               keys = s32[60] constant({{{}}})
               whole = s32[3,4,5] reshape(keys)
               ROOT s = s32[3,4,5] sort(whole), dimensions={{{dimension}}}, to_apply=greater
             }}",
            values.iter().map(i32::to_string).collect::<Vec<_>>().join(","),
        );
        let mut expected = values.clone();
        for row in 0..outer * inner {
            let place = |n: usize| row / inner * length * inner + n * inner + row % inner;
            let mut row: Vec<i32> = (0..length).map(|n| values[place(n)]).collect();
            row.sort_unstable_by(|a, b| b.cmp(a));
            for (n, value) in row.into_iter().enumerate() {
                expected[place(n)] = value;
            }
        }
        assert_eq!(results(&text, &[]), [words(&expected)], "{dimension}");
    }
}

/// JAX's comparator of floats. All zeros are equal, and NaNs come last, in their total order.
#[test]
fn floats_are_sorted_in_their_total_order() {
    let bits = [
        0x7f80_0001_u32,
        0,
        0x8000_0000,
        0xffc0_0000,
        0x7f80_0000,
        0xff80_0000,
        0x3f80_0000,
        0x7fc0_0000,
        0xff80_0001,
    ];
    let text = format!(
        "HloModule m
         less {{
           a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER
         }}
         ENTRY e {{
           bits = u32[9] constant({{{}}})
           keys = f32[9] bitcast-convert(bits)
           ROOT s = f32[9] sort(keys), dimensions={{0}}, to_apply=less
         }}",
        bits.map(|bits| bits.to_string()).join(",")
    );
    let expected: Vec<u8> = [
        0xffc0_0000_u32,
        0xff80_0001,
        0xff80_0000,
        0x8000_0000,
        0,
        0x3f80_0000,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
    ]
    .into_iter()
    .flat_map(u32::to_le_bytes)
    .collect();
    assert_eq!(results(&text, &[]), [expected]);
}

/// A sort of a parameter, and a comparator with an operation that is not folded, are refused with
/// their names.
#[test]
fn other_sorts_are_refused_by_name() {
    let text = "HloModule m
        less {
          a = s32[] parameter(0)
          b = s32[] parameter(1)
          ROOT l = pred[] compare(a, b), direction=LT
        }
        ENTRY e {
          p = s32[4] parameter(0)
          ROOT sort.11 = s32[4] sort(p), dimensions={0}, to_apply=less
        }";
    let refusal =
        |text: &str| Program::lower(&Module::parse(text).unwrap()).unwrap_err().to_string();
    assert_eq!(
        refusal(text),
        "`sort.11`, s32[4]: sort is not supported; elements are only moved and converted, and only indices \
         are computed"
    );
    let sine = text
        .replace("p = s32[4] parameter(0)", "p = f32[4] constant({1, 2, 0, 4})")
        .replace("s32[4]", "f32[4]")
        .replace("s32[] p", "f32[] p")
        .replace(
            "ROOT l = pred[] compare(a, b)",
            "s = f32[] sine(a)\nROOT l = pred[] compare(s, b)",
        );
    assert!(refusal(&sine).contains("`sort.11`"), "{}", refusal(&sine));
}

/// Windows that are shorter than the array, along a dimension without indices.
#[test]
fn windows_at_known_places_may_be_shorter_than_the_array() {
    let text = "HloModule m
        override {
          a = s32[] parameter(0)
          ROOT b = s32[] parameter(1)
        }
        ENTRY e {
          x = s32[50,5] parameter(0)
          i = s32[24,1] iota(), iota_dimension=0
          u = s32[24,1,3] parameter(1)
          ROOT s = s32[50,5] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={},
            scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=override
        }";
    let x: Vec<i32> = (0..250).collect();
    let u: Vec<i32> = (1000..1072).collect();
    let mut expected = x.clone();
    for row in 0..24 {
        expected[row * 5..row * 5 + 3].copy_from_slice(&u[row * 3..row * 3 + 3]);
    }
    assert_eq!(results(text, &[&words(&x), &words(&u)]), [words(&expected)]);
}

/// A comparator may move its operands before it compares them.
#[test]
fn comparators_move_their_operands() {
    let text = "HloModule m
        less {
          a = s32[] parameter(0)
          b = s32[] parameter(1)
          c = s32[] copy(a)
          d = s32[] reshape(b)
          ROOT l = pred[] compare(c, d), direction=LT
        }
        ENTRY e {
          keys = s32[4] constant({3, -1, 2, 0})
          ROOT s = s32[4] sort(keys), dimensions={0}, to_apply=less
        }";
    assert_eq!(results(text, &[]), [words(&[-1, 0, 2, 3])]);
}

/// Bits of floats, as integers, put negative floats after positive ones, the greatest first.
#[test]
fn a_comparator_compares_the_bits_of_floats() {
    let text = "HloModule m
        less {
          a = f32[] parameter(0)
          b = f32[] parameter(1)
          c = u32[] bitcast-convert(a)
          d = u32[] bitcast-convert(b)
          ROOT l = pred[] compare(c, d), direction=LT
        }
        ENTRY e {
          keys = f32[5] constant({-2, 0.5, -1, 3, 0})
          ROOT s = f32[5] sort(keys), dimensions={0}, to_apply=less
        }";
    let expected: Vec<u8> =
        [0_f32, 0.5, 3., -1., -2.].into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(results(text, &[]), [expected]);
}

/// The places of a scatter are constants along two dimensions.
#[test]
fn windows_are_placed_along_two_dimensions() {
    let text = "HloModule m
        replace {
          old = s32[] parameter(0)
          ROOT new = s32[] parameter(1)
        }
        ENTRY e {
          base = s32[3,4] parameter(0)
          updates = s32[4] parameter(1)
          places = s32[4,2] constant({{0,1},{2,0},{1,3},{2,3}})
          ROOT r = s32[3,4] scatter(base, places, updates), update_window_dims={},
            inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1,
            to_apply=replace
        }";
    let (base, updates) = (words(&(0..12).collect::<Vec<_>>()), words(&[-1, -2, -3, -4]));
    let expected = words(&[0, -1, 2, 3, 4, 5, 6, -3, -2, 9, 10, -4]);
    assert_eq!(results(text, &[&base, &updates]), [expected]);
}

/// If the indices of many windows are constants, so is the table, and no kernel makes it.
#[test]
fn the_table_of_constant_places_is_a_constant() {
    let places: Vec<i32> = (0..20).map(|n| n * 7 % 23 - 2).collect();
    let text = format!(
        "HloModule m
        replace {{
          old = s32[] parameter(0)
          ROOT new = s32[] parameter(1)
        }}
        ENTRY e {{
          base = s32[19] parameter(0)
          updates = s32[20] parameter(1)
          places = s32[20] constant({{{}}})
          ROOT r = s32[19] scatter(base, places, updates), update_window_dims={{}},
            inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1,
            to_apply=replace
        }}",
        places.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
    );
    let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
    assert_eq!((program.steps().len(), program.constants().len()), (1, 1));
    let mut expected: Vec<i32> = (0..19).collect();
    for (number, &place) in places.iter().enumerate() {
        let place = usize::try_from(place).ok();
        if let Some(element) = place.and_then(|place| expected.get_mut(place)) {
            *element = -i32::try_from(number).unwrap();
        }
    }
    let [base, updates] = [(0..19).collect::<Vec<_>>(), (0..20).map(|n| -n).collect()];
    let given = program.run_on_host(&[&words(&base), &words(&updates)]).unwrap();
    assert_eq!(given, [words(&expected)]);
}
