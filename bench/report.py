#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables of a result file, as Markdown. docs/figures.py takes those that docs/performance.md shows from here."""
import argparse
import json
import pathlib
import sys

import gemm_report

MIB = 1 << 20
PULLS = ("get", "load", "all_load")
LINKS = ("push", "pull")  # cases of bench/collectives: every rank with all others at once
OPERATIONS = ("put", "get", "copy", "store", "load", "all_store", "all_load")


def size(n):
    """1536 -> '1.5 KiB'."""
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if n >= unit:
            return f"{n / unit:g} {name}"
    return f"{n} B"


def table(head, rows):
    if rows:
        yield from ("", "| " + " | ".join(head) + " |", "|" + "---|" * len(head))
        yield from ("| " + " | ".join(str(c) for c in row) + " |" for row in rows)


def grid(row):
    return f"{row['workgroups']} × {row['lanes']:,}"


def fastest(rows):
    return max(rows, key=lambda r: r["gbps"], default=None)


def hand(rows, like):
    """The best that was written by hand for the same message in the same direction, in any grid."""
    pull = like["case"] in PULLS
    ceilings = [r["ceiling"] for r in rows if "ceiling" in r and (r["case"] in PULLS) == pull
                and r["bytes"] == like["bytes"] and r["variant"].startswith(like["variant"])]
    own = [r["gbps"] for r in rows if r["case"].startswith("hand_pull" if pull else "hand_push")
           and r["bytes"] == like["bytes"] and r["variant"] == like["variant"]]
    return max(ceilings + own)


def bandwidths(rows):
    """(operation, best row, best with at most 16 workgroups, best by hand) at each size from 64 MiB on, or the
    largest."""
    sizes = {v: max(r["bytes"] for r in rows if r["variant"] == v) for v in {r["variant"] for r in rows}}
    for case in OPERATIONS:
        own = [r for r in rows if r["case"] == case and r["dtype"] == "u32" and r["variant"] in ("pair", "all")]
        for n in sorted({r["bytes"] for r in own if r["bytes"] >= min(64 * MIB, sizes[r["variant"]])}):
            there = [r for r in own if r["bytes"] == n]
            best = fastest(there)
            yield case, best, fastest([r for r in there if r["workgroups"] <= 16]), hand(rows, best)


def bandwidth_tables(rows):
    found = list(bandwidths(rows))
    yield from table(("operation", "bytes from a rank", "GB/s", "grid", "of the best by hand",
                      "with at most 16 workgroups", "grid"),
                     [(f"`{case}`", size(best["bytes"]), f"{best['gbps']:.0f}", grid(best),
                       f"{best['gbps'] / most:.3f}", f"{few['gbps'] / most:.3f}", grid(few))
                      for case, best, few, most in found])
    engine = [(f"`{r['case']}`", size(r["bytes"]), f"{r['gbps']:.0f}") for r in rows
              if r["case"].startswith("copy_engine") and r["bytes"] >= 64 * MIB]
    yield from table(("copy engine", "bytes", "GB/s"), engine)
    types = sorted({r["dtype"] for r in rows if r["case"] in OPERATIONS})
    if len(types) > 1:
        cells = []
        for case in OPERATIONS:
            own = [r for r in rows if r["case"] == case and r["variant"] in ("pair", "all")]
            usual = {n for n in {r["bytes"] for r in own} if {r["dtype"] for r in own if r["bytes"] == n} == set(types)}
            if usual:
                best = [fastest([r for r in own if r["dtype"] == t and r["bytes"] == max(usual)]) for t in types]
                cells.append((f"`{case}`", size(max(usual)), *(f"{r['gbps']:.0f}" for r in best)))
        yield from table(("GB/s of", "bytes from a rank", *types), cells)
    parts = [r for r in rows if r["variant"] == "pair_parts"]
    cells = []
    for case in sorted({r["case"] for r in parts}):
        one = fastest([r for r in parts if r["case"] == case])
        other = fastest([r for r in rows if r["case"] == case and r["variant"] == "pair" and r["dtype"] == "u32"
                         and r["bytes"] == one["bytes"]])
        cells.append((f"`{case}`", size(one["bytes"]), f"{other['gbps']:.0f}", f"{one['gbps']:.0f}"))
    yield from table(("GB/s of", "bytes", "pieces in turn", "one part for each workgroup"), cells)


