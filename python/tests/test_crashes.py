"""Inputs that must not end the process: arrays at exit, damaged DLPack tensors, immutable memory."""

import ctypes
import subprocess
import sys

import jax.numpy as jnp
import ml_dtypes
import numpy
import pytest
import stridec
from producers import Interface, Producer, capsule

AT_EXIT = {
    "numpy": "t = np.from_dlpack(stridec.Array(np.ones(3)))",
    "a capsule of each version": "a = stridec.Array(np.ones(3)); t = a.__dlpack__(), a.__dlpack__(max_version=(1, 1))",
    "jax": "import jax.numpy as jnp; t = jnp.from_dlpack(stridec.Array(np.ones(3, np.float32)))",
    "an array of jax": "import jax.numpy as jnp; t = np.from_dlpack(stridec.Array(jnp.ones(3)))",
    "a cycle": "t = [np.from_dlpack(stridec.Array(np.ones(3)))]; t.append(t)",
    "a thread": """
import threading, time
def drop():
    while True:
        np.from_dlpack(stridec.Array(np.ones(3)))
threading.Thread(target=drop, daemon=True).start()
time.sleep(0.2)
""",
}


@pytest.mark.parametrize("code", AT_EXIT.values(), ids=AT_EXIT.keys())
def test_arrays_may_outlive_the_interpreter(code):
    code = f"import numpy as np, stridec\n{code}"
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "panic" not in done.stderr and "Fatal" not in done.stderr, done.stderr


@pytest.mark.parametrize("versioned", [False, True])
def test_damaged_tensors_are_refused(versioned):
    assert stridec.relayout(Producer(versioned), to="{0}").tolist() == [0, 1, 2]
    assert stridec.relayout(Producer(versioned, extent=0, data=None), to="{0}").tolist() == []
    for changes, message in [
        ({"data": None}, "without memory"),
        ({"data": None, "byte_offset": 64}, "without memory"),
        ({"ndim": -1}, "a negative rank"),
        ({"ndim": 1 << 30}, "rank 1073741824"),
        ({"shape": None}, "no shape"),
        ({"extent": -3}, "a negative extent"),
        ({"device_type": 2}, "another device"),
    ]:
        with pytest.raises((stridec.InvalidInput, stridec.Unsupported), match=message):
            stridec.relayout(Producer(versioned, **changes), to="{0}")


def test_damaged_array_interfaces_are_refused():
    values = numpy.arange(3, dtype=numpy.float32)
    extents, strides = (ctypes.c_ssize_t * 1)(3), (ctypes.c_ssize_t * 1)(4)
    good = (2, 1, b"f", 4, 0x601, ctypes.addressof(extents), ctypes.addressof(strides), values.ctypes.data)

    def given(**changes):
        interface = Interface(*good)
        for name, value in changes.items():
            setattr(interface, name, value)
        members = {"__array_struct__": capsule(ctypes.addressof(interface), None, None), "interface": interface}
        return type("Given", (), members)()

    assert stridec.relayout(given(), to="{0}").tolist() == [0, 1, 2]
    for changes, message in [
        ({"data": None}, "without memory"),
        ({"shape": None}, "__array_struct__"),
        ({"strides": None}, "__array_struct__"),
        ({"nd": -1}, "__array_struct__"),
        ({"nd": 1 << 30}, "__array_struct__"),
        ({"two": 3}, "__array_struct__"),
    ]:
        with pytest.raises((stridec.InvalidInput, stridec.Unsupported), match=message):
            stridec.relayout(given(**changes), to="{0}")
    extents[0] = -3
    with pytest.raises(stridec.InvalidInput, match="__array_struct__"):
        stridec.relayout(given(), to="{0}")
    # An element type is known by its name, which may be of larger elements.
    extents[0] = 3
    wide = given(typekind=b"V", itemsize=1)
    wide.dtype = numpy.dtype(ml_dtypes.bfloat16)
    with pytest.raises(stridec.InvalidInput, match="array.dtype: expected elements of the size of their dtype, got bfloat16 of 1 bytes"):
        stridec.relayout(wide, to="{0}")


@pytest.mark.parametrize("stride", [1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63)])
def test_strides_past_every_address_are_refused(stride):
    values = numpy.arange(3, dtype=numpy.uint8)
    extents, strides = (ctypes.c_ssize_t * 1)(3), (ctypes.c_ssize_t * 1)(stride)
    interface = Interface(2, 1, b"u", 1, 0x601, ctypes.addressof(extents), ctypes.addressof(strides), values.ctypes.data)
    given = type("Given", (), {"__array_struct__": capsule(ctypes.addressof(interface), None, None)})()
    for name, call in [("array", lambda: stridec.Array(given)), ("table", lambda: stridec.relayout(values, to="{0}", table=given))]:
        with pytest.raises(stridec.InvalidInput, match=rf"{name}.strides: expected memory of less than 2\^63 bytes"):
            call()


def test_immutable_arrays_are_not_written():
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    immutable = jnp.zeros((3, 2), jnp.float32)
    alias = numpy.from_dlpack(immutable)
    for out in [immutable, stridec.Array(immutable), Producer(False), Producer(True, flags=1)]:
        given = x if not isinstance(out, Producer) else numpy.ones(3, numpy.float32)
        with pytest.raises(stridec.InvalidInput, match="out: expected an array that can be written, got a read-only one"):
            stridec.relayout(given, to=tuple(range(given.ndim)), out=out)
    assert not alias.any() and not numpy.asarray(immutable).any()
    written = Producer(True)
    stridec.relayout(numpy.ones(3, numpy.float32), to="{0}", out=written)
    assert written.values.tolist() == [1, 1, 1]


def test_numpy_says_if_a_tensor_without_a_version_may_be_written():
    class OldTensor(Producer):
        def __init__(self):
            super().__init__(False)

        def __array__(self, *_, **__):
            return self.values

    out = OldTensor()
    assert stridec.relayout(numpy.ones(3, numpy.float32), to="{0}", out=out) is out
    assert out.values.tolist() == [1, 1, 1]
    out.values.flags.writeable = False
    with pytest.raises(stridec.InvalidInput, match="read-only"):
        stridec.relayout(numpy.zeros(3, numpy.float32), to="{0}", out=out)
