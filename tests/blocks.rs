//! What the blocks of every candidate read and write, counted without a kernel: the plan that the WGSL writer follows.

mod support;

use std::collections::BTreeMap;

use stridec::{
    nest::{self, CopyNest, Taken, Value},
    request::{Operation, Tensor},
    schedule::{AdapterKind, Block, Strategy, Target, candidates},
};
use support::{
    random::{self, Random},
    scope::cases,
};

/// The walk position of a cell, given its axes.
fn position(nest: &CopyNest, axes: &[u64]) -> u64 {
    nest.axes().zip(axes).map(|(axis, at)| axis.dst_stride * at).sum()
}

/// The axes of block `number`, those inside it 0: what a kernel computes from its invocation's number.
fn first_cell(block: &Block, kind: AdapterKind, mut number: u64) -> Vec<u64> {
    let mut axes = vec![0; block.nest().extents().len()];
    for lane in block.lanes(kind) {
        axes[lane.axis] += number % lane.extent * lane.step;
        number /= lane.extent;
    }
    assert_eq!(number, 0, "the lanes count fewer blocks than there are");
    axes
}

/// Checks every block of a schedule, reading the nest cell by cell.
fn check(block: &Block, kind: AdapterKind) {
    let nest = block.nest();
    let context = || format!("{block:?}\n{nest}");
    assert!(nest.is_exact(), "{}", context());
    let mut written = vec![0_u8; usize::try_from(nest.dst_units()).unwrap()];
    for number in 0..block.count() {
        let axes = first_cell(block, kind, number);
        let cell = |row: u64, column: u64| {
            let mut axes = axes.clone();
            axes[block.dst_axis()] = row;
            if let Some(axis) = block.src_axis() {
                axes[axis] = column;
            }
            position(nest, &axes)
        };
        let first = nest.read(cell(0, 0));
        if let Some(read) = first.unit() {
            let at = |value: Value| match value {
                Value::Axis(axis) => axes[axis].cast_signed(),
                _ => 0,
            };
            if nest.quotients().is_empty() {
                assert_eq!(block.src().evaluate(at), read.cast_signed(), "{}", context());
            }
        }
        for column in 0..block.width() {
            // One run of the destination: whole accesses, and neighbours.
            let start = cell(0, column);
            assert_eq!(start % block.store(), 0, "{}", context());
            assert_eq!(block.rows() % block.store(), 0, "{}", context());
            for row in 0..block.rows() {
                let place = cell(row, column);
                assert_eq!(place, start + row, "{}", context());
                written[usize::try_from(place).unwrap()] += 1;
                // One guard for all of a block, and one step of the source for each axis.
                let along = |axis: usize| nest.src().weight(Value::Axis(axis));
                let (down, across) = (along(block.dst_axis()), block.src_axis().map_or(0, along));
                let step = row.cast_signed() * down + column.cast_signed() * across;
                let expected = match first {
                    Taken::Unit { source, unit } => {
                        Taken::Unit { source, unit: unit.wrapping_add_signed(step) }
                    }
                    bits @ Taken::Bits(_) => bits,
                };
                assert_eq!(nest.read(place), expected, "{}", context());
            }
        }
        // Each run of the source: neighbours, from a whole access on where accesses are wider than a unit.
        let run_axis = block.src_axis().unwrap_or(block.dst_axis());
        let is_strided = block.src_axis().is_none() && block.load() == 1 && nest.src_bits() >= 32;
        if nest.extents()[run_axis] > 1 && !is_strided {
            assert_eq!(nest.src().weight(Value::Axis(run_axis)), 1, "{}", context());
        }
        for run in 0..block.source_runs() {
            let Some(read) = nest.read(cell(run, 0)).unit() else { continue };
            assert_eq!(read % block.load(), 0, "{}", context());
        }
        let units = block.loads_of_run() * block.loaded_units();
        let length = if block.src_axis().is_some() { block.width() } else { block.rows() };
        assert_eq!(units, length, "{}", context());
    }
    assert!(written.iter().all(|&times| times == 1), "{}", context());
}

