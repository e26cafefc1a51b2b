//! A line of the file, and the meaning of its fields.

use serde_json::Value;
use stridec::{
    shape::{ElementType, Layout, Shape, SplitConfig, Tile, TileDimension},
    stride::StrideDescriptor,
};

/// An input, and XLA's result for it.
pub struct Fact {
    pub id: String,
    pub group: String,
    /// The input.
    pub given: Value,
    /// The result of XLA.
    pub expected: Value,
}

impl Fact {
    pub fn new(line: Value) -> Self {
        Self {
            id: text(&line["id"]).to_string(),
            group: text(&line["group"]).to_string(),
            given: line["in"].clone(),
            expected: line["out"].clone(),
        }
    }

    /// Returns the shape of the input, from its notation.
    pub fn shape(&self) -> Shape {
        shape(&self.given["shape"])
    }

    /// Returns an array with the input's `dims` and order of dimensions.
    pub fn array(&self) -> Shape {
        array(&self.given)
    }

    /// Asserts that a field of XLA's result has this value.
    pub fn expect<T: Into<Value>>(&self, field: &str, given: T) {
        assert_eq!(given.into(), self.expected[field], "{field}");
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn numbers(value: &Value) -> Vec<u64> {
    list(value).iter().map(|n| n.as_u64().unwrap()).collect()
}

pub fn signed(value: &Value) -> Vec<i64> {
    list(value).iter().map(|n| n.as_i64().unwrap()).collect()
}

pub fn indices(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|n| usize::try_from(n).unwrap()).collect()
}

pub fn shape(value: &Value) -> Shape {
    text(value).parse().unwrap_or_else(|error| panic!("{value}: {error}"))
}

/// Returns an array from `type`, `dims` and the order of its dimensions. Any of these fields may be
/// absent.
pub fn array(given: &Value) -> Shape {
    let element_type = given["type"]
        .as_str()
        .map_or(ElementType::F32, |name| ElementType::from_name(name).unwrap());
    Shape::new(element_type, numbers(&given["dims"]), layout(given)).unwrap()
}

/// Returns a shape that is given as text or by its fields.
pub fn shape_or_array(value: &Value) -> Shape {
    if value.is_string() { shape(value) } else { array(value) }
}

/// Returns a layout from its fields, or `None` if there is no order of dimensions.
pub fn layout(given: &Value) -> Option<Layout> {
    let order = [&given["minor_to_major"], &given["m2m"]].into_iter().find(|v| v.is_array())?;
    let mut layout = Layout::new(indices(order));
    layout.tiles = tiles(&given["tiles"]);
    layout.split_configs = split_configs(&given["split_configs"]);
    Some(layout)
}

pub fn tile(value: &Value) -> Tile {
    Tile::new(list(value).iter().map(|extent| match extent.as_u64() {
        Some(size) => TileDimension::Size(size),
        None => TileDimension::Combine,
    }))
}

pub fn tiles(value: &Value) -> Vec<Tile> {
    list(value).iter().map(tile).collect()
}

pub fn split_configs(value: &Value) -> Vec<SplitConfig> {
    let config = |value: &Value| SplitConfig {
        dimension: value[0].as_u64().unwrap(),
        split_indices: numbers(&value[1]),
    };
    list(value).iter().map(config).collect()
}

pub fn lower(shape: &Shape) -> StrideDescriptor {
    StrideDescriptor::try_from(shape).unwrap()
}
