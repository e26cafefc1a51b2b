//! Writes a long list of cases without nesting. The code tests every case, from the last one to the
//! first, and each case that applies overwrites the result. So the first case that applies decides.
//!
//! The nested `if`s of `cases` do less work, but lavapipe nests the rest of a function under every
//! early return and fails beyond 80 levels.

use std::collections::BTreeSet;

use super::{
    cases::holds,
    form::FormNames,
    gather::load,
    kept::{give, give_no_case},
    words::literal,
    writer::Writer,
};
use crate::nest::{Case, CaseValue, CopyNest, Gaps, Quotient, Value};

/// Writes a variable for each quotient, except for those whose text is written at each use.
pub(super) fn quotients(writer: &mut Writer, nest: &CopyNest, names: &dyn FormNames) {
    for (number, Quotient { of, by }) in nest.quotients().iter().enumerate() {
        if !names.is_inlined(number) {
            let (quotient, of) = (Value::Quotient(number), names.dividend(of));
            writer.line(format_args!("let {quotient} = {of} / {by}u;"));
        }
    }
}

/// Writes the code that finds the first case whose guards hold, and returns its value.
///
/// Every quotient is computed, even if no case that uses it applies. The result is then wrong if
/// the dividend is negative, but it is not used. Sources are bound as arrays whose elements have
/// `element_words` words.
pub(super) fn choose(
    writer: &mut Writer,
    nest: &CopyNest,
    names: &dyn FormNames,
    element_words: u32,
) {
    let kind = u64::from(nest.dst_bits());
    quotients(writer, nest, names);
    let none = nest.sources().len();
    let keeps = nest.gaps() == Gaps::Keep;
    let outside = if keeps { none + 1 } else { none };
    writer.line(format_args!("var chosen = {outside}u;"));
    writer.line(format_args!("var read = 0u;"));
    writer.line(format_args!("var fill = {};", literal(kind, 0)));
    for Case { when, take } in nest.cases().iter().rev() {
        let chosen = |writer: &mut Writer| match take {
            CaseValue::Read { source, at } => {
                writer.line(format_args!("chosen = {source}u;"));
                writer.line(format_args!("read = {};", names.form(at)));
            }
            CaseValue::Bits(bits) => {
                writer.line(format_args!("chosen = {none}u;"));
                writer.line(format_args!("fill = {};", literal(kind, *bits)));
            }
        };
        let holding: Vec<String> = when.iter().map(|guard| holds(names, guard)).collect();
        match &holding[..] {
            [] => chosen(writer),
            _ => writer.block(format_args!("if {}", holding.join(" && ")), chosen),
        }
    }
    let read = nest.cases().iter().filter_map(|case| match case.take {
        CaseValue::Read { source, .. } => Some(source),
        CaseValue::Bits(_) => None,
    });
    for source in read.collect::<BTreeSet<usize>>() {
        writer.block(format_args!("if chosen == {source}u"), |writer| {
            load(writer, nest, source, element_words);
        });
    }
    if keeps {
        writer.block(format_args!("if chosen == {outside}u"), |writer| give_no_case(writer, nest));
    }
    give(writer, nest, format_args!("fill"), None);
}
