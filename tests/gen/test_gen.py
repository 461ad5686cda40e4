# SPDX-License-Identifier: MIT
"""The generator: what it makes is known, the same every time and in the house format, and each mistake in the table
fails with a sentence. `python3 tests/gen/test_gen.py --update-goldens` rewrites golden/ after a wanted change."""
import dataclasses
import difflib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from pace import slowness  # noqa: E402
from gen import check, gemm, registry, render, single  # noqa: E402

GOLDEN = ROOT / "tests/gen/golden"
GOLDEN_DTYPES = [d for d in registry.DTYPES if d.name in ("i32", "u32", "bf16")]  # enough to see a template's loops
GOLDEN_OUTPUTS = ("load_store.h", "put_signal.h", "atomic.h", "arch/atomic_host.h")


def goldens():
    rows = [r for r in registry.TEMPLATES if r.output in GOLDEN_OUTPUTS]
    files, failures = render.render_all(rows, GOLDEN_DTYPES)
    assert not failures, failures
    return files


def gen(*args, **env):
    return subprocess.run([sys.executable, "-B", "-m", "gen", *args], cwd=ROOT, env={**os.environ, **env},
                          capture_output=True, text=True)


class Output(unittest.TestCase):
    def test_equals_the_goldens(self):
        for name, text in goldens().items():
            path = GOLDEN / name
            self.assertTrue(path.exists(), f"no golden for {name}: run this file with --update-goldens")
            self.assertEqual(path.read_text(encoding="utf-8"), text, f"{name} changed: --update-goldens if wanted")

    def test_is_the_same_on_every_run_and_takes_less_than_3_seconds(self):  # more on a slower machine
        with tempfile.TemporaryDirectory() as folder:
            trees = []
            for seed in ("1", "2"):
                out = pathlib.Path(folder, seed)
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                run = gen("--out", str(out), PYTHONHASHSEED=seed)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                                3 * slowness())
                trees.append({f.relative_to(out): f.read_bytes() for f in out.rglob("*.h")})
            self.assertEqual(*trees)
            self.assertEqual({str(f) for f in trees[0]}, {r.output for r in registry.TEMPLATES})

    def test_is_written_only_where_it_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            gen("--out", folder)
            file = pathlib.Path(folder, "load_store.h")
            os.utime(file, (1, 1))
            gen("--out", folder)
            self.assertEqual(file.stat().st_mtime, 1)

    def test_is_clean_and_says_where_it_comes_from(self):
        files, failures = render.render_all(registry.TEMPLATES)
        self.assertEqual(failures, [])
        rows = {r.output: r for r in registry.TEMPLATES}
        for name, text in files.items():
            with self.subTest(name):
                self.assertNotRegex(text, r"[ \t]\n|\n\n\n|\t|[{%]{2}")
                self.assertTrue(text.startswith("/* SPDX-License-Identifier: MIT */\n/*\n"))
                self.assertIn(f"Generated from templates/{rows[name].path};", text)
                self.assertNotIn(str(ROOT), text)

    def test_reads_as_clang_format_would_leave_it(self):
        tool = shutil.which("clang-format")
        if not tool:
            self.skipTest("clang-format is not installed")
        changed = total = 0
        some = [d for d in registry.DTYPES if d.name in ("i8", "i32", "u32", "u64", "bf16", "f32")]  # every template
        for text in render.render_all(registry.TEMPLATES, some)[0].values():
            formatted = subprocess.run([tool, f"--style=file:{ROOT}/.clang-format", "--assume-filename=a.h"],
                                       input=text, capture_output=True, text=True, check=True).stdout
            diff = difflib.unified_diff(text.splitlines(), formatted.splitlines(), n=0)
            changed += sum(line.startswith("-") for line in diff)
            total += text.count("\n")
        self.assertLess(changed / total, 0.035, "lines that clang-format would change")  # versions differ a little


