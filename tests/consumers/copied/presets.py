# SPDX-License-Identifier: MIT
"""Runs `gen --single preset/PRESET/iris/iris.h --preset PRESET` for each line of standard input, in one process that
renders the templates once."""
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from gen import render  # noqa: E402

rendered, render_all = {}, render.render_all


def once(rows, dtypes):
    key = tuple(d.name for d in dtypes)
    if key not in rendered:
        rendered[key] = render_all(rows, dtypes)
    return rendered[key]


render.render_all = once
for preset in (line.strip() for line in sys.stdin):
    sys.argv = ["gen", "--single", f"preset/{preset or 'none'}/iris/iris.h"]
    sys.argv += ["--preset", *preset.split()] if preset else []
    try:
        runpy.run_module("gen", run_name="__main__")
    except SystemExit as end:
        if end.code:
            sys.exit(f"{' '.join(sys.argv)}: {end.code}")
