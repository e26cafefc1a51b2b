//! Divides an array into grids of cells for drawing. If the array is small, a cell is one index.
//! Otherwise, a cell is one tile, and a second grid shows one tile in detail.

use std::{convert::Infallible, rc::Rc};

use super::{
    colour::Colour,
    paint::Paint,
    shown::{Item, choose},
    tiles::{BoxLevels, TiledDimension, padded, place, product},
};
use crate::stride::{Coordinate, Forward, StrideDescriptor};

/// The maximum number of planes that are drawn if the array is small.
const MAX_PLANES: u64 = 4;
/// The maximum number of cells of a small array, for which more than two planes are drawn.
const MAX_PLANE_CELLS: u64 = 72;
/// The maximum number of rows of a plane that does not fit and is summarised.
const SUMMARY_ROWS: usize = 9;

/// The dimension that runs down the grid, and the dimension that runs across it.
pub(super) type Dimensions = [Option<TiledDimension>; 2];

/// A grid of cells. Each cell is one index of the array, or a tile, which is given by its first
/// index.
pub(super) struct Grid<'a> {
    descriptor: &'a StrideDescriptor,
    /// The title above the grid.
    pub(super) caption: String,
    /// The dimension that runs down the grid, and the dimension that runs across it.
    pub(super) dimensions: Dimensions,
    /// The rows and the columns that are drawn, with gaps in place of the hidden ones.
    pub(super) items: [Vec<Item>; 2],
    /// The distance between adjacent rows and between adjacent columns, in indices. It is 1, or the
    /// extents of a tile if a cell is a tile.
    step: [u64; 2],
    /// The logical index of the cell at row 0 and column 0.
    first: Vec<u64>,
    /// The offsets in memory at the two ends of the colour scale.
    pub(super) range: [u64; 2],
    /// The number of elements, with padding, that a cell represents: 1, or the size of a tile.
    span: u64,
    boxes: Option<Rc<BoxLevels>>,
    pub(super) paint: Paint<'a>,
}

/// One cell of a [`Grid`].
pub(super) struct Cell {
    /// The logical index of the cell. In padding, it lies outside the array.
    pub(super) index: Vec<u64>,
    /// The offset of the cell in memory, in elements.
    pub(super) place: u64,
    /// True if the cell is an element, and false if it is padding.
    pub(super) element: bool,
}

