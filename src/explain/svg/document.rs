//! Draws documents that show a single layout, or both sides of an operation and the elements that
//! move between them.

use maud::{Markup, html};

use super::{
    grid, moves,
    scene::{LINE, SvgPart, cell_width, column, flow, offsets_key, paragraph, style, text_width},
    strip,
};
use crate::explain::{
    Picture, Side,
    grid::{Grid, common_dimensions, dimensions, grids},
    movement,
    paint::Paint,
    sentences::Sentences,
};

/// The width of the picture of a single layout, in pixels.
pub(super) const WIDTH: usize = 760;
/// The width of each side of an operation, in pixels.
const SIDE: usize = 500;
/// The margin around a document and the distance between its parts, in pixels.
pub(super) const GAP: usize = 20;
/// The maximum number of rows that are drawn of one grid.
pub(super) const MAX_ROWS: usize = 16;

/// Draws a picture as an SVG document. The two layouts of an operation are drawn side by side.
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
    let PictureParts { sides, moves } = drawn(picture, true);
    let mut parts = vec![flow(sides, 2 * SIDE + 4 * GAP + 200, 2 * GAP)];
    parts.extend(moves);
    document(column(parts, GAP), picture.title, true).into_string()
}

/// Draws a picture as several SVG documents, which a page can arrange as it likes. Returns a
/// document for each side, and another one with the elements that move, if there are any.
///
/// Only the first document contains the style sheet for all documents. The notations are left out,
/// because the page has them in its heading.
pub(in crate::explain) fn documents(picture: &Picture<'_>) -> (Vec<Markup>, Option<Markup>) {
    let PictureParts { sides, moves } = drawn(picture, false);
    let names =
        [picture.layout.notation, picture.movement.map_or("", |to| to.destination.notation)];
    let sides = sides.into_iter().zip(names).enumerate();
    let sides = sides.map(|(number, (side, name))| document(side, name, number == 0)).collect();
    (sides, moves.map(|moves| document(moves, picture.title, false)))
}

/// The parts of a picture, before they are arranged.
struct PictureParts {
    /// The only layout, or the source and the destination.
    sides: Vec<SvgPart>,
    /// The elements that move, if there are any.
    moves: Option<SvgPart>,
}

/// Draws the parts of a picture. Each side has its notation as a title if `titled` is true.
fn drawn(picture: &Picture<'_>, titled: bool) -> PictureParts {
    let Some(movement) = &picture.movement else {
        return PictureParts {
            sides: vec![side(picture.layout, None, &[], WIDTH, titled.then_some(""))],
            moves: None,
        };
    };
    let (source, destination) = (picture.layout.descriptor, movement.destination.descriptor);
    let run = movement::followed(source, movement);
    let common = common_dimensions(source, destination);
    let [written, read]: [Vec<u64>; 2] =
        [run.iter().map(|moved| moved.0).collect(), run.iter().map(|moved| moved.1).collect()];
    let sides = vec![
        side(picture.layout, common, &read, SIDE, titled.then_some("From ")),
        side(movement.destination, common, &written, SIDE, titled.then_some("To ")),
    ];
    let all = run.len() as u64 == destination.elements();
    let moves = (!run.is_empty()).then(|| moves::draw([source, destination], &run, all, 2 * SIDE));
    PictureParts { sides, moves }
}

/// Creates an SVG document from one part. Includes the style sheet if `styled` is true.
pub(super) fn document(part: SvgPart, title: &str, styled: bool) -> Markup {
    let SvgPart { markup, width, height } = part;
    let (width, height) = (width + 2 * GAP, height + 2 * GAP);
    html! {
        svg.stridec xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(title) {
            @if styled { (style()) }
            rect.g width=(width) height=(height) rx="6" {}
            g transform=(format!("translate({GAP} {GAP})")) { (markup) }
        }
    }
}

/// Draws everything about one layout: its notation after the words of `title` if there is a title,
/// its description, the array, the memory and the digits.
fn side(
    side: Side<'_>,
    common: Option<[usize; 2]>,
    followed: &[u64],
    width: usize,
    title: Option<&str>,
) -> SvgPart {
    let descriptor = side.descriptor;
    let words = Sentences::of(descriptor);
    let mut parts = vec![];
    if let Some(title) = title {
        parts.push(SvgPart {
            markup: html! { text.t x="0" y="15" { (title) (side.notation) } },
            width: (title.len() + side.notation.chars().count()) * 92 / 10,
            height: LINE + 2,
        });
    }
    let mut sentences = vec![format!("{}.", words.size)];
    sentences.extend(words.tiles.iter().cloned());
    let said = sentences.iter().map(|sentence| paragraph(sentence, width, "s")).collect();
    parts.push(column(said, 2));

    let cell = cell_width(descriptor.physical_elements().saturating_sub(1).to_string().len());
    let columns = width.saturating_sub(90) / cell;
    let grids =
        grids(descriptor, &dimensions(descriptor, common), [MAX_ROWS, columns], Paint::Places);
    let drawn = grids.iter().map(|grid| grid::draw(grid, followed)).collect();
    let array = flow(drawn, width + 60, GAP);
    let memory = strip::draw(descriptor, followed, width);
    // Parts that are coloured by their offset in the whole memory share one key. A grid with its
    // own colour scale has its own key.
    let whole = (descriptor.elements() > 0)
        .then(|| offsets_key([0, descriptor.physical_elements() - 1], words.padding.is_some()));
    if grids.iter().any(Grid::is_coloured_by_all) {
        parts.extend(whole.into_iter().chain([array, memory]));
    } else {
        parts.extend([array].into_iter().chain(whole).chain([memory]));
    }
    parts.push(digits(&words));
    let last: Vec<SvgPart> = words
        .example
        .iter()
        .chain(&words.padding)
        .map(|sentence| paragraph(sentence, width, "s"))
        .collect();
    parts.push(column(last, 2));
    column(parts, GAP - 4)
}

/// Writes the table of the parts into which tiles split an index as lines of text.
fn digits(words: &Sentences) -> SvgPart {
    let name = words.digits.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(5);
    let columns = [text_width(name + 13), text_width(name + 27)];
    let mut y = LINE;
    let markup = html! {
        text.s.h x="0" y="13" { "Digits of an index, major to minor" }
        @for row in &words.digits {
            ({ y += LINE; "" })
            text x="0" y=(y - 5) { (row.name) }
            text.e x=(columns[0]) y=(y - 5) { (row.places) " values" }
            text.e x=(columns[1]) y=(y - 5) { "stride " (row.stride) }
            @if row.values < row.places {
                text.m x=(columns[1] + 14) y=(y - 5) { (row.values) " of them in elements" }
            }
        }
    };
    SvgPart { markup, width: text_width(name + 53), height: y }
}
