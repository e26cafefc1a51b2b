//! The host, compared with `memcpy`, and with itself on other element types and layouts.
//!
//! ```text
//! cargo bench --no-default-features --bench host -- [--threads 1] [--repetitions 15] [--json FILE]
//! cargo bench --no-default-features --bench host -- --cases everyday [--only TEXT] [--plot FILE.svg]
//!     [--table FILE.md] [--numpy FILE.json] [--repetitions 15] [--json FILE]
//! cargo bench --no-default-features --bench host -- --cases by-hand [--only TEXT] [--repetitions 15] [--json FILE]
//! cargo bench --no-default-features --bench host -- --cases cached [--repetitions 15] [--json FILE]
//! cargo bench --no-default-features --bench host -- --cases programs [--only TEXT] [--jax FILE.json] [--repetitions 15]
//! cargo bench --no-default-features --bench host -- --cases gathers [--only TEXT] [--repetitions 15]
//! cargo bench --no-default-features --bench host -- --cases in-place [--only TEXT]
//! cargo bench --no-default-features --bench host -- --cases masks [--only TEXT]
//!     [--jax FILE.json] [--repetitions 15]
//! cargo bench --no-default-features --bench host -- --cases conversions [--threads 1] [--only TEXT]
//! cargo bench --no-default-features --bench host -- --cases sweep [--seed 1] [--count 160] [--threads 1] [--only TEXT]
//! cargo bench --no-default-features --bench host -- --cases windows [--seed 1] [--count 100] [--threads 1] [--only TEXT]
//! ```
//!
//! Contenders take turns. Every output is compared with the meaning of its nest. `benches/peers`
//! compares transposes with other crates.

#![allow(unreachable_pub, clippy::cast_precision_loss, clippy::cast_possible_truncation)]

#[path = "../support/bars.rs"]
mod bars;
#[path = "../../tests/support/base64.rs"]
mod base64;
mod by_hand;
mod cached;
#[path = "../support/conversions.rs"]
mod conversion_cases;
mod conversions;
mod everyday;
#[path = "../support/everyday.rs"]
mod everyday_cases;
mod gathers;
mod in_place;
mod masks;
#[path = "../support/permutation.rs"]
mod permutation;
mod programs;
mod sweep;
#[path = "../support/sweep.rs"]
mod sweep_cases;
#[path = "../support/timing.rs"]
mod timing;
mod windows;

use rayon::ThreadPoolBuilder;
use stridec::{
    Operation, Tensor, host,
    internals::Inspect,
    nest::{CopyNest, PositionValue},
    window::Slice,
};
use timing::{Contender, Report, option, round_robin};

