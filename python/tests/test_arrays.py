"""Arrays of every kind, in and out."""

import array
import os

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy
import pytest
import stridec
from conftest import DTYPES, filled, same, strided

CASES = int(os.environ.get("STRIDEC_PYTHON_CASES", "10000"))


def test_random_strided_arrays_are_copied_as_numpy_copies_them(rng):
    seen = set()
    for case in range(CASES):
        dtype, rank = DTYPES[case % len(DTYPES)], rng.randint(0, 8)
        view = strided(rng, dtype, rank)
        expected = numpy.array(view, order="C")
        shape = stridec.Shape.from_array(view)
        assert shape.dimensions == view.shape, (case, shape)
        order = rng.sample(range(rank), rank)
        image = stridec.relayout(view, to=tuple(order))
        major_to_minor = order[::-1]
        assert same(image, numpy.array(expected.transpose(major_to_minor), order="C")), (case, str(shape), order)
        target = stridec.Shape(view.shape, dtype=shape.dtype, layout=tuple(order))
        back = stridec.relayout(image, to=tuple(range(rank))[::-1], source=target)
        assert same(back, expected), (case, str(shape), order)
        seen.add((dtype, rank))
    assert CASES < 10_000 or len(seen) == 9 * len(DTYPES)


def test_the_layout_of_an_array_places_its_elements_where_numpy_does(rng):
    for case in range(400):
        view = strided(rng, DTYPES[case % len(DTYPES)], rng.randint(0, 5))
        shape = stridec.Shape.from_array(view)
        assert shape.nbytes >= view.dtype.itemsize * bool(view.size)
        low = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides) if stride < 0)
        for index in list(numpy.ndindex(*view.shape))[:50]:
            byte = sum(i * stride for i, stride in zip(index, view.strides)) - low
            assert shape.offset(index) * view.dtype.itemsize == byte


def test_tiled_images_hold_the_elements_where_the_shape_says():
    x = filled((11, 13), numpy.int16)
    shape = stridec.Shape("s16[11,13]{1,0:T(4,8)(2,1)}")
    image = stridec.relayout(x, to="{1,0:T(4,8)(2,1)}")
    assert image.nbytes == shape.nbytes
    cells = image.ravel()
    for offset, cell in enumerate(cells):
        index = shape.index(offset)
        assert cell == (0 if index is None else x[index])
    assert same(stridec.relayout(image, to="{1,0}", source=shape), x)
    # The memory may come as bytes, or as one dimension.
    assert same(stridec.relayout(image.tobytes(), to="{1,0}", source=shape), x)
    assert same(stridec.relayout(cells, to="{1,0}", source=shape), x)


def test_a_blocked_image_is_the_array_of_its_blocks():
    x = numpy.arange(54, dtype=numpy.float32).reshape(2, 9, 1, 3)
    image = stridec.relayout(x, "{3,2,1,0:T(8,1,1)}")
    assert image.shape == (2, 2, 1, 3, 8)
    source = "f32[2,9,1,3]{3,2,1,0:T(8,1,1)}"
    for given in (image, image.reshape(2, 2, 1, 3, 8, 1, 1)):
        assert numpy.array_equal(stridec.relayout(given, "{3,2,1,0}", source=source), x)


def test_a_view_is_read_from_its_storage():
    storage = numpy.arange(1024, dtype=numpy.uint32).astype(numpy.uint8)
    view = numpy.lib.stride_tricks.as_strided(storage, (4, 4, 4), (256, 4, 1))
    source = "u8[4,4,4] strided<[256,4,1]>"
    assert numpy.array_equal(stridec.relayout(storage, "{2,1,0}", source=source), view)
    with pytest.raises(ValueError, match="array.shape"):
        stridec.relayout(storage[:783], "{2,1,0}", source=source)
    with pytest.raises(ValueError, match="array.shape"):
        stridec.relayout(storage, "{2,1,0}", source="u8[4,4,4]")


