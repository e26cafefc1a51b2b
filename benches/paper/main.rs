//! A model of a GPU on paper: the work of its memory and its cores for stridec's kernels, counted
//! by running the text of the kernels.
//!
//! ```text
//! cargo bench --no-default-features --bench paper -- [--cases ttc24|everyday] [--only TEXT] [--waves 2] [--target NAME]
//!     [--table FILE.md] [--texts]
//! ```
//!
//! The interpreter of `tests/it/checker` runs every invocation in some waves of workgroups from the
//! middle of the dispatch; `--waves` sets the number of waves. `machine.rs` models the caches
//! between the invocations and the memory. Two counts are given as multiples of the least possible:
//! the sectors of 32 bytes between the cores and the second-level cache, and the sectors between
//! this cache and the memory. Operations are the instructions of a warp (`instructions.rs`) for
//! each 16 bytes of the destination, as a multiple of the identity kernel's.

#![allow(unreachable_pub, clippy::cast_precision_loss)]

#[path = "../../tests/it/checker/arithmetic.rs"]
mod arithmetic;
#[path = "../support/everyday.rs"]
mod everyday;
mod fuse;
mod instructions;
#[path = "../../tests/it/checker/interpret.rs"]
mod interpret;
mod kernel;
mod machine;
#[path = "../support/permutation.rs"]
mod permutation;
#[path = "../support/timing.rs"]
mod timing;
#[path = "../../tests/it/checker/value.rs"]
mod value;
mod warp;
#[path = "../../tests/it/checker/watch.rs"]
mod watch;

use std::{error::Error, fmt::Write as _, fs};

use kernel::{Counts, count};
use rayon::prelude::*;
use stridec::{Operation, Target, Tensor, schedule::candidates, shape::ElementType};
use timing::{geomean, option};

/// The row of a case in the table.
struct Row {
    name: String,
    kernel: String,
    /// The size of an element, in bits.
    bits: u32,
    counts: Counts,
    /// The operations for each 16 bytes, as a multiple of the identity kernel's.
    operations: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let target = Target::preset(&option("--target").unwrap_or_else(|| "webgpu".to_owned()))?;
    let waves = option("--waves").map_or(Ok(2), |n| n.parse())?;
    let only = option("--only").unwrap_or_default();
    let cases = cases(option("--cases").as_deref())?;
    let cases: Vec<_> = cases.into_iter().filter(|(name, _)| name.contains(&only)).collect();
    if std::env::args().any(|argument| argument == "--texts") {
        return texts(&cases, &target);
    }
    let flat = || Tensor::dense(ElementType::F32, [1 << 22]);
    let identity = count(&Operation::relayout(flat()?, flat()?)?, &target, 1)?.1;
    println!("identity: {:.2} operations for each 16 bytes", identity.operations_per_16_bytes());
    let rows: Vec<Row> = cases
        .into_par_iter()
        .map(|(name, operation)| {
            let (kernel, counts) =
                count(&operation, &target, waves).map_err(|error| format!("{name}: {error}"))?;
            let operations = counts.operations_per_16_bytes() / identity.operations_per_16_bytes();
            let bits = operation.destination_descriptor().element_bits();
            Ok(Row { name, kernel, bits, counts, operations })
        })
        .collect::<Result<_, String>>()?;
    let text = table(&rows);
    print!("{text}");
    option("--table").map_or(Ok(()), |file| fs::write(file, text))?;
    Ok(())
}

/// Prints the candidates and the kernel of each case.
fn texts(cases: &[(String, Operation)], target: &Target) -> Result<(), Box<dyn Error>> {
    for (name, operation) in cases {
        println!("// {name}");
        for candidate in candidates(operation.nest().clone(), target) {
            println!("//   {candidate}");
        }
        println!("{}", operation.compile(target)?.wgsl);
    }
    Ok(())
}

/// Returns the named cases: TTC-57 at 24 MiB, the everyday cases, or both.
fn cases(named: Option<&str>) -> Result<Vec<(String, Operation)>, Box<dyn Error>> {
    let mut cases = Vec::new();
    if !matches!(named, None | Some("ttc24" | "everyday")) {
        return Err("--cases: expected ttc24 or everyday".into());
    }
    if named != Some("everyday") {
        for one in permutation::ttc(include_str!("../data/ttc57_24MiB.json"))? {
            let [source, destination] = one.sides(ElementType::F32)?;
            cases.push((
                one.name,
                Operation::relayout(source.try_into()?, destination.try_into()?)?,
            ));
        }
    }
    if named != Some("ttc24") {
        let everyday = everyday::everyday()?.into_iter();
        cases.extend(everyday.map(|one| (one.name, one.operation)));
    }
    Ok(cases)
}

/// Returns the table, and the numbers that bound the goals.
fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| case | kernel | read | written | sectors | of memory | operations |\n|---|---|---|---|---|---|---|\n",
    );
    for Row { name, kernel, counts, operations, .. } in rows {
        let _ = writeln!(
            text,
            "| {name} | {kernel} | {:.2} | {:.2} | {:.2} | {:.2} | {operations:.1} |",
            counts.cache.read_ratio(),
            counts.cache.written_ratio(),
            counts.cache.ratio(),
            counts.memory.ratio(),
        );
    }
    let mut summary = |what: &str, goal: &str, of: &dyn Fn(&Row) -> Option<f64>| {
        let all: Vec<(f64, &str)> =
            rows.iter().filter_map(|row| Some((of(row)?, row.name.as_str()))).collect();
        let Some(most) = all.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        let _ = writeln!(
            text,
            "\n{what}: geomean {:.3}, most {:.2} ({}); goal {goal}",
            geomean(all.iter().map(|one| one.0)),
            most.0,
            most.1
        );
    };
    summary("sectors", "1.1, none above 1.5", &|row| Some(row.counts.cache.ratio()));
    summary("of memory", "1.1, none above 1.5", &|row| Some(row.counts.memory.ratio()));
    summary("operations, elements of 4 bytes and more", "2", &|row| {
        (row.bits >= 32).then_some(row.operations)
    });
    summary("operations, smaller elements", "4", &|row| (row.bits < 32).then_some(row.operations));
    text
}
