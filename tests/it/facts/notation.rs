//! Shapes and layouts as text.

use serde_json::Value;
use stridec::{
    proto::xla,
    shape::{ElementType, Layout, Shape, Sparse},
};

use super::fact::{Fact, indices, list, shape, split_configs, text, tile, tiles};

fn element_type(name: &str) -> ElementType {
    ElementType::from_name(name).unwrap()
}

pub fn print_layout(fact: &Fact) {
    let given = &fact.given;
    let mut layout = Layout::new(indices(&given["m2m"]));
    layout.tiles = tiles(&given["tiles"]);
    layout.split_configs = split_configs(&given["split_configs"]);
    if let Some(alignment) = given["tail_padding_alignment"].as_u64() {
        layout.tail_padding_alignment_in_elements = alignment;
    }
    layout.element_size_in_bits = given["element_size_in_bits"].as_u64().unwrap_or(0);
    let mut sparse = Sparse::default();
    sparse.pointer_primitive_type = given["pointer_type"].as_str().map(element_type);
    sparse.index_primitive_type = given["index_type"].as_str().map(element_type);
    sparse.physical_shape = given["physical_shape"].as_str().map(|text| text.parse().unwrap());
    layout.sparse = Some(Box::new(sparse)).filter(|sparse| **sparse != Sparse::default());
    let known = [
        "m2m",
        "tiles",
        "split_configs",
        "tail_padding_alignment",
        "element_size_in_bits",
        "pointer_type",
        "index_type",
        "physical_shape",
    ];
    assert!(given.as_object().unwrap().keys().all(|field| known.contains(&field.as_str())));
    fact.expect("text", layout.to_string());
}

pub fn print_tile(fact: &Fact) {
    fact.expect("text", tile(&fact.given["tile"]).to_string());
}

pub fn parse_then_print(fact: &Fact, field: &str) {
    fact.expect(field, shape(&fact.given["canonical"]).to_string());
}

pub fn print_shape(fact: &Fact) {
    let shape = shape(&fact.given["with_layout"]);
    fact.expect("without_layout", shape.without_layout().to_string());
    fact.expect("with_layout", shape.to_string());
}

pub fn print_dynamic(fact: &Fact) {
    fact.expect("text", fact.shape().to_string());
}

pub fn tuple_annotation(fact: &Fact) {
    let (part, count) = (shape(&fact.given["tuple_of"]), fact.given["count"].as_u64().unwrap());
    let tuple = Shape::tuple(vec![part; count as usize]).unwrap();
    fact.expect("text", tuple.to_string());
    assert_eq!(text(&fact.expected["text"]).parse(), Ok(tuple));
}

pub fn parse(fact: &Fact) {
    if fact.expected["ok"].is_boolean() {
        fact.expect("ok", text(&fact.given["text"]).parse::<Shape>().is_ok());
        return;
    }
    let shape = shape(&fact.given["text"]);
    let proto = xla::Shape::from(&shape);
    let layout = proto.layout.clone().unwrap_or_default();
    for (field, expected) in fact.expected.as_object().unwrap() {
        let least = |n: i64| if n == i64::MIN { Value::from("INT64_MIN") } else { n.into() };
        let given: Value = match field.as_str() {
            "element_type" => shape.element_type().name().into(),
            "dims" => proto.dimensions.iter().copied().map(least).collect(),
            "dynamic" => proto.is_dynamic_dimension.clone().into(),
            "minor_to_major" if expected.is_string() => {
                assert_eq!(expected, "default (descending)");
                assert_eq!(shape.layout(), None);
                continue;
            }
            "minor_to_major" => layout.minor_to_major.clone().into(),
            "format" => match xla::Format::try_from(layout.format) {
                Ok(format) => format.as_str_name().into(),
                Err(_) => Value::Null,
            },
            "memory_space" => layout.memory_space.into(),
            "tiles" => {
                let star = |&n: &i64| if n == i64::MIN { Value::from("*") } else { n.into() };
                let extents = |tile: &xla::Tile| tile.dimensions.iter().map(star).collect();
                layout.tiles.iter().map(extents).collect::<Vec<Value>>().into()
            }
            "split_configs" => {
                let config = |config: &xla::SplitConfig| {
                    Value::from(vec![
                        Value::from(config.dimension),
                        config.split_indices.clone().into(),
                    ])
                };
                layout.split_configs.iter().map(config).collect::<Vec<_>>().into()
            }
            "tuple" => {
                assert_eq!(shape.element_type(), ElementType::Tuple);
                let parts: Vec<Shape> = list(expected).iter().map(super::fact::shape).collect();
                assert_eq!(shape.tuple_shapes(), parts);
                continue;
            }
            "buffer_of" => {
                assert_eq!(shape.element_type(), ElementType::Buffer);
                assert_eq!(shape.tuple_shapes(), [super::fact::shape(expected)]);
                continue;
            }
            field => panic!("no rule checks the field {field}"),
        };
        assert_eq!(given, *expected, "{field}");
    }
}

pub fn reject(fact: &Fact) {
    fact.expect("ok", text(&fact.given["text"]).parse::<Shape>().is_ok());
}
