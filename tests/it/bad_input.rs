//! Messages for bad input. Each error names the field, the value and the accepted values, and has
//! the right kind.

use prost::Message;
use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    hlo::Module,
    proto::{stridec as proto, xla},
    schedule::candidates,
    shape::{self, Shape},
    window::Slice,
};

use ErrorKind::{Invalid, Unsupported};

/// Compiles a relayout. The tests expect it to fail.
fn relayout(from: &str, to: &str) -> Result<(), Error> {
    Operation::relayout(from.parse()?, to.parse()?)?.compile(&Target::webgpu())?;
    Ok(())
}

fn check(result: Result<(), Error>, kind: ErrorKind, text: &str) {
    let error = result.expect_err(text);
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind, "{text}");
}

/// Relayouts that fail, each with its source, its destination, the kind of error and the message.
const RELAYOUTS: [(&str, &str, ErrorKind, &str); 25] = [
    (
        "f32[2,3]{1,1}",
        "f32[2,3]",
        Invalid,
        "layout.minor_to_major[1]: expected each dimension once, got 1 twice (at byte 11)",
    ),
    (
        "f32[-]",
        "f32[2]",
        Invalid,
        "expected letters, digits and [](){}<>,:*?#+~, got '-' (at byte 4)",
    ),
    // Any two of these strides can be combined, but not all three.
    (
        "f32[2,2,2]",
        "f32[2,2,2] strided<[5,3,2]>",
        Invalid,
        "destination.strides: expected a place of its own for each element of the destination, got strides of 5 and 3, which put two elements in one place",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[2,3]>",
        Unsupported,
        "destination.strides: strides of 3 and 2 interleave in the destination, which is not supported; expected the greater stride to be more than 4, the offset of the last element that the smaller strides reach",
    ),
    // The memory is too large to find overlaps by listing all elements.
    (
        "f32[4,3]",
        "f32[4,3] strided<[10000000,15000000]>",
        Invalid,
        "destination.strides: expected a place of its own for each element of the destination, got strides of 15000000 and 10000000, which put two elements in one place",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[10000000,15000000]>",
        Unsupported,
        "destination.strides: strides of 15000000 and 10000000 interleave in the destination, which is not supported; expected the greater stride to be more than 20000000, the offset of the last element that the smaller strides reach",
    ),
    (
        "f32[2,3]{0,1,2}",
        "f32[2,3]",
        Invalid,
        "layout.minor_to_major: expected 2 entries, one for each dimension, got 3 (at byte 9)",
    ),
    (
        "f32[2,3]",
        "f32[2,3]{0,1:PAD(3)}",
        Invalid,
        "layout.padded_dimensions: expected 2 entries, one for each dimension, or none, got 1 (at byte 16)",
    ),
    (
        "f32[2,3]",
        "f32[2,3]{0,1:PAD(3,2)}",
        Invalid,
        "layout.padded_dimensions[1]: expected at least 3, the extent of dimension 1, got 2 (at byte 19)",
    ),
    (
        "c64[2,3]",
        "c64[2,3]{0,1:PAD(3,5,lowest)}",
        Invalid,
        "layout.padding_value: c64 has no lowest value; complex numbers have no order: expected zero, one or unknown",
    ),
    (
        "f8e8m0fnu[2]",
        "f8e8m0fnu[2]{0:PAD(3,zero)}",
        Invalid,
        "layout.padding_value: f8e8m0fnu has no zero value; expected one (2^0), lowest (2^-127), highest (2^127) or unknown",
    ),
    (
        "f32[2,3]",
        "c64[2,3]",
        Unsupported,
        "destination.element_type: expected elements of type f32, as in the source, got c64 in the destination: complex numbers are not converted; copy their parts as a dimension of 2 real numbers",
    ),
    (
        "f32[2,3]",
        "f32[6]",
        Invalid,
        "destination.dimensions: expected 2 dimensions, as many as the operation has, got 1 in the destination",
    ),
    (
        "f32[2,3]",
        "f32[3,2]",
        Invalid,
        "destination.dimensions[0]: expected an extent of 2, which the operation gives, got 3 in dimension 0 of the destination: both layouts list the same dimensions in one order, and the braces say how they lie in memory; did you mean `f32[2,3]{0,1}`?",
    ),
    (
        "f32[2,3]",
        "f32[2,3] strided<[2,1]>",
        Invalid,
        "destination.strides: expected a place of its own for each element of the destination, got strides of 2 and 1, which put two elements in one place",
    ),
    (
        "f32[2,3]",
        "f32[2,3] strided<[-3,1], offset: 3>",
        Unsupported,
        "destination.strides[0]: a negative stride is not supported in the destination; expected at least 1 in dimension 0, got -3",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[2,3]>",
        Unsupported,
        "destination.strides: strides of 3 and 2 interleave in the destination, which is not supported; expected the greater stride to be more than 4, the offset of the last element that the smaller strides reach",
    ),
    (
        "f32[2,3] strided<[-3,1], offset: 2>",
        "f32[2,3]",
        Invalid,
        "strides: from offset 2, negative strides walk down to element -1, before the first of memory; expected an offset of at least 3 elements",
    ),
    (
        "f32[2,3] strided<[3]>",
        "f32[2,3]",
        Invalid,
        "strides: expected 2 entries, one for each dimension, got 1 (at byte 17)",
    ),
    (
        "s8[4]{0:E(4)}",
        "s8[4]",
        Unsupported,
        "layout.element_size_in_bits: elements of 4 bits are not supported for s8; expected at least 8 bits",
    ),
    (
        "s4[4]{0:E(42)}",
        "s4[4]",
        Unsupported,
        "layout.element_size_in_bits: E(42) is not supported; expected 1, 2, 4, 8, 16, 32, 64 or 128",
    ),
    (
        "f32[?]",
        "f32[?]",
        Unsupported,
        "dimensions[0]: ? is not supported; expected an extent, or a bound such as <=128",
    ),
    (
        "token[]",
        "token[]",
        Unsupported,
        "element_type: expected an array, got token, which has no elements to move",
    ),
    (
        "(f32[2], s8[3])",
        "f32[2]",
        Unsupported,
        "element_type: expected an array, got tuple, which has no elements to move; #0 after it names its first part",
    ),
    (
        "f32[40000000]",
        "f32[40000000]",
        Unsupported,
        "source: expected an image of at most 134217728 bytes, which is what target webgpu binds, got 160000000",
    ),
];

