# SPDX-License-Identifier: MIT
"""The one table: what exists. Rows hold names and facts, templates hold control flow, headers hold C."""
from dataclasses import dataclass

from .atomics import ATOMIC_TYPES, ATOMICS_BY_CAS, ATOMICS_NATIVE, WORD_ROWS
from .collectives import ADDS, COLLECTIVES, OPS, Collective
from .dtypes import BY_NAME, CMPS, DTYPES, GROUPS, DType
from .gemm import GEMM_LOOPS, GEMM_OPS, GEMM_PATTERNS, GEMM_ROWS, gemm_rows


PLATFORMS = ("host", "nvidia", "amd")


@dataclass(frozen=True)
class Template:
    """A template and the header that it makes under <build>/include/iris/gen/."""
    path: str    # the template, under templates/; its folder is the family
    output: str
    title: str   # ends the first line of the banner
    tests: str   # the source that names the header or one of its functions
    rows: dict   # further variables of the template
    family: str


def T(path, title, tests, output="", **rows):
    """A row of TEMPLATES; the output is named as the template unless `output` says otherwise."""
    family, name = path.split("/")
    return Template(f"{path}.h.j2", f"{output or name}.h", title, f"tests/{tests}", rows, family)


def collective_test(c):
    """The test of a collective: those with a root share one."""
    return "collective/rooted.cpp" if c.root else f"collective/{c.name}.cpp"


RMSNORM_TYPES = (BY_NAME["f16"], BY_NAME["bf16"])
_GEMM = "gemm/all_scatter.cpp"
_OPS = "gemm/operations.cpp"
_NORM = "gemm/rmsnorm.cpp"


def gemm_test(op):
    """The test of an operation: those whose sums or operands cross the ranks share one, but for norms."""
    return _GEMM if op.sends_tiles else _NORM if op.norms else _OPS


