//! The protos: the numbers of their fields, their bytes, and shapes that are refused.

use prost::Message;
use serde_json::{Value, json};
use stridec::{
    proto::xla,
    shape::{ElementType, Format, Layout, PaddingValue, Shape},
    xla::layout_util::has_layout,
};

use super::fact::{Fact, list, numbers, signed, text};

pub fn primitive_type(fact: &Fact) {
    let number = i32::try_from(fact.given["number"].as_i64().unwrap()).unwrap();
    let name = xla::PrimitiveType::try_from(number).unwrap().as_str_name();
    fact.expect("name", name);
    assert_eq!(ElementType::ALL.iter().any(|kind| *kind as i32 == number), number != 0);
}

pub fn enumerator(fact: &Fact) {
    let number = i32::try_from(fact.given["number"].as_i64().unwrap()).unwrap();
    let name = match text(&fact.given["enum"]) {
        "PaddingValue" => xla::PaddingValue::try_from(number).unwrap().as_str_name(),
        "Format" => xla::Format::try_from(number).unwrap().as_str_name(),
        "DimLevelType" => xla::DimLevelType::try_from(number).unwrap().as_str_name(),
        other => panic!("no rule checks the enum {other}"),
    };
    fact.expect("name", name);
}

/// Reads the number of the field from the text of the proto.
pub fn field(fact: &Fact) {
    let proto = include_str!("../../../proto/xla_data.proto");
    let start = format!("\nmessage {} {{", text(&fact.given["message"]));
    let body = proto.split_once(&start).unwrap().1.split_once("\n}").unwrap().0;
    let declared = format!(" {} = ", text(&fact.given["field"]));
    let rest = body.split_once(&declared).unwrap().1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    fact.expect("number", digits.parse::<u64>().unwrap());
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// Returns the shape that a fact describes in words, such as `TF1 f32[2,3]{0,1} padded [3,5]
/// ZERO_PAD`.
fn described(words: &str) -> Shape {
    let era = ["TF1", "modern"].into_iter().any(|era| words.starts_with(era));
    let words = if era { words.split_once(' ').unwrap().1 } else { words };
    let (words, format) = match words.split_once(" format ") {
        Some((words, "DENSE")) => (words, Format::Dense),
        None => (words, Format::Unspecified),
        Some((_, other)) => panic!("{other}"),
    };
    let (words, padding) = match words.split_once(" padded ") {
        Some((words, padding)) => (words, Some(padding)),
        None => (words, None),
    };
    let notation = words.split(" without layout").next().unwrap().split(" (").next().unwrap();
    let shape: Shape = notation.parse().unwrap();
    let mut layout = shape.layout().cloned();
    if words.contains("layout present") {
        layout = Some(Layout::new([]));
    }
    let Some(mut layout) = layout else { return shape };
    layout.format = format;
    if let Some((extents, value)) = padding.and_then(|padding| padding.split_once(' ')) {
        let value = xla::PaddingValue::from_str_name(value).unwrap() as i32;
        let value = PaddingValue::ALL.into_iter().find(|known| *known as i32 == value);
        layout = layout.padded(numbers(&serde_json::from_str(extents).unwrap()), value);
    }
    Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout).unwrap()
}

pub fn wire(fact: &Fact) {
    let (hex, words) = (text(&fact.given["hex"]), text(&fact.expected["shape"]));
    let shape = Shape::decode(&bytes(hex)).unwrap();
    assert_eq!(shape, described(words));
    // The bytes are those of today's XLA, or of TensorFlow 1.x if there is padding.
    if words.starts_with("modern") || words.contains("padded") {
        assert_eq!(shape.encode(), bytes(hex), "{words}");
    }
    assert_eq!(Shape::decode(&shape.encode()), Ok(shape));
}

/// Returns the proto of an array, which may be invalid.
fn array(element_type: xla::PrimitiveType, dimensions: &[i64], order: &[i64]) -> xla::Shape {
    xla::Shape {
        element_type: element_type.into(),
        dimensions: dimensions.to_vec(),
        layout: Some(xla::Layout { minor_to_major: order.to_vec(), ..Default::default() }.into()),
        ..Default::default()
    }
}

