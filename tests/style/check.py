# SPDX-License-Identifier: MIT
"""House rules that a machine can see: columns, where platform macros and names of mainloops may stand, how many options
the build has. One sentence for each breach. Breaches that are made up show that each rule finds its own.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
from gen.gemm import GEMM_LOOPS  # noqa: E402
from gen.registry import DTYPES  # noqa: E402

MACRO = re.compile(r"\b__(CUDA|NVCC|HIP|HCC|gfx|AMDGCN|AMDGPU|NVPTX)\w*")
LOOP = rf"IRISI_GEMM_(?:{'|'.join(sorted(row.name for row in GEMM_LOOPS))})\b"
COMPARISON = re.compile(rf"(?:[=!<>]=|\bcase) *{LOOP}|{LOOP} *[=!<>]=")
CODE = ("include/iris/**/*.[ch]", "templates/**/*.j2", "tests/**/*.[ch]", "tests/**/*.cpp", "examples/**/*.[ch]",
        "bench/**/*.[ch]", "bench/**/*.cpp")
SCRIPTS = ("gen/**/*.py", "tests/**/*.py", "docs/**/*.py", "bench/**/*.py", "tests/**/*.sh", "run", ".ci/run")
PROSE = ("*.md", "docs/**/*.md", "bench/**/*.md", "examples/**/*.md")
# A tarball has the generated headers beside the others.
PLATFORM_CODE = ("include/iris/arch", "include/iris/mainloop", "include/iris/gen/arch", "include/iris/gen/mainloop",
                 "templates/arch", "templates/mainloop", "tests/isa")
LIBRARY = ("include/iris/", "templates/")
MAINLOOPS = ("include/iris/mainloop/", "include/iris/gen/mainloop/", "templates/mainloop/")


def of_lines(path, text):
    for n, line in enumerate(text.splitlines(), 1):
        if len(line) > 120:
            yield f"{path}:{n} has {len(line)} columns, more than 120"


def of_code(path, text):
    yield from of_lines(path, text)
    for n, line in enumerate(text.splitlines(), 1):
        if not path.startswith(PLATFORM_CODE) and MACRO.search(line):
            yield f"{path}:{n} tests {MACRO.search(line)[0]}: only include/iris/arch may know the platform"
        if path.startswith(LIBRARY) and not path.startswith(MAINLOOPS) and COMPARISON.search(line):
            yield f"{path}:{n} compares with a mainloop's name: ask irisi_gemm_loop_is for a property (gen/gemm.py)"


def of_prose(path, text):
    code = False
    for n, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith(("```", "~~~"))
        code ^= fence
        free = code or fence or line.startswith("    ") or line.lstrip().startswith("|")
        free = free or "](" in line or "://" in line
        if len(line) > 120 and not free:
            yield f"{path}:{n} has {len(line)} columns, more than 120"


def of_types(samples, dtypes):
    for d in dtypes:
        if samples.count(f"X({d.name}, {d.name.upper()}, ") != 1:
            yield f"tests/types.h has {d.name} in no part, or in two"


def of_options(text):
    if text.count("option(") > 5:
        yield f"meson_options.txt has {text.count('option(')} options, more than 5"


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def each(rule, patterns):
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            yield from rule(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))


def teeth(samples):
    """Breaches that are made up, and what is none beside each."""
    header, own = "include/iris/gemm/x.h", "include/iris/mainloop/x.h"
    for rule, path, breach, none in (
            (of_code, header, "x" * 121, "x" * 120),
            (of_code, "templates/x.h.j2", "{" * 121, "{" * 120),
            (of_lines, "gen/x.py", "#" * 121, "#" * 120),
            (of_code, header, "#ifdef __CUDA_ARCH__", "#if IRIS_NVIDIA"),
            (of_code, header, "if (p->mainloop == IRISI_GEMM_SM90A)", "m = 1u << IRISI_GEMM_PLAIN;"),
            (of_code, header, "case IRISI_GEMM_GEMV:", "x == IRISI_GEMM_LOOPS"),
            (of_code, "templates/gemm/x.h.j2", "IRISI_GEMM_SM80 != m", "m != IRISI_GEMM_SM80_STAGES"),
            (of_prose, "x.md", "word " * 25, "word\n" * 25),
            (of_prose, "x.md", "word " * 25, "    $ " + "word " * 25),
            (of_prose, "x.md", "```\n```\n" + "word " * 25, "```\n" + "word " * 25 + "\n```\n| " + "cell | " * 25)):
        assert len(list(rule(path, breach))) == 1, f"{breach} went unnoticed"
        assert not list(rule(path, none)), f"{none} is no breach"
    for path in (own, "include/iris/gen/mainloop/x.h", "tests/isa/x.c"):
        assert not list(of_code(path, "#ifdef __HIP__\nif (p->mainloop == IRISI_GEMM_SM90A)")), path
    row = f"X({DTYPES[0].name}, {DTYPES[0].name.upper()}, "
    for text in (samples.replace(row, ""), samples + row):
        assert len(list(of_types(text, DTYPES))) == 1, "a type in no part, or in two, went unnoticed"
    assert list(of_options("option('a')\n" * 6)) and not list(of_options("option('a')\n" * 5))


def problems():
    samples = read("tests/types.h").partition("IRIST_EACH_SAMPLE(X) X")[0]
    teeth(samples)
    yield from each(of_code, CODE)
    yield from each(of_lines, SCRIPTS)
    yield from each(of_prose, PROSE)
    yield from of_types(samples, DTYPES)
    yield from of_options(read("meson_options.txt"))


found = list(problems())
print("\n".join(f"style: {p}." for p in found) or "every rule holds")
sys.exit(bool(found))
