# SPDX-License-Identifier: MIT
"""build.py with a stand-in for nvcc that notes what it is asked: no GPU and no CUDA are needed.

The kernels of an operation and type are compiled once, whoever asks for them, and are begun before everything else;
what has not changed is not compiled again, however new its file is; what has changed is, and nothing besides. A
program that does not compile is not there afterwards, and is on the list of those that should be.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """#!/usr/bin/env python3
import sys
words = sys.argv[1:]
out = words[words.index("-o") + 1]
if "-c" in words and "does not compile" in open(words[words.index("-c") + 1]).read():
    sys.exit(1)
open(out, "w").close()
if "-c" in words:
    source = words[words.index("-c") + 1]
    needs = [source]
    needs += ["bench/gemm_inputs.h"] if source.startswith(("bench/gemm", "bench/iris_tune")) else []
    needs += ["include/iris/init.h"] if "init.c" in source else []
    with open(words[words.index("-MF") + 1], "w") as d:
        d.write(out + ": " + " ".join(needs) + "\\n")
    with open("../asked", "a") as f:
        f.write(" ".join(words) + "\\n")
"""
ASKED = re.compile(r"-DIRIS_INSTANTIATE_GEMM_([A-Z0-9]+(?:_[A-Z0-9]+)*)")
PATTERN = "gemm/|gemm_local|iris_tune|self_test|trace/"


def build(tree, path, rc=0):
    """The objects that were made by a build, which ends with this status."""
    asked = tree / "build-gpu/asked"
    asked.unlink(missing_ok=True)
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "IRIS_GPU_BUILD": "build-gpu", "IRIS_GPU_JOBS": "1",
           "IRIS_GPU_ARCH": "sm_90a"}
    done = subprocess.run([sys.executable, "-B", tree / "tests/gpu/build.py", PATTERN], env=env, capture_output=True,
                          text=True, check=False)
    assert done.returncode == rc, done.stdout + done.stderr
    return asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []


def main():
    if not shutil.which("ninja"):
        print("skipped: ninja is not here")
        return
    with tempfile.TemporaryDirectory() as scratch:
        tree, path = Path(scratch, "tree"), Path(scratch, "bin")
        for folder in ("include", "tests", "examples", "bench", "gen", "templates"):
            shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "results"))
        path.mkdir()
        (path / "nvcc").write_text(STAND_IN, encoding="utf-8")
        (path / "nvcc").chmod(0o755)
        first = build(tree, path)
        asked = [t for line in first for t in ASKED.findall(line)]
        assert len(asked) == len(set(asked)), asked
        assert {"ALL_SCATTER_F16", "ALL_SCATTER_F64", "REDUCE_SCATTER_BF16", "ALL_GATHER_I8_I32"} <= set(asked), asked
        assert all(x.endswith("_BF16") for x in ASKED.findall(first[0])), "what takes longest is not first: " + first[0]
        for line in first:  # a source that asks for kernels has read the header before
            source = tree / line.split(" -c ")[1].split()[0]
            text = source.read_text(encoding="utf-8") if source.is_file() else ""
            own = "#define IRIS_TRACE" in text or "#define IRIS_GEMM_ALL_PATTERNS" not in text
            for op in ("all_scatter", "reduce_scatter", "all_reduce", "all_gather"):
                if f"#define IRIS_INSTANTIATE_GEMM_{op.upper()}_" in text:
                    assert (f"-include iris/gen/launch/gemm_{op}.h" in line) != own, line
        for folder in ("include", "tests", "examples", "bench"):
            for old in (tree / folder).rglob("*.[ch]*"):
                old.touch()
        (tree / "build-gpu/test_gone").touch()
        again = build(tree, path)
        assert not again, "compiled though nothing has changed: " + "\n".join(again)
        assert not (tree / "build-gpu/test_gone").exists(), "a program without a source is still there"
        source, made = tree / "bench/gemm_local.c", tree / "build-gpu"
        whole = source.read_text(encoding="utf-8")
        with open(tree / "bench/gemm_inputs.h", "a", encoding="utf-8") as header:
            header.write("/* another */\n")
        source.write_text(whole + "/* does not compile */\n", encoding="utf-8")
        assert (made / "bench_gemm_local").exists()
        changed = [line.split(" -c ")[1].split()[0] for line in build(tree, path, rc=1)]
        assert changed == ["bench/iris_tune.c"], changed
        assert (made / "bench_iris_tune").exists(), "a program that compiles is not there"
        assert not (made / "bench_gemm_local").exists(), "the old one of a program that does not compile is still there"
        assert "bench_gemm_local" in (made / "programs").read_text(encoding="utf-8").split()
        source.write_text(whole, encoding="utf-8")
        changed = [line.split(" -c ")[1].split()[0] for line in build(tree, path)]
        assert changed == ["bench/gemm_local.c"] and (made / "bench_gemm_local").exists(), changed


main()
