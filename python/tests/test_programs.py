"""Programs: modules of JAX and XLA, and functions jitted on the spot."""

import base64
import json
import os
import pathlib
import xml.dom.minidom

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy
import pytest
import stridec
from conftest import filled, same
from jax.experimental.layout import Format, Layout

DATA = pathlib.Path(os.environ.get("STRIDEC_TEST_DATA", pathlib.Path(__file__).parents[2] / "tests" / "data"))


def cases():
    with open(DATA / "hlo_cases.jsonl", encoding="utf-8") as lines:
        return [case for case in map(json.loads, lines) if case["expect"] == "ok"]


def test_every_case_of_jax_gives_its_outputs():
    exact, refused = 0, []
    for case in cases():
        try:
            program = stridec.Program(base64.b64decode(case["module"]))
        except stridec.Unsupported:
            refused.append(" + ".join(case["needs"]))
            continue
        images = [base64.b64decode(given["data"]) for given in case["inputs"]]
        arguments = [as_array(image, shape) for image, shape in zip(images, program.parameters)]
        results = program.run(*arguments)
        for given, expected, shape in zip(results, case["outputs"], program.results, strict=True):
            image = base64.b64decode(expected["data"])
            assert same(given, as_array(image, shape)), case["id"]
        exact += 1
    assert exact > 600 and set(refused) <= {"complex", "convert", "gather", "gather-constant", "scalar", "scatter-constant",
                                            "fold + gather-constant + iota", "fold + iota + scatter-constant", "fold + scalar"}


def as_array(image, shape):
    """The logical array whose memory in the shape's layout is `image`."""
    plain = stridec.Shape(shape.dimensions, dtype=shape.dtype)
    return stridec.relayout(image, to=plain, source=shape)


FUNCTIONS = [
    lambda x, y: x.T,
    lambda x, y: jnp.transpose(x.reshape(3, 2, 4), (2, 0, 1)),
    lambda x, y: x[::-1],
    lambda x, y: x[:, ::-1],
    lambda x, y: x[1:5:2, 1:],
    lambda x, y: x[:, None, :].repeat(1, axis=1),
    lambda x, y: jnp.broadcast_to(x[0], (5, 4)),
    lambda x, y: jnp.broadcast_to(x[:, :1], (6, 3)).T,
    lambda x, y: jnp.concatenate([x, y]),
    lambda x, y: jnp.concatenate([x.T, y.T], axis=1),
    lambda x, y: jnp.concatenate([x, x[::-1]], axis=1),
    lambda x, y: jnp.stack([x, y]),
    lambda x, y: jnp.stack([x, y], axis=-1),
    lambda x, y: jnp.pad(x, ((1, 2), (0, 3))),
    lambda x, y: jnp.pad(x, 1, mode="edge"),
    lambda x, y: jnp.pad(x, ((2, 2), (0, 0)), mode="wrap"),
    lambda x, y: jnp.pad(x, ((0, 0), (2, 1)), mode="reflect"),
    lambda x, y: jax.lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 1), (1, -1, 2))),
    lambda x, y: jnp.roll(x, 2, axis=0),
    lambda x, y: jnp.roll(x, (1, -1), axis=(0, 1)),
    lambda x, y: jnp.tile(x, (2, 3)),
    lambda x, y: jnp.repeat(x, 3, axis=1),
    lambda x, y: jnp.rot90(x),
    lambda x, y: jnp.rot90(x, 3),
    lambda x, y: jnp.moveaxis(x.reshape(2, 3, 4), 0, -1),
    lambda x, y: x.reshape(-1),
    lambda x, y: x.reshape(4, 6).T,
    lambda x, y: x.ravel(order="F"),
    lambda x, y: jnp.split(x, 3, axis=0),
    lambda x, y: {"rows": jnp.vsplit(x, 2), "x": (y, x.T)},
    lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y[:2], 1, 0),
    lambda x, y: jnp.concatenate([x[:2], x[3:]]),
    lambda x, y: jax.lax.dynamic_update_slice(x, y[:2, :2], (3, 1)),
    lambda x, y: jax.lax.dynamic_slice(x, (2, 1), (3, 2)),
    lambda x, y: jnp.swapaxes(x, 0, 1)[1:],
    lambda x, y: jnp.hstack([x, y[:, :1]]),
    lambda x, y: jnp.vstack([y, x])[::2],
    lambda x, y: jnp.expand_dims(x, (0, 2)),
    lambda x, y: jnp.squeeze(x[None])[..., ::-1].T,
    lambda x, y: jnp.where(jnp.arange(4) < 2, x, y),
    lambda x, y: jnp.tril(x),
    lambda x, y: jnp.triu(x.T, 1),
    lambda x, y: x.reshape(3, 2, 2, 2).transpose(0, 2, 1, 3).reshape(6, 4),
    lambda x, y: (x, y),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_a_jitted_function_gives_what_jax_gives(number):
    function = jax.jit(FUNCTIONS[number])
    dtype = ["float32", "int32", "bfloat16", "uint8", "bool", "float8_e4m3fn"][number % 6]
    x, y = jnp.asarray(filled((6, 4), dtype)), jnp.asarray(filled((6, 4), dtype)[::-1])
    expected, tree = jax.tree.flatten(function(x, y))
    lowered = function.lower(x, y)
    program = stridec.Program(lowered)
    given, given_tree = jax.tree.flatten(program(x, y))
    assert given_tree == tree
    for a, b in zip(given, expected, strict=True):
        assert same(a, numpy.asarray(b))


