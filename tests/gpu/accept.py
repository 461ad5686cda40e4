# SPDX-License-Identifier: MIT
"""Runs what tests/gpu/run.sh built on every topology that this machine's GPUs make, several topologies at once.

    tests/gpu/run.sh accept [--commit HASH] [--only REGEX] [--skip REGEX] [--budget N] [--at-once N] [--gpus N]
                            [--again] [--smokes N] [--list]

One GPU with four ranks as threads, two, four and eight GPUs with a process each: the smoke tier three times and the
full tier once, all in one job of each test, since starting takes seconds; compute-sanitizer on a GPU of its own
meanwhile. Most of a test is its start, so a few run at once on the same GPUs; those that are about time run alone, and
first. A run has a time limit; what fails is noted and the rest goes on. --only and --skip choose runs whose "topology
test tier" matches, or does not; --budget ends everything after so many seconds, shared out among the phases. What
passed is noted in the build folder with the contents of its program and is not run again, so that a call goes on where
the one before had to stop; --again runs it all. In $OUT (default build-gpu/logs): results.json with every verdict, and
one log. What failed is printed as it fails and once more at the end; the last line is "N passed, N failed, N not run".
A program that build.py was asked for and could not build fails as "not built".
"""
import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("IRIS_GPU_BUILD", "build-gpu")
AMD = os.environ.get("IRIS_GPU_ARCH", "").startswith("gfx")
PROGRAMS = BUILD / "programs"  # what build.py was asked for
SHOWN = "HIP_VISIBLE_DEVICES" if AMD else "CUDA_VISIBLE_DEVICES"
ALL = "smoke,full,smoke,smoke"  # --smokes says how many
SLOW = int(os.environ.get("IRIS_GPU_TEST_SECONDS", "0"))  # at least so many seconds a run, where kernels run slowly
LIMITS = {ALL: max(200, SLOW), "smoke": max(60, SLOW), "full": max(60, SLOW), "example": max(60, SLOW)}  # of a run
SANITIZER_LIMIT = 170
KILLER_LIMIT = max(150, SLOW)  # four jobs one after the other: 8 s alone, more than 60 beside what other devices run
AT_ONCE = 10  # sanitizer runs: of one rank each or of one process, so that they may share a GPU
KILLER = "gpu_killed"  # kills processes
ALONE = (KILLER, "signal_deadline")  # how long something takes is what they are about
# the others have run on more machines: last, should time run out
FIRST = re.compile("collective|aligned|example|graph")
BLAS_ARGUMENTS = {"example_07_gemm_all_scatter": ["--shape", "96x80x64", "-n"]}  # before the number of ranks

# tool: [(test, ranks, which of its cases)]. Ranks are threads of one process. A tool that lets one kernel run at a time
# cannot run two that wait for each other, so everything is tried with one rank first. racecheck looks at shared memory
# only: collectives have none. It takes its time, so a long test is several runs.
SANITIZERS = {
    "racecheck": [("gemm_own_kernel", 1), ("gemm_all_scatter", 1, "[f32]"), ("gemm_all_scatter", 1, "[f64]"),
                  ("gemm_all_scatter", 1, "[f16]"), ("gemm_all_scatter", 1, "[bf16]"),
                  ("gemm_all_scatter", 1, "~[f32]~[f64]~[f16]~[bf16]"), ("gemm_aligned", 1, "[f16]"),
                  ("gemm_aligned", 1, "[bf16]~[parts]"), ("gemm_aligned", 1, "[parts]"),
                  ("gemm_aligned", 1, "[unaligned_b]"),
                  ("gemm_aligned", 1, "[skinny]"), ("gemm_chain", 1), ("gemm_rmsnorm", 1),
                  ("gemm_operations", 1, "[gated]"),
                  ("arch_device", 1), ("self_test_self_test", 1)],
    "initcheck": [("arch_device", 1), ("arch_atomic", 1), ("dtype_convert", 1), ("dtype_op", 1), ("create_random", 1)],
    "memcheck": [("memory_load_store", 1), ("memory_rma", 1), ("memory_put_signal", 1), ("gemm_all_scatter", 1),
                 ("gemm_aligned", 1), ("gemm_own_kernel", 1), ("collective_all_reduce", 1),
                 ("collective_all_to_allv", 1), ("collective_send_recv", 1), ("collective_tile", 1),
                 ("gemm_operations", 1), ("gemm_rmsnorm", 1), ("gemm_rows", 1), ("gemm_chain", 1), ("heap_window", 1),
                 ("memory_rma", 2), ("memory_put_signal", 2), ("gemm_own_kernel", 2), ("collective_send_recv", 2)],
    "synccheck": [("memory_load_store", 1), ("memory_rma", 1), ("memory_put_signal", 1), ("gemm_all_scatter", 1),
                  ("gemm_aligned", 1), ("gemm_own_kernel", 1), ("collective_all_reduce", 1), ("collective_tile", 1),
                  ("gemm_operations", 1, "[shared]"), ("gemm_rmsnorm", 1), ("gemm_chain", 1)],
}
# What API calls return is the tests' business: some are made to fail. The others would count on the compiler to tell
# how many barriers in shared memory a kernel has.
OPTIONS = {"memcheck": ["--report-api-errors", "no"], "racecheck": ["--num-cuda-barriers", "96"],
           "synccheck": ["--num-cuda-barriers", "96"], "initcheck": []}
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")


