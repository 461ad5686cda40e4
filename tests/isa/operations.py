# SPDX-License-Identifier: MIT
"""What gemm.py demands of the kernels by which sums and operands cross the ranks. Those before or behind a GEMM alone
go with every mainloop, so they are compiled with the least one; those that compute, with the architecture's own."""
import gates
import gemm_order

KERNELS = {"reduce_scatter": "reduce", "all_reduce": "reduce", "all_gather": "gather", "all_reduce_rmsnorm": "reduce"}
REMOTE = ("all_reduce", "all_gather", "all_reduce_rmsnorm")  # whose stores go to other ranks
BY_PACKETS = " by packets"
EIGHT_BYTES = ("f8e4m3_f8e4m3", "i8_i8", "f16_f32", "bf16_f32")  # C too is stored 8 bytes at a time, like a packet
NOP = "s_nop 0"


def source(kind):
    """The lines of a file that holds them for a type."""
    lines = ["#include <iris/iris.h>", "#include <iris/mainloop/shape.h>"]
    lines += [f"#define IRIS_INSTANTIATE_GEMM_{op.upper()}_{kind.upper()}" for op in KERNELS]
    return lines + [f"#include <iris/gen/launch/gemm_{op}.h>" for op in KERNELS]


PATTERNS = ("fused_sequential", "wg_specialized", "producer_consumer_compute", "wave_specialized")
FUSED = {"reduce_scatter": PATTERNS, "all_reduce": PATTERNS, "all_gather": PATTERNS,
         "all_reduce_rmsnorm": ("fused_sequential",)}


def fused_source(kind):
    """The lines of a file that holds the kernels that compute, too, for a type."""
    lines = ["#include <iris/iris.h>", "#include <iris/mainloop/shape.h>", "#undef IRISI_GEMM_HAS_PLAIN",
             "#define IRIS_GEMM_ALL_PATTERNS"]
    lines += [f"#define IRIS_INSTANTIATE_GEMM_{op.upper()}_{kind.upper()}" for op in FUSED]
    return lines + [f"#include <iris/gen/launch/gemm_{op}.h>" for op in FUSED]


def fused_symbols(kind, loops):
    """Names of these kernels with some mainloops."""
    return [f"irisi_gemm_{op}_{pattern}_{kind}_{loop}" for op in FUSED for pattern in FUSED[op] for loop in loops]


def check_fused(gemm, arch, kind, built, names, report):
    """The gates of kernels that compute and communicate."""
    where, (said, used, kernels) = f"{arch} {kind}", built
    report.line(where, "holds the kernels that compute while sums or operands cross the ranks",
                [said] if said else [f"{n} is missing" for n in names if n not in kernels])
    if said:
        return
    report.line(where, "  no scratch, no spills there, nor in those of packets and of few rows",
                [f"{n}: {key} is {row[key]}" for n, row in used.items()
                 for key in ("ScratchSize", "VGPRs Spill", "SGPRs Spill") if row[key]] +
                [f"{n}: nothing is known of its registers" for n in names if n not in used])
    report.line(where, "  ranks are waited for, stores arrive before signals, all in their memory",
                [f"{n}: {p}" for n in names for p in (
                    *stores_arrive(gemm.ISAS[arch], kernels[n], True, "wave_specialized" not in n),
                    *gemm.only_its_memory(arch, kernels[n]),
                    *gemm_order.polls_are_of_the_system(arch, kernels[n]),
                    *gemm_order.nothing_is_written_back(arch, kernels[n]))])


def symbols(kind):
    """{operation: its kernel's name}, and "OPERATION by packets": that of one that sends no signal."""
    names = {op: f"irisi_gemm_{op}_bulk_synchronous_{verb}_{kind}" for op, verb in KERNELS.items()}
    return {**names, **{f"{op}{BY_PACKETS}": f"irisi_gemm_{op}_bulk_synchronous_{verb}_ll_{kind}"
                        for op, verb in KERNELS.items()}}


def stores_arrive(isa, kernel, through, meets=True):
    """Problems: what a workgroup stores has arrived, with the workgroup's other stores, before it says so. `meets`: at
    its barrier; communication waves count each other instead."""
    puts = kernel.find(gemm_order.PUT)
    if not any(kernel.code[i].op == "global_store_dwordx4" for i in puts):
        yield "no 16-byte store"
    for i in puts if through else ():
        if isa.through not in kernel.code[i].text:
            yield f"does not go through to the system: {kernel.code[i].text}"
    if not kernel.find(isa.add):
        yield "no signal"
    puts = [i for i in puts if i not in set(gemm_order.raised_at_entry(kernel))]  # those are signals
    goals = ((isa.arrived, "before a store has arrived"), (isa.barrier, "before the workgroup has met"))
    for goal, what in goals[:1 + meets]:
        yield from gates.reaches(kernel, puts, gemm_order.RAISE, [goal], f"a signal {what}")


def loads_wait(gemm, arch, kernel):
    """Problems: nothing of another rank's is read, and nothing is put there, before all ranks have begun."""
    yield from gemm.tiles_are_waited_for(arch, kernel)
    yield from gemm_order.polls_are_of_the_system(arch, kernel)
    yield from gates.reaches(kernel, [-1], gemm.PUTS, [gemm.ISAS[arch].barrier], "a put before all ranks have begun")


EDITS = ((r"^buffer_(inv|wbinvl1_vol)", "loads"), (r"^s_barrier", "loads"), (r"^s_barrier", "stores"),
         (r"^s_waitcnt vmcnt\(0\)", "stores"), (r"^global_atomic_add_x2", "stores"))


def check(gemm, arch, kind, built, report):
    """The gates, and for f16 that each notices its own breakage."""
    where, (said, used, kernels) = f"{arch} {kind}", built
    names = symbols(kind)
    report.line(where, "holds the kernels of operations whose sums or operands cross the ranks",
                [said] if said else [f"{n} is missing" for n in names.values() if n not in kernels])
    if said:
        return
    report.line(where, "  no scratch, no spills there",
                [f"{n}: {key} is {used[n][key]}" for n in names.values()
                 for key in ("ScratchSize", "VGPRs Spill", "SGPRs Spill") if used[n][key]])
    for op in [name for name in names if name.endswith(BY_PACKETS)]:
        packets = kernels[names.pop(op)]
        if op.startswith("all_gather") or kind not in EIGHT_BYTES:
            report.line(where, f"  {op}: they are stored and looked at in the system, all in their memory",
                        [*gemm_order.packets_are_of_the_system(arch, packets), *gemm.only_its_memory(arch, packets)])
    for op, name in names.items():
        kernel = kernels[name]
        looks = {"loads": lambda k: loads_wait(gemm, arch, k),
                 "stores": lambda k, op=op: stores_arrive(gemm.ISAS[arch], k, op in REMOTE)}
        report.line(where, f"  {op}: ranks are waited for, stores arrive before signals, all in their memory",
                    [p for look in looks.values() for p in look(kernel)] + list(gemm.only_its_memory(arch, kernel)) +
                    list(gemm_order.nothing_is_written_back(arch, kernel)))
        for pattern, whose in EDITS if kind == "f16" else ():
            broken = gemm.broken(kernel, pattern, NOP)
            caught = broken and list(looks[whose](broken))
            report.line(where, f"    notices {pattern} -> {NOP} in {op}",
                        [] if caught else ["the edit went unnoticed" if broken else "nothing to edit"])
