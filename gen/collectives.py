# SPDX-License-Identifier: MIT
"""Collectives: what each combines or moves, and its schedules."""
from dataclasses import dataclass, field

from .atomics import ATOMICS_BY_CAS, ATOMICS_NATIVE
from .dtypes import DTYPES

# What a reduction combines with, a function of op.h: an average is a sum that is divided at the end.
REDUCE = dict(sum="sum", prod="prod", min="min", max="max", avg="sum")
REDUCE_BITS = {"and": "and", "or": "or", "xor": "xor"}

# For each dtype, the ops of a collective.
OPS = {t.name: REDUCE if t.kind == "float" else {**REDUCE, **REDUCE_BITS} for t in DTYPES}
MOVES = {t.name: ("",) for t in DTYPES}
ADDS = {t.name: tuple("sum" for a in ATOMICS_NATIVE + ATOMICS_BY_CAS if (a.op, a.t) == ("add", t)) for t in DTYPES}


@dataclass(frozen=True)
class Collective:
    """A collective. `schedules` maps each schedule to words: the buffers (dst, src) that it wants in the symmetric
    heap, and `few` where few slices do better at all sizes."""
    name: str
    ops: dict
    text: str
    schedules: dict = field(default_factory=dict)
    rows: str = ""  # the buffers that have a row of elements for each member
    root: str = ""  # the buffer that only the root has, where there is a root
    copies: bool = False  # copies that the host puts on the stream can carry it out: schedule copy_engine


COLLECTIVES = (
    Collective(
        "all_reduce", OPS, "every rank's elements combined, on every rank",
        schedules=dict(one_shot="few", two_shot="dst src", two_phase="dst src", two_shot_push="dst", ring="", ll="few",
                       ll_two_shot="few")),
    Collective(
        "all_gather", MOVES, "every rank's row, on every rank", rows="dst", copies=True,
        schedules=dict(push="dst", pull="src few", ring="dst", ll="few")),
    Collective(
        "reduce_scatter", OPS, "row m of every rank combined, on rank m", rows="src",
        schedules=dict(pull="src few", push="", ring="", ll="few")),
    Collective(
        "all_to_all", MOVES, "row m of rank k is row k of rank m", rows="dst src", copies=True,
        schedules=dict(push="dst", pull="src few", ll="few")),
    Collective(
        "broadcast", MOVES, "the root's elements, on every rank", root="src", copies=True,
        schedules=dict(push="dst", chain="dst", ll="few", relay="dst", ll_relay="few", fetch="dst few")),
    Collective(
        "reduce", OPS, "every rank's elements combined, on the root", root="dst",
        schedules=dict(two_shot="dst src", pull="src few")),
    Collective(
        "gather", MOVES, "every rank's row, on the root", rows="dst", root="dst",
        schedules=dict(push="dst")),
    Collective(
        "scatter", MOVES, "row m of the root, on rank m", rows="src", root="src",
        schedules=dict(pull="src few")),
)
