//! The places of results, and files that stay unchanged.

use std::{fs, process::Stdio};

use crate::sandbox::{Sandbox, f32s};

const RELAYOUT: [&str; 10] = [
    "run",
    "relayout",
    "--from",
    "f32[2,3]",
    "--to",
    "f32[2,3]{0,1}",
    "-i",
    "in.bin",
    "--device",
    "host",
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", f32s(1..=6));
    sandbox
}

#[test]
fn a_file_may_be_rewritten_in_place() {
    let sandbox = sandbox();
    assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "in.bin"]].concat()).text(), "");
    assert_eq!(sandbox.read("in.bin"), f32s([1, 4, 2, 5, 3, 6]));
    assert_eq!(sandbox.names(), ["in.bin"]);
}

#[test]
fn an_output_that_cannot_be_written_is_a_failed_run() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("folder")).unwrap();
    for output in ["missing/out.bin", "folder", "in.bin/out.bin"] {
        sandbox.stridec(&[&RELAYOUT[..], &["-o", output]].concat()).fails(1, output);
    }
    assert_eq!(sandbox.names(), ["folder", "in.bin"]);
}

/// A view's storage has more bytes than the view needs.
#[test]
fn a_view_is_read_from_its_storage() {
    let sandbox = Sandbox::new();
    let storage: Vec<u8> = (0..=255).cycle().take(1024).collect();
    let expected: Vec<u8> = (0..4)
        .flat_map(|_| (0..4).flat_map(|row| (0..4).map(move |column| 4 * row + column)))
        .collect();
    sandbox.write("in.bin", &storage);
    for from in [
        "u8[4,4,4] strided<[256,4,1]>",
        "torch:size=(4, 4, 4) stride=(256, 4, 1) storage_offset=0 dtype=torch.uint8",
        "numpy:shape=(4, 4, 4) strides=(256, 4, 1) dtype=uint8",
    ] {
        assert_eq!(sandbox.relayout(from, "u8[4,4,4]", "in.bin", "out.bin").text(), "");
        assert_eq!(sandbox.read("out.bin"), expected);
        let args = ["run", "relayout", "--from", from, "--to", "u8[4,4,4]", "-i", "-", "-o", "-"];
        let args = [&args[..], &["--device", "host"]].concat();
        assert_eq!(sandbox.stridec_with_input(&args, &storage).stdout, expected);
        sandbox.stridec_with_input(&args, &storage[..783]).fails(2, "expected at least 784 bytes");
    }
    // A layout has its own size.
    sandbox.relayout("u8[4,4,4]", "u8[4,4,4]", "in.bin", "no.bin").fails(2, "expected 64 bytes");
}

#[test]
fn a_failed_run_leaves_the_output_as_it_was() {
    let sandbox = sandbox();
    sandbox.write("out.bin", "untouched");
    sandbox.write("in.bin", "short");
    sandbox.stridec(&[&RELAYOUT[..], &["-o", "out.bin"]].concat()).fails(2, "24");
    assert_eq!(sandbox.read("out.bin"), b"untouched");
    assert_eq!(sandbox.names(), ["in.bin", "out.bin"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(sandbox: &Sandbox, name: &str) -> u32 {
        fs::metadata(sandbox.path(name)).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn permissions_are_kept_and_new_files_get_the_usual_ones() {
        let sandbox = sandbox();
        sandbox.write("out.bin", "old");
        fs::set_permissions(sandbox.path("out.bin"), PermissionsExt::from_mode(0o640)).unwrap();
        assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "out.bin"]].concat()).text(), "");
        assert_eq!(mode(&sandbox, "out.bin"), 0o640);
        assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "new.bin"]].concat()).text(), "");
        assert_eq!(mode(&sandbox, "new.bin"), mode(&sandbox, "in.bin"));
    }

    #[test]
    fn a_link_stays_a_link() {
        let sandbox = sandbox();
        sandbox.write("target.bin", "old");
        symlink("target.bin", sandbox.path("link.bin")).unwrap();
        assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "link.bin"]].concat()).text(), "");
        assert!(fs::symlink_metadata(sandbox.path("link.bin")).unwrap().is_symlink());
        assert_eq!(sandbox.read("target.bin"), f32s([1, 4, 2, 5, 3, 6]));
    }

    #[test]
    fn a_link_to_a_new_file_stays_a_link() {
        let sandbox = sandbox();
        fs::create_dir(sandbox.path("folder")).unwrap();
        symlink("folder/second.bin", sandbox.path("first.bin")).unwrap();
        symlink("new.bin", sandbox.path("folder/second.bin")).unwrap();
        assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "first.bin"]].concat()).text(), "");
        for link in ["first.bin", "folder/second.bin"] {
            assert!(fs::symlink_metadata(sandbox.path(link)).unwrap().is_symlink(), "{link}");
        }
        assert_eq!(sandbox.read("folder/new.bin"), f32s([1, 4, 2, 5, 3, 6]));
        symlink("missing/new.bin", sandbox.path("astray.bin")).unwrap();
        let ran = sandbox.stridec(&[&RELAYOUT[..], &["-o", "astray.bin"]].concat());
        ran.fails(1, "astray.bin: cannot be written: the folder missing does not exist\n");
        symlink("circle.bin", sandbox.path("circle.bin")).unwrap();
        sandbox.stridec(&[&RELAYOUT[..], &["-o", "circle.bin"]].concat()).fails(1, "circle.bin: ");
    }

    #[test]
    fn devices_are_written_through() {
        let sandbox = sandbox();
        let ran = sandbox.stridec(&[&RELAYOUT[..], &["-o", "/dev/stdout"]].concat());
        assert_eq!(ran.stdout, f32s([1, 4, 2, 5, 3, 6]), "{}", ran.stderr);
        assert_eq!(sandbox.stridec(&[&RELAYOUT[..], &["-o", "/dev/null"]].concat()).text(), "");
        assert!(fs::metadata("/dev/null").unwrap().permissions().mode() & 0o222 != 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_a_failed_run() {
        let sandbox = sandbox();
        sandbox.stridec(&[&RELAYOUT[..], &["-o", "/dev/full"]].concat()).fails(1, "/dev/full");
        for args in [&["describe", "f32[2]"][..], &[&RELAYOUT[..], &["-o", "-"]].concat()] {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let status = sandbox.command(args).stdout(full).status().unwrap();
            assert_eq!(status.code(), Some(1));
        }
    }

    #[test]
    fn a_pipe_is_an_input() {
        let sandbox = sandbox();
        let args: Vec<&str> =
            RELAYOUT.iter().map(|&arg| if arg == "in.bin" { "/dev/stdin" } else { arg }).collect();
        let ran = sandbox.stridec_with_input(&[&args[..], &["-o", "-"]].concat(), &f32s(1..=6));
        assert_eq!(ran.stdout, f32s([1, 4, 2, 5, 3, 6]), "{}", ran.stderr);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = sandbox();
    let shape = "f32[1,1,1,1,1,1,1,1,1,1,1,1]";
    for args in [&["describe", shape][..], &["--help"], &[&RELAYOUT[..], &["-o", "-"]].concat()] {
        let mut child = sandbox.command(args).stdin(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
    }
}
