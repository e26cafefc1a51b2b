"""Wrong arguments: the right exception, which says what and where, and never a panic."""

import datetime
import itertools

import numpy
import pytest
import stridec

X = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)


@pytest.mark.parametrize("call, kind, field, value, message", [
    (lambda: stridec.Shape("f32[2,3]{1,1}"), stridec.InvalidInput, "layout.minor_to_major[1]", "1",
     "layout.minor_to_major[1]: expected each dimension once, got 1 twice"),
    (lambda: stridec.Shape("f32[2,3]", layout=(0, 1, 2)), stridec.InvalidInput, "layout.minor_to_major", "3", ""),
    (lambda: stridec.relayout(X, to="c64[2,3]"), stridec.Unsupported, "destination.element_type", "c64", ""),
    (lambda: stridec.relayout(X.astype(">i4"), to="{0,1}"), stridec.Unsupported, "array.dtype", "big-endian ones", "newbyteorder"),
    (lambda: stridec.relayout(numpy.array([object()]), to="{0}"), stridec.Unsupported, "array.dtype", "object", ""),
    (lambda: stridec.relayout(numpy.array(["text"]), to="{0}"), stridec.Unsupported, "array.dtype", "str128", ""),
    (lambda: stridec.relayout(numpy.array([datetime.datetime.now()], "M8[s]"), to="{0}"), stridec.Unsupported, "array.dtype", "datetime64[s]", ""),
    (lambda: stridec.relayout(numpy.zeros(3, [("a", "i2"), ("b", "f4")]), to="{0}"), stridec.Unsupported, "array.dtype", "void48", ""),
    (lambda: stridec.relayout(numpy.ma.masked_array(X, mask=X > 2), to="{0,1}"), stridec.Unsupported, "array", "a masked array", "a.filled(value)"),
    (lambda: stridec.relayout(X, to="{0,1}", out=numpy.ma.zeros((2, 3), X.dtype)), stridec.Unsupported, "out", "a masked array", ""),
    (lambda: stridec.relayout([1, 2], to="{0}"), stridec.InvalidInput, "array", "list", ""),
    (lambda: stridec.relayout(X, to=3), stridec.InvalidInput, "to", "3", ""),
    (lambda: stridec.relayout(X, to="{0,1}", device="tpu"), stridec.InvalidInput, "device", '"tpu"', ""),
    (lambda: stridec.relayout(X, to="{0,1}", source="s32[2,3]{0,1}"), stridec.InvalidInput, "array.shape", "(2, 3)", ""),
    (lambda: stridec.compile("f32[2]", "{0}", target="abacus"), stridec.InvalidInput, "target", "'abacus'", ""),
    (lambda: stridec.compile("token[]", "{0}"), stridec.Unsupported, "element_type", "token", ""),
    (lambda: stridec.compile("f32[1000000000]", "{0}"), stridec.Unsupported, "source", "4000000000", "which is what target webgpu binds"),
    (lambda: stridec.slice(X, (0, 0), (3, 3)), stridec.InvalidInput, "offsets[0]", None, ""),
    (lambda: stridec.Shape("f32[2,3]").offset((2, 0)), stridec.InvalidInput, "index", "2", ""),
    (lambda: stridec.Shape("f32[2,3]").index(6), stridec.InvalidInput, "offset", "6", ""),
    (lambda: stridec.Shape(b"\xff"), stridec.InvalidInput, "source", None, "xla.Shape"),
    (lambda: stridec.Shape((2, 3)), stridec.InvalidInput, "dtype", "None", ""),
    (lambda: stridec.Shape((2, 3), dtype="f33"), stridec.InvalidInput, "dtype", "f33", ""),
])
def test_errors_say_what_and_where(call, kind, field, value, message):
    with pytest.raises(kind) as raised:
        call()
    error = raised.value
    assert message in str(error)
    assert error.field == field
    assert error.value == value or value is None


def test_the_exceptions_are_pythons_own_too():
    assert issubclass(stridec.InvalidInput, ValueError)
    assert issubclass(stridec.Unsupported, NotImplementedError)
    assert issubclass(stridec.DeviceError, RuntimeError)


class Raises:
    """Raises from every protocol."""

    def __getattr__(self, name):
        raise RuntimeError(name)


class Lies:
    """An array whose parts are of the wrong kind."""

    shape, dtype, format, layout, major_to_minor = 3, "f4", 7, {}, "abc"
    __array_struct__ = __array_interface__ = "none"

    def __dlpack__(self, **_):
        return 7

    def __dlpack_device__(self):
        return "cpu"


HOSTILE = [None, 0, -1, 1 << 80, 1.5, "", "{", "}", "f32[", "f32[2,3]", "{0,1}", "{0}" * 999, "\0", "\ud800", b"", b"\x10\x0b" * 99, [], [[]], (),
           (1 << 70,), (-1, 2), {}, object(), type, Raises(), Lies(), X, X[:0], numpy.zeros((1,) * 33, "u1"), numpy.array(None), X.astype("O"),
           numpy.lib.stride_tricks.as_strided(numpy.zeros(1), (1 << 57, 4), (0, 0)), stridec.Shape("f32[2,3]"), stridec.Shape("token[]")]


def test_hostile_arguments_raise_and_nothing_else():
    program = stridec.Program("ENTRY main { x = s32[2,3] parameter(0) y = s32[2] parameter(1) ROOT r = (s32[2,3], s32[2]) tuple(x, y) }")
    calls = [
        lambda a, b: stridec.Shape(a, layout=b),
        lambda a, b: stridec.Shape(a, dtype=b),
        lambda a, b: stridec.Shape(a).offset(b),
        lambda a, b: stridec.Shape(a).index(b),
        lambda a, b: stridec.Array(a).__dlpack__(max_version=b),
        lambda a, b: stridec.relayout(X, to=a, source=b),
        lambda a, b: stridec.relayout(a, to="{0,1}", out=b),
        lambda a, b: stridec.slice(X, a, b),
        lambda a, b: stridec.compile(a, b),
        lambda a, b: stridec.Operation.relayout("s32[2,3]", a)(b),
        lambda a, b: stridec.Program(a)(b),
        lambda a, b: program(a, b),
        lambda a, b: stridec.diff(a, b),
        lambda a, b: stridec.memory(a),
    ]
    done = 0
    for call, (a, b) in itertools.product(calls, itertools.product(HOSTILE, HOSTILE)):
        try:
            call(a, b)
        except (Exception,):  # a panic is a BaseException, and fails the test
            pass
        done += 1
    assert done == len(calls) * len(HOSTILE) ** 2
    assert X.tolist() == [[0, 1, 2], [3, 4, 5]]
