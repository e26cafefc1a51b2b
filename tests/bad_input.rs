//! What bad input is told: each error names the field, the value and what is accepted, and is of the right kind.

use prost::Message;
use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    proto::{stridec as proto, xla},
    shape::{self, Shape},
    window::Slice,
};

use ErrorKind::{Invalid, Unsupported};

/// A relayout that must fail, its kind and its text.
fn relayout(from: &str, to: &str) -> Result<(), Error> {
    Operation::relayout(from.parse()?, to.parse()?)?.compile(&Target::webgpu())?;
    Ok(())
}

fn check(result: Result<(), Error>, kind: ErrorKind, text: &str) {
    let error = result.expect_err(text);
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind, "{text}");
}

/// Relayouts that fail: source, destination, kind and text.
const RELAYOUTS: [(&str, &str, ErrorKind, &str); 25] = [
    (
        "f32[2,3]{1,1}",
        "f32[2,3]",
        Invalid,
        "layout.minor_to_major[1]: 1 is there already; each dimension is accepted once (at byte 11)",
    ),
    (
        "f32[-]",
        "f32[2]",
        Invalid,
        "'-' has no meaning in a shape; letters, digits and [](){}<>,:*?#+~ have (at byte 4)",
    ),
    // No two of these strides meet, and all three do.
    (
        "f32[2,2,2]",
        "f32[2,2,2] strided<[5,3,2]>",
        Invalid,
        "strides: 5 and 3 put two elements of the destination in one place; accepted is one place for each element",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[2,3]>",
        Unsupported,
        "strides: 3 and 2 interleave in the destination; supported are strides of which each exceeds the reach of all smaller ones together (4 here)",
    ),
    // Too many places to mark each.
    (
        "f32[4,3]",
        "f32[4,3] strided<[10000000,15000000]>",
        Invalid,
        "strides: 15000000 and 10000000 put two elements of the destination in one place; accepted is one place for each element",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[10000000,15000000]>",
        Unsupported,
        "strides: 15000000 and 10000000 interleave in the destination; supported are strides of which each exceeds the reach of all smaller ones together (20000000 here)",
    ),
    (
        "f32[2,3]{0,1,2}",
        "f32[2,3]",
        Invalid,
        "layout.minor_to_major: 3 entries for 2 dimensions; one per dimension is accepted (at byte 9)",
    ),
    (
        "f32[2,3]",
        "f32[2,3]{0,1:PAD(3)}",
        Invalid,
        "layout.padded_dimensions: 1 entries for 2 dimensions; one per dimension, or none, is accepted (at byte 16)",
    ),
    (
        "f32[2,3]",
        "f32[2,3]{0,1:PAD(3,2)}",
        Invalid,
        "layout.padded_dimensions[1]: 2 is smaller than the extent of dimension 1; 3 or more is accepted (at byte 19)",
    ),
    (
        "c64[2,3]",
        "c64[2,3]{0,1:PAD(3,5,lowest)}",
        Invalid,
        "padding_value: c64 has no lowest value; complex numbers have no order; zero, one or unknown is accepted",
    ),
    (
        "f8e8m0fnu[2]",
        "f8e8m0fnu[2]{0:PAD(3,zero)}",
        Invalid,
        "padding_value: f8e8m0fnu has no zero value; one (2^0), lowest (2^-127), highest (2^127) or unknown is accepted",
    ),
    (
        "f32[2,3]",
        "s32[2,3]",
        Invalid,
        "element_type: the source is f32, the destination s32; both sides have one type",
    ),
    ("f32[2,3]", "f32[6]", Invalid, "dimensions: the destination has rank 1, the operation 2"),
    (
        "f32[2,3]",
        "f32[3,2]",
        Invalid,
        "dimensions[0]: the destination has extent 3, the operation gives 2",
    ),
    (
        "f32[2,3]",
        "f32[2,3] strided<[2,1]>",
        Invalid,
        "strides: 2 and 1 put two elements of the destination in one place; accepted is one place for each element",
    ),
    (
        "f32[2,3]",
        "f32[2,3] strided<[-3,1], offset: 3>",
        Unsupported,
        "strides[0]: a negative stride is not supported in the destination; expected a stride of at least 1, got -3",
    ),
    (
        "f32[3,2]",
        "f32[3,2] strided<[2,3]>",
        Unsupported,
        "strides: 3 and 2 interleave in the destination; supported are strides of which each exceeds the reach of all smaller ones together (4 here)",
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
        "strides: 1 entries for 2 dimensions; one per dimension is accepted (at byte 17)",
    ),
    (
        "s8[4]{0:E(4)}",
        "s8[4]",
        Unsupported,
        "element_size_in_bits: 4 does not hold s8, which takes 8 bits",
    ),
    (
        "s4[4]{0:E(42)}",
        "s4[4]",
        Unsupported,
        "element_size_in_bits: E(42) is not supported; accepted are 1, 2, 4, 8, 16, 32, 64 and 128",
    ),
    (
        "f32[?]",
        "f32[?]",
        Unsupported,
        "dimensions: ? is not supported; accepted is an extent, or a bound such as <=128",
    ),
    (
        "token[]",
        "token[]",
        Unsupported,
        "element_type: token has no elements to move; accepted are arrays",
    ),
    (
        "(f32[2], s8[3])",
        "f32[2]",
        Unsupported,
        "element_type: tuple has no elements to move; accepted are arrays",
    ),
    (
        "f32[40000000]",
        "f32[40000000]",
        Unsupported,
        "source: an image of 160000000 bytes; target webgpu binds at most 134217728 bytes",
    ),
];

