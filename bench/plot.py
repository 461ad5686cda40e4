#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a result file: bandwidth and time against message size and number of workgroups, speedups.

Dotted lines are the hand-written kernels of the same run, dashed ones the copy engine's. Of collectives: time against
message size, both logarithmic, in a graph where that was measured; dashed lines are NCCL's. Of pairs: for each size a
heat map for each operation, GB/s from rank to rank with per cent of the ceiling.
"""
import argparse
import collections
import json
import pathlib

import gemm_report
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
    for case in dict.fromkeys(r["case"] for r in rows if r["case"] not in ("push", "pull")):
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


def speedups(result, op, where, file):
    """BLAS and NCCL in turn over each pattern of an operation, a group of bars for each shape; 0: there are none."""
    runs = [r for r in gemm_report.runs(result) if r.op == op and gemm_report.both(r) and gemm_report.own(r)]
    patterns = [v for v in (*gemm_report.PATTERNS, "auto", "blas_gather") if any(r.us.get(v) for r in runs)]
    if not runs:
        return 0
    fig, axes = plt.subplots(figsize=(10, 4.5))
    for i, pattern in enumerate(patterns):
        at = [k + (i - len(patterns) / 2) * 0.8 / len(patterns) for k in range(len(runs))]
        axes.bar(at, [gemm_report.both(r) / r.us[pattern] if r.us.get(pattern) else 0 for r in runs],
                 0.8 / len(patterns), label=pattern)
    axes.axhline(1, color="black", lw=0.8)
    axes.set_xticks(range(len(runs)), [r.shape + (" (graph)" if r.graph else "") for r in runs], rotation=25,
                    ha="right", fontsize=7)
    axes.set_ylabel("times as fast as BLAS + NCCL")
    axes.set_title(f"{gemm_report.OPERATIONS[op]}, bf16: {where}", fontsize=9)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.28), ncol=len(patterns))  # below the shapes
    fig.tight_layout()
    fig.savefig(file)
    plt.close(fig)
    print(file)
    return 1


def ratios(rows, title, file):
    """The vendor's time over the own one of a GEMM alone, a bar for each shape."""
    fig, axes = plt.subplots(figsize=(10, 4.5))
    names = [f"{r['m']}x{r['n']}x{r['k']}" for r in rows]
    axes.bar(range(len(rows)), [r["ratio"] for r in rows], 0.7)
    axes.axhline(1, color="black", lw=0.8)
    axes.set_xticks(range(len(rows)), names, rotation=35, ha="right", fontsize=7)
    axes.set_ylabel("times as fast as cuBLASLt")
    axes.set_title(title, fontsize=9)
    fig.tight_layout()
    fig.savefig(file)
    plt.close(fig)
    print(file)


def heat_maps(rows, where, folder, stem, ending):
    """A picture for each message size: a matrix for each operation, a line for each rank whose kernel moves."""
    pairs = [r for r in rows if r["variant"] == "pair"]
    for size in sorted({r["bytes"] for r in pairs}):
        there = [r for r in pairs if r["bytes"] == size]
        cases = list(dict.fromkeys(r["case"] for r in there))
        ranks = max(max(r["from"], r["to"]) for r in there) + 1
        side = 1.2 + 0.62 * ranks
        fig, grid = plt.subplots(-(-len(cases) // 3), min(3, len(cases)), squeeze=False, layout="constrained",
                                 figsize=(side * min(3, len(cases)), side * -(-len(cases) // 3) + 0.4))
        for axes in grid.flat[len(cases):]:
            axes.axis("off")
        for axes, case in zip(grid.flat, cases):
            heat_map(axes, case, {(r["from"], r["to"]): r for r in there if r["case"] == case}, ranks)
        fig.suptitle(f"GB/s (% of the ceiling), {size} bytes: {where}", fontsize=9)
        fig.savefig(folder / f"{stem}_pairs_{size}.{ending}")
        plt.close(fig)
        print(folder / f"{stem}_pairs_{size}.{ending}")


def heat_map(axes, case, seen, ranks):
    """One matrix; what was not measured stays white."""
    figures = [[seen[a, b]["gbps"] if (a, b) in seen else float("nan") for b in range(ranks)] for a in range(ranks)]
    most = max(row["gbps"] for row in seen.values())
    axes.imshow(figures, cmap="viridis", vmin=0, vmax=most)
    for (a, b), row in seen.items():
        part = f"\n({100 * row['ratio']:.0f}%)" if "ratio" in row else ""
        axes.text(b, a, f"{row['gbps']:.3g}{part}", ha="center", va="center", fontsize=7,
                  color="black" if row["gbps"] > 0.6 * most else "white")
    axes.set_xticks(range(ranks))
    axes.set_yticks(range(ranks))
    axes.set_xlabel("rank whose memory is reached", fontsize=7)
    axes.set_ylabel("rank whose kernel moves", fontsize=7)
    axes.set_title(case, fontsize=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=pathlib.Path, help="a JSON file of bench/")
    parser.add_argument("folder", type=pathlib.Path, help="where the pictures go")
    parser.add_argument("--png", action="store_true", help="heat maps as PNG files, not SVG")
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
    if result["benchmark"] in ("gemm_fused", "gemm_all_scatter"):
        if not sum(speedups(result, op, where, args.folder / f"{stem}_{op}.svg") for op in gemm_report.OPERATIONS):
            parser.error(f"{args.result} has no pattern beside BLAS + NCCL: nothing is drawn")
        return
    if result["benchmark"] == "pairs":
        heat_maps(rows, where, args.folder, stem, "png" if args.png else "svg")
        together = [r for r in rows if r["variant"] == "all"]
        if together:
            draw(together, "bytes", "gbps", f"all at once: {where}", ("bytes", "GB/s a rank"),
                 args.folder / f"{stem}_all_size.svg")
        return
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
