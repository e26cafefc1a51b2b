"""Threads, processes, memory and devices."""

import concurrent.futures
import gc
import os
import subprocess
import sys
import threading
import time

import jax
import numpy
import pytest
import stridec
from conftest import same

LARGE = numpy.arange(3000 * 4001, dtype=numpy.float32).reshape(3000, 4001)


def test_other_threads_run_during_a_copy():
    count, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0)

    out = numpy.empty((4001, 3000), numpy.float32)
    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        held = 0
        for _ in range(10):
            before = count[0]
            stridec.relayout(LARGE, to="{0,1}", out=out)
            held += count[0] == before
    finally:
        stop.set()
        ticking.join()
    assert held < 5, "no other thread ran while elements were copied"


def test_two_copies_run_at_once():
    outs = [numpy.empty((4001, 3000), numpy.float32) for _ in range(2)]
    together = 0
    for _ in range(10):
        barrier, times = threading.Barrier(2), [None, None]

        def copy(number):
            barrier.wait()
            start = time.perf_counter()
            stridec.relayout(LARGE, to="{0,1}", out=outs[number])
            times[number] = (start, time.perf_counter())

        threads = [threading.Thread(target=copy, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # With the lock held, the second call would begin when the first has ended.
        together += max(start for start, _ in times) < min(end for _, end in times)
    assert together >= 5


def test_two_copies_at_once_are_both_right():
    expected = numpy.ascontiguousarray(LARGE.T)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for given in pool.map(lambda _: stridec.relayout(LARGE, to="{0,1}"), range(8)):
            assert same(given, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_copy_after_a_fork():
    code = """
import os, signal, numpy, stridec
x = numpy.arange(3000 * 4001, dtype=numpy.float32).reshape(3000, 4001)
expected = stridec.relayout(x, to="{0,1}")
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (stridec.relayout(x, to="{0,1}") == expected).all() else 1)
assert os.waitpid(child, 0)[1] == 0, "the child failed or did not end"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_calls_leak_nothing():
    x = numpy.arange(4096, dtype=numpy.float32).reshape(64, 64)
    program = stridec.Program("ENTRY main { x = f32[64,64] parameter(0) ROOT y = f32[64,64] transpose(x), dimensions={1,0} }")

    def work():
        shape = stridec.Shape("f32[64,64]{0,1:T(8,128)}")
        stridec.relayout(x, to=shape)
        stridec.slice(x, (1, 1), (8, 8), (2, -1))
        numpy.from_dlpack(stridec.Array(x[::2]))
        stridec.Array(x).__dlpack__(max_version=(1, 1))
        program(x)
        try:
            stridec.relayout(x, to="{1,1}")
        except stridec.InvalidInput:
            pass

    for _ in range(2000):
        work()
    gc.collect()
    before = resident()
    for _ in range(10_000):
        work()
    gc.collect()
    # A leak of 100 bytes in one call of a round would be a megabyte.
    assert resident() - before < 1 << 20


def test_importing_opens_nothing_and_takes_no_time():
    code = """
import os, sys, time
before = set(sys.modules)
start = time.perf_counter()
import stridec
took = time.perf_counter() - start
assert not {"numpy", "jax", "ml_dtypes", "torch"} & set(sys.modules), "imported more"
threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
assert threads == 1, f"{threads} threads"
print(took)
"""
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.05


def test_without_an_adapter_the_gpu_is_an_error_and_auto_the_host():
    code = """
import numpy, stridec
x = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
assert (stridec.relayout(x, to="{0,1}", device="auto") == x.T).all()
program = stridec.Program("ENTRY main { x = s32[2,3] parameter(0) ROOT y = s32[3,2] transpose(x), dimensions={1,0} }")
for call in [lambda: stridec.relayout(x, to="{0,1}", device="gpu"), lambda: program.run(x, device="gpu")]:
    try:
        call()
    except stridec.DeviceError as error:
        assert "adapter" in str(error), error
    else:
        raise SystemExit("expected an error")
"""
    # A kind of driver that this system does not have.
    environment = os.environ | {"WGPU_BACKEND": "metal" if sys.platform == "win32" else "dx12"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_gpu_writes_the_same_bytes_where_there_is_one():
    x = numpy.arange(64 * 96, dtype=numpy.int16).reshape(64, 96)
    expected = stridec.relayout(x, to="{0,1}")
    assert same(stridec.relayout(x, to="{0,1}", device="auto"), expected)
    try:
        given = stridec.relayout(x, to="{0,1}", device="gpu")
    except stridec.DeviceError as error:
        assert "adapter" in str(error)
        pytest.skip("no adapter")
    assert same(given, expected)
    program = stridec.Program("ENTRY main { x = s16[64,96] parameter(0) ROOT y = s16[96,64] transpose(x), dimensions={1,0} }")
    assert same(numpy.ascontiguousarray(program.run(x, device="gpu")[0]), expected)


def gpu():
    """A target with the limits of the adapter that runs copies on `device="gpu"`."""
    try:
        return stridec.Target.adapter()
    except stridec.DeviceError:
        pytest.skip("no adapter")


def test_programs_past_a_binding_run_in_parts():
    limit = gpu().max_storage_buffer_binding_size
    if limit > 1 << 29:
        pytest.skip("the adapter binds more than the test should use")
    rows = limit // 16384 + 1
    x = (numpy.arange(rows * 16384, dtype=numpy.uint32) * 2654435761 >> 24).astype(numpy.uint8).reshape(rows, 16384)
    start = "x = u8[ROWS,16384] parameter(0) i = s32[] parameter(1) z = s32[] constant(0) "
    turned = "x = u8[ROWS,16384] parameter(0) y = u8[16384,5] parameter(1) t = u8[16384,ROWS] transpose(x), dimensions={1,0} "
    for text, arguments, expected in [
        (turned + f"ROOT r = u8[16384,{rows + 5}] concatenate(t, y), dimensions={{1}}", (x, x[:5].reshape(16384, 5)), lambda x, y: numpy.concatenate([x.T, y], 1)),
        (start + "ROOT r = u8[4,16384] dynamic-slice(x, i, z), dynamic_slice_sizes={4,16384}", (x, rows - 9), lambda x, i: x[i : i + 4]),
    ]:
        program = stridec.Program(f"ENTRY e {{ {text} }}".replace("ROWS", str(rows)))
        with pytest.raises(stridec.Unsupported, match="expected an image of at most"):
            stridec.Program(f"ENTRY e {{ {text} }}".replace("ROWS", str(rows)), target=stridec.Target.adapter()).kernels
        assert same(program.run(*arguments, device="gpu")[0], numpy.ascontiguousarray(expected(*arguments)))


def test_indices_into_a_buffer_past_a_binding_are_refused_with_a_way_out():
    limit = gpu().max_storage_buffer_binding_size
    if limit > 1 << 29:
        pytest.skip("the adapter binds more than the test should use")
    rows = limit // 16 + 1
    program = stridec.Program(f"""ENTRY e {{
      x = u8[{rows},16] parameter(0)
      i = s32[3,1] parameter(1)
      ROOT r = u8[3,16] gather(x, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,16}}
    }}""")
    x = numpy.arange(rows * 16, dtype=numpy.uint32).astype(numpy.uint8).reshape(rows, 16)
    x[:, 0] = numpy.arange(rows) % 251
    indices = numpy.array([[rows - 1], [0], [7]], numpy.int32)
    with pytest.raises(stridec.Unsupported, match=r"result 0.*got \d+ for parameter 0; .*device=.host."):
        program.run(x, indices, device="gpu")
    assert same(program.run(x, indices)[0], x[indices[:, 0]])


def test_trees_of_arguments_run_on_a_gpu():
    gpu()
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    lowered = jax.jit(lambda a, tree, *, k: {"a": a.T, "both": (tree["b"][::-1], k.T)}).lower(x, {"b": x + 6}, k=x + 12)
    arguments, named = (x, {"b": x + 6}), {"k": x + 12}
    program, on_gpu = stridec.Program(lowered), stridec.Program(lowered, device="gpu")
    expected = program(*arguments, **named)
    assert expected["both"][0].tolist() == (x + 6)[::-1].tolist()
    given = on_gpu(*arguments, **named)
    flat = program.run(x, x + 6, x + 12, device="gpu")
    for result in [jax.tree.leaves(given), flat]:
        assert len(result) == 3 and all(map(same, result, jax.tree.leaves(expected)))
    assert jax.tree.structure(given) == jax.tree.structure(expected)
    # Results come from the device that is asked for: one that does not exist is an error.
    with pytest.raises(stridec.DeviceError, match="no such adapter"):
        stridec.Program(lowered, device="gpu:no such adapter")(*arguments, **named)
