//! Sizes of shapes, and shapes that are made of other shapes.

use serde_json::Value;
use stridec::{
    shape::{ElementType, Layout, PaddingValue, Shape},
    xla::shape_util::{self, *},
};

use super::fact::{Fact, numbers, shape, signed, text};

fn element_type(value: &Value) -> ElementType {
    ElementType::from_name(text(value)).unwrap()
}

/// Asserts that a shape is equal to a field of XLA's result. An array without a layout has the
/// default layout there, as in XLA's tests.
fn expect_shape(fact: &Fact, field: &str, given: &Shape) {
    let expected = shape(&fact.expected[field]);
    assert!(shape_util::equal(given, &expected), "{given} is not {expected}");
}

pub fn bytes(fact: &Fact) {
    let size = shape_util::byte_size_of(&fact.array()).unwrap();
    assert_eq!(shape_util::array_size(&fact.array()), Ok(size));
    fact.expect("bytes", size);
}

pub fn bytes_recursive(fact: &Fact) {
    fact.expect("bytes", shape_util::byte_size_of(&fact.shape()).unwrap());
}

pub fn type_bytes(fact: &Fact) {
    let kind = element_type(&fact.given["type"]);
    fact.expect("byte_width", kind.storage_bits().unwrap() / 8);
    fact.expect("bit_width", kind.bits().unwrap());
    fact.expect("storage_bit_width", packed_bits(kind).unwrap());
}

pub fn strides_bytes(fact: &Fact) {
    fact.expect("byte_strides", shape_util::byte_strides(&fact.shape()).unwrap());
}

pub fn strides_is_major_to_minor(fact: &Fact) {
    let given = shape_util::byte_strides_is_major_to_minor(
        &signed(&fact.given["byte_strides"]),
        &numbers(&fact.given["dims"]),
        element_type(&fact.given["type"]),
    );
    fact.expect("result", given);
}

pub fn array_size(fact: &Fact) {
    fact.expect("array_size", shape_util::array_size(&fact.shape()).unwrap());
    fact.expect("array_data_size", shape_util::array_data_size(&fact.shape()).unwrap());
}

/// The expected size is the intention in XLA's documentation, because XLA's code ignores the tail.
pub fn tail_padding(fact: &Fact) {
    fact.expect("documented_intent_bytes", shape_util::array_size(&fact.shape()).unwrap());
}

pub fn elements(fact: &Fact) {
    let array = fact.array();
    fact.expect("elements", elements_in(&array).unwrap());
    fact.expect("zero_element_array", is_zero_element_array(&array));
}

pub fn padded_bytes(fact: &Fact) {
    let sizes = numbers(&fact.given["dims"]);
    let layout = Layout::default_for_rank(sizes.len())
        .padded(numbers(&fact.given["padded_dimensions"]), None);
    let array = Shape::new(element_type(&fact.given["type"]), sizes, layout).unwrap();
    fact.expect("bytes", shape_util::array_size(&array).unwrap());
}

pub fn padding_value(fact: &Fact) {
    let kind = element_type(&fact.given["type"]);
    let name = text(&fact.given["padding_value"]).trim_end_matches("_PAD").to_lowercase();
    let bits = kind.padding_bits(PaddingValue::from_name(&name).unwrap()).unwrap();
    let printed = match kind {
        ElementType::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        ElementType::S8 => (bits as u8 as i8).to_string(),
        _ => bits.to_string(),
    };
    match text(&fact.expected["fill"]) {
        "anything, may be NaN" => assert_eq!(bits, 0),
        fill => assert_eq!(printed, fill),
    }
}

pub fn change_type(fact: &Fact) {
    for (name, kind) in
        [("to_pred", ElementType::Pred), ("to_u8", ElementType::U8), ("to_u4", ElementType::U4)]
    {
        let changed = change_element_type(&fact.shape(), kind).unwrap();
        fact.expect(
            name,
            match changed.layout().unwrap().element_size_in_bits {
                0 => "E cleared (0)".to_owned(),
                bits => format!("E({bits}) kept"),
            },
        );
    }
}

pub fn to_host(fact: &Fact) {
    let host = device_shape_to_host_shape(&fact.shape()).unwrap();
    fact.expect("is_host_shape", host == fact.shape());
    fact.expect("host_shape", host.to_string());
}

pub fn equal(fact: &Fact) {
    let shape = |side: &str| {
        let words = text(&fact.given[side]);
        let shape: Shape = words.split(' ').next().unwrap().parse().unwrap();
        match words.ends_with("empty layout message") {
            false => shape,
            true => Shape::new(shape.element_type(), [], Layout::new([])).unwrap(),
        }
    };
    fact.expect("equal", shape_util::equal(&shape("a"), &shape("b")));
}

pub fn compatible(fact: &Fact) {
    let (a, b) = (shape(&fact.given["a"]), shape(&fact.given["b"]));
    fact.expect("compatible", shape_util::compatible(&a, &b));
}

pub fn permute(fact: &Fact) {
    let permutation = signed(&fact.given["perm"]);
    let permuted = match fact.group.as_str() {
        "shape.reorder_logical" => permute_dimensions(&permutation, &fact.shape()),
        _ => permute_dimensions_ignoring_layout(&permutation, &fact.shape()),
    };
    expect_shape(fact, "shape", &permuted.unwrap());
}

pub fn descending_same_physical(fact: &Fact) {
    let descending = make_shape_with_descending_layout_and_same_physical_layout(&fact.shape());
    expect_shape(fact, "shape", &descending.unwrap());
}

pub fn delete_dims(fact: &Fact) {
    let deleted = delete_dimensions(&fact.shape(), &signed(&fact.given["delete"])).unwrap();
    expect_shape(fact, "shape", &deleted);
}

pub fn grow(fact: &Fact) {
    let bound = fact.given["bound"].as_u64().unwrap();
    let grown = match fact.group.as_str() {
        "shape.prepend_major" => prepend_major_dimension(bound, &fact.shape()),
        _ => append_minor_dimension(bound, &fact.shape()),
    };
    expect_shape(fact, "shape", &grown.unwrap());
}

pub fn insert_dims(fact: &Fact) {
    let at = fact.given["at"].as_i64().unwrap();
    let inserted =
        insert_dimensions_at_index(&fact.shape(), at, &numbers(&fact.given["bounds"])).unwrap();
    expect_shape(fact, "shape", &inserted);
}

pub fn move_dim_to_major(fact: &Fact) {
    let dimension = fact.given["dim"].as_i64().unwrap();
    let moved = shape_util::move_dim_to_major(&fact.shape(), dimension).unwrap();
    expect_shape(fact, "shape", &moved);
}

pub fn effectively_most_major(fact: &Fact) {
    let dimension = fact.given["dim"].as_i64().unwrap();
    fact.expect("result", is_effectively_most_major_dimension(&fact.shape(), dimension).unwrap());
}

pub fn has_degenerate(fact: &Fact) {
    fact.expect("result", has_degenerate_dimensions(&fact.shape()));
}

pub fn last_dim_minor_most(fact: &Fact) {
    fact.expect("result", last_dim_is_minor_most(&fact.shape()));
}
