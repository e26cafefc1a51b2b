//! Tests of the bytes that today's XLA and TensorFlow 1.x write, and of the errors for hostile
//! protos.

use crate::{
    proto::xla,
    shape::{ElementType, Format, Shape},
};

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Bytes written by Google's protobuf library, each paired with the text of the shape that they
/// encode.
const MODERN: [(&str, &str); 10] = [
    ("100b1a0202032a070a02010080010132020000", "f32[2,3]{1,0}"),
    (
        "10101a04020880012a150a0302010032050a0308800132040a0202018001013203000000",
        "bf16[2,8,128]{2,1,0:T(8,128)(2,1)}",
    ),
    ("10151a034080012a090a020100380480010132020000", "s4[64,128]{1,0:E(4)}"),
    ("100b1a03172c372a080a030201008001013203010001", "f32[<=23,44,<=55]{2,1,0}"),
    ("100b1a0c8080808080808080800190062a070a02010080010132020100", "f32[?,784]{1,0}"),
    (
        "10101a040203ec072a190a03020100320f0a0d028080808080808080800180018001013203000000",
        "bf16[2,3,1004]{2,1,0:T(2,*,128)}",
    ),
    (
        "10011a037bc8032a190a02010032050a0302800140038001018a010608011202c80132020000",
        "pred[123,456]{1,0:T(2,128)S(3)SC(1:200)}",
    ),
    ("100d2210100b1a01022a060a010080010132010022021011", "(f32[2]{0}, token[])"),
    ("100b2a03800101", "f32[]"),
    ("100b1a0202032a130a0201004a0200006a0201017202010180010132020000", "f32[2,3]{1,0:D(D,D)}"),
];
const TENSORFLOW: [(&str, &str); 7] = [
    ("100b1a0202032a0a0a020001120203051801", "f32[2,3]{0,1:PAD(3,5,zero)}"),
    ("100b1a020a142a0a0a02010012020f151803", "f32[10,20]{1,0:PAD(15,21,lowest)}"),
    ("100b1a0202032a0c0a0200011202040418052001", "f32[2,3]{0,1:PAD(4,4,unknown)}"),
    ("100b1a0202032a040a020100", "f32[2,3]{1,0}"),
    ("100b", "f32[]"),
    ("100b1a0202032a060a0201002001", "f32[2,3]{1,0}"),
    ("100b180218032a0408000801", "f32[2,3]{0,1}"), // unpacked lists
];

#[test]
fn wire_bytes_decode_to_the_shapes_they_name() {
    for (hex, text) in MODERN.into_iter().chain(TENSORFLOW) {
        let shape = Shape::decode(&bytes(hex)).unwrap();
        assert_eq!(shape.to_string(), text, "{hex}");
        assert_eq!(Shape::decode(&shape.encode()), Ok(shape), "{hex}");
    }
}

#[test]
fn modern_and_padded_shapes_encode_to_the_same_bytes() {
    let padded = TENSORFLOW.into_iter().filter(|(_, text)| text.contains("PAD"));
    for (hex, _) in MODERN.into_iter().chain(padded) {
        assert_eq!(Shape::decode(&bytes(hex)).unwrap().encode(), bytes(hex), "{hex}");
    }
}

#[test]
fn the_format_survives_and_a_missing_layout_stays_missing() {
    let format = |hex| Shape::decode(&bytes(hex)).unwrap().layout().map(|layout| layout.format);
    assert_eq!(format("100b1a0202032a060a0201002001"), Some(Format::Dense));
    assert_eq!(format("100b1a0202032a040a020100"), Some(Format::Unspecified));
    assert_eq!(format("100b"), None);
    assert_eq!(format("100b1a0202032a00"), None); // an empty message means no layout
    assert_eq!(format("100b2a00"), Some(Format::Unspecified)); // except for a scalar
}

#[test]
fn every_field_survives_the_proto() {
    for text in [
        "f32[8,8]{1,0:D(C+,H+~)T(2,*,2)L(100)#(u32)*(u16)E(42)S(-1)SC(0:3)(1:2,4)P((s32[2]{0}, token[]))M(8)}",
        "f32[<=2,3]{0,1:T(2)L(4)PAD(3,5)}",
        "f32[2,3]{0,1:PAD(3,5,invalid)}",
        "(b(f32[2]), opaque[], ((), f32[?]))",
    ] {
        let shape: Shape = text.parse().unwrap();
        assert_eq!(Shape::try_from(xla::Shape::from(&shape)), Ok(shape.clone()), "{text}");
        assert_eq!(Shape::decode(&shape.encode()), Ok(shape), "{text}");
    }
    let proto = xla::Shape {
        element_type: 11,
        dimensions: vec![2, 3],
        layout: Some(Box::new(xla::Layout {
            format: 2,
            max_sparse_elements: 10,
            ..xla::Layout::default()
        })),
        ..xla::Shape::default()
    };
    let shape = Shape::try_from(&proto).unwrap();
    assert_eq!(shape.to_string(), "f32[2,3]sparse{10}");
    assert_eq!(Shape::decode(&shape.encode()), Ok(shape));
}

