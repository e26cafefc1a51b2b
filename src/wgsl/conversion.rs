//! WGSL functions that convert an element from one type to another.
//!
//! The functions compute with the bits of numbers, in `u32`. Therefore a kernel needs no device
//! feature for `f16`, `f64` or 64-bit integers, and its results depend neither on the rounding of a
//! driver nor on its treatment of subnormal numbers. [`Conversion::apply`] defines the results.
//!
//! A number is first brought into a *carrier*, one of a few types between which conversions are
//! written by hand: integers of 32 or 64 bits, `f32` and `f64`. The functions between carriers,
//! such as `u64_to_f32`, are the same in all kernels. The functions between an `f32` and a narrower
//! float are generated from the format of that float.

use std::fmt::Write as _;

use super::{
    gather::resized,
    words::{literal, type_name},
    writer::Writer,
};
use crate::{
    nest::{Conversion, NumberKind},
    shape::{ElementType, FloatFormat},
};

/// Returns the name by which the code of `writer` calls the function of a conversion. `widths` are
/// the numbers of bits that an element takes before and after the conversion.
pub(super) fn name(writer: &Writer, conversion: Conversion, widths: (u32, u32)) -> String {
    writer.function(&name_of(conversion, widths))
}

/// Returns the same name without the prefix of a writer, as it is in a kernel.
pub(super) fn name_of(conversion: Conversion, (src, dst): (u32, u32)) -> String {
    let pair = pair(conversion.from(), conversion.to());
    // A layout may give elements more room than they need.
    let is_wider = |bits: u32, of: ElementType| of.storage_bits().is_some_and(|own| bits > own);
    if is_wider(src, conversion.from()) || is_wider(dst, conversion.to()) {
        pair + "_in_place"
    } else {
        pair
    }
}

fn pair(from: ElementType, to: ElementType) -> String {
    format!("{from}_to_{to}")
}

/// Writes the function that converts an element, together with the functions that it calls. `src`
/// and `dst` are the numbers of bits that the element takes before and after the conversion. The
/// parameter and the result are words or vectors of words, whose unused upper bits are zero.
pub(super) fn conversion(writer: &mut Writer, conversion: Conversion, (src, dst): (u32, u32)) {
    let mut functions = Functions::default();
    let value = functions.converted(conversion, src);
    for (_, text) in &functions.written {
        functions.write(writer, text);
    }
    let own = name_of(conversion, (src, dst));
    let is_wider = conversion.to().storage_bits().is_some_and(|bits| dst > bits);
    if value == format!("{own}(value)") && !is_wider {
        return;
    }
    let [given, result] = [src, dst].map(|bits| type_name(bits.into()));
    let body = match conversion.to().storage_bits() {
        // If the element takes more bits than its type has, they are filled as a copy fills them.
        Some(bits) if dst > bits => {
            let whole = resized(bits, dst, conversion.to().is_signed_integer());
            format!("    let loaded = {value};\n    return {whole};\n")
        }
        _ => format!("    return {value};\n"),
    };
    let text = format!("fn {own}(value: {given}) -> {result} {{\n{body}}}\n");
    functions.written.push((own, String::new()));
    functions.write(writer, &text);
}

/// The functions that a conversion needs. A function comes after all functions that it calls.
#[derive(Default)]
struct Functions {
    /// The name and the text of each function.
    written: Vec<(String, String)>,
}

