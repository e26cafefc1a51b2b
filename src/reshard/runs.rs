//! [`Runs`]: the contiguous runs in a shard's memory that form a message, so that a transport can
//! send or receive them without packing.

use smallvec::SmallVec;

use crate::nest::{CopyNest, Value};

/// The contiguous runs of a shard's memory that form a message. They have equal lengths, and lie at
/// constant strides in nested loops.
///
/// In MPI this layout is a vector type, or a vector of vectors. A transport that supports such
/// types, or that can write to another device's memory, moves the message without an extra copy.
///
/// ```
/// use stridec::{reshard::{Member, Shards}, sharding::Sharding};
/// let shape = "u8[4,6]".parse()?;
/// let rows = "{devices=[2,1]<=[2]}".parse::<Sharding>()?.place(&shape, None)?;
/// let columns = "{devices=[1,2]<=[2]}".parse::<Sharding>()?.place(&shape, None)?;
/// let shards = Shards::default();
/// let member = Member::new(&shape, (&rows, &shards), (&columns, &shards), 0, None)?;
/// let round = &member.rounds()[0];
/// // The columns from 3 on of two rows of 6; and two rows of 3, which are one run.
/// let sent = member.sent_runs(round)?.unwrap();
/// assert_eq!((sent.offset, sent.steps(), sent.run), (3, &[(2, 6)][..], 3));
/// let received = member.received_runs(round)?.unwrap();
/// assert_eq!((received.offset, received.steps(), received.run), (6, &[][..], 6));
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The offset of the first run from the start of the shard's memory, in bytes.
    pub offset: usize,
    /// The length of each run, in bytes.
    pub run: usize,
    steps: SmallVec<[(usize, usize); 4]>,
}

impl Runs {
    /// Returns the loops over the runs, the outermost first: the number of steps, and the stride in
    /// bytes. The message stores the runs in the order of these loops.
    #[must_use]
    pub fn steps(&self) -> &[(usize, usize)] {
        &self.steps
    }

    /// Returns the length of the message, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.run * self.steps.iter().map(|(count, _)| count).product::<usize>()
    }

    /// Returns the end of the last run, in bytes from the start of the shard's memory.
    #[must_use]
    pub fn end(&self) -> usize {
        let last: usize = self.steps.iter().map(|(count, step)| (count - 1) * step).sum();
        self.offset + last + self.run
    }

    /// Returns the runs that `nest` reads from a shard. The nest's destination must be a nonempty
    /// dense message. Returns `None` if the nest copies parts of bytes, or if the offset in the
    /// shard is not a weighted sum of the loop counters.
    #[expect(clippy::cast_possible_truncation)] // images fit the address space
    pub(super) fn of(nest: &CopyNest) -> Option<Self> {
        let whole_bytes = nest.keeps_units() && nest.src_bits() >= 8;
        let one_read = nest.cases().len() == 1 && nest.reading_guards().is_empty();
        if !whole_bytes || !one_read || !nest.quotients().is_empty() {
            return None;
        }
        let unit = nest.src_bits() as usize / 8;
        let weights = (0..nest.extents().len()).map(|axis| nest.src().weight(Value::Axis(axis)));
        let mut steps: SmallVec<[(usize, usize); 4]> = nest
            .extents()
            .iter()
            .zip(weights)
            .map(|(&extent, weight)| (extent as usize, weight.unsigned_abs() as usize * unit))
            .collect();
        let mut run = unit;
        if let Some(&(extent, step)) = steps.last()
            && step == unit
        {
            steps.pop();
            run = extent * unit;
        }
        // `unsigned_abs` changes nothing: the slice visits elements in ascending order, so offsets
        // and strides are not negative.
        Some(Self { offset: nest.src().offset().unsigned_abs() as usize * unit, run, steps })
    }

    /// Copies the bytes of `message` to these runs in `image`, the memory of a shard.
    pub(super) fn scatter(&self, message: &[u8], image: &mut [u8]) {
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.steps.len());
        let mut at = self.offset;
        for chunk in message.chunks_exact(self.run) {
            image[at..at + self.run].copy_from_slice(chunk);
            for (index, &(count, step)) in index.iter_mut().zip(&self.steps).rev() {
                *index += 1;
                at += step;
                if *index < count {
                    break;
                }
                at -= step * count;
                *index = 0;
            }
        }
    }
}
