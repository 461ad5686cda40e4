# SPDX-License-Identifier: MIT
"""The diff of docs/adding-a-variant.md applies to this tree, and the generator accepts what it adds."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

if not shutil.which("git"):
    print("git is not here, and it applies the diffs: left out")
    sys.exit(77)  # what Meson calls skipped

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
page = (ROOT / "docs/adding-a-variant.md").read_text(encoding="utf-8")
diff = re.search(r"^```diff\n(.*?)^```$", page, re.M | re.S)[1]

with tempfile.TemporaryDirectory() as tree:
    for folder in ("gen", "include", "templates", "tests"):
        shutil.copytree(ROOT / folder, f"{tree}/{folder}", ignore=shutil.ignore_patterns("__pycache__"))
    if subprocess.run(["git", "apply", "-C1"], input=diff.encode(), cwd=tree).returncode != 0:
        sys.exit("the diff of docs/adding-a-variant.md does not apply any more: make it again")
    for what in (["--check"], ["--out", f"{tree}/out"]):
        if subprocess.run([sys.executable, "-B", "-m", "gen", *what], cwd=tree).returncode != 0:
            sys.exit("the generator refuses the variant of docs/adding-a-variant.md")
    made = pathlib.Path(f"{tree}/out/all_gather_star.h").read_text(encoding="utf-8")
    if "iris_all_gather_star_bf16_wg(" not in made:
        sys.exit("the variant of docs/adding-a-variant.md makes no iris_all_gather_star_bf16_wg")
print("the variant applies and is complete")