/// The functions that all conversions share: for each, its name, the names of the functions that it
/// calls, and its text.
const SHARED: [(&str, &[&str], &str); 18] = [
    (
        "rounded",
        &[],
        "// `digits` divided by 2^`shift` and rounded to the nearest integer, ties to even.
fn rounded(digits: u32, shift: u32) -> u32 {
    if shift > 31u {
        return 0u; // less than half, as `digits` then has at most 31 digits
    }
    let whole = digits >> shift;
    let rest = digits & ((1u << shift) - 1u);
    let half = (1u << shift) >> 1u;
    return whole + u32(rest > half || (rest == half && half > 0u && (whole & 1u) == 1u));
}
",
    ),
    (
        "rounded_to_odd",
        &[],
        "// `digits` divided by 2^`shift`. The last digit is one if the quotient is no integer,
// so that rounding the result once more is the same as rounding `digits` once.
fn rounded_to_odd(digits: u32, shift: u32) -> u32 {
    if shift > 31u {
        return u32(digits != 0u);
    }
    return (digits >> shift) | u32((digits & ((1u << shift) - 1u)) != 0u);
}
",
    ),
    (
        "shifted_left",
        &[],
        "// 64 bits, shifted by less than 64.
fn shifted_left(value: vec2<u32>, by: u32) -> vec2<u32> {
    if by > 31u {
        return vec2<u32>(0u, value.x << (by - 32u));
    }
    return vec2<u32>(value.x << by, (value.y << by) | ((value.x >> 1u) >> (31u - by)));
}
",
    ),
    (
        "shifted_right",
        &[],
        "// 64 bits, shifted by less than 64.
fn shifted_right(value: vec2<u32>, by: u32) -> vec2<u32> {
    if by > 31u {
        return vec2<u32>(value.y >> (by - 32u), 0u);
    }
    return vec2<u32>((value.x >> by) | ((value.y << 1u) << (31u - by)), value.y >> by);
}
",
    ),
    (
        "negated",
        &[],
        "// An integer of 64 bits with the other sign.
fn negated(value: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(0u - value.x, ~value.y + u32(value.x == 0u));
}
",
    ),
    (
        "u32_to_f32",
        &["rounded"],
        "fn u32_to_f32(value: u32) -> u32 {
    if value == 0u {
        return 0u;
    }
    let lead = firstLeadingBit(value);
    if lead < 24u {
        return ((lead + 126u) << 23u) + (value << (23u - lead));
    }
    return ((lead + 126u) << 23u) + rounded(value, lead - 23u);
}
",
    ),
    (
        "s32_to_f32",
        &["u32_to_f32"],
        "fn s32_to_f32(value: u32) -> u32 {
    let sign = value & 0x80000000u;
    return sign | u32_to_f32(select(value, 0u - value, sign != 0u));
}
",
    ),
    (
        "u64_to_f32",
        &["u32_to_f32", "rounded"],
        "fn u64_to_f32(value: vec2<u32>) -> u32 {
    if value.y == 0u {
        return u32_to_f32(value.x);
    }
    let lead = firstLeadingBit(value.y);
    // 32 digits from the leading one on. The last is one if a digit after it is.
    let after = u32((value.x << (31u - lead)) != 0u);
    let digits = (value.y << (31u - lead)) | ((value.x >> 1u) >> lead) | after;
    return ((lead + 158u) << 23u) + rounded(digits, 8u);
}
",
    ),
    (
        "s64_to_f32",
        &["u64_to_f32", "negated"],
        "fn s64_to_f32(value: vec2<u32>) -> u32 {
    if value.y < 0x80000000u {
        return u64_to_f32(value);
    }
    return 0x80000000u | u64_to_f32(negated(value));
}
",
    ),
    (
        "u64_to_odd_f32",
        &["rounded_to_odd"],
        "// An f32 that rounds to the same narrower float as an integer: the integer itself, or the
// neighbour whose last digit is one.
fn u64_to_odd_f32(value: vec2<u32>) -> u32 {
    if value.y == 0u {
        if value.x == 0u {
            return 0u;
        }
        let lead = firstLeadingBit(value.x);
        if lead < 24u {
            return ((lead + 126u) << 23u) + (value.x << (23u - lead));
        }
        return ((lead + 126u) << 23u) + rounded_to_odd(value.x, lead - 23u);
    }
    let lead = firstLeadingBit(value.y);
    let after = u32((value.x << (31u - lead)) != 0u);
    let digits = (value.y << (31u - lead)) | ((value.x >> 1u) >> lead) | after;
    return ((lead + 158u) << 23u) + rounded_to_odd(digits, 8u);
}
",
    ),
    (
        "s64_to_odd_f32",
        &["u64_to_odd_f32", "negated"],
        "fn s64_to_odd_f32(value: vec2<u32>) -> u32 {
    if value.y < 0x80000000u {
        return u64_to_odd_f32(value);
    }
    return 0x80000000u | u64_to_odd_f32(negated(value));
}
",
    ),
    (
        "u64_to_f64",
        &["shifted_left", "shifted_right"],
        "fn u64_to_f64(value: vec2<u32>) -> vec2<u32> {
    if value.x == 0u && value.y == 0u {
        return value;
    }
    let lead = select(firstLeadingBit(value.x), firstLeadingBit(value.y) + 32u, value.y != 0u);
    let exponent = (lead + 1022u) << 20u;
    if lead < 53u {
        let digits = shifted_left(value, 52u - lead);
        return vec2<u32>(digits.x, digits.y + exponent);
    }
    // Rounded to the nearest, ties to even.
    let by = lead - 52u;
    let whole = shifted_right(value, by);
    let rest = value.x & ((1u << by) - 1u);
    let half = 1u << (by - 1u);
    let up = u32(rest > half || (rest == half && (whole.x & 1u) == 1u));
    let low = whole.x + up;
    return vec2<u32>(low, whole.y + exponent + u32(low < up));
}
",
    ),
    (
        "s64_to_f64",
        &["u64_to_f64", "negated"],
        "fn s64_to_f64(value: vec2<u32>) -> vec2<u32> {
    if value.y < 0x80000000u {
        return u64_to_f64(value);
    }
    let magnitude = u64_to_f64(negated(value));
    return vec2<u32>(magnitude.x, magnitude.y | 0x80000000u);
}
",
    ),
    (
        "f32_to_f64",
        &["shifted_left"],
        "fn f32_to_f64(value: u32) -> vec2<u32> {
    let sign = value & 0x80000000u;
    let rest = value & 0x7fffffffu;
    if rest > 0x7f800000u {
        return vec2<u32>(0u, sign | 0x7ff80000u); // NaN
    }
    if rest == 0x7f800000u {
        return vec2<u32>(0u, sign | 0x7ff00000u);
    }
    if rest == 0u {
        return vec2<u32>(0u, sign);
    }
    if rest < 0x800000u {
        // A subnormal number, which is normal in an f64.
        let lead = firstLeadingBit(rest);
        let digits = shifted_left(vec2<u32>(rest, 0u), 52u - lead);
        return vec2<u32>(digits.x, sign | (digits.y + ((lead + 873u) << 20u)));
    }
    return vec2<u32>(rest << 29u, sign | ((rest >> 3u) + 0x38000000u));
}
",
    ),
    (
        "f64_to_f32",
        &["rounded"],
        "fn f64_to_f32(value: vec2<u32>) -> u32 {
    let sign = value.y & 0x80000000u;
    let exponent = (value.y >> 20u) & 0x7ffu;
    let high = value.y & 0xfffffu;
    if exponent == 0x7ffu {
        return sign | select(0x7fc00000u, 0x7f800000u, (high | value.x) == 0u);
    }
    if exponent > 1150u {
        return sign | 0x7f800000u; // too large
    }
    // 31 digits from the leading one on. The last is one if a digit after it is.
    let digits = 0x40000000u | (high << 10u) | (value.x >> 22u) | u32((value.x & 0x3fffffu) != 0u);
    let shift = select(7u, 904u - exponent, exponent < 897u);
    return sign | (((max(exponent, 897u) - 897u) << 23u) + rounded(digits, shift));
}
",
    ),
    (
        "f64_to_odd_f32",
        &["rounded_to_odd"],
        "// An f32 that rounds to the same narrower float as an f64: the number itself, or the
// neighbour whose last digit is one.
fn f64_to_odd_f32(value: vec2<u32>) -> u32 {
    let sign = value.y & 0x80000000u;
    let exponent = (value.y >> 20u) & 0x7ffu;
    let high = value.y & 0xfffffu;
    if exponent == 0x7ffu {
        return sign | select(0x7fc00000u, 0x7f800000u, (high | value.x) == 0u);
    }
    if exponent > 1150u {
        return sign | 0x7f7fffffu; // too large
    }
    if (exponent | high | value.x) == 0u {
        return sign;
    }
    let digits = 0x40000000u | (high << 10u) | (value.x >> 22u) | u32((value.x & 0x3fffffu) != 0u);
    let shift = select(7u, 904u - exponent, exponent < 897u);
    return sign | (((max(exponent, 897u) - 897u) << 23u) + rounded_to_odd(digits, shift));
}
",
    ),
    (
        "f32_magnitude",
        &["shifted_left"],
        "// The integer part of an f32 without its sign: 0 for NaN, all ones if it is too large.
fn f32_magnitude(value: u32) -> vec2<u32> {
    let rest = value & 0x7fffffffu;
    if rest < 0x3f800000u || rest > 0x7f800000u {
        return vec2<u32>(0u, 0u);
    }
    if rest >= 0x5f800000u {
        return vec2<u32>(0xffffffffu, 0xffffffffu);
    }
    let exponent = rest >> 23u;
    let digits = (rest & 0x7fffffu) | 0x800000u;
    if exponent < 150u {
        return vec2<u32>(digits >> (150u - exponent), 0u);
    }
    return shifted_left(vec2<u32>(digits, 0u), exponent - 150u);
}
",
    ),
    (
        "f64_magnitude",
        &["shifted_left", "shifted_right"],
        "// The integer part of an f64 without its sign: 0 for NaN, all ones if it is too large.
fn f64_magnitude(value: vec2<u32>) -> vec2<u32> {
    let exponent = (value.y >> 20u) & 0x7ffu;
    let high = value.y & 0xfffffu;
    if exponent < 1023u || (exponent == 0x7ffu && (high | value.x) != 0u) {
        return vec2<u32>(0u, 0u);
    }
    if exponent > 1086u {
        return vec2<u32>(0xffffffffu, 0xffffffffu);
    }
    let digits = vec2<u32>(value.x, high | 0x100000u);
    if exponent < 1075u {
        return shifted_right(digits, 1075u - exponent);
    }
    return shifted_left(digits, exponent - 1075u);
}
",
    ),
];

