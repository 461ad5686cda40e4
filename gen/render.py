# SPDX-License-Identifier: MIT
"""Renders the rows of the registry into text that is already formatted and the same on every run."""
import pathlib
import re
import textwrap

import jinja2
from . import registry

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
WIDTH = 120
NAMES = "|".join(sorted((d.name for d in registry.DTYPES), key=len, reverse=True))
SYMBOL = re.compile(rf"(.*?_)((?:{NAMES})(?:_(?:{NAMES}))?)((?:_.*)?)")
FUNCTION = re.compile(r"^(?:IRISI?_\w+|static|extern|const|struct|void|int|float|double|\w+_t|iris_\w+)\b[^;={}()\n]*?"
                      r"\b(irisi?_\w+)\(", re.M)
CASE = re.compile(r"^(( *)(?:case \w+|default):\n(?: +[^\n{}]*;\n){1,3})(?= *(?:case|default|\}))", re.M)
MARK = re.compile(r'["(),]')
ONE_STATEMENT = re.compile(r"^(\w[^\n;{}]*\))\n\{\n    ([^\n{}]*;)\n\}$", re.M)

def functions(text):
    """Names of the functions that C text declares or defines at column 0, each once, in order."""
    return list(dict.fromkeys(FUNCTION.findall(text)))

def split(symbol):
    """(stem, dtype) of a symbol: iris_put_f32_wg is ("iris_put__wg", "f32"); dtype is "" where there is none."""
    parts = SYMBOL.fullmatch(symbol)
    return (parts[1] + parts[3], parts[2]) if parts else (symbol, "")

def function_list(text):
    """The public functions as lines for a banner: `iris_load_{i8, u8, f32}`, one line a family."""
    families = {}
    for name in filter(re.compile("iris_").match, functions(text)):
        families.setdefault(split(name)[0], []).append(name)
    for members in families.values():
        dtypes = "{" + ", ".join(split(m)[1] for m in members) + "}"
        line = SYMBOL.sub(rf"\1{dtypes}\3", members[0]) if len(members) > 1 else members[0]
        yield from textwrap.wrap(line, WIDTH - 5, initial_indent="  ", subsequent_indent="      ")

def commas(line, opened):
    """{depth: (column after, columns of the open parentheses)} of the last commas at which a line can break."""
    found, stack, quoted = {}, list(opened), False
    for mark in MARK.finditer(line, 0, WIDTH):
        i, c = mark.start(), mark[0]
        quoted ^= c == '"' and line[i - 1:i] not in ("\\", "'")
        if quoted:
            continue
        if c == "(":
            stack.append(i + 1)
        elif c == ")" and stack:
            stack.pop()
        elif c == "," and stack:
            found[len(stack)] = (i + 1, list(stack))
    return found

def wrap(line):
    """Breaks a line that is too long as clang-format does: after a comma, aligned with the open parenthesis."""
    indent = re.match(r" *", line)[0]
    comment = re.fullmatch(r" */\*\* (.*) \*/", line)
    if comment:
        lead = indent + " * "
        yield from [indent + "/**"] + textwrap.wrap(comment[1], WIDTH, initial_indent=lead, subsequent_indent=lead)
        line = indent + " */"
    opened, first = [], True
    if len(line) > WIDTH and FUNCTION.match(line) and not commas(line, opened) and line.index("(") < WIDTH:
        cut = line.index("(") + 1  # not even the first argument stands behind so long a name
        yield line[:cut]
        line, opened, first = " " * 4 + line[cut:], [4], False
    while len(line) > WIDTH and not line.lstrip().startswith(("*", "/*", "//", "#")) and commas(line, opened):
        cut, opened = min(commas(line, opened).values(), key=lambda c: len(c[1]))
        rest = " " * opened[-1] + line[cut:].lstrip()
        low = " " * (len(indent) + 4) + line[opened[0]:]
        nested = len(rest) > WIDTH and len(opened) not in commas(rest, opened)
        nested |= any(opened[-1] + len(argument) > WIDTH for argument in re.split(r"(?<=,) ", line[opened[-1]:]))
        if first and (nested if len(opened) == 1 else len(low) <= WIDTH):
            cut, rest, opened = opened[0], low, [len(indent) + 4]
        yield line[:cut]
        line, first = rest, False
    yield line

