# SPDX-License-Identifier: MIT
"""What a result of bench/gemm_fused says, as heads and rows of tables: report.py and docs/figures.py write them.

Files of bench/gemm_all_scatter, which came before it, have the rows of all_scatter under names of their own.
"""
import collections
import math

PATTERNS = ("bulk_synchronous", "producer_consumer", "fused_sequential", "wg_specialized", "wave_specialized")
COPIES = "copy_engine"  # of all_gather alone
OPERATIONS = {"all_scatter": "GEMM + AllScatter", "reduce_scatter": "GEMM + ReduceScatter",
              "all_reduce": "GEMM + AllReduce", "all_gather": "AllGather + GEMM",
              "all_reduce_rmsnorm": "GEMM + AllReduce + RMSNorm"}
NCCL = ("blas+nccl", "blas+nccl_window", "blas+nccl+norm", "blas+nccl_window+norm")
BEFORE = {"gather": "nccl", "blas+gather": "blas+nccl", "blas+gather+copy": "blas+nccl+copy"}
GEMM_ALONE = ("blas_graph", "gemm_graph")  # of many rows nothing else is timed in graphs

# One shape of an operation as it was launched, plain or in a graph; us: microseconds by variant.
Run = collections.namedtuple("Run", "op shape graph us")


def runs(result):
    """The result's runs, in its order."""
    old = result["benchmark"] == "gemm_all_scatter"
    found = {}
    for r in result["rows"]:
        name = BEFORE.get(r["variant"], r["variant"]) if old else r["variant"]
        us = found.setdefault((r.get("op", "all_scatter"), r["case"]), ({}, {}))
        us[name.endswith("_graph")][name] = r["us"]
    for (op, shape), (plain, graph) in found.items():
        if set(graph) <= set(GEMM_ALONE):
            plain, graph = {**plain, **graph}, {}
        for us in filter(None, (plain, graph)):
            short = us if us is plain else {name.removesuffix("_graph"): t for name, t in us.items()}
            yield Run(op, shape, us is graph, short)


def rows_of(run):
    return int(run.shape.split("x")[0])


def bound(run):
    """What neither arithmetic nor links allow to be shorter."""
    return max(run.us.get("blas") or run.us.get("gemm", 0), run.us.get("push", 0))


def both(run):
    """BLAS and NCCL in turn, by the better of NCCL's modes, and RMSNorm behind them; none where it was not there."""
    return min((run.us[v] for v in NCCL if run.us.get(v)), default=None)


def own(run):
    """The library's patterns and its choice: {name: microseconds}."""
    return {v: run.us[v] for v in (*PATTERNS, COPIES, "auto") if run.us.get(v)}


def quotient(a, b):
    return f"{a / b:.2f}" if a and b else ""


def table(found):
    """(head, rows) of everything that was timed; columns that would be empty are left out.

    What is exposed is the time of the best beyond that of the vendor's GEMM alone."""
    found = list(found)
    names = {"gemm": "GEMM alone, µs", "blas": "BLAS alone", "push": "push alone", "nccl": "NCCL alone",
             "nccl_window": "with windows", "blas+nccl": "BLAS + NCCL", "blas+nccl_window": "BLAS + windows",
             "blas+iris": "BLAS + Iris", "blas+nccl+norm": "BLAS + NCCL + RMSNorm",
             "blas+nccl_window+norm": "BLAS + windows + RMSNorm", "blas+iris+norm": "BLAS + Iris + RMSNorm",
             **{v: v for v in (*PATTERNS, COPIES, "auto", "blas_gather")}}
    digits = 1 if any(r.graph for r in found) else 0
    rows = []
    for run in found:
        us, ours = run.us, own(run)
        best, peer = min(ours.values(), default=None), both(run)
        rows.append([f"`{run.shape}`", "graph" if run.graph else "",
                     *(f"{us[v]:.{digits}f}" if us.get(v) else "" for v in names),
                     f"{best - us['blas']:.{digits}f}" if best and us.get("blas") else "",
                     quotient(bound(run), best), quotient(peer, best), quotient(peer, us.get("auto")),
                     quotient(us.get("blas+nccl+copy"), best), quotient(us.get("blas"), us.get("gemm")),
                     quotient(us.get("blas_graph"), us.get("gemm_graph"))])
    head = ["shape", "launched", *names.values(), "exposed", "bound / best", "BLAS + NCCL / best",
            "BLAS + NCCL / auto", "BLAS + NCCL + copy / best", "BLAS / GEMM alone", "in graphs"]
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return [head[i] for i in kept], [[row[i] for i in kept] for row in rows]


