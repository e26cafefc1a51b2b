//! Compares two memory reports of a program, for example before and after an update of the
//! compiler. The comparison lists layouts that changed, with the change in bytes, and copies that
//! were added or removed.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use super::{InstructionMemory, MemoryReport};
use crate::{
    shape::{Shape, queries},
    text::human_readable_num_bytes as num_bytes,
};

/// The opcodes that count as copies, because they compute nothing and only move elements. XLA
/// inserts most of them to change a layout.
const COPIES: [&str; 3] = ["copy", "transpose", "copy-start"];

impl MemoryReport {
    /// Describes the changes from `self` to `new`, with a summary in the first line. Returns `None`
    /// if nothing changed. `stridec diff` prints this text.
    ///
    /// ```
    /// use stridec::hlo::MemoryReport;
    /// let report = |text| MemoryReport::of_text(text);
    /// let old = report("ENTRY main { ROOT x = f32[64,3]{1,0} parameter(0) }")?;
    /// let new = report("ENTRY main { ROOT x = f32[64,3]{1,0:T(8,128)} parameter(0) }")?;
    /// assert!(old.difference(&new).unwrap().starts_with("changed: layouts, bytes\n"));
    /// assert_eq!(old.difference(&old), None);
    /// # Ok::<(), stridec::hlo::HloError>(())
    /// ```
    #[must_use]
    pub fn difference(&self, new: &Self) -> Option<String> {
        compare(self, new)
    }
}

/// Describes the changes from `old` to `new`, as [`MemoryReport::difference`] does.
fn compare(old: &MemoryReport, new: &MemoryReport) -> Option<String> {
    let layouts = layouts(old, new);
    let copies = copies(old, new);
    let (others, bytes) = (other_opcodes(old, new), sums(old, new));
    let parts =
        [("layouts", layouts), ("copies", copies), ("instructions", others), ("bytes", bytes)];
    let changed: Vec<&str> =
        parts.iter().filter(|(_, text)| !text.is_empty()).map(|(name, _)| *name).collect();
    if changed.is_empty() {
        return None;
    }
    let same: Vec<&str> =
        parts.iter().filter(|(_, text)| text.is_empty()).map(|(name, _)| *name).collect();
    let mut text = format!("changed: {}\n", changed.join(", "));
    if !same.is_empty() {
        let _ = writeln!(text, "the same: {}", same.join(", "));
    }
    for (name, part) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(text, "\n== {name}\n{part}");
    }
    Some(text)
}

/// Formats a change of a size, such as `+512.0K` or `-512.0K`.
fn signed_bytes(old: u64, new: u64) -> String {
    let sign = if new < old { '-' } else { '+' };
    format!("{sign}{}", num_bytes(old.abs_diff(new)))
}

fn bytes(instruction: &InstructionMemory) -> u64 {
    instruction.memory.map_or(0, |memory| memory.bytes)
}

/// Lists the instructions whose layout changed, the largest change in bytes first. Instructions are
/// matched by their names and the names of their computations.
fn layouts(old: &MemoryReport, new: &MemoryReport) -> String {
    type Key<'a> = (&'a str, &'a str);
    let by_name: HashMap<Key<'_>, &InstructionMemory> = old
        .instructions
        .iter()
        .map(|it| ((it.computation.as_ref(), it.name.as_ref()), it))
        .collect();
    let mut changes = Vec::new();
    for instruction in &new.instructions {
        let key = (instruction.computation.as_ref(), instruction.name.as_ref());
        let Some(before) = by_name.get(&key) else { continue };
        let (a, b): (&Shape, &Shape) = (&before.shape, &instruction.shape);
        if before.opcode == instruction.opcode && queries::compatible(a, b) && !queries::equal(a, b)
        {
            changes.push((*before, instruction));
        }
    }
    changes.sort_by_key(|(old, new)| std::cmp::Reverse(bytes(old).abs_diff(bytes(new))));
    let mut text = String::new();
    for (old, new) in changes {
        let _ = writeln!(text, "- {} {}: {}", new.opcode, new.name, old.shape);
        let cost = signed_bytes(bytes(old), bytes(new));
        let _ = writeln!(text, "+ {} {}: {} ({cost})", new.opcode, new.name, new.shape);
    }
    text
}

/// Groups the instructions that `counts` accepts by a key. Returns the number of instructions for
/// each key, and the size of the first of them in bytes.
fn count_by<'a>(
    report: &'a MemoryReport,
    counts: impl Fn(&InstructionMemory) -> bool,
    key: impl Fn(&'a InstructionMemory) -> String,
) -> BTreeMap<String, (i64, u64)> {
    let mut counted = BTreeMap::new();
    for instruction in report.instructions.iter().filter(|it| counts(it)) {
        let entry = counted.entry(key(instruction)).or_insert((0, bytes(instruction)));
        entry.0 += 1;
    }
    counted
}

