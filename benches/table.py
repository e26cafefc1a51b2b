#!/usr/bin/env python3
"""Writes the table of README.md from the files in `results/`; with `--check` it only compares.

Each file has the results of one processor: the geometric means of a row's runs, and the least value of
each run. A machine is placed by the median of its means. The least case of a row is that of any
machine, which need not be the worst one by its mean. `goals.json` names the rows and their goals.
A result with `older` is of older code than the others, and is marked with a star.
"""

import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- table.py writes from here -->\n", "<!-- to here -->\n"


def cell(row, machine, result):
    star = "*" if result.get("older") else ""
    value = statistics.median(result["values"])
    below = row["goal"] is not None and value < row["goal"]
    above = row["goal"] is not None and value > row["goal"]
    misses = above if row["better"] == "lower" else below
    return f"**{value:g}** ({machine}{star})" if misses else f"{value:g} ({machine}{star})"


def least(row, results):
    """The least case of all machines, in bold if it misses the row's goal."""
    cases = [(min(of["least"]), machine) for machine, of in results if "least" in of]
    if not cases:
        return ""
    value, machine = min(cases)
    misses = row["least"] is not None and value < row["least"]
    return f"**{value:g}** ({machine})" if misses else f"{value:g} ({machine})"


def goal(row):
    at_least = "at most" if row["better"] == "lower" else "at least"
    parts = [f"{at_least} {row['goal']}"] if row["goal"] else []
    parts += [f"none below {row['least']}"] if row["least"] else []
    return ", ".join(parts)


def table():
    found = {}
    for path in sorted((HERE / "results").glob("*.json")):
        if path.stem != "goals":
            for result in json.loads(path.read_text("utf8"))["results"]:
                found.setdefault(result["id"], []).append((path.stem, result))
    lines = ["| what | measured as | goal | worst machine | best machine | least case |", "|---|---|---|---|---|---|"]
    for row in json.loads((HERE / "results/goals.json").read_text("utf8")):
        by_median = sorted(found[row["id"]], key=lambda of: statistics.median(of[1]["values"]))
        if row["better"] == "lower":
            by_median.reverse()
        cells = [row["what"], row["measure"], goal(row), cell(row, *by_median[0]), cell(row, *by_median[-1])]
        cells.append(least(row, found[row["id"]]))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    readme = HERE / "README.md"
    text = readme.read_text("utf8")
    before, rest = text.split(BEGIN)
    made = before + BEGIN + table() + END + rest.split(END)[1]
    if "--check" in sys.argv:
        sys.exit(made != text and "benches/README.md differs from benches/results; run benches/table.py")
    readme.write_text(made, "utf8")


main()