pub fn validate(fact: &Fact) {
    let given = &fact.given;
    if let Some(words) = given["shape"].as_str() {
        fact.expect("ok", words_are_valid(words, &given["allow_missing"]));
        return;
    }
    let proto = match given["textproto"].as_str() {
        None => array_of_fields(given),
        Some(words) => match words.strip_prefix("element_type: ") {
            Some(number) => {
                xla::Shape { element_type: number.parse().unwrap(), ..Default::default() }
            }
            None => {
                // The words have the form `S8 dims […] m2m […] physical_shape.element_type=-562`.
                let list = |after: &str| -> Vec<i64> {
                    let rest = words.split_once(after).unwrap().1;
                    serde_json::from_str(&rest[..=rest.find(']').unwrap()]).unwrap()
                };
                assert!(words.starts_with("S8 ") && words.ends_with("=-562"));
                let mut proto = array(xla::PrimitiveType::S8, &list("dims "), &list("m2m "));
                let physical = xla::Shape { element_type: -562, ..Default::default() };
                proto.layout.as_mut().unwrap().physical_shape = Some(Box::new(physical));
                proto
            }
        },
    };
    let decoded = xla::Shape::decode(&proto.encode_to_vec()[..]).unwrap();
    fact.expect("ok", Shape::try_from(&decoded).is_ok());
}

fn array_of_fields(given: &Value) -> xla::Shape {
    let dimension = |n: &Value| if n == "INT64_MIN" { i64::MIN } else { n.as_i64().unwrap() };
    let dimensions: Vec<i64> = list(&given["dims"]).iter().map(dimension).collect();
    let default: Vec<i64> = (0..dimensions.len() as i64).rev().collect();
    let order =
        if given["minor_to_major"].is_array() { signed(&given["minor_to_major"]) } else { default };
    let mut proto = array(xla::PrimitiveType::F32, &dimensions, &order);
    proto.is_dynamic_dimension =
        list(&given["dynamic"]).iter().map(|flag| flag.as_bool().unwrap()).collect();
    let layout = proto.layout.as_mut().unwrap();
    layout.padded_dimensions = signed(&given["padded_dimensions"]);
    for config in super::fact::split_configs(&given["split_configs"]) {
        layout.split_configs.push(xla::SplitConfig {
            dimension: config.dimension as i64,
            split_indices: config.split_indices.iter().map(|&n| n as i64).collect(),
        });
    }
    proto
}

/// Returns true if the shape or all shapes that a fact describes in words are valid.
fn words_are_valid(words: &str, allow_missing: &Value) -> bool {
    if let Some(kinds) = words.strip_suffix(" carrying a layout") {
        return kinds.split('/').any(|kind| {
            let kind = if kind == "OPAQUE" { "OPAQUE_TYPE" } else { kind };
            let kind = xla::PrimitiveType::from_str_name(kind).unwrap();
            Shape::try_from(&array(kind, &[], &[])).is_ok()
        });
    }
    if words == "tuple carrying a layout field" {
        return Shape::try_from(&array(xla::PrimitiveType::Tuple, &[], &[])).is_ok();
    }
    if let Some((kind, dimensions)) = words.split_once(" dims ") {
        let dimensions = dimensions.trim_matches(['[', ']']);
        return format!("{kind}[{dimensions}]").parse::<Shape>().is_ok();
    }
    if let Some((shape, order)) = words.split_once(" m2m=") {
        let shape: Shape = shape.parse().unwrap();
        let order: Value = serde_json::from_str(order).unwrap();
        let layout = Layout::new(super::fact::indices(&order));
        let dimensions = shape.dimensions().iter().copied();
        return Shape::array(shape.element_type(), dimensions, layout).is_ok();
    }
    if let Some((shape, tiles)) = words.split_once(" tiles=") {
        let shape: Shape = shape.parse().unwrap();
        let mut layout = shape.layout().unwrap().clone();
        layout.tiles = super::fact::tiles(&serde_json::from_str(tiles).unwrap_or(json!([])));
        let dimensions = shape.dimensions().iter().copied();
        return Shape::array(shape.element_type(), dimensions, layout).is_ok();
    }
    let notation = words.split(" no layout").next().unwrap().split(" without layout").next();
    let shape = notation.unwrap().parse::<Shape>();
    // A shape without a layout is valid, but callers that need a layout get an error.
    shape.is_ok_and(|shape| *allow_missing != json!(false) || has_layout(&shape))
}
