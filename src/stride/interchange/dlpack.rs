//! DLPack's `DLTensor`.

use super::{StrideDescriptor, StrideError, byte_offset, plain_strides, refusal};
use crate::shape::ElementType;

/// The fields of a `DLTensor` but for its data and device; DLPack 1.1.
///
/// ```
/// use stridec::{shape::Shape, stride::{StrideDescriptor, interchange::DlPack}};
/// let tensor = StrideDescriptor::try_from(&"f32[2,3]{0,1}".parse::<Shape>()?)?;
/// let dlpack = DlPack::try_from(&tensor)?;
/// assert_eq!((dlpack.shape, dlpack.strides), (vec![2, 3], vec![1, 2]));
/// assert_eq!((dlpack.code, dlpack.bits, dlpack.lanes), (2, 32, 1)); // kDLFloat
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DlPack {
    /// Extents.
    pub shape: Vec<i64>,
    /// Distances between neighbours, in elements.
    pub strides: Vec<i64>,
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of a value.
    pub bits: u8,
    /// Values of an element: 1.
    pub lanes: u16,
    /// Where the element at index 0 lies, in bytes.
    pub byte_offset: u64,
    /// `DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`: values below 8 bits take a byte each, and are not packed.
    pub is_subbyte_type_padded: bool,
}

impl TryFrom<&StrideDescriptor> for DlPack {
    type Error = StrideError;

    fn try_from(tensor: &StrideDescriptor) -> Result<Self, StrideError> {
        let strides = plain_strides(tensor)?;
        let element_type = tensor.element_type();
        let no_elements = StrideError::NoElements { element_type };
        let (code, bits) = data_type(element_type).ok_or(no_elements)?;
        let padded = bits < 8 && tensor.element_bits() == 8;
        if tensor.element_bits() != u32::from(bits) && !padded {
            return Err(refusal(
                "element_size_in_bits",
                format!("E({})", tensor.element_bits()),
                "DLPack packs the type's own bits, or gives values below a byte a byte",
            ));
        }
        Ok(Self {
            shape: tensor.sizes().iter().filter_map(|&size| i64::try_from(size).ok()).collect(),
            strides,
            code,
            bits,
            lanes: 1,
            byte_offset: byte_offset(tensor, tensor.element_bits())?,
            is_subbyte_type_padded: padded,
        })
    }
}

impl DlPack {
    /// The element type that a `DLDataTypeCode` and the bits of a value say; `None` where XLA has no such type.
    ///
    /// ```
    /// use stridec::{shape::ElementType, stride::interchange::DlPack};
    /// assert_eq!(DlPack::element_type(4, 16), Some(ElementType::Bf16));
    /// ```
    #[must_use]
    pub fn element_type(code: u8, bits: u8) -> Option<ElementType> {
        ElementType::ALL.into_iter().find(|&kind| data_type(kind) == Some((code, bits)))
    }
}

/// `DLDataTypeCode` and the bits of a value.
fn data_type(element_type: ElementType) -> Option<(u8, u8)> {
    use ElementType as E;
    let code = match element_type {
        E::S1 | E::S2 | E::S4 | E::S8 | E::S16 | E::S32 | E::S64 => 0,
        E::U1 | E::U2 | E::U4 | E::U8 | E::U16 | E::U32 | E::U64 => 1,
        E::F16 | E::F32 | E::F64 => 2,
        E::Bf16 => 4,
        E::C64 | E::C128 => 5,
        E::Pred => 6,
        E::F8e3m4 => 7,
        E::F8e4m3 => 8,
        E::F8e4m3b11fnuz => 9,
        E::F8e4m3fn => 10,
        E::F8e4m3fnuz => 11,
        E::F8e5m2 => 12,
        E::F8e5m2fnuz => 13,
        E::F8e8m0fnu => 14,
        E::F6e2m3fn => 15,
        E::F6e3m2fn => 16,
        E::F4e2m1fn => 17,
        E::Tuple | E::Opaque | E::Token | E::Buffer => return None,
    };
    // A kDLBool takes a byte.
    let bits = if element_type == E::Pred { 8 } else { element_type.bits()? };
    Some((code, u8::try_from(bits).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn dlpack(text: &str) -> Result<DlPack, StrideError> {
        DlPack::try_from(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn types_and_their_bits() {
        for (text, code, bits, padded) in [
            ("pred[2]", 6, 8, false),
            ("s4[2]", 0, 4, true),
            ("u4[2]{0:E(4)}", 1, 4, false),
            ("bf16[2]", 4, 16, false),
            ("c128[2]", 5, 128, false),
            ("f8e4m3fn[2]", 10, 8, false),
            ("f4e2m1fn[2]{0:E(4)}", 17, 4, false),
        ] {
            let given = dlpack(text).unwrap();
            let given = (given.code, given.bits, given.is_subbyte_type_padded);
            assert_eq!(given, (code, bits, padded), "{text}");
            let element_type = text.parse::<Shape>().unwrap().element_type();
            assert_eq!(DlPack::element_type(code, given.1), Some(element_type), "{text}");
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, why) in [
            (
                "s8[2]{0:E(16)}",
                "element_size_in_bits: E(16) is not supported; DLPack packs the type's own bits, or gives values below a byte a byte",
            ),
            (
                "f32[8,8]{1,0:T(4,4)}",
                "tiles: a tile that takes dimension 0 apart is not supported; expected one stride for each dimension",
            ),
            (
                "f32[8]{0:M(4)}",
                "dynamic_shape_metadata_prefix_bytes: M(4) is not supported; expected memory that starts with the data",
            ),
        ] {
            assert_eq!(dlpack(text).unwrap_err().to_string(), why);
        }
        let odd = StrideDescriptor::strided(ElementType::S4, 4, &[2], &[1], 1).unwrap();
        assert!(DlPack::try_from(&odd).is_err());
        let offset = StrideDescriptor::strided(ElementType::F32, 0, &[2], &[1], 3).unwrap();
        assert_eq!(DlPack::try_from(&offset).unwrap().byte_offset, 12);
    }
}
