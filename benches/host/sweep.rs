//! `--cases sweep`: random operations. Each is measured as a share of the rate of a copy of the
//! same number of bytes by the same number of threads.

use std::{collections::HashSet, time::Instant};

use rayon::{ThreadPoolBuilder, prelude::*};
use stridec::{
    Operation, host,
    internals::Inspect,
    nest::{CopyNest, PositionValue},
    program::Program,
};

use super::{
    image,
    sweep_cases::{Case, What, cases},
    timing::{geomean, option},
};

/// The greatest rate of a copy with which shares are computed, in GB/s read and written. Copies in
/// cache are faster than this.
const MOST_RATE: f64 = 40.0;

/// The number of cases that are printed with their rates, unless `--rows` gives another number.
const WORST: usize = 30;

/// The number of lines of a plan that are printed.
const PLAN_LINES: usize = 6;

/// The least time of all repetitions of a case, in seconds. The best repetition counts. With 0.03
/// s, other programs on the machine slow down all repetitions of some cases, to a tenth of their
/// rate.
const LEAST_SECONDS: f64 = 0.1;

/// The greatest number of elements that are compared with the definition of the nest.
const CHECKED: u64 = 20_000;

/// The smallest destination that the second summary counts, in bytes. The copies of smaller ones
/// take little longer than a call.
const LARGE: usize = 1 << 16;

/// If the share of a case is less than this, the cache lines of the source that it must read are
/// counted.
const COUNTED: f64 = 0.4;

/// The length of a cache line, in bytes.
const LINE: usize = 64;

/// A measured case.
struct Row {
    name: String,
    /// The bytes of the destination.
    bytes: usize,
    share: f64,
    rate: f64,
    /// The share of the rate of a copy that reads an equal number of cache lines. It is larger than
    /// `share` if the case needs only a few bytes of many lines, as with padded dimensions.
    of_lines: f64,
    plan: String,
}

/// Measures random cases, and prints the slowest ones. With `--from SHAPE --to SHAPE`, measures
/// this relayout instead.
pub fn measure(number: impl Fn(&str, usize) -> usize) {
    let threads = number("--threads", 1);
    let (seed, count) = (number("--seed", 1) as u64, number("--count", 160));
    let only = option("--only").unwrap_or_default();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let rows: Vec<Row> = pool.install(|| {
        let cases = match (option("--from"), option("--to")) {
            (Some(from), Some(to)) => vec![relayout(&from, &to)],
            _ => cases(seed, count),
        };
        let cases = cases.into_iter().filter(|case| case.name.contains(&only));
        cases.map(|case| row(case.name, &case.what, threads)).collect()
    });
    report(rows, threads, number("--rows", WORST));
}

/// Returns the case of a relayout between shapes in XLA's notation, such as `f32[2,3]{0,1}`.
fn relayout(from: &str, to: &str) -> Case {
    let [source, destination] = [from, to].map(|shape| shape.parse().expect("a shape"));
    let operation = Operation::relayout(source, destination).expect("a relayout");
    Case { name: format!("{from} to {to}"), what: What::Operation(Box::new(operation)) }
}

/// Prints the slowest cases, and a summary of each family and of all cases.
fn report(mut rows: Vec<Row>, threads: usize, worst: usize) {
    rows.sort_by(|a, b| a.share.total_cmp(&b.share));
    for Row { name, share, rate, of_lines, plan, .. } in rows.iter().take(worst) {
        println!("{share:6.3} {of_lines:6.3} {rate:7.2} GB/s  {name}");
        plan.lines().take(PLAN_LINES).for_each(|line| println!("                       {line}"));
    }
    let family = |row: &Row| row.name.split('/').next().unwrap_or_default().to_owned();
    let mut families: Vec<String> = rows.iter().map(family).collect();
    families.sort_unstable();
    families.dedup();
    for of in families {
        println!(
            "{of:12} {}",
            summary(rows.iter().filter(|row| family(row) == of), |row| row.share)
        );
    }
    let large = || rows.iter().filter(|row| row.bytes >= LARGE);
    println!("64 KiB and more: {}", summary(large(), |row| row.share));
    println!("the same, of lines read: {}", summary(large(), |row| row.of_lines));
    println!("{} cases, {threads} threads: {}", rows.len(), summary(rows.iter(), |row| row.share));
}

/// Describes the shares of some rows.
fn summary<'a>(rows: impl Iterator<Item = &'a Row>, share: impl Fn(&Row) -> f64) -> String {
    let mut shares: Vec<f64> = rows.map(share).collect();
    if shares.is_empty() {
        return "no cases".into();
    }
    shares.sort_by(f64::total_cmp);
    format!(
        "geometric mean {:.3}, 5th percentile {:.3}, least {:.3}",
        geomean(shares.iter().copied()),
        shares[shares.len() / 20],
        shares[0]
    )
}

