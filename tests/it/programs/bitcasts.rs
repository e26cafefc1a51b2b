//! `bitcast-convert`, `bitcast`, and `convert` between integers, for element types of all widths,
//! checked with lists of bits.

use stridec::{
    hlo::Module,
    program::{Program, Ways},
    shape::ElementType,
};

/// The bits of an array: the elements are in row-major order, and the low bits of an element come
/// first.
type Bits = Vec<bool>;

fn element_type(name: &str) -> ElementType {
    format!("{name}[]").parse::<stridec::shape::Shape>().unwrap().element_type()
}

/// Returns the bytes of an array with elements in row-major order, packed or in whole bytes. A byte
/// that holds a smaller signed integer repeats its sign.
fn image(bits: &[bool], name: &str, is_packed: bool) -> Vec<u8> {
    let element_type = element_type(name);
    let width = element_type.bits().unwrap() as usize;
    let mut all = Vec::new();
    for element in bits.chunks(width) {
        all.extend_from_slice(element);
        if !is_packed {
            let fill = element_type.is_signed_integer() && element[width - 1];
            all.resize(all.len().next_multiple_of(8), fill);
        }
    }
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    all.chunks(8).map(byte).collect()
}

fn random_bits(count: usize, seed: usize) -> Bits {
    (0..count).map(|n| (n * n + seed * n) % 7 % 2 == 1 || n % 11 == seed % 11).collect()
}

const TYPES: [&str; 12] =
    ["u1", "u2", "s2", "u4", "s4", "f4e2m1fn", "s8", "u16", "bf16", "f32", "s64", "u64"];

/// Returns arrays of the types `from` and `to`, as text. Both have the bits of `rows` elements of
/// the wider type.
fn shapes(from: &str, to: &str, rows: usize) -> [String; 2] {
    let [wide, narrow] = [from, to].map(|name| element_type(name).bits().unwrap());
    let of = |name: &str, own: u32, other: u32| {
        if own < other {
            format!("{name}[{rows},{}]", other / own)
        } else {
            format!("{name}[{rows}]")
        }
    };
    [of(from, wide, narrow), of(to, narrow, wide)]
}

/// Returns a shape. If `is_packed` is true, its layout packs elements below a byte.
fn packed(shape: &str, is_packed: bool) -> String {
    let rank = if shape.contains(',') { "1,0" } else { "0" };
    let bits = element_type(shape.split('[').next().unwrap()).bits().unwrap();
    if is_packed && bits < 8 { format!("{shape}{{{rank}:E({bits})}}") } else { shape.to_owned() }
}

fn run(text: &str, images: &[&[u8]]) -> Vec<u8> {
    super::results(text, images).concat()
}

