//! Reshapes and transposes, with and without a change of memory.

use serde_json::Value;
use stridec::{
    shape::{ElementType, Layout, Shape},
    xla::{
        permutation_util,
        shape_util::{self, *},
    },
};

use super::fact::{Fact, numbers, shape_or_array, signed, text};

fn sides(fact: &Fact) -> (Shape, Shape) {
    (shape_or_array(&fact.given["in"]), shape_or_array(&fact.given["out"]))
}

pub fn reshape(fact: &Fact) {
    let (a, b) = sides(fact);
    fact.expect("bitcast", reshape_is_bitcast(&a, &b, false).unwrap());
    if fact.expected["bitcast_ignoring_type"].is_boolean() {
        fact.expect("bitcast_ignoring_type", reshape_is_bitcast(&a, &b, true).unwrap());
    }
}

/// XLA compares only the orders of the dimensions, which is wrong for tiles.
pub fn reshape_of_tiles(fact: &Fact) {
    let (a, b) = sides(fact);
    fact.expect("physically_correct", reshape_is_bitcast(&a, &b, false).unwrap());
}

pub fn transpose(fact: &Fact) {
    let ((a, b), permutation) = (sides(fact), signed(&fact.given["perm"]));
    let is = |ignoring| transpose_is_bitcast(&a, &b, &permutation, ignoring).unwrap();
    fact.expect("bitcast", is(false));
    fact.expect("bitcast_ignoring_type", is(true));
}

pub fn permute_dims(fact: &Fact) {
    let (array, permutation) = (fact.array(), signed(&fact.given["perm"]));
    let permuted = shape_util::permute_dimensions(&permutation, &array).unwrap();
    assert_eq!(permuted, shape_or_array(&fact.expected));
    let is = transpose_is_bitcast(&array, &permuted, &permutation, false);
    fact.expect("transpose_is_bitcast", is.unwrap());
}

pub fn deduce_transpose(fact: &Fact) {
    let (a, b) = sides(fact);
    fact.expect("perm", deduce_transpose_dimensions(&a, &b).unwrap());
}

pub fn is_reshape_or_transpose(fact: &Fact) {
    let (a, b) = sides(fact);
    fact.expect("result", is_reshape_or_transpose_bitcast(&a, &b).unwrap());
}

pub fn decompose(fact: &Fact) {
    let (a, b) = sides(fact);
    match decompose_bitcast(&a, &b).unwrap() {
        None => fact.expect("kind", Value::Null),
        Some(BitcastDecomposition::Reshape) => fact.expect("kind", "reshape"),
        Some(BitcastDecomposition::Transpose(_)) => fact.expect("kind", "transpose"),
        Some(BitcastDecomposition::TransposeReshapeTranspose {
            transpose1,
            transpose1_shape,
            reshape_shape,
            transpose2,
        }) => {
            fact.expect("kind", "transpose-reshape-transpose");
            fact.expect("transpose1", transpose1);
            fact.expect("transpose1_shape", transpose1_shape.to_string());
            fact.expect("reshape_shape", reshape_shape.to_string());
            fact.expect("transpose2", transpose2);
        }
    }
}

pub fn align_layouts(fact: &Fact) {
    let (input, output) = (shape_or_array(&fact.given["in"]), numbers(&fact.given["out_dims"]));
    let aligned = shape_util::align_layouts(&input, &output).unwrap();
    if fact.expected["exists"].is_boolean() {
        fact.expect("exists", aligned.is_some());
    } else {
        fact.expect("m2m", aligned.map(|layout| layout.minor_to_major.to_vec()));
    }
}

/// Either side may be the padded one.
pub fn one_side_padded(fact: &Fact) {
    assert_eq!(text(&fact.given["case"]), "exactly one side padded");
    let plain: Shape = "f32[10,5]{1,0}".parse().unwrap();
    let padded: Shape = "f32[5,10]{0,1:PAD(8,10,zero)}".parse().unwrap();
    for (a, b) in [(&plain, &padded), (&padded, &plain)] {
        fact.expect("correct", transpose_is_bitcast(a, b, &[1, 0], false).unwrap());
    }
}

pub fn noop(fact: &Fact) {
    let ((a, b), permutation) = (sides(fact), signed(&fact.given["perm"]));
    fact.expect("memory_unchanged", transpose_is_bitcast(&a, &b, &permutation, false).unwrap());
}

fn dense(sizes: &[u64]) -> Shape {
    let layout = Layout::default_for_rank(sizes.len());
    Shape::new(ElementType::F32, sizes.iter().copied(), layout).unwrap()
}

pub fn edge(fact: &Fact) {
    let (sizes, reshaped) = (numbers(&fact.given["dims"]), numbers(&fact.given["new_dims"]));
    fact.expect("ok", reshape_is_bitcast(&dense(&sizes), &dense(&reshaped), false).unwrap());
    assert!(common_factors(&sizes, &reshaped).is_some());
    fact.expect("elements", shape_util::elements_in(&dense(&sizes)));
    fact.expect("elements", shape_util::elements_in(&dense(&reshaped)));
}

fn extents(fact: &Fact) -> (Vec<u64>, Vec<u64>) {
    (numbers(&fact.given["in_dims"]), numbers(&fact.given["out_dims"]))
}

pub fn unmodified_dims(fact: &Fact) {
    let (before, after) = extents(fact);
    let pairs: Vec<Vec<usize>> = dimensions_unmodified_by_reshape(&before, &after)
        .into_iter()
        .map(|(before, after)| vec![before, after])
        .collect();
    fact.expect("pairs", pairs);
}

pub fn only_unit_dims_changed(fact: &Fact) {
    let (before, after) = extents(fact);
    let changed = inserted_or_deleted_1_sized_dimensions(&before, &after);
    fact.expect("result", changed.is_some());
}

pub fn normalize(fact: &Fact) {
    let ((before, after), permutation) = (extents(fact), signed(&fact.given["perm"]));
    let permuted = permutation_util::permute(&before, &permutation);
    assert_eq!(permuted, Ok(after));
    let (dimensions, permutation) = normalized_transpose(&before, &permutation).unwrap();
    fact.expect("norm_out_dims", dimensions);
    fact.expect("norm_perm", permutation);
}
