//! Kernels for a destination whose bits outside the elements are kept ([`Gaps::Keep`]). A *unit* is
//! an element, or a part of one, that the nest copies at a time.
//!
//! Every word is the work of a single invocation, which reads the word, replaces the bits of its
//! elements and writes it back. No atomics are needed, because no other invocation accesses the
//! word. A word without an element is neither read nor written.

use std::fmt;

use super::{
    emit::main,
    form::DigitWriter,
    gather::{unit, unit_function},
    words::literal,
    writer::Writer,
};
use crate::{
    nest::{CopyNest, Gaps},
    schedule::WordRuns,
    shape::width,
};

/// The value that the function `unit` returns at a place without an element, whose bits are kept.
/// No element has this value, because the function returns only units that are narrower than a
/// word.
const KEPT: &str = "0xffffffffu";

/// Returns true if the code that finds a unit also stores it, and false if it returns the unit to
/// its caller. The code stores it if gaps are kept and a unit has at least 32 bits.
fn stores(nest: &CopyNest) -> bool {
    nest.gaps() == Gaps::Keep && nest.dst_bits() >= 32
}

/// Writes the last statement of the code that finds the unit at `position`. The statement returns
/// or stores `value`, the expression for the unit.
pub(super) fn give(
    writer: &mut Writer,
    nest: &CopyNest,
    value: fmt::Arguments<'_>,
    remark: Option<&str>,
) {
    if stores(nest) {
        let place = if nest.scattered().is_some() { "place" } else { "position" };
        let destination = writer.destination();
        writer.line(format_args!("{destination}[{place}] = {value};"));
        return writer.line(format_args!("return;"));
    }
    match remark {
        Some(remark) => writer.noted(format_args!("return {value};"), format_args!("{remark}")),
        None => writer.line(format_args!("return {value};")),
    }
}

/// Writes the last statement of the code that finds a unit, for places to which no case applies.
pub(super) fn give_no_case(writer: &mut Writer, nest: &CopyNest) {
    match nest.gaps() {
        Gaps::Keep => give_nothing(writer, nest, "kept"),
        Gaps::Fill => {
            let zero = literal(nest.dst_bits().into(), 0);
            give(writer, nest, format_args!("{zero}"), None);
        }
    }
}

/// Writes the last statement of the code that finds a unit, for places without an element. `remark`
/// is the comment that gives the reason.
pub(super) fn give_nothing(writer: &mut Writer, nest: &CopyNest, remark: &str) {
    match nest.gaps() {
        Gaps::Keep if stores(nest) => {
            writer.noted(format_args!("return;"), format_args!("{remark}"));
        }
        Gaps::Keep => give(writer, nest, format_args!("{KEPT}"), Some(remark)),
        Gaps::Fill => {
            let zero = literal(nest.dst_bits().into(), 0);
            give(writer, nest, format_args!("{zero}"), Some(remark));
        }
    }
}

/// Writes a kernel in which each invocation writes the elements of one word of the destination and
/// keeps all other bits of the word. If units are wider than a word, each invocation writes one
/// unit.
pub(super) fn kept_words(writer: &mut Writer, nest: &CopyNest) {
    let Some(runs) = WordRuns::of(nest) else { return };
    let source_words = (nest.src_bits() / 32).max(1);
    word_function(writer, &runs);
    if stores(nest) {
        return main(writer, "invocation", runs.count(), |writer| {
            writer.line(format_args!("let position = word_of(invocation);"));
            unit(writer, nest, 1, source_words);
        });
    }
    let (bits, lanes) = (nest.dst_bits(), 32 / nest.dst_bits());
    unit_function(writer, nest, source_words, lanes.into());
    writer.blank();
    let destination = writer.destination();
    main(writer, "invocation", runs.count(), |writer| {
        writer.line(format_args!("let word = word_of(invocation);"));
        writer.noted(
            format_args!("var lanes = 0u;"),
            format_args!("{lanes} units of {}, the first in the low bits", width(bits)),
        );
        writer.noted(format_args!("var mask = 0u;"), format_args!("the bits of elements"));
        writer.block(format_args!("for (var lane = 0u; lane < {lanes}u; lane++)"), |writer| {
            writer.line(format_args!("let bits = unit(word * {lanes}u + lane);"));
            writer.block(format_args!("if bits != {KEPT}"), |writer| {
                let mask = (1_u64 << bits) - 1;
                writer.line(format_args!("lanes |= bits << (lane * {bits}u);"));
                writer.line(format_args!("mask |= 0x{mask:x}u << (lane * {bits}u);"));
            });
        });
        writer.block(format_args!("if mask == 0u"), |writer| {
            writer.line(format_args!("return;"));
        });
        writer.block(format_args!("if mask != {KEPT}"), |writer| {
            writer.noted(
                format_args!("lanes |= {destination}[word] & ~mask;"),
                format_args!("the other bits of the word are kept"),
            );
        });
        writer.line(format_args!("{destination}[word] = lanes;"));
    });
}

/// Writes the function `word_of`, which maps the index of an invocation to the word that it writes.
/// If units are wider than a word, the result is the index of a unit instead.
fn word_function(writer: &mut Writer, runs: &WordRuns) {
    let mut loops: Vec<(u64, u64)> = runs.loops.iter().rev().copied().collect();
    if runs.words > 1 || loops.is_empty() {
        loops.insert(0, (runs.words, 1));
    }
    writer.block(format_args!("fn word_of(invocation: u32) -> u32"), |writer| {
        let extents = loops.iter().map(|&(steps, _)| steps);
        let digits = DigitWriter::new("invocation").all(writer, extents);
        let terms = digits.into_iter().zip(&loops);
        let mut terms: Vec<String> =
            terms.map(|(digit, &(_, step))| DigitWriter::times(digit, step)).collect();
        if runs.first > 0 {
            terms.push(format!("{}u", runs.first));
        }
        writer.line(format_args!("return {};", terms.join(" + ")));
    });
    writer.blank();
}