#[test]
fn relayouts() {
    for (from, to, kind, text) in RELAYOUTS {
        check(relayout(from, to), kind, text);
    }
}

/// The product of the extents exceeds 64 bits. It is refused at the first multiplication that
/// overflows, and does not wrap around.
#[test]
fn huge_extents() {
    const N: u64 = 1 << 62;
    for (from, to, kind, text) in [
        (
            format!("u8[{N},4]"),
            format!("u8[{N},4]"),
            Invalid,
            "dimensions: expected an array of fewer than 2^63 bytes, got more (at byte 2)"
                .to_owned(),
        ),
        (
            format!("u8[{N}]"),
            format!("u8[{N}]"),
            Unsupported,
            format!("source: expected an image of at most 1152921504606846975 elements, got {N} in the source"),
        ),
        (
            format!("u8[2]{{0:PAD({N})}}"),
            "u8[2]".to_owned(),
            Unsupported,
            format!("source: expected an image of at most 1152921504606846975 elements, got {N} in the source"),
        ),
        (
            format!("u8[2,2]{{1,0:PAD({N},{N})}}"),
            "u8[2,2]".to_owned(),
            Invalid,
            "layout.padded_dimensions: expected at most 2^63-1 bytes of memory, got extents whose product is more"
                .to_owned(),
        ),
        (
            format!("u8[3,3] strided<[{N},{N}]>"),
            "u8[3,3]".to_owned(),
            Invalid,
            "strides: expected at most 2^63-1 bytes of memory, got extents whose product is more".to_owned(),
        ),
        (
            format!("u8[2]{{0:T({N})}}"),
            "u8[2]".to_owned(),
            Unsupported,
            format!("source: expected an image of at most 1152921504606846975 elements, got {N} in the source"),
        ),
        (
            format!("u8[2]{{0:L({N})}}"),
            "u8[2]".to_owned(),
            Unsupported,
            format!("source: expected an image of at most 1152921504606846975 elements, got {N} in the source"),
        ),
        (
            format!("c128[{}]{{0:T({N})}}", N / 16),
            "c128[2]".to_owned(),
            Invalid,
            "dimensions: expected at most 2^63-1 bytes of memory, got extents whose product is more"
                .to_owned(),
        ),
        (
            "u1[4611686018427387904]{0:E(1)}".to_owned(),
            "u1[4611686018427387904]{0:E(1)}".to_owned(),
            Unsupported,
            format!("source: expected an image of at most 1152921504606846976 elements, got {N} in the source"),
        ),
    ] {
        check(relayout(&from, &to), kind, &text);
    }
    // The strides of an array without elements are checked too.
    let text =
        "dimensions: expected at most 2^63-1 bytes of memory, got extents whose product is more";
    check(relayout("f64[4611686018427387904,4,0]", "f64[4611686018427387904,4,0]"), Invalid, text);
}

