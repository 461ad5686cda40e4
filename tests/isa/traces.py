# SPDX-License-Identifier: MIT
"""Traces cost nothing where they are not compiled in: instructions are those of headers without a single hook.

Hooks are calls of irisi_trace_*, which are empty functions then. check.py compiles SOURCES with the headers as they
are and with those that `write` makes, and compares; and sees of FEW that with -DIRIS_TRACE=1 the two differ, and that
without hooks the macro changes nothing. A GEMM is among them: what is computed for a hook and then not used moves its
registers.
"""
import re
from pathlib import Path

ARCH = "gfx942"
FEW = "tiles.c"
SOURCES = ("kernels.c", FEW, "../../docs/programs/gemm.c")
ON = ("-DIRIS_TRACE=1",)
CALL = re.compile(r"^( *)irisi_trace_\w+\([^;]*\);", re.M)
BEGIN = re.compile(r"irisi_trace_begin\([^()]*\)")
PLACE = re.compile(r"irisi_trace_(?:prepare|open|open_wait)\((?:[^()]|\([^()]*\))*\)")


def write(folders, out):
    """Copies the headers of some folders without the hooks' calls; says how many those were."""
    count = 0
    for folder in map(Path, folders):
        for header in folder.glob("iris/**/*.h"):
            text = header.read_text(encoding="utf-8")
            if header.name != "trace_event.h":
                text, ends = CALL.subn(r"\1;", text)
                text, begins = BEGIN.subn("0", text)
                text, places = PLACE.subn("{0}", text)
                count += ends + begins + places
            to = out / header.relative_to(folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(text, encoding="utf-8")
    return count


def differing(some, others):
    """Names of kernels whose instructions are not the same, or that one of the two has not."""
    def lines(kernel):
        return kernel and [instr.text for instr in kernel.code]

    return [name for name in sorted(set(some) | set(others)) if lines(some.get(name)) != lines(others.get(name))]
