//! [`candidates`]: the kernels that are possible for a nest, each with its estimated cost.
//!
//! This file lists the divisions of a copy that may be fast. Most are into blocks, such as 4 rows
//! by 4 columns, one for each invocation. The cost model then compares the divisions.

use std::{fmt, sync::Arc};

use smallvec::{SmallVec, smallvec};

use super::{
    AdapterKind, Block, RowAlignment, RowSegments, Strategy, Target, WholeRows, WordRuns,
    accesses::SECTOR_BYTES,
    cost,
    load::accesses,
    numbering::BlockOrder,
    steps::{run_of, source_order, take},
};
use crate::nest::{ACCESS_BYTES, CopyAxis, CopyNest, Gaps, Interleaved, Value, gcd, interleaved};

/// A division of a nest among the invocations of a kernel, and its estimated cost.
///
/// Only [`candidates`] creates candidates, and they cannot be changed:
///
/// ```compile_fail,E0451
/// use stridec::{Operation, Target, schedule::{Candidate, candidates}};
/// # let operation = Operation::relayout("f32[8,8]".parse()?, "f32[8,8]{0,1}".parse()?)?;
/// let candidate = candidates(operation.nest().clone(), &Target::webgpu()).remove(0);
/// let forged = Candidate { cost: 0, ..candidate };
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub(super) strategy: Strategy,
    pub(super) body: Body,
    pub(super) reason: &'static str,
    cost: u64,
}

/// The division of the work of a kernel among its invocations: into blocks, into parts of rows that
/// come from one source each, into whole rows, or, in a gather, into words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    Block(Box<Block>),
    Segments(Box<RowSegments>),
    Rows(WholeRows),
    Nest(Arc<CopyNest>),
}

impl Body {
    pub(super) fn nest(&self) -> &CopyNest {
        match self {
            Self::Block(block) => block.nest(),
            Self::Segments(segments) => &segments.nest,
            Self::Rows(rows) => &rows.nest,
            Self::Nest(nest) => nest,
        }
    }

    pub(super) fn block(&self) -> Option<&Block> {
        match self {
            Self::Block(block) => Some(block),
            _ => None,
        }
    }

    pub(super) fn segments(&self) -> Option<&RowSegments> {
        match self {
            Self::Segments(segments) => Some(segments),
            _ => None,
        }
    }

