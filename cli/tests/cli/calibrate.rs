//! `stridec calibrate`, and the targets that it writes.

use stridec::Target;

use crate::sandbox::Sandbox;

const RELAYOUT: [&str; 6] =
    ["compile", "relayout", "--from", "f32[64,96]", "--to", "f32[64,96]{0,1}"];

#[test]
fn a_file_of_a_target_is_a_target() {
    let sandbox = Sandbox::new();
    for preset in Target::presets() {
        sandbox.write("my.target.json", preset.to_json());
        let named = sandbox.stridec(&[&RELAYOUT[..], &["--target", &preset.name]].concat());
        let read = sandbox.stridec(&[&RELAYOUT[..], &["--target", "@my.target.json"]].concat());
        assert_eq!(named.text(), read.text());
    }
}

/// Changing only the numbers of the model changes the chosen kernel.
#[test]
fn the_model_chooses_the_kernel() {
    let sandbox = Sandbox::new();
    let mut target = Target::webgpu_cpu();
    target.model.costs_mut().into_iter().for_each(|cost| *cost = 0);
    target.model.spill = stridec::schedule::CostModel::MAX_COST;
    sandbox.write("spills.target.json", target.to_json());
    let stages = |target: &str| {
        let args = ["--emit", "stages", "--target", target];
        sandbox.stridec(&[&RELAYOUT[..], &args].concat()).text().to_owned()
    };
    assert_ne!(stages("@spills.target.json"), stages("webgpu-cpu"));
}

#[test]
fn a_wrong_target_is_explained() {
    let sandbox = Sandbox::new();
    let compile = |target: &str| sandbox.stridec(&[&RELAYOUT[..], &["--target", target]].concat());
    let text = Target::webgpu().to_json();
    sandbox.write("a.json", text.replace("0.87", "-3"));
    compile("@a.json").fails(2, "a.json: target.model.byte: expected a number from 0 to 1000");
    sandbox.write("b.json", "{\n");
    compile("@b.json").fails(2, "b.json: target: line 2, column 0: ");
    sandbox.write("c.json", [0xff, 0xfe]);
    compile("@c.json").fails(2, "c.json: expected UTF-8");
    compile("@none.json").fails(2, "none.json: cannot be read");
    compile("@").fails(2, "cannot be read");
}

#[test]
fn a_target_needs_a_place_and_a_device() {
    let sandbox = Sandbox::new();
    sandbox.stridec(&["calibrate"]).fails(2, "--output");
    sandbox.stridec(&["calibrate", "-o", "none/t.json"]).fails(1, "does not exist");
    let host = ["calibrate", "--device", "host", "-o", "t.json"];
    sandbox.stridec(&host).fails(3, "the host has no numbers to fit");
    assert!(!sandbox.path("t.json").exists());
}

#[test]
#[cfg(feature = "gpu")]
fn a_device_that_is_not_there_leaves_no_file() {
    let sandbox = Sandbox::new();
    sandbox.write("t.json", "as it was");
    let mut command = sandbox.command(&["calibrate", "-o", "t.json"]);
    command.env("WGPU_BACKEND", "vulkan").env("VK_DRIVER_FILES", "/nowhere.json");
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("no GPU adapter"), "{stderr}");
    assert_eq!(sandbox.names(), ["t.json"]);
    assert_eq!(sandbox.read("t.json"), b"as it was");
}

#[test]
#[cfg(feature = "gpu")]
fn a_device_is_measured() {
    let sandbox = Sandbox::new();
    let ran = sandbox.stridec(&["calibrate", "-o", "t.json"]);
    if ran.code == 4 && std::env::var("STRIDEC_REQUIRE_GPU").is_err() {
        return;
    }
    for says in
        ["kernels of", "an operation of", "a dispatch: ", "each half by the numbers of the other"]
    {
        assert!(ran.text().contains(says), "{}", ran.text());
    }
    let text = String::from_utf8(sandbox.read("t.json")).unwrap();
    let target = Target::from_json(&text).unwrap();
    assert!(!target.measured_on.is_empty());
    let compiled = sandbox.stridec(&[&RELAYOUT[..], &["--target", "@t.json"]].concat());
    assert!(compiled.text().contains("@compute"));
}
