# SPDX-License-Identifier: MIT
"""House rules that a machine can see: columns, where platform macros may stand. One sentence for each breach."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
from gen.registry import DTYPES  # noqa: E402

MACRO = re.compile(r"\b__(CUDA|NVCC|HIP|HCC|gfx|AMDGCN|AMDGPU|NVPTX)\w*")
CODE = ("include/iris/**/*.[ch]", "templates/**/*.j2", "tests/**/*.[ch]", "tests/**/*.cpp", "examples/**/*.[ch]",
        "bench/**/*.[ch]", "bench/**/*.cpp")
PLATFORM_CODE = ("include/iris/arch", "include/iris/mainloop", "templates/arch", "templates/mainloop", "tests/isa")


def files(*patterns):
    for pattern in patterns:
        yield from sorted(ROOT.glob(pattern))


def problems():
    for file in files(*CODE):
        path = file.relative_to(ROOT).as_posix()
        for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > 120 and not path.endswith(".j2"):
                yield f"{path}:{n} has {len(line)} columns, more than 120"
            if not path.startswith(PLATFORM_CODE) and MACRO.search(line):
                yield f"{path}:{n} tests {MACRO.search(line)[0]}: only include/iris/arch may know the platform"
    parts = (ROOT / "tests/types.h").read_text(encoding="utf-8").partition("IRIST_EACH_SAMPLE(X) X")[0]
    for d in DTYPES:
        if parts.count(f"X({d.name}, {d.name.upper()}, ") != 1:
            yield f"tests/types.h has {d.name} in no part, or in two"
    options = (ROOT / "meson_options.txt").read_text(encoding="utf-8").count("option(")
    if options > 5:
        yield f"meson_options.txt has {options} options, more than 5"


found = list(problems())
print("\n".join(f"style: {p}." for p in found) or "every rule holds")
sys.exit(bool(found))
