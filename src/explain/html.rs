//! The page of a picture: the notation as its heading, an explorer of the arrays, the button that
//! runs the kernel, the kernel, and then both layouts in words and as drawings.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    Picture, Side,
    data::data,
    marks::marks,
    sentences::{Sentences, count},
    svg::documents,
};
use crate::nest::CopyNest;

/// A compiled operation, in the form that its page needs: the kernel as plain data, and the earlier
/// stages as text.
#[derive(Clone, Copy, Debug)]
pub struct Compiled<'a> {
    /// The shader that the page shows and runs. It is empty if there is nothing to dispatch.
    pub wgsl: &'a str,
    /// The name of the compute entry point.
    pub entry_point: &'a str,
    /// The number of invocations in a workgroup along x, y and z.
    pub workgroup_size: [u32; 3],
    /// The minimum size of the source, binding 0, and of the destination, binding 1, in bytes.
    pub binding_bytes: [u64; 2],
    /// The number of workgroups of each dispatch, in order.
    pub dispatches: &'a [[u32; 3]],
    /// The schedule, with the reason for choosing it, in one line.
    pub schedule: &'a str,
    /// All stages as text.
    pub stages: &'a str,
}

/// The scripts of the page, in an order in which later scripts may use earlier ones.
const SCRIPTS: [&str; 7] = [
    include_str!("page/layout.js"),
    include_str!("page/plane.js"),
    include_str!("page/view.js"),
    include_str!("page/convert.js"),
    include_str!("page/run.js"),
    include_str!("page/page.js"),
    include_str!("page/start.js"),
];

/// The content of a page, for embedding in a document that already contains the scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Content {
    /// The title, as plain text.
    pub title: String,
    /// The markup of the first part of the page, in which text from the picture is escaped.
    pub body: String,
    /// The JSON that the scripts read. It never contains `</script>`.
    pub data: String,
}

/// Writes a picture as a single self-contained page. The page loads nothing, and its content
/// security policy forbids loading.
///
/// If a kernel is given, a button runs it in the reader's browser and checks every word that it
/// writes against the strides and the window. If the page is opened with `#run`, the kernel runs
/// immediately.
///
/// ```
/// use stridec::{explain::{Picture, Side, html}, stride::StrideDescriptor};
/// let notation = "f32[2,2]{0,1}";
/// let shape: stridec::shape::Shape = notation.parse()?;
/// let descriptor = StrideDescriptor::try_from(&shape)?;
/// let page = html(&Picture::layout(Side { notation, descriptor: &descriptor }), None);
/// assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 100_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn html(picture: &Picture<'_>, compiled: Option<&Compiled<'_>>) -> String {
    document(&content(picture, compiled), &below(picture, compiled), &SCRIPTS)
}

/// Returns the part of the page of [`html()`] up to and including the button, for embedding in
/// another document. The script function `showLayouts` makes the content interactive.
#[must_use]
pub fn content(picture: &Picture<'_>, compiled: Option<&Compiled<'_>>) -> Content {
    let body = html! {
        h1 { code { (picture.title) } }
        (explorer(picture))
        @if compiled.is_some() { (run(picture)) }
    };
    Content {
        title: picture.title.to_owned(),
        body: body.into_string(),
        data: data(picture, compiled),
    }
}

/// Returns the part of the page of [`html()`] after [`content`]: the kernel, and both layouts in
/// words and as drawings, which need no script. The script function `markStrides` makes the markup
/// interactive.
#[must_use]
pub fn below(picture: &Picture<'_>, compiled: Option<&Compiled<'_>>) -> String {
    let below = html! {
        @if let Some(compiled) = compiled { (kernel(picture, compiled)) }
        (description(picture))
        h2 { "The drawing" }
        (drawing(picture))
        @if let Some(compiled) = compiled {
            details { summary { "Every stage as text" } pre tabindex="0" { (compiled.stages) } }
        }
    };
    below.into_string()
}

