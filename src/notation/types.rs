//! The names of element types in other systems, with one function for each system and direction.

use crate::shape::ElementType;

/// Returns the name of the numpy dtype, or `None` for a type without elements. If numpy does not
/// have the type, the package `ml_dtypes` registers it under this name.
pub(super) fn numpy_dtype(element_type: ElementType) -> Option<&'static str> {
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

/// Returns the type for a numpy dtype name, or `None` if XLA has no such type.
pub(super) fn from_numpy_dtype(name: &str) -> Option<ElementType> {
    ElementType::ALL.into_iter().find(|&kind| numpy_dtype(kind) == Some(name))
}

/// Returns the type for a numpy typestr such as `<f4` or `|b1`. Returns `None` if XLA has no such
/// type, or if the bytes are big-endian.
pub(super) fn from_numpy_typestr(typestr: &str) -> Option<ElementType> {
    let code = typestr.trim_start_matches(['<', '|', '=']);
    let (kind, bytes) = (code.chars().next()?, code.get(1..)?.parse::<u32>().ok()?);
    let bits = bytes.checked_mul(8)?;
    let name = match kind {
        'b' if bytes == 1 => "bool".to_owned(),
        'i' => format!("int{bits}"),
        'u' => format!("uint{bits}"),
        'f' => format!("float{bits}"),
        'c' => format!("complex{bits}"),
        _ => return None,
    };
    // Sizes in a typestr are in bytes: `i1` is an 8-bit integer, although the dtype `int1` has 1
    // bit.
    from_numpy_dtype(&name).filter(|kind| kind.storage_bits() == Some(bits))
}

/// Returns the name of the torch dtype, without `torch.`, or `None` if torch has no such type.
pub(super) fn torch_dtype(element_type: ElementType) -> Option<&'static str> {
    use ElementType as E;
    match element_type {
        E::F8e4m3 | E::F8e3m4 | E::F8e4m3b11fnuz | E::F6e2m3fn | E::F6e3m2fn | E::F4e2m1fn => None,
        _ if element_type.bits() < Some(8) && element_type != E::Pred => None,
        _ => numpy_dtype(element_type),
    }
}

/// Returns the type for a torch dtype such as `torch.float32` or `half`, or `None` if XLA has no
/// such type.
pub(super) fn from_torch_dtype(name: &str) -> Option<ElementType> {
    let name = name.strip_prefix("torch.").unwrap_or(name);
    from_numpy_dtype(match name {
        "half" => "float16",
        "float" => "float32",
        "double" => "float64",
        "short" => "int16",
        "int" => "int32",
        "long" => "int64",
        "cfloat" => "complex64",
        "cdouble" => "complex128",
        name => name,
    })
}

/// Returns the type for an abbreviation in an fx graph, such as `f32`, `i64` or `b8`. The
/// abbreviations are defined in `torch/utils/_dtype_abbrs.py`.
pub(super) fn from_torch_abbreviation(name: &str) -> Option<ElementType> {
    let name = match name {
        "b8" => "pred".to_owned(),
        _ => match name.strip_prefix('i') {
            Some(bits) => format!("s{bits}"),
            None => name.to_owned(),
        },
    };
    ElementType::from_name(&name).filter(|kind| kind.bits().is_some())
}

/// Returns DLPack's `DLDataTypeCode` and the size of a value in bits, or `None` for a type without
/// elements.
pub(super) fn dlpack_type(element_type: ElementType) -> Option<(u8, u8)> {
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
    // A kDLBool occupies a byte.
    let bits = if element_type == E::Pred { 8 } else { element_type.bits()? };
    Some((code, u8::try_from(bits).ok()?))
}