def test_tiles_of_a_tpu_are_those_of_the_shape():
    for extents in [(33, 100), (100,), (2, 3, 5, 7), (33, 100)]:
        x = filled(extents, numpy.float32)
        for order in ["C", "F"]:
            shape = stridec.Shape(extents, dtype="bf16", layout=order, tiles="tpu")
            image = stridec.relayout(x, to=order, dtype="bf16", tiles="tpu")
            assert same(image, stridec.relayout(x, to=shape)) and image.nbytes == shape.nbytes
            assert same(stridec.relayout(image, to="C", source=str(shape)), stridec.relayout(x, to="C", dtype="bf16"))
        # A recent relayout without tiles is not mistaken for one with tiles.
        assert stridec.relayout(x, to="C").shape == extents != stridec.relayout(x, to="C", tiles="tpu").shape
    bytes_ = filled((4, 6), numpy.uint8)
    table = numpy.arange(256, dtype=numpy.float32)
    assert stridec.relayout(bytes_, to="C", table=table, tiles="tpu").shape == (1, 1, 4, 128)


def test_a_layout_by_name_is_that_of_the_array_itself():
    image = filled((2, 4, 5, 3), numpy.float32)
    for source, to in [("NHWC", "NCHW"), ("channels_last", "C")]:
        assert same(stridec.relayout(image, to=to, source=source), numpy.ascontiguousarray(image.transpose(0, 3, 1, 2)))
    assert same(stridec.relayout(image, to="C", source="F"), numpy.ascontiguousarray(image.T))
    assert same(stridec.relayout(image, to="NHWC", source="NHWC"), image)
    assert same(stridec.relayout(image, to="NHWC", source="NCHW"), stridec.relayout(image, to="NHWC"))
    assert same(stridec.slice(image, (0, 1, 0, 0), (2, 2, 4, 5), source="NHWC"), numpy.ascontiguousarray(image.transpose(0, 3, 1, 2)[:, 1:]))


def test_a_recorded_gradient_is_not_dropped():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    assert stridec.relayout(weight, to="F").tolist() == weight.detach().T.tolist()
    program = stridec.Program("ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[3,2] transpose(x), dimensions={1,0} }")
    for call in [lambda x: stridec.relayout(x, to="F"), stridec.Array, program, lambda x: stridec.relayout(torch.ones(2, 3), to="C", out=x)]:
        with pytest.raises(stridec.Unsupported, match=r"call `detach\(\)`, got one that requires grad"):
            call(weight * 2)
        call((weight * 2).detach())
        with torch.no_grad():
            call(weight * 2)
    # Nothing is read to describe a tensor.
    assert stridec.Shape(weight * 2) == stridec.Shape.from_array(weight * 2) == stridec.Shape("f32[2,3]")


def test_elements_below_a_byte_are_packed_and_unpacked():
    x = filled((3, 5), ml_dtypes.int4)
    packed = stridec.relayout(x, to="{1,0:E(4)}")
    assert packed.dtype == numpy.uint8 and packed.shape == (8,)
    assert same(stridec.relayout(packed, to="{1,0}", source="s4[3,5]{1,0:E(4)}"), x)


def test_slices_are_those_of_numpy(rng):
    for case in range(300):
        rank = rng.randint(1, 4)
        x = filled([rng.randint(1, 9) for _ in range(rank)], DTYPES[case % len(DTYPES)])
        offsets = [rng.randrange(extent) for extent in x.shape]
        sizes = [rng.randint(1, extent - start) for extent, start in zip(x.shape, offsets)]
        steps = [rng.choice([1, 2, 3, -1, -2]) for _ in x.shape]
        window = x[tuple(slice(start, start + size) for start, size in zip(offsets, sizes))]
        expected = window[tuple(slice(None, None, step) for step in steps)]
        given = stridec.slice(x, offsets, sizes, steps)
        assert same(given, numpy.array(expected, order="C")), (x.shape, offsets, sizes, steps)