    pub(super) fn rows(&self) -> Option<&WholeRows> {
        match self {
            Self::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns the cost for each word of the destination by the cost model of `target`, in
    /// hundredths of an operation. The kernel copies the nest `repeats` times.
    pub(super) fn cost(&self, target: &Target, repeats: u64) -> u64 {
        match self {
            Self::Block(block) => cost::of_block(block, target, repeats),
            Self::Segments(segments) => cost::of_segments(segments, &target.model),
            Self::Rows(WholeRows { nest, .. }) | Self::Nest(nest) => {
                cost::of_gather(nest, &target.model, repeats)
            }
        }
    }

    /// Returns true if a source and a destination of these sizes in bytes consist of whole
    /// accesses, so that no access reaches past the end of either.
    pub(super) fn stays_inside(&self, [source, destination]: [u64; 2]) -> bool {
        let bits = |nest: &CopyNest| [nest.src_bits(), nest.dst_bits()].map(u64::from);
        let [load, store] = match self {
            Self::Block(block) => {
                let [src_bits, dst_bits] = bits(block.nest());
                [block.load() * src_bits, block.store() * dst_bits]
            }
            Self::Segments(_) => [ACCESS_BYTES * 8; 2],
            Self::Rows(WholeRows { nest, .. }) | Self::Nest(nest) => bits(nest),
        };
        let is_whole = |bytes: u64, bits: u64| bytes.is_multiple_of((bits / 8).max(4));
        is_whole(source, load) && is_whole(destination, store)
    }

    /// Returns the division for a gather or a scatter: into whole rows if [`WholeRows`] supports
    /// the nest, and otherwise into the words that the nest writes.
    fn gather(nest: Arc<CopyNest>, target: &Target) -> Self {
        match WholeRows::new(&nest, target.kind) {
            Some(rows) => Self::Rows(rows),
            None => Self::Nest(nest),
        }
    }
}

impl Candidate {
    /// Returns the candidate for a block, with the order of blocks that costs least.
    fn of_block(
        strategy: Strategy,
        reason: &'static str,
        mut block: Block,
        target: &Target,
    ) -> Self {
        let all = BlockOrder::all(target.kind);
        let orders = all.iter().map(|&order| {
            block.set_order(order);
            (cost::of_block(&block, target, 1), order)
        });
        let (cost, order) = orders.min_by_key(|choice| choice.0).expect("each kind has an order");
        block.set_order(order);
        block.choose_rounds(target.kind);
        Self { strategy, body: Body::Block(Box::new(block)), reason, cost }
    }

    /// Returns the kind of kernel.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Returns the block that an invocation moves; `None` if the candidate has no blocks.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.body.block()
    }

    /// Returns the reason for this strategy, as text for readers of a kernel.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns the cost for each word of the destination, in hundredths of an operation. Only the
    /// costs of candidates for the same nest can be compared. [`Estimate`](super::Estimate)s of
    /// different operations can be.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns the [`cost`](Self::cost) of this candidate by the cost model of `target`, which must
    /// have the same kind of adapter as the target of the candidate.
    #[must_use]
    pub fn cost_by(&self, target: &Target) -> u64 {
        if self.strategy == Strategy::Empty { 0 } else { self.body.cost(target, 1) }
    }
}

/// Returns the candidates for the copy of one item of a kernel that copies `items` of them, the
/// cheapest first. None of them has accesses that reach from one item into the next.
pub(crate) fn item_candidates(item: CopyNest, items: u64, target: &Target) -> Vec<Candidate> {
    let sizes = [item.src_bytes(), item.dst_bytes()];
    // Operations give no such nests, but a file may.
    if item.scattered().is_some() || item.sources().is_empty() {
        return Vec::new();
    }
    let mut list = candidates(item, target);
    list.retain(|candidate| candidate.body.stays_inside(sizes));
    for Candidate { strategy, body, cost, .. } in &mut list {
        if *strategy != Strategy::Empty {
            *cost = body.cost(target, items);
        }
    }
    list.sort_by_key(|candidate| candidate.cost);
    list
}

/// Returns the block that an invocation of a candidate moves; `None` if the candidate has no
/// blocks.
#[must_use]
pub fn block_of_candidate(candidate: &Candidate) -> Option<&Block> {
    candidate.block()
}

/// Returns the candidate with `rounds` blocks for each invocation, which moves them in sequence. If
/// this is not possible, an invocation moves one block. A candidate without blocks is returned
/// unchanged.
#[must_use]
pub fn in_rounds(mut candidate: Candidate, rounds: u64) -> Candidate {
    if let Body::Block(block) = &mut candidate.body {
        block.set_rounds(rounds);
    }
    candidate
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.cost / 100, self.cost % 100);
        write!(f, "{}", self.strategy)?;
        if let Some(block) = self.block() {
            write!(f, " of {}", block.rows())?;
            if self.strategy == Strategy::Transpose || block.width() > 1 {
                write!(f, " by {}", block.width())?;
            }
        }
        write!(f, ": {whole}.{hundredths:02}")
    }
}

