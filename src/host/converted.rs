//! Copies of boxes whose units change their element type.
//!
//! A tile is first moved to a buffer in the order of the destination, as if units kept their type,
//! and then converted run by run. If runs are contiguous on both sides, they are converted straight
//! from the source.

use std::fmt;

use smallvec::SmallVec;

use super::{
    bits::Bits,
    box_copy::BoxCopy,
    conversions::UnitConversion,
    machine::Machine,
    packed::pack,
    pieces::{Destination as _, DestinationSlices},
    plan::{Streams, TilePlan},
    plane::{PlanAxis, merged},
    simd::Simd,
    step::each_run,
    tile::byte_index,
};
use crate::nest::{Conversion, CopyNest};

/// The greatest size of a tile on its wider side, in bytes. Both sides of a tile fit the L1 cache
/// together. With more, the second pass reads from the L2 cache; with less, tiles start more often.
const TILE_BYTES: usize = 1 << 14;

/// The number of units of a tile along the source if the orders of the two sides differ: a few
/// cache lines, so that each line of the source is read once.
const SOURCE_UNITS: usize = 64;

/// A copy of a box whose units are converted. Offsets and addresses count units.
pub(super) struct ConvertedCopy {
    units: UnitConversion,
    conversion: Conversion,
    /// The sizes of a unit in the source and in the destination, in bits.
    src: u32,
    dst: u32,
    /// The axes of the box, outermost first, and the number of steps of each in a tile.
    axes: SmallVec<[PlanAxis; 8]>,
    blocks: SmallVec<[usize; 8]>,
    /// The tiles: at place `n`, that of the last block along each axis whose bit is set in `n`. The
    /// bits belong to the axes that blocks do not divide, outermost first.
    tiles: Vec<ConvertedTile>,
}

/// A tile of a box.
struct ConvertedTile {
    /// The plan that moves units to the buffer; `None` if the tile is one run of the source.
    plan: Option<TilePlan>,
    /// The loops around a run, outermost first, with the distances of their steps in the buffer and
    /// in the destination.
    around: SmallVec<[PlanAxis; 8]>,
    /// The number of units in a run, which are contiguous in the buffer and in the destination.
    run: usize,
    /// The number of units in the tile.
    units: usize,
}

/// The buffers of a [`ConvertedCopy`].
#[derive(Default)]
pub(super) struct ConversionBuffers {
    /// The units of a tile before they are converted.
    moved: Vec<u8>,
    /// The units of a run after that, if units of the destination are smaller than a byte.
    run: Vec<u8>,
}

impl ConvertedCopy {
    /// Returns the copy of a box with the given axes, outermost first; `None` if the nest converts
    /// nothing.
    pub(super) fn new(
        machine: &'static Machine,
        nest: &CopyNest,
        axes: impl IntoIterator<Item = PlanAxis>,
    ) -> Option<Self> {
        let conversion = nest.conversion()?;
        let (src, dst) = (nest.src_bits(), nest.dst_bits());
        let mut axes = merged(axes);
        if axes.last().is_none_or(|axis| axis.dst != 1) {
            axes.push(PlanAxis { extent: 1, src: 1, dst: 1 });
        }
        let blocks = blocks(&axes, src.max(dst).div_ceil(8) as usize);
        let partial: SmallVec<[usize; 8]> = (0..axes.len())
            .filter(|&axis| !axes[axis].extent.is_multiple_of(blocks[axis]))
            .collect();
        let tile = |set: usize| {
            let mut extents = blocks.clone();
            for (bit, &axis) in partial.iter().enumerate() {
                if set >> bit & 1 == 1 {
                    extents[axis] = axes[axis].extent % blocks[axis];
                }
            }
            ConvertedTile::new(machine, &axes, &extents, src)
        };
        let tiles = (0..1 << partial.len()).map(tile).collect();
        let units = UnitConversion::new(conversion, src, dst);
        Some(Self { units, conversion, src, dst, axes, blocks, tiles })
    }

    /// Returns about how many bytes the copy occupies.
    pub(super) fn bytes(&self) -> usize {
        let plans = self.tiles.iter().filter_map(|tile| tile.plan.as_ref());
        size_of::<Self>() + plans.map(TilePlan::bytes).sum::<usize>()
    }

    /// Copies the box from unit `from` of the source to the address `to`.
    pub(super) fn run(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        buffers: &mut ConversionBuffers,
    ) {
        self.each_tile(0, (0, 0), from, to, &mut |tile, from, to| {
            let tile = &self.tiles[tile];
            let src = self.src.div_ceil(8) as usize;
            let ConversionBuffers { moved, run } = &mut *buffers;
            let units = match &tile.plan {
                None => &source[byte_index(from) * src..][..tile.units * src],
                Some(plan) => {
                    moved.resize(tile.units * src, 0);
                    let mut slices = DestinationSlices::whole(moved);
                    let destination = &mut slices;
                    if self.src < 8 {
                        let bits = Bits { src: self.src, dst: 8, sign_extend: false };
                        bits.copy(plan, (source, from), (destination, 0), None);
                    } else {
                        let from = from * src.cast_signed();
                        BoxCopy { plan, source, destination, stream: None }.run(from, 0);
                    }
                    drop(slices);
                    &moved[..]
                }
            };
            each_run(&tile.around, 0, to, &mut |from, to| {
                let from = &units[byte_index(from) * src..][..tile.run * src];
                let (slice, place) = destination.place(to);
                if self.dst < 8 {
                    run.resize(tile.run, 0);
                    self.units.run(from, run);
                    return pack(run, slice, place, self.dst);
                }
                let dst = self.dst as usize / 8;
                self.units.run(from, &mut slice[place * dst..][..tile.run * dst]);
            });
        });
    }