def test_every_protocol_gives_the_same_array():
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    expected = stridec.relayout(x, to="{0,1}")

    class Interface:
        __array_interface__ = x.__array_interface__

    class OldDlpack:
        def __dlpack__(self):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    class NewDlpack(OldDlpack):
        def __dlpack__(self, *, max_version=None, stream=None):
            return x.__dlpack__(max_version=max_version)

    for given in [x, Interface(), OldDlpack(), NewDlpack(), memoryview(x), stridec.Array(x), jnp.asarray(x)]:
        assert same(stridec.relayout(given, to="{0,1}"), expected), type(given)
    flat = array.array("f", range(12))
    assert stridec.relayout(flat, to="{0}").tolist() == list(range(12))
    assert stridec.relayout(b"abc", to="{0}").tobytes() == b"abc"
    assert stridec.relayout(numpy.float32(3), to=()).tolist() == 3


def test_arrays_come_without_a_copy():
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    view = numpy.asarray(stridec.Array(x.T))
    assert numpy.shares_memory(view, x) and view.strides == x.T.strides
    y = jnp.arange(6.0)
    view = numpy.asarray(stridec.Array(y))
    assert view.ctypes.data == y.unsafe_buffer_pointer()


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.name.startswith("float6")], ids=lambda dtype: dtype.name)
def test_dlpack_to_jax_and_back(dtype):
    x = filled((3, 5), dtype)
    wide = dtype.itemsize == 8 and dtype.kind in "iuf" or dtype.itemsize == 16
    jax.config.update("jax_enable_x64", bool(wide))
    try:
        given = jnp.asarray(x)
        back = stridec.relayout(given, to="{1,0}")
        # JAX clears the bits above a small integer, and ml_dtypes repeats the sign in them.
        assert back.tolist() == x.tolist() if dtype.name in ("int2", "int4") else same(back, x)
        if dtype.name.startswith(("float4", "int2", "int4", "uint2", "uint4")):
            return  # JAX has no DLPack type for these, or reads them packed
        assert same(numpy.asarray(jnp.from_dlpack(stridec.Array(x))), x)
    finally:
        jax.config.update("jax_enable_x64", False)


def test_dlpack_to_numpy_and_back():
    for dtype in DTYPES:
        if dtype.kind == "V" or dtype.name.startswith("float8"):
            continue
        x = filled((4, 6), dtype)[::-1, ::2]
        assert same(numpy.from_dlpack(stridec.Array(x)), x)


def test_torch_tensors_without_a_copy():
    torch = pytest.importorskip("torch", reason="PyTorch, which takes gigabytes, is not installed")
    types = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64",
             "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
    for name in types:
        x = filled((4, 6), getattr(ml_dtypes, name, name))
        given = torch.from_numpy(x.view(numpy.uint8).reshape(4, -1)).view(getattr(torch, name))
        made = stridec.relayout(given, to="{1,0}")
        assert isinstance(made, torch.Tensor) and (made.dtype, made.shape) == (given.dtype, given.shape), name
        assert made.view(torch.uint8).numpy().tobytes() == x.tobytes(), name
        # A tensor that is a view of another keeps its strides.
        made = stridec.relayout(given.T[1:, ::2], to="{1,0}")
        assert made.view(torch.uint8).numpy().tobytes() == numpy.array(x.T[1:, ::2], order="C").tobytes(), name
        assert stridec.Shape((4, 6), dtype=given.dtype).dtype == stridec.Shape.from_array(given).dtype
        handed = stridec.Array(given)
        assert handed.shape == (4, 6) and handed.__dlpack_device__() == (1, 0)
        back = torch.from_dlpack(handed)
        assert back.dtype == given.dtype and back.data_ptr() == given.data_ptr() and back.stride() == given.stride(), name
        view = torch.from_dlpack(stridec.Array(given.T))
        assert (view.data_ptr(), view.shape, view.stride()) == (given.data_ptr(), given.T.shape, given.T.stride()), name
    out = torch.empty((6, 4), dtype=torch.float32)
    x = filled((4, 6), numpy.float32)
    assert stridec.relayout(x, to="{0,1}", out=out) is out and same(out.numpy(), numpy.ascontiguousarray(x.T))
    assert stridec.relayout(torch.tensor(3.0), to=()).tolist() == 3
    assert stridec.relayout(torch.nn.Parameter(torch.tensor([3.0])), to="{0}").tolist() == [3]
    channels_last = torch.empty((2, 3, 4, 5)).to(memory_format=torch.channels_last)
    for to in [torch.channels_last, "channels_last", "NHWC", "{1,3,2,0}"]:
        assert stridec.relayout(torch.ones((2, 3, 4, 5)), to=to).shape == (2, 4, 5, 3)
    with pytest.raises(stridec.InvalidInput, match="rank"):
        stridec.relayout(torch.ones((2, 3)), to=torch.channels_last)
    # Nothing is read to describe a tensor.
    meta = torch.empty((2, 3, 4, 5), dtype=torch.bfloat16, device="meta").to(memory_format=torch.channels_last)
    assert str(stridec.Shape(meta)) == "bf16[2,3,4,5]{1,3,2,0}"
    assert str(stridec.Shape(meta[:, :, ::2])) == "bf16[2,3,2,5] strided<[60,1,30,3]>"
    assert str(stridec.Shape.from_array(channels_last)) == "f32[2,3,4,5]{1,3,2,0}"
    imaginary = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    with pytest.raises(stridec.Unsupported, match="resolve_neg"):
        stridec.relayout(imaginary, to="{0}")
    assert stridec.relayout(imaginary.resolve_neg(), to="{0}").tolist() == [-2, 4]
    # PyTorch's own errors name what to call.
    for wrong, error, message in [
        (torch.empty(2, device="meta"), TypeError, "meta"),
        (torch.ones(2).to_sparse(), TypeError, "to_dense"),
        (torch.ones(2, dtype=torch.complex64).conj(), RuntimeError, "resolve_conj"),
    ]:
        with pytest.raises(error, match=message):
            stridec.relayout(wrong, to="{0}")


