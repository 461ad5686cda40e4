# SPDX-License-Identifier: MIT
"""What gemm.py demands of the loop for few rows, whose kernels stand beside those of the matrix loops."""
import re

import gemm_order

TILES = 4  # each has two loops, of either layout of B, in each kernel that computes
RING, RING_WITH_COMM = 4, 2  # steps that are loaded ahead (mainloop/amd/skinny_shape.h)


def main_loops(loops):
    """Those that load what later turns multiply; what is left of the wave's part of K is multiplied behind them."""
    return [loop for loop in loops if any(i.op.startswith("v_mfma") for i in loop)
            and any(i.op.startswith("global_load") for i in loop)]


def loads_are_under_way(name, loops):
    """Problems: whoever waits for a step's words must leave a step's words or more on their way."""
    ring = RING_WITH_COMM if "wave_specialized" in name else RING
    found = main_loops(loops)
    if len(found) != 2 * TILES:
        yield f"{len(found)} loops that load and multiply instead of {2 * TILES}"
    for loop in found:
        loads = sum(i.op.startswith("global_load") for i in loop)
        waits = [int(n) for i in loop if i.op == "s_waitcnt" for n in re.findall(r"vmcnt\((\d+)\)", i.args)]
        if loads % ring or not waits or min(waits) < loads // ring:
            yield f"{loads} loads in {ring} steps, and a wait that leaves {min(waits, default=None)} of them under way"


def accesses_are_wide(loops):
    """Problems: of a B that is n x k all loads are 16 bytes a lane; of one that is k x n those of A, and B's by
    tile."""
    widths = sorted("".join(sorted({i.op.split("_")[2] for i in loop if i.op.startswith("global_load")}))
                    for loop in main_loops(loops))
    wanted = sorted(["dwordx4"] * TILES + ["dwordx4ushort", "dworddwordx4", "dworddwordx4", "dwordx2dwordx4"])
    if widths != wanted:
        yield f"loops load {' '.join(widths)}, not {' '.join(wanted)}"
    for loop in main_loops(loops):
        for i in loop:
            if i.op.startswith(("ds_", "scratch_", "s_barrier")):
                yield f"a wave touches shared memory, or waits for others, before its sums are done: {i.text}"


def sums_are_wide(kernel):
    """Problems: each wave writes a block's sums by one instruction."""
    if not kernel.find(r"^ds_write_b128"):
        yield "no sums of 16 bytes a lane"


def check(gemm, arch, kind, kernels, report):
    """All of it for every pattern's kernels, and those of gemm's checks that do not speak of the matrix loops."""
    where, named = f"{arch} {kind}", lambda p: gemm.symbol(p, kind, "skinny_mfma")
    anywhere = (gemm.tiles_arrive, gemm.tiles_are_waited_for, gemm_order.puts_go_through,
                gemm_order.nothing_is_written_back,
                gemm_order.packets_are_of_the_system, gemm_order.polls_are_of_the_system, gemm.only_its_memory)
    # Its flag's address is in registers of its own, which FLAG does not know; wg_specialized's has the same source.
    without_flag = (gemm.tiles_arrive, "producer_consumer_compute")
    own = (("loads for later steps are under way", lambda k: loads_are_under_way(k.name, gemm.loops(k)),
            r"vmcnt\(\d+\)", "s_waitcnt vmcnt(0)"),
           ("16 bytes a lane where B is n x k, and no shared memory", lambda k: accesses_are_wide(gemm.loops(k)),
            r"^v_mfma", "ds_read_b32 v0, v1"),
           ("16 bytes of sums a lane", sums_are_wide, r"^ds_write_b128", gemm.NOP))
    missing = [named(p) for p in gemm.COMPUTE + gemm.SEND if named(p) not in kernels]
    report.line(where, "few rows: every pattern's kernels are there", missing)
    if missing:
        return
    for text, function, whose, _ in gemm.CHECKS:
        if function in anywhere:
            report.line(where, f"few rows: {text}", [f"{p}: {x}" for p in whose if (function, p) != without_flag
                                                     for x in function(arch, kernels[named(p)])])
    for text, function, pattern, replacement in own:
        report.line(where, f"few rows: {text}", [f"{p}: {x}" for p in gemm.COMPUTE
                                                 for x in function(kernels[named(p)])])
        if kind != "f16":
            continue  # its edits speak for the other's
        edited = gemm.broken(kernels[named(gemm.FUSED)], pattern, replacement)
        report.line(where, f"  notices {pattern} -> {replacement}",
                    [] if edited and list(function(edited)) else ["the edit went unnoticed"])
