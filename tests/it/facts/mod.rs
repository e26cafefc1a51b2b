//! Facts about XLA and TensorFlow 1.x, which were read from their tests, headers and documentation.
//! They are in `tests/data/xla_facts.jsonl`.
//!
//! Each fact is an input and an output. XLA's words for an error are not compared, because
//! stridec's messages name the field instead.
#![allow(unreachable_pub, clippy::pedantic)]

mod bitcasts;
mod fact;
mod indices;
mod layouts;
mod moves;
mod notation;
mod protos;
mod shapes;

use std::{collections::BTreeMap, panic};

use fact::Fact;
use serde_json::Value;

/// Groups and single facts that do not hold for stridec, with the reason.
const EXCEPTIONS: [(&str, &str); 14] = [
    ("index.compare", "outside: `CompareIndices` is how Rust compares slices"),
    (
        "tile.contiguous_trailing_dims",
        "outside: strides between tiles, of Mosaic's TPU memrefs, which no Layout has",
    ),
    (
        "tile.expanded_strides",
        "outside: strides between tiles, of Mosaic's TPU memrefs, which no Layout has",
    ),
    ("tile.packing_factor_1d", "outside: a choice of XLA's TPU compiler"),
    (
        "transpose.gpu_tiled_eligible",
        "outside: a choice of XLA's GPU compiler; `transpose.normalize` holds its normal forms",
    ),
    ("transpose.packed_canonical", "outside: a form inside XLA's GPU compiler"),
    ("transpose.packed_tiles", "outside: a choice of XLA's GPU compiler"),
    ("print.program_shape", "outside: the types of computations, not of arrays"),
    (
        "print.tf1_shape_with_layout/007",
        "a missing layout prints as nothing, as today's XLA prints it; `{no layout}` is read",
    ),
    (
        "parse.tf112_shape/002",
        "sparse arrays of TensorFlow 1.12 are refused in text; their protos are read",
    ),
    ("parse.tf1_shape/004", "bf16 is a type, which TensorFlow 1.0 did not know"),
    (
        "padded.index_util_unsupported",
        "XLA never finished padding: it aborts where stridec answers",
    ),
    ("slice.values/007", "SLICE1 refuses empty windows"),
    ("slice.values/008", "SLICE1 refuses empty windows"),
];

