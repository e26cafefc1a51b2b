//! `--at-run-time` and `--extents`: kernels for all extents up to a maximum.

use crate::sandbox::Sandbox;

const OPERATION: [&str; 6] =
    ["relayout", "--from", "u8[9,2,4]", "--to", "u8[9,2,4]{1,2,0}", "--at-run-time"];

#[test]
fn a_run_takes_the_extents_that_it_is_given() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", b"abcdefghABCDEFGH");
    let run = |extents: &str, input: &str| {
        let files = ["-i", input, "-o", "-", "--device", "host"];
        sandbox.stridec(&[&["run"], &OPERATION[..], &["d0", "--extents", extents], &files].concat())
    };
    let ran = run("d0=2", "in.bin");
    assert_eq!(ran.stdout, b"aebfcgdhAEBFCGDH", "{}", ran.stderr);
    for (extents, message) in [
        ("d0=3", "in.bin: expected 24 bytes"),
        ("d0=10", "--extents: expected at most 9 for d0, as compiled, got 10"),
        ("d1=2", "--extents: expected d0 once, got none"),
        ("d0=2,d1=2", "--extents: expected dimensions of --at-run-time, got d1"),
        ("d0", "expected a dimension and its extent, such as d0=17"),
    ] {
        let ran = run(extents, "in.bin");
        assert_eq!(ran.code, 2, "{extents}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{extents}: {}", ran.stderr);
    }
}

#[test]
fn a_kernel_reads_its_extents_from_a_uniform() {
    let sandbox = Sandbox::new();
    let compile =
        |args: &[&str]| sandbox.stridec(&[&["compile"], &OPERATION[..], &["d0"], args].concat());
    let ran = compile(&[]);
    let declared = "var<uniform> extents: vec4<u32>; // x: the extent of d0, at most 9";
    assert!(ran.text().contains(declared), "{}", ran.text());
    let ran = compile(&["--emit", "json"]);
    assert!(ran.text().contains("\"most\": 9"), "{}", ran.text());
    for language in ["spirv", "msl", "hlsl", "glsl", "stages", "pb"] {
        let ran = compile(&["--emit", language]);
        assert_eq!(ran.code, 0, "{language}: {}", ran.stderr);
    }
    let ran = sandbox.stridec(&[&["compile"], &OPERATION[..], &["d1"]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("expected an item of whole 32-bit words"), "{}", ran.stderr);
}
