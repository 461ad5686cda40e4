# SPDX-License-Identifier: MIT
"""Listings: the instructions of one kernel and which can follow which, from AMD disassembly or from PTX."""
import re
from dataclasses import dataclass, field


@dataclass
class Instr:
    op: str    # s_waitcnt, st.global.u32
    args: str  # everything after it
    next: list = field(default_factory=list)  # indices of what can run after it

    @property
    def text(self):
        return f"{self.op} {self.args}" if self.args else self.op


@dataclass
class Listing:
    """One kernel. Gates ask which instructions there are, and whether a path leads from some to others."""
    name: str
    code: list
    found: dict = field(default_factory=dict)  # what was looked for, until an edit

    def find(self, pattern):
        """Indices of the instructions that match."""
        if pattern not in self.found:
            if "" not in self.found:
                self.found[""] = [instr.text for instr in self.code]
            search = re.compile(pattern).search
            self.found[pattern] = [i for i, text in enumerate(self.found[""]) if search(text)]
        return self.found[pattern]

    def edit(self, pattern, replacement):
        """Replaces whole instructions; how many."""
        hits = self.find(pattern)
        for i in hits:
            self.code[i].op, _, self.code[i].args = replacement.partition(" ")
        self.found = {}
        return len(hits)

    def path(self, start, goal, without):
        """An index in `goal` that some path reaches from behind `start` without passing `without`, or None."""
        goal, without = set(goal), set(without)
        seen, todo = set(), list(self.code[start].next) if start >= 0 else [0]
        while todo:
            i = todo.pop()
            if i in seen or i >= len(self.code):
                continue
            seen.add(i)
            if i in goal:
                return i
            if i not in without:
                todo.extend(self.code[i].next)
        return None


AMD_KERNEL = re.compile(r"^[0-9a-f]+ <(\w+)(?:\(.*\))?>:$")
AMD_INSTR = re.compile(r"^\t(\w+) ?(.*?)\s*// ([0-9A-F]+):(?:.*<.*\+0x([0-9a-f]+)>)?")


def amd(text):
    """{kernel: Listing} from `llvm-objdump -d --demangle`."""
    kernels, rows = {}, None
    for line in text.split("\n"):
        head, instr = AMD_KERNEL.match(line), AMD_INSTR.match(line)
        if head:
            rows = kernels.setdefault(head[1], [])
        elif instr and rows is not None:
            rows.append((int(instr[3], 16), instr[1], instr[2], instr[4]))
    return {name: _amd_listing(name, rows) for name, rows in kernels.items()}


def _amd_listing(name, rows):
    end = next((i for i, r in enumerate(rows) if r[1] == "s_code_end"), len(rows))
    rows = rows[:end]
    at = {row[0]: i for i, row in enumerate(rows)}
    code = []
    for i, (_, op, args, target) in enumerate(rows):
        after = [] if op in ("s_branch", "s_endpgm") else [i + 1]
        if "branch" in op:
            after.append(at[rows[0][0] + int(target or "0", 16)])
        code.append(Instr(op, args, after))
    return Listing(name, code)


PTX_KERNEL = re.compile(r"\.visible \.entry (?:_Z\d+)?(isa_\w+?(?=8isa_args)|irisi_\w+)\w*\(.*?\n\{\n"
                        r"(.*?)\n\n\}\n", re.S)
PTX_INSTR = re.compile(r"^\s*(?:@(!?%p\d+)\s+)?([a-z][\w.:]*)\s*(.*?);$")


def ptx(text):
    """{kernel: Listing} from `nvcc -ptx`."""
    return {name: _ptx_listing(name, body) for name, body in PTX_KERNEL.findall(text)}


def _ptx_listing(name, body):
    rows, labels = [], {}
    for line in body.split("\n"):
        line = line.strip()
        if line.startswith("$") and line.endswith(":"):
            labels[line[:-1]] = len(rows)
        instr = PTX_INSTR.match(line)
        if instr:
            rows.append(instr.groups())
    code = []
    for i, (predicate, op, args) in enumerate(rows):
        ends = (op.startswith("bra") or op in ("ret", "exit")) and not predicate
        after = [] if ends else [i + 1]
        if op.startswith("bra"):
            after.append(labels[args])
        code.append(Instr(op, args, after))
    return Listing(name, code)
