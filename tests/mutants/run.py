# SPDX-License-Identifier: MIT
"""Shows that the tests notice what they are for: each mutant of the headers must fail its test, and the unchanged
headers must pass it.

    python3 tests/mutants/run.py --generated BUILD/include --work DIR [--part K | --all] [NAME…]

Headers are copied into DIR; nothing else is touched. Exits 0 when every mutant was noticed. The suite tries a tenth of
the tests, with their mutants, for each commit another one, and looks whether the patterns of all mutants still apply.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent.parent))
from mutants import MUTANTS  # noqa: E402
from part import number  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 120  # of one test run; a mutant that hangs was noticed
PARTS = 10  # into which the suite divides the tests
TRIES = 6  # seeds at least until a mutant counts as not noticed: some show themselves only at times
ORDERED = {"arch", "atomic", "channel", "litmus", "ll", "signal"}  # where a compiler's reordering is under test too
PATIENCE = 40000, 900  # a control's: milliseconds of a wait, and SECONDS; it is to pass on a busy machine too


class Mode:
    """Plain, or thread sanitizer with ranks as threads: flags, environment, and what is compiled once."""

    def __init__(self, args, tsan):
        self.args, self.name = args, "tsan" if tsan else "plain"
        self.flags = ["-O1", "-w"] + (["-fsanitize=thread"] if tsan else [])
        self.env = dict(os.environ, IRIS_SPAWN="thread" if tsan else "process", TSAN_OPTIONS="halt_on_error=1")
        self.objects = None

    def compile(self, source, output, include, *more):
        compiler = ["gcc", "-std=c11"] if source.suffix == ".c" else ["g++", "-std=c++17"]
        if not ORDERED & set(source.parts):
            more = ["-O0", *more]  # compiles in a half to a fifth of the time
        command = [*compiler, *self.flags, f"-I{include}", f"-I{ROOT / 'tests'}", str(source), "-o", str(output), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source.relative_to(ROOT)} does not compile:\n{done.stderr[-3000:]}")

    def prepare(self, include):
        """The harness and the library, from unchanged headers."""
        self.objects = [self.args.work / f"{name}.{self.name}.o" for name in ("harness", "init", "session")]
        self.compile(ROOT / "tests/harness.cpp", self.objects[0], include, "-c")
        self.compile(ROOT / "include/iris/init.c", self.objects[1], include, "-c")
        self.compile(ROOT / "tests/session.cpp", self.objects[2], include, "-c", "-O0", "-fno-sanitize=all")

    def build(self, test, folder, library=False):
        """The test's program, from the headers in `folder`; the library too where `library`, whose part they hold."""
        program, objects = folder / (Path(test).stem + "." + self.name), list(self.objects)
        if library:
            objects[1] = folder / "init.o"
            self.compile(ROOT / "include/iris/init.c", objects[1], folder / "include", "-c")
        self.compile(ROOT / "tests" / test, program, folder / "include", *map(str, objects), "-pthread", "-ldl", "-lm")
        return program

    def fails(self, program, mutant, seed, patience, seconds):
        """None when the test passed, else why it did not, and what it said. Waits last `patience` milliseconds."""
        command = [str(program), mutant.case, "--ranks", str(mutant.ranks), "--tier", mutant.tier, "--seed", str(seed)]
        command += ["-c", mutant.section] if mutant.section else []
        try:
            env = dict(self.env, IRIS_TIMEOUT_MS=str(patience))
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as late:
            said = b"".join(part for part in (late.stdout, late.stderr) if part)
            return f"no end within {seconds} s", said.decode("utf-8", "replace")
        text = done.stdout + done.stderr
        if "No test cases matched" in text or "No tests ran" in text:
            raise RuntimeError(f"{mutant.test} has no case '{mutant.case}'")
        if done.returncode == 0:
            return None
        return "data race" if "data race" in text else f"test failed with {done.returncode}", text


def mutated(mutant, include):
    """The text of the mutant's header with its one change, and what is wrong with it."""
    if not (include / mutant.header).is_file():
        return "", f"mutant no longer applies: there is no {mutant.header}"
    text = (include / mutant.header).read_text(encoding="utf-8")
    at = text.index(mutant.after) if text.count(mutant.after) == 1 else 0  # every text has "" more than once
    times = min(text.count(mutant.old, at), 1) if at else text.count(mutant.old)
    if times != 1:
        return text, f"mutant no longer applies: its pattern occurs {times} times in {mutant.header}"
    return text[:at] + text[at:].replace(mutant.old, mutant.new, 1), None


