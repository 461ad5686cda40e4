# SPDX-License-Identifier: MIT
"""Draws results of benchmarks: what iris_plot.py and docs/figures.py call. Needs matplotlib.

Dotted lines are the hand-written kernels of the same run, dashed ones the copy engine's. Of collectives: time against
message size, both logarithmic, in a graph where that was measured; dashed lines are NCCL's. Of pairs: for each size a
heat map for each operation, GB/s from rank to rank with per cent of the ceiling. Of any other benchmark: bandwidth or
time against the axis of numbers that has most values, both logarithmic unless there is a 0, a line for each other point
of its axes.
"""
import collections
import sys

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


WRITTEN = set()


def saved(fig, file):
    if file in WRITTEN:
        sys.exit(f"iris-plot: {file} is a picture of this call already: give the results one by one, or other names")
    WRITTEN.add(file)
    fig.savefig(file)
    plt.close(fig)
    print(file)


def draw(rows, x, y, title, labels, file):
    fig, axes = plt.subplots(figsize=(7, 4.5))
    for case, points in sorted(lines(rows, x).items()):
        style = "--" if case.startswith("copy_engine") else ":" if case.startswith("hand") else "-"
        drawn, = axes.plot([p for p, _ in points], [r[y] for _, r in points], ls=style, marker=".", label=case)
        beside = [(p, r["ceiling"]) for p, r in points if "ceiling" in r]
        if beside:
            axes.plot(*zip(*beside), ls=":", color=drawn.get_color())
    axes.set_xscale("log", base=2)
    if x == "bytes":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, title="dotted: by hand", title_fontsize=7)
    fig.tight_layout()
    saved(fig, file)


def collectives(rows, where, folder, stem, ending="svg"):
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
        saved(fig, folder / f"{stem}_{case}.{ending}")


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
    saved(fig, file)
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
    saved(fig, file)


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
        saved(fig, folder / f"{stem}_pairs_{size}.{ending}")


def heat_map(axes, case, seen, ranks):
    """One matrix; what was not measured stays white."""
    figures = [[seen[a, b]["gbps"] if (a, b) in seen else float("nan") for b in range(ranks)] for a in range(ranks)]
    most = max(row["gbps"] for row in seen.values())
    axes.imshow(figures, cmap="viridis", vmin=0, vmax=most)
    for (a, b), row in seen.items():
        part = f"\n({100 * row['ratio']:.0f}%)" if "ratio" in row else ""
        rate = f"{row['gbps']:.0f}" if row["gbps"] >= 100 else f"{row['gbps']:.3g}"
        axes.text(b, a, f"{rate}{part}", ha="center", va="center", fontsize=7,
                  color="black" if row["gbps"] > 0.6 * most else "white")
    axes.set_xticks(range(ranks))
    axes.set_yticks(range(ranks))
    axes.set_xlabel("rank whose memory is reached", fontsize=7)
    axes.set_ylabel("rank whose kernel moves", fontsize=7)
    axes.set_title(case, fontsize=8)


def bandwidths(rows, where, folder, stem, ending):
    """Of bandwidth and latency: against message size, and against workgroups at the size that most grids were tried at;
    round trips of put with signal."""
    for variant in ("pair", "all"):
        part = [r for r in rows if "gbps" in r and r["variant"] == variant
                and (r["dtype"] == "u32" or r["case"].startswith("copy_engine"))]
        if not part:
            continue
        draw(part, "bytes", "gbps", f"{variant}: {where}", ("bytes", "GB/s a rank"),
             folder / f"{stem}_{variant}_size.{ending}")
        grids = collections.Counter(r["bytes"] for r in part if r["workgroups"])
        swept = max(grids, key=lambda n: (grids[n], n))
        draw([r for r in part if r["bytes"] == swept and r["workgroups"]], "workgroups", "gbps",
             f"{variant}, {swept} bytes: {where}", ("workgroups", "GB/s a rank"),
             folder / f"{stem}_{variant}_workgroups.{ending}")
    small = [r for r in rows if "gbps" not in r and r["case"] == "put_signal"]
    if small:
        draw(small, "bytes", "us", f"round trip: {where}", ("bytes", "µs"), folder / f"{stem}_latency.{ending}")