#[test]
fn relayouts() {
    for (from, to, kind, text) in RELAYOUTS {
        check(relayout(from, to), kind, text);
    }
}

/// Extents whose products pass 64 bits are refused where they are first multiplied; nothing wraps.
#[test]
fn huge_extents() {
    const N: u64 = 1 << 62;
    for (from, to, kind, text) in [
        (
            format!("u8[{N},4]"),
            format!("u8[{N},4]"),
            Invalid,
            "dimensions: the array takes 2^63 bytes or more; fewer are accepted (at byte 2)"
                .to_owned(),
        ),
        (
            format!("u8[{N}]"),
            format!("u8[{N}]"),
            Invalid,
            "dimensions: the product of extents passes the limit of 2^63-1 bits of memory"
                .to_owned(),
        ),
        (
            format!("u8[2]{{0:PAD({N})}}"),
            "u8[2]".to_owned(),
            Invalid,
            "padded_dimensions: the product of extents passes the limit of 2^63-1 bits of memory"
                .to_owned(),
        ),
        (
            format!("u8[2,2]{{1,0:PAD({N},{N})}}"),
            "u8[2,2]".to_owned(),
            Invalid,
            "padded_dimensions: the product of extents passes the limit of 2^63-1 bits of memory"
                .to_owned(),
        ),
        (
            format!("u8[3,3] strided<[{N},{N}]>"),
            "u8[3,3]".to_owned(),
            Invalid,
            "strides: the product of extents passes the limit of 2^63-1 bits of memory".to_owned(),
        ),
        (
            format!("u8[2]{{0:T({N})}}"),
            "u8[2]".to_owned(),
            Invalid,
            "dimensions: the product of extents passes the limit of 2^63-1 bits of memory"
                .to_owned(),
        ),
        (
            format!("u8[2]{{0:L({N})}}"),
            "u8[2]".to_owned(),
            Invalid,
            "dimensions: the product of extents passes the limit of 2^63-1 bits of memory"
                .to_owned(),
        ),
        (
            "u1[4611686018427387904]{0:E(1)}".to_owned(),
            "u1[4611686018427387904]{0:E(1)}".to_owned(),
            Unsupported,
            format!("source: an image of {N} elements passes the limit of 1152921504606846976"),
        ),
    ] {
        check(relayout(&from, &to), kind, &text);
    }
    // An array without elements has strides too.
    let text = "dimensions: the product of extents passes the limit of 2^63-1 bits of memory";
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
            "window_sizes[1]: 0 is an empty window; accepted is 1 to 5",
        ),
        (
            slice(&[0, 3], &[4, 3], &[1, 1], None),
            "window_offsets[1] + window_sizes[1]: 3 + 3 is past the extent of 5",
        ),
        (
            slice(&[0, u64::MAX], &[4, 3], &[1, 1], None),
            "window_offsets[1] + window_sizes[1]: 18446744073709551615 + 3 is past the extent of 5",
        ),
        (
            slice(&[0, 0], &[4, 5], &[0, 1], None),
            "window_strides[0]: expected a stride other than 0",
        ),
        (
            slice(&[0, 0], &[4, 5], &[1, -2], Some(&[4, 4])),
            "output_sizes[1]: 4 is not in 1..=3, what the window holds at stride -2",
        ),
        (
            slice(&[0, 0], &[4, 5], &[1, 1], Some(&[0, 5])),
            "output_sizes[0]: 0 is not in 1..=4, what the window holds at stride 1",
        ),
        (
            slice(&[0], &[4, 5], &[1, 1], None),
            "window_offsets: 1 values for 2 dimensions; accepted is one each",
        ),
    ] {
        check(result, Invalid, text);
    }
    // The least stride of all is legal: it takes the window's last element.
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
            "layout: buffer underflow; a serialized xla.Shape is accepted",
        ),
        (
            decode(&vec![0; shape::MAX_INPUT_BYTES + 1]),
            "input: 16777217 bytes; at most 16777216 are accepted",
        ),
        (
            shape(&|shape| shape.element_type = 99),
            "element_type: 99 is no xla.PrimitiveType; 1 to 36 are accepted",
        ),
        (
            shape(&|shape| shape.dimensions[1] = -3),
            "dimensions[1]: -3 is out of range; 0 to 2^63-1 is accepted",
        ),
        (
            layout(&|layout| layout.minor_to_major = vec![0, 2]),
            "layout.minor_to_major[1]: 2 is out of range; 0 to 1 is accepted",
        ),
        (
            layout(&|layout| layout.padded_dimensions = vec![3]),
            "layout.padded_dimensions: 1 entries for 2 dimensions; one per dimension, or none, is accepted",
        ),
        (
            layout(&|layout| layout.padded_dimensions = vec![3, 1]),
            "layout.padded_dimensions[1]: 1 is smaller than the extent of dimension 1; 3 or more is accepted",
        ),
        (
            layout(&|layout| layout.padding_value = Some(6)),
            "layout.padding_value: 6 is no xla.PaddingValue; 0 to 5 are accepted",
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
    let tensor = |text: &str| Some(proto::Tensor::from(&text.parse::<Tensor>().unwrap()));
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
        (request(None), "operation: missing; accepted is a relayout or a slice"),
        (
            relayout(tensor("f32[2]"), broken),
            "relayout.destination.shape.dimensions[0]: -1 is out of range; 0 to 2^63-1 is accepted",
        ),
        (
            relayout(strided(99, &[2], &[1]), tensor("f32[2]")),
            "relayout.source.strided.element_type: 99 is no element type; accepted are the numbers of xla.PrimitiveType",
        ),
        (
            relayout(strided(11, &[2], &[]), tensor("f32[2]")),
            "relayout.source.strided.strides: 0 entries for 1 dimensions; one per dimension is accepted",
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
        relayout(tensor("s32[2]"), Some(floats)),
        Invalid,
        "relayout.destination.buffer_tensor_desc.data_type: the source is s32, the destination f32; both sides have one type",
    );
    let missing = relayout(None, tensor("f32[2]")).unwrap_err().to_string();
    assert!(missing.starts_with("relayout.source: missing; accepted is"), "{missing}");
    let target = proto::Target { preset: "abacus".into(), ..Default::default() };
    let error = Target::try_from(&target).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("target.preset: ") && text.contains("\"abacus\""), "{text}");
    assert!(text.contains("accepted are webgpu"), "{text}");
    assert_eq!(error.kind(), Invalid);
}

