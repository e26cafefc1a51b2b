//! [`Window`]: a map from each index of the destination to an index of the source.

use smallvec::SmallVec;

use crate::{
    error_kind::ErrorKind,
    shape::{Count, FieldPath},
};

/// A map from each index of the destination to the index of the source that is copied there. A
/// window describes a relayout or a slice.
///
/// The source and the destination have the same rank. Along each dimension, index `i` of the
/// destination is copied from index `src_start + i · src_step` of the source. For example, copying
/// every second of 4 rows, from the last one backwards, has start 3 and step -2.
///
/// ```
/// use stridec::window::{Slice, Window};
/// let identity = Window::identity(&[2, 3]);
/// assert_eq!(identity.source_index(&[1, 2]), Some(vec![1, 2]));
/// let reversed = Window::slice(&[4], &Slice::new([0], [4], [-1]))?;
/// assert_eq!(reversed.source_index(&[1]), Some(vec![2]));
/// # Ok::<(), stridec::window::WindowError>(())
/// ```
///
/// A window describes a single instruction. Chains of instructions are described by the affine
/// expressions of a nest, [`Affine`](crate::nest::Affine).
///
/// A window is always valid: only [`identity`](Self::identity) and [`slice`](Self::slice) create
/// one, and both ensure that every source index is inside the given extents. Lowering also rejects
/// a window whose indices exceed the extents of its source. The proof that a kernel stays inside
/// its buffers relies on both checks. The fields are therefore private:
///
/// ```compile_fail,E0451
/// use stridec::window::{Window, WindowDimension};
/// # fn forge(dimension: WindowDimension) -> WindowDimension {
/// WindowDimension { src_start: 1 << 20, ..dimension }
/// # }
/// ```
///
/// ```compile_fail,E0616
/// # use stridec::window::Window;
/// # let (mut window, other) = (Window::identity(&[4]), Window::identity(&[1 << 20]));
/// window.dimensions = other.dimensions;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    pub(super) dimensions: SmallVec<[WindowDimension; 8]>,
}

/// One dimension of a [`Window`]. All numbers are in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDimension {
    /// The extent of the destination in this dimension.
    pub(super) extent: u64,
    /// The source index that is copied to index 0 of the destination.
    pub(super) src_start: u64,
    /// The distance between the source indices of two neighbouring indices of the destination. It
    /// is never 0, and negative if the source is copied backwards.
    pub(super) src_step: i64,
}

impl WindowDimension {
    /// Returns the extent of the destination in this dimension.
    #[must_use]
    pub fn extent(&self) -> u64 {
        self.extent
    }

    /// Returns the source index that is copied to index 0 of the destination.
    #[must_use]
    pub fn src_start(&self) -> u64 {
        self.src_start
    }

    /// Returns the distance between the source indices of two neighbouring indices of the
    /// destination. The distance is never 0, and negative if the source is copied backwards.
    #[must_use]
    pub fn src_step(&self) -> i64 {
        self.src_step
    }

    /// Returns the source index that is copied to `index` of the destination, which must be below
    /// the extent.
    fn source_index(&self, index: u64) -> u64 {
        let walked = self.src_step.unsigned_abs() * index;
        if self.src_step < 0 { self.src_start - walked } else { self.src_start + walked }
    }

    /// Returns the smallest and the largest source index that is copied, or `None` if the extent is
    /// 0, because then nothing is copied.
    pub(crate) fn source_indices(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.src_start, self.source_index(self.extent.checked_sub(1)?));
        Some((first.min(last), first.max(last)))
    }
}

impl Window {
    /// Creates the window that copies each element to the same index, for an array of extents
    /// `sizes`.
    #[must_use]
    pub fn identity(sizes: &[u64]) -> Self {
        let dimensions = sizes
            .iter()
            .map(|&extent| WindowDimension { extent, src_start: 0, src_step: 1 })
            .collect();
        Self { dimensions }
    }

    /// Returns the dimensions of the window, in the order of the source and the destination.
    #[must_use]
    pub fn dimensions(&self) -> &[WindowDimension] {
        &self.dimensions
    }

