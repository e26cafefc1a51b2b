use smallvec::SmallVec;

use super::AdapterKind;
use crate::nest::{Affine, CopyNest, Value, split_off};

/// The units that one invocation moves: a rectangle of two axes, or a run of one.
///
/// An invocation loads `rows` runs of `width` neighbouring units of the source and stores `width` runs of `rows`
/// neighbouring units of the destination. Without a source axis the run is the same on both sides: `width` is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The nest, the block's axes split off.
    pub nest: CopyNest,
    /// The axis of `rows` steps along which the destination's units are neighbours; the innermost of the nest.
    pub dst_axis: usize,
    /// Units of a run of the destination.
    pub rows: u64,
    /// The axis of `width` steps along which the source's units are neighbours, where it is another one.
    pub src_axis: Option<usize>,
    /// Units of a run of the source.
    pub width: u64,
    /// Units that one access of the source takes.
    pub load: u64,
    /// Units that one access of the destination takes.
    pub store: u64,
}

impl Block {
    /// A run of `rows` units along the innermost axis; the source walks it with any stride.
    pub(super) fn run(nest: &CopyNest, rows: u64) -> Option<Self> {
        let inner = nest.extents.len() - 1;
        let nest = split_off(nest, inner, rows)?;
        let dst_axis = inner + 1;
        let is_contiguous = nest.src.weight(Value::Axis(dst_axis)) == 1 || rows == 1;
        let load = if is_contiguous { load_units(&nest, dst_axis, rows) } else { 1 };
        let store = store_units(&nest, rows);
        Some(Self { nest, dst_axis, rows, src_axis: None, width: 1, load, store })
    }

    /// A rectangle of `rows` units along the innermost axis and `width` along `src_axis`.
    pub(super) fn rectangle(
        nest: &CopyNest,
        src_axis: usize,
        rows: u64,
        width: u64,
    ) -> Option<Self> {
        let inner = nest.extents.len() - 1;
        let nest = split_off(nest, inner, rows)?;
        let nest = split_off(&nest, src_axis, width)?;
        let (dst_axis, src_axis) = (inner + 2, src_axis + 1);
        let load = load_units(&nest, src_axis, width);
        let store = store_units(&nest, rows);
        Some(Self { nest, dst_axis, rows, src_axis: Some(src_axis), width, load, store })
    }

    /// The source's offset of a block's first unit.
    #[must_use]
    pub fn src(&self) -> Affine {
        let first = |src: Affine, axis| src.substitute(Value::Axis(axis), &Affine::default());
        let src = first(self.nest.src.clone(), self.dst_axis);
        match self.src_axis {
            Some(axis) => first(src, axis),
            None => src,
        }
    }

    /// Runs of the source that a block loads: one for each row of a rectangle.
    #[must_use]
    pub fn source_runs(&self) -> u64 {
        if self.src_axis.is_some() { self.rows } else { 1 }
    }

    /// Accesses that one run of the source takes; words where it does not start at a whole one.
    #[must_use]
    pub fn loads_of_run(&self) -> u64 {
        let units = if self.src_axis.is_some() { self.width } else { self.rows };
        units / self.loaded_units()
    }

    /// Units of the source from one access of a run to the next.
    #[must_use]
    pub fn load_step(&self) -> i64 {
        match self.src_axis {
            None if self.load == 1 => self.nest.src.weight(Value::Axis(self.dst_axis)),
            _ => self.load.cast_signed(),
        }
    }

    /// Units in one loaded value: an access, or a word that was shifted into place.
    #[must_use]
    pub fn loaded_units(&self) -> u64 {
        if self.is_word_aligned() { self.load } else { u64::from(32 / self.nest.src_bits) }
    }

    /// Axes of the nest that number the blocks, outermost first.
    #[must_use]
    pub fn outer(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.nest.extents.len())
            .filter(|&axis| axis != self.dst_axis && Some(axis) != self.src_axis)
    }

    /// How a block's number gives its position: digits, the fastest first.
    ///
    /// Neighbouring invocations take neighbouring runs of the source, then of the destination, in a patch that moves
    /// whole memory transactions on a GPU and stays in the first-level cache on a CPU.
    #[must_use]
    pub fn lanes(&self, kind: AdapterKind) -> SmallVec<[Lane; 8]> {
        let extent = |axis: usize| self.nest.extents[axis];
        let whole = |axis| Lane { axis, extent: extent(axis), step: 1 };
        let Some(src_axis) = self.src_axis else {
            return self.outer().rev().map(whole).filter(|lane| lane.extent > 1).collect();
        };
        let (src_runs, dst_runs) = (src_axis - 1, self.dst_axis - 1);
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

    /// Number of blocks.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.outer().map(|axis| self.nest.extents[axis]).product()
    }

    /// Whether the source's run starts at whole words of the source.
    #[must_use]
    pub fn is_word_aligned(&self) -> bool {
        self.load * u64::from(self.nest.src_bits) >= 32
    }
}

/// One digit of a block's number: `extent` values, each `step` positions along an axis of the nest.
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
        .src
        .terms()
        .iter()
        .filter(|term| term.0 != Value::Axis(axis))
        .map(|term| term.1)
        .chain([nest.src.offset()])
        .collect();
    accesses(nest.src_bits)
        .find(|&units| {
            let units = i64::from(units);
            run.is_multiple_of(units.unsigned_abs())
                && others.iter().all(|weight| weight % units == 0)
        })
        .map_or(1, u64::from)
}

/// Units of the widest access, of 16 bytes at most, to a run of `run` units of the destination.
fn store_units(nest: &CopyNest, run: u64) -> u64 {
    accesses(nest.dst_bits)
        .map(u64::from)
        .find(|&units| run.is_multiple_of(units) && nest.dst_elements.is_multiple_of(units))
        .unwrap_or(1)
}

/// Units of accesses of 16, 8 and 4 bytes; none of less than a unit.
fn accesses(bits: u32) -> impl Iterator<Item = u32> {
    [128, 64, 32].into_iter().filter(move |&access| access >= bits).map(move |access| access / bits)
}
