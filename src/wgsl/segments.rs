//! Kernels for a destination whose rows have parts from different sources, as in a concatenation of
//! columns. The parts of a row are called segments, and an invocation copies a portion of each in a
//! loop. For example, if 12 and 8 columns are concatenated, each row has the segments 0 to 11 and
//! 12 to 19.
//!
//! An *access* is a load or store of 16 bytes. It moves one or more *units*: elements, parts of
//! elements, or several elements that the nest copies as one.

use super::{
    block::{access_unit_by_unit, with_offset},
    cases::holds,
    form::{AxisNames, DigitWriter},
    gather::{filling, unit_function, word_function, write_axes},
    joined::joined,
    words::{literal, repeated},
    writer::Writer,
};
use crate::{
    nest::{ACCESS_BYTES, Affine, Case, CaseValue, Value, signed},
    schedule::{RowSegment, RowSegments, source},
    shape::{Count, width},
};

/// Writes a kernel in which each invocation copies a portion of one row.
#[inline(never)] // WebAssembly compiles a function at its first call
pub(super) fn segments(writer: &mut Writer, rows: &RowSegments) {
    let nest = &rows.nest;
    let meetings = rows.meetings();
    if !meetings.is_empty() {
        unit_function(writer, nest, 4, u64::from((32 / nest.dst_bits()).max(1)));
        writer.blank();
        word_function(writer, nest);
    }
    let is_shifted =
        |segment: &RowSegment| segment.alone(rows.units).is_some() && !rows.are_aligned(segment);
    if rows.segments.iter().any(is_shifted) {
        joined(writer, nest.src_bits());
    }
    writer.comment(
        "",
        format_args!(
            "An invocation goes along a row: {} of {}, then those {} further on. Steps count units of {}.",
            Count(rows.width, "store"),
            Count(rows.units, "unit"),
            rows.lanes * rows.width,
            width(nest.dst_bits()),
        ),
    );
    super::emit::main(writer, "run", rows.invocations().0, |writer| {
        if !meetings.is_empty() {
            meeting(writer, rows, &meetings);
        }
        let (groups, group, lanes) = (rows.groups(), rows.group(), rows.lanes);
        let names = AxisNames::of_nest(nest);
        let mut digits = DigitWriter::new("run");
        let lane = (lanes > 1).then(|| digits.next(writer, lanes));
        let number = (groups > 1).then(|| digits.next(writer, groups));
        let row = digits.last();
        let outer = nest.extents().len() - 1;
        write_axes(writer, digits, &names, nest.axes().take(outer), |axis| {
            format!("{}: destination +{}", Count(axis.extent, "step"), axis.dst_stride)
        });
        writer.noted(
            format_args!("let write = {row} * {}u;", rows.accesses),
            format_args!("in accesses of {}", Count(rows.units, "unit")),
        );
        if let Some(number) = number {
            let start = DigitWriter::times(number, group);
            writer.noted(
                format_args!("let group = {start};"),
                format_args!("accesses of the row before"),
            );
            writer.line(format_args!("let end = min(group + {group}u, {}u);", rows.accesses));
        }
        if let Some(lane) = lane {
            writer.line(format_args!("let lane = {};", DigitWriter::times(lane, rows.width)));
        }
        for (number, segment) in rows.segments.iter().enumerate() {
            if let Some(alone) = segment.alone(rows.units) {
                SegmentWriter { rows, names: &names, number, segment, alone }.write(writer);
            }
        }
    });
}

/// Writes the code for *meetings*, the accesses that contain the end of one segment and the start
/// of the next. They have invocations of their own, whose indices follow the indices of the
/// invocations that copy rows.
fn meeting(writer: &mut Writer, rows: &RowSegments, meetings: &[u64]) {
    let (runs, count) = (rows.runs(), meetings.len());
    writer.block(format_args!("if run >= {runs}u"), |writer| {
        writer.comment("", format_args!("An access of a row in which cases meet, unit by unit."));
        writer.line(format_args!("var at = {}u;", meetings[0]));
        for (number, meeting) in meetings.iter().enumerate().skip(1) {
            let which = format!("(run - {runs}u) % {count}u == {number}u");
            writer.block(format_args!("if {which}"), |writer| {
                writer.line(format_args!("at = {meeting}u;"));
            });
        }
        let row = match count {
            1 => format!("(run - {runs}u)"),
            _ => format!("(run - {runs}u) / {count}u"),
        };
        writer.line(format_args!("let place = {row} * {}u + at;", rows.accesses));
        access_unit_by_unit(writer, rows.nest.dst_bits(), rows.units, "place");
        writer.line(format_args!("return;"));
    });
}

