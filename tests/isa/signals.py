# SPDX-License-Identifier: MIT
"""What must hold around the signals of the collectives' kernels (collectives.c): puts, meetings and looks.

A store of 8 bytes is a signal, or the end of a copy. The second stores what was loaded, or put together of narrow
elements, as a look at where its data comes from shows; a signal's value is counted.
"""
import re

from collectives import MORE, OTHERS
from gates import NOP, Gate, drops_far_lines, reaches, registers

ATOMIC = "irisi_all_reduce_atomic_sum_f32"  # no launcher has it
KERNELS = (ATOMIC,) + OTHERS + MORE
# Who puts before its first meeting; it has nothing of earlier kernels that others read, or writes back all the same.
PUTS_FIRST = tuple(k for k in KERNELS if re.search("(all_reduce_one_shot|reduce_scatter_push)_sum|atomic|send_recv", k))
# Who writes back in the first turn of a loop only.
SOMETIMES = tuple(k for k in KERNELS if "two_shot_push" in k)
ENTRY = tuple(k for k in KERNELS if k not in PUTS_FIRST + SOMETIMES)
TO_PEERS = r"^global_(store|atomic)_\w+ .*, off"  # of own words and of reports the address is scalar
WIDE_LOAD = r"^global_load_dwordx4"


def origin(listing, at, register):
    """The instruction before `at` that wrote a register, by the order of the listing."""
    for instr in reversed(listing.code[:at]):
        written = registers(instr.args)[:1] if instr.op.startswith(("v_", "global_load", "ds_")) else []
        if written and register in written[0]:
            return instr.op
    return ""


def reached(listing, starts, stops):
    """The instructions behind the starts, until a path comes to one of the stops, which belong to them."""
    stops, seen = set(stops), set()
    todo = [after for start in starts for after in (listing.code[start].next if start >= 0 else [0])]
    while todo:
        i = todo.pop()
        if i not in seen and i < len(listing.code):
            seen.add(i)
            todo.extend(listing.code[i].next if i not in stops else ())
    return seen


def led_to(listing, starts, goal):
    """Those of `goal` that paths come to first."""
    return reached(listing, starts, goal) & set(goal)


def kept(listing, isa, stores):
    """Stores of own counters, before the last barrier, and of reports, behind the atomic that claims one."""
    barriers, ends = listing.find(isa.barrier), listing.find(isa.end)
    last = {b for b in barriers if led_to(listing, [b], barriers + ends) & set(ends)}
    reports = reached(listing, listing.find(r"^global_atomic_cmpswap .*, s\["), barriers)
    return reports | {i for i in stores if led_to(listing, [i], barriers) & last}


def raised(listing, isa):
    """Indices of the stores that are signals. Where no modifier says so, those to a scalar address may be other
    ones."""
    stores = [i for i in listing.find(isa.set) if not any(origin(listing, i, r).startswith(("global_load", "v_or"))
                                                          for r in registers(listing.code[i].args)[-1])]
    scalar = [] if isa.through else [i for i in stores if ", off" not in listing.code[i].text]
    return sorted(set(stores) - (kept(listing, isa, scalar) & set(scalar)))


def without_wait(listing, isa, starts):
    """Barriers that a wave may meet at while its stores are under way."""
    waits, barriers = listing.find(isa.arrived), listing.find(isa.barrier)
    return led_to(listing, starts, waits + barriers) - set(waits)


def signals_follow_puts(listing, isa):
    """Every wave waits for its stores, then the workgroup meets, then one lane signals."""
    signals, barriers = raised(listing, isa), listing.find(isa.barrier)
    puts = [i for i in listing.find(TO_PEERS) if i not in signals]
    if not signals or not puts:
        yield "no signal" if puts else "no put"
    for start, first in ((puts, "a put"), (without_wait(listing, isa, puts),
                                           "a barrier that puts have not arrived at")):
        hit = led_to(listing, start, signals + barriers) & set(signals)
        if hit:
            yield f"between {first} and a signal nothing waits, or nobody meets: {listing.code[min(hit)].text}"
    early = led_to(listing, puts, signals + listing.find(isa.arrived)) & set(signals)
    if early:
        yield f"a signal while puts are under way: {listing.code[min(early)].text}"


