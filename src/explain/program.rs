//! [`ProgramPicture`]: a picture of the results of a program, drawn here for a terminal.

use std::fmt::Write as _;

use super::{
    grid::{Grid, dimensions, grids},
    mosaic::Mosaic,
    paint::Paint,
    sentences::Sentences,
    terminal::{MAX_ROWS, draw, heading, wrapped},
};
use crate::{
    program::{Origin, Way, Ways},
    stride::StrideDescriptor,
};

/// A picture of the results of a program, which shows the source of each element.
///
/// ```
/// use stridec::{explain::ProgramPicture, hlo::Module, program::Ways};
/// let module = Module::parse(
///     "ENTRY main {
///        x = u8[2,3] parameter(0)
///        y = u8[1,3] parameter(1)
///        ROOT z = u8[3,3] concatenate(x, y), dimensions={0}
///      }",
/// )?;
/// let picture = ProgramPicture::new(&Ways::new(&module)?).terminal(80);
/// assert!(picture.contains("y, parameter 1, u8[1,3]"), "{picture}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProgramPicture<'a> {
    pub(super) ways: &'a Ways<'a>,
    pub(super) results: Vec<usize>,
    /// The names of all results in titles. A result without an entry is named by its number.
    pub(super) names: Vec<String>,
    element: Option<Vec<u64>>,
}

/// One result of a program, with the grids that show it.
pub(super) struct ResultDrawing<'a> {
    pub(super) array: &'a StrideDescriptor,
    pub(super) mosaic: &'a Mosaic<'a>,
    pub(super) grids: Vec<Grid<'a>>,
    /// The index of the element whose path back to its source is shown, if there is one.
    pub(super) element: Option<Vec<u64>>,
}

impl<'a> ProgramPicture<'a> {
    /// Creates a picture of all results. [`result`](Self::result) selects one of them.
    #[must_use]
    pub fn new(ways: &'a Ways<'a>) -> Self {
        let results = (0..ways.program().results().len()).collect();
        Self { ways, results, names: Vec::new(), element: None }
    }

    /// Gives the results names, in their order, which titles show in place of their numbers.
    #[must_use]
    pub fn names(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Restricts the picture to a single result.
    ///
    /// # Panics
    ///
    /// Panics if there is no such result.
    #[must_use]
    pub fn result(self, result: usize) -> Self {
        assert!(result < self.ways.program().results().len(), "a result of the program");
        Self { results: vec![result], ..self }
    }

    /// Chooses the element whose path is shown, in each result that contains this index. Other
    /// results show the path of an element that is chosen automatically.
    #[must_use]
    pub fn element(self, index: &[u64]) -> Self {
        Self { element: Some(index.to_vec()), ..self }
    }

    /// Draws the results for a terminal of `width` columns (at least 40). A writer such as
    /// `anstream` may strip the ANSI colours, because colours never carry information that is not
    /// also in the text.
    #[must_use]
    pub fn terminal(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = String::new();
        for (number, &result) in self.results.iter().enumerate() {
            if number > 0 {
                text.push('\n');
            }
            let _ = writeln!(text, "{}", self.title(result));
            wrapped(&mut text, &self.size(result), width);
            self.with_grids(
                result,
                MAX_ROWS,
                |cell| (width - 12) / (cell + 2),
                |drawn| {
                    terminal(&mut text, drawn, width);
                },
            );
        }
        text
    }

    /// Returns the title of a result, such as `RESULT 0  f32[2,3]`.
    pub(super) fn title(&self, result: usize) -> String {
        let name = self.names.get(result).cloned().unwrap_or_else(|| result.to_string());
        format!("RESULT {name}  {}", self.ways.program().results()[result].shape())
    }

    /// Describes the size of a result: the number of elements and the size of their memory.
    pub(super) fn size(&self, result: usize) -> String {
        let descriptor = self.ways.program().results()[result].descriptor();
        format!("{}.", Sentences::of(descriptor).size)
    }

    /// Creates the grids of a result, with at most `rows` rows, and calls `draw` with them.
    /// `columns` converts the width of a cell in characters to a maximum number of columns. Returns
    /// the result of `draw`, or `None` if the result of the program cannot be drawn as a dense
    /// array.
    pub(super) fn with_grids<T>(
        &self,
        result: usize,
        rows: usize,
        columns: impl Fn(usize) -> usize,
        draw: impl FnOnce(&ResultDrawing<'_>) -> T,
    ) -> Option<T> {
        let mosaic = Mosaic::new(self.ways, result);
        let array = mosaic.array()?;
        let columns = columns(mosaic.label_width().max(3));
        let paint = Paint::Sources(&mosaic);
        let grids = grids(&array, &dimensions(&array, None), [rows, columns], paint);
        let chosen = self.element.clone().filter(|index| mosaic.way(index).is_some());
        let element = chosen.or_else(|| {
            let cells = || grids.iter().flat_map(Grid::drawn);
            let moves = |index: &[u64]| {
                let way = mosaic.way(index);
                way.is_some_and(|way| matches!(way.origin, Origin::Parameter { .. }))
            };
            let first = cells().find(|cell| moves(&cell.index)).or_else(|| cells().next());
            first.map(|cell| cell.index)
        });
        Some(draw(&ResultDrawing { array: &array, mosaic: &mosaic, grids, element }))
    }
}

impl ResultDrawing<'_> {
    /// Returns the index of the chosen element, and its path back to its source.
    pub(super) fn way(&self) -> Option<(&[u64], Way)> {
        let index = self.element.as_deref()?;
        Some((index, self.mosaic.way(index)?))
    }
}

fn terminal(text: &mut String, drawn: &ResultDrawing<'_>, width: usize) {
    let mosaic = drawn.mosaic;
    if drawn.grids.is_empty() {
        text.push_str("The array has no elements.\n");
    }
    for grid in &drawn.grids {
        text.push('\n');
        heading(text, grid);
        self::draw(text, grid, grid.label_width().max(3));
    }
    let key = mosaic.key();
    if !key.is_empty() {
        text.push('\n');
    }
    for entry in key {
        let style = entry.colour.terminal();
        let _ = writeln!(text, "{style} {} {style:#} {}", entry.letter, entry.text);
    }
    if let Some(numbers) = mosaic.numbers() {
        wrapped(text, &numbers, width);
    }
    let Some((index, way)) = drawn.way() else { return };
    let _ = writeln!(text, "\nTHE WAY of ({}), from the result back", super::mosaic::comma(index));
    let rows = mosaic.rows(&way);
    let column = |of: fn(&super::mosaic::InstructionRow) -> &str| {
        rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0)
    };
    let (names, indices) = (column(|row| &row.name), column(|row| &row.index));
    for row in &rows {
        let _ = writeln!(text, "  {:names$}  {:indices$}  {}", row.name, row.index, row.expression);
    }
    let _ = writeln!(text, "It is {}.", mosaic.end(&way));
}
