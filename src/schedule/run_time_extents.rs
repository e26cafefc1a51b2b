//! [`RunTimeExtents`]: the extents that a kernel reads from a uniform buffer when it runs.

use smallvec::SmallVec;

use crate::{error_kind::ErrorKind, nest::Operand, shape::FieldPath};

/// The maximum number of extents that a kernel reads: the components of its uniform.
pub(crate) const MOST_ARGUMENTS: usize = 4;

/// The outermost loops of a copy, some of whose extents are known only when the kernel runs.
///
/// An *item* is the part of a tensor at one index of these loops. It is contiguous on both sides,
/// so that a kernel for one item serves any number of them. The extents of the other loops are
/// constant. They are among the outermost loops only because they enclose one of the others on at
/// least one side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunTimeExtents {
    /// The loops in the order of the destination, the outermost first.
    loops: SmallVec<[OuterLoop; 4]>,
    /// The numbers of the loops in the order of the source, the outermost first.
    source_order: SmallVec<[usize; 4]>,
}

/// One of the outermost loops of a copy, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OuterLoop {
    /// The logical dimension.
    pub dimension: usize,
    /// The maximum extent; of a loop that takes no argument, the extent.
    pub most: u64,
    /// The number of the argument that has the extent, or `None` if the extent is constant.
    pub argument: Option<usize>,
}

impl RunTimeExtents {
    /// Returns the loops, or `None` if they are not valid: the arguments must be numbered from 0,
    /// no extent may be 0, and `source_order` must have each loop once.
    pub(crate) fn new(
        loops: impl IntoIterator<Item = OuterLoop>,
        source_order: impl IntoIterator<Item = usize>,
    ) -> Option<Self> {
        let loops: SmallVec<[OuterLoop; 4]> = loops.into_iter().collect();
        let source_order: SmallVec<[usize; 4]> = source_order.into_iter().collect();
        let mut arguments: SmallVec<[usize; 4]> =
            loops.iter().filter_map(|one| one.argument).collect();
        let mut order = source_order.clone();
        arguments.sort_unstable();
        order.sort_unstable();
        let is_valid = (1..=MOST_ARGUMENTS).contains(&arguments.len())
            && arguments.iter().copied().eq(0..arguments.len())
            && order.iter().copied().eq(0..loops.len())
            && loops.iter().all(|one| one.most > 0)
            && loops.iter().try_fold(1_u64, |items, one| items.checked_mul(one.most)).is_some();
        is_valid.then_some(Self { loops, source_order })
    }

    /// Returns the loops in the order of the destination, the outermost first.
    #[must_use]
    pub fn loops(&self) -> &[OuterLoop] {
        &self.loops
    }

    /// Returns the numbers of the loops in the order of the source, the outermost first.
    #[must_use]
    pub fn source_order(&self) -> &[usize] {
        &self.source_order
    }

    /// Returns true if items have the same order in the source and in the destination.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.source_order.is_sorted()
    }

    /// Returns the dimensions whose extents are arguments, each with its maximum extent, in the
    /// order of the arguments.
    pub fn arguments(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let argument = |number| self.loops.iter().find(move |one| one.argument == Some(number));
        (0..).map_while(argument).map(|one| (one.dimension, one.most))
    }

    /// Returns the number of items at the maximum extents.
    #[must_use]
    pub fn most_items(&self) -> u64 {
        self.loops.iter().map(|one| one.most).product()
    }

    /// Returns the number of items at the given extents.
    ///
    /// # Errors
    ///
    /// Returns an error if `extents` does not have one extent for each argument, or if an extent is
    /// above its maximum.
    pub fn items(&self, extents: &[u64]) -> Result<u64, ExtentError> {
        let (given, expected) = (extents.len(), self.arguments().count());
        if given != expected {
            return Err(ExtentError::Count { given, expected });
        }
        for ((dimension, most), &given) in self.arguments().zip(extents) {
            if given > most {
                return Err(ExtentError::TooLarge { dimension, given, most });
            }
        }
        let extent = |one: &OuterLoop| one.argument.map_or(one.most, |number| extents[number]);
        Ok(self.loops.iter().map(extent).product())
    }

    /// Returns the contents of the uniform buffer for the given extents: four 32-bit integers in
    /// little-endian order.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`items`](Self::items).
    pub fn uniform(&self, extents: &[u64]) -> Result<[u8; 16], ExtentError> {
        self.items(extents)?;
        let mut bytes = [0; 16];
        for (word, &extent) in bytes.as_chunks_mut().0.iter_mut().zip(extents) {
            // The extent fits, because a kernel numbers its invocations with 32 bits.
            *word = u32::try_from(extent).unwrap_or(u32::MAX).to_le_bytes();
        }
        Ok(bytes)
    }
}