def mutate(mutant, include, folder):
    """A copy of the headers with the mutant's one change."""
    shutil.copytree(include, folder / "include")
    text, wrong = mutated(mutant, include)
    (folder / "include" / mutant.header).write_text(text, encoding="utf-8")
    return wrong


def part_of(mutants, part):
    """The mutants of every tenth test, beginning with test number `part` (part.py), but for those tried seldom."""
    tests = sorted({m.test for m in mutants})
    return [m for m in mutants if not m.seldom and tests.index(m.test) % PARTS == part % PARTS]


def try_mutant(number, mutant, mode, include, work):
    """A line for the report, and whether all is well."""
    folder, start = work / f"mutant{number}", time.monotonic()
    wrong = mutate(mutant, include, folder)
    noticed = None
    if not wrong:
        library = mutant.header.startswith(("iris/runtime/", "iris/arch/host/window.h"))
        program = mode.build(mutant.test, folder, library)
        for seed in range(1, max(mutant.tries, TRIES) + 1):
            noticed = noticed or mode.fails(program, mutant, seed, 10000 if mutant.tsan else mutant.patience, SECONDS)
        wrong = None if noticed else f"not noticed by {mutant.test} ({mode.name})"
    shutil.rmtree(folder)
    verdict = "not ok" if wrong else "ok"
    return f"{verdict}: {mutant.name}: {wrong or noticed[0]}, {time.monotonic() - start:.0f} s", not wrong


def try_control(test, mode, mutants, folder):
    """A line for the report, and whether the unchanged headers pass every case that the mutants are to fail. What a
    program said that failed stands below the line."""
    program = mode.build(test, folder)
    for case, mutant in {m.case: m for m in mutants}.items():
        failure = mode.fails(program, mutant, 1, *PATIENCE)
        if failure:
            why, said = failure
            line = f"not ok: unchanged headers, {test} ({mode.name}): {why} in '{case}'; it said:"
            return "\n    ".join([line, *said.strip().splitlines()[-60:]]), False
    return f"ok: unchanged headers, {test} ({mode.name}): passes", True


def try_all(chosen, modes, control, work):
    """Everything that can go on at the same time does, three at once: some wait for a deadline."""
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda mode: mode.prepare(control / "include"), modes.values()))
        jobs = [pool.submit(try_control, test, modes[tsan], [m for m in chosen if (m.test, m.tsan) == (test, tsan)],
                            control)
                for test, tsan in sorted({(m.test, m.tsan) for m in chosen})]
        jobs += [pool.submit(try_mutant, i, m, modes[m.tsan], control / "include", work) for i, m in enumerate(chosen)]
        return [job.result() for job in jobs]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--generated", type=Path, required=True, help="folder that holds the generated iris/gen")
    p.add_argument("--work", type=Path, required=True, help="scratch folder; emptied first")
    p.add_argument("names", nargs="*", help="only mutants whose name contains one of these")
    p.add_argument("--all", action="store_true", help="all of them, also those that the suite leaves out")
    p.add_argument("--part", type=int, default=None, help="a tenth; default: this commit's (tests/part.py)")
    args = p.parse_args()
    part = number() if args.part is None else args.part
    chosen = MUTANTS if args.all or part is None else part_of(MUTANTS, part)
    if args.names:
        chosen = [m for m in MUTANTS if any(n in m.name for n in args.names)]
    if not chosen:
        sys.exit("mutants: no mutant has such a name")
    args.work = args.work.resolve() / "mutants"
    shutil.rmtree(args.work, ignore_errors=True)
    control = args.work / "control"
    shutil.copytree(ROOT / "include", control / "include")
    shutil.copytree(args.generated / "iris/gen", control / "include/iris/gen", dirs_exist_ok=True)
    stale = {m: wrong for m in MUTANTS for _, wrong in [mutated(m, control / "include")] if wrong}
    chosen = [m for m in chosen if m not in stale]
    modes = {tsan: Mode(args, tsan) for tsan in sorted({m.tsan for m in chosen})}
    try:
        results = [(f"not ok: {m.name}: {wrong}", False) for m, wrong in stale.items()]
        results += try_all(chosen, modes, control, args.work)
    except RuntimeError as why:
        sys.exit(f"mutants: {why}")
    for line, _ in sorted(results, key=lambda result: -result[1]):  # what is wrong last: logs are cut
        print(line)
    shutil.rmtree(args.work)
    failed = sum(not well for _, well in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
