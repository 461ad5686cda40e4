# SPDX-License-Identifier: MIT
"""The one table: what exists. Rows hold names and facts, templates hold control flow, headers hold C."""
from dataclasses import dataclass, make_dataclass

from .atomics import ATOMIC_TYPES, ATOMICS_BY_CAS, ATOMICS_NATIVE, WORD_ROWS
from .collectives import ADDS, COLLECTIVES, OPS, Collective
from .dtypes import BY_NAME, CMPS, DTYPES, GROUPS, DType


def row(name, fields, **defaults):  # a class of frozen rows that are nothing but their fields
    return make_dataclass(name, [(f, object, defaults[f]) if f in defaults else f for f in fields.split()], frozen=True)


PLATFORMS = ("host", "nvidia", "amd")
_D = BY_NAME
# How a GEMM and its communication share the device: `parts` are what its kernels' names add to the pattern's, `spread` those that
# a loop which spreads cuts into slices of K, `lanes` a workgroup's most, `captured` what stands in for it in a graph, whose branches may run in turn.
GemmPattern = row("GemmPattern", "name text parts lanes captured spread", parts=("",), lanes="IRISI_GEMM_LANES", captured="", spread=())
GEMM_PATTERNS = (
    GemmPattern("bulk_synchronous", "a GEMM kernel, then a kernel that sends", ("_compute", "_send"), spread=("_compute",)),
    GemmPattern("producer_consumer", "a kernel that computes and one that sends, on two streams", ("_compute", "_send"),
                captured="wg_specialized"),
    GemmPattern("fused_sequential", "workgroups that compute a tile, then send it", ("", "_ll"), spread=("", "_ll")),
    GemmPattern("wg_specialized", "workgroups that compute and workgroups that send"),
    GemmPattern("wave_specialized", "waves of a workgroup that compute or send", lanes="IRISI_GEMM_LANES_WITH_COMM"),
)
# Element types of a GEMM: `t` of A and B, `out` of C, `bias` of bias; sums add up in `acc`, what follows them is computed
# in `work` and becomes an element by `narrow`_<out>. Of those with one `t` the first is what C is if nobody says.
GemmType = row("GemmType", "name t out acc work bias narrow")
GEMM_TYPES = tuple(
    GemmType(name, t, out, _D["i32" if t.kind == "int" else t.acc], _D["f64" if out.name in ("f64", "i32") else "f32"],
             out if out.bits > 8 else _D["bf16"], "irisi_round" if out.kind == "int" else "iris_narrow")
    for name in ("f16 bf16 f32 f64 f16_f32 bf16_f32 f8e4m3_bf16 f8e4m3_f16 f8e4m3_f8e4m3 f8e5m2_bf16 f8e4m3fnuz_bf16 f8e5m2fnuz_bf16 "
                 "i8_i32 i8_bf16 i8_i8").split() for t, out in [(_D[name.split("_")[0]], _D[name.split("_")[-1]])])
# Mainloop IRISI_GEMM_<loop> for types `g`, where IRISI_GEMM_HAS_<loop> is 1: `name` ends its functions' names, `sums` of
# those that do not depend on C's type, and `beside_comm` the names of what it does otherwise beside communication waves.
GemmKernel = row("GemmKernel", "loop suffix g sums name beside_comm ahead leaves waits next spreads")  # fetches B ahead; has an epilogue of its own; waits itself; its walk; is cut over workgroups
_FEW, _MFMA = ("FEW", "THIN", "FEW_MFMA"), dict(gfx90a="f16 bf16 f32 i8", gfx942="f16 bf16 f32 i8 f8e4m3fnuz f8e5m2fnuz", gfx950="f16 bf16 f32 i8 f8e4m3 f8e5m2")  # types of A and B
_LOOPS = (("PLAIN", "", [g.name for g in GEMM_TYPES]), ("SM80", "_sm80", ("f16", "bf16", "f32", "f64")),  # loop, suffix, types by name
          ("SM90A", "_sm90a", [g.name for g in GEMM_TYPES if g.name != "f64" and "fnuz" not in g.name]), ("SM90A_LINES", "_sm90a_lines", ("f16", "bf16")), ("FEW", "_few", ("f16", "bf16")), ("THIN", "_thin", ("f16", "bf16")), ("FEW_MFMA", "_few_mfma", ("f16", "bf16"))) + tuple(
    (f"MFMA_{s.upper()}", f"_{s}", [g.name for g in GEMM_TYPES if g.t.name in t.split()]) for arch, t in _MFMA.items() for s in (arch, f"{arch}_small"))
GEMM_KERNELS = tuple(GemmKernel(loop, end, g, g.t.name + end, g.name + end, g.name + end + "_with_comm" * loop.startswith(("MFMA", "SM80", "FEW", "THIN")),
                                loop == "SM90A", loop in ("FEW", "THIN") or (loop == "SM90A" and g.out.bits in (16, 32) and g.acc in (g.work, g.out)), loop in _FEW, "even" if loop in _FEW else "turn", loop == "THIN")
                     for loop, end, names in _LOOPS for g in GEMM_TYPES if g.name in names)
