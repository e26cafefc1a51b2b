"""Pickles of operations, kernels and programs."""

import html
import pickle

import jax
import jax.numpy as jnp
import numpy
import pytest
import stridec

OPERATIONS = {
    "relayout": lambda: stridec.Operation.relayout("bf16[16,256]", "{1,0:T(8,128)(2,1)}"),
    "conversion": lambda: stridec.Operation.relayout("f32[4,6]", "{0,1}", dtype="bf16"),
    "slice": lambda: stridec.Operation.slice("f32[8,6]", (1, 0), (6, 6), (-2, 1), to="{0,1}"),
    "empty": lambda: stridec.Operation.relayout("f32[0,6]", "{0,1}"),
    "strides": lambda: stridec.Operation.relayout("f32[4,6] strided<[12,2]>", "{0,1}"),
}


@pytest.mark.parametrize("make", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_and_kernels(make):
    operation = make()
    again = pickle.loads(pickle.dumps(operation))
    assert again == operation and hash(again) == hash(operation) and str(again) == str(operation)
    assert again.compile() == operation.compile()
    kernel = operation.compile(stridec.Target(max_storage_buffer_binding_size=1 << 30))
    loaded = pickle.loads(pickle.dumps(kernel))
    assert loaded == kernel and hash(loaded) == hash(kernel)
    assert (loaded.wgsl, loaded.bindings, loaded.proof) == (kernel.wgsl, kernel.bindings, kernel.proof)


def test_a_changed_kernel_is_refused():
    restore, (data, buffers, names) = stridec.compile("f32[64,8]", "{0,1}").__reduce__()
    assert restore(data, buffers, names).proof
    for at in range(0, len(data), 97):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises((stridec.InvalidInput, stridec.Unsupported)):
            restore(changed, buffers, names)
    with pytest.raises(stridec.InvalidInput, match="^buffers"):
        restore(data, buffers[:1], names)
    with pytest.raises(stridec.InvalidInput, match="^names"):
        restore(data, buffers, names[:1])


def test_kernels_are_equal_without_their_comments():
    floats, integers = stridec.compile("f32[4,6]", "{0,1}"), stridec.compile("s32[4,6]", "{0,1}")
    assert floats.wgsl != integers.wgsl and floats == integers and hash(floats) == hash(integers)
    assert floats != stridec.compile("f32[6,4]", "{0,1}")


def test_programs():
    def f(x, unused, *, k):
        return {"turned": x.T, "both": (k[::-1], x)}

    x, k = numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.arange(4, dtype=numpy.int32)
    program = stridec.Program(jax.jit(f).lower(x, x, k=k), device="auto")
    for compiled in [False, True]:
        if compiled:
            assert len(program.kernels) >= 2
        again = pickle.loads(pickle.dumps(program))
        assert repr(again) == repr(program) and again.kernels == program.kernels and again.stages() == program.stages()
        loaded = pickle.loads(pickle.dumps(program.kernels[0]))
        assert loaded.bindings == program.kernels[0].bindings == again.kernels[0].bindings
        assert all(binding["name"] for binding in loaded.bindings)
        given = again(x, x, k=k)
        assert given["turned"].tolist() == x.T.tolist() and given["both"][0].tolist() == k[::-1].tolist()
    plain = stridec.Program("ENTRY e { x = s32[2,3]{0,1} parameter(0) ROOT y = s32[3,2]{0,1} transpose(x), dimensions={1,0} }", layouts="default")
    again = pickle.loads(pickle.dumps(plain))
    assert again.parameters == plain.parameters and again(numpy.int32([[1, 2, 3], [4, 5, 6]])).tolist() == [[1, 4], [2, 5], [3, 6]]


def test_results_are_named_by_their_place_in_the_tree():
    def f(x):
        return {"cache": [x.T, x], "mask": x[::-1]}

    for lowered in [jax.jit(f).lower(jnp.zeros((2, 3))), jax.export.export(jax.jit(f))(jnp.zeros((2, 3)))]:
        program = stridec.Program(lowered)
        assert program.result_names == ["cache.0", "cache.1", "mask"] and "cache.0: f32[3,2]" in repr(program)
        assert "RESULT cache.1  " in program.draw() and "RESULT mask  " in program._repr_html_()
        stages, first = program.stages(), program.kernels[0].wgsl.splitlines()[0]
        for number, name in enumerate(program.result_names):
            assert f'\n== result {number} "{name}": its nest' in stages and f': result {number} "{name}", 24 bytes' in stages
        assert first == f'// result 0 "cache.0" of {program.name}' and f'// result 0 "cache.0" of' in html.unescape(html.unescape(program._repr_html_()))
        assert all(kernel.wgsl in stages for kernel in program.kernels)
    # A key may have any characters. They are escaped, so that a name stays in its comment.
    odd = stridec.Program(jax.jit(lambda x: {"a\nfn b() {}\u2028\r": x.T, "1": x}).lower(jnp.zeros((2, 3))))
    assert all(line.startswith("//") for line in odd.kernels[1].wgsl.splitlines() if "fn b" in line)
    assert r'result 1 "a\nfn b() {}\u{2028}\r"' in odd.stages() and odd(numpy.zeros((2, 3), numpy.float32))
    single = stridec.Program(jax.jit(lambda x: x.T).lower(jnp.zeros((2, 3))))
    assert "\nresult 0, f32[3,2]\n" in single.stages() and '"0"' not in single.stages()
    assert single.result_names == ["0"] and "0:" not in repr(single).split("->")[1].replace("{1,0", "").replace("{0,1", "")
    assert stridec.Program("ENTRY e { x = s32[2] parameter(0) ROOT y = (s32[2], s32[2]) tuple(x, x) }").result_names == ["0", "1"]