def test_results_are_arrays_of_the_library_of_the_argument():
    jax = pytest.importorskip("jax")
    for dtype in [numpy.float32, ml_dtypes.bfloat16, numpy.int8, ml_dtypes.float8_e4m3fn, bool]:
        x = filled((4, 6), dtype)
        made = stridec.relayout(jax.numpy.asarray(x), to="{0,1}")
        assert isinstance(made, jax.Array) and same(numpy.asarray(made), numpy.ascontiguousarray(x.T)), dtype
        assert type(stridec.relayout(x, to="{0,1}")) is numpy.ndarray
        assert isinstance(stridec.slice(jax.numpy.asarray(x), (1, 0), (2, 6)), jax.Array)
    # JAX would make 32 bits of these.
    assert stridec.relayout(jax.numpy.ones(3, numpy.float32), to="{0}", dtype="f64").dtype == numpy.float64
    out = numpy.empty((6, 4), numpy.float32)
    assert stridec.relayout(jax.numpy.ones((4, 6)), to="{0,1}", out=out) is out


def test_packed_elements_are_bytes_of_any_extents():
    x = filled((64, 32), numpy.uint8)
    flat = stridec.relayout(x.ravel(), to="s4[64,64]{0,1:E(4)}", source="s4[64,64]{1,0:E(4)}")
    assert same(stridec.relayout(x, to="s4[64,64]{0,1:E(4)}", source="s4[64,64]{1,0:E(4)}"), flat)
    with pytest.raises(stridec.InvalidInput, match=r"array.shape: expected 2048 bytes .*, got \(64, 31\)"):
        stridec.relayout(x[:, :31].copy(), to="{1,0:E(4)}", source="s4[64,64]{1,0:E(4)}")


def test_a_read_only_array_stays_one():
    x = numpy.arange(3, dtype=numpy.int32)
    x.flags.writeable = False
    wrapped = stridec.Array(x)
    assert wrapped.readonly and not numpy.asarray(wrapped).flags.writeable
    assert not numpy.from_dlpack(wrapped).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        wrapped.__dlpack__()
    with pytest.raises(stridec.InvalidInput, match="read-only"):
        stridec.relayout(numpy.arange(3, dtype=numpy.int32), to="{0}", out=x)


