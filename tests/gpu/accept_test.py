# SPDX-License-Identifier: MIT
"""accept.py with shell scripts in the place of programs: what has passed is not run again, until its program changes or
--again asks for it; what failed is; verdicts of earlier calls are in the results; what there was no time for is
told; what should have been built and is not there has failed."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ACCEPT = Path(__file__).resolve().parent / "accept.py"
TIERS = "for t in smoke full smoke smoke; do echo \"tier $t: ok\"; done"


def program(build, name, text):
    (build / name).write_text(f"#!/bin/sh\necho {name} >>\"$0.ran\"\n{text}\n", encoding="utf-8")
    (build / name).chmod(0o755)


def accept(build, *options):
    """Exit status, last line, how often each program ran, and the results."""
    for old in build.glob("*.ran"):
        old.unlink()
    env = {**os.environ, "IRIS_GPU_BUILD": str(build), "OUT": str(build / "logs"), "IRIS_GPU_ARCH": "sm_90a"}
    done = subprocess.run([sys.executable, "-B", ACCEPT, "--gpus", "2", "--skip", "sanitizers", *options], env=env,
                          capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    ran = {p.name.removesuffix(".ran"): len(p.read_text(encoding="utf-8").split()) for p in build.glob("*.ran")}
    results = json.loads((build / "logs/results.json").read_text(encoding="utf-8"))["runs"]
    return done.returncode, done.stdout.splitlines()[-1], ran, {(r["topology"], r["test"]): r["verdict"]
                                                                for r in results}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        build = Path(scratch)
        program(build, "test_good", TIERS)
        program(build, "test_bad", f"{TIERS}\nexit 1")
        program(build, "example_one", "true")
        rc, last, ran, _ = accept(build)
        assert (rc, last) == (1, "4 passed, 2 failed, 0 not run"), last
        assert ran == {"test_good": 2, "test_bad": 2, "example_one": 2}, ran
        program(build, "test_bad", TIERS)
        rc, last, ran, verdicts = accept(build)
        assert (rc, last, ran) == (0, "6 passed, 0 failed, 0 not run", {"test_bad": 2}), (last, ran)
        assert verdicts["2gpu", "good"] == "ok", verdicts
        program(build, "example_one", "sleep 0")
        assert accept(build)[2] == {"example_one": 2}, "a program that has changed is as good as the one before"
        assert accept(build, "--again", "--only", "1gpu")[2] == {"test_good": 1, "test_bad": 1, "example_one": 1}
        program(build, "test_new", TIERS)
        rc, last, ran, verdicts = accept(build, "--budget", "1")
        assert (rc, last, ran) == (1, "6 passed, 0 failed, 2 not run", {}), (last, ran)
        assert verdicts["1gpu", "new"].startswith("not run"), verdicts
        (build / "test_new").unlink()
        (build / "programs").write_text("bench_x\nexample_one\ntest_bad\ntest_good\n", encoding="utf-8")
        assert accept(build)[1] == "6 passed, 0 failed, 0 not run"
        (build / "test_good").unlink()
        rc, last, ran, verdicts = accept(build)
        assert (rc, last, ran) == (1, "4 passed, 2 failed, 0 not run", {}), (last, ran)
        assert verdicts["1gpu", "good"] == "not built", verdicts


main()
