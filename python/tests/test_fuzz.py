"""Damaged arrays end in exceptions: never in a crash, and never in a wrong copy.

Arrays come by DLPack, `__array_struct__`, `__array_interface__` and the buffer protocol, whole or damaged in a way that a
consumer can notice. Their memory lies against pages that must not be touched. The cases run in another process. A failure
names its seed and case; `python test_fuzz.py SEED CASE` runs that case alone.
"""

import array
import ctypes
import faulthandler
import itertools
import mmap
import os
import random
import subprocess
import sys
import time

import ml_dtypes
import numpy
import stridec
from producers import Interface, Managed, Tensor, Versioned, capsule

SECONDS = float(os.environ.get("STRIDEC_FUZZ_SECONDS", "2"))
SEED = int(os.environ.get("STRIDEC_FUZZ_SEED", "1"))

# DLPack's code and bits for each element type.
CODES = {
    "bool": (6, 8), "int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "uint16": (1, 16),
    "uint32": (1, 32), "uint64": (1, 64), "float16": (2, 16), "float32": (2, 32), "float64": (2, 64), "bfloat16": (4, 16),
    "complex64": (5, 64), "complex128": (5, 128), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
}
TYPES = {numpy.dtype(getattr(ml_dtypes, name, name)): code for name, code in CODES.items()}
OWN = [numpy.dtype(name) for name in CODES if not hasattr(ml_dtypes, name)]
PAGE = mmap.PAGESIZE
ROOM = 4 * PAGE


class Memory:
    """Bytes between two pages that cannot be read or written."""

    def __init__(self):
        self.pages = mmap.mmap(-1, ROOM + 2 * PAGE)
        whole = numpy.frombuffer(self.pages, numpy.uint8)
        self.bytes = whole[PAGE:PAGE + ROOM]
        self.bytes[:] = (numpy.arange(ROOM) * 167 >> 3) & 0xff
        if sys.platform == "linux":
            protect = ctypes.CDLL(None, use_errno=True).mprotect
            protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            for place in [whole.ctypes.data, whole.ctypes.data + PAGE + ROOM]:
                assert protect(place, PAGE, 0) == 0

    def view(self, rng, dtype, rank=None):
        """An array with any strides, at one of the ends of the memory."""
        rank = rng.choice([0, 1, 1, 2, 2, 3, 4]) if rank is None else rank
        shape = [rng.choice([0, 1, 2, 3, 4, 5, 7]) if rng.random() < 0.95 else 16 for _ in range(rank)]
        kind = rng.random()
        if kind < 0.5:
            strides = row_major(shape, dtype.itemsize)
        else:
            order, step, strides = rng.sample(range(rank), rank), dtype.itemsize, [0] * rank
            for dimension in order:
                step *= rng.choice([1, 1, 1, 2])
                strides[dimension] = step * rng.choice([1, 1, 1, -1, 0])
                step *= max(shape[dimension], 1)
        low = sum((size - 1) * stride for size, stride in zip(shape, strides) if stride < 0 and size)
        high = sum((size - 1) * stride for size, stride in zip(shape, strides) if stride > 0 and size) + dtype.itemsize
        if high - low > ROOM:
            return self.view(rng, dtype, 1)
        start = rng.choice([0, ROOM - (high - low)]) - low
        return numpy.ndarray(shape, dtype, self.bytes, start, strides)


def row_major(shape, itemsize):
    strides = []
    for size in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= max(size, 1)
    return strides


class Case:
    """An argument, and the array that it is: None if the argument must be refused, or ANY."""

    def __init__(self, given, expected, writable=False, kept=()):
        self.given, self.expected, self.writable, self.kept = given, expected, writable, kept


ANY = object()


def nothing(*_, **__):
    return None


def fails(*_, **__):
    raise RuntimeError("this producer fails")


