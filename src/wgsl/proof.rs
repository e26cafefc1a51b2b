//! [`Proof`]: what lowering has shown of a kernel's accesses.

use std::fmt;

use super::Binding;
use crate::{
    nest::LastRead,
    schedule::{Schedule, Strategy},
};

/// What lowering has shown of a kernel: every access lies inside its binding, and every loop ends.
///
/// Sources are bounded by interval arithmetic over the window and the tiles of the source: where its guards hold, a
/// position reads at an index of the tensor. Destinations are bounded because the blocks, or the words, number the image
/// exactly. A runner that binds at least [`Binding::size_in_bytes`] bytes may turn run-time checks off.
///
/// A proof comes with the [`Kernel`](super::Kernel) that it was made for and cannot be taken to another one. Nobody else
/// makes one: the fields of all that it rests on, from the nest to the kernel, are private.
///
/// ```compile_fail,E0451
/// use stridec::wgsl::Proof;
/// # fn forge(proof: Proof) -> Proof {
/// Proof { source_words: 1 << 20, ..proof }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proof {
    last_source_word: Option<u64>,
    last_destination_word: u64,
    source_words: u64,
    destination_words: u64,
    invocations: u64,
    trips: u32,
}

/// Trips of a loop after which some drivers end it without an error.
const MAX_TRIPS: u32 = 65_535;

impl Proof {
    /// The proof of a schedule whose kernel binds these buffers; `None` where there is none, as for a nest that lowering
    /// did not make.
    pub(super) fn new(schedule: &Schedule, bindings: &[Binding]) -> Option<Self> {
        let nest = schedule.nest();
        let last_word = |unit: u64, bits: u32| ((unit + 1) * u64::from(bits)).div_ceil(32) - 1;
        let [source_words, destination_words] =
            [0, 1].map(|n: usize| bindings.get(n).map_or(0, |binding| binding.size_in_bytes / 4));
        let trips = match schedule.strategy() {
            Strategy::Gather if nest.dst_bits() < 8 => 32 / nest.dst_bits(),
            _ => 0,
        };
        let mut last_source_word = match nest.last_read() {
            LastRead::Nothing => None,
            LastRead::Unit(last) => Some(last_word(last, nest.src_bits())),
            LastRead::Unknown => return None,
        };
        if schedule.block().is_some_and(|block| !block.is_word_aligned()) {
            // Words that are shifted into place: one more is read, up to the last of the image.
            let last = nest.src_bytes().div_ceil(4).saturating_sub(1);
            last_source_word = last_source_word.map(|word| (word + 1).min(last));
        }
        let last_destination_word = last_word(nest.dst_units() - 1, nest.dst_bits());
        let holds = last_source_word.is_none_or(|word| word < source_words)
            && last_destination_word < destination_words
            && trips <= MAX_TRIPS;
        holds.then_some(Self {
            last_source_word,
            last_destination_word,
            source_words,
            destination_words,
            invocations: schedule.invocations(),
            trips,
        })
    }

    /// The last word of the source's binding that is read; `None` where none is.
    #[must_use]
    pub fn last_source_word(&self) -> Option<u64> {
        self.last_source_word
    }

    /// The last word of the destination's binding that is written.
    #[must_use]
    pub fn last_destination_word(&self) -> u64 {
        self.last_destination_word
    }

    /// Words of the source's binding.
    #[must_use]
    pub fn source_words(&self) -> u64 {
        self.source_words
    }

    /// Words of the destination's binding.
    #[must_use]
    pub fn destination_words(&self) -> u64 {
        self.destination_words
    }

    /// Invocations that have work.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.invocations
    }

    /// The most loop iterations of one invocation.
    #[must_use]
    pub fn trips(&self) -> u32 {
        self.trips
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last_source_word {
            Some(last) => write!(f, "reads words up to {last} of {}", self.source_words)?,
            None => write!(f, "reads nothing")?,
        }
        write!(
            f,
            ", writes words up to {} of {}",
            self.last_destination_word, self.destination_words
        )?;
        match self.trips {
            0 => f.write_str(", no loop"),
            trips => write!(f, ", {trips} loop trips"),
        }
    }
}
