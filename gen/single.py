# SPDX-License-Identifier: MIT
"""Folds the headers into one iris.h that needs nothing but init.c beside it."""
import re

from . import registry, render
DIRECTIVE = re.compile(r"\s*#\s*(if|elif|else|endif|include <(iris/[\w/.]+)>)")
GUARD = re.compile(r"#ifndef IRIS\w*_H$")
ROOTS = ("iris/iris.h", "iris/init.h", "iris/self_test.h")

def platform(name):
    """The platform that a header belongs to, or None for all."""
    return next((p for p in registry.PLATFORMS if re.search(rf"(arch|mainloop)/(\w+_)?{p}(/|\.h)", name)), None)

def fold(name, files, left_out, done):
    """Lines of a file with every header in place of its first #include. Branches of an #if do not see each other, so
    what two of them include stands in both; the include guards stay and keep it single for the compiler."""
    done.add(name)
    branches = [done]
    for line in re.sub(r"\A/\* SPDX[^\n]*\n", "", files[name]).strip("\n").split("\n"):
        match = DIRECTIVE.match(line)
        word, target = match.groups() if match else (None, None)
        if word == "if" and not GUARD.match(line):
            branches.append(set(branches[-1]))
        elif word in ("elif", "else"):
            branches[-1] = set(branches[-2])
        elif word == "endif" and len(branches) > 1:
            branches.pop()
        if not target:
            yield line
        elif target in left_out and platform(target):
            yield f'#error "this file was made without platform {platform(target)}"'
        elif target not in branches[-1] and not (target in left_out and name in ROOTS):
            yield from fold(target, files, left_out, branches[-1])

def single(path, platforms, dtypes, families):
    """Writes the one header to `path` and init.c into the same folder. Returns what failed, in sentences.

    What was asked for brings along what it stands on: the host's files (plain C files of a GPU build use them), the
    types that sums accumulate in, u32 and u64 (signals and atomics are such words), and families."""
    needed = {"u32", "u64", *dtypes, *(d.acc for d in registry.DTYPES if d.name in dtypes)}
    dtypes = [d for d in registry.DTYPES if d.name in needed]
    include, done = render.ROOT / "include", set()
    rendered, failures = render.render_all(registry.TEMPLATES, dtypes)
    files = {f.relative_to(include).as_posix(): f.read_text(encoding="utf-8") for f in include.rglob("*.[ch]")}
    files.update((f"iris/gen/{name}", text) for name, text in rendered.items())
    left_out = {f"iris/gen/{r.output}" for r in registry.TEMPLATES if r.family not in ("arch", "mainloop", *families)}
    left_out |= {f for f in files if platform(f) not in (None, "host", *platforms)}
    roots = [*ROOTS, *sorted(f for f in files if f.startswith("iris/gen/launch/") and f not in left_out)]
    try:
        parts = ["\n".join(fold(root, files, left_out, done)) for root in roots if root not in done]
    except KeyError as e:
        return [*failures, f"a header includes <{e.args[0]}>, which does not exist"]
    header = render.environment().get_template("_single.h.j2").render(
        name=path.name, parts=parts, platforms=platforms, dtypes=dtypes, families=families)
    source = files["iris/init.c"].replace('#include "iris.h"', f'#include "{path.name}"')
    render.write_changed({path.name: render.tidy(header), "init.c": source}, path.parent)
    return failures
