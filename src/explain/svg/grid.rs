//! Draws an array as grids of cells in SVG, one cell for each index.

use std::fmt::Write as _;

use maud::html;

use super::scene::{
    CELL, LINE, SvgPart, cell_width, ground, offsets_key, stroke, text, text_width,
};
use crate::explain::{grid::Grid, paint::Paint, shown::Item};

/// The maximum number of cells in a grid that shows the order of memory by short lines.
const MAX_PATH: usize = 400;
/// The maximum length by which a line that shows the order of memory extends into a cell, in
/// pixels.
const MAX_HALF: usize = 4;

/// Draws a grid. Cells whose offsets are in `followed` are outlined, because another part of the
/// picture shows how their elements move.
pub(super) fn draw(grid: &Grid<'_>, followed: &[u64]) -> SvgPart {
    let width = widest(grid);
    let [rows, columns] = &grid.items;
    let across = grid.name(1).map_or(String::new(), |name| format!("{name} →"));
    let down = grid.name(0).map_or(String::new(), |name| format!("{name} ↓"));
    let ticks = rows.iter().map(|item| label(grid, 0, *item).len()).max().unwrap_or(0);
    let margin = text_width(ticks.max(down.chars().count())) + 8;
    let key = (!grid.is_coloured_by_all()).then(|| offsets_key(grid.range, grid.has_padding()));
    let head = if key.is_some() { 2 * LINE + 4 } else { LINE };
    let top = head + LINE + 4;
    let at = |row: usize, column: usize| [margin + column * width, top + row * CELL];
    let (bottom, right) = (top + rows.len() * CELL, margin + columns.len() * width);
    let frame = if grid.is_tiled() { 2 } else { 1 };
    let lines = |side: usize| -> Vec<(usize, u8)> {
        let items = grid.items[side].iter().enumerate().skip(1);
        items
            .filter_map(|(number, item)| match item {
                Item::At(at) => Some((number, grid.line(side, *at))).filter(|line| line.1 > 0),
                Item::Gap(_) => None,
            })
            .collect()
    };
    let (mut grounds, mut texts) = (vec![], vec![]);
    let mut centres = vec![];
    for (r, row) in rows.iter().enumerate() {
        for (c, column) in columns.iter().enumerate() {
            let place = at(r, c);
            match (row, column) {
                (Item::At(row), Item::At(column)) => {
                    let held = grid.cell(*row, *column);
                    let (label, colour) = if held.element {
                        centres.push((held.place, [r, c]));
                        (grid.label(&held), Some(grid.colour(&held)))
                    } else {
                        ("·".into(), None)
                    };
                    grounds.push(ground(place, width, colour, &grid.title(&held)));
                    texts.push(text(place, width, &label, colour));
                }
                (Item::Gap(_), Item::At(_)) => texts.push(html! {
                    text.c.m x=(place[0] + width / 2) y=(place[1] + 16) { "⋮" }
                }),
                (_, Item::Gap(_)) => texts.push(html! {
                    text.c.m x=(place[0] + width / 2) y=(place[1] + 16) { "⋯" }
                }),
            }
        }
    }
    let marked: Vec<[usize; 2]> = centres
        .iter()
        .filter(|(place, _)| followed.contains(place) && grid.is_by_element())
        .map(|&(_, [row, column])| at(row, column))
        .collect();
    let order = match grid.paint {
        Paint::Places => path(&mut centres, at, width),
        Paint::Sources(_) => String::new(),
    };
    let markup = html! {
        text.s.h x="0" y="13" { (grid.caption) }
        @if let Some(key) = &key { g transform=(format!("translate(0 {})", LINE + 2)) { (key.markup) } }
        text.m.e x=(margin - 6) y=(head + 16) { (down) }
        @for (c, item) in columns.iter().enumerate() {
            text.c.m x=(margin + c * width + width / 2) y=(head + 16) { (label(grid, 1, *item)) }
        }
        text.m x=(right + 6) y=(head + 16) { (across) }
        @for (r, item) in rows.iter().enumerate() {
            text.e.m x=(margin - 6) y=(top + r * CELL + 16) { (label(grid, 0, *item)) }
        }
        @for ground in &grounds { (ground) }
        @if !order.is_empty() {
            path.z d=(order) {}
            path.y d=(order) {}
        }
        @for text in &texts { (text) }
        @for (c, strength) in lines(1) { (stroke(strength, [margin + c * width, top], [margin + c * width, bottom])) }
        @for (r, strength) in lines(0) { (stroke(strength, [margin, top + r * CELL], [right, top + r * CELL])) }
        path.(if frame > 1 { "o" } else { "i" }) d=(format!("M{margin} {top}H{right}V{bottom}H{margin}Z")) {}
        @for [x, y] in &marked {
            rect.f x=(x + 1) y=(y + 1) width=(width - 2) height=(CELL - 2) rx="2" {}
        }
    };
    let tail = if across.is_empty() { 0 } else { text_width(across.chars().count()) + 8 };
    let caption = text_width(grid.caption.chars().count());
    let key = key.map_or(0, |key| key.width);
    SvgPart { markup, width: (right + tail).max(caption).max(key), height: bottom + 2 }
}

/// Returns the width of all cells in the grid, in pixels: enough for the longest label or tick.
fn widest(grid: &Grid<'_>) -> usize {
    let ticks = grid.items[1].iter().map(|item| label(grid, 1, *item).len()).max().unwrap_or(0);
    cell_width(ticks.max(grid.label_width()))
}

fn label(grid: &Grid<'_>, side: usize, item: Item) -> String {
    match item {
        Item::At(at) => grid.tick(side, at),
        Item::Gap(hidden) => format!("+{hidden}"),
    }
}

/// Draws a short line between two cells that are neighbours both in the drawing and in memory, so
/// that the reader sees the order of memory.
fn path(
    centres: &mut [(u64, [usize; 2])],
    at: impl Fn(usize, usize) -> [usize; 2],
    width: usize,
) -> String {
    let mut path = String::new();
    if centres.len() > MAX_PATH {
        return path;
    }
    centres.sort_unstable();
    for pair in centres.windows(2) {
        let [(before, [r0, c0]), (place, [r1, c1])] = [pair[0], pair[1]];
        if before + 1 != place || r0.abs_diff(r1) > 1 || c0.abs_diff(c1) > 1 {
            continue;
        }
        // Extend the line only a few pixels into each cell, so that no line crosses a number.
        let [[x0, y0], [x1, y1]] = [at(r0, c0), at(r1, c1)];
        let ends = |from: usize, to: usize, size: usize, most: usize| {
            let (middle, half) = (from.midpoint(to) + size / 2, (from.abs_diff(to) / 8).min(most));
            let (low, high) = (middle - half, middle + half);
            if from < to { [low, high] } else { [high, low] }
        };
        let ([x0, x1], [y0, y1]) = (ends(x0, x1, width, MAX_HALF), ends(y0, y1, CELL, MAX_HALF));
        let _ = write!(path, "M{x0} {y0}L{x1} {y1}");
    }
    path
}
