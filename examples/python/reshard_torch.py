"""Rows become columns: every rank sends and receives its messages with torch.distributed.

    torchrun --nproc-per-node 4 reshard_torch.py
"""

import stridec
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, devices = dist.get_rank(), dist.get_world_size()
plan = stridec.reshard("f32[64,96]", f"{{devices=[{devices},1]<=[{devices}]}}", f"{{devices=[1,{devices}]<=[{devices}]}}")
part = plan.rank(rank)
whole = torch.arange(64 * 96, dtype=torch.float32).reshape(64, 96)
old = whole.chunk(devices, 0)[rank]
new = torch.empty(64, 96 // devices)

pending = [dist.isend(old[send.source_index].contiguous(), send.destination) for send in part.sends]
for receive in part.receives:
    message = torch.empty(receive.shape)
    dist.recv(message, receive.source)
    new[receive.destination_index] = message
if part.copy is not None:
    new[part.copy.destination_index] = old[part.copy.source_index]
for send in pending:
    send.wait()
assert torch.equal(new, whole.chunk(devices, 1)[rank])
dist.destroy_process_group()
