//! [`Runs`]: how the bytes of a message lie in a shard.

use smallvec::SmallVec;

use crate::nest::{CopyNest, Value};

/// How the bytes of a message lie in a shard's memory: as runs of one length, at equal steps in one direction or more.
///
/// It is what MPI calls a vector, and a vector of vectors: a transport that has these, or that writes into the memory of another
/// device, moves such a message without a copy.
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
    /// Where the first run begins, in bytes.
    pub offset: usize,
    /// The length of each run, in bytes.
    pub run: usize,
    steps: SmallVec<[(usize, usize); 4]>,
}

impl Runs {
    /// How often runs repeat, and at what distance in bytes, outermost first; the message has them in this order.
    #[must_use]
    pub fn steps(&self) -> &[(usize, usize)] {
        &self.steps
    }

    /// The bytes of the message.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.run * self.steps.iter().map(|(count, _)| count).product::<usize>()
    }

    /// Where the last run ends, in bytes.
    #[must_use]
    pub fn end(&self) -> usize {
        let last: usize = self.steps.iter().map(|(count, step)| (count - 1) * step).sum();
        self.offset + last + self.run
    }

    /// The source of a nest whose destination is a dense message that has elements; `None` where a unit is no whole byte, or the
    /// place of one is no sum over the axes.
    #[expect(clippy::cast_possible_truncation)] // images fit the address space
    pub(super) fn of(nest: &CopyNest) -> Option<Self> {
        let whole_bytes = nest.src_bits() == nest.dst_bits() && nest.src_bits() >= 8;
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
        // No position reads outside the image: places are not negative, and steps are positive in a slice that has no step.
        Some(Self { offset: nest.src().offset().unsigned_abs() as usize * unit, run, steps })
    }

    /// Writes the runs of an image from a message.
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
