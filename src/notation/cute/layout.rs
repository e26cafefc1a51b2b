//! [`CuteLayout`]: a nested shape with its strides, as in CuTe.

use crate::error_kind::ErrorKind;

/// A CuTe layout, which is a function from the coordinates `0..size` to offsets.
///
/// The size and all offsets fit an int64.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CuteLayout {
    mode: Mode,
}

/// A part of a layout: an extent with its stride, or a tuple of modes, the least significant first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A pair, `extent:stride`.
    Leaf {
        /// The number of values, which is at least 1.
        extent: u64,
        /// The difference between the offsets of neighbouring values.
        stride: i64,
    },
    /// A tuple, `(…):(…)`.
    Tuple(Vec<Mode>),
}

/// The reason why an operation on layouts failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CuteError {
    /// Two numbers, neither of which divides the other.
    #[error("expected {what} of which one divides the other, got {given} and {by}")]
    Indivisible {
        /// A description of the two numbers, such as `an extent and a stride`.
        what: &'static str,
        /// The first number.
        given: u64,
        /// The second number.
        by: u64,
    },
    /// Two coordinates with the same offset, in a layout that must be injective.
    #[error(
        "expected a layout that gives each coordinate an offset of its own, got stride {stride} inside {inside} offsets"
    )]
    Overlap {
        /// The stride.
        stride: i64,
        /// The distance that all smaller strides together can cover.
        inside: u64,
    },
    /// A negative stride in an operation that does not allow one.
    #[error("expected strides from 0 on, got {stride}")]
    Negative {
        /// The stride.
        stride: i64,
    },
    /// A tiler with more modes than the layout.
    #[error("expected a tiler of at most {limit} modes, got {given}")]
    Rank {
        /// The number of modes of the tiler.
        given: usize,
        /// The number of modes of the layout.
        limit: usize,
    },
    /// An extent of 0, or a size or an offset that exceeds an int64.
    #[error("expected extents from 1 on, and a size and offsets below 2^63")]
    Range,
}

impl CuteError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

impl Mode {
    /// Returns the extents and strides of all leaves, the least significant first.
    #[must_use]
    pub fn leaves(&self) -> Vec<(u64, i64)> {
        match self {
            Self::Leaf { extent, stride } => vec![(*extent, *stride)],
            Self::Tuple(modes) => modes.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Returns the number of coordinates, which is the product of the extents.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.leaves().iter().map(|leaf| leaf.0).product()
    }

    /// Creates a mode from pairs of an extent and a stride: a tuple, a leaf if there is one pair,
    /// or `1:0` if there is none.
    pub(super) fn of_leaves(leaves: Vec<(u64, i64)>) -> Self {
        let leaf = |(extent, stride)| Self::Leaf { extent, stride };
        match leaves[..] {
            [] => leaf((1, 0)),
            [one] => leaf(one),
            _ => Self::Tuple(leaves.into_iter().map(leaf).collect()),
        }
    }
}

impl CuteLayout {
    /// Creates a layout from a mode.
    ///
    /// # Errors
    ///
    /// Returns an error if an extent is 0, or if the size or an offset exceeds an int64.
    pub fn new(mode: Mode) -> Result<Self, CuteError> {
        let fits = || {
            let (mut size, mut low, mut high) = (1_i64, 0_i64, 0_i64);
            for (extent, stride) in mode.leaves() {
                let extent = i64::try_from(extent).ok().filter(|&extent| extent > 0)?;
                size = size.checked_mul(extent)?;
                let span = (extent - 1).checked_mul(stride)?;
                let end = if span < 0 { &mut low } else { &mut high };
                *end = end.checked_add(span)?;
            }
            high.checked_sub(low)?.checked_add(1)
        };
        fits().ok_or(CuteError::Range)?;
        Ok(Self { mode })
    }

    /// Returns the nested mode of the layout.
    #[must_use]
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Returns the top-level modes, which are the dimensions of an array.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        match &self.mode {
            Mode::Tuple(modes) => modes,
            leaf @ Mode::Leaf { .. } => std::slice::from_ref(leaf),
        }
    }

    /// Returns the number of coordinates, which is the product of the extents.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.mode.size()
    }

    /// Returns the number of offsets from the lowest to the highest, `1 + Σ (extent - 1) ·
    /// |stride|`.
    #[must_use]
    pub fn cosize(&self) -> u64 {
        self.mode
            .leaves()
            .iter()
            .map(|(extent, stride)| (extent - 1) * stride.unsigned_abs())
            .sum::<u64>()
            + 1
    }

    /// Returns the offset of `coordinate`. Coordinates are numbered in colexicographic order.
    /// Coordinates past the last one continue along the most significant leaf.
    #[must_use]
    pub fn at(&self, coordinate: u64) -> i64 {
        let leaves = self.mode.leaves();
        let mut rest = coordinate;
        let mut offset = 0_i64;
        for (number, &(extent, stride)) in leaves.iter().enumerate() {
            let digit = if number + 1 == leaves.len() { rest } else { rest % extent };
            rest /= extent;
            let digit = i64::try_from(digit).unwrap_or(i64::MAX);
            offset = offset.saturating_add(digit.saturating_mul(stride));
        }
        offset
    }
}
