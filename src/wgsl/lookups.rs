//! Writes lookups as WGSL functions. A lookup is an integer that is computed at run time from the
//! contents of a source, such as an index of a gather.
//!
//! Every integer type must give exactly XLA's results. Integers of up to 32 bits are `i32`, `u32`
//! or `bool` in WGSL. WGSL has no 64-bit integers, so these are `vec2<u32>` with the low word
//! first, and helper functions compute with them. Overflow wraps around.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::writer::Writer;
use crate::nest::{Affine, CopyNest, Integer, Lookup, LookupExpr, Number, Operator, OutOfRange};

/// Writes one function for each lookup. Its arguments are the affine expressions in the lookup
/// whose values are not constant.
pub(super) fn lookups(writer: &mut Writer, nest: &CopyNest) {
    let mut called = BTreeSet::new();
    for (place, lookup) in nest.lookups().iter().enumerate() {
        if writer.is_kernel() {
            // The nest in the kernel's header lists all steps of the computation, so only the first
            // line is repeated here.
            let text = lookup.to_string();
            let value = text.lines().next().unwrap_or_default();
            writer.comment("", format_args!("l{place}: {value}"));
        } else {
            writer.comment(
                "",
                format_args!("The number l{place}, which is at most {}.", lookup.last),
            );
        }
        let arguments: Vec<String> =
            (0..moving_forms(lookup).len()).map(|number| format!("at{number}: u32")).collect();
        let arguments = arguments.join(", ");
        let name = writer.function("lookup");
        writer.block(format_args!("fn {name}{place}({arguments}) -> u32"), |writer| {
            let mut function = Function { lookup, called: &mut called };
            for (place, number) in lookup.numbers.iter().enumerate() {
                if literal(number).is_none() {
                    let expression = function.expression(writer, number);
                    writer.line(format_args!("let n{place} = {expression};"));
                }
            }
            function.value(writer);
        });
        writer.blank();
    }
    for function in called {
        let text = function.replacen("fn ", &format!("fn {}", writer.function("")), 1);
        for line in text.split('\n') {
            writer.line(format_args!("{line}"));
        }
        writer.blank();
    }
}

/// Returns the affine expressions in a lookup whose values are not constant, without duplicates.
/// They are the arguments of the function of the lookup.
pub(super) fn moving_forms(lookup: &Lookup) -> SmallVec<[&Affine; 4]> {
    let mut forms: SmallVec<[&Affine; 4]> = SmallVec::new();
    for form in lookup.forms().filter(|form| form.as_constant().is_none()) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// The WGSL type in which a lookup computes with integers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Bool,
    Int,
    Uint,
    /// A 64-bit integer in two words.
    Wide,
}

fn kind(integer: Integer) -> WordKind {
    match integer {
        Integer { bits: 1, .. } => WordKind::Bool,
        Integer { bits: 64, .. } => WordKind::Wide,
        Integer { is_signed: true, .. } => WordKind::Int,
        Integer { .. } => WordKind::Uint,
    }
}

/// Returns a number of the lookup as a WGSL literal, or `None` if it is not constant.
fn literal(number: &Number) -> Option<String> {
    let value = match &number.of {
        LookupExpr::Constant(value) => *value,
        LookupExpr::Index(form) => number.integer.wrap(form.as_constant()?.into()),
        _ => return None,
    };
    let [low, high] = [value, value >> 32].map(|word| word & i128::from(u32::MAX));
    Some(match kind(number.integer) {
        WordKind::Bool => (value != 0).to_string(),
        WordKind::Int if value < 0 => format!("i32({value})"),
        WordKind::Int => format!("{value}i"),
        WordKind::Uint => format!("{value}u"),
        WordKind::Wide => format!("vec2<u32>({low}u, {high}u)"),
    })
}

/// The state while the function of a lookup is being written.
struct Function<'a> {
    lookup: &'a Lookup,
    /// The texts of all helper functions for 64-bit integers that the code calls, which are written
    /// after it.
    called: &'a mut BTreeSet<&'static str>,
}

