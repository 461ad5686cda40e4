# SPDX-License-Identifier: MIT
"""Folds the headers into one iris.h that needs nothing but init.c beside it; init.h only includes it."""
import re

from . import registry, render
DIRECTIVE = re.compile(r"\s*#\s*(if|elif|else|endif|include <(iris/[\w/.]+)>)")
GUARD = re.compile(r"#ifndef IRIS\w*_H$")
DEVICE = re.compile(r"iris/gen/(launch/)?(?!index)\w+\.h")
# What `--preset` stands for: a platform, or a part of the families.
_PART = ("arch", "mainloop", "dtype", "create", "memory", "op", "signal", "atomic")
PRESETS = {**{p: dict(platforms=(p,)) for p in registry.PLATFORMS}, "vocabulary": dict(families=_PART),
           "collectives": dict(families=(*_PART, "collective", "tensor")), "gemm": dict(families=(*_PART, "gemm"))}
# Types that other types' functions call: bytes and words move elements of any type, signals and atomics are words, and
# gates of GEMMs know 16-bit floats.
STANDING = ("u8", "u16", "u32", "u64", "f16", "bf16")
# The files beside the header, each with a text that Iris' own one holds: one without it is not overwritten.
OWN = {"init.c": "#define IRIS_INIT_C", "init.h": "holds the host API too"}
# Conditions whose macros keep their meaning throughout a compilation.
STABLE = re.compile(r"#\s*(ifdef|ifndef|if|elif|else)\b"
                    r"([\s!()&|]|defined\b|\b(IRIS_INIT_C|IRIS_TARGET_\w+|IRIS_HAS_DEVICE|__cplusplus)\b)*")
ROOTS = ("iris/iris.h", "iris/on_stream.h", "iris/init.h", "iris/self_test.h")

def platform(name):
    """The platform that a header belongs to, or None for all."""
    return next((p for p in registry.PLATFORMS if re.search(rf"(arch|mainloop)/(\w+_)?{p}(/|\.h)", name)), None)

def condition(branches):
    """One word for the branches of an #if up to the one that is open: where only STABLE macros are asked, the same word
    wherever the same is asked."""
    return " | ".join(branches) if all(STABLE.fullmatch(b) for b in branches) else object()

def fold(name, files, left_out, done, around=frozenset()):
    """Lines of a file with every header in place of its first #include. `done` holds under which conditions each stands
    already, `around` those that hold here: what stood under fewer is seen. The include guards stay and keep single for
    the compiler what two branches hold."""
    done.setdefault(name, []).append(around)
    holds, chains = [around], []
    for line in re.sub(r"\A/\* SPDX[^\n]*\n", "", files[name]).strip("\n").split("\n"):
        match = DIRECTIVE.match(line)
        word, target = match.groups() if match else (None, None)
        if word == "if" and not GUARD.match(line):
            chains.append([line.strip()])
            holds.append(holds[-1] | {condition(chains[-1])})
        elif word in ("elif", "else"):
            chains[-1].append(line.strip())
            holds[-1] = holds[-2] | {condition(chains[-1])}
        elif word == "endif" and chains:
            chains.pop(), holds.pop()
        if not target:
            yield line
        elif target in left_out and platform(target):
            yield f'#error "this file was made without platform {platform(target)}"'
        elif not any(seen <= holds[-1] for seen in done.get(target, ())) and not (target in left_out and name in ROOTS):
            yield from fold(target, files, left_out, done, holds[-1])

def obstacles(path):
    """Why the header and the two files beside it cannot go where they are asked for, in sentences."""
    library = render.ROOT / "include"
    if path.is_dir():
        yield f"{path} is a folder: give --single the name of the header too, {path / 'iris.h'} for example"
    elif library in path.resolve().parents:
        yield f"{path} is below {library}, where the library's own init.c and init.h are: choose another folder"
    elif path.name in OWN:
        yield f"{path} cannot be the header, for {path.name} is one of the files beside it: choose another name"
    else:
        for name, own in {path.name: "#define IRIS_SINGLE_HEADER", **OWN}.items():
            file = path.parent / name
            if file.exists() and own not in file.read_text(encoding="utf-8", errors="replace"):
                yield f"{file} exists and is not Iris' own: --single would overwrite it, so choose another folder"

def single(path, platforms, dtypes, families):
    """Writes the one header to `path`, init.c and an init.h for programs that include that too into the same folder.
    Returns what failed, in sentences; where files of somebody else's would be overwritten, nothing is written.

    What was asked for brings along what it stands on: the host's files (plain C files of a GPU build use them), types
    (STANDING, and those that sums accumulate in), and families."""
    blocked = list(obstacles(path))
    if blocked:
        return blocked
    needed = {*STANDING, *dtypes}
    needed |= {d.acc for d in registry.DTYPES if d.name in needed}
    dtypes = [d for d in registry.DTYPES if d.name in needed]
    include, done = render.ROOT / "include", {}
    rendered, failures = render.render_all(registry.TEMPLATES, dtypes)
    files = {f.relative_to(include).as_posix(): f.read_text(encoding="utf-8") for f in include.rglob("*.[ch]")}
    files.update((f"iris/gen/{name}", text) for name, text in rendered.items())
    left_out = {f"iris/gen/{r.output}" for r in registry.TEMPLATES if r.family not in ("arch", "mainloop", *families)}
    left_out |= {f for f in files if platform(f) not in (None, "host", *platforms)}
    roots = [*ROOTS, *sorted((f for f in files if DEVICE.fullmatch(f) and f not in left_out),
                             key=lambda f: f.count("/"))]
    try:
        parts = ["\n".join(fold(root, files, left_out, done)) for root in roots if root not in done]
    except KeyError as e:
        return [*failures, f"a header includes <{e.args[0]}>, which does not exist"]
    header = render.environment().get_template("_single.h.j2").render(
        name=path.name, parts=parts, platforms=platforms, dtypes=dtypes, families=families)
    source = files["iris/init.c"].replace('#include "iris.h"', f'#include "{path.name}"')
    forward = render.environment().get_template("_init.h.j2").render(name=path.name)
    header = re.sub(r"\n{3,}", "\n\n", header)
    render.write_changed({path.name: header, "init.c": source, "init.h": forward}, path.parent)
    return failures
