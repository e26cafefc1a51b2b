"""The transposes of the GPU bench, as PyTorch and JAX run them on a CUDA device.

    python3 benches/peers/transposes_gpu.py time OUT.json            writes the best milliseconds of each case
    python3 benches/peers/transposes_gpu.py compare OUT.json FILE    compares them with the file of a bench

The bench is `cargo bench --bench relayout -- --cases ttc200 --back-to-back 10 --json FILE` on the same device, or `ttc24`
or `eight`. PyTorch copies a permuted tensor in a CUDA graph, JAX runs a compiled `transpose`, each 20 times between two
events or waits. JAX's time of the smaller cases includes the time in which the host starts a kernel. Results of 24 MiB
are compared with NumPy's.
"""

import json
import math
import os
import pathlib
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

DATA = pathlib.Path(__file__).parent.parent / "data"
TIMES, TURNS = 20, 7
EIGHT = [
    ("4096x4096 transposed", [4096, 4096], [1, 0]),
    ("[8,64,112,112] to NHWC", [8, 64, 112, 112], [0, 2, 3, 1]),
    ("[8,112,112,64] to NCHW", [8, 112, 112, 64], [0, 3, 1, 2]),
    ("[14,28,48,28,48] by 1,3,0,4,2", [14, 28, 48, 28, 48], [1, 3, 0, 4, 2]),
    ("[16,28,28,28,48] reversed", [16, 28, 28, 28, 48], [4, 3, 2, 1, 0]),
    ("[8,1024,16,64] by 0,2,1,3", [8, 1024, 16, 64], [0, 2, 1, 3]),
]


def cases():
    for name, sizes, order in EIGHT:
        yield "eight", name, sizes, order
    for file, kind in [("ttc57_24MiB.json", "ttc24"), ("ttc57.json", "ttc200")]:
        for case in json.loads((DATA / file).read_text())["cases"]:
            sizes, order = case["extents_rowmajor"], case["perm_rowmajor"]
            name = f"ttc {case['id']} {sizes} by {order}"
            yield kind, name, sizes, order


def torch_ms(step):
    """The time of one step in a CUDA graph of many."""
    import torch

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(TIMES):
            step()
    best = float("inf")
    for _ in range(TURNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / TIMES)
    return best


def jax_ms(run, x):
    run(x).block_until_ready()
    best = float("inf")
    for _ in range(TURNS):
        start = time.perf_counter()
        results = [run(x) for _ in range(TIMES)]
        results[-1].block_until_ready()
        best = min(best, (time.perf_counter() - start) * 1e3 / TIMES)
        del results
    return best


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compare(peers, bench):
    ours = {}
    for line in pathlib.Path(bench).read_text().splitlines():
        result = json.loads(line)
        ours.setdefault(result["case"], {})[result["implementation"]] = result["best_ms"]
    both = [(peer, ours[peer["case"]]) for peer in json.loads(pathlib.Path(peers).read_text()) if peer["case"] in ours]
    for name in ["torch", "jax"]:
        ratios = [peer[f"{name}_ms"] / our["stridec"] for peer, our in both]
        shares = [peer["torch_copy_ms"] / peer[f"{name}_ms"] for peer, _ in both]
        print(f"{name}'s time over ours: {mean(ratios):.3f}, least {min(ratios):.3f}; of PyTorch's copy: {mean(shares):.3f}")
    shares = [our["identity"] / our["stridec"] for _, our in both]
    copies = [peer["torch_copy_ms"] / our["identity"] for peer, our in both]
    print(f"ours of the identity kernel: {mean(shares):.3f}; PyTorch's copy over the identity kernel: {mean(copies):.3f}")
    print(f"{len(both)} cases")


def measure(out):
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch

    print(torch.cuda.get_device_name(), "torch", torch.__version__, "jax", jax.__version__)
    results = []
    for kind, name, sizes, order in cases():
        x = torch.randn(sizes, device="cuda")
        out = torch.empty([sizes[d] for d in order], device="cuda")
        turned = x.permute(order)
        row = {"cases": kind, "case": name, "bytes": 2 * x.nbytes}
        row["torch_ms"] = torch_ms(lambda: out.copy_(turned))
        same = torch.empty_like(x)
        row["torch_copy_ms"] = torch_ms(lambda: same.copy_(x))
        values = x.cpu().numpy()
        if kind == "ttc24":
            assert np.array_equal(out.cpu().numpy(), values.transpose(order)), name
        given = jnp.asarray(values)
        row["jax_ms"] = jax_ms(jax.jit(lambda x: jnp.transpose(x, order)), given)
        results.append(row)
        del x, out, turned, same, given
        print(json.dumps(row), flush=True)
    pathlib.Path(out).write_text(json.dumps(results, indent=1))


match sys.argv[1:]:
    case ["time", out]:
        measure(out)
    case ["compare", peers, bench]:
        compare(peers, bench)
    case _:
        sys.exit(__doc__)
