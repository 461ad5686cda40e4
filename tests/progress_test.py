# SPDX-License-Identifier: MIT
"""progress.py on a terminal and elsewhere: a stand-in for Meson builds, tests, and fails."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import progress  # noqa: E402

MESON = """
import sys, time
print("The build system says so", flush=True)
for i in range(1, 4):
    print(f"[{i}/3] Compiling part {i}", flush=True)
print(" 1/10 smoke - iris:channel, 2 ranks, smoke   OK              0.50s", flush=True)
time.sleep(2.5)
print(" 2/10 smoke - iris:launch, 2 ranks, smoke    FAIL            1.50s", flush=True)
sys.exit(3)
"""
LINES = ["The build system says so", "[1/3] Compiling part 1", "[2/3] Compiling part 2", "[3/3] Compiling part 3",
         " 1/10 smoke - iris:channel, 2 ranks, smoke   OK              0.50s",
         " 2/10 smoke - iris:launch, 2 ranks, smoke    FAIL            1.50s"]


def texts():
    """The line by what was read, at a pace that is set here."""
    p = progress.Progress()
    assert p.text(["ninja"]) == "ninja"
    assert p.read("[30/120] Compiling C object a.o\n")
    p.began -= 10
    assert p.text([]).startswith("30 of 120 steps of the build, about 30 s left: Compiling C object a.o"), p.text([])
    assert not p.read("  2/25 iris:gemm/choice, 1 ranks, smoke        OK              4.25s\n")
    assert p.text(["wait"]) == "2 of 25 tests: wait", p.text([])  # too few to tell
    assert not p.read("  5/25 iris:gemm/choice, 3 ranks, smoke        OK              4.25s\n")
    p.began -= 100
    assert p.text(["gemm_choice", "wait"]) == "5 of 25 tests, about 7 min left: gemm_choice, wait", p.text([])
    assert not p.read("Ok:                 25\n") and p.done == 5
    assert [progress.duration(s) for s in (0, 99, 100, 3599, 3600, 5400)] == \
        ["0 s", "99 s", "2 min", "1 h 0 min", "1 h 0 min", "1 h 30 min"]
    assert progress.name_of(["/b/tests/channel_channel", "--ranks", "2"]) == "channel_channel --ranks 2"
    assert progress.name_of(["/usr/bin/python3", "-B", "/t/style/check.py", "/build"]) == "check.py"


def piped(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout.splitlines() == LINES, (done.returncode, done.stdout, done.stderr)


def on_a_terminal(command):
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    text = said.decode("utf-8")
    assert child.returncode == 3, (child.returncode, text)
    assert LINES[-1] in text and LINES[-2] in text and "1 of 10 tests, about " in text, text


def main():
    texts()
    with tempfile.TemporaryDirectory() as folder:
        meson = pathlib.Path(folder, "meson.py")
        meson.write_text(MESON, encoding="utf-8")
        command = [sys.executable, "-B", str(HERE / "progress.py"), sys.executable, "-B", str(meson)]
        piped(command)
        on_a_terminal(command)


main()
