//! A scanner for HLO text and for the allocations in XLA's out-of-memory report.

use std::collections::HashMap;

use super::{
    Footprint,
    scan::{ScannedModule, runs_callees},
};
use crate::{
    hlo::{
        HloError,
        text::{
            cursor::Cursor,
            parse::{attribute, computation_name, header, table},
        },
    },
    shape::{Layout, Shape},
    text::human_readable_num_bytes as num_bytes,
};

type Result<T> = std::result::Result<T, HloError>;

/// The first words of XLA's other memory dumps, which stridec does not read, each paired with the
/// name of the dump.
const OTHER_DUMPS: [(&str, &str); 5] = [
    ("HLO temp ", "the total of such a report"),
    ("Memory Space: ", "a memory-usage report"),
    ("Total bytes", "a memory-usage report"),
    ("BufferAssignment:", "a buffer assignment"),
    ("HloLiveRange ", "live ranges"),
];

/// The attributes that name computations that an opcode applies to elements or fuses.
const CALLEES: [&str; 5] = ["calls", "to_apply", "select", "scatter", "called_computations"];

/// Scans the instructions of HLO text, or the allocations of an out-of-memory report.
pub(super) fn scan(text: &str) -> Result<ScannedModule<'_>> {
    if text.lines().any(|line| line.trim_start().starts_with("Shape: ")) {
        return scan_report(text);
    }
    let mut cursor = Cursor::new(text);
    let start = cursor.start()?;
    if let Some(&(_, what)) = OTHER_DUMPS.iter().find(|(first, _)| text[start..].starts_with(first))
    {
        let reason = format!(
            "expected HLO text, or XLA's report that memory ran out, got {what}; the dump of the module itself, \
             `*.cpu_after_optimizations.txt` or the like, has the shapes"
        );
        return Err(cursor.error(start, reason));
    }
    let mut scan = ScannedModule::default();
    scan.buffers = header(&mut cursor)?.1;
    let mut numbers = HashMap::new();
    let mut applied = Vec::new();
    while !cursor.is_at_end() {
        if table(&mut cursor).is_some() {
            continue;
        }
        let is_entry = cursor.eat_word("ENTRY");
        let name = computation_name(&mut cursor)?;
        let number = i64::try_from(scan.count()).unwrap_or(i64::MAX);
        numbers.insert(name, number);
        scan.computation(number, name);
        if is_entry {
            scan.entry = Some(number);
        }
        let (mut has_root, mut is_empty) = (false, true);
        while !cursor.eat("}") {
            has_root |= instruction(&mut cursor, &mut scan, &mut applied)?;
            is_empty = false;
        }
        if !has_root && !is_empty {
            scan.mark_last_as_root();
        }
        while cursor.eat(",") {
            attribute(&mut cursor)?;
        }
    }
    if scan.count() == 0 {
        return Err(cursor.unexpected("HLO text, or XLA's report that memory ran out"));
    }
    scan.applied = applied.into_iter().filter_map(|name| numbers.get(name).copied()).collect();
    if scan.count() == 1 {
        scan.entry = Some(0);
    }
    Ok(scan)
}

/// Adds an instruction, records the computations that it applies, and returns whether it is the
/// root.
fn instruction<'a>(
    cursor: &mut Cursor<'a>,
    scan: &mut ScannedModule<'a>,
    applied: &mut Vec<&'a str>,
) -> Result<bool> {
    let is_root = cursor.eat_word("ROOT");
    let name = cursor.name()?;
    cursor.expect("=")?;
    let (start, shape) = cursor.shape_text()?;
    let opcode = cursor.expect_word("an opcode")?;
    if !cursor.sees("(") {
        return Err(cursor.unexpected("`(`"));
    }
    cursor.balanced()?;
    while cursor.eat(",") {
        let (attribute, _, value) = attribute(cursor)?;
        if CALLEES.contains(&attribute) && !runs_callees(opcode) {
            let names = value.trim_matches(['{', '}']).split(',');
            applied.extend(names.map(|name| name.trim().trim_start_matches('%')));
        }
    }
    scan.instruction(name, opcode, is_root, shape.as_bytes(), || cursor.shape_at(start, shape))?;
    Ok(is_root)
}

