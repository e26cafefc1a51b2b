"""f32[8192,8192] from rows to columns by numpy and mpi4py: pack, Alltoallv, and, for columns in memory, unpack."""

import time

import numpy as np
from mpi4py import MPI

N, RUNS = 8192, 7
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
side = N // ranks
source = np.arange(rank * side * N, (rank + 1) * side * N, dtype=np.float32).reshape(side, N)
packed = np.empty((ranks, side, side), np.float32)
received = np.empty((ranks, side, side), np.float32)
columns = np.empty((side, ranks, side), np.float32)


def row_major():
    np.copyto(packed, source.reshape(side, ranks, side).swapaxes(0, 1))
    world.Alltoallv(packed, received)


def column_major():
    row_major()
    np.copyto(columns, received.transpose(2, 0, 1))


for name, run in [("row-major", row_major), ("column-major", column_major)]:
    times = []
    for _ in range(RUNS + 1):
        world.Barrier()
        start = time.perf_counter()
        run()
        times.append(world.allreduce(time.perf_counter() - start, MPI.MAX))
    if rank == 0:
        print(f"{name + ': numpy and mpi4py':44} {min(times[1:]) * 1e3:6.1f} ms")
