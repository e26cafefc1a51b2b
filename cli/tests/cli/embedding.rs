//! `stridec serve`, `diff`, `doctor`, `completions`, `man`, and the shader languages.

use prost::Message;
use stridec::proto::stridec::{CompileRequest, CompileResponse};

use crate::sandbox::Sandbox;

const RELAYOUT: [&str; 6] =
    ["compile", "relayout", "--from", "f32[64,96]", "--to", "f32[64,96]{0,1}"];

#[test]
fn each_language_is_emitted() {
    let sandbox = Sandbox::new();
    let emit = |form| sandbox.stridec(&[&RELAYOUT[..], &["--emit", form]].concat());
    assert_eq!(emit("spirv").stdout[..4], [0x03, 0x02, 0x23, 0x07]);
    assert!(emit("msl").text().contains("kernel void main_("));
    assert!(emit("hlsl").text().contains("[numthreads("));
    assert!(emit("glsl").text().starts_with("#version 310 es\n"));
}

#[test]
fn requests_are_answered_until_the_input_ends() {
    let sandbox = Sandbox::new();
    let mut input = CompileRequest::default().encode_length_delimited_to_vec();
    input.extend([1, 0xff]);
    let ran = sandbox.stridec_with_input(&["serve"], &input);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mut output = ran.stdout.as_slice();
    for _ in 0..2 {
        assert!(CompileResponse::decode_length_delimited(&mut output).unwrap().result.is_some());
    }
    assert!(output.is_empty());
    input.push(9);
    let ran = sandbox.stridec_with_input(&["serve"], &input);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("message 3: the input ends 9 bytes before the end"),
        "{}",
        ran.stderr
    );
}

#[test]
fn snapshots_are_compared_stage_by_stage() {
    let sandbox = Sandbox::new();
    for (target, name) in [("webgpu", "a.snap"), ("webgpu-cpu", "b.snap")] {
        let args = ["--emit", "stages", "--target", target, "-o", name];
        sandbox.stridec(&[&RELAYOUT[..], &args].concat()).text();
    }
    assert_eq!(sandbox.stridec(&["diff", "a.snap", "a.snap"]).text(), "no difference\n");
    let ran = sandbox.stridec(&["diff", "a.snap", "b.snap"]);
    assert!(ran.text().starts_with("changed: schedule"), "{}", ran.text());
    sandbox.stridec(&["diff", "a.snap", "c.snap"]).fails(2, "c.snap: cannot be read");
    let code = |new| sandbox.stridec(&["diff", "--exit-code", "a.snap", new]).code;
    assert_eq!([code("a.snap"), code("b.snap"), code("c.snap")], [0, 1, 2]);
    let lines = std::str::from_utf8(&sandbox.read("a.snap")).unwrap().replace('\n', "\r\n");
    sandbox.write("crlf.snap", lines);
    assert_eq!(sandbox.stridec(&["diff", "a.snap", "crlf.snap"]).text(), "no difference\n");
    sandbox.write("text.txt", "no snapshot\n== source\n");
    sandbox.stridec(&["diff", "text.txt", "a.snap"]).fails(
        2,
        "error: text.txt: no stage `== destination`; expected a snapshot, or the output of `compile --emit stages`\n",
    );
}

#[test]
fn a_terminal_learns_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = sandbox.stridec(&["completions", shell]);
        assert!(ran.text().contains("output-sizes"), "{shell}: {}", ran.text());
    }
    let page = sandbox.stridec(&["man"]);
    assert!(page.text().contains(".TH stridec 1") && page.text().contains("output\\-sizes"));
    assert!(sandbox.stridec(&["doctor"]).text().contains("host: "));
}
