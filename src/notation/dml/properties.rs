//! Functions that test if a description's memory is packed or padded, and that add dimensions to
//! it.

use super::{BufferTensorDesc, DmlError, MAX_DIMENSION_COUNT, size::implied_elements};
use crate::stride::packed_elements;

impl BufferTensorDesc {
    /// Returns true if the elements are contiguous without overlaps, in any order of the
    /// dimensions.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        let strides = self.explicit_strides();
        let dimensions = strides.iter().zip(&self.sizes);
        packed_elements(dimensions.map(|(&stride, &size)| (stride.into(), size.into()))).is_some()
    }

    /// Returns true if the strides leave unused memory between the first and the last element.
    ///
    /// Unused bytes after the last element do not count as padding.
    #[must_use]
    pub fn is_padded(&self) -> bool {
        let strides = self.explicit_strides();
        let places: u64 = strides
            .iter()
            .zip(&self.sizes)
            .filter(|&(&stride, _)| stride != 0)
            .map(|(_, &size)| u64::from(size))
            .product();
        implied_elements(&self.sizes, Some(&strides)).is_ok_and(|implied| implied > places)
    }

    /// Adds leading dimensions of size 1 until there are `dimension_count` dimensions, for
    /// operators that require tensors of 4 or 5 dimensions.
    ///
    /// ```
    /// use stridec::notation::dml::{BufferTensorDesc, TensorDataType};
    /// let matrix = BufferTensorDesc::new(TensorDataType::Float32, &[3, 5], None)?;
    /// let promoted = matrix.promoted(4)?;
    /// assert_eq!(promoted.sizes(), [1, 1, 3, 5]);
    /// assert_eq!(promoted.explicit_strides()[..], [15, 15, 5, 1]);
    /// # Ok::<(), stridec::notation::dml::DmlError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor already has more dimensions, or if `dimension_count` exceeds
    /// 8.
    pub fn promoted(&self, dimension_count: usize) -> Result<Self, DmlError> {
        let rank = self.sizes.len();
        if dimension_count > MAX_DIMENSION_COUNT {
            return Err(DmlError::dimension_count(dimension_count));
        }
        let Some(added) = dimension_count.checked_sub(rank) else {
            return Err(DmlError::DimensionCount { given: rank, least: 1, limit: dimension_count });
        };
        let mut promoted = self.clone();
        promoted.sizes.insert_many(0, std::iter::repeat_n(1, added));
        if let Some(strides) = &mut promoted.strides {
            // The stride of a dimension with one element has no effect, so the packed stride is
            // used.
            let outer = strides
                .iter()
                .zip(&self.sizes)
                .map(|(&stride, &size)| u64::from(stride) * u64::from(size));
            let outer = u32::try_from(outer.max().unwrap_or(1)).unwrap_or(u32::MAX);
            strides.insert_many(0, std::iter::repeat_n(outer, added));
        }
        Ok(promoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::dml::TensorDataType::Float32;

    fn desc(sizes: &[u32], strides: &[u32]) -> BufferTensorDesc {
        BufferTensorDesc::new(Float32, sizes, Some(strides)).unwrap()
    }

    #[test]
    fn the_published_examples_have_their_predicates() {
        // NCHW, NHWC, a broadcast over rows, rows of 3 padded to 5, and the columns of a transposed
        // matrix.
        for (sizes, strides, [packed, padded]) in [
            (&[1, 1, 3, 5][..], &[15, 15, 5, 1][..], [true, false]),
            (&[1, 1, 3, 5], &[15, 1, 5, 1], [true, false]),
            (&[2, 3], &[0, 1], [false, false]),
            (&[2, 3], &[5, 1], [false, true]),
            (&[2, 3], &[1, 2], [true, false]),
            (&[1, 3], &[0, 1], [true, false]),
        ] {
            let desc = desc(sizes, strides);
            let given = [desc.is_packed(), desc.is_padded()];
            assert_eq!(given, [packed, padded], "{sizes:?} {strides:?}");
        }
        assert!(BufferTensorDesc::new(Float32, &[2, 3], None).unwrap().is_packed());
    }

    #[test]
    fn promotion_adds_leading_ones() {
        let promoted = desc(&[2, 3], &[5, 1]).promoted(5).unwrap();
        assert_eq!(promoted.sizes(), [1, 1, 1, 2, 3]);
        assert_eq!(promoted.strides(), Some(&[10, 10, 10, 5, 1][..]));
        let packed = BufferTensorDesc::new(Float32, &[3, 5], None).unwrap().promoted(4).unwrap();
        assert_eq!((packed.strides(), packed.total_tensor_size_in_bytes()), (None, 60));
        let (given, least, limit) = (5, 1, 4);
        assert_eq!(promoted.promoted(4), Err(DmlError::DimensionCount { given, least, limit }));
        assert_eq!(promoted.promoted(8).unwrap().sizes()[..7], [1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(promoted.promoted(9), Err(DmlError::dimension_count(9)));
    }
}