def joined(lines):
    """Lines of C where what a template broke inside parentheses is one line again; `wrap` knows how long names are."""
    whole = ""
    for line in lines:
        whole += line.strip() if whole.endswith("(") else " " + line.strip() if whole else line
        open_ended = whole.endswith((",", "(")) and whole.count("(") > whole.count(")")
        if open_ended and whole.lstrip()[:1] not in ("*", "/", "#"):
            continue
        yield whole
        whole = ""

def tidy(text):
    """The house format, as clang-format would leave it."""
    text = re.sub(r"^.*\\$", lambda m: f"{m[0][:-1].rstrip(' '):{WIDTH - 1}}\\", text, flags=re.M)
    text = CASE.sub(lambda m: m[0] if len(line := m[2] + " ".join(m[1].split())) > WIDTH else line + "\n", text)
    text = ONE_STATEMENT.sub(lambda m: m[0] if len(m[1] + m[2]) > WIDTH - 5 else f"{m[1]} {{ {m[2]} }}", text)
    lines = []
    for line in map(str.rstrip, joined(text.split("\n"))):
        lines += (line,) if len(line) <= WIDTH else wrap(line)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n") + "\n")
    return re.sub(r"\{\n\n", "{\n", re.sub(r"\n\n(\s*\})", r"\n\1", text))

def environment():
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
                             trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    env.filters["function_list"] = function_list
    return env

def subset(value, dtypes):
    """A row variable without the parts that are for a dtype outside the subset."""
    def needs(v):
        if isinstance(v, registry.DType):
            return [v]
        return [getattr(getattr(v, "g", v), n, dtypes[0]) for n in ("t", "out", "acc")]

    return tuple(v for v in value if all(t in dtypes for t in needs(v))) if isinstance(value, (tuple, list)) else value

def context(row, dtypes, files):
    """What a template sees. `d` always holds every dtype by name; `dtypes` is what the output is for."""
    names = dict(output=pathlib.PurePosixPath(row.output).name, title=row.title, template=row.path,
                 guard="IRIS_GEN_" + re.sub(r"\W", "_", row.output).upper(), symbols=lambda: symbols(dtypes, files))
    rows = {name: subset(value, dtypes) for name, value in row.rows.items()}
    return dict(dtypes=dtypes, d={t.name: t for t in registry.DTYPES}, groups=registry.GROUPS, cmps=registry.CMPS,
                platforms=registry.PLATFORMS, **names, **rows)

def render_all(rows, dtypes=registry.DTYPES):
    """{output: text} for rows, and a sentence for each template that fails; the others are rendered all the same."""
    env, files, failures = environment(), {}, []
    for row in rows:
        try:
            files[row.output] = tidy(env.get_template(row.path).render(context(row, dtypes, files)))
        except jinja2.TemplateNotFound as e:
            failures.append(f"output {row.output} has no template: templates/{e.name} does not exist")
        except jinja2.TemplateSyntaxError as e:
            failures.append(f"templates/{e.name}:{e.lineno} does not parse: {e.message}")
        except (jinja2.TemplateError, TypeError) as e:
            failures.append(f"templates/{row.path} does not render: {e}")
    return files, failures

def symbols(dtypes=registry.DTYPES, files=()):
    """[(row, its public functions)] of every header but the index; `files` are those that are rendered already."""
    rows = [r for r in registry.TEMPLATES if r.family != "index"]
    files = {**render_all([r for r in rows if r.output not in files], dtypes)[0], **dict(files)}
    return [(r, [f for f in functions(files.get(r.output, "")) if f.startswith("iris_")]) for r in rows]

def inputs(rows):
    """Every file that the outputs of rows are made from."""
    return {TEMPLATES / r.path for r in rows} | {*TEMPLATES.rglob("_*.j2"), *(ROOT / "gen").glob("*.py")}

def write_changed(files, folder):
    """Writes only what differs, so that nothing is rebuilt without need."""
    for name, text in files.items():
        path = pathlib.Path(folder) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
