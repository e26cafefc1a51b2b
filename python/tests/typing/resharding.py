"""Shardings, and the messages of each rank."""

import jax
import jax.numpy as jnp
import numpy as np
import stridec

before = stridec.Sharding("{devices=[4,1]<=[4]}")
after = stridec.Sharding({0: [(0, 64), (0, 48)], 1: [(0, 64), (48, 96)]})
plan: stridec.ReshardPlan = stridec.reshard("f32[64,96]", before, after)


def sent(rank: int, shard: np.ndarray) -> dict[int, bytes]:
    return {send.destination: shard[send.source_index].tobytes() for send in plan.rank(rank).sends}


def kept(rank: int) -> int:
    own: stridec.RankPlan = plan.rank(rank)
    return 0 if own.copy is None else own.copy.nbytes


shards = np.split(np.zeros((64, 96), np.float32), 4)
messages = sent(3, shards[3])
new: list[np.ndarray] = plan.simulate(shards)
named: dict[int, np.ndarray] = plan.simulate(dict(enumerate(shards)))
parts: dict[int, np.ndarray] = plan.split(np.zeros((64, 96), np.float32))
whole: np.ndarray = plan.join(plan.simulate(parts))
x: jax.Array = jax.device_put(jnp.zeros(8))
alone = stridec.reshard(x, x, x)
moved: dict[int, jax.Array] = alone.simulate(x)
assert whole.shape == (64, 96) and {plan: 1}[plan] == 1 and moved[0].shape == alone.join(x).shape
first, *_ = before.regions(plan.shape)[1]
assert first == (16, 32) and len(messages) == 2 and kept(0) > 0
assert new[0].shape == (64, 48) == named[1].shape and sum(transfer.nbytes for transfer in plan.transfers) == plan.total_bytes