def test_there_are_forty_of_them():
    assert len(FUNCTIONS) >= 40


def test_a_compiled_function_runs_too():
    x = jnp.arange(24.0).reshape(4, 6)
    for function in [lambda x: x.T, lambda x: x[::-1, 1:], lambda x: (x.reshape(2, 12), x)]:
        compiled = jax.jit(function).lower(x).compile()
        given, expected = stridec.Program(compiled)(x), compiled(x)
        for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
            assert same(a, numpy.asarray(b))


def test_the_conversions_that_xla_adds_when_it_compiles_are_undone():
    """On a CPU, XLA computes bfloat16 in f32. What it compiled is taken too; the rest is refused with a way out."""
    x, y = jnp.asarray(filled((6, 4), "bfloat16")), jnp.asarray(filled((6, 4), "bfloat16")[::-1])
    converted = 0
    for function in FUNCTIONS:
        compiled = jax.jit(function).lower(x, y).compile()
        converted += " convert(" in compiled.as_text()
        given, expected = stridec.Program(compiled)(x, y), function(x, y)
        for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
            assert same(numpy.asarray(a), numpy.asarray(b))
    assert converted > 10
    computed = jax.jit(lambda x: jnp.where(x > 0, x, 0)).lower(x)
    with pytest.raises(stridec.Unsupported, match=r"compare is not supported.*; XLA rewrote .* what `lower\(\)` returns, without `compile\(\)`$"):
        stridec.Program(computed.compile())
    with pytest.raises(stridec.Unsupported) as raised:
        stridec.Program(computed)
    assert "lower()" not in str(raised.value)


def test_reports_of_lowered_functions_have_the_layouts_that_jax_declares():
    lowered = jax.jit(lambda x: x.T).lower(jnp.zeros((1024, 3)))
    exported = jax.export.export(jax.jit(lambda x: x.T))(jnp.zeros((1024, 3)))
    reports = [str(stridec.memory(of, tiles="tpu")) for of in (lowered, exported, lowered.as_text())]
    assert "f32[3,1024]{1,0:T(4,128)}" in reports[0] and len(set(reports)) == 1, reports


def test_arguments_that_a_function_does_not_use_are_left_out():
    x = jnp.arange(6.0).reshape(2, 3)
    lowered = jax.jit(lambda unused, tree, *, y: tree["x"].T).lower(x, {"x": x, "z": x}, y=x)
    program = stridec.Program(lowered)
    assert len(program.parameters) == 1
    assert same(program(x, {"x": x, "z": x}, y=x), numpy.asarray(x.T))
    # `run` takes the parameters, or all arguments in the order of their tree: unused, x, z and y.
    zeros = jnp.zeros((2, 3))
    for arguments in [(x,), (zeros, x, zeros, zeros)]:
        assert same(program.run(*arguments)[0], numpy.asarray(x.T))
    with pytest.raises(stridec.InvalidInput, match=r"arguments: expected 1 array \(f32\[2,3\]\), got 2"):
        program.run(x, x)


