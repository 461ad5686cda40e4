# SPDX-License-Identifier: MIT
"""Order in the GEMM kernels on AMD's matrix units, for gemm.py: meetings, waits for loads, puts, signals, polls.

Each check takes (arch, kernel) and yields a sentence for each way in which the kernel breaks its promise. EDITS are
what the checks together must notice in the listing of a real kernel, whatever else they notice: each changes a listing
and says how many instructions it changed.
"""
import re

import gates

ISAS = {"gfx90a": gates.GFX90A, "gfx942": gates.GFX942, "gfx950": gates.GFX942}
MEMORY = re.compile(r"(ds_(?!add_u32|read_b32$)|global_|buffer_|scratch_|flat_)")
COUNTED = re.compile(r"(global_|buffer_|scratch_|flat_)")  # what vmcnt counts
PUT = r"^global_store_(byte|short|dword(x2|x4)?) v\[\d+:\d+\], v(\d+|\[\d+:\d+\]), off"
RAISE = r"^global_atomic_add_x2 (v\[\d+:\d+\], ){2}off"  # a signal on some rank
WORD = r"^global_load_dwordx2 v\[\d+:\d+\], (v\d+, s\[|v\[\d+:\d+\], off)"
FETCH = r"^global_load_dwordx4 v\[\d+:\d+\], v\d+, s\["  # of a slab, into registers
DIRECT = r"^global_load_lds"
SLEEP = r"^s_sleep"


def meets(kernel, instr):
    """Whether the instruction is a meeting of the math waves."""
    return instr.op == ("ds_add_u32" if "wave_specialized" in kernel.name else "s_barrier")


def phases_meet(kernel, loop):
    """Between two phases of matrix instructions: a meeting, then memory, then a meeting. A loop ends where it began."""
    begins = [i for i, c in enumerate(loop) if c.op == "s_setprio" and c.args == "1"]
    for at, begin in enumerate(begins):
        before = begins[at - 1] - (len(loop) if at == 0 else 0)
        between, multiplies = "", True
        for i in range(before + 1, begin):
            if loop[i].op == "s_setprio":
                multiplies = False
            elif meets(kernel, loop[i]):
                between += "M"
            elif MEMORY.match(loop[i].op) and not between.endswith("a"):
                between += "a"
        if multiplies or between != "MaM":
            yield between.replace("M", "meeting ").replace("a", "access ") or "nothing "


def meetings_are_around_phases(arch, kernel, loops):
    for loop in loops:
        for between in phases_meet(kernel, loop):
            yield f"between two phases of a loop: {between.strip()}"
        if "wave_specialized" in kernel.name:
            arrivals = sum(meets(kernel, c) for c in loop)
            looks = sum(c.op == "ds_read_b32" for c in loop)
            if looks < arrivals:
                yield f"{arrivals} arrivals at meetings and {looks} looks at who has come"


def operands(kernel):
    """Of each instruction: (vector registers that it writes, those that it reads)."""
    if not hasattr(kernel, "operands"):
        kernel.operands = [_operands(c) for c in kernel.code]
    return kernel.operands


def _operands(instr):
    every = [set(range(int(a), int(b or a) + 1)) for a, b in re.findall(r"\bv\[?(\d+)(?::(\d+))?", instr.args)]
    writes = instr.args.startswith("v") and not re.match(r"global_store|ds_write|ds_add|scratch_store|v_cmp", instr.op)
    return (every[0] if writes and every else set()), set().union(*every[1 if writes else 0:])


def early_use(kernel, load):
    """An instruction that reads the load's registers on a path that has not waited for it, or None."""
    code, regs, seen = kernel.code, operands(kernel), set()
    wanted, todo = regs[load][0], [(i, 0) for i in code[load].next]
    while todo:
        i, behind = todo.pop()
        if (i, behind) in seen or i >= len(code):
            continue
        seen.add((i, behind))
        waits = re.search(r"vmcnt\((\d+)\)", code[i].args) if code[i].op == "s_waitcnt" else None
        if waits and behind >= int(waits[1]):
            continue
        if regs[i][1] & wanted:
            return code[i]
        if regs[i][0] & wanted or i == load:
            continue
        todo += [(n, min(behind + bool(COUNTED.match(code[i].op)), 64)) for n in code[i].next]
    return None