    /// Returns the extents of the destination.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.dimensions.iter().map(WindowDimension::extent)
    }

    /// Adds an innermost dimension, along which each index is copied to the same index.
    #[must_use]
    pub(crate) fn with_inner_dimension(&self, extent: u64) -> Self {
        let mut dimensions = self.dimensions.clone();
        dimensions.extend(Self::identity(&[extent]).dimensions);
        Self { dimensions }
    }

    /// Changes the extents of some dimensions, which must be copied from start to end in order.
    pub(crate) fn with_extents(mut self, extents: impl IntoIterator<Item = (usize, u64)>) -> Self {
        for (dimension, extent) in extents {
            self.dimensions[dimension].extent = extent;
        }
        self
    }

    /// Returns the source index that is copied to `index` of the destination, or `None` if the
    /// destination has no such index.
    #[must_use]
    pub fn source_index(&self, index: &[u64]) -> Option<Vec<u64>> {
        if index.len() != self.dimensions.len() {
            return None;
        }
        let dimensions = self.dimensions.iter().zip(index);
        dimensions
            .map(|(dimension, &index)| {
                (index < dimension.extent).then(|| dimension.source_index(index))
            })
            .collect()
    }
}

/// The reason why a slice is not a valid window of its source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A list that does not have one value for each dimension.
    #[error(
        "{field}: expected {}, one for each dimension of the source, got {given}",
        Count(*rank as u64, "value")
    )]
    Count {
        /// The name of the list.
        field: &'static str,
        /// The number of values in the list.
        given: usize,
        /// The rank of the source.
        rank: usize,
    },
    /// A window that has no elements.
    #[error(
        "window_sizes[{dimension}]: expected 1 to {limit}, as many as the source has from the offset on, got 0"
    )]
    EmptyWindow {
        /// The dimension.
        dimension: usize,
        /// The number of source elements from the window's offset to the end of the dimension.
        limit: u64,
    },
    /// A window that exceeds the source.
    #[error(
        "window_offsets[{dimension}]: expected offset + size to be at most {extent}, the extent of the source, got {offset} + {size}"
    )]
    Outside {
        /// The dimension.
        dimension: usize,
        /// The given offset.
        offset: u64,
        /// The given size.
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
    /// An output size that is 0 or larger than the window allows.
    #[error(
        "output_sizes[{dimension}]: expected 1 to {limit}, which the window holds at stride {stride}, got {given}"
    )]
    OutputSize {
        /// The dimension.
        dimension: usize,
        /// The given size.
        given: u64,
        /// The maximum number of elements that the window allows at this stride.
        limit: u64,
        /// The window stride.
        stride: i64,
    },
}

impl WindowError {
    /// Returns the path of the field that the error is about, including the dimension if the error
    /// is about a single dimension.
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

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Slice;

    #[test]
    fn indices_of_the_source() {
        let slice = Slice::new([1, 0, 2], [4, 6, 3], [-2, 4, i64::MIN]);
        let window = Window::slice(&[5, 6, 5], &slice).unwrap();
        assert!(window.sizes().eq([2, 2, 1]));
        assert_eq!(window.source_index(&[0, 0, 0]), Some(vec![4, 0, 4]));
        assert_eq!(window.source_index(&[1, 1, 0]), Some(vec![2, 4, 4]));
        for outside in [&[2, 0, 0][..], &[0, 2, 0], &[0, 0, 1], &[0, 0], &[0, 0, 0, 0]] {
            assert_eq!(window.source_index(outside), None, "{outside:?}");
        }
        let read: Vec<_> =
            window.dimensions().iter().map(WindowDimension::source_indices).collect();
        assert_eq!(read, [Some((2, 4)), Some((0, 4)), Some((4, 4))]);
        let empty = Window::identity(&[0, u64::MAX]);
        let read: Vec<_> = empty.dimensions().iter().map(WindowDimension::source_indices).collect();
        assert_eq!(read, [None, Some((0, u64::MAX - 1))]);
    }

    #[test]
    fn an_inner_dimension_is_kept_as_it_is() {
        let window = Window::slice(&[5], &Slice::new([1], [4], [-2])).unwrap();
        let inner = window.with_inner_dimension(3);
        assert_eq!(inner.source_index(&[1, 2]), Some(vec![2, 2]));
        assert_eq!(inner.source_index(&[1, 3]), None);
    }

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
