# SPDX-License-Identifier: MIT
"""The budgets that keep the tree readable, and where platform macros may stand. One sentence for each thing too much."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
from gen.registry import DTYPES  # noqa: E402

MACRO = re.compile(r"\b__(CUDA|NVCC|HIP|HCC|gfx|AMDGCN|AMDGPU|NVPTX)\w*")
LINES = (  # (files, most lines)
    ("include/iris/**/*.h", 400),
    ("include/iris/init.c", 1200),
    ("templates/**/*.j2", 150),
    ("meson.build", 60),
    ("run", 80),
    ("gen/*.py", 300),
)
TOGETHER = (  # (what, its files, most lines of all of them)
    ("the patterns of GEMM + all-scatter", ("templates/gemm/all_scatter_*.j2", "templates/gemm/_overlap.h.j2"), 599),
)
FUNCTION_LINES = 60
CODE = ("include/iris/**/*.[ch]", "templates/**/*.j2", "tests/**/*.[ch]", "tests/**/*.cpp", "examples/**/*.[ch]",
        "bench/**/*.[ch]", "bench/**/*.cpp")
PLATFORM_CODE = ("include/iris/arch", "templates/arch", "tests/isa")


def files(*patterns):
    for pattern in patterns:
        yield from sorted(ROOT.glob(pattern))


def problems():
    for pattern, most in LINES:
        for file in files(pattern):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            if lines > most:
                yield f"{file.relative_to(ROOT)} has {lines} lines, more than {most}: split it"
    for what, patterns, most in TOGETHER:
        lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in files(*patterns)]
        if not 0 < sum(lines) <= most:
            yield f"{what} are {len(lines)} files of {sum(lines)} lines, not 1 to {most}"
    for file in files(*CODE):
        path, start = file.relative_to(ROOT).as_posix(), None
        for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > 120 and not path.endswith(".j2"):
                yield f"{path}:{n} has {len(line)} columns, more than 120"
            if not path.startswith(PLATFORM_CODE) and MACRO.search(line):
                yield f"{path}:{n} tests {MACRO.search(line)[0]}: only include/iris/arch may know the platform"
            if line == "{":
                start = n
            elif line == "}" and start:
                if n - start - 1 > FUNCTION_LINES:
                    yield f"{path}:{start} is a function of {n - start - 1} lines, more than {FUNCTION_LINES}"
                start = None
    parts = (ROOT / "tests/types.h").read_text(encoding="utf-8").partition("IRIST_EACH_SAMPLE(X) X")[0]
    for d in DTYPES:
        if parts.count(f"X({d.name}, {d.name.upper()}, ") != 1:
            yield f"tests/types.h has {d.name} in no part, or in two"
    options = (ROOT / "meson_options.txt").read_text(encoding="utf-8").count("option(")
    if options > 5:
        yield f"meson_options.txt has {options} options, more than 5"


found = list(problems())
print("\n".join(f"style: {p}." for p in found) or "every budget holds")
sys.exit(bool(found))
