"""What several tests need."""

import random

import ml_dtypes
import numpy
import pytest

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]
ML = ["bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn",
      "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
      "float8_e5m2fnuz", "float8_e8m0fnu"]
DTYPES = [numpy.dtype(name) for name in NUMPY] + [numpy.dtype(getattr(ml_dtypes, name)) for name in ML]


@pytest.fixture
def rng(request):
    """Random numbers that are the same on every run of a test."""
    return random.Random(request.node.name)


def filled(shape, dtype):
    """An array whose bytes differ from each other, valid for the type."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    raw = ((numpy.arange(count * dtype.itemsize, dtype=numpy.uint32) * 2654435761) >> 13).astype(numpy.uint8)
    if dtype == bool:
        raw &= 1
    if dtype.name.startswith(("int2", "uint2", "int4", "uint4", "float4", "float6")):
        unused = 8 - int(dtype.name.lstrip("uintfloat")[0])
        # The sign fills the bits above an integer, as ml_dtypes has it.
        signed = raw.view(numpy.int8 if dtype.name.startswith("int") else numpy.uint8)
        raw = ((signed << unused) >> unused).view(numpy.uint8)
    return raw.view(dtype).reshape(shape)


def same(a, b):
    """Whether two arrays have the same type, extents and bytes, NaN or not."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def strided(rng, dtype, rank):
    """A random view: permuted, stepped, reversed, broadcast, with dimensions of one element whose strides mean nothing."""
    limit = [0, 40, 12, 7, 5, 4, 3, 3, 2][rank]
    extents = [rng.choice([0, 1, 1, 2, 3, limit]) if rng.random() < 0.5 else rng.randint(1, limit) for _ in range(rank)]
    steps = [rng.choice([1, 1, 1, 2, 3, -1, -2]) for _ in range(rank)]
    base = filled([abs(step) * extent + rng.randint(0, 2) for step, extent in zip(steps, extents)], dtype)
    view = base[tuple(slice(None, None, step) for step in steps)][tuple(slice(0, extent) for extent in extents)]
    view = view.transpose(rng.sample(range(rank), rank))
    for dimension in range(rank):
        kind = rng.random()
        if kind < 0.08 and view.shape[dimension] > 0:
            view = numpy.take(view, [0], axis=dimension)
            shape = list(view.shape)
            shape[dimension] = rng.randint(1, 4)
            view = numpy.broadcast_to(view, shape)
        elif kind < 0.16 and view.shape[dimension] == 1:
            strides = list(view.strides)
            strides[dimension] = rng.choice([-999, 0, 1, 7, 1 << 40])
            plain = numpy.dtype(f"V{dtype.itemsize}")
            view = numpy.lib.stride_tricks.as_strided(view.view(plain), view.shape, strides).view(dtype)
    return view