def test_the_text_of_a_lowered_function_is_a_program():
    x = jnp.arange(24.0).reshape(4, 6)
    for function in [lambda x: x.T, lambda x: jnp.roll(x, 2, 1), lambda x: (x.reshape(2, 12), x[:, jnp.array([5, 0])])]:
        lowered = jax.jit(function).lower(x)
        exported = jax.export.export(jax.jit(function))(x)
        for text in [lowered.as_text(), lowered.as_text(debug_info=True), exported.mlir_module()]:
            given, expected = stridec.Program(text)(x), function(x)
            for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
                assert same(a, numpy.asarray(b))
    unused = jax.export.export(jax.jit(lambda unused, tree: tree["x"].T))(x, {"x": x})
    assert same(stridec.Program(unused)(x, {"x": x}), numpy.asarray(x.T))
    with pytest.raises(stridec.InvalidInput, match="MLIR bytecode.*mlir_module"):
        stridec.Program(exported.mlir_module_serialized)
    assert stridec.memory(lowered.as_text()).parameters_bytes == 96


TEXT = """HloModule swap, entry_computation_layout={(f32[5,7]{1,0:T(2,4)}, s4[3,5]{1,0:E(4)})->(f32[7,5]{1,0:T(2,2)}, s4[5,3]{1,0:E(4)})}
ENTRY main {
  x = f32[5,7] parameter(0)
  y = s4[3,5] parameter(1)
  a = f32[7,5] transpose(x), dimensions={1,0}
  b = s4[5,3] transpose(y), dimensions={1,0}
  ROOT r = (f32[7,5], s4[5,3]) tuple(a, b)
}"""


def test_tiled_and_packed_buffers_are_arrays_of_their_elements():
    program = stridec.Program(TEXT)
    x, y = filled((5, 7), "float32"), filled((3, 5), ml_dtypes.int4)
    a, b = program(x, y)
    assert same(numpy.ascontiguousarray(a), numpy.ascontiguousarray(x.T)) and b.tolist() == y.T.tolist()
    views = program(numpy.asfortranarray(x), y[::1])
    assert same(numpy.ascontiguousarray(views[0]), numpy.ascontiguousarray(x.T))
    assert [str(shape) for shape in stridec.Program(TEXT, layouts="default").parameters] == ["f32[5,7]", "s4[3,5]"]


def test_a_stack_of_more_arrays_than_a_kernel_binds_has_kernels():
    names = [f"x{number}" for number in range(8)]
    parameters = "".join(f"  {name} = f32[3] parameter({number})\n" for number, name in enumerate(names))
    text = f"ENTRY main {{\n{parameters}  ROOT all = f32[24] concatenate({', '.join(names)}), dimensions={{0}}\n}}"
    program = stridec.Program(text)
    assert len(program.kernels) == 2 and all(kernel.wgsl in program.stages() for kernel in program.kernels)


def test_what_programs_tell():
    program = stridec.Program(TEXT)
    assert program.name == "swap" and len(program.kernels) == 2
    assert [str(shape) for shape in program.results] == ["f32[7,5]{1,0:T(2,2)}", "s4[5,3]{1,0:E(4)}"]
    assert repr(program).startswith("<stridec.Program swap: (f32[5,7]{1,0:T(2,4)}, ") and "2 kernels" in repr(program)
    assert all(kernel.wgsl in program.stages() for kernel in program.kernels)
    document = xml.dom.minidom.parseString(program._repr_html_())
    page = document.getElementsByTagName("iframe")[0].getAttribute("srcdoc")
    assert page.startswith("<!DOCTYPE html>") and "// result 0 of swap" in page
    assert xml.dom.minidom.parseString(program._repr_svg_()).documentElement.tagName == "svg"
    assert list(program._repr_mimebundle_()) == ["text/plain", "text/html", "image/svg+xml"]


