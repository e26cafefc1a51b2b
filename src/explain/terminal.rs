//! Draws pictures as text with ANSI colours, for a terminal.

use std::fmt::Write as _;

use super::{
    Picture, Side,
    colour::Colour,
    grid::{Cell, Dimensions, Grid, common_dimensions, dimensions, grids},
    movement,
    paint::Paint,
    sentences::Sentences,
    shown::Item,
    strip::{MemoryLine, PlaceContent, byte, strip},
};
use crate::stride::StrideDescriptor;

/// The maximum number of rows that are drawn of one grid. Rows in the middle of a taller grid are
/// left out.
pub(super) const MAX_ROWS: usize = 16;
/// The number of lines up to which all of memory is drawn. If memory takes more lines, [`strip`]
/// selects a few of them.
const MAX_LINES: usize = 8;

/// Draws a picture for a terminal of `width` columns (at least 40). A writer such as `anstream` may
/// strip the ANSI colours, because colours never carry information that is not also in the text.
///
/// ```
/// use stridec::{explain::{Picture, Side, terminal}, stride::StrideDescriptor};
/// let notation = "f32[2,2]{0,1}";
/// let shape: stridec::shape::Shape = notation.parse()?;
/// let descriptor = StrideDescriptor::try_from(&shape)?;
/// let text = terminal(&Picture::layout(Side { notation, descriptor: &descriptor }), 80);
/// assert!(text.contains("The last element, (1,1), lies at 1·2 + 1·1 = 3."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn terminal(picture: &Picture<'_>, width: usize) -> String {
    let width = width.max(40);
    let mut text = String::new();
    let Some(movement) = &picture.movement else {
        let descriptor = picture.layout.descriptor;
        side(&mut text, picture.layout, &dimensions(descriptor, None), width);
        return text;
    };
    let destination = movement.destination;
    let common = common_dimensions(picture.layout.descriptor, destination.descriptor);
    for (name, of) in [("FROM", picture.layout), ("TO", destination)] {
        let _ = writeln!(text, "{name}");
        side(&mut text, of, &dimensions(of.descriptor, common), width);
        text.push('\n');
    }
    let run = movement::followed(picture.layout.descriptor, movement);
    if !run.is_empty() {
        let all = run.len() as u64 == destination.descriptor.elements();
        let first = if all { String::new() } else { format!("the first {}, ", run.len()) };
        let _ = writeln!(text, "MOVES, {first}in the order that they are written");
        for (to, from) in run {
            let label = |descriptor, place| PlaceContent::at(descriptor, place).label();
            let _ = writeln!(
                text,
                "  place {from} ({}) goes to {to} ({})",
                label(picture.layout.descriptor, from),
                label(destination.descriptor, to)
            );
        }
    }
    text
}

fn side(text: &mut String, side: Side<'_>, dimensions: &Dimensions, width: usize) {
    let descriptor = side.descriptor;
    let words = Sentences::of(descriptor);
    wrapped(text, side.notation, width);
    wrapped(text, &format!("{}.", words.size), width);
    for sentence in &words.tiles {
        wrapped(text, sentence, width);
    }
    // A cell takes the width of the largest offset, a blank and a vertical line. Each row begins
    // with its index.
    let cell = digits(descriptor.physical_elements().saturating_sub(1)).max(3);
    let label = digits(descriptor.extents().iter().copied().max().unwrap_or(0)) + 6;
    let columns = width.saturating_sub(label) / (cell + 2);
    for grid in grids(descriptor, dimensions, [MAX_ROWS, columns], Paint::Places) {
        text.push('\n');
        heading(text, &grid);
        draw(text, &grid, cell.max(grid.label_width()));
    }
    memory(text, descriptor, width);
    text.push('\n');
    table(text, &words);
    for sentence in words.example.iter().chain(&words.padding) {
        wrapped(text, sentence, width);
    }
}

pub(super) fn heading(text: &mut String, grid: &Grid<'_>) {
    let along = match (grid.name(0), grid.name(1)) {
        (Some(down), Some(across)) => format!("{down} down, {across} across"),
        (None, Some(across)) => format!("{across} across"),
        _ => "one element".into(),
    };
    let _ = writeln!(text, "{} ({along})", grid.caption);
}

/// Draws a grid of cells, each `width` characters wide. Heavy lines surround the boxes of the first
/// level of tiles, and light lines the smaller boxes inside them.
pub(super) fn draw(text: &mut String, grid: &Grid<'_>, width: usize) {
    let margin = grid.items[0]
        .iter()
        .map(|item| match item {
            Item::At(row) => grid.tick(0, *row).len(),
            Item::Gap(hidden) => more(*hidden).chars().count(),
        })
        .max()
        .unwrap_or(0);
    let frame = if grid.is_tiled() { 2 } else { 1 };
    let across = lines(grid, 1, frame);
    let down = lines(grid, 0, frame);
    // Write the labels of columns. Where columns are left out, the label is their number.
    let cells = |side: usize| grid.items[side].iter();
    let _ = write!(text, "{:margin$} ", "");
    for (item, &line) in cells(1).zip(&across) {
        if line > 0 || !grid.is_tiled() {
            text.push(' ');
        }
        let _ = match item {
            Item::At(column) => write!(text, "{:>width$} ", grid.tick(1, *column)),
            Item::Gap(hidden) => write!(text, "{:>width$} ", more(*hidden)),
        };
    }
    trim(text);
    for (row, &line) in cells(0).map(Some).chain([None]).zip(&down) {
        if line > 0 {
            let _ = write!(text, "{:margin$} ", "");
            let last = across.len() - 1;
            let body = row != Some(&cells(0).as_slice()[0]);
            for (column, &vertical) in across.iter().enumerate() {
                if vertical > 0 || !grid.is_tiled() {
                    let up = if body { vertical } else { 0 };
                    let below = if row.is_some() { vertical } else { 0 };
                    let (left, right) =
                        (if column > 0 { line } else { 0 }, if column < last { line } else { 0 });
                    text.push(joint(up, right, below, left));
                }
                if column < last {
                    let dash = joint(0, line, 0, line).to_string();
                    text.push_str(&dash.repeat(width + 1));
                }
            }
            text.push('\n');
        }
        let Some(row) = row else { continue };
        let label = match row {
            Item::At(row) => grid.tick(0, *row),
            Item::Gap(hidden) => more(*hidden),
        };
        let _ = write!(text, "{label:>margin$} ");
        for (item, &vertical) in cells(1).zip(&across) {
            if vertical > 0 || !grid.is_tiled() {
                text.push(joint(vertical, 0, vertical, 0));
            }
            match (row, item) {
                (Item::At(row), Item::At(column)) => {
                    content(text, grid, &grid.cell(*row, *column), width);
                }
                (Item::At(_), Item::Gap(_)) => {
                    let _ = write!(text, "{:>width$} ", "⋯");
                }
                (Item::Gap(_), _) => {
                    let _ = write!(text, "{:>width$} ", "⋮");
                }
            }
        }
        text.push(joint(frame, 0, frame, 0));
        text.push('\n');
    }
}

