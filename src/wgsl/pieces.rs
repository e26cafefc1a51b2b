//! Kernels of several cases that go through rows of the destination, piece by piece.

use super::{
    cases::holds,
    emit::source_name,
    form::{Digits, Names},
    gather::{filling, unit_function, word_function},
    words::{literal, repeated},
    writer::Writer,
};
use crate::{
    nest::{Affine, Case, Count, Take, Value, width},
    schedule::{Piece, Pieces, source},
};

/// Bits of an access.
const ACCESS_BITS: u64 = 128;

/// Writes a kernel whose invocations go through rows, [`Pieces`] by piece.
pub(super) fn pieces(writer: &mut Writer, rows: &Pieces) {
    let nest = &rows.nest;
    let meetings = rows.meetings();
    if !meetings.is_empty() {
        unit_function(writer, nest, 4);
        writer.blank();
        word_function(writer, nest);
    }
    let is_shifted = |piece: &Piece| piece.alone(rows.units).is_some() && !rows.are_aligned(piece);
    if rows.parts.iter().any(is_shifted) {
        joined(writer, nest.src_bits());
    }
    let lanes = rows.lanes;
    let begins_later = |piece: &Piece| piece.alone(rows.units).is_some_and(|alone| alone.0 > 0);
    if rows.parts.iter().any(begins_later) {
        let steps = match lanes {
            1 => "max(first, least)".to_owned(),
            _ => format!(
                "first + (max(first, least) - first + {}u) / {lanes}u * {lanes}u",
                lanes - 1
            ),
        };
        writer.comment("", format_args!("The first of an invocation's accesses from `least` on."));
        writer.block(format_args!("fn onward(first: u32, least: u32) -> u32"), |writer| {
            writer.line(format_args!("return {steps};"));
        });
        writer.blank();
    }
    writer.comment(
        "",
        format_args!(
            "An invocation goes along a row: up to {} stores of {}, every {lanes}th. Steps count units of {}.",
            rows.length,
            Count(rows.units, "unit"),
            width(nest.dst_bits()),
        ),
    );
    super::emit::main(writer, "run", rows.invocations().0, |writer| {
        if !meetings.is_empty() {
            meeting(writer, rows, &meetings);
        }
        let (groups, group) = (rows.groups(), lanes * rows.length);
        let names = Names::of_nest(nest);
        let mut digits = Digits::new("run");
        let lane = (lanes > 1).then(|| digits.next(writer, lanes));
        let number = (groups > 1).then(|| digits.next(writer, groups));
        let row = digits.last();
        let mut lines = Vec::new();
        let outer = nest.extents().len() - 1;
        for (axis, of) in nest.axes().enumerate().take(outer).collect::<Vec<_>>().into_iter().rev()
        {
            let digit = if axis == 0 { digits.last() } else { digits.next(writer, of.extent) };
            lines.push((format!("let {} = {digit};", names.axis(axis)), of));
        }
        for (code, of) in lines.iter().rev() {
            let steps = Count(of.extent, "step");
            writer.noted(
                format_args!("{code}"),
                format_args!("{steps}: destination +{}", of.dst_stride),
            );
        }
        writer.noted(
            format_args!("let write = {row} * {}u;", rows.accesses),
            format_args!("in accesses of {}", Count(rows.units, "unit")),
        );
        let group_start = number.map(|number| Digits::times(number, group));
        let first: Vec<String> = group_start.into_iter().chain(lane).collect();
        let first = if first.is_empty() { "0u".to_owned() } else { first.join(" + ") };
        writer.line(format_args!("let first = {first};"));
        writer.line(format_args!("let end = min(first + {group}u, {}u);", rows.accesses));
        for (number, piece) in rows.parts.iter().enumerate() {
            if let Some(alone) = piece.alone(rows.units) {
                Text { rows, names: &names, number, piece, alone }.write(writer);
            }
        }
    });
}