/// Returns the possible divisions of a nest among invocations, the cheapest first: all blocks and
/// segments that can divide it, and a gather, which is possible for every nest.
///
/// The kernels of all candidates write the same bytes. If the nest is one contiguous run, all
/// candidates are copies.
#[must_use]
pub fn candidates(nest: CopyNest, target: &Target) -> Vec<Candidate> {
    let nest = Arc::new(nest.without_gaps());
    if nest.scattered().is_some() && !nest.cases().is_empty() {
        let reason = match nest.marks() {
            Some(_) => "places are marked",
            None => "only the windows are visited",
        };
        let body = Body::gather(nest, target);
        return vec![Candidate { strategy: Strategy::Gather, body, reason, cost: 0 }];
    }
    if WordRuns::of(&nest).is_none() {
        let reason = "the destination has no elements";
        let body = Body::Nest(nest);
        return vec![Candidate { strategy: Strategy::Empty, body, reason, cost: 0 }];
    }
    let mut list = Vec::new();
    let widths = [nest.src_bits(), nest.dst_bits()];
    let keeps = nest.gaps() == Gaps::Keep;
    let differs = !keeps && nest.refusals().is_none();
    let interleaved = if differs { interleaved(&nest) } else { None };
    let reason = if keeps {
        "words may hold bits that are kept"
    } else if differs && interleaved.is_none() && !nest.lookups().is_empty() {
        "indices decide what is read"
    } else if differs && interleaved.is_none() {
        "what is read differs from case to case"
    } else if nest.conversion().is_none()
        && widths[0] != widths[1]
        && widths.iter().any(|&bits| bits >= 32)
    {
        "the element size changes"
    } else if !nest.is_exact() {
        "the destination's strides leave a head or a tail"
    } else {
        add_blocks(&nest, interleaved.as_ref(), target, &mut list);
        "quotients or padding change inside every block"
    };
    if differs && let Some(segments) = RowSegments::new(&nest, target.kind) {
        let cost = cost::of_segments(&segments, &target.model);
        let body = Body::Segments(Box::new(segments));
        let reason = "each case reads a part of a row";
        list.push(Candidate { strategy: Strategy::Rows, body, reason, cost });
    }
    if !list.iter().any(|candidate| candidate.strategy == Strategy::Copy) {
        let reason = if list.is_empty() { reason } else { "it costs less than every block" };
        let cost = cost::of_gather(&nest, &target.model, 1);
        let body = Body::gather(nest, target);
        list.push(Candidate { strategy: Strategy::Gather, body, reason, cost });
    }
    list.sort_by_key(|candidate| candidate.cost);
    list
}

/// Returns true if the rows of the destination are whole sectors, multiples of 32 bytes.
fn has_whole_rows(nest: &CopyNest) -> bool {
    let row = nest.extents().last().map_or(0, |row| row * u64::from(nest.dst_bits()));
    row.is_multiple_of(SECTOR_BYTES * 8)
}

/// Returns true if the whole nest is one contiguous run on both sides. An axis of one step may have
/// any stride.
fn is_copy(nest: &CopyNest) -> bool {
    let [extent] = *nest.extents() else { return false };
    let stride = nest.src().weight(Value::Axis(0));
    nest.keeps_units()
        && nest.reading_guards().is_empty()
        && nest.quotients().is_empty()
        && (stride == 1 || extent == 1)
}

/// The length of a row that one CPU invocation copies as a whole, in bits. Rows of other lengths
/// are divided into runs of at most half of this length. If two invocations divided a row that
/// starts inside an access, both would load the access at the cut.
const WHOLE_ROW_BITS: u64 = 1024;

