# SPDX-License-Identifier: MIT
"""What must hold between the table, the templates, the tests and the headers. Each failure is one sentence."""
import re
from collections import Counter
from pathlib import PurePosixPath

from . import registry, render
from .render import ROOT, TEMPLATES
GEN_INCLUDE = re.compile(r"#include <iris/gen/([\w/.]+)>")

def sources():
    """Everything hand-written that may include a generated header."""
    for pattern in ("include/**/*.[ch]", "templates/**/*.j2", "tests/**/*.c*", "examples/**/*.c", "bench/**/*.c*"):
        yield from ROOT.glob(pattern)

def inputs():
    """Every file and folder that `problems` looks at; a new file changes its folder."""
    files = {*sources(), *TEMPLATES.rglob("*"), *(ROOT / "gen").glob("*.py"), ROOT / "tests/meson.build"}
    return files | {f.parent for f in files}

def problems(rows=registry.TEMPLATES):
    """Yields a sentence for each thing that is wrong."""
    outputs = Counter(r.output for r in rows)
    yield from (f"{n} rows make {output}: outputs need different names" for output, n in outputs.items() if n > 1)
    for file in sorted(TEMPLATES.rglob("*.j2")):
        path = file.relative_to(TEMPLATES).as_posix()
        if not file.name.startswith("_") and path not in {r.path for r in rows}:
            yield f"templates/{path} has no row: add one to TEMPLATES in gen/registry.py"
    files, failures = render.render_all(rows)
    yield from failures
    for row in rows:
        yield from untested(row, render.functions(files.get(row.output, "")))
    for file in sources():
        for name in set(GEN_INCLUDE.findall(file.read_text(encoding="utf-8"))) - set(outputs):
            yield f"{file.relative_to(ROOT)} includes <iris/gen/{name}>, which no row of gen/registry.py makes"
    for output, text in files.items():
        if max(map(len, text.split("\n"))) > render.WIDTH:
            yield f"{output} has a line of more than {render.WIDTH} columns: break it in templates/"

def untested(row, names):
    """The row of a test: the source exists, names something of the output, and has a row in tests/meson.build."""
    test = ROOT / row.tests
    if not test.is_file():
        yield f"output {row.output} has no test: its row names '{row.tests}', which does not exist"
        return
    text, known = test.read_text(encoding="utf-8"), {render.split(n)[0] for n in names if n.startswith("iris_")}
    sought = (PurePosixPath(row.output).stem, *names, *known)
    if known and row.family not in ("arch", "mainloop") and not any(n in text for n in sought):
        yield f"output {row.output} has no test: {row.tests} names neither it nor one of its functions"
    if f"'{row.tests[len('tests/'):]}'" not in (ROOT / "tests/meson.build").read_text(encoding="utf-8"):
        yield f"output {row.output} has no test: tests/meson.build has no row for {row.tests}"