#[test]
fn slices() {
    let slice = |offsets: &[u64], sizes: &[u64], strides: &[i64], output: Option<&[u64]>| {
        let mut slice = Slice::new(offsets, sizes, strides);
        slice.output_sizes = output.map(<[u64]>::to_vec);
        Operation::slice("f32[4,5]".parse().unwrap(), &slice, None).map(|_| ())
    };
    for (result, text) in [
        (
            slice(&[0, 0], &[4, 0], &[1, 1], None),
            "window_sizes[1]: expected 1 to 5, as many as the source has from the offset on, got 0",
        ),
        (
            slice(&[0, 3], &[4, 3], &[1, 1], None),
            "window_offsets[1]: expected offset + size to be at most 5, the extent of the source, got 3 + 3",
        ),
        (
            slice(&[0, u64::MAX], &[4, 3], &[1, 1], None),
            "window_offsets[1]: expected offset + size to be at most 5, the extent of the source, got 18446744073709551615 + 3",
        ),
        (
            slice(&[0, 0], &[4, 5], &[0, 1], None),
            "window_strides[0]: expected a stride other than 0, got 0",
        ),
        (
            slice(&[0, 0], &[4, 5], &[1, -2], Some(&[4, 4])),
            "output_sizes[1]: expected 1 to 3, which the window holds at stride -2, got 4",
        ),
        (
            slice(&[0, 0], &[4, 5], &[1, 1], Some(&[0, 5])),
            "output_sizes[0]: expected 1 to 4, which the window holds at stride 1, got 0",
        ),
        (
            slice(&[0], &[4, 5], &[1, 1], None),
            "window_offsets: expected 2 values, one for each dimension of the source, got 1",
        ),
    ] {
        check(result, Invalid, text);
    }
    // The smallest legal stride takes the last element of the window.
    assert!(slice(&[0, 0], &[4, 5], &[i64::MIN, 1], None).is_ok());
}