class Built(unittest.TestCase):
    """What Meson and ninja know of the generator."""

    def test_names_of_odd_folders_reach_ninja_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = pathlib.Path(folder, "of $2 #1")
            for part in ("gen", "templates"):
                shutil.copytree(ROOT / part, odd / part, ignore=shutil.ignore_patterns("__pycache__"))
            subprocess.run([sys.executable, "-B", odd / "gen/__main__.py", "--out", odd, "--folder", "launch",
                            "--depfile", odd / "made.d"], check=True)
            target, *inputs = re.split(r"(?<!\\) ", (odd / "made.d").read_text(encoding="utf-8").strip())
            plain = {re.sub(r"\\([ #])", r"\1", name).replace("$$", "$") for name in inputs}
            self.assertEqual(target[-1:], ":")
            self.assertIn(str(odd / "gen/registry.py"), plain)
            self.assertEqual([name for name in plain if not pathlib.Path(name).is_file()], [])

    def test_every_table_that_outputs_come_from_configures_again(self):
        watched = re.search(r"^foreach table : \[(.*)\]$", (ROOT / "meson.build").read_text(encoding="utf-8"), re.M)[1]
        tables = re.findall(r"^from \.(\w+) import", (ROOT / "gen/registry.py").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(re.findall(r"\w+", watched)), sorted([*tables, "registry"]))


class Single(unittest.TestCase):
    """--single writes over files of its own alone."""

    def refused(self, path, sentence):
        self.assertIn(sentence, "\n".join(single.obstacles(pathlib.Path(path))))

    def test_leaves_files_of_others_alone(self):
        for name in ("init.c", "init.h", "iris.h"):
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, name)
                file.write_text("#include <iris/init.h>\n", encoding="utf-8")
                self.refused(f"{folder}/iris.h", f"{name} exists and is not Iris' own")
                if name == "init.c":
                    asked = gen("--single", f"{folder}/iris.h")
                    self.assertEqual((asked.returncode, asked.stdout), (1, ""))
                    self.assertRegex(asked.stderr, r"^gen: .*choose another folder\.\n$")
                self.assertEqual([f.read_text(encoding="utf-8") for f in pathlib.Path(folder).iterdir()],
                                 ["#include <iris/init.h>\n"])

    def test_refuses_names_that_cannot_be(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused(folder, f"{folder} is a folder")
            self.refused(f"{folder}/init.h", "choose another name")
        self.refused(ROOT / "include/iris.h", "choose another folder")

    def test_knows_its_own(self):
        own = {"init.c": "include/iris/init.c", "init.h": "templates/_init.h.j2", "iris.h": "templates/_single.h.j2"}
        with tempfile.TemporaryDirectory() as folder:
            for name, source in own.items():
                shutil.copy(ROOT / source, f"{folder}/{name}")
            self.assertEqual(list(single.obstacles(pathlib.Path(folder, "iris.h"))), [])


class Launchers(unittest.TestCase):
    """Who forgot a launcher's macro reads its name in the linker's words: the symbol holds it."""
    PROTOTYPE = re.compile(r"^iris_status (iris_\w+)\([^;{]*?\)(?:\s*IRISI_NEEDS\((\w+),\s*(\w+)\))?;", re.M)

    def test_name_the_macro_that_makes_them(self):
        with tempfile.TemporaryDirectory() as folder:
            gen("--out", folder + "/iris/gen")
            headers = sorted(pathlib.Path(folder, "iris/gen/launch").glob("*.h"))
            self.assertGreater(len(headers), 8)
            for header in headers:
                text = header.read_text(encoding="utf-8")
                needs = self.PROTOTYPE.findall(text)
                self.assertTrue(needs, header.name)
                for function, name, macro in needs:
                    self.assertEqual(function, name, f"{header.name}: the prototype needs nothing, or another's")
                for function, name, macro in (needs[0], needs[1 % len(needs)], needs[-1]):
                    made = subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", f"-D{macro}", f"-I{ROOT}/include",
                                           f"-I{folder}", "-x", "c", header], capture_output=True, text=True,
                                           check=True)
                    self.assertRegex(made.stdout, rf"iris_status {function}\([^;{{]*\)\s*{{",
                                     f"{macro} does not make it")

    def test_missing_at_link_time_are_told_of_their_macro(self):
        with tempfile.TemporaryDirectory() as folder:
            gen("--out", folder + "/iris/gen")
            source = pathlib.Path(folder, "main.c")
            source.write_text("#include <iris/iris.h>\n#include <iris/init.h>\n"
                              "#include <iris/gen/launch/all_reduce.h>\n"
                              "#include <iris/gen/launch/gemm_all_scatter.h>\nvoid *both[] = {\n"
                              "(void *)iris_all_reduce_sum_f32, (void *)iris_gemm_all_scatter_bf16};\n"
                              "int main(void) { return both[0] == both[1]; }\n", encoding="utf-8")
            linked = subprocess.run([os.environ.get("CC", "cc"), f"-I{ROOT}/include", f"-I{folder}", source,
                                     ROOT / "include/iris/init.c", "-pthread", "-lm", "-o", f"{folder}/main"],
                                    capture_output=True, text=True)
            self.assertNotEqual(linked.returncode, 0)
            self.assertIn("iris_all_reduce_sum_f32__needs_IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32", linked.stderr)
            self.assertIn("iris_gemm_all_scatter_bf16__needs_IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16", linked.stderr)


