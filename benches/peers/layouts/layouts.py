#!/usr/bin/env python3
"""Blocked formats, matrices and images beside oneDNN, MKL and IPP on the host.

    benches/peers/layouts/setup.sh FOLDER
    python3 benches/peers/layouts/layouts.py FOLDER STRIDEC [--threads 1,2] [--only TEXT] [--repetitions 15]

STRIDEC is the binary. For each case, stridec and each library that has a function for it run one after the other, twice, and
the best times count. A column is the time of a library over stridec's, so that more than 1 means that stridec is faster.
The bytes of every result are compared with those of stridec.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).parents[2] / "data" / "layouts.txt"
BYTES = {"u8": 1, "s8": 1, "u16": 2, "f16": 2, "bf16": 2, "s32": 4, "f32": 4, "f64": 8}
ROUNDS = 2


def cases():
    """The words of each line of the list."""
    lines = CASES.read_text("utf8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def operation(case):
    """The arguments of `stridec` for a case."""
    kind, element, *numbers = case
    if kind == "blocked":
        dimensions, *formats = numbers
        source, result = (f"onednn:{element}[{dimensions}] {tag}" for tag in formats)
        return ["relayout", "--from", source, "--to", result]
    rows, columns = numbers
    relayout = {"turned": ("{r},{c}", "{0,1}"), "to-pixels": ("3,{r},{c}", "{0,2,1}"), "to-planes": ("{r},{c},3", "{1,0,2}")}
    if kind in relayout:
        dimensions, layout = relayout[kind]
        return ["relayout", "--from", f"{element}[{dimensions.format(r=rows, c=columns)}]", "--to", layout]
    pixel, steps = {"mirrored-1": ([], "1,-1"), "mirrored-3": (["3"], "1,-1,1"), "flipped": ([], "-1,1"), "rotated": ([], "-1,-1")}[kind]
    sizes = ",".join([rows, columns, *pixel])
    zeros = ",".join("0" for _ in steps.split(","))
    return ["slice", "--from", f"{element}[{sizes}]", f"--offsets={zeros}", f"--sizes={sizes}", f"--strides={steps}"]


def source_bytes(case):
    """The size of the source. In a format such as `aBcd16b`, the second dimension is padded to a multiple of 16."""
    kind, element, *numbers = case
    if kind != "blocked":
        pixel = 3 if kind in ("mirrored-3", "to-planes", "to-pixels") else 1
        return int(numbers[0]) * int(numbers[1]) * pixel * BYTES[element]
    extents = [int(extent) for extent in numbers[0].split(",")]
    blocks = [1] * len(extents)
    for size, letter in re.findall(r"(\d+)([a-z])", numbers[1]):
        blocks[ord(letter) - ord("a")] *= int(size)
    return math.prod(-(-extent // block) * block for extent, block in zip(extents, blocks)) * BYTES[element]


def commands(folder, case):
    """The command of each library that may have a function for a case."""
    kind, element, *numbers = case
    if kind == "blocked":
        return {f"oneDNN ({of})": [folder / f"onednn-{of}", element, *numbers] for of in ("gomp", "sycl")}
    return {name: [folder / "images", name.lower(), kind, element, *numbers] for name in ("MKL", "IPP")}


def environment(threads, program):
    """The variables of a command. The packages of oneDNN with SYCL look for others of its libraries by these paths."""
    named = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, MKL_THREADING_LAYER="GNU")
    if program.name == "onednn-sycl":
        libraries = program.parent / "sycl" / "lib"
        named["LD_LIBRARY_PATH"] = str(libraries)
        named["OCL_ICD_FILENAMES"] = str(libraries / "libintelocl.so")
    return named


def run(command, threads):
    """Runs a command on the last processors, as many as there are threads."""
    processors = sorted(os.sched_getaffinity(0))[-int(threads):]
    pinned = ["taskset", "-c", ",".join(map(str, processors)), *command]
    return subprocess.run(pinned, capture_output=True, text=True, env=environment(threads, command[0]), check=False)


def checked(command, threads):
    done = run(command, threads)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done


def times(arguments, case, threads, room):
    """The best time of stridec and of each library, in seconds, by name."""
    source, expected, result = room / "source", room / "expected", room / "result"
    # No float that these bytes form is a NaN or subnormal; libraries may change those.
    source.write_bytes(bytes(random.Random(1).choices(range(0x30, 0x40), k=4096)) * (source_bytes(case) // 4096 + 1))
    os.truncate(source, source_bytes(case))
    best = {}
    checked([arguments.stridec, "run", *operation(case), "--device", "host", "-i", source, "-o", expected], threads)
    repetitions = str(arguments.repetitions)
    for _ in range(ROUNDS):
        rates = room / "rates"
        bench = ["bench", *operation(case), "--device", "host", "--repetitions", repetitions, "--json", rates]
        checked([arguments.stridec, *bench], threads)
        for row in map(json.loads, rates.read_text("utf8").splitlines()):
            if row["implementation"] == "stridec":
                best["stridec"] = min(best.get("stridec", math.inf), row["best_ms"] / 1e3)
        rates.unlink()
        for name, command in commands(arguments.folder, case).items():
            done = run([*command, source, result, repetitions], threads)
            if done.returncode == 2:
                continue
            if done.returncode:
                sys.exit(f"{name}, {' '.join(case)}: {done.stderr.strip()}")
            if result.read_bytes() != expected.read_bytes():
                sys.exit(f"{name}, {' '.join(case)}: the bytes differ from those of stridec")
            best[name] = min(best.get(name, math.inf), float(done.stdout))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("stridec", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--repetitions", type=int, default=15)
    arguments = parser.parse_args()
    arguments.folder, arguments.stridec = arguments.folder.resolve(), arguments.stridec.resolve()
    for threads in arguments.threads.split(","):
        shares = {}
        for case in cases():
            if arguments.only not in " ".join(case):
                continue
            with tempfile.TemporaryDirectory() as room:
                best = times(arguments, case, threads, pathlib.Path(room))
            ours = best.pop("stridec")
            ratios = {name: time / ours for name, time in best.items()}
            cells = "".join(f"  {name} {ratio:.2f}" for name, ratio in ratios.items())
            print(f"{' '.join(case):46} {threads} threads {ours * 1e3:9.4f} ms{cells}", flush=True)
            if ratios:
                group = "blocked formats" if case[0] == "blocked" else "matrices and images"
                shares.setdefault(group, []).append(min(ratios.values()))
        for group, values in shares.items():
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"{len(values)} {group}, {threads} threads: geometric mean {mean:.3f}, least {min(values):.3f}")


def tags(header):
    """Lines of C++ for the tags of the list that a version of oneDNN has."""
    text = pathlib.Path(header).read_text("utf8")
    named = {tag for case in cases() if case[0] == "blocked" for tag in case[3:]}
    for tag in sorted(named):
        if re.search(rf"\bdnnl_{tag}\b", text):
            print(f"TAG({tag})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tags"]:
        tags(sys.argv[2])
    else:
        main()