    /// Calls `each` for every tile, with its number and the places of its first unit. `axis` is the
    /// outermost axis without a place yet; `set` has the number of the tile so far, and the number
    /// of bits in it.
    fn each_tile(
        &self,
        axis: usize,
        (set, bits): (usize, u32),
        from: isize,
        to: isize,
        each: &mut impl FnMut(usize, isize, isize),
    ) {
        let (Some(of), Some(&block)) = (self.axes.get(axis), self.blocks.get(axis)) else {
            return each(set, from, to);
        };
        let is_partial = !of.extent.is_multiple_of(block);
        let next = bits + u32::from(is_partial);
        for first in (0..of.extent).step_by(block) {
            let is_last = is_partial && first + block > of.extent;
            let set = set | usize::from(is_last) << bits;
            let first = first.cast_signed();
            self.each_tile(axis + 1, (set, next), from + first * of.src, to + first * of.dst, each);
        }
    }
}

impl fmt::Display for ConvertedCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile = &self.tiles[0];
        write!(f, "{}, in runs of {} units, from ", self.conversion, tile.run)?;
        match &tile.plan {
            Some(plan) => write!(f, "tiles of {}: {plan}", tile.units),
            None => write!(f, "the source"),
        }
    }
}

impl ConvertedTile {
    /// Returns the tile with so many steps along each of the axes, of units of `src` bits.
    fn new(machine: &'static Machine, axes: &[PlanAxis], extents: &[usize], src: u32) -> Self {
        let units = extents.iter().product::<usize>();
        let scale = src.div_ceil(8).cast_signed() as isize;
        let (mut apart, mut run, mut joined) = (1_usize, 1, true);
        let (mut around, mut moved) =
            (SmallVec::<[PlanAxis; 8]>::new(), SmallVec::<[PlanAxis; 8]>::new());
        for (axis, &extent) in axes.iter().zip(extents).rev() {
            let step = apart.cast_signed();
            moved.push(PlanAxis { extent, src: axis.src, dst: step });
            joined &= axis.dst == step || extent == 1;
            if joined {
                run *= extent;
            } else {
                around.push(PlanAxis { extent, src: step, dst: axis.dst });
            }
            apart *= extent;
        }
        around.reverse();
        moved.reverse();
        let is_run = src >= 8 && moved.iter().all(|axis| axis.src == axis.dst || axis.extent == 1);
        let plan = (!is_run).then(|| {
            if src < 8 {
                return TilePlan::new(moved, 1, None, Streams::none(machine));
            }
            let scaled = moved.iter().map(|axis| PlanAxis {
                extent: axis.extent,
                src: axis.src * scale,
                dst: axis.dst * scale,
            });
            TilePlan::new(scaled, scale.unsigned_abs(), Simd::best(machine), Streams::none(machine))
        });
        Self { plan, around, run, units }
    }
}

/// Returns the number of steps in a tile along each of the axes, of units of `bytes` bytes.
fn blocks(axes: &[PlanAxis], bytes: usize) -> SmallVec<[usize; 8]> {
    let mut blocks: SmallVec<[usize; 8]> = SmallVec::from_elem(1, axes.len());
    let mut room = TILE_BYTES / bytes;
    // Along the source first, unless its order is that of the destination.
    let mut by_source: SmallVec<[usize; 8]> =
        (0..axes.len()).filter(|&axis| axes[axis].src != 0).collect();
    by_source.sort_by_key(|&axis| axes[axis].src.abs());
    let mut wanted = SOURCE_UNITS;
    for axis in by_source {
        if wanted <= 1 {
            break;
        }
        blocks[axis] = even(axes[axis].extent, wanted);
        wanted /= axes[axis].extent;
        room /= blocks[axis];
    }
    for axis in (0..axes.len()).rev() {
        room *= blocks[axis];
        blocks[axis] = even(axes[axis].extent, room).max(blocks[axis]);
        room /= blocks[axis];
        if blocks[axis] < axes[axis].extent {
            break;
        }
    }
    blocks
}

/// Returns the number of steps of a block: at most `most`, and such that the last block is about as
/// long as the others.
fn even(extent: usize, most: usize) -> usize {
    let most = most.max(1);
    let count = extent.div_ceil(most);
    let block = extent.div_ceil(count);
    if block >= 128 { block.next_multiple_of(64).min(most).min(extent) } else { block }
}