class Operations(unittest.TestCase):
    """Patterns know operations by their properties (gen/gemm_ops.h) alone: another one needs no other pattern."""

    def test_no_template_names_one(self):
        names = re.compile("|".join(op.name for op in gemm.GEMM_OPS), re.IGNORECASE)
        templates = sorted((ROOT / "templates/gemm").iterdir()) + sorted((ROOT / "templates/mainloop").iterdir())
        self.assertGreater(len(templates), 20)
        self.assertEqual([t.name for t in templates if names.search(t.read_text(encoding="utf-8"))], [])


class Mainloop(unittest.TestCase):
    maxDiff = None
    """A new mainloop is one row: numbers, properties, kernels, probe and launchers follow
    (docs/adding-a-variant.md)."""

    def test_made_up_one_is_a_row_and_a_header(self):
        star = gemm.GemmLoop("STAR", "a made-up one", "gemm_star", "a made-up mainloop", ("f32",), "_star",
                             chosen=("fused_sequential",), unaligned_a=True)
        more = dict(gemm_loops=gemm.GEMM_LOOPS + (star,),
                    gemm_kernels=gemm.GEMM_KERNELS + (gemm.gemm_kernel(star, gemm.gemm_type("f32")),))
        rows = tuple(dataclasses.replace(r, rows={**r.rows, **more}) if "gemm_loops" in r.rows else r
                     for r in registry.TEMPLATES)
        files, failures = render.render_all(rows)
        self.assertEqual(failures, [])
        with tempfile.TemporaryDirectory() as folder:
            render.write_changed(files, folder + "/iris/gen")
            made = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", f"-I{ROOT}/include", f"-I{folder}",
                                   ROOT / "tests/gen/mainloop/star.c", "-pthread", "-lm", "-o", f"{folder}/star"],
                                  capture_output=True, text=True)
            self.assertEqual((made.returncode, made.stderr[:2000]), (0, ""))
            ran = subprocess.run([f"{folder}/star"], capture_output=True, text=True, timeout=60 * slowness())
            self.assertEqual((ran.returncode, ran.stdout), (0, "ok\n"), ran.stderr)


