"""Targets, adapters, and the buffers of kernels."""

import pickle

import numpy
import pytest
import stridec


def test_limits_are_arguments():
    with pytest.raises(stridec.Unsupported, match="target webgpu"):
        stridec.compile("f32[8192,16384]", "{0,1}")
    target = stridec.Target(max_storage_buffer_binding_size=1 << 30, name="large")
    assert stridec.compile("f32[8192,16384]", "{0,1}", target=target).destination_bytes == 1 << 29
    with pytest.raises(stridec.Unsupported, match="target large"):
        stridec.Operation.relayout("f32[32768,16384]", "{0,1}").compile(target)
    assert stridec.Target(target) == target != stridec.Target() and stridec.Target("lavapipe").kind == "cpu"
    for other in [stridec.Target.from_json(target.to_json()), pickle.loads(pickle.dumps(target))]:
        assert other == target and hash(other) == hash(target)
    changed = stridec.Target(max_compute_workgroups_per_dimension=9, max_compute_invocations_per_workgroup=8,
                             max_storage_buffers_per_shader_stage=4, read_write_sources=True)
    assert (changed.max_compute_workgroups_per_dimension, changed.max_compute_invocations_per_workgroup) == (9, 8)
    assert (changed.max_storage_buffers_per_shader_stage, changed.read_write_sources) == (4, True)
    text = "ENTRY main { x = s32[2,3] parameter(0) ROOT y = s32[3,2] transpose(x), dimensions={1,0} }"
    assert stridec.Program(text, target=stridec.Target("lavapipe")).kernels
    for wrong in [{"max_storage_buffer_binding_size": 3}, {"max_storage_buffers_per_shader_stage": 1},
                  {"max_compute_workgroups_per_dimension": -1}, {"max_compute_invocations_per_workgroup": "many"}]:
        (name, value), = wrong.items()
        with pytest.raises(stridec.InvalidInput) as raised:
            stridec.Target(**wrong)
        assert (raised.value.field, raised.value.value) == (name, repr(value))
    with pytest.raises(stridec.InvalidInput, match="expected a target as JSON"):
        stridec.Target.from_json("{")


def test_the_adapters_of_the_machine():
    adapters = stridec.adapters()
    with pytest.raises(stridec.InvalidInput, match="part of an adapter's name"):
        stridec.Target.adapter("no such adapter")
    x = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    with pytest.raises(stridec.DeviceError, match="no such adapter"):
        stridec.relayout(x, to="{0,1}", device="gpu:no such adapter")
    if not adapters:
        with pytest.raises(stridec.DeviceError):
            stridec.Target.adapter()
        return
    first = adapters[0]
    assert stridec.Target.adapter(first["name"]) == first["target"] and first["target"].name == first["name"]
    assert stridec.relayout(x, to="{0,1}", device="gpu:" + first["name"]).tolist() == x.T.tolist()


def test_bindings_name_their_buffers():
    def named(kernel):
        return [(binding["kind"], binding["number"], binding["writable"]) for binding in kernel.bindings]

    assert named(stridec.compile("f32[64,8]", "{0,1}")) == [("source", 0, False), ("destination", 0, True)]
    program = stridec.Program("""ENTRY main {
      x = s32[64,3] parameter(0)
      y = s32[64,3] parameter(1)
      c = s32[2] constant({1, 2})
      z = s32[64,3] transpose(y), dimensions={0,1}
      t = s32[3,64] transpose(y), dimensions={1,0}
      b = s32[128,3] concatenate(x, z), dimensions={0}
      ROOT r = (s32[3,64], s32[128,3], s32[2]) tuple(t, b, c)
    }""")
    found = [named(kernel) for kernel in program.kernels]
    assert found[0] == [("parameter", 1, False), ("result", 0, True)]
    assert found[1] == [("parameter", 0, False), ("parameter", 1, False), ("result", 1, True)]
    assert found[2] == [("constant", 0, False), ("result", 2, True)]
    # More sources than a kernel binds are packed into a scratch buffer first.
    names = [f"x{n}" for n in range(12)]
    lines = [f"{name} = f32[64] parameter({n})" for n, name in enumerate(names)]
    packed = stridec.Program("ENTRY main { " + " ".join(lines) + f" ROOT r = f32[768] concatenate({', '.join(names)}), dimensions={{0}} }}")
    kinds = {kind for kernel in packed.kernels for kind, _, _ in named(kernel)}
    assert kinds == {"parameter", "scratch", "result"}


def names(kernel):
    return [binding["name"] for binding in kernel.bindings]


def test_bindings_have_the_names_of_a_module():
    program = stridec.Program("""ENTRY main {
      pair = (s32[2,3], s32[4]) parameter(0)
      x = s32[2,3] get-tuple-element(pair), index=0
      y = s32[4] parameter(1)
      t = s32[3,2] transpose(x), dimensions={1,0}
      r = s32[4] reverse(y), dimensions={0}
      c = s32[2] constant({1, 2})
      ROOT all = (s32[3,2], s32[4], s32[2]) tuple(t, r, c)
    }""")
    assert program.parameter_names == ["pair.0", "pair.1", "y"]
    # A module has no names for its results.
    assert [names(kernel) for kernel in program.kernels] == [["pair.0", None], ["y", None], [None, None]]
    assert 'parameter 2 "y"' in program.kernels[1].wgsl and 'parameter 0 "pair.0"' in program.stages()
    assert names(stridec.compile("f32[64,8]", "{0,1}")) == [None, None]


def test_bindings_have_the_places_in_the_trees_of_jax():
    jax = pytest.importorskip("jax")

    def f(cache, unused, *, flip):
        return {"turned": cache["k"].T, "both": (flip[::-1], cache["v"][1:])}

    x = numpy.zeros((2, 3), numpy.float32)
    lowered = jax.jit(f).lower({"k": x, "v": x}, x, flip=x)
    for module in [lowered, lowered.compile(), jax.export.export(jax.jit(f))({"k": x, "v": x}, x, flip=x)]:
        program = stridec.Program(module)
        # JAX drops the arguments that the function does not use.
        assert program.parameter_names == ["args.0.k", "args.0.v", "flip"]
        found = {bound[-1]: bound[:-1] for bound in map(names, program.kernels)}
        assert found == {"both.0": ["flip"], "both.1": ["args.0.v"], "turned": ["args.0.k"]}
