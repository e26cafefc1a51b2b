"""Shapes: from everything that says one, and what they tell."""

import copy
import pickle
import xml.dom.minidom

import jax
import jax.numpy as jnp
import numpy
import pytest
import stridec
from jax.experimental.layout import Format, Layout

NOTATIONS = ["f32[]", "f32[2,3]{0,1}", "bf16[16,256]{1,0:T(8,128)(2,1)}", "s4[3,5]{1,0:E(4)}", "f32[2,3]{0,1:PAD(3,5,zero)}",
             "(f32[2], s8[3])", "token[]", "f32[<=8,3]", "f32[2,3] strided<[5,1]>", "f32[0,3]", "u8[1,3,224,224]{1,3,2,0}"]


@pytest.mark.parametrize("text", NOTATIONS)
def test_shapes_are_values(text):
    shape = stridec.Shape(text)
    assert str(stridec.Shape(str(shape))) == str(shape)
    for other in [stridec.Shape(text), pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape), stridec.Shape(shape)]:
        assert other == shape and hash(other) == hash(shape)
    assert shape != stridec.Shape("f64[7]") and len({shape, stridec.Shape(text)}) == 1
    if "strided" in text:
        with pytest.raises(stridec.Unsupported):
            shape.to_proto()
    else:
        assert stridec.Shape(shape.to_proto()).to_proto() == shape.to_proto()


def test_every_kind_of_source():
    x = jnp.zeros((2, 3), jnp.bfloat16)
    jax_layout = x.format.layout
    for source, expected in [
        (x, "bf16[2,3]{1,0}"),
        (jax.ShapeDtypeStruct((2, 3), jnp.bfloat16), "bf16[2,3]"),
        (jax.ShapeDtypeStruct((2, 3), jnp.float32, sharding=Format(Layout((1, 0)), x.sharding)), "f32[2,3]{0,1}"),
        (numpy.zeros((2, 3), numpy.int8), "s8[2,3]{1,0}"),
    ]:
        assert str(stridec.Shape(source)) == expected
    for dtype in ["bf16", "bfloat16", jnp.bfloat16, jnp.dtype("bfloat16")]:
        assert str(stridec.Shape((2, 3), dtype=dtype)) == "bf16[2,3]"
    for layout, expected in [
        ("{0,1:T(2,2)}", "{0,1:T(2,2)}"), ((0, 1), "{0,1}"), (jax_layout, "{1,0}"), (x.format, "{1,0}"),
        (Layout(major_to_minor=(0, 1), tiling=((8, 128), (2, 1))), "{1,0:T(8,128)(2,1)}"), (None, ""),
    ]:
        shape = stridec.Shape((2, 3), dtype="bf16", layout=layout)
        assert str(shape) == "bf16[2,3]" + expected
        if layout is not None:
            assert stridec.Shape("bf16[2,3]", layout=layout) == shape


def test_properties():
    shape = stridec.Shape("bf16[16,256]{1,0:T(8,128)(2,1)}")
    assert (shape.dtype, shape.dimensions, shape.minor_to_major) == ("bf16", (16, 256), (1, 0))
    assert shape.tiles == ((8, 128), (2, 1)) and shape.strides == (None, None)
    assert (shape.nbytes, shape.padding, shape.base_offset) == (8192, 0, 0)
    assert shape.offset((3, 5)) == 267 and shape.index(267) == (3, 5)
    strided = stridec.Shape.from_array(numpy.zeros((4, 6), numpy.int16)[::-1, ::2])
    assert (strided.strides, strided.base_offset, strided.minor_to_major, strided.tiles) == ((-6, 2), 18, None, ())
    assert stridec.Shape("f32[2,?]{1,0}").dimensions == (2, None)
    assert stridec.Shape("f32[8,8]{1,0:T(*,4)}").tiles == ((None, 4),)


def explored(thing):
    """The page below the picture in a notebook."""
    document = xml.dom.minidom.parseString(thing._repr_html_())
    first, last = document.documentElement.childNodes
    assert (first.tagName, last.tagName) == ("svg", "details")
    return last.getElementsByTagName("iframe")[0].getAttribute("srcdoc")


@pytest.mark.parametrize("text", ["bf16[16,256]{1,0:T(8,128)(2,1)}", "f32[2,3]{0,1:PAD(3,5,zero)}", "f32[2,3] strided<[5,1]>", "f32[]", "f32[0]"])
def test_pictures(text):
    shape = stridec.Shape(text)
    assert repr(shape) == f"Shape('{shape}')"
    assert shape.draw().startswith(text.split(" ")[0]) and "\x1b" not in shape.draw()
    document = xml.dom.minidom.parseString(shape._repr_svg_())
    assert document.documentElement.tagName == "svg"
    page = explored(shape)
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>")
    bundle = shape._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html", "image/svg+xml"]
    assert bundle["text/plain"] == repr(shape)


