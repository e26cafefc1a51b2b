//! [`BufferTensorDesc`]: DirectML's description of a tensor in a buffer.

use std::fmt;

use smallvec::SmallVec;

use super::{DmlError, MAX_DIMENSION_COUNT, TensorDataType, calc_buffer_tensor_size};

/// The bits of all flags in `DML_TENSOR_FLAGS`. The only flag is `DML_TENSOR_FLAG_OWNED_BY_DML`.
const FLAGS: u32 = 1;

/// DirectML's description of a tensor in a buffer, `DML_BUFFER_TENSOR_DESC`. A value of this type
/// is always valid.
///
/// Sizes and strides are in elements, in the order of the dimensions. A stride of 0 repeats the
/// same elements along its dimension. A stride larger than the span of the inner dimensions leaves
/// padding between them. Without strides, the tensor is packed and row-major.
///
/// ```
/// use stridec::notation::dml::{BufferTensorDesc, TensorDataType};
/// let image = BufferTensorDesc::new(TensorDataType::Float16, &[1, 1, 3, 5], None)?;
/// assert_eq!(image.total_tensor_size_in_bytes(), 32); // 30 bytes, rounded up to a multiple of 4
/// assert!(image.is_packed());
/// let error = image.with_total_tensor_size_in_bytes(28).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "total_tensor_size_in_bytes: expected at least 32, which sizes and strides imply, got 28"
/// );
/// # Ok::<(), stridec::notation::dml::DmlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferTensorDesc {
    data_type: TensorDataType,
    flags: u32,
    pub(super) sizes: SmallVec<[u32; 8]>,
    pub(super) strides: Option<SmallVec<[u32; 8]>>,
    total_tensor_size_in_bytes: u64,
    guaranteed_base_offset_alignment: u32,
}

impl BufferTensorDesc {
    /// Creates a description with the minimum total size, no flags and no guaranteed alignment.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of dimensions is not 1 to 8, if a size is 0, if the tensor
    /// has more than 2^32-1 elements, if the number of strides differs from the number of sizes, or
    /// if the total size exceeds 2^64-1 bytes.
    pub fn new(
        data_type: TensorDataType,
        sizes: &[u32],
        strides: Option<&[u32]>,
    ) -> Result<Self, DmlError> {
        if sizes.is_empty() || sizes.len() > MAX_DIMENSION_COUNT {
            return Err(DmlError::dimension_count(sizes.len()));
        }
        let mut elements = 1_u32;
        for (dimension, &size) in sizes.iter().enumerate() {
            if size == 0 {
                return Err(DmlError::ZeroSize { dimension });
            }
            let given = u64::from(elements) * u64::from(size);
            elements =
                u32::try_from(given).map_err(|_| DmlError::ElementCount { dimension, given })?;
        }
        Ok(Self {
            data_type,
            flags: 0,
            sizes: sizes.into(),
            strides: strides.map(SmallVec::from),
            total_tensor_size_in_bytes: calc_buffer_tensor_size(data_type, sizes, strides)?,
            guaranteed_base_offset_alignment: 0,
        })
    }

    /// Sets the flags of `DML_TENSOR_FLAGS`: 0, or 1 for `OWNED_BY_DML`.
    ///
    /// # Errors
    ///
    /// Returns an error if other bits are set.
    pub fn with_flags(mut self, flags: u32) -> Result<Self, DmlError> {
        if flags & !FLAGS != 0 {
            return Err(DmlError::Flags { given: flags });
        }
        self.flags = flags;
        Ok(self)
    }

    /// Sets the size of the buffer range of the tensor, in bytes. If the tensor is an output, all
    /// bytes of the range may be overwritten.
    ///
    /// # Errors
    ///
    /// Returns an error if the size is less than [`calc_buffer_tensor_size`] or is not a multiple
    /// of 4.
    pub fn with_total_tensor_size_in_bytes(mut self, total: u64) -> Result<Self, DmlError> {
        let least = calc_buffer_tensor_size(self.data_type, &self.sizes, self.strides())?;
        if total < least {
            return Err(DmlError::TotalTensorSize { given: total, least });
        }
        if !total.is_multiple_of(4) {
            return Err(DmlError::TotalTensorSizeMultiple { given: total });
        }
        self.total_tensor_size_in_bytes = total;
        Ok(self)
    }

    /// Guarantees that the range in the buffer begins at a multiple of `bytes`. If `bytes` is 0,
    /// only the minimum alignment of 16 bytes is guaranteed.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is not a power of two, or is smaller than an element. 0 is
    /// always accepted.
    pub fn with_guaranteed_base_offset_alignment(mut self, bytes: u32) -> Result<Self, DmlError> {
        let (data_type, least) = (self.data_type, self.data_type.bits().div_ceil(8));
        if bytes != 0 && !bytes.is_power_of_two() {
            return Err(DmlError::AlignmentNotPowerOfTwo { given: bytes });
        }
        if bytes != 0 && bytes < least {
            return Err(DmlError::AlignmentBelowElement { given: bytes, least, data_type });
        }
        self.guaranteed_base_offset_alignment = bytes;
        Ok(self)
    }

