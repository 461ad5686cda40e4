# SPDX-License-Identifier: MIT
"""Atomics: the public ones of every dtype, and those of 32 and 64 bits that each platform has."""
from dataclasses import dataclass

from .dtypes import BY_NAME, DTYPES, DType

INTEGERS = tuple(t for t in DTYPES if t.kind != "float")
WORD_INTEGERS = tuple(t for t in INTEGERS if t.bits >= 32)
NARROW_INTEGERS = tuple(t for t in INTEGERS if t.bits < 32)


@dataclass(frozen=True)
class Atomic:
    """iris_atomic_<op>_<t>: by an instruction of dtype `arch`, or by `combine`_<acc> in a compare-and-swap loop."""
    op: str
    t: DType
    arch: DType = None
    combine: str = ""


# fetch, set, xchg and cas exist for these.
ATOMIC_TYPES = (*INTEGERS, BY_NAME["f32"], BY_NAME["f64"])
ATOMICS_NATIVE = (
    *(Atomic(op, t, arch=BY_NAME[f"u{t.bits}"]) for t in WORD_INTEGERS for op in ("add", "sub", "and", "or", "xor")),
    *(Atomic(op, t, arch=t) for t in WORD_INTEGERS for op in ("min", "max")),
    Atomic("add", BY_NAME["f32"], arch=BY_NAME["f32"]),
    Atomic("add", BY_NAME["f64"], arch=BY_NAME["f64"]),
)
COMBINE = {
    "add": "iris_sum",
    "sub": "irisi_difference",
    "min": "iris_min",
    "max": "iris_max",
    "and": "iris_and",
    "or": "iris_or",
    "xor": "iris_xor",
}
ATOMICS_BY_CAS = (
    *(Atomic(op, t, combine=function) for t in NARROW_INTEGERS for op, function in COMBINE.items()),
    *(Atomic(op, BY_NAME[name], combine=COMBINE[op]) for name in ("f32", "f64") for op in ("min", "max")),
    *(Atomic("add", BY_NAME[name], combine=COMBINE["add"]) for name in ("f16", "bf16")),
)


@dataclass(frozen=True)
class Order:
    """A memory order: C's and PTX's word for it, and what is left of it for a load (also for a compare-and-swap that
    fails) and for a store."""
    name: str
    c: str
    load: str
    ptx: str
    ptx_load: str
    ptx_store: str


ORDERS = (
    Order("IRIS_RELAXED", c="__ATOMIC_RELAXED", load="__ATOMIC_RELAXED",
          ptx="relaxed", ptx_load="relaxed", ptx_store="relaxed"),
    Order("IRIS_ACQUIRE", c="__ATOMIC_ACQUIRE", load="__ATOMIC_ACQUIRE",
          ptx="acquire", ptx_load="acquire", ptx_store="relaxed"),
    Order("IRIS_RELEASE", c="__ATOMIC_RELEASE", load="__ATOMIC_RELAXED",
          ptx="release", ptx_load="relaxed", ptx_store="release"),
    Order("IRIS_ACQ_REL", c="__ATOMIC_ACQ_REL", load="__ATOMIC_ACQUIRE",
          ptx="acq_rel", ptx_load="acquire", ptx_store="release"),
)


@dataclass(frozen=True)
class Scope:
    """Who must agree on an order: PTX's and HIP's word for it."""
    name: str
    ptx: str
    hip: str


SCOPES = (
    Scope("IRIS_SCOPE_WG", ptx="cta", hip="__HIP_MEMORY_SCOPE_WORKGROUP"),
    Scope("IRIS_SCOPE_AGENT", ptx="gpu", hip="__HIP_MEMORY_SCOPE_AGENT"),
    Scope("IRIS_SCOPE_SYSTEM", ptx="sys", hip="__HIP_MEMORY_SCOPE_SYSTEM"),
)


@dataclass(frozen=True)
class WordAtomic:
    """irisi_atomic_<op>_<t>, which every platform has. In a compare-and-swap loop its next value is
    `old <sign> value`, or the value that wins when `value <wins> old`."""
    op: str
    t: DType
    ptx: str  # PTX's words for operation and type
    sign: str = ""
    wins: str = ""

    @property
    def hip(self):
        """The end of clang's __hip_atomic_<...>."""
        return "exchange" if self.op == "xchg" else f"fetch_{self.op}"

    @property
    def c(self):
        """The end of C's __atomic_<...>."""
        return "exchange_n" if self.op == "xchg" else f"fetch_{self.op}"


WORDS = (BY_NAME["u32"], BY_NAME["u64"])
BIT_SIGNS = {"and": "&", "or": "|", "xor": "^"}
WINS = {"min": "<", "max": ">"}
# What the templates of arch/atomic_<platform> see.
WORD_ROWS = dict(
    words=WORDS,
    orders=ORDERS,
    scopes=SCOPES,
    modes=tuple((order, scope) for scope in SCOPES for order in ORDERS),
    reg=dict(i32="r", u32="r", i64="l", u64="l", f32="f", f64="d"),  # constraints of registers in PTX's asm
    xchg=tuple(WordAtomic("xchg", t, f"exch.b{t.bits}") for t in WORDS),
    add=tuple(WordAtomic("add", t, f"add.{t.name}", sign="+") for t in WORDS),
    bits=tuple(WordAtomic(op, t, f"{op}.b{t.bits}", sign=sign) for t in WORDS for op, sign in BIT_SIGNS.items()),
    extrema=tuple(WordAtomic(op, t, f"{op}.{t.name.replace('i', 's')}", wins=wins)
                  for t in WORD_INTEGERS for op, wins in WINS.items()),
    floats=tuple(WordAtomic("add", BY_NAME[name], f"add.{name}", sign="+") for name in ("f32", "f64")),
)