@dataclass
class Run:
    """One program: what it is called in the results, and how to start it."""

    topology: str
    test: str
    tier: str
    command: list
    env: dict
    limit: int
    verdict: str = "not run"
    seconds: float = 0.0
    errors: int | None = None  # of a sanitizer

    def name(self):
        return f"{self.topology} {self.test} {self.tier}"

    def program(self):
        return next(word for word in self.command if isinstance(word, Path))


def programs(kind):
    """Those that are there, and those that should be."""
    there = {p for p in BUILD.glob(f"{kind}_*") if os.access(p, os.X_OK) and p.is_file()}
    listed = PROGRAMS.read_text(encoding="utf-8").split() if PROGRAMS.is_file() else []
    return sorted(there | {BUILD / name for name in listed if name.startswith(f"{kind}_")})


def topology(name, devices, mode, ranks, tiers):
    """Every test and example: the most telling runs first, in case time runs out."""
    env = {SHOWN: ",".join(map(str, devices)), "IRIS_SPAWN": mode}
    runs = [Run(name, p.name[len("test_"):], tier, [p, "--ranks", str(ranks), "--tier", tier], env,
                KILLER_LIMIT if p.name == f"test_{KILLER}" else LIMITS.get(tier, LIMITS[ALL]))
            for p in programs("test") for tier in (("smoke", "full") if p.name == f"test_{KILLER}" else (tiers,))
            if mode == "process" or p.name != f"test_{KILLER}"]
    runs += [Run(name, p.name, "example", [p, *BLAS_ARGUMENTS.get(p.name, []), str(ranks)], env, LIMITS["example"])
             for p in programs("example")]
    return sorted(runs, key=lambda run: not FIRST.search(run.test))


def sanitizers(device):
    """Those of CUDA, which AMD's runtime has no match for."""
    if AMD:
        return []
    env = {"CUDA_VISIBLE_DEVICES": str(device), "IRIS_SPAWN": "thread", "IRIS_TIMEOUT_MS": "1000000",
           "IRIS_TEST_SLOW": "1"}
    # initcheck keeps a shadow of all memory: a small heap of the plain kind. With one rank no kernel waits for
    # another's launch, so kernels may be loaded, and patched by the tool, as they are needed: a test has hundreds.
    small, lazy = {"IRIS_HEAP": "ipc", "IRIS_HEAP_MB": "64"}, {"CUDA_MODULE_LOADING": "LAZY"}
    tool = ["compute-sanitizer", "--target-processes", "all", "--error-exitcode", "9", "--tool"]
    return [Run("sanitizers", f"{test}, {ranks} rank{'s' * (ranks > 1)}{', ' * bool(cases)}{', '.join(cases)}", name,
                [*tool, name, *OPTIONS[name], BUILD / f"test_{test}", "--ranks", str(ranks), "--tier", "smoke", *cases],
                {**env, **(small if name == "initcheck" else {}), **(lazy if ranks == 1 else {})}, SANITIZER_LIMIT)
            for name, rows in SANITIZERS.items() for test, ranks, *cases in rows]


def phases(gpus, at_once, tiers=ALL):
    """Lists of (topology's runs, how many at once) that go on at the same time, one list after the other."""
    one, tools = topology("1gpu", [0], "thread", 4, tiers), sanitizers(1 % gpus)
    if gpus == 1:
        return [[(one, at_once)], [(tools, AT_ONCE)]]
    if gpus < 4:
        return [[(one, at_once), (tools, AT_ONCE)], [(topology("2gpu", [0, 1], "process", 2, tiers), at_once)]]
    all_phases = [[(one, at_once), (tools, AT_ONCE), (topology("2gpu", [2, 3], "process", 2, tiers), at_once)],
                  [(topology("4gpu", [0, 1, 2, 3], "process", 4, tiers), at_once)]]
    return all_phases + ([[(topology("8gpu", list(range(8)), "process", 8, tiers), at_once)]] if gpus >= 8 else [])