impl Grid<'_> {
    /// Returns the cell at a row and a column.
    pub(super) fn cell(&self, row: u64, column: u64) -> Cell {
        let mut index = self.first.clone();
        for ((dimension, step), at) in self.dimensions.iter().zip(self.step).zip([row, column]) {
            if let Some(dimension) = dimension {
                dimension.set(self.descriptor, &mut index, at * step);
            }
        }
        let element = index.iter().zip(self.descriptor.sizes()).all(|(index, size)| index < size);
        Cell { place: place(self.descriptor, &index), element, index }
    }

    /// Returns the text in the cell of an element: its offset, the offsets of a tile such as
    /// `1024…2047`, or its source.
    pub(super) fn label(&self, cell: &Cell) -> String {
        if let Paint::Sources(mosaic) = self.paint {
            return mosaic.piece(&cell.index).label;
        }
        match self.span {
            1 => cell.place.to_string(),
            span => format!("{}…{}", cell.place, cell.place + span - 1),
        }
    }

    /// Returns the text that is shown when the reader points at a cell.
    pub(super) fn title(&self, cell: &Cell) -> String {
        let index: Vec<String> = cell.index.iter().map(u64::to_string).collect();
        let what = match self.paint {
            Paint::Sources(mosaic) => mosaic.piece(&cell.index).title,
            Paint::Places if cell.element => format!("offset {}", cell.place),
            Paint::Places => format!("padding at offset {}", cell.place),
        };
        format!("({}): {what}", index.join(","))
    }

    /// Returns the length of the longest label, in characters.
    pub(super) fn label_width(&self) -> usize {
        if let Paint::Sources(mosaic) = self.paint {
            return mosaic.label_width();
        }
        let last = self.range[1].max(self.span - 1).to_string().len();
        if self.span == 1 { last } else { 2 * last + 1 }
    }

    /// Returns the colour of a cell, which shows the source of its element or its position in
    /// memory. If most of the array is hidden, the colour scale covers only the drawn part of
    /// memory.
    pub(super) fn colour(&self, cell: &Cell) -> Colour {
        if let Paint::Sources(mosaic) = self.paint {
            return mosaic.piece(&cell.index).colour;
        }
        let [low, high] = self.range;
        Colour::of(cell.place.saturating_sub(low), high.saturating_sub(low) + 1)
    }

    /// Returns the name of the dimension drawn downwards (side 0) or across (side 1), such as `d1`.
    pub(super) fn name(&self, side: usize) -> Option<String> {
        self.dimensions[side].as_ref().map(|dimension| dimension.name(self.descriptor))
    }

    /// Returns the label of the row (side 0) or column (side 1) `at`, which is its index along the
    /// dimension.
    pub(super) fn tick(&self, side: usize, at: u64) -> String {
        match self.dimensions[side] {
            Some(_) => (at * self.step[side]).to_string(),
            None => String::new(),
        }
    }

    /// Returns the weight of the line before the row (side 0) or column (side 1) `at`: 1 or 2 at
    /// the edge of a box of tiles, and otherwise 0.
    pub(super) fn line(&self, side: usize, at: u64) -> u8 {
        match (&self.boxes, &self.dimensions[side]) {
            (Some(boxes), Some(dimension)) => boxes.line(dimension.coordinate, at),
            _ => 0,
        }
    }

    /// Returns the cells to draw, row by row. Cells in gaps are left out.
    pub(super) fn drawn(&self) -> impl Iterator<Item = Cell> {
        let ends = |side: usize| {
            self.items[side].iter().filter_map(|item| match item {
                Item::At(at) => Some(*at),
                Item::Gap(_) => None,
            })
        };
        let cells = ends(0).flat_map(move |row| ends(1).map(move |column| (row, column)));
        cells.map(|(row, column)| self.cell(row, column))
    }

    /// Returns the least and the greatest offset of the drawn elements.
    fn drawn_range(&self) -> [u64; 2] {
        let elements = self.drawn().filter(|cell| cell.element);
        elements
            .fold([u64::MAX, 0], |[low, high], cell| [low.min(cell.place), high.max(cell.place)])
    }

    /// Returns true if any of the drawn cells is padding.
    pub(super) fn has_padding(&self) -> bool {
        self.drawn().any(|cell| !cell.element)
    }

    /// Returns true if the colour scale covers all of memory, and false if it covers only the drawn
    /// part.
    pub(super) fn is_coloured_by_all(&self) -> bool {
        matches!(self.paint, Paint::Sources(_))
            || self.range == [0, self.descriptor.physical_elements() - 1]
    }

    /// Returns true if each cell is one index of the array, and false if it is a tile.
    pub(super) fn is_by_element(&self) -> bool {
        self.step == [1, 1]
    }

    /// Returns true if the boxes of tiles are outlined.
    pub(super) fn is_tiled(&self) -> bool {
        self.boxes.is_some()
    }
}

