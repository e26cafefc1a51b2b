//! Building blocks of documents: sizes in pixels, text, cells, and the arrangement of parts.

use maud::{Markup, PreEscaped, html};

use crate::explain::colour::Colour;

/// The height of a cell, in pixels.
pub(super) const CELL: usize = 24;
/// The height of a line of text, in pixels.
pub(super) const LINE: usize = 18;

/// A part of a document, with its size in pixels.
pub(super) struct SvgPart {
    pub(super) markup: Markup,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Returns the width of monospaced text, in pixels.
pub(super) fn text_width(characters: usize) -> usize {
    (characters * 73).div_ceil(10)
}

/// Returns the width of a cell in pixels, for a label of `characters` characters.
pub(super) fn cell_width(characters: usize) -> usize {
    text_width(characters).max(16) + 12
}

/// Arranges parts in a column, `gap` pixels apart.
pub(super) fn column(parts: Vec<SvgPart>, gap: usize) -> SvgPart {
    let (mut y, mut width) = (0, 0);
    let mut placed = vec![];
    for part in parts {
        placed.push(html! { g transform=(format!("translate(0 {y})")) { (part.markup) } });
        y += part.height + gap;
        width = width.max(part.width);
    }
    SvgPart {
        markup: html! { @for part in placed { (part) } },
        width,
        height: y.saturating_sub(gap),
    }
}

/// Arranges parts from left to right in lines of at most `width` pixels, `gap` pixels apart.
pub(super) fn flow(parts: Vec<SvgPart>, width: usize, gap: usize) -> SvgPart {
    let (mut x, mut y, mut high, mut wide) = (0, 0, 0, 0);
    let mut placed = vec![];
    for part in parts {
        if x > 0 && x + part.width > width {
            y += high + gap;
            (x, high) = (0, 0);
        }
        placed.push(html! { g transform=(format!("translate({x} {y})")) { (part.markup) } });
        wide = wide.max(x + part.width);
        x += part.width + gap;
        high = high.max(part.height);
    }
    SvgPart { markup: html! { @for part in placed { (part) } }, width: wide, height: y + high }
}

/// Draws a paragraph as lines of text, each at most `width` pixels wide. `class` selects its style.
pub(super) fn paragraph(text: &str, width: usize, class: &str) -> SvgPart {
    // Sentences use a proportional font, which is narrower than the monospaced one.
    let most = (width * 10 / 66).max(20);
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let height = lines.len() * LINE;
    let markup = html! {
        @for (number, line) in lines.iter().enumerate() {
            text.(class) x="0" y=(number * LINE + 13) { (line) }
        }
    };
    SvgPart { markup, width, height }
}

/// Draws a cell. `colour` is the colour of the element, or `None` for padding.
pub(super) fn cell(
    at: [usize; 2],
    width: usize,
    label: &str,
    colour: Option<Colour>,
    title: &str,
) -> Markup {
    html! { (ground(at, width, colour, title)) (text(at, width, label, colour)) }
}

/// Draws the background of a cell, without its text.
pub(super) fn ground(
    [x, y]: [usize; 2],
    width: usize,
    colour: Option<Colour>,
    title: &str,
) -> Markup {
    let class = if colour.is_none() { Some("p") } else { None };
    html! {
        rect class=[class] x=(x + 1) y=(y + 1) width=(width - 2) height=(CELL - 2) rx="2"
            fill=[colour.map(Colour::hex)] { title { (title) } }
    }
}

/// Draws the text of a cell, without its background, so that it can be drawn above other shapes and
/// stay readable.
pub(super) fn text(
    [x, y]: [usize; 2],
    width: usize,
    label: &str,
    colour: Option<Colour>,
) -> Markup {
    let class = match colour {
        Some(colour) if colour.takes_dark_text() => "c k",
        Some(_) => "c w",
        None => "c m",
    };
    html! { text class=(class) x=(x + width / 2) y=(y + 16) { (label) } }
}

/// Draws the key of a colour scale, with labels at its two ends. If `hatched` is set, the key also
/// shows hatching with this meaning.
pub(super) fn key([first, last]: [&str; 2], hatched: Option<&str>) -> SvgPart {
    let swatches = 12;
    let width = |text: &str| text_width(text.chars().count());
    let bar = width(first) + 8;
    let bar_end = bar + swatches * 14;
    let hatch = bar_end + width(last) + 32;
    let markup = html! {
        text.m x="0" y="13" { (first) }
        @for number in 0..swatches {
            rect x=(bar + number * 14) y="2" width="14" height="14"
                fill=(Colour::of(number as u64, swatches as u64).hex()) {}
        }
        text.m x=(bar_end + 8) y="13" { (last) }
        @if let Some(hatched) = hatched {
            rect.p x=(hatch) y="2" width="22" height="14" {}
            text.m x=(hatch + 30) y="13" { (hatched) }
        }
    };
    let width = hatched.map_or(hatch - 24, |hatched| hatch + 30 + width(hatched));
    SvgPart { markup, width, height: LINE }
}

/// Draws the key of a colour scale for positions in memory. Its labels are the first and the last
/// offset.
pub(super) fn offsets_key([first, last]: [u64; 2], padding: bool) -> SvgPart {
    let (first, last) = (format!("offset {first}"), format!("offset {last}"));
    key([&first, &last], padding.then_some("padding"))
}

/// Draws a line at the edge of a box. `strength` is its weight.
pub(super) fn stroke(strength: u8, [x1, y1]: [usize; 2], [x2, y2]: [usize; 2]) -> Markup {
    let class = if strength > 1 { "o" } else { "i" };
    html! { path.(class) d=(format!("M{x1} {y1}L{x2} {y2}")) {} }
}

/// Returns the style sheet of a document, which suits light and dark mode.
pub(super) fn style() -> Markup {
    html! {
        style {
            (PreEscaped(
                "svg.stridec{color:#1b1f24}\
                 .stridec text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:currentColor}\
                 .stridec .s{font:13px system-ui,'Segoe UI','DejaVu Sans',sans-serif}\
                 .stridec .h{font-weight:600}\
                 .stridec .t{font-size:15px;font-weight:600}\
                 .stridec .m{opacity:.7}\
                 .stridec .c{text-anchor:middle}\
                 .stridec .e{text-anchor:end}\
                 .stridec text.k{fill:#111}\
                 .stridec text.w{fill:#fff}\
                 .stridec rect.p{fill:url(#stridec-hatch);stroke:currentColor;stroke-opacity:.3}\
                 .stridec path{fill:none;stroke:currentColor}\
                 .stridec .o{stroke-width:2.6;stroke-linecap:square}\
                 .stridec .i{stroke-width:1;stroke-linecap:square}\
                 .stridec .y{stroke:#fff;stroke-opacity:.6;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
                 .stridec .z{stroke:#000;stroke-opacity:.4;stroke-width:4;stroke-linejoin:round;stroke-linecap:round}\
                 .stridec .v{stroke-width:2}\
                 .stridec .g{fill:#fff}\
                 .stridec .f{fill:none;stroke:#e8590c;stroke-width:3}\
                 @media(prefers-color-scheme:dark){svg.stridec{color:#e6edf3}.stridec .g{fill:#0d1117}.stridec .f{stroke:#ff922b}}"
            ))
        }
        defs {
            pattern id="stridec-hatch" width="6" height="6" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)" {
                path d="M0 0V6" stroke="#888" stroke-opacity=".45" stroke-width="2" {}
            }
        }
    }
}