/// Adds the candidates that divide a nest into blocks. Several lengths are tried for the runs, the
/// contiguous units of a block, in the destination and in the source. If `interleaved` is given,
/// the blocks read the sources that alternate along one of its axes.
fn add_blocks(
    whole: &Arc<CopyNest>,
    interleaved: Option<&Interleaved>,
    target: &Target,
    list: &mut Vec<Candidate>,
) {
    let nest = &interleaved
        .map_or_else(|| Arc::clone(whole), |interleaved| Arc::new(interleaved.nest.clone()));
    let axes: SmallVec<[CopyAxis; 8]> = nest.axes().collect();
    let inner = axes.len() - 1;
    let bits = nest.dst_bits();
    let word = u64::from((32 / bits).max(1));
    let longest = ACCESS_BYTES * 8 / u64::from(bits);
    let src_axes = source_order(&axes);
    let is_long = axes[inner].extent >= longest && src_axes.first() == Some(&inner);
    let shares_run = is_long || is_copy(nest);
    // If one axis is innermost in the source and in the destination, try runs of 4 to 64 bytes
    // along it, or whole rows. Otherwise try rectangles whose sides have up to 16 bytes, or two
    // units of 16 bytes.
    let runs: SmallVec<[u64; 8]> = if shares_run {
        let row = axes[inner].extent * u64::from(bits);
        let most = match axes[inner].src_stride.abs() {
            1 if target.kind == AdapterKind::Cpu && row == WHOLE_ROW_BITS => row,
            1 => 512,
            _ => 256,
        };
        (0..=5).map(|log| word << log).filter(|run| run * u64::from(bits) <= most).collect()
    } else {
        let sides = (0..=2).rev().map(|log| word << log);
        sides.filter(|&run| run * u64::from(bits) <= 256).collect()
    };
    // If rows of the destination start inside accesses, also try blocks that store one word in each
    // of several rows. The invocations of a warp then store to contiguous memory.
    let is_aligned = (axes[inner].extent * u64::from(bits)).is_multiple_of(ACCESS_BYTES * 8);
    let many_rows = (target.kind == AdapterKind::Gpu && !is_aligned).then_some(word << 3);
    let is_seamed = target.kind == AdapterKind::Gpu && !has_whole_rows(nest);
    let fits = |&units: &u64| axes[inner].extent.is_multiple_of(units);
    let stored = accesses(bits).map(u64::from).find(fits).unwrap_or(word);
    let mut seen: SmallVec<[SmallVec<[u64; 8]>; 16]> = SmallVec::new();
    for &dst_run in &runs {
        let widths = if shares_run { &[1][..] } else { &runs };
        let more = many_rows.iter().filter(|_| dst_run == word && !shares_run);
        for &src_run in widths.iter().chain((!shares_run).then_some(&1)).chain(more) {
            let mut steps: SmallVec<[u64; 8]> = smallvec![1; axes.len()];
            take(&axes, (0..=inner).rev(), dst_run, bits >= 32, &mut steps);
            let run_axes = (0..=inner).rev().take_while(|&axis| steps[axis] > 1).count();
            take(&axes, src_axes.iter().copied(), src_run, bits >= 32, &mut steps);
            let units: u64 = steps.iter().product();
            if units == 1 && !shares_run
                || units > most_units(bits, shares_run)
                || seen.contains(&steps)
            {
                continue;
            }
            let run_axes = run_axes.max(run_of(&axes, &steps));
            seen.push(steps.clone());
            // If rows start inside accesses, a run of the destination is at most one access, so
            // that neighbouring invocations store to neighbouring addresses.
            let begins_anywhere = is_seamed && !is_aligned && !shares_run && run_axes <= 1;
            if begins_anywhere && dst_run > stored {
                continue;
            }
            let is_word = is_seamed && dst_run == word;
            for &align in if is_word { &[SECTOR_BYTES, 0][..] } else { &[0] } {
                let Some(block) =
                    block_of_steps(whole, interleaved, nest, &steps, run_axes, align, target)
                else {
                    continue;
                };
                // A load of less than 16 bytes uses only a part of its sector, so a cache must keep
                // the sector until neighbouring invocations load the rest. Skip large blocks,
                // because their sectors would take too much of the cache.
                let is_partial = block.load() * u64::from(bits) < ACCESS_BYTES * 8;
                if begins_anywhere && is_partial && units * u64::from(bits) > 9 * 32 {
                    continue;
                }
                let (strategy, reason) = strategy_of(nest, &steps, interleaved.is_some());
                list.push(Candidate::of_block(strategy, reason, block, target));
            }
        }
    }
    if !has_whole_rows(nest) {
        let across = if shares_run { inner.checked_sub(1) } else { src_axes.first().copied() };
        let aligned = |across| equally_aligned_rows(&axes, across, bits, shares_run, target.kind);
        for (steps, align) in across.into_iter().flat_map(aligned) {
            let of = if shares_run { &steps[inner..] } else { &steps[..] };
            let (strategy, reason) = strategy_of(nest, of, interleaved.is_some());
            let block = block_of_steps(whole, interleaved, nest, &steps, 1, align, target);
            let block = block.filter(|block| block.store() == steps[inner]);
            list.extend(block.map(|block| Candidate::of_block(strategy, reason, block, target)));
        }
    }
    if interleaved.is_none() {
        add_repeated(whole, &axes, shares_run, target, list);
    }
}

