"""The everyday relayouts of dense arrays beside numpy, JAX and PyTorch, one thread each; and the time of a small call.

    chrt -f 5 taskset -c 1 python bench/relayout.py

PyTorch is measured where it is installed. A row is the least time of several runs, in turns; each makes its result anew.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import json
import math
import pathlib
import platform
import re
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import stridec

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

EVERYDAY = pathlib.Path(__file__).resolve().parents[2] / "benches/data/everyday.jsonl"
# The element types that numpy, JAX and PyTorch have too: no padding, no tiles, no packing.
DTYPES = {"u8": "uint8", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c128": "complex128"}
DENSE = re.compile(r"(\w+)\[([\d,]+)\]$")


def cases():
    """The everyday relayouts of dense arrays: name, shape, dtype, the order of the result's dimensions, its layout."""
    for line in EVERYDAY.read_text().splitlines():
        case = json.loads(line)
        options = dict(zip(case["op"][1::2], case["op"][2::2]))
        dense = DENSE.match(options["--from"])
        order = re.fullmatch(r"\{([\d,]+)\}", options.get("--to", ""))
        if case["op"][0] == "relayout" and dense and order and dense[1] in DTYPES:
            minor_to_major = [int(d) for d in order[1].split(",")]
            shape = [int(size) for size in dense[2].split(",")]
            yield case["name"], shape, DTYPES[dense[1]], minor_to_major[::-1], options["--to"]


def least(functions, seconds=1.0):
    """The least time of each function, called in turns."""
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for number, function in enumerate(functions):
            start = time.perf_counter()
            result = function()
            best[number] = min(best[number], time.perf_counter() - start)
            del result
        rounds += 1
    return best


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    jax.config.update("jax_enable_x64", True)
    versions = [f"numpy {np.__version__}", f"jax {jax.__version__}"] + ([f"torch {torch.__version__}"] if torch else [])
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {', '.join(versions)}; milliseconds")
    print(f"{'':42}{'stridec':>9}{'numpy':>9}{'jax':>9}{'torch':>9}{'  numpy ×':>10}{'jax ×':>8}")
    ratios = {"numpy": [], "jax": [], "torch": []}
    for name, shape, dtype, axes, to in cases():
        x = (np.arange(math.prod(shape)) % 251).astype(dtype).reshape(shape)
        device = jnp.asarray(x)
        transpose = jax.jit(lambda x, axes=axes: jnp.transpose(x, axes))
        assert (stridec.relayout(x, to=to) == np.transpose(x, axes)).all()
        functions = [
            lambda: stridec.relayout(x, to=to),
            lambda: np.ascontiguousarray(x.transpose(axes)),
            lambda: transpose(device).block_until_ready(),
        ]
        if torch:
            known = torch.from_dlpack(stridec.Array(x)) if dtype == "bfloat16" else torch.from_numpy(x)
            tensor = known.permute(axes)
            functions.append(lambda: tensor.contiguous())
        times = least(functions)
        for peer, took in zip(["numpy", "jax", "torch"], times[1:]):
            ratios[peer].append(took / times[0])
        shown = "".join(f"{took * 1e3:9.3f}" for took in times) + ("" if torch else f"{'':>9}")
        print(f"{name:42}{shown}{times[1] / times[0]:9.1f}×{times[2] / times[0]:7.1f}×")
    for peer, values in ratios.items():
        if values:
            print(f"geomean beside {peer}: {geomean(values):.2f}×, least {min(values):.2f}×")
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    out = np.empty((4, 4), np.float32)
    shape = stridec.Shape("f32[4,4]{0,1}")

    def many(function, calls=2000):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        return (time.perf_counter() - start) / calls * 1e6

    for name, function in [
        ("relayout of 64 bytes", lambda: stridec.relayout(x, "{0,1}")),
        ("with a Shape", lambda: stridec.relayout(x, shape)),
        ("with out=", lambda: stridec.relayout(x, "{0,1}", out=out)),
        ("np.ascontiguousarray", lambda: np.ascontiguousarray(x.T)),
    ]:
        print(f"{name:42}{min(many(function) for _ in range(50)):9.2f} µs")


if __name__ == "__main__":
    sys.exit(main())