def latency_table(rows):
    return table(("what", "how", "bytes", "lanes", "µs", "by hand, µs"),
                 [(f"`{r['case']}`", r["variant"], r["bytes"] or "", r["lanes"], f"{r['us']:.2f}",
                   f"{r['ceiling']:.2f}" if "ceiling" in r else "") for r in rows])


def collectives_table(rows):
    """The library's choice and the best schedule beside NCCL's two modes, in a graph where that was measured."""
    us = {(r["case"], r["bytes"], r["variant"]): r["us"] for r in rows}
    cells = []
    cases = list(dict.fromkeys(r["case"] for r in rows))
    for case, n in sorted({(r["case"], r["bytes"]) for r in rows}, key=lambda row: (cases.index(row[0]), row[1])):
        end = "_graph" if (case, n, "auto_graph") in us else ""
        own = {v.removesuffix("_graph"): t for (c, b, v), t in us.items()
               if (c, b) == (case, n) and v.endswith("_graph") == bool(end) and not v.startswith("nccl")}
        peers = [us.get((case, n, peer + end)) for peer in ("nccl", "nccl_window")]
        best, auto = min((v for v in own if v != "auto"), key=own.get, default=""), own.get("auto")
        if auto is None:
            continue
        least = min((p for p in peers if p), default=None)
        cells.append((f"`{case}`", size(n), "graph" if end else "plain", f"{auto:.1f}",
                      f"{own[best]:.1f} (`{best}`)" if best else "", *(f"{p:.1f}" if p else "" for p in peers),
                      f"{auto / least:.2f}" if least else ""))
    return table(("collective", "bytes", "launched", "auto, µs", "best schedule, µs", "NCCL, µs", "with windows, µs",
                  "auto / better NCCL"), cells)


def links_tables(rows):
    """What the links did in the run, and what of the best of that the collectives move from 64 MiB on."""
    links = [r for r in rows if r["case"] in LINKS and "gbps" in r]
    best = {(case, n): fastest([r for r in links if (r["case"], r["bytes"]) == (case, n)])
            for case, n in dict.fromkeys((r["case"], r["bytes"]) for r in links)}
    if not best:
        return
    yield from table(("all ranks at once", "bytes", "GB/s", "by", "grid"),
                     [(f"`{case}`", size(n), f"{r['gbps']:.0f}", f"`{r['variant']}`", grid(r))
                      for (case, n), r in best.items()])
    most, cells = fastest(links)["gbps"], []
    large = [r for r in rows if r["bytes"] >= 64 * MIB and "gbps" in r and r["case"] not in LINKS
             and not r["variant"].startswith("nccl")]
    for case, n in dict.fromkeys((r["case"], r["bytes"]) for r in large):
        there = [r for r in large if (r["case"], r["bytes"]) == (case, n)]
        auto, own = fastest([r for r in there if r["variant"].startswith("auto")]), fastest(there)
        same = fastest([r for r in links if r["bytes"] == n])
        if auto:
            cells.append((f"`{case}`", size(n), f"{auto['gbps']:.0f}", f"{auto['gbps'] / most:.3f}",
                          f"{auto['gbps'] / same['gbps']:.3f}" if same else "",
                          f"{own['gbps']:.0f} (`{own['variant'].removesuffix('_graph')}`)"))
    yield from table(("collective", "bytes", "auto, GB/s", "of the best of the links", "of the best at that size",
                      "best schedule, GB/s"), cells)


def gemm_tables(result):
    """Each operation: every pattern beside what bounds it and the vendor's two libraries in turn."""
    found = list(gemm_report.runs(result))
    yield from table(("what", "asked for", "measured", ""), [(*d[:3], "met" if d[3] else "**missed**")
                                                             for d in gemm_report.demands(found)])
    for op, name in gemm_report.OPERATIONS.items():
        for graph in (False, True):
            there = [r for r in found if (r.op, r.graph) == (op, graph)]
            if there:
                yield from ("", f"{name}{', in graphs' if graph else ''}:")
                yield from table(*gemm_report.table(there))


