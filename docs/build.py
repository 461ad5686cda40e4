# SPDX-License-Identifier: MIT
"""Builds the site: `meson compile docs`, or `python3 docs/build.py --out DIR`. Any warning is an error.

The reference has a page for each public header: its banner as it stands, then what Doxygen found in it. Generated
headers are rendered for a few element types, because the other functions differ in their names only.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]
import figures  # noqa: E402
import whole_run  # noqa: E402
from gen import registry, render  # noqa: E402
from gen.gemm import GEMM_TYPES  # noqa: E402

# The element types that the reference shows: a 16-bit float, a float, a signed and an unsigned integer.
SHOWN = ("bf16", "f32", "i32", "u64")
# The reference's headers by task, in the order of a first reading. One platform's device.h stands for all three.
TASKS = {
    "Start, allocate, launch: host code": ("init.h", "world.h", "team.h", "window.h", "dlpack.h", "gen/create.h",
                                             "random.h", "self_test.h"),
    "Move data, signal and wait on a stream: host code": ("on_stream.h",),
    "Measure: host code": ("bench.h", "bench/time.h", "bench/axes.h", "bench/program.h", "bench/rows.h"),
    "Know where a kernel runs": ("iris.h", "ctx.h", "arch/host/device.h", "arch/select.h", "arch/types.h"),
    "Move data from a kernel": ("memory.h", "gen/load_store.h", "gen/rma.h", "gen/rma_cache.h", "gen/put_signal.h",
                                "gen/rma_2d.h", "gen/put_signal_2d.h", "collective/ll.h", "gen/send_recv.h",
                                "gen/send_recv_2d.h"),
    "Signal, wait and meet in a kernel": ("signal.h", "gen/wait.h", "gen/atomic.h", "channel.h", "barrier.h"),
    "Tensors that are split over ranks": ("tensor.h", "gen/tensor_create.h", "gen/tensor_access.h",
                                          "gen/launch/tensor.h"),
    "See what kernels do, and when": ("trace.h", "trace_event.h", "overlap.h"),
    "Collectives from the host": ("collective/launch.h", "gen/schedules.h", "gen/launch/[!g]*",
                                  "gen/launch/gather.h"),
    "Collectives in a kernel": ("collective/collective.h", "collective/rmsnorm.h", "gen/all_*", "gen/reduce*",
                                "gen/broadcast*", "gen/gather*", "gen/scatter*"),
    "GEMM with communication from the host": ("gemm/plan.h", "gemm/prepare.h", "gemm/tensors.h",
                                              "gen/launch/gemm*", "gemm/activation.h"),
    "GEMM with communication in a kernel of one's own": ("gemm/roles.h", "gemm/wave_group.h", "gemm/scheduler.h",
                                                         "gemm/tile.h", "gen/gemm_*"),
    "Element types and what combines them": ("dtype.h", "float_types.h", "gen/dtypes.h", "op.h", "gen/op.h"),
}
PACKAGES = ("doxygen", "python3-sphinx", "python3-breathe", "python3-myst-parser", "python3-matplotlib")


def generate(out):
    """Renders the generated headers; returns those of the reference as {name: text}."""
    dtypes = tuple(t for t in registry.DTYPES if t.name in SHOWN)
    files, failures = {}, []
    for row in registry.TEMPLATES:
        # The list of all types is one thing, not one for each type.
        some, failed = render.render_all([row], registry.DTYPES if row.family == "dtype" else dtypes)
        files.update(some)
        failures += failed
    if failures:
        sys.exit("docs: " + "\ndocs: ".join(failures))
    files = {name: text for name, text in files.items() if re.search(r"^/\*\*", text, re.M)
             and not name.startswith(("arch/", "mainloop/"))}
    shutil.rmtree(out, ignore_errors=True)
    render.write_changed(files, out)
    return files


def banner(text):
    """The comment that opens a header, as plain lines, without the licence."""
    block = re.search(r"/\*\n( \*.*?) \*/", text, re.S)[1]
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in block.rstrip("\n").split("\n"))


def page(name, text):
    """One header's page: its banner, then everything documented in it."""
    has_members = re.search(r"^\s*/\*\*", text, re.M)
    body = f"\n```{{doxygenfile}} iris/{name}\n```\n" if has_members else ""
    return f"# <iris/{name}>\n\n```text\n{banner(text)}\n```\n{body}"