def entry_writes_back(listing, isa):
    """The first meeting is for what earlier kernels wrote, too: a write-back between its barrier and its signals."""
    signals, barriers = raised(listing, isa), listing.find(isa.barrier)
    first = led_to(listing, [-1], barriers)
    if led_to(listing, [-1], barriers + signals) & set(signals):
        yield "a signal before the workgroup has met"
    hit = led_to(listing, first, barriers + signals + listing.find(isa.write_back)) & set(signals)
    if hit:
        yield f"a first signal without write-back: {listing.code[min(hit)].text}"
    if not led_to(listing, first, barriers + listing.find(isa.write_back)) - set(barriers):
        yield "no write-back between the first barrier and the next"
    for i in listing.find(isa.write_back):
        if listing.code[i + 1].text not in ("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)"):
            yield f"between the write-back and its wait: {listing.code[i + 1].text}"


def some_meeting_writes_back(listing, isa):
    """A write-back that leads to a signal, and to nothing else before it."""
    signals, other = raised(listing, isa), listing.find(isa.barrier) + listing.find(r"^global_(atomic|load)")
    if not led_to(listing, listing.find(isa.write_back), signals + other) & set(signals):
        yield "no signal follows a write-back"


def looks_acquire(listing, isa):
    """Who has seen a signal drops stale lines before the others go on, and before it reads what it was for."""
    barriers = listing.find(isa.barrier)
    polls = [i for i in listing.find(isa.poll) if listing.path(i, [i], barriers) is not None]
    if not polls:
        yield "no look at a signal is repeated"
    for goal in (isa.barrier, WIDE_LOAD, isa.end):
        yield from reaches(listing, polls, goal, [isa.invalidate], "goes on without dropping stale lines")
    yield from reaches(listing, polls, isa.invalidate, [isa.arrived], "drops stale lines while it still polls")
    yield from drops_far_lines(listing, polls, isa)


WAIT = (r"^s_waitcnt .*vmcnt\(0\)", NOP)
MEET = ("^s_barrier", NOP)
WRITE_BACK = ("^buffer_wbl2", NOP)
INVALIDATE = ("^buffer_(inv|wbinvl1_vol)( |$)", NOP)
FAR = {"gfx90a": (("^buffer_invl2", NOP),)}


def gates_of(arch):
    """One gate for each way of telling others, so that each is seen to notice what is wrong with its own."""
    kinds = {"rings": "ring|two_phase", "chains": "chain", "who fetches or relays": "fetch|relay",
             "messages": "send_recv", "who adds by atomics": "atomic", "meetings": ""}
    left = list(KERNELS)
    for kind, pattern in kinds.items():
        some = tuple(k for k in left if re.search(pattern, k))
        left = [k for k in left if k not in some]
        yield Gate(f"signals of {kind} follow their puts: a wait in every wave, then a barrier", some,
                   signals_follow_puts, (WAIT, MEET))
    yield Gate("a collective's first meeting writes back what earlier kernels wrote", ENTRY, entry_writes_back,
               (WRITE_BACK, ("^buffer_wbl2", "s_barrier"), (r"^s_waitcnt vmcnt\(0\)", "v_mov_b32_e32 v0, 0")))
    yield Gate("a first meeting in a loop writes back, too", SOMETIMES, some_meeting_writes_back, (WRITE_BACK,))
    yield Gate("collectives drop stale lines between a signal and its data", KERNELS, looks_acquire,
               (INVALIDATE, WAIT, *FAR.get(arch, ())))


GATES = {arch: tuple(gates_of(arch)) for arch in ("gfx90a", "gfx942", "gfx950")}
