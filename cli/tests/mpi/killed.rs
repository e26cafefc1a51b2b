//! Ranks that are killed: the others end soon, and the outputs stay unchanged.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    failures::{OPERATION, prepared, unchanged},
    launcher::Launcher,
};

/// The time limit for ranks to reach a place, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// True if a path belongs to an output that has no name yet.
fn is_unfinished(launcher: &Launcher, path: &str) -> bool {
    let folder = fs::canonicalize(launcher.path("")).unwrap();
    let name = path.strip_prefix(folder.to_str().unwrap());
    name.is_some_and(|name| name.starts_with("/#") || name.starts_with("/.stridec-"))
}

/// The processes that have opened an output and not finished it.
fn writers(launcher: &Launcher) -> Vec<u32> {
    let is_writer = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link: PathBuf| link.to_str().is_some_and(|link| is_unfinished(launcher, link)))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_writer).collect()
}

/// The part of its output that a process has touched in its memory, and the size of that output, in
/// KiB.
fn touched(launcher: &Launcher, pid: u32) -> Option<(u64, u64)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let mut lines = maps.lines();
    lines.find(|line| line.find('/').is_some_and(|at| is_unfinished(launcher, &line[at..])))?;
    let mut number = |name: &str| {
        let line = lines.find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    let size = number("Size:")?;
    Some((number("Rss:")?, size))
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").arg(name).arg(pid.to_string()).status().unwrap().success());
}

/// Calls `found` until it returns something.
fn wait<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "it does not happen in {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The ranks end with an error soon after one is killed, and leave no files.
fn ends(launcher: &Launcher, child: std::process::Child) {
    let names = launcher.names();
    let start = Instant::now();
    let ran = Launcher::finish(child);
    assert!(!ran.success, "{}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    unchanged(launcher, &[0, 1, 2, 3]);
    assert_eq!(launcher.names(), names);
    assert!(writers(launcher).is_empty());
}

/// Rank 2 waits for its input, a pipe, while the others wait for it.
#[test]
fn before_the_exchange() {
    let Some(launcher) = prepared() else { return };
    fs::remove_file(launcher.path("x.2.bin")).unwrap();
    assert!(Command::new("mkfifo").arg(launcher.path("x.2.bin")).status().unwrap().success());
    let tell = ["sh", "-c", "echo $$ > pid; exec \"$0\" \"$@\""];
    let child =
        launcher.start(&[(2, &[], &OPERATION), (1, &tell, &OPERATION), (1, &[], &OPERATION)]);
    wait(|| (writers(&launcher).len() == 3).then_some(()));
    let pid = String::from_utf8(launcher.read("pid")).unwrap();
    signal("-KILL", pid.trim().parse().unwrap());
    ends(&launcher, child);
}

/// Many small messages take long: a rank is stopped after it has received some of them, and then
/// killed.
#[test]
fn in_the_middle_of_the_exchange() {
    let Some(launcher) = prepared() else { return };
    let mut args = OPERATION.to_vec();
    args[1] = "u8[4096,4096]";
    args.extend(["--staging", "256"]);
    for rank in 0..4 {
        launcher.write(&format!("x.{rank}.bin"), vec![1; 1024 * 4096]);
    }
    let child = launcher.start(&[(4, &[], &args)]);
    let pid = wait(|| {
        let begun = |pid: &u32| touched(&launcher, *pid).is_some_and(|(touched, _)| touched > 0);
        writers(&launcher).into_iter().find(begun)
    });
    signal("-STOP", pid);
    let (touched, size) = touched(&launcher, pid).unwrap();
    assert!(touched > 0 && touched < size, "{touched} of {size} KiB");
    signal("-KILL", pid);
    ends(&launcher, child);
}

/// Rank 3 writes its part into a pipe that nobody reads: it has all messages, and the others wait
/// for it.
#[test]
fn after_the_exchange() {
    let Some(launcher) = prepared() else { return };
    fs::remove_file(launcher.path("y.3.bin")).unwrap();
    assert!(Command::new("mkfifo").arg(launcher.path("y.3.bin")).status().unwrap().success());
    let mut args = OPERATION.to_vec();
    args[1] = "u8[4096,4096]";
    for rank in 0..4 {
        launcher.write(&format!("x.{rank}.bin"), vec![1; 1024 * 4096]);
    }
    let tell = ["sh", "-c", "echo $$ > pid; exec \"$0\" \"$@\""];
    let child = launcher.start(&[(3, &[], &args), (1, &tell, &args)]);
    let mut pipe = fs::File::open(launcher.path("y.3.bin")).unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut pipe, &mut first).unwrap();
    let pid = String::from_utf8(launcher.read("pid")).unwrap();
    signal("-KILL", pid.trim().parse().unwrap());
    let ran = Launcher::finish(child);
    assert!(!ran.success, "{}", ran.stderr);
    unchanged(&launcher, &[0, 1, 2]);
    assert_eq!(launcher.names().len(), 9, "{:?}", launcher.names());
}
