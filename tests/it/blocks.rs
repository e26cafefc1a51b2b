//! Checks that the blocks of every candidate read and write the right elements. A block is the part
//! of a copy that one invocation moves. The test computes the offsets from the block itself, as the
//! WGSL writer does, without a kernel.

use std::collections::BTreeMap;

use stridec::{
    internals::{Block, Inspect, RowAlignment, block_of_candidate, block_of_schedule},
    nest::{self, PositionValue, Value},
    request::{Operation, Tensor},
    schedule::{Strategy, Target, candidates},
    window::Slice,
};

use super::support::{
    random::{self, Random},
    scope::cases,
};

/// Returns the first step of block `number` along each axis of the nest, computed from the number
/// of the invocation as a kernel computes it.
fn first_steps(block: &Block, mut number: u64) -> Vec<u64> {
    let mut steps = vec![0; block.axes().len()];
    for lane in block.digits() {
        let axis = block.axes().iter().position(|side| side.number == lane.axis).unwrap();
        steps[axis] += number % lane.extent * lane.step * block.axes()[axis].steps;
        number /= lane.extent;
    }
    assert_eq!(number, 0, "the lanes count fewer blocks than there are");
    steps
}

/// Checks every block and every seam of a schedule. Reads the nest unit by unit.
fn check(block: &Block) {
    let nest = block.nest();
    let context = || format!("{block:?}\n{nest}");
    assert!(nest.is_exact(), "{}", context());
    let (sides, outermost, store) = (block.axes(), block.outermost_of_run(), block.store());
    let unit = sides[outermost].dst_stride;
    let places = |steps: &[u64]| -> u64 {
        sides.iter().zip(steps).map(|(side, step)| side.dst_stride * step).sum()
    };
    let accesses = nest.dst_units().div_ceil(store);
    let mut written = vec![0_u8; usize::try_from(accesses).unwrap()];
    let mut blocks = 0;
    for number in 0..block.numbers() {
        let first = first_steps(block, number);
        if first.iter().zip(sides).any(|(&step, side)| step >= side.covered) {
            continue;
        }
        blocks += 1;
        let lead = match block.row_alignment() {
            RowAlignment::Computed => {
                let row: u64 = places(&first[..outermost]) / unit;
                (block.steps_per_access() - row % block.steps_per_access())
                    % block.steps_per_access()
            }
            RowAlignment::Aligned | RowAlignment::Fixed => 0,
        };
        let write = places(&first) + lead * unit;
        assert_eq!(write % store, 0, "{}", context());
        // For each unit that the block stores: its offset in the destination, and its distance in
        // the source from the first unit.
        let mut units = Vec::new();
        for run in block.runs() {
            let is_past = |axis: usize, step| first[axis] + step >= sides[axis].covered;
            let is_last = is_past(outermost, sides[outermost].steps);
            if (0..outermost).any(|axis| is_past(axis, run.steps[axis])) || run.is_cut && is_last {
                continue;
            }
            let offsets = block.run_units();
            for (access, offsets) in (0..).zip(offsets.chunks(usize::try_from(store).unwrap())) {
                let last = (access * store + store - 1) / unit;
                if access > 0 && is_past(outermost, last) {
                    continue;
                }
                let place = write / store + run.place + access;
                written[usize::try_from(place).unwrap()] += 1;
                let moved = lead.cast_signed() * sides[outermost].src_stride;
                let offset = |offset: &i64| run.src + offset + moved;
                units.extend((place * store..).zip(offsets.iter().map(offset)));
            }
        }
        assert!(!units.is_empty(), "a block stores nothing\n{}", context());
        let reads: Vec<PositionValue> = units.iter().map(|&(place, _)| nest.read(place)).collect();
        if block.varying_guards().next().is_some() && reads.iter().any(|read| read.unit().is_none())
        {
            continue; // such blocks are moved unit by unit
        }
        // Maps an axis of the tiled nest to the number of the block along that axis.
        let at = |value: Value| match value {
            Value::Axis(axis) => {
                let side = sides.iter().position(|side| side.number == axis).unwrap();
                (first[side] / sides[side].steps).cast_signed()
            }
            _ => 0,
        };
        let base = match (reads[0], nest.quotients()) {
            (PositionValue::Unit { unit: read, .. }, []) => {
                let form = block.src();
                let terms = form.terms().iter().map(|&(value, weight)| weight * at(value));
                let base = form.offset() + terms.sum::<i64>();
                assert_eq!(base + units[0].1, read.cast_signed(), "{}", context());
                base
            }
            (PositionValue::Unit { unit: read, .. }, _) => read.cast_signed() - units[0].1,
            (PositionValue::Bits(_) | PositionValue::Kept, _) => 0,
        };
        for (&(_, offset), &read) in units.iter().zip(&reads) {
            // Each guard has the same result for all units of the block.
            match (reads[0], read) {
                (PositionValue::Bits(first), PositionValue::Bits(bits)) => {
                    assert_eq!(bits, first, "{}", context());
                }
                (PositionValue::Unit { .. }, PositionValue::Unit { unit: read, .. }) => {
                    assert_eq!(read.cast_signed(), base + offset, "{}", context());
                }
                _ => panic!("one unit is read and another is not\n{}", context()),
            }
        }
    }
    assert_eq!(blocks, block.count(), "{}", context());
    if let Some(seam) = block.seam() {
        for row in 0..seam.rows {
            let words = seam.after_blocks(row)..seam.first(row + 1);
            // If the blocks write all whole accesses of the rows, a row that ends at the end of an
            // access has an empty seam.
            let least = u64::from(seam.covered.is_some());
            let lengths = least..=seam.longest();
            assert!(lengths.contains(&(words.end - words.start)), "{}", context());
            words.for_each(|word| written[usize::try_from(word).unwrap()] += 1);
        }
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
    for case in 0..cases {
        let make = [random::operation, random::runs][usize::from(case % 2 == 1)];
        let operation = make(&mut random);
        let (from, to) = (&operation.source, &operation.destination);
        let Ok(nest) = nest::lower(from, to, &operation.window) else { continue };
        for target in targets() {
            for candidate in candidates(nest.clone(), &target) {
                let schedule = candidate.schedule(&target).unwrap();
                *count.entry(schedule.strategy()).or_insert(0) += 1;
                if let Some(block) = block_of_schedule(&schedule) {
                    let seams = block.seam().map_or(0, |seam| seam.rows);
                    let (numbers, group) = (block.numbers(), 8 * block.rounds());
                    let invocations = match block.rounds() {
                        1 => numbers + seams,
                        _ => numbers / group * 8 + (numbers % group).min(8),
                    };
                    assert_eq!(schedule.invocations(), invocations);
                    check(block);
                }
            }
        }
    }
    assert!(count.values().all(|&count| count > cases / 60) && count.len() == 5, "{count:?}");
}

/// Shapes with rows that start inside words, extents that blocks do not divide, channels, and
/// mirrored and strided rows. All of them have blocks, and none is gathered on a CPU.
#[test]
fn everyday_shapes_have_blocks() {
    for (from, to, window) in [
        ("u8[3,24,41]", "{0,2,1}", None),
        ("u8[64,81,3]", "{1,0,2}", None),
        ("u8[61,67]", "{0,1}", None),
        ("bf16[61,67]", "{0,1}", None),
        ("f32[253,259]", "{0,1}", None),
        ("f16[5,67,61]", "{1,2,0}", None),
        ("u8[5,4,61]", "{1,2,0}", None),
        ("f32[3,3,3,3,3,3]", "{0,1,2,3,4,5}", None),
        ("s4[33,71]", "{1,0:E(4)}", None),
        ("s4[64,48]{1,0:E(4)}", "{0,1}", None),
        ("u8[33,71]{1,0:PAD(33,80,zero)}", "{1,0}", None),
        ("u8[32,64]", "{1,0}", Some((&[0, 0][..], &[32, 64][..], &[1, 2][..]))),
        ("u8[32,317]", "{1,0}", Some((&[0, 3], &[32, 314], &[1, -3]))),
        ("u8[16,32,3]", "{2,1,0}", Some((&[0, 0, 0], &[16, 32, 3], &[1, -1, 1]))),
    ] {
        let source: Tensor = from.parse().unwrap();
        let operation = match window {
            None => {
                let to = format!("{}{to}", from.split('{').next().unwrap());
                Operation::relayout(source, to.parse().unwrap()).unwrap()
            }
            Some((offsets, sizes, strides)) => {
                let numbers =
                    |list: &[i64]| list.iter().map(|n| n.unsigned_abs()).collect::<Vec<_>>();
                let slice = Slice::new(numbers(offsets), numbers(sizes), strides.to_vec());
                Operation::slice(source, &slice, None).unwrap()
            }
        };
        for target in targets() {
            let all = candidates(operation.nest().clone(), &target);
            let blocks: Vec<&Block> = all.iter().filter_map(block_of_candidate).collect();
            assert!(!blocks.is_empty(), "{from} to {to} on {}", target.name);
            blocks.into_iter().for_each(check);
        }
        let schedule = operation.schedule(&Target::webgpu_cpu()).unwrap();
        assert!(block_of_schedule(&schedule).is_some(), "{from} to {to}: {schedule}");
    }
}

/// A nest with a guard on twice the innermost loop counter. A block may take two steps along that
/// loop only if the guard has the same result for both. The smallest such case is `f32[20]` in
/// tiles of 16, stored in pairs.
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
                        (candidate.strategy(), block_of_candidate(&candidate))
                    {
                        check(block);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 40, "{checked}");
}

/// A dispatch in 1, 2 or 3 dimensions has all invocations and stays within the limit of each
/// dimension.
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
