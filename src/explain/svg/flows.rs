//! Draws the number of bytes sent between devices: arrows from senders to receivers, and a matrix.

use std::fmt::Write as _;

use maud::html;

use super::scene::{CELL, LINE, SvgPart, cell_width, key, text_width};
use crate::explain::{
    colour::Colour,
    flows::{self, Flows},
};

/// The maximum number of groups for which the cells of the matrix contain text.
const MAX_CELLS: usize = 16;
/// The maximum number of arrows that are drawn.
const MAX_ARROWS: usize = 600;
/// The distance between senders and receivers, in pixels.
const BETWEEN: usize = 420;
/// The width of the widest arrow, in pixels.
const THICK: usize = 5;

/// Draws the senders on the left and the receivers on the right, with a curve for each pair that
/// exchanges bytes. If there would be more than [`MAX_ARROWS`] curves, the last senders get none.
pub(super) fn arrows(flows: &Flows) -> SvgPart {
    let groups = flows.groups();
    let high = if groups <= MAX_CELLS { CELL + 4 } else { LINE - 4 };
    let names: Vec<String> = (0..groups).map(|group| flows.name(group)).collect();
    let wide = names.iter().map(|name| text_width(name.chars().count())).max().unwrap_or(0) + 12;
    let top = 2 * LINE + 6;
    let most = flows.most().max(1);
    // Draw either all arrows of a sender or none.
    let mut shown = 0;
    let mut drawn = vec![];
    for group in 0..flows.groups_of(0) {
        let from: Vec<_> = flows.moved.range((group, 0)..(group + 1, 0)).collect();
        if group > 0 && drawn.len() + from.len() > MAX_ARROWS {
            break;
        }
        drawn.extend(from.into_iter().filter(|((from, to), _)| from != to));
        shown = group + 1;
    }
    // At each device, put the ends of the arrows side by side, in the order of their other ends.
    let mut leaving = vec![0; groups];
    let mut arriving = vec![0; groups];
    for ((from, to), _) in &drawn {
        leaving[*from] += 1;
        arriving[*to] += 1;
    }
    let end = |group: usize, number: usize, count: usize| {
        top + group * high + 3 + (high - 6) * (2 * number + 1) / (2 * count)
    };
    let (mut left, mut right) = (vec![0; groups], vec![0; groups]);
    let (x0, x1) = (wide, wide + BETWEEN);
    let mut under = vec![String::new(); THICK + 1];
    let mut curves = vec![];
    for &(&(from, to), &bytes) in &drawn {
        let y0 = end(from, left[from], leaving[from]);
        let y1 = end(to, right[to], arriving[to]);
        left[from] += 1;
        right[to] += 1;
        let middle = x0.midpoint(x1);
        let curve = format!("M{x0} {y0}C{middle} {y0} {middle} {y1} {} {y1}", x1 - 7);
        let thick = thickness(bytes, most, drawn.len());
        let _ = write!(under[thick], "{curve}");
        let title = format!("{} sends {} to {}", names[from], flows::bytes(bytes), names[to]);
        curves.push((from, to, curve, thick, title));
    }
    let node = |group: usize, x: usize| {
        let colour = Colour::of_device(group, groups);
        let y = top + group * high;
        html! {
            rect x=(x) y=(y + 1) width=(wide) height=(high - 2) rx="2" fill=(colour.hex()) data-device=(group) {
                title { (said(flows, group)) }
            }
            text.c.(if colour.takes_dark_text() { "k" } else { "w" }) x=(x + wide / 2) y=(y + high / 2 + 4) { (names[group]) }
        }
    };
    let note = if shown < flows.groups_of(0) {
        format!("The arrows of the first {shown} senders; the matrix has all.")
    } else {
        "The thicker an arrow, the more bytes; a dashed line is what a device has already."
            .to_owned()
    };
    let markup = html! {
        text.s.h x="0" y="13" { "Who sends to whom" }
        text.s.m x="0" y=(LINE + 13) { (note) }
        @for (thick, path) in under.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            path stroke-opacity=".35" d=(path) stroke-width=(thick + 2) {}
        }
        @for (group, kept) in flows.kept.iter().enumerate() {
            @if *kept > 0 {
                @let y = top + group * high + high / 2;
                path stroke-dasharray="4 3" d=(format!("M{x0} {y}H{x1}")) data-from=(group) data-to=(group) {
                    title { (flows.name(group)) " keeps " (flows::bytes(*kept)) }
                }
            }
        }
        @for (from, to, curve, thick, title) in &curves {
            path style=(format!("stroke:{}", Colour::of_device(*from, groups).hex())) d=(curve)
                stroke-width=(thick) data-from=(from) data-to=(to) { title { (title) } }
        }
        @for group in 0..groups {
            @if group < flows.groups_of(0) { (node(group, 0)) }
            @if group < flows.groups_of(1) { (node(group, x1)) }
            @if arriving[group] > 0 {
                @let y = top + group * high + high / 2;
                path style="fill:currentColor" d=(format!("M{} {}L{x1} {y}L{} {}Z", x1 - 8, y - 5, x1 - 8, y + 5)) {}
            }
        }
    };
    let width = (x1 + wide).max(text_width(note.chars().count()));
    SvgPart { markup, width, height: top + groups * high + 2 }
}