    /// Returns the element type.
    #[must_use]
    pub fn data_type(&self) -> TensorDataType {
        self.data_type
    }

    /// Returns the `DML_TENSOR_FLAGS`.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Returns the extents, in elements.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Returns the distance between neighbours along each dimension, in elements, or `None` if the
    /// tensor was created without strides and is therefore packed.
    #[must_use]
    pub fn strides(&self) -> Option<&[u32]> {
        self.strides.as_deref()
    }

    /// Returns one stride for each dimension, in elements. If no strides were given, these are the
    /// packed ones.
    #[must_use]
    pub fn explicit_strides(&self) -> SmallVec<[u32; 8]> {
        self.strides.clone().unwrap_or_else(|| {
            let mut strides: SmallVec<[u32; 8]> = self.sizes.clone();
            let mut stride = 1;
            for (place, &size) in strides.iter_mut().zip(&self.sizes).rev() {
                *place = stride;
                stride *= size;
            }
            strides
        })
    }

    /// Returns the size of the tensor's buffer range, in bytes.
    #[must_use]
    pub fn total_tensor_size_in_bytes(&self) -> u64 {
        self.total_tensor_size_in_bytes
    }

    /// Returns the guaranteed alignment of the range in the buffer, in bytes. 0 means that only the
    /// minimum of 16 bytes is guaranteed.
    #[must_use]
    pub fn guaranteed_base_offset_alignment(&self) -> u32 {
        self.guaranteed_base_offset_alignment
    }
}

/// Prints the tensor as an array with explicit strides, such as `f32[2,3] strided<[5,1]>` or
/// `s4[8]{:E(4)} strided<[1]>`.
impl fmt::Display for BufferTensorDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let (element_type, bits) = (self.data_type.element_type(), self.data_type.bits());
        write!(f, "{element_type}[{}]", list(&self.sizes))?;
        if bits < 8 {
            write!(f, "{{:E({bits})}}")?;
        }
        write!(f, " strided<[{}]>", list(&self.explicit_strides()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TensorDataType::{Float32, Uint8};

    fn desc(sizes: &[u32], strides: &[u32]) -> BufferTensorDesc {
        BufferTensorDesc::new(Float32, sizes, Some(strides)).unwrap()
    }

    #[test]
    fn each_rule_has_its_own_error() {
        let new = |sizes: &[u32]| BufferTensorDesc::new(Float32, sizes, None);
        assert_eq!(new(&[]), Err(DmlError::dimension_count(0)));
        assert_eq!(new(&[1; 9]), Err(DmlError::dimension_count(9)));
        assert_eq!(new(&[2, 0]), Err(DmlError::ZeroSize { dimension: 1 }));
        assert_eq!(
            new(&[65_536, 65_536]),
            Err(DmlError::ElementCount { dimension: 1, given: 1 << 32 })
        );
        assert!(BufferTensorDesc::new(Uint8, &[65_535, 65_537], None).is_ok()); // 2^32-1
        assert_eq!(
            BufferTensorDesc::new(Float32, &[2, 3], Some(&[1])),
            Err(DmlError::StrideCount { given: 1, rank: 2 })
        );
        let desc = desc(&[2, 3], &[5, 1]);
        let total = |bytes| desc.clone().with_total_tensor_size_in_bytes(bytes);
        assert_eq!(total(31), Err(DmlError::TotalTensorSize { given: 31, least: 32 }));
        assert_eq!(total(41), Err(DmlError::TotalTensorSizeMultiple { given: 41 }));
        assert_eq!(total(40).map(|desc| desc.total_tensor_size_in_bytes()), Ok(40));
        assert_eq!(desc.clone().with_flags(2), Err(DmlError::Flags { given: 2 }));
        assert_eq!(desc.flags(), 0);
        assert_eq!(desc.clone().with_flags(1).map(|desc| desc.flags()), Ok(1));
        let align = |bytes| desc.clone().with_guaranteed_base_offset_alignment(bytes).map(|_| ());
        assert_eq!(align(24), Err(DmlError::AlignmentNotPowerOfTwo { given: 24 }));
        let (given, least, data_type) = (2, 4, Float32);
        assert_eq!(align(2), Err(DmlError::AlignmentBelowElement { given, least, data_type }));
        assert_eq!((align(0), align(4), align(64)), (Ok(()), Ok(()), Ok(())));
    }

    #[test]
    fn a_description_prints_as_an_array_with_strides() {
        let text = desc(&[2, 3], &[5, 1]).to_string();
        assert_eq!(text, "f32[2,3] strided<[5,1]>");
        let packed = BufferTensorDesc::new(TensorDataType::Int4, &[2, 3], None).unwrap();
        assert_eq!(packed.to_string(), "s4[2,3]{:E(4)} strided<[3,1]>");
        assert!(packed.to_string().parse::<crate::shape::StridedShape>().is_ok());
    }
}
