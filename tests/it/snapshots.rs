//! Every stage of twenty-seven operations, from the shapes to the WGSL. `snapshots/` has a file for
//! each operation.
//!
//! The cases are chosen as lessons, and the first line of a file says what a reader can learn from
//! it. After a change of the compiler, `cargo insta review` shows the differences.

use stridec::{
    Operation, Target, Tensor,
    hlo::{Builder, Literal, Module, Opcode, PaddingDimension},
    program::compile_module,
    request::Table,
    window::Slice,
};

fn tensor(text: &str) -> Tensor {
    text.parse().unwrap()
}

fn relayout(from: &str, to: &str) -> Operation {
    Operation::relayout(tensor(from), tensor(to)).unwrap()
}

/// Compares every stage with `snapshots/{name}.snap`. `shows` is the lesson of the case.
fn check(name: &str, shows: &str, operation: &Operation, target: &Target) {
    check_stages(name, shows, &operation.stages(target).unwrap());
}

/// Compares every stage of a program with `snapshots/{name}.snap`.
fn check_program(name: &str, shows: &str, module: &Module) {
    let target = Target::webgpu();
    check_stages(name, shows, &compile_module(module, &target).unwrap().stages(&target).unwrap());
}

fn check_stages(name: &str, shows: &str, stages: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(shows);
    for line in stages.lines() {
        assert!(line.chars().count() <= 110, "{name}: a line for no screen: {line}");
    }
    settings.bind(|| insta::assert_snapshot!(name, stages));
}

#[test]
fn nchw_to_nhwc() {
    check(
        "nchw_to_nhwc",
        "The README's example: a batched transpose, 4 by 4 elements in an invocation's registers.",
        &relayout("f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}"),
        &Target::webgpu(),
    );
}

#[test]
fn batch_at_run_time() {
    let operation = relayout("f32[64,12,3,16,16]", "f32[64,12,3,16,16]{2,4,3,0,1}");
    check_stages(
        "batch_at_run_time",
        "Extents at run time: a kernel for one image, repeated for up to 64 by 12 images, whose order \
         changes.",
        &operation.at_run_time(&[0]).unwrap().stages(&Target::webgpu()).unwrap(),
    );
}

#[test]
fn nchw_to_nhwc_on_a_cpu() {
    check(
        "nchw_to_nhwc_on_a_cpu",
        "The same for a software driver: the invocations of a vector store next to each other.",
        &relayout("f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}"),
        &Target::webgpu_cpu(),
    );
}

