"""Programs that only move data, as JAX writes and runs them, on one thread.

    python3 benches/peers/programs_jax.py modules            writes benches/data/programs.jsonl: a module for each function
    python3 benches/peers/programs_jax.py time OUT.json [N]  runs each N times, and writes the best milliseconds by name

for `cargo bench --bench host -- --cases programs --jax OUT.json`. Needs `pip install jax`. JAX's own threads are switched
off by flags, and the process keeps to one processor.
"""

import base64
import json
import os
import pathlib
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp

MODULES = pathlib.Path(__file__).parent.parent / "data" / "programs.jsonl"


def space_to_depth(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)


def pixel_shuffle(x):
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


def im2col(x):
    h, w = x.shape[2] - 2, x.shape[3] - 2
    return jnp.stack([x[:, :, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=2)


def split_heads(x):
    batch, tokens, width = x.shape
    return x[:, :, 1:].reshape(batch, tokens, 16, (width - 1) // 16).transpose(0, 2, 1, 3)


def disguised(x):
    rows, columns = x.shape
    y = x.reshape(rows // 8, 8, columns).transpose(2, 0, 1).reshape(columns, rows)
    return y[0:columns, 0:rows]


F32 = [
    ("space to depth", space_to_depth, [(4, 512, 512, 8)]),
    ("pixel shuffle", pixel_shuffle, [(2, 64, 256, 256)]),
    ("im2col, 3 by 3", im2col, [(8, 32, 66, 66)]),
    ("concatenate 4, rows", lambda *x: jnp.concatenate(x, axis=0), [(1021, 2048)] * 4),
    ("concatenate 4, columns", lambda *x: jnp.concatenate(x, axis=1), [(2048, 1021)] * 4),
    ("stack 4, outermost", lambda *x: jnp.stack(x, axis=0), [(1021, 2048)] * 4),
    ("stack 4, innermost", lambda *x: jnp.stack(x, axis=-1), [(1021, 2048)] * 4),
    ("tile", lambda x: jnp.tile(x, (2, 4)), [(1021, 1024)]),
    ("pad", lambda x: jnp.pad(x, ((24, 23), (48, 49))), [(2000, 4000)]),
    ("roll", lambda x: jnp.roll(x, 37, axis=1), [(2048, 4096)]),
    ("split heads, first column cut", split_heads, [(8, 1024, 1025)]),
    ("a transpose in disguise", disguised, [(2048, 4096)]),
    ("the transpose", lambda x: x.T, [(2048, 4096)]),
]
CASES = [(f"f32 {name}", function, shapes, jnp.float32) for name, function, shapes in F32]
CASES += [
    ("u8 space to depth", space_to_depth, [(4, 1024, 1024, 4)], jnp.uint8),
    ("u8 stack of channels", lambda *x: jnp.stack(x, axis=-1), [(2160, 3840)] * 3, jnp.uint8),
    ("bf16 split heads, first column cut", split_heads, [(16, 1024, 1025)], jnp.bfloat16),
]


def main():
    if sys.argv[1:] == ["modules"]:
        with open(MODULES, "w") as out:
            for name, function, shapes, dtype in CASES:
                operands = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
                module = jax.jit(function).lower(*operands).compiler_ir("hlo").as_serialized_hlo_module_proto()
                print(json.dumps({"name": name, "module": base64.b64encode(module).decode()}), file=out)
        return
    best = {}
    for name, function, shapes, dtype in CASES:
        operands = [jnp.ones(shape, dtype) for shape in shapes]
        compiled = jax.jit(function).lower(*operands).compile()
        best[name] = float("inf")
        for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 15):
            start = time.perf_counter()
            result = compiled(*operands).block_until_ready()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
        print(f"{name:40} {best[name]:8.2f} ms  {result.nbytes / best[name] / 1e6:6.2f} GB/s written", flush=True)
    json.dump(best, open(sys.argv[2], "w"), indent=1)
    print(f"jax {jax.__version__}")


main()