/// Writes what the invocations past the runs do.
fn meeting(writer: &mut Writer, rows: &Pieces, meetings: &[u64]) {
    let (runs, count) = (rows.runs(), meetings.len());
    let bits = u64::from(rows.nest.dst_bits());
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
        let (calls, name) =
            if bits < 32 { (ACCESS_BITS / 32, "word") } else { (ACCESS_BITS / bits, "unit") };
        let parts: Vec<String> = (0..calls)
            .map(|part| match part {
                0 => format!("{name}(place * {calls}u)"),
                _ => format!("{name}(place * {calls}u + {part}u)"),
            })
            .collect();
        writer.list("destination[place] = vec4<u32>(", &parts, ");");
        writer.line(format_args!("return;"));
    });
}

/// Writes the function that gives an access of a source which starts anywhere.
fn joined(writer: &mut Writer, bits: u32) {
    writer.comment(
        "",
        format_args!(
            "The access of 16 bytes that starts `units` of {} into `low`, and ends in `high`.",
            width(bits)
        ),
    );
    let head = "fn joined(low: vec4<u32>, high: vec4<u32>, units: u32) -> vec4<u32>";
    writer.block(format_args!("{head}"), |writer| {
        if bits == 64 {
            let both = "vec4<u32>(low.zw, high.xy)";
            return writer.line(format_args!("return select(low, {both}, units == 1u);"));
        }
        let words = if bits == 32 {
            "units".to_owned()
        } else {
            let lanes = 32 / bits;
            writer.line(format_args!("let words = units / {lanes}u;"));
            writer.line(format_args!("let shift = units % {lanes}u * {bits}u;"));
            "words".to_owned()
        };
        writer.line(format_args!("let by_two = {words} >= 2u;"));
        writer.line(format_args!("let by_one = {words} % 2u == 1u;"));
        writer.line(format_args!("let two = select(low, vec4<u32>(low.zw, high.xy), by_two);"));
        writer.line(format_args!("let next = select(high.xy, high.zw, by_two);"));
        let one = "select(two, vec4<u32>(two.yzw, next.x), by_one)";
        if bits == 32 {
            return writer.line(format_args!("return {one};"));
        }
        writer.line(format_args!("let one = {one};"));
        writer.line(format_args!("let last = select(next.x, next.y, by_one);"));
        writer.line(format_args!("let up = vec4<u32>(31u - shift);"));
        writer.line(format_args!(
            "return (one >> vec4<u32>(shift)) | ((vec4<u32>(one.yzw, last) << vec4<u32>(1u)) << up);"
        ));
    });
    writer.blank();
}

/// A piece while it is written.
struct Text<'a> {
    rows: &'a Pieces,
    names: &'a Names,
    number: usize,
    piece: &'a Piece,
    /// The accesses that are its own: the first, and the first past them.
    alone: (u64, u64),
}