def dlpack(rng, memory):
    dtype = rng.choice(list(TYPES))
    view = memory.view(rng, dtype)
    code, bits = TYPES[dtype]
    rank = view.ndim
    shape = (ctypes.c_int64 * rank)(*view.shape)
    strides = (ctypes.c_int64 * rank)(*[stride // dtype.itemsize for stride in view.strides])
    offset = rng.choice([0, 0, 1, 64, 1000])
    tensor = Tensor(view.ctypes.data - offset, 1, rng.choice([0, 0, 3]), rank, code, bits, 1, ctypes.addressof(shape), ctypes.addressof(strides), offset)
    if rank == 0:
        tensor.shape, tensor.strides = rng.choice([None, tensor.shape]), rng.choice([None, tensor.strides])
    elif list(view.strides) == row_major(view.shape, dtype.itemsize):
        tensor.strides = rng.choice([None, tensor.strides])
    for place in range(rank):
        if shape[place] < 2 and rng.random() < 0.3:
            strides[place] = rng.choice([0, -1, 1 << 62, -(1 << 63), 7]) if tensor.strides else strides[place]
    versioned = rng.random() < 0.6
    deleted = []
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleted.append)
    pointer = rng.choice([None, ctypes.cast(deleter, ctypes.c_void_p).value])
    context = rng.choice([None, 1, (1 << 64) - 1])
    flags = rng.choice([0, 0, 1, 2, 4, 3, 1 << 40, (1 << 64) - 2])
    managed = Versioned(1, rng.choice([0, 1, 2, 1 << 31]), context, pointer, flags, tensor) if versioned else Managed(tensor, context, pointer)
    name = b"dltensor_versioned" if versioned else b"dltensor"
    members = {
        "__dlpack_device__": lambda self: (1, 0),
        "__dlpack__": lambda self, **_: capsule(ctypes.addressof(managed), name, None),
    }
    if rng.random() < 0.2:
        members["__dlpack__"] = lambda self: capsule(ctypes.addressof(managed), name, None)
    wrong = rng.random() < 0.6
    if wrong:
        wrong = damage_dlpack(rng, managed, managed.tensor, members, view, shape, strides)
    given = type("Given", (), members)()
    expected = {True: None, False: view, ANY: ANY}[wrong]
    return Case(given, expected, versioned and not flags & 1, (shape, strides, managed, deleter, deleted))


def damage_dlpack(rng, managed, tensor, members, view, shape, strides):
    """Damages a tensor. Returns True if every consumer must refuse it, and ANY if it may."""
    elements, rank = view.size > 0, view.ndim
    kind = rng.randrange(14)
    if kind == 0:
        tensor.ndim = rng.choice([-1, -(1 << 31), 65, 1000, (1 << 31) - 1])
    elif kind == 1 and rank:
        tensor.shape = None
    elif kind == 2 and rank:
        shape[rng.randrange(rank)] = rng.choice([-1, -3, -(1 << 63)])
    elif kind == 3 and elements:
        tensor.data, tensor.byte_offset = None, rng.choice([0, 64, (1 << 64) - 1])
    elif kind == 4:
        tensor.device_type = rng.choice([0, 2, 4, 7, 8, 10, 13, 14, 99, -1, (1 << 31) - 1])
    elif kind == 5:
        other = rng.choice([(2, 0), (0, 0), (-1, 0), (1 << 40, 0), (), None, "cpu", ("cpu", 0), 1])
        members["__dlpack_device__"] = rng.choice([lambda self: other, fails])
    elif kind == 6:
        tensor.code = rng.choice([3, 18, 77, 255])
    elif kind == 7:
        tensor.bits = rng.choice([0, 3, 5, 7, 9, 12, 24, 33, 48, 96, 255])
    elif kind == 8:
        tensor.lanes = rng.choice([0, 2, 4, 65535])
    elif kind == 9 and isinstance(managed, Versioned):
        managed.major = rng.choice([0, 2, 3, (1 << 32) - 1])
    elif kind == 10:
        name = rng.choice([b"used_dltensor", b"used_dltensor_versioned", b"", b"dltensor ", None])
        pointer = ctypes.addressof(managed)
        other = rng.choice([None, 7, b"dltensor", object()])
        members["__dlpack__"] = rng.choice([lambda self, **_: capsule(pointer, name, None), lambda self, **_: other, fails])
    elif kind == 11 and rank and elements and max(view.shape) > 2:
        # The last element is 2^63 bytes away or more.
        tensor.strides = ctypes.addressof(strides)
        strides[view.shape.index(max(view.shape))] = rng.choice([(1 << 63) - 1, -(1 << 63), 1 << 62, -(1 << 62)])
    elif kind == 12 and rank > 1 and elements:
        # More bytes than an address can count.
        tensor.strides = None
        shape[0], shape[1] = rng.choice([((1 << 63) - 1, 2), (1 << 40, 1 << 40), (1 << 62, 8), ((1 << 62) + 1, 4)])
    elif kind == 13 and rank and elements:
        # Any number of equal elements is an array, but no memory has room for the copy.
        shape[0], strides[0] = rng.choice([1 << 50, 1 << 62, (1 << 63) - 1]), 0
        tensor.strides = ctypes.addressof(strides)
        return ANY
    else:
        return False
    return True


def structure(rng, memory):
    """`__array_struct__`, the C form of numpy's interface."""
    dtype = rng.choice(list(TYPES))
    view = memory.view(rng, dtype)
    rank = view.ndim
    shape, strides = (ctypes.c_ssize_t * rank)(*view.shape), (ctypes.c_ssize_t * rank)(*view.strides)
    writable = rng.random() < 0.5
    interface = Interface(2, rank, dtype.kind.encode(), dtype.itemsize, 0x201 | 0x400 * writable, ctypes.addressof(shape), ctypes.addressof(strides), view.ctypes.data)
    members = {"dtype": dtype, "__array_struct__": capsule(ctypes.addressof(interface), None, None)}
    elements, wrong, kind = view.size > 0, True, rng.randrange(20)
    if kind == 0:
        interface.two = rng.choice([0, 1, 3, -2])
    elif kind == 1:
        interface.nd = rng.choice([-1, 65, 1000, 1 << 30, -(1 << 31)])
    elif kind == 2 and rank:
        interface.shape = None
    elif kind == 3 and rank:
        interface.strides = None
    elif kind == 4 and elements:
        interface.data = None
    elif kind == 5 and rank:
        shape[rng.randrange(rank)] = rng.choice([-1, -(1 << 63)])
    elif kind == 6:
        interface.itemsize = rng.choice([size for size in [-1, 0, 3, 5, 7, 33] if size != dtype.itemsize])
    elif kind == 7:
        interface.typekind = rng.choice([b"O", b"S", b"U", b"M", b"m", b"\0", b"\xff"])
        members["dtype"] = numpy.dtype(rng.choice(["O", "S4", "U1", "M8[s]"]))
    elif kind == 8 and dtype.itemsize > 1:
        interface.flags &= ~0x200
    elif kind == 9:
        # A name of a type with larger elements than these.
        interface.typekind, interface.itemsize = b"V", dtype.itemsize
        members["dtype"] = type("Named", (), {"name": rng.choice(["complex128", "float7", 3, None])})()
        wrong = dtype.itemsize != 16 or members["dtype"].name != "complex128"
    elif kind == 10:
        members["__array_struct__"] = rng.choice([3, "none", b"", {}, capsule(ctypes.addressof(interface), b"named", None)])
    elif kind == 11 and rank and elements and max(view.shape) > 2:
        strides[view.shape.index(max(view.shape))] = rng.choice([(1 << 63) - 1, -(1 << 63), 1 << 62, -(1 << 62)])
    elif kind == 12 and dtype not in OWN:
        del members["dtype"]
    else:
        wrong = False
    given = type("Given", (), members)()
    expected = None if wrong else view if kind != 9 else ANY
    return Case(given, expected, writable, (shape, strides, interface))


def dictionary(rng, memory):
    """`__array_interface__`, which numpy reads. What numpy refuses must be refused."""
    dtype = rng.choice(OWN)
    view = memory.view(rng, dtype)
    writable = rng.random() < 0.5
    interface = {"version": 3, "shape": view.shape, "typestr": dtype.str, "data": (view.ctypes.data, not writable), "strides": view.strides}
    if list(view.strides) == row_major(view.shape, dtype.itemsize):
        interface["strides"] = rng.choice([None, view.strides])
    kind = rng.randrange(16)
    if kind == 0:
        interface["shape"] = rng.choice([None, 3, "abc", (-1,), (1.5,), (1 << 70,), [], {}, (1,) * 65, (None,)])
        if isinstance(interface["shape"], (tuple, list, str)):
            interface["strides"] = None
    elif kind == 1:
        interface["strides"] = rng.choice([3, "abc", (0,) * 9, (1.5,), (None,), {}, ("a",) * view.ndim])
    elif kind == 2:
        interface["typestr"] = rng.choice([None, 4, "", "<f3", "<z4", "<", "f4" * 40, b"\xff", ["<f4"], ">" + dtype.str[1:], "|S1", "|V1", "<U0"])
    elif kind == 3:
        interface["data"] = rng.choice([None, (), (0,), ("abc", True), (0, False), (None, False), 3, "abc", (1.5, False), (1 << 70, False), (-1, True)])
        if interface["data"] in [(-1, True), (0, False)]:
            interface["shape"], interface["strides"] = (0,), None
    elif kind == 4:
        del interface[rng.choice(list(interface))]
        if "strides" not in interface and list(view.strides) != row_major(view.shape, dtype.itemsize):
            interface["shape"] = (1,) if view.size else (0,)
        if "data" not in interface:
            interface["shape"] = (0,)
    elif kind == 5:
        # A buffer instead of an address, which numpy does not compare with the shape.
        interface["data"] = rng.choice([memory.bytes, memoryview(memory.bytes).toreadonly(), memory.bytes.tobytes()])
        interface["strides"] = rng.choice([None, (0,) * view.ndim])
        interface["offset"] = rng.choice([0, 1, 8, None, "a"]) if view.nbytes + 8 <= ROOM else 0
    elif kind == 6:
        interface["version"] = rng.choice([0, 2, 4, None, "3", -1])
    elif kind == 7:
        interface["descr"] = rng.choice([None, 3, [], [("", dtype.str)], [("a", "<f2"), ("b", "<f2")], "abc"])
    elif kind == 8:
        interface["mask"] = rng.choice([None, 3, numpy.zeros(view.shape, bool)])
    other = rng.choice([None, 3, "abc", [], interface, interface])
    given = type("Given", (), {"__array_interface__": property(fails) if rng.random() < 0.03 else interface if kind else other})()
    return Case(given, *numpys(given))


def numpys(given):
    """The array that numpy makes of an object, or None, and whether it may be written."""
    try:
        made = numpy.asarray(given)
    except Exception:
        return None, False
    if made.dtype.kind == "O":
        return None, False
    return (made if made.dtype in TYPES else None), made.flags.writeable


def buffer(rng, memory):
    """Views of memory by the buffer protocol."""
    kind = rng.randrange(6)
    if kind == 0:
        code = rng.choice("bBhHiIlLqQfdu" if sys.version_info < (3, 13) else "bBhHiIlLqQfdw")
        given = array.array(code, ["a"] * 3 if code in "uw" else range(rng.randrange(9)))
    elif kind == 1:
        given = rng.choice([bytearray(range(24)), b"", b"abc", bytearray(), mmap.mmap(-1, 64)])
    elif kind == 2:
        base = rng.choice([ctypes.c_float, ctypes.c_int16, ctypes.c_double, ctypes.c_char, ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32.__ctype_be__])
        given = (base * rng.choice([0, 1, 3]) * 2)()
    else:
        view = memoryview(memory.bytes[ROOM - 240:]) if rng.random() < 0.5 else memoryview(memory.bytes[:240])
        if kind == 3:
            view = view[::rng.choice([1, 2, 3, -1, -5])]
        else:
            code = rng.choice("?bBhHiIlLqQnNfdc")
            shape = rng.choice([[], [[2, 3]], [[1, 6]], [[3, 1, 2]], [[2, 3]]])
            view = view[:6 * numpy.dtype("P" if code in "nN" else code.replace("c", "S1")).itemsize].cast(code, *shape)
            view = view[::-1] if not shape and rng.random() < 0.5 else view
        given = view.toreadonly() if rng.random() < 0.3 else view
        if rng.random() < 0.1:
            given.release()
    try:
        view = memoryview(given)
    except ValueError:
        return Case(given, None)
    return Case(given, *numpys(view))


def same(given, expected):
    given, expected = numpy.asarray(given), numpy.asarray(expected)
    assert given.dtype == expected.dtype and given.shape == expected.shape, (given.dtype, given.shape, expected.dtype, expected.shape)
    # numpy may write 1 for another byte that is true, and compares such bytes in two ways.
    if given.dtype == bool:
        given, expected = (numpy.frombuffer(of.tobytes(), "u1") != 0 for of in (given, expected))
    equal = given.tobytes() == expected.tobytes()
    assert equal, (given, expected)


def relayout(rng, case, memory):
    rank = case.expected.ndim if is_array(case) else rng.randrange(3)
    order = rng.sample(range(rank), rank)
    to = tuple(order) if rng.random() < 0.5 else "{" + ",".join(map(str, order)) + "}"
    made = stridec.relayout(case.given, to=to)
    return lambda: same(made, numpy.array(case.expected.transpose(order[::-1]), order="C"))


def slices(rng, case, memory):
    shape = case.expected.shape if is_array(case) else (2, 2)
    offsets = [rng.randrange(size) if size else 0 for size in shape]
    sizes = [rng.randint(1, size - start) if size else 0 for size, start in zip(shape, offsets)]
    steps = [rng.choice([1, 2, -1, -3]) for _ in shape]
    if 0 in sizes:
        raise ValueError("a window without elements")
    made = stridec.slice(case.given, offsets, sizes, steps)
    window = tuple(slice(start, start + size) for start, size in zip(offsets, sizes))
    return lambda: same(made, numpy.array(case.expected[window][tuple(slice(None, None, step) for step in steps)], order="C"))


def wrap(rng, case, memory):
    made = stridec.Array(case.given)
    seen = (made.dtype, made.shape, made.strides, made.readonly, repr(made), str(made.layout), made.__array_interface__)

    def check():
        assert seen[1] == case.expected.shape
        if case.expected.dtype in OWN:
            same(numpy.asarray(made), case.expected)
        capsules = [made.__dlpack__(max_version=(1, 1))]
        if case.writable:
            capsules.append(made.__dlpack__())
        again = stridec.relayout(made, to=tuple(range(case.expected.ndim))[::-1])
        same(again, numpy.array(case.expected, order="C"))

    return check


def shape(rng, case, memory):
    # `Shape` takes bytes for a serialized shape.
    kinds = [stridec.Shape.from_array] if isinstance(case.given, bytes) else [stridec.Shape, stridec.Shape.from_array]
    made = rng.choice(kinds)(case.given)
    return lambda: compare(made.dimensions, case.expected.shape)


def compare(given, expected):
    assert given == expected, (given, expected)


def out(rng, case, memory):
    target = case.expected if is_array(case) else numpy.zeros((2, 2), numpy.float32)
    source = numpy.frombuffer(bytes(rng.randrange(2) for _ in range(target.nbytes)), target.dtype).reshape(target.shape)
    before = memory.bytes.tobytes()
    to = tuple(range(target.ndim))[::-1]
    try:
        made = stridec.relayout(source, to=to, out=case.given)
    except Exception:
        assert memory.bytes.tobytes() == before, "a refused `out` was written"
        fits = is_array(case) and case.writable and list(target.strides) == row_major(target.shape, target.itemsize)
        assert not fits, "a fitting `out` was refused"
        raise

    def check():
        assert made is case.given and case.writable, "a read-only `out` was written"
        same(target, source)

    if target.size and is_array(case):
        check()
    memory.bytes[:] = numpy.frombuffer(before, numpy.uint8)
    return nothing


def program(rng, case, memory):
    expected = case.expected if is_array(case) else numpy.zeros((2, 2), numpy.float32)
    own = rng.random() < 0.7
    shape = str(stridec.Shape(expected.shape if own else (2, 3), dtype=expected.dtype if own else "f32"))
    made = PROGRAMS.get(shape)
    if made is None:
        made = PROGRAMS[shape] = stridec.Program(f"ENTRY e {{ x = {shape} parameter(0) ROOT y = {shape} copy(x) }}")
    result = made(case.given)

    def check():
        assert own or (expected.shape == (2, 3) and expected.dtype == numpy.float32), "an unfit argument was taken"
        same(result, numpy.array(expected, order="C"))

    return check


PROGRAMS = {}


def described(rng, case, memory):
    expected = case.expected if is_array(case) else numpy.zeros((2, 2), numpy.float32)
    layout = rng.choice(["C", "F", None])
    source = stridec.Shape(expected.shape, dtype=expected.dtype, layout=layout)
    made = stridec.relayout(case.given, to="C", source=source)

    def check():
        if layout == "F":
            options = [expected.reshape(-1).reshape(expected.shape, order="F"), expected]
        else:
            options = [expected]
        assert any(numpy.asarray(made).tobytes() == numpy.array(option, order="C").tobytes() for option in options)

    return check


def table(rng, case, memory):
    pixels = numpy.array([[0, 1], [2, 255]], numpy.uint8)
    made = stridec.relayout(pixels, to="C", table=case.given)
    return lambda: same(made, case.expected[pixels])


PRODUCERS = [dlpack, dlpack, dlpack, structure, dictionary, buffer]
CONSUMERS = [relayout, relayout, slices, wrap, shape, out, out, program, described, table]


def is_array(case):
    return isinstance(case.expected, numpy.ndarray)


def run(memory, seed, number):
    """Runs a case. Returns whether the argument was taken."""
    rng = random.Random(f"{seed} {number}")
    case = rng.choice(PRODUCERS)(rng, memory)
    consumer = rng.choice(CONSUMERS)
    before = memory.bytes.tobytes()
    check, refused = None, None
    try:
        check = consumer(rng, case, memory)
    except AssertionError:
        raise
    except Exception as error:
        refused = error
    assert memory.bytes.tobytes() == before, "the memory of an argument changed"
    if check is not None and case.expected is not ANY:
        assert case.expected is not None, f"{consumer.__name__} took an array that {case.given} does not have"
        check()
    if check is None and is_array(case) and consumer in [relayout, wrap, shape]:
        raise AssertionError("a good array was refused") from refused
    assert not (case.kept and isinstance(case.kept[-1], list) and case.kept[-1]), "the deleter of a tensor that was not taken was called"
    return check is not None


def main(seed, case=None, seconds=SECONDS, log=None):
    faulthandler.enable()
    memory = Memory()
    if case is not None:
        print("taken" if run(memory, seed, case) else "refused")
        return
    # The number of the case is written before it runs, and so is known after a crash.
    file = os.open(log, os.O_WRONLY) if log else None
    end, taken = time.monotonic() + seconds, 0
    for number in itertools.count():
        if time.monotonic() > end:
            break
        if file is not None:
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, b"%20d" % number)
        taken += run(memory, seed, number)
    print(number, taken)


def test_damaged_arrays_are_refused_and_good_ones_copied(tmp_path):
    log = tmp_path / "case"
    log.touch()
    code = [sys.executable, __file__, str(SEED), "--log", str(log)]
    done = subprocess.run(code, capture_output=True, text=True, timeout=SECONDS + 120)
    last = log.read_text().strip()
    assert done.returncode == 0 and "panic" not in done.stderr, (
        f"seed {SEED}, case {last}, exit code {done.returncode}; python {__file__} {SEED} {last}\n{done.stderr[-4000:]}"
    )
    cases, taken = map(int, done.stdout.split())
    assert cases > 100 and cases > taken > 0


if __name__ == "__main__":
    if sys.argv[2:3] == ["--log"]:
        main(int(sys.argv[1]), log=sys.argv[3])
    else:
        main(*map(int, sys.argv[1:]))
