//! The kernel that works for every nest: each invocation computes one word of the destination.
//!
//! A word holds one or several *units*, such as elements. To compute a unit, the invocation tests
//! the conditions of the nest, finds the source and loads the unit. This is slow, but works for
//! every nest. Other kernels call the same functions for the few words that they cannot move in
//! blocks.

use super::{
    cases::decide,
    choose::choose,
    conversion::{self, conversion},
    form::{AxisNames, DigitWriter, FormNames},
    kept::{give, give_nothing, kept_words},
    lookups::lookups,
    words::{literal, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, CopyAxis, CopyNest, Gaps, Guard, Lookup, MAX_CASES, Quotient, Refusal, Value},
    shape::{Count, width},
};

/// Writes a kernel in which each invocation computes one word of the destination, or one unit if
/// units are wider than a word.
#[inline(never)] // WebAssembly compiles a function at its first call
pub(super) fn gather(writer: &mut Writer, nest: &CopyNest) {
    let lanes = (32 / nest.dst_bits()).max(1);
    lookups(writer, nest);
    if let Some(of) = nest.conversion() {
        conversion(writer, of, (nest.src_bits(), nest.dst_bits()));
    }
    if nest.scattered().is_some() {
        return super::emit::main(writer, "position", nest.positions(), |writer| {
            unit(writer, nest, 1, (nest.src_bits() / 32).max(1));
        });
    }
    if nest.gaps() == Gaps::Keep {
        return kept_words(writer, nest);
    }
    unit_function(writer, nest, (nest.src_bits() / 32).max(1), lanes.into());
    writer.blank();
    let count = nest.dst_units().div_ceil(lanes.into());
    super::emit::main(writer, "word", count, |writer| {
        let head = format!("{}[word] =", writer.destination());
        put_together(writer, nest, "word", &head);
    });
}

/// Writes the code that computes the units of a word and combines them, as one line or as a loop.
/// `word` is the index of the word, and `head` is the text that is written before the combined
/// value.
fn put_together(writer: &mut Writer, nest: &CopyNest, word: &str, head: &str) {
    let (bits, lanes) = (nest.dst_bits(), (32 / nest.dst_bits()).max(1));
    if lanes <= 4 {
        let position = |lane: u32| match (lanes, lane) {
            (1, _) => word.to_owned(),
            (_, 0) => format!("{word} * {lanes}u"),
            _ => format!("{word} * {lanes}u + {lane}u"),
        };
        let part = |lane: u32| match lane {
            0 => format!("unit({})", position(0)),
            _ => format!("(unit({}) << {}u)", position(lane), lane * bits),
        };
        let parts: Vec<String> = (0..lanes).map(part).collect();
        return writer.line(format_args!("{head} {};", parts.join(" | ")));
    }
    let unit = width(bits);
    writer.noted(
        format_args!("var lanes = 0u;"),
        format_args!("{lanes} units of {unit}, the first in the low bits"),
    );
    writer.block(format_args!("for (var lane = 0u; lane < {lanes}u; lane++)"), |writer| {
        let shift = if bits == 1 { "lane".to_owned() } else { format!("(lane * {bits}u)") };
        writer.line(format_args!("lanes |= unit({word} * {lanes}u + lane) << {shift};"));
    });
    writer.line(format_args!("{head} lanes;"));
}

/// Writes the function `unit`, which returns the unit at a position of the destination. Sources are
/// bound as arrays whose elements have `element_words` words. Because the kernel stores `stored`
/// units at a time, it may call the function with positions past the end of the destination.
pub(super) fn unit_function(writer: &mut Writer, nest: &CopyNest, element_words: u32, stored: u64) {
    let kind = type_name(nest.dst_bits().into());
    writer.comment(
        "",
        format_args!(
            "The unit at `position` of the destination; positions and steps count units of {}.",
            width(nest.dst_bits())
        ),
    );
    writer.block(format_args!("fn unit(position: u32) -> {kind}"), |writer| {
        unit(writer, nest, stored, element_words);
    });
}

