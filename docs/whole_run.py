# SPDX-License-Identifier: MIT
"""Writes into docs/platforms.md what a run of the whole suite on GPUs said.

    tests/gpu/run.sh accept --commit $(git rev-parse --short HEAD)
    python3 docs/whole_run.py build-gpu/logs/results.json

A topology of the results takes the place of the row that the page has for it; other rows stay. What was run in part
(accept's --only and --skip) is no whole run, and is not to be written here.
"""
import json
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent / "platforms.md"
BEGIN, END = "<!-- docs/whole_run.py writes this table -->\n", "<!-- end of the table -->\n"
HEAD = "| ranks | devices | commit | programs that passed | what did not |\n|---|---|---|---|---|\n"
TOPOLOGIES = {"1gpu": "four threads on one GPU", "2gpu": "two processes, a GPU each",
              "4gpu": "four processes, a GPU each", "8gpu": "eight processes, a GPU each",
              "sanitizers": "compute-sanitizer: racecheck, initcheck, memcheck, synccheck"}


def table(text):
    """{first cell: line} of the table in the page's text."""
    lines = text.partition(BEGIN)[2].partition(END)[0].split("\n")[2:]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line}


def commits(text):
    """The commits that the table names."""
    return [cell for line in table(text).values() for cell in re.findall(r"\| `([0-9a-f]{7,40})` \|", line)]


def row(name, result):
    """The line of one topology."""
    runs = [r for r in result["runs"] if r["topology"] == name]
    wrong = [r for r in runs if r["verdict"] != "ok"]
    device = re.sub(r"^\d+ x (NVIDIA |AMD )?", "", result["device"])
    said = ", ".join(f"`{r['test']}`: {r['verdict']}" for r in wrong) or "–"
    commit = re.match(r"[0-9a-f]*", result["commit"])[0]
    return f"| {TOPOLOGIES[name]} | {device} | `{commit}` | {len(runs) - len(wrong)} of {len(runs)} | {said} |"


def written(text, results):
    """The page's text with what the results say."""
    rows = table(text)
    for result in results:
        for name in dict.fromkeys(r["topology"] for r in result["runs"]):
            rows[TOPOLOGIES[name]] = row(name, result)
    lines = "".join(rows[t] + "\n" for t in TOPOLOGIES.values() if t in rows)
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + HEAD + lines + END + rest.partition(END)[2]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    everything = [json.loads(pathlib.Path(f).read_text(encoding="utf-8")) for f in sys.argv[1:]]
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), everything), encoding="utf-8")
    print(f"docs/platforms.md names {', '.join(dict.fromkeys(commits(PAGE.read_text(encoding='utf-8'))))}")
