//! Multidimensional and linear indices.

use serde_json::Value;
use stridec::{
    shape::{Layout, Shape},
    xla::{index_util::*, shape_util::reshape_is_bitcast},
};

use super::fact::{Fact, indices, list, lower, numbers, tiles};

pub fn multi_to_linear(fact: &Fact) {
    let index = numbers(&fact.given["index"]);
    let linear = multidimensional_index_to_linear_index(&fact.array(), &index).unwrap();
    fact.expect("linear", linear);
}

pub fn linear_to_multi(fact: &Fact) {
    let (shape, linear) = (fact.array(), fact.given["linear"].as_u64().unwrap());
    let index = linear_index_to_multidimensional_index(&shape, linear).unwrap().unwrap();
    assert_eq!(multidimensional_index_to_linear_index(&shape, &index), Ok(linear));
    fact.expect("index", index);
}

pub fn bump(fact: &Fact) {
    let (sizes, mut index) = (numbers(&fact.given["dims"]), numbers(&fact.given["start"]));
    for expected in list(&fact.expected["sequence"]) {
        assert!(bump_indices(&sizes, &mut index));
        assert_eq!(index, numbers(expected));
    }
    fact.expect("then", bump_indices(&sizes, &mut index));
}

pub fn dim_stride(fact: &Fact) {
    let dimension = fact.given["dim"].as_i64().unwrap();
    fact.expect("stride_elems", get_dimension_stride(&fact.array(), dimension).unwrap());
}

pub fn in_bounds(fact: &Fact) {
    let (sizes, index) = (numbers(&fact.given["dims"]), numbers(&fact.given["index"]));
    fact.expect("in_bounds", index_in_bounds(&sizes, &index));
}

pub fn for_each_index(fact: &Fact) {
    let sizes = numbers(&fact.given["dims"]);
    let mut visited = Vec::new();
    if fact.given["base"].is_array() {
        let [base, counts, increments] =
            ["base", "count", "incr"].map(|field| numbers(&fact.given[field]));
        stridec::xla::index_util::for_each_index(&base, &counts, &increments, |index| {
            visited.push(Value::from(index.to_vec()));
        });
        fact.expect("visited", visited);
    } else {
        for_each_index_of(&sizes, |index| visited.push(Value::from(index.to_vec())));
        fact.expect("visits", visited.len());
    }
}

pub fn tile_linear(fact: &Fact) {
    let (tensor, index) = (lower(&fact.shape()), numbers(&fact.given["index"]));
    let linear = tensor.offset(&index).unwrap();
    fact.expect("linear", linear);
    assert_eq!(tensor.index(linear), Ok(Some(index)));
    fact.expect("physical_elems", tensor.physical_elements());
    if fact.expected["expanded_dims"].is_array() {
        let extents: Vec<u64> = tensor.axes().iter().map(|axis| axis.extent).collect();
        fact.expect("expanded_dims", extents.clone());
        // The digits of the offset are the index of the tile and the index inside the tile.
        let mut rest = linear;
        let digits: Vec<u64> = tensor
            .axes()
            .iter()
            .map(|axis| {
                let stride = axis.stride.unsigned_abs();
                let digit = rest / stride;
                rest %= stride;
                digit
            })
            .collect();
        let (tile, inside) = digits.split_at(2);
        fact.expect("tile_index", tile.to_vec());
        fact.expect("in_tile", inside.to_vec());
    }
}

pub fn top_level_only_linear(fact: &Fact) {
    let (shape, index) = (fact.shape(), numbers(&fact.given["index"]));
    fact.expect("full_linear", lower(&shape).offset(&index).unwrap());
    let mut layout = shape.layout().unwrap().clone();
    layout.tiles.truncate(1);
    let top =
        Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout).unwrap();
    fact.expect("top_tile_linear", lower(&top).offset(&index).unwrap());
}

pub fn combine_dims(fact: &Fact) {
    let (folded, plain) = (fact.shape(), super::fact::shape(&fact.expected["equivalent"]));
    assert_eq!(reshape_is_bitcast(&folded, &plain, false), Ok(true));
    let (folded, plain) = (lower(&folded), lower(&plain));
    let (mut a, mut b) = (vec![0; folded.rank()], vec![0; plain.rank()]);
    loop {
        assert_eq!(folded.offset(&a), plain.offset(&b));
        if !(bump_indices(folded.sizes(), &mut a) & bump_indices(plain.sizes(), &mut b)) {
            break;
        }
    }
}

pub fn is_untiled(fact: &Fact) {
    let sizes = numbers(&fact.given["physical_dims"]);
    let plain = Layout::default_for_rank(indices(&fact.given["physical_dims"]).len());
    let mut tiled = plain.clone();
    tiled.tiles = tiles(&fact.given["tiles"]);
    let shape = |layout| {
        Shape::new(stridec::shape::ElementType::F32, sizes.iter().copied(), layout).unwrap()
    };
    fact.expect("untiled", reshape_is_bitcast(&shape(tiled), &shape(plain), false).unwrap());
}