/// Creates the grids of an array, each with at most `budget` rows and columns. Shows planes of the
/// array if they fit as a whole. Otherwise, one grid shows the array tile by tile, and another one
/// shows the first tile in detail. If a large array has no tiles, its corners are shown.
pub(super) fn grids<'a>(
    descriptor: &'a StrideDescriptor,
    dimensions: &Dimensions,
    budget: [usize; 2],
    paint: Paint<'a>,
) -> Vec<Grid<'a>> {
    if descriptor.elements() == 0 {
        return vec![];
    }
    let sides = dimensions.each_ref().map(Option::as_ref);
    let extents = sides.map(|dimension| dimension.map_or(1, |d| padded(descriptor, d)));
    let boxes = Rc::new(BoxLevels::of(descriptor));
    let tiled = !boxes.levels.is_empty();
    let fits = extents.iter().zip(budget).all(|(&extent, budget)| usize_or_max(extent) <= budget);
    let tile = sides.map(|dimension| match (boxes.levels.first(), dimension) {
        (Some(extents), Some(dimension)) => extents[dimension.coordinate],
        _ => 1,
    });
    let tiles = [0, 1].map(|side| extents[side].div_ceil(tile[side].max(1)));
    let extent = |dimension: &TiledDimension| descriptor.extents()[dimension.coordinate];
    let is_other = |d: &&TiledDimension| !sides.contains(&Some(*d)) && extent(d) > 1;
    let others: Vec<&TiledDimension> = boxes.dimensions.iter().filter(is_other).collect();
    let planes = Planes { descriptor, others };
    let count = planes.count();
    let periods =
        |side: usize| sides[side].map_or(vec![], |dimension| boxes.periods(dimension.coordinate));
    let whole = |first: Vec<u64>, caption: String| Grid {
        descriptor,
        caption,
        dimensions: dimensions.clone(),
        items: [0, 1].map(|side| {
            let most = if side == 0 && !fits { budget[0].min(SUMMARY_ROWS) } else { budget[side] };
            let cuts = sides[side].map_or(vec![], |dimension| paint.cuts(dimension));
            choose(extents[side], most, &periods(side), &cuts)
        }),
        step: [1, 1],
        first,
        range: [0, descriptor.physical_elements() - 1],
        span: 1,
        boxes: tiled.then(|| Rc::clone(&boxes)),
        paint,
    };
    if !fits && tiled && product(tile) > 1 && product(tiles) > 1 {
        let first = vec![0; descriptor.rank()];
        let [high, wide] = tile;
        let plane = planes.name(0);
        let mut one = whole(first.clone(), String::new());
        one.items = [0, 1].map(|side| {
            let periods = periods(side);
            choose(
                tile[side].min(extents[side]),
                budget[side],
                &periods[1.min(periods.len())..],
                &[],
            )
        });
        let last = [0, 1].map(|side| tile[side].min(extents[side]) - 1);
        one.range = [0, one.cell(last[0], last[1]).place];
        one.caption = format!("The first tile, {high} × {wide}, cell by cell");
        let span = product(tile);
        let over = Grid {
            caption: format!("The array{plane} in tiles of {high} × {wide}, each with its offsets"),
            items: [0, 1].map(|side| choose(tiles[side], (budget[side] / 2).min(8), &[], &[])),
            step: tile,
            // A tile is contiguous in memory, unless the layout is padded or a tile joins
            // dimensions.
            span: if one.range[1] + 1 == span { span } else { 1 },
            boxes: None,
            ..whole(first, String::new())
        };
        return vec![over, one];
    }
    let cells = product(extents);
    let most = if fits && cells.saturating_mul(count) <= MAX_PLANE_CELLS { MAX_PLANES } else { 2 };
    let drawn: Vec<u64> = match count {
        0..=1 => vec![0],
        _ if count <= most => (0..count).collect(),
        _ => (0..most - 1).chain([count - 1]).collect(),
    };
    let hidden = count - drawn.len() as u64;
    let mut grids: Vec<Grid<'_>> = drawn
        .iter()
        .map(|&plane| {
            let caption = match count {
                0..=1 => format!("The array: {}", paint.words()),
                _ => format!("The array{}", planes.name(plane)),
            };
            let mut grid = whole(planes.first(plane), caption);
            if !fits && matches!(paint, Paint::Places) {
                grid.range = grid.drawn_range();
            }
            grid
        })
        .collect();
    if let (Some(last), 1..) = (grids.last_mut(), hidden) {
        let planes = if hidden == 1 { "plane" } else { "planes" };
        last.caption = format!("{} ({hidden} {planes} between)", last.caption);
    }
    grids
}

/// The planes of an array. They are numbered in row-major order of the dimensions that are not
/// drawn.
struct Planes<'a> {
    descriptor: &'a StrideDescriptor,
    others: Vec<&'a TiledDimension>,
}

impl Planes<'_> {
    fn extent(&self, dimension: &TiledDimension) -> u64 {
        self.descriptor.extents()[dimension.coordinate]
    }

    fn count(&self) -> u64 {
        product(self.others.iter().map(|dimension| self.extent(dimension)))
    }

    /// Returns the index of a plane along each dimension that is not drawn.
    fn values(&self, plane: u64) -> Vec<u64> {
        let mut rest = plane;
        let mut values: Vec<u64> = vec![];
        for dimension in self.others.iter().rev() {
            values.push(rest % self.extent(dimension));
            rest /= self.extent(dimension);
        }
        values.reverse();
        values
    }

    /// Returns the logical index of the first cell of a plane.
    fn first(&self, plane: u64) -> Vec<u64> {
        let mut first = vec![0; self.descriptor.rank()];
        for (dimension, value) in self.others.iter().zip(self.values(plane)) {
            dimension.set(self.descriptor, &mut first, value);
        }
        first
    }

    /// Returns words for the position of a plane, such as ` at d0 = 0, d1 = 3`. Returns an empty
    /// text if there is only one plane.
    fn name(&self, plane: u64) -> String {
        let named = self.others.iter().zip(self.values(plane));
        let named: Vec<String> = named
            .map(|(dimension, value)| format!("{} = {value}", dimension.name(self.descriptor)))
            .collect();
        if named.is_empty() { String::new() } else { format!(" at {}", named.join(", ")) }
    }
}

