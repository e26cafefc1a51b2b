//! numpy's arrays.

use super::{StrideDescriptor, StrideError, byte_offset, expect_element_bits, plain_strides};
use crate::shape::ElementType;

/// A numpy array's `dtype`, `shape` and `strides`, and where in the buffer it starts.
///
/// ```
/// use stridec::{shape::Shape, stride::{StrideDescriptor, interchange::NumpyArray}};
/// let tensor = StrideDescriptor::try_from(&"f32[1,1,3,5]{1,3,2,0}".parse::<Shape>()?)?;
/// let array = NumpyArray::try_from(&tensor)?;
/// assert_eq!((array.dtype, array.strides), ("float32", vec![60, 60, 20, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NumpyArray {
    /// What `numpy.dtype` takes; the package `ml_dtypes` registers what numpy itself lacks.
    pub dtype: &'static str,
    /// Extents.
    pub shape: Vec<u64>,
    /// Distances between neighbours, in bytes.
    pub strides: Vec<i64>,
    /// Where the element at index 0 lies, in bytes.
    pub offset: u64,
}

impl TryFrom<&StrideDescriptor> for NumpyArray {
    type Error = StrideError;

    fn try_from(tensor: &StrideDescriptor) -> Result<Self, StrideError> {
        let element_type = tensor.element_type();
        let no_elements = || StrideError::NoElements { element_type };
        let bits = element_type.storage_bits().ok_or_else(no_elements)?;
        expect_element_bits(tensor, bits)?;
        let bytes = i64::from(bits / 8);
        let too_large = StrideError::TooLarge { what: "strides" };
        let strides = plain_strides(tensor)?
            .into_iter()
            .map(|stride| stride.checked_mul(bytes))
            .collect::<Option<_>>()
            .ok_or(too_large)?;
        Ok(Self {
            dtype: dtype(element_type).ok_or_else(no_elements)?,
            shape: tensor.sizes().to_vec(),
            strides,
            offset: byte_offset(tensor, bits)?,
        })
    }
}

fn dtype(element_type: ElementType) -> Option<&'static str> {
    use ElementType as E;
    Some(match element_type {
        E::Pred => "bool",
        E::S1 => "int1",
        E::S2 => "int2",
        E::S4 => "int4",
        E::S8 => "int8",
        E::S16 => "int16",
        E::S32 => "int32",
        E::S64 => "int64",
        E::U1 => "uint1",
        E::U2 => "uint2",
        E::U4 => "uint4",
        E::U8 => "uint8",
        E::U16 => "uint16",
        E::U32 => "uint32",
        E::U64 => "uint64",
        E::Bf16 => "bfloat16",
        E::F16 => "float16",
        E::F32 => "float32",
        E::F64 => "float64",
        E::C64 => "complex64",
        E::C128 => "complex128",
        E::F4e2m1fn => "float4_e2m1fn",
        E::F6e2m3fn => "float6_e2m3fn",
        E::F6e3m2fn => "float6_e3m2fn",
        E::F8e5m2 => "float8_e5m2",
        E::F8e4m3 => "float8_e4m3",
        E::F8e4m3fn => "float8_e4m3fn",
        E::F8e4m3b11fnuz => "float8_e4m3b11fnuz",
        E::F8e4m3fnuz => "float8_e4m3fnuz",
        E::F8e5m2fnuz => "float8_e5m2fnuz",
        E::F8e3m4 => "float8_e3m4",
        E::F8e8m0fnu => "float8_e8m0fnu",
        E::Tuple | E::Opaque | E::Token | E::Buffer => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn numpy(text: &str) -> Result<NumpyArray, StrideError> {
        NumpyArray::try_from(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn byte_strides_and_names() {
        let array = numpy("f64[3,5,7]{0,1,2}").unwrap();
        assert_eq!((array.dtype, array.strides), ("float64", vec![8, 24, 120]));
        let reversed = StrideDescriptor::strided(ElementType::F16, 0, &[3], &[-1], 2).unwrap();
        let array = NumpyArray::try_from(&reversed).unwrap();
        assert_eq!((array.strides, array.offset), (vec![-2], 4));
        assert_eq!(numpy("s4[3]").unwrap().dtype, "int4");
        let error = numpy("s4[3]{0:E(4)}").unwrap_err().to_string();
        assert_eq!(
            error,
            "element_size_in_bits: E(4) is not supported; expected a byte for each element"
        );
        assert!(numpy("f32[8,8]{1,0:T(4,4)}").is_err());
    }
}
