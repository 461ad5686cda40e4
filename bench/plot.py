#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a result file's rows: bandwidth and time against message size, and against the number of workgroups."""
import argparse
import collections
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend must be chosen first)


def lines(rows, key, x):
    """{label: sorted [(x, row)]}, the best row where several have the same x."""
    found = collections.defaultdict(dict)
    for row in rows:
        held = found[row[key]].get(row[x])
        if held is None or row["us"] < held["us"]:
            found[row[key]][row[x]] = row
    return {label: sorted(points.items()) for label, points in found.items()}


def draw(rows, x, y, title, labels, file):
    fig, axes = plt.subplots(figsize=(7, 4.5))
    for label, points in sorted(lines(rows, "case", x).items()):
        drawn, = axes.plot([p for p, _ in points], [r[y] for _, r in points], marker="o", label=label)
        if all("ceiling" in r for _, r in points):
            axes.plot([p for p, _ in points], [r["ceiling"] for _, r in points], ls=":", color=drawn.get_color())
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, title="dotted: hand-written", title_fontsize=7)
    fig.tight_layout()
    fig.savefig(file)
    plt.close(fig)
    print(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=pathlib.Path, help="a JSON file of bench/")
    parser.add_argument("folder", type=pathlib.Path, help="where the SVG files go")
    args = parser.parse_args()
    result = json.loads(args.result.read_text())
    if result.get("schema") != "iris-bench-1":
        parser.error(f"{args.result} is not of schema iris-bench-1")
    rows = [r for r in result["rows"] if r["ok"]]
    if len(rows) != len(result["rows"]):
        parser.error(f"{args.result} has rows whose check failed: not drawn")
    args.folder.mkdir(parents=True, exist_ok=True)
    where = f"{result['ranks']} × {result['device']}, {result['commit']}"
    stem = args.result.stem
    moved = [r for r in rows if "gbps" in r]
    for variant in sorted({r["variant"] for r in moved}):
        part = [r for r in moved if r["variant"] == variant]
        draw(part, "bytes", "gbps", f"{variant}: {where}", ("bytes", "GB/s a rank"),
             args.folder / f"{stem}_{variant}_size.svg")
        largest = [r for r in part if r["bytes"] == max(q["bytes"] for q in part)]
        draw(largest, "workgroups", "gbps", f"{variant}, {largest[0]['bytes']} bytes: {where}",
             ("workgroups", "GB/s a rank"), args.folder / f"{stem}_{variant}_workgroups.svg")
    small = [r for r in rows if "gbps" not in r and r["bytes"]]
    if small:
        draw(small, "bytes", "us", f"round trip: {where}", ("bytes", "µs"), args.folder / f"{stem}_latency.svg")


if __name__ == "__main__":
    main()