/// Writes a complete page from its content, the markup below the content, and the scripts.
pub(super) fn document(content: &Content, below: &str, scripts: &[&str]) -> String {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (content.title) " · stridec" }
                style { (PreEscaped(include_str!("page/page.css"))) }
            }
            body {
                main { (PreEscaped(&content.body)) (PreEscaped(below)) }
                script type="application/json" id="data" { (PreEscaped(&content.data)) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    }
    .into_string()
}

/// Writes a description of both layouts.
fn description(picture: &Picture<'_>) -> Markup {
    let layout = picture.layout;
    html! {
        h2 { "In words" }
        @if let Some(movement) = picture.movement {
            div.sides { (words(layout, "From")) (words(movement.destination, "To")) }
        } @else { (words(layout, "")) }
    }
}

/// Describes a layout under a heading with `name`, if it has one.
fn words(side: Side<'_>, name: &str) -> Markup {
    let words = Sentences::of(side.descriptor);
    let padded = words.digits.iter().any(|row| row.values < row.places);
    html! {
        section {
            @if !name.is_empty() { h3 { (name) } }
            p { (words.size) "." }
            @for sentence in &words.tiles { p { (sentence) } }
            @if !words.digits.is_empty() {
                p {
                    "The offset of an element is the sum of its digits, each times its stride. A digit is an index, such as d0, or a part of one that a tile cuts: the quotient d0/8 or the remainder d0%8."
                    @if padded { " Some digits have values that only padding has." }
                }
                table {
                    caption hidden { "Digits of an index, major to minor" }
                    tr {
                        th scope="col" { "digit" }
                        th scope="col" { "values" }
                        @if padded { th scope="col" { "in elements" } }
                        th scope="col" { "stride" }
                    }
                    @for row in &words.digits {
                        tr { td { (row.name) } td { (row.places) } @if padded { td { (row.values.min(row.places)) } } td { (row.stride) } }
                    }
                }
            }
            @for sentence in words.example.iter().chain(&words.padding) { p { (sentence) } }
        }
    }
}

/// Writes the picture as several SVG documents, each in a frame that scrolls. Together, they show
/// the same as the single document of [`svg`](super::svg()).
fn drawing(picture: &Picture<'_>) -> Markup {
    let (sides, moves) = documents(picture);
    html! {
        p.lead { "The same picture as " code { "stridec explain --svg" } " draws; it needs no script." }
        div.sides { @for side in sides { (frame(&side, "layout")) } }
        @if let Some(moves) = moves { (frame(&moves, "elements that move")) }
    }
}

/// Writes an SVG document in a frame that scrolls. `name` describes the frame to screen readers.
pub(super) fn frame(document: &Markup, name: &str) -> Markup {
    html! { div.scroll tabindex="0" role="group" aria-label=(name) { (document) } }
}

fn explorer(picture: &Picture<'_>) -> Markup {
    if picture.layout.descriptor.elements() == 0 {
        return html! { p { "The array has no elements, so that there is nothing to explore." } };
    }
    let layouts = [
        Some(("source", picture.layout)),
        picture.movement.map(|movement| ("destination", movement.destination)),
    ];
    html! {
        noscript { p { "The arrays need JavaScript; the drawings below do not." } }
        div.sides {
            @for (name, side) in layouts.into_iter().flatten() {
                section aria-label=(side.notation) {
                    @if picture.movement.is_some() {
                        h2.side { @if name == "source" { "From" } @else { "To" } }
                    } @else { h2.unseen { "The array" } }
                    div id=(format!("explore-{name}")) {}
                }
            }
        }
        p #live role="status" aria-live="polite" {}
        p.lead {
            "Point at an element, or move with the arrow keys. Each cell of the array shows its offset, and each place \
             of memory the index that it holds."
            @if picture.movement.is_some() { " The other layout shows the same element." }
        }
    }
}

