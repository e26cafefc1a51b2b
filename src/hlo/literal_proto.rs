//! Converts literals from and to the message `xla.LiteralProto`. The message has a separate field
//! for each element type: numbers of common types are in repeated fields, such as `s32s`, and all
//! other types are bytes, as in `f16s`.

use prost::Message;

use super::{InstructionError, Literal, wire::WireFields};
use crate::{
    proto::hlo as proto,
    shape::{ElementType, FieldPath, MAX_DEPTH, Shape, ShapeError, queries},
};

type Result<T> = std::result::Result<T, InstructionError>;

/// Decodes a serialized literal. The elements of a tuple are decoded one at a time, and only after
/// their number was compared with the shape, so that a hostile message cannot use much memory.
pub(super) fn decode(bytes: &[u8]) -> Result<Literal> {
    literal(bytes, 1).map_err(|error| error.below(&FieldPath::new("literal")))
}

/// Decodes a literal at the nesting depth `depth`, which is 1 for the outermost one.
fn literal(bytes: &[u8], depth: usize) -> Result<Literal> {
    let mut proto = proto::LiteralProto::default();
    let mut parts = Vec::new();
    for field in WireFields::of(bytes) {
        let field = field?;
        match field.number {
            10 => parts.push(field.message("tuple_literals")?),
            _ => proto.merge(field.raw).map_err(|error| malformed(&error))?,
        }
    }
    let shape = proto.shape.as_ref().ok_or_else(|| InstructionError::Missing {
        field: FieldPath::new("shape"),
        accepted: "type and extents of the value",
    })?;
    let field = FieldPath::new("shape");
    let shape = Shape::try_from(shape).map_err(|error| error.below(&field))?;
    if shape.element_type() != ElementType::Tuple {
        return array(&shape, &proto);
    }
    let field = FieldPath::new("tuple_literals");
    if parts.len() != shape.tuple_shapes().len() || depth > MAX_DEPTH {
        return Err(InstructionError::LiteralSize {
            field,
            what: "values",
            expected: shape.tuple_shapes().len() as u64,
            given: parts.len() as u64,
            shape: shape.into(),
        });
    }
    let part = |(i, bytes)| {
        let field = field.clone().index(i);
        let part = literal(bytes, depth + 1).map_err(|error| error.below(&field))?;
        if queries::compatible(part.shape(), &shape.tuple_shapes()[i]) {
            return Ok(part);
        }
        let (expected, given) = (shape.tuple_shapes()[i].clone(), part.shape().clone());
        Err(InstructionError::Result { expected: expected.to_string(), given: given.into() })
    };
    Literal::tuple(parts.into_iter().enumerate().map(part).collect::<Result<_>>()?)
}

fn malformed(error: &prost::DecodeError) -> ShapeError {
    super::wire::malformed("literal", &error.to_string())
}

/// Returns the elements from the field that a `LiteralProto` uses for `element_type`. The result
/// has three parts: the name of the field, the number of entries in the field for each element, and
/// the elements as bytes. The number of entries is 2 for a complex type, and 0 if the field
/// contains bytes instead of numbers.
fn values(element_type: ElementType, proto: &proto::LiteralProto) -> (&'static str, u64, Vec<u8>) {
    use ElementType as E;
    macro_rules! numbers {
        ($field:ident, $each:literal) => {
            (stringify!($field), $each, proto.$field.iter().flat_map(|n| n.to_le_bytes()).collect())
        };
    }
    macro_rules! bytes {
        ($field:ident) => {
            (stringify!($field), 0, proto.$field.clone())
        };
    }
    match element_type {
        E::Pred => ("preds", 1, proto.preds.iter().map(|&pred| u8::from(pred)).collect()),
        E::S32 => numbers!(s32s, 1),
        E::S64 => numbers!(s64s, 1),
        E::U32 => numbers!(u32s, 1),
        E::U64 => numbers!(u64s, 1),
        E::F32 => numbers!(f32s, 1),
        E::F64 => numbers!(f64s, 1),
        E::C64 => numbers!(c64s, 2),
        E::C128 => numbers!(c128s, 2),
        E::U8 => bytes!(u8s),
        E::S8 => bytes!(s8s),
        E::F16 => bytes!(f16s),
        E::Bf16 => bytes!(bf16s),
        E::U16 => bytes!(u16s),
        E::S16 => bytes!(s16s),
        E::F8e5m2 => bytes!(f8e5m2s),
        E::F8e4m3fn => bytes!(f8e4m3fns),
        E::S4 => bytes!(s4s),
        E::U4 => bytes!(u4s),
        E::F8e4m3b11fnuz => bytes!(f8e4m3b11fnuzs),
        E::F8e5m2fnuz => bytes!(f8e5m2fnuzs),
        E::F8e4m3fnuz => bytes!(f8e4m3fnuzs),
        E::S2 => bytes!(s2s),
        E::U2 => bytes!(u2s),
        E::F8e4m3 => bytes!(f8e4m3s),
        E::F8e3m4 => bytes!(f8e3m4s),
        E::S1 => bytes!(s1s),
        E::U1 => bytes!(u1s),
        E::F4e2m1fn => bytes!(f4e2m1fns),
        E::F8e8m0fnu => bytes!(f8e8m0fnus),
        E::Tuple | E::Opaque | E::Token | E::Buffer | E::F6e3m2fn | E::F6e2m3fn => {
            ("shape", 0, Vec::new())
        }
    }
}

