//! Reshards of 256 and 512 MiB over four ranks, from memory to memory. `benches/mpi/run.sh`
//! compares them with other implementations.
#![allow(unsafe_code)]

use std::time::Instant;

use mpi_sys::{
    MPI_Allreduce, MPI_Barrier, MPI_SUCCESS, RSMPI_COMM_WORLD, RSMPI_MAX, RSMPI_UINT64_T,
};
use stridec::{
    mpi::{Exchange, World},
    reshard::Shards,
    shape::Shape,
    sharding::{Placement, Sharding},
    stride::StrideDescriptor,
};

const RUNS: usize = 7;

/// The name, the array, both shardings and both layouts of each case.
const CASES: [[&str; 6]; 6] = [
    [
        "rows to columns, row-major",
        "f32[8192,8192]",
        "{devices=[4,1]<=[4]}",
        "{devices=[1,4]<=[4]}",
        "{1,0}",
        "{1,0}",
    ],
    [
        "rows to columns, column-major",
        "f32[8192,8192]",
        "{devices=[4,1]<=[4]}",
        "{devices=[1,4]<=[4]}",
        "{1,0}",
        "{0,1}",
    ],
    [
        "rows to columns, tiles that are cut",
        "f32[8000,8000]",
        "{devices=[4,1]<=[4]}",
        "{devices=[1,4]<=[4]}",
        "{1,0}",
        "{1,0:T(8,128)}",
    ],
    [
        "squares to rows, f64 column-major",
        "f64[8192,8192]",
        "{devices=[2,2]<=[2,2]T(1,0)}",
        "{devices=[4,1]<=[4]}",
        "{0,1}",
        "{0,1}",
    ],
    [
        "36² to 128² blocks, f64 column-major",
        "f64[8192,8192]",
        "{devices=[2,2]<=[4] blocks=[36,36]}",
        "{devices=[2,2]<=[4] blocks=[128,128]}",
        "{0,1}",
        "{0,1}",
    ],
    [
        "32² to 128² blocks, f64 column-major",
        "f64[8192,8192]",
        "{devices=[2,2]<=[4] blocks=[32,32]}",
        "{devices=[2,2]<=[4] blocks=[128,128]}",
        "{0,1}",
        "{0,1}",
    ],
];

fn main() {
    let world = World::join().unwrap();
    for [name, shape, from, to, from_layout, to_layout] in CASES {
        let shape: Shape = shape.parse().unwrap();
        let place = |sharding: &str| -> Placement {
            sharding.parse::<Sharding>().unwrap().place(&shape, None).unwrap()
        };
        let shards =
            |layout: &str| Shards { layout: Some(layout.parse().unwrap()), ..Shards::default() };
        let (from, to) = (place(from), place(to));
        let sides = ((&from, &shards(from_layout)), (&to, &shards(to_layout)));
        let exchange = Exchange::new(&world, &shape, sides.0, sides.1, None).unwrap();
        let bytes = |(placement, shards): (&Placement, &Shards)| {
            let shard = shards.shape(&shape, placement, world.rank()).unwrap().unwrap();
            let bytes = StrideDescriptor::try_from(&shard).unwrap().image_bytes();
            usize::try_from(bytes).unwrap()
        };
        let source: Vec<u8> = (0..bytes(sides.0)).map(|at| at.to_le_bytes()[at % 3]).collect();
        let mut destination = vec![1; bytes(sides.1)];
        let both = source.len().min(destination.len());
        let copy = best(|| destination[..both].copy_from_slice(&source[..both]));
        destination.fill(0);
        let moved = best(|| exchange.run(&source, &mut destination).unwrap());
        if world.rank() == 0 {
            println!(
                "{name:36} stridec {:6.1} ms, median {:6.1}, copy of all shards {:.1}",
                moved.0, moved.1, copy.0
            );
        }
    }
}

/// Returns the shortest and the median time of all ranks together, in milliseconds.
fn best(mut run: impl FnMut()) -> (f64, f64) {
    run();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let mut longest = 0_u64;
            // SAFETY: MPI is initialised, and each pointer points to one number.
            unsafe {
                assert_eq!(MPI_Barrier(RSMPI_COMM_WORLD), MPI_SUCCESS.cast_signed());
                let start = Instant::now();
                run();
                let own = u64::try_from(start.elapsed().as_nanos()).unwrap();
                MPI_Allreduce(
                    (&raw const own).cast(),
                    (&raw mut longest).cast(),
                    1,
                    RSMPI_UINT64_T,
                    RSMPI_MAX,
                    RSMPI_COMM_WORLD,
                );
            }
            std::time::Duration::from_nanos(longest).as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[RUNS / 2])
}
