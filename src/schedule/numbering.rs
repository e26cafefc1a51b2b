//! The order of blocks. A *block* is the part of a copy that one invocation moves, and the order
//! decides which blocks neighbouring invocations move.
//!
//! Invocations that run together should touch neighbouring memory, in the source and in the
//! destination. In a transpose, blocks in the order of the source's rows would scatter the stores,
//! and blocks in the order of the destination's rows would scatter the loads. Therefore blocks are
//! ordered in patches, such as 8 blocks along the source by 4 along the destination.

use smallvec::{SmallVec, smallvec};

use super::{AdapterKind, Block, block::BlockAxis};

/// The order in which blocks are assigned to neighbouring invocations: some blocks along the
/// contiguous axes of the source, then some along the contiguous axes of the destination, and so
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockOrder(&'static [OrderStep]);

/// One step of a [`BlockOrder`]. It extends the patch that the steps before it cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OrderStep {
    /// Up to this many blocks along the contiguous axes of the source.
    Src(u64),
    /// Up to this many blocks along the contiguous axes of the destination.
    Dst(u64),
    /// Blocks along the contiguous axes of the source, until they together read about this number
    /// of contiguous bytes.
    SrcBytes(u64),
    /// Blocks along the contiguous axes of the destination, until they together write about this
    /// number of contiguous bytes.
    DstBytes(u64),
    /// All remaining blocks along the next axis of the source.
    SrcAxis,
}

impl BlockOrder {
    /// Returns the orders to choose from. A new block has the first one.
    ///
    /// On a GPU, the orders fill whole sectors and cache lines of both sides with the accesses of a
    /// warp and of a workgroup. The loads of a workgroup share a cache, but the stores of a warp do
    /// not wait for the stores of other warps. Which side needs the longer runs depends on the
    /// block and on the extents, so the cost model compares the orders. The last order extends
    /// patches along the source and along the destination in turns. Without it, an H100 needs 1.02
    /// times as long for the operations of `--cases sweep` and the transposes of TTC.
    ///
    /// On a CPU, the invocations of one vector either store to contiguous memory or load from it.
    /// In the first order, the next invocations continue along the same run of the destination,
    /// until it is long enough for the processor to prefetch its lines. The invocations after these
    /// continue along the rows of the source for an equally long distance, before others read new
    /// rows. Only a few pages of memory are therefore in use at a time.
    ///
    /// If no units of a block are contiguous, blocks are moved in the order of the destination.
    pub(super) fn all(kind: AdapterKind) -> &'static [Self] {
        use OrderStep::{Dst, DstBytes, Src, SrcAxis, SrcBytes};
        match kind {
            AdapterKind::Gpu => &[
                Self(&[Src(8), Dst(4), SrcAxis]),
                Self(&[DstBytes(128), SrcAxis]),
                Self(&[]),
                Self(&[DstBytes(64), SrcBytes(64), DstBytes(256), SrcBytes(256)]),
            ],
            AdapterKind::Cpu => &[
                Self(&[DstBytes(1024), SrcBytes(1024)]),
                Self(&[SrcBytes(256), DstBytes(256), SrcAxis]),
            ],
        }
    }
}

/// A part of a block's index, such as `block / 8 % 4`, that counts blocks along one axis. The index
/// is split like a mixed-radix number, so its parts are called digits. Together they give the
/// position of the block along every axis of the tiled nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockDigit {
    /// The axis of the tiled nest along which the digit counts.
    pub axis: usize,
    /// The number of values of the digit.
    pub extent: u64,
    /// The number of steps along the axis that correspond to an increase of the digit by 1.
    pub step: u64,
}

impl Block {
    /// Returns the digits of a block's index, the fastest-varying first. From these, a kernel
    /// computes the position of the block along each axis.
    #[must_use]
    pub fn digits(&self) -> SmallVec<[BlockDigit; 8]> {
        let mut by_source: SmallVec<[usize; 8]> =
            (0..self.axes.len()).filter(|&axis| self.axes[axis].src_stride != 0).collect();
        by_source.sort_by_key(|&axis| self.axes[axis].src_stride.unsigned_abs());
        let inner = (0..self.axes.len()).rev();
        let left = self.axes.iter().map(BlockAxis::count).collect();
        let step = smallvec![1; self.axes.len()];
        let mut digits = DigitBuilder { axes: &self.axes, step, left, digits: SmallVec::new() };
        let [src_bits, dst_bits] = [self.nest.src_bits(), self.nest.dst_bits()].map(u64::from);
        for &order_step in self.order.0 {
            match order_step {
                OrderStep::Src(most) => digits.take(by_source.iter().copied(), most),
                OrderStep::Dst(most) => digits.take(inner.clone(), most),
                OrderStep::SrcBytes(bytes) => {
                    let stride = |block_axis: &BlockAxis| block_axis.src_stride.unsigned_abs();
                    digits.reach(by_source.iter().copied(), bytes * 8 / src_bits, stride);
                }
                OrderStep::DstBytes(bytes) => {
                    digits.reach(inner.clone(), bytes * 8 / dst_bits, |block_axis| {
                        block_axis.dst_stride
                    });
                }
                OrderStep::SrcAxis => {
                    let mut axes = by_source.iter().copied();
                    if let Some(axis) = axes.find(|&axis| digits.left[axis] > 1) {
                        digits.add(axis, digits.left[axis]);
                    }
                }
            }
        }
        // The other blocks follow in the order of the destination.
        for axis in inner {
            digits.add(axis, digits.left[axis]);
        }
        let mut digits = digits.digits;
        // Merge consecutive digits of one axis.
        digits.dedup_by(|next, digit| {
            let follows = next.axis == digit.axis && next.step == digit.step * digit.extent;
            if follows {
                digit.extent *= next.extent;
            }
            follows
        });
        for digit in &mut digits {
            // The digit of a whole axis must not extend past its end.
            digit.extent = digit.extent.min(self.axes[digit.axis].count());
            digit.axis = self.axes[digit.axis].number;
        }
        digits
    }

