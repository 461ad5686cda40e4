# SPDX-License-Identifier: MIT
"""Names are the field's: no identifier has a word of the table below as a part, where the field has another word for
it. docs/glossary.md holds the words that remain."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GEMM = ("include/iris/gemm/", "include/iris/mainloop/", "include/iris/runtime/gemm/", "templates/gemm/",
        "templates/mainloop/",
        "gen/gemm.py")
ALL = ("include/", "templates/", "gen/")
# words, what is said instead, where
TABLE = (
    ("crew", "wave_group", ALL), ("mailbox", "stage_pipe", ALL), ("tell told tells hand_on", "notify", GEMM),
    ("relay", "tma_forward", GEMM), ("boxed", "tma_store", ALL), ("turned", "transposed, n_major", ALL),
    ("gang spread", "cluster_split_k", GEMM), ("joint", "pair_split_k", GEMM),
    ("slice slices", "split_k, k_split", GEMM),
    ("walk turn turns item", "schedule, position", GEMM), ("anywhere", "unaligned", GEMM),
    ("bare", "no_epilogue", GEMM),
    ("alone", "compute_only", GEMM), ("lead led late", "sender_tiles, tail_tiles", GEMM), ("thin", "gemv", GEMM),
    ("few", "skinny", ("include/iris/mainloop/amd/", "include/iris/runtime/gemm/choose.h", "templates/mainloop/")),
    ("sm90a_lines", "sm90a_unaligned_b", ALL), ("afresh", "rematerialize", ALL), ("parked", "in_vector_register", ALL),
    ("hub_tell irisi_row IRISI_ROW", "notify, tune_row, IRISI_TUNE or IRISI_WORD", ALL),
)
TEXT = re.compile(r'/\*.*?\*/|\{#.*?#\}|//[^\n]*|"(?:[^"\\\n]|\\.)*"|#[^\n]*(?=\n)', re.S)


def names(file):
    """Identifiers with their lines; comments and texts have English in them."""
    text = file.read_text(encoding="utf-8")
    blank = TEXT.sub(lambda m: m[0] if m[0].startswith("#define") or m[0].startswith("#if")
                     else re.sub(r"[^\n]", " ", m[0]), text)
    for n, line in enumerate(blank.split("\n"), 1):
        yield from ((n, name) for name in re.findall(r"[A-Za-z_]\w*", line))


def breaches(files, text=names):
    for file in files:
        path = file.relative_to(ROOT).as_posix() if file.is_absolute() else file.as_posix()
        rules = [(w, said) for words, said, where in TABLE if path.startswith(where) for w in words.split()]
        if not rules:
            continue
        one = re.compile(r"(?<![A-Za-z0-9])(" + "|".join(w for w, _ in rules) + r")(?![A-Za-z0-9])", re.I)
        for n, name in text(file):
            found = one.search(name)
            if found:
                said = next(s for w, s in rules if w.lower() == found[0].lower())
                yield f"{path}:{n} has {name}: say {said}"


made_up = list(breaches([pathlib.Path("include/iris/gemm/x.h")],
                        lambda _: [(1, "irisi_crew_of"), (2, "turns_left"), (3, "returned")]))
assert len(made_up) == 2, made_up  # the table is read, and a part is not a syllable
found = list(breaches(sorted(f for f in ROOT.rglob("*") if f.is_file() and f.suffix in (".h", ".c", ".j2", ".py")
                             and f.relative_to(ROOT).as_posix().startswith(ALL))))
glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
found += [f"docs/glossary.md lacks {w}" for w in ("stage pipe", "wave group", "schedule", "split_k", "skinny", "gemv")
          if w not in glossary]
print("\n".join(f"words: {b}." for b in found) or "every word is the field's or in the glossary")
sys.exit(bool(found))