/// Returns the sizes of blocks that store one access in each of several rows. A size is the number
/// of steps along each axis, with the alignment of the block in bytes. `across` is the axis from
/// one row to the next.
///
/// Rows of 7 bytes start at 0, 7, 14 and so on, at every remainder modulo 16. After 16 rows the
/// remainders repeat, so that all blocks of 16 rows have the same alignment. On a CPU, such blocks
/// are faster only if the source is read with a stride: they then copy at 1.03 to 1.16 times the
/// rate of other blocks, and at 0.7 to 0.87 times without one (`benches/NOTES.md`).
fn equally_aligned_rows(
    axes: &[CopyAxis],
    across: usize,
    bits: u32,
    shares_run: bool,
    kind: AdapterKind,
) -> SmallVec<[(SmallVec<[u64; 8]>, u64); 6]> {
    let inner = axes.len() - 1;
    let mut all = SmallVec::new();
    let has_stride = shares_run && axes[inner].src_stride.unsigned_abs() > 1;
    if across == inner || kind == AdapterKind::Cpu && !has_stride {
        return all;
    }
    let most_words = match kind {
        AdapterKind::Gpu => 2 * MOST_HELD_WORDS,
        AdapterKind::Cpu => cost::REGISTERS,
    };
    let mut add = |rows: u64, run: u64, align: u64| {
        let mut steps: SmallVec<[u64; 8]> = smallvec![1; axes.len()];
        (steps[across], steps[inner]) = (rows, run);
        all.push((steps, align));
    };
    let row = axes[across].dst_stride.saturating_mul(bits.into());
    if shares_run && axes[across].extent >= ALIGNED_ROWS {
        add(ALIGNED_ROWS, u64::from((32 / bits).max(1)), SECTOR_BYTES);
    }
    for access in [ACCESS_BYTES * 8, ACCESS_BYTES * 4] {
        let (run, period) = (access / u64::from(bits), access / gcd(access, row));
        let most = (most_words * 32 / access).min(axes[across].extent);
        let fits = run > 1 && period > 1 && axes[inner].extent >= 2 * run;
        for rows in [period, 2 * period].into_iter().filter(|&rows| fits && rows <= most) {
            add(rows, run, access / 8);
        }
    }
    all
}