impl Functions {
    /// Writes the function `text`. Adds the writer's prefix to its name and to the names of the
    /// functions that it calls.
    fn write(&self, writer: &mut Writer, text: &str) {
        let mut text = text.to_owned();
        for (name, _) in &self.written {
            let call = format!("{name}(");
            text = text.replace(&call, &format!("{}(", writer.function(name)));
        }
        for line in text.lines() {
            let body = line.trim_start();
            writer.indented_line((line.len() - body.len()) / 4, body);
        }
        writer.blank();
    }

    /// Returns a call of a shared function. Adds the function to the list of functions to write, if
    /// it is not there yet.
    fn call(&mut self, name: &str, argument: &str) -> String {
        self.need(name);
        format!("{name}({argument})")
    }

    fn need(&mut self, name: &str) {
        if self.written.iter().any(|of| of.0 == name) {
            return;
        }
        let shared = SHARED.iter().find(|of| of.0 == name);
        let (_, calls, text) = shared.expect("a shared function");
        calls.iter().for_each(|name| self.need(name));
        self.written.push((name.to_owned(), (*text).to_owned()));
    }

    /// Returns the expression that converts the variable `value`, an element that takes `src` bits.
    fn converted(&mut self, conversion: Conversion, src: u32) -> String {
        let (from, to) = (conversion.from(), conversion.to());
        let value = match (from.bits(), src) {
            (Some(0..=32), 33..=64 | 128) => "value.x".to_owned(),
            (Some(33..=64), 128) => "value.xy".to_owned(),
            _ => "value".to_owned(),
        };
        let carried = self.carried(from, src, value, to);
        match conversion.kinds()[1] {
            NumberKind::Pred => carried.truth(from),
            NumberKind::Integer { is_signed } => self.integer(to, is_signed, carried),
            NumberKind::Float => self.float(to, carried),
        }
    }