/// Writes the section of the page that runs the kernel.
fn run(picture: &Picture<'_>) -> Markup {
    let read = picture.layout.descriptor.image_bytes();
    let written = picture.movement.map_or(0, |movement| movement.nest.dst_bytes());
    html! {
        h2 { "Run it here" }
        p {
            "Runs this kernel in your browser through WebGPU, on " (count(read, "random byte"))
            ", and compares each of the " (count(written, "byte"))
            " that it writes with what the strides and the window say, element by element. That comparison uses nothing of the kernel."
        }
        (button(picture.title))
    }
}

/// Writes the button that runs the kernel, and the element that shows the outcome.
pub(super) fn button(title: &str) -> Markup {
    html! {
        p { button #run type="button" { "Run and check" } }
        p #verdict role="status" aria-live="polite" aria-label=(format!("outcome of {title}")) {}
    }
}

fn kernel(picture: &Picture<'_>, compiled: &Compiled<'_>) -> Markup {
    html! {
        h2 { "The kernel" }
        p {
            (text_and_dispatches(compiled.wgsl, compiled.workgroup_size, compiled.dispatches))
            @if let Some(movement) = &picture.movement {
                " Images: " (count(movement.nest.src_bytes(), "byte")) " read from, "
                (count(movement.nest.dst_bytes(), "byte")) " written."
            }
        }
        @if !compiled.wgsl.is_empty() {
            pre #wgsl tabindex="0" aria-label="WGSL" {
                @for line in compiled.wgsl.lines() { (source_line(line)) }
            }
        }
        h2 { "The schedule" }
        p { (compiled.schedule) "." }
        @if let Some(movement) = &picture.movement { (nest(movement.nest, compiled.wgsl)) }
    }
}

/// Writes a summary of a kernel: the length of its text, and its dispatches.
pub(super) fn text_and_dispatches(
    wgsl: &str,
    workgroup_size: [u32; 3],
    dispatches: &[[u32; 3]],
) -> Markup {
    let invocations: u32 = workgroup_size.iter().product();
    html! {
        span.length { (count(wgsl.len() as u64, "byte")) " of WGSL" } ", workgroups of " (invocations) "; dispatches: "
        @if dispatches.is_empty() { "none" }
        @for (number, [x, y, z]) in dispatches.iter().enumerate() {
            @if number > 0 { ", " }
            (x) " × " (y) " × " (z)
        }
        "."
    }
}

/// Writes one line of a kernel. Its comment is a separate element, to which a style can apply.
pub(super) fn source_line(line: &str) -> Markup {
    let comment = line.find("//").unwrap_or(line.len());
    let (code, comment) = line.split_at(comment);
    html! { span.line { (code) @if !comment.is_empty() { span.comment { (comment) } } } }
}

/// Writes the nest as a table of its axes. Each stride is a button that highlights the kernel lines
/// that use the stride.
fn nest(nest: &CopyNest, wgsl: &str) -> Markup {
    let marks = marks(nest, wgsl);
    html! {
        h2 { "The loop nest" }
        p.lead { "Outermost first, in units of " (count(nest.dst_bits().into(), "bit")) "."
            @if marks.iter().any(|mark| mark.lines.iter().any(|lines| !lines.is_empty())) {
                span.pointing { " Point at a stride: the kernel's lines that use it are marked." }
            }
        }
        table {
            tr { th scope="col" { "axis" } th scope="col" { "steps" } th scope="col" { "source stride" } th scope="col" { "destination stride" } }
            @for mark in &marks {
                tr {
                    td { "a" (mark.axis) } td { (mark.extent) }
                    @for (stride, lines) in mark.strides.iter().zip(&mark.lines) {
                        td {
                            button.stride type="button" data-lines=(lines.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
                                aria-label=(format!("stride {stride}, used in {}", count(lines.len() as u64, "line"))) { (stride) }
                        }
                    }
                }
            }
        }
        details { summary { "The nest in full" } pre tabindex="0" { (nest) } }
    }
}
