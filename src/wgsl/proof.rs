//! [`Proof`]: the proof that a kernel stays inside its buffers.
//!
//! naga can add a check to every access. A kernel with a proof runs without these checks. Therefore
//! every type from which a kernel is made has private fields: a kernel from a forged nest could
//! write outside a buffer. A *unit* is the data that one iteration of the nest copies, such as an
//! element.

use std::fmt;

use smallvec::SmallVec;

use super::Binding;
use crate::{
    nest::{CopyNest, Gaps, LastRead, Operand},
    schedule::{Block, Schedule, Strategy, WordRuns},
};

/// The proof that every access of a kernel lies inside its binding, and that every loop ends.
///
/// The reads are bounded by interval arithmetic over the loops of the nest: if the guards of a read
/// hold, its offset is inside the source. The writes are bounded because the blocks, the accesses
/// of rows, or the words cover the destination exactly. In an update in place, they are bounded by
/// the same interval arithmetic as the reads. A kernel that keeps gaps reads a word of the
/// destination only if it also writes that word. With extents at run time, the proof is about one
/// item, and the kernel compares the number of items with the lengths of its bindings. A runner may
/// turn run-time checks off if it binds at least [`Binding::size_in_bytes`] bytes.
///
/// A proof belongs to one [`Kernel`](super::Kernel) and cannot be moved to another. Only stridec
/// creates proofs, when it writes a kernel:
///
/// ```compile_fail,E0451
/// use stridec::wgsl::Proof;
/// # fn forge(proof: Proof) -> Proof {
/// Proof { destination_words: 1 << 20, ..proof }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proof {
    /// The index of the last word that the kernel reads from each source, or `None` if it reads
    /// none, and the number of words in the source's binding.
    sources: SmallVec<[(Option<u64>, u64); 1]>,
    last_destination_word: u64,
    destination_words: u64,
    /// The treatment of the destination's bits outside the elements. With [`Gaps::Keep`], the
    /// kernel also reads the words of the destination.
    gaps: Gaps,
    invocations: u64,
    trips: u32,
    /// True if the words are those of one item, because extents are given at run time.
    is_of_item: bool,
}

/// Returns the index of the last word of the source that a block loads, which may be later than
/// `word`, the last word that contains a unit of the block.
fn last_loaded(block: &Block, word: u64) -> u64 {
    let nest = block.nest();
    let access = (block.load() * u64::from(nest.src_bits())).div_ceil(32);
    let image = nest.src_bytes().div_ceil(4).next_multiple_of(access).saturating_sub(1);
    if block.reads_more() {
        // This branch covers loads past the last unit of the block, which are clamped to the last
        // access of the source.
        image
    } else if block.is_shifted() {
        // To shift a run into place, the block loads one access more, but none past the source.
        ((word / access + 2) * access - 1).min(image)
    } else {
        // The block reads up to the end of the access that contains its last unit.
        (word / access + 1) * access - 1
    }
}

