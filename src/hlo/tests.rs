//! These tests check that the builder infers the shape of each opcode, and rejects each violation
//! of its rules.

use super::*;
use crate::shape::Shape;

fn shape(text: &str) -> Shape {
    text.parse().unwrap()
}

/// Builds an instruction whose operands are parameters of the given shapes. Returns the shape of
/// the result, or the error without the name of the instruction. If the instruction becomes
/// [`Opcode::Other`], returns `other` and the name of the opcode.
fn given(opcode: Opcode, operands: &[&str], declared: Option<&str>) -> Result<String, String> {
    let mut builder = scalar_adder();
    let operands: Vec<usize> =
        operands.iter().map(|text| builder.parameter(shape(text)).unwrap()).collect();
    let added = builder.add_named("it".into(), opcode, operands, declared.map(shape));
    let root = added.map_err(|error| {
        let text = error.to_string();
        let rest = text.strip_prefix("instruction it of computation 1: ");
        rest.unwrap_or_else(|| panic!("{text}")).to_owned()
    })?;
    let module = builder.finish("main", root).unwrap();
    let instruction = &module.entry().instructions()[root];
    if let Opcode::Other { opcode, .. } = instruction.opcode() {
        return Ok(format!("other {opcode}"));
    }
    Ok(instruction.shape().to_string())
}

/// Creates a builder whose computation 0 takes two floats and returns the second. The tests use it
/// as a callee.
fn scalar_adder() -> Builder {
    let mut builder = Builder::new("test");
    let _ = builder.parameter(shape("f32[]")).unwrap();
    let second = builder.parameter(shape("f32[]")).unwrap();
    assert_eq!(builder.computation("second", second), Ok(0));
    builder
}

#[track_caller]
fn check(opcode: Opcode, operands: &[&str], declared: Option<&str>, expected: Result<&str, &str>) {
    let given = given(opcode, operands, declared);
    assert_eq!(given.as_deref().map_err(String::as_str), expected);
}

fn slice(start: u64, limit: u64, stride: u64) -> SliceDimension {
    SliceDimension { start, limit, stride }
}

fn pad(low: i64, high: i64, interior: u64) -> PaddingDimension {
    PaddingDimension { edge_padding_low: low, edge_padding_high: high, interior_padding: interior }
}

#[test]
fn movement_gives_the_extents_that_it_says() {
    let transpose = |dimensions: &[usize]| Opcode::Transpose { dimensions: dimensions.into() };
    check(transpose(&[2, 0, 1]), &["f32[2,3,5]"], None, Ok("f32[5,2,3]"));
    let says = "dimensions[1]: expected each dimension once, got 0 twice";
    check(transpose(&[0, 0]), &["f32[2,3]"], None, Err(says));
    let says =
        "shape: expected f32[3,2], which the operands and attributes give, got f32[2,3]{1,0}";
    check(transpose(&[1, 0]), &["f32[2,3]"], Some("f32[2,3]{1,0}"), Err(says));
    check(transpose(&[1, 0]), &["f32[<=2,3]"], Some("f32[3,<=2]"), Ok("other transpose"));
    let broadcast = |dimensions: &[usize]| Opcode::Broadcast { dimensions: dimensions.into() };
    check(broadcast(&[2, 0]), &["s8[3,2]"], Some("s8[2,7,3]"), Ok("s8[2,7,3]"));
    let says = "shape: expected s8[4,7], which the operands and attributes give, got s8[2,7]";
    check(broadcast(&[0]), &["s8[4]"], Some("s8[2,7]"), Err(says));
    let says = "shape: missing; expected a shape, which the operands and attributes of this opcode do not give";
    check(broadcast(&[]), &["s8[]"], None, Err(says));
    let reverse = Opcode::Reverse { dimensions: vec![1, 1] };
    check(
        reverse,
        &["s8[2,3]"],
        None,
        Err("dimensions[1]: expected each dimension once, got 1 twice"),
    );
    check(Opcode::Reshape, &["f32[2,3]{0,1}"], Some("f32[6]"), Ok("f32[6]"));
    let says = "shape: expected an array of 6 elements of f32, which the operands and attributes give, got f32[7]";
    check(Opcode::Reshape, &["f32[2,3]"], Some("f32[7]"), Err(says));
    check(Opcode::Iota { dimension: 1 }, &[], Some("s32[2,3]"), Ok("s32[2,3]"));
    check(
        Opcode::Iota { dimension: 2 },
        &[],
        Some("s32[2,3]"),
        Err("dimensions[0]: expected 0 to 1, got 2"),
    );
}