def tasks(headers):
    """The index of the reference: each task with its headers and what their first lines say."""
    left = dict(headers)
    for task, patterns in TASKS.items():
        names = [n for pattern in patterns for n in fnmatch.filter(list(left), pattern)]
        names = list(dict.fromkeys(names))
        yield f"## {task}\n\n| header | what it holds |\n|---|---|"
        for name in names:
            first = banner(left.pop(name)).split("\n\n")[0].split(": ", 1)[1]
            yield f"| [`<iris/{name}>`]({name.replace('/', '-')}.md) | {' '.join(first.split())} |"
        pages = "\n".join(name.replace("/", "-") for name in names)
        yield f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    if left:
        sys.exit(f"docs: these headers are of no task, see TASKS in docs/build.py: {', '.join(left)}")


def write_reference(folder, headers):
    """A page for each header, and the list of them."""
    for name, text in headers.items():
        file = folder / (name.replace("/", "-") + ".md")
        file.write_text(page(name, text), encoding="utf-8")
    into = {t: ", ".join(f"`{g.out.name}`" for g in GEMM_TYPES if g.t == t) for t in registry.DTYPES}
    types = "\n".join(f"| `{t.name}` | `{t.ctype}` | {t.bits} | `{t.acc}` | {into[t]} |" for t in registry.DTYPES)
    index = (folder / "index.md").read_text(encoding="utf-8")
    index = index.replace("@TASKS@", "\n".join(tasks(headers))).replace("@DTYPES@", types)
    (folder / "index.md").write_text(index.replace("@SHOWN@", ", ".join(SHOWN)), encoding="utf-8")


