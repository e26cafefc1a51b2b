//! Tiles whose columns are streamed line by line, straight from registers.

use super::{
    pieces::{Destination as _, Pieces},
    simd::{Inner, Simd},
    stream::{LINE, Stream},
    tile::Tile,
};

/// Moves a tile of contiguous rows and columns, whose columns all begin alike within a cache line: cut lines at their ends
/// through the caches, the others past them.
///
/// False where some of it is not moved: columns do not begin alike, or the tile is smaller than a register.
pub(super) fn strips(
    simd: Simd,
    (unit, inner): (usize, Option<&Inner>),
    source: &[u8],
    destination: &mut Pieces,
    tile: &Tile,
    stream: &Stream,
) -> bool {
    let Tile { from, to, rows: (rows, _), columns: (_, writes), .. } = *tile;
    let edge = 16 / unit;
    let columns = destination.columns(to, writes, rows.len() * unit);
    let Some(mut columns) = columns.filter(|_| rows.len() >= edge) else { return false };
    let Some(gap) = columns.gap().filter(|gap| gap.is_multiple_of(unit)) else { return false };
    let head = (gap / unit).min(rows.len());
    let lines = (rows.len() - head) * unit / LINE * LINE / unit;
    let tail = rows.len() - head - lines;
    let mut through = |start: usize, end: usize| {
        simd.transpose(
            (unit, inner),
            (source, from, &rows[start..end]),
            (&mut columns, start * unit),
        )
    };
    // A register at the least, of which others write a part again.
    let last = (rows.len() - tail).min(rows.len() - edge);
    if head > 0 && !through(0, head.max(edge)) || tail > 0 && !through(last, rows.len()) {
        return false;
    }
    let rows = &rows[head..head + lines];
    lines == 0
        || simd.stream_transpose(
            (unit, inner),
            (source, from, rows),
            (&mut columns, head * unit),
            stream,
        )
}
