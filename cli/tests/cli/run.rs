//! `stridec run`: the examples of the documentation, on the host.

use crate::sandbox::{Sandbox, f32s};

#[test]
fn two_by_three() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=6));
    for (to, expected) in [
        ("f32[2,3]{0,1}", vec![1, 4, 2, 5, 3, 6]),
        ("f32[2,3]{1,0}", vec![1, 2, 3, 4, 5, 6]),
        ("f32[2,3]{0,1:PAD(3,5,zero)}", vec![1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0]),
        ("f32[2,3]{0,1:PAD(3,3,one)}", vec![1, 4, 1, 2, 5, 1, 3, 6, 1]),
        ("f32[2,3] strided<[4,1]>", vec![1, 2, 3, 0, 4, 5, 6]),
    ] {
        let ran = sandbox.relayout("f32[2,3]", to, "in.bin", "out.bin");
        assert_eq!(ran.text(), "");
        assert!(ran.stderr.contains("ran on the host"), "{}", ran.stderr);
        assert_eq!(sandbox.read("out.bin"), f32s(expected), "{to}");
    }
    assert_eq!(sandbox.names(), ["in.bin", "out.bin"]);
}

#[test]
fn the_file_of_the_readme() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/abcdef.npy");
    for (to, expected) in
        [("u8[2,3]{0,1}", &b"adbecf"[..]), ("u8[2,3]{0,1:PAD(3,4)}", b"ad\0be\0cf\0\0\0\0")]
    {
        let args = ["run", "relayout", "--to", to, "-i", file, "-o", "-", "--device", "host"];
        assert_eq!(Sandbox::new().stridec(&args).stdout, expected);
    }
}

#[test]
fn directmls_slices_of_four_by_four() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=16));
    for (strides, expected) in [("1,1,2,2", [2, 4, 10, 12]), ("1,1,-2,2", [14, 16, 6, 8])] {
        let args = ["run", "slice", "--from", "f32[1,1,4,4]", "--offsets", "0,0,0,1", "--sizes"];
        let rest = ["1,1,4,3", "--strides", strides, "-i", "in.bin", "-o", "-", "--device", "host"];
        let ran = sandbox.stridec(&[&args[..], &rest].concat());
        assert_eq!(ran.stdout, f32s(expected), "{}", ran.stderr);
    }
}

#[test]
fn an_output_smaller_than_the_window_and_a_layout_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=16));
    let args = ["run", "slice", "--from", "f32[4,4]", "--offsets", "0,0", "--sizes", "4,4"];
    let rest = ["--strides", "1,1", "--output-sizes", "2,3", "--to", "f32[2,3]{0,1}"];
    let files = ["-i", "in.bin", "-o", "-", "--device", "host"];
    let ran = sandbox.stridec(&[&args[..], &rest, &files].concat());
    assert_eq!(ran.stdout, f32s([1, 5, 2, 6, 3, 7]), "{}", ran.stderr);
}

#[test]
fn stdin_to_stdout() {
    let sandbox = Sandbox::new();
    let args = ["run", "relayout", "--from", "f32[2,3]", "--to", "f32[2,3]{0,1}"];
    let files = ["-i", "-", "-o", "-", "--device", "host"];
    let ran = sandbox.stridec_with_input(&[&args[..], &files].concat(), &f32s(1..=6));
    assert_eq!(ran.stdout, f32s([1, 4, 2, 5, 3, 6]), "{}", ran.stderr);
    for bytes in [23, 25] {
        let ran = sandbox.stridec_with_input(&[&args[..], &files].concat(), &vec![0; bytes]);
        ran.fails(2, "24");
    }
}