#[test]
fn serialized_shapes() {
    let decode = |bytes: &[u8]| Shape::decode(bytes).map(|_| ()).map_err(Error::from);
    let whole = "f32[2,3]{0,1:PAD(3,5,zero)}".parse::<Shape>().unwrap().encode();
    let shape = |change: &dyn Fn(&mut xla::Shape)| {
        let mut shape = xla::Shape {
            element_type: 11,
            dimensions: vec![2, 3],
            layout: Some(Box::new(xla::Layout {
                minor_to_major: vec![1, 0],
                ..Default::default()
            })),
            ..Default::default()
        };
        change(&mut shape);
        decode(&shape.encode_to_vec())
    };
    let layout = |change: &dyn Fn(&mut xla::Layout)| {
        shape(&|shape| change(shape.layout.get_or_insert_default()))
    };
    for (result, text) in [
        (
            decode(&whole[..whole.len() - 1]),
            "layout: buffer underflow; expected a serialized xla.Shape",
        ),
        (
            decode(&vec![0; shape::MAX_INPUT_BYTES + 1]),
            "input: expected at most 16777216 bytes, got 16777217",
        ),
        (
            shape(&|shape| shape.element_type = 99),
            "element_type: expected a number of xla.PrimitiveType, 1 to 36, got 99",
        ),
        (shape(&|shape| shape.dimensions[1] = -3), "dimensions[1]: expected 0 to 2^63-1, got -3"),
        (
            layout(&|layout| layout.minor_to_major = vec![0, 2]),
            "layout.minor_to_major[1]: expected 0 to 1, got 2",
        ),
        (
            layout(&|layout| layout.padded_dimensions = vec![3]),
            "layout.padded_dimensions: expected 2 entries, one for each dimension, or none, got 1",
        ),
        (
            layout(&|layout| layout.padded_dimensions = vec![3, 1]),
            "layout.padded_dimensions[1]: expected at least 3, the extent of dimension 1, got 1",
        ),
        (
            layout(&|layout| layout.padding_value = Some(6)),
            "layout.padding_value: expected a number of xla.PaddingValue, 0 to 5, got 6",
        ),
    ] {
        check(result, Invalid, text);
    }
}

#[test]
fn requests() {
    let request = |operation| {
        Operation::try_from(&proto::CompileRequest { operation, ..Default::default() }).map(|_| ())
    };
    let tensor =
        |text: &str| Some(proto::Tensor::try_from(&text.parse::<Tensor>().unwrap()).unwrap());
    let relayout = |source, destination| {
        let relayout = proto::Relayout { source, destination };
        request(Some(proto::compile_request::Operation::Relayout(relayout)))
    };
    let strided = |element_type, sizes: &[u64], strides: &[i64]| {
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        let strided = proto::StridedTensor { element_type, sizes, strides, ..Default::default() };
        Some(proto::Tensor { kind: Some(proto::tensor::Kind::Strided(strided)) })
    };
    let broken = xla::Shape { element_type: 11, dimensions: vec![-1], ..Default::default() };
    let broken = Some(proto::Tensor { kind: Some(proto::tensor::Kind::Shape(broken)) });
    for (result, text) in [
        (request(None), "operation: missing; expected a relayout, a slice or an hlo_module"),
        (
            relayout(tensor("f32[2]"), broken),
            "relayout.destination.shape.dimensions[0]: expected 0 to 2^63-1, got -1",
        ),
        (
            relayout(strided(99, &[2], &[1]), tensor("f32[2]")),
            "relayout.source.strided.element_type: expected a number of xla.PrimitiveType that has elements, got 99",
        ),
        (
            relayout(strided(11, &[2], &[]), tensor("f32[2]")),
            "relayout.source.strided.strides: expected 1 entry, one for each dimension, got 0",
        ),
    ] {
        check(result, Invalid, text);
    }
    let floats = proto::BufferTensorDesc {
        data_type: proto::TensorDataType::Float32.into(),
        sizes: vec![2],
        total_tensor_size_in_bytes: 8,
        ..Default::default()
    };
    let floats = proto::Tensor { kind: Some(proto::tensor::Kind::BufferTensorDesc(floats)) };
    check(
        relayout(tensor("c64[2]"), Some(floats)),
        Unsupported,
        "relayout.destination.buffer_tensor_desc.data_type: expected elements of type c64, as in the source, got f32 in the destination: complex numbers are not converted; copy their parts as a dimension of 2 real numbers",
    );
    let missing = relayout(None, tensor("f32[2]")).unwrap_err().to_string();
    assert!(missing.starts_with("relayout.source: missing; expected"), "{missing}");
    let target = proto::Target { preset: "abacus".into(), ..Default::default() };
    let error = Target::try_from(&target).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("target.preset: ") && text.contains("\"abacus\""), "{text}");
    assert!(text.contains("expected one of webgpu"), "{text}");
    assert_eq!(error.kind(), Invalid);
}

