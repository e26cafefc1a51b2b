use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{Binding, Kernel};
use crate::schedule::{Schedule, Strategy};

/// What lowering has shown of a kernel: every access lies inside its binding, and every loop ends.
///
/// Sources are bounded by interval arithmetic over the window and the tiles of the source: where its guards hold, a cell
/// reads at an index of the tensor. Destinations are bounded because the blocks, or the words, number the image exactly.
/// A runner that binds at least [`Binding::size_in_bytes`] bytes may turn run-time checks off.
///
/// Only stridec makes one, for one kernel: [`holds`](Self::holds) is false once anything that decides its accesses is
/// changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proof {
    last_source_word: Option<u64>,
    last_destination_word: u64,
    source_words: u64,
    destination_words: u64,
    invocations: u64,
    trips: u32,
    seal: u64,
}

impl Proof {
    /// The proof of a schedule whose kernel binds these buffers.
    pub(super) fn new(schedule: &Schedule, bindings: &[Binding]) -> Self {
        let nest = schedule.nest();
        let last_word = |unit: u64, bits: u32| ((unit + 1) * u64::from(bits)).div_ceil(32) - 1;
        let [source_words, destination_words] =
            [0, 1].map(|n: usize| bindings.get(n).map_or(0, |binding| binding.size_in_bytes / 4));
        let trips = match &schedule.strategy {
            Strategy::Gather(nest) if nest.dst_bits < 8 => 32 / nest.dst_bits,
            _ => 0,
        };
        let mut last_source_word = nest.src_last.map(|last| last_word(last, nest.src_bits));
        if let Strategy::Rows(block) = &schedule.strategy
            && !block.is_word_aligned()
        {
            // Words that are shifted into place: one more is read, up to the last of the image.
            let last = nest.src_bytes.div_ceil(4).saturating_sub(1);
            last_source_word = last_source_word.map(|word| (word + 1).min(last));
        }
        Self {
            last_source_word,
            last_destination_word: last_word(nest.dst_elements - 1, nest.dst_bits),
            source_words,
            destination_words,
            invocations: schedule.invocations,
            trips,
            seal: 0,
        }
    }

    /// The proof, tied to its kernel.
    pub(super) fn sealed(self, kernel: &Kernel) -> Self {
        Self { seal: seal(kernel), ..self }
    }

    /// Whether this is the proof of `kernel`, as stridec made it, and shows it to stay in its bindings.
    #[must_use]
    pub fn holds(&self, kernel: &Kernel) -> bool {
        self.seal == seal(kernel)
            && self.last_source_word.is_none_or(|word| word < self.source_words)
            && self.last_destination_word < self.destination_words
            && self.trips <= 65_535
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

/// A hash of everything that decides a kernel's accesses.
fn seal(kernel: &Kernel) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&kernel.wgsl, &kernel.entry_point, kernel.workgroup_size).hash(&mut hasher);
    (&kernel.bindings, &kernel.dispatches).hash(&mut hasher);
    hasher.finish()
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
