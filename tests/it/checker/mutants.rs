//! Checks that the checker rejects kernels whose text was changed.

use std::collections::BTreeMap;

use rayon::prelude::*;
use stridec::{Kernel, Target};

use super::{
    Case, case, check, judge,
    support::{
        random::{self, Random},
        scope,
    },
};

/// A change that breaks a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// Invocations after the last one with work do not return.
    NoBound,
    /// A guard is missing, so that a source is read at offsets that hold no element.
    NoGuard,
    /// The index of a load or a store is increased by one.
    IndexPlusOne,
    /// A store is missing.
    NoStore,
    /// A store is repeated.
    TwoStores,
    /// A number in a statement is increased by one.
    NumberPlusOne,
    /// A number in a statement is decreased by one.
    NumberMinusOne,
}

/// Returns every text that a change of one line makes of `text`.
fn mutants(text: &str) -> Vec<(Change, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim_end().to_owned();
    let mut mutants = Vec::new();
    for (n, &line) in lines.iter().enumerate() {
        let with = |replacement: &str| {
            let mut lines = lines.clone();
            lines[n] = replacement;
            lines.join("\n")
        };
        let code = code(line);
        let is_bound = ["if block >= ", "if word >= "].iter().any(|head| code.contains(head));
        if code.trim_start().starts_with("if ") && code.ends_with('{') {
            let change = if is_bound { Change::NoBound } else { Change::NoGuard };
            mutants.push((change, with("if false {")));
        }
        if code.contains("destination[") {
            mutants.push((Change::NoStore, with("")));
            if code.ends_with(';') {
                mutants.push((Change::TwoStores, with(&format!("{code} {code}"))));
            }
        }
        for buffer in ["source[", "destination["] {
            if let Some((before, after)) = code.split_once(buffer) {
                let changed = format!("{before}{buffer}1u + {after}");
                mutants.push((Change::IndexPlusOne, with(&changed)));
            }
        }
        if code.starts_with("    ") {
            for (start, number) in numbers(&code) {
                let of = |n: u32| {
                    let digits = number.to_string().len();
                    with(&format!("{}{n}{}", &code[..start], &code[start + digits..]))
                };
                if let Some(more) = number.checked_add(1) {
                    mutants.push((Change::NumberPlusOne, of(more)));
                }
                if let Some(less) = number.checked_sub(1) {
                    mutants.push((Change::NumberMinusOne, of(less)));
                }
            }
        }
    }
    mutants
}

/// Returns the decimal `u32` literals of a line, with their positions.
fn numbers(line: &str) -> Vec<(usize, u32)> {
    let mut numbers = Vec::new();
    for (end, _) in line.match_indices('u') {
        let start = line[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let named = line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let goes_on = line[end + 1..].starts_with(|c: char| c.is_alphanumeric());
        if let (false, false, Ok(number)) = (named, goes_on, line[start..end].parse()) {
            numbers.push((start, number));
        }
    }
    numbers
}

#[test]
fn changed_kernels_are_rejected() {
    let cases: Vec<(Target, Case)> = (0..scope::cases(200).max(50))
        .filter_map(|seed| {
            let mut random = Random((seed << 32) + 77);
            let operation = random::operation(&mut random);
            let target = if seed % 2 == 0 { Target::webgpu() } else { Target::webgpu_cpu() };
            let case = case(&mut random, &operation, &target)
                .filter(|case| (64..4096).contains(&case.expected.len()))?;
            judge(&case, &target).unwrap();
            Some((target, case))
        })
        .collect();
    let rejected: Vec<(Change, bool)> = cases
        .par_iter()
        .flat_map_iter(|(target, case)| {
            mutants(&case.kernel.wgsl).into_iter().map(move |(change, wgsl)| {
                let proof = case.kernel.proof().unwrap();
                let mut parts = case.kernel.clone().into_parts();
                parts.wgsl = wgsl;
                let kernel = Kernel::from_parts(parts);
                let verdict = check::check(&kernel, proof, target, &[&case.image], &case.expected);
                (change, verdict.is_err())
            })
        })
        .collect();
    let mut count: BTreeMap<Change, (u32, u32)> = BTreeMap::new();
    for (change, rejected) in rejected {
        let (all, caught) = count.entry(change).or_default();
        *all += 1;
        *caught += u32::from(rejected);
    }
    eprintln!("changes, how many, and how many were rejected: {count:?}");
    for (change, (all, caught)) in count {
        // Some changes have no effect, for example on a guard that another guard implies, or on a
        // factor of an index that is always 0.
        let least = match change {
            Change::NoBound | Change::NoStore | Change::TwoStores => 100,
            Change::IndexPlusOne => 99,
            Change::NoGuard | Change::NumberPlusOne | Change::NumberMinusOne => 80,
        };
        assert!(all >= 20 && caught * 100 >= all * least, "{change:?}: {caught} of {all}");
    }
}
