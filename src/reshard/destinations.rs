//! [`TileDestinations`]: finds the devices that need elements of one tile of the source, and
//! decides which device sends each of these elements.
//!
//! A *tile* is a part of the array that lies on one device or, as copies, on several. These
//! devices, the *holders* of the tile, share the work: the elements that other devices need are
//! arranged in one sequence, and each holder sends an equal part of the sequence. The documentation
//! of [`reshard`](super) describes the order of the sequence.

use std::ops::ControlFlow;

use super::{grid::OverlapGrid, split};
use crate::sharding::{Holders, Placement, Region};

/// The boundary between the shares of two senders may move by a share divided by this number, so
/// that a box near the boundary is not split. A share has two boundaries, so with 200 a sender
/// exceeds its share by at most 1%. With a smaller number, the senders are balanced less evenly;
/// with a larger one, more boxes are split.
const SLACK: u128 = 200;

/// The devices that need elements of one nonempty tile of the source, in order.
///
/// The devices are sorted by the row-major index of the destination tile that they need, and then
/// by their index among the holders of that tile. Devices that already hold the source tile are
/// skipped. The elements that each device needs, for one device after another, form a sequence of
/// [`length`](Self::length) elements. Each holder of the source tile sends one contiguous share of
/// the sequence.
pub(super) struct TileDestinations<'a> {
    source: &'a Placement,
    to: &'a Placement,
    /// The row-major index of the source tile in `source`.
    tile: u64,
    pub(super) holders: Holders<'a>,
    /// The destination tiles that overlap the source tile. In this file, the *grid index* of a tile
    /// is its index among these overlapping tiles.
    grid: OverlapGrid<'a>,
    /// The devices that are skipped, in order. An entry has the grid index of the device's
    /// destination tile, the index of the device among the holders of that tile, and the number of
    /// elements of all skipped devices up to this one.
    held: Vec<(u64, u64, u128)>,
    /// The length of the sequence: the total number of elements that all destinations need.
    pub(super) length: u128,
}

/// The elements of the source tile that one destination device needs.
#[derive(Clone, Copy)]
pub(super) struct WantedPart<'a> {
    pub(super) device: u64,
    pub(super) region: &'a Region,
    /// The offset of the first of these elements in the sequence that the holders share.
    pub(super) offset: u128,
}

impl<'a> TileDestinations<'a> {
    /// Finds the devices that need elements of `tile`, the index of a tile of the placement `from`.
    /// Returns `None` if the tile is empty or no device holds it, because then nothing is sent.
    pub(super) fn new(from: &'a Placement, to: &'a Placement, tile: u64) -> Option<Self> {
        let region = from.tile_region(tile);
        let holders = from.holders(tile);
        if region.is_empty() || holders.len() == 0 {
            return None;
        }
        let grid = OverlapGrid::new(to, &region);
        let mut left_out = Vec::new();
        for holder in 0..holders.len() {
            let device = holders.get(holder);
            for &tile in &to.tile_numbers(device) {
                left_out.extend(grid.index_of(tile).zip(to.rank_in_tile(device, tile)));
            }
        }
        left_out.sort_unstable();
        let (mut held, mut before) = (Vec::with_capacity(left_out.len()), 0);
        for same_tile in left_out.chunk_by(|one, other| one.0 == other.0) {
            let elements = u128::from(grid.overlap(same_tile[0].0).elements());
            for &(index, rank) in same_tile {
                before += elements;
                held.push((index, rank, before));
            }
        }
        let mut destinations = Self { source: from, to, tile, holders, grid, held, length: 0 };
        destinations.length = destinations.elements_before(destinations.grid.len()) - before;
        Some(destinations)
    }

    /// Returns the total number of elements needed for all tiles before the grid index `index`. The
    /// elements of skipped devices are counted too.
    fn elements_before(&self, index: u64) -> u128 {
        let tiles = self.grid.len();
        match self.to.copies() {
            Some(copies) if index == tiles => u128::from(self.grid.elements()) * u128::from(copies),
            Some(copies) => u128::from(self.grid.elements_before(index)) * u128::from(copies),
            // Every tile must be counted, because in a list of boxes their numbers of holders can
            // differ.
            None => (0..index)
                .map(|index| {
                    let elements = u128::from(self.grid.overlap(index).elements());
                    elements * u128::from(self.grid.holders(index))
                })
                .sum(),
        }
    }

    /// Returns the offset in the sequence at which the elements for the tile with grid index
    /// `index` begin.
    fn offset(&self, index: u64) -> u128 {
        let held = self.held.partition_point(|(held, ..)| *held < index);
        let left_out = held.checked_sub(1).map_or(0, |last| self.held[last].2);
        self.elements_before(index) - left_out
    }