def test_what_has_no_memory_has_a_name():
    shape = stridec.Shape("(f32[2], s8[3])")
    assert repr(shape) == "Shape('(f32[2], s8[3])')"
    assert shape._repr_html_() is None and list(shape._repr_mimebundle_()) == ["text/plain"]


def test_operations():
    operation = stridec.Operation.slice("u8[4,4]", (0, 0), (4, 4), (-2, 1), to="{0,1}")
    assert str(operation.destination) == "u8[2,4]{0,1}" and "slice u8[4,4]" in str(operation)
    assert operation(numpy.arange(16, dtype=numpy.uint8)).tolist() == [[12, 4], [13, 5], [14, 6], [15, 7]]
    assert operation.compile().wgsl in operation.stages()
    assert xml.dom.minidom.parseString(operation._repr_svg_())
    assert "Run and check" in explored(operation)
    assert operation == stridec.Operation.slice("u8[4,4]", (0, 0), (4, 4), (-2, 1), to="{0,1}")


def test_kernels():
    kernel = stridec.compile("f32[64,8]", "{0,1}", target="lavapipe")
    assert "@compute" in kernel.wgsl and kernel.spirv()[:4] == b"\x03\x02\x23\x07"
    assert "kernel void" in kernel.msl() and "numthreads" in kernel.hlsl() and "#version 310 es" in kernel.glsl()
    assert kernel.proof["destination_words"] == 512 and kernel.bindings[1]["writable"]
    assert kernel.wgsl.encode() in kernel.to_proto() and (kernel.source_bytes, kernel.destination_bytes) == (2048, 2048)
    assert stridec.compile("f32[8]", "{0}").copy_regions == [(0, 0, 32)]
    empty = stridec.compile("f32[0]", "{0}")
    assert (empty.wgsl, empty.dispatches, empty.proof, empty.spirv()) == ("", [], None, b"")


def test_a_layout_that_is_left_out_is_the_default():
    a, b = stridec.Shape("f32[4,6]"), stridec.Shape("f32[4,6]{1,0}")
    assert a == b and hash(a) == hash(b) and str(a) != str(b)
    assert a != stridec.Shape("f32[4,6]{0,1}") and a != stridec.Shape("f32[6,4]")
    tiled = stridec.Shape("bf16[3,5]{1,0:T(2,4)}")
    assert (tiled.ndim, tiled.size, tiled.memory_dimensions) == (2, 15, (2, 2, 2, 4))


def test_tiles_of_a_tpu():
    for extents, dtype, expected in [((512, 100), "bf16", "{1,0:T(8,128)(2,1)}"), ((100,), "bf16", "{0:T(256)(128)(2,1)}"), ((8, 3, 5, 5), "f32", "{3,2,1,0:T(8,128)}"),
                                     ((3, 64), "s8", "{1,0:T(4,128)(4,1)}"), ((), "f32", "{:T(128)}")]:
        shape = stridec.Shape(extents, dtype=dtype, tiles="tpu")
        assert str(shape) == f"{dtype}[{','.join(map(str, extents))}]{expected}" and shape == stridec.Shape(stridec.Shape(extents, dtype=dtype), tiles="tpu")
    turned = stridec.Shape((100, 3), dtype="f32", layout="F", tiles="tpu")
    assert str(turned) == "f32[100,3]{0,1:T(4,128)}" and stridec.Shape("f32[8,3]", tiles=None) == stridec.Shape("f32[8,3]")
    assert str(turned) in [row["shape"] for row in stridec.memory("f32[100,3]", tiles="tpu").instructions]


def test_layouts_have_names():
    image = (2, 3, 4, 5)
    for name, order in [("NHWC", (1, 3, 2, 0)), ("channels_last", (1, 3, 2, 0)), ("C", (3, 2, 1, 0)), ("F", (0, 1, 2, 3))]:
        assert stridec.Shape(image, dtype="f32", layout=name).minor_to_major == order
        assert stridec.Operation.relayout("f32[2,3,4,5]", name).destination.minor_to_major == order
    assert stridec.Shape((2, 3, 4, 5, 6), dtype="f32", layout="channels_last_3d").minor_to_major == (1, 4, 3, 2, 0)
    for name, shape in [("channels_last", (2, 3)), ("NHWC", (2, 3)), ("NHQC", image)]:
        with pytest.raises(stridec.InvalidInput):
            stridec.Shape(shape, dtype="f32", layout=name)
