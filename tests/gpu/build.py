# SPDX-License-Identifier: MIT
"""Builds tests, examples and benchmarks for this machine's GPUs.

    tests/gpu/run.sh build [REGEX]   everything, or what matches: "gemm/", "07_", "gemm_local"

Ninja compiles what has changed, on all cores, what takes longest first. So that only contents count, whatever a copy of
the checkout did to its times, sources are compiled from a mirror under the build folder, where a file is written again
when it differs. The kernels of a GEMM launcher take a compiler a minute for each type: they are compiled once for each
operation and type, and every program that asks for them gets them from an archive. Variables are those of run.sh.

A program that is not up to date is removed before it is built again: one that does not compile is then missing, and
accept.py, which reads what has been asked for in `programs` in the build folder, says so.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("IRIS_GPU_BUILD", "build-gpu")).resolve()
MIRROR = BUILD / "src"  # of the checkout; generated headers in `made`
PROGRAMS = BUILD / "programs"  # the names of those that any call was asked for, one a line
NINJA = ["ninja", "-f", "../build.ninja"]
ARCH = os.environ.get("IRIS_GPU_ARCH", "sm_90a")
AMD = ARCH.startswith("gfx")

# What drives the host platform's own processes and files, or has no kernels, and programs for mutated headers.
SKIP = re.compile("host/|gen/|mutants/|gemm/(mf?ma|tma_forward|tma_gather|unaligned_b|skinny|gemv)_")
# Objects by the beginnings of their names, in the order in which they are begun: what takes a compiler longest is
# first.
LONGEST = ("gemm_kernels_bf16", "gemm_kernels_f16", "test_collective_all_reduce",
           "test_collective_tile", "bench_collectives", "test_memory_rma", "gemm_kernels", "test_gemm",
           "test_collective_r", "example_4", "test_gpu", "test_collective", "test_", "bench_")
OPS = ("ALL_SCATTER", "REDUCE_SCATTER", "ALL_REDUCE_RMSNORM", "ALL_REDUCE", "ALL_GATHER")  # the longer name first
ASKS = re.compile(rf"#define IRIS_INSTANTIATE_GEMM_({'|'.join(OPS)}|LOCAL)_(\w+)")

OTHER_KERNELS = re.compile("#define IRIS_TRACE")  # a program's own: not those of the archive
# A program that asks for the operation without the macro has kernels of its own: the archive has those of all patterns.
FEWER_PATTERNS = re.compile(r"(?!.*#define IRIS_GEMM_ALL_PATTERNS)"
                            rf".*#define IRIS_INSTANTIATE_GEMM_({'|'.join(OPS)})_.*", re.S)


def launchers(op):
    return f"iris/gen/launch/gemm{'_' + op.lower() if op != 'LOCAL' else ''}.h"


def kernels_of(op, t):
    """The name of the object that holds them."""
    return f"gemm_kernels_{t.lower()}_{op.lower()}"


def run(command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def amd_compiler():
    rocm = os.environ.get("ROCM_PATH", "/opt/rocm")
    known = (os.environ.get("IRIS_HIPCC"), f"{rocm}/llvm/bin/clang++", f"{rocm}/lib/llvm/bin/clang++", "clang++-22",
             "hipcc")
    return next((c for c in known if c and shutil.which(c)), None), rocm


def tools():
    """The words that compile for the device, those that link, and libraries."""
    if not AMD:
        nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
        if not nvcc:
            sys.exit("build: there is no nvcc")
        # This device's machine code alone: -arch=sm_90a would compile everything for compute_90 once more.
        target = [nvcc, f"-gencode=arch={ARCH.replace('sm', 'compute')},code={ARCH}"]
        return [*target, "-std=c++17", "-O3", "-x", "cu"], target, []
    clang, rocm = amd_compiler()
    if not clang:
        sys.exit("build: there is neither ROCm's clang nor clang++-22")
    # Neither HIP's device headers nor its libraries, and the C++ library as it is, not as clang wraps it for them.
    own = run([clang, "-print-resource-dir"]).stdout.strip() + "/include"
    words = [clang, "-x", "hip", f"--offload-arch={ARCH}", "-nogpuinc", "-nogpulib", "-nobuiltininc", "-isystem", own,
             "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-O3"]
    if Path(rocm, "include/hip").is_dir():
        words += ["-isystem", f"{rocm}/include"]
    lib = [f"-L{rocm}/lib", f"-Wl,-rpath,{rocm}/lib"] if Path(rocm, "lib").is_dir() else []
    return words, [clang], [*lib, "-lamdhip64", "-pthread", "-lm"]


def compiles(text, *words):
    return run([*words, "-x", "c++", "-", "-o", "/dev/null"], input=text).returncode == 0


def mirror():
    """Copies what differs and removes what is gone."""
    subprocess.run([sys.executable, "-B", "-m", "gen", "--out", BUILD / "made/iris/gen"], check=True, cwd=ROOT)
    here = {p.relative_to(ROOT): p for top in ("include", "tests", "examples", "bench") for p in (ROOT / top).rglob("*")
            if p.suffix in (".h", ".c", ".cpp") and p.is_file()}
    for name, source in here.items():
        to = MIRROR / name
        if not to.is_file() or to.read_bytes() != source.read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(source.read_bytes())
    for p in MIRROR.rglob("*"):
        if p.is_file() and p.relative_to(MIRROR) not in here:
            p.unlink()


def sources(pattern):
    """Name of the program and its source, of those that match."""
    tests = [(f"test_{p.parent.name}_{p.stem}", p) for p in MIRROR.glob("tests/*/*.cpp")
             if not SKIP.match(f"{p.parent.name}/{p.name}")]
    examples = [(f"example_{p.parent.name}", p) for p in MIRROR.glob("examples/*/main.c")]
    benches = [(f"bench_{p.stem}", p) for p in MIRROR.glob("bench/*.c")]
    found = [(name, p.relative_to(MIRROR)) for name, p in tests + examples + benches]
    return [(name, p) for name, p in found if re.search(pattern, f"{p} {name}")]


def edge(out, rule, inputs, implicit=(), **values):
    text = f"build {out}: {rule} {' '.join(map(str, inputs))}" + (f" | {' '.join(implicit)}" if implicit else "")
    return text + "".join(f"\n  {k} = {v}" for k, v in values.items() if v) + "\n"


def ninja_file(chosen):
    """The text of build.ninja, run in the mirror, objects in the order of LONGEST; and the names of its programs."""
    words, link, libraries = tools()
    words += shlex.split(os.environ.get("IRIS_GPU_FLAGS", "")) + ["-Iinclude", "-I../made", "-Itests"]
    catch2 = ["-lCatch2"] if compiles("#include <catch2/catch_session.hpp>", "c++", "-E") else []  # older: a header
    blas = ["-lopenblas"] if compiles("int main() {}", "c++", "-Wl,--no-as-needed", "-lopenblas") else []
    objects, links, asked, names = {}, [], {}, []

    def compile_to(name, source, flags=()):
        objects[name] = edge(f"../obj/{name}.o", "device", [source], flags=shlex.join(flags))
        return f"../obj/{name}.o"

    init = compile_to("init", "include/iris/init.c")
    if any(name.startswith("test_") for name, _ in chosen):
        harness = [compile_to(n, f"tests/{n}.cpp") for n in ("harness", "session")]
        # an archive: tests with a main of their own do without
        links.append(edge("../libharness.a", "archive", harness))
    for name, source in chosen:
        text = (MIRROR / source).read_text(encoding="utf-8")
        flags, own, needs, more = [], [], [init], []
        if ASKS.search(text) and not OTHER_KERNELS.search(text) and not FEWER_PATTERNS.fullmatch(text):
            for op, t in ASKS.findall(text):
                if AMD or "FNUZ" not in t or op == "LOCAL":
                    asked.setdefault(t, set()).add(op)
                    # by itself: nothing refers to kernels that another type's plan finishes in
                    own += [f"../obj/{kernels_of(op, t)}.o"] if op != "LOCAL" else []
            needs = [*own, "../libkernels.a", init]
            for op in OPS:  # before it asks for kernels
                flags += ["-include", launchers(op)]
        if name.startswith("test_"):
            needs, more = ["../libharness.a", *needs], catch2
        if (MIRROR / source).with_name("reference.c").is_file():  # what it checks against, by BLAS
            if not blas:
                print(f"{name} is left out: there is no OpenBLAS")
                continue
            objects["reference"] = edge("../obj/reference.o", "host", [source.with_name("reference.c")])
            needs, more = ["../obj/reference.o", *needs], [*more, *blas]
        names.append(name)
        links.append(edge(f"../{name}", "link", [compile_to(name, source, flags), *needs], libraries=" ".join(more)))
    kernels = []
    for t, ops in asked.items():
        for op in sorted(ops - {"LOCAL"}) or ["LOCAL"]:  # kernels of an operation bring those of a GEMM alone
            flags = ["-DIRIS_GEMM_ALL_PATTERNS", f"-DIRIS_INSTANTIATE_GEMM_{op}_{t}"]
            kernels.append(compile_to(kernels_of(op, t), f"../made/{launchers(op)}", flags))
    if kernels:
        links.append(edge("../libkernels.a", "archive", kernels))
    order = sorted(objects, key=lambda name: next((i for i, n in enumerate(LONGEST) if name.startswith(n)),
                                                  len(LONGEST)))
    rules = f"""ninja_required_version = 1.5