impl Function<'_> {
    /// Returns the expression for the number with index `place` of the lookup: its variable, or a
    /// literal if it is constant.
    fn name(&self, place: usize) -> String {
        literal(&self.lookup.numbers[place]).unwrap_or_else(|| format!("n{place}"))
    }

    fn expression(&mut self, writer: &Writer, number: &Number) -> String {
        let integer = number.integer;
        match &number.of {
            LookupExpr::Load { source, at } => self.load(&writer.source(*source), integer, at),
            LookupExpr::Index(form) => {
                converted(&self.argument(form), Integer { bits: 32, is_signed: false }, integer)
            }
            LookupExpr::Constant(_) => literal(number).unwrap_or_default(),
            LookupExpr::Convert(of) => {
                converted(&self.name(*of), self.lookup.numbers[*of].integer, integer)
            }
            LookupExpr::Select(holds, a, b) => {
                format!("select({}, {}, {})", self.name(*b), self.name(*a), self.name(*holds))
            }
            LookupExpr::Binary(operator, a, b) => self.binary(writer, integer, *operator, *a, *b),
        }
    }

    /// Returns the name of the argument that has the value of `form`.
    fn argument(&self, form: &Affine) -> String {
        let place = moving_forms(self.lookup).iter().position(|known| *known == form);
        format!("at{}", place.expect("a form that depends on the position"))
    }

    /// Returns an expression that loads an integer from the array `source`. A 64-bit integer is
    /// loaded as two words. An integer of less than 32 bits is shifted to the top of its word and
    /// down again, so that zeros or copies of its sign fill the upper bits.
    fn load(&self, source: &str, integer: Integer, at: &Affine) -> String {
        let bits = u64::from(integer.bits_in_memory());
        let (lanes, down) = (32 / bits.min(32), 32 - bits.min(32));
        let known = at.as_constant().map(i64::unsigned_abs);
        let place = |known: &dyn Fn(u64) -> u64, text: &str| match at.as_constant() {
            Some(at) => known(at.unsigned_abs()).to_string(),
            None => format!("{}{text}", self.argument(at)),
        };
        if bits == 64 {
            let low = place(&|at| at * 2, " * 2u");
            let high = place(&|at| at * 2 + 1, " * 2u + 1u");
            return format!("vec2<u32>({source}[{low}], {source}[{high}])");
        }
        let word = match lanes {
            1 => format!("{source}[{}]", place(&|at| at, "")),
            _ => format!("{source}[{}]", place(&|at| at / lanes, &format!(" / {lanes}u"))),
        };
        let up = known.map(|at| down - at % lanes * bits);
        let word = match (down, up) {
            (0, _) | (_, Some(0)) => word,
            (_, Some(up)) => format!("({word} << {up}u)"),
            (_, None) => {
                format!("({word} << ({down}u - {} % {lanes}u * {bits}u))", self.argument(at))
            }
        };
        let word = if integer.is_signed { format!("bitcast<i32>({word})") } else { word };
        let part = if down == 0 { word } else { format!("{word} >> {down}u") };
        if integer.bits == 1 { format!("({part}) != 0u") } else { part }
    }

    fn binary(
        &mut self,
        writer: &Writer,
        integer: Integer,
        operator: Operator,
        a: usize,
        b: usize,
    ) -> String {
        let of = self.lookup.numbers[a].integer;
        let by = literal(&self.lookup.numbers[b]).is_some();
        let [a, b] = [a, b].map(|place| self.name(place));
        let symbol = operator.symbol();
        match (kind(of), operator) {
            (
                WordKind::Bool,
                Operator::And | Operator::Or | Operator::Equal | Operator::NotEqual,
            ) => {
                format!("{a} {symbol} {b}")
            }
            (WordKind::Bool, _) => {
                let [a, b] = [a, b].map(|of| format!("select(0u, 1u, {of})"));
                let word = Integer { bits: 32, is_signed: false };
                let computed = words(operator, &a, &b, word, false);
                if compares(operator) { computed } else { format!("({computed}) != 0u") }
            }
            (WordKind::Wide, _) => self.wide(writer, of, operator, &a, &b),
            _ if compares(operator) => format!("{a} {symbol} {b}"),
            _ => wrapped(words(operator, &a, &b, of, by), operator, integer),
        }
    }

    /// Returns the expression for an operation on 64-bit integers.
    fn wide(
        &mut self,
        writer: &Writer,
        of: Integer,
        operator: Operator,
        a: &str,
        b: &str,
    ) -> String {
        let mut call = |function: &'static str, a: &str, b: &str| {
            self.called.insert(function);
            let name = function.trim_start_matches("fn ").split('(').next().unwrap_or_default();
            format!("{}({a}, {b})", writer.function(name))
        };
        let less = if of.is_signed { LESS_SIGNED } else { LESS };
        match operator {
            Operator::And => format!("{a} & {b}"),
            Operator::Or => format!("{a} | {b}"),
            Operator::Add => call(ADD, a, b),
            Operator::Subtract => call(SUBTRACT, a, b),
            Operator::Multiply => call(MULTIPLY, a, b),
            Operator::Minimum => format!("select({b}, {a}, {})", call(less, a, b)),
            Operator::Maximum => format!("select({a}, {b}, {})", call(less, a, b)),
            Operator::Equal => call(EQUAL, a, b),
            Operator::NotEqual => format!("!{}", call(EQUAL, a, b)),
            Operator::GreaterEqual => format!("!{}", call(less, a, b)),
            Operator::Greater => call(less, b, a),
            Operator::LessEqual => format!("!{}", call(less, b, a)),
            Operator::Less => call(less, a, b),
            Operator::Divide | Operator::Remainder => unreachable!("lowering refuses it"),
        }
    }

    /// Writes the `return` statement. The result is the last number of the lookup, which
    /// [`OutOfRange`] brings into the range `0..=last`.
    fn value(&self, writer: &mut Writer) {
        let Lookup { numbers, last, out_of_range } = self.lookup;
        let place = numbers.len() - 1;
        let (name, integer) = (self.name(place), numbers[place].integer);
        match (kind(integer), out_of_range) {
            (WordKind::Bool, _) => writer.line(format_args!("return select(0u, 1u, {name});")),
            (WordKind::Uint, _) if self.lookup.is_always_in_range() => {
                writer.line(format_args!("return {name};"));
            }
            (WordKind::Uint, _) => {
                writer.line(format_args!("return min({name}, {}u);", (*last).min(u32::MAX.into())));
            }
            (WordKind::Int, OutOfRange::Clamp) => {
                let most = (*last).min(u64::from(u32::MAX >> 1));
                writer.line(format_args!("return bitcast<u32>(clamp({name}, 0i, {most}i));"));
            }
            (WordKind::Int, OutOfRange::Last) if *last <= 1 << 31 => {
                writer.line(format_args!("return min(bitcast<u32>({name}), {last}u);"));
            }
            (WordKind::Int, OutOfRange::Last) => {
                let word = format!("bitcast<u32>({name})");
                writer.line(format_args!("return select({word}, {last}u, {name} < 0i);"));
            }
            (WordKind::Wide, out_of_range) => {
                if integer.is_signed && *out_of_range == OutOfRange::Clamp {
                    writer.block(format_args!("if {name}.y >= 0x80000000u"), |writer| {
                        writer.line(format_args!("return 0u;"));
                    });
                }
                let low = format!("min({name}.x, {last}u)");
                writer.line(format_args!("return select({low}, {last}u, {name}.y > 0u);"));
            }
        }
    }
}

