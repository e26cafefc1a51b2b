//! [`Window`]: which element of the source each index of the destination takes.

use smallvec::SmallVec;

use crate::{error_kind::ErrorKind, shape::FieldPath};

/// A logical operation: which source index each destination index takes.
///
/// Along destination dimension `d`, the indices `dst_start + k·dst_step` with `k` in `0..count` take the source index
/// `src_start + k·src_step` along `src_dim`; the destination indices between and around them take the fill. Relayouts
/// and slices cover every index. The form is closed under transposing, reversing, broadcasting and padding: each changes
/// these numbers and nothing else, so that a chain of them is one kernel.
///
/// ```
/// use stridec::window::Window;
/// let identity = Window::identity(&[2, 3]);
/// assert_eq!(identity.source_index(&[1, 2]), Some(vec![1, 2]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    pub(super) dimensions: SmallVec<[WindowDimension; 8]>,
    pub(super) src_rank: usize,
}

/// One destination dimension of a [`Window`]; all in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDimension {
    /// Extent of the destination.
    pub extent: u64,
    /// Number of indices that take a source index.
    pub count: u64,
    /// The source dimension that they walk; `None` where the same source serves them all.
    pub src_dim: Option<usize>,
    /// The source index that the first of them takes.
    pub src_start: u64,
    /// The step in the source; a negative one walks back.
    pub src_step: i64,
    /// The first destination index that takes a source index.
    pub dst_start: u64,
    /// The distance between them; at least 1.
    pub dst_step: u64,
}

impl Window {
    /// Every index takes itself.
    #[must_use]
    pub fn identity(sizes: &[u64]) -> Self {
        let dimensions = sizes
            .iter()
            .enumerate()
            .map(|(dimension, &extent)| WindowDimension {
                extent,
                count: extent,
                src_dim: Some(dimension),
                src_start: 0,
                src_step: 1,
                dst_start: 0,
                dst_step: 1,
            })
            .collect();
        Self { dimensions, src_rank: sizes.len() }
    }

    /// A window of any form; what operations make of it is not asked.
    #[cfg(test)]
    pub(crate) fn of(src_rank: usize, dimensions: &[WindowDimension]) -> Self {
        Self { dimensions: dimensions.into(), src_rank }
    }

    /// The dimensions of the destination.
    #[must_use]
    pub fn dimensions(&self) -> &[WindowDimension] {
        &self.dimensions
    }

    /// Number of dimensions of the source.
    #[must_use]
    pub fn src_rank(&self) -> usize {
        self.src_rank
    }

    /// Extents of the destination.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.dimensions.iter().map(|dimension| dimension.extent)
    }

    /// The same operation with one more, minor-most, dimension of `extent` on both sides that is kept as it is.
    #[must_use]
    pub fn with_inner_dimension(&self, extent: u64) -> Self {
        let mut dimensions = self.dimensions.clone();
        let inner = Self::identity(&[extent]).dimensions[0];
        dimensions.push(WindowDimension { src_dim: Some(self.src_rank), ..inner });
        Self { dimensions, src_rank: self.src_rank + 1 }
    }

    /// The source index that the destination's `index` takes, or `None` where it takes the fill.
    #[must_use]
    pub fn source_index(&self, index: &[u64]) -> Option<Vec<u64>> {
        let mut source = vec![0; self.src_rank];
        for (dimension, &at) in self.dimensions.iter().zip(index) {
            let past = at.checked_sub(dimension.dst_start)?;
            let step = past / dimension.dst_step;
            if past % dimension.dst_step != 0 || step >= dimension.count {
                return None;
            }
            if let Some(src_dim) = dimension.src_dim {
                let walked = dimension.src_step * i64::try_from(step).ok()?;
                source[src_dim] = dimension.src_start.checked_add_signed(walked)?;
            }
        }
        Some(source)
    }
}

/// Why an operation is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A list has not one value per dimension.
    #[error("{field}: expected {rank} values, one for each dimension of the source, got {given}")]
    Count {
        /// The field.
        field: &'static str,
        /// Its number of values.
        given: usize,
        /// The rank of the source.
        rank: usize,
    },
    /// A window without elements.
    #[error(
        "window_sizes[{dimension}]: expected 1 to {limit}, as many as the source has from the offset on, got 0"
    )]
    EmptyWindow {
        /// The dimension.
        dimension: usize,
        /// The most elements that fit from the offset on.
        limit: u64,
    },
    /// A window that reaches past the tensor.
    #[error(
        "window_offsets[{dimension}]: expected offset + size to be at most {extent}, the extent of the source, got {offset} + {size}"
    )]
    Outside {
        /// The dimension.
        dimension: usize,
        /// The offset that was given.
        offset: u64,
        /// The size that was given.
        size: u64,
        /// The extent of the source.
        extent: u64,
    },
    /// A window stride of zero.
    #[error("window_strides[{dimension}]: expected a stride other than 0, got 0")]
    ZeroStride {
        /// The dimension.
        dimension: usize,
    },
    /// An output without elements, or with more than the window holds.
    #[error(
        "output_sizes[{dimension}]: expected 1 to {limit}, which the window holds at stride {stride}, got {given}"
    )]
    OutputSize {
        /// The dimension.
        dimension: usize,
        /// The size that was given.
        given: u64,
        /// The most that the window holds.
        limit: u64,
        /// The window stride.
        stride: i64,
    },
}

impl WindowError {
    /// The field that the error is about, with the dimension where it is about one.
    #[must_use]
    pub fn field(&self) -> FieldPath {
        let (name, dimension) = match *self {
            Self::Count { field, .. } => return FieldPath::new(field),
            Self::EmptyWindow { dimension, .. } => ("window_sizes", dimension),
            Self::Outside { dimension, .. } => ("window_offsets", dimension),
            Self::ZeroStride { dimension } => ("window_strides", dimension),
            Self::OutputSize { dimension, .. } => ("output_sizes", dimension),
        };
        FieldPath::new(name).index(dimension)
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_fields() {
        for (error, field) in [
            (WindowError::Count { field: "window_sizes", given: 1, rank: 2 }, "window_sizes"),
            (WindowError::EmptyWindow { dimension: 3, limit: 2 }, "window_sizes[3]"),
            (
                WindowError::Outside { dimension: 1, offset: 2, size: 2, extent: 3 },
                "window_offsets[1]",
            ),
            (WindowError::ZeroStride { dimension: 0 }, "window_strides[0]"),
            (
                WindowError::OutputSize { dimension: 2, given: 0, limit: 1, stride: 1 },
                "output_sizes[2]",
            ),
        ] {
            assert_eq!(error.field().to_string(), field, "{error}");
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }
}
