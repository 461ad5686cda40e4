# SPDX-License-Identifier: MIT
"""The generator's command line: `python3 -m gen --help`."""
import argparse
import json
import re
import signal
import sys
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # also runs by its path, from anywhere
try:
    from gen import check, registry, render, single  # noqa: E402
except ModuleNotFoundError as missing:
    if missing.name != "jinja2":
        raise
    sys.exit("gen: Jinja2 for Python is missing: pip install jinja2, or Debian's package python3-jinja2.")

def arguments():
    p = argparse.ArgumentParser(prog="python3 -m gen", description="Generates the headers of <iris/gen/>.")
    p.add_argument("--out", metavar="DIR", help="write the generated headers under DIR; only what changed")
    p.add_argument("--folder", metavar="NAME",
                   help="with --out: outputs of one folder (. is the top), without its name")
    p.add_argument("--outputs", metavar="NAME", help="print the outputs of a folder, for Meson")
    p.add_argument("--depfile", metavar="FILE", help="with --out or --check STAMP: what went into it, for ninja")
    p.add_argument("--check", metavar="STAMP", nargs="?", const="", help="check rows, templates and tests; make STAMP")
    p.add_argument("--list", choices=("text", "json"), nargs="?", const="text", help="list every function")
    p.add_argument("--single", metavar="FILE", help="fold all headers into FILE (iris.h); init.c and init.h beside it")
    p.add_argument("--preset", choices=single.PRESETS, nargs="+", default=[],
                   help="with --single: for a platform, or a "
                   "part of the families (docs/how-to/add-to-a-project.md has their sizes)")
    every = {}
    for option, known in (("platforms", registry.PLATFORMS), ("dtypes", [d.name for d in registry.DTYPES]),
                          ("families", sorted({r.family for r in registry.TEMPLATES}))):
        p.add_argument(f"--{option}", choices=known, nargs="+", help="with --single: only these")
        every[option] = known
    args = p.parse_args()
    if not (args.out or args.outputs or args.list or args.single or args.check is not None):
        p.error("nothing to do: give --out, --single, --check, --list or --outputs (see --help)")
    for option in ("preset", *every):
        if vars(args)[option] and not args.single:
            p.error(f"--{option} says what --single leaves out, and --single is not given")
    for option, known in every.items():  # what is named goes before presets, and they before everything
        preset = {v for name in args.preset for v in single.PRESETS[name].get(option, ())}
        vars(args)[option] = vars(args)[option] or [v for v in known if v in preset] or known
    for folder in (args.folder, args.outputs):
        if folder is not None and not folder_rows(folder):
            p.error(f"there is no output in a folder '{folder}'")
    return args

def folder_rows(folder):
    return [r for r in registry.TEMPLATES if folder in (None, str(PurePosixPath(r.output).parent))]

def listing(form):
    """Every public function with its header, template and tests."""
    table = [dict(function=f, dtype=render.split(f)[1], header=f"iris/gen/{row.output}", template=row.path,
                  tests=row.tests) for row, names in render.symbols() for f in names]
    lines = "\n".join("{function:40} <{header}>  templates/{template}  {tests}".format(**t) for t in table)
    return json.dumps(table, indent=1) if form == "json" else lines

def escaped(path):
    """A path as make and ninja read it in a depfile."""
    return re.sub(r"([ #])", r"\\\1", str(path)).replace("$", "$$")

def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` is no error
    args, failures, made, inputs = arguments(), [], None, set()
    if args.outputs:
        print("\n".join(PurePosixPath(r.output).name for r in folder_rows(args.outputs)))
    if args.list:
        print(listing(args.list))
    if args.out:
        rows = folder_rows(args.folder)
        files, failures = render.render_all(rows)
        files = {PurePosixPath(name).name if args.folder else name: text for name, text in files.items()}
        render.write_changed(files, args.out)
        made, inputs = Path(args.out, next(iter(files), "none")), render.inputs(rows)
    if args.single:
        failures += single.single(Path(args.single), args.platforms, args.dtypes, args.families)
    if args.check is not None:
        failures += check.problems()
        if args.check and not failures:
            made, inputs = Path(args.check), check.inputs()
            made.touch()
    if args.depfile and made:
        Path(args.depfile).write_text(f"{escaped(made)}: {' '.join(sorted(map(escaped, inputs)))}\n",
                                      encoding="utf-8")
    return "\n".join(f"gen: {f}." for f in failures) or None

sys.exit(main())