#[test]
fn slices_and_pads_count_their_elements() {
    let slices = |dimensions: &[SliceDimension]| Opcode::Slice { dimensions: dimensions.into() };
    check(slices(&[slice(1, 8, 3), slice(2, 2, 1)]), &["u8[9,4]"], None, Ok("u8[3,0]"));
    let says = "slice_dimensions[0].limit: expected 0 to 9, got 10";
    check(slices(&[slice(1, 10, 3)]), &["u8[9]"], None, Err(says));
    let pads = |dimensions: &[PaddingDimension]| Opcode::Pad { dimensions: dimensions.into() };
    let operands = ["u8[4,0]", "u8[]"];
    check(pads(&[pad(-1, 2, 2), pad(1, 1, 5)]), &operands, None, Ok("u8[11,2]"));
    let says = "shape.dimensions[1]: expected 0 to 2^63-1, got -1";
    check(pads(&[pad(0, 0, 0), pad(-1, 0, 0)]), &operands, None, Err(says));
    let says = "shape.dimensions[0]: expected 0 to 2^63-1, got ";
    let error = given(pads(&[pad(0, 0, u64::MAX), pad(0, 0, 0)]), &operands, None).unwrap_err();
    assert!(error.starts_with(says), "{error}");
    let says = "operand_ids[1]: expected an array of u8, got f32[]";
    check(pads(&[pad(0, 0, 0)]), &["u8[4]", "f32[]"], None, Err(says));
    let concatenate = || Opcode::Concatenate { dimension: 1 };
    check(concatenate(), &["u8[2,3]", "u8[2,0]", "u8[2,4]"], None, Ok("u8[2,7]"));
    let says = "operand_ids[1]: expected u8[2,3], or other extents along 1, got u8[3,3]";
    check(concatenate(), &["u8[2,3]", "u8[3,3]"], None, Err(says));
    let says = "operand_ids[1]: expected u8[2,3], or other extents along 1, got u8[2]";
    check(concatenate(), &["u8[2,3]", "u8[2]"], None, Err(says));
}

#[test]
fn bits_stay_as_they_are() {
    let convert = || Opcode::BitcastConvert;
    check(convert(), &["f32[2,3]"], Some("u8[2,3,4]"), Ok("u8[2,3,4]"));
    check(convert(), &["u8[2,3,4]"], Some("f32[2,3]"), Ok("f32[2,3]"));
    check(convert(), &["s4[2]"], Some("u4[2]"), Ok("u4[2]"));
    let says = "operand_ids[0]: expected an array whose last dimension has 4 elements, got u8[2,3]";
    check(convert(), &["u8[2,3]"], Some("f32[2]"), Err(says));
    check(Opcode::Bitcast, &["f32[2,3]{1,0}"], Some("u32[3,2]{0,1}"), Ok("u32[3,2]{0,1}"));
    let says =
        "shape: expected a shape of 24 bytes, which the operands and attributes give, got u32[3,3]";
    check(Opcode::Bitcast, &["f32[2,3]"], Some("u32[3,3]"), Err(says));
    check(Opcode::Convert, &["f32[2]"], Some("c64[2]"), Ok("c64[2]"));
    assert!(given(Opcode::Convert, &["c64[2]"], Some("f32[2]")).is_err());
}