def date_whole_run(file):
    """Adds to the page's table of whole runs how many commits ago each was, where git can tell."""
    text = file.read_text(encoding="utf-8")
    ago = {}
    for commit in dict.fromkeys(whole_run.commits(text)):
        count = subprocess.run(["git", "rev-list", "--count", f"{commit}..HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL) if shutil.which("git") else None
        if count and count.returncode == 0:
            ago[commit] = f"`{commit}` {int(count.stdout)}"
    said = f"Commits between that and this page: {', '.join(ago.values())}.\n" if ago else ""
    file.write_text(text.replace(whole_run.END, whole_run.END + "\n" + said), encoding="utf-8")


def documented(node):
    return any("".join(part.itertext()).strip() for name in ("briefdescription", "detaileddescription")
               for part in node.findall(name))


def settle(member, documented_lines):
    """What becomes of a member: None keeps it, "drop" drops it, anything else is what is wrong with it."""
    name, kind, at = member.find("name").text, member.get("kind"), member.find("location")
    values = [v.find("name").text for v in member.findall("enumvalue")]
    if documented(member) or any(documented(v) for v in member.findall("enumvalue")):
        return None
    if values and all(v.startswith("IRISI_") for v in values):
        return "drop"  # Doxygen leaves an unnamed enum behind when EXCLUDE_SYMBOLS takes all its values out
    if kind == "variable":
        line = documented_lines.get(at.get("line"))  # `int m, n, k; /**< one comment */`
        if line is None:
            return "drop"  # a field without a word is the library's business
        member.find("detaileddescription").extend(line)
        return None
    return f"{at.get('file')}:{at.get('line')}: {name} has no comment that begins with /**"


def told(node):
    """Names that a comment explains: those of its @param lists, and what it sets in code."""
    names = [n.text for n in node.iter("parametername")] + [word for code in node.iter("computeroutput")
                                                            for word in re.findall(r"\w+", "".join(code.itertext()))]
    return set(names)


def untold(section, member):
    """Parameters of a function or macro that neither its own comment nor its group's explains."""
    names = [p.findtext("declname") or p.findtext("defname") for p in member.findall("param")]
    explained = told(member) | set().union(*(told(d) for d in section.findall("description")))
    return [n for n in names if n and n not in explained]


def line_of(section):
    return min(int(m.find("location").get("line")) for m in section.findall("memberdef"))


def tidy(xml):
    """Makes Doxygen's XML what the pages need, and yields a sentence for each public name or parameter without a
    word."""
    for file in [*xml.glob("*_8h.xml"), *xml.glob("struct*.xml")]:
        tree = ElementTree.parse(file)
        for compound in tree.iter("compounddef"):
            if compound.get("kind") == "struct" and not documented(compound):
                yield f"{compound.find('compoundname').text} has no comment that begins with /**"
            groups = sorted((s for s in compound.findall("sectiondef") if s.get("kind") == "user-defined"), key=line_of)
            for group in groups:
                compound.remove(group)
            compound[:] = [n for n in compound if n.tag != "sectiondef"] + groups + compound.findall("sectiondef")
            for section in compound.iter("sectiondef"):
                lines = {m.find("location").get("line"): list(m.find("detaileddescription"))
                         for m in section.findall("memberdef") if documented(m)}
                for member in section.findall("memberdef"):
                    what = settle(member, lines)
                    if what:
                        section.remove(member)
                    if what and what != "drop":
                        yield what
                    at, names = member.find("location"), untold(section, member)
                    if not what and names and member.get("kind") in ("function", "define"):
                        yield (f"{at.get('file')}:{at.get('line')}: {member.find('name').text}: nothing explains "
                               f"{', '.join(names)}: @param in its comment or in its @name group's")
        tree.write(file, encoding="utf-8")


def sphinx_python():
    """The command of the Python that sphinx-build runs in."""
    return pathlib.Path(shutil.which("sphinx-build")).read_text(encoding="utf-8").split("\n")[0][2:].split()


def missing():
    """True when doxygen, sphinx-build, or a module for the Python that sphinx-build runs in is not there."""
    if not shutil.which("sphinx-build") or not shutil.which("doxygen"):
        return True
    return subprocess.run([*sphinx_python(), "-c", "import breathe, matplotlib, myst_parser"],
                          stderr=subprocess.DEVNULL).returncode != 0


def run(what, command, **kw):
    """Runs a tool; stops with a sentence when it fails."""
    if subprocess.run([str(c) for c in command], **kw).returncode != 0:
        sys.exit(f"docs: {what} reported errors or warnings, see above")


def main():
    p = argparse.ArgumentParser(description="Builds the documentation.")
    p.add_argument("--out", required=True, metavar="DIR", help="DIR/html receives the site")
    p.add_argument("--or-skip", action="store_true", help="exit 77 when tools are missing, as Meson's tests want it")
    args = p.parse_args()
    out = pathlib.Path(args.out).resolve()
    if missing():
        print(f"docs: tools are missing; on Debian or Ubuntu: apt-get install {' '.join(PACKAGES)}")
        sys.exit(77 if args.or_skip else 1)
    generated = generate(out / "include/iris/gen")
    public = {f.name for f in (ROOT / "include/iris").glob("*.h")
              if re.search(r"^/\*\*", f.read_text(encoding="utf-8"), re.M)}
    named = [n for patterns in TASKS.values() for n in patterns if "*" not in n and not n.startswith("gen/")]
    names = [*named, *sorted(public - set(named))]
    headers = {name: (ROOT / "include/iris" / name).read_text(encoding="utf-8") for name in names}
    headers.update((f"gen/{name}", text) for name, text in generated.items())

    source = out / "source"
    for folder in (source, out / "examples", out / "templates"):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("*.py[c]", "build.py", "figures.py", "whole_run.py",
                                                                "Doxyfile", "meson.build"))
    for folder in ("examples", "templates"):
        shutil.copytree(ROOT / folder, out / folder)  # pages show them
    write_reference(source / "reference", headers)
    date_whole_run(source / "platforms.md")
    figures.write_tables(source / "performance")
    run("the plotter", [*sphinx_python(), "-B", DOCS / "figures.py", source / "performance"], stdout=subprocess.DEVNULL)

    inputs = [ROOT / "include/iris" / name for name in names] + [out / "include/iris/gen" / n for n in generated]
    settings = (DOCS / "Doxyfile").read_text(encoding="utf-8")
    settings += f'OUTPUT_DIRECTORY = "{out}"\n'
    for name in ("STRIP_FROM_PATH", "STRIP_FROM_INC_PATH"):
        settings += f'{name} = "{ROOT}/include" "{out}/include"\n'
    settings += "INPUT = "
    settings += " ".join(f'"{i}"' for i in inputs) + "\n"
    shutil.rmtree(out / "xml", ignore_errors=True)
    run("doxygen", ["doxygen", "-"], input=settings.encode())
    bare = sorted(tidy(out / "xml"))
    if bare:
        sys.exit("docs: " + "\ndocs: ".join(bare))
    env = dict(os.environ, IRIS_ROOT=str(ROOT), IRIS_XML=str(out / "xml"))
    run("sphinx", ["sphinx-build", "-W", "--keep-going", "-q", "-E", "-j", "2", "-b", "html", source, out / "html"],
        env=env)
    print(f"docs: {out}/html/index.html")


main()
