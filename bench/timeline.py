# SPDX-License-Identifier: MIT
"""Draws a trace (docs/how-to/trace-a-kernel.md) as a timeline: what iris_plot.py calls. Needs matplotlib."""
import collections

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend must be chosen first)

ROWS = 64  # of compute units in one picture; of more the first ones of each rank


def depths(events):
    """[(event, in how many others of its row it lies)], the outer ones first."""
    open_until, found = [], []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while open_until and open_until[-1] <= event["ts"]:
            open_until.pop()
        found.append((event, len(open_until)))
        open_until.append(event["ts"] + event["dur"])
    return found


def rows_of(spans, ranks):
    """Rows of the picture in their order, some of each rank where there are too many."""
    by_rank = collections.defaultdict(list)
    for where in sorted({(e["pid"], e["tid"]) for e in spans}):
        by_rank[where[0]].append(where)
    each = max(1, ROWS // max(1, len(ranks)))
    return [where for rank in ranks for where in by_rank[rank][:each]]


def timeline(trace, title, file, begin=None, end=None):
    """Events between two times in microseconds from the first one, a colour for each kind; arrows go from raises to
    waits. 0: there are none."""
    every = trace["traceEvents"]
    spans = [e for e in every if e["ph"] == "X"]
    if not spans:
        return 0
    zero = min(e["ts"] for e in spans)
    low = 0 if begin is None else begin
    high = max(e["ts"] + e["dur"] for e in spans) - zero if end is None else end
    spans = [e for e in spans if e["ts"] - zero < high and e["ts"] + e["dur"] - zero > low]
    if not spans or low >= high:
        return 0
    places = {where: i for i, where in enumerate(rows_of(spans, sorted({e["pid"] for e in spans})))}
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in every if e["ph"] == "M" and e["name"] == "thread_name"}
    kinds = list(dict.fromkeys(e["cat"] for e in sorted(spans, key=lambda e: e["cat"])))
    colours = {kind: f"C{i % 10}" for i, kind in enumerate(kinds)}
    fig, axes = plt.subplots(figsize=(11, 1.6 + 0.24 * len(places)))
    for where, place in places.items():
        bars = collections.defaultdict(list)
        for event, depth in depths([e for e in spans if (e["pid"], e["tid"]) == where]):
            bars[min(depth, 4), event["cat"]].append((event["ts"] - zero, max(event["dur"], (high - low) / 2000)))
        for (depth, kind), lengths in sorted(bars.items()):
            height = 0.8 - 0.15 * depth
            axes.broken_barh(lengths, (place - height / 2, height), facecolors=colours[kind])
    begins, ends = ({e["id"]: e for e in every if e["ph"] == ph} for ph in "sf")
    for number in begins.keys() & ends.keys():
        a, b = begins[number], ends[number]
        if all((e["pid"], e["tid"]) in places and low <= e["ts"] - zero <= high for e in (a, b)):
            axes.plot([a["ts"] - zero, b["ts"] - zero], [places[a["pid"], a["tid"]], places[b["pid"], b["tid"]]],
                      color="black", lw=0.5, alpha=0.5)
    axes.set_xlim(low, high)
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_yticks(range(len(places)), [f"rank {pid}: {names.get((pid, tid), 'row')} {tid}" for pid, tid in places],
                    fontsize=7)
    axes.set_xlabel("µs")
    axes.set_title(title, fontsize=9)
    axes.legend(handles=[matplotlib.patches.Patch(color=colours[k], label=k) for k in kinds], fontsize=7,
                loc="upper left", bbox_to_anchor=(1, 1))
    fig.tight_layout()
    fig.savefig(file)
    plt.close(fig)
    print(file)
    return 1
