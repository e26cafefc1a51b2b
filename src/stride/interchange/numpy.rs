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

impl NumpyArray {
    /// The element type that a dtype with this name holds; `None` where XLA has no such type.
    ///
    /// ```
    /// use stridec::{shape::ElementType, stride::interchange::NumpyArray};
    /// assert_eq!(NumpyArray::element_type("float8_e4m3fn"), Some(ElementType::F8e4m3fn));
    /// assert_eq!(NumpyArray::element_type("datetime64[ns]"), None);
    /// ```
    #[must_use]
    pub fn element_type(dtype_name: &str) -> Option<ElementType> {
        ElementType::ALL.into_iter().find(|&kind| dtype(kind) == Some(dtype_name))
    }

    /// The name of the dtype that holds elements of this type, those below a byte in a byte each; `None` for a type
    /// without elements.
    #[must_use]
    pub fn dtype(element_type: ElementType) -> Option<&'static str> {
        dtype(element_type)
    }
}

impl StrideDescriptor {
    /// Extents of the memory, major to minor, where every place of it is a cell of them: no prefix, no tail, and no gap
    /// between strides.
    ///
    /// `f32[2,3]{0,1:PAD(3,5)}` has `[5, 3]`, `f32[3,5]{1,0:T(2,2)}` has `[2, 3, 2, 2]`.
    #[must_use]
    pub fn physical_dimensions(&self) -> Option<Vec<u64>> {
        let extents: Vec<u64> = self.axes().iter().map(|axis| axis.extent).collect();
        let cells = extents.iter().try_fold(1_u64, |cells, &extent| cells.checked_mul(extent))?;
        let mut stride = 1;
        let dense = self.axes().iter().rev().all(|axis| {
            let expected = stride;
            stride *= i64::try_from(axis.extent.max(1)).unwrap_or(0);
            axis.stride == expected || axis.extent <= 1
        });
        let whole = self.prefix_bytes() == 0 && self.base_offset() == 0;
        (whole && cells == self.physical_elements() && (dense || cells == 0)).then_some(extents)
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
    fn names_read_back() {
        for kind in ElementType::ALL {
            assert_eq!(dtype(kind).and_then(NumpyArray::element_type), dtype(kind).map(|_| kind));
        }
    }

    #[test]
    fn the_memory_of_a_layout_is_an_array() {
        for (shape, dimensions) in [
            ("f32[2,3]{0,1:PAD(3,5,zero)}", Some(vec![5, 3])),
            ("f32[3,5]{1,0:T(2,2)}", Some(vec![2, 3, 2, 2])),
            ("f32[2,3,4]{1,2,0}", Some(vec![2, 4, 3])),
            ("f32[]", Some(vec![])),
            ("f32[0,3]", Some(vec![0, 3])),
            ("f32[3]{0:L(8)}", None),
            ("f32[3]{0:M(4)}", None),
        ] {
            let shape: Shape = shape.parse().unwrap();
            let tensor = StrideDescriptor::try_from(&shape).unwrap();
            assert_eq!(tensor.physical_dimensions(), dimensions, "{shape}");
        }
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