/// Adds candidates in which an invocation repeats a block at several steps of another axis, so that
/// one computation of addresses serves all steps.
fn add_repeated(
    whole: &Arc<CopyNest>,
    axes: &[CopyAxis],
    shares_run: bool,
    target: &Target,
    list: &mut Vec<Candidate>,
) {
    // On a CPU, such candidates are faster only if a guard may hold for only a part of a block, or
    // if the only alternative is a gather (`benches/NOTES.md`).
    let is_gpu = target.kind == AdapterKind::Gpu;
    let several = |block: &Block, strategy, reason| {
        let block = repeated_block(block, axes, target)?;
        Some(Candidate::of_block(strategy, reason, block, target))
    };
    let cheapest = list.iter().min_by_key(|candidate| candidate.cost).and_then(|of| {
        let pays = |block: &&Block| is_gpu || block.varying_guards().next().is_some();
        several(of.block().filter(pays)?, of.strategy, of.reason)
    });
    let takes_units = whole.dst_bits() >= 32 && !shares_run && (is_gpu || list.is_empty());
    let unit = (takes_units && whole.dst_units() >= 2 * LEAST_REPEATED_BLOCKS).then(|| {
        let steps: SmallVec<[u64; 8]> = smallvec![1; axes.len()];
        let unit = block_of_steps(whole, None, whole, &steps, 0, 0, target)?;
        several(&unit, Strategy::Rows, "units far apart are moved together")
    });
    let aligned: Vec<Candidate> = list
        .iter()
        .filter_map(|of| {
            let block =
                of.block().filter(|block| is_gpu && block.count() >= LEAST_REPEATED_BLOCKS)?;
            let block = repeated_until_aligned(block, axes, target)?;
            Some(Candidate::of_block(of.strategy, of.reason, block, target))
        })
        .collect();
    list.extend(cheapest.into_iter().chain(unit.flatten()).chain(aligned));
}

/// Returns the block with the given steps, or `None` if it is not possible. If `interleaved` is
/// given, the block reads several sources.
fn block_of_steps(
    whole: &Arc<CopyNest>,
    interleaved: Option<&Interleaved>,
    nest: &Arc<CopyNest>,
    steps: &[u64],
    run_axes: usize,
    align: u64,
    target: &Target,
) -> Option<Block> {
    let order = BlockOrder::all(target.kind)[0];
    let run_axes = run_axes.max(usize::from(align > 0));
    let block = Block::new(nest, steps, run_axes, order, &target.model, align)?;
    if align > 0 && block.seam().is_none() {
        return None;
    }
    match interleaved {
        Some(interleaved) => block.with_sources(whole, interleaved),
        None => Some(block),
    }
}

/// Returns the strategy of a block with the given steps, and the reason why it is possible.
fn strategy_of(nest: &CopyNest, steps: &[u64], is_woven: bool) -> (Strategy, &'static str) {
    let inner = nest.extents().len() - 1;
    let along_inner = steps.last() == Some(&steps.iter().product());
    if is_woven {
        (Strategy::Transpose, "several sources take turns")
    } else if is_copy(nest) {
        (Strategy::Copy, "both sides are one contiguous run")
    } else if nest.src().weight(Value::Axis(inner)) == 1 && along_inner {
        (Strategy::Rows, "the innermost axis is contiguous on both sides")
    } else if along_inner {
        (Strategy::Rows, "the source walks the innermost axis with a stride")
    } else {
        (Strategy::Transpose, "the innermost axes of the two sides differ")
    }
}

/// The number of rows whose bytes together are a multiple of 16, whatever the length of a row in
/// bytes.
const ALIGNED_ROWS: u64 = 16;
/// The maximum number of words that a GPU invocation holds, apart from intermediate values. If a
/// core runs as many invocations as it can, this is half of the registers that each invocation has.
const MOST_HELD_WORDS: u64 = 32;
/// The least number of blocks that keeps the cores of a GPU busy. Blocks are combined into larger
/// ones only if at least this number remains. With 2^16, transposed TPU tiles get worse, from 5.5
/// to 6.2 (`benches/NOTES.md`, "A GPU on paper").
const LEAST_REPEATED_BLOCKS: u64 = 1 << 15;

