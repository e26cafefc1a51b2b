//! Copies boxes whose units change their element type. A *box* is a range of loop steps that read
//! at constant strides, and a *unit* is an element.
//!
//! A tile is first moved to a buffer in the order of the destination, as if units kept their type,
//! and then converted run by run. If runs are contiguous on both sides, they are converted straight
//! from the source.

use std::fmt;

use smallvec::SmallVec;

use super::{
    bits::{Bits, CYCLES_OF_BYTES},
    box_copy::BoxCopy,
    conversions::UnitConversion,
    machine::Machine,
    packed::pack,
    pieces::{Destination as _, DestinationSlices},
    plan::{Streams, TilePlan},
    plane::{PlanAxis, merged},
    simd::Simd,
    staged::{StagedCopy, StagingBuffers},
    step::each_run,
    stream::{LINE, Stream},
    tile::byte_index,
};
use crate::nest::{Conversion, CopyNest};

/// The greatest size of a tile in bytes, on the side with the wider type. A tile and its buffer fit
/// the L1 cache together. With larger tiles, the second pass reads from the L2 cache; with smaller
/// ones, starting tiles takes more time.
const TILE_BYTES: usize = 1 << 15;

/// The size of a tile along the source in bytes, if the two sides have different orders. It is a
/// cache line, so that each line of the source is read only once or twice. A larger value makes the
/// runs of the destination shorter.
const SOURCE_BYTES: usize = LINE;

/// The granularity, in units along the source, of tiles of units below a byte. Only a tile that
/// covers the whole axis may have another length. The lines of such a tile start at whole bytes, so
/// that they can be unpacked in registers.
const PACKED_UNITS: usize = 64;

/// The shortest run of the destination that is streamed, in bytes. Shorter ones consist mostly of
/// partial lines.
const LEAST_STREAMED: usize = 1 << 8;

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
    /// The tiles in all sizes that occur: the last block along an axis is shorter than the others
    /// if blocks do not divide the axis. Each such axis has one bit of the index into this list,
    /// and the outermost has the lowest bit. The bit is set for tiles in the last block of that
    /// axis.
    tiles: Vec<ConvertedTile>,
}

/// The code that moves the units of a tile to the buffer.
enum UnitMover {
    /// The mover of units of whole bytes, and of units below a byte in long runs or large matrices.
    Plan(Box<TilePlan>),
    /// The mover of other units below a byte, which are unpacked in a buffer before they are moved.
    Staged(Box<StagedCopy>),
}

/// A tile of a box.
struct ConvertedTile {
    /// The code that moves units to the buffer; `None` if the tile is one run of the source.
    mover: Option<UnitMover>,
    /// The loops around a run, outermost first. Their source distances count units of the buffer.
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
    /// The units of a run after they are converted, if they are packed or streamed.
    run: Vec<u8>,
    staging: StagingBuffers,
}

impl ConvertedCopy {
    /// Returns the copy of a box with the given axes, outermost first. Returns `None` if the nest
    /// does not convert units.
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
        let blocks = blocks(&axes, src as usize, dst as usize);
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

