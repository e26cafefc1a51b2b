"""Shardings of JAX and torch, and plans between them."""

import os
import pathlib
import pickle
import queue
import random
import shutil
import subprocess
import sys
import threading
import types
import xml.dom.minidom

import jax
import numpy
import pytest
import stridec
from jax.sharding import AbstractMesh, PartitionSpec

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
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
    text = "NamedSharding(mesh=AbstractMesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit)), spec=P('x',), memory_kind=device)"
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


def grid(array, tiles, ids=None):
    """The shard of each device: XLA's tiles, whose sides are rounded up. Tile n is on the devices of row n of `ids`."""
    sides = [-(-extent // count) for extent, count in zip(array.shape, tiles)]
    shards = {}
    for number, at in enumerate(numpy.ndindex(*tiles)):
        for device in numpy.reshape(range(numpy.prod(tiles)) if ids is None else ids, (numpy.prod(tiles), -1))[number]:
            shards[int(device)] = array[tuple(slice(n * side, (n + 1) * side) for n, side in zip(at, sides))]
    return shards


def moved(plan, shards, expected):
    """The new shards, by the messages of each rank."""
    results = {device: numpy.zeros_like(shard) for device, shard in expected.items()}
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


# The text of a sharding, and its tiles and devices for the oracle.
SHARDINGS = {
    ROWS: ((4, 1), None),
    COLUMNS: ((1, 4), None),
    "{devices=[2,2]<=[4]}": ((2, 2), None),
    "{devices=[2,2]<=[2,2]T(1,0)}": ((2, 2), [0, 2, 1, 3]),
    "{replicated}": ((1, 1), [0, 1, 2, 3]),
    "{devices=[2,1,2]<=[4] last_tile_dim_replicate}": ((2, 1), [0, 1, 2, 3]),
}
LAYOUTS = ["{1,0}", "{0,1}", "{1,0:T(2,2)}", "{0,1:T(4)}", "{0,1:T(2,3)}"]


def test_random_plans_move_every_element(rng: random.Random):
    for _ in range(80):
        array = numpy.arange(rng.randint(1, 60), dtype=numpy.int32)
        array = numpy.resize(array, (rng.randint(1, 9), rng.randint(1, 9)))
        before, after = rng.choice(list(SHARDINGS)), rng.choice(list(SHARDINGS))
        shape = stridec.Shape(array.shape, dtype="s32", layout=rng.choice(LAYOUTS))
        plan = stridec.reshard(shape, before, after, devices=4)
        shards, expected = grid(array, *SHARDINGS[before]), grid(array, *SHARDINGS[after])
        if rng.random() < 0.5:
            shards = {device: numpy.asfortranarray(shard) for device, shard in shards.items()}
        for given in [plan.simulate(shards), moved(plan, shards, expected)]:
            assert set(given) == set(expected)
            assert all((given[device] == expected[device]).all() and given[device].shape == expected[device].shape for device in expected)
        listed = plan.simulate([shards[device] for device in range(4)])
        assert [shard.tolist() for shard in listed] == [expected[device].tolist() for device in range(4)]
        assert plan.total_bytes == sum(transfer.nbytes for transfer in plan.transfers)


def test_parts_of_several_ranges():
    array = numpy.arange(24, dtype=numpy.int16).reshape(8, 3)
    halves = {0: [[(0, 2), (4, 6)], (0, 3)], 1: [[(2, 4), (6, 8)], (0, 3)]}
    plan = stridec.reshard("s16[8,3]", halves, "{devices=[2,1]<=[2]}")
    shards = {0: array[[0, 1, 4, 5]], 1: array[[2, 3, 6, 7]]}
    expected = {0: array[:4], 1: array[4:]}
    assert [shard.tolist() for shard in plan.simulate([shards[0], shards[1]])] == [array[:4].tolist(), array[4:].tolist()]
    assert {device: shard.tolist() for device, shard in moved(plan, shards, expected).items()} == {0: array[:4].tolist(), 1: array[4:].tolist()}


def test_lists_have_a_place_for_each_device():
    array = numpy.arange(8, dtype=numpy.uint8)
    plan = stridec.reshard("u8[8]", "{devices=[2]<=[2]}", {1: [(0, 5)], 3: [(5, 8)]})
    given = plan.simulate([array[:4], array[4:]])
    assert given[0] is None and given[2] is None and (given[1].tolist(), given[3].tolist()) == ([0, 1, 2, 3, 4], [5, 6, 7])
    back = stridec.reshard("u8[8]", plan.destination, plan.source)
    assert [shard.tolist() for shard in back.simulate(given)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(stridec.InvalidInput, match=r"arrays\[2\]: expected shards of the devices that have a part"):
        back.simulate([None, given[1], given[1], given[3]])


def test_texts_without_the_order_of_devices_are_refused():
    for text in ["NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), spec=P('x',), memory_kind=device)",
                 "GSPMDSharding({devices=[2]<=[2]}, memory_kind=device)", "SingleDeviceSharding(device=CpuDevice(id=3), memory_kind=device)"]:
        with pytest.raises(stridec.InvalidInput, match="itself, because its text does not have the devices") as raised:
            stridec.reshard("f32[8,8]", text, ROWS)
        assert raised.value.field == "source"


def test_shardings_on_some_of_the_devices():
    sharding = stridec.Sharding(Named(Mesh([5, 9], ("x",)), "x"))
    assert sharding.regions("f32[4]") == {5: ((0, 2),), 9: ((2, 4),)} and sharding.devices == 10
    other = pickle.loads(pickle.dumps(sharding))
    assert other == sharding and hash(other) == hash(sharding) and "on devices 5,9" in str(sharding)
    assert sharding != stridec.Sharding(Named(Mesh([5, 8], ("x",)), "x"))
    # A sharding without devices uses the devices of the other side.
    plan = stridec.reshard("f32[4]", sharding, "{replicated}")
    assert [(it.source, it.destination, it.nbytes) for it in plan.transfers] == [(5, 9, 8), (9, 5, 8)]
    assert pickle.loads(pickle.dumps(plan)).total_bytes == 16
    assert {device: shard.tolist() for device, shard in plan.simulate({5: numpy.float32([1, 2]), 9: numpy.float32([3, 4])}).items()} == {5: [1, 2, 3, 4], 9: [1, 2, 3, 4]}
    with pytest.raises(stridec.InvalidInput, match="devices: expected at least 10, because source has device 9, got 8"):
        stridec.reshard("f32[4]", sharding, "{replicated}", devices=8)


class Gspmd:
    """As JAX's own, whose class is private."""

    def __init__(self, text, ids):
        self._hlo_sharding, self._device_assignment = text, [Device(number) for number in ids]


def test_gspmd_shardings():
    assert stridec.Sharding(Gspmd("{devices=[2]<=[2]}", [3, 1])).regions("f32[4]") == {3: ((0, 2),), 1: ((2, 4),)}
    assert stridec.Sharding(Gspmd("{replicated}", [3, 1])).regions("f32[4]") == {1: ((0, 4),), 3: ((0, 4),)}
    with pytest.raises(stridec.InvalidInput, match="source: expected 3 devices"):
        stridec.Sharding(Gspmd("{devices=[2]<=[2]}", [3, 1, 0]))


def test_unreduced_axes_are_not_ignored():
    mesh = AbstractMesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    named = jax.sharding.NamedSharding(mesh, PartitionSpec("x", unreduced={"y"}))
    assert stridec.Sharding(named) == stridec.Sharding(str(named)) != stridec.Sharding(jax.sharding.NamedSharding(mesh, PartitionSpec("x")))
    for call in [lambda: stridec.reshard("f32[8,8]", named, ROWS), lambda: stridec.reshard("f32[8,8]", Named(Mesh([[4, 5], [6, 7]], ("x", "y")), "x"), ROWS) and stridec.reshard("f32[8,8]", named, ROWS)]:
        with pytest.raises(stridec.Unsupported, match="^source") as raised:
            call()
        assert raised.value.field.startswith("source")
    with pytest.raises(stridec.Unsupported, match="^destination"):
        stridec.reshard("f32[8,8]", ROWS, named)


def test_equal_shardings_divide_arrays_alike():
    named, tiles = stridec.Sharding("{mesh['x'=2], [{'x'}, {}]}"), stridec.Sharding("{devices=[2,1]<=[2]}")
    assert named == tiles == stridec.Sharding("{mesh['rows'=2], [{'rows'}, {}]}") and hash(named) == hash(tiles)
    assert tiles == stridec.Sharding("{devices=[2,1]0,1}") and tiles != stridec.Sharding("{devices=[2,1]1,0}")
    mesh = AbstractMesh((2,), ("x",))
    some = [stridec.Sharding(jax.sharding.NamedSharding(mesh, PartitionSpec(*spec))) for spec in [("x",), ("x", None), (("x",), None, None)]]
    assert len(set(some)) == 1
    assert stridec.Sharding({0: [(0, 3)]}) == stridec.Sharding('{"0": [[[0, 3]]]}')


def test_huge_numbers_take_neither_time_nor_memory():
    assert stridec.Sharding({2**62: [(0, 3)], 2**40: [(3, 8)]}).regions("f32[8]") == {2**40: ((3, 8),), 2**62: ((0, 3),)}
    assert stridec.Sharding("{maximal device=1152921504606846976}").regions("f32[8]", devices=2**61) == {2**60: ((0, 8),)}
    for sharding in ["{devices=[1099511627776]<=[1099511627776]}", "{mesh['x'=1099511627776], [{'x'}]}"]:
        with pytest.raises(stridec.Unsupported, match="source: expected at most 4194304 ranges in all"):
            stridec.Sharding(sharding).regions("f32[8]")
    plan = stridec.reshard("f32[4000000000000]", "{devices=[2]<=[2] blocks=[1000000000]}", "{devices=[2]<=[2] blocks=[500000000]}")
    send = plan.rank(0).sends[0]
    with pytest.raises(stridec.Unsupported, match="source_index: expected at most 16777216 indices"):
        send.source_index
    assert len(repr(send)) < 300 and len(send.ranges[0]) > 1000
    chunks = stridec.Sharding.from_placements((2**64 - 1,), (4,), [type("Shard", (), {"dim": 0, "is_replicate": lambda self: False})()])
    assert chunks.devices == 4


def test_an_object_that_is_its_own_sharding_is_refused():
    class Loop:
        @property
        def sharding(self):
            return self

        layout = sharding

        def lower(self):
            return self

        jaxpr = None

    for call, field in [(lambda: stridec.Sharding(Loop()), "source"), (lambda: stridec.relayout(numpy.zeros((2, 2)), to=Loop()), "to"), (lambda: stridec.Program(Loop()), "module")]:
        with pytest.raises(stridec.InvalidInput) as raised:
            call()
        assert raised.value.field == field


def test_results_are_arrays_of_the_library_of_the_shards():
    torch = pytest.importorskip("torch")
    plan = stridec.reshard("f32[4,4]", ROWS, COLUMNS)
    new = plan.simulate(list(torch.arange(16.0).reshape(4, 1, 4)))
    assert isinstance(new[0], torch.Tensor) and new[1].tolist() == [[1], [5], [9], [13]]


# The mesh lists the devices in descending order, so the places of the shards are not the ids.
REVERSED = """
import jax, jax.numpy as jnp, numpy, stridec
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

whole = numpy.arange(64 * 96, dtype=numpy.float32).reshape(64, 96)
mesh = Mesh(numpy.array(jax.devices()[::-1]).reshape(4, 2), ("x", "y"))
before, after = NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P(None, "y"))
x, expected = jax.device_put(whole, before), jax.device_put(whole, after)
plan = stridec.reshard(x, x.sharding, after)
wanted = {s.device.id: numpy.asarray(s.data) for s in expected.addressable_shards}
by_id = {s.device.id: s.data for s in x.addressable_shards}

def right(new):
    return set(new) == set(wanted) and all((numpy.asarray(new[d]) == wanted[d]).all() for d in wanted)

new = plan.simulate(by_id)
assert right(new) and right(plan.simulate(x)) and right(dict(enumerate(plan.simulate([by_id[d] for d in range(8)]))))
assert (numpy.asarray(plan.join(new)) == whole).all() and (numpy.asarray(plan.join(expected)) == whole).all()
assert all((numpy.asarray(shard) == by_id[d]).all() for d, shard in plan.split(x).items())
# Results and other new arrays are all on the first device, so they are accepted at every place.
back = stridec.reshard(x, after, before)
assert (numpy.asarray(plan.split(whole)[7]) == numpy.asarray(back.simulate([new[d] for d in range(8)])[7])).all()
assert right(dict(enumerate(plan.simulate([jnp.asarray(numpy.asarray(by_id[d])) for d in range(8)]))))

def refused(call, *parts):
    try:
        call()
    except stridec.InvalidInput as error:
        assert all(part in str(error) for part in parts), error
    else:
        raise AssertionError(parts)

refused(lambda: plan.simulate([s.data for s in x.addressable_shards]),
        "arrays[0]: expected the shard of device 0", "{s.device.id: s.data for s in x.addressable_shards}", "got one on device 7")
refused(lambda: plan.simulate(expected), "arrays: expected an array with the parts")
refused(lambda: plan.simulate(jnp.asarray(whole)), "arrays: expected 8 shards, got an array of f32[64,96]; `split`")
# Numbers that are no ids of the plan's devices are places: nothing contradicts them.
places = stridec.reshard("f32[64,96]", "{devices=[2,1]<=[2]}", "{replicated}")
halves = [jax.device_put(half, device) for half, device in zip(numpy.split(whole, 2), jax.devices()[3:5])]
assert (numpy.asarray(places.simulate(halves)[1]) == whole).all()
"""


def test_shards_on_devices_in_another_order():
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", REVERSED], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr


def test_whole_arrays_are_split_and_joined(rng: random.Random):
    array = numpy.arange(54, dtype=numpy.int32).reshape(6, 9)
    for before in SHARDINGS:
        for layout in LAYOUTS:
            after = rng.choice(list(SHARDINGS))
            plan = stridec.reshard(stridec.Shape(array.shape, dtype="s32", layout=layout), before, after, devices=4)
            expected = grid(array, *SHARDINGS[before])
            shards = plan.split(numpy.asfortranarray(array))
            assert {device: shard.tolist() for device, shard in shards.items()} == {device: shard.tolist() for device, shard in sorted(expected.items())}
            assert plan.join(plan.simulate(shards)).tolist() == array.tolist()
            assert plan.join([plan.simulate(shards)[device] for device in range(4)]).tolist() == array.tolist()
    cyclic = stridec.reshard("s32[6,9]", {0: [[(0, 1), (4, 6)], (0, 9)], 1: [[(1, 4)], (0, 9)]}, {3: [(0, 6), (0, 9)]})
    assert cyclic.split(array)[0].tolist() == array[[0, 4, 5]].tolist() and cyclic.join({3: array}).tolist() == array.tolist()


@pytest.mark.parametrize("call, field, message", [
    (lambda plan, x: plan.simulate(x), "arrays", "arrays: expected 4 shards, got an array of s32[4,4]; `split` cuts a whole array into shards"),
    (lambda plan, x: plan.simulate(x[0, 0]), "arrays", "arrays: expected a dictionary with the shard of each device, "),
    (lambda plan, x: plan.join(x), "arrays", "arrays: expected 4 shards, got an array of s32[4,4]"),
    (lambda plan, x: plan.join([x]), "arrays[0].shape", "arrays[0].shape: expected s32[4,1], got s32[4,4]"),
    (lambda plan, x: plan.split(x[1:]), "array.shape", "array.shape: expected s32[4,4], got s32[3,4]"),
    (lambda plan, x: plan.split(x.astype("f4")), "array.dtype", "array.dtype: expected s32[4,4], got f32[4,4]"),
    (lambda plan, x: plan.split([x]), "array", "array: expected an array: "),
    (lambda plan, x: plan.simulate({7: x}), "arrays[7]", "arrays[7]: expected shards of the devices that have a part; a dictionary gives them by device, got one of device 7"),
])
def test_arrays_that_are_no_shards(call, field, message):
    x = numpy.arange(16, dtype=numpy.int32).reshape(4, 4)
    with pytest.raises(stridec.InvalidInput) as raised:
        call(stridec.reshard("s32[4,4]", ROWS, COLUMNS), x)
    assert str(raised.value).startswith(message) and raised.value.field == field, raised.value


def test_plans_are_values():
    plan = stridec.reshard("f32[8,8]", ROWS, COLUMNS)
    for other in [pickle.loads(pickle.dumps(plan)), stridec.reshard("f32[8,8]", "{mesh['x'=4], [{'x'}, {}]}", COLUMNS)]:
        assert other == plan and hash(other) == hash(plan) and other.transfers == plan.transfers
        assert set(other.transfers) == set(plan.transfers)
    assert plan != stridec.reshard("f32[8,8]", COLUMNS, ROWS) and plan != stridec.reshard("f16[8,8]", ROWS, COLUMNS)
    own = plan.rank(2)
    assert repr(own) == "<stridec.RankPlan of device 2: 3 sends, 3 receives>" and (own.device, own.send_bytes, own.receive_bytes) == (2, 48, 48)
    one = stridec.reshard("f32[8]", {0: [(0, 8)]}, {1: [(0, 8)]})
    assert repr(one) == "<stridec.ReshardPlan f32[8]: 1 message, 32 bytes>" and repr(one.rank(0)).endswith("1 send, 0 receives>")


def test_pictures(tmp_path):
    plan = stridec.reshard("f32[8,8]", ROWS, COLUMNS)
    assert "12 messages" in plan.draw() and repr(plan) == "<stridec.ReshardPlan f32[8,8]: 12 messages, 192 bytes>"
    assert xml.dom.minidom.parseString(plan._repr_svg_()) and sum(map(len, plan._repr_mimebundle_().values())) < 300_000
    plan.save(tmp_path / "plan.html")
    assert (plan.send_bytes, plan.receive_bytes, plan.devices) == (48, 48, 4)


@pytest.mark.parametrize("call, field", [
    (lambda: stridec.reshard("f32[8,8]", "{devices=[3]<=[4]}", ROWS), "source"),
    (lambda: stridec.reshard("f32[8]", COLUMNS, ROWS), "source"),
    (lambda: stridec.reshard("f32[8,8]", ROWS, 3), "destination"),
    (lambda: stridec.reshard("(f32[8])", ROWS, ROWS), "shape"),
    (lambda: stridec.reshard("f32[8,8]", {0: [(0, 8)]}, ROWS), "source"),
    (lambda: stridec.Sharding({0: [(8, 0)]}), "source[0]"),
    (lambda: stridec.Sharding({0: [(0, 3)], 1: [(4, 8)]}), "source"),
    (lambda: stridec.Sharding("NamedSharding(mesh=3)"), "source"),
    (lambda: stridec.Sharding({0: 3}), "source[0]"),
    (lambda: stridec.Sharding({0: [3, 4]}), "source[0]"),
    (lambda: stridec.Sharding({-1: [(0, 8)]}), "source"),
    (lambda: stridec.reshard("f32[8,8]", ROWS, COLUMNS, devices=8), "devices"),
    (lambda: stridec.reshard("f32[8,8]", "{replicated}", COLUMNS, devices=8), "devices"),
    (lambda: stridec.Sharding(ROWS).regions("f32[8,8]", devices=8), "devices"),
    (lambda: stridec.Sharding.from_placements((4,), (2,), 3), "placements"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate(3), "arrays"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate([numpy.zeros((1, 4), "i4")] * 4), "arrays[0].dtype"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate([numpy.zeros((1, 4), "f4")]), "arrays[1]"),
    (lambda: stridec.reshard("f32[4,4]", ROWS, COLUMNS).simulate([numpy.zeros((2, 4), "f4")] * 4), "arrays[0].shape"),
])
def test_wrong_shardings_are_refused(call, field):
    with pytest.raises((stridec.InvalidInput, stridec.Unsupported)) as raised:
        call()
    assert raised.value.field == field, (raised.value.field, str(raised.value))


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
    path = EXAMPLES / "reshard_mpi4py.py"
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


def test_the_example_of_mpi4py_runs_with_four_processes():
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    options = ["--oversubscribe", *(["--allow-run-as-root"] if os.getuid() == 0 else [])]
    command = ["mpirun", *options, "-n", "4", sys.executable, str(EXAMPLES / "reshard_mpi4py.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_example_of_torch_runs_with_four_processes():
    torch = pytest.importorskip("torch.distributed")
    if not (torch.is_available() and torch.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(EXAMPLES / "reshard_torch.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
