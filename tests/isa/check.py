#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at the instructions that the public vocabulary becomes: `tests/isa/check.py [--include DIR] [--write]`.

Compiles kernels.c, orders.c, matrix.c and collectives.c for each AMD architecture (clang-22, or $IRIS_HIPCC) and, where
nvcc is, for NVIDIA; checks the promises of gates.py, orders.py, collectives.py, signals.py and traces.py, of the
library's GEMM kernels for sm_90a those of engine.py, and that each gate notices its own breakage; one line a gate, then
the counts.
"""
import argparse
import concurrent.futures
import copy
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import atomics
import collectives
import engine
import gates
import listing
import mutants
import orders
import page
import signals
import traces

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from part import mine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
AMD = ("gfx90a", "gfx942", "gfx950")
COMMON = "gfx942"  # whose library kernels are held against docs/instructions.md, by --write those of the others too
NVIDIA = ("sm_90a", "sm_80")
SOURCES = {"kernels.c": ("-O0", "-O3"), "orders.c": ("-O0", "-O3"), "matrix.c": ("-O0", "-O3"),
           "collectives.c": ("-O3",)}
NVIDIA_SOURCES = ("kernels.c", "orders.c", "tiles.c")


class Report:
    """Counts gates and keeps a line for each."""
    def __init__(self):
        self.passed, self.failed, self.lines = 0, 0, []

    def line(self, where, text, problems):
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        self.lines += [f"{'FAIL' if problems else 'ok  '} {where:7} {text}", *(f"     {p}" for p in problems)]

    def show(self, total):
        """Prints the lines and adds the counts to another's."""
        print("\n".join(self.lines), flush=True)
        total.passed, total.failed = total.passed + self.passed, total.failed + self.failed


def find(name, *others):
    return next((shutil.which(n) for n in (name, *others) if n and shutil.which(n)), None)


def call(command):
    """(exit status, both outputs) of a command."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def compile_amd(source, arch, level, include, out, before=(), more=()):
    clang = os.environ.get("IRIS_HIPCC") or find("clang++-22", "clang++")
    return call([clang, "-x", "hip", "-nogpuinc", "-nogpulib", f"--offload-arch={arch}", "--cuda-device-only",
                 "--no-gpu-bundle-output", level, "-std=c++17", *WARN, "-Rpass-analysis=kernel-resource-usage",
                 "-fno-caret-diagnostics", *(f"-I{d}" for d in before), f"-I{ROOT}/include",
                 f"-I{include}", *more, "-c", source, "-o", out])


def compile_ptx(source, arch, include, out):
    return call([find("nvcc", "/usr/local/cuda/bin/nvcc"), "-x", "cu", f"-arch={arch}", "-std=c++17",
                 "-Xcompiler", ",".join(WARN), "-Werror", "all-warnings", f"-I{ROOT}/include", f"-I{include}",
                 "-ptx", source, "-o", out])


def compile_nvidia(source, arch, include, out):
    """To PTX, then to machine code for ptxas's report."""
    status, text = compile_ptx(source, arch, include, out)
    if status:
        return status, text
    return call([find("ptxas", "/usr/local/cuda/bin/ptxas"), "-v", f"-arch={arch}", out, "-o", f"{out}.cubin"])


def example(arch, include, folder, report):
    """README's program: the library around it is always-inline functions, so its image holds its own kernel only."""
    source, out = ROOT / "examples/00_pass_right/main.c", pathlib.Path(folder) / f"example.{arch}"
    if arch in AMD:
        status, text = compile_amd(source, arch, "-O3", include, out)
        names = re.findall(r"Function Name: (\S+)", text)
    else:
        status, text = compile_nvidia(source, arch, include, out)
        names = re.findall(r"Compiling entry function '(\S+)'", text)
    problems = [text] if status else [f"{len(names)} kernels: {' '.join(names)}"] if len(names) != 1 else []
    report.line(arch, "00_pass_right compiles to an image of one kernel", problems)


REMARK = re.compile(r"remark:\s+(?:Function )?([A-Za-z ]+?)(?: \[.*?\])?: (\S+) \[-Rpass")


