# SPDX-License-Identifier: MIT
"""What the single header costs: seconds of CPU that it adds to a compilation, seconds that the README's program takes,
and the kernels in its image; on a slower machine more seconds. Compilers that are not installed are left out."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from pace import slowness  # noqa: E402

os.environ["PATH"] += ":/usr/local/cuda/bin"
failures = []


def cpu(command, cwd):
    """Seconds of CPU, the least of three runs: other work on the machine only adds."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=cwd, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def expect(what, value, limit):
    print(f"{what}: {value:.2f}, at most {limit:g}")
    if value > limit:
        failures.append(what)


def app(folder):
    text = (ROOT / "examples/00_pass_right/main.c").read_text(encoding="utf-8")
    text = re.sub(r"#include <iris/init.h>.*\n", "", re.sub(r"#include <iris/iris.h>.*", '#include "iris.h"', text))
    (folder / "app.c").write_text(text, encoding="utf-8")
    (folder / "without.c").write_text("#include <stdio.h>\nint main(void) { return 0; }\n", encoding="utf-8")
    (folder / "with.c").write_text('#include "iris.h"\n#include <stdio.h>\n'
                                   'int main(void) { return (int)iris_lane(); }\n',
                                   encoding="utf-8")


def kernels(command, pattern):
    return len(set(re.findall(pattern, subprocess.run(command, capture_output=True, text=True, check=True).stdout,
                              re.M)))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, "-B", "-m", "gen", "--single", str(folder / "iris.h")], cwd=ROOT, check=True)
        app(folder)
        slow = slowness()
        compile_c = ["cc", "-O2", "-c", "-o", os.devnull]
        expect("seconds that the header adds to cc",
               cpu([*compile_c, "with.c"], folder) - cpu([*compile_c, "without.c"], folder), slow)
        if shutil.which("clang++-22"):
            command = ["clang++-22", "-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942", "-O3",
                       "--cuda-device-only", "--no-gpu-bundle-output", "-c", "app.c", "-o", "app.co"]
            expect("seconds of clang-22 for gfx942", cpu(command, folder), 10 * slow)
            count = kernels(["llvm-readelf-22", "--symbols", folder / "app.co"], r" (\w+\.kd)$")
            expect("kernels in the gfx942 image, less one", abs(count - 1), 0)
        if shutil.which("nvcc"):
            command = ["nvcc", "-arch=sm_90", "-O3", "-x", "cu", "-c", "app.c", "-o", "app.o"]
            expect("seconds of nvcc for sm_90", cpu(command, folder), 10 * slow)
            subprocess.run([*command[:-3], "-ptx", "app.c", "-o", "app.ptx"], cwd=folder, check=True)
            count = kernels(["cat", folder / "app.ptx"], r"\.entry (\w+)")
            expect("kernels in the sm_90 image, less one", abs(count - 1), 0)
    return f"too much: {', '.join(failures)}" if failures else 0


sys.exit(main())