/// Checks a fact. Panics if it does not hold.
fn check(fact: &Fact) {
    match fact.group.as_str() {
        "index.multi_to_linear" => indices::multi_to_linear(fact),
        "index.linear_to_multi" | "index.roundtrip" => indices::linear_to_multi(fact),
        "index.bump" => indices::bump(fact),
        "index.dim_stride" => indices::dim_stride(fact),
        "index.in_bounds" => indices::in_bounds(fact),
        "iterate.for_each_index" => indices::for_each_index(fact),
        "tile.linear" => indices::tile_linear(fact),
        "tile.top_level_only_linear" => indices::top_level_only_linear(fact),
        "tile.combine_dims" => indices::combine_dims(fact),
        "tile.is_untiled" => indices::is_untiled(fact),
        "layout.memory_image" | "padded.memory_image" => moves::memory_image(fact),
        "tile.memory_image" => moves::tile_memory_image(fact),
        "relayout.buffer" => moves::relayout_buffer(fact),
        "relayout.reinterpret" => moves::reinterpret(fact),
        "relayout.identity" => moves::identity(fact),
        "reshape.values" => moves::reshape_values(fact),
        "transpose.rule" => moves::transpose_rule(fact),
        "slice.values" => moves::slice_values(fact),
        "slice.with_output_layout" => moves::slice_with_output_layout(fact),
        "slice.of_reshape" => moves::slice_of_reshape(fact),
        "slice.is_contiguous" => moves::slice_is_contiguous(fact),
        "slice.gpu_memcpy" => moves::gpu_memcpy(fact),
        "coalesce.loops" => moves::coalesce_loops(fact),
        "pack.subbyte" => moves::pack_subbyte(fact),
        "print.layout" => notation::print_layout(fact),
        "print.tile" => notation::print_tile(fact),
        "print.shape_with_layout" => notation::parse_then_print(fact, "parse_then_print"),
        "print.tf1_shape_with_layout" => notation::parse_then_print(fact, "text"),
        "print.shape" => notation::print_shape(fact),
        "print.dynamic" => notation::print_dynamic(fact),
        "print.tuple_annotation" => notation::tuple_annotation(fact),
        "parse.shape" | "parse.tf112_shape" | "parse.tf1_shape" => notation::parse(fact),
        "parse.reject" | "parse.tf112_reject" => notation::reject(fact),
        "validate.tiles" | "validate.split" | "validate.layout" | "validate.shape"
        | "padded.validate" => protos::validate(fact),
        "proto.primitive_type" => protos::primitive_type(fact),
        "proto.enum" => protos::enumerator(fact),
        "proto.field" => protos::field(fact),
        "proto.wire" | "proto.wire_unpacked" => protos::wire(fact),
        "size.bytes" => shapes::bytes(fact),
        "size.bytes_recursive" => shapes::bytes_recursive(fact),
        "size.type_bytes" => shapes::type_bytes(fact),
        "size.strides_bytes" => shapes::strides_bytes(fact),
        "size.strides_is_major_to_minor" => shapes::strides_is_major_to_minor(fact),
        "size.array" => shapes::array_size(fact),
        "size.tail_padding_ignored_without_tiles" => shapes::tail_padding(fact),
        "size.elements" => shapes::elements(fact),
        "padded.bytes" => shapes::padded_bytes(fact),
        "padded.value_semantics" => shapes::padding_value(fact),
        "shape.change_type" => shapes::change_type(fact),
        "shape.to_host" => shapes::to_host(fact),
        "shape.equal" | "layout.equal_missing_empty" => shapes::equal(fact),
        "shape.compatible" => shapes::compatible(fact),
        "shape.reorder_logical" | "shape.permute_ignoring_layout" => shapes::permute(fact),
        "shape.descending_same_physical" => shapes::descending_same_physical(fact),
        "shape.delete_dims" => shapes::delete_dims(fact),
        "shape.prepend_major" | "shape.append_minor" => shapes::grow(fact),
        "shape.insert_dims" => shapes::insert_dims(fact),
        "shape.move_dim_to_major" => shapes::move_dim_to_major(fact),
        "shape.effectively_most_major" => shapes::effectively_most_major(fact),
        "shape.has_degenerate" => shapes::has_degenerate(fact),
        "shape.last_dim_minor_most" => shapes::last_dim_minor_most(fact),
        "padded.is_padded" => layouts::is_padded(fact),
        "padded.equal" => layouts::padded_equal(fact),
        "layout.make" => layouts::make(fact),
        "layout.default" => layouts::default(fact),
        "layout.move_dim_to_major" | "layout.move_dim_to_minor" => layouts::move_dim(fact),
        "layout.logical_to_physical" => layouts::logical_to_physical(fact),
        "layout.delete_dim" => layouts::delete_dim(fact),
        "layout.equal" => layouts::equal(fact),
        "layout.copy_between" => layouts::copy_between(fact),
        "split.max" => layouts::max_split(fact),
        "perm.is_permutation" => layouts::is_permutation(fact),
        "perm.compose" => layouts::compose(fact),
        "perm.permute_inverse" => layouts::permute_inverse(fact),
        "perm.move_single" => layouts::move_single(fact),
        "perm.tf1_direction" => layouts::tf1_direction(fact),
        "bitcast.reshape" | "bitcast.reshape_derived" => bitcasts::reshape(fact),
        "bitcast.reshape_ignores_tiles" => bitcasts::reshape_of_tiles(fact),
        "bitcast.transpose" => bitcasts::transpose(fact),
        "bitcast.permute_dims" => bitcasts::permute_dims(fact),
        "bitcast.deduce_transpose" => bitcasts::deduce_transpose(fact),
        "bitcast.is_reshape_or_transpose" => bitcasts::is_reshape_or_transpose(fact),
        "bitcast.decompose" => bitcasts::decompose(fact),
        "bitcast.align_layouts" => bitcasts::align_layouts(fact),
        "padded.transpose_bitcast_bug" => bitcasts::one_side_padded(fact),
        "reshape.noop" => bitcasts::noop(fact),
        "reshape.edge" => bitcasts::edge(fact),
        "reshape.unmodified_dims" => bitcasts::unmodified_dims(fact),
        "reshape.only_unit_dims_changed" => bitcasts::only_unit_dims_changed(fact),
        "transpose.normalize" => bitcasts::normalize(fact),
        group => panic!("no rule checks the group {group}"),
    }
}

#[test]
fn every_fact_holds_or_stands_in_the_table_with_its_reason() {
    let facts: Vec<Fact> = include_str!("../../data/xla_facts.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(Fact::new)
        .collect();
    assert_eq!(facts.len(), 487);
    let mut unused: Vec<&str> = EXCEPTIONS.iter().map(|exception| exception.0).collect();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for fact in &facts {
        let count = counts.entry(&fact.group).or_default();
        count.1 += 1;
        let excepted = |name: &str| name == fact.group || name == fact.id;
        if EXCEPTIONS.iter().any(|exception| excepted(exception.0)) {
            unused.retain(|name| !excepted(name));
            continue;
        }
        match panic::catch_unwind(|| check(fact)) {
            Ok(()) => count.0 += 1,
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or(panic.downcast_ref::<&str>().map(ToString::to_string));
                failures.push(format!("{}: {}", fact.id, message.unwrap_or_default()));
            }
        }
    }
    for (group, (held, all)) in &counts {
        println!("{group}: {held} of {all}");
    }
    let held: usize = counts.values().map(|count| count.0).sum();
    println!("{held} of {} facts hold; the others:", facts.len());
    for (name, reason) in EXCEPTIONS {
        println!("  {name}: {reason}");
    }
    assert!(failures.is_empty(), "{} facts fail:\n{}", failures.len(), failures.join("\n"));
    assert!(unused.is_empty(), "the table names what is not in the file: {unused:?}");
}