/// A target that cannot dispatch anything is refused, even if it was built field by field.
#[test]
fn targets_without_room() {
    let side: Tensor = "f32[2]".parse().unwrap();
    let operation = Operation::relayout(side.clone(), side).unwrap();
    for (limits, field) in [
        (
            proto::Target { max_compute_workgroups_per_dimension: Some(0), ..Default::default() },
            "target.max_compute_workgroups_per_dimension",
        ),
        (
            proto::Target { max_compute_invocations_per_workgroup: Some(0), ..Default::default() },
            "target.max_compute_invocations_per_workgroup",
        ),
    ] {
        let error = operation.compile(&Target::try_from(&limits).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), format!("{field}: expected at least 1, got 0"));
        assert_eq!(
            (error.kind(), error.field().map(|field| field.to_string()).as_deref()),
            (Invalid, Some(field))
        );
    }
}

/// A request has all fields of its target, and their numbers are checked when it is decoded.
#[test]
fn targets_of_ones_own() {
    let side: Tensor = "f32[2]".parse().unwrap();
    let operation = Operation::relayout(side.clone(), side).unwrap();
    for mut target in Target::presets() {
        target.name = "my board".into();
        target.measured_on = "a machine, 2026-11-22".into();
        target.model.byte = 12_345;
        assert_eq!(Target::try_from(&proto::Target::from(&target)).unwrap(), target);
        operation.compile_unvalidated(&target).unwrap();
    }
    let model = |lanes, byte| proto::Target {
        model: Some(proto::CostModel { lanes, byte, ..Default::default() }),
        ..Default::default()
    };
    for (target, text) in [
        (model(0, 0), "target.model.lanes: expected a number from 1 to 128, got 0"),
        (model(129, 0), "target.model.lanes: expected a number from 1 to 128, got 129"),
        (
            model(8, u32::MAX),
            "target.model.byte: expected a number from 0 to 1000000, got 4294967295",
        ),
    ] {
        let target = Target::try_from(&target).unwrap();
        // The costs of a candidate are finite even if the candidate cannot be compiled.
        assert!(!candidates(operation.nest().clone(), &target).is_empty());
        let error = operation.compile(&target).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.kind()), (text, Invalid));
        assert!(error.field().unwrap().to_string().starts_with("target.model."));
    }
    let kind = proto::Target { kind: 7, ..Default::default() };
    let error = Target::try_from(&kind).unwrap_err();
    let text = "target.kind: expected a number of stridec.Target.Kind, 0 to 2, got 7";
    assert_eq!((error.to_string().as_str(), error.kind()), (text, Invalid));
}

/// A tensor may fill a binding up to its last whole word.
#[test]
fn images_as_large_as_a_binding() {
    let side: Tensor = "f32[2]".parse().unwrap();
    let operation = Operation::relayout(side.clone(), side).unwrap();
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 8;
    operation.compile_unvalidated(&target).unwrap();
    target.max_storage_buffer_binding_size = 7;
    let text =
        "source: expected an image of at most 4 bytes, which is what target webgpu binds, got 8";
    check(operation.compile(&target).map(|_| ()), Unsupported, text);
}

