#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at the instructions of the GEMM kernels on matrix units: `tests/isa/gemm.py [--include DIR] [--table]`.

Compiles the library's GEMM kernels for each AMD architecture, those of every type where --arch asks for it, and checks
the promises below for every pattern's kernels, and that each check notices its own breakage; one line a check, then the
counts. What a turn of each loop costs must be what docs/notes/mainloops-amd.md says; --table writes it there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import gates
import gemm_order
import listing
import operations
import page
import skinny

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from part import mine, number  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/notes/mainloops-amd.md"
ARCHS = ("gfx90a", "gfx942", "gfx950")
# i8_i32 on gfx950 has the address of its flag in registers of its own, and FLAG knows no such store.
EVERYWHERE = ("f16", "bf16", "f32", "i8_bf16", "bf16_f32")
TYPES = {"gfx90a": (*EVERYWHERE, "i8_i32"),
         "gfx942": (*EVERYWHERE, "i8_i32", "f8e4m3fnuz_bf16", "f8e5m2fnuz_bf16"),
         "gfx950": (*EVERYWHERE, "f8e4m3_bf16", "f8e5m2_bf16")}
# Where --arch does not ask for all, half of these, by commit: a type for each instruction of the loops; of kernels that
# only communicate, and of those that put partial sums.
SOME = {"gfx90a": ("f16", "f32", "i8_i32"), "gfx942": ("bf16", "f32", "i8_i32", "f8e4m3fnuz_bf16"),
        "gfx950": ("f16", "f32", "i8_bf16", "f8e4m3_bf16")}
SOME_OPERATIONS = {"gfx90a": ("bf16",), "gfx942": ("f16",), "gfx950": ()}
SOME_FUSED = {"gfx942": ("bf16",)}  # three minutes each
WITH_PLAIN = ("f16", "bf16")  # of these the kernels of the plain loop and of the one for few rows are compiled too
PUTTING = ("local", "producer_consumer_compute", "fused_sequential", "wg_specialized", "wave_specialized")
LL = ("fused_sequential_ll",)  # sends packets, which need no signals
COMPUTE = PUTTING + LL
SEND = ("bulk_synchronous_send", "producer_consumer_send")
WAIT = SEND + ("fused_sequential", "wg_specialized", "wave_specialized")
WAVES, SIMDS = 8, 4  # math waves of a workgroup, which has a compute unit of its own


@dataclass(frozen=True)
class Unit:
    """A compute unit: clocks of its matrix instruction, bytes a clock of shared memory and of its first cache.

    Clocks: 4 for each of the passes that AMD's matrix instruction calculator gives. Shared memory: 32 banks of 4 bytes;
    gfx950 reads from 64.
    """
    mfma: str
    clocks: int
    read: int
    write: int = 128
    cache: int = 64


UNITS = {"gfx90a": {"f16": Unit(r"^v_mfma_f32_32x32x8", 64, 128), "i8": Unit(r"^v_mfma_i32_32x32x8_?i8", 64, 128),
                    "f32": Unit(r"^v_mfma_f32_32x32x2_?f32", 64, 128)},
         "gfx942": {"f16": Unit(r"^v_mfma_f32_32x32x8", 32, 128), "i8": Unit(r"^v_mfma_i32_32x32x16_i8", 32, 128),
                    "f8": Unit(r"^v_mfma_f32_32x32x16_(fp8_fp8|bf8_bf8)", 32, 128),
                    "f32": Unit(r"^v_mfma_f32_32x32x2_f32", 64, 128)},
         "gfx950": {"f16": Unit(r"^v_mfma_f32_32x32x16", 32, 256), "i8": Unit(r"^v_mfma_i32_32x32x32_i8", 32, 256),
                    "f8": Unit(r"^v_mfma_f32_32x32x64_f8f6f4", 64, 256),
                    "f32": Unit(r"^v_mfma_f32_32x32x2_f32", 64, 256)}}
# What a turn of a loop multiplies, rows x columns x bytes of K: of the large tile and of the small one. Beside
# communication waves a large tile is computed in two passes.
TURNS = {"gfx90a": ((256, 256, 128), (128, 128, 128)), "gfx942": ((256, 256, 128), (128, 128, 128)),
         "gfx950": ((256, 256, 256), (128, 256, 256))}
