use maud::html;

use super::{
    grid, moves,
    scene::{LINE, Part, cell_width, column, flow, key, paragraph, style, text_width},
    strip,
};
use crate::explain::{
    Picture, Side,
    grid::{common_dimensions, dimensions, grids},
    movement,
    words::Words,
};

/// Width of a picture of one layout, in pixels.
const WIDTH: usize = 760;
/// Width of each side of an operation.
const SIDE: usize = 500;
/// Pixels around a document, and between its parts.
const GAP: usize = 20;
/// The most rows of a grid.
const MAX_ROWS: usize = 16;
/// Elements of an operation that are followed.
const FOLLOWED: usize = 8;

/// Draws a picture as an SVG document, both layouts side by side for an operation.
///
/// ```
/// use stridec::{explain::{Picture, Side, svg}, stride::StrideDescriptor};
/// let notation = "f32[2,2]{0,1}";
/// let shape: stridec::shape::Shape = notation.parse()?;
/// let descriptor = StrideDescriptor::try_from(&shape)?;
/// let document = svg(&Picture::layout(Side { notation, descriptor: &descriptor }));
/// assert!(document.contains("xmlns=\"http://www.w3.org/2000/svg\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn svg(picture: &Picture<'_>) -> String {
    let mut parts = vec![];
    if let Some(movement) = &picture.movement {
        let destination = movement.destination;
        let run = movement::run(picture.layout.descriptor, movement, FOLLOWED);
        let common = common_dimensions(picture.layout.descriptor, destination.descriptor);
        let [written, read]: [Vec<u64>; 2] =
            [run.iter().map(|moved| moved.0).collect(), run.iter().map(|moved| moved.1).collect()];
        let sides = vec![
            side(picture.layout, common, &read, SIDE, "From"),
            side(destination, common, &written, SIDE, "To"),
        ];
        parts.push(flow(sides, 2 * SIDE + 4 * GAP + 200, 2 * GAP));
        if !run.is_empty() {
            let descriptors = [picture.layout.descriptor, destination.descriptor];
            parts.push(moves::draw(descriptors, &run, 2 * SIDE));
        }
    } else {
        parts.push(side(picture.layout, None, &[], WIDTH, ""));
    }
    let Part { markup, width, height } = column(parts, GAP);
    let (width, height) = (width + 2 * GAP, height + 2 * GAP);
    html! {
        svg.stridec xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(picture.title) {
            (style())
            rect.g width=(width) height=(height) rx="6" {}
            g transform=(format!("translate({GAP} {GAP})")) { (markup) }
        }
    }
    .into_string()
}

/// One layout: its notation, what it means, the array, the memory, and the digits.
fn side(
    side: Side<'_>,
    common: Option<[Option<usize>; 2]>,
    followed: &[u64],
    width: usize,
    name: &str,
) -> Part {
    let descriptor = side.descriptor;
    let words = Words::of(descriptor);
    let mut parts = vec![];
    let title = if name.is_empty() { String::new() } else { format!("{name} ") };
    parts.push(Part {
        markup: html! { text.t x="0" y="15" { (title) (side.notation) } },
        width: (title.len() + side.notation.chars().count()) * 92 / 10,
        height: LINE + 2,
    });
    let mut sentences = vec![format!("{}.", words.size)];
    sentences.extend(words.tiles.iter().cloned());
    let said = sentences.iter().map(|sentence| paragraph(sentence, width, "s")).collect();
    parts.push(column(said, 2));

    let cell = cell_width(descriptor.physical_elements().saturating_sub(1).to_string().len());
    let columns = width.saturating_sub(90) / cell;
    let dimensions = common.unwrap_or_else(|| dimensions(descriptor));
    let drawn = grids(descriptor, dimensions, [MAX_ROWS, columns])
        .iter()
        .map(|grid| {
            let caption = match grid.caption.as_str() {
                "" => "The array: each cell with its offset".to_owned(),
                caption if caption.starts_with('d') => format!("The array at {caption}"),
                caption => caption.to_owned(),
            };
            grid::draw(grid, followed, &caption)
        })
        .collect();
    if descriptor.elements() > 0 {
        parts.push(key());
    }
    parts.push(flow(drawn, width + 60, GAP));
    parts.push(strip::draw(descriptor, followed, width));
    parts.push(digits(&words));
    let last: Vec<Part> = words
        .example
        .iter()
        .chain(&words.padding)
        .map(|sentence| paragraph(sentence, width, "s"))
        .collect();
    parts.push(column(last, 2));
    column(parts, GAP - 4)
}

/// The table of digits, in lines of text.
fn digits(words: &Words) -> Part {
    let name = words.digits.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(5);
    let columns = [text_width(name + 13), text_width(name + 27)];
    let mut y = LINE;
    let markup = html! {
        text.s.h x="0" y="13" { "Digits of an index, major to minor" }
        @for row in &words.digits {
            ({ y += LINE; "" })
            text x="0" y=(y - 5) { (row.name) }
            text.e x=(columns[0]) y=(y - 5) { (row.places) " places" }
            text.e x=(columns[1]) y=(y - 5) { "stride " (row.stride) }
            @if row.values < row.places {
                text.m x=(columns[1] + 14) y=(y - 5) { (row.values) " of them hold elements" }
            }
        }
    };
    Part { markup, width: text_width(name + 53), height: y }
}