#[test]
fn starts_are_scalars_or_one_vector() {
    let sliced = || Opcode::DynamicSlice { sizes: vec![1, 3] };
    check(sliced(), &["f32[4,3]", "s32[]", "u8[]"], None, Ok("f32[1,3]"));
    check(sliced(), &["f32[4,3]", "s32[2]"], None, Ok("f32[1,3]"));
    check(
        sliced(),
        &["f32[4,2]", "s32[2]"],
        None,
        Err("dynamic_slice_sizes[1]: expected 0 to 2, got 3"),
    );
    check(sliced(), &["f32[4,3]", "s32[]"], None, Err("operand_ids: expected 3 or 2, got 2"));
    let says = "operand_ids[2]: expected one integer, got f32[]";
    check(sliced(), &["f32[4,3]", "s32[]", "f32[]"], None, Err(says));
    let says = "operand_ids[1]: expected 2 integers, one for each dimension, got s32[3]";
    check(sliced(), &["f32[4,3]", "s32[3]"], None, Err(says));
    let update = || Opcode::DynamicUpdateSlice;
    check(update(), &["f32[4,3]", "f32[2,3]", "s32[]", "s32[]"], None, Ok("f32[4,3]"));
    let says = "operand_ids[1]: expected an array no larger than f32[4,3], got f32[2,4]";
    check(update(), &["f32[4,3]", "f32[2,4]", "s32[2]"], None, Err(says));
    check(update(), &["f32[4,3]"], None, Err("operand_ids: expected at least 2, got 1"));
}

#[test]
fn gathers_and_scatters_fit_their_indices() {
    let rows = Gather {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 3],
        ..Gather::default()
    };
    let gather = |gather: &Gather| Opcode::Gather(gather.clone().into());
    check(gather(&rows), &["f32[5,3]", "s32[7]"], None, Ok("f32[7,3]"));
    check(gather(&rows), &["f32[5,3]", "s32[7,1]"], None, Ok("f32[7,3]"));
    let wide = Gather { slice_sizes: vec![2, 3], ..rows.clone() };
    check(
        gather(&wide),
        &["f32[5,3]", "s32[7]"],
        None,
        Err("gather_slice_sizes[0]: expected 0 to 1, got 2"),
    );
    let says = "operand_ids[1]: expected an array of integers, got f32[7]";
    check(gather(&rows), &["f32[5,3]", "f32[7]"], None, Err(says));
    let batched = Gather {
        offset_dims: vec![],
        start_index_map: vec![1],
        index_vector_dim: 2,
        collapsed_slice_dims: vec![1],
        operand_batching_dims: vec![0],
        start_indices_batching_dims: vec![1],
        slice_sizes: vec![1, 1],
    };
    check(gather(&batched), &["f32[5,3]", "s32[7,5]"], None, Ok("f32[7,5]"));
    let says = "operand_ids[1]: expected 5 elements along dimension 1, a batch's, got s32[7,4]";
    check(gather(&batched), &["f32[5,3]", "s32[7,4]"], None, Err(says));
    let scattered = Scatter {
        update_window_dims: vec![1],
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..Scatter::default()
    };
    let scatter = || Opcode::Scatter(scattered.clone().into());
    check(scatter(), &["f32[5,3]", "s32[7]", "f32[7,3]"], None, Ok("f32[5,3]"));
    let says = "operand_ids[2]: expected windows no larger than the operand, one for each index vector, got f32[7,4]";
    check(scatter(), &["f32[5,3]", "s32[7]", "f32[7,4]"], None, Err(says));
    let says = "called_computation_ids: expected a computation (u8[], u8[]) -> u8[], got (f32[], f32[]) -> f32[]";
    check(scatter(), &["u8[5,3]", "s32[7]", "u8[7,3]"], None, Err(says));
}

