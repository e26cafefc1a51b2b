//! `stridec compile`.

use prost::Message;
use stridec::{
    Operation, Target,
    proto::stridec::{
        CompileRequest, Kernel, Language, Relayout, Slice, Target as TargetProto, Tensor,
        compile_request, tensor,
    },
    proto::xla,
    shape::{Shape, to_json, to_textproto},
};

use crate::sandbox::Sandbox;

const FROM: &str = "f32[2,3,4]{2,1,0}";
const TO: &str = "f32[2,3,4]{1,2,0}";
const RELAYOUT: [&str; 6] = ["compile", "relayout", "--from", FROM, "--to", TO];

fn shape(text: &str) -> Tensor {
    let shape: Shape = text.parse().unwrap();
    Tensor { kind: Some(tensor::Kind::Shape(xla::Shape::from(&shape))) }
}

#[test]
fn the_kernel_in_each_form() {
    let sandbox = Sandbox::new();
    let operation = Operation::relayout(FROM.parse().unwrap(), TO.parse().unwrap()).unwrap();
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    let emit = |form| sandbox.stridec(&[&RELAYOUT[..], &["--emit", form]].concat());
    assert_eq!(sandbox.stridec(&RELAYOUT).text(), kernel.wgsl);
    assert_eq!(emit("wgsl").text(), kernel.wgsl);
    assert_eq!(emit("stages").text(), operation.stages(&Target::webgpu()).unwrap());
    assert_eq!(Kernel::decode(&emit("pb").stdout[..]).unwrap(), Kernel::from(&kernel));
    let json: serde_json::Value = serde_json::from_str(emit("json").text()).unwrap();
    assert_eq!(json["wgsl"], kernel.wgsl);
}

#[test]
fn a_request_in_each_form_is_the_same_operation() {
    let sandbox = Sandbox::new();
    let request = CompileRequest {
        operation: Some(compile_request::Operation::Relayout(Relayout {
            source: Some(shape(FROM)),
            destination: Some(shape(TO)),
        })),
        ..CompileRequest::default()
    };
    sandbox.write("op.pb", request.encode_to_vec());
    sandbox.write("op.textproto", to_textproto(&request).unwrap());
    sandbox.write("op.json", to_json(&request).unwrap());
    let expected = sandbox.stridec(&RELAYOUT);
    for file in ["@op.pb", "@op.textproto", "@op.json"] {
        assert_eq!(sandbox.stridec(&["compile", "--op", file]).text(), expected.text());
    }
}

#[test]
fn a_request_names_its_target_and_the_flag_wins() {
    let sandbox = Sandbox::new();
    let target = |limit| TargetProto {
        max_storage_buffer_binding_size: Some(limit),
        ..TargetProto::default()
    };
    let slice = |limit| CompileRequest {
        operation: Some(compile_request::Operation::Slice(Slice {
            source: Some(shape("f32[64]")),
            window_offsets: vec![0],
            window_sizes: vec![64],
            window_strides: vec![-2],
            ..Slice::default()
        })),
        target: Some(target(limit)),
        ..CompileRequest::default()
    };
    sandbox.write("small.pb", slice(64).encode_to_vec());
    sandbox.write("large.pb", slice(1024).encode_to_vec());
    sandbox.stridec(&["compile", "--op", "@small.pb"]).fails(3, "64");
    assert_eq!(sandbox.stridec(&["compile", "--op", "@large.pb"]).code, 0);
    assert_eq!(sandbox.stridec(&["compile", "--op", "@small.pb", "--target", "webgpu"]).code, 0);
}

#[test]
fn targets_have_names() {
    let sandbox = Sandbox::new();
    let target = |name| sandbox.stridec(&[&RELAYOUT[..], &["--target", name]].concat());
    assert_eq!(target("webgpu").text(), sandbox.stridec(&RELAYOUT).text());
    let accepted = "webgpu, webgpu-cpu, lavapipe, swiftshader, adapter, @FILE";
    target("toaster").fails(2, &format!("--target: expected one of {accepted}, got `toaster`"));
}