    /// Returns the number of block indices, which is the product of the extents of all digits. It
    /// exceeds the number of blocks if the digits do not divide an axis. Some indices then lead
    /// past the end of the axis and have no block.
    #[must_use]
    pub fn numbers(&self) -> u64 {
        self.digits().iter().map(|digit| digit.extent).product()
    }

    /// Returns the axes along which some block indices lead past the end. A kernel must test the
    /// position of a block along them.
    pub fn overrun_axes(&self) -> impl Iterator<Item = &BlockAxis> {
        let digits = self.digits();
        self.axes.iter().filter(move |block_axis| {
            let along = digits.iter().filter(|digit| digit.axis == block_axis.number);
            along.map(|digit| digit.extent).product::<u64>() > block_axis.count()
        })
    }

    /// Sets the order in which blocks are assigned to invocations.
    pub(super) fn set_order(&mut self, order: BlockOrder) {
        self.order = order;
    }
}

/// The digits of a block's index while they are chosen, the fastest-varying first. Here, `axis` of
/// a digit is an index into `axes`.
struct DigitBuilder<'a> {
    axes: &'a [BlockAxis],
    /// The number of blocks along each axis that the next digit of this axis counts as 1.
    step: SmallVec<[u64; 8]>,
    /// The number of values along each axis that the remaining digits must have together. At 1, the
    /// axis needs no other digit.
    left: SmallVec<[u64; 8]>,
    digits: SmallVec<[BlockDigit; 8]>,
}

impl DigitBuilder<'_> {
    /// Adds a digit of `part` values along an axis. If `part` does not divide the number of blocks
    /// left, some block indices lead past the end of the axis.
    fn add(&mut self, axis: usize, part: u64) {
        if part > 1 {
            self.digits.push(BlockDigit { axis, extent: part, step: self.step[axis] });
            self.step[axis] *= part;
            self.left[axis] = self.left[axis].div_ceil(part);
        }
    }

    /// Adds digits along some axes, in their order, for at most `most` blocks together. Each digit
    /// divides its axis, so that no block index leads past the end.
    fn take(&mut self, axes: impl Iterator<Item = usize>, mut most: u64) {
        for axis in axes {
            if most == 1 {
                return;
            }
            let divides = |part: &u64| self.left[axis].is_multiple_of(*part);
            let part = (1..=most).rev().find(divides).unwrap_or(1);
            self.add(axis, part);
            most = (most / part).max(1);
            if self.left[axis] > 1 {
                return;
            }
        }
    }

    /// Adds digits along some axes, in their order, until about `units` units are contiguous.
    /// `stride` returns the distance of one step along an axis, in units.
    fn reach(
        &mut self,
        axes: impl Iterator<Item = usize>,
        units: u64,
        stride: impl Fn(&BlockAxis) -> u64,
    ) {
        for axis in axes {
            let block_axis = &self.axes[axis];
            let distance =
                stride(block_axis).saturating_mul(block_axis.steps).saturating_mul(self.step[axis]);
            let wanted = units / distance.max(1);
            if wanted <= 1 {
                return;
            }
            self.add(axis, about(wanted, self.left[axis]));
            if self.left[axis] > 1 {
                return;
            }
        }
    }
}

/// Chooses the number of values of a digit along an axis with `left` remaining blocks. The result
/// is close to `wanted`, and such that few block indices lead past the end of the axis. If `left`
/// is at most about twice `wanted`, the digit covers all remaining blocks.
fn about(wanted: u64, left: u64) -> u64 {
    if left / 2 <= wanted {
        return left;
    }
    let idle = |part: &u64| left.next_multiple_of(*part) - left;
    if idle(&wanted) * 32 <= left {
        return wanted;
    }
    let parts = (wanted * 3 / 4).max(1)..=wanted * 3 / 2;
    parts.rev().min_by_key(idle).unwrap_or(wanted)
}