/// Applies `change` to a valid proto, and returns the error from its conversion.
fn refusal(change: impl FnOnce(&mut xla::Shape, &mut xla::Layout)) -> String {
    let shape: Shape = "f32[2,3]{1,0:T(2,2)SC(0:1)P(s32[])}".parse().unwrap();
    let mut proto = xla::Shape::from(&shape);
    let mut layout = *proto.layout.take().unwrap();
    change(&mut proto, &mut layout);
    proto.layout = Some(Box::new(layout));
    let tuple =
        |parts| xla::Shape { element_type: 13, tuple_shapes: parts, ..xla::Shape::default() };
    let token = xla::Shape { element_type: 17, ..xla::Shape::default() };
    let error = Shape::try_from(tuple(vec![token, tuple(vec![proto])])).unwrap_err().to_string();
    error.strip_prefix("tuple_shapes[1].tuple_shapes[0].").unwrap().to_string()
}

#[test]
fn errors_name_the_field_by_its_path() {
    assert_eq!(
        refusal(|_, layout| layout.minor_to_major[1] = 1),
        "layout.minor_to_major[1]: expected each dimension once, got 1 twice"
    );
    assert_eq!(
        refusal(|_, layout| layout.minor_to_major[1] = -1),
        "layout.minor_to_major[1]: expected 0 to 2^63-1, got -1"
    );
    assert_eq!(
        refusal(|_, layout| layout.minor_to_major.clear()),
        "layout.minor_to_major: expected 2 entries, one for each dimension, got 0"
    );
    assert_eq!(
        refusal(|_, layout| layout.padded_dimensions = vec![1, 5]),
        "layout.padded_dimensions[0]: expected at least 2, the extent of dimension 0, got 1"
    );
    assert_eq!(
        refusal(|_, layout| layout.tiles[0].dimensions[1] = -2),
        "layout.tiles[0].dimensions[1]: expected 1 to 2^63-1, got -2"
    );
    assert_eq!(
        refusal(|_, layout| layout.split_configs[0].split_indices[0] = 7),
        "layout.split_configs[0].split_indices[0]: expected 0 to 1, got 7"
    );
    assert_eq!(
        refusal(|_, layout| layout.physical_shape.as_mut().unwrap().element_type = -562),
        "layout.physical_shape.element_type: expected a number of xla.PrimitiveType, 1 to 36, got -562"
    );
    assert_eq!(
        refusal(|_, layout| layout.padding_value = Some(6)),
        "layout.padding_value: expected a number of xla.PaddingValue, 0 to 5, got 6"
    );
    assert_eq!(
        refusal(|_, layout| layout.tail_padding_alignment_in_elements = -1),
        "layout.tail_padding_alignment_in_elements: expected 1 to 2^63-1, got -1"
    );
    assert_eq!(
        refusal(|shape, _| shape.dimensions[1] = -3),
        "dimensions[1]: expected 0 to 2^63-1, got -3"
    );
    assert_eq!(
        refusal(|shape, _| shape.dimensions[1] = i64::MIN),
        "dimensions[1]: -9223372036854775808 stands for an unknown extent; \
         expected is_dynamic_dimension[1] to be true then, got false"
    );
    assert_eq!(
        refusal(|shape, _| shape.is_dynamic_dimension.truncate(1)),
        "is_dynamic_dimension: expected 2 entries, one for each dimension, or none, got 1"
    );
    assert_eq!(
        refusal(|shape, _| shape.element_type = 17),
        "dimensions: a shape of type token has no such field; leave it out"
    );
}

#[test]
fn unknown_element_types_are_named() {
    for number in [0, -1, 37, 2000] {
        let proto = xla::Shape { element_type: number, ..xla::Shape::default() };
        let error = Shape::try_from(proto).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "element_type: expected a number of xla.PrimitiveType, 1 to 36, got {number}"
            )),
            "{error}"
        );
    }
}

#[test]
fn only_arrays_have_a_layout() {
    for kind in [ElementType::Tuple, ElementType::Token, ElementType::Opaque, ElementType::Buffer] {
        let proto = xla::Shape {
            element_type: kind as i32,
            layout: Some(Box::default()),
            ..xla::Shape::default()
        };
        let error = Shape::try_from(proto).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("layout: a shape of type {kind} has no such field; leave it out")
        );
    }
    let empty = xla::Shape { element_type: 34, ..xla::Shape::default() };
    let error = Shape::try_from(empty).unwrap_err().to_string();
    assert_eq!(error, "tuple_shapes: expected one array in a buffer, got a count of 0");
}

#[test]
fn a_proto_that_was_never_bytes_may_be_too_deep() {
    let nest =
        |inner| xla::Shape { element_type: 13, tuple_shapes: vec![inner], ..xla::Shape::default() };
    let token = xla::Shape { element_type: 17, ..xla::Shape::default() };
    let deep = (0..1_000).fold(token, |inner, _| nest(inner));
    let error = Shape::try_from(&deep).unwrap_err().to_string();
    assert!(error.contains("expected at most 64") && error.len() < 400, "{error}");
}
