"""The everyday cases by numpy's `copyto`, on one thread.

    python3 benches/peers/everyday_numpy.py OUT.json [REPETITIONS]

writes GB/s of both sides by the names of the cases, for `cargo bench --bench host -- --cases everyday --numpy OUT.json`.
Tiled, padded and packed layouts have no view in numpy; they are left out. Of its own accord numpy asks for huge pages, which
the host's images in that bench do not have; here it doesn't.
"""

import json
import os
import pathlib
import re
import sys
import time

os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"  # read by the import
import numpy

CASES = pathlib.Path(__file__).parent.parent / "data" / "everyday.jsonl"
TYPES = {
    "u8": "u1", "s8": "u1", "f16": "u2", "bf16": "u2", "f32": "u4", "f64": "u8", "c128": "c16",
}


def flags(op):
    """The arguments by their names, `--name value` or `--name=value`."""
    words = iter(op[1:])
    for word in words:
        name, equals, value = word.partition("=")
        yield name, value if equals else next(words)


def view(op):
    """The source as numpy sees it in the order of the destination; None where it cannot."""
    given = dict(flags(op))
    shape = re.fullmatch(r"(\w+)\[([\d,]*)\]", given["--from"])
    if not shape:
        return None
    sizes = [int(n) for n in shape[2].split(",")]
    source = numpy.empty(sizes, TYPES.get(shape[1]) or "u1")
    source.view("u1")[...] = 1
    if shape[1] not in TYPES:
        return None
    if op[0] == "relayout":
        layout = re.fullmatch(r"\{([\d,]*)\}", given["--to"])
        return layout and source.transpose([int(n) for n in layout[1].split(",")][::-1])
    lists = (given[name].split(",") for name in ("--offsets", "--sizes", "--strides"))
    slices = []
    for start, count, step in zip(*(map(int, numbers) for numbers in lists)):
        end = start + count
        slices.append(slice(start, end, step) if step > 0 else slice(end - 1, start - 1 if start else None, step))
    return source[tuple(slices)]


def main():
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    rates = {}
    for line in open(CASES):
        case = json.loads(line)
        source = view(case["op"])
        if source is None:
            continue
        destination = numpy.zeros(source.shape, source.dtype)
        best = float("inf")
        for _ in range(repetitions + 1):
            start = time.perf_counter()
            numpy.copyto(destination, source)
            best = min(best, time.perf_counter() - start)
        rates[case["name"]] = 2 * destination.nbytes / best / 1e9
        print(f"{case['name']:44} {rates[case['name']]:7.2f} GB/s", flush=True)
    json.dump(rates, open(sys.argv[1], "w"), indent=1)
    print(f"numpy {numpy.__version__}")


main()