fn content(text: &mut String, grid: &Grid<'_>, cell: &Cell, width: usize) {
    if cell.element {
        let style = grid.colour(cell).terminal();
        let _ = write!(text, "{style}{:>width$} {style:#}", grid.label(cell));
    } else {
        let style = anstyle::Style::new().dimmed();
        let _ = write!(text, "{style}{:>width$}{style:#} ", "·");
    }
}

/// Returns the weights of the grid lines between the rows (`side` 0) or columns (`side` 1) that are
/// drawn: 0 for no line, 1 for a light line and 2 for a heavy line. The first and the last line
/// belong to the frame around the grid and have the weight `frame`.
fn lines(grid: &Grid<'_>, side: usize, frame: u8) -> Vec<u8> {
    let mut lines: Vec<u8> = grid.items[side]
        .iter()
        .map(|item| match item {
            Item::At(at) => grid.line(side, *at),
            Item::Gap(_) => 0,
        })
        .collect();
    lines[0] = frame;
    lines.push(frame);
    lines
}

/// Returns the box-drawing character whose four arms have the given weights: 0 for none, 1 for
/// light and 2 for heavy.
fn joint(up: u8, right: u8, down: u8, left: u8) -> char {
    const JOINTS: &str =
        " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋";
    let number = [up, right, down, left].into_iter().fold(0, |sum, arm| sum * 3 + usize::from(arm));
    JOINTS.chars().nth(number).unwrap_or(' ')
}

/// Draws memory line by line. Each line begins with an offset, and lists the indices of the
/// elements that are stored from there on.
fn memory(text: &mut String, descriptor: &StrideDescriptor, width: usize) {
    let places = descriptor.physical_elements();
    if places == 0 {
        text.push_str("\nThe array has no elements and takes no memory.\n");
        return;
    }
    let label = digits(places - 1);
    let index: usize =
        descriptor.sizes().iter().map(|size| digits(size.saturating_sub(1)) + 1).sum();
    let cell = index.max(2);
    let note = if places > 64 { 16 } else { 0 };
    let mut lines = strip(descriptor, (width - label - 2 - note) / cell, MAX_LINES);
    let byte = byte(descriptor);
    text.push_str(if byte > 1 {
        "\nMemory, each place its index, bytes between bars\n"
    } else {
        "\nMemory, each place its index\n"
    });
    for MemoryLine { start, places: held, note, hidden } in &mut lines {
        if *hidden > 0 {
            let _ = writeln!(text, "{:>label$} {}", "⋮", more(*hidden));
        }
        let _ = write!(text, "{start:>label$} ");
        for (place, holds) in (*start..).zip(held) {
            let bar = if byte > 1 && place % byte == 0 { "│" } else { " " };
            let (style, dim) =
                (Colour::of(place, places).terminal(), anstyle::Style::new().dimmed());
            let style = if *holds == PlaceContent::Padding { dim } else { style };
            let _ = write!(text, "{bar}{style}{:>1$}{style:#}", holds.label(), cell - 1);
        }
        if !note.is_empty() {
            let _ = write!(text, "  {note}");
        }
        text.push('\n');
    }
}

/// Writes a table of the parts into which tiles split an index, such as `d0/8` and `d0%8`, each
/// with its number of values and its stride. The most major part comes first.
fn table(text: &mut String, words: &Sentences) {
    if words.digits.is_empty() {
        return;
    }
    let name = words.digits.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(5);
    let _ = writeln!(text, "{:name$}  {:>8}  {:>10}", "digit", "values", "stride");
    for row in &words.digits {
        let _ = write!(text, "{:name$}  {:>8}  {:>10}", row.name, row.places, row.stride);
        if row.values < row.places {
            let _ = write!(text, "  {} of them in elements", row.values);
        }
        text.push('\n');
    }
}

/// Returns the label for a number of rows, columns or places that are left out, such as `+1022`.
fn more(hidden: u64) -> String {
    format!("+{hidden}")
}

fn digits(n: u64) -> usize {
    n.to_string().len()
}

fn trim(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.push('\n');
}

/// Writes a paragraph in lines of at most `width` characters, broken at blanks.
pub(super) fn wrapped(text: &mut String, paragraph: &str, width: usize) {
    let mut column = 0;
    for word in paragraph.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