#[test]
fn a_kernel_goes_to_a_file() {
    let sandbox = Sandbox::new();
    let ran = sandbox.stridec(&[&RELAYOUT[..], &["-o", "k.wgsl"]].concat());
    assert!(ran.text().is_empty());
    assert_eq!(sandbox.read("k.wgsl"), sandbox.stridec(&RELAYOUT).stdout);
}

#[test]
fn strides_below_zero_stand_after_a_blank() {
    let slice = ["compile", "slice", "--from", "f32[4,4]", "--offsets", "0,1", "--sizes", "4,3"];
    let ran = Sandbox::new().stridec(&[&slice[..], &["--strides", "-2,2"]].concat());
    assert!(ran.text().contains("@compute"));
}

#[test]
fn a_relayout_of_nothing_is_an_empty_kernel() {
    let args = ["compile", "relayout", "--from", "f32[0,3]", "--to", "f32[0,3]{0,1}"];
    let ran = Sandbox::new().stridec(&[&args[..], &["--emit", "pb"]].concat());
    assert!(Kernel::decode(&ran.stdout[..]).unwrap().dispatches.is_empty());
}

#[test]
fn a_layout_alone_says_where_elements_go() {
    let sandbox = Sandbox::new();
    let to = |from, to| sandbox.stridec(&["compile", "relayout", "--from", from, "--to", to]);
    let expected = to("f32[8,64,112,112]", "f32[8,64,112,112]{1,3,2,0}");
    for layout in ["NHWC", "nhwc over nchw", "{1,3,2,0}"] {
        assert_eq!(to("f32[8,64,112,112]", layout).text(), expected.text(), "{layout}");
    }
    assert!(to("s4[2,3]{1,0:E(4)}", "WH").text().contains("s4[2,3]{0,1:E(4)}"));
    to("f32[8,64,112]", "NHWC").fails(2, "expected 3 letters, one for each dimension, got 4");
    to("f32[2,3]", "{0,0}").fails(2, "--to: layout.minor_to_major[1]");
    let args = ["compile", "slice", "--from", "f32[4,4]", "--offsets", "0,0", "--sizes", "2,4"];
    let ran = sandbox.stridec(&[&args[..], &["--strides", "1,1", "--to", "WH"]].concat());
    assert!(ran.text().contains("to f32[2,4]{0,1}"), "{}", ran.text());
}

#[test]
fn tensors_past_a_binding_are_what_run_cuts_into_parts() {
    let sandbox = Sandbox::new();
    let shape =
        ["compile", "relayout", "--from", "u8[16384,16384]", "--to", "u8[16384,16384]{0,1}"];
    for emit in ["wgsl", "stages", "spirv"] {
        let ran = sandbox.stridec(&[&shape[..], &["--emit", emit]].concat());
        ran.fails(3, "source: expected an image of at most 134217728 bytes, which is what target webgpu binds, got 268435456");
        let help = "; for a device that binds more, give --target adapter or --limit \
                    max_storage_buffer_binding_size=268435456; `stridec run` cuts such a copy into parts";
        assert!(ran.stderr.contains(help), "{}", ran.stderr);
    }
}

#[test]
fn a_request_names_the_language_of_its_message() {
    let sandbox = Sandbox::new();
    let mut request = CompileRequest {
        operation: Some(compile_request::Operation::Relayout(Relayout {
            source: Some(shape(FROM)),
            destination: Some(shape(TO)),
        })),
        language: Language::Hlsl.into(),
        ..CompileRequest::default()
    };
    sandbox.write("op.pb", request.encode_to_vec());
    let pb = sandbox.stridec(&["compile", "--op", "@op.pb", "--emit", "pb"]);
    let kernel = Kernel::decode(&pb.stdout[..]).unwrap();
    let hlsl = sandbox.stridec(&[&RELAYOUT[..], &["--emit", "hlsl"]].concat());
    assert_eq!(kernel.translation.unwrap().code, hlsl.stdout);
    assert_eq!(kernel.bindings[1].slot.as_ref().unwrap().register_class, "u");
    request.language = 9;
    sandbox.write("op.pb", request.encode_to_vec());
    sandbox.stridec(&["compile", "--op", "@op.pb"]).fails(2, "language: expected");
}