/// Writes the function `word`, which combines the units of one word of the destination. Writes
/// nothing if units have at least 32 bits, because the function `unit` is enough then.
pub(super) fn word_function(writer: &mut Writer, nest: &CopyNest) {
    if nest.dst_bits() < 32 {
        writer.block(format_args!("fn word(index: u32) -> u32"), |writer| {
            put_together(writer, nest, "index", "return");
        });
        writer.blank();
    }
}

/// Writes the code that computes and returns the unit at `position`, the number of an iteration:
/// the loop counters, the tests of the guards, and the load.
pub(super) fn unit(writer: &mut Writer, nest: &CopyNest, stored: u64, element_words: u32) {
    let kind = u64::from(nest.dst_bits());
    if !nest.dst_units().is_multiple_of(stored) {
        writer.block(format_args!("if position >= {}u", nest.dst_units()), |writer| {
            give_nothing(writer, nest, "past the image");
        });
    }
    let walk = match nest.dst_base() {
        0 => "position",
        base => {
            writer.line(format_args!("let walk = position + {}u;", base.unsigned_abs()));
            "walk"
        }
    };
    let names = AxisNames::of_nest(nest);
    constant_lookups(writer, nest);
    write_axes(writer, DigitWriter::new(walk), &names, nest.axes(), |axis| remark(nest, axis));
    if nest.refusals().is_none() {
        return first_case(writer, nest, &names, element_words);
    }
    guards(
        writer,
        nest,
        &names,
        |guard| Some(guard.clone()),
        |writer, bits| match bits {
            Some(bits) => {
                let value = literal(kind, bits);
                give(writer, nest, format_args!("{value}"), Some(filling(bits)));
            }
            None => give_nothing(writer, nest, filling(0)),
        },
    );
    writer.line(format_args!("let read = {};", names.form(nest.src())));
    load(writer, nest, 0, element_words);
}

/// Writes a variable for each lookup that has the same value in all iterations.
pub(super) fn constant_lookups(writer: &mut Writer, nest: &CopyNest) {
    let lookups = nest.lookups().iter().enumerate();
    for (number, _) in lookups.filter(|(_, lookup)| lookup.is_constant()) {
        let (value, lookup) = (Value::Lookup(number), writer.function("lookup"));
        writer.line(format_args!("let {value} = {lookup}{number}();"));
    }
}

/// Writes the code that returns the value of the first case that applies. The code before it must
/// have computed the loop counters and the lookups that have the same value in all iterations.
pub(super) fn first_case(
    writer: &mut Writer,
    nest: &CopyNest,
    names: &dyn FormNames,
    element_words: u32,
) {
    // A lookup that depends on the position is valid only if its guards hold, so a nest with such a
    // lookup needs nested `if`s. Lowering refuses a long list of cases with such lookups, because
    // some drivers fail on deep nesting.
    let is_flat = nest.cases().len() > MAX_CASES && nest.lookups().iter().all(Lookup::is_constant);
    if is_flat {
        choose(writer, nest, names, element_words);
    } else {
        decide(writer, nest, names, element_words, None);
    }
}

/// Writes a variable for each loop counter, the outermost first. `remark` returns the comment for a
/// line.
pub(super) fn write_axes(
    writer: &mut Writer,
    digits: DigitWriter,
    names: &AxisNames,
    axes: impl Iterator<Item = CopyAxis>,
    remark: impl Fn(&CopyAxis) -> String,
) {
    let axes: Vec<CopyAxis> = axes.collect();
    let texts = digits.all(writer, axes.iter().rev().map(|axis| axis.extent));
    for ((number, axis), digit) in axes.iter().enumerate().zip(texts.into_iter().rev()) {
        writer.noted(
            format_args!("let {} = {digit};", names.axis(number)),
            format_args!("{}", remark(axis)),
        );
    }
}

