//! [`TensorDataType`]: the element types of DirectML.

use std::fmt;

use crate::shape::ElementType;

/// The element type of a tensor, `DML_TENSOR_DATA_TYPE`.
///
/// The discriminants are DirectML's numbers. Two elements of a 4-bit type share a byte; the first
/// of them is in the low bits.
///
/// ```
/// use stridec::{notation::dml::TensorDataType, shape::ElementType};
/// assert_eq!(TensorDataType::from_element_type(ElementType::S32), Some(TensorDataType::Int32));
/// assert_eq!(TensorDataType::from_element_type(ElementType::Bf16), None);
/// assert_eq!(TensorDataType::Uint4.bits(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are DirectML's
#[non_exhaustive]
pub enum TensorDataType {
    Float32 = 1,
    Float16 = 2,
    Uint32 = 3,
    Uint16 = 4,
    Uint8 = 5,
    Int32 = 6,
    Int16 = 7,
    Int8 = 8,
    Float64 = 9,
    Uint64 = 10,
    Int64 = 11,
    Uint4 = 12,
    Int4 = 13,
}

impl TensorDataType {
    /// All types, in the order of DirectML's numbers.
    pub const ALL: [Self; 13] = [
        Self::Float32,
        Self::Float16,
        Self::Uint32,
        Self::Uint16,
        Self::Uint8,
        Self::Int32,
        Self::Int16,
        Self::Int8,
        Self::Float64,
        Self::Uint64,
        Self::Int64,
        Self::Uint4,
        Self::Int4,
    ];

    /// Returns the name of the type, without the prefix `DML_TENSOR_DATA_TYPE_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "FLOAT32",
            Self::Float16 => "FLOAT16",
            Self::Uint32 => "UINT32",
            Self::Uint16 => "UINT16",
            Self::Uint8 => "UINT8",
            Self::Int32 => "INT32",
            Self::Int16 => "INT16",
            Self::Int8 => "INT8",
            Self::Float64 => "FLOAT64",
            Self::Uint64 => "UINT64",
            Self::Int64 => "INT64",
            Self::Uint4 => "UINT4",
            Self::Int4 => "INT4",
        }
    }

    /// Returns the type whose name, without the prefix `DML_TENSOR_DATA_TYPE_`, is `name`, or
    /// `None` if DirectML has no such type.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the type whose number in DirectML is `number`, or `None` for 0 and for unknown
    /// numbers.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as i32 == number)
    }

    /// Returns XLA's type for this type.
    #[must_use]
    pub fn element_type(self) -> ElementType {
        match self {
            Self::Float32 => ElementType::F32,
            Self::Float16 => ElementType::F16,
            Self::Uint32 => ElementType::U32,
            Self::Uint16 => ElementType::U16,
            Self::Uint8 => ElementType::U8,
            Self::Int32 => ElementType::S32,
            Self::Int16 => ElementType::S16,
            Self::Int8 => ElementType::S8,
            Self::Float64 => ElementType::F64,
            Self::Uint64 => ElementType::U64,
            Self::Int64 => ElementType::S64,
            Self::Uint4 => ElementType::U4,
            Self::Int4 => ElementType::S4,
        }
    }

    /// Returns DirectML's type for an XLA type. Returns `None` for types that DirectML does not
    /// have, such as `pred`, `bf16`, complex numbers and small floats.
    #[must_use]
    pub fn from_element_type(element_type: ElementType) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.element_type() == element_type)
    }

    /// Returns the element size, in bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Uint4 | Self::Int4 => 4,
            Self::Uint8 | Self::Int8 => 8,
            Self::Float16 | Self::Uint16 | Self::Int16 => 16,
            Self::Float32 | Self::Uint32 | Self::Int32 => 32,
            Self::Float64 | Self::Uint64 | Self::Int64 => 64,
        }
    }
}

impl fmt::Display for TensorDataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_element_types_read_back() {
        for kind in TensorDataType::ALL {
            assert_eq!(TensorDataType::from_number(kind as i32), Some(kind));
            assert_eq!(TensorDataType::from_name(kind.name()), Some(kind));
            assert_eq!(TensorDataType::from_element_type(kind.element_type()), Some(kind));
            assert_eq!(kind.element_type().bits(), Some(kind.bits()));
        }
        assert_eq!(TensorDataType::from_number(0), None);
        assert_eq!(TensorDataType::from_element_type(ElementType::Pred), None);
    }
}