def gemm_summary(result):
    """GEMM + AllScatter by the library's choice beside the vendor's two libraries in turn and what bounds both; where a
    shape was replayed from graphs too, these times."""
    found = [r for r in gemm_report.runs(result) if r.op == "all_scatter"]
    replayed = {r.shape for r in found if r.graph}
    return table(*gemm_report.summary(r for r in found if r.graph or r.shape not in replayed))


def gemm_operations_summary(result, graphs):
    """The same of the operations that add up or gather: in graphs, those of few rows."""
    found = [r for r in gemm_report.runs(result) if r.op != "all_scatter" and bool(r.graph) == graphs]
    found = found if graphs else [r for r in found if gemm_report.rows_of(r) > 64]
    return table(*gemm_report.summary(found, named=True))


def gemm_norm_summary(result, heights=(1, 8, 32)):
    """GEMM + AllReduce + RMSNorm of few rows in graphs, by the library's choice, beside a BLAS, a collective and a
    kernel for the residual and the norm."""
    cells = []
    for run in gemm_report.runs(result):
        if run.op != "all_reduce_rmsnorm" or not run.graph or gemm_report.rows_of(run) not in heights:
            continue
        ours, blas, iris, peer = (*(run.us[v] for v in ("auto", "blas_gather", "blas+iris+norm")),
                                  gemm_report.both(run))
        cells.append((f"`{run.shape}`", f"{ours:.1f}", f"{blas:.1f}", f"{peer:.1f}", f"{iris:.1f}",
                      f"{peer / ours:.2f}", f"{peer / blas:.2f}"))
    return table(("shape", "auto, µs", "`blas_gather`, µs", "BLAS + NCCL + RMSNorm, µs",
                  "BLAS + Iris's all-reduce + RMSNorm, µs", "BLAS + NCCL + RMSNorm / auto", "/ `blas_gather`"), cells)


def beside_table(rows):
    """A GEMM and a collective at the same time, beside each alone."""
    alone = {(r["case"], r["variant"]): r["us"] for r in rows if r["variant"] != "both"}
    cells = []
    for r in rows:
        if r["variant"] != "both":
            continue
        gemm, collective = (alone[r["case"], what] for what in ("gemm", "collective"))
        cells.append((f"`{r['case']}`", r["share"], f"{gemm:.0f}", f"{collective:.0f}", f"{r['us']:.0f}",
                      f"{r['us'] / max(gemm, collective):.2f}"))
    return table(("collective", "its workgroups", "GEMM alone, µs", "collective alone, µs", "both, µs",
                  "over the longer one"), cells)


def local_table(rows):
    """The GEMM alone beside the vendor's."""
    return table(("M x N x K", "B", "µs", "TFLOP/s", "cuBLASLt, µs", "cuBLASLt / own"),
                 [(f"{r['m']} x {r['n']} x {r['k']}", "n x k" if r.get("b_transposed") else "k x n", f"{r['us']:.1f}",
                   f"{r['tflops']:.0f}", f"{r['peer_us']:.1f}", f"{r['ratio']:.2f}") for r in rows])


def types_table(runs):
    """The GEMM alone of each type: the vendor's time over the own one, a column for each shape."""
    shapes = list(dict.fromkeys((r["m"], r["n"], r["k"]) for run in runs for r in run["rows"]))
    cells = []
    for run in runs:
        ratio = {(r["m"], r["n"], r["k"]): f"{r['ratio']:.2f}" for r in run["rows"]}
        cells.append((f"`{run['dtype']}`", "n x k" if run["b_transposed"] else "k x n",
                      *(ratio.get(shape, "") for shape in shapes)))
    return table(("A and B, C", "B", *(" x ".join(map(str, shape)) for shape in shapes)), cells)