fn main() {
    let number = |name: &str, or| option(name).map_or(or, |n| n.parse().expect("a number"));
    let repetitions = number("--repetitions", 15);
    println!("{}", timing::processor());
    let cases = option("--cases");
    match cases.as_deref() {
        None | Some("cached") => {}
        Some("everyday") => return everyday::measure(repetitions).expect("the everyday cases"),
        Some("by-hand") => return by_hand::measure(repetitions).expect("the loops by hand"),
        Some("programs") => return programs::measure(repetitions).expect("the programs"),
        Some("gathers") => return gathers::measure(repetitions).expect("the gathers"),
        Some("in-place") => return in_place::measure(repetitions).expect("the updates"),
        Some("masks") => return masks::measure(repetitions).expect("the masks"),
        Some("conversions") => return conversions::measure(number).expect("the conversions"),
        Some("sweep") => return sweep::measure(number),
        Some("windows") => return windows::measure(number),
        Some(other) => {
            panic!(
                "--cases {other}: expected by-hand, cached, conversions, everyday, gathers, in-place, masks, programs, sweep or windows"
            )
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(number("--threads", 1)).build();
    let mut report = Report::new("host");
    pool.expect("threads").install(|| {
        if cases.is_some() {
            return cached::measure(repetitions, &mut report);
        }
        slices(repetitions, &mut report);
        widths(repetitions, &mut report);
        layouts(repetitions, &mut report);
    });
}

/// Returns `bytes` bytes that look random.
fn image(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

/// An operation with the bytes of its source and its destination.
struct Run {
    name: String,
    nest: CopyNest,
    source: Vec<u8>,
    destination: Vec<u8>,
}

impl Run {
    fn new(name: impl Into<String>, operation: &Operation) -> Self {
        let nest = operation.nest().clone();
        let source = image(nest.src_bytes());
        let destination = vec![0xa5; usize::try_from(nest.dst_bytes()).expect("an image")];
        Self { name: name.into(), nest, source, destination }
    }

    fn relayout(from: &str, to: &str) -> Self {
        let (source, destination) = (from.parse(), to.parse());
        let operation =
            Operation::relayout(source.expect("a shape"), destination.expect("a shape"));
        Self::new(format!("{from} to {to}"), &operation.expect("a relayout"))
    }

    fn copy(&mut self) {
        host::run(&self.nest, &self.source, &mut self.destination).expect("a run");
    }

    fn contender(&mut self) -> Contender<'_> {
        let (name, bytes) = (self.name.clone(), self.destination.len());
        Contender { name, bytes, run: Box::new(|| self.copy()) }
    }

    /// Compares every element of the destination with the definition of the nest. Only elements of
    /// whole bytes are compared.
    fn check(&self) {
        let bytes = self.nest.dst_bits() as usize / 8;
        let converts = self.nest.conversion().is_some();
        if self.nest.src_bits() != self.nest.dst_bits() || bytes == 0 || converts {
            return;
        }
        for (unit, cell) in self.destination.chunks_exact(bytes).enumerate() {
            let position = unit as u64 + self.nest.dst_base().unsigned_abs();
            match self.nest.read(position) {
                PositionValue::Unit { unit: from, .. } => {
                    let from = usize::try_from(from).expect("a place") * bytes;
                    assert_eq!(cell, &self.source[from..from + bytes], "{}: {unit}", self.name);
                }
                PositionValue::Bits(value) => assert_eq!(cell, &value.to_le_bytes()[..bytes]),
                PositionValue::Kept => {}
            }
        }
    }
}

/// Times slices with contiguous rows, and a copy of the same number of bytes.
fn slices(repetitions: usize, report: &mut Report) {
    println!("slices over memcpy (goal 0.8)");
    for (shape, offsets, sizes) in [
        ("f32[4096,4096]", vec![0, 0], vec![2048, 3072]),
        ("f32[4096,4096]", vec![512, 64], vec![3000, 1000]),
        ("u8[8192,8192]", vec![1, 3], vec![8000, 4000]),
        ("f32[64,224,224,3]", vec![0, 16, 16, 0], vec![64, 192, 192, 3]),
        ("f64[256,64,1024]", vec![0, 8, 0], vec![256, 32, 1024]),
        ("bf16[32,2048,1024]", vec![0, 0, 256], vec![32, 2048, 512]),
    ] {
        let strides = vec![1; offsets.len()];
        let slice = Slice::new(offsets.clone(), sizes.clone(), strides);
        let source: Tensor = shape.parse().expect("a shape");
        let operation = Operation::slice(source, &slice, None).expect("a slice");
        let mut run = Run::new("stridec", &operation);
        let source = run.source.clone();
        let mut copy = vec![0xa5; run.destination.len()];
        let length = copy.len();
        let memcpy = Contender {
            name: "memcpy".to_owned(),
            bytes: length,
            run: Box::new(|| copy.copy_from_slice(&source[..length])),
        };
        let timings = round_robin(repetitions, false, vec![run.contender(), memcpy]);
        run.check();
        let ratio = timings[1].best_ms / timings[0].best_ms;
        report.add(&format!("{shape} at {offsets:?} {sizes:?}"), &timings);
        println!("{ratio:50.3} of memcpy");
    }
}

/// Times transposes of narrow and wide elements, and of the same number of f32.
fn widths(repetitions: usize, report: &mut Report) {
    println!("widths: time over that of f32 (goal: u8 and u16 at most 1)");
    for (sizes, order) in [
        ("4096,4096", "0,1"),
        ("8,64,112,112", "1,3,2,0"),
        ("8,112,112,64", "2,1,3,0"),
        ("16,28,28,28,48", "0,1,2,3,4"),
        ("8,1024,16,64", "3,1,2,0"),
    ] {
        let mut runs: Vec<Run> = ["f32", "u8", "u16", "f64", "c128"]
            .map(|element| {
                Run::relayout(
                    &format!("{element}[{sizes}]"),
                    &format!("{element}[{sizes}]{{{order}}}"),
                )
            })
            .into();
        compare(repetitions, report, &mut runs);
    }
}

/// Times packed and tiled layouts, and plain layouts of bytes and of the same elements.
fn layouts(repetitions: usize, report: &mut Report) {
    println!("layouts: time over that of the first (goal: at most 3)");
    for cases in [
        vec![
            ("u8[4096,4096]", "u8[4096,4096]{0,1}"),
            ("s4[4096,4096]{1,0:E(4)}", "s4[4096,4096]{0,1:E(4)}"),
            ("u2[4096,4096]{1,0:E(2)}", "u2[4096,4096]{0,1:E(2)}"),
            ("u1[4096,4096]{1,0:E(1)}", "u1[4096,4096]{0,1:E(1)}"),
        ],
        vec![
            ("u8[8192,8192]", "u8[8192,8192]"),
            ("s4[8192,8192]{1,0:E(4)}", "s4[8192,8192]"),
            ("s4[8192,8192]", "s4[8192,8192]{1,0:E(4)}"),
            ("pred[8192,8192]", "pred[8192,8192]{1,0:E(1)}"),
        ],
        vec![
            ("u8[8,1024,1024]{2,1,0}", "u8[8,1024,1024]{1,2,0}"),
            ("s4[8,1024,1024]{2,1,0:E(4)}", "s4[8,1024,1024]{1,2,0:E(4)}"),
        ],
        vec![
            ("f32[4096,4096]", "f32[4096,4096]{0,1}"),
            ("f32[4096,4096]", "f32[4096,4096]{1,0:T(8,128)}"),
            ("f32[4096,4096]{1,0:T(8,128)}", "f32[4096,4096]{0,1:T(8,128)}"),
            ("f32[4096,4096]{1,0:T(6,10)}", "f32[4096,4096]{1,0:T(4,8)}"),
        ],
        vec![
            ("bf16[4096,4096]", "bf16[4096,4096]{0,1}"),
            ("bf16[4096,4096]", "bf16[4096,4096]{1,0:T(8,128)(2,1)}"),
            ("bf16[4096,4096]{1,0:T(8,128)(2,1)}", "bf16[4096,4096]{0,1:T(8,128)(2,1)}"),
            ("bf16[4001,4001]{1,0:T(8,128)(2,1)}", "bf16[4001,4001]{1,0}"),
        ],
    ] {
        let mut runs: Vec<Run> =
            cases.into_iter().map(|(source, to)| Run::relayout(source, to)).collect();
        compare(repetitions, report, &mut runs);
    }
}

/// Times runs in turns, and prints the time of each divided by the time of the first.
fn compare(repetitions: usize, report: &mut Report, runs: &mut [Run]) {
    let contenders = runs.iter_mut().map(Run::contender).collect();
    let timings = round_robin(repetitions, false, contenders);
    for (run, timing) in runs.iter().zip(&timings) {
        run.check();
        report.add(&run.name, std::slice::from_ref(timing));
        println!("{:50.3} of the first", timing.best_ms / timings[0].best_ms);
    }
}