def judge(run, rc, text):
    """The verdict, and for a sanitizer how many errors it counted."""
    counts = [int(a or b) for a, b in SUMMARY.findall(text)]
    if run.topology == "sanitizers":
        run.errors = sum(counts) if counts else None
        if rc == 0 and not counts:
            return "no summary"
    if "," in run.tier and text.count(": ok\n") != run.tier.count(",") + 1:
        return f"failed (rc {rc}), tiers: " + " ".join(re.findall(r"^tier \w+: \w+$", text, re.M))
    return "ok" if rc == 0 and not run.errors else f"failed (rc {rc})"


class Passed:
    """The runs that passed, kept between calls: each with a digest of its program and of how it is started."""

    def __init__(self, path):
        self.path, self.digests = path, {}
        self.rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def key(self, run):
        program = run.program()
        if program not in self.digests:
            self.digests[program] = hashlib.sha256(program.read_bytes()).hexdigest() if program.is_file() else ""
        how = [str(word) for word in run.command] + sorted(f"{k}={v}" for k, v in run.env.items())
        return hashlib.sha256("\n".join([self.digests[program], *how]).encode()).hexdigest()

    def recall(self, run):
        """Gives the run its verdict, if it has passed before."""
        row = self.rows.get(run.name())
        if row and row["key"] == self.key(run):
            run.verdict, run.seconds, run.errors = "ok", row["seconds"], row["errors"]

    def note(self, run):
        self.rows.pop(run.name(), None)
        if run.verdict == "ok":
            self.rows[run.name()] = {"key": self.key(run), "seconds": run.seconds, "errors": run.errors}
        new = self.path.with_suffix(".new")  # a call that is killed leaves the old ones or the new ones
        new.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")
        new.replace(self.path)