    /// Returns the expression that brings an element into a carrier. `to` is the type that the
    /// conversion produces, because a conversion to `pred` needs less than the value.
    fn carried(&mut self, from: ElementType, src: u32, value: String, to: ElementType) -> Carried {
        let bits = from.bits().unwrap_or(32);
        // Bits beyond the width of the type may have any value. The functions of most floats mask
        // these bits themselves.
        let is_masked = FloatFormat::of(from).is_some_and(|of| !of.is_negative_zero_nan());
        let value = if src > bits && bits < 32 && !is_masked && from != ElementType::Pred {
            format!("({value} & 0x{:x}u)", (1_u64 << bits) - 1)
        } else {
            value
        };
        match NumberKind::of(from) {
            Some(NumberKind::Integer { is_signed }) if bits == 64 => {
                Carried::Long { value, is_signed }
            }
            Some(NumberKind::Integer { is_signed: true }) if bits < 32 => {
                let by = 32 - bits;
                let value = format!("bitcast<u32>(bitcast<i32>({value} << {by}u) >> {by}u)");
                Carried::Word { value, is_signed: true, bits }
            }
            Some(NumberKind::Integer { is_signed }) => Carried::Word { value, is_signed, bits },
            Some(NumberKind::Float) if from == ElementType::F64 => Carried::Double(value),
            // A float is zero if its bits other than the sign are zero, so a conversion to `pred`
            // does not compute its value.
            Some(NumberKind::Float) if from == ElementType::F32 || to == ElementType::Pred => {
                Carried::Single(value)
            }
            Some(NumberKind::Float) => {
                let name = pair(from, ElementType::F32);
                self.written.push((name.clone(), widening(from, &name)));
                Carried::Single(format!("{name}({value})"))
            }
            _ => {
                let value = if src > 8 { format!("({value} & 0xffu)") } else { value };
                let value = format!("u32({value} != 0u)");
                Carried::Word { value, is_signed: false, bits: 1 }
            }
        }
    }

