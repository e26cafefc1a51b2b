//! Draws memory in SVG, as lines of cells in order of address.

use maud::html;

use super::scene::{CELL, LINE, SvgPart, cell, cell_width, stroke, text_width};
use crate::{
    explain::{
        colour::Colour,
        strip::{PlaceContent, byte, strip},
    },
    stride::StrideDescriptor,
};

/// The number of lines up to which all of memory is drawn. If memory takes more lines, a few of
/// them are selected.
const MAX_LINES: usize = 8;

/// Draws memory in lines of at most `width` pixels. Cells whose offsets are in `followed` are
/// outlined, because another part of the picture shows how their elements move.
pub(super) fn draw(descriptor: &StrideDescriptor, followed: &[u64], width: usize) -> SvgPart {
    let places = descriptor.physical_elements();
    let margin = text_width(places.to_string().len()) + 8;
    let index: usize =
        descriptor.sizes().iter().map(|size| size.saturating_sub(1).to_string().len() + 1).sum();
    let wide = cell_width(index.saturating_sub(1));
    let note = if places > 64 { text_width(12) } else { 0 };
    let lines = strip(descriptor, width.saturating_sub(margin + note) / wide, MAX_LINES);
    let byte = byte(descriptor);
    let caption = match byte {
        1 => "Memory: each place with the index that it holds".to_owned(),
        _ => format!("Memory: each place with the index that it holds, {byte} to a byte"),
    };
    let mut y = LINE + 4;
    let mut drawn = vec![];
    let mut right = 0;
    for line in &lines {
        if line.hidden > 0 {
            drawn.push(html! {
                text.e.m x=(margin - 6) y=(y + 13) { "⋮" }
                text.m x=(margin + 2) y=(y + 13) { (line.hidden) " more" }
            });
            y += LINE;
        }
        let x = |number: usize| margin + number * wide;
        let end = x(line.places.len());
        right = right.max(end);
        drawn.push(html! {
            text.e.m x=(margin - 6) y=(y + 16) { (line.start) }
            @for ((number, holds), place) in line.places.iter().enumerate().zip(line.start..) {
                @let colour = (*holds != PlaceContent::Padding).then(|| Colour::of(place, places));
                (cell([x(number), y], wide, &holds.label(), colour, &format!("offset {place}")))
            }
            @if byte > 1 {
                @for (number, place) in (0..=line.places.len()).zip(line.start..) {
                    @if place % byte == 0 {
                        (stroke(2, [x(number), y + 1], [x(number), y + CELL - 1]))
                    }
                }
            }
            @for ((number, _), place) in line.places.iter().enumerate().zip(line.start..) {
                @if followed.contains(&place) {
                    rect.f x=(x(number) + 1) y=(y + 1) width=(wide - 2) height=(CELL - 2) rx="2" {}
                }
            }
            text.m x=(end + 8) y=(y + 16) { (line.note) }
        });
        y += CELL + 2;
    }
    if lines.is_empty() {
        drawn.push(
            html! { text.m x="0" y=(y + 13) { "The array has no elements and takes no memory." } },
        );
        y += LINE;
    }
    let markup = html! {
        text.s.h x="0" y="13" { (caption) }
        @for line in drawn { (line) }
    };
    SvgPart { markup, width: (right + note).max(text_width(caption.len())), height: y }
}