def start_and_wait(run, limit):
    """Exit status, None when the time limit came first, and what the program printed."""
    with tempfile.TemporaryFile() as out:
        try:
            child = subprocess.Popen(list(map(str, run.command)), env={**os.environ, **run.env},
                                     stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as why:
            return 127, str(why)
        try:
            rc = child.wait(limit)
        except subprocess.TimeoutExpired:
            rc = None
            os.killpg(child.pid, signal.SIGKILL)  # its ranks too
            child.wait()
        out.seek(0)
        return rc, out.read().decode(errors="replace")


def execute(run, end, logs, lock, passed):
    limit = min(run.limit, end - time.monotonic())
    if not run.program().is_file():
        run.verdict = "not built"
    if limit < 5 or run.verdict in ("ok", "not built"):
        return
    start = time.monotonic()
    rc, text = start_and_wait(run, limit)
    run.seconds = round(time.monotonic() - start, 1)
    run.verdict = f"did not finish in {limit:.0f} s" if rc is None else judge(run, rc, text)
    if rc is None and limit < run.limit:
        run.verdict = "not run: no time left"
    with lock:
        passed.note(run)
        with open(logs / "accept.log", "a", encoding="utf-8") as log:
            log.write(f"==== {run.name()}: {run.verdict}, {run.seconds} s\n{text[-8000:]}\n")
        if not run.verdict.startswith(("ok", "not run")):
            print(f"FAILED {run.name()} ({run.seconds} s)", flush=True)
            lines = [line for line in text.splitlines() if line.strip() and not re.fullmatch(r"[-~=.]+", line.strip())]
            print("\n".join("       " + line for line in [run.verdict, *(line[:200] for line in lines[-8:])]),
                  flush=True)


def run_topology(runs, at_once, *how):
    """What has to be alone, one after the other; then the rest in order, so many at once."""
    for run in runs:
        if run.test in ALONE:
            execute(run, *how)
    with ThreadPoolExecutor(at_once) as pool:
        for job in [pool.submit(execute, run, *how) for run in runs if run.test not in ALONE]:
            job.result()


def run_phase(phase, *how):
    """Topologies at the same time."""
    with ThreadPoolExecutor(len(phase)) as pool:
        for job in [pool.submit(run_topology, runs, at_once, *how) for runs, at_once in phase]:
            job.result()


# Holds a context on every GPU, so that no job has to wake a device up: where nobody keeps the driver alive that takes
# seconds of each start.
KEEPER = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
count, context = ctypes.c_int(), ctypes.c_void_p()
cuda.cuDeviceGetCount(ctypes.byref(count))
for device in range(count.value):
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
time.sleep(3600)
"""


# The names of AMD's GPUs, and the version of the runtime, as it gives them itself.
HIP = """
import ctypes, os
try:
    hip = ctypes.CDLL("libamdhip64.so")
except OSError:
    hip = ctypes.CDLL(os.environ.get("ROCM_PATH", "/opt/rocm") + "/lib/libamdhip64.so")
count, version, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
hip.hipGetDeviceCount(ctypes.byref(count))
hip.hipRuntimeGetVersion(ctypes.byref(version))
for device in range(count.value):
    hip.hipDeviceGetName(name, len(name), device)
    print(dict(name=name.value.decode(), driver_version=f"HIP {version.value}")[QUERY])
"""


def ask(query):
    """One line for each GPU; none where there is no driver to ask."""
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
    if AMD:
        command = [sys.executable, "-c", f"QUERY = {query!r}\n{HIP}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def table(runs):
    """Passed of all for each topology and tier."""
    rows = {}
    for run in runs:
        row = rows.setdefault((run.topology, run.tier), [0, 0, 0.0])
        row[0] += run.verdict == "ok"
        row[1] += 1
        row[2] += run.seconds
    return "\n".join(f"{a:10} {b:10} {good:3} of {n:3} passed {s:7.0f} s" for (a, b), (good, n, s) in rows.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--commit", default="unknown", help="what the results name")
    parser.add_argument("--only", default="", help='runs whose "topology test tier" matches')
    parser.add_argument("--skip", default="", help='none whose "topology test tier" matches this: "^sanitizers"')
    parser.add_argument("--at-once", type=int, default=3, help="tests of one topology that run at the same time")
    parser.add_argument("--budget", "--seconds", type=float, default=520, dest="seconds", help="seconds for everything")
    parser.add_argument("--again", action="store_true", help="run what has passed before, too")
    parser.add_argument("--smokes", type=int, default=3, help="how often the smoke tier runs beside the full one")
    parser.add_argument("--gpus", type=int, default=0, help="as if the machine had so many")
    parser.add_argument("--list", action="store_true", help="only say what would run")
    args = parser.parse_args()
    start, names, lock = time.monotonic(), ask("name"), threading.Lock()
    gpus, tiers = args.gpus or len(names), "smoke,full" + ",smoke" * (args.smokes - 1)
    if not gpus:
        sys.exit(f"accept: {'HIP' if AMD else 'nvidia-smi'} shows no GPU")
    plan = [[([r for r in runs if re.search(args.only, r.name())
               and not (args.skip and re.search(args.skip, r.name()))],
              n) for runs, n in phase] for phase in phases(gpus, args.at_once, tiers)]
    chosen = [run for phase in plan for runs, _ in phase for run in runs]
    if args.list or not chosen:
        print("\n".join(run.name() for run in chosen) or "accept: nothing matches; is it built?")
        return 0 if args.list else 1
    logs = Path(os.environ.get("OUT") or BUILD / "logs")
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "accept.log").unlink(missing_ok=True)
    passed = Passed(BUILD / "passed.json")
    for run in [] if args.again else chosen:
        passed.recall(run)
    known = sum(run.verdict == "ok" for run in chosen)
    left = [phase for phase in plan if any(run.verdict != "ok" for runs, _ in phase for run in runs)]
    with subprocess.Popen([sys.executable, "-c", "" if AMD else KEEPER]) as keeper:
        for i, phase in enumerate(left):
            now = time.monotonic()
            run_phase(phase, now + (start + args.seconds - now) / (len(left) - i), logs, lock, passed)
        keeper.kill()
    results = {"commit": args.commit, "device": f"{gpus} x {names[0] if names else 'unknown'}",
               "driver": (ask("driver_version") or ["unknown"])[0] if names else "unknown",
               "runs": [{k: v for k, v in asdict(r).items() if k not in ("command", "env", "limit")} for r in chosen]}
    (logs / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return tell(chosen, known)


def tell(chosen, known):
    """The verdicts in few lines; 1 when not everything has passed."""
    print(table(chosen))
    missing = [run for run in chosen if run.verdict.startswith("not run")]
    failed = [run for run in chosen if run.verdict != "ok" and run not in missing]
    for run in failed:
        print(f"FAILED {run.name()}: {run.verdict}" + (f", {run.errors} errors" if run.errors else ""))
    if known:
        print(f"{known} of them passed in a call before")
    if missing:
        names = ", ".join(run.name() for run in missing[:6])
        print(f"not run, call again: {names}" + (f" and {len(missing) - 6} more" if len(missing) > 6 else ""))
    print(f"{len(chosen) - len(failed) - len(missing)} passed, {len(failed)} failed, {len(missing)} not run")
    return 1 if failed or missing else 0


sys.exit(main())
