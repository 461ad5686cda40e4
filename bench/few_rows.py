# SPDX-License-Identifier: MIT
"""Few rows of C on NVIDIA: what each side path of f16 and bf16 wins over what would take its place.

    python3 bench/few_rows.py [--program build-gpu/bench_gemm_local] [--dtype bf16] [--rows 1,8,64] [--rounds N]
                              [--seconds N] [--commit ID] --json FILE
    python3 bench/few_rows.py --show FILE

Runs gemm_local over the layers of two models as they are decoded, B given as k x n and as n x k, rows at multiples of
16 bytes and not. Each path is forced where it can be (`skinny=2`, `skinny=0`, which for an unaligned B
is sm90a_unaligned_b; so wide tiles stand for the copies that would replace that) and timed in the same rounds as the
choice of the library and the vendor's GEMM. The last table is the geometric mean, over the shapes for which the library
chooses a path, of the best other path's time by that path's: below 1.1 a path is not worth its lines.
"""
import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# n and k of the layers of Llama 8B on one device, and of one of eight devices that share Llama 70B: QKV, output, gate
# and up, down.
LAYERS = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),
          (1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584))
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
PATHS = ("skinny=0", "skinny=2", "skinny=0 width=256", "skinny=0 width=192")
KINDS = tuple((transposed, ragged) for ragged in (0, 1) for transposed in (0, 1))


def kind(transposed, ragged):
    return f"B {'n x k' if transposed else 'k x n'}, {'ragged' if ragged else 'aligned'}"


def run_for(command, seconds):
    """Exit status, or None when the time was up."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            return child.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its ranks too
            return None


def rows_of(path):
    """What gemm_local wrote, without a row that was cut off; None without any."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not text.rstrip().endswith("]\n}"):
        text = "".join(text.rpartition("}")[:2]) + "\n]}"
    try:
        return json.loads(text)
    except ValueError:
        return None


def measured(args):
    """One file of runs; stops between them when the time is up."""
    end, runs = time.monotonic() + args.seconds, []
    with tempfile.TemporaryDirectory() as folder:
        for transposed, ragged in KINDS:
            shapes = [f"{m}x{n - ragged}x{k - ragged}" for n, k in LAYERS for m in args.rows]
            command = [args.program, "-d", args.dtype, "-r", str(args.rounds), "-c", args.commit, "-j", f"{folder}/run"]
            command += ["-t"] * transposed + [word for path in PATHS for word in ("-T", path)] + shapes
            rc = run_for(command, end - time.monotonic())
            said = f"rc {rc}" if rc is not None else "stopped, the time is up"
            run = rows_of(Path(folder, "run"))
            if run:
                runs.append({**run, "ragged": ragged, "complete": rc == 0})
                said = f"{len(run['rows'])} of {len(shapes)} shapes, {said}"
            print(f"{args.dtype}, {kind(transposed, ragged)}: {said}", flush=True)
            Path(folder, "run").unlink(missing_ok=True)
            if rc is None:
                break
    if not runs:
        sys.exit("few_rows: nothing was measured")
    return {"schema": "iris-gemm-few-rows-1", "device": runs[0]["device"], "commit": args.commit, "runs": runs}


def path_of(path):
    """What a path is called: its loop, and whether operands are copied first."""
    return path["loop"] + (" after copies" if path["copies"] else "")


def times(row):
    """{path: its least time} of what the shape was timed with, and the name of the library's choice."""
    least = {}
    for path in row["paths"]:
        if path["ok"]:
            least[path_of(path)] = min(path["us"], least.get(path_of(path), math.inf))
    chosen = path_of(row["paths"][0])
    least[chosen] = row["us"]  # as the library has it, not in the best tile
    return least, chosen


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def show(result):
    print(f"{result['device']}, {result['commit']}; us, the library's choice marked by *")
    wins, beside = {}, {}
    for run in result["runs"]:
        names = sorted({name for row in run["rows"] for name in times(row)[0]})
        print(f"\n{run['dtype']}, {kind(run['b_transposed'], run['ragged'])}")
        print(f"{'m x n x k':>18} " + " ".join(f"{name:>19}" for name in [*names, "cuBLASLt"]) + "  chosen/best")
        for row in run["rows"]:
            least, chosen = times(row)
            cells = [f"{least[n]:.2f}{'*' if n == chosen else ' '}" if n in least else "-" for n in names]
            cells.append(f"{row['peer_us']:.2f} " if row["ratio"] > 0 else "-")
            shape = f"{row['m']}x{row['n']}x{row['k']}"
            worse = least[chosen] / min(least.values())
            print(f"{shape:>18} " + " ".join(f"{c:>19}" for c in cells) + f"  {worse:11.2f}")
            others = [us for name, us in least.items() if name != chosen]
            key = (run["dtype"], chosen, "ragged" if run["ragged"] else "aligned")
            for total in (key, (run["dtype"], chosen, "all")):
                if others:
                    wins.setdefault(total, []).append(min(others) / least[chosen])
                if row["ratio"] > 0:
                    beside.setdefault(total, []).append(row["ratio"])
    print("\nwhere it is chosen: geometric mean of (best other path / it), and of cuBLASLt / it")
    for key in sorted(wins):
        values = wins[key]
        print(f"{key[0]:5} {key[1]:20} {key[2]:8} {len(values):4} shapes  {mean(values):6.3f} "
              f"({min(values):.2f} to {max(values):.2f})   cuBLASLt {mean(beside.get(key, [])):6.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--program", default="build-gpu/bench_gemm_local")
    parser.add_argument("--dtype", choices=("bf16", "f16"), default="bf16")
    parser.add_argument("--rows", type=lambda t: [int(x) for x in t.split(",")], default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=270)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", metavar="FILE", help="where to write")
    parser.add_argument("--show", metavar="FILE", help="only the tables of a file")
    args = parser.parse_args()
    if args.show:
        show(json.loads(Path(args.show).read_text(encoding="utf-8")))
        return 0
    if not args.json:
        parser.error("--json or --show")
    result = measured(args)
    Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    show(result)
    return 0 if all(run["complete"] for run in result["runs"]) else 1


sys.exit(main())
