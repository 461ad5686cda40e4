# SPDX-License-Identifier: MIT
"""What must hold where Hopper's copy engine carries tiles, in the library's own GEMM kernels: for check.py.

The engine's puts are known to have arrived by `wait_group` without `.read`, to have read shared memory by either. Math
waves tell a wave beside them of a tile through a gate of the stage pipe, an mbarrier of shared memory that names no
cluster, unlike the ring's. Like a gate of gates.py each check yields a sentence for each way in which a kernel breaks
its promise, and each must notice the edits that follow it.
"""
from gates import BULK_ARRIVED, BULK_PUT, BULK_READ, PTX, Gate, reaches

SOURCE = """#include <iris/iris.h>
#include <iris/mainloop/shape.h>
#undef IRISI_GEMM_HAS_PLAIN
#undef IRISI_GEMM_HAS_SM80
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#include <iris/gen/launch/gemm_all_scatter.h>
"""
ARRIVE = r"^mbarrier\.arrive\.shared\.b64"  # at a gate of the stage pipe
AWAIT = r"^mbarrier\.try_wait\.parity\.shared\.b64"
MADE = r"^mbarrier\.init\.shared\.b64"
FILL = r"^(stmatrix|st\.shared)"
FENCE = r"^fence\.proxy\.async\.shared::cta"
FLAG = r"^st\.(relaxed|release)\.sys\.global\.u64"


def names(*patterns):
    return tuple(f"irisi_gemm_all_scatter_{pattern}_bf16_sm90a" for pattern in patterns)


BESIDE = names("wave_specialized")  # its communication waves put, and signal themselves
NOTIFIED = names("fused_sequential", "wg_specialized", "producer_consumer_compute")
MATH = NOTIFIED + ("irisi_gemm_local_bf16_sm90a",)
# Of these no branch leads past the engine to a staging tile that it uses otherwise: a plan's tiles leave in one way.
PLAIN = names("fused_sequential", "producer_consumer_compute")


def puts(listing):
    if not listing.find(BULK_PUT):
        yield "the engine puts nothing"


def notified_when_arrived(listing, isa):
    yield from puts(listing)
    if not listing.find(ARRIVE):
        yield "no wave is told of a tile"
    yield from reaches(listing, listing.find(BULK_PUT), ARRIVE, [BULK_ARRIVED], "told of a tile before it has arrived")


def signals_when_arrived(listing, isa):
    yield from puts(listing)
    if not listing.find(isa.add):
        yield "no signal"
    yield from reaches(listing, listing.find(BULK_PUT), isa.add, [BULK_ARRIVED],
                       "a signal before bulk puts have arrived")


def ends_when_arrived(listing, isa):
    yield from puts(listing)
    yield from reaches(listing, listing.find(BULK_PUT), isa.end, [BULK_ARRIVED],
                       "the kernel ends before its puts have arrived")


def notifies_when_notified(listing, isa):
    if not listing.find(MADE) or not listing.find(AWAIT):
        yield "no gate between who computes and who tells"
    for goal, what in ((isa.add, "signal"), (FLAG, "flag")):
        yield from reaches(listing, listing.find(MADE), goal, [AWAIT], f"a {what} that waits for nobody")


def reads_what_is_fenced(listing, isa):
    between = ARRIVE if listing.name in BESIDE else BULK_PUT
    if not listing.find(FILL):
        yield "nothing fills a staging tile"
    yield from reaches(listing, listing.find(r"^stmatrix"), between, [FENCE], "the engine reads what is not fenced")


def fills_what_was_read(listing, isa):
    yield from puts(listing)
    between = ARRIVE if listing.name in BESIDE else FILL
    yield from reaches(listing, listing.find(BULK_PUT), between, [BULK_READ, BULK_ARRIVED],
                       "a staging tile is filled while it is read")


NOP, READ_ONLY = "nop", "cp.async.bulk.wait_group.read 0"
GATES = (
    Gate("a wave is told of a tile once the engine's puts have arrived", NOTIFIED, notified_when_arrived,
         ((BULK_ARRIVED, READ_ONLY), (BULK_ARRIVED, NOP), (BULK_PUT, NOP))),
    Gate("communication waves signal once the engine's puts have arrived", BESIDE, signals_when_arrived,
         ((BULK_ARRIVED, READ_ONLY), (BULK_ARRIVED, NOP))),
    Gate("a kernel ends once the engine's puts have arrived", MATH + BESIDE, ends_when_arrived,
         ((BULK_ARRIVED, READ_ONLY), (BULK_ARRIVED, NOP))),
    Gate("a wave that tells waits until it is told", PLAIN, notifies_when_notified, ((AWAIT, NOP),)),
    Gate("the engine reads a GEMM's staging tile after a fence", PLAIN + BESIDE, reads_what_is_fenced, ((FENCE, NOP),)),
    Gate("a GEMM's staging tile is filled once the engine has read it", PLAIN + BESIDE, fills_what_was_read,
         ((BULK_READ, NOP),)),
)