/// A writer of the code that copies or fills one segment.
struct SegmentWriter<'a> {
    rows: &'a RowSegments,
    names: &'a AxisNames,
    number: usize,
    segment: &'a RowSegment,
    /// The accesses that lie entirely inside the segment, as a half-open range of their numbers in
    /// the row.
    alone: (u64, u64),
}

impl SegmentWriter<'_> {
    fn write(&self, writer: &mut Writer) {
        let Self { rows, number, segment, .. } = *self;
        let RowSegment { first, end, cases } = segment;
        writer.comment("", format_args!("Units {first} to {} of a row.", end - 1));
        let sources = segment.sources();
        let is_chosen = cases.len() > 1;
        if is_chosen {
            self.choose(writer, cases);
        } else if let CaseValue::Read { at, .. } = &cases[0].take {
            let read = self.at_first(at);
            writer.line(format_args!("let read{number} = {};", self.names.form(&read)));
        }
        let mut start = self.start();
        if rows.lanes > 1 {
            start = if start == "0u" { "lane".to_owned() } else { format!("{start} + lane") };
        }
        for of in &sources {
            let stop = self.stop(writer, *of, sources.len() > 1);
            let step = rows.lanes * rows.width;
            let head = format!("for (var at = {start}; at < {stop}; at += {step}u)");
            writer.block(format_args!("{head}"), |writer| match of {
                Some(of) => self.copy(writer, *of, &stop),
                None => self.fill(writer, &stop),
            });
        }
    }

    /// Returns the expression for the access at which the loop over the segment starts. If several
    /// groups of invocations share a row, each group copies only its own range of the row's
    /// accesses.
    fn start(&self) -> String {
        match (self.rows.groups() > 1, self.alone.0) {
            (false, low) => format!("{low}u"),
            (true, 0) => "group".to_owned(),
            (true, low) => format!("max(group, {low}u)"),
        }
    }

    /// Returns the expression for the access at which the loop over the segment ends. If
    /// `is_chosen` is true, the source of the segment differs between rows, and the segment has a
    /// loop for each source `of`. The value is then 0 in rows that read another source, so that
    /// this loop does nothing there.
    fn stop(&self, writer: &mut Writer, of: Option<usize>, is_chosen: bool) -> String {
        let Self { rows, number, alone: (_, high), .. } = *self;
        let stop = match (rows.groups() > 1, high == rows.accesses) {
            (false, _) => format!("{high}u"),
            (true, true) => "end".to_owned(),
            (true, false) => format!("min(end, {high}u)"),
        };
        let (name, stop) = if is_chosen {
            let cases = self.segment.cases.iter().enumerate();
            let of_it = cases.filter(|(_, case)| source(&case.take) == of);
            let chosen: Vec<String> =
                of_it.map(|(case, _)| format!("way{number} == {case}u")).collect();
            let name = match of {
                Some(of) => format!("stop{number}_{of}"),
                None => format!("stop{number}"),
            };
            (name, format!("select(0u, {stop}, {})", chosen.join(" || ")))
        } else if stop.starts_with("min") {
            (format!("stop{number}"), stop)
        } else {
            return stop;
        };
        writer.line(format_args!("let {name} = {stop};"));
        name
    }

    /// Returns the value that an affine expression has at the first unit of the segment.
    fn at_first(&self, form: &Affine) -> Affine {
        let inner = Value::Axis(self.rows.nest.extents().len() - 1);
        form.substituted(inner, &Affine::constant(self.segment.first.cast_signed()))
    }

    /// Writes the code that finds the source of this segment in the row of the invocation, and the
    /// offset at which the row reads it. These are the variables `way…`, the number of the case
    /// that applies, and `read…`.
    fn choose(&self, writer: &mut Writer, cases: &[Case]) {
        let number = self.number;
        writer.line(format_args!("var way{number} = {}u;", cases.len() - 1));
        for (case, Case { when, .. }) in cases.iter().enumerate().rev().skip(1) {
            let holding: Vec<String> = when.iter().map(|guard| holds(self.names, guard)).collect();
            writer.block(format_args!("if {}", holding.join(" && ")), |writer| {
                writer.line(format_args!("way{number} = {case}u;"));
            });
        }
        writer.line(format_args!("var read{number} = 0u;"));
        for (case, Case { take, .. }) in cases.iter().enumerate() {
            if let CaseValue::Read { at, .. } = take {
                writer.block(format_args!("if way{number} == {case}u"), |writer| {
                    let read = self.at_first(at);
                    writer.line(format_args!("read{number} = {};", self.names.form(&read)));
                });
            }
        }
    }

    /// Writes the `rows.width` stores of one loop iteration. `value(n)` returns the expression that
    /// is stored to access `at + n` of the row. Stores past the end of the segment are left out or
    /// skipped.
    fn stores(&self, writer: &mut Writer, stop: &str, value: impl Fn(u64) -> String) {
        let Self { rows, alone: (low, high), .. } = *self;
        let is_whole = |access: u64| access.is_multiple_of(rows.width);
        let are_whole =
            if rows.groups() == 1 { is_whole(high - low) } else { is_whole(low) && is_whole(high) };
        for access in 0..rows.width {
            let (place, value) = (with_offset("at", signed(access)), value(access));
            let store = |writer: &mut Writer| {
                let destination = writer.destination();
                writer.line(format_args!("{destination}[write + {place}] = {value};"));
            };
            if are_whole || access == 0 {
                store(writer);
            } else {
                writer.block(format_args!("if {place} < {stop}"), store);
            }
        }
    }

    /// Writes the body of the loop that copies the segment from source `of`.
    fn copy(&self, writer: &mut Writer, of: usize, stop: &str) {
        let Self { rows, number, segment, .. } = *self;
        let (units, name) = (rows.units, writer.source(of));
        let steps = if units == 1 { "at".to_owned() } else { format!("at * {units}u") };
        let read = match segment.first {
            0 => format!("read{number} + {steps}"),
            first => format!("read{number} + {steps} - {first}u"),
        };
        let access = if units == 1 { read.clone() } else { format!("({read}) / {units}u") };
        if rows.are_aligned(segment) {
            writer.line(format_args!("let first = {access};"));
            return self.stores(writer, stop, |access| {
                format!("{name}[{}]", with_offset("first", signed(access)))
            });
        }
        writer.line(format_args!("let read = {read};"));
        writer.line(format_args!("let first = read / {units}u;"));
        writer.line(format_args!("let start = read % {units}u;"));
        let last = rows.nest.sources()[of].bytes() / ACCESS_BYTES - 1;
        for access in 0..=rows.width {
            let place = with_offset("first", signed(access));
            let place = if access == 0 { place } else { format!("min({place}, {last}u)") };
            writer.line(format_args!("let access{access} = {name}[{place}];"));
        }
        self.stores(writer, stop, |access| {
            format!("joined(access{access}, access{}, start)", access + 1)
        });
    }

    /// Writes the body of the loop that fills the segment with constant bits, which may differ
    /// between rows.
    fn fill(&self, writer: &mut Writer, stop: &str) {
        let bits = self.rows.nest.dst_bits();
        let of = |take: &CaseValue| match take {
            CaseValue::Bits(fill) => Some(repeated(*fill, bits, ACCESS_BYTES * 8)),
            CaseValue::Read { .. } => None,
        };
        let fills = self.segment.cases.iter().enumerate();
        let fills: Vec<(usize, u128)> =
            fills.filter_map(|(number, case)| Some((number, of(&case.take)?))).collect();
        let Some(((_, last), others)) = fills.split_last() else { return };
        let mut value = literal(ACCESS_BYTES * 8, *last);
        for (case, fill) in others.iter().filter(|fill| fill.1 != *last) {
            let literal = literal(ACCESS_BYTES * 8, *fill);
            value = format!("select({value}, {literal}, way{} == {case}u)", self.number);
        }
        writer.comment("", format_args!("{}", filling(*last)));
        self.stores(writer, stop, |_| value.clone());
    }
}