TEMPLATES = (
    T("dtype/dtypes", "every element type: its value at run time, widening and narrowing", "dtype/convert.cpp"),
    T("op/op", "sum, product, minimum, maximum and bit operations of every type", "dtype/op.cpp"),
    T("memory/bits", "values of every type as bits of their width, and back", "memory/load_store.cpp"),
    T("memory/load_store", "loads and stores of one element, or of 16 bytes, on any rank", "memory/load_store.cpp"),
    T("memory/rma", "put, get and copy of any length by a lane, a wave or a workgroup", "memory/rma.cpp"),
    T("memory/rma_cache", "put, get and copy with cache hints", "memory/rma.cpp"),
    T("memory/put_signal", "a put, and a signal that says it has arrived", "memory/put_signal.cpp"),
    T("memory/rma_2d", "put, get and copy of rows that are a pitch apart", "memory/rma_2d.cpp"),
    T("memory/put_signal_2d", "a put of such rows, and a signal that says they have arrived", "memory/rma_2d.cpp"),
    T("atomic/atomic", "atomic operations on any rank", "atomic/atomic.cpp",
      atomic_types=ATOMIC_TYPES, atomics_native=ATOMICS_NATIVE, atomics_by_cas=ATOMICS_BY_CAS),
    T("signal/wait", "waiting for and testing signals", "signal/wait.cpp"),
    T("create/create", "typed creation and access from the host", "create/create.cpp"),
    T("tensor/tensor_create", "typed creation of partitioned tensors", "tensor/tensor.cpp"),
    T("tensor/tensor_sum", "sums of partial tensors' elements", "tensor/partial.cpp"),
    T("tensor/tensor_access", "elements and tiles of partitioned tensors", "tensor/tensor.cpp"),
    T("arch/atomic_host", "atomics of 32 and 64 bits on the CPU", "arch/atomic.cpp", "arch/atomic_host", **WORD_ROWS),
    T("arch/atomic_nvidia", "atomics of 32 and 64 bits in PTX", "arch/atomic.cpp", "arch/atomic_nvidia", **WORD_ROWS),
    T("arch/atomic_amd", "atomics of 32 and 64 bits by clang's builtins", "arch/atomic.cpp", "arch/atomic_amd",
      **WORD_ROWS),
    T("arch/wgmma_nvidia", "matrix products by a warpgroup", _GEMM, "arch/wgmma_nvidia", **GEMM_ROWS),
    T("arch/mfma_amd", "matrix products of 16-bit floats by a wave", _GEMM, "arch/mfma_amd", **GEMM_ROWS),
    *(T(f"mainloop/{name}", title, _GEMM, f"mainloop/{name}", **GEMM_ROWS) for name, title in (
        ("gemm_micro_host", "micro-kernels of the blocked loop, by vector unit"),
        ("gemm_host", "the mainloop of GEMMs on the CPU"),
        ("gemm_sm90a_leave_nvidia", "how tiles of Hopper's mainloop leave"),
        *dict.fromkeys((loop.header, loop.title) for loop in GEMM_LOOPS),
    )),
    T("gemm/ops", "operations by number, and what each does", _OPS, "gemm_ops", **GEMM_ROWS),
    T("gemm/loops", "mainloops by number, and what each can do", _GEMM, "gemm_loops", **GEMM_ROWS),
    T("gemm/types", "element types that GEMM kernels exist for", _GEMM, "gemm_types", **GEMM_ROWS),
    T("gemm/epilogue", "from accumulators to the staging tile", _GEMM, "gemm_epilogue", **GEMM_ROWS),
    T("gemm/tiles", "what math and loader waves do for a tile", _GEMM, "gemm_tiles", **GEMM_ROWS),
    T("gemm/reduce", "sums of the ranks' partial sums", _OPS, "gemm_reduce", **GEMM_ROWS),
    T("gemm/rmsnorm", "the same sums, and RMSNorm of their rows", _NORM, "gemm_rmsnorm", **GEMM_ROWS),
    T("gemm/local", "a GEMM without communication", _GEMM, "gemm_local", **GEMM_ROWS),
    T("gemm/launch_local", "what every GEMM needs, and launchers of a GEMM alone", _GEMM, "launch/gemm", **GEMM_ROWS),
    *(T(f"gemm/{p.name}", f"{op.title} by {p.text}", gemm_test(op), f"gemm_{op.name}_{p.name}", **gemm_rows(op))
      for op in GEMM_OPS for p in GEMM_PATTERNS if p.name in op.patterns),
    *(T("gemm/launch", f"launchers of {op.title}", gemm_test(op), f"launch/gemm_{op.name}", **gemm_rows(op))
      for op in GEMM_OPS),
    T("collective/reduction", "elements of all members combined", "collective/all_reduce.cpp", ops=OPS),
    T("collective/schedules", "collectives and schedules by number", "collective/all_reduce.cpp",
      collectives=COLLECTIVES,
      schedules=(*dict.fromkeys(s for c in COLLECTIVES for s in c.schedules), "copy_engine")),
    *(T(f"collective/{c.name}_{schedule}", f"{c.text}, by {schedule}", collective_test(c),
        c=c, schedule=schedule, stem=f"{c.name}_{schedule}", few="few" in wants)
      for c in COLLECTIVES for schedule, wants in c.schedules.items()),
    T("collective/all_reduce_atomic", "every rank's elements added up in any order", "collective/all_reduce.cpp",
      c=Collective("all_reduce", ADDS, ""), schedule="auto", stem="all_reduce_atomic", few=False),
    *(T(f"collective/launch_{'reduction' if c.ops is OPS else 'movement'}", f"launchers: {c.text}", collective_test(c),
        f"launch/{c.name}", c=c)
      for c in COLLECTIVES),
    T("tensor/launch_tensor", "a tensor into another layout", "tensor/reshard.cpp", "launch/tensor",
      moves=tuple(c for c in COLLECTIVES if c.name in ("all_gather", "all_to_all")),
      sums=tuple(c for c in COLLECTIVES if c.name in ("all_reduce", "reduce_scatter"))),
    T("collective/send_recv", "messages between two ranks", "collective/send_recv.cpp"),
    T("collective/send_recv_2d", "messages of rows that are a pitch apart", "collective/send_recv_2d.cpp"),
    T("collective/launch_send_recv", "messages between two ranks", "collective/send_recv.cpp", "launch/send_recv"),
    T("collective/all_to_allv", "all-to-all of rows of any length", "collective/all_to_allv.cpp"),
    T("collective/launch_all_to_allv", "all-to-all of rows of any length", "collective/all_to_allv.cpp",
      "launch/all_to_allv"),
    T("collective/all_reduce_values", "values that lanes hold, combined", "collective/values.cpp", ops=OPS),
    T("collective/all_reduce_rmsnorm", "all-reduce with residual and RMSNorm", "collective/rmsnorm.cpp",
      rmsnorm_types=RMSNORM_TYPES),
    T("collective/launch_all_reduce_rmsnorm", "launchers: all-reduce with residual and RMSNorm",
      "collective/rmsnorm.cpp", "launch/all_reduce_rmsnorm", rmsnorm_types=RMSNORM_TYPES),
    T("index/index", "X-macros over everything that is generated", "gen/index.c"),
)