def loads_are_waited_for(arch, kernel):
    fetches = kernel.find(FETCH)
    if not fetches and not kernel.find(DIRECT):
        yield "nothing is fetched"
    for load in fetches:
        use = early_use(kernel, load)
        if use:
            yield f"read before it is there: {kernel.code[load].text} -> {use.text}"
            return
    yield from direct_loads_are_waited_for(kernel)


def direct_loads_are_waited_for(kernel):
    """What goes to shared memory without registers is there before the second phase behind it, which may read it."""
    begins, there = kernel.find(r"^s_setprio 1"), kernel.find(r"^s_waitcnt .*vmcnt\(0\)")
    for load in kernel.find(DIRECT):
        first = [b for b in begins if kernel.path(load, [b], begins + there) is not None]
        yield from gates.reaches(kernel, first, r"^s_setprio 1", [r"^s_waitcnt .*vmcnt\(0\)"],
                                 f"read by a phase before it is there: {kernel.code[load].text}")


def raised_at_entry(kernel):
    """Stores of 8 bytes that are signals: the first, with at most one barrier in front of it."""
    barriers = kernel.find(r"^s_barrier")
    words = [i for i in kernel.find(PUT) if kernel.code[i].op == "global_store_dwordx2"]
    for start in [-1] + barriers[:1]:
        found = [i for i in words if kernel.path(start, [i], barriers) is not None]
        if found:
            return found
    return []


def puts_go_through(arch, kernel):
    isa, found = ISAS[arch], kernel.find(PUT)
    for width in ("byte", "short", "dword", "dwordx2", "dwordx4"):
        if "compute" not in kernel.name and not any(kernel.code[i].op == f"global_store_{width}" for i in found):
            yield f"no put of a {width}"
    for i in found:
        if isa.through not in kernel.code[i].text:
            yield f"does not go through to the system: {kernel.code[i].text}"
    for i in kernel.find(RAISE):
        if i not in kernel.find(isa.add):
            yield f"a signal of less than system scope: {kernel.code[i].text}"
    signals = set(raised_at_entry(kernel))
    yield from gates.reaches(kernel, [i for i in found if i not in signals], RAISE, [isa.arrived],
                             "a signal before a put has arrived")


def nothing_is_written_back(arch, kernel):
    """Whoever polls may find that the deadline has passed, and writes back for those who look into it."""
    isa = ISAS[arch]
    signals, looks = kernel.find(RAISE), kernel.find(isa.poll)
    back = [i for i in kernel.find(r"^buffer_wbl2") if kernel.path(i, signals, looks) is not None]
    for put in kernel.find(PUT):
        at = kernel.path(put, back, signals + looks)
        if at is not None:
            yield f"a whole cache is written back between a put and its signal: {kernel.code[at].text}"
            return


def polls(kernel):
    """Loads of a word from one place that are followed by a pause, unless by another load."""
    loads, pauses = kernel.find(r"^(global_load|ds_read)"), kernel.find(SLEEP)
    return [i for i in kernel.find(WORD) if kernel.path(i, pauses, loads) is not None]


def polls_are_of_the_system(arch, kernel):
    isa, found = ISAS[arch], polls(kernel)
    if not found:
        yield "nobody waits for a signal"
    for i in found:
        if i not in kernel.find(isa.poll):
            yield f"a look at a signal of less than system scope: {kernel.code[i].text}"
    for goal in (isa.barrier, isa.end):
        yield from gates.reaches(kernel, found, goal, [isa.invalidate], "goes on without dropping stale lines")


def packets_are_of_the_system(arch, kernel):
    """Of a kernel that sends nothing else: its stores of 8 bytes, and what it looks at again and again."""
    isa, stores, looks = ISAS[arch], kernel.find(r"^global_store_dwordx2 .*, off"), polls(kernel)
    if not stores or not looks:
        yield "no packet is sent, or nobody looks for one"
    for i in stores:
        if isa.through not in kernel.code[i].text:
            yield f"does not go through to the system: {kernel.code[i].text}"
    for i in looks:
        if i not in kernel.find(isa.poll):
            yield f"a look at a packet of less than system scope: {kernel.code[i].text}"