    /// Calls `found` with the elements that each destination device needs, in the order of the
    /// sequence, starting at the tile with grid index `from`. Stops early if `found` breaks.
    pub(super) fn each_from(
        &self,
        from: u64,
        mut found: impl FnMut(WantedPart<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut offset = self.offset(from);
        let first = self.held.partition_point(|(held, ..)| *held < from);
        let mut left_out = self.held[first..].iter().peekable();
        let mut tiles = self.grid.tiles(from);
        for index in from.. {
            let Some((tile, region)) = tiles.current() else { break };
            let elements = u128::from(region.elements());
            let holders = self.to.holders(tile);
            for rank in 0..holders.len() {
                if left_out.next_if(|(held, of, _)| (*held, *of) == (index, rank)).is_none() {
                    found(WantedPart { device: holders.get(rank), region, offset })?;
                    offset += elements;
                }
            }
            tiles.advance();
        }
        ControlFlow::Continue(())
    }

    /// Returns the elements of the source tile that `device` needs for its destination tile `tile`,
    /// and the offset of these elements in the sequence. Returns `None` if `device` already holds
    /// the source tile, if `device` does not hold `tile`, or if the two tiles do not overlap.
    pub(super) fn destination(&self, device: u64, tile: u64) -> Option<(Region, u128)> {
        let index = self.grid.index_of(tile)?;
        let rank = self.to.rank_in_tile(device, tile)?;
        if self.source.holds(device, self.tile) {
            return None;
        }
        let region = self.grid.overlap(index);
        let first = self.held.partition_point(|(held, ..)| *held < index);
        let before =
            self.held.partition_point(|(held, of, _)| (*held, *of) < (index, rank)) - first;
        let others = u128::from(rank) - before as u128;
        let offset = self.offset(index) + others * u128::from(region.elements());
        Some((region, offset))
    }

    /// Returns the number of elements in each holder's share, before the boundaries of the shares
    /// are moved to the edges of boxes. The last share may be shorter.
    fn share(&self) -> u128 {
        self.length.div_ceil(self.holders.len().into())
    }

    /// Returns the grid index of the first tile for which `holder` may have to send elements, so
    /// that the search for its transfers can begin there.
    pub(super) fn first_tile(&self, holder: u64) -> u64 {
        let share = self.share();
        let start = (share * u128::from(holder)).saturating_sub(share / SLACK);
        let (mut low, mut high) = (0, self.grid.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset(middle + 1) <= start {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns an offset in the sequence that the share of `holder` does not exceed, even after its
    /// end has been moved to the edge of a box.
    pub(super) fn end(&self, holder: u64) -> u128 {
        let share = self.share();
        share * (u128::from(holder) + 1) + share / SLACK
    }

    /// Splits the elements that one destination needs among the senders. Calls `found` for each
    /// region, with the index of its sender among the holders.
    pub(super) fn pieces(&self, wanted: WantedPart<'_>, mut found: impl FnMut(u64, Region)) {
        let last = self.holders.len() - 1;
        if last == 0 {
            return found(0, wanted.region.clone());
        }
        let share = self.share();
        let slack = share / SLACK;
        let elements = wanted.region.elements();
        let end = wanted.offset + u128::from(elements);
        let holder = |at: u128| u64::try_from(at / share).unwrap_or(u64::MAX).min(last);
        for sender in holder(wanted.offset.saturating_sub(slack))..=holder(end + slack) {
            let start = if sender == 0 { 0 } else { self.cut(wanted, sender) };
            let limit = if sender == last { elements } else { self.cut(wanted, sender + 1) };
            split::each_part(wanted.region, start, limit, &mut |part| found(sender, part));
        }
    }

    /// Returns the offset in `wanted` at which the share of `holder` begins. To avoid splitting
    /// boxes, the offset is moved to an end of `wanted`, or to the end of a row, if one is near
    /// enough. `holder` must not be 0.
    #[expect(clippy::cast_possible_truncation)] // the offset is inside the box
    fn cut(&self, wanted: WantedPart<'_>, holder: u64) -> u64 {
        let share = self.share();
        let slack = share / SLACK;
        let at = share * u128::from(holder);
        let elements = wanted.region.elements();
        if at <= wanted.offset + slack {
            0
        } else if at + slack >= wanted.offset + u128::from(elements) {
            elements
        } else {
            split::near_row_end(wanted.region, (at - wanted.offset) as u64, slack as u64)
        }
    }
}