ISAS = {"gfx90a": gates.GFX90A, "gfx942": gates.GFX942, "gfx950": gates.GFX942}
LANE_BYTES = {"b32": 4, "b64": 8, "b128": 16, "dwordx4": 16}


def find(*names):
    return next((shutil.which(n) for n in names if n and shutil.which(n)), None)


def clang():
    return os.environ.get("IRIS_HIPCC") or find("clang++-22", "clang++")


def symbol(pattern, kind, loop):
    """The name of a pattern's kernel, or of a GEMM alone, for a type and a mainloop."""
    end = "" if pattern in SEND else f"_{loop}"  # what only sends goes with every mainloop
    return f"irisi_gemm_{'' if pattern == 'local' else 'all_scatter_'}{pattern}_{kind}{end}"


def build(arch, kind, include, folder, *macros):
    """(what the compiler said, {kernel: resources}, {kernel: Listing}) of the library's GEMM kernels of some types."""
    without = [] if kind in WITH_PLAIN and not macros else ["#undef IRISI_GEMM_HAS_PLAIN"]
    patterns = [] if macros else ["#define IRIS_GEMM_ALL_PATTERNS"]  # else those of the default set
    lines = ["#include <iris/iris.h>", "#include <iris/mainloop/shape.h>", *without, *patterns,
             f"#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_{kind.upper()}",
             "#include <iris/gen/launch/gemm_all_scatter.h>", ""]
    loops = [arch, f"{arch}_small", *(["skinny_mfma"] if kind in WITH_PLAIN else [])]
    wanted = {symbol(pattern, kind, loop) for pattern in COMPUTE + SEND for loop in loops}
    return compiled(arch, f"{arch}.{kind}{''.join(macros)}.co", lines, wanted, include, folder, *macros)


def build_operations(arch, kind, include, folder):
    """The same of the kernels that only communicate, beside the plain mainloop."""
    without = [f"#undef IRISI_GEMM_HAS_{loop}" for loop in
               ("SKINNY_MFMA", *(f"MFMA_{a.upper()}{small}" for a in ARCHS for small in ("", "_SMALL")))]
    lines = operations.source(kind)
    lines[2:2] = without
    return compiled(arch, f"{arch}.{kind}.operations.co", [*lines, ""], operations.symbols(kind).values(), include,
                    folder)


def build_fused(arch, kind, include, folder):
    """The same of the kernels that put partial sums to their owners, with the architecture's mainloops."""
    return compiled(arch, f"{arch}.{kind}.fused.co", [*operations.fused_source(kind), ""],
                    operations.fused_symbols(kind, (arch, f"{arch}_small")), include, folder)