    /// Returns the expression that converts a number in a carrier to an integer type.
    fn integer(&mut self, to: ElementType, is_signed: bool, carried: Carried) -> String {
        let bits = to.bits().unwrap_or(32);
        // Returns the low `bits` bits of a word that holds an integer of `from` bits.
        let kept = |value: String, from: u32, was_signed: bool| {
            let is_same = !was_signed && from + u32::from(is_signed) <= bits;
            if is_same || bits == 32 {
                return value;
            }
            format!("{value} & 0x{:x}u", (1_u64 << bits) - 1)
        };
        match carried {
            Carried::Word { value, is_signed: was_signed, .. } if bits == 64 => {
                let high = if was_signed {
                    format!("bitcast<u32>(bitcast<i32>({value}) >> 31u)")
                } else {
                    "0u".to_owned()
                };
                format!("vec2<u32>({value}, {high})")
            }
            Carried::Word { value, is_signed: was_signed, bits: from } => {
                kept(value, from, was_signed)
            }
            Carried::Long { value, .. } if bits == 64 => value,
            Carried::Long { value, .. } => kept(format!("{value}.x"), 64, true),
            Carried::Single(value) => {
                let magnitude = self.call("f32_magnitude", &value);
                let sign = format!("({value} >> 31u) == 1u");
                self.limited(to, is_signed, &magnitude, &sign)
            }
            Carried::Double(value) => {
                let magnitude = self.call("f64_magnitude", &value);
                let sign = format!("({value}.y >> 31u) == 1u");
                self.limited(to, is_signed, &magnitude, &sign)
            }
        }
    }

