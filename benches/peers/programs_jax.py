"""Programs that only move data, as JAX writes and runs them, on one thread.

    python3 benches/peers/programs_jax.py modules            writes benches/data/programs.jsonl and masks.jsonl: a module
                                                             for each function
    python3 benches/peers/programs_jax.py time OUT.json [N]  runs each N times, and writes the best milliseconds by name

for `cargo bench --bench host -- --cases programs --jax OUT.json`, or `--cases masks`. Needs `pip install jax`. JAX's own threads are switched
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
import numpy as np

DATA = pathlib.Path(__file__).parent.parent / "data"


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
CASES = [(name, function, [(shape, dtype) for shape in shapes]) for name, function, shapes, dtype in CASES]


def where_zero(mask, x):
    return jnp.where(mask, x, 0)


def where_triangle(x):
    return jnp.where(jnp.tril(jnp.ones(x.shape[-2:])), x, -jnp.inf)


def causal_and_padding(mask, x):
    return jnp.where(jnp.tril(jnp.ones(x.shape, bool)) & mask, x, -1e9)


def causal_by_ranges(x):
    rows, columns = (jnp.arange(extent) for extent in x.shape)
    return jnp.where(rows[:, None] >= columns[None], x, -jnp.inf)


ORDER = np.array([3, 1, 4, 15, 9, 2, 6, 5, 8, 7, 0, 10, 14, 13, 12, 11])
F, I, B, U8, S8 = jnp.float32, jnp.int32, jnp.bool_, jnp.uint8, jnp.int8
# Indices are below 1000, so that they fit every case.
MASKS = [
    (f"{name} {rows}", function, [((rows, rows), dtype) for dtype in dtypes])
    for rows in (256, 1024, 2048)
    for name, function, dtypes in [
        ("where(mask, x, 0)", where_zero, [B, F]),
        ("where(mask, x, y)", jnp.where, [B, F, F]),
        ("where(tril(ones), x, -inf)", where_triangle, [F]),
        ("where(rows >= columns, x, -inf)", causal_by_ranges, [F]),
        ("where(tril & mask, x, -1e9)", causal_and_padding, [B, F]),
        ("tril(x)", jnp.tril, [F]),
    ]
] + [
    ("where(tril(ones), x, -inf) 8x1024", where_triangle, [((8, 1024, 1024), F)]),
    ("bf16 where(mask, x, 0) 2048", where_zero, [((2048, 2048), B), ((2048, 2048), jnp.bfloat16)]),
    ("x[:, idx]", lambda x, i: x[:, i], [((4096, 1000), F), ((1000,), I)]),
    ("x[:, idx] of 256 rows", lambda x, i: x[:, i], [((256, 1000), F), ((1000,), I)]),
    ("x[:, permutation]", lambda x: x[:, ORDER], [((65536, 16), F)]),
    ("x[..., order of 8]", lambda x: x[..., np.array([0, 4, 1, 5, 2, 6, 3, 7])], [((4096, 512, 8), S8)]),
    ("take_along_axis 1024", lambda x, i: jnp.take_along_axis(x, i, axis=1), [((1024, 1024), F), ((1024, 1024), I)]),
    ("table[x], u8", lambda t, x: t[x], [((256,), U8), ((1 << 22,), U8)]),
]
LISTS = {"programs": CASES, "masks": MASKS}


def operand(rng, shape, dtype):
    """Random masks and indices, and elements that are all 1."""
    if dtype == B:
        return jnp.asarray(rng.random(shape) < 0.5)
    if dtype == I:
        return jnp.asarray(rng.integers(1000, size=shape, dtype=np.int32))
    return jnp.ones(shape, dtype)


def main():
    if sys.argv[1:] == ["modules"]:
        for file, cases in LISTS.items():
            with open(DATA / f"{file}.jsonl", "w") as out:
                for name, function, operands in cases:
                    operands = [jax.ShapeDtypeStruct(*operand) for operand in operands]
                    module = jax.jit(function).lower(*operands).compiler_ir("hlo").as_serialized_hlo_module_proto()
                    print(json.dumps({"name": name, "module": base64.b64encode(module).decode()}), file=out)
        return
    best = {}
    rng = np.random.default_rng(1)
    for name, function, operands in CASES + MASKS:
        operands = [operand(rng, *of) for of in operands]
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
