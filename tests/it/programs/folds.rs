//! Arithmetic on constants, which is computed at compile time.

use serde_json::Value;
use stridec::{
    ErrorKind,
    hlo::{Binary, Builder, Literal, Module, Opcode, Unary},
    program::Program,
    shape::{ElementType, Shape},
};

use super::converts::bytes;

/// Returns the result of an entry computation with these instructions, on these parameters.
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

/// A mask of an iota is a guard unless its integers wrap around in their type.
#[test]
fn masks_of_integers_that_wrap_around() {
    for (kind, count, added, least) in [
        ("u8", 156, [100, 0], 50),
        ("u8", 157, [100, 0], 50),
        ("u8", 9, [250, 3], 50),
        ("s8", 28, [100, 0], 0),
        ("s8", 29, [100, 0], 0),
        ("s8", 4, [-100, -28], 0),
        ("s8", 4, [-100, -29], 0),
    ] {
        let [a, b] = added;
        let instructions = format!(
            "x = s32[{count}] parameter(0)
             y = s32[{count}] parameter(1)
             i = {kind}[{count}] iota(), iota_dimension=0
             a = {kind}[] constant({a})
             as = {kind}[{count}] broadcast(a), dimensions={{}}
             b = {kind}[] constant({b})
             bs = {kind}[{count}] broadcast(b), dimensions={{}}
             l = {kind}[] constant({least})
             ls = {kind}[{count}] broadcast(l), dimensions={{}}
             j = {kind}[{count}] add(i, as)
             k = {kind}[{count}] add(j, bs)
             mask = pred[{count}] compare(k, ls), direction=GE
             ROOT r = s32[{count}] select(mask, x, y)"
        );
        let low = if kind == "u8" { 0 } else { -128 };
        let value = |n: i32| (n + a + b - low).rem_euclid(256) + low;
        let chosen = (0..count).map(|n| if value(n) >= least { n } else { -n });
        let parameters = [integers(0..count), integers((0..count).map(|n| -n))];
        let parameters = parameters.each_ref().map(Vec::as_slice);
        assert_eq!(result(&instructions, &parameters), integers(chosen), "{kind} {count} {a} {b}");
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
    let instructions = "a = u8[3] constant({18, 18, 18})
         ROOT r = u4[3] convert(a)";
    assert_eq!(result(instructions, &[]), [2; 3]);
    let instructions = "a = u8[3] constant({18, 15, 255})
         ROOT r = u4[3] convert(a)";
    assert_eq!(result(instructions, &[]), [2, 15, 15]);
    let instructions = "a = f32[5] constant({0.25, 0, nan, -0, -3})
         ROOT r = pred[5] convert(a)";
    assert_eq!(result(instructions, &[]), [1, 0, 1, 0, 1]);
    let instructions = "a = f32[3] constant({-7.9, 300, nan})
         ROOT r = u8[3] convert(a)";
    assert_eq!(result(instructions, &[]), [0, 255, 0]);
}

/// A comparison `x != 0` is a conversion to `pred`; any other comparison of elements is refused.
#[test]
fn only_a_comparison_with_zero_is_a_conversion() {
    let lower = |number: &str| {
        let text = format!(
            "HloModule m
             ENTRY e {{
               x = s32[4] parameter(0)
               n = s32[] constant({number})
               ns = s32[4] broadcast(n), dimensions={{}}
               ROOT r = pred[4] compare(x, ns), direction=NE
             }}"
        );
        Program::lower(&Module::parse(&text).unwrap())
    };
    let results = lower("0").unwrap().run_on_host(&[&integers([0, 7, -1, 256])]).unwrap();
    assert_eq!(results, [[0, 1, 1, 1]]);
    assert!(lower("1").is_err() && lower("256").is_err());
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

/// A reduce of one element is a move only if it starts with the neutral element of its operation.
#[test]
fn a_reduce_of_one_element_is_a_move() {
    for (kind, operation, neutral, other) in [
        ("s8", "add", "0", "1"),
        ("u8", "or", "0", "1"),
        ("s8", "xor", "0", "1"),
        ("u8", "and", "255", "127"),
        ("s8", "and", "-1", "0"),
        ("s8", "multiply", "1", "0"),
        ("s8", "maximum", "-128", "0"),
        ("u8", "maximum", "0", "1"),
        ("s8", "minimum", "127", "-128"),
        ("u8", "minimum", "255", "254"),
    ] {
        let lower = |start: &str| {
            let text = format!(
                "HloModule reduces

                 combine {{
                   a = {kind}[] parameter(0)
                   b = {kind}[] parameter(1)
                   ROOT c = {kind}[] {operation}(a, b)
                 }}

                 ENTRY main {{
                   x = {kind}[4,1] parameter(0)
                   start = {kind}[] constant({start})
                   ROOT r = {kind}[4] reduce(x, start), dimensions={{1}}, to_apply=combine
                 }}"
            );
            Program::lower(&Module::parse(&text).unwrap())
        };
        let moved = lower(neutral).unwrap().run_on_host(&[&[3, 128, 255, 0]]).unwrap();
        assert_eq!(moved.concat(), [3, 128, 255, 0], "{operation} of {kind}");
        assert!(lower(other).is_err(), "{operation} of {kind} from {other}");
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

/// The masks of `tril` and `triu` add and subtract constants if their diagonal is not the main one.
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

/// The rows of a triangle are found one after the other, so the stack of a thread need not grow
/// with their number.
#[test]
fn a_large_triangle_fits_a_small_stack() {
    let size = 3000_usize;
    let instructions = format!(
        "x = u8[{size},{size}] parameter(0)
         i = s32[{size},{size}] iota(), iota_dimension=0
         j = s32[{size},{size}] iota(), iota_dimension=1
         two = s32[] constant(2)
         twos = s32[{size},{size}] broadcast(two), dimensions={{}}
         k = s32[{size},{size}] add(i, twos)
         m = pred[{size},{size}] compare(k, j), direction=GE
         z = u8[] constant(0)
         zeros = u8[{size},{size}] broadcast(z), dimensions={{}}
         ROOT r = u8[{size},{size}] select(m, x, zeros)"
    );
    let run = move || result(&instructions, &[&vec![1; size * size]]);
    let small = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    let kept = small.join().unwrap();
    for (row, bytes) in kept.chunks_exact(size).enumerate() {
        assert!(bytes.iter().enumerate().all(|(n, &byte)| byte == u8::from(n <= row + 2)), "{row}");
    }
}

/// Constants that depend on each other in a long chain are not folded, so that the recursion is
/// short.
#[test]
fn a_long_chain_of_constants_fits_a_small_stack() {
    let lowers = |count: usize| {
        let sums: Vec<String> =
            (0..count).map(|n| format!("c{} = s32[] add(c{n}, c0)", n + 1)).collect();
        let sums = sums.join("\n");
        let text = format!(
            "HloModule chain\n\nENTRY main {{\nc0 = s32[] constant(1)\n{sums}\n\
             ROOT r = s32[2] broadcast(c{count}), dimensions={{}}\n}}\n"
        );
        let module = Module::parse(&text).unwrap();
        let program = Program::lower(&module).ok()?;
        Some(program.run_on_host(&[]).unwrap().concat())
    };
    let run = move || [60, 20_000].map(lowers);
    let small = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert_eq!(small.join().unwrap(), [Some(integers([61, 61])), None]);
}

/// Arithmetic on constants, compared with the results of XLA's CPU backend in `fold_facts.jsonl`,
/// which were recorded with JAX 0.10.2. Elements are in hexadecimal, little-endian. All NaNs are
/// equal.
#[test]
fn constants_are_computed_as_xla_computes() {
    let mut operations = std::collections::BTreeSet::new();
    let mut failures = Vec::new();
    for line in include_str!("../../data/fold_facts.jsonl").lines() {
        let fact: Value = serde_json::from_str(line).unwrap();
        let (operation, kind) = (fact["op"].as_str().unwrap(), fact["type"].as_str().unwrap());
        let kind = ElementType::from_name(kind).unwrap();
        let expected = bytes(fact["result"].as_str().unwrap());
        let opcode = opcode(operation);
        let of_result = if operation == "is-finite" { ElementType::Pred } else { kind };
        let width = |kind: ElementType| kind.storage_bits().unwrap() as usize / 8;
        let count = expected.len() / width(of_result);
        let mut builder = Builder::new("constants");
        let mut operands = Vec::new();
        let given = fact["operands"].as_array().unwrap();
        let given: Vec<Vec<u8>> = given.iter().map(|hex| bytes(hex.as_str().unwrap())).collect();
        for bytes in &given {
            let shape = Shape::new(kind, [count as u64], None).unwrap();
            let literal = Literal::new(&shape, bytes.clone()).unwrap();
            operands.push(builder.add(Opcode::Constant(literal.into()), &[]).unwrap());
        }
        let root = builder.add(opcode, &operands).unwrap();
        let module = builder.finish("main", root).unwrap();
        let outputs = Program::lower(&module).unwrap().run_on_host(&[]).unwrap();
        // The bits of positive infinity. Without their sign, the bits of NaNs are greater.
        let infinity: u64 = match kind {
            ElementType::F16 => 0x7c00,
            ElementType::Bf16 => 0x7f80,
            ElementType::F32 => 0x7f80_0000,
            ElementType::F64 => 0x7ff0 << 48,
            _ => u64::MAX,
        };
        let sign = 1_u64 << (8 * width(kind) - 1);
        let nan = |bytes: &[u8]| {
            let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            of_result == kind && bits & !sign > infinity
        };
        let results = outputs[0].chunks(width(of_result)).zip(expected.chunks(width(of_result)));
        for (place, (got, expected)) in results.enumerate() {
            if got != expected && !(nan(got) && nan(expected)) {
                let at = |bytes: &Vec<u8>| bytes.chunks(width(kind)).nth(place).unwrap().to_vec();
                let operands: Vec<Vec<u8>> = given.iter().map(at).collect();
                failures.push(format!(
                    "{operation} of {kind} {operands:x?}: expected {expected:x?}, got {got:x?}"
                ));
            }
        }
        operations.insert(operation.to_owned());
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(operations.len(), 26, "{operations:?}");
}

fn opcode(name: &str) -> Opcode {
    if name == "clamp" {
        return Opcode::Clamp;
    }
    let unary = Unary::ALL.iter().copied().find(|unary| unary.name() == name).map(Opcode::Unary);
    unary.unwrap_or_else(|| {
        let binary = Binary::ALL.iter().copied().find(|binary| binary.name() == name);
        Opcode::Binary(binary.unwrap_or_else(|| panic!("no operation {name}")))
    })
}

/// `jax.image.resize(x, (3, 7), "nearest")` of an array of 2 rows and 4 columns. Its indices are
/// floats that are computed from iotas.
#[test]
fn nearest_neighbours_are_one_gather() {
    let text = include_str!("../../data/resize_nearest.hlo");
    let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
    assert_eq!(program.steps().len(), 1);
    let x = floats([0., 1., 2., 3., 4., 5., 6., 7.]);
    let expected = [0., 0., 1., 2., 2., 3., 3.].into_iter();
    let [last, again] = [(); 2].map(|()| expected.clone().map(|x| x + 4.));
    let expected = floats(expected.chain(last).chain(again));
    assert_eq!(program.run_on_host(&[&x]).unwrap(), [expected]);
}

/// If a constant value is not folded, the error names the instruction that computes it, and not the
/// instruction that uses it.
#[test]
fn a_refusal_names_the_instruction_that_computes() {
    let text = "HloModule m
        ENTRY e {
          x = f32[8] parameter(0)
          i = f32[4] iota(), iota_dimension=0
          wave = f32[4] cosine(i)
          two = f32[] constant(2)
          twos = f32[4] broadcast(two), dimensions={}
          more = f32[4] multiply(wave, twos)
          n = s32[4] convert(more)
          ROOT r = f32[4] gather(x, n), offset_dims={}, collapsed_slice_dims={0},
            start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        }";
    let error = Program::lower(&Module::parse(text).unwrap()).unwrap_err().to_string();
    assert!(error.contains("wave"), "{error}");
}

/// Integer powers wrap around. A negative exponent gives 1 for the base 1, and 0 for any other
/// base, as in XLA's evaluator.
#[test]
fn integer_powers_are_those_of_xla() {
    let power = |kind: &str, pairs: &[(i64, i64)]| {
        let list = |of: fn(&(i64, i64)) -> i64| {
            pairs.iter().map(|pair| of(pair).to_string()).collect::<Vec<_>>().join(",")
        };
        let text = format!(
            "HloModule m
             ENTRY e {{
               a = {kind}[{n}] constant({{{}}})
               b = {kind}[{n}] constant({{{}}})
               ROOT p = {kind}[{n}] power(a, b)
             }}",
            list(|pair| pair.0),
            list(|pair| pair.1),
            n = pairs.len(),
        );
        let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
        program.run_on_host(&[]).unwrap().concat()
    };
    let pairs = [
        (3, 0),
        (0, 0),
        (0, 3),
        (2, 10),
        (-3, 3),
        (7, 20),
        (1, -5),
        (-1, -1),
        (-1, -2),
        (2, -1),
        (0, -1),
    ];
    let expected = [1, 1, 0, 1024, -27, 7_i32.wrapping_pow(20), 1, 0, 0, 0, 0];
    assert_eq!(power("s32", &pairs), integers(expected));
    assert_eq!(power("u8", &[(3, 5), (2, 8), (255, 255), (16, 2)]), [243, 0, 255, 0]);
    assert_eq!(power("s8", &[(-2, 7), (3, 5), (-128, 1)]), [0x80, 0xf3, 0x80]);
    let wide = 3_u64.wrapping_pow(64);
    assert_eq!(power("u64", &[(3, 64)]), wide.to_le_bytes());
}

/// Complex numbers are equal if their real parts and their imaginary parts are equal.
#[test]
fn complex_constants_are_equal_or_not() {
    let chosen = |direction: &str| {
        result(
            &format!(
                "a = c64[3] constant({{(1, 2), (1, -2), (nan, 0)}})
                 b = c64[3] constant({{(1, 2), (1, 2), (nan, 0)}})
                 ROOT c = pred[3] compare(a, b), direction={direction}"
            ),
            &[],
        )
    };
    assert_eq!(chosen("EQ"), [1, 0, 0]);
    assert_eq!(chosen("NE"), [0, 1, 1]);
}

/// A value that is too large to be computed at compile time, and an unknown opcode, are refused
/// with that reason.
#[test]
fn refusals_say_why() {
    let refusal = |instructions: &str| {
        let text = format!("HloModule m\nENTRY e {{ p = f32[16] parameter(0)\n{instructions} }}");
        Program::lower(&Module::parse(&text).unwrap()).unwrap_err().to_string()
    };
    assert_eq!(
        refusal("ROOT i = f32[100000000000] iota(), iota_dimension=0"),
        "`i`, f32[100000000000]: iota is not supported; a value that depends on no parameter is \
         computed when compiling, if it has at most 1048576 elements"
    );
    assert_eq!(
        refusal("ROOT r = f32[16] teleport(p)"),
        "`r`, f32[16]: teleport is not supported; it is an unknown opcode"
    );
    assert_eq!(
        refusal("ROOT r = f32[16] cosine(p)"),
        "`r`, f32[16]: cosine is not supported; elements are only moved and converted, and only indices \
         are computed"
    );
    // The number of elements matters only to constants.
    let many = "x = f32[2000000] parameter(1) ROOT r = f32[2000000] cosine(x)";
    assert!(refusal(many).ends_with("only indices are computed"));
    // A function of bytes has the way out of a table, unless it depends on other values too.
    let bytes = "b = u8[16] parameter(1) f = f32[16] convert(b)";
    let advice =
        "; a function of one u8 can be a table of 256 entries, which JAX looks up by table[x]";
    assert!(refusal(&format!("{bytes} ROOT r = f32[16] add(f, f)")).ends_with(advice));
    assert!(!refusal(&format!("{bytes} ROOT r = f32[16] add(f, p)")).contains("table"));
}

/// If no elements are reduced, the result may still have many elements. It is then not computed at
/// compile time.
#[test]
fn a_reduce_of_no_elements_to_many_is_not_folded() {
    let module = Module::parse(
        "add {
           a = s32[] parameter(0)
           b = s32[] parameter(1)
           ROOT sum = s32[] add(a, b)
         }

         ENTRY main {
           x = s32[0,1000000000000] constant({})
           zero = s32[] constant(0)
           ROOT r = s32[1000000000000] reduce(x, zero), dimensions={0}, to_apply=add
         }",
    )
    .unwrap();
    assert_eq!(Program::lower(&module).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// All values that are computed when compiling together have a limit too.
#[test]
fn many_large_values_are_not_folded() {
    let lowered = |count: usize| {
        let iotas = (0..count).map(|n| format!("i{n} = c128[1048576] iota(), iota_dimension=0\n"));
        let (iotas, names): (String, Vec<String>) =
            (iotas.collect(), (0..count).map(|n| format!("i{n}")).collect());
        let shapes = vec!["c128[1048576]"; count].join(", ");
        let text = format!("ENTRY e {{ {iotas} ROOT t = ({shapes}) tuple({}) }}", names.join(", "));
        Program::lower(&Module::parse(&text).unwrap())
    };
    assert!(lowered(2).is_ok());
    assert_eq!(
        lowered(17).unwrap_err().to_string(),
        "`i16`, c128[1048576]: iota is not supported; the values that depend on no parameter and \
         are computed when compiling take more than 268435456 bytes together, which passing some \
         of them as parameters avoids"
    );
}
