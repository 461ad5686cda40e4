# SPDX-License-Identifier: MIT
"""Builds the site: `meson compile docs`, or `python3 docs/build.py --out DIR`. Any warning is an error.

The reference has a page for each public header: its banner as it stands, then what Doxygen found in it. Generated
headers are rendered for a few element types, because the other functions differ in their names only.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))
from gen import registry, render  # noqa: E402

# The element types that the reference shows: a 16-bit float, a float, a signed and an unsigned integer.
SHOWN = ("bf16", "f32", "i32", "u64")
# Hand-written headers in the order of a first reading; other public ones follow. One platform's device.h stands for
# all three.
HEADERS = ("iris.h", "init.h", "ctx.h", "arch/types.h", "arch/select.h", "arch/host/device.h", "dtype.h", "op.h",
           "random.h", "memory.h", "signal.h", "collective/ll.h", "channel.h", "barrier.h", "gemm/plan.h",
           "gemm/activation.h", "gemm/tile.h", "gemm/roles.h", "gemm/prepare.h", "self_test.h")
PACKAGES = ("doxygen", "python3-sphinx", "python3-breathe", "python3-myst-parser")


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


def write_reference(folder, headers):
    """A page for each header, and the list of them."""
    for name, text in headers.items():
        file = folder / (name.replace("/", "-") + ".md")
        file.write_text(page(name, text), encoding="utf-8")
    names = "\n".join(name.replace("/", "-") for name in headers)
    into = {t: ", ".join(f"`{g.out.name}`" for g in registry.GEMM_TYPES if g.t == t) for t in registry.DTYPES}
    types = "\n".join(f"| `{t.name}` | `{t.ctype}` | {t.bits} | `{t.acc}` | {into[t]} |" for t in registry.DTYPES)
    index = (folder / "index.md").read_text(encoding="utf-8")
    index = index.replace("@HEADERS@", names).replace("@DTYPES@", types).replace("@SHOWN@", ", ".join(SHOWN))
    (folder / "index.md").write_text(index, encoding="utf-8")


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
        member.find("briefdescription").extend(line)
        return None
    return f"{at.get('file')}:{at.get('line')}: {name} has no comment that begins with /**"


def tidy(xml):
    """Makes Doxygen's XML what the pages need, and yields a sentence for each public name without a comment."""
    for file in [*xml.glob("*_8h.xml"), *xml.glob("struct*.xml")]:
        tree = ElementTree.parse(file)
        for compound in tree.iter("compounddef"):
            if compound.get("kind") == "struct" and not documented(compound):
                yield f"{compound.find('compoundname').text} has no comment that begins with /**"
            for section in compound.iter("sectiondef"):
                lines = {m.find("location").get("line"): list(m.find("briefdescription"))
                         for m in section.findall("memberdef") if documented(m)}
                for member in section.findall("memberdef"):
                    what = settle(member, lines)
                    if what:
                        section.remove(member)
                    if what and what != "drop":
                        yield what
        tree.write(file, encoding="utf-8")


def missing():
    """True when doxygen, sphinx-build, or an extension for the Python that sphinx-build runs in is not there."""
    sphinx = shutil.which("sphinx-build")
    if not sphinx or not shutil.which("doxygen"):
        return True
    python = pathlib.Path(sphinx).read_text(encoding="utf-8").split("\n")[0][2:].split()
    return subprocess.run([*python, "-c", "import breathe, myst_parser"], stderr=subprocess.DEVNULL).returncode != 0


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
    names = [*HEADERS, *sorted(public - set(HEADERS))]
    headers = {name: (ROOT / "include/iris" / name).read_text(encoding="utf-8") for name in names}
    headers.update((f"gen/{name}", text) for name, text in generated.items())

    source = out / "source"
    for folder in (source, out / "examples", out / "templates"):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("build.py", "Doxyfile", "meson.build"))
    for folder in ("examples", "templates"):
        shutil.copytree(ROOT / folder, out / folder)  # pages show them
    write_reference(source / "reference", headers)

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
