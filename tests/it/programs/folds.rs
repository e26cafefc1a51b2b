//! Arithmetic on constants, whose results are computed at compile time.

use stridec::{hlo::Module, program::Program};

/// Returns the result of an entry computation, given its instructions and its parameters.
fn result(instructions: &str, parameters: &[&[u8]]) -> Vec<u8> {
    let text = format!("HloModule folds\n\nENTRY main {{\n{instructions}\n}}\n");
    let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
    assert_eq!(program.parameters().len(), parameters.len());
    program.run_on_host(parameters).unwrap().concat()
}

fn integers(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

#[test]
fn comparisons_of_constants_choose_elements() {
    let (a, b) = ([1, 2, 3, 4], [4, 2, 1, 9]);
    let holds = |direction: &str, a: i32, b: i32| match direction {
        "EQ" => a == b,
        "NE" => a != b,
        "GE" => a >= b,
        "GT" => a > b,
        "LE" => a <= b,
        _ => a < b,
    };
    for direction in ["EQ", "NE", "GE", "GT", "LE", "LT"] {
        let instructions = format!(
            "a = s32[4] constant({{1, 2, 3, 4}})
             b = s32[4] constant({{4, 2, 1, 9}})
             t = (s32[4], s32[4]) tuple(a, b)
             left = s32[4] get-tuple-element(t), index=0
             right = s32[4] get-tuple-element(t), index=1
             c = pred[4] compare(left, right), direction={direction}
             ROOT r = s32[4] select(c, left, right)"
        );
        let chosen = a.iter().zip(b).map(|(&a, b)| if holds(direction, a, b) { a } else { b });
        assert_eq!(result(&instructions, &[]), integers(chosen), "{direction}");
    }
}

#[test]
fn comparisons_with_nan_are_false_except_of_inequality() {
    for (direction, expected) in [
        ("EQ", [20., 21., 12.]),
        ("NE", [10., 11., 22.]),
        ("LT", [10., 21., 22.]),
        ("GE", [20., 21., 12.]),
    ] {
        let instructions = format!(
            "a = f32[3] constant({{1, nan, 3}})
             b = f32[3] constant({{2, nan, 3}})
             c = pred[3] compare(a, b), direction={direction}
             x = f32[3] constant({{10, 11, 12}})
             y = f32[3] constant({{20, 21, 22}})
             ROOT r = f32[3] select(c, x, y)"
        );
        assert_eq!(result(&instructions, &[]), floats(expected), "{direction}");
    }
}

#[test]
fn constants_are_converted() {
    let instructions = "a = f64[3] constant({0.1, 1e300, -2.5})
         ROOT r = f32[3] convert(a)";
    assert_eq!(result(instructions, &[]), floats([0.1, f32::INFINITY, -2.5]));
    let instructions = "a = s32[3] constant({-7, 0, 16777217})
         ROOT r = f32[3] convert(a)";
    assert_eq!(result(instructions, &[]), floats([-7., 0., 16_777_216.]));
    let instructions = "a = s32[3] constant({-7, 0, 1})
         ROOT r = pred[3] convert(a)";
    assert_eq!(result(instructions, &[]), [1, 0, 1]);
    let instructions = "a = f32[3] constant({-7.9, 300, nan})
         ROOT r = u8[3] convert(a)";
    assert_eq!(result(instructions, &[]), [0, 255, 0]);
}

#[test]
fn sums_of_constants_are_by_dimension() {
    let of = |dimension: usize, size: usize| {
        format!(
            "a = s32[2,3] constant({{{{1, 2, 3}}, {{40, 50, 60}}}})
             zero = s32[] constant(0)
             ROOT r = s32[{size}] reduce(a, zero), dimensions={{{dimension}}}, to_apply=add"
        )
    };
    let add = "add {
        a = s32[] parameter(0)
        b = s32[] parameter(1)
        ROOT sum = s32[] add(a, b)
    }";
    for (dimension, expected) in [(1, vec![6, 150]), (0, vec![41, 52, 63])] {
        let instructions = of(dimension, expected.len());
        let text = format!("HloModule sums\n\n{add}\n\nENTRY main {{\n{instructions}\n}}\n");
        let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
        assert_eq!(program.run_on_host(&[]).unwrap().concat(), integers(expected));
    }
}

#[test]
fn one_element_of_a_constant_is_read_at_its_place() {
    for (row, column) in [(0, 3), (1, 2), (2, 0)] {
        let instructions = format!(
            "c = s32[3,4] constant({{{{0, 1, 2, 3}}, {{10, 11, 12, 13}}, {{20, 21, 22, 23}}}})
             ROOT r = s32[1,1] slice(c), slice={{[{row}:{}], [{column}:{}]}}",
            row + 1,
            column + 1
        );
        assert_eq!(result(&instructions, &[]), integers([10 * row + column]));
    }
}

#[test]
fn the_imaginary_part_of_a_real_array_is_zero() {
    let instructions = "x = f32[3] parameter(0)
         ROOT r = f32[3] imag(x)";
    assert_eq!(result(instructions, &[&floats([1., 2., 3.])]), floats([0.; 3]));
}

/// Masks of `tril` and `triu` with diagonals off the main one add and subtract constants.
#[test]
fn triangles_end_at_any_diagonal() {
    let x = integers(1..=20);
    for (opcode, offset, direction) in
        [("add", 1, "GE"), ("subtract", 2, "GE"), ("add", 3, "LE"), ("subtract", 1, "LE")]
    {
        let instructions = format!(
            "x = s32[4,5] parameter(0)
             i = s32[4,5] iota(), iota_dimension=0
             j = s32[4,5] iota(), iota_dimension=1
             k = s32[] constant({offset})
             all = s32[4,5] broadcast(k), dimensions={{}}
             moved = s32[4,5] {opcode}(i, all)
             m = pred[4,5] compare(moved, j), direction={direction}
             z = s32[] constant(0)
             zeros = s32[4,5] broadcast(z), dimensions={{}}
             ROOT r = s32[4,5] select(m, x, zeros)"
        );
        let by = if opcode == "add" { offset } else { -offset };
        let kept = |n: i32| {
            let (row, column) = ((n - 1) / 5 + by, (n - 1) % 5);
            let holds = if direction == "GE" { row >= column } else { row <= column };
            if holds { n } else { 0 }
        };
        assert_eq!(result(&instructions, &[&x]), integers((1..=20).map(kept)), "{opcode}");
    }
}

/// Rows of a triangle are found one after the other: a thread's stack need not grow with them.
#[test]
fn a_large_triangle_fits_a_small_stack() {
    let size = 3000_usize;
    let instructions = format!(
        "x = u8[{size},{size}] parameter(0)
         i = s32[{size},{size}] iota(), iota_dimension=0
         j = s32[{size},{size}] iota(), iota_dimension=1
         m = pred[{size},{size}] compare(i, j), direction=GE
         z = u8[] constant(0)
         zeros = u8[{size},{size}] broadcast(z), dimensions={{}}
         ROOT r = u8[{size},{size}] select(m, x, zeros)"
    );
    let run = move || result(&instructions, &[&vec![1; size * size]]);
    let small = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    let kept = small.join().unwrap();
    for (row, bytes) in kept.chunks_exact(size).enumerate() {
        assert!(bytes.iter().enumerate().all(|(n, &byte)| byte == u8::from(n <= row)), "{row}");
    }
}
