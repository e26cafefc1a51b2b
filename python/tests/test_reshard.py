"""Shardings of JAX and torch, and plans between them."""

import pathlib
import pickle
import queue
import random
import sys
import threading
import types
import xml.dom.minidom

import jax
import numpy
import pytest
import stridec
from jax.sharding import AbstractMesh, PartitionSpec

ROWS, COLUMNS = "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"


class Device:
    def __init__(self, number):
        self.id = number


class Mesh:
    """A concrete mesh; this process has one device only."""

    def __init__(self, ids, names):
        ids = numpy.array(ids)
        self.shape = dict(zip(names, ids.shape))
        self.devices = numpy.vectorize(Device, otypes=[object])(ids)


class Named:
    def __init__(self, mesh, *spec):
        self.mesh, self.spec = mesh, PartitionSpec(*spec)


def test_every_kind_of_source():
    abstract = jax.sharding.NamedSharding(AbstractMesh((2, 4), ("x", "y")), PartitionSpec("x"))
    text = "NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit)), spec=P('x',), memory_kind=device)"
    for given in [abstract, str(abstract), text, text.replace("P('x',)", "PartitionSpec('x', None)")]:
        sharding = stridec.Sharding(given)
        assert sharding.devices == 8 and str(sharding).startswith("{mesh['x'=2,'y'=4], [{'x'}")
        assert sharding.regions("f32[8,6]") == {n: ((4 * (n // 4), 4 * (n // 4) + 4), (0, 6)) for n in range(8)}
    reordered = stridec.Sharding(Named(Mesh([[3, 1], [2, 0]], ("x", "y")), ("x", "y")))
    assert reordered.regions("f32[8,6]") == {3: ((0, 2), (0, 6)), 1: ((2, 4), (0, 6)), 2: ((4, 6), (0, 6)), 0: ((6, 8), (0, 6))}
    assert stridec.Sharding(jax.numpy.zeros((2, 3))).regions("f32[2,3]", devices=1) == {0: ((0, 2), (0, 3))}
    ranges = {0: [[(0, 2), (4, 6)], (0, 3)], 1: [[(2, 4), (6, 8)], (0, 3)]}
    assert stridec.Sharding(ranges).regions("f32[8,3]") == {0: (((0, 2), (4, 6)), (0, 3)), 1: (((2, 4), (6, 8)), (0, 3))}
    for given in [ROWS, ranges, abstract, "{replicated}"]:
        sharding = stridec.Sharding(given)
        other = pickle.loads(pickle.dumps(sharding))
        assert other == sharding and hash(other) == hash(sharding) and "\n" not in repr(sharding)
    plan = stridec.reshard("f32[8,4]", abstract, "{replicated}")
    assert pickle.loads(pickle.dumps(plan)).total_bytes == plan.total_bytes > 0


def test_placements_of_torch_are_chunks():
    torch = pytest.importorskip("torch")
    tensor = pytest.importorskip("torch.distributed.tensor")
    shard, replicate = tensor.Shard, tensor.Replicate()
    for shape, mesh, placements in [((7, 5), (2, 3), [shard(0), shard(0)]), ((7, 5), (3, 2), [shard(1), shard(0)]),
                                    ((4, 6), (2, 2), [replicate, shard(-1)]), ((1, 5), (4,), [shard(0)])]:
        regions = stridec.Sharding.from_placements(shape, mesh, placements).regions(f"f32[{shape[0]},{shape[1]}]")
        whole = torch.arange(shape[0] * shape[1]).reshape(shape)
        for number, at in enumerate(numpy.ndindex(*mesh)):
            part = whole
            for place, count, placement in zip(at, mesh, placements):
                if placement.is_shard():
                    chunks = part.chunk(count, placement.dim)
                    part = chunks[place] if place < len(chunks) else part.narrow(placement.dim, 0, 0)
            given = whole[tuple(slice(*of) for of in regions[number])]
            assert given.tolist() == part.tolist() or given.numel() == part.numel() == 0
    with pytest.raises(stridec.Unsupported, match="Shard or Replicate"):
        stridec.Sharding.from_placements((4,), (2,), [tensor.Partial()])
    with pytest.raises(stridec.InvalidInput, match="one for each dimension of the mesh"):
        stridec.Sharding.from_placements((4,), (2, 2), [shard(0)])


def parts(array, sharding, **devices):
    """The shard of each device."""
    shape = stridec.Shape(array.shape, dtype=array.dtype)
    shards = {}
    for device, ranges in stridec.Sharding(sharding).regions(shape, **devices).items():
        lists = [[(of[0], of[1])] if isinstance(of[0], int) else of for of in ranges]
        shards[device] = array[numpy.ix_(*[[n for start, end in of for n in range(start, end)] for of in lists])]
    return shards


def moved(plan, shards, array):
    """The new shards, by the messages of each rank."""
    results = {device: numpy.zeros([stop - start for start, stop in ranges], array.dtype)
               for device, ranges in plan.destination.regions(plan.shape, devices=plan.devices).items()}
    count = 0
    for device in range(plan.devices):
        part = plan.rank(device)
        for receive in [*part.receives, *([part.copy] if part.copy else [])]:
            taken = shards[receive.source][receive.source_index]
            assert taken.shape == receive.shape and taken.nbytes == receive.nbytes and receive.destination == device
            results[device][receive.destination_index] = taken
        count += len(part.sends)
    assert count == len(plan.transfers)
    return results


def test_random_plans_move_every_element(rng: random.Random):
    shardings = [ROWS, COLUMNS, "{devices=[2,2]<=[4]}", "{devices=[2,2]<=[2,2]T(1,0)}", "{replicated}", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"]
    for _ in range(60):
        array = numpy.arange(rng.randint(1, 60), dtype=numpy.int32)
        array = numpy.resize(array, (rng.randint(1, 9), rng.randint(1, 9)))
        before, after = rng.choice(shardings), rng.choice(shardings)
        plan = stridec.reshard(stridec.Shape(array.shape, dtype="s32"), before, after, devices=4)
        shards, expected = parts(array, before, devices=4), parts(array, after, devices=4)
        for given in [plan.simulate(shards), moved(plan, shards, array)]:
            assert set(given) == set(expected)
            assert all((given[device] == expected[device]).all() for device in expected)
        assert plan.total_bytes == sum(transfer.nbytes for transfer in plan.transfers)


def test_parts_of_several_ranges():
    array = numpy.arange(24, dtype=numpy.int16).reshape(8, 3)
    halves = {0: [[(0, 2), (4, 6)], (0, 3)], 1: [[(2, 4), (6, 8)], (0, 3)]}
    plan = stridec.reshard("s16[8,3]", halves, "{devices=[2,1]<=[2]}")
    shards = parts(array, halves)
    assert [shard.tolist() for shard in plan.simulate([shards[0], shards[1]])] == [array[:4].tolist(), array[4:].tolist()]
    assert {device: shard.tolist() for device, shard in moved(plan, shards, array).items()} == {0: array[:4].tolist(), 1: array[4:].tolist()}


def test_results_are_arrays_of_the_library_of_the_shards():
    torch = pytest.importorskip("torch")
    plan = stridec.reshard("f32[4,4]", ROWS, COLUMNS)
    new = plan.simulate(list(torch.arange(16.0).reshape(4, 1, 4)))
    assert isinstance(new[0], torch.Tensor) and new[1].tolist() == [[1], [5], [9], [13]]


def test_pictures(tmp_path):
    plan = stridec.reshard("f32[8,8]", ROWS, COLUMNS)
    assert "12 boxes" in plan.draw() and repr(plan) == "<stridec.ReshardPlan f32[8,8]: 12 messages, 192 bytes>"
    assert xml.dom.minidom.parseString(plan._repr_svg_()) and sum(map(len, plan._repr_mimebundle_().values())) < 300_000
    plan.save(tmp_path / "plan.html")
    assert (plan.send_bytes, plan.receive_bytes, plan.devices) == (48, 48, 4)


@pytest.mark.parametrize("call, field", [
    (lambda: stridec.reshard("f32[8,8]", "{devices=[3]<=[4]}", ROWS), "source"),
    (lambda: stridec.reshard("f32[8]", COLUMNS, ROWS), "source"),
    (lambda: stridec.reshard("f32[8,8]", ROWS, 3), "destination"),
    (lambda: stridec.reshard("(f32[8])", ROWS, ROWS), "shape"),
    (lambda: stridec.reshard("f32[8,8]", {0: [(0, 8)]}, ROWS), None),
    (lambda: stridec.Sharding({0: [(8, 0)]}), "source[0]"),
    (lambda: stridec.Sharding({0: [(0, 3)], 1: [(4, 8)]}), None),
    (lambda: stridec.Sharding("NamedSharding(mesh=3)"), "source"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate([numpy.zeros((1, 4), "f4")]), "arrays[1]"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate([numpy.zeros((2, 4), "f4")] * 4), "arrays[0].shape"),
])
def test_wrong_shardings_are_refused(call, field):
    with pytest.raises((stridec.InvalidInput, stridec.Unsupported)) as raised:
        call()
    assert field is None or raised.value.field == field, (raised.value.field, str(raised.value))


def test_the_example_of_mpi4py(monkeypatch):
    """Four threads in place of four processes."""
    boxes = {(a, b): queue.Queue() for a in range(4) for b in range(4)}
    own = threading.local()

    class World:
        def Get_size(self):
            return 4

        def Get_rank(self):
            return own.rank

        def isend(self, message, to):
            boxes[own.rank, to].put(message)

        def recv(self, source):
            return boxes[source, own.rank].get(timeout=60)

    mpi = types.SimpleNamespace(COMM_WORLD=World(), Request=types.SimpleNamespace(waitall=lambda pending: None))
    monkeypatch.setitem(sys.modules, "mpi4py", types.SimpleNamespace(MPI=mpi))
    path = pathlib.Path(__file__).parents[2] / "examples" / "python" / "reshard_mpi4py.py"
    code = compile(path.read_text(), str(path), "exec")
    done = []

    def run(rank):
        own.rank = rank
        exec(code, {"__name__": "__main__"})
        done.append(rank)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]