impl Text<'_> {
    fn write(&self, writer: &mut Writer) {
        let Self { rows, number, piece, alone: (low, high), .. } = *self;
        let Piece { first, end, ways } = piece;
        writer.comment("", format_args!("Units {first} to {} of a row.", end - 1));
        let sources = piece.sources();
        let is_chosen = ways.len() > 1;
        if is_chosen {
            self.choose(writer, ways);
        } else if let Take::Read { at, .. } = &ways[0].take {
            let read = self.at_first(at);
            writer.line(format_args!("let read{number} = {};", self.names.form(&read)));
        }
        let lanes = rows.lanes;
        for of in &sources {
            let start =
                if low == 0 { "first".to_owned() } else { format!("onward(first, {low}u)") };
            let mut stop =
                if high == rows.accesses { "end".to_owned() } else { format!("min(end, {high}u)") };
            if sources.len() > 1 {
                let of_it = ways.iter().enumerate().filter(|(_, way)| source(&way.take) == *of);
                let chosen: Vec<String> =
                    of_it.map(|(way, _)| format!("way{number} == {way}u")).collect();
                let name = match of {
                    Some(of) => format!("stop{number}_{of}"),
                    None => format!("stop{number}"),
                };
                writer.line(format_args!(
                    "let {name} = select(0u, {stop}, {});",
                    chosen.join(" || ")
                ));
                stop = name;
            }
            let head = format!("for (var at = {start}; at < {stop}; at += {lanes}u)");
            writer.block(format_args!("{head}"), |writer| match of {
                Some(of) => self.copy(writer, *of),
                None => self.fill(writer),
            });
        }
    }

    /// A form at the first unit of the piece.
    fn at_first(&self, form: &Affine) -> Affine {
        let inner = Value::Axis(self.rows.nest.extents().len() - 1);
        form.substituted(inner, &Affine::constant(self.piece.first.cast_signed()))
    }

    /// Writes which way this row takes, and where it reads.
    fn choose(&self, writer: &mut Writer, ways: &[Case]) {
        let number = self.number;
        writer.line(format_args!("var way{number} = {}u;", ways.len() - 1));
        for (way, Case { when, .. }) in ways.iter().enumerate().rev().skip(1) {
            let holding: Vec<String> = when.iter().map(|guard| holds(self.names, guard)).collect();
            writer.block(format_args!("if {}", holding.join(" && ")), |writer| {
                writer.line(format_args!("way{number} = {way}u;"));
            });
        }
        writer.line(format_args!("var read{number} = 0u;"));
        for (way, Case { take, .. }) in ways.iter().enumerate() {
            if let Take::Read { at, .. } = take {
                writer.block(format_args!("if way{number} == {way}u"), |writer| {
                    let read = self.at_first(at);
                    writer.line(format_args!("read{number} = {};", self.names.form(&read)));
                });
            }
        }
    }

    /// Writes an access that a source has.
    fn copy(&self, writer: &mut Writer, of: usize) {
        let Self { rows, number, piece, .. } = *self;
        let (units, name) = (rows.units, source_name(&rows.nest, of));
        let steps = if units == 1 { "at".to_owned() } else { format!("at * {units}u") };
        let read = match piece.first {
            0 => format!("read{number} + {steps}"),
            first => format!("read{number} + {steps} - {first}u"),
        };
        if rows.are_aligned(piece) {
            let place = match units {
                1 => read,
                _ => format!("({read}) / {units}u"),
            };
            return writer.line(format_args!("destination[write + at] = {name}[{place}];"));
        }
        writer.line(format_args!("let read = {read};"));
        let last = rows.nest.sources()[of].bytes() * 8 / ACCESS_BITS - 1;
        writer.line(format_args!("let low = {name}[read / {units}u];"));
        writer.line(format_args!("let high = {name}[min(read / {units}u + 1u, {last}u)];"));
        writer.line(format_args!("destination[write + at] = joined(low, high, read % {units}u);"));
    }

    /// Writes an access that reads nothing; which bits, where several ways have some.
    fn fill(&self, writer: &mut Writer) {
        let bits = self.rows.nest.dst_bits();
        let of = |take: &Take| match take {
            Take::Bits(fill) => Some(repeated(*fill, bits, ACCESS_BITS)),
            Take::Read { .. } => None,
        };
        let fills = self.piece.ways.iter().enumerate();
        let fills: Vec<(usize, u128)> =
            fills.filter_map(|(way, case)| Some((way, of(&case.take)?))).collect();
        let Some(((_, last), others)) = fills.split_last() else { return };
        let mut value = literal(ACCESS_BITS, *last);
        for (way, fill) in others.iter().filter(|fill| fill.1 != *last) {
            let literal = literal(ACCESS_BITS, *fill);
            value = format!("select({value}, {literal}, way{} == {way}u)", self.number);
        }
        let remark = filling(*last);
        writer.noted(format_args!("destination[write + at] = {value};"), format_args!("{remark}"));
    }
}