/// The usual TPU tilings for types of 32, 16 and 8 bits.
const TILINGS: [&[[u64; 2]]; 3] = [&[[8, 128]], &[[8, 128], [2, 1]], &[[8, 128], [4, 1]]];

/// The lines of a report that describe one allocation.
#[derive(Clone, Copy, Default)]
struct Allocation<'a> {
    shape: Option<(usize, &'a str)>,
    /// The printed size of the allocation.
    size: &'a str,
    /// The printed size of the padding in it.
    padding: &'a str,
    label: &'a str,
    kind: &'a str,
}

/// Scans the allocations of a report. Each allocation has a `Shape:` line, and each `Size:` line
/// begins the next allocation.
fn scan_report(text: &str) -> Result<ScannedModule<'_>> {
    let cursor = Cursor::new(text);
    let mut scan = ScannedModule::default();
    scan.computation(0, "");
    let mut allocation = Allocation::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((name, value)) = line.split_once(": ") else { continue };
        let name = name.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
        let value_start = start + line.len() - value.len();
        let value_start = value_start + value.len() - value.trim_start().len();
        let value = value.trim();
        match name {
            "Size" => {
                std::mem::take(&mut allocation).add(&cursor, &mut scan)?;
                allocation.size = value;
            }
            "Shape" => {
                if allocation.shape.is_some() {
                    std::mem::take(&mut allocation).add(&cursor, &mut scan)?;
                }
                allocation.shape = Some((value_start, value));
            }
            "Extra memory due to padding" => {
                allocation.padding = value.split(' ').next().unwrap_or_default();
            }
            "XLA label" | "XLA Label" => allocation.label = value,
            "Allocation type" => allocation.kind = value,
            _ => {}
        }
    }
    allocation.add(&cursor, &mut scan)?;
    Ok(scan)
}

impl<'a> Allocation<'a> {
    fn add(self, cursor: &Cursor<'a>, scan: &mut ScannedModule<'a>) -> Result<()> {
        let Some((start, shape)) = self.shape else { return Ok(()) };
        let kind = self.kind.to_ascii_lowercase();
        let is_parameter = kind.contains("argument") || kind.contains("parameter");
        let name = self.label.split([' ', '=']).next().unwrap_or_default();
        let opcode = if is_parameter { "parameter" } else { "" };
        let name = name.trim_start_matches('%');
        scan.instruction(name, opcode, kind.contains("output"), shape.as_bytes(), || {
            Ok(self.with_tiles(cursor.shape_at(start, shape)?))
        })
    }

    /// Adds tiles to a shape that was printed without them, if its printed size shows that it is
    /// tiled. Old versions of XLA and reports of vector memory omit tiles.
    fn with_tiles(self, shape: Shape) -> Shape {
        let fits_printed_size = |shape: &Shape| {
            Footprint::of(shape).is_some_and(|memory| {
                num_bytes(memory.bytes) == self.size
                    || num_bytes(memory.padding_bytes()) == self.padding
            })
        };
        let plain = shape.clone().with_default_layouts();
        let Some(layout) = plain.layout().filter(|layout| layout.tiles.is_empty()) else {
            return shape;
        };
        if fits_printed_size(&shape) {
            return shape;
        }
        let with = |tiles: &&[[u64; 2]]| {
            let layout = tiles.iter().copied().fold(layout.clone(), Layout::tiled);
            Shape::array(plain.element_type(), plain.dimensions().iter().copied(), layout).ok()
        };
        TILINGS.iter().filter_map(with).find(fits_printed_size).unwrap_or(shape)
    }
}
