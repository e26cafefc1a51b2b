//! [`Block`]: the units that one invocation of a kernel moves.

use smallvec::SmallVec;

use super::AdapterKind;
use crate::nest::{Affine, CopyNest, Value, split_off};

/// The units that one invocation moves: a rectangle of two axes, or a run of one.
///
/// An invocation loads `rows` runs of `width` neighbouring units of the source and stores `width` runs of `rows`
/// neighbouring units of the destination. Without a source axis the run is the same on both sides: `width` is 1.
///
/// Blocks come from [`candidates`](super::candidates) alone, and nothing about them can be changed:
///
/// ```compile_fail,E0616
/// use stridec::{Operation, Target, schedule::candidates};
/// # let operation = Operation::relayout("f32[8,8]".parse()?, "f32[8,8]{0,1}".parse()?)?;
/// let candidate = candidates(operation.nest().clone(), &Target::webgpu()).remove(0);
/// let mut block = candidate.block().unwrap().clone();
/// block.rows = 1024;
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    pub(super) nest: CopyNest,
    /// The axis of the nest that the block's runs of the destination were split off from, and that now counts them.
    dst_runs: usize,
    dst_axis: usize,
    rows: u64,
    /// The axis that the runs of the source were split off from and that counts them, and the axis of the run.
    src_axes: Option<(usize, usize)>,
    width: u64,
    load: u64,
    store: u64,
}

impl Block {
    /// A run of `rows` units along the innermost axis; the source walks it with any stride.
    pub(super) fn run(nest: &CopyNest, rows: u64) -> Option<Self> {
        let inner = nest.extents().len() - 1;
        let nest = split_off(nest, inner, rows)?;
        let (dst_runs, dst_axis) = (inner, inner + 1);
        let is_contiguous = nest.src().weight(Value::Axis(dst_axis)) == 1 || rows == 1;
        let load = if is_contiguous { load_units(&nest, dst_axis, rows) } else { 1 };
        let store = store_units(&nest, rows);
        Some(Self { nest, dst_runs, dst_axis, rows, src_axes: None, width: 1, load, store })
    }

    /// A rectangle of `rows` units along the innermost axis and `width` along `src_axis`.
    pub(super) fn rectangle(
        nest: &CopyNest,
        src_axis: usize,
        rows: u64,
        width: u64,
    ) -> Option<Self> {
        let inner = nest.extents().len() - 1;
        let nest = split_off(nest, inner, rows)?;
        let nest = split_off(&nest, src_axis, width)?;
        let (src_runs, src_axis) = (src_axis, src_axis + 1);
        let (dst_runs, dst_axis) = (inner + 1, inner + 2);
        let load = load_units(&nest, src_axis, width);
        let store = store_units(&nest, rows);
        let src_axes = Some((src_runs, src_axis));
        Some(Self { nest, dst_runs, dst_axis, rows, src_axes, width, load, store })
    }

    /// The nest, the block's axes split off.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// The axis of [`rows`](Self::rows) steps along which the destination's units are neighbours; the innermost of the
    /// nest.
    #[must_use]
    pub fn dst_axis(&self) -> usize {
        self.dst_axis
    }

    /// Units of a run of the destination.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The axis of [`width`](Self::width) steps along which the source's units are neighbours, where it is another one.
    #[must_use]
    pub fn src_axis(&self) -> Option<usize> {
        self.src_axes.map(|(_, axis)| axis)
    }

    /// The axis that counts the runs of the source, where the source has an axis of its own.
    pub(crate) fn src_runs(&self) -> Option<usize> {
        self.src_axes.map(|(runs, _)| runs)
    }

    /// Units of a run of the source.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Units that one access of the source takes.
    #[must_use]
    pub fn load(&self) -> u64 {
        self.load
    }

    /// Units that one access of the destination takes.
    #[must_use]
    pub fn store(&self) -> u64 {
        self.store
    }

    /// The source's offset of a block's first unit.
    #[doc(hidden)]
    #[must_use]
    pub fn src(&self) -> Affine {
        let first = |src: Affine, axis| src.substitute(Value::Axis(axis), &Affine::default());
        let src = first(self.nest.src().clone(), self.dst_axis);
        match self.src_axis() {
            Some(axis) => first(src, axis),
            None => src,
        }
    }

    /// Runs of the source that a block loads: one for each row of a rectangle.
    #[doc(hidden)]
    #[must_use]
    pub fn source_runs(&self) -> u64 {
        if self.src_axes.is_some() { self.rows } else { 1 }
    }

    /// Accesses that one run of the source takes; words where it does not start at a whole one.
    #[doc(hidden)]
    #[must_use]
    pub fn loads_of_run(&self) -> u64 {
        let units = if self.src_axes.is_some() { self.width } else { self.rows };
        units / self.loaded_units()
    }