#[test]
fn limits_change_the_target() {
    let sandbox = Sandbox::new();
    let shape =
        ["compile", "relayout", "--from", "u8[16384,16384]", "--to", "u8[16384,16384]{0,1}"];
    let with = |limits: &[&str]| sandbox.stridec(&[&shape[..], limits].concat());
    with(&["--limit", "max_storage_buffer_binding_size=255MiB"]).fails(3, "at most 267386880");
    assert_eq!(with(&["--limit", "max_storage_buffer_binding_size=256MiB"]).code, 0);
    let both = ["--limit", "max_storage_buffer_binding_size=1GiB", "--limit"];
    let small = with(&[&both[..], &["max_compute_invocations_per_workgroup=64"]].concat());
    assert!(small.text().contains("@workgroup_size(64)"), "{}", small.text());
    for (limit, says) in [
        ("size=1", "expected one of max_storage_buffer_binding_size, max_compute_workgroups_per_"),
        ("max_compute_invocations_per_workgroup", "expected NAME=VALUE"),
        ("max_storage_buffer_binding_size=1GB", "such as 65535, 128MiB or 1GiB, got `1GB`"),
        (
            "max_compute_invocations_per_workgroup=0",
            "max_compute_invocations_per_workgroup: expected at least 1, got 0",
        ),
        ("max_compute_workgroups_per_dimension=4GiB", "expected at most 4294967295"),
    ] {
        with(&["--limit", limit]).fails(2, says);
    }
}

#[test]
fn a_shader_and_what_it_binds_in_one_run() {
    let sandbox = Sandbox::new();
    let emit = ["--emit", "spirv", "-o", "k.spv", "--json", "k.json"];
    assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &emit].concat()).text(), "");
    assert_eq!(sandbox.read("k.spv")[..4], [0x03, 0x02, 0x23, 0x07]);
    let json: serde_json::Value = serde_json::from_slice(&sandbox.read("k.json")).unwrap();
    // The JSON has fields that are zero.
    let expected =
        serde_json::json!({"group": 0, "binding": 0, "writable": false, "sizeInBytes": 96});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&json["bindings"][0][key], value, "{key}");
    }
    assert_eq!(json["copyRegions"], serde_json::json!([]));
    assert!(json["translation"].is_object());
    let alone = sandbox.stridec(&[&RELAYOUT[..], &["--emit", "json"]].concat());
    let kernel: Kernel = stridec::shape::from_json(alone.text()).unwrap();
    let pb = sandbox.stridec(&[&RELAYOUT[..], &["--emit", "pb"]].concat());
    assert_eq!(Kernel::decode(&pb.stdout[..]).unwrap(), kernel);
}

#[test]
fn an_empty_kernel_is_said_to_be_empty() {
    let args = ["compile", "relayout", "--from", "f32[0,3]", "--to", "f32[0,3]{0,1}", "--emit"];
    let sandbox = Sandbox::new();
    let emit = |form| sandbox.stridec(&[&args[..], &[form]].concat());
    let note = "no element moves: the kernel is empty, and there is nothing to dispatch\n";
    for form in ["wgsl", "spirv", "msl", "hlsl", "glsl"] {
        assert_eq!((emit(form).text(), emit(form).stderr.as_str()), ("", note), "{form}");
    }
    assert_eq!((emit("json").stderr.as_str(), emit("stages").stderr.as_str()), (note, ""));
    let json: serde_json::Value = serde_json::from_str(emit("json").text()).unwrap();
    assert_eq!(json["dispatches"], serde_json::json!([]));
}