GemmIsa = row("GemmIsa", "name bytes rows vectors")  # of the host: bytes of a vector; a micro-kernel's rows, vectors of columns
GEMM_ISAS = (GemmIsa("base", 16, 4, 2), GemmIsa("avx2", 32, 4, 2), GemmIsa("avx512", 64, 8, 2))
GEMM_ROWS = dict(gemm_types=GEMM_TYPES, gemm_kernels=GEMM_KERNELS, gemm_patterns=GEMM_PATTERNS, gemm_isas=GEMM_ISAS,
                 gemm_accs=dict.fromkeys(g.acc for g in GEMM_TYPES), gemm_works=(_D["f32"], _D["f64"]))



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
TEMPLATES = (
    T("dtype/dtypes", "every element type: its value at run time, widening and narrowing", "dtype/convert.cpp"),
    T("op/op", "sum, product, minimum, maximum and bit operations of every type", "dtype/op.cpp"),
    T("memory/bits", "values of every type as bits of their width, and back", "memory/load_store.cpp"),
    T("memory/load_store", "loads and stores of one element, or of 16 bytes, on any rank", "memory/load_store.cpp"),
    T("memory/rma", "put, get and copy of any length by a lane, a wave or a workgroup", "memory/rma.cpp"),
    T("memory/put_signal", "a put, and a signal that says it has arrived", "memory/put_signal.cpp"),
    T("atomic/atomic", "atomic operations on any rank", "atomic/atomic.cpp",
      atomic_types=ATOMIC_TYPES, atomics_native=ATOMICS_NATIVE, atomics_by_cas=ATOMICS_BY_CAS),
    T("signal/wait", "waiting for and testing signals", "signal/wait.cpp"),
    T("create/create", "typed creation and access from the host", "create/create.cpp"),
    T("arch/atomic_host", "atomics of 32 and 64 bits on the CPU", "arch/atomic.cpp", "arch/atomic_host", **WORD_ROWS),
    T("arch/atomic_nvidia", "atomics of 32 and 64 bits in PTX", "arch/atomic.cpp", "arch/atomic_nvidia", **WORD_ROWS),
    T("arch/atomic_amd", "atomics of 32 and 64 bits by clang's builtins", "arch/atomic.cpp", "arch/atomic_amd",
      **WORD_ROWS),
    T("arch/wgmma_nvidia", "matrix products by a warpgroup", _GEMM, "arch/wgmma_nvidia", **GEMM_ROWS),
    *(T(f"mainloop/{name}", title, _GEMM, f"mainloop/{name}", **GEMM_ROWS) for name, title in (
        ("gemm_micro_host", "micro-kernels of the blocked loop, by vector unit"),
        ("gemm_host", "the mainloop of GEMMs on the CPU"),
        ("gemm_simt", "the plain mainloop of GEMMs on GPUs"),
        ("gemm_sm80_nvidia", "the mainloop on warps' tensor cores"),
        ("gemm_sm90a_nvidia", "the mainloop of GEMMs on Hopper"),
        ("gemm_sm90a_leave_nvidia", "how their tiles leave"),
        ("gemm_sm90a_lines_nvidia", "Hopper's for few rows of C and a B whose rows start anywhere"),
        ("gemm_few_nvidia", "the mainloop for few rows of C, wherever rows start"),
        ("gemm_thin_nvidia", "the mainloop for up to 8 rows of C and much of B"),
        ("gemm_mfma_amd", "mainloops of GEMMs on AMD's matrix units"),
        ("gemm_few_amd", "AMD's for few rows of C"),
    )),
    T("gemm/types", "element types that GEMM kernels exist for", _GEMM, "gemm_types", **GEMM_ROWS),
    T("gemm/epilogue", "from accumulators to the staging tile", _GEMM, "gemm_epilogue", **GEMM_ROWS),
    T("gemm/tiles", "what math and loader waves do for a tile", _GEMM, "gemm_tiles", **GEMM_ROWS),
    *(T(f"gemm/all_scatter_{p.name}", f"GEMM and all-scatter by {p.text}", _GEMM, f"gemm_all_scatter_{p.name}", **GEMM_ROWS)
      for p in GEMM_PATTERNS),
    T("gemm/launch_all_scatter", "launchers of GEMM and all-scatter", _GEMM, "launch/gemm_all_scatter", **GEMM_ROWS),
    T("collective/reduction", "elements of all members combined", "collective/all_reduce.cpp", ops=OPS),
    T("collective/schedules", "collectives and schedules by number", "collective/all_reduce.cpp",
      collectives=COLLECTIVES, schedules=tuple(dict.fromkeys(s for c in COLLECTIVES for s in c.schedules))),
    *(T(f"collective/{c.name}_{schedule}", f"{c.text}, by {schedule}", collective_test(c),
        c=c, stem=f"{c.name}_{schedule}", few="few" in wants)
      for c in COLLECTIVES for schedule, wants in c.schedules.items()),
    T("collective/all_reduce_atomic", "every rank's elements added up in any order", "collective/all_reduce.cpp",
      c=Collective("all_reduce", ADDS, ""), stem="all_reduce_atomic", few=False),
    *(T(f"collective/launch_{'reduction' if c.ops is OPS else 'movement'}", f"launchers: {c.text}", collective_test(c),
        f"launch/{c.name}", c=c)
      for c in COLLECTIVES),
    T("collective/send_recv", "messages between two ranks", "collective/send_recv.cpp"),
    T("collective/launch_send_recv", "messages between two ranks", "collective/send_recv.cpp", "launch/send_recv"),
    T("collective/all_to_allv", "all-to-all of rows of any length", "collective/all_to_allv.cpp"),
    T("collective/launch_all_to_allv", "all-to-all of rows of any length", "collective/all_to_allv.cpp",
      "launch/all_to_allv"),
    T("collective/all_reduce_rmsnorm", "all-reduce with residual and RMSNorm", "collective/rmsnorm.cpp",
      rmsnorm_types=RMSNORM_TYPES),
    T("collective/launch_all_reduce_rmsnorm", "launchers: all-reduce with residual and RMSNorm",
      "collective/rmsnorm.cpp", "launch/all_reduce_rmsnorm", rmsnorm_types=RMSNORM_TYPES),
    T("index/index", "X-macros over everything that is generated", "gen/index.c"),
)
