# SPDX-License-Identifier: MIT
"""Atomics of system scope on AMD, by every clang that is here: the bus to a peer carries integer add, exchange and
compare-and-swap; a native instruction for anything else would do nothing there, or the wrong thing.

Debian has had clang 19, 21 and 22. Where 21 is not, clang 22 compiles the code that 21 is given.
"""
import re
import shutil

COMPILERS = {"clang 19": ["clang++-19"], "clang 21": ["clang++-21"], "clang 22": ["clang++-22"]}
AS_21 = ["-Wno-builtin-macro-redefined", "-U__clang_major__", "-D__clang_major__=21"]
KERNEL = re.compile(r"^(?:_Z\d+)?(isa_[a-z]+_[a-z]\d\d)\w*:")
ATOMIC = re.compile(r"^\s*((?:global|flat)_atomic_\w+)")
CARRIED = re.compile(r"_atomic_(add|cmpswap|swap)(_x2)?$")


def compilers():
    """{name: command}, of those that are here."""
    found = {name: command for name, command in COMPILERS.items() if shutil.which(command[0])}
    if "clang 22" in found and "clang 21" not in found:
        found["clang 22 as 21"] = COMPILERS["clang 22"] + AS_21
    return found


def problems(assembly):
    """A sentence for each kernel with an atomic that the bus does not carry, or with none."""
    kernel, seen = None, {}
    for line in assembly.splitlines():
        label, atomic = KERNEL.match(line), ATOMIC.match(line)
        if label:
            kernel = label[1]
            seen[kernel] = []
        elif atomic and kernel:
            seen[kernel].append(atomic[1])
    if len(seen) != 20:
        yield f"{len(seen)} kernels, not 20"
    for name, atomics in seen.items():
        if not atomics:
            yield f"{name}: no atomic"
        for wrong in (a for a in atomics if not CARRIED.search(a)):
            yield f"{name}: {wrong}"


def gate(report, here, includes, archs, call):
    """Adds a line for each compiler and architecture that it knows to a report."""
    for name, command in compilers().items():
        for arch in archs:
            status, text = call([*command, "-x", "hip", "-nogpuinc", "-nogpulib", f"--offload-arch={arch}",
                                 "--cuda-device-only", "-O3", "-std=c++17", *(f"-I{d}" for d in includes), "-S",
                                 here / "atomics.c", "-o", "-"])
            if status and "target ID" in text:
                continue
            wrong = [text] if status else list(problems(text))
            report.line(arch, f"{name}: atomics of system scope are those that the bus carries", wrong)
    broken = "isa_or_u32:\n\tglobal_atomic_or v0, v[0:1], v2, off sc0 sc1\n"
    report.line("amd", "  notices a native OR", [] if "isa_or_u32: global_atomic_or" in problems(broken)
                else ["unnoticed"])