# What a row holds beside the point of its axes.
FIGURES = {"us", "n", "p10", "p90", "min", "gbps", "algbw", "ceiling", "ratio", "ok"}


def point(row):
    """Where on its axes a row is: {axis: value}."""
    return {k: v for k, v in row.items() if k not in FIGURES and v not in ("", None)}


# Axes that every row of a file has; they are 0 where the benchmark has no such axis.
ALWAYS = ("bytes", "workgroups", "lanes")


def points(rows):
    """point() of each row, without those of ALWAYS that are 0 in all rows of its case."""
    there = {(r["case"], k) for r in rows for k in ALWAYS if r.get(k)}
    return [{k: v for k, v in point(r).items() if k not in ALWAYS or (r["case"], k) in there} for r in rows]


def axis_of(rows):
    """The number that has most values among the rows that have it; None: no number has several. One of ALWAYS with a 0
    comes last: rows with the 0 may be those that have none, such as a library's that chooses its workgroups itself."""
    places = points(rows)
    values = {k: {p[k] for p in places if k in p} for k in dict.fromkeys(k for p in places for k in p)}
    numbers = [k for k, v in values.items() if len(v) > 1 and all(isinstance(x, int) for x in v)]

    def rank(k):
        return k not in ALWAYS or 0 not in values[k], len(values[k]), all(k in p for p in places), k == "bytes"
    return max(numbers, key=rank, default=None)


def sweep(rows, where, file):
    """Any benchmark's rows: a picture of those that have the axis with most values, and of the others one for each case
    that has an axis of its own. Returns how many."""
    x = axis_of(rows)
    drawn = curves(rows, x, where, file)
    others = collections.defaultdict(list)
    for row, at in zip(rows, points(rows)):
        if x not in at:
            others[row["case"]].append(row)
    for case, part in others.items():
        name = case.replace("/", "_")  # a file's name holds no slash
        drawn += curves(part, axis_of(part), f"{case}, {where}", file.with_stem(f"{file.stem}_{name}"))
    return drawn


def curves(rows, x, where, file):
    """One picture of the rows that have the axis x: bandwidth where all have one, else time; a line for each other
    point. Returns 1; 0 where x is None."""
    if x is None:
        return 0
    shown = [(row, at) for row, at in zip(rows, points(rows)) if x in at]
    y, label = ("gbps", "GB/s") if all("gbps" in r for r, _ in shown) else ("us", "µs")
    others = [k for k in dict.fromkeys(k for _, at in shown for k in at) if k != x]
    named = [k for k in others if len({at.get(k) for _, at in shown}) > 1]
    found = collections.defaultdict(list)
    for row, at in shown:
        name = " ".join(str(at[k]) if k in ("case", "variant") else f"{k}={at[k]}" for k in named if k in at)
        found[name or at["case"]].append((at[x], row[y]))
    fig, axes = plt.subplots(figsize=(7, 4.5))
    for name, drawn in found.items():
        axes.plot(*zip(*sorted(drawn)), marker=".", label=name)
    # A logarithmic scale has no place for 0.
    if all(at[x] > 0 for _, at in shown):
        axes.set_xscale("log", base=2)
    if all(row[y] > 0 for row, _ in shown):
        axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(label)
    axes.set_title(where, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    fig.tight_layout()
    saved(fig, file)
    return 1


def beside(rows, before, title, file):
    """How many times as fast each row is as the same point of another result, a bar each; 0: none is in both."""
    then = {tuple(sorted(point(r).items())): r["us"] for r in before}
    both = [(r, then[key] / r["us"]) for r in rows if r["us"] > 0
            and (key := tuple(sorted(point(r).items()))) in then]
    if not both:
        return 0
    changing = [k for k in point(both[0][0]) if len({point(r).get(k) for r, _ in both}) > 1] or ["case"]
    fig, axes = plt.subplots(figsize=(max(7, 0.25 * len(both) + 2), 5))
    axes.bar(range(len(both)), [ratio for _, ratio in both], 0.7)
    axes.axhline(1, color="black", lw=0.8)
    axes.set_xticks(range(len(both)), [" ".join(str(point(r).get(k, "")) for k in changing) for r, _ in both],
                    rotation=90, fontsize=7)
    axes.set_ylabel("times as fast as before")
    axes.set_title(title, fontsize=9)
    fig.tight_layout()
    saved(fig, file)
    return 1
