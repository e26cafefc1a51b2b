//! Compares copies by plans with loops over the axes.

use super::*;
use crate::host::{
    machine::{MACHINES, Machine},
    plan::{LineAlignment, Streams},
    plane::PlanAxis,
    stream::streaming,
};

/// Returns a generator of pseudo-random numbers below a limit.
fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |n| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    }
}

/// Compares copied boxes with loops over their axes, for every instruction set, with and without
/// non-temporal stores. The images are dense, their axes have different orders, and they start at
/// any byte of a cache line.
#[test]
fn boxes_are_moved_and_nothing_else_is_written() {
    let mut below = numbers(11);
    let mut ways = std::collections::BTreeSet::new();
    for case in 0..3_000 {
        let unit: usize = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 64, 72, 128][below(15) as usize];
        let count = 2 + below(3) as usize;
        let most = [60, 24, 10][count - 2];
        let mut extents: Vec<usize> = (0..count)
            .map(|_| match below(4) {
                0 => 2,
                1 => [4, 8, 16, 32][below(4) as usize].min(most as usize),
                _ => 1 + below(most) as usize,
            })
            .collect();
        // Also test rows of several KiB.
        if count == 2 && below(3) == 0 {
            extents[1] = 100 + below(900) as usize;
        }
        // The source has the order of the destination, rotated or reversed.
        let turn = below(count as u64) as usize;
        let order: Vec<usize> = (0..count)
            .map(|n| if below(2) == 0 || turn > 0 { (n + turn) % count } else { count - 1 - n })
            .collect();
        let mut axes: Vec<PlanAxis> =
            extents.iter().map(|&extent| PlanAxis { extent, src: 0, dst: 0 }).collect();
        let (mut src, mut dst) = (unit.cast_signed(), unit.cast_signed());
        for axis in axes.iter_mut().rev() {
            axis.dst = dst;
            dst *= axis.extent.cast_signed();
        }
        for &axis in order.iter().rev() {
            if axes[axis].src == 0 {
                axes[axis].src = src;
                src *= extents[axis].cast_signed();
            }
        }
        ways.insert(compare(&format!("{case}"), &axes, unit, &mut below));
    }
    let seen = |way: &str| ways.iter().any(|of| of.starts_with(way));
    assert!(
        ["Transpose", "Units", "OrderedUnits", "OrderedRuns"].into_iter().all(seen),
        "{ways:?}"
    );
    let of_sets = ["Strips", "UnevenStrips", "Shuffle"];
    assert!(Simd::here().is_none() || of_sets.into_iter().all(seen), "{ways:?}");
}

/// Copies a box with a random instruction set and random streaming, and compares the result with
/// loops over the axes, outermost first, whose strides are positive. Returns the mover of the plan.
fn compare(
    case: &str,
    axes: &[PlanAxis],
    unit: usize,
    below: &mut impl FnMut(u64) -> u64,
) -> String {
    let span = |side: fn(&PlanAxis) -> isize| {
        let steps = axes.iter().map(|axis| (axis.extent - 1) * side(axis).unsigned_abs());
        steps.sum::<usize>() + unit
    };
    let (read, bytes) = (span(|axis| axis.src), span(|axis| axis.dst));
    let source: Vec<u8> = (0..read).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 11) as u8).collect();
    let first = [0, 16, below(64) as usize][below(3) as usize];
    let mut places = vec![(0, 0)];
    for axis in axes {
        let step = |(from, to): (isize, isize)| {
            let steps = 0..axis.extent.cast_signed();
            steps.map(move |n| (from + n * axis.src, to + n * axis.dst))
        };
        places = places.into_iter().flat_map(step).collect();
    }
    let mut out = vec![0xa5; bytes + 256];
    let line = out.as_ptr().addr().wrapping_neg() % LINE + first;
    let mut expected = out.clone();
    for (from, to) in places {
        let (from, to) = (from.unsigned_abs(), line + to.unsigned_abs());
        expected[to..to + unit].copy_from_slice(&source[from..from + unit]);
    }
    let machine = &MACHINES[below(4) as usize];
    let simd = Simd::all(machine).nth(below(4) as usize);
    let streamed = below(3) > 0;
    let streams = Streams {
        machine,
        short: streamed,
        long: streamed,
        cut: streamed,
        start: match first {
            _ if !streamed => LineAlignment::Uneven,
            0 => LineAlignment::Line,
            _ => LineAlignment::Inside,
        },
        per_byte: 1,
        pieces: None,
    };
    let plan = TilePlan::new(axes.iter().copied(), unit, simd, streams);
    let mut destination = DestinationSlices::whole(&mut out[line..line + bytes]);
    let mut room = TileBuffer::default();
    streaming(|stream| {
        let stream = plan.streams.then_some((stream, &mut room));
        BoxCopy { plan: &plan, source: &source, destination: &mut destination, stream }.run(0, 0);
    });
    drop(destination);
    assert_eq!(out, expected, "{case}: {unit} {axes:?} {streams:?} {plan:?}");
    let uneven = plan.columns.dst.iter().any(|offset| offset % LINE.cast_signed() != 0);
    let uneven = if uneven { "Uneven" } else { "" };
    format!("{uneven}{:?} {}", plan.mover, plan.inner.is_some()).replace(char::is_numeric, "")
}