    /// Returns the expression for an integer of type `to` with the given magnitude and sign. If the
    /// number is outside the range of the type, the result is the nearest limit of the range.
    fn limited(&mut self, to: ElementType, is_signed: bool, magnitude: &str, sign: &str) -> String {
        let bits = to.bits().unwrap_or(32);
        let name = format!("{}_of", to.name());
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let (kind, body) = match (bits, is_signed) {
            (64, true) => {
                self.need("negated");
                (
                    "vec2<u32>",
                    "    if magnitude.y > 0x7fffffffu {
        return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), is_negative);
    }
    return select(magnitude, negated(magnitude), is_negative);
"
                    .to_owned(),
                )
            }
            (64, false) => (
                "vec2<u32>",
                "    return select(magnitude, vec2<u32>(0u, 0u), is_negative);\n".to_owned(),
            ),
            (_, true) => {
                let least = 1_u64 << (bits - 1);
                let rest =
                    if bits < 32 { format!(" & 0x{:x}u", mask(bits)) } else { String::new() };
                (
                    "u32",
                    format!(
                        "    let word = select(magnitude.x, 0xffffffffu, magnitude.y > 0u);
    return select(min(word, 0x{:x}u), 0u - min(word, 0x{least:x}u), is_negative){rest};
",
                        least - 1,
                    ),
                )
            }
            (_, false) => (
                "u32",
                format!(
                    "    let word = select(magnitude.x, 0xffffffffu, magnitude.y > 0u);
    return select(min(word, 0x{:x}u), 0u, is_negative);
",
                    mask(bits)
                ),
            ),
        };
        let text = format!(
            "// The integer with this magnitude and sign, or the limit that it exceeds.
fn {name}(magnitude: vec2<u32>, is_negative: bool) -> {kind} {{
{body}}}
"
        );
        self.written.push((name.clone(), text));
        format!("{name}({magnitude}, {sign})")
    }

    /// Returns the expression that converts a number in a carrier to a float type.
    fn float(&mut self, to: ElementType, carried: Carried) -> String {
        match to {
            ElementType::F64 => match carried {
                Carried::Word { value, is_signed: false, .. } => {
                    self.call("u64_to_f64", &format!("vec2<u32>({value}, 0u)"))
                }
                Carried::Word { value, .. } => {
                    let high = format!("bitcast<u32>(bitcast<i32>({value}) >> 31u)");
                    self.call("s64_to_f64", &format!("vec2<u32>({value}, {high})"))
                }
                Carried::Long { value, is_signed } => {
                    self.call(if is_signed { "s64_to_f64" } else { "u64_to_f64" }, &value)
                }
                Carried::Single(value) => self.call("f32_to_f64", &value),
                Carried::Double(value) => value,
            },
            ElementType::F32 => match carried {
                Carried::Word { .. } => carried.exact_single().unwrap_or_else(|| {
                    let Carried::Word { value, is_signed, .. } = &carried else { unreachable!() };
                    self.call(if *is_signed { "s32_to_f32" } else { "u32_to_f32" }, value)
                }),
                Carried::Long { value, is_signed } => {
                    self.call(if is_signed { "s64_to_f32" } else { "u64_to_f32" }, &value)
                }
                Carried::Single(value) => value,
                Carried::Double(value) => self.call("f64_to_f32", &value),
            },
            _ => {
                let single = match carried {
                    Carried::Word { .. } => carried.exact_single().unwrap_or_else(|| {
                        let Carried::Word { value, is_signed, .. } = &carried else {
                            unreachable!()
                        };
                        if *is_signed {
                            let high = format!("bitcast<u32>(bitcast<i32>({value}) >> 31u)");
                            self.call("s64_to_odd_f32", &format!("vec2<u32>({value}, {high})"))
                        } else {
                            self.call("u64_to_odd_f32", &format!("vec2<u32>({value}, 0u)"))
                        }
                    }),
                    Carried::Long { value, is_signed } => {
                        let name = if is_signed { "s64_to_odd_f32" } else { "u64_to_odd_f32" };
                        self.call(name, &value)
                    }
                    Carried::Single(value) => value,
                    Carried::Double(value) => self.call("f64_to_odd_f32", &value),
                };
                let name = pair(ElementType::F32, to);
                self.need("rounded");
                self.written.push((name.clone(), narrowing(to, &name)));
                format!("{name}({single})")
            }
        }
    }
}