def tiles_table(rows):
    """A kernel that all-reduces its own tiles, beside its arithmetic alone and its all-reduces alone."""
    us = {(r["bytes"], r["variant"]): r["us"] for r in rows}
    return table(("bytes", "arithmetic alone, µs", "all-reduce alone, µs", "both in one kernel, µs",
                  "over the longer one"),
                 [(size(n), f"{us[n, 'compute']:.0f}", f"{us[n, 'all_reduce']:.0f}", f"{us[n, 'both']:.0f}",
                   f"{us[n, 'both'] / max(us[n, 'compute'], us[n, 'all_reduce']):.2f}")
                  for n in dict.fromkeys(r["bytes"] for r in rows)])


def demands(moved, timed):
    """(what, asked for, measured, whether it is met) for what the file has: what the library is to keep."""
    found = list(bandwidths(moved))
    for case in OPERATIONS:
        own = [f for f in found if f[0] == case and f[1]["bytes"] >= 64 * MIB]
        if not own or case == "copy":
            continue
        worst = min(best["gbps"] / most for _, best, _, most in own)
        yield f"`{case}` from 64 MiB on, of the best by hand", "≥ 0.98", f"{worst:.3f}", worst >= 0.98
        if case.startswith("all"):
            continue
        worst = min(few["gbps"] / most for _, _, few, most in own)
        yield f"`{case}` with at most 16 workgroups", "≥ 0.95", f"{worst:.3f}", worst >= 0.95
    for case, variant, most, what in (("signal", "library", 2.6, "signal, round trip"),
                                      ("ll", "lane", 1.7, "LL packet of 4 bytes, round trip"),
                                      ("ll", "wave", 1.7, "LL message of 8 bytes, round trip"),
                                      ("ll_barrier", "device", 2.0, "barrier of all ranks with LL packets"),
                                      ("launch_ll_barrier", "cooperative_graph", 4.0, "launch and barrier in a graph")):
        for r in timed:
            if r["case"] == case and r["variant"] == variant:
                yield what, f"≤ {most} µs", f"{r['us']:.2f} µs", r["us"] <= most
    for r in timed:
        if r["case"] == "signal_deadline":
            cost = r["us"] / r["ceiling"] - 1
            yield "what a deadline costs a round trip", "≤ 1 %", f"{100 * cost:.1f} %", cost <= 0.01
    puts = [r["us"] / r["ceiling"] for r in timed if r["case"] == "put_signal" and "ceiling" in r]
    if puts:
        yield "`put_signal` beside the loop by hand, worst size", "≤ 1.05", f"{max(puts):.3f}", max(puts) <= 1.05


def report(result):
    """The lines of the page."""
    rows = result["rows"]
    wrong = [r for r in rows if not r["ok"]]
    if wrong:
        sys.exit(f"the check of {len(wrong)} rows failed, {wrong[0]['case']} first: nothing to report")
    moved, timed = [r for r in rows if "gbps" in r], [r for r in rows if "gbps" not in r]
    world = result.get("world", result.get("ranks"))
    beside = f", NCCL {result['nccl']}" if "nccl" in result else ""
    yield (f"{world} × {result['device']} ({result['arch']}){beside}, commit {result['commit']}, "
           f"median of {result['repeats']}.")
    if not result.get("complete", True):
        yield "The run was cut short: rows are missing."
    if result["benchmark"] == "collectives":
        yield from collectives_table([r for r in rows if r["case"] not in LINKS])
        yield from links_tables(rows)
        return
    if result["benchmark"] in ("gemm_fused", "gemm_all_scatter"):
        yield from gemm_tables(result)
        return
    if result["benchmark"] == "beside":
        yield from beside_table(rows)
        return
    if result["arch"] != "host":  # there only ratios mean anything
        yield from table(("what", "asked for", "measured", ""),
                         [(*d[:3], "met" if d[3] else "**missed**") for d in demands(moved, timed)])
    if moved:
        yield from bandwidth_tables(moved)
    yield from latency_table(timed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result", type=pathlib.Path, help="a JSON file of bench/")
    args = parser.parse_args()
    result = json.loads(args.result.read_text(encoding="utf-8"))
    if result.get("schema") != "iris-bench-1":
        parser.error(f"{args.result} is not of schema iris-bench-1")
    print("\n".join(report(result)))


if __name__ == "__main__":
    main()