#[test]
fn elements_are_worked_on_one_by_one() {
    let less = || Opcode::Compare { direction: ComparisonDirection::Lt, total_order: false };
    check(less(), &["f32[3]", "f32[3]"], None, Ok("pred[3]"));
    check(less(), &["f32[3]", "s32[3]"], None, Err("operand_ids[1]: expected f32[3], got s32[3]"));
    check(Opcode::Select, &["pred[3]", "s8[3]", "s8[3]"], None, Ok("s8[3]"));
    check(Opcode::Select, &["pred[]", "s8[3]", "s8[3]"], None, Ok("s8[3]"));
    let says = "operand_ids[0]: expected pred[3], got pred[4]";
    check(Opcode::Select, &["pred[4]", "s8[3]", "s8[3]"], None, Err(says));
    check(Opcode::Clamp, &["s8[]", "s8[3]", "s8[3]"], None, Ok("s8[3]"));
    assert!(given(Opcode::Clamp, &["s8[2]", "s8[3]", "s8[3]"], None).is_err());
    check(Opcode::Binary(Binary::Add), &["f32[3]", "f32[3]"], None, Ok("f32[3]"));
    let says = "operand_ids[0]: expected an array of integers or of pred, got f32[3]";
    check(Opcode::Binary(Binary::And), &["f32[3]", "f32[3]"], None, Err(says));
    check(Opcode::Unary(Unary::Not), &["pred[3]"], None, Ok("pred[3]"));
    check(Opcode::Unary(Unary::Abs), &["c128[3]"], None, Ok("f64[3]"));
    check(Opcode::Unary(Unary::Sign), &["c64[3]"], None, Ok("c64[3]"));
    check(Opcode::Unary(Unary::Not), &["f32[3]"], None, Err(says));
    check(Opcode::Complex, &["f64[3]", "f64[3]"], None, Ok("c128[3]"));
    check(Opcode::Imag, &["c64[3]"], None, Ok("f32[3]"));
    check(Opcode::Real, &["bf16[3]"], None, Ok("bf16[3]"));
    assert!(given(Opcode::Real, &["s32[3]"], None).is_err());
    check(Opcode::Unary(Unary::IsFinite), &["bf16[3]"], None, Ok("pred[3]"));
    let says = "operand_ids[0]: expected an array of floats, got s32[3]";
    check(Opcode::Unary(Unary::Floor), &["s32[3]"], None, Err(says));
    let says = "operand_ids[0]: expected an array of integers, got f32[3]";
    check(Opcode::Unary(Unary::PopulationCount), &["f32[3]"], None, Err(says));
}

#[test]
fn identities_and_started_calls_have_the_shapes_of_xla() {
    check(Opcode::AddDependency, &["f32[3]", "token[]"], None, Ok("f32[3]"));
    let says = "operand_ids[1]: expected a token, got f32[3]";
    check(Opcode::AddDependency, &["f32[3]", "f32[3]"], None, Err(says));
    check(Opcode::CopyStart, &["f32[3]"], None, Ok("(f32[3], f32[3], u32[])"));
    check(Opcode::CopyDone, &["(f32[3], f32[3], u32[])"], None, Ok("f32[3]"));
    check(Opcode::AsyncDone, &["((f32[3]), f32[2], u32[])"], None, Ok("f32[2]"));
    let start = Opcode::AsyncStart { computation: 0 };
    check(start, &["f32[]", "f32[]"], None, Ok("((f32[], f32[]), f32[], u32[])"));
    check(Opcode::GetDimensionSize { dimension: 1 }, &["f32[4,7]"], None, Ok("s32[]"));
    assert!(given(Opcode::GetDimensionSize { dimension: 2 }, &["f32[4,7]"], None).is_err());
    let one = Opcode::Conditional { computations: vec![0] };
    let says = "operand_ids[0]: expected pred[] or s32[], got u8[]";
    check(one, &["u8[]", "f32[]"], None, Err(says));
}

#[test]
fn reduce_takes_dimensions_away() {
    let reduce =
        |dimensions: &[usize]| Opcode::Reduce { dimensions: dimensions.into(), computation: 0 };
    check(reduce(&[2, 0]), &["f32[2,3,5]", "f32[]"], None, Ok("f32[3]"));
    check(reduce(&[]), &["f32[2]", "f32[]"], None, Ok("f32[2]"));
    check(
        reduce(&[1]),
        &["f32[2,1]", "f32[1]"],
        None,
        Err("operand_ids[1]: expected a scalar, got f32[1]"),
    );
    let says = "dimensions[1]: expected each dimension once, got 0 twice";
    check(reduce(&[0, 0]), &["f32[2,1]", "f32[]"], None, Err(says));
    check(reduce(&[1]), &["f32[2]", "f32[]"], None, Err("dimensions[0]: expected 0 to 0, got 1"));
    check(reduce(&[0]), &["f32[2]"], None, Err("operand_ids: expected 2, got 1"));
    let unknown = Opcode::Reduce { dimensions: vec![0], computation: 1 };
    let says = "called_computation_ids[0]: 1 is not known; expected a computation before this one";
    check(unknown, &["f32[2]", "f32[]"], None, Err(says));
}

