//! Layouts and permutations.

use serde_json::Value;
use stridec::{
    shape::{ElementType, Layout, PaddingValue, Shape},
    xla::{
        layout_util::{self, LayoutField},
        permutation_util,
    },
};

use super::fact::{Fact, indices, layout, list, numbers, shape, signed, text};

pub fn is_padded(fact: &Fact) {
    let sizes = numbers(&fact.given["dims"]);
    let layout = fact.given["padded_dimensions"].is_array().then(|| {
        Layout::default_for_rank(sizes.len())
            .padded(numbers(&fact.given["padded_dimensions"]), None)
    });
    let array = Shape::new(ElementType::F32, sizes, layout).unwrap();
    fact.expect("is_padded", array.is_padded());
}

/// The layouts differ, even if they do not fit an array.
pub fn padded_equal(fact: &Fact) {
    let layout = |side: &str| {
        let given = &fact.given[side];
        let value = given["padding_value"].as_str().map(|value| match value {
            "ZERO_PAD" => PaddingValue::Zero,
            _ => PaddingValue::Lowest,
        });
        Layout::default_for_rank(list(&given["dims"]).len())
            .padded(numbers(&given["padded_dimensions"]), value)
    };
    fact.expect("equal", layout_util::equal(&layout("a"), &layout("b"), &[]));
}

fn order(layout: &Layout) -> Vec<usize> {
    layout.minor_to_major.to_vec()
}

pub fn make(fact: &Fact) {
    let rank = fact.given["rank"].as_u64().unwrap() as usize;
    fact.expect("ascending", order(&layout_util::make_ascending_layout(rank)));
    fact.expect("descending", order(&layout_util::make_descending_layout(rank)));
}

pub fn default(fact: &Fact) {
    let rank = fact.given["rank"].as_u64().unwrap() as usize;
    let array = Shape::new(ElementType::F32, vec![1; rank], None).unwrap();
    fact.expect("minor_to_major", order(&array.layout_or_default()));
}

pub fn move_dim(fact: &Fact) {
    let (layout, dimension) = (layout(&fact.given).unwrap(), fact.given["dim"].as_i64().unwrap());
    let moved = match fact.group.as_str() {
        "layout.move_dim_to_major" => layout_util::move_dim_to_major(&layout, dimension),
        _ => layout_util::move_dim_to_minor(&layout, dimension),
    };
    fact.expect("minor_to_major", order(&moved.unwrap()));
}

pub fn logical_to_physical(fact: &Fact) {
    let layout = layout(&fact.given).unwrap();
    fact.expect("major_to_minor", layout_util::major_to_minor(&layout));
    fact.expect("logical_to_physical", layout_util::make_logical_to_physical(&layout));
}

pub fn delete_dim(fact: &Fact) {
    let dimension = fact.given["delete"].as_i64().unwrap();
    let left = layout_util::delete_dimension(&layout(&fact.given).unwrap(), dimension).unwrap();
    fact.expect("minor_to_major", order(&left));
    assert_eq!(left.split_configs, super::fact::split_configs(&fact.expected["split_configs"]));
}

pub fn equal(fact: &Fact) {
    let ignoring: &[LayoutField] = match text(&fact.given["mode"]) {
        "strict" => &[],
        "ignore_tiles" => &[LayoutField::Tiles],
        "ignore_element_size" => &[LayoutField::ElementSize],
        "ignore_memory_space" => &[LayoutField::MemorySpace],
        "ignore_split_configs" => &[LayoutField::SplitConfigs],
        "minor_to_major_only" => &LayoutField::ALL,
        mode => panic!("no rule checks the mode {mode}"),
    };
    let [a, b] = ["a", "b"].map(|side| text(&fact.given[side]).parse().unwrap());
    fact.expect("equal", layout_util::equal(&a, &b, ignoring));
}

pub fn copy_between(fact: &Fact) {
    let copied = layout_util::copy_layout_between_shapes(
        &shape(&fact.given["src"]),
        &shape(&fact.given["dst"]),
    );
    fact.expect("ok", copied.is_ok());
    if let Ok(copied) = copied {
        fact.expect("dst_minor_to_major", order(&copied.layout_or_default()));
    }
}

pub fn max_split(fact: &Fact) {
    let array = fact.array();
    let sizes: Vec<Option<u64>> = (0..array.rank() as i64)
        .map(|dimension| layout_util::max_split_size(&array, dimension).unwrap())
        .collect();
    fact.expect("max_split_size", sizes);
    fact.expect("max_elements", layout_util::max_elements_in_per_split(&array));
}

pub fn is_permutation(fact: &Fact) {
    fact.expect("result", permutation_util::is_permutation(&signed(&fact.given["perm"])));
}

pub fn compose(fact: &Fact) {
    let (p1, p2) = (signed(&fact.given["p1"]), signed(&fact.given["p2"]));
    fact.expect("out", permutation_util::compose_permutations(&p1, &p2).unwrap());
}

fn entries(fact: &Fact) -> (&[Value], Vec<i64>) {
    (list(&fact.given["in"]), signed(&fact.given["perm"]))
}

pub fn permute_inverse(fact: &Fact) {
    let (input, permutation) = entries(fact);
    fact.expect("out", permutation_util::permute_inverse(input, &permutation).unwrap());
}

pub fn move_single(fact: &Fact) {
    let [from, to] = ["from", "to"].map(|place| fact.given[place].as_i64().unwrap());
    let moved = permutation_util::move_single(&indices(&fact.given["perm"]), from, to).unwrap();
    fact.expect("out", moved);
}

/// `Permute` of TensorFlow 1.x is `PermuteInverse` of XLA today.
pub fn tf1_direction(fact: &Fact) {
    let (input, permutation) = entries(fact);
    fact.expect("tf1_out", permutation_util::permute_inverse(input, &permutation).unwrap());
    fact.expect("modern_out", permutation_util::permute(input, &permutation).unwrap());
}