/// Writes the variables of the quotients and the tests of the guards. `asked` returns the guard to
/// test in place of a given guard, or `None` to omit the test. `refuse` writes the code that runs
/// if a guard fails; its second argument is the bits to write, or `None` if the destination keeps
/// its contents. The code must leave the function or the loop.
///
/// Guards are tested as early as possible, before quotients that they do not need, because a
/// quotient is invalid if the guards before it fail. But a guard is never tested before an earlier
/// guard with different bits, because the first guard that fails decides the bits.
pub(super) fn guards(
    writer: &mut Writer,
    nest: &CopyNest,
    names: &AxisNames,
    asked: impl Fn(&Guard) -> Option<Guard>,
    refuse: impl Fn(&mut Writer, Option<u128>),
) {
    let refusals = nest.refusals().unwrap_or_default();
    let turns = quotients_before(&refusals);
    let write = |writer: &mut Writer, known: usize| {
        for (Refusal { guards, bits }, turns) in refusals.iter().zip(&turns) {
            let failing: Vec<String> = guards
                .iter()
                .zip(turns)
                .filter(|&(_, &turn)| turn == known)
                .filter_map(|(guard, _)| Some(failure(names, &asked(guard)?)))
                .collect();
            if !failing.is_empty() {
                writer.block(format_args!("if {}", failing.join(" || ")), |writer| {
                    refuse(writer, *bits);
                });
            }
        }
    };
    write(writer, 0);
    for (number, Quotient { of, by }) in nest.quotients().iter().enumerate() {
        let quotient = Value::Quotient(number);
        let weight = nest.src().weight(quotient);
        let of = names.form(of);
        writer.noted(
            format_args!("let {quotient} = ({of}) / {by}u;"),
            format_args!("which tile of the source: source {weight:+}"),
        );
        write(writer, number + 1);
    }
}

/// Returns, for each guard of each refusal, the number of quotients that are computed before its
/// test.
fn quotients_before(refusals: &[Refusal]) -> Vec<Vec<usize>> {
    let mut turns: Vec<Vec<usize>> = Vec::with_capacity(refusals.len());
    for refusal in refusals {
        let before = refusals.iter().zip(&turns).filter(|(of, _)| of.bits != refusal.bits);
        let least = before.flat_map(|(_, turns)| turns).copied().max().unwrap_or(0);
        let turn = |guard: &&Guard| quotients_needed(&guard.of).max(least);
        turns.push(refusal.guards.iter().map(turn).collect());
    }
    turns
}

/// Returns the number of quotients that must be computed before an expression can be. Quotients are
/// computed in their order in the nest, so this is the highest number of a quotient in the
/// expression, plus 1.
fn quotients_needed(of: &Affine) -> usize {
    let needed = |&(value, _): &(Value, i64)| match value {
        Value::Quotient(number) => number + 1,
        Value::Axis(_) | Value::Lookup(_) => 0,
    };
    of.terms().iter().map(needed).max().unwrap_or(0)
}

/// Returns the comment on an axis. The comment gives the stride in the source only if a single case
/// reads, because it could otherwise differ between cases.
pub(super) fn remark(nest: &CopyNest, axis: &CopyAxis) -> String {
    if nest.refusals().is_some() {
        return axis_remark(axis);
    }
    if nest.scattered().is_some() {
        return Count(axis.extent, "step").to_string();
    }
    format!("{}: destination +{}", Count(axis.extent, "step"), axis.dst_stride)
}

/// Returns the comment on an axis, with its strides in the source and in the destination.
pub(super) fn axis_remark(axis: &CopyAxis) -> String {
    let CopyAxis { extent, src_stride, dst_stride } = axis;
    format!("{}: source {src_stride:+}, destination +{dst_stride}", Count(*extent, "step"))
}

/// Returns the comment on code that writes `bits` to a place without an element.
pub(super) fn filling(bits: u128) -> &'static str {
    if bits == 0 { "no element lies here" } else { "padding" }
}

/// Returns the WGSL condition under which a guard, `0 <= of < extent`, fails. A single comparison
/// in `u32` tests both bounds, because a negative value wraps around to a number greater than every
/// extent.
pub(super) fn failure(names: &dyn FormNames, Guard { of, extent }: &Guard) -> String {
    match (of.terms(), extent) {
        (_, 1) => format!("{} != 0u", names.form(of)),
        _ => format!("{} >= {extent}u", names.form(of)),
    }
}