# Edits of a listing.
def set_nop(instr):
    instr.op, instr.args = "s_nop", "0"
    return 1


def each(pattern, change, every=1, skip=0):
    """An edit of every n-th instruction that matches, in the order of the listing."""
    def edit(kernel, loops):
        hits = kernel.find(pattern)[skip::every]
        return sum(change(kernel.code[i]) or 0 for i in hits)
    return edit


def in_loops(pattern, change, every=1, skip=0):
    """The same in each of the loops around matrix instructions."""
    def edit(kernel, loops):
        return sum(change(c) for loop in loops for c in [c for c in loop if re.search(pattern, c.text)][skip::every])
    return edit


def drop(what):
    def change(instr):
        kept, instr.args = instr.args, re.sub(what, "", instr.args)
        return instr.args != kept
    return change


def no_vmcnt(instr):
    instr.args = re.sub(r"vmcnt\(\d+\) ?", "", instr.args).strip() or "lgkmcnt(15)"
    return 1


def write_back_before(kernel, loops):
    count = 0
    for i in kernel.find(RAISE):
        before = kernel.code[i - 1]
        if "branch" not in before.op and before.op != "s_waitcnt":
            before.op, before.args, count = "buffer_wbl2", "sc0 sc1", count + 1
    return count


SYSTEM = ("gfx942", "gfx950")  # where instructions say so
EVERYWHERE = ("gfx90a",) + SYSTEM
SENDERS = ("fused_sequential", "wg_specialized", "wave_specialized", "producer_consumer_send", "bulk_synchronous_send")
PACKETS = ("fused_sequential_ll",)
LOOPS = ("fused_sequential", "producer_consumer_compute")
EDITS = (  # what, whose, where, edit
    ("no barrier in the loops", LOOPS, EVERYWHERE, in_loops(r"^s_barrier", set_nop)),
    ("every second barrier in the loops", LOOPS, EVERYWHERE, in_loops(r"^s_barrier", set_nop, 2, 1)),
    ("one barrier in the loops", LOOPS, EVERYWHERE, in_loops(r"^s_barrier", set_nop, 99)),
    ("no arrival at meetings in the loops", ("wave_specialized",), EVERYWHERE, in_loops(r"^ds_add_u32", set_nop)),
    ("no look at meetings in the loops", ("wave_specialized",), EVERYWHERE, in_loops(r"^ds_read_b32", set_nop)),
    ("no wait for fetches in the loops", LOOPS + ("wave_specialized",), EVERYWHERE,
     in_loops(r"^s_waitcnt .*vmcnt", no_vmcnt)),
    ("one wait for fetches in the loops", LOOPS, EVERYWHERE, in_loops(r"^s_waitcnt .*vmcnt", no_vmcnt, 99)),
    ("write-back before the signals", SENDERS, EVERYWHERE, write_back_before),
    ("no invalidation", SENDERS, EVERYWHERE, each(r"^buffer_(inv|wbinvl1_vol)", set_nop)),
    ("one signal of less than system scope", SENDERS, SYSTEM, each(RAISE + " sc1", drop(" sc1"), 99, -1)),
    ("polls of less than system scope", SENDERS, SYSTEM, each(WORD + r".* sc0 sc1", drop(" sc0"))),
    ("polls that do not bypass caches", SENDERS, ("gfx90a",), each(WORD + r".* glc", drop(" glc"))),
    ("looks at packets of less than system scope", PACKETS, SYSTEM, each(WORD + r".* sc0 sc1", drop(" sc0"))),
    ("looks at packets that do not bypass caches", PACKETS, ("gfx90a",), each(WORD + r".* glc", drop(" glc"))),
    ("packets stay in caches", PACKETS, SYSTEM, each(r"^global_store_dwordx2 .*, off sc0 sc1", drop(" sc0 sc1"))),
    *((f"puts of a {width} stay in caches", SENDERS, SYSTEM,
       each(rf"^global_store_{width} .*, off sc0 sc1", drop(" sc0 sc1")))
      for width in ("byte", "short", "dword", "dwordx2", "dwordx4")),
)
