# SPDX-License-Identifier: MIT
"""The page that quotes instructions and lists what kernels use: docs/instructions.md, its generated parts.

A part stands between `<!-- NAME -->` and `<!-- end -->`. check.py compares the parts that its run has made with the
page, where the page was made by the same compiler; `check.py --write` writes them all.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/instructions.md"
HEAD = "| kernel | {} |\n|---|{}\n"


def part(name, page=PAGE):
    """What the page has there, or None."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", page.read_text(encoding="utf-8"), re.S)
    return found[1] if found else None


def write(parts, page=PAGE):
    text = page.read_text(encoding="utf-8")
    for name, body in parts.items():
        text, times = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, b=body: m[1] + b + m[2], text,
                              flags=re.S)
        if times != 1:
            raise SystemExit(f"{page.name} has {times} places for {name}, not one")
    page.write_text(text, encoding="utf-8")


def compiler(version_text):
    """The part that names the compiler which made the page."""
    return re.search(r"clang version [\d.]+", version_text)[0] + "\n"


def quote(lines):
    return "```text\n" + "\n".join(lines) + "\n```\n"


def listing_of(kernel):
    """A kernel's instructions up to its end, as the page quotes them."""
    lines = [instr.text for instr in kernel.code]
    return quote(lines[:lines.index("s_endpgm") + 1])


def sass(disassembler_output, kernel):
    """The same of nvdisasm's text."""
    body = re.search(rf"\.text\.\w*{kernel}\w*:\n(.*?\bEXIT ;)", disassembler_output, re.S)[1]
    return quote([line.strip() for line in re.findall(r"/\*[0-9a-f]{4}\*/ +(.*?;)", body)])


def table(rows, archs):
    """Vector registers / scalar registers / LDS bytes / waves a SIMD, a column for each architecture."""
    cells = {}
    for arch, name, *used in rows:
        cells.setdefault(name, {})[arch] = " / ".join(used)
    lines = ["| " + " | ".join([f"`{name}`", *(cells[name].get(arch, "") for arch in archs)]) + " |"
             for name in sorted(cells)]
    return HEAD.format(" | ".join(archs), "---|" * len(archs)) + "\n".join(lines) + "\n"


def rows(name, arch):
    """What the page's table of that name says of an architecture, as `table` takes it."""
    first, *lines = [line.strip("| ").split(" | ") for line in part(name).splitlines()]
    return [(arch, line[0].strip("`"), *line[first.index(arch)].split(" / ")) for line in lines[1:]]


def launched(folder, dtype):
    """(what instantiates them, their names) of the library's own kernels of one element type."""
    text = "\n".join(f.read_text(encoding="utf-8") for f in sorted(pathlib.Path(folder).glob("*.h")))
    mixed = re.compile(rf"_(i|f|bf)\d\w*_{dtype}$", re.I)  # results are of this type, operands of another
    return tuple(sorted(name for name in set(re.findall(pattern, text)) if not mixed.search(name))
                 for pattern in (rf"\bIRIS_INSTANTIATE_\w+_{dtype.upper()}\b", rf"\bIRIS_KERNEL\((irisi_\w+_{dtype}),"))


def differences(parts, kernels):
    """A sentence for each part of the page that is not what this run has made, and for each kernel it does not know."""
    if part("compiler") == parts["compiler"]:
        for name, body in parts.items():
            if part(name) != body:
                yield f"{name} has changed: tests/isa/check.py --write writes docs/instructions.md"
    listed = re.findall(r"^\| `(irisi_\w+)`", part("library") or "", re.M)
    for name in sorted(set(listed) ^ set(kernels)):
        yield f"{name} is {'no kernel any more' if name in listed else 'not listed'}: tests/isa/check.py --write"