/// Lists the copies that were added or removed. Copies are counted by opcode and shape instead of
/// being matched by name, because the names that XLA generates for them change with every
/// compilation.
fn copies(old: &MemoryReport, new: &MemoryReport) -> String {
    let is_copy = |it: &InstructionMemory| COPIES.contains(&it.opcode.as_ref());
    // Make default layouts explicit, because protos contain them but texts may omit them.
    // Otherwise, all copies would differ between a proto and a text of one module.
    let key = |it: &InstructionMemory| {
        format!("{} {}", it.opcode, Shape::clone(&it.shape).with_default_layouts())
    };
    let (mut old, new) = (count_by(old, is_copy, key), count_by(new, is_copy, key));
    let mut lines = Vec::new();
    for (name, (count, bytes)) in new {
        let before = old.remove(&name).map_or(0, |(count, _)| count);
        lines.push((count - before, name, bytes));
    }
    lines.extend(old.into_iter().map(|(name, (count, bytes))| (-count, name, bytes)));
    lines.retain(|(count, ..)| *count != 0);
    lines.sort_by_key(|(count, name, bytes)| {
        (count.signum(), std::cmp::Reverse(*bytes), name.clone())
    });
    let mut text = String::new();
    for (count, name, bytes) in lines {
        let sign = if count < 0 { '-' } else { '+' };
        let _ = writeln!(text, "{sign} {} of {name} ({} each)", count.abs(), num_bytes(bytes));
    }
    text
}

/// Lists the opcodes, except copies, whose number of instructions changed.
fn other_opcodes(old: &MemoryReport, new: &MemoryReport) -> String {
    // Ignore the parameters of called computations, because every new fusion adds some, which says
    // nothing about memory.
    let is_other = |it: &InstructionMemory| {
        !COPIES.contains(&it.opcode.as_ref()) && (it.has_buffer || &*it.opcode != "parameter")
    };
    let key = |it: &InstructionMemory| it.opcode.to_string();
    let (old, new) = (count_by(old, is_other, key), count_by(new, is_other, key));
    let mut text = String::new();
    let opcodes: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for opcode in opcodes {
        let count =
            |of: &BTreeMap<String, (i64, u64)>| of.get(opcode).map_or(0, |(count, _)| *count);
        let (before, after) = (count(&old), count(&new));
        if before != after {
            let _ = writeln!(text, "{opcode}: {before} before, {after} now");
        }
    }
    text
}

/// Lists the totals that changed.
fn sums(old: &MemoryReport, new: &MemoryReport) -> String {
    let mut text = String::new();
    for (name, old, new) in [
        ("parameters", old.parameters_bytes, new.parameters_bytes),
        ("results", old.results_bytes, new.results_bytes),
        ("temporaries", old.temporaries_bytes, new.temporaries_bytes),
        ("in all", old.total_bytes, new.total_bytes),
        ("of it padding", old.total_padding_bytes, new.total_padding_bytes),
    ] {
        if old != new {
            let (from, to) = (num_bytes(old), num_bytes(new));
            let _ = writeln!(text, "{name}: {from} before, {to} now ({})", signed_bytes(old, new));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(body: &str) -> MemoryReport {
        MemoryReport::of_text(&format!("ENTRY main {{ {body} }}")).unwrap()
    }

    #[test]
    fn layouts_that_are_left_out_and_parameters_of_callees_are_no_change() {
        let plain = "ENTRY main { x = f32[2,3] parameter(0) ROOT y = f32[3,2] transpose(x), dimensions={1,0} }";
        let said = plain.replace("f32[3,2]", "f32[3,2]{1,0}").replace("f32[2,3]", "f32[2,3]{1,0}");
        let report = |text: &str| MemoryReport::of_text(text).unwrap();
        assert_eq!(compare(&report(plain), &report(&said)), None);
        let inside = "f { p = f32[2,3] parameter(0) ROOT n = f32[2,3] negate(p) } ENTRY main { x = f32[2,3] parameter(0) \
                      ROOT c = f32[2,3] call(x), to_apply=f }";
        let shown = compare(
            &report("ENTRY main { x = f32[2,3] parameter(0) ROOT n = f32[2,3] negate(x) }"),
            &report(inside),
        );
        let shown = shown.unwrap();
        assert!(
            shown.contains("call: 0 before, 1 now") && !shown.contains("parameter:"),
            "{shown}"
        );
    }

    #[test]
    fn layouts_that_changed_and_copies_that_came() {
        let old = report("x = f32[64,3]{1,0} parameter(0) ROOT y = f32[64,3]{1,0} negate(x)");
        let new = report(
            "x = f32[64,3]{1,0} parameter(0) c = f32[64,3]{1,0:T(8,128)} copy(x)
             ROOT y = f32[64,3]{1,0:T(8,128)} negate(c)",
        );
        assert_eq!(compare(&old, &old), None);
        let shown = compare(&old, &new).unwrap();
        let expected = "changed: layouts, copies, bytes\nthe same: instructions\n\n== layouts\n\
             - negate y: f32[64,3]{1,0}\n+ negate y: f32[64,3]{1,0:T(8,128)} (+31.2K)\n\n== copies\n\
             + 1 of copy f32[64,3]{1,0:T(8,128)} (32.0K each)\n\n== bytes\n\
             results: 768B before, 32.0K now (+31.2K)\ntemporaries: 0B before, 32.0K now (+32.0K)\n\
             in all: 1.5K before, 64.8K now (+63.2K)\nof it padding: 0B before, 62.5K now (+62.5K)\n";
        assert_eq!(shown, expected);
        let back = compare(&new, &old).unwrap();
        assert!(back.contains("\n- 1 of copy f32[64,3]{1,0:T(8,128)} (32.0K each)\n"), "{back}");
    }
}