#[test]
fn bitcast_conversions_of_all_widths_keep_the_bits() {
    let mut count = 0;
    for from in TYPES {
        for to in TYPES {
            let rows = 5;
            let [source, result] = shapes(from, to, rows);
            let wide = element_type(from).bits().max(element_type(to).bits()).unwrap() as usize;
            let bits = random_bits(rows * wide, count);
            for [packs_source, packs_result] in
                [[false; 2], [true; 2], [false, true], [true, false]]
            {
                let [given, wanted] =
                    [packed(&source, packs_source), packed(&result, packs_result)];
                let text = format!(
                    "HloModule m, entry_computation_layout={{({given})->{wanted}}}
                     ENTRY e {{
                       p = {given} parameter(0)
                       ROOT b = {wanted} bitcast-convert(p)
                     }}"
                );
                let expected = image(&bits, to, packs_result);
                assert_eq!(run(&text, &[&image(&bits, from, packs_source)]), expected, "{text}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 4 * TYPES.len() * TYPES.len());
}

/// Between the two types, the bits are converted to a third type, and its narrow elements are
/// moved.
#[test]
fn bits_are_moved_between_bitcast_conversions() {
    for (from, middle, to) in [
        ("u16", "s4", "u8"),
        ("s8", "u2", "s4"),
        ("f32", "u1", "u2"),
        ("u4", "u1", "s4"),
        ("s64", "s4", "f32"),
        ("u8", "u1", "u8"),
    ] {
        let [wide, width, last] = [from, middle, to].map(|name| element_type(name).bits().unwrap());
        let count = 4 * wide;
        let bits = random_bits(count as usize, wide as usize);
        let narrow = count / width;
        let (given, result) = (4, count / last);
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = {from}[{given}] parameter(0)
               b = {middle}[{given},{parts}] bitcast-convert(p)
               f = {middle}[{narrow}] reshape(b)
               r = {middle}[{narrow}] reverse(f), dimensions={{0}}
               g = {middle}[{result},{}] reshape(r)
               ROOT z = {to}[{result}] bitcast-convert(g)
             }}",
            last / width,
            parts = wide / width,
        );
        let moved: Bits = bits.chunks(width as usize).rev().flat_map(<[bool]>::to_vec).collect();
        let given = run(&text, &[&image(&bits, from, false)]);
        assert_eq!(given, image(&moved, to, false), "{text}");
    }
}

/// Constants, padding values, and operands with different packing.
#[test]
fn bits_of_constants_and_of_several_operands_are_joined() {
    let text = "HloModule m
        ENTRY e {
          p = s4[3] parameter(0)
          q = s4[3]{0:E(4)} parameter(1)
          c = s4[2] constant({-3, 5})
          n = s4[] constant(-2)
          j = s4[8] concatenate(p, q, c), dimensions={0}
          w = s4[10] pad(j, n), padding=1_1
          g = s4[5,2] reshape(w)
          b = s8[5] bitcast-convert(g)
          ROOT t = (s8[5], s4[10]) tuple(b, w)
        }";
    let nibbles = |list: &[i8]| -> Bits {
        list.iter().flat_map(|&n| (0..4).map(move |bit| n >> bit & 1 == 1)).collect()
    };
    let all = nibbles(&[-2, 1, -8, 7, -1, 2, -6, -3, 5, -2]);
    let [p, q] = [nibbles(&[1, -8, 7]), nibbles(&[-1, 2, -6])];
    let given = run(text, &[&image(&p, "s4", false), &image(&q, "s4", true)]);
    assert_eq!(given, [image(&all, "s8", false), image(&all, "s4", false)].concat());
    // The low bits of wider integers become elements of their own, each in a byte.
    let text = "HloModule m
        ENTRY e {
          p = s32[2] parameter(0)
          c = s8[2,2] constant({{-100, 77}, {15, -1}})
          n = s4[2] convert(p)
          m = s4[2,2] convert(c)
          f = s4[4] reshape(m)
          ROOT j = s4[6] concatenate(n, f), dimensions={0}
        }";
    let p: Vec<u8> = [0x1239_i32, -7].into_iter().flat_map(i32::to_le_bytes).collect();
    let expected = nibbles(&[9, -7, -100, 77, 15, -1]);
    assert_eq!(run(text, &[&p]), image(&expected, "s4", false));
}

/// The result has padding with its own value, and elements that are joined from smaller ones.
#[test]
fn joined_elements_are_padded() {
    let text = "HloModule m, entry_computation_layout={(s4[3,2])->s8[3]{0:T(4)}}
        ENTRY e {
          p = s4[3,2] parameter(0)
          ROOT b = s8[3]{0:T(4)} bitcast-convert(p)
        }";
    assert_eq!(run(text, &[&[1, 2, 0xff, 3, 4, 5]]), [0x21, 0x3f, 0x54, 0]);
    let text = "HloModule m, entry_computation_layout={(s4[3,2])->s8[3]{0:PAD(5,lowest)}}
        ENTRY e {
          p = s4[3,2] parameter(0)
          ROOT b = s8[3] bitcast-convert(p)
        }";
    assert_eq!(run(text, &[&[1, 2, 0xff, 3, 4, 5]]), [0x21, 0x3f, 0x54, 0x80, 0x80]);
}

/// A bitcast keeps the bytes, also of packed elements.
#[test]
fn bitcasts_of_packed_elements_keep_the_bytes() {
    for (from, to) in [
        ("s4[6]{0:E(4)}", "s8[3]{0}"),
        ("u8[4]{0}", "u2[2,8]{1,0:E(2)}"),
        ("u16[2,3]{1,0}", "s4[6,4]{1,0:E(4)}"),
        ("s4[4,6]{0,1:E(4)}", "u4[24]{0:E(4)}"),
        ("s4[4,8]{1,0:T(2,4)E(4)}", "s8[16]{0}"),
    ] {
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = {from} parameter(0)
               ROOT b = {to} bitcast(p)
             }}"
        );
        let module = Module::parse(&text).unwrap();
        let bytes = Program::lower(&module).unwrap().parameters()[0].bytes();
        let image: Vec<u8> = (0..bytes).map(|n| u8::try_from(n * 37 % 251).unwrap()).collect();
        assert_eq!(run(&text, &[&image]), image, "{text}");
    }
}

