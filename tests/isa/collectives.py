# SPDX-License-Identifier: MIT
"""What must hold for the kernels of every schedule of every collective (collectives.c), as gates.py says it.

The sequences of signals themselves are looked at where nothing else is (isa_slice_* in kernels.c): here puts are
followed to the next look at a signal, which is where a meeting waits for the others.
"""
import pathlib
import re
import sys

from gates import NOP, Gate, only_global_memory, reaches

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from gen import registry  # noqa: E402

NAMES = {f"{c.name}_{s}": f"irisi_{c.name}_{s}" + "_sum_bf16" * (c.ops is registry.OPS)
         for c in registry.COLLECTIVES for s in c.schedules}
PACKETS = tuple(kernel for name, kernel in NAMES.items() if "_ll" in name)  # their data is their signal
VALUES = "irisi_all_reduce_values"  # the same, of what lanes hold
OTHERS = tuple(kernel for kernel in NAMES.values() if kernel not in PACKETS)
MORE = ("irisi_all_reduce_rmsnorm_one_shot_bf16", "irisi_all_reduce_rmsnorm_two_shot_bf16", "irisi_all_to_allv_8",
        "irisi_send_recv", "irisi_send_recv_2d")
# Who puts, tells everybody, and waits; rings and chains tell a neighbour in one turn of a loop and wait in another, and
# who fetches waits for the root's next piece while its last puts are on their way, and tells of them at the end.
MEETINGS = tuple(k for k in OTHERS if not re.search("pull|one_shot|ring|chain|fetch", k))
WIDE_STORE = r"^global_store_dwordx4 v\[\d+:\d+\], v\[\d+:\d+\], off"  # but for reports, whose address is scalar


def accesses_are_wide(listing, isa):
    if not listing.find(WIDE_STORE):
        yield "no 16-byte store"
    if not listing.find(r"^global_load_dwordx4"):
        yield "no 16-byte load"
    for i in listing.find(WIDE_STORE):
        if isa.through not in listing.code[i].text:
            yield f"does not go through to the system: {listing.code[i].text}"


def puts_arrive(listing, isa):
    if not listing.find(isa.poll):
        yield "no look at a signal"
    for between, what in ((isa.arrived, "have arrived"), (isa.barrier, "have been met by the workgroup")):
        yield from reaches(listing, listing.find(WIDE_STORE), isa.poll, [between],
                           f"waits for others before its puts {what}")
    yield from reaches(listing, listing.find(WIDE_STORE), isa.end, [isa.arrived], "ends before its puts have arrived")


def loops_keep_scalars(listing, isa):
    """A scalar that waits in a lane of a vector register is fetched back outside of the loops that move data."""
    back = [(target, i) for i, instr in enumerate(listing.code) for target in instr.next if target <= i]
    inner = [(a, b) for a, b in back if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in back)]
    loops = [listing.code[a:b + 1] for a, b in inner]
    moving = [code for code in loops if any(re.match(r"global_(load|store)_dwordx4", i.op) for i in code)]
    if not moving:
        yield "no loop moves 16 bytes"
    for code in moving:
        yield from (f"a spilled scalar where data moves: {i.text}" for i in code
                    if i.op in ("v_readlane_b32", "v_writelane_b32"))


def packets_carry_flags(listing, isa):
    if not listing.find(isa.set):
        yield "no packet of system scope"
    if not listing.find(isa.poll):
        yield "no look at a packet"


GATES = {arch: (
    Gate("collectives read and write 16 bytes at once", OTHERS + MORE, accesses_are_wide,
         (("^global_store_dwordx4", "global_store_dwordx2 v[0:1], v[2:3], off sc0 sc1"),
          ("^global_load_dwordx4", "global_load_dwordx2 v[2:3], v[0:1], off"))),
    Gate("collectives wait for nobody before their puts have arrived", MEETINGS, puts_arrive,
         ((r"^s_waitcnt .*vmcnt\(0\)", NOP), ("^s_barrier", NOP))),
    Gate("collectives' loops over data keep their scalars", OTHERS + MORE, loops_keep_scalars,
         (("^s_waitcnt", "v_readlane_b32 s0, v0, 0"),
          ("^global_(load|store)_dwordx4", "global_load_dwordx2 v[2:3], v[0:1], off"))),
    Gate("packets go to the system and are looked for there", PACKETS + (VALUES,), packets_carry_flags,
         (("^global_store_dwordx2", NOP), ("^global_load_dwordx2", NOP))),
    Gate("only global instructions touch the memory of collectives", tuple(NAMES.values()) + MORE + (VALUES,),
         only_global_memory,
         (("^global_store_dwordx4", "scratch_store_dwordx4 off, v[0:3], s32"),)),
) for arch in ("gfx90a", "gfx942", "gfx950")}
