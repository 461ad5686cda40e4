# SPDX-License-Identifier: MIT
"""The ladder of headers, computed from their #include lines, generated headers too: platform primitives (arch/) see
nothing above them, the parts of init.c (runtime/) are seen by init.h and each other alone, and there is no circle."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True
from gen import registry, render  # noqa: E402

INCLUDE = re.compile(r"#include <iris/([^>]+)>")


def graph():
    """{header: the headers of the library that it includes}."""
    folder = ROOT / "include/iris"
    texts = {f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8") for f in folder.rglob("*.h")}
    rendered, failures = render.render_all(registry.TEMPLATES)
    if failures:
        sys.exit("\n".join(failures))
    texts.update((f"gen/{name}", text) for name, text in rendered.items())
    return {name: INCLUDE.findall(text) for name, text in texts.items()}


def circle(includes):
    """The headers of a circle, in order, or None."""
    done = set()
    for start in sorted(includes):
        path, stack = [], [iter([start])]
        while stack:
            name = next(stack[-1], None)
            if name is None:
                stack.pop()
                if path:
                    done.add(path.pop())
            elif name in path:
                return [*path[path.index(name):], name]
            elif name not in done:
                path.append(name)
                stack.append(iter(includes.get(name, ())))
    return None


def problems(includes):
    for name, seen in sorted(includes.items()):
        for other in seen:
            if name.startswith(("arch/", "gen/arch/")) and not other.startswith(("arch/", "gen/arch/")):
                yield f"{name} is a platform primitive and includes {other}, which stands above it"
            if other.startswith("runtime/") and not name.startswith("runtime/") and name != "init.h":
                yield f"{name} includes {other}, a part of init.c, which only init.h brings along"
            if other not in includes:
                yield f"{name} includes {other}, which does not exist"
    found = circle(includes)
    if found:
        yield "a circle of headers: " + " -> ".join(found)


GRAPH = graph()
# The test has teeth: each breach put into the graph is found.
for breach in ({"arch/types.h": ["signal.h"]}, {"signal.h": ["runtime/world_state.h"]}, {"ctx.h": ["memory.h"]}):
    assert list(problems({**GRAPH, **breach})), f"{breach} went unnoticed"
FOUND = list(problems(GRAPH))
print("\n".join(f"includes: {p}." for p in FOUND) or f"{len(GRAPH)} headers stand on a ladder")
sys.exit(bool(FOUND))
