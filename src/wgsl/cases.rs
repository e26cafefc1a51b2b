//! The decision list of a nest of several sources as WGSL: what all cases ask is asked once, then case by case.

use smallvec::SmallVec;

use super::{
    emit::source_name,
    form::Names,
    gather::{failure, load},
    words::literal,
    writer::Writer,
};
use crate::nest::{Affine, Case, CopyNest, Guard, Lookup, Quotient, Take, Value};

/// Writes how a position is decided, and returns what it takes.
///
/// Guards are asked in their order, and a quotient is computed where the first form needs it: below the guards that give
/// it a meaning.
pub(super) fn decide(writer: &mut Writer, nest: &CopyNest, names: &Names) {
    let cases = nest.cases().iter().map(Way::new).collect();
    let known = vec![false; nest.quotients().len()];
    Decision { nest, names }.write(writer, cases, known, Some(&Take::Bits(0)));
}

/// A case, with those of its guards that have not been asked.
#[derive(Clone)]
struct Way<'a> {
    guards: SmallVec<[&'a Guard; 4]>,
    take: &'a Take,
}

impl<'a> Way<'a> {
    fn new(Case { when, take }: &'a Case) -> Self {
        Self { guards: when.iter().collect(), take }
    }

    fn without(mut self, asked: &[&Guard]) -> Self {
        self.guards.retain(|guard| !asked.contains(guard));
        self
    }
}

struct Decision<'a> {
    nest: &'a CopyNest,
    names: &'a Names,
}

impl<'a> Decision<'a> {
    /// Writes a list of ways, the first that is open to be taken, else `otherwise`; where that is `None`, what follows
    /// decides. `known` are the quotients that have been computed here.
    fn write(
        &self,
        writer: &mut Writer,
        mut ways: Vec<Way<'a>>,
        mut known: Vec<bool>,
        mut otherwise: Option<&'a Take>,
    ) {
        loop {
            // A way that asks nothing is the last.
            if let Some(open) = ways.iter().position(|way| way.guards.is_empty()) {
                otherwise = Some(ways[open].take);
                ways.truncate(open);
            }
            let Some(first) = ways.first() else { break };
            let in_all = |guard: &&Guard| ways.iter().all(|way| way.guards.contains(guard));
            let common: SmallVec<[&Guard; 4]> =
                first.guards.iter().copied().filter(|guard| in_all(guard)).collect();
            let asked = self.at_once(&common, &known);
            if let (Some(otherwise), false) = (otherwise, asked.is_empty()) {
                self.quotients(writer, asked.iter().map(|guard| &guard.of), &mut known);
                let failing: Vec<String> =
                    asked.iter().map(|guard| failure(self.names, guard)).collect();
                writer.block(format_args!("if {}", failing.join(" || ")), |writer| {
                    self.take(writer, otherwise, &mut known.clone());
                });
                ways = ways.into_iter().map(|way| way.without(&asked)).collect();
                continue;
            }
            // The ways from the first on that share its first guard, inside a block.
            let shared = first.guards[0];
            let count = ways.iter().take_while(|way| way.guards.contains(&shared)).count();
            let rest = ways.split_off(count);
            let in_these = |guard: &&Guard| ways.iter().all(|way| way.guards.contains(guard));
            let common: SmallVec<[&Guard; 4]> =
                ways[0].guards.iter().copied().filter(|guard| in_these(guard)).collect();
            let asked = self.at_once(&common, &known);
            self.quotients(writer, asked.iter().map(|guard| &guard.of), &mut known);
            let holding: Vec<String> = asked.iter().map(|guard| holds(self.names, guard)).collect();
            let inner = ways.into_iter().map(|way| way.without(&asked)).collect();
            writer.block(format_args!("if {}", holding.join(" && ")), |writer| {
                self.write(writer, inner, known.clone(), None);
            });
            ways = rest;
        }
        if let Some(take) = otherwise {
            self.take(writer, take, &mut known);
        }
    }