/// Writes the code that loads the unit at the offset `read` of a source. The code converts the unit
/// to the type or the width of the destination's units. Sources are bound as arrays whose elements
/// have `element_words` words.
pub(super) fn load(writer: &mut Writer, nest: &CopyNest, source: usize, element_words: u32) {
    let (src, dst) = (nest.src_bits(), nest.dst_bits());
    let whole = unit_at_read(writer, src, source, element_words);
    if let Some(of) = nest.conversion() {
        let name = conversion::name(writer, of, (src, dst));
        return give(writer, nest, format_args!("{name}({whole})"), None);
    }
    if src >= 32 && src == dst {
        return give(writer, nest, format_args!("{whole}"), None);
    }
    writer.line(format_args!("let loaded = {whole};"));
    let value = resized(src, dst, nest.sign_extend());
    give(writer, nest, format_args!("{value}"), None);
}

/// Returns the expression for the unit of `src` bits at the offset `read` of a source. If the
/// expression needs a variable, writes it first. The source is bound as an array whose elements
/// have `element_words` words.
pub(super) fn unit_at_read(
    writer: &mut Writer,
    src: u32,
    source: usize,
    element_words: u32,
) -> String {
    let source = writer.source(source);
    let unit_words = (src / 32).max(1);
    let units = element_words / unit_words;
    if src >= 32 {
        return match (units, unit_words) {
            (0, _) => {
                writer.line(format_args!("let first = read * {unit_words}u;"));
                let rest = (1..unit_words).map(|word| format!(", {source}[first + {word}u]"));
                let rest: String = rest.collect();
                format!("{}({source}[first]{rest})", type_name(src.into()))
            }
            (1, _) => format!("{source}[read]"),
            (_, 1) => format!("{source}[read / {units}u][read % {units}u]"),
            _ => {
                writer.line(format_args!("let element = {source}[read / {units}u];"));
                "select(element.xy, element.zw, read % 2u == 1u)".to_owned()
            }
        };
    }
    let lanes = 32 / src;
    let shift =
        if src == 1 { format!("(read % {lanes}u)") } else { format!("(read % {lanes}u * {src}u)") };
    let mask = (1_u64 << src) - 1;
    let word = match units {
        1 => format!("{source}[read / {lanes}u]"),
        _ => format!("{source}[read / {}u][read / {lanes}u % {units}u]", lanes * units),
    };
    format!("({word} >> {shift}) & 0x{mask:x}u")
}

/// Returns the expression that changes the width of the variable `loaded` from `src` to `dst` bits.
pub(super) fn resized(src: u32, dst: u32, sign_extend: bool) -> String {
    let extend = sign_extend && dst > src;
    let word = if extend && src < 32 {
        let shift = 32 - src;
        format!("bitcast<u32>(bitcast<i32>(loaded << {shift}u) >> {shift}u)")
    } else {
        "loaded".to_owned()
    };
    let high = match (extend, src) {
        (false, _) => "0u".to_owned(),
        (true, 64) => "bitcast<u32>(bitcast<i32>(loaded.y) >> 31u)".to_owned(),
        (true, 0..32) => format!("bitcast<u32>(bitcast<i32>(loaded << {}u) >> 31u)", 32 - src),
        (true, _) => "bitcast<u32>(bitcast<i32>(loaded) >> 31u)".to_owned(),
    };
    match (src, dst) {
        (_, 0..32) => {
            let word = if src > 32 { "loaded.x".to_owned() } else { word };
            let mask = (1_u64 << dst) - 1;
            if dst >= src && !extend { word } else { format!("{word} & 0x{mask:x}u") }
        }
        (64 | 128, 32) => "loaded.x".to_owned(),
        (128, 64) => "loaded.xy".to_owned(),
        (64, 128) => format!("vec4<u32>(loaded, {high}, {high})"),
        (_, 64) => format!("vec2<u32>({word}, {high})"),
        (_, 128) => format!("vec4<u32>({word}, {high}, {high}, {high})"),
        _ => word,
    }
}
