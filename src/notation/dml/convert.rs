//! Conversions between tensors and DirectML's buffer descriptions.

use smallvec::SmallVec;

use super::{BufferTensorDesc, DmlError, TensorDataType};
use crate::{
    shape::Shape,
    stride::{StrideDescriptor, StrideError},
};

impl TryFrom<&StrideDescriptor> for BufferTensorDesc {
    type Error = DmlError;

    /// Describes a tensor by its sizes and strides. The total size in bytes is rounded up to a
    /// multiple of 4.
    ///
    /// ```
    /// use stridec::{notation::dml::BufferTensorDesc, shape::Shape, stride::StrideDescriptor};
    /// let padded: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
    /// let desc = BufferTensorDesc::try_from(&StrideDescriptor::try_from(&padded)?)?;
    /// assert_eq!((desc.sizes(), desc.strides()), (&[2, 3][..], Some(&[1, 3][..])));
    /// assert_eq!(desc.total_tensor_size_in_bytes(), 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn try_from(tensor: &StrideDescriptor) -> Result<Self, DmlError> {
        let element_type = tensor.element_type();
        let data_type = TensorDataType::from_element_type(element_type)
            .ok_or(DmlError::NoDataType { element_type })?;
        let (given, limit) = (tensor.element_bits(), data_type.bits());
        if given != limit {
            return Err(DmlError::ElementSize { given, data_type, limit });
        }
        if tensor.prefix_bytes() != 0 {
            return Err(DmlError::Prefix { given: tensor.prefix_bytes() });
        }
        let mut sizes: SmallVec<[u32; 8]> = SmallVec::new();
        for (dimension, &given) in tensor.sizes().iter().enumerate() {
            sizes.push(
                u32::try_from(given).map_err(|_| DmlError::SizeTooLarge { dimension, given })?,
            );
        }
        let mut strides: SmallVec<[u32; 8]> = SmallVec::new();
        for (dimension, stride) in tensor.strides().enumerate() {
            let given = stride.ok_or(DmlError::Tiled { dimension })?;
            strides.push(u32::try_from(given).map_err(|_| DmlError::Stride { dimension, given })?);
        }
        if tensor.base_offset() != 0 {
            return Err(DmlError::Offset { given: tensor.base_offset() });
        }
        let total = tensor.image_bytes().checked_next_multiple_of(4).ok_or(DmlError::TooLarge)?;
        Self::new(data_type, &sizes, Some(&strides))?.with_total_tensor_size_in_bytes(total)
    }
}

impl TryFrom<&Shape> for BufferTensorDesc {
    type Error = DmlError;

    fn try_from(shape: &Shape) -> Result<Self, DmlError> {
        Self::try_from(&StrideDescriptor::try_from(shape)?)
    }
}

impl TryFrom<&BufferTensorDesc> for StrideDescriptor {
    type Error = StrideError;

    /// Lowers a buffer description to a descriptor whose memory has `total_tensor_size_in_bytes`
    /// bytes.
    fn try_from(desc: &BufferTensorDesc) -> Result<Self, StrideError> {
        let data_type = desc.data_type();
        let sizes: SmallVec<[u64; 8]> = desc.sizes().iter().map(|&size| size.into()).collect();
        let strides: SmallVec<[i64; 8]> =
            desc.explicit_strides().iter().map(|&stride| stride.into()).collect();
        let bits = u64::from(data_type.bits());
        let total = desc
            .total_tensor_size_in_bytes()
            .checked_mul(8)
            .ok_or(StrideError::TooLarge { what: "total_tensor_size_in_bytes" })?;
        Self::strided(data_type.element_type(), bits, &sizes, &strides, 0)?
            .with_physical_elements(total / bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<BufferTensorDesc, DmlError> {
        BufferTensorDesc::try_from(&text.parse::<Shape>().unwrap())
    }

    #[test]
    fn a_description_reads_back() {
        for text in [
            "f32[2,3]",
            "f16[8,64,112,112]{1,3,2,0}",
            "s4[3,5]{1,0:E(4)}",
            "f32[2,3]{0,1:PAD(3,5,one)}",
            "f32[7]{0:L(8)}",
            "u8[1,1,3,5]{1,3,2,0}",
        ] {
            let desc = of(text).unwrap();
            let lowered = StrideDescriptor::try_from(&desc).unwrap();
            assert_eq!(BufferTensorDesc::try_from(&lowered), Ok(desc.clone()), "{text}");
            let shape = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            assert!(shape.strides().eq(lowered.strides()), "{text}");
            assert_eq!(lowered.image_bytes(), desc.total_tensor_size_in_bytes(), "{text}");
        }
    }

    #[test]
    fn tiles_that_split_nothing_leave_strides() {
        for (text, expected) in
            [("f32[8,1]{1,0:T(4)}", &[4, 1][..]), ("f32[1024,3]{1,0:T(8,128)}", &[128, 1])]
        {
            let desc = of(text).unwrap();
            assert_eq!(desc.explicit_strides()[..], *expected, "{text}");
            let image = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            assert_eq!(desc.total_tensor_size_in_bytes(), image.image_bytes(), "{text}");
        }
    }

    #[test]
    fn what_has_no_description_says_why() {
        for (text, why) in [
            ("f32[]", "sizes: expected 1 to 8 dimensions, got 0"),
            ("f32[1,1,1,1,1,1,1,1,2]", "sizes: expected 1 to 8 dimensions, got 9"),
            ("f32[2,0]", "sizes[1]: expected at least 1, got 0"),
            (
                "bf16[2]",
                "element_type: DirectML has no bf16; expected f16 to f64, s4 to s64 or u4 to u64",
            ),
            ("s4[2]", "element_size_in_bits: expected 4, the bits of an element of INT4, got 8"),
            (
                "f32[8,4]{1,0:T(2,2)}",
                "tiles: expected one stride for each dimension, got tiles that split dimension 0",
            ),
            (
                "f32[2]{0:M(8)}",
                "dynamic_shape_metadata_prefix_bytes: expected no bytes before the data, got 8",
            ),
            ("f32[4294967296]", "sizes[0]: expected 1 to 4294967295, got 4294967296"),
            (
                "token[]",
                "element_type: expected an array, got token, which has no elements to move",
            ),
        ] {
            assert_eq!(of(text).unwrap_err().to_string(), why, "{text}");
        }
        let strided = |strides: &[i64], offset| {
            let element_type = crate::shape::ElementType::F32;
            let tensor =
                StrideDescriptor::strided(element_type, 0, &[2, 3], strides, offset).unwrap();
            BufferTensorDesc::try_from(&tensor).unwrap_err()
        };
        assert_eq!(strided(&[-3, 1], 3), DmlError::Stride { dimension: 0, given: -3 });
        assert_eq!(strided(&[3, 1], 3), DmlError::Offset { given: 3 });
    }

    #[test]
    fn a_larger_total_is_a_larger_image() {
        let desc = BufferTensorDesc::new(TensorDataType::Uint8, &[2, 3], Some(&[5, 1])).unwrap();
        let desc = desc.with_total_tensor_size_in_bytes(40).unwrap();
        assert_eq!(StrideDescriptor::try_from(&desc).unwrap().physical_elements(), 40);
    }
}
