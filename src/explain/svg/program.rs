//! Draws the results of a program in SVG, with a colour for the source of each element.

use maud::{Markup, html};

use super::{
    document::{GAP, MAX_ROWS, WIDTH, document},
    grid,
    scene::{CELL, LINE, SvgPart, cell, cell_width, column, flow, paragraph, text_width},
};
use crate::explain::{
    mosaic::comma,
    program::{ProgramPicture, ResultDrawing},
};

impl ProgramPicture<'_> {
    /// Draws the results as an SVG document.
    ///
    /// ```
    /// use stridec::{explain::ProgramPicture, hlo::Module, program::Ways};
    /// let module = Module::parse("ENTRY main { ROOT x = u8[2,3] parameter(0) }")?;
    /// let document = ProgramPicture::new(&Ways::new(&module)?).svg();
    /// assert!(document.contains("x, parameter 0, u8[2,3]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        let parts = self.results.iter().map(|&result| {
            let whole = |drawn: &ResultDrawing<'_>| column(vec![mosaic(drawn), way(drawn)], GAP);
            let title = SvgPart {
                markup: html! { text.t x="0" y="15" { (self.title(result)) } },
                width: self.title(result).chars().count() * 92 / 10,
                height: LINE + 2,
            };
            let mut parts = vec![title, paragraph(&self.size(result), WIDTH, "s")];
            parts.extend(self.with_drawn(result, whole));
            column(parts, GAP - 4)
        });
        let name = self.ways.program().name();
        document(column(parts.collect(), 2 * GAP), name, true).into_string()
    }

    /// Draws the array of a result and its key as one document. Includes the style sheet, for all
    /// documents of the page, if `styled` is true.
    pub(in crate::explain) fn result_document(
        &self,
        drawn: &ResultDrawing<'_>,
        styled: bool,
    ) -> Markup {
        document(mosaic(drawn), self.ways.program().name(), styled)
    }

    /// Creates the grids of a result, with sizes that suit a document, and calls `draw` with them.
    pub(in crate::explain) fn with_drawn<T>(
        &self,
        result: usize,
        draw: impl FnOnce(&ResultDrawing<'_>) -> T,
    ) -> Option<T> {
        self.with_grids(result, MAX_ROWS, |label| (WIDTH - 90) / cell_width(label), draw)
    }
}

/// Draws the array, with each element in the colour of its source, and the key.
fn mosaic(drawn: &ResultDrawing<'_>) -> SvgPart {
    let followed: Vec<u64> =
        drawn.element.iter().filter_map(|index| drawn.array.offset(index).ok()).collect();
    let grids = drawn.grids.iter().map(|of| grid::draw(of, &followed)).collect();
    let mut parts = vec![flow(grids, WIDTH + 60, GAP)];
    let entries = drawn.mosaic.key().into_iter().map(|entry| {
        let wide = cell_width(entry.letter.len());
        let width = wide + 8 + text_width(entry.text.chars().count());
        let markup = html! {
            (cell([0, 0], wide, &entry.letter, Some(entry.colour), &entry.text))
            text x=(wide + 8) y="16" { (entry.text) }
        };
        SvgPart { markup, width, height: CELL }
    });
    parts.push(column(entries.collect(), 2));
    if drawn.grids.is_empty() {
        parts.push(paragraph("The array has no elements.", WIDTH, "s"));
    }
    parts.extend(drawn.mosaic.numbers().map(|numbers| paragraph(&numbers, WIDTH, "s")));
    column(parts, GAP - 4)
}

/// Writes the path of the chosen element back to its source, with one line for each instruction.
fn way(drawn: &ResultDrawing<'_>) -> SvgPart {
    let Some((index, way)) = drawn.way() else {
        return SvgPart { markup: html! {}, width: 0, height: 0 };
    };
    let rows = drawn.mosaic.rows(&way);
    let wide =
        |lengths: &mut dyn Iterator<Item = usize>| text_width(lengths.max().unwrap_or(0) + 2);
    let names = wide(&mut rows.iter().map(|row| row.name.chars().count()));
    let indices = names + wide(&mut rows.iter().map(|row| row.index.chars().count()));
    let all = indices + wide(&mut rows.iter().map(|row| row.expression.chars().count()));
    let caption = format!("The way of ({}), from the result back", comma(index));
    let end = format!("It is {}.", drawn.mosaic.end(&way));
    let y = |row: usize| LINE * (row + 1) + 17;
    let markup = html! {
        text.s.h x="0" y="13" { (caption) }
        @for (number, row) in rows.iter().enumerate() {
            text x="0" y=(y(number)) { (row.name) }
            text x=(names) y=(y(number)) { (row.index) }
            text.m x=(indices) y=(y(number)) { (row.expression) }
        }
        text.s x="0" y=(y(rows.len()) + 4) { (end) }
    };
    let width = all.max(text_width(end.chars().count())).max(text_width(caption.chars().count()));
    SvgPart { markup, width, height: LINE * (rows.len() + 2) + 8 }
}