fn row(name: String, what: &What, threads: usize) -> Row {
    let (bytes, mut run): (usize, Box<dyn FnMut()>) = match what {
        What::Operation(operation) => {
            let nest = operation.nest().clone();
            let source = image(nest.src_bytes());
            let mut destination = vec![0xa5; nest.dst_bytes() as usize];
            host::run(&nest, &source, &mut destination).expect("a run");
            check(&name, &nest, &source, &destination);
            let bytes = destination.len();
            (bytes, Box::new(move || host::run(&nest, &source, &mut destination).expect("a run")))
        }
        What::Program(program) => of_program(program),
    };
    let (from, mut to) = (vec![1; bytes], vec![0xa5; bytes]);
    let share = bytes.div_ceil(threads).next_multiple_of(4096);
    let mut copy = || {
        if bytes < 1 << 19 {
            to.copy_from_slice(&from);
        } else {
            let chunks = to.par_chunks_mut(share).zip(from.par_chunks(share));
            chunks.for_each(|(to, from): (&mut [u8], _)| to.copy_from_slice(from));
        }
    };
    let [mut ours, mut copied] = [f64::INFINITY; 2];
    let start = Instant::now();
    let mut repetition = 0;
    while repetition < 5 || start.elapsed().as_secs_f64() < LEAST_SECONDS {
        ours = ours.min(seconds(&mut *run));
        copied = copied.min(seconds(&mut copy));
        repetition += 1;
    }
    let moved = 2.0 * bytes as f64 / 1e9;
    let rate = moved / ours;
    let share = rate / (moved / copied).min(MOST_RATE);
    let lines = if share < COUNTED { source_lines(what) } else { 0 };
    let of_lines = share * (bytes + bytes.max(lines * LINE)) as f64 / (2 * bytes) as f64;
    let plan = match what {
        What::Operation(operation) => host::plan(operation.nest(), threads),
        What::Program(program) => {
            program.steps().iter().map(|step| host::plan(step.nest(), threads)).collect()
        }
    };
    Row { name, bytes, share, rate, of_lines, plan }
}

/// Returns the number of cache lines of the sources that contain bytes which are copied.
fn source_lines(what: &What) -> usize {
    let of_nest = |nest: &CopyNest| {
        let mut lines = HashSet::new();
        for unit in 0..nest.dst_units() {
            if let PositionValue::Unit { source, unit } =
                nest.read(unit + nest.dst_base().unsigned_abs())
            {
                lines.insert((source, unit * u64::from(nest.src_bits()) / 8 / LINE as u64));
            }
        }
        lines.len()
    };
    match what {
        What::Operation(operation) => of_nest(operation.nest()),
        What::Program(program) => program.steps().iter().map(|step| of_nest(step.nest())).sum(),
    }
}

fn seconds(run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Returns the size of a program's results in bytes, and a closure that runs the program.
fn of_program(program: &Program) -> (usize, Box<dyn FnMut() + '_>) {
    let parameters: Vec<Vec<u8>> =
        program.parameters().iter().map(|buffer| image(buffer.bytes())).collect();
    let mut results: Vec<Vec<u8>> =
        program.results().iter().map(|buffer| image(buffer.bytes())).collect();
    let bytes = results.iter().map(Vec::len).sum();
    let run = move || {
        let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
        let mut results: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        program.run_on_host_into(&parameters, &mut results).expect("a run");
    };
    (bytes, Box::new(run))
}

/// Compares some elements of the destination with the definition of the nest: [`CHECKED`] of them
/// at equal distances, and the last 300.
fn check(name: &str, nest: &CopyNest, source: &[u8], destination: &[u8]) {
    let bits = |image: &[u8], unit: u64, bits: u32| {
        let value = |bit: u64| u128::from(image[(bit / 8) as usize] >> (bit % 8) & 1);
        (0..u64::from(bits)).map(|n| value(unit * u64::from(bits) + n) << n).sum::<u128>()
    };
    let units = nest.dst_units();
    let step = (units / CHECKED).max(1) | 1;
    for unit in (0..units).step_by(step as usize).chain(units.saturating_sub(300)..units) {
        let (src, dst) = (nest.src_bits(), nest.dst_bits());
        let expected = match nest.read(unit + nest.dst_base().unsigned_abs()) {
            PositionValue::Unit { unit: from, .. } if src == dst && dst.is_multiple_of(8) => {
                let bytes = dst as usize / 8;
                let [from, to] = [from, unit].map(|unit| unit as usize * bytes);
                let equal = destination[to..to + bytes] == source[from..from + bytes];
                assert!(equal, "{name}: unit {unit}");
                continue;
            }
            PositionValue::Unit { unit, .. } => {
                let value = bits(source, unit, src);
                let sign = nest.sign_extend() && value >> (src - 1) & 1 == 1;
                let value = if sign && src < dst { value | u128::MAX << src } else { value };
                value & (u128::MAX >> (128 - dst))
            }
            PositionValue::Bits(value) => value,
            PositionValue::Kept => continue,
        };
        assert_eq!(bits(destination, unit, dst), expected, "{name}: unit {unit}");
    }
}