class Table(unittest.TestCase):
    rows = registry.TEMPLATES

    def problems(self, rows):
        return "\n".join(check.problems(tuple(rows)))

    def replaced(self, **fields):
        return (dataclasses.replace(self.rows[0], **fields), *self.rows[1:])

    def test_holds(self):
        self.assertEqual(self.problems(self.rows), "")

    def test_template_without_row_fails(self):
        self.assertIn(f"templates/{self.rows[0].path} has no row", self.problems(self.rows[1:]))

    def test_output_without_template_fails(self):
        self.assertIn(f"output {self.rows[0].output} has no template: templates/none.h.j2", self.problems(
            self.replaced(path="none.h.j2")))

    def test_row_without_test_fails(self):
        for tests in ("", "tests/none.cpp"):
            self.assertIn(f"output {self.rows[0].output} has no test", self.problems(self.replaced(tests=tests)))
        self.assertIn("names neither it nor one of its functions", self.problems(
            self.replaced(tests="tests/gen/meson.build")))
        self.assertIn("tests/meson.build has no row", self.problems(self.replaced(tests="tests/gen/test_gen.py")))

    def test_two_rows_of_one_output_fail(self):
        self.assertIn("outputs need different names", self.problems(self.rows + self.rows[:1]))

    def test_include_of_a_header_that_no_row_makes_fails(self):
        self.assertIn("which no row of gen/registry.py makes", self.problems(
            r for r in self.rows if r.output != "load_store.h"))

    def test_failures_leave_with_1_and_misspelt_names_are_refused(self):
        self.assertEqual(gen("--check").returncode, 0)
        run = gen("--single", "iris.h", "--dtypes", "f31")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("f31", run.stderr)

    def test_unknown_variable_fails_with_the_template_s_name(self):
        broken = dataclasses.replace(next(r for r in self.rows if r.rows), rows={})
        files, failures = render.render_all([broken])
        self.assertEqual(files, {})
        self.assertIn(f"templates/{broken.path} does not render", failures[0])

    def test_command_line_that_asks_for_nothing_is_refused(self):
        for options in ([], ["--platforms", "host"], ["--folder", "launch"], ["--depfile", "made.d"]):
            asked = gen(*options)
            self.assertEqual((asked.returncode, asked.stdout), (2, ""), options)
            self.assertIn("nothing to do: give --out", asked.stderr)
        for options in (["--outputs", "lunch"], ["--out", "made", "--folder", "lunch"]):
            asked = gen(*options)
            self.assertEqual((asked.returncode, asked.stdout), (2, ""), options)
            self.assertIn("no output in a folder 'lunch'", asked.stderr)
        self.assertEqual(gen("--help").returncode, 0)

    def test_parts_of_no_single_header_are_refused(self):
        for option, value in (("--platforms", "host"), ("--dtypes", "f32"), ("--families", "op"), ("--preset", "gemm")):
            asked = gen("--out", "made", option, value)
            self.assertEqual((asked.returncode, asked.stdout), (2, ""), option)
            self.assertIn(f"{option} says what --single leaves out, and --single is not given", asked.stderr)

    def test_missing_jinja2_is_named_with_its_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "jinja2.py").write_text(
                "raise ModuleNotFoundError('not here', name='jinja2')", encoding="utf-8")
            asked = gen("--list", PYTHONPATH=folder)
        self.assertEqual(asked.returncode, 1)
        self.assertRegex(asked.stderr, r"^gen: .*pip install jinja2.*python3-jinja2\.\n$")

    def test_reader_that_leaves_early_ends_the_list_without_a_traceback(self):
        for options in (["--list"], ["--list", "json"], ["--help"]):
            wanted, given = os.pipe()
            os.close(wanted)  # whoever writes there gets SIGPIPE, as with `| head`
            listed = subprocess.run([sys.executable, "-B", "-m", "gen", *options], cwd=ROOT, stdout=given,
                                    stderr=subprocess.PIPE, text=True)
            os.close(given)
            self.assertEqual(listed.stderr, "", options)

    def test_list_is_machine_readable(self):
        table = json.loads(gen("--list", "json").stdout)
        self.assertIn(dict(function="iris_load_f32", dtype="f32", header="iris/gen/load_store.h",
                           template="memory/load_store.h.j2", tests="tests/memory/load_store.cpp"), table)
        self.assertEqual(len(gen("--list").stdout.splitlines()), len(table))


if __name__ == "__main__":
    if "--update-goldens" in sys.argv:
        render.write_changed(goldens(), GOLDEN)
    else:
        unittest.main()