def compiled(arch, name, lines, wanted, include, folder, *macros):
    """What the compiler makes of a source, as build returns it."""
    out = pathlib.Path(folder) / name
    source = out.with_suffix(".c")
    source.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        [clang(), "-x", "hip", "-nogpuinc", "-nogpulib",
         f"--offload-arch={arch}", "--cuda-device-only", "--no-gpu-bundle-output", "-O3", "-std=c++17", "-Wall",
         "-Wextra", "-Wpedantic", "-Werror", "-Rpass-analysis=kernel-resource-usage", "-fno-caret-diagnostics",
         f"-I{ROOT}/include", f"-I{include}", *macros, "-c", source, "-o", out],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        return done.stdout, {}, {}
    text = subprocess.run([find("llvm-objdump-22", "llvm-objdump"), "-d", "--no-show-raw-insn", out],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    used = {}
    for name, block in re.findall(r"Function Name: (\S+)(.*?)(?=Function Name|\Z)", done.stdout, re.S):
        if name.startswith("irisi_gemm_"):  # the plain loop's, and those that copy operands, too
            used[name] = {k.strip(): int(v) for k, v in re.findall(r"remark:\s+([A-Za-z ]+?)(?: \[.*?\])?: (\d+) ",
                                                                   block)}
    return "", used, {name: l for name, l in listings(text).items() if name in wanted}


def listings(text):
    """{kernel: Listing} of a disassembly whose names are C's."""
    kernels, rows = {}, None
    for line in text.split("\n"):
        head, instr = re.match(r"^[0-9a-f]+ <(\w+)>:$", line), listing.AMD_INSTR.match(line)
        if head:
            rows = kernels.setdefault(head[1], [])
        elif instr and rows is not None:
            rows.append((int(instr[3], 16), instr[1], instr[2], instr[4]))
    return {name: listing._amd_listing(name, rows) for name, rows in kernels.items()}


def dominators(code, blocks, start):
    """{block: set of blocks on every path to it}, blocks by the index of their first instruction."""
    before = {b: [] for b in blocks}
    for b, end in blocks.items():
        for to in code[end].next:
            if to in before:
                before[to].append(b)
    over, changed = {b: set(blocks) for b in blocks}, True
    over[start] = {start}
    while changed:
        changed = False
        for b in sorted(blocks):
            above = [over[p] for p in before[b]] if b != start else []
            new = {b}.union(set.intersection(*above) if above else set())
            changed, over[b] = changed or new != over[b], new
    return over, before


def loops(kernel):
    """The innermost loops around matrix instructions, each a list of instructions, in the order of their heads."""
    if not hasattr(kernel, "loops"):
        kernel.loops = innermost(kernel.code)
    return kernel.loops


def innermost(code):
    heads = {0} | {to for i, c in enumerate(code) for to in c.next if "branch" in c.op} | {
        i + 1 for i, c in enumerate(code[:-1]) if "branch" in c.op or c.op == "s_endpgm"}
    first = sorted(h for h in heads if h < len(code))
    blocks = dict(zip(first, [f - 1 for f in first[1:]] + [len(code) - 1]))
    over, before = dominators(code, blocks, 0)
    bodies = {}
    for b, end in blocks.items():
        for head in code[end].next:
            if head in over.get(b, ()):
                body, todo = bodies.setdefault(head, {head}), [b]
                while todo:
                    at = todo.pop()
                    if at not in body:
                        body.add(at)
                        todo += before[at]
    around = {h: body for h, body in bodies.items()
              if any(c.op.startswith("v_mfma") for b in body for c in code[b:blocks[b] + 1])}
    inner = {h: body for h, body in around.items() if not any(o < body for o in around.values())}
    return [[c for b in sorted(inner[h]) for c in code[b:blocks[b] + 1]] for h in sorted(inner)]


def main_loops(kernel):
    """Those for either layout of B; each is followed by the one for the ragged end of K."""
    return loops(kernel)[::2]


def lane_bytes(op):
    """Bytes of a lane that a memory instruction moves."""
    return LANE_BYTES[op.rsplit("_", 1)[1]] * (2 if "2" in op.split("_")[1] else 1)


def alone(instr):
    """Whether the instruction is of the math waves' meeting: one word, by which they count each other."""
    return instr.op in ("ds_add_u32", "ds_read_b32")


def element(kernel):
    """Of A and B, as UNITS calls it: the 16-bit ones are alike, and the 8-bit floats."""
    return re.search(rf"_(?:{'|'.join(COMPUTE + SEND)})_([a-z]+\d+)", kernel.name)[1].replace("bf16", "f16")


def clocks(unit, loop):
    """(matrix, shared memory, cache) clocks of a compute unit for one turn of a loop by all math waves."""
    matrix, shared, cache = 0, 0, 0
    for instr in loop:
        if instr.op.startswith("v_mfma"):
            matrix += unit.clocks * WAVES // SIMDS
        elif instr.op.startswith("ds_") and not alone(instr):
            shared += 64 * lane_bytes(instr.op) * WAVES // (unit.read if "read" in instr.op else unit.write)
        elif instr.op.startswith("global_load"):
            cache += 64 * 16 * WAVES // unit.cache
            shared += 64 * 16 * WAVES // unit.write if "_lds_" in instr.op else 0
    return matrix, shared, cache


def matrix_units_are_the_limit(arch, kernel):
    found, unit = loops(kernel), UNITS[arch][element(kernel)]
    expected = 4 if element(kernel) == "f16" else 2  # others are not n_major
    if len(found) != expected:
        yield f"{len(found)} loops around matrix instructions instead of {expected}"
    for loop in main_loops(kernel):
        matrix, shared, cache = clocks(unit, loop)
        if shared > matrix or cache > matrix:
            yield f"a turn takes {matrix} clocks of matrix units, {shared} of shared memory, {cache} of the cache"
        for i in loop:
            if i.op.startswith("v_mfma") and not re.search(unit.mfma, i.text):
                yield f"not the widest matrix instruction: {i.text}"


def turns_are_whole(arch, kernel):
    m, n, depth = TURNS[arch][kernel.name.endswith("_small")]
    if "wave_specialized" in kernel.name and m == 256:
        m //= 2
    for loop in main_loops(kernel):
        done = 0  # of multiplications, in rows x columns x bytes of K
        for i in loop:
            if i.op.startswith("v_mfma"):
                rows, columns, k, kind = re.match(r"v_mfma_\w+?_(\d+)x(\d+)x(\d+)_?([a-z0-9]+)", i.op).groups()
                done += WAVES * int(rows) * int(columns) * int(k) * (1 if "8" in kind else 4 if kind == "f32" else 2)
        if done != m * n * depth:
            yield f"a turn is {done / (m * n):g} bytes of K deep for a tile of {m} x {n}, not {depth}"


def accesses_are_wide(arch, kernel):
    for loop in main_loops(kernel):
        for i in loop:
            if i.op.startswith("global_") and not i.op.endswith("_dwordx4"):
                yield f"not 16 bytes a lane: {i.text}"
            if i.op.startswith("ds_write") and i.op != "ds_write_b128":
                yield f"not 16 bytes a lane: {i.text}"
        narrow = {i.op for i in loop if i.op.startswith("ds_read") and i.op != "ds_read_b128" and not alone(i)}
        if narrow - {"ds_read2st64_b32", "ds_read2_b32"}:  # words of two columns of an untransposed B
            yield f"narrow reads: {' '.join(sorted(narrow))}"
        if arch == "gfx950" and not any(i.op == "global_load_lds_dwordx4" for i in loop):
            yield "no direct load into shared memory"


def phases_are_pure(arch, kernel):
    for loop in main_loops(kernel):
        inside, seen = False, 0
        for i in loop:
            if i.op == "s_setprio":
                inside, seen = i.args == "1", seen + (i.args == "1")
            elif inside and re.match(r"ds_|global_|buffer_|s_barrier", i.op):
                yield f"memory instruction while this wave multiplies: {i.text}"
            elif not inside and i.op.startswith("v_mfma"):
                yield f"matrix instruction while the other group multiplies: {i.text}"
        if not seen:
            yield "no phase of matrix instructions"


def fetches_stay_under_way(arch, kernel):
    for loop in main_loops(kernel):
        waits = sum(1 for i in loop if i.op == "s_waitcnt" and "vmcnt(0)" in i.args)
        slabs = 2 if any("_lds_" in i.op for i in loop) else 0  # direct loads: once a slab, before others read it
        if waits != slabs:
            yield f"{waits} waits for everything that is on its way from global memory in a turn, not {slabs}"


def meetings_wait(arch, kernel):
    meeting = r"^s_barrier" if "wave_specialized" not in kernel.name else r"^ds_add_u32"
    yield from gates.reaches(kernel, kernel.find(r"^ds_(read.*_b128|read2|write_b128)"), meeting,
                             [r"^s_waitcnt .*lgkmcnt\(0\)"], "an access to shared memory is under way at a meeting")


PUTS = r"^global_store_dwordx4 v\[\d+:\d+\], v\[\d+:\d+\], off"
FLAG = r"^global_store_dwordx2 v\d+, v\[\d+:\d+\], s\["  # to one place for all lanes: data has a place for each
TILE = r"^global_load_dwordx4 v\[\d+:\d+\], v\[\d+:\d+\], off"


def tiles_arrive(arch, kernel):
    isa, signals = ISAS[arch], []
    if "compute" not in kernel.name and "_gemm_local_" not in kernel.name:
        signals.append((isa.add, "signal"))
    if "producer_consumer_compute" in kernel.name or "wg_specialized" in kernel.name:
        signals.append((FLAG, "flag"))
    for signal, what in signals:
        yield from gates.reaches(kernel, kernel.find(PUTS), signal, [isa.arrived],
                                 f"a tile's {what} before its stores have arrived")
        if "wave_specialized" not in kernel.name:  # communication waves count each other
            yield from gates.reaches(kernel, kernel.find(PUTS), signal, [isa.barrier],
                                     f"a tile's {what} before the workgroup has met")
        if not kernel.find(signal):
            yield f"no {what}"
    if not kernel.find(PUTS):
        yield "no 16-byte store"
    for i in kernel.find(PUTS):
        if isa.through not in kernel.code[i].text:
            yield f"does not go through to the system: {kernel.code[i].text}"


def tiles_are_waited_for(arch, kernel):
    isa = ISAS[arch]
    loads = kernel.find(isa.poll)
    # who sees too little sleeps
    polls = [i for i in loads if kernel.path(i, kernel.find("^s_sleep"), loads) is not None]
    if not polls or not kernel.find(TILE):
        yield "no look at a signal, or no 16-byte load"
    for goal in (TILE, isa.barrier):
        yield from gates.reaches(kernel, polls, goal, [isa.invalidate], "goes on without dropping stale lines")
    yield from gates.reaches(kernel, [-1], TILE, [isa.barrier], "a tile is read before the workgroup has met")


def meetings_are_around_phases(arch, kernel):
    yield from gemm_order.meetings_are_around_phases(arch, kernel, loops(kernel))


def only_its_memory(arch, kernel):
    for i in kernel.find(r"^(scratch_|flat_|v_readlane|v_writelane|v_accvgpr)"):
        yield f"scratch, a spilled register, or an access of unknown address space: {kernel.code[i].text}"


NOP, FUSED, SENDS = "s_nop 0", "fused_sequential", "producer_consumer_send"
CHECKS = (  # text, check, whose, edits that it must notice: kernel, what, by what
    ("matrix units are the limit of each loop", matrix_units_are_the_limit, COMPUTE,
     ((FUSED, r"^[sv]_(?!mfma|.*branch|endpgm)", "ds_read_b128 v[0:3], v0"),
      (FUSED, r"^v_mfma", "v_mfma_f32_16x16x16_f16"))),
    ("a turn of each loop multiplies a whole tile, 128 or 256 bytes of K deep", turns_are_whole, COMPUTE,
     ((FUSED, r"^s_setprio 1", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"),)),
    ("16 bytes a lane, from global memory and to shared memory", accesses_are_wide, COMPUTE,
     ((FUSED, r"^global_load(_lds)?_dwordx4", "global_load_dword v0, v1, s[0:1]"),
      (FUSED, r"^ds_read_b128", "ds_read_u16 v0, v1"))),
    ("matrix phases and memory phases are apart", phases_are_pure, COMPUTE,
     ((FUSED, r"^s_setprio", NOP), (FUSED, r"^s_setprio 0", "s_setprio 1"))),
    ("fetches stay under way from phase to phase", fetches_stay_under_way, COMPUTE,
     ((FUSED, r"^s_setprio 0", "s_waitcnt vmcnt(0)"),)),
    ("waves meet once their accesses to shared memory are done", meetings_wait, COMPUTE,
     ((FUSED, r"lgkmcnt\(0\)", NOP),)),
    ("a tile's stores go through and arrive before its signal and its flag", tiles_arrive, PUTTING + SEND,
     tuple((at, what, by) for at in (FUSED, "wave_specialized", "wg_specialized", SENDS)
           for what, by in ((r"^s_waitcnt vmcnt\(0\)", NOP), (r"^global_atomic_add_x2", NOP),
                            (r"^global_store_dwordx4", "global_store_dwordx2 v[0:1], v[2:3], off"))) +
     tuple((at, r"^s_barrier", NOP) for at in (FUSED, "wg_specialized", SENDS)) + (("wg_specialized", FLAG, NOP),)),
    ("a tile that another kernel or workgroup computes is waited for", tiles_are_waited_for, SEND + ("wg_specialized",),
     ((SENDS, r"^buffer_(inv|wbinvl1_vol)", NOP), (SENDS, r"^s_barrier", NOP), (SENDS, TILE, NOP))),
    ("phases have a meeting before and behind each, and memory between the two", meetings_are_around_phases, COMPUTE,
     ()),
    ("what is fetched is waited for before it is read", gemm_order.loads_are_waited_for, COMPUTE, ()),
    ("puts of every width go through, and arrive before a signal", gemm_order.puts_go_through, PUTTING + SEND, ()),
    ("no cache is written back between a put and its signal", gemm_order.nothing_is_written_back, COMPUTE + SEND, ()),
    ("packets are stored and looked at in the system", gemm_order.packets_are_of_the_system, LL, ()),
    ("signals are looked at in the system, then stale lines dropped", gemm_order.polls_are_of_the_system, WAIT, ()),
    ("neither scratch nor spilled registers nor generic addresses", only_its_memory, COMPUTE + SEND,
     ((FUSED, r"^ds_write_b128|^ds_write_b16", "scratch_store_dword v0"),
      (FUSED, r"^s_setprio", "v_writelane_b32 v0, s0, 0"),
      (FUSED, r"^s_setprio", "v_accvgpr_write_b32 a0, v0"))),
)


class Report:
    """Counts checks and prints a line for each."""
    def __init__(self):
        self.passed = self.failed = 0

    def line(self, where, text, problems):
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {where:11} {text}")
        for problem in problems:
            print(f"     {problem}")


def broken(kernel, pattern, replacement):
    """The kernel with every instruction that matches replaced, or None when there is none."""
    kernel = copied(kernel)
    return kernel if kernel.edit(pattern, replacement) else None


def copied(kernel):
    return listing.Listing(kernel.name, [listing.Instr(c.op, c.args, c.next) for c in kernel.code])


def check_edits(arch, where, kernel_of, report):
    """Whether the checks together notice each of gemm_order's edits."""
    for what, whose, archs, edit in gemm_order.EDITS:
        for pattern in whose if arch in archs else ():
            kernel = copied(kernel_of(pattern))
            edited = edit(kernel, loops(kernel))
            kernel = copied(kernel)
            caught = any(True for _, function, of, _ in CHECKS if pattern in of for _ in function(arch, kernel))
            report.line(where, f"  notices {what} in {pattern}",
                        [] if edited and caught else ["the edit went unnoticed" if edited else "nothing to edit"])


def check(arch, kind, built, report, table):
    where, (said, used, kernels) = f"{arch} {kind}", built
    names = lambda patterns: [symbol(p, kind, arch + small) for small in ("", "_small") for p in patterns]
    report.line(where, "compiles and holds every pattern's kernels",
                [said] if said else [f"{n} is missing" for n in names(COMPUTE + SEND) if n not in kernels])
    if said:
        return
    spills = [f"{n}: {key} is {row[key]}" for n, row in used.items()
              for key in ("ScratchSize", "VGPRs Spill", "SGPRs Spill") if row[key]]
    report.line(where, "no scratch, no spills" + ", in the plain loop's kernels neither" * (kind in WITH_PLAIN),
                spills + [f"{n}: nothing is known of its registers" for n in names(COMPUTE + SEND) if n not in used])
    for text, function, whose, edits in CHECKS:
        report.line(where, text, [f"{n}: {p}" for n in names(whose) for p in function(arch, kernels[n])])
        for at, pattern, replacement in edits if kind in WITH_PLAIN else ():
            kernel = broken(kernels[names([at])[0]], pattern, replacement)
            caught = kernel and list(function(arch, kernel))
            report.line(where, f"  notices {pattern} -> {replacement} in {at}",
                        [] if caught else ["the edit went unnoticed" if kernel else "nothing to edit"])
    if kind in WITH_PLAIN:
        check_edits(arch, where, lambda pattern: kernels[names([pattern])[0]], report)
    if kind in WITH_PLAIN:
        skinny.check(sys.modules[__name__], arch, kind, kernels, report)
    for n in names(COMPUTE):
        for loop, layout in zip(main_loops(kernels[n]), ("transposed", "as it is")):
            size = "small" if n.endswith("_small") else "large"
            beside = "yes" if "wave_specialized" in n else "no"
            of = element(kernels[n])
            name = "f16, bf16" if of == "f16" else of
            table.append((arch, name, size, beside, layout, *clocks(UNITS[arch][of], loop)))


INDIRECT = ("gfx950", "f16", "-DIRIS_NO_DIRECT_LDS")


def check_indirect(built, report):
    """gfx950's loops where slabs do not go to shared memory directly: as right as the others, not as fast."""
    arch, kind, macro = INDIRECT
    where, (said, _, kernels) = f"{arch} {kind}", built
    report.line(where, f"compiles with {macro}", [said] if said else [] if kernels else ["no kernels"])
    if not kernels:
        return
    direct = [f"{n}: {c.text}" for n, k in kernels.items() for c in k.code if "_lds_" in c.op]
    report.line(where, "  no load goes to shared memory directly", direct)
    for text, function, whose, _ in CHECKS:
        names = {symbol(p, kind, arch + small) for small in ("", "_small") for p in whose}
        of = [k for n, k in kernels.items() if n in names]
        if function not in (matrix_units_are_the_limit, accesses_are_wide, fetches_stay_under_way):
            problems = [f"{k.name}: {p}" for k in of for p in function(arch, k)] if of else ["no kernel to look at"]
            report.line(where, f"  {text}", problems)


def look_at_page(table, report, write):
    """docs/notes/mainloops-amd.md against this run, where the pages were made by the same compiler."""
    rows = [("architecture", "A, B", "tile", "beside communication waves", "B", "matrix clocks", "shared memory",
             "cache"), ("---",) * 8, *dict.fromkeys(table)]
    body = "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
    if write:
        page.write({"loops": body}, PAGE)
    version = subprocess.run([clang(), "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    said = (page.part("loops", PAGE) or "").splitlines()
    part = [line for line in said if line in body or number() is None or write]
    same = page.part("compiler") != page.compiler(version) or part == body.splitlines()
    report.line("docs", "mainloops-amd.md says what a turn costs",
                [] if same else ["it has changed: tests/isa/gemm.py --table writes docs/notes/mainloops-amd.md"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--include", metavar="DIR", help="where iris/gen/ lies (default: generated for this run)")
    p.add_argument("--arch", action="append", choices=ARCHS,
                   help="only this architecture, of every type (may be repeated)")
    p.add_argument("--type", action="append", help="these types instead, as kernels' names end (may be repeated)")
    p.add_argument("--table", action="store_true",
                   help="write what a turn of each loop costs into docs/notes/mainloops-amd.md")
    args = p.parse_args()
    if not clang():
        print("skipped: no compiler for AMD GPUs here\n0 passed, 0 failed")
        return 0
    report, table = Report(), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if not args.include:
            subprocess.run([sys.executable, "-B", ROOT / "gen/__main__.py", "--out", f"{folder}/iris/gen"], check=True)
        include = args.include or folder
        types = TYPES if args.arch else SOME

        def now(*what):
            return args.arch or args.type or args.table or mine([what], 2)

        def both(some):
            return [(a, t) for a in args.arch or ARCHS for t in WITH_PLAIN
                    if t in (args.type or (WITH_PLAIN if args.arch else some.get(a, ())))]
        jobs = [(a, t, pool.submit(build, a, t, include, folder))
                for a in args.arch or ARCHS for t in args.type or types[a] if now(a, t)]
        indirect = None if args.type or INDIRECT[0] not in (args.arch or ARCHS) or not now(*INDIRECT) else pool.submit(
            build, *INDIRECT[:2], include, folder, INDIRECT[2])
        crossing = [(a, t, pool.submit(build_operations, a, t, include, folder))
                    for a, t in both(SOME_OPERATIONS) if now(a, t, "operations")]
        putting = [(a, t, pool.submit(build_fused, a, t, include, folder))
                   for a, t in both(SOME_FUSED) if now(a, t, "fused")]
        for arch, kind, job in jobs:
            check(arch, kind, job.result(), report, table)
        for arch, kind, job in crossing:
            operations.check(sys.modules[__name__], arch, kind, job.result(), report)
        for arch, kind, job in putting:
            operations.check_fused(sys.modules[__name__], arch, kind, job.result(),
                                   operations.fused_symbols(kind, (arch, f"{arch}_small")), report)
        if indirect:
            check_indirect(indirect.result(), report)
    if not args.arch and not args.type:
        look_at_page(table, report, args.table)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