builddir = ..
rule device
  command = {shlex.join(words)} $flags -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = $out
rule host
  command = cc -O2 -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule archive
  command = rm -f $out && ar rcs $out $in
rule link
  command = {shlex.join(link)} $in $libraries {shlex.join(libraries)} -o $out
  description = link $out
"""
    return rules + "".join(objects[name] for name in order) + "".join(links), names


def forget_old(chosen, built):
    """Notes what is asked for, and removes programs without a source, those left out, and those out of date."""
    known, cannot = {name for name, _ in sources(".")}, {name for name, _ in chosen} - set(built)
    listed = PROGRAMS.read_text(encoding="utf-8").split() if PROGRAMS.is_file() else []
    names = (set(listed) & known | set(built)) - cannot
    PROGRAMS.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
    would_link = re.findall(r"^\[\d+/\d+\] link \.\./(\S+)$", run([*NINJA, "-n"], cwd=MIRROR).stdout, flags=re.M)
    for old in [p for kind in ("test", "example", "bench") for p in BUILD.glob(f"{kind}_*")]:
        if old.name in cannot | set(would_link) or old.name not in known:
            old.unlink()  # run.sh and accept.py run all that are there


def main():
    pattern, start = sys.argv[1] if len(sys.argv) > 1 else ".", time.monotonic()
    mirror()
    chosen = sources(pattern)
    if not chosen:
        sys.exit(f"build: nothing matches '{pattern}'")
    (BUILD / "obj").mkdir(exist_ok=True)
    text, built = ninja_file(chosen)
    (BUILD / "build.ninja").write_text(text, encoding="utf-8")
    forget_old(chosen, built)
    jobs = os.environ.get("IRIS_GPU_JOBS")
    done = run([*NINJA, "-k", "0", *(["-j", jobs] if jobs else [])], cwd=MIRROR)
    (BUILD / "build.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    for job in re.split(r"^\[\d+/\d+\] ", done.stdout, flags=re.M):
        if "FAILED: " in job:
            lines = job[job.index("FAILED: "):].splitlines()
            print(lines[0], *[x for x in lines if "error" in x and " -c " not in x][:3], sep="\n    ")
    if done.returncode != 0:
        print(*[x for x in done.stderr.splitlines()][-3:], f"see {BUILD / 'build.log'}", sep="\n")
    print(f"{len(chosen)} programs {'built' if done.returncode == 0 else 'tried'} in {time.monotonic() - start:.0f} s")
    return done.returncode


sys.exit(main())