fn compares(operator: Operator) -> bool {
    use Operator::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(operator, Equal | NotEqual | GreaterEqual | Greater | LessEqual | Less)
}

/// Returns the expression for an operation on integers of at most 32 bits. `known` is true if `b`
/// is a constant.
fn words(operator: Operator, a: &str, b: &str, of: Integer, known: bool) -> String {
    let symbol = operator.symbol();
    let [zero, one] = if of.is_signed { ["0i", "1i"] } else { ["0u", "1u"] };
    match operator {
        Operator::Minimum | Operator::Maximum => format!("{symbol}({a}, {b})"),
        Operator::Divide | Operator::Remainder if known && b != zero && !b.starts_with("i32(") => {
            format!("{a} {symbol} {b}")
        }
        // In XLA, a division by 0 gives a result with all bits set. The smallest integer divided by
        // -1 gives itself, as in WGSL.
        Operator::Divide => {
            let ones = if of.is_signed { "i32(-1)" } else { "0xffffffffu" };
            format!("select({a} / select({b}, {one}, {b} == {zero}), {ones}, {b} == {zero})")
        }
        // In XLA, the remainder of a division by 0 is the dividend, and the remainder of a division
        // by -1 is 0. WGSL's operator has different results.
        Operator::Remainder => {
            let minus_one =
                if of.is_signed { format!(" || {b} == i32(-1)") } else { String::new() };
            format!(
                "select({a} % select({b}, {one}, {b} == {zero}{minus_one}), {a}, {b} == {zero})"
            )
        }
        _ => format!("{a} {symbol} {b}"),
    }
}