fn targets() -> [Target; 2] {
    [Target::webgpu(), Target::webgpu_cpu()]
}

#[test]
fn every_unit_is_written_once_from_the_unit_that_the_nest_reads() {
    let (mut random, cases) = (Random(21), cases(3_000));
    let mut count = BTreeMap::new();
    for _ in 0..cases {
        let operation = random::operation(&mut random);
        let (from, to) = (&operation.source, &operation.destination);
        let Ok(nest) = nest::lower(from, to, &operation.window) else { continue };
        for target in targets() {
            for candidate in candidates(nest.clone(), &target) {
                let schedule = candidate.schedule(&target).unwrap();
                *count.entry(schedule.strategy()).or_insert(0) += 1;
                if let Some(block) = schedule.block() {
                    assert_eq!(schedule.invocations(), block.count());
                    check(block, target.kind);
                }
            }
        }
    }
    assert!(count.values().all(|&count| count > cases / 60) && count.len() == 5, "{count:?}");
}

/// A guard that weighs the source's run by 2: a block may take two steps of it only where the guard tells them not
/// apart. `f32[20]` in tiles of 16, stored by pairs, is the least such case.
#[test]
fn a_guard_that_weighs_its_axis_is_the_same_for_a_whole_block() {
    let mut checked = 0;
    for size in 1..130 {
        for (from, to) in [("T(2)(4,1)", "T(16)(2)"), ("T(4)(8,1)", "T(32)(4)")] {
            let tensor = |tile| -> Tensor { format!("f32[{size}]{{0:{tile}}}").parse().unwrap() };
            let operation = Operation::relayout(tensor(from), tensor(to)).unwrap();
            for target in targets() {
                operation.compile(&target).unwrap();
                for candidate in candidates(operation.nest().clone(), &target) {
                    if let (Strategy::Transpose, Some(block)) =
                        (candidate.strategy(), candidate.block())
                    {
                        check(block, target.kind);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

/// Every dispatch covers its invocations within the limits of one dimension, in 1, 2 or 3 dimensions.
#[test]
fn dispatches_stay_within_the_limits() {
    let mut dimensions = BTreeMap::new();
    for elements in [1_u64, 31, 32, 33, 1000, 4096, 70_000] {
        for limit in [1, 2, 3, 5, 8, 40, 65_535] {
            for size in [1, 32, 256] {
                let mut target = Target::webgpu();
                target.max_compute_workgroups_per_dimension = limit;
                target.max_compute_invocations_per_workgroup = size;
                let side: Tensor = format!("c128[{elements}]").parse().unwrap();
                let operation = Operation::relayout(side.clone(), side).unwrap();
                let most = u64::from(limit).pow(3);
                let needed = elements.div_ceil(size.into());
                match operation.schedule(&target) {
                    Ok(schedule) => {
                        let workgroups = schedule.workgroups();
                        let groups: u64 = workgroups.iter().map(|&n| u64::from(n)).product();
                        assert!(
                            groups * u64::from(schedule.workgroup_size()) >= schedule.invocations()
                        );
                        assert!(workgroups.iter().all(|&n| (1..=limit).contains(&n)));
                        let used = workgroups.iter().filter(|&&n| n > 1).count();
                        *dimensions.entry(used).or_insert(0) += 1;
                    }
                    Err(error) => {
                        assert!(needed > most, "{error}: {elements} by {size} in {limit}");
                        let text = error.to_string();
                        assert!(text.starts_with("dispatch: "), "{text}");
                        assert!(text.contains(&format!(" got {needed};")), "{text}");
                    }
                }
            }
        }
    }
    assert!((0..=3).all(|used| dimensions[&used] > 3), "{dimensions:?}");
}