    /// The first of these guards, as many as need no more quotients than the first one.
    fn at_once<'g>(&self, guards: &[&'g Guard], known: &[bool]) -> SmallVec<[&'g Guard; 4]> {
        let mut known = known.to_vec();
        if let Some(first) = guards.first() {
            self.missing(&first.of, &mut known);
        }
        let ready = |guard: &&&Guard| self.missing(&guard.of, &mut known.clone()).is_empty();
        guards.iter().take_while(ready).copied().collect()
    }

    /// The quotients that a form needs and that are not known, in order of computation; known from here on.
    fn missing(&self, form: &Affine, known: &mut [bool]) -> SmallVec<[usize; 4]> {
        let mut needed = vec![false; known.len()];
        let mut forms: SmallVec<[&Affine; 4]> = [form].into_iter().collect();
        while let Some(form) = forms.pop() {
            for &(value, _) in form.terms() {
                if let Value::Quotient(number) = value
                    && !known[number]
                    && !std::mem::replace(&mut needed[number], true)
                {
                    forms.push(&self.nest.quotients()[number].of);
                }
            }
        }
        let missing = needed.iter().enumerate().filter(|(_, needed)| **needed);
        let missing: SmallVec<[usize; 4]> = missing.map(|(number, _)| number).collect();
        missing.iter().for_each(|&number| known[number] = true);
        missing
    }

    /// Computes the quotients that forms need.
    fn quotients<'f>(
        &self,
        writer: &mut Writer,
        forms: impl Iterator<Item = &'f Affine>,
        known: &mut [bool],
    ) {
        for form in forms {
            for number in self.missing(form, known) {
                let Quotient { of, by } = &self.nest.quotients()[number];
                let (quotient, of) = (Value::Quotient(number), self.names.form(of));
                writer.line(format_args!("let {quotient} = ({of}) / {by}u;"));
            }
        }
    }

    /// Returns what a case gives.
    fn take(&self, writer: &mut Writer, take: &Take, known: &mut [bool]) {
        match take {
            Take::Bits(bits) => {
                let value = literal(self.nest.dst_bits().into(), *bits);
                writer.line(format_args!("return {value};"));
            }
            Take::Read { source, at } => {
                self.quotients(writer, [at].into_iter(), known);
                writer.line(format_args!("let read = {};", self.names.form(at)));
                load(writer, self.nest, *source);
            }
        }
    }
}

/// The condition on which a guard holds. What drops below 0 wraps past every extent.
pub(super) fn holds(names: &Names, Guard { of, extent }: &Guard) -> String {
    match extent {
        1 => format!("{} == 0u", names.form(of)),
        _ => format!("{} < {extent}u", names.form(of)),
    }
}

/// Writes a function for each number that sources hold.
pub(super) fn lookups(writer: &mut Writer, nest: &CopyNest) {
    for (number, lookup) in nest.lookups().iter().enumerate() {
        let Lookup { source, at, last, bits, is_signed } = lookup;
        let kind = if *is_signed { "s" } else { "u" };
        writer.comment("", format_args!("The {kind}{bits} at {at}, clamped to 0..={last}."));
        let source = source_name(nest, *source);
        writer.block(format_args!("fn lookup{number}() -> u32"), |writer| {
            if *bits == 64 {
                lookup_64(writer, &source, lookup);
            } else {
                lookup_32(writer, &source, lookup);
            }
        });
        writer.blank();
    }
}

/// The number of two words: below 0 it is 0, past the low word the last.
fn lookup_64(writer: &mut Writer, source: &str, lookup: &Lookup) {
    let &Lookup { at, last, is_signed, .. } = lookup;
    writer.line(format_args!("let high = {source}[{}];", at * 2 + 1));
    if is_signed {
        negative(writer, "high");
    }
    writer.block(format_args!("if high > 0u"), |writer| {
        writer.line(format_args!("return {last}u;"));
    });
    writer.line(format_args!("return min({source}[{}], {last}u);", at * 2));
}

/// The number of a word or of a part of one, shifted up to the word's end and down again.
fn lookup_32(writer: &mut Writer, source: &str, lookup: &Lookup) {
    let &Lookup { at, last, bits, is_signed, .. } = lookup;
    let lanes = u64::from(32 / bits);
    let down = 32 - bits;
    let up = down - u32::try_from(at % lanes).unwrap_or(0) * bits;
    let word = shifted(format!("{source}[{}]", at / lanes), "<<", up);
    if is_signed {
        let number = match down {
            0 => word,
            _ => format!("bitcast<u32>(bitcast<i32>({word}) >> {down}u)"),
        };
        writer.line(format_args!("let number = {number};"));
        negative(writer, "number");
        writer.line(format_args!("return min(number, {last}u);"));
    } else {
        let number = shifted(word, ">>", down);
        writer.line(format_args!("return min({number}, {last}u);"));
    }
}

/// Returns 0 where a word has the sign of a negative number.
fn negative(writer: &mut Writer, word: &str) {
    writer.block(format_args!("if {word} >= 0x80000000u"), |writer| {
        writer.line(format_args!("return 0u;"));
    });
}

/// A word that is shifted; as it is by 0.
fn shifted(word: String, direction: &str, by: u32) -> String {
    if by == 0 { word } else { format!("({word} {direction} {by}u)") }
}