/// Wraps the result of an operation around to the bits of an integer narrower than 32 bits, if the
/// operation can exceed them.
fn wrapped(word: String, operator: Operator, integer: Integer) -> String {
    use Operator::{Add, Divide, Multiply, Subtract};
    let grows = matches!(operator, Add | Subtract | Multiply | Divide);
    if grows { narrowed(word, integer) } else { word }
}

/// Truncates a word to the bits of an integer, and extends it to 32 bits again.
fn narrowed(word: String, Integer { bits, is_signed }: Integer) -> String {
    match (bits, is_signed) {
        (32.., _) => word,
        (_, true) => format!("(({word}) << {0}u) >> {0}u", 32 - bits),
        (_, false) => format!("({word}) & 0x{:x}u", (1_u64 << bits) - 1),
    }
}

/// Returns an expression that converts a number from one integer type to another.
fn converted(name: &str, from: Integer, to: Integer) -> String {
    let word = Integer { bits: 32, is_signed: false };
    match (kind(from), kind(to)) {
        (WordKind::Bool, WordKind::Bool) | (WordKind::Wide, WordKind::Wide) => name.to_owned(),
        (WordKind::Int, WordKind::Bool) => format!("{name} != 0i"),
        (WordKind::Uint, WordKind::Bool) => format!("{name} != 0u"),
        (WordKind::Wide, WordKind::Bool) => format!("({name}.x | {name}.y) != 0u"),
        (WordKind::Bool, WordKind::Int) => format!("select(0i, 1i, {name})"),
        (WordKind::Bool, WordKind::Uint) => format!("select(0u, 1u, {name})"),
        (WordKind::Bool, WordKind::Wide) => format!("vec2<u32>(select(0u, 1u, {name}), 0u)"),
        (WordKind::Uint, WordKind::Wide) => format!("vec2<u32>({name}, 0u)"),
        (WordKind::Int, WordKind::Wide) => {
            format!("vec2<u32>(bitcast<u32>({name}), bitcast<u32>({name} >> 31u))")
        }
        (WordKind::Wide, _) => converted(&format!("{name}.x"), word, to),
        (WordKind::Int, WordKind::Int) | (WordKind::Uint, WordKind::Uint) => {
            narrowed(name.to_owned(), to)
        }
        (WordKind::Uint, WordKind::Int) => narrowed(format!("bitcast<i32>({name})"), to),
        (WordKind::Int, WordKind::Uint) => narrowed(format!("bitcast<u32>({name})"), to),
    }
}

const ADD: &str = "fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}";
const SUBTRACT: &str = "fn subtract_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}";
const MULTIPLY: &str = "fn multiply_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = (a.x & 0xffffu) * (b.x & 0xffffu);
    let middle = (a.x >> 16u) * (b.x & 0xffffu) + (low >> 16u);
    let other = (a.x & 0xffffu) * (b.x >> 16u) + (middle & 0xffffu);
    let high = (a.x >> 16u) * (b.x >> 16u) + (middle >> 16u) + (other >> 16u);
    return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}";
const EQUAL: &str = "fn equal_64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return ((a.x ^ b.x) | (a.y ^ b.y)) == 0u;
}";
const LESS: &str = "fn less_64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return select(a.y < b.y, a.x < b.x, a.y == b.y);
}";
const LESS_SIGNED: &str = "fn less_signed_64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return select(bitcast<i32>(a.y) < bitcast<i32>(b.y), a.x < b.x, a.y == b.y);
}";