def test_wrong_calls():
    program = stridec.Program(TEXT)
    x, y = filled((5, 7), "float32"), filled((3, 5), ml_dtypes.int4)
    for arguments, message in [
        ((x,), r"arguments: expected 2 arrays \(f32\[5,7\], s4\[3,5\]\), got 1"),
        ((x, x), r"arguments\[1\]: expected s4\[3,5\], got f32\[5,7\]"),
        ((x.T, y), r"arguments\[0\]: expected f32\[5,7\], got f32\[7,5\]"),
        (([1], y), r"arguments\[0\]: expected an array"),
    ]:
        with pytest.raises(stridec.InvalidInput, match=message):
            program(*arguments)
    with pytest.raises(TypeError):
        program(x, y=y)
    with pytest.raises(stridec.Unsupported, match="dot"):
        stridec.Program(jax.jit(lambda x: x @ x.T).lower(jnp.asarray(x)))
    for module in [b"", b"\xff\xff", "", "HloModule", "ENTRY main { x = f32[2] oops( }", 7, None, object()]:
        with pytest.raises((stridec.InvalidInput, stridec.Unsupported)):
            stridec.Program(module)
    with pytest.raises(stridec.InvalidInput, match="layouts"):
        stridec.Program(TEXT, layouts="other")


def test_memory_and_difference():
    text = "ENTRY main { x = f32[1024,3]{1,0:T(8,128)} parameter(0) ROOT y = f32[1024,3]{0,1:T(8,128)} copy(x) }"
    report = stridec.memory(text)
    assert (report.parameters_bytes, report.results_bytes, report.temporaries_bytes) == (524288, 32768, 0)
    assert report.instructions[0]["name"] == "x" and report.instructions[0]["cheapest"] == "f32[1024,3]{0,1:T(8,128)}"
    assert "480.0K less as" in str(report) and "<table>" in report._repr_html_() and report == stridec.memory(text)
    assert len(xml.dom.minidom.parseString(report._repr_svg_()).getElementsByTagName("rect")) == 4
    assert stridec.memory(stridec.Shape("f32[8]")).total_bytes == 32
    orders = stridec.memory("f32[1024,3]", tiles="tpu").instructions
    assert [row["shape"] for row in orders] == ["f32[1024,3]{0,1:T(4,128)}", "f32[1024,3]{1,0:T(8,128)}"]
    assert stridec.memory(TEXT, tiles="tpu").total_bytes > stridec.memory(TEXT).total_bytes
    with pytest.raises(stridec.InvalidInput, match="tiles"):
        stridec.memory(text, tiles="gpu")
    compiled = jax.jit(lambda x: jnp.sin(x) @ x.T).lower(jnp.ones((8, 4))).compile()
    assert stridec.memory(compiled).parameters_bytes == 128
    same_report, other = stridec.diff(text, text), stridec.diff(text, text.replace("{0,1:T(8,128)} copy", "{0,1} copy"))
    assert not same_report and str(same_report) == "no difference\n"
    assert other and "== layouts" in str(other) and "<span" in other._repr_html_()
    drawn = xml.dom.minidom.parseString(other._repr_svg_()).getElementsByTagName("text")
    assert "".join(text.firstChild.data + "\n" for text in drawn if text.firstChild) == str(other).replace("\n\n", "\n")
    assert list(other._repr_mimebundle_()) == ["text/plain", "text/html", "image/svg+xml"]


def test_arguments_that_the_function_of_jax_takes():
    update = jax.jit(lambda cache, row, at: {"next": jax.lax.dynamic_update_slice(cache, row, (at, 0))})
    program = stridec.Program(update.lower(jnp.zeros((4, 3)), jnp.ones((1, 3)), 1))
    expected = numpy.asarray(update(jnp.zeros((4, 3)), jnp.ones((1, 3)), 3)["next"])
    for at in [3, numpy.int64(3), numpy.array(3), jnp.int32(3)]:
        given = program(jnp.zeros((4, 3)), jnp.ones((1, 3)), at)
        assert isinstance(given["next"], jax.Array) and same(numpy.asarray(given["next"]), expected)
    given = program(numpy.zeros((4, 3)), numpy.ones((1, 3)), 3)["next"]
    assert type(given) is numpy.ndarray and same(given, expected)
    for wrong in [1 << 40, 2.5, True, numpy.int64(1 << 40), numpy.int16(3)]:
        with pytest.raises(stridec.InvalidInput, match=r"arguments\[2\]"):
            program(numpy.zeros((4, 3)), numpy.ones((1, 3)), wrong)
    # A program without a function takes the types of its parameters, and Python's numbers.
    text = "ENTRY e { x = f32[] parameter(0) ROOT y = f32[2] broadcast(x), dimensions={} }"
    assert stridec.Program(text)(2.5).tolist() == [2.5, 2.5]
    with pytest.raises(stridec.InvalidInput, match="f64"):
        stridec.Program(text)(numpy.array(2.5))


