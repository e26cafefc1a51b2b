//! Draws elements that move, in the memory of the source and of the destination, with a curve from
//! the one to the other.

use maud::{Markup, html};

use super::scene::{CELL, LINE, SvgPart, cell, cell_width, text_width};
use crate::{
    explain::{colour::Colour, movement::Move, strip::PlaceContent},
    stride::StrideDescriptor,
};

/// The distance between the two memories, in pixels.
const BETWEEN: usize = 90;

/// Draws each element of `run` in both memories, in address order, and a curve from the source to
/// the destination. `all` is true if these are all elements that move.
pub(super) fn draw(
    [source, destination]: [&StrideDescriptor; 2],
    run: &[Move],
    all: bool,
    width: usize,
) -> SvgPart {
    let colour = |number: usize| Colour::of(number as u64, run.len() as u64);
    let numbered = run.iter().enumerate();
    let from = numbered.clone().map(|(number, moved)| (moved.1, colour(number)));
    let to = numbered.map(|(number, moved)| (moved.0, colour(number)));
    let from = row(source, from.collect(), width);
    let to = row(destination, to.collect(), width);
    let caption = match (all, run.len()) {
        (true, 1) => "The element that is written, and where it comes from".to_owned(),
        (true, count) => format!("The {count} elements that are written, and where they come from"),
        (false, count) => {
            format!(
                "The first {count} elements that are written, outlined above, and where they come from"
            )
        }
    };
    let top = 2 * LINE + 8;
    let below = top + CELL + BETWEEN;
    let curves = run.iter().filter_map(|&(to_place, from_place)| {
        let (x1, x2) = (from.centre(from_place)?, to.centre(to_place)?);
        let (y1, y2) = (top + CELL, below);
        let middle = y1.midpoint(y2);
        Some(format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}"))
    });
    let markup = html! {
        text.s.h x="0" y="13" { (caption) }
        g transform=(format!("translate(0 {top})")) { (from.markup) }
        @for path in curves { path.v d=(path) {} }
        g transform=(format!("translate(0 {below})")) { (to.markup) }
        @for (row, y, above) in [(&from, top, true), (&to, below, false)] {
            @for &(place, x) in &row.places {
                text.c.m x=(x + row.wide / 2) y=(if above { y - 6 } else { y + CELL + 14 }) { (place) }
            }
            text.s.m x=(row.end + 8) y=(y + 16) { (if above { "source" } else { "destination" }) }
        }
    };
    let width = (from.end.max(to.end) + 96).max(text_width(caption.chars().count()));
    SvgPart { markup, width, height: below + CELL + LINE }
}

struct MemoryRow {
    markup: Markup,
    /// The offset of each cell that is drawn, with the start of the cell in pixels.
    places: Vec<(u64, usize)>,
    wide: usize,
    end: usize,
}

impl MemoryRow {
    fn centre(&self, place: u64) -> Option<usize> {
        let found = self.places.iter().find(|(drawn, _)| *drawn == place);
        found.map(|(_, x)| x + self.wide / 2)
    }
}

/// Draws the cells at the offsets in `coloured`, in address order, with gaps between cells that are
/// not neighbours in memory.
fn row(descriptor: &StrideDescriptor, mut coloured: Vec<(u64, Colour)>, width: usize) -> MemoryRow {
    coloured.sort_by_key(|&(place, _)| place);
    coloured.dedup_by_key(|&mut (place, _)| place);
    let places: Vec<u64> = coloured.iter().map(|&(place, _)| place).collect();
    let holds: Vec<PlaceContent> =
        places.iter().map(|&place| PlaceContent::at(descriptor, place)).collect();
    let longest = holds.iter().map(|holds| holds.label().len()).max().unwrap_or(1);
    let digits = places.last().map_or(1, |last| last.to_string().len());
    let wide = cell_width(longest.max(digits));
    let hidden: Vec<u64> = places.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
    let gaps = hidden.iter().filter(|&&hidden| hidden > 0).count().max(1);
    let room = width.saturating_sub(96 + places.len() * wide) / gaps;
    let gap = room.clamp(12, 72);
    let mut x = 0;
    let mut drawn = vec![];
    let mut markup = vec![];
    for (number, (&(place, colour), holds)) in coloured.iter().zip(&holds).enumerate() {
        if let Some(&hidden) = number.checked_sub(1).and_then(|before| hidden.get(before))
            && hidden > 0
        {
            let text = format!("+{hidden}");
            let text = if text_width(text.len()) + 6 > gap { "⋯".to_owned() } else { text };
            markup.push(html! { text.c.m x=(x + gap / 2) y="16" { (text) } });
            x += gap;
        }
        markup.push(cell([x, 0], wide, &holds.label(), Some(colour), &format!("offset {place}")));
        drawn.push((place, x));
        x += wide;
    }
    MemoryRow { markup: html! { @for cell in markup { (cell) } }, places: drawn, wide, end: x }
}