/// A target that dispatches nothing is refused, whoever made it.
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
        assert_eq!(error.to_string(), format!("{field}: 0 is not accepted; 1 or more is"));
        assert_eq!((error.kind(), error.field().as_deref()), (Invalid, Some(field)));
    }
}

/// A binding is filled to its last whole word, and no further.
#[test]
fn images_as_large_as_a_binding() {
    let side: Tensor = "f32[2]".parse().unwrap();
    let operation = Operation::relayout(side.clone(), side).unwrap();
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 8;
    operation.compile_unvalidated(&target).unwrap();
    target.max_storage_buffer_binding_size = 7;
    let text = "source: an image of 8 bytes; target webgpu binds at most 4 bytes";
    check(operation.compile(&target).map(|_| ()), Unsupported, text);
}

/// Units are counted in 32 bits, less than the invocations of a workgroup below the end.
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
    let text = "source: 4294967233 units pass the limit of 4294967231 for 32-bit indices";
    check(compile(4_294_967_233), Unsupported, text);
}

/// The least that the WebGPU standard asks of an adapter.
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
    assert_eq!(error.to_string(), "source: a buffer of 23 bytes; the image takes 24");
    let error = operation("f32[2,2]").run_on_host(&[0; 16], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "destination: a buffer of 24 bytes; the image takes 16");
    assert_eq!((error.kind(), out), (Invalid, [0; 24]));
}