@pytest.mark.parametrize("call, field, message", [
    (lambda p, x: p(x, {"b": x}, k=x, device="gpu"), "arguments", "expected 2 positional arguments and keyword `k`, got 2 positional arguments and keywords `device`, `k`; `device=` is an argument of `Program` and of `run`"),
    (lambda p, x: p(), "arguments", "expected 2 positional arguments and keyword `k`, got 0 positional arguments"),
    (lambda p, x: p(x, {"b": x}), "arguments", "expected 2 positional arguments and keyword `k`, got 2 positional arguments"),
    (lambda p, x: p(x, {"b": x}, x), "arguments", "expected 2 positional arguments and keyword `k`, got 3 positional arguments"),
    (lambda p, x: p(x, {"c": 3}, k=x), "arguments[1]", "expected the tree {'b': *}, got {'c': 3}"),
    (lambda p, x: p(x, 3, k=x), "arguments[1]", "expected the tree {'b': *}, got 3"),
])
def test_calls_in_another_form_than_the_function(call, field, message):
    x = numpy.ones((2, 3), numpy.float32)
    function = jax.jit(lambda a, tree, *, k: (a.T, tree["b"].T, k.T))
    for module in [function.lower(x, {"b": x}, k=x), jax.export.export(function)(x, {"b": x}, k=x)]:
        with pytest.raises(stridec.InvalidInput) as raised:
            call(stridec.Program(module), x)
        assert str(raised.value) == f"{field}: {message}" and raised.value.field == field
    one = stridec.Program(jax.jit(lambda x: x.T).lower(x))
    with pytest.raises(stridec.InvalidInput, match="expected 1 positional argument, got 1 positional argument and keyword `device`; "):
        one(x, device="gpu")
    named = stridec.Program(jax.jit(lambda *, k: k["b"].T).lower(k={"b": x}))
    with pytest.raises(stridec.InvalidInput, match=r"""^arguments\["k"\]: expected the tree {'b': \*}, got 3"""):
        named(k=3)


def test_numbers_that_do_not_fit_are_refused():
    text = "ENTRY e { x = TYPE[] parameter(0) ROOT y = TYPE[2] broadcast(x), dimensions={} }"
    for name, wrong, right in [("f32", [1e300, -1e39, 10**39], [1e38, float("inf"), -float("inf"), 16777217]), ("bf16", [1e300], [3.3e38]),
                               ("f16", [1e5, 10**6], [65504.0]), ("f8e4m3fn", [1e3], [448.0]), ("c64", [1e300 + 1j], [1 + 2j, 3.5])]:
        program = stridec.Program(text.replace("TYPE", name))
        for value in wrong:
            with pytest.raises(stridec.InvalidInput, match=rf"arguments\[0\]: expected numbers that fit {name}, got"):
                program(value)
        for value in right:
            assert program(value)[0] == numpy.asarray(value).astype(program(value).dtype)
        if name in ["f32", "bf16", "f16"]:
            assert numpy.isnan(numpy.float32(program(float("nan"))[0]))
    # numpy makes 64-bit numbers by default, which a function of JAX reads as 32-bit ones.
    program = stridec.Program(jax.jit(lambda x: x[::-1]).lower(numpy.float32([1, 2])))
    assert program(numpy.array([1.5, numpy.inf])).tolist() == [numpy.inf, 1.5]
    with pytest.raises(stridec.InvalidInput) as raised:
        program(numpy.array([1.5, 1e300]))
    assert str(raised.value) == "arguments[0]: expected numbers that fit f32, got 1e+300 at (1,) of an array of float64"
    program = stridec.Program(jax.jit(lambda x: x.T).lower(numpy.zeros((2, 100), numpy.int32)))
    large = numpy.zeros((2, 100), numpy.int64)
    large[1, 7:] = 1 << 40
    with pytest.raises(stridec.InvalidInput) as raised:
        program(large)
    assert str(raised.value) == "arguments[0]: expected numbers that fit s32, got 1099511627776 at (1, 7) of an array of int64"


