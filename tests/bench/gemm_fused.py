# SPDX-License-Identifier: MIT
"""bench/gemm_fused has a row for everything that this machine can compare, and none for what it cannot; its check
notices a C that is wrong in any element; and what its tables say of made-up numbers is right.

    gemm_fused.py BENCH_FOLDER PROGRAM STUB
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import gemm_report  # noqa: E402 (the folder is an argument)
import report  # noqa: E402

PROGRAM, STUB = sys.argv[2:4]
ENVIRONMENT = {**os.environ, "IRIS_TIMEOUT_MS": "100000"}
OWN = ("auto", *gemm_report.PATTERNS, "blas_gather")


def run(program, *arguments, fails=0):
    """(rows, standard output, standard error) of a run that ends with `fails`."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "made.json")
        done = subprocess.run([program, "-r", "1", "-l", "1", "-M", "65536", "-j", file, *arguments], check=False,
                              capture_output=True, text=True, env=ENVIRONMENT)
        assert done.returncode == fails, (arguments, done.returncode, done.stdout, done.stderr)
        result = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"rows": []}
        return result, done.stdout, done.stderr


def variants(result, op, shape):
    return [r["variant"] for r in result["rows"] if (r["op"], r["case"]) == (op, shape)]


def every_row():
    """Of equal parts there is everything, of unequal ones no collective of the library's but all_reduce's."""
    for ranks in ("2", "3"):
        result, said, _ = run(PROGRAM, "-n", ranks, "24x96x48", "5x80x7")
        assert "no kernels" not in said, said
        assert all(r["ok"] and r["us"] > 0 for r in result["rows"]), result["rows"]
        alone, both = ["blas", "gemm", "push"], ["iris", "blas+iris"]
        assert variants(result, "all_scatter", "24x96x48") == [*alone, *both, "blas+iris+copy", *OWN], result["rows"]
        assert variants(result, "all_scatter", "5x80x7") == [*alone, *OWN], result["rows"]
        for op in ("reduce_scatter", "all_reduce"):
            assert variants(result, op, "24x96x48") == [*alone, *both, *OWN], (op, result["rows"])
        gathers = (*OWN, gemm_report.COPIES)
        assert variants(result, "all_gather", "24x96x48") == [*alone, *both, *gathers], result["rows"]
        normed = ["auto", "bulk_synchronous", "fused_sequential", "blas_gather"]
        for shape in ("24x96x48", "5x80x7"):
            assert variants(result, "all_reduce_rmsnorm", shape) == [*alone, "blas+iris+norm", *normed], result["rows"]
        assert variants(result, "all_reduce", "5x80x7") == [*alone, *both, *OWN], result["rows"]
        assert variants(result, "reduce_scatter", "5x80x7") == [*alone, *OWN], result["rows"]
        assert variants(result, "all_gather", "5x80x7") == [*alone, *gathers], result["rows"]
        assert {r["op"]: r["bytes"] for r in result["rows"] if r["case"] == "24x96x48"} == {
            "all_scatter": 24 * 96 * 2 // int(ranks) * (int(ranks) - 1),
            "reduce_scatter": 24 * 96 * 2 // int(ranks) * (int(ranks) - 1),
            "all_reduce": 2 * 24 * 96 * 2 // int(ranks) * (int(ranks) - 1),
            "all_gather": 24 * 48 * 2 // int(ranks) * (int(ranks) - 1),
            "all_reduce_rmsnorm": 2 * 24 * 96 * 2 // int(ranks) * (int(ranks) - 1)}, result["rows"]
    result, _, _ = run(PROGRAM, "-n", "1", "24x96x48")  # nobody to send to
    assert variants(result, "all_reduce", "24x96x48") == ["blas", "gemm", *OWN], result["rows"]
    assert variants(result, "all_scatter", "24x96x48") == ["blas", "gemm", *OWN], result["rows"]
    assert variants(result, "all_reduce_rmsnorm", "24x96x48") == ["blas", "gemm", *normed], result["rows"]
    result, _, _ = run(PROGRAM, "-n", "4", "1x16x3", "3x33x5")  # ranks without rows, columns or a part of K
    assert all(r["ok"] for r in result["rows"]) and "gemm" not in variants(result, "all_reduce", "1x16x3"), result


def what_is_asked():
    result, _, _ = run(PROGRAM, "-n", "2", "-o", "all_gather", "-v", "blas+iris", "24x96x48")
    assert [(r["op"], r["variant"]) for r in result["rows"]] == [("all_gather", "blas+iris")], result["rows"]
    result, _, _ = run(PROGRAM, "-n", "2", "-o", "reduce_scatter", "-v", "push", "decode8b")  # those of 1 to 8 rows fit
    assert [r["case"] for r in result["rows"]] == [f"{m}x4096x{k}" for k in (4096, 14336) for m in (1, 4, 8)], result
    for arguments, word in ((("-o", "all_to_all", "8x16x8"), "all_to_all"), (("decode9b",), "decode9b"),
                            (("8x16",), "8x16"), (("-t", "f16", "8x16x8"), "f16")):
        _, _, said = run(PROGRAM, *arguments, fails=2)
        assert f"'{word}' is n" in said and said.count("\n") == 1, said
    said = subprocess.run([PROGRAM, "--help"], check=True, capture_output=True, text=True).stdout
    for word in ("reduce_scatter", "nccl_window", "decode70b", "--laps", "MxNxK"):
        assert word in said, said


def wrong_ones():
    """A mistake of each kind is noticed, on two and three ranks; what is right beside it stays so."""
    for ranks in ("2", "3"):
        result, out, said = run(STUB, "-n", ranks, "24x96x96", fails=1)
        for op in ("reduce_scatter", "all_reduce", "all_gather", "all_reduce_rmsnorm"):
            both = {"blas+iris+norm": True} if op == "all_reduce_rmsnorm" else {"iris": True, "blas+iris": True}
            verdicts = {r["variant"]: r["ok"] for r in result["rows"] if r["op"] == op}
            assert verdicts == {"blas": True, "gemm": True, "push": True, **both, "auto": True,
                                "bulk_synchronous": True, "producer_consumer": False, "fused_sequential": False,
                                "wg_specialized": False, "wave_specialized": False}, (op, verdicts)
        lacking = [line.split(":")[0] for line in out.splitlines() if "no kernels of this operation" in line]
        assert lacking == ["all_scatter"], out
        for pattern in ("wg_specialized", "wave_specialized"):
            lines = [line for line in said.splitlines() if line.startswith(pattern)]
            assert lines and all("is another than BLAS" in line or "a norm of row" in line for line in lines), said
            assert sum("a norm of row" in line for line in lines) == int(ranks), said


def made_up():
    """Tables of numbers that are made up."""
    def rows(op, shape, **us):
        return [{"op": op, "case": shape, "variant": v.replace("blas_", "blas+"), "us": t, "ok": True, "bytes": 1,
                 "dtype": "bf16"} for v, t in us.items()]

    fused = {"benchmark": "gemm_fused", "rows": [
        *rows("all_reduce", "8192x8x8", blas=100.0, push=80.0, blas_nccl=260.0, blas_nccl_window=130.0, auto=100.0),
        *rows("all_reduce", "1024x8x8", blas=10.0, push=80.0, blas_nccl=260.0, auto=100.0),
        *rows("all_reduce_rmsnorm", "4x4096x8", blas=9.0, auto=9.0, blas_nccl=1.0, auto_graph=4.0,
              **{"blas_nccl+norm_graph": 10.0, "blas_nccl_window+norm_graph": 8.0}),
        *rows("all_reduce", "4x4096x8", blas=9.0, auto=9.0, push_graph=1.0, blas_nccl_graph=8.0, auto_graph=4.0)]}
    for r in fused["rows"]:
        r["variant"] = r["variant"].replace("+graph", "_graph")
    runs = list(gemm_report.runs(fused))
    assert [(r.shape, r.graph) for r in runs] == [("8192x8x8", False), ("1024x8x8", False), ("4x4096x8", False),
                                                  ("4x4096x8", True), ("4x4096x8", False),
                                                  ("4x4096x8", True)], runs
    assert gemm_report.both(runs[0]) == 130 and gemm_report.bound(runs[1]) == 80, runs
    found = {what: measured for what, _, measured, _ in gemm_report.demands(runs)}
    assert found["GEMM + AllReduce over BLAS + NCCL, mean"] == f"{(1.3 * 2.6) ** 0.5:.3f}", found
    assert found["GEMM + AllReduce over BLAS + NCCL, worst"] == "1.300", found
    assert found["GEMM + AllReduce, of the bound, 8192 rows and more"] == "1.000", found
    assert found["GEMM + AllReduce, of the bound, 1024 to 4096 rows"] == "0.800", found
    assert found["decoding, layers of 8B: GEMM + AllReduce by BLAS + NCCL, mean"] == "0.500", found
    what = "decoding, layers of 8B: GEMM + AllReduce + RMSNorm by BLAS + NCCL + RMSNorm, mean"
    assert found[what] == "0.500", found
    text = "\n".join(report.gemm_tables(fused))
    assert "GEMM + AllReduce, in graphs:" in text and "GEMM + AllScatter" not in text, text
    assert not gemm_report.summary(gemm_report.runs(fused))[1], "a run without patterns has a row"
    old = {"benchmark": "gemm_all_scatter", "rows": [
        {"case": "8x8x8", "variant": v, "us": t} for v, t in (("blas", 2.0), ("blas_graph", 1.0), ("gather", 3.0),
                                                              ("blas+gather", 6.0), ("auto", 4.0), ("push", 1.0),
                                                              ("bulk_synchronous", 5.0))]}
    run_, = gemm_report.runs(old)
    assert (run_.op, run_.us["nccl"], gemm_report.both(run_), run_.us["blas_graph"]) == ("all_scatter", 3, 6, 1), run_
    assert list(report.gemm_summary(old))[-1] == "| `8x8x8` | 4 | 5 (`bulk_synchronous`) | 6 | 1.50 | 0.50 |", old


every_row()
what_is_asked()
wrong_ones()
made_up()