/// Converts the elements of an array, and checks their number.
fn array(shape: &Shape, proto: &proto::LiteralProto) -> Result<Literal> {
    let (field, each, bytes) = values(shape.element_type(), proto);
    let elements = queries::elements_in(shape).unwrap_or(u64::MAX);
    let width = u64::from(shape.element_type().storage_bits().unwrap_or(0) / 8);
    let size = elements.saturating_mul(width);
    if bytes.len() as u64 == size {
        return Literal::from_memory_order(shape, bytes);
    }
    // Count entries of the field in the error, as a reader of the message sees them. A complex
    // number has two entries.
    let one = width.checked_div(each).unwrap_or(1);
    Err(InstructionError::LiteralSize {
        field: FieldPath::new(field),
        what: if each == 0 { "bytes" } else { "values" },
        expected: size / one,
        given: bytes.len() as u64 / one,
        shape: shape.clone().into(),
    })
}

/// Converts a literal to a message, which contains the elements in row-major order.
pub(super) fn encode(literal: &Literal) -> proto::LiteralProto {
    use ElementType as E;
    let shape = literal.shape().clone().with_default_layouts();
    let mut proto = proto::LiteralProto { shape: Some((&shape).into()), ..Default::default() };
    let bytes = literal.bytes();
    macro_rules! numbers {
        ($field:ident, $kind:ty) => {
            proto.$field = bytes
                .chunks_exact(size_of::<$kind>())
                .map(|chunk| <$kind>::from_le_bytes(chunk.try_into().expect("of that size")))
                .collect()
        };
    }
    match shape.element_type() {
        E::Pred => proto.preds = bytes.iter().map(|&byte| byte != 0).collect(),
        E::S32 => numbers!(s32s, i32),
        E::S64 => numbers!(s64s, i64),
        E::U32 => numbers!(u32s, u32),
        E::U64 => numbers!(u64s, u64),
        E::F32 => numbers!(f32s, f32),
        E::F64 => numbers!(f64s, f64),
        E::C64 => numbers!(c64s, f32),
        E::C128 => numbers!(c128s, f64),
        E::U8 => proto.u8s = bytes.to_vec(),
        E::S8 => proto.s8s = bytes.to_vec(),
        E::F16 => proto.f16s = bytes.to_vec(),
        E::Bf16 => proto.bf16s = bytes.to_vec(),
        E::U16 => proto.u16s = bytes.to_vec(),
        E::S16 => proto.s16s = bytes.to_vec(),
        E::F8e5m2 => proto.f8e5m2s = bytes.to_vec(),
        E::F8e4m3fn => proto.f8e4m3fns = bytes.to_vec(),
        E::S4 => proto.s4s = bytes.to_vec(),
        E::U4 => proto.u4s = bytes.to_vec(),
        E::F8e4m3b11fnuz => proto.f8e4m3b11fnuzs = bytes.to_vec(),
        E::F8e5m2fnuz => proto.f8e5m2fnuzs = bytes.to_vec(),
        E::F8e4m3fnuz => proto.f8e4m3fnuzs = bytes.to_vec(),
        E::S2 => proto.s2s = bytes.to_vec(),
        E::U2 => proto.u2s = bytes.to_vec(),
        E::F8e4m3 => proto.f8e4m3s = bytes.to_vec(),
        E::F8e3m4 => proto.f8e3m4s = bytes.to_vec(),
        E::S1 => proto.s1s = bytes.to_vec(),
        E::U1 => proto.u1s = bytes.to_vec(),
        E::F4e2m1fn => proto.f4e2m1fns = bytes.to_vec(),
        E::F8e8m0fnu => proto.f8e8m0fnus = bytes.to_vec(),
        E::Tuple => proto.tuple_literals = literal.parts().iter().map(encode).collect(),
        E::Opaque | E::Token | E::Buffer | E::F6e3m2fn | E::F6e2m3fn => {}
    }
    proto
}
