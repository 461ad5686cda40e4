# SPDX-License-Identifier: MIT
"""A control that fails says what its program said, and a busy machine's control has time (run.py)."""
import pathlib
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402


class Control(unittest.TestCase):
    def control(self, script):
        """What try_control reports of a program that is a shell script."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
            program.chmod(0o755)
            mode = run.Mode(types.SimpleNamespace(work=pathlib.Path(folder)), False)
            mode.build = lambda test, where: program
            case = run.MUTANTS[0]
            return run.try_control(case.test, mode, [case], pathlib.Path(folder))

    def test_repeats_what_a_failing_program_said(self):
        line, well = self.control("echo one rank is late; echo to stderr >&2; exit 3\n")
        self.assertFalse(well)
        for part in ("test failed with 3", run.MUTANTS[0].case, "one rank is late", "to stderr"):
            self.assertIn(part, line)

    def test_passes_with_the_program(self):
        self.assertEqual(self.control("exit 0\n"),
                         (f"ok: unchanged headers, {run.MUTANTS[0].test} (plain): passes", True))

    def test_has_four_times_the_time_of_a_wait(self):
        line, _ = self.control("echo $IRIS_TIMEOUT_MS ms; exit 1\n")
        self.assertIn("40000 ms", line)


unittest.main()
