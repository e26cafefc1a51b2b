//! Copies through tables on the host.

use stridec::{
    ErrorKind, Operation, Target, Tensor,
    nest::Gaps,
    proto::stridec::{self as proto, CompileRequest},
    request::Table,
    window::Slice,
};

use super::support::{
    conversions::copied,
    random::Random,
    scope::cases,
    tables::{TableRelayout, random_table_relayout, table_relayout},
};

fn tensor(text: &str) -> Tensor {
    text.parse().unwrap()
}

#[test]
fn random_layouts_are_looked_up() {
    let mut random = Random(3921);
    for _ in 0..cases(2000) {
        let TableRelayout { operation, image, expected } = random_table_relayout(&mut random);
        assert!(copied(&operation, &image) == expected, "{}", operation.title());
    }
}

/// Tensors of a megabyte and more, which the host divides into slabs.
#[test]
fn large_images_are_looked_up() {
    let mut random = Random(3922);
    for (from, to, dimension) in [
        ("u8[3,300,400,3]", "f16[3,300,400,3]{2,1,3,0}", Some(3)),
        ("u8[3,300,400,3]", "f32[3,300,400,3]", Some(3)),
        ("u8[3,300,400,3]", "f32[3,300,400,3]", None),
        ("u8[400,3,1000]", "bf16[400,3,1000]{0,2,1}", Some(0)),
        ("u4[1000,1200]{1,0:E(4)}", "bf16[1000,1200]{0,1}", None),
        ("s4[1000,1200]{1,0:E(4)}", "bf16[1000,1200]{1,0:T(8,128)(2,1)}", Some(0)),
        ("pred[1000,1200]", "f64[1000,1200]{0,1}", Some(1)),
        ("f8e4m3fn[1000,1200]{0,1}", "u8[1000,1200]", None),
        ("u2[1001,1203]{1,0:E(2)}", "s8[1001,1203]", Some(1)),
        // Many tables with short contiguous runs, down to a single element for each table.
        ("u8[60,100,7,7]", "f16[60,100,7,7]", Some(1)),
        ("u8[20,300,7,7]", "f16[20,300,7,7]", Some(1)),
        ("u8[20,300,1,3]", "f16[20,300,1,3]", Some(1)),
        ("u8[40,5000]", "f16[40,5000]", Some(1)),
    ] {
        let table = table_relayout(tensor(from), tensor(to), dimension, &mut random);
        let TableRelayout { operation, image, expected } = table;
        assert!(copied(&operation, &image) == expected, "{}", operation.title());
    }
}

/// A slice takes the tables of the indices that it reads, and an update keeps everything else.
#[test]
fn windows_are_looked_up() {
    let negated: Vec<u8> = (0..=255_u8).map(|byte| !byte).collect();
    let doubled: Vec<u8> = (0..=255_u8).map(|byte| byte.wrapping_mul(2)).collect();
    let tables = [negated.clone(), doubled].concat();
    let slice = Slice::new([0, 1], [3, 1], [-1, 1]);
    let operation = Operation::slice(tensor("u8[3,2]"), &slice, None).unwrap();
    let operation = operation.with_table(Table::new(tables, Some(1))).unwrap();
    assert_eq!(copied(&operation, &[1, 2, 3, 4, 5, 6]), [12, 8, 4]);
    let update = Operation::update(tensor("u8[2]"), tensor("u8[5]"), &[2]).unwrap();
    let update = update.with_table(Table::new(negated, None)).unwrap();
    assert_eq!(update.gaps(), Gaps::Keep);
    assert_eq!(update.title(), "update u8[5] at [2] with u8[2], gaps kept through a table");
    let mut out = [7; 5];
    update.run_on_host(&[1, 255], &mut out).unwrap();
    assert_eq!(out, [7, 7, 254, 0, 7]);
    let filled = update.with_gaps(Gaps::Fill);
    assert_eq!(filled.title(), "update u8[5] at [2] with u8[2] through a table");
    assert_eq!(copied(&filled, &[1, 255]), [0, 0, 254, 0, 0]);
}

#[test]
fn tables_of_another_size_are_refused() {
    let refused = |from: &str, to: &str, table: Table| {
        let operation = Operation::relayout(tensor(from), tensor(to)).unwrap();
        let error = operation.with_table(table).unwrap_err();
        (error.kind(), error.to_string())
    };
    let message = "table: expected a table f32[256] of 1024 bytes, got 1023 bytes";
    let given = refused("u8[2,3]", "f32[2,3]", Table::new(vec![0; 1023], None));
    assert_eq!(given, (ErrorKind::Invalid, message.to_owned()));
    let message = "table: expected a table bf16[3,16] of 96 bytes, got 32 bytes";
    let given = refused("u4[2,3]", "bf16[2,3]", Table::new(vec![0; 32], Some(1)));
    assert_eq!(given, (ErrorKind::Invalid, message.to_owned()));
    let message = "table_dimension: expected a dimension below 2, the source's rank, got 2";
    let given = refused("u8[2,3]", "f32[2,3]", Table::new(vec![], Some(2)));
    assert_eq!(given, (ErrorKind::Invalid, message.to_owned()));
    let message = "source.element_type: expected a source of elements of at most 8 bits, each value of which has an entry in the table, got s16";
    let given = refused("s16[2,3]", "f32[2,3]", Table::new(vec![], None));
    assert_eq!(given, (ErrorKind::Unsupported, message.to_owned()));
    let message = "source: a table for elements of 1 bits each in memory is not supported; expected 2, 4, 8, 16, 32 or 64 bits: copy the source to such a layout first";
    let given = refused("u1[2,3]{1,0:E(1)}", "f32[2,3]", Table::new(vec![0; 8], None));
    assert_eq!(given, (ErrorKind::Unsupported, message.to_owned()));
}

/// A request has the table in a separate field, and the kernel binds it as its second source.
#[test]
fn requests_have_tables() {
    let shape = |text: &str| {
        let shape: stridec::shape::Shape = text.parse().unwrap();
        let kind = proto::tensor::Kind::Shape((&shape).into());
        Some(proto::Tensor { kind: Some(kind) })
    };
    let relayout =
        proto::Relayout { source: shape("u8[2,3]"), destination: shape("f32[2,3]{0,1}") };
    let request = CompileRequest {
        operation: Some(proto::compile_request::Operation::Relayout(relayout)),
        table: Some(proto::Table { entries: vec![0; 3 * 1024], dimension: Some(1) }),
        ..CompileRequest::default()
    };
    let operation = Operation::try_from(&request).unwrap();
    assert_eq!(operation.table().unwrap().dimension(), Some(1));
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    let sizes: Vec<u64> = kernel.bindings.iter().map(|binding| binding.size_in_bytes).collect();
    assert_eq!(sizes, [8, 3072, 24]);
}