/// An expression for a number, in one of the carriers.
enum Carried {
    /// An integer in a word, sign-extended or zero-extended to 32 bits. The type of the integer has
    /// `bits` bits, at most 32.
    Word { value: String, is_signed: bool, bits: u32 },
    /// An integer of 64 bits.
    Long { value: String, is_signed: bool },
    /// The bits of an `f32`.
    Single(String),
    /// The bits of an `f64`.
    Double(String),
}

impl Carried {
    /// Returns a WGSL conversion to `f32` if the number is a short integer, which every device
    /// converts exactly. Returns `None` otherwise.
    fn exact_single(&self) -> Option<String> {
        match self {
            Self::Word { value, is_signed: true, bits: 0..=16 } => {
                Some(format!("bitcast<u32>(f32(bitcast<i32>({value})))"))
            }
            Self::Word { value, is_signed: false, bits: 0..=16 } => {
                Some(format!("bitcast<u32>(f32({value}))"))
            }
            _ => None,
        }
    }

    /// Returns the expression for the number as a `pred`: 1 if the number is not zero, else 0.
    fn truth(self, from: ElementType) -> String {
        match self {
            Self::Word { value, .. } => format!("u32({value} != 0u)"),
            Self::Long { value, .. } => format!("u32(({value}.x | {value}.y) != 0u)"),
            Self::Double(value) => format!("u32(({value}.x | ({value}.y & 0x7fffffffu)) != 0u)"),
            Self::Single(value) => match FloatFormat::of(from) {
                None => "1u".to_owned(), // f8e8m0fnu has no zero
                Some(format) if format.is_negative_zero_nan() => format!("u32({value} != 0u)"),
                Some(format) => format!("u32(({value} & 0x{:x}u) != 0u)", format.sign_bit() - 1),
            },
        }
    }
}

/// Returns the text of a function that converts a narrow float to an `f32`. The conversion is
/// exact, because an `f32` has all values of the narrow float.
fn widening(from: ElementType, name: &str) -> String {
    let Some(format) = FloatFormat::of(from) else {
        return format!(
            "// f8e8m0fnu: 8 bits of exponent with bias 127, and nothing else.
fn {name}(value: u32) -> u32 {{
    if value == 0xffu {{
        return 0x7fc00000u; // NaN
    }}
    return select(value << 23u, 0x400000u, value == 0u); // the least one is subnormal
}}
"
        );
    };
    let (mantissa, bias, sign) = (format.mantissa_bits, format.bias, format.sign_bit());
    let (by, rest) = (31 - sign.ilog2(), sign - 1);
    let mut text = format!(
        "// {from}: {}.
fn {name}(value: u32) -> u32 {{
    let sign = (value & 0x{sign:x}u) << {by}u;
    let rest = value & 0x{rest:x}u;
",
        format.described()
    );
    let special = |condition: String, result: &str, note: &str| {
        format!("    if {condition} {{\n        return {result};{note}\n    }}\n")
    };
    let highest = format.highest();
    if format.is_negative_zero_nan() {
        let condition = format!("value == 0x{sign:x}u");
        text += &special(condition, "sign | 0x7fc00000u", " // NaN");
    } else if format.has_infinity() {
        text += &special(format!("rest > 0x{highest:x}u"), "sign | 0x7fc00000u", " // NaN");
        text += &special(format!("rest == 0x{highest:x}u"), "sign | 0x7f800000u", "");
    } else if format.nan().is_some() {
        text += &special(format!("rest == 0x{rest:x}u"), "sign | 0x7fc00000u", " // NaN");
    }
    if bias == 127 {
        text += "    return value << 16u;\n}\n";
        return text;
    }
    let _ = write!(
        text,
        "    if rest == 0u {{
        return sign;
    }}
    if rest < 0x{:x}u {{
        // A subnormal number, which is normal in an f32.
        let lead = firstLeadingBit(rest);
        return sign | (((lead + {}u) << 23u) + (rest << (23u - lead)));
    }}
    return sign | ((rest << {}u) + 0x{:x}u);
}}
",
        1 << mantissa,
        127 - bias - mantissa,
        23 - mantissa,
        (127 - bias) << 23,
    );
    text
}