    /// Units of the source from one access of a run to the next.
    pub(crate) fn load_step(&self) -> i64 {
        match self.src_axes {
            None if self.load == 1 => self.nest.src().weight(Value::Axis(self.dst_axis)),
            _ => self.load.cast_signed(),
        }
    }

    /// Units in one loaded value: an access, or a word that was shifted into place.
    #[doc(hidden)]
    #[must_use]
    pub fn loaded_units(&self) -> u64 {
        if self.is_word_aligned() { self.load } else { u64::from(32 / self.nest.src_bits()) }
    }

    /// Axes of the nest that number the blocks, outermost first.
    pub(crate) fn outer(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.nest.extents().len())
            .filter(|&axis| axis != self.dst_axis && Some(axis) != self.src_axis())
    }

    /// How a block's number gives its position: digits, the fastest first.
    ///
    /// Neighbouring invocations take neighbouring runs of the source, then of the destination, in a patch that moves
    /// whole memory transactions on a GPU and stays in the first-level cache on a CPU.
    #[doc(hidden)]
    #[must_use]
    pub fn lanes(&self, kind: AdapterKind) -> SmallVec<[Lane; 8]> {
        let extent = |axis: usize| self.nest.extents()[axis];
        let whole = |axis| Lane { axis, extent: extent(axis), step: 1 };
        let dst_runs = self.dst_runs;
        let Some(src_runs) = self.src_runs() else {
            return self.outer().rev().map(whole).filter(|lane| lane.extent > 1).collect();
        };
        let rest = self.outer().rev().filter(|&axis| axis != src_runs && axis != dst_runs);
        let mut lanes: SmallVec<[Lane; 8]> = SmallVec::new();
        let (src_most, dst_most) = match kind {
            AdapterKind::Gpu => (8, 4),
            AdapterKind::Cpu => (16, 16),
        };
        let part = |axis, most: u64| {
            (1..=most).rev().find(|&n| extent(axis).is_multiple_of(n)).unwrap_or(1)
        };
        let (src_part, dst_part) = (part(src_runs, src_most), part(dst_runs, dst_most));
        lanes.extend([
            Lane { axis: src_runs, extent: src_part, step: 1 },
            Lane { axis: dst_runs, extent: dst_part, step: 1 },
            Lane { axis: src_runs, extent: extent(src_runs) / src_part, step: src_part },
            Lane { axis: dst_runs, extent: extent(dst_runs) / dst_part, step: dst_part },
        ]);
        lanes.extend(rest.map(whole));
        lanes.retain(|lane| lane.extent > 1);
        lanes
    }

    /// Steps of the original axis that one step of an axis of [`outer`](Self::outer) takes.
    pub(crate) fn step_of(&self, axis: usize) -> u64 {
        match axis {
            axis if axis == self.dst_runs => self.rows,
            axis if Some(axis) == self.src_runs() => self.width,
            _ => 1,
        }
    }

    /// Number of blocks.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.outer().map(|axis| self.nest.extents()[axis]).product()
    }

    /// Whether the source's run starts at whole words of the source.
    pub(crate) fn is_word_aligned(&self) -> bool {
        self.load * u64::from(self.nest.src_bits()) >= 32
    }
}

/// One digit of a block's number: `extent` values, each `step` positions along an axis of the nest.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The axis that the digit moves along.
    pub axis: usize,
    /// Number of values.
    pub extent: u64,
    /// Positions that one step of the digit moves.
    pub step: u64,
}

/// Units of the widest aligned access, of 16 bytes at most, to a run of `run` units along `axis` of the source.
fn load_units(nest: &CopyNest, axis: usize, run: u64) -> u64 {
    let others: SmallVec<[i64; 8]> = nest
        .src()
        .terms()
        .iter()
        .filter(|term| term.0 != Value::Axis(axis))
        .map(|term| term.1)
        .chain([nest.src().offset()])
        .collect();
    accesses(nest.src_bits())
        .find(|&units| {
            let units = i64::from(units);
            run.is_multiple_of(units.unsigned_abs())
                && others.iter().all(|weight| weight % units == 0)
        })
        .map_or(1, u64::from)
}

/// Units of the widest access, of 16 bytes at most, to a run of `run` units of the destination.
fn store_units(nest: &CopyNest, run: u64) -> u64 {
    accesses(nest.dst_bits())
        .map(u64::from)
        .find(|&units| run.is_multiple_of(units) && nest.dst_units().is_multiple_of(units))
        .unwrap_or(1)
}

/// Units of accesses of 16, 8 and 4 bytes; none of less than a unit.
fn accesses(bits: u32) -> impl Iterator<Item = u32> {
    [128, 64, 32].into_iter().filter(move |&access| access >= bits).map(move |access| access / bits)
}
