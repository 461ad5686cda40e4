#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a result file's rows: bandwidth and time against message size, and against the number of workgroups.

Dotted lines are the hand-written kernels of the same run, dashed ones the copy engine's. Of collectives: time against
message size, both logarithmic, in a graph where that was measured; dashed lines are NCCL's.
"""
import argparse
import collections
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend must be chosen first)


def lines(rows, x):
    """{case: sorted [(x, row)]}, the fastest row where several have the same x."""
    found = collections.defaultdict(dict)
    for row in rows:
        held = found[row["case"]].get(row[x])
        if held is None or row["us"] < held["us"]:
            found[row["case"]][row[x]] = row
    return {case: sorted(points.items()) for case, points in found.items()}


def draw(rows, x, y, title, labels, file):
    fig, axes = plt.subplots(figsize=(7, 4.5))
    for case, points in sorted(lines(rows, x).items()):
        style = "--" if case.startswith("copy_engine") else ":" if case.startswith("hand") else "-"
        drawn, = axes.plot([p for p, _ in points], [r[y] for _, r in points], ls=style, marker=".", label=case)
        beside = [(p, r["ceiling"]) for p, r in points if "ceiling" in r]
        if beside:
            axes.plot(*zip(*beside), ls=":", color=drawn.get_color())
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, title="dotted: by hand", title_fontsize=7)
    fig.tight_layout()
    fig.savefig(file)
    plt.close(fig)
    print(file)


def collectives(rows, where, folder, stem):
    """One picture for each collective, a line for each schedule; the library's choice is the thick one."""
    for case in dict.fromkeys(r["case"] for r in rows):
        fig, axes = plt.subplots(figsize=(7, 4.5))
        for variant in dict.fromkeys(r["variant"].removesuffix("_graph") for r in rows if r["case"] == case):
            us = {r["bytes"]: r["us"] for graph in ("", "_graph")  # what a graph took hides what a plain launch took
                  for r in rows if (r["case"], r["variant"]) == (case, variant + graph)}
            axes.plot(*zip(*sorted(us.items())), ls="--" if variant.startswith("nccl") else "-", marker=".",
                      lw=2.5 if variant == "auto" else 1, label=variant)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("bytes of the larger buffer")
        axes.set_ylabel("µs")
        axes.set_title(f"{case}, bf16: {where}", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        fig.tight_layout()
        fig.savefig(folder / f"{stem}_{case}.svg")
        plt.close(fig)
        print(folder / f"{stem}_{case}.svg")


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
    where = f"{result.get('world', result.get('ranks'))} × {result['device']}, {result['commit']}"
    stem = args.result.stem
    if result["benchmark"] == "collectives":
        collectives(rows, where, args.folder, stem)
        return
    for variant in ("pair", "all"):
        part = [r for r in rows if "gbps" in r and r["variant"] == variant
                and (r["dtype"] == "u32" or r["case"].startswith("copy_engine"))]
        if not part:
            continue
        draw(part, "bytes", "gbps", f"{variant}: {where}", ("bytes", "GB/s a rank"),
             args.folder / f"{stem}_{variant}_size.svg")
        # The size that has been measured in most grids.
        grids = collections.Counter(r["bytes"] for r in part if r["workgroups"])
        swept = max(grids, key=lambda n: (grids[n], n))
        draw([r for r in part if r["bytes"] == swept and r["workgroups"]], "workgroups", "gbps",
             f"{variant}, {swept} bytes: {where}", ("workgroups", "GB/s a rank"),
             args.folder / f"{stem}_{variant}_workgroups.svg")
    small = [r for r in rows if "gbps" not in r and r["case"] == "put_signal"]
    if small:
        draw(small, "bytes", "us", f"round trip: {where}", ("bytes", "µs"), args.folder / f"{stem}_latency.svg")


if __name__ == "__main__":
    main()