def test_a_capsule_keeps_the_memory_alive():
    x = numpy.arange(1 << 16, dtype=numpy.int32)
    capsules = [stridec.Array(x).__dlpack__(), stridec.Array(x).__dlpack__(max_version=(1, 1))]
    view = numpy.from_dlpack(stridec.Array(numpy.arange(1 << 16, dtype=numpy.int32)))
    del x
    assert [repr(capsule).split('"')[1] for capsule in capsules] == ["dltensor", "dltensor_versioned"]
    assert view[-1] == (1 << 16) - 1


def test_out_is_written_and_returned():
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    out = numpy.empty((4, 3), numpy.float32)
    assert stridec.relayout(x, to="{0,1}", out=out) is out
    assert same(out, numpy.ascontiguousarray(x.T))
    flat = bytearray(48)
    stridec.relayout(x, to="{0,1}", out=flat)
    assert bytes(flat) == out.tobytes()


@pytest.mark.parametrize("out, message", [
    (lambda x: x.reshape(4, 3), "out: expected memory apart from that of the source, got an array that overlaps it"),
    (lambda x: numpy.empty((3, 4), "f4"), r"out.shape: expected the memory of the layout, an array of \(4, 3\) in row-major order, got \(3, 4\)"),
    (lambda x: numpy.empty((4, 6), "f4")[:, ::2], r"got \(4, 3\) in another order"),
    (lambda x: numpy.empty((4, 3), "i4"), "out.dtype: expected elements of float32, or 48 bytes of uint8, got int32"),
    (lambda x: numpy.broadcast_to(numpy.float32(0), (4, 3)), "out.shape"),
    (lambda x: b"\0" * 48, "out: expected an array that can be written, got a read-only one"),
])
def test_unfit_outputs_are_refused_and_left_alone(out, message):
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    before = x.copy()
    with pytest.raises(stridec.InvalidInput, match=message):
        stridec.relayout(x, to="{0,1}", out=out(x))
    assert same(x, before)


def test_tables_replace_elements():
    pixels = numpy.random.default_rng(39).integers(0, 256, (2, 5, 7, 3), numpy.uint8)
    mean, std = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
    for dtype in (numpy.float32, numpy.float16, ml_dtypes.bfloat16):
        tables = ((numpy.arange(256) / 255 - mean[:, None]) / std[:, None]).astype(dtype)
        expected = numpy.stack([tables[c][pixels[..., c]] for c in range(3)], axis=1)
        for device in ("host", "gpu"):
            planes = stridec.relayout(
                pixels, to="{2,1,3,0}", table=tables, table_dimension=3, device=device
            )
            assert planes.dtype == dtype and planes.tobytes() == expected.tobytes()
    inverted = numpy.arange(255, -1, -1, dtype=numpy.uint8)
    turned = stridec.relayout(pixels[:, ::2], to="{3,2,1,0}", table=inverted[::1])
    assert (turned == 255 - pixels[:, ::2]).all()
    # The packed elements of four bits, the first in the low half.
    packed = numpy.array([0x21, 0x43], numpy.uint8)
    squares = numpy.arange(16, dtype=numpy.float32) ** 2
    out = stridec.relayout(packed, to="{0,1}", source="u4[2,2]{1,0:E(4)}", table=squares)
    assert out.tolist() == [[1, 9], [4, 16]]


def test_tables_of_another_size_are_refused():
    pixels = numpy.zeros((2, 3), numpy.uint8)
    with pytest.raises(stridec.InvalidInput, match=r"table.shape: expected .*256"):
        stridec.relayout(pixels, to="{0,1}", table=numpy.zeros(255, numpy.float32))
    with pytest.raises(stridec.InvalidInput, match="below 2"):
        table = numpy.zeros((3, 256), numpy.float32)
        stridec.relayout(pixels, to="{0,1}", table=table, table_dimension=2)
    with pytest.raises(stridec.Unsupported, match="at most 8 bits"):
        stridec.relayout(pixels.astype("u2"), to="{0,1}", table=numpy.zeros(256, "f4"))
    with pytest.raises(stridec.InvalidInput, match="table_dimension: expected a table"):
        stridec.relayout(pixels, to="{0,1}", table_dimension=1)