/// A kernel counts units with 32 bits, minus the invocations of one workgroup.
#[test]
fn units_as_many_as_indices() {
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 8 << 30;
    let compile = |bytes: u64| {
        let side: Tensor = format!("u8[{bytes}]").parse().unwrap();
        let operation = Operation::relayout(side.clone(), side).unwrap();
        operation.compile_unvalidated(&target).map(|_| ())
    };
    compile(4_294_967_231).unwrap();
    let text = "source: expected at most 4294967231 units, as many as 32-bit indices count, got 4294967233";
    check(compile(4_294_967_233), Unsupported, text);
}

/// The default target has the limits of the smallest adapter that the WebGPU standard allows.
#[test]
fn targets_are_the_standards() {
    let target = Target::webgpu();
    assert_eq!(target.max_storage_buffer_binding_size, 134_217_728);
    assert_eq!(target.max_compute_workgroups_per_dimension, 65_535);
    assert_eq!(target.max_compute_invocations_per_workgroup, 256);
}

#[test]
fn buffers_of_another_length() {
    let operation = |text: &str| -> Operation {
        let side: Tensor = text.parse().unwrap();
        Operation::relayout(side.clone(), side).unwrap()
    };
    let mut out = [0; 24];
    let error = operation("f32[2,3]").run_on_host(&[0; 23], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "source: expected a buffer of 24 bytes, the whole image, got 23");
    let error = operation("f32[2,2]").run_on_host(&[0; 16], &mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "destination: expected a buffer of 16 bytes, the whole image, got 24"
    );
    assert_eq!((error.kind(), out), (Invalid, [0; 24]));
}

/// Strides of 2^58 in padding, which guards exclude. Products with such a stride exceed 64 bits.
#[test]
fn padding_as_far_as_memory_goes() {
    let (source, destination) =
        ("u8[3,16]{1,0:PAD(3,4503599627370496)}", "u8[3,16]{0,1:PAD(128,16)}");
    let operation =
        Operation::relayout(source.parse().unwrap(), destination.parse().unwrap()).unwrap();
    for target in [Target::webgpu(), Target::webgpu_cpu()] {
        let error = operation.compile(&target).unwrap_err().to_string();
        assert!(
            error.starts_with("source: expected an image of")
                && error.ends_with("got 13510798882111488"),
            "{error}"
        );
    }
}

/// In padding, the offset in the source may be far outside the source. If such an offset wrapped
/// around, a wrong kernel could get a proof.
#[test]
fn positions_past_what_is_counted() {
    let reach = |side: &str| {
        format!(
            "{side}: expected positions of at most 1152921504606846976, got tiles, strides and steps of the {side} that lead past that over the padding of both sides"
        )
    };
    let source = "u8[3,16]{1,0:PAD(3,288230376151711744)}";
    check(relayout(source, "u8[3,16]{0,1:PAD(128,16)}"), Unsupported, &reach("source"));
    let source = "pred[16,8] strided<[4,4294967296]>";
    let destination = "pred[16,8]{0,1:T(*,16)(*,*,16)M(36028797018963968)}";
    check(relayout(source, destination), Unsupported, &reach("source"));
    // The product of 2^36 and 2^28 is 0 modulo 2^64.
    let far = Slice::new([0, 0], [2, 68_719_476_737], [1, 68_719_476_736]);
    let source = "u1[2,68719476737]{1,0:T(2,3)E(1)}".parse().unwrap();
    let destination = "u1[2,2]{1,0:E(1)PAD(2,268435457)}".parse().unwrap();
    let result = Operation::slice(source, &far, Some(destination)).map(drop);
    check(result, Unsupported, &reach("source"));
}

