//! Outputs are whole: a file has the old bytes or the new ones, even if the run is killed.

use std::{
    fs,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use crate::sandbox::Sandbox;

/// Large enough that a run can be caught while it writes.
const BYTES: usize = 48 << 20;

const COPY: [&str; 10] = [
    "run",
    "relayout",
    "--from",
    "u8[50331648]",
    "--to",
    "u8[50331648]",
    "-i",
    "in.bin",
    "--device",
    "host",
];

/// A sandbox with an input, and an output of an earlier run.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", (0..251).cycle().take(BYTES).collect::<Vec<u8>>());
    sandbox.write("out.bin", "the old output");
    sandbox
}

/// True if a run has begun to write: into a file without a name if the system has such, or into a
/// temporary file.
#[cfg(unix)]
fn writes(sandbox: &Sandbox, run: &Child) -> bool {
    let folder = fs::canonicalize(sandbox.path("")).unwrap();
    let open = fs::read_dir(format!("/proc/{}/fd", run.id())).into_iter().flatten().flatten();
    let unnamed = open.map(|entry| entry.path()).filter(|file| {
        let link = fs::read_link(file).unwrap_or_default();
        let name = link.file_name().unwrap_or_default().to_string_lossy();
        link.starts_with(&folder) && name.starts_with('#')
    });
    let temporary = unfinished(sandbox).into_iter().map(|name| sandbox.path(&name));
    unnamed.chain(temporary).any(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0))
}

/// The temporary files of runs, including files that were left behind.
fn unfinished(sandbox: &Sandbox) -> Vec<String> {
    sandbox.names().into_iter().filter(|name| name.starts_with(".stridec-")).collect()
}

/// A file is replaced under any name of its folder: not every path in `/proc` and `/dev` is a
/// descriptor.
#[test]
#[cfg(target_os = "linux")]
fn a_longer_file_is_replaced_under_proc_too() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bin", "the new output");
    sandbox.write("out.bin", "the old output, which is longer");
    let shapes = ["run", "relayout", "--from", "u8[14]", "--to", "u8[14]"];
    let files = ["-i", "in.bin", "--device", "host", "-o", "/proc/self/cwd/out.bin"];
    let run = sandbox.command(&[&shapes[..], &files].concat()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert_eq!(sandbox.read("out.bin"), b"the new output");
}

/// Runs are killed at random times, some of them while they write.
#[test]
#[cfg(unix)]
fn a_killed_run_leaves_the_old_output_or_the_new_one() {
    let sandbox = sandbox();
    let args = [&COPY[..], &["-o", "out.bin"]].concat();
    let (mut caught, mut finished) = (0, 0);
    let start = Instant::now();
    for attempt in 0.. {
        let mut child = sandbox.command(&args).stderr(Stdio::null()).spawn().unwrap();
        // Some runs are killed as soon as they write, the others at any time; some have ended by
        // then.
        let killed = Instant::now() + Duration::from_millis(attempt % 40);
        let mut begun = false;
        while if attempt % 2 == 0 { !begun } else { Instant::now() < killed } {
            begun = writes(&sandbox, &child);
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for name in unfinished(&sandbox) {
            fs::remove_file(sandbox.path(&name)).unwrap();
        }
        let output = sandbox.read("out.bin");
        if output == b"the old output" {
            caught += u32::from(begun);
        } else {
            assert!(output == sandbox.read("in.bin"), "{} bytes", output.len());
            finished += 1;
            sandbox.write("out.bin", "the old output");
        }
        if caught >= 5 && attempt >= 20 {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(3), "caught {caught} runs while they wrote");
    }
    eprintln!("{caught} runs killed while they wrote, {finished} finished before");
    assert_eq!(sandbox.names(), ["in.bin", "out.bin"]);
}

/// A limit on the size of files simulates a disk that is full in the middle of the output.
#[test]
#[cfg(unix)]
fn a_disk_that_fills_up_leaves_the_old_output() {
    let sandbox = sandbox();
    for (signal, code) in [("trap '' XFSZ;", Some(1)), ("", None)] {
        let script = format!("{signal} ulimit -f 4096; exec \"$@\"");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_stridec")]);
        command.args(COPY).args(["-o", "out.bin"]).current_dir(sandbox.path(""));
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        // Without the trap the system ends the process, which has no code then.
        assert_eq!(output.status.code(), code, "{stderr}");
        assert!(code.is_none() || stderr.contains("out.bin: cannot be written"), "{stderr}");
        assert_eq!(sandbox.read("out.bin"), b"the old output");
        let left = unfinished(&sandbox);
        assert!(left.len() <= usize::from(code.is_none()), "{left:?}");
        for name in left {
            fs::remove_file(sandbox.path(&name)).unwrap();
        }
    }
}

/// A folder without write permission: the user's own, or `/proc` if the user is root.
#[test]
#[cfg(target_os = "linux")]
fn a_read_only_folder_is_a_failed_run() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let folder = sandbox.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("old.bin"), "the old output").unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    let is_root = fs::write(folder.join("probe"), "").is_ok();
    let output = if is_root { "/proc/new.bin" } else { "folder/new.bin" };
    sandbox.stridec(&[&COPY[..], &["-o", output]].concat()).fails(1, output);
    if !is_root {
        sandbox.stridec(&[&COPY[..], &["-o", "folder/old.bin"]].concat()).fails(1, "folder");
    }
    assert_eq!(fs::read(folder.join("old.bin")).unwrap(), b"the old output");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A reader that reads a part of the output and closes the pipe ends the run, without an error.
#[test]
fn a_pipe_that_closes_in_the_middle_is_no_error() {
    use std::io::Read;
    let sandbox = sandbox();
    let args = [&COPY[..], &["-o", "-"]].concat();
    let mut child = sandbox.command(&args).spawn().unwrap();
    let mut start = vec![0; 1 << 16];
    child.stdout.as_mut().unwrap().read_exact(&mut start).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(start, sandbox.read("in.bin")[..1 << 16]);
}
