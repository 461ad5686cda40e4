# SPDX-License-Identifier: MIT
"""Command lines of the examples and of ./run: --help starts no rank, builds and installs nothing; what a program does
not know gets one sentence. Arguments: the folder of the build, then the examples."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
# 00_pass_right is the README's first program: it takes no arguments, so that it stays as short as a first program is.
EXAMPLES = [pathlib.Path(p).resolve() for p in sys.argv[2:] if "00_pass_right" not in p]
DEMO = next(e for e in EXAMPLES if e.name.startswith("07_"))
LAYERS = [e for e in EXAMPLES if (ROOT / "examples" / e.name / "main.c").read_text(encoding="utf-8").count("layer.h")]
PATTERNED = [e for e in LAYERS if e.name[:2] in ("08", "14", "22")]
PLANES = [e for e in EXAMPLES if (ROOT / "examples" / e.name / "main.c").read_text(encoding="utf-8").count("plane.h")]
MODELS = [e for e in EXAMPLES if (ROOT / "examples" / e.name / "main.c").read_text(encoding="utf-8").count("model.h")]
SMALL = ["-n", "2", "-s", "32x16x16", "-r", "1", "-p", "fused_sequential"]


def call(*command, cwd=ROOT, **env):
    return subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=240)


class Examples(unittest.TestCase):
    def test_help_is_printed_and_no_rank_starts(self):
        for example in EXAMPLES:
            said = call(example, "--help")
            self.assertEqual((said.returncode, said.stderr), (0, ""), example.name)
            self.assertGreater(len(said.stdout), 40, example.name)
            self.assertNotIn("platform:", said.stdout)

    def refused(self, *command):
        """The one line in which a command is refused."""
        said = call(*command)
        lines = (said.stdout + said.stderr).strip().split("\n")
        self.assertEqual((said.returncode, len(lines)), (2, 1), (command, lines))
        return lines[0]

    def test_what_is_unknown_gets_one_sentence(self):
        for example in EXAMPLES:
            for arguments in (["--nonsense"], ["2x"], ["0"], ["-3"], ["65"], ["2", "3"], [""],
                              ["99999999999999999999"]):
                self.refused(example, *arguments)

    def test_the_program_in_python_says_what_it_takes(self):
        average = sys.executable, "-B", ROOT / "examples/53_torch/average.py"
        self.assertIn("average.py LIBRARY [RANKS]", call(*average, "--help").stdout)
        for arguments, good in (([], "0 arguments"), (["x", "2", "3"], "3 arguments"), (["x", "65"], "from 1 to 64"),
                                (["x", "2x"], "from 1 to 64"), (["nowhere"], "'nowhere' is no library"),
                                (["libc.so.6"], "'libc.so.6' is no library")):
            self.assertIn(good, self.refused(*average, *arguments))

    def test_demo_says_what_an_option_takes(self):
        for arguments, good in ((["-n", "0"], "1 to 8"), (["--ranks", "9"], "1 to 8"), (["-r", "0"], "1 to 1000"),
                                (["-s", "12x"], "MxNxK"), (["-d", "i8"], "f32, f64, f16 or bf16"),
                                (["-p", "best"], "a pattern's name"), (["-j", ""], "the name of a file")):
            self.assertIn(good, self.refused(DEMO, *arguments))
        self.assertIn("cannot write /nonexistent/rows.json: ", self.refused(DEMO, "-j", "/nonexistent/rows.json"))

    def test_layers_say_what_an_option_takes(self):
        self.assertEqual(len(LAYERS), 5)
        for layer in LAYERS:
            for arguments, good in ((["9"], "ranks from 1 to 8"), (["-s", "12x3"], "MxNxK"), (["-s", "1x2x0"], "MxNxK"),
                                    (["-d", "i8"], "f32 or bf16"), (["--seed", "-1"], "a number from 1")):
                self.assertIn(good, self.refused(layer, *arguments))
            said = self.refused(layer, "--workgroups", "0")
            self.assertIn("1 to 1024" if "beside" in layer.name else "does not have", said)
            said = self.refused(layer, "--pattern", "atomic")
            self.assertIn("auto or a pattern's name" if layer in PATTERNED else "does not have", said)

    def test_layers_are_right_on_any_ranks_for_any_shape(self):
        for layer in LAYERS:
            for ranks in range(1, 9):  # fewer rows, columns or terms than ranks among them; a sample of many rows
                for shape, dtype in (("1x1x1", "f32"), ("5x37x3", "bf16"), ("301x40x70", "f32")):
                    said = call(layer, "-s", shape, "-d", dtype, "--seed", ranks, ranks)
                    self.assertEqual((said.returncode, said.stderr), (0, ""), (layer.name, ranks, shape, dtype))
                    self.assertIn(f"right on {ranks} ranks; largest error: ", said.stdout)

    def test_layers_are_right_in_any_pattern(self):
        for layer in PATTERNED:
            names = re.findall(r"\b(?:auto|\w+_(?:synchronous|consumer|sequential|specialized))\b",
                               call(layer, "--help").stdout)
            self.assertEqual(len(names), 6, names)
            for pattern in names:
                said = call(layer, "-p", pattern, "-d", "bf16", 3)
                self.assertEqual((said.returncode, said.stderr), (0, ""), (layer.name, pattern))
                self.assertIn("right on 3 ranks; largest error: ", said.stdout)

    def test_planes_say_what_an_option_takes(self):
        self.assertEqual(len(PLANES), 2)
        for plane, own in zip(PLANES, ("--steps", "--tile")):
            for arguments, good in ((["9"], "ranks from 1 to 8"), (["-s", "12"], "RxC"), (["-s", "3x0"], "RxC"),
                                    ([own, "0"], "the range"), (["--seed", "-1"], "a number from 1")):
                self.assertIn(good, self.refused(plane, *arguments))
        self.assertIn("no block for each of 4 ranks", self.refused(PLANES[0], "-s", "1x3", "4"))

    def test_planes_are_right_on_any_ranks_for_any_shape(self):
        jacobi, align = PLANES
        for ranks in range(1, 9):  # blocks of one element, and bands without columns
            for command in ((jacobi, "-s", "8x9", "--steps", "9"), (align, "-s", "37x5", "--tile", "7")):
                said = call(*command, "--seed", ranks, ranks)
                self.assertEqual((said.returncode, said.stderr), (0, ""), (command, ranks, said.stdout))

    def test_models_say_what_an_option_takes(self):
        decode, experts, ring = MODELS
        for example, arguments, good in (
                (decode, ["--length", "0"], "a number from 1 to 16777216"), (decode, ["--batch", "65"], "from 1 to 64"),
                (decode, ["--heads", "9", "--cache-heads", "1"], "1 to 8 times"), (decode, ["--heads", "5"], "times"),
                (experts, ["--experts", "1"], "from 2 to 256"), (experts, ["--width", "12"], "multiples of 8"),
                (experts, ["--inner", "x"], "from 8 to 32768"), (experts, ["9"], "ranks from 1 to 8"),
                (ring, ["--heads", "257"], "a number from 1 to 256")):
            self.assertIn(good, self.refused(example, *arguments))

    def test_models_are_right_on_any_ranks_for_any_shape(self):
        decode, experts, ring = MODELS
        for ranks in (1, 3, 8):  # ranks without tokens, experts or pages among them; several chunks of a split
            for command, right in (
                    ((decode, "--length", "1", "--batch", "2", "--steps", "20"), r"different bits on 0 ranks"),
                    ((decode, "--length", "700", "--heads", "9", "--cache-heads", "3", "--splits", "1", "--steps", "2",
                      "--time"), r"us a step; \d+ GB/s"),
                    ((decode, "--length", "333", "--heads", "1", "--cache-heads", "1", "--splits", "128"),
                     "on 0 ranks"),
                    ((experts, "--tokens", "1", "--experts", "2", "--width", "8", "--inner", "8"), "are right"),
                    ((experts, "--tokens", "30", "--experts", "256", "--inner", "40", "--time"), "us a launch"),
                    ((ring, "--tokens", "5", "--heads", "3", "--launches", "20"), "launch 20: right"),
                    ((ring, "--tokens", "700", "--full", "--time"), "us a launch")):
                said = call(*command, "--seed", ranks, ranks)
                self.assertEqual((said.returncode, said.stderr), (0, ""), (command, ranks, said.stdout))
                self.assertRegex(said.stdout, right)

    def test_demo_explains_its_columns_and_shows_what_it_compares_with(self):
        said = call(DEMO, *SMALL)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"M x N x K +pattern +ms +GFLOP/s +exposed +max error +err/bound\n")
        for column in ("ms  ", "exposed  ", "max error  ", "err/bound  "):
            self.assertRegex(said.stdout, f"(?m)^{column}")
        alone, = re.findall(r"\(GEMM alone\) +([\d.]+)", said.stdout)
        ms, exposed = re.findall(r"fused_sequential +([\d.]+) +[\d.]+ +(-?[\d.]+)", said.stdout)[0]
        self.assertAlmostEqual(float(ms) - float(alone), float(exposed), delta=0.002)


class Run(unittest.TestCase):
    def test_help_needs_no_build(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (["demo", "--help"], ["demo", "-n", "2", "-h"], ["test", "--help"], ["help"], []):
                said = call(ROOT / "run", *arguments, IRIS_BUILD=f"{folder}/build")
                self.assertEqual((said.returncode, said.stderr, os.listdir(folder)), (0, "", []), arguments)
        self.assertEqual(call(ROOT / "run", "demo", "--help").stdout, call(DEMO, "--help").stdout)

    def test_mistakes_are_told_before_anything_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, says in ((["test", "smoke", "smok"], "no suite 'smok'"),
                                    (["dmeo"], "'dmeo' is not a command")):
                said = call(ROOT / "run", *arguments, IRIS_BUILD=f"{folder}/build")
                self.assertEqual((said.returncode, said.stdout, os.listdir(folder)), (1, "", []), arguments)
                self.assertIn(says, said.stderr)

    def test_says_first_how_long_the_tests_take(self):
        with tempfile.TemporaryDirectory() as folder:
            meson = pathlib.Path(folder, "meson")
            meson.write_text("#!/bin/sh\necho \"meson $*\" >&2\n", encoding="utf-8")
            meson.chmod(0o755)
            pathlib.Path(folder, "build.ninja").touch()
            for suites, part in (([], ""), (["smoke"], "a part of ")):
                said = call(ROOT / "run", "test", *suites, IRIS_BUILD=folder, PATH=f"{folder}:{os.environ['PATH']}")
                self.assertRegex(said.stderr, rf"^run: {part}the test suite: about \d+ minutes on two cores.*\n"
                                              "meson test ")

    def test_every_suite_is_listed(self):
        listed = re.search(r'^suites="(.*)"', (ROOT / "run").read_text(encoding="utf-8"), re.M)[1].split()
        used = set()
        for file in ROOT.glob("*/**/meson.build"):
            if file.relative_to(ROOT).parts[0] in ("tests", "examples", "bench", "docs"):
                for suite in re.findall(r"suite: ([^\n]*)", file.read_text(encoding="utf-8")):
                    used.update(re.findall(r"'(\w+)'", suite))
        left_out = {"addresses", "large", "threads", "waits"}  # not for users: what a sanitizer of .ci/run leaves out
        self.assertEqual(set(listed), used - left_out | {"full"})
        self.assertIn(" ".join(listed), call(ROOT / "run", "help").stdout)

    def test_names_of_files_count_from_the_caller_s_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            said = call(ROOT / "run", "demo", *SMALL, "--json", "rows.json", cwd=folder, IRIS_BUILD=BUILD)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            rows = json.loads(pathlib.Path(folder, "rows.json").read_text(encoding="utf-8"))["rows"]
            self.assertEqual([(r["m"], r["pattern"], r["ok"]) for r in rows], [(32, "fused_sequential", True)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