/// Returns the text of a function that rounds an `f32` to a narrower float.
fn narrowing(to: ElementType, name: &str) -> String {
    let Some(format) = FloatFormat::of(to) else {
        return format!(
            "// f8e8m0fnu: the nearest power of two. It has no sign and no zero.
fn {name}(value: u32) -> u32 {{
    if value == 0u || value > 0x7f800000u {{
        return 0xffu; // NaN
    }}
    if value < 0x800000u {{
        return u32(value > 0x400000u);
    }}
    return min((value + 0x400000u) >> 23u, 0xffu);
}}
"
        );
    };
    let (mantissa, bias, sign) = (format.mantissa_bits, format.bias, format.sign_bit());
    let by = 31 - sign.ilog2();
    let is_negative_zero_nan = format.is_negative_zero_nan();
    let nan = match format.nan() {
        Some(nan) if !is_negative_zero_nan => format!("sign | 0x{nan:x}u"),
        _ => format!("0x{sign:x}u"),
    };
    let note = if format.nan().is_some() { "NaN" } else { "there is no NaN" };
    let mut text = format!(
        "// {to}: {}.
fn {name}(value: u32) -> u32 {{
    let sign = (value >> {by}u) & 0x{sign:x}u;
    let rest = value & 0x7fffffffu;
    if rest > 0x7f800000u {{
        return {nan}; // {note}
    }}
",
        format.described()
    );
    let shift = 23 - mantissa;
    let normal = match (127 - bias) << mantissa {
        0 => format!("rounded(rest, {shift}u)"),
        less => format!("rounded(rest, {shift}u) - 0x{less:x}u"),
    };
    if is_negative_zero_nan {
        let _ = write!(
            text,
            "    var number = {normal};
    if rest < 0x{:x}u {{
        number = rounded((rest & 0x7fffffu) | 0x800000u, {}u - (rest >> 23u)); // subnormal
    }}
    if number > 0x{:x}u {{
        return 0x{sign:x}u; // too large
    }}
    return select(sign | number, 0u, number == 0u);
}}
",
            (128 - bias) << 23,
            151 - bias - mantissa,
            format.highest(),
        );
        return text;
    }
    if bias < 127 {
        let _ = write!(
            text,
            "    if rest < 0x{:x}u {{
        // A subnormal number, or zero.
        return sign | rounded((rest & 0x7fffffu) | 0x800000u, {}u - (rest >> 23u));
    }}
",
            (128 - bias) << 23,
            151 - bias - mantissa,
        );
    }
    // A number that is too large becomes infinity, NaN, or the greatest number.
    let most = format.too_large();
    let _ = write!(text, "    return sign | min({normal}, {});\n}}\n", literal(32, most));
    text
}
