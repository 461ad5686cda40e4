# SPDX-License-Identifier: MIT
"""The documentation agrees with the tree: the first program is the example, names exist, links lead somewhere."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "docs")]
import figures  # noqa: E402
import tune  # noqa: E402
import whole_run  # noqa: E402
from gen import registry, render  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")])
NAME = re.compile(r"\b(?:iris_\w*[a-z0-9]|IRIS_\w*[A-Z0-9])\b(?![<_*…{])")
PATH = re.compile(r"(?<![\w./<:-])[\w.*-]+(?:/[\w.*-]+)+\.(?:h|c|cpp|py|sh|j2|json|txt|build)\b")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def known_names():
    """Every word of the sources, generated ones included."""
    text = [f.read_text(encoding="utf-8") for pattern in ("include/**/*.[hc]", "examples/**/*.c", "docs/programs/*.c",
            "tests/*.h", "tests/part.py", "tests/gpu/run.sh", "gen/*.py", "bench/*.py", "**/meson.build")
            for f in ROOT.glob(pattern)]
    files, failures = render.render_all(registry.TEMPLATES)
    return set(re.findall(r"\w+", "\n".join([*text, *files.values(), *failures])))


def complete():
    """Every status and every environment variable has its line, and variables are known to the warning about others."""
    known = (ROOT / "include/iris/runtime/environment.h").read_text(encoding="utf-8")
    source = "\n".join(f.read_text(encoding="utf-8") for f in ROOT.glob("include/iris/**/*.[ch]"))
    for page, pattern in (("errors", r"^    (IRIS_ERR_\w+)\b.*/\*\*<"), ("environment", r'getenv\("(IRIS_\w+)"\)'),
                          ("environment", r'irisi_env_\w+\("(IRIS_\w+)"')):
        text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
        for name in sorted(set(re.findall(pattern, source, re.M))):
            if f"`{name}`" not in text:
                yield f"docs/{page}.md does not say what {name} is"
            if page == "environment" and f'"{name}"' not in known:
                yield f"include/iris/runtime/environment.h does not know {name}"


def measured():
    """A result is bench/results/<benchmark>/<n>x<device>/<commit>.json, and each folder of one benchmark holds the
    newest one, but for gemm_local's, whose runs are of different shapes and types; performance.md shows what there
    is."""
    for file in sorted((ROOT / "bench/results").rglob("*")):
        name = str(file.relative_to(ROOT / "bench/results"))
        if file.is_file() and not re.fullmatch(r"\w+/\d+x\w+/[0-9a-f]{7,12}\.(json|txt)", name):
            yield f"bench/results/{name} is not <benchmark>/<n>x<device>/<commit>.json"
        elif file.suffix == ".json":
            found = json.loads(file.read_text(encoding="utf-8"))
            if found["commit"] != file.stem or found.get("benchmark", file.parts[-3]) != file.parts[-3]:
                yield f"bench/results/{name} is of {found.get('benchmark')} at {found['commit']}"
            if len(list(file.parent.glob("*.json"))) > 1 and file.parts[-3] != "gemm_local":
                yield f"bench/results/{name}: only the newest result stays"
    shown = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    for name, (source, table) in figures.TABLES.items():
        if len(list(table(figures.result(source)))) < 3:
            yield f"docs/figures.py makes no table of {source}"
        if f"{{include}} performance/{name}.md" not in shown:
            yield f"docs/performance.md does not show the table {name}"
    if tune.HEADER.read_text(encoding="utf-8") != tune.header():
        yield f"{tune.HEADER.relative_to(ROOT)} is not what bench/tune.py makes of bench/results/*_tune/"


def whole_runs():
    """The page of platforms says which commits the last whole runs were of, as docs/whole_run.py writes it."""
    text = (ROOT / "docs/platforms.md").read_text(encoding="utf-8")
    if not whole_run.commits(text) or len(whole_run.commits(text)) != len(whole_run.table(text)):
        yield "docs/platforms.md does not name the commit of each whole run: python3 docs/whole_run.py RESULTS.json"
    made = dict(commit="0123abc", device="2 x NVIDIA H100", runs=[
        dict(topology="2gpu", test="a", verdict="ok"), dict(topology="2gpu", test="b", verdict="failed (rc 1)")])
    row = "| two processes, a GPU each | H100 | `0123abc` | 1 of 2 | `b`: failed (rc 1) |\n"
    if row not in whole_run.written(text, [made]) or "1 of 2" in text:
        yield "docs/whole_run.py does not write a run's commit and verdicts"


def walks():
    """Every function that the page on architecture names stands in the file that it names."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| `([\w./]+)` \| (.*) \|$", text, re.M)
    if len(rows) < 30:
        yield "docs/architecture.md: its walks have no rows `file` | `function`"
    for file, functions in rows:
        path = ROOT / (file if file.startswith("templates/") else f"include/iris/{file}")
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        yield from (f"docs/architecture.md: {name} is not in {file}" for name in re.findall(r"`(\w+)`", functions)
                    if not re.search(rf"\b{name}" + ("" if name.endswith("_") else r"\b"), source))


def timed_comments():
    """A comment gives a reason; what took how long stands in docs/notes or with the commit. Cost models have
    numbers."""
    for pattern in ("include/**/*.[hc]", "templates/**/*.j2", "gen/*.py", "examples/**/*.c"):
        for file in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if re.search(r"/?\*.*\d (us|µs|microseconds)\b", line) and not file.name.endswith("_shape.h"):
                    yield f"{file.relative_to(ROOT)}:{number}: a comment with a timing: {line.strip()}"


def paths(page, text, made):
    """Files that a page names in `code` and that are not there; where it speaks of headers, from include/iris on."""
    bases = (ROOT, page.parent, ROOT / "include", ROOT / "include/iris")
    for path in sorted({p for span in re.findall(r"`([^`\n]+)`", text) for p in PATH.findall(span)}):
        if path.removeprefix("iris/gen/").removeprefix("gen/") not in made and not any(
                next(base.glob(path), None) for base in bases):
            yield f"{page.relative_to(ROOT)}: there is no {path}: was it moved?"


def problems():
    first = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    program = "examples/00_pass_right/main.c"
    if not first or first[1] != "c" or first[2] != (ROOT / program).read_text(encoding="utf-8"):
        yield f"README.md: its first block is not {program}: copy the file there, byte for byte"
    layer = (ROOT / "docs/programs/gemm.c").read_text(encoding="utf-8")
    second = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[1][1]
    yield from (f"README.md: its second program has a line that docs/programs/gemm.c has not: {line}"
                for line in second.splitlines() if line not in layer)
    yield from complete()
    yield from measured()
    yield from whole_runs()
    yield from timed_comments()
    yield from walks()
    known, made = known_names(), set(render.render_all(registry.TEMPLATES)[0])
    for page in PAGES:
        name, text = page.relative_to(ROOT), page.read_text(encoding="utf-8")
        # What a page's own diffs add is known on that page.
        added = {w for kind, body in BLOCK.findall(text) if kind == "diff" for w in re.findall(r"\w+", body)}
        for word in sorted(set(NAME.findall(text)) - known - added):
            yield f"{name}: {word} is in no source: was it renamed?"
        if name.name != "CHANGELOG.md":  # it speaks of what was
            yield from paths(page, text, made)
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            if not (page.parent / link).exists():
                yield f"{name}: the link to {link} leads nowhere"


found = list(problems())
print("\n".join(found) or f"{len(PAGES)} pages agree with the tree")
sys.exit(1 if found else 0)