    /// Returns the approximate memory that the copy occupies, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |mover: &UnitMover| match mover {
            UnitMover::Plan(plan) => plan.bytes(),
            UnitMover::Staged(copy) => copy.bytes(),
        };
        let movers = self.tiles.iter().filter_map(|tile| tile.mover.as_ref());
        size_of::<Self>() + movers.map(bytes).sum::<usize>()
    }

    /// Copies the box from unit `from` of the source to address `to`.
    pub(super) fn run(
        &self,
        (source, from): (&[u8], isize),
        (destination, to): (&mut DestinationSlices, isize),
        (buffers, stream): (&mut ConversionBuffers, Option<&Stream>),
    ) {
        self.each_tile(0, (0, 0), from, to, &mut |tile, from, to| {
            let tile = &self.tiles[tile];
            let src = self.src.div_ceil(8) as usize;
            let ConversionBuffers { moved, run, staging } = &mut *buffers;
            let units = match &tile.mover {
                None => &source[byte_index(from) * src..][..tile.units * src],
                Some(mover) => {
                    moved.resize(tile.units * src, 0);
                    let mut slices = DestinationSlices::whole(moved);
                    let destination = &mut slices;
                    let bits = Bits { src: self.src, dst: 8, sign_extend: false };
                    match mover {
                        UnitMover::Plan(plan) if self.src < 8 => {
                            bits.copy(plan, (source, from), (destination, 0), None);
                        }
                        UnitMover::Plan(plan) => {
                            let from = from * src.cast_signed();
                            BoxCopy { plan, source, destination, stream: None }.run(from, 0);
                        }
                        UnitMover::Staged(copy) => {
                            copy.run_packed(bits, (source, from), (destination, 0), staging);
                        }
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
                let to = &mut slice[place * dst..][..tile.run * dst];
                match stream.filter(|_| to.len() >= LEAST_STREAMED) {
                    Some(stream) => {
                        run.resize(to.len(), 0);
                        self.units.run(from, run);
                        stream.copy(to, run);
                    }
                    None => self.units.run(from, to),
                }
            });
        });
    }

    /// Calls `each` for every tile, with its index in `tiles`, its first source unit, and its
    /// destination address. The calls are nested by axis: `axis` is the axis whose blocks are
    /// visited next, `set` has the bits of the index that the axes outside `axis` determine, and
    /// `bits` is the number of these bits.
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
        match &tile.mover {
            Some(UnitMover::Plan(plan)) => write!(f, "tiles of {}: {plan}", tile.units),
            Some(UnitMover::Staged(copy)) => write!(f, "tiles of {}: {copy}", tile.units),
            None => write!(f, "the source"),
        }
    }
}

impl ConvertedTile {
    /// Returns the tile with `extents` steps along the axes, of units of `src` bits.
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
        let mover = (!is_run).then(|| {
            let simd = Simd::best(machine);
            if src < 8 {
                let bits = Bits { src, dst: 8, sign_extend: false };
                let plan = TilePlan::new(moved.clone(), 1, None, Streams::none(machine));
                if bits.moves_runs(&plan) || bits.cycles_of_matrix(&plan, simd) <= CYCLES_OF_BYTES {
                    return UnitMover::Plan(plan.into());
                }
                return UnitMover::Staged(StagedCopy::of_packed(machine, moved).into());
            }
            let scaled = moved.iter().map(|axis| PlanAxis {
                extent: axis.extent,
                src: axis.src * scale,
                dst: axis.dst * scale,
            });
            let plan = TilePlan::new(scaled, scale.unsigned_abs(), simd, Streams::none(machine));
            UnitMover::Plan(plan.into())
        });
        Self { mover, around, run, units }
    }
}

/// Returns the number of steps of a tile along each of the axes. Units have `src` bits in the
/// source and `dst` bits in the destination.
fn blocks(axes: &[PlanAxis], src: usize, dst: usize) -> SmallVec<[usize; 8]> {
    let mut blocks: SmallVec<[usize; 8]> = SmallVec::from_elem(1, axes.len());
    let mut room = TILE_BYTES / src.max(dst).div_ceil(8);
    // First let the tile grow along the source, unless both sides have the same order.
    let mut by_source: SmallVec<[usize; 8]> =
        (0..axes.len()).filter(|&axis| axes[axis].src != 0).collect();
    by_source.sort_by_key(|&axis| axes[axis].src.abs());
    let mut wanted = SOURCE_BYTES * 8 / src;
    for axis in by_source {
        if wanted <= 1 {
            break;
        }
        blocks[axis] = even(axes[axis].extent, wanted);
        if src < 8 && blocks[axis] < axes[axis].extent {
            blocks[axis] = blocks[axis].next_multiple_of(PACKED_UNITS);
        }
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

/// Returns the number of steps of a block. It is at most `most`, and makes the last block about as
/// long as the others.
fn even(extent: usize, most: usize) -> usize {
    let most = most.max(1);
    let count = extent.div_ceil(most);
    let block = extent.div_ceil(count);
    if block >= 128 { block.next_multiple_of(64).min(most).min(extent) } else { block }
}