#[test]
fn bitcasts_of_elements_in_bytes_keep_the_bytes() {
    for (from, to) in [
        ("u4[4,6]{1,0}", "u4[24]{0}"),
        ("u4[4,6]{0,1}", "u4[6,4]{1,0}"),
        ("u2[3,8]{1,0}", "u2[2,12]{1,0}"),
    ] {
        let text = format!(
            "HloModule m
             ENTRY e {{
               p = {from} parameter(0)
               ROOT b = {to} bitcast(p)
             }}"
        );
        let image: Vec<u8> = (0..24).map(|n| n * 7 % 4).collect();
        assert_eq!(run(&text, &[&image]), image, "{text}");
    }
}

/// A wider integer repeats the sign, and a narrower one keeps the low bits.
#[test]
fn integers_are_converted_in_bytes_and_packed() {
    let types = ["u2", "s2", "u4", "s4", "s8", "u16"];
    let mut refused = vec![];
    for (from, to) in types.iter().flat_map(|from| types.map(|to| (*from, to))) {
        let [own, other] = [from, to].map(|name| element_type(name).bits().unwrap() as usize);
        let bits = random_bits(16 * own, other);
        let extends = element_type(from).is_signed_integer();
        let expected: Bits = bits
            .chunks(own)
            .flat_map(|of| (0..other).map(move |n| *of.get(n).unwrap_or(&(extends && of[own - 1]))))
            .collect();
        for [packs_source, packs_result] in [[false; 2], [true; 2], [false, true], [true, false]] {
            let given = packed(&format!("{from}[16]"), packs_source);
            let wanted = packed(&format!("{to}[16]"), packs_result);
            let text = format!(
                "HloModule m, entry_computation_layout={{({given})->{wanted}}}
                 ENTRY e {{
                   p = {given} parameter(0)
                   ROOT c = {wanted} convert(p)
                 }}"
            );
            let Ok(program) = Program::lower(&Module::parse(&text).unwrap()) else {
                refused.push(format!("{given} to {wanted}"));
                continue;
            };
            let results = program.run_on_host(&[&image(&bits, from, packs_source)]).unwrap();
            // In a byte that holds a narrow integer, only the bits of the integer are compared.
            let mask = if packs_result || other >= 8 { 0xff } else { (1 << other) - 1 };
            let [given, expected] = [results.concat(), image(&expected, to, packs_result)]
                .map(|bytes| bytes.into_iter().map(|byte| byte & mask).collect::<Vec<u8>>());
            assert_eq!(given, expected, "{text}");
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_bit_is_followed_through_bitcast_conversions() {
    let module = Module::parse(
        "HloModule m
         ENTRY e {
           p = u16[3] parameter(0)
           b = s4[3,4] bitcast-convert(p)
           ROOT r = s4[3,4] reverse(b), dimensions={0}
         }",
    )
    .unwrap();
    let ways = Ways::new(&module).unwrap();
    let way = ways.way(0, &[0, 2], 1).unwrap();
    let stridec::program::Origin::Parameter { index, bit, .. } = way.origin else { panic!() };
    assert_eq!((index, bit), (vec![2], 2 * 16 + 2 * 4 + 1));
}

/// Byte 7 of a constant of 8 bytes becomes byte 0, of which a narrower integer keeps the low bits.
#[test]
fn low_bits_of_any_byte_of_a_constant() {
    let text = "HloModule m

        ENTRY e {
          c = s64[] constant(-4744335103737584736)
          wide = s64[3] broadcast(c), dimensions={}
          bytes = u8[3,8] bitcast-convert(wide)
          turned = u8[3,8] reverse(bytes), dimensions={1}
          again = s64[3] bitcast-convert(turned)
          ROOT low = u4[3] convert(again)
        }";
    let low = (-4_744_335_103_737_584_736_i64).to_le_bytes()[7] & 0xf;
    assert_eq!(super::results(text, &[]), [[low; 3]]);
}