def resources(text):
    """{kernel: {what: value}} from the compiler's remarks."""
    table, row = {}, {}
    for key, value in REMARK.findall(text):
        if key == "Name":
            name = re.sub(r"^_Z\d+(isa_\w+?)8isa_args$", r"\1", value)
            row = table.setdefault(name, {})
        else:
            row[key] = value
    return table


def disassemble(image):
    """{kernel: Listing} of an AMD image."""
    tool = find("llvm-objdump-22", "llvm-objdump")
    return listing.amd(call([tool, "-d", "--no-show-raw-insn", "--demangle", image])[1])


def unknown(listed, rows):
    """What is wrong when kernels of a listing are none, or have no row of what the compiler says of their registers."""
    return [f"{name}: nothing is known of its registers" for name in listed if name not in rows] if listed else ["none"]


def amd(arch, include, folder, report, table):
    kernels = {}
    for source, levels in SOURCES.items():
        for level in levels:
            out = pathlib.Path(folder) / f"{source}.{arch}{level}.co"
            status, text = compile_amd(HERE / source, arch, level, include, out)
            report.line(arch, f"{source} compiles at {level}", [text] if status else [])
        if out.exists():
            listed, rows = disassemble(out), resources(text)
            kernels.update(listed)
            report.line(arch, f"{source}: of every kernel it is known what it uses", unknown(listed, rows))
            for name, row in rows.items():
                own = name.startswith("irisi_")  # a collective may keep scalars in lanes of a vector register
                used = [f"{key} is {row[key]}" for key in ("ScratchSize", "VGPRs Spill", *["SGPRs Spill"] * (not own))
                        if row[key] != "0"]
                report.line(arch, f"{name}: no scratch, no {'vector ' * own}spills", used)
                table.append((arch, name, row["VGPRs"], row["TotalSGPRs"], row["LDS Size"], row["Occupancy"]))
    return kernels


PTXAS = re.compile(r"entry function '_Z\d+(isa_\w+?)8isa_args'.*?\n.*?\n\s*(\d+) bytes stack frame, (\d+) bytes spill "
                   r"stores.*?\n.*?Used (\d+) registers(.*)")


