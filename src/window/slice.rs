//! [`Slice`]: DirectML's SLICE1 operator, the most general slice of any public interface. XLA's
//! `kSlice` and `kReverse` are special cases of it.

use super::{Window, WindowDimension, WindowError};

/// DirectML's SLICE1 operator (`DML_SLICE1_OPERATOR_DESC`), which copies a strided window of each
/// dimension.
///
/// Each list has one value for each dimension of the source, in elements. If a stride is negative,
/// copying starts at the last element of the window. For example, on a 4×4 tensor with the elements
/// 1 … 16:
///
/// ```
/// use stridec::window::{Slice, Window};
/// let slice = Slice::new([0, 1], [4, 3], [-2, 2]);
/// assert_eq!(slice.max_copied_elements(), [2, 2]);
/// let window = Window::slice(&[4, 4], &slice)?;
/// assert_eq!(window.source_index(&[0, 0]), Some(vec![3, 1])); // element 14
/// # Ok::<(), stridec::window::WindowError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Slice {
    /// The first source index of the window, in each dimension.
    pub window_offsets: Vec<u64>,
    /// The extent of the window in each dimension, at least 1.
    pub window_sizes: Vec<u64>,
    /// The stride inside the window in each dimension. It may be negative, but not 0.
    pub window_strides: Vec<i64>,
    /// The extents of the output. Each is at least 1 and at most
    /// [`max_copied_elements`](Self::max_copied_elements). `None` means that the output has these
    /// maximum extents.
    pub output_sizes: Option<Vec<u64>>,
}

impl Slice {
    /// Creates a slice that copies the maximum number of elements along each dimension.
    ///
    /// The slice is checked against the sizes of a source later, by [`Window::slice`].
    #[must_use]
    pub fn new(
        window_offsets: impl Into<Vec<u64>>,
        window_sizes: impl Into<Vec<u64>>,
        window_strides: impl Into<Vec<i64>>,
    ) -> Self {
        Self {
            window_offsets: window_offsets.into(),
            window_sizes: window_sizes.into(),
            window_strides: window_strides.into(),
            output_sizes: None,
        }
    }

    /// Returns the maximum number of elements that can be copied along each dimension:
    /// `1 + (size - 1) / |stride|`.
    ///
    /// DirectML's documentation divides by the signed stride, but its own second example shows that
    /// the absolute value is meant. The result is 0 for a dimension whose size or stride is 0.
    #[must_use]
    pub fn max_copied_elements(&self) -> Vec<u64> {
        self.window_sizes
            .iter()
            .zip(&self.window_strides)
            .map(|(&size, &stride)| held(size, stride))
            .collect()
    }
}

fn held(size: u64, stride: i64) -> u64 {
    match (size, stride) {
        (0, _) | (_, 0) => 0,
        (size, stride) => 1 + (size - 1) / stride.unsigned_abs(),
    }
}

impl Window {
    /// Creates the window for a slice of a source with extents `sizes`.
    ///
    /// # Errors
    ///
    /// Returns an error if a list does not have one value for each dimension, if a window is empty
    /// or exceeds the source, if a stride is 0, or if an output size is 0 or exceeds
    /// [`Slice::max_copied_elements`].
    pub fn slice(sizes: &[u64], slice: &Slice) -> Result<Self, WindowError> {
        let rank = sizes.len();
        let counts = [
            ("window_offsets", slice.window_offsets.len()),
            ("window_sizes", slice.window_sizes.len()),
            ("window_strides", slice.window_strides.len()),
            ("output_sizes", slice.output_sizes.as_ref().map_or(rank, Vec::len)),
        ];
        for (field, given) in counts {
            if given != rank {
                return Err(WindowError::Count { field, given, rank });
            }
        }
        let dimensions = (0..rank)
            .map(|dimension| {
                let (offset, size) =
                    (slice.window_offsets[dimension], slice.window_sizes[dimension]);
                let (stride, extent) = (slice.window_strides[dimension], sizes[dimension]);
                if offset.checked_add(size).is_none_or(|end| end > extent) {
                    return Err(WindowError::Outside { dimension, offset, size, extent });
                }
                if size == 0 {
                    return Err(WindowError::EmptyWindow { dimension, limit: extent - offset });
                }
                if stride == 0 {
                    return Err(WindowError::ZeroStride { dimension });
                }
                let limit = held(size, stride);
                let count = match &slice.output_sizes {
                    Some(sizes) => sizes[dimension],
                    None => limit,
                };
                if count == 0 || count > limit {
                    return Err(WindowError::OutputSize { dimension, given: count, limit, stride });
                }
                Ok(WindowDimension {
                    extent: count,
                    src_start: if stride < 0 { offset + size - 1 } else { offset },
                    src_step: stride,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { dimensions })
    }
}
