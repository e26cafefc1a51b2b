//! `stridec bench`.

use std::fs;

use crate::sandbox::Sandbox;

const RELAYOUT: [&str; 6] =
    ["bench", "relayout", "--from", "f32[100,60]", "--to", "f32[100,60]{0,1:PAD(120,80)}"];

#[test]
fn a_table_and_a_file_of_lines() {
    let sandbox = Sandbox::new();
    let args = ["--device", "host", "--repetitions", "16", "--json", "out.jsonl"];
    let ran = sandbox.stridec(&[&RELAYOUT[..], &args].concat());
    let text = ran.text();
    assert!(text.starts_with("relayout f32[100,60] to f32[100,60]{0,1:PAD(120,80"), "{text}");
    assert!(text.contains("76800 bytes read and written, best and median of 16\n"), "{text}");
    let lines = fs::read_to_string(sandbox.path("out.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> =
        lines.iter().map(|line| line["implementation"].as_str().unwrap()).collect();
    assert_eq!(names, ["memcpy", "identity", "stridec"]);
    for line in &lines {
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["case", "device", "implementation", "bytes", "best_ms", "median_ms"]);
        assert_eq!(line["bytes"], 76_800);
        let [best, median] = ["best_ms", "median_ms"].map(|key| line[key].as_f64().unwrap());
        assert!(best > 0.0 && median >= best, "{line}");
    }
    for (name, rows) in [("memcpy", 1), ("identity", 1), ("stridec", 1)] {
        assert_eq!(text.lines().filter(|line| line.starts_with(name)).count(), rows, "{text}");
    }
}

#[test]
#[cfg(feature = "gpu")]
fn a_device_that_is_there_is_timed_and_compared() {
    let sandbox = Sandbox::new();
    let ran = sandbox.stridec(&[&RELAYOUT[..], &["--device", "gpu"]].concat());
    // Without a driver the only error is that there is no device.
    if ran.code == 4 && std::env::var("STRIDEC_REQUIRE_GPU").is_err() {
        assert!(ran.stderr.contains("no GPU adapter"), "{}", ran.stderr);
        return;
    }
    assert!(ran.text().contains("\ncopy "), "{}", ran.text());
}

#[test]
fn what_cannot_be_timed_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.stridec(&[&RELAYOUT[..], &["--repetitions", "14"]].concat()).fails(2, "15");
    let empty = ["bench", "relayout", "--from", "f32[0]", "--to", "f32[0]"];
    sandbox.stridec(&empty).fails(2, "nothing to time");
    sandbox.stridec(&["bench", "relayout", "--to", "f32[0]"]).fails(2, "--from");
}

#[test]
fn too_little_memory_is_an_error() {
    let sandbox = Sandbox::new();
    let bench = |shape| ["bench", "relayout", "--from", shape, "--to", "{0,1}", "--device", "host"];
    // No address space is as large.
    let ran = sandbox.stridec(&bench("f32[10000000,100000000]"));
    ran.fails(1, "error: there is not enough memory for an image of 4000000000000000 bytes\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_on_memory_is_kept() {
    let bench = ["bench", "relayout", "--from", "f32[30000,30000]", "--to", "{0,1}"];
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_stridec")]);
    let output = command.args(bench).args(["--device", "host"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let expected = "error: there is not enough memory for an image of 3600000000 bytes\n";
    assert_eq!(stderr, expected);
}