/// Returns a block with several steps along one more axis, along which `block` has one step. An
/// invocation then computes the addresses of all these steps together. Returns `None` if no axis is
/// suitable, or if too few blocks would remain to keep a GPU busy.
fn repeated_block(block: &Block, axes: &[CopyAxis], target: &Target) -> Option<Block> {
    let words = block.rows() * block.width() * u64::from(block.nest().dst_bits()) / 32;
    let most = (MOST_HELD_WORDS / words.max(1)).min(block.count() / LEAST_REPEATED_BLOCKS);
    let is_partial = block.load() * u64::from(block.nest().src_bits()) < ACCESS_BYTES * 8;
    let begins_anywhere = !has_whole_rows(block.nest()) && block.width() > 1;
    if block.row_alignment() != RowAlignment::Aligned
        || block.moves_unit_by_unit()
        || is_partial && begins_anywhere
    {
        return None;
    }
    let steps: SmallVec<[u64; 8]> = block.axes().iter().map(|side| side.steps).collect();
    // Do not repeat along an axis whose steps are close together in the source or in the
    // destination. Neighbouring invocations should take these steps instead, because they should
    // access neighbouring memory.
    let apart = |axis: usize| axes[axis].src_stride.unsigned_abs().min(axes[axis].dst_stride);
    let is_far = |axis: usize| {
        apart(axis).saturating_mul(block.nest().dst_bits().into()) >= SECTOR_BYTES * 8
    };
    let mut ways: SmallVec<[(u64, usize); 8]> = (0..axes.len() - 1)
        .filter(|&axis| steps[axis] == 1 && is_far(axis))
        .filter_map(|axis| {
            let divides = |times: &u64| axes[axis].extent.is_multiple_of(*times);
            Some(((2..=most).rev().find(divides)?, axis))
        })
        .collect();
    ways.sort_by_key(|&(times, axis)| std::cmp::Reverse((times, apart(axis))));
    ways.into_iter().find_map(|(times, axis)| {
        let mut steps = steps.clone();
        steps[axis] = times;
        let order = BlockOrder::all(target.kind)[0];
        let block = Block::new(&block.nest, &steps, block.run_axes, order, &target.model, 0)?;
        (!block.moves_unit_by_unit()).then_some(block)
    })
}

/// Returns a block with several steps along one more axis. Their number is chosen so that all
/// blocks start at the same distance from a 16-byte boundary of the source, and can load 16 bytes
/// at a time. Returns `None` if the block does this already, or if no axis is suitable.
fn repeated_until_aligned(block: &Block, axes: &[CopyAxis], target: &Target) -> Option<Block> {
    let bits = u64::from(block.nest().src_bits());
    let is_wide = |block: &Block| block.load() * bits == ACCESS_BYTES * 8;
    if is_wide(block)
        || block.row_alignment() != RowAlignment::Aligned
        || block.moves_unit_by_unit()
    {
        return None;
    }
    let words = block.rows() * block.width() * u64::from(block.nest().dst_bits()) / 32;
    (0..axes.len() - 1).find_map(|axis| {
        let stride = axes[axis].src_stride.unsigned_abs().saturating_mul(bits);
        let times = ACCESS_BYTES * 8 / gcd(ACCESS_BYTES * 8, stride);
        let fits = times > 1
            && block.axes()[axis].steps == 1
            && axes[axis].extent.is_multiple_of(times)
            && words * times <= 2 * MOST_HELD_WORDS;
        let mut steps: SmallVec<[u64; 8]> = block.axes().iter().map(|side| side.steps).collect();
        steps[axis] = times;
        let order = BlockOrder::all(target.kind)[0];
        let new = || Block::new(&block.nest, &steps, block.run_axes, order, &target.model, 0);
        fits.then(new)?.filter(|block| is_wide(block) && !block.moves_unit_by_unit())
    })
}

/// Returns the maximum number of units in a block. The code for a block is unrolled, so drivers
/// would take long to compile a larger block. A square may have 16 by 16 elements of 2 bits, or 32
/// by 32 single bits: its code is still short, because one operation on a word moves all elements
/// in the word. There is no maximum if `shares_run` is true, because one axis is then innermost on
/// both sides, and the runs along it limit the block.
fn most_units(bits: u32, shares_run: bool) -> u64 {
    match bits {
        _ if shares_run => u64::MAX,
        1 => 1024,
        2 => 256,
        3..=8 => 80,
        16 => 64,
        32 => 32,
        64 => 16,
        _ => 4,
    }
}