def summary(found, named=False):
    """(head, rows) of the library's choice beside BLAS and NCCL in turn, and what bounds both: runs with a choice.

    named: operations are a column."""
    rows = []
    for run in found:
        if not run.us.get("auto") or len(own(run)) < 2:
            continue
        ours = {v: t for v, t in own(run).items() if v != "auto"}
        best, peer = min(ours, key=ours.get), both(run)
        digits = 1 if run.graph else 0
        rows.append((*([OPERATIONS[run.op]] if named else []), f"`{run.shape}`", f"{run.us['auto']:.{digits}f}",
                     f"{ours[best]:.{digits}f} (`{best}`)", f"{peer:.{digits}f}" if peer else "",
                     quotient(peer, run.us["auto"]), quotient(bound(run), run.us["auto"])))
    head = ("shape", "auto, µs", "best pattern, µs", "BLAS + NCCL, µs", "BLAS + NCCL / auto", "bound / auto")
    return (("operation", *head) if named else head), rows


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


# What the library is to reach on two H100s or H200s: over BLAS + NCCL in the geometric mean, of the bound at least.
FASTER = {"reduce_scatter": 1.15, "all_reduce": 1.28, "all_gather": 1.35}
OF_BOUND = ((8192, 0.90, "8192 rows and more"), (1024, 0.75, "1024 to 4096 rows"))
DECODED = (("all_reduce", "4096", 0.80, "layers of 8B"), ("all_reduce", "8192", 0.90, "layers of 70B"),
           ("all_reduce_rmsnorm", "4096", 0.75, "layers of 8B"))  # by C's columns


def demands(found):
    """(what, asked for, measured, whether it is met) of the library's own kernels, by its choice, where it has some."""
    found = [r for r in found if r.us.get("auto") and both(r)]
    for op, asked in FASTER.items():
        large = [r for r in found if r.op == op and not r.graph and rows_of(r) > 64]
        if not large:
            continue
        faster = [both(r) / r.us["auto"] for r in large]
        yield f"{OPERATIONS[op]} over BLAS + NCCL, mean", f"≥ {asked}", f"{mean(faster):.3f}", mean(faster) >= asked
        yield f"{OPERATIONS[op]} over BLAS + NCCL, worst", "≥ 1.0", f"{min(faster):.3f}", min(faster) >= 1
        for least, part, what in OF_BOUND:
            high = [bound(r) / r.us["auto"] for r in large
                    if rows_of(r) >= least and (least == 8192 or rows_of(r) < 8192)]
            if high:
                yield f"{OPERATIONS[op]}, of the bound, {what}", f"≥ {part}", f"{min(high):.3f}", min(high) >= part
    for op, columns, most, what in DECODED:
        few = [r.us["auto"] / both(r) for r in found
               if r.op == op and r.graph and r.shape.split("x")[1] == columns]
        if few:
            beside = "BLAS + NCCL + RMSNorm" if op == "all_reduce_rmsnorm" else "BLAS + NCCL"
            yield f"decoding, {what}: {OPERATIONS[op]} by {beside}, mean", f"≤ {most}", f"{mean(few):.3f}", \
                mean(few) <= most
            yield f"decoding, {what}: the same, worst", "≤ 1.0", f"{max(few):.3f}", max(few) <= 1
