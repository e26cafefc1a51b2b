#!/usr/bin/env python3
"""Checks stridec's reader of HLO text with the test modules of a checkout of XLA.

    harvest.py XLA STRIDEC [--keep FOLDER] [--jobs N] [--list REASON]

XLA is a checkout of github.com/openxla/xla, STRIDEC the built command line. Needs `pip install jaxlib`.

Every HLO text in XLA's sources is a case: whole files, and strings in C++ and Python sources. A text that XLA's parser
(in jaxlib) reads must be read by `stridec memory`, and give the same rows and totals as its serialized proto does. Names are
not compared, because XLA renames what two computations call alike. `stridec explain hlo` must not call a module
invalid either; what it refuses is printed by reason, for a person to judge: XLA's parser checks less than its verifier.
"""

import argparse
import ast
import collections
import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RAW_STRING = re.compile(r'R"([^(\s"]*)\((.*?)\)\1"', re.S)
TEXTS = {".hlo", ".hlotxt", ".txt"}
SOURCES = {".cc", ".h", ".inc"}


def texts(path: pathlib.Path):
    """Yields the strings of a file that may be HLO."""
    try:
        source = path.read_text()
    except UnicodeDecodeError:
        return
    if path.suffix in TEXTS:
        yield source
        # Files of tests have several modules, with lines of `// -----` between them.
        if "// -----" in source:
            yield from re.split(r"^// -----.*$", source, flags=re.M)
    elif path.suffix in SOURCES:
        for match in RAW_STRING.finditer(source):
            yield match.group(2)
    elif path.suffix == ".py":
        try:
            nodes = ast.walk(ast.parse(source))
        except (SyntaxError, ValueError):
            return
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def harvest(checkout: pathlib.Path):
    """Returns the distinct texts that look like HLO, each with the file that has it."""
    found = {}
    for path in sorted(checkout.rglob("*")):
        if path.suffix not in TEXTS | SOURCES | {".py"} or not path.is_file():
            continue
        for text in texts(path):
            if re.search(r"\bparameter\(|\bROOT\b|HloModule|ENTRY|\bconstant\(", text) and "=" in text:
                found.setdefault(text, path.relative_to(checkout))
    return found


def server(connection):
    from jaxlib import _hlo

    while True:
        text = connection.recv()
        try:
            proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        except Exception:  # noqa: BLE001: a refusal
            proto = None
        connection.send(proto)


class Parser:
    """XLA's parser in a process of its own, which is started again after a crash."""

    def __init__(self):
        self.process = None

    def read(self, text: str):
        if self.process is None or not self.process.is_alive():
            self.end, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=server, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.end.send(text)
            if self.end.poll(60):
                return self.end.recv()
        except (EOFError, BrokenPipeError, ConnectionError):
            pass
        self.process.kill()
        self.process.join()
        return None


def run(stridec: str, *arguments: str):
    return subprocess.run([stridec, *arguments], capture_output=True, text=True, errors="replace")


def rows(report: dict):
    keys = ("opcode", "shape", "bytes", "unpadded_bytes", "has_buffer")
    return sorted(json.dumps([row.get(key) for key in keys]) for row in report["instructions"])


def reason(error: str) -> str:
    """Shortens an error, so that equal reasons are counted together."""
    error = error.strip().split("\n")[0]
    error = re.sub(r"^error: |\S*\.(hlo|pb)\b:?", "", error)
    error = re.sub(r"line \d+(, column \d+)?: ", "", error)
    error = re.sub(r"instruction \S+ of computation \S+: ", "", error)
    return re.sub(r"`[^`]*`|\d+|[a-z0-9]+\[[^\]]*\](\{[^}]*\})?", "_", error)[:160]


def check(stridec: str, hlo: pathlib.Path, pb: pathlib.Path):
    """Returns the kind of the outcome and its reason."""
    text = run(stridec, "memory", f"@{hlo}", "--format", "json")
    proto = run(stridec, "memory", f"@{pb}", "--format", "json")
    if text.returncode != 0:
        return "refused", reason(text.stderr)
    if proto.returncode != 0:
        return "proto refused", reason(proto.stderr)
    ours, theirs = json.loads(text.stdout), json.loads(proto.stdout)
    for key in ("total_bytes", "total_padding_bytes", "parameters_bytes", "results_bytes", "temporaries_bytes"):
        if ours[key] != theirs[key]:
            return "differs", key
    if rows(ours) != rows(theirs):
        return "differs", "rows"
    read = run(stridec, "explain", "hlo", f"@{hlo}")
    if read.returncode not in (0, 3):
        return "invalid", f"{read.returncode} {reason(read.stderr)}"
    return "same", ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("xla", type=pathlib.Path)
    arguments.add_argument("stridec")
    arguments.add_argument("--keep", type=pathlib.Path, help="the folder for the modules; a temporary one by default")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--list", default="refused,proto refused,differs", help="the outcomes whose files are listed")
    options = arguments.parse_args()
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="harvest."))
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "index.json"
    if index.exists():
        cases = json.loads(index.read_text())
    else:
        cases, parser = {}, Parser()
        found = harvest(options.xla)
        for text, source in found.items():
            proto = parser.read(text)
            if proto is None:
                continue
            name = hashlib.sha256(text.encode()).hexdigest()[:16]
            (folder / f"{name}.hlo").write_text(text)
            (folder / f"{name}.pb").write_bytes(proto)
            cases[name] = str(source)
        print(f"{len(found)} texts, of which XLA's parser reads {len(cases)}", file=sys.stderr)
        index.write_text(json.dumps(cases))
    reasons = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(check, options.stridec, folder / f"{name}.hlo", folder / f"{name}.pb"): name for name in cases}
        for job in concurrent.futures.as_completed(jobs):
            reasons[job.result()].append(jobs[job])
    kinds = collections.Counter()
    for (kind, why), names in sorted(reasons.items(), key=lambda item: (item[0][0], -len(item[1]))):
        kinds[kind] += len(names)
        if kind != "same":
            print(f"{len(names):6} {kind}: {why}")
            if kind in options.list.split(","):
                for name in sorted(names)[:5]:
                    print(f"         {folder / name}.hlo  ({cases[name]})")
    total = max(sum(kinds.values()), 1)
    read = total - kinds["refused"]
    print(f"{total} modules: {read} read ({100 * read / total:.2f}%), " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()))
    return 0 if read >= 0.995 * total and not kinds["differs"] else 1


if __name__ == "__main__":
    sys.exit(main())