/// Chooses the two dimensions to draw. Takes those in `common` if they are given, unless a tile
/// joins one of them with other dimensions. Otherwise, takes the last two dimensions that tiles
/// cut, or the last two of the array if tiles cut fewer.
pub(super) fn dimensions(descriptor: &StrideDescriptor, common: Option<[usize; 2]>) -> Dimensions {
    let boxes = BoxLevels::of(descriptor);
    if let Some([Some(down), Some(across)]) =
        common.map(|common| common.map(|dimension| boxes.dimension(dimension)))
    {
        return [Some(down.clone()), Some(across.clone())];
    }
    let (cut, all) = (boxes.cut(), boxes.dimensions.iter().collect::<Vec<_>>());
    let drawn = if cut.len() > 1 { cut } else { all };
    let mut from_last = drawn.into_iter().rev().cloned();
    let across = from_last.next();
    [from_last.next(), across]
}

/// Returns the two dimensions that show an operation best: the most minor dimension of the source
/// and the most minor one of the destination, in logical order. Returns `None` if they are the same
/// dimension.
pub(super) fn common_dimensions(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
) -> Option<[usize; 2]> {
    let (source, destination) = (minor(source)?, minor(destination)?);
    (source != destination).then_some([source.min(destination), source.max(destination)])
}

/// Returns the logical dimension with the smallest stride, along which neighbours are nearest in
/// memory. Ignores dimensions of extent 1 and broadcast ones, and returns `None` if there are no
/// others.
fn minor(descriptor: &StrideDescriptor) -> Option<usize> {
    let mut dimension = (0..descriptor.rank()).map(Some).collect();
    let Ok(()) = descriptor.forward(&mut LogicalDimension, &mut dimension);
    let axes = descriptor.axes().iter();
    axes.filter(|axis| descriptor.extents()[axis.coordinate] > 1 && axis.stride != 0)
        .min_by_key(|axis| axis.stride.unsigned_abs())
        .and_then(|axis| dimension[axis.coordinate])
}

/// Computes the logical dimension to which each coordinate of a descriptor belongs. Dimensions that
/// a tile joins belong to the most minor one.
struct LogicalDimension;

impl Forward for LogicalDimension {
    type Value = Option<usize>;
    type Error = Infallible;

    fn split(
        &mut self,
        of: Coordinate<'_, Self::Value>,
        _: u64,
    ) -> Result<[Self::Value; 2], Infallible> {
        Ok([*of.value, *of.value])
    }

    fn fold(
        &mut self,
        _: Coordinate<'_, Self::Value>,
        minor: Coordinate<'_, Self::Value>,
    ) -> Result<Self::Value, Infallible> {
        Ok(*minor.value)
    }

    fn unit(&mut self) -> Self::Value {
        None
    }
}

/// Converts a number of cells. A number that does not fit becomes `usize::MAX`, which is more than
/// any grid draws.
fn usize_or_max(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    /// Checks that the offset of every drawn cell is the offset of its index.
    #[test]
    fn every_cell_is_at_its_offset() {
        let shapes = [
            "f32[]",
            "f32[7]",
            "f32[2,3]{0,1:PAD(3,5,zero)}",
            "f32[3,5]{1,0:T(2,2)}",
            "f32[2,3,5]{2,1,0:T(*,4,8)}",
            "f32[7,20,30,50]{3,2,1,0:T(*,4,8)}",
            "bf16[16,256]{1,0:T(8,128)(2,1)}",
            "f32[64,256]{0,1}",
            "f32[2,3,4,5,6]{0,2,4,1,3}",
            "s4[3,100,200]{2,1,0:T(8,128)E(4)}",
        ];
        for text in shapes {
            let descriptor = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            let mut elements = 0;
            for grid in grids(&descriptor, &dimensions(&descriptor, None), [12, 12], Paint::Places)
            {
                for row in &grid.items[0] {
                    for column in &grid.items[1] {
                        let (&Item::At(row), &Item::At(column)) = (row, column) else { continue };
                        let cell = grid.cell(row, column);
                        assert_eq!(descriptor.offset(&cell.index).is_ok(), cell.element);
                        if cell.element {
                            assert_eq!(descriptor.offset(&cell.index).unwrap(), cell.place);
                            elements += 1;
                        }
                    }
                }
            }
            assert!(elements > 0, "{text}");
        }
    }
}
