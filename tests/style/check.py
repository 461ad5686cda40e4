# SPDX-License-Identifier: MIT
"""House rules that a machine can see: columns, and where a platform may be asked for. One sentence for each breach."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
from gen.registry import DTYPES  # noqa: E402

COLUMNS = 120
MACRO = re.compile(r"\b__(CUDA|NVCC|HIP|HCC|gfx|AMDGCN|AMDGPU|NVPTX)\w*")
# A comparison with a platform's or an architecture's name: strcmp, or == and != in the logic of a template.
NAME = r"""["'](?:host|amd|nvidia|sm_\d+a?|gfx\w+)["']"""
STRING = re.compile(rf"strn?cmp\([^;{{}}]*{NAME}|[=!]= *{NAME}|{NAME} *[=!]=")
CODE = ("include/iris/**/*.[ch]", "templates/**/*.j2", "tests/**/*.[ch]", "tests/**/*.cpp", "examples/**/*.[ch]",
        "bench/**/*.[ch]", "bench/**/*.cpp")
SCRIPTS = ("run", ".ci/run", "gen/*.py", "docs/*.py", "bench/*.py", "tests/**/*.py", "**/meson.build", "**/*.sh",
           "docs/Doxyfile", "meson_options.txt")
PLATFORM_CODE = ("include/iris/arch/", "include/iris/mainloop/", "templates/arch/", "templates/mainloop/", "tests/isa/")
# What asks for a platform by name and is not below arch: what runs on the CPU has other limits than what runs on GPUs.
BY_NAME = {
    "include/iris/runtime/collective_shape.h": "the one question whether a world is the host's",
    "bench/nccl.h": "NCCL is for GPUs",
    "bench/bandwidth.c": "a CPU with few cores takes fewer grids",
    "tests/harness.cpp": "a CPU takes fewer laps than a GPU",
    "tests/collective/room.c": "a GPU's default of sync memory is no limit of the host's",
}


def files(*patterns):
    """Paths below ROOT, without those of build folders."""
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            path = file.relative_to(ROOT).as_posix()
            if file.is_file() and not path.startswith(("build", "subprojects/")):
                yield path


def breaches(path, text):
    """Sentences about one file."""
    for n, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS and not path.endswith(".j2"):
            yield f"{path}:{n} has {len(line)} columns, more than {COLUMNS}"
        if not path.endswith((".h", ".c", ".cpp", ".j2")) or path.startswith(PLATFORM_CODE):
            continue
        if MACRO.search(line):
            yield f"{path}:{n} tests {MACRO.search(line)[0]}: only include/iris/arch may know the platform"
        if STRING.search(line) and path not in BY_NAME:
            yield f"{path}:{n} compares with a platform's name: only include/iris/arch may know the platform"


def problems():
    for path in files(*CODE, *SCRIPTS):
        yield from breaches(path, (ROOT / path).read_text(encoding="utf-8"))
    for path in BY_NAME:
        if not STRING.search((ROOT / path).read_text(encoding="utf-8")):
            yield f"{path} compares with no platform's name any more: take it from the list of those that may"
    parts = (ROOT / "tests/types.h").read_text(encoding="utf-8").partition("IRIST_EACH_SAMPLE(X) X")[0]
    for d in DTYPES:
        if parts.count(f"X({d.name}, {d.name.upper()}, ") != 1:
            yield f"tests/types.h has {d.name} in no part, or in two"
    options = (ROOT / "meson_options.txt").read_text(encoding="utf-8").count("option(")
    if options > 5:
        yield f"meson_options.txt has {options} options, more than 5"


# The check has teeth: each made-up breach is found, and what only looks like one is not.
LONG, AT_MOST = "x" * (COLUMNS + 1), "x" * COLUMNS
for where, what in (("include/iris/x.h", LONG), ("tests/x.cpp", LONG), ("gen/x.py", LONG), ("tests/x.sh", LONG),
                    ("meson.build", LONG), ("include/iris/signal.h", "#ifdef __HIP_DEVICE_COMPILE__"),
                    ("templates/gemm/x.h.j2", "#if defined(__CUDA_ARCH__)"),
                    ("include/iris/runtime/x.h", 'if (strcmp(arch, "sm_90") == 0)'),
                    ("bench/x.c", 'return !strncmp(iris_arch_name(w), "gfx942", 6);'),
                    ("templates/collective/x.h.j2", "{% if platform == 'amd' %}")):
    assert len(list(breaches(where, what))) == 1, f"{what} went unnoticed in {where}"
for where, what in (("include/iris/x.h", AT_MOST), ("include/iris/arch/amd/x.h", "#ifdef __HIP__"),
                    ("include/iris/arch/amd/x.h", 'strcmp(arch, "gfx90a")'), ("tests/x.c", 'strcmp(name, "sum")'),
                    ("tests/x.py", 'if arch == "gfx942":')):
    assert not list(breaches(where, what)), f"{what} is no breach in {where}"
found = list(problems())
print("\n".join(f"style: {p}." for p in found) or "every rule holds")
sys.exit(bool(found))
