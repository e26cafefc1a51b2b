"""Arguments that ask for more memory, time or devices than there are, which are refused."""

import itertools
import pickle

import numpy as np
import pytest

import stridec

HUGE = "f32[2,2]{1,0:T(1048576,1048576)}"


class Replicate:
    def is_shard(self, dim=None):
        return False

    def is_replicate(self):
        return True

    def is_partial(self):
        return False


class Mesh:
    """A mesh as torch has it: extents, and a tensor of ranks."""

    def __init__(self, shape, ranks):
        self.mesh = self
        self.shape = shape
        self.ranks = ranks

    def flatten(self):
        return self

    def tolist(self):
        return self.ranks


def replicated(shape):
    return stridec.reshard(shape, "{replicated}", "{replicated}", devices=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: replicated(HUGE).simulate([np.zeros((2, 2), "f4")]),
        lambda: replicated("f32[1099511627776]").simulate(
            [np.broadcast_to(np.float32(0), 2**40)]
        ),
        lambda: stridec.Program(
            f"ENTRY e {{ x = {HUGE} parameter(0) ROOT y = f32[2,2]{{0,1}} copy(x) }}"
        )(np.zeros((2, 2), "f4")),
    ],
)
def test_memory_that_is_missing_raises(call):
    with pytest.raises(MemoryError, match="4398046511104 bytes"):
        call()


@pytest.mark.parametrize(
    ("field", "words", "call"),
    [
        ("source", "ranges", lambda: stridec.Sharding("{replicated}").regions("f32[]", devices=2**40)),
        ("source[0]", "a range", lambda: stridec.Sharding({0: [itertools.count()]})),
        ("source[0]", "a range", lambda: stridec.Sharding({0: [b"\x00\x04"]})),
        ("devices", "at most", lambda: devices(2**62)),
        ("devices", "at most", lambda: devices(2**63)),
        ("devices", "at least one", lambda: devices(0)),
        (
            "arrays[1]",
            "devices that have a part",
            lambda: replicated("f32[4]").simulate(itertools.repeat(np.zeros(4, "f4"))),
        ),
        ("placements", "more", lambda: placed((2,), itertools.repeat(Replicate()))),
        ("mesh", "ranges", lambda: placed((2**24,), [Replicate()])),
        ("mesh", "at least one device", lambda: placed(Mesh((0,), [1]), [Replicate()])),
        ("mesh.mesh", "2 ranks", lambda: placed(Mesh((2,), [0, 1, 2]), [Replicate()])),
        ("mesh.mesh", "1 twice", lambda: placed(Mesh((2,), [1, 1]), [Replicate()])),
    ],
)
def test_what_has_no_end_is_refused(field, words, call):
    with pytest.raises((stridec.InvalidInput, stridec.Unsupported), match=words) as caught:
        call()
    assert caught.value.field == field


def devices(count):
    return stridec.reshard("f32[8]", "{replicated}", "{replicated}", devices=count)


def placed(mesh, placements):
    return stridec.Sharding.from_placements((4,), mesh, placements)


def test_devices_without_a_part_take_nothing():
    plan = stridec.reshard("f32[4]", {0: [(0, 4)]}, {2**24 - 1: [(0, 4)]})
    moved = plan.simulate({0: np.arange(4, dtype="f4")})
    assert list(moved) == [2**24 - 1]
    assert list(moved[2**24 - 1]) == [0, 1, 2, 3]


def test_a_pickle_has_the_kernels_of_its_own_program():
    program = stridec.Program(
        "ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[3,2] transpose(x), dimensions={1,0} }"
    )
    assert program.kernels
    restored, arguments = program.__reduce__()
    assert not any(isinstance(part, bytes) for part in arguments[1:])
    assert restored(*arguments).kernels == program.kernels
    assert pickle.loads(pickle.dumps(program)).kernels == program.kernels