/// Returns the greatest number of loop iterations of one invocation. An invocation that moves
/// several blocks loops over its blocks, its seams and the words of these seams. An invocation with
/// a single block or seam loops over the words of the seam or over the stores of the block.
fn loop_trips(block: &Block) -> u32 {
    // The units of a word are combined in a loop if there are more than four of them.
    let bits = u64::from(block.nest().dst_bits());
    let of_word = if bits < 8 { 32 / bits } else { 0 };
    let of_access = 1 + block.store() * bits / 32 * of_word;
    let of_seam = block.seam().map_or(0, |seam| seam.longest() * of_access);
    let all = match (block.rounds(), block.seam()) {
        // Each of the nested loops has at least two iterations. So all levels together have at most
        // twice as many iterations as the innermost loop.
        (1, _) if block.moves_unit_by_unit() => {
            of_seam.max(block.rows() * block.width() * 2 * of_access)
        }
        (1, _) => of_seam,
        (rounds, None) => rounds,
        (rounds, Some(seam)) => rounds + seam.rows.div_ceil(block.invocations().0) * (1 + of_seam),
    };
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// The greatest number of loop iterations that a proof allows. Some drivers end a longer loop
/// without an error.
const MAX_TRIPS: u32 = 65_535;

impl Proof {
    /// Returns the proof for the kernel of a schedule, which binds the buffers `bindings`. Returns
    /// `None` if the bounds cannot be proved, for example for a nest that lowering did not make.
    pub(super) fn new(schedule: &Schedule, bindings: &[Binding]) -> Option<Self> {
        let nest = schedule.nest();
        let words =
            |binding: usize| bindings.get(binding).map_or(0, |binding| binding.size_in_bytes / 4);
        // The units of a word are combined in a loop if there are more than four of them, or if
        // some bits of the word are kept.
        let most_bits = if nest.gaps() == Gaps::Keep { 32 } else { 8 };
        let trips = match schedule.strategy() {
            Strategy::Gather if nest.dst_bits() < most_bits => 32 / nest.dst_bits(),
            Strategy::Gather => schedule
                .rows()
                .map_or(0, |rows| u32::try_from(rows.most_units()).unwrap_or(u32::MAX)),
            _ => match schedule.segments() {
                Some(pieces) => pieces.trips(),
                None => schedule.block().map_or(0, loop_trips),
            },
        };
        let mut sources: SmallVec<[(Option<u64>, u64); 1]> = SmallVec::new();
        for (number, last) in last_words(nest)?.into_iter().enumerate() {
            let last = match (schedule.block(), schedule.segments()) {
                (Some(block), _) => last.map(|word| last_loaded(block, word)),
                // The kernel reads accesses of 16 bytes, `width` of them in each loop iteration.
                // The last iteration may read up to `width` accesses past the last unit.
                (None, Some(pieces)) => {
                    let end = |word: u64| ((word / 4 + 1 + pieces.width) * 4).min(words(number));
                    last.map(|word| end(word).saturating_sub(1))
                }
                (None, None) => last,
            };
            sources.push((last, words(number)));
        }
        let destination_words = words(sources.len());
        let last_destination_word = match WordRuns::of(nest) {
            Some(runs) if nest.gaps() == Gaps::Keep && nest.scattered().is_none() => {
                (runs.last() + 1) * u64::from(nest.dst_bits().div_ceil(32)) - 1
            }
            _ => last_word(nest.dst_units().checked_sub(1)?, nest.dst_bits()),
        };
        let stored = schedule.block().map_or(1, |block| block.store() * u64::from(nest.dst_bits()));
        let last_destination_word =
            (last_destination_word + 1).next_multiple_of((stored / 32).max(1)) - 1;
        let reads = |&(last, words): &(Option<u64>, u64)| last.is_none_or(|last| last < words);
        let holds = sources.iter().all(reads)
            && last_destination_word < destination_words
            && trips <= MAX_TRIPS;
        holds.then_some(Self {
            sources,
            last_destination_word,
            destination_words,
            gaps: nest.gaps(),
            invocations: match (schedule.block(), schedule.segments()) {
                (Some(block), _) => block.invocations().1,
                (None, Some(pieces)) => pieces.invocations().1,
                (None, None) => schedule.invocations(),
            },
            trips,
            is_of_item: schedule.extents().is_some(),
        })
    }

    /// Returns the number of sources.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Returns the index of the last 32-bit word that the kernel reads from a source. Returns
    /// `None` if it reads nothing from the source, or if it has no such source.
    #[must_use]
    pub fn last_word_of_source(&self, number: usize) -> Option<u64> {
        self.sources.get(number)?.0
    }

    /// Returns the number of words in a source's binding, or 0 if the kernel has no such source.
    #[must_use]
    pub fn words_of_source(&self, number: usize) -> u64 {
        self.sources.get(number).map_or(0, |source| source.1)
    }

    /// Returns the index of the last 32-bit word that is written in the destination's binding.
    #[must_use]
    pub fn last_destination_word(&self) -> u64 {
        self.last_destination_word
    }

    /// Returns the number of words in the destination's binding.
    #[must_use]
    pub fn destination_words(&self) -> u64 {
        self.destination_words
    }

    /// Returns the number of invocations that have work. If the bits between elements are kept,
    /// this number includes invocations that write nothing because their word contains no element.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.invocations
    }

    /// Returns the maximum number of loop iterations of one invocation.
    #[must_use]
    pub fn trips(&self) -> u32 {
        self.trips
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reads = false;
        for (number, (last, words)) in self.sources.iter().enumerate() {
            let Some(last) = last else { continue };
            f.write_str(if reads { ", " } else { "reads words " })?;
            write!(f, "up to {last} of {words}")?;
            if self.sources.len() > 1 {
                write!(f, " in {}", Operand::numbered(number))?;
            }
            reads = true;
        }
        f.write_str(if reads { "" } else { "reads nothing" })?;
        let access = match self.gaps {
            Gaps::Fill => "writes",
            Gaps::Keep => "reads and writes",
        };
        let (last, words) = (self.last_destination_word, self.destination_words);
        write!(f, ", {access} words up to {last} of {words}")?;
        if self.gaps == Gaps::Keep {
            f.write_str(" in the destination")?;
        }
        if self.is_of_item {
            f.write_str(", of each item")?;
        }
        match self.trips {
            0 => f.write_str(", no loop"),
            trips => write!(f, ", {trips} loop trips"),
        }
    }
}

/// Returns the index of the word that holds the last bit of a unit of `bits` bits.
fn last_word(unit: u64, bits: u32) -> u64 {
    ((unit + 1) * u64::from(bits)).div_ceil(32) - 1
}

/// Returns, for each source, the index of the last word that the nest reads, as lowering proved it.
/// An entry is `None` if the source is not read. The whole result is `None` if the last read of a
/// source is unknown.
pub(super) fn last_words(nest: &CopyNest) -> Option<SmallVec<[Option<u64>; 1]>> {
    let sources = nest.sources().iter().enumerate();
    sources
        .map(|(number, source)| match source.last_read() {
            LastRead::Nothing => Some(None),
            LastRead::Unit(last) => Some(Some(last_word(last, unit_bits(nest, number)))),
            LastRead::Unknown => None,
        })
        .collect()
}

/// Returns the width of the units in which the last read of a source is counted, in bits: of the
/// integers that lookups load from the source, or otherwise of the units that the nest copies.
fn unit_bits(nest: &CopyNest, source: usize) -> u32 {
    nest.loaded_bits(source).unwrap_or(nest.src_bits())
}