/// The reason why an operation cannot take extents at run time, or why the given ones are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtentError {
    /// A wrong number of dimensions.
    #[error(
        "dimensions: expected 1 to {MOST_ARGUMENTS} dimensions with extents at run time, got {given}"
    )]
    Dimensions {
        /// The number of dimensions.
        given: usize,
    },
    /// A dimension that the operation does not have, or that is given twice.
    #[error("dimensions: expected dimensions below {rank}, each once, got {dimension}")]
    Dimension {
        /// The dimension.
        dimension: usize,
        /// The rank of the operation's tensors.
        rank: usize,
    },
    /// A tensor or an operation in which the extent affects more than the strides of outer
    /// dimensions.
    #[error("{operand}: the extent of d{dimension} cannot be given at run time: {reason}")]
    Fixed {
        /// The tensor.
        operand: Operand,
        /// The dimension.
        dimension: usize,
        /// The reason, in words.
        reason: &'static str,
    },
    /// An item that does not consist of whole words.
    #[error(
        "{operand}: expected an item of whole 32-bit words inside the dimensions with extents at run time, got {bits} bits; pad an inner dimension, or compile a kernel for each extent"
    )]
    Words {
        /// The tensor.
        operand: Operand,
        /// The size of an item in bits.
        bits: u64,
    },
    /// A wrong number of extents.
    #[error("extents: expected {expected}, one for each dimension at run time, got {given}")]
    Count {
        /// The number of extents.
        given: usize,
        /// The number of dimensions with extents at run time.
        expected: usize,
    },
    /// An extent above its maximum.
    #[error("extents: expected at most {most} for d{dimension}, as compiled, got {given}")]
    TooLarge {
        /// The dimension.
        dimension: usize,
        /// The extent.
        given: u64,
        /// The maximum.
        most: u64,
    },
}

impl ExtentError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Fixed { .. } | Self::Words { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the argument that the error is about, with which its message begins.
    #[must_use]
    pub fn field(&self) -> FieldPath {
        FieldPath::new(match self {
            Self::Dimensions { .. } | Self::Dimension { .. } => "dimensions",
            Self::Fixed { operand, .. } | Self::Words { operand, .. } => match operand {
                Operand::Source(_) => "source",
                Operand::Destination => "destination",
            },
            Self::Count { .. } | Self::TooLarge { .. } => "extents",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outer(dimension: usize, most: u64, argument: Option<usize>) -> OuterLoop {
        OuterLoop { dimension, most, argument }
    }

    #[test]
    fn extents_are_counted_and_bounded() {
        let loops = [outer(2, 5, Some(1)), outer(1, 7, None), outer(0, 4, Some(0))];
        let extents = RunTimeExtents::new(loops, [2, 1, 0]).unwrap();
        assert_eq!(extents.most_items(), 140);
        assert!(extents.arguments().eq([(0, 4), (2, 5)]));
        assert_eq!(extents.items(&[3, 5]), Ok(105));
        assert_eq!(extents.items(&[0, 5]), Ok(0));
        assert_eq!(extents.uniform(&[3, 5]).unwrap()[..8], [3, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(extents.items(&[3]), Err(ExtentError::Count { given: 1, expected: 2 }));
        let error = extents.uniform(&[5, 5]).unwrap_err();
        assert_eq!(error.to_string(), "extents: expected at most 4 for d0, as compiled, got 5");
    }

    #[test]
    fn loops_that_no_kernel_has_are_refused() {
        let one = outer(0, 4, Some(0));
        for (loops, order) in [
            (&[][..], &[][..]),
            (&[outer(0, 4, None)], &[0]),
            (&[outer(0, 4, Some(1))], &[0]),
            (&[outer(0, 0, Some(0))], &[0]),
            (&[one, one], &[0, 1]),
            (&[one], &[1]),
            (&[one], &[0, 0]),
            (&[one, outer(1, u64::MAX, None)], &[0, 1]),
        ] {
            let made = RunTimeExtents::new(loops.iter().copied(), order.iter().copied());
            assert_eq!(made, None, "{loops:?}");
        }
    }
}