#[test]
fn there_and_back_for_every_type() {
    let sandbox = Sandbox::new();
    for kind in stridec::shape::ElementType::ALL {
        let Some(bits) = kind.storage_bits() else { continue };
        let bytes: Vec<u8> = (0..15 * bits / 8).map(|n| (n * 37 % 251) as u8).collect();
        sandbox.write("in.bin", &bytes);
        let (a, b) = (format!("{kind}[3,5]"), format!("{kind}[3,5]{{0,1:T(2)}}"));
        assert_eq!(sandbox.relayout(&a, &b, "in.bin", "mid.npy").text(), "");
        assert_eq!(sandbox.relayout(&b, &a, "mid.npy", "out.bin").text(), "");
        assert_eq!(sandbox.read("out.bin"), bytes, "{kind}");
    }
}

#[test]
fn nothing_and_one() {
    let sandbox = Sandbox::new();
    sandbox.write("none.bin", "");
    assert_eq!(sandbox.relayout("f32[0,3]", "f32[0,3]{0,1}", "none.bin", "out.bin").text(), "");
    assert_eq!(sandbox.read("out.bin"), b"");
    sandbox.write("one.bin", f32s([7]));
    assert_eq!(sandbox.relayout("f32[]", "f32[]", "one.bin", "out.npy").text(), "");
    let args = ["run", "slice", "--from", "f32[]", "--offsets", "", "--sizes", "", "--strides", ""];
    let ran =
        sandbox.stridec(&[&args[..], &["-i", "one.bin", "-o", "-", "--device", "host"]].concat());
    assert_eq!(ran.stdout, f32s([7]), "{}", ran.stderr);
}

#[test]
fn a_prefix_lies_before_the_data() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=3));
    assert_eq!(sandbox.relayout("f32[3]", "f32[3]{0:M(8)}", "in.bin", "out.bin").text(), "");
    assert_eq!(sandbox.read("out.bin"), f32s([0, 0, 1, 2, 3]));
}

#[test]
fn help_and_version_go_to_stdout() {
    let sandbox = Sandbox::new();
    let help = sandbox.stridec(&["--help"]);
    assert_eq!(help.text().matches("\n  stridec ").count(), 3, "{}", help.text());
    assert!(sandbox.stridec(&["--version"]).text().starts_with("stridec "));
    assert!(sandbox.stridec(&["run", "--help"]).text().contains("--device"));
    sandbox.stridec(&[]).fails(2, "Usage");
    sandbox.stridec(&["fly"]).fails(2, "fly");
}

#[test]
fn devices_names_the_host() {
    let sandbox = Sandbox::new();
    assert!(sandbox.stridec(&["devices"]).text().contains("\nhost\n"));
    let json: serde_json::Value =
        serde_json::from_str(sandbox.stridec(&["devices", "--format", "json"]).text()).unwrap();
    assert!(json["host"]["threads"].as_u64().unwrap() > 0);
    assert!(json["adapters"].is_array());
}

/// If the system has no GPU, no driver is loaded, so none writes to stderr.
#[test]
#[cfg(target_os = "linux")]
fn auto_is_silent_without_a_gpu() {
    let is_gpu = |name: String| {
        ["dri", "nvidia", "dxg", "kgsl", "mali", "pvr", "nvhost", "galcore"]
            .iter()
            .any(|file| name.starts_with(file))
    };
    let mut files = std::fs::read_dir("/dev").unwrap();
    if files.any(|file| file.unwrap().file_name().into_string().is_ok_and(is_gpu)) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=6));
    let args =
        ["run", "relayout", "--from", "f32[2,3]", "--to", "{0,1}", "-i", "in.bin", "-o", "-"];
    let output = sandbox.command(&args).env_remove("XDG_RUNTIME_DIR").output().unwrap();
    assert_eq!(output.stdout, f32s([1, 4, 2, 5, 3, 6]));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let why = if cfg!(feature = "gpu") {
        "no GPU adapter: /dev has no device file of a GPU"
    } else {
        "stridec was built without the feature `gpu`"
    };
    assert_eq!(stderr, format!("ran on the host: {why}\n"));
}
