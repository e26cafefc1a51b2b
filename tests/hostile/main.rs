//! Passes untrusted bytes to every entry point. None may panic or hang, and memory is limited to a
//! multiple of the input's length.
//!
//! The inputs are random changes of the seeds in `fuzz/corpus/`, and are the same on every machine.
//! `STRIDEC_CASES` is the number for each format; `STRIDEC_CASES=full` runs 20 million, and 1
//! million of the slower formats.

mod entry;
mod limits;
mod memory;
mod mutate;
#[path = "../../cli/src/npy/mod.rs"]
#[allow(dead_code, unused_imports)] // the command line uses more of it
mod npy;
mod seeds;
#[path = "../support/mod.rs"]
mod support;

use std::{
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use entry::Entry;
use support::{random::Random, scope::is_long};

/// Each format, with its entry point.
const FORMATS: &[(&str, Entry)] = &[
    ("shape", entry::shape),
    ("notation", entry::notation),
    ("textproto", entry::textproto),
    ("json", entry::json),
    ("npy", entry::npy),
    ("request", entry::request),
    ("module", entry::module),
    ("hlo", entry::hlo),
    ("stablehlo", entry::hlo),
];

/// The time limit for an input of this length.
const MOST_TIME: Duration = Duration::from_millis(500);

/// The memory limit for an input: a number of bytes, and bytes for each byte of the input.
const MOST_MEMORY: (usize, usize) = (128 << 10, 224);

/// Formats whose parser starts a thread.
const ON_OTHER_THREADS: [&str; 2] = ["textproto", "json"];

/// Locks the counters that threads without their own counters share, so that one test at a time
/// uses them.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes changed inputs to one entry point: `in_ci` of them if `STRIDEC_LONG` is set, otherwise an
/// eighth of them, or `full` if `STRIDEC_CASES=full` is set.
fn fuzz(format: &str, in_ci: u64, full: u64) {
    let alone = ON_OTHER_THREADS.contains(&format).then(alone);
    if alone.is_none() {
        memory::count_this_thread();
    }
    let cases = match std::env::var("STRIDEC_CASES").as_deref() {
        Err(_) | Ok("") if is_long() => in_ci,
        Err(_) | Ok("") => in_ci / 8,
        Ok("full") => full,
        Ok(cases) => cases.parse().unwrap(),
    };
    let seeds: Vec<Vec<u8>> = seeds::seeds(format).into_iter().map(|(_, seed)| seed).collect();
    let entry = FORMATS.iter().find(|(name, _)| *name == format).unwrap().1;
    let (mut random, mut input) = (Random(9), Vec::new());
    let (mut slowest, mut largest, mut accepted) = (Duration::ZERO, 0, 0_u64);
    let start = Instant::now();
    for case in 0..cases {
        mutate::mutated(&mut random, &seeds, &mut input);
        let Run { is_accepted, time, memory } = measured(entry, &input).unwrap_or_else(|| {
            panic!("{format}, input {case} panics: {}", shown(&input));
        });
        assert!(
            memory <= MOST_MEMORY.0 + MOST_MEMORY.1 * input.len(),
            "{format}, input {case} takes {memory} bytes: {}",
            shown(&input)
        );
        // If an input is slow only because the machine is busy, it is fast in one of five runs.
        let again = || measured(entry, &input).map_or(time, |run| run.time);
        let time = if time < MOST_TIME { time } else { (0..5).map(|_| again()).min().unwrap() };
        assert!(time < MOST_TIME, "{format}, input {case} takes {time:?}: {}", shown(&input));
        slowest = slowest.max(time);
        largest = largest.max(memory);
        accepted += u64::from(is_accepted);
    }
    let took = start.elapsed();
    let share = accepted * 100 / cases;
    eprintln!(
        "{format}: {cases} inputs in {took:.1?}, {share}% of them valid, at most {slowest:.1?} and {largest} bytes each"
    );
    assert!((1..=99).contains(&share), "{accepted} of {cases} inputs are valid");
}

/// The result of one input.
struct Run {
    is_accepted: bool,
    time: Duration,
    memory: usize,
}

/// Runs an input; returns `None` if it panics.
fn measured(entry: Entry, input: &[u8]) -> Option<Run> {
    let (mut returned, start) = (None, Instant::now());
    let memory = memory::peak(|| {
        returned = catch_unwind(AssertUnwindSafe(|| entry(input))).ok();
    });
    returned.map(|is_accepted| Run { is_accepted, time: start.elapsed(), memory })
}

/// Returns an input as a Rust literal.
fn shown(input: &[u8]) -> String {
    input.iter().fold(String::from("b\""), |mut text, byte| {
        let _ = write!(text, "{}", byte.escape_ascii());
        text
    }) + "\""
}

/// Inputs that failed in earlier versions.
#[test]
fn inputs_that_failed() {
    let _alone = alone();
    let inputs: &[(Entry, &[u8])] = &[
        // A target that dispatches nothing.
        (
            entry::request,
            b"\x12(\n\x0c\n\n\x10\x06\x1a\x02\x05\r2\x02\x00\x00\x12\x0c\n\n\x10\x06\x1a\x02\x05\x082\x02\x00\x00\
              \x1a\x02\x00\x03\"\x02\x05\x08*\x02\x02\x02\x1a\x10\n\nwebgpu-cpu\x18\x00 \x10",
        ),
        // A key with line breaks in it.
        (entry::npy, b"\x93NUMPY\x01\x00\x0c\x00{'a\n\n\n\nb': 1}"),
        // A sparse array of TensorFlow 1.x, and a scalar with an empty layout.
        (entry::shape, b"\x10\x01\x1a\x02\x00\x03*\x02 \x02"),
        (entry::shape, b"\x10\x0bZ\x01\x03*\x00"),
    ];
    for (entry, input) in inputs {
        assert!(measured(*entry, input).is_some(), "{}", shown(input));
    }
}

#[test]
fn shapes() {
    fuzz("shape", 2_000_000, 20_000_000);
}

#[test]
fn notations() {
    fuzz("notation", 1_000_000, 20_000_000);
}

#[test]
fn textprotos() {
    fuzz("textproto", 60_000, 1_000_000);
}

#[test]
fn jsons() {
    fuzz("json", 60_000, 1_000_000);
}

#[test]
fn npys() {
    fuzz("npy", 2_000_000, 20_000_000);
}

#[test]
fn modules() {
    fuzz("module", 200_000, 1_000_000);
}

#[test]
fn hlo_texts() {
    fuzz("hlo", 200_000, 1_000_000);
}

#[test]
fn stablehlo_texts() {
    fuzz("stablehlo", 200_000, 1_000_000);
}

#[test]
fn requests() {
    fuzz("request", 200_000, 1_000_000);
}
