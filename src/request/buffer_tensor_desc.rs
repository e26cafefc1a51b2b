//! Conversions of [`BufferTensorDesc`], DirectML's description of a tensor, to and from its message
//! in `proto/`.

use crate::{
    notation::dml::{BufferTensorDesc, DmlError, TensorDataType},
    proto::stridec as proto,
};

impl TryFrom<&proto::BufferTensorDesc> for BufferTensorDesc {
    type Error = DmlError;

    /// Converts a message and checks it against all rules of `DML_BUFFER_TENSOR_DESC`.
    ///
    /// If the message has no strides, the tensor is packed.
    ///
    /// ```
    /// use stridec::{notation::dml::BufferTensorDesc, proto};
    /// let given = proto::stridec::BufferTensorDesc {
    ///     data_type: 1,
    ///     sizes: vec![2, 3],
    ///     strides: vec![5, 1],
    ///     total_tensor_size_in_bytes: 40,
    ///     ..Default::default()
    /// };
    /// let desc = BufferTensorDesc::try_from(&given)?;
    /// assert_eq!(proto::stridec::BufferTensorDesc::from(&desc), given);
    /// # Ok::<(), stridec::notation::dml::DmlError>(())
    /// ```
    fn try_from(given: &proto::BufferTensorDesc) -> Result<Self, DmlError> {
        let data_type = TensorDataType::from_number(given.data_type)
            .ok_or(DmlError::DataType { given: given.data_type })?;
        let strides = (!given.strides.is_empty()).then_some(&given.strides[..]);
        let desc = Self::new(data_type, &given.sizes, strides)?
            .with_flags(given.flags)?
            .with_total_tensor_size_in_bytes(given.total_tensor_size_in_bytes)?;
        desc.with_guaranteed_base_offset_alignment(given.guaranteed_base_offset_alignment)
    }
}

impl From<&BufferTensorDesc> for proto::BufferTensorDesc {
    fn from(desc: &BufferTensorDesc) -> Self {
        Self {
            data_type: desc.data_type() as i32,
            flags: desc.flags(),
            sizes: desc.sizes().to_vec(),
            strides: desc.strides().map(<[u32]>::to_vec).unwrap_or_default(),
            total_tensor_size_in_bytes: desc.total_tensor_size_in_bytes(),
            guaranteed_base_offset_alignment: desc.guaranteed_base_offset_alignment(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> proto::BufferTensorDesc {
        proto::BufferTensorDesc {
            data_type: proto::TensorDataType::Float16.into(),
            flags: 1,
            sizes: vec![1, 1, 3, 5],
            strides: vec![],
            total_tensor_size_in_bytes: 64,
            guaranteed_base_offset_alignment: 32,
        }
    }

    #[test]
    fn every_field_reads_back() {
        let desc = BufferTensorDesc::try_from(&given()).unwrap();
        assert_eq!(proto::BufferTensorDesc::from(&desc), given());
        let strided = proto::BufferTensorDesc { strides: vec![15, 1, 5, 1], ..given() };
        let desc = BufferTensorDesc::try_from(&strided).unwrap();
        assert_eq!(proto::BufferTensorDesc::from(&desc), strided);
    }

    #[test]
    fn the_numbers_of_the_types_are_the_protos() {
        for kind in TensorDataType::ALL {
            let proto = proto::TensorDataType::try_from(kind as i32).unwrap();
            assert_eq!(proto.as_str_name(), kind.name());
        }
    }

    #[test]
    fn errors_name_the_field() {
        type Change = fn(&mut proto::BufferTensorDesc);
        let cases: [(Change, &str); 8] = [
            (
                |d| d.data_type = 0,
                "data_type: expected a number of DML_TENSOR_DATA_TYPE, 1 to 13, got 0",
            ),
            (|d| d.flags = 4, "flags: expected 0 or 1 (OWNED_BY_DML), got 0x4"),
            (|d| d.sizes.clear(), "sizes: expected 1 to 8 dimensions, got 0"),
            (|d| d.sizes[1] = 0, "sizes[1]: expected at least 1, got 0"),
            (|d| d.strides = vec![1], "strides: expected 4, one for each size, or none, got 1"),
            (
                |d| d.total_tensor_size_in_bytes = 28,
                "total_tensor_size_in_bytes: expected at least 32, which sizes and strides imply, got 28",
            ),
            (
                |d| d.total_tensor_size_in_bytes = 33,
                "total_tensor_size_in_bytes: expected a multiple of 4, got 33",
            ),
            (
                |d| d.guaranteed_base_offset_alignment = 1,
                "guaranteed_base_offset_alignment: expected 0, or at least 2, the bytes of an element of FLOAT16, got 1",
            ),
        ];
        for (change, why) in cases {
            let mut desc = given();
            change(&mut desc);
            let error = BufferTensorDesc::try_from(&desc).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }
}
