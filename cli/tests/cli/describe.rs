//! `stridec describe`.

use serde_json::{Value, json};
use stridec::shape::Shape;

use crate::sandbox::Sandbox;

fn describe(shape: &str) -> Value {
    let ran = Sandbox::new().stridec(&["describe", shape, "--format", "json"]);
    serde_json::from_str(ran.text()).unwrap()
}

#[test]
fn a_padded_shape_for_programs() {
    let found = describe("f32[2,3]{0,1:PAD(3,5,zero)}");
    let expected = json!({
        "element_type": "f32", "dimensions": [2, 3], "minor_to_major": [0, 1], "element_bits": 32,
        "axes": [{"coordinate": "d1", "extent": 5, "stride": 3}, {"coordinate": "d0", "extent": 3, "stride": 1}],
        "strides": [1, 3], "offset": 0, "elements": 6, "physical_dimensions": [5, 3],
        "physical_elements": 15, "physical_bytes": 60, "packed": false,
        "dml": {
            "data_type": "FLOAT32", "sizes": [2, 3], "strides": [1, 3], "total_tensor_size_in_bytes": 60,
        },
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&found[key], value, "{key}");
    }
}

#[test]
fn a_tiled_shape_has_split_coordinates_and_no_strides() {
    let found = describe("f32[3,5]{1,0:T(2,2)}");
    assert_eq!(found["strides"], json!([null, null]));
    assert_eq!(found["physical_dimensions"], json!([2, 3, 2, 2]));
    let coordinates: Vec<_> =
        found["axes"].as_array().unwrap().iter().map(|axis| axis["coordinate"].clone()).collect();
    assert_eq!(coordinates, ["d0/2", "d1/2", "d0%2", "d1%2"]);
}

#[test]
fn tiles_that_split_nothing_leave_strides() {
    let found = describe("f32[1024,3]{1,0:T(8,128)}");
    assert_eq!(found["strides"], json!([128, 1]));
    assert_eq!(found["numpy"]["strides"], json!([512, 4]));
    assert_eq!(found["dlpack"]["strides"], json!([128, 1]));
    assert_eq!(found["dml"]["strides"], json!([128, 1]));
    assert_eq!(found["memref"], "memref<1024x3xf32, strided<[128, 1]>>");
    let text = Sandbox::new().stridec(&["describe", "f32[1024,3]{1,0:T(8,128)}"]);
    assert!(text.text().contains("strides      [128, 1] in elements"), "{}", text.text());
    assert_eq!(describe("f32[3,8,4]{2,1,0:T(8,128)}")["strides"], json!([1024, 128, 1]));
    assert_eq!(describe("bf16[100]{0:T(256)(128)(2,1)}")["strides"], json!([2]));
}

#[test]
fn text_counts_in_words_and_leaves_out_axes_of_one_place() {
    let text = |shape: &str| Sandbox::new().stridec(&["describe", shape]).text().to_owned();
    let one = text("u1[1]{0:E(1)}");
    for says in ["1 bit in memory", "[1], 1 element\n", "1 element, 1 byte\n"] {
        assert!(one.contains(says), "{one}");
    }
    let axes = |shape: &str| text(shape).matches("extent").count();
    assert_eq!(axes("bf16[100]{0:T(256)(128)(2,1)}"), 2);
    assert_eq!(axes("f32[1,3]"), 2);
}

#[test]
fn strides_have_no_minor_to_major_and_no_proto() {
    let sandbox = Sandbox::new();
    let shape = "f32[2,3] strided<[5,1], offset: 2>";
    let found = describe(shape);
    assert_eq!(found["minor_to_major"], Value::Null);
    assert_eq!(found["physical_dimensions"], Value::Null);
    assert_eq!((&found["strides"], &found["offset"]), (&json!([5, 1]), &json!(2)));
    for format in ["pb", "textproto", "json-proto"] {
        sandbox.stridec(&["describe", shape, "--format", format]).fails(3, "strides");
    }
}