/// Returns the width of an arrow for `bytes` bytes, in pixels. The width is proportional, and an
/// arrow for `most` bytes is the widest. If `count`, the number of arrows, is large, all arrows are
/// thinner.
fn thickness(bytes: u128, most: u128, count: usize) -> usize {
    let thick = if count <= 64 { THICK } else { 2 };
    let share = bytes.saturating_mul(thick as u128) / most;
    usize::try_from(share).unwrap_or(thick).clamp(1, thick)
}

/// Describes the bytes that a group of devices sends, receives and keeps, for the reader who points
/// at it.
fn said(flows: &Flows, group: usize) -> String {
    let [sent, received, kept] =
        [&flows.sent, &flows.received, &flows.kept].map(|of| flows::bytes(of[group]));
    let of = if flows.is_by_device() { "device" } else { "devices" };
    format!("{of} {}: sends {sent}, receives {received}, keeps {kept}", flows.name(group))
}

/// Draws a matrix of the number of bytes that devices send: a row for each sender and a column for
/// each receiver.
pub(super) fn matrix(flows: &Flows) -> SvgPart {
    let [senders, receivers] = [flows.groups_of(0), flows.groups_of(1)];
    let with_text = flows.groups() <= MAX_CELLS;
    let all = flows.moved.values().chain(&flows.kept).chain(&flows.sent).chain(&flows.received);
    let longest = all.map(|&of| flows::bytes(of).len()).max().unwrap_or(0).max(4);
    let names: Vec<String> = (0..flows.groups()).map(|group| flows.name(group)).collect();
    let name = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let (wide, high) = if with_text { (cell_width(longest.max(name)), CELL) } else { (9, 9) };
    let left = text_width(name.max(8)) + 8;
    let head = 2 * LINE + 10;
    let top = head + LINE + 4;
    let most = flows.most();
    let at = |from: usize, to: usize| (left + to * wide, top + from * high);
    // If there are many devices, label only some of them with their numbers.
    let every = if with_text { 1 } else { 8 };
    let cell = |from: usize, to: usize| {
        let bytes = flows.moved.get(&(from, to)).copied().unwrap_or(0);
        let kept = if from == to { flows.kept[from] } else { 0 };
        let (x, y) = at(from, to);
        let colour = (bytes > 0).then(|| shade(bytes, most));
        let label = flows::bytes(if bytes > 0 { bytes } else { kept });
        let title = match (bytes, kept) {
            (0, kept) => format!("{} keeps {}", names[from], flows::bytes(kept)),
            _ => format!("{} to {}: {}", names[from], names[to], flows::bytes(bytes)),
        };
        let class = match colour {
            Some(colour) if colour.takes_dark_text() => "c k",
            Some(_) => "c w",
            None => "c m",
        };
        html! {
            @if bytes > 0 || kept > 0 {
                rect class=[colour.is_none().then_some("p")] x=(x + 1) y=(y + 1) width=(wide - 1) height=(high - 1)
                    fill=[colour.map(Colour::hex)] data-from=(from) data-to=(to) { title { (title) } }
                @if with_text { text class=(class) x=(x + wide / 2) y=(y + 16) { (label) } }
            }
        }
    };
    let (right, bottom) = at(senders, receivers);
    let key_of = (most > 0).then(|| {
        let hatched = flows.is_by_device() && flows.kept.iter().any(|&kept| kept > 0);
        key(["0B", &flows::bytes(most)], hatched.then_some("kept"))
    });
    let total = with_text && most > 0;
    let markup = html! {
        text.s.h x="0" y="13" { "Bytes from the devices of the rows to those of the columns" }
        @if let Some(key) = &key_of { g transform=(format!("translate(0 {})", LINE + 2)) { (key.markup) } }
        text.e.m x=(left - 6) y=(head + 16) { "from ↓" }
        @for to in (0..receivers).step_by(every) {
            text.c.m x=(left + to * wide + wide / 2) y=(head + 16) { (names[to]) }
        }
        text.m x=(right + 6) y=(head + 16) { @if total { "sent" } @else { "to →" } }
        @for from in (0..senders).step_by(every) {
            text.e.m x=(left - 6) y=(top + from * high + high / 2 + 4) { (names[from]) }
        }
        @for from in 0..senders { @for to in 0..receivers { (cell(from, to)) } }
        path.i d=(format!("M{left} {top}H{right}V{bottom}H{left}Z")) {}
        @if total {
            @for from in 0..senders {
                text.m x=(right + 6) y=(top + from * high + 16) { (flows::bytes(flows.sent[from])) }
            }
            text.e.m x=(left - 6) y=(bottom + 16) { "received" }
            @for to in 0..receivers {
                text.c.m x=(left + to * wide + wide / 2) y=(bottom + 16) { (flows::bytes(flows.received[to])) }
            }
        }
    };
    let tail = text_width(longest) + 12;
    let width = (right + tail).max(text_width(58)).max(key_of.map_or(0, |key| key.width));
    SvgPart { markup, width, height: bottom + if total { LINE + 6 } else { 2 } }
}

/// Returns the colour of the matrix cell for a number of bytes. `most` is the greatest number.
fn shade(bytes: u128, most: u128) -> Colour {
    let share = bytes.saturating_mul(1 << 10) / most.max(1);
    Colour::of(u64::try_from(share).unwrap_or(1 << 10), (1 << 10) + 1)
}