#[test]
fn tuples_and_calls_hand_their_operands_on() {
    check(Opcode::Tuple, &["f32[3]", "token[]"], None, Ok("(f32[3], token[])"));
    check(Opcode::GetTupleElement { index: 1 }, &["(f32[3], s8[])"], None, Ok("s8[]"));
    let says = "tuple_index: expected 0 to 1, got 2";
    check(Opcode::GetTupleElement { index: 2 }, &["(f32[3], s8[])"], None, Err(says));
    check(Opcode::Call { computation: 0 }, &["f32[]", "f32[]"], None, Ok("f32[]"));
    let says = "operand_ids[1]: expected f32[], as parameter 1 of the callee, got s32[]";
    check(Opcode::Call { computation: 0 }, &["f32[]", "s32[]"], None, Err(says));
    let says = "called_computation_ids[0]: 1 is not known; expected a computation before this one";
    check(Opcode::Call { computation: 1 }, &[], None, Err(says));
    let dot =
        |computations| Opcode::Other { opcode: "dot".into(), target: String::new(), computations };
    check(dot(vec![]), &["f32[2,2]", "f32[2,2]"], Some("f32[2,2]"), Ok("other dot"));
    check(dot(vec![1]), &[], Some("f32[2,2]"), Err(says));
    check(Opcode::OptBarrier, &["(f32[3], s8[])"], None, Ok("(f32[3], s8[])"));
}

#[test]
fn operands_come_before_their_users() {
    let mut builder = Builder::new("test");
    let x = builder.parameter(shape("f32[2]")).unwrap();
    let error = builder.add(Opcode::Copy, &[x + 1]).unwrap_err();
    let says = "instruction copy.1 of computation 0: operand_ids[0]: 1 is not known; expected an instruction before this one, of the same computation";
    assert_eq!(error.to_string(), says);
    assert_eq!(
        error.field().unwrap().to_string(),
        "computations[0].instructions[1].operand_ids[0]"
    );
    let error = builder.clone().finish("main", 5).unwrap_err();
    let says =
        "computations[0].root_id: 5 is no instruction; expected an instruction of the computation";
    assert_eq!(error.to_string(), says);
    let (parameters, result) = (vec![shape("f32[2]{0}")], shape("f32[3]{0}"));
    let error = builder.finish_with_layouts("main", x, parameters, result).unwrap_err();
    let says = "host_program_shape.result: expected f32[2], which the entry computation has, got f32[3]{0}";
    assert_eq!(error.to_string(), says);
}

#[test]
fn calls_that_are_too_deep_are_refused() {
    let mut builder = Builder::new("test");
    let mut callee = None;
    for level in 0..=MAX_CALL_DEPTH {
        let root = match callee {
            None => builder.parameter(shape("f32[]")).unwrap(),
            Some(computation) => {
                let x = builder.parameter(shape("f32[]")).unwrap();
                builder.add(Opcode::Call { computation }, &[x]).unwrap()
            }
        };
        match builder.computation(format!("level{level}"), root) {
            Ok(computation) => callee = Some(computation),
            Err(error) => {
                assert_eq!(level, MAX_CALL_DEPTH);
                assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
                let says = "computation level256: expected calls at most 256 deep, got more";
                assert_eq!(error.to_string(), says);
                return;
            }
        }
    }
    panic!("the depth is not bounded");
}

#[test]
fn constants_are_counted() {
    let mut builder = Builder::new("test");
    let quarter = shape(&format!("u8[{}]", MAX_LITERAL_BYTES / 4));
    let literal = Literal::new(&quarter, vec![0; MAX_LITERAL_BYTES / 4]).unwrap();
    let constant = Opcode::Constant(literal.into());
    for _ in 0..4 {
        builder.add(constant.clone(), &[]).unwrap();
    }
    let byte = Literal::new(&shape("u8[]"), vec![0]).unwrap();
    let error = builder.add(Opcode::Constant(byte.into()), &[]).unwrap_err();
    assert!(
        matches!(error, HloError::TooManyLiteralBytes { given, .. } if given == MAX_LITERAL_BYTES + 1)
    );
}