/// Strides and offsets of tensors without elements have no effect, so any value is accepted.
#[test]
fn no_elements_and_any_strides() {
    for (source, destination) in [
        ("f32[0] strided<[1], offset: 4611686018427387904>", "f32[0]{0:M(2)}"),
        ("f32[0,2] strided<[9223372036854775807,4611686018427387904]>", "f32[0,2]{1,0:M(2)}"),
        ("f32[0,4,1152921504606846975]{1,2,0:M(5)}", "f32[0,4,1152921504606846975]{0,1,2:L(8)}"),
        ("f32[0,4,1152921504606846975]{0,1,2:L(8)}", "f32[0,4,1152921504606846975]{1,2,0:M(5)}"),
        (
            "f32[0,4] strided<[9223372036854775807,2305843009213693952]>",
            "f32[0,4]{1,0:PAD(2,1024,one)}",
        ),
        (
            "u8[0,3,2] strided<[1152921504606846975,-2305843009213693952,1]>",
            "u8[0,3,2]{2,0,1:PAD(1,4,9,one)}",
        ),
    ] {
        let operation =
            Operation::relayout(source.parse().unwrap(), destination.parse().unwrap()).unwrap();
        let kernel = operation.compile(&Target::webgpu()).unwrap();
        assert!(kernel.bindings.iter().all(|binding| binding.size_in_bytes >= 4), "{source}");
        let bytes = |of: u64| usize::try_from(of).unwrap();
        let image = vec![0; bytes(operation.source_descriptor().image_bytes())];
        let mut out = vec![7; bytes(operation.destination_descriptor().image_bytes())];
        operation.run_on_host(&image, &mut out).unwrap();
        let cell = operation.destination_descriptor().padding().to_le_bytes();
        let cell =
            &cell[..bytes(operation.destination_descriptor().element_bits().div_ceil(8).into())];
        assert!(out.iter().eq(cell.iter().cycle().take(out.len())), "{source}: {out:?}");
    }
}

/// A dispatch is a whole number of workgroups in three dimensions, so the invocations after the
/// last one with work need numbers too. Tilings with no common factor take one invocation for each
/// word.
#[test]
fn invocations_are_numbered_in_32_bits() {
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 1 << 35;
    let operation = Operation::relayout(
        "f32[55778790,77]{1,0:T(3,7)}".parse().unwrap(),
        "f32[55778790,77]{1,0:T(5,11)}".parse().unwrap(),
    );
    // As 65,282 by 257, the workgroups would have more than 2^32 invocations after rounding up.
    let kernel = operation.unwrap().compile(&target).unwrap();
    assert_eq!(kernel.dispatches[0].workgroups, [61_455, 273, 1]);
}

/// A message shows only a part of a layout with thousands of entries.
#[test]
fn refused_layouts_are_shown_in_part() {
    let splits = (0..50_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let error = relayout(&format!("f32[100000]{{0:SC(0:{splits})}}"), "f32[100000]").unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("layout.split_configs: {0:SC(0:0,1,2,") && text.len() < 300, "{text}");
    assert!(text.ends_with("… is not supported; expected an array in one memory"), "{text}");
}

/// Errors of modules and of single instructions convert to `Error` and keep their field.
#[test]
fn errors_of_modules_name_their_field() {
    use stridec::hlo::{HloError, InstructionError};
    let text = "ENTRY e {\n  p = f32[2] parameter(0)\n  ROOT t = f32[3] reshape(p)\n}";
    let error = Module::parse(text).unwrap_err();
    let inner = match &error {
        HloError::Line { error, .. } => error,
        error => error,
    };
    let HloError::Instruction { error: rule, .. } = inner else { panic!("{error}") };
    let field = |error: &Error| error.field().map(|field| field.to_string());
    let whole = field(&Error::from(error.clone())).unwrap();
    assert!(whole.starts_with("computations[0].instructions[1]."), "{whole}");
    let rule: InstructionError = (**rule).clone();
    let alone = Error::from(rule);
    assert!(whole.ends_with(&field(&alone).unwrap()), "{whole}, {alone}");
    assert_eq!(alone.kind(), Invalid);
}