#[test]
fn transpose_of_bytes() {
    check(
        "transpose_of_bytes",
        "Elements of a byte: words are loaded whole, their bytes exchanged in registers.",
        &relayout("u8[256,128]{1,0}", "u8[256,128]{0,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn image_to_planes_of_halves() {
    check(
        "image_to_planes_of_halves",
        "A conversion on the way: bytes of pixels become planes of f16, on bits alone.",
        &relayout("u8[1080,1920,3]", "f16[1080,1920,3]{1,0,2}"),
        &Target::webgpu(),
    );
}

#[test]
fn image_to_normalised_planes() {
    let entries: Vec<u8> = (0..3 * 256_u16).flat_map(u16::to_le_bytes).collect();
    let operation = relayout("u8[1080,1920,3]", "f16[1080,1920,3]{1,0,2}");
    check(
        "image_to_normalised_planes",
        "A table for each channel, bound as the second source: each byte becomes the f16 that it says.",
        &operation.with_table(Table::new(entries, Some(2))).unwrap(),
        &Target::webgpu(),
    );
}

#[test]
fn weights_to_bf16_tiles() {
    check(
        "weights_to_bf16_tiles",
        "A conversion to a TPU's tiles of pairs of rows, rounded once; padding is in bf16.",
        &relayout("f32[1000,300]", "bf16[1000,300]{1,0:T(8,128)(2,1)}"),
        &Target::webgpu(),
    );
}

#[test]
fn image_of_three_channels() {
    check(
        "image_of_three_channels",
        "Planes to pixels: three runs of 16 bytes become 16 pixels, one run of 48 bytes.",
        &relayout("u8[3,240,320]{2,1,0}", "u8[3,240,320]{0,2,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn odd_matrix_of_bytes() {
    check(
        "odd_matrix_of_bytes",
        "No extent is a multiple of 4: blocks move the whole words of each row, seams the words between two rows.",
        &relayout("u8[61,67]{1,0}", "u8[61,67]{0,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn large_odd_matrix() {
    check(
        "large_odd_matrix",
        "Rows begin at any word, but every fourth at the same one of 16 bytes: four and four rows are stored in whole accesses.",
        &relayout("f32[1031,1033]{1,0}", "f32[1031,1033]{0,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn mirrored_rows() {
    let slice = Slice::new([0, 0], [32, 64], [1, -1]);
    check(
        "mirrored_rows",
        "A slice that reads backwards: 16 bytes are loaded at once, and turned round in registers.",
        &Operation::slice(tensor("u8[32,64]"), &slice, None).unwrap(),
        &Target::webgpu(),
    );
}

#[test]
fn transpose_of_doubles() {
    check(
        "transpose_of_doubles",
        "f64 without a 64-bit type: an element is a vec2<u32>, so NaN payloads survive.",
        &relayout("f64[3,50,36]{2,1,0}", "f64[3,50,36]{1,2,0}"),
        &Target::webgpu(),
    );
}

#[test]
fn copy() {
    check(
        "copy",
        "Extents of 1 have no order: another layout, but the same bytes, and a buffer copy will do.",
        &relayout("bf16[32,1,64,64]{3,2,1,0}", "bf16[32,1,64,64]{3,2,0,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn slice_of_aligned_rows() {
    let slice = Slice::new([2, 4], [6, 8], [1, 1]);
    check(
        "slice_of_aligned_rows",
        "Rows that start at multiples of 16 bytes: one vec4 load and store each.",
        &Operation::slice(tensor("f32[10,16]"), &slice, None).unwrap(),
        &Target::webgpu(),
    );
}

#[test]
fn slice_of_bytes_at_odd_places() {
    let slice = Slice::new([0, 3], [5, 8], [1, 1]);
    check(
        "slice_of_bytes_at_odd_places",
        "Rows of bytes that start inside a word: neighbouring words are shifted together.",
        &Operation::slice(tensor("u8[5,13]"), &slice, None).unwrap(),
        &Target::webgpu(),
    );
}

#[test]
fn slice_backwards() {
    let slice = Slice::new([0, 0, 0, 1], [1, 1, 4, 3], [1, 1, -2, 2]);
    check(
        "slice_backwards",
        "DirectML's SLICE1 with a negative stride: 1 … 16 becomes 14 16 / 6 8.",
        &Operation::slice(tensor("f32[1,1,4,4]"), &slice, None).unwrap(),
        &Target::webgpu(),
    );
}

#[test]
fn legacy_padding() {
    check(
        "legacy_padding",
        "TensorFlow 1.x's padded_dimensions: 2×3 lies in 3×5 places, the others hold the least f32.",
        &relayout("f32[2,3]{1,0}", "f32[2,3]{0,1:PAD(3,5,lowest)}"),
        &Target::webgpu(),
    );
}

#[test]
fn tiled_to_dense() {
    check(
        "tiled_to_dense",
        "Out of tiles of 8 by 128 that the array fills: each row of a tile is a run of the dense row.",
        &relayout("f32[64,256]{1,0:T(8,128)}", "f32[64,256]{1,0}"),
        &Target::webgpu(),
    );
}

#[test]
fn dense_to_tpu_tiles() {
    check(
        "dense_to_tpu_tiles",
        "Into a TPU's bf16 tiles: pairs of rows are interleaved, and the last tiles are padded.",
        &relayout("bf16[100,300]{1,0}", "bf16[100,300]{1,0:T(8,128)(2,1)}"),
        &Target::webgpu(),
    );
}

#[test]
fn tiles_that_do_not_nest() {
    check(
        "tiles_that_do_not_nest",
        "Tiles of 4 by 2 on one side, 6 by 5 on the other: the source's tile is a quotient, computed for each element.",
        &relayout("f32[12,10]{1,0:T(4,2)}", "f32[12,10]{1,0:T(6,5)}"),
        &Target::webgpu(),
    );
}

#[test]
fn packing_of_4_bits() {
    check(
        "packing_of_4_bits",
        "s4 from a byte each to two in a byte, element 0 in the low bits.",
        &relayout("s4[6,10]{1,0}", "s4[6,10]{1,0:E(4)}"),
        &Target::webgpu(),
    );
}

#[test]
fn strides_with_an_offset() {
    check(
        "strides_with_an_offset",
        "An image without its border of one pixel, stored densely: explicit strides and an offset.",
        &relayout("f32[1,3,6,6] strided<[192,64,8,1], offset: 9>", "f32[1,3,6,6]"),
        &Target::webgpu(),
    );
}

#[test]
fn no_elements() {
    check(
        "no_elements",
        "An extent of 0: nothing to dispatch.",
        &relayout("f32[0,3]{1,0}", "f32[0,3]{0,1}"),
        &Target::webgpu(),
    );
}

#[test]
fn program_of_reshape_and_pad() {
    let mut builder = Builder::new("split_heads");
    let x = builder.parameter(shape("f32[4,12]")).unwrap();
    let heads = builder.add_as(Opcode::Reshape, &[x], shape("f32[4,3,4]")).unwrap();
    let dimensions = vec![1, 0, 2];
    let heads = builder.add(Opcode::Transpose { dimensions }, &[heads]).unwrap();
    let zero = Literal::new(&shape("f32[]"), vec![0; 4]).unwrap();
    let zero = builder.add(Opcode::Constant(zero.into()), &[]).unwrap();
    let behind = PaddingDimension { edge_padding_high: 2, ..Default::default() };
    let dimensions = vec![PaddingDimension::default(), behind, PaddingDimension::default()];
    let root = builder.add(Opcode::Pad { dimensions }, &[heads, zero]).unwrap();
    check_program(
        "program_of_reshape_and_pad",
        "Rows of 12 are 3 heads of 4, each head gets 2 rows of zeros behind: one source, one guard, no quotient.",
        &builder.finish("main", root).unwrap(),
    );
}

#[test]
fn program_of_a_concatenate() {
    let mut builder = Builder::new("concatenate_of_three");
    let operands = ["f32[4,5]", "f32[4,2]", "f32[4,3]"];
    let operands = operands.map(|text| builder.parameter(shape(text)).unwrap());
    let root = builder.add(Opcode::Concatenate { dimension: 1 }, &operands).unwrap();
    check_program(
        "program_of_a_concatenate",
        "Three sources, each read where no earlier one is: the last needs no guard.",
        &builder.finish("main", root).unwrap(),
    );
}

#[test]
fn program_of_a_dynamic_slice() {
    let mut builder = Builder::new("dynamic_slice");
    let x = builder.parameter(shape("u16[10,8]")).unwrap();
    let starts = ["s32[]", "u8[]"].map(|text| builder.parameter(shape(text)).unwrap());
    let opcode = Opcode::DynamicSlice { sizes: vec![3, 6] };
    let root = builder.add(opcode, &[x, starts[0], starts[1]]).unwrap();
    check_program(
        "program_of_a_dynamic_slice",
        "Starts that only a run knows: each is loaded, and clamped so that the slice lies inside.",
        &builder.finish("main", root).unwrap(),
    );
}

#[test]
fn program_of_a_gather() {
    let module = Module::parse(
        "HloModule rows

         ENTRY main {
           x = f32[8,6] parameter(0)
           i = s32[3] parameter(1)
           zero = s32[] constant(0)
           zeros = s32[3] broadcast(zero), dimensions={}
           below = pred[3] compare(i, zeros), direction=LT
           eight = s32[] constant(8)
           eights = s32[3] broadcast(eight), dimensions={}
           end = s32[3] add(i, eights)
           row = s32[3] select(below, end, i)
           rows = s32[3,1] reshape(row)
           ROOT y = f32[3,6] gather(x, rows), offset_dims={1}, collapsed_slice_dims={0},
             start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}
         }",
    );
    check_program(
        "program_of_a_gather",
        "JAX's x[i]: rows that only a run knows, negative ones counted from the end.",
        &module.unwrap(),
    );
}

fn shape(text: &str) -> stridec::shape::Shape {
    text.parse().unwrap()
}