def test_arithmetic_on_bytes_is_a_table():
    pixels = numpy.arange(24, dtype=numpy.uint8).reshape(2, 4, 3)
    table = (numpy.arange(256 * 3, dtype=numpy.float32) / 7).reshape(256, 3)
    function = jax.jit(lambda x: jnp.asarray(table)[x, jnp.arange(3)])
    assert same(stridec.Program(function.lower(pixels))(pixels), numpy.asarray(function(pixels)))
    for arithmetic in [lambda x: x / 255, lambda x: x.astype(jnp.float32) - 0.5, lambda x: ~x + 1]:
        with pytest.raises(stridec.Unsupported, match=r"a function of one u8 can be a table of 256 entries, which JAX looks up by table\[x\]"):
            stridec.Program(jax.jit(arithmetic).lower(pixels))
    with pytest.raises(stridec.Unsupported) as raised:
        stridec.Program(jax.jit(lambda x: x * 2).lower(table))
    assert "table" not in str(raised.value)


TURNED = Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0]))


def test_results_have_the_layouts_that_jax_declares():
    """XLA's conversion of what JAX lowered to HLO infers another order for a transpose, and drops JAX's own layouts."""
    x = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
    for function in [lambda x: x.T, lambda x: (x.T, x), lambda x: jnp.concatenate([x.T, x.T])]:
        plain, turned = jax.jit(function), jax.jit(function, in_shardings=TURNED, out_shardings=TURNED)
        for of, layouts, order in [(plain, None, "C"), (plain, "module", "C"), (turned, None, "F"), (turned, "default", "C")]:
            for module in [of.trace(x), of.lower(x), of.lower(x).compile(), jax.export.export(of)(x)]:
                program = stridec.Program(module, layouts=layouts)
                for shape in program.parameters + program.results:
                    assert stridec.Shape(shape, layout=order) == shape, (shape, order)
                for given, expected in zip(jax.tree.leaves(program(x)), jax.tree.leaves(of(x)), strict=True):
                    assert same(numpy.asarray(given, order="C"), numpy.asarray(expected, order="C")) and given.flags[f"{order}_CONTIGUOUS"]


def test_one_format_of_jax_leaves_the_other_layouts_row_major():
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    program = stridec.Program(jax.jit(lambda x: x.T, in_shardings=TURNED).lower(x))
    assert [str(shape) for shape in program.parameters + program.results] == ["f32[2,3]{0,1}", "f32[3,2]"]
    assert same(program(x), x.T.copy())


def test_a_function_that_is_not_lowered_is_refused_with_advice():
    x = numpy.zeros((2, 3), numpy.float32)
    for wrong in [lambda x: x.T, jax.jit(lambda x: x.T), jax.make_jaxpr(lambda x: x.T)(x)]:
        for call in [stridec.Program, stridec.memory]:
            with pytest.raises(stridec.InvalidInput, match=r"a function that is lowered for its arguments, as in jax\.jit\(f\)\.lower\(x\), got"):
                call(wrong)
    with pytest.raises(TypeError, match=r"as in jax\.jit\(f\)\.lower\(x\), got 3 arguments"):
        stridec.Program(jax.jit(lambda x, y: x.T), x, x)


def test_an_array_has_memory_too():
    x = numpy.zeros((1024, 3), numpy.float32)
    for array in [x, jnp.asarray(x), jax.ShapeDtypeStruct(x.shape, x.dtype)]:
        assert stridec.memory(array).total_bytes == x.nbytes
        assert stridec.memory(array, tiles="tpu") == stridec.memory("f32[1024,3]", tiles="tpu")


def test_a_path_is_not_a_module():
    for call in [stridec.Program, stridec.memory]:
        with pytest.raises(stridec.InvalidInput, match="open"):
            call("dump/module_0001.jit_f.txt")
