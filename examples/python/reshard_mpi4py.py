"""Rows become columns: every rank sends and receives its messages with mpi4py.

    mpirun -n 4 python reshard_mpi4py.py
"""

import numpy as np
import stridec
from mpi4py import MPI

comm = MPI.COMM_WORLD
devices = comm.Get_size()
plan = stridec.reshard("f32[64,96]", f"{{devices=[{devices},1]<=[{devices}]}}", f"{{devices=[1,{devices}]<=[{devices}]}}")
part = plan.rank(comm.Get_rank())
whole = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
old = np.split(whole, devices, 0)[comm.Get_rank()]
new = np.empty((64, 96 // devices), np.float32)

pending = [comm.isend(np.ascontiguousarray(old[send.source_index]), send.destination) for send in part.sends]
for receive in part.receives:
    new[receive.destination_index] = comm.recv(source=receive.source)
if part.copy is not None:
    new[part.copy.destination_index] = old[part.copy.source_index]
MPI.Request.waitall(pending)
assert (new == np.split(whole, devices, 1)[comm.Get_rank()]).all()