/// Strides of 2^58 under guards that leave them unread: products of them pass 64 bits.
#[test]
fn padding_as_far_as_memory_goes() {
    let (source, destination) =
        ("u8[3,16]{1,0:PAD(3,4503599627370496)}", "u8[3,16]{0,1:PAD(128,16)}");
    let operation =
        Operation::relayout(source.parse().unwrap(), destination.parse().unwrap()).unwrap();
    for target in [Target::webgpu(), Target::webgpu_cpu()] {
        let error = operation.compile(&target).unwrap_err().to_string();
        assert!(error.starts_with("source: an image of 13510798882111488 bytes"), "{error}");
    }
}

/// Over padding, where no guard holds, positions go as far as strides take them: a sum that wraps may look like a proof.
#[test]
fn positions_past_what_is_counted() {
    let reach = |side: &str| {
        format!(
            "{side}: its tiles, strides and steps, over the padding of both sides, pass position 1152921504606846976; supported are positions up to that"
        )
    };
    let source = "u8[3,16]{1,0:PAD(3,288230376151711744)}";
    check(relayout(source, "u8[3,16]{0,1:PAD(128,16)}"), Unsupported, &reach("source"));
    let source = "pred[16,8] strided<[4,4294967296]>";
    let destination = "pred[16,8]{0,1:T(*,16)(*,*,16)M(36028797018963968)}";
    check(relayout(source, destination), Unsupported, &reach("source"));
    // 2^36 times 2^28 is 0 in 64 bits.
    let far = Slice::new([0, 0], [2, 68_719_476_737], [1, 68_719_476_736]);
    let source = "u1[2,68719476737]{1,0:T(2,3)E(1)}".parse().unwrap();
    let destination = "u1[2,2]{1,0:E(1)PAD(2,268435457)}".parse().unwrap();
    let result = Operation::slice(source, &far, Some(destination)).map(drop);
    check(result, Unsupported, &reach("source"));
}

/// Strides and offsets of tensors without elements may be any, and mean nothing.
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
        let image = vec![0; bytes(operation.source().image_bytes())];
        let mut out = vec![7; bytes(operation.destination().image_bytes())];
        operation.run_on_host(&image, &mut out).unwrap();
        let cell = operation.destination().padding().to_le_bytes();
        let cell = &cell[..bytes(operation.destination().element_bits().div_ceil(8).into())];
        assert!(out.iter().eq(cell.iter().cycle().take(out.len())), "{source}: {out:?}");
    }
}

/// A dispatch is a whole number of workgroups in three dimensions: its last invocations have numbers too.
#[test]
fn invocations_are_numbered_in_32_bits() {
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = 1 << 35;
    let operation = Operation::relayout(
        "f32[3,1431655743]{1,0}".parse().unwrap(),
        "f32[3,1431655743]{0,1}".parse().unwrap(),
    );
    let error = operation.unwrap().compile(&target).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("destination: 4294967552 units pass the limit"), "{text}");
    assert_eq!(error.kind(), Unsupported);
}

/// What a layout says thousands of times is said once.
#[test]
fn refused_layouts_are_shown_in_part() {
    let splits = (0..50_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let error = relayout(&format!("f32[100000]{{0:SC(0:{splits})}}"), "f32[100000]").unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("split_configs: {0:SC(0:0,1,2,") && text.len() < 300, "{text}");
    assert!(text.ends_with("… is not supported; accepted is an array in one memory"), "{text}");
}
