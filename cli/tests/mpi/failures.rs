//! A failure on one rank is an error on all of them, without a long wait, and the outputs stay
//! unchanged.

use std::{os::unix::fs::symlink, process::Command};

use crate::launcher::{Launcher, Ran};

pub(crate) const OPERATION: [&str; 10] = [
    "--shape",
    "u8[64,96]",
    "--from",
    "{devices=[4,1]<=[4]}",
    "--to",
    "{devices=[1,4]<=[4]}",
    "-i",
    "x.{rank}.bin",
    "-o",
    "y.{rank}.bin",
];

/// Inputs, and outputs of an earlier run.
pub(crate) fn prepared() -> Option<Launcher> {
    let launcher = Launcher::find()?;
    for rank in 0..4 {
        launcher.write(&format!("x.{rank}.bin"), vec![1; 16 * 96]);
        launcher.write(&format!("y.{rank}.bin"), "as it was");
    }
    Some(launcher)
}

/// Each rank printed the reason, and nothing was written.
fn fails(launcher: &Launcher, ran: &Ran, says: &str, ranks: usize) {
    assert!(!ran.success, "{}", ran.stderr);
    let told = ran.stderr.lines().filter(|line| line.contains(says)).count();
    assert_eq!(told, ranks, "{says:?} in {}", ran.stderr);
    unchanged(launcher, &[0, 1, 2, 3]);
    let left: Vec<String> =
        launcher.names().into_iter().filter(|name| name.starts_with(".stridec")).collect();
    assert_eq!(left, Vec::<String>::new());
}

pub(crate) fn unchanged(launcher: &Launcher, ranks: &[u8]) {
    for rank in ranks {
        assert_eq!(launcher.read(&format!("y.{rank}.bin")), b"as it was", "rank {rank}");
    }
}

#[test]
fn an_input_that_is_missing_or_has_another_size() {
    let Some(launcher) = prepared() else { return };
    std::fs::remove_file(launcher.path("x.2.bin")).unwrap();
    fails(&launcher, &launcher.run(&OPERATION), "x.2.bin: cannot be read", 4);
    launcher.write("x.2.bin", "short");
    fails(&launcher, &launcher.run(&OPERATION), "x.2.bin: expected 1536 bytes", 4);
}

#[test]
fn ranks_that_disagree() {
    let Some(launcher) = prepared() else { return };
    for other in ["--to-layout={0,1}", "--staging=1MiB"] {
        let args = [&OPERATION[..], &[other]].concat();
        let child = launcher.start(&[(3, &[], &OPERATION), (1, &[], &args)]);
        fails(&launcher, &Launcher::finish(child), "the ranks disagree", 4);
    }
    let mut more = OPERATION;
    (more[3], more[1]) = ("{devices=[5,1]<=[5]}", "u8[65,96]");
    fails(&launcher, &launcher.run(&more), "mpirun -n 5", 4);
}

/// A full device: the last write fails.
#[test]
fn a_full_disk() {
    let Some(launcher) = prepared() else { return };
    std::fs::remove_file(launcher.path("y.3.bin")).unwrap();
    symlink("/dev/full", launcher.path("y.3.bin")).unwrap();
    let ran = launcher.run(&OPERATION);
    assert!(!ran.success);
    let told = ran.stderr.lines().filter(|line| line.contains("y.3.bin: cannot be written"));
    assert_eq!(told.count(), 4, "{}", ran.stderr);
    unchanged(&launcher, &[0, 1, 2]);
    assert_eq!(launcher.names().len(), 8, "{:?}", launcher.names());
}

/// A disk that is too small: reserving its blocks fails before anything is moved. Needs the right
/// to mount one.
#[test]
fn a_small_disk() {
    let Some(launcher) = prepared() else { return };
    let disk = launcher.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4k", "none"])
        .arg(&disk)
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    }
    std::fs::write(disk.join("y"), "as it was").unwrap();
    std::fs::remove_file(launcher.path("y.1.bin")).unwrap();
    symlink(disk.join("y"), launcher.path("y.1.bin")).unwrap();
    let mut large = OPERATION;
    large[1] = "u8[64,960]";
    for rank in 0..4 {
        launcher.write(&format!("x.{rank}.bin"), vec![1; 16 * 960]);
    }
    let ran = launcher.run(&large);
    let left = std::fs::read_dir(&disk).unwrap().count();
    let kept = launcher.read("y.1.bin");
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert_eq!((left, &kept[..]), (1, &b"as it was"[..]));
    launcher.write("y.1.bin", "as it was");
    fails(&launcher, &ran, "disk/y: cannot be written: No space left", 4);
}