#[test]
fn the_proto_of_a_shape_reads_back_in_each_form() {
    let sandbox = Sandbox::new();
    let shape = "(bf16[16,256]{1,0:T(8,128)(2,1)}, f32[2,3]{0,1:PAD(3,5,one)})";
    for (format, file) in [("pb", "a.pb"), ("textproto", "a.textproto"), ("json-proto", "a.json")] {
        let ran = sandbox.stridec(&["describe", shape, "--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        sandbox.write(file, &ran.stdout);
        if format == "pb" {
            assert_eq!(Shape::decode(&ran.stdout).unwrap().to_string(), shape);
        }
        let text = sandbox.stridec(&["describe", &format!("@{file}")]);
        assert!(text.text().starts_with(shape), "{}", text.text());
        let leaf = sandbox.stridec(&["describe", &format!("@{file}#1")]);
        assert!(leaf.text().starts_with("f32[2,3]{0,1:PAD(3,5,one)}\n"), "{}", leaf.text());
    }
}

/// XLA writes default layouts out, also for the parts of a tuple and the array of a buffer.
#[test]
fn protos_have_layouts() {
    let sandbox = Sandbox::new();
    for (shape, expected) in [
        ("f32[123,456]", "100b1a037bc8032a070a02010080010132020000"),
        ("f32[]", "100b2a03800101"),
        ("(f32[2], token[])", "100d2210100b1a01022a060a010080010132010022021011"),
        ("b(s32[])", "1022220710042a03800101"),
        ("s4[64,128]{1,0:E(4)}", "10151a034080012a090a020100380480010132020000"),
        ("f32[2,3]{0,1:PAD(3,5,zero)}", "100b1a0202032a0a0a020001120203051801"),
    ] {
        let ran = sandbox.stridec(&["describe", shape, "--format", "pb"]);
        let hex: Vec<String> = ran.stdout.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex.concat(), expected, "{shape}");
    }
    let ran = sandbox.stridec(&["describe", "f32[2,3]", "--format", "textproto"]);
    assert!(ran.text().contains("minor_to_major: [1, 0]"), "{}", ran.text());
}

#[test]
fn every_leaf_of_a_tuple_is_there() {
    let sandbox = Sandbox::new();
    let tuple = "(f32[2], (token[], s8[3]))";
    let text = sandbox.stridec(&["describe", tuple]);
    for says in ["#0 f32[2]", "#1,0 token[]", "no elements to move", "#1,1 s8[3]"] {
        assert!(text.text().contains(says), "{}", text.text());
    }
    let found = describe(tuple);
    assert_eq!(found["leaves"][2]["path"], "1,1");
    assert_eq!(found["leaves"][2]["physical_bytes"], 3);
    assert!(found["leaves"][1]["unsupported"].is_string());
    let leaf = sandbox.stridec(&["describe", "(f32[2], (token[], s8[3]))#1,1"]);
    assert!(leaf.text().starts_with("s8[3]\n"));
}

#[test]
fn what_has_no_elements_is_not_supported() {
    let sandbox = Sandbox::new();
    for shape in ["token[]", "opaque[]", "f32[?,3]", "f32[6]{0:SC(0:3)}"] {
        sandbox.stridec(&["describe", shape]).fails(3, "error: ");
        assert_eq!(sandbox.stridec(&["describe", shape, "--format", "pb"]).code, 0, "{shape}");
    }
}

#[test]
fn other_systems_forms_or_why_there_is_none() {
    let found = describe("f32[2,3]{0,1:PAD(3,5,zero)}");
    assert_eq!(found["memref"], "memref<2x3xf32, strided<[1, 3]>>");
    assert_eq!(found["numpy"]["strides"], json!([4, 12]));
    assert_eq!(found["dlpack"]["strides"], json!([1, 3]));
    assert_eq!(found["pjrt"]["byte_strides"], json!([4, 12]));
    assert_eq!(
        (&found["padding"]["bytes"], &found["padding"]["costliest"]),
        (&json!(36), &json!(1))
    );
    let tiled = describe("bf16[16,256]{1,0:T(8,128)(2,1)}");
    for form in ["dml", "numpy", "dlpack", "torch"] {
        assert!(tiled[form]["unsupported"].is_string(), "{form}: {}", tiled[form]);
    }
    assert_eq!(
        tiled["memref"],
        "memref<16x256xbf16, affine_map<(d0, d1) -> (d0 floordiv 8, d1 floordiv 128, (d0 mod 8) floordiv 2, d1 mod 128, d0 mod 2)>>"
    );
    assert_eq!(tiled["cute"], "bf16 ((2,4,2),(128,2)):((1,256,2048),(2,1024))");
    assert_eq!(tiled["pjrt"]["tile_dims"], json!([8, 128, 2, 1]));
    let text = Sandbox::new().stridec(&["describe", "f32[2,3]{0,1:PAD(3,5,zero)}"]);
    assert!(text.text().contains("36 of 60 bytes, 60.0 %; d1 costs most"), "{}", text.text());
}