/// Units of which several are interleaved in the source, as between tiles such as `T(8,128)(2,1)`.
/// Some tiles have only a part of the interleaved units.
#[test]
fn interleaved_units_are_moved() {
    let mut below = numbers(5);
    let mut ways = std::collections::BTreeSet::new();
    for case in 0..2_000 {
        let (unit, run, group) =
            [(1, 4, 4), (2, 2, 2), (1, 2, 8), (2, 4, 2), (1, 4, 2), (2, 2, 4)][below(6) as usize];
        let present = if below(3) == 0 { 1 + below(group as u64) as usize } else { group };
        let most = [4, 20, 150][below(3) as usize];
        let [lanes, outer] = [(); 2].map(|()| 1 + below(most) as usize);
        let axis = |extent: usize, src: usize, dst: usize| PlanAxis {
            extent,
            src: (src * unit).cast_signed(),
            dst: (dst * unit).cast_signed(),
        };
        let block = run * group;
        // The lanes follow each other in the source, or in the destination.
        let (of_lanes, of_outer) =
            if below(2) == 0 { (block, block * lanes) } else { (block * outer, block) };
        let axes = [
            axis(present, 1, run * lanes * outer),
            axis(outer, of_outer, run * lanes),
            axis(lanes, of_lanes, run),
            axis(run, group, 1),
        ];
        ways.insert(compare(&format!("{case}"), &axes, unit, &mut below));
    }
    let permuted = |way: &String| way.starts_with("Transpose") && way.ends_with("true");
    assert!(Simd::here().is_none() || ways.iter().any(permuted), "{ways:?}");
}

/// Compares the places that a plan moves, with units of length 1, with loops over the axes.
#[test]
fn tiles_cover_a_box() {
    let mut below = numbers(7);
    for case in 0..20_000 {
        let mut dst = 1;
        let mut axes: Vec<PlanAxis> = (0..=below(5))
            .map(|_| {
                let extent = 1 + below(6) as usize;
                let src = [1, 2, 3, 7, 12, -1, -3, 40, 0][below(9) as usize];
                let axis = PlanAxis { extent, src, dst };
                dst *= extent.cast_signed() + [0, 0, 0, 3][below(4) as usize];
                axis
            })
            .collect();
        axes.reverse();
        // Units of 8 bytes have tiles that are small enough for these boxes.
        for axis in &mut axes {
            (axis.src, axis.dst) = (8 * axis.src, 8 * axis.dst);
        }
        let mut expected = vec![(0, 0)];
        for axis in &axes {
            let steps = 0..axis.extent.cast_signed();
            let step = |(from, to): (isize, isize)| {
                steps.clone().map(move |n| (from + n * axis.src, to + n * axis.dst))
            };
            expected = expected.into_iter().flat_map(step).collect();
        }
        let plan = TilePlan::new(axes.iter().copied(), 8, None, Streams::none(Machine::here()));
        let mut found = Vec::new();
        let base = 80_000;
        each_tile(&plan, base + plan.start.0, plan.start.1, &mut |tile| {
            each_unit(&tile, |from, to| {
                for n in (0..plan.unit.cast_signed()).step_by(8) {
                    found.push((from.cast_signed() - base + n, to + n));
                }
            });
        });
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{case}: {axes:?} {plan:?}");
    }
}
