//! [`ElementType`]: XLA's element types, with their widths and names. stridec moves elements and
//! never computes with them, so it needs little else about a type.

use std::fmt;

/// The type of an array's elements, or the kind of a shape that has no elements.
///
/// The discriminants are the numbers of XLA's `PrimitiveType`.
///
/// ```
/// use stridec::shape::ElementType;
/// assert_eq!(ElementType::Bf16.bits(), Some(16));
/// assert_eq!(ElementType::from_name("s4"), Some(ElementType::S4));
/// assert_eq!(ElementType::S4.storage_bits(), Some(8)); // unless a layout says E(4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // the names are XLA's
pub enum ElementType {
    Pred = 1,
    S8 = 2,
    S16 = 3,
    S32 = 4,
    S64 = 5,
    U8 = 6,
    U16 = 7,
    U32 = 8,
    U64 = 9,
    F16 = 10,
    F32 = 11,
    F64 = 12,
    Tuple = 13,
    Opaque = 14,
    C64 = 15,
    Bf16 = 16,
    Token = 17,
    C128 = 18,
    F8e5m2 = 19,
    F8e4m3fn = 20,
    S4 = 21,
    U4 = 22,
    F8e4m3b11fnuz = 23,
    F8e5m2fnuz = 24,
    F8e4m3fnuz = 25,
    S2 = 26,
    U2 = 27,
    F8e4m3 = 28,
    F8e3m4 = 29,
    S1 = 30,
    U1 = 31,
    F4e2m1fn = 32,
    F8e8m0fnu = 33,
    Buffer = 34,
    F6e3m2fn = 35,
    F6e2m3fn = 36,
}

impl ElementType {
    /// All types, in the order of XLA's numbers.
    pub const ALL: [Self; 36] = [
        Self::Pred,
        Self::S8,
        Self::S16,
        Self::S32,
        Self::S64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Tuple,
        Self::Opaque,
        Self::C64,
        Self::Bf16,
        Self::Token,
        Self::C128,
        Self::F8e5m2,
        Self::F8e4m3fn,
        Self::S4,
        Self::U4,
        Self::F8e4m3b11fnuz,
        Self::F8e5m2fnuz,
        Self::F8e4m3fnuz,
        Self::S2,
        Self::U2,
        Self::F8e4m3,
        Self::F8e3m4,
        Self::S1,
        Self::U1,
        Self::F4e2m1fn,
        Self::F8e8m0fnu,
        Self::Buffer,
        Self::F6e3m2fn,
        Self::F6e2m3fn,
    ];

    /// Returns the name of the type in XLA's notation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::S1 => "s1",
            Self::S2 => "s2",
            Self::S4 => "s4",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::U1 => "u1",
            Self::U2 => "u2",
            Self::U4 => "u4",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "c64",
            Self::C128 => "c128",
            Self::F4e2m1fn => "f4e2m1fn",
            Self::F6e2m3fn => "f6e2m3fn",
            Self::F6e3m2fn => "f6e3m2fn",
            Self::F8e5m2 => "f8e5m2",
            Self::F8e4m3 => "f8e4m3",
            Self::F8e4m3fn => "f8e4m3fn",
            Self::F8e4m3b11fnuz => "f8e4m3b11fnuz",
            Self::F8e4m3fnuz => "f8e4m3fnuz",
            Self::F8e5m2fnuz => "f8e5m2fnuz",
            Self::F8e3m4 => "f8e3m4",
            Self::F8e8m0fnu => "f8e8m0fnu",
            Self::Tuple => "tuple",
            Self::Opaque => "opaque",
            Self::Token => "token",
            Self::Buffer => "b",
        }
    }

    /// Returns the type whose name in XLA's notation is `name`, or `None` if there is none. Tuples
    /// and buffers have no name, because the notation writes them as brackets.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .filter(|kind| !matches!(kind, Self::Tuple | Self::Buffer))
            .find(|kind| kind.name() == name)
    }

    /// Returns the name of the type in MLIR, or `None` for a type without elements.
    pub(crate) fn mlir_name(self) -> Option<String> {
        Some(match self {
            Self::Pred => "i1".to_owned(),
            Self::C64 => "complex<f32>".to_owned(),
            Self::C128 => "complex<f64>".to_owned(),
            Self::Bf16 | Self::F16 | Self::F32 | Self::F64 => self.name().to_owned(),
            Self::Tuple | Self::Opaque | Self::Token | Self::Buffer => return None,
            kind if kind.is_signed_integer() => format!("i{}", kind.bits()?),
            kind if kind.is_unsigned_integer() => format!("ui{}", kind.bits()?),
            // For example, f8e4m3fn is f8E4M3FN in MLIR.
            kind => format!("f{}", kind.name()[1..].to_uppercase()),
        })
    }

    /// Returns the type whose number in XLA's `PrimitiveType` is `number`, or `None` for 0 and for
    /// unknown numbers.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as i32 == number)
    }

    /// Returns the width of one value in bits, or `None` for a type without elements.
    ///
    /// A `pred` has 1 bit, as in XLA's `BitWidth`.
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        Some(match self {
            Self::Pred | Self::S1 | Self::U1 => 1,
            Self::S2 | Self::U2 => 2,
            Self::S4 | Self::U4 | Self::F4e2m1fn => 4,
            Self::F6e2m3fn | Self::F6e3m2fn => 6,
            Self::S8
            | Self::U8
            | Self::F8e5m2
            | Self::F8e4m3
            | Self::F8e4m3fn
            | Self::F8e4m3b11fnuz
            | Self::F8e4m3fnuz
            | Self::F8e5m2fnuz
            | Self::F8e3m4
            | Self::F8e8m0fnu => 8,
            Self::S16 | Self::U16 | Self::Bf16 | Self::F16 => 16,
            Self::S32 | Self::U32 | Self::F32 => 32,
            Self::S64 | Self::U64 | Self::F64 | Self::C64 => 64,
            Self::C128 => 128,
            Self::Tuple | Self::Opaque | Self::Token | Self::Buffer => return None,
        })
    }

    /// Returns the size of an element in memory, in bits, for layouts without `E(n)`: the width of
    /// the type, rounded up to whole bytes.
    #[must_use]
    pub fn storage_bits(self) -> Option<u32> {
        self.bits().map(|bits| bits.next_multiple_of(8))
    }

    /// Returns true if the type is an unsigned integer. The indices and pointers of sparse arrays
    /// must have such a type.
    #[must_use]
    pub(crate) fn is_unsigned_integer(self) -> bool {
        matches!(
            self,
            Self::U1 | Self::U2 | Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64
        )
    }

    /// Returns true if the type is a signed integer. Such values are widened by sign extension.
    #[must_use]
    pub fn is_signed_integer(self) -> bool {
        matches!(
            self,
            Self::S1 | Self::S2 | Self::S4 | Self::S8 | Self::S16 | Self::S32 | Self::S64
        )
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_others_are_unknown() {
        for kind in ElementType::ALL {
            assert_eq!(ElementType::from_number(kind as i32), Some(kind));
        }
        for number in [0, -1, 37, 2000, i32::MIN] {
            assert_eq!(ElementType::from_number(number), None);
        }
    }

    #[test]
    fn names_are_distinct_and_read_back() {
        for kind in ElementType::ALL {
            let named = ElementType::from_name(kind.name());
            match kind {
                ElementType::Tuple | ElementType::Buffer => assert_eq!(named, None),
                _ => assert_eq!(named, Some(kind)),
            }
        }
    }
}
