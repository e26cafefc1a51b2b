//! Compares copies through a buffer with loops over the axes of their boxes.

use super::{
    super::{
        bits::{load, store},
        machine::MACHINES,
    },
    *,
};

/// Returns a generator of pseudo-random numbers below a bound.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    move |bound| rng.u64(..bound)
}

/// Returns random axes, outermost first, the number of units of the source and of the destination,
/// and the index of the first source unit. The destination is contiguous except for gaps. The
/// source has gaps and another order; some axes are reversed in it, and some do not move in it.
fn random_axes(below: &mut impl FnMut(u64) -> u64) -> (Vec<PlanAxis>, [usize; 2], isize) {
    let rank = 1 + below(4) as usize;
    let mut axes = vec![PlanAxis { extent: 1, src: 0, dst: 0 }; rank];
    let mut units = [1_usize; 2];
    for axis in axes.iter_mut().rev() {
        axis.extent = 1 + below(if rank < 3 { 40 } else { 9 }) as usize;
        axis.dst = units[1].cast_signed();
        units[1] = units[1] * axis.extent + [0, 0, 0, 3][below(4) as usize];
    }
    let mut order: Vec<usize> = (0..rank).collect();
    for number in (1..rank).rev() {
        order.swap(number, below(number as u64 + 1) as usize);
    }
    let mut first = 0;
    for axis in order {
        let PlanAxis { extent, src, .. } = &mut axes[axis];
        if below(10) == 0 {
            continue;
        }
        *src = units[0].cast_signed();
        units[0] = units[0] * *extent + [0, 0, 1, 5, 90][below(5) as usize];
        if below(4) == 0 {
            first += (*extent - 1).cast_signed() * *src;
            *src = -*src;
        }
    }
    (axes, units, first)
}

/// Returns the source and destination unit of every position.
fn places(axes: &[PlanAxis], first: isize) -> Vec<(usize, usize)> {
    let mut places = vec![(first, 0)];
    for axis in axes {
        let steps = |(from, to): (isize, isize)| {
            (0..axis.extent.cast_signed()).map(move |n| (from + n * axis.src, to + n * axis.dst))
        };
        places = places.into_iter().flat_map(steps).collect();
    }
    places.into_iter().map(|(from, to)| (byte_index(from), byte_index(to))).collect()
}

/// Returns random small sizes, so that boxes have several tiles, or sometimes `large`.
fn sizes(below: &mut impl FnMut(u64) -> u64, large: TileSizes) -> TileSizes {
    let [piece, run, tile] = [1 + below(40), 1 + below(40), 1 + below(400)].map(|n| n as usize);
    let step = below(20) as usize;
    if below(4) == 0 { large } else { TileSizes { piece, run, tile, step } }
}

#[test]
fn bytes_through_a_buffer_are_those_of_the_source() {
    let mut below = numbers(1);
    let (mut several, mut dense) = (0, 0);
    for case in 0..4000 {
        let machine = &MACHINES[case % MACHINES.len()];
        let (mut axes, units, first) = random_axes(&mut below);
        let unit = [1, 1, 2, 3, 4, 8, 16][below(7) as usize];
        let pairs = places(&axes, first);
        let source: Vec<u8> = (0..units[0] * unit).map(|n| ((n * 167) >> 3) as u8).collect();
        let mut expected = vec![0xa5; units[1] * unit];
        for (from, to) in pairs {
            expected[to * unit..][..unit].copy_from_slice(&source[from * unit..][..unit]);
        }
        for axis in &mut axes {
            axis.src *= unit.cast_signed();
            axis.dst *= unit.cast_signed();
        }
        let axes = merged(axes);
        let tile = TileChoice::new(&axes, unit, sizes(&mut below, WHOLE));
        let simd = Simd::all(machine).nth(below(4) as usize);
        let copy = StagedCopy::of_tile(machine, &axes, (unit, simd), &tile, false);
        dense += usize::from(matches!(copy.gatherer, Gatherer::Pattern(_)));
        several += usize::from(!copy.loops.is_empty() && copy.size > 1);
        let mut out = vec![0xa5; expected.len()];
        let mut buffers = StagingBuffers::default();
        let from = first * unit.cast_signed();
        let mut slices = DestinationSlices::whole(&mut out);
        copy.run_bytes((&source, from), (&mut slices, 0), &mut buffers.source);
        drop(slices);
        assert_eq!(out, expected, "{case}: {unit} {axes:?} {copy:?}");
    }
    assert!(several > 500, "{several} cases with several tiles");
    assert!(
        Simd::best(Machine::here()).is_none() || dense > 200,
        "{dense} cases with gaps in their pieces"
    );
}

#[test]
fn packed_units_through_a_buffer_are_those_of_the_source() {
    let mut below = numbers(2);
    let mut several = 0;
    for case in 0..4000 {
        let machine = &MACHINES[case % MACHINES.len()];
        let (axes, units, first) = random_axes(&mut below);
        let [src, dst] = [0; 2].map(|_| [1, 2, 4, 8][below(4) as usize]);
        let bits = Bits { src, dst, sign_extend: below(2) == 0 };
        let shift = below(9) as usize;
        let source: Vec<u8> = (0..(shift + units[0]) * src as usize)
            .step_by(8)
            .map(|n| ((n * 167) >> 3) as u8)
            .collect();
        let mut expected = vec![0xa5; ((shift + units[1]) * dst as usize).div_ceil(8)];
        let mut out = expected.clone();
        for (from, to) in places(&axes, first) {
            let value = bits.resize(load(&source, shift + from, src));
            store(&mut expected, shift + to, dst, value);
        }
        let axes = merged(axes);
        let tile = TileChoice::new(&axes, 1, sizes(&mut below, PACKED));
        let copy = StagedCopy::of_tile(machine, &axes, (1, Simd::best(machine)), &tile, true);
        several += usize::from(!copy.loops.is_empty() && copy.size > 1);
        let mut buffers = StagingBuffers::default();
        let from = first + shift.cast_signed();
        let mut slices = DestinationSlices::whole(&mut out);
        let to = (&mut slices, shift.cast_signed());
        copy.run_packed(bits, (&source, from), to, &mut buffers);
        drop(slices);
        assert_eq!(out, expected, "{case}: {bits:?} {axes:?} {copy:?}");
    }
    assert!(several > 500, "{several} cases with several tiles");
}

/// If runs were short, more time would go to the bytes at their ends.
#[test]
fn packed_units_are_packed_in_runs() {
    for (outer, inner) in [(1000_usize, 1001_usize), (96, 12 * 118)] {
        let axes = [
            PlanAxis { extent: outer, src: 1, dst: inner.cast_signed() },
            PlanAxis { extent: inner, src: outer.cast_signed(), dst: 1 },
        ];
        let copy = StagedCopy::of_packed(&MACHINES[3], axes);
        let (runs, length) = copy.packed.expect("a third pass");
        assert!(length >= 16, "{} runs of {length} units", runs.len());
    }
}

/// Each run of the destination that takes units of a piece counts as one place.
#[test]
fn a_piece_belongs_to_several_runs() {
    let axes = [
        PlanAxis { extent: 76, src: 4, dst: 189 },
        PlanAxis { extent: 3, src: 1, dst: 63 },
        PlanAxis { extent: 63, src: 45_056, dst: 1 },
    ];
    let tile = TileChoice::new(&axes, 1, WHOLE);
    assert_eq!(tile.in_piece[..], [true, true, false]);
    assert!(tile.reuse > 8, "{} places", tile.reuse);
}