def nvidia(arch, include, folder, report, table):
    kernels = {}
    for source in NVIDIA_SOURCES:
        out = pathlib.Path(folder) / f"{source}.{arch}.ptx"
        status, text = compile_nvidia(HERE / source, arch, include, out)
        report.line(arch, f"{source} compiles", [text] if status else [])
        if status:
            continue
        listed, rows = listing.ptx(out.read_text(encoding="utf-8")), PTXAS.findall(text)
        kernels.update(listed)
        report.line(arch, f"{source}: of every kernel it is known what it uses", unknown(listed, [r[0] for r in rows]))
        for name, stack, spills, used, rest in rows:
            used_stack = [] if stack == spills == "0" else [f"stack {stack} bytes"]
            report.line(arch, f"{name}: no stack, no spills", used_stack)
            shared = re.search(r"(\d+) bytes smem", rest)
            warps = min(64, 65536 // (32 * -(-int(used) // 8) * 8)) // 4
            table.append((arch, name, used, "-", shared[1] if shared else "0", str(warps)))
    return kernels


def broken(kernel, pattern, replacement):
    """The kernel with every instruction that matches replaced, or None when there is none."""
    kernel = copy.deepcopy(kernel)
    return kernel if kernel.edit(pattern, replacement) else None


def check(arch, kernels, report):
    family = arch if arch in gates.SETS else "ptx"
    isa, wanted = gates.SETS[family]
    look_through(wanted + orders.GATES.get(family, orders.GATES["ptx"]) + collectives.GATES.get(family, ()) +
                 signals.GATES.get(family, ()), isa, arch, kernels, report)


def look_through(wanted, isa, arch, kernels, report):
    """Every gate on its kernels, and its breakages on the first of them."""
    for gate in wanted:
        problems = [f"{name}: the kernel is missing" for name in gate.kernels if name not in kernels]
        for name in gate.kernels:
            if name in kernels:
                problems += [f"{name}: {p}" for p in gate.check(kernels[name], isa)]
        report.line(arch, gate.text, problems)
        for pattern, replacement in gate.breaks:
            if gate.kernels[0] in kernels:
                kernel = broken(kernels[gate.kernels[0]], pattern, replacement)
                caught = kernel and list(gate.check(kernel, isa))
                report.line(arch, f"  notices {pattern} -> {replacement}",
                            [] if caught else ["the edit went unnoticed" if kernel else "nothing to edit"])


def tiles(arch, include, folder, report):
    """The library's GEMM kernels, as PTX only: ptxas would take a minute for nothing that is asked here."""
    source, out = pathlib.Path(folder) / "engine.c", pathlib.Path(folder) / "engine.ptx"
    source.write_text(engine.SOURCE, encoding="utf-8")
    status, text = compile_ptx(source, arch, include, out)
    report.line(arch, "the library's GEMM kernels compile", [text] if status else [])
    if not status:
        look_through(engine.GATES, gates.PTX, arch, listing.ptx(out.read_text(encoding="utf-8")), report)


def look_at_traces(include, folder, report):
    """Hooks of traces are no instructions, unless they are compiled in."""
    plain = pathlib.Path(folder) / "no_hooks"
    hooks = traces.write((ROOT / "include", include), plain)
    report.line(traces.ARCH, "headers have hooks for traces", [] if hooks > 1000 else [f"{hooks} are found"])

    def kernels(source, *how, hooked=True):
        out = pathlib.Path(folder) / f"traces.{pathlib.Path(source).name}.co"
        status, text = compile_amd(HERE / source, traces.ARCH, "-O3", include, out, [] if hooked else [plain],
                                   ["-Wno-error", *how])
        if status:
            report.line(traces.ARCH, f"{source} compiles with {how}", [text])
        return {} if status else disassemble(out)

    without = {source: kernels(source, hooked=False) for source in traces.SOURCES}
    for source, wanted in without.items():
        problems = traces.differing(kernels(source), wanted) if wanted else ["nothing to compare"]
        report.line(traces.ARCH, f"{pathlib.Path(source).name}: hooks of traces that are off are none", problems)
    on, bare = (kernels(traces.FEW, *traces.ON, hooked=hooked) for hooked in (True, False))
    noticed = traces.differing(on, without[traces.FEW])
    report.line(traces.ARCH, "  notices hooks that are on", [] if noticed else ["the macro changes nothing"])
    report.line(traces.ARCH, "  headers without hooks have none", traces.differing(bare, without[traces.FEW]))


def disassembled(folder):
    """The translation on sm_90a as nvdisasm shows it, or None: CUDA's compiler can be there without it."""
    tool = os.environ.get("IRIS_NVDISASM") or find("nvdisasm", "/usr/local/cuda/bin/nvdisasm")
    cubin = pathlib.Path(folder) / "kernels.c.sm_90a.ptx.cubin"
    return page.sass(call([tool, cubin])[1], "isa_translate") if tool and cubin.exists() else None


def library(arch, include, folder):
    """What the library's own kernels use: rows of the page's table. Kernels for one architecture alone: gemm.py."""
    names, launched = page.launched(f"{include}/iris/gen/launch", "bf16")
    source = pathlib.Path(folder) / f"library.{arch}.c"
    lines = [f"#define {name}" for name in ("IRIS_GEMM_ALL_PATTERNS", "IRIS_INSTANTIATE_TENSOR", *names)]
    shapes = (ROOT / "include/iris/mainloop/amd/gemm_shape.h").read_text(encoding="utf-8")
    others = re.findall(r"^#define (IRISI_GEMM_HAS_\w*MFMA\w*) 1$", shapes, re.M)  # minutes of a compiler
    lines += ["#include <iris/iris.h>", "#include <iris/init.h>", "#include <iris/mainloop/shape.h>"]
    lines += [f"#undef {name}" for name in others]
    lines += [f"#include <iris/gen/launch/{h.name}>" for h in sorted(pathlib.Path(include).glob("iris/gen/launch/*.h"))]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, text = compile_amd(source, arch, "-O3", include, source.with_suffix(".co"))
    if status:
        raise SystemExit(text)
    return [(arch, name, row["VGPRs"], row["TotalSGPRs"], row["LDS Size"], row["Occupancy"])
            for name, row in resources(text).items() if name in launched]


def look_at(arch, include, folder):
    """(report, rows of the page's table, {kernel: Listing}) of one architecture; None where it has no compiler."""
    report, table = Report(), []
    if not (find("clang++-22", "clang++") if arch in AMD else find("nvcc", "/usr/local/cuda/bin/nvcc")):
        return None
    kernels = (amd if arch in AMD else nvidia)(arch, include, folder, report, table)
    check(arch, kernels, report)
    if arch == "sm_90a":
        tiles(arch, include, folder, report)
    if arch == traces.ARCH and mine(["traces"], 2):
        look_at_traces(include, folder, report)
    example(arch, include, folder, report)
    return report, table, kernels


def look_at_mutants(arch, include, folder, every):
    """(report, no rows, no kernels) of collectives.c with each mutant's header before the others."""
    def problems(numbered):
        number, mutant = numbered
        before = pathlib.Path(folder) / f"mutant{number}.{arch}"
        out = before.with_name(f"{before.name}.co")
        mutants.write(mutant, ROOT / "include", before)
        status, text = compile_amd(HERE / "collectives.c", arch, "-O3", include, out, [before])
        return [text] if status else list(mutants.unnoticed(mutant, disassemble(out), gates.SETS[arch][0], arch))

    report, wrong = Report(), [m for m in mutants.MUTANTS if arch in m.archs and (every or not m.seldom)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, found in zip(wrong, pool.map(problems, enumerate(wrong))):
            report.line(arch, f"mutant: {mutant.name}", found)
    return report, [], {}


def look_at_page(include, folder, kernels, tables, report, write):
    """docs/instructions.md against this run, which has looked at every AMD architecture."""
    _, launched = page.launched(f"{include}/iris/gen/launch", "bf16")
    version = call([os.environ.get("IRIS_HIPCC") or find("clang++-22", "clang++"), "--version"])[1].split("\n")[0]
    vocabulary, own = tables
    parts = {"compiler": page.compiler(version),
             "translation-gfx942": page.listing_of(kernels["gfx942"]["isa_translate"]),
             "vocabulary": page.table([r for r in vocabulary if r[0] in AMD and r[1].startswith("isa_")
                                       and not r[1].startswith("isa_order")], AMD),
             "library": page.table(own, AMD)}
    if write:
        parts.update({"translation-sm_90a": text for text in [disassembled(folder)] if text})
        page.write(parts)
    report.line("docs", "instructions.md says what the compilers make", list(page.differences(parts, launched)))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--include", metavar="DIR", help="where iris/gen/ lies (default: generated for this run)")
    p.add_argument("--arch", action="append", choices=AMD + NVIDIA, help="only this architecture (may be repeated)")
    p.add_argument("--write", action="store_true", help="write docs/instructions.md")
    p.add_argument("--mutants", action="store_true",
                   help="only that the gates notice mutants of mutants.py: a minute for each AMD architecture")
    p.add_argument("--all", action="store_true", help="with --mutants: those too that are like another")
    args = p.parse_args()
    look = (lambda *of: look_at_mutants(*of, args.all)) if args.mutants else look_at
    report, table, seen = Report(), [], {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        include = args.include or folder
        if not args.include:
            subprocess.run([sys.executable, "-B", ROOT / "gen/__main__.py", "--out", f"{folder}/iris/gen"], check=True)
        archs = args.arch or (AMD if args.mutants else NVIDIA + AMD)  # what takes longest is begun first
        whole = not args.mutants and set(AMD) <= set(archs) and find("clang++-22", "clang++")
        looks = AMD if args.write else mine([COMMON], 2)  # each takes a compiler a minute and a half
        own = [pool.submit(library, arch, include, folder) for arch in looks] if whole else []
        for arch, looked in zip(archs, pool.map(lambda arch: look(arch, include, folder), archs)):
            if looked:
                looked[0].show(report)
                table += looked[1]
                seen[arch] = looked[2]
            else:
                print(f"skip {arch:7} no compiler for it here")
        of_clangs = Report()
        atomics.gate(of_clangs, HERE, [ROOT / "include", include], [a for a in archs if a in AMD], call)
        of_clangs.show(report)
        if whole:
            pages, rows = Report(), [row for job in own for row in job.result()]
            rows += [row for arch in AMD if arch not in looks for row in page.rows("library", arch)]
            look_at_page(include, folder, seen, (table, rows), pages, args.write)
            pages.show(report)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


sys.exit(main())
