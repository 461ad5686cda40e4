# SPDX-License-Identifier: MIT
"""The one table: what exists. Rows hold names and facts, templates hold control flow, headers hold C."""
from dataclasses import dataclass, make_dataclass

def row(name, fields, **defaults):  # a class of frozen rows that are nothing but their fields
    return make_dataclass(name, [(f, object, defaults[f]) if f in defaults else f for f in fields.split()], frozen=True)
PLATFORMS = ("host", "nvidia", "amd")

@dataclass(frozen=True)
class DType:
    """An element type. `acc` is the type that sums of it accumulate in; `kind` is int, uint or float."""
    name: str
    ctype: str
    bits: int
    kind: str
    acc: str
    digits: int = 0  # bits of a float's significand, the leading one included

    bytes = property(lambda self: self.bits // 8)
    native = property(lambda self: self.acc == self.name)  # C computes with the type itself: integers, f32, f64
    wide = property(lambda self: "f64" if self.kind == "float" else "u64")  # what creation computes its values in
    whole = property(lambda self: "i64" if self.kind == "float" else self.name)  # whole numbers that become elements
DTYPES = (
    *(DType(f"{k[0]}{b}", f"{k}{b}_t", b, k, f"{k[0]}{b}") for b in (8, 16, 32, 64) for k in ("int", "uint")),
    *(DType(n, c, b, "float", acc, digits=g) for n, c, b, acc, g in (
        ("f16", "iris_f16", 16, "f32", 11), ("bf16", "iris_bf16", 16, "f32", 8), ("f32", "float", 32, "f32", 24), ("f64", "double", 64, "f64", 53))),
    *(DType(f"f8{n}", f"iris_f8{n}", 8, "float", "f32", digits=g)
      for n, g in (("e4m3", 4), ("e5m2", 3), ("e4m3fnuz", 4), ("e5m2fnuz", 3))),
)
# Who carries an operation out together; `suffix` ends its symbol, `who` is for comments.
Group = row("Group", "name suffix who")
GROUPS = (Group("lane", "", "One lane calls it alone."), Group("wave", "_wave", "Every lane of one wave calls it together."),
          Group("wg", "_wg", "Every lane of one workgroup calls it together."))
Cmp = row("Cmp", "name c text")  # a comparison that a wait is for: seen <c> value
CMPS = (Cmp("eq", "==", "equals"), Cmp("ne", "!=", "differs from"), Cmp("gt", ">", "is above"),
        Cmp("ge", ">=", "is at least"), Cmp("lt", "<", "is below"), Cmp("le", "<=", "is at most"))
# An atomic of one dtype: an instruction of dtype `arch`, or `combine`_<acc> inside a compare-and-swap loop.
Atomic = row("Atomic", "op t arch combine", arch=None, combine="")

_D = {t.name: t for t in DTYPES}
assert len(_D) == len(DTYPES) and all(t.acc in _D for t in DTYPES), "dtypes have names of their own and sum up in one"
_INTS = [t for t in DTYPES if t.kind != "float"]
_WIDE, _NARROW = ([t for t in _INTS if (t.bits >= 32) == wide] for wide in (True, False))

# fetch, set, xchg and cas exist for these.
ATOMIC_TYPES = tuple(_INTS + [_D["f32"], _D["f64"]])
ATOMICS_NATIVE = tuple(
    [Atomic(op, t, arch=_D[f"u{t.bits}"]) for t in _WIDE for op in ("add", "sub", "and", "or", "xor")] +
    [Atomic(op, t, arch=t) for t in _WIDE for op in ("min", "max")] +
    [Atomic("add", _D[n], arch=_D[n]) for n in ("f32", "f64")])
_COMBINE = {"add": "iris_sum", "sub": "irisi_difference", "min": "iris_min", "max": "iris_max", "and": "iris_and",
            "or": "iris_or", "xor": "iris_xor"}
ATOMICS_BY_CAS = tuple(
    [Atomic(op, t, combine=f) for t in _NARROW for op, f in _COMBINE.items()] +
    [Atomic(op, _D[n], combine=_COMBINE[op]) for n in ("f32", "f64") for op in ("min", "max")] +
    [Atomic("add", _D[n], combine=_COMBINE["add"]) for n in ("f16", "bf16")])
# A memory order: C's and PTX's word for it, and what is left of it for a load (and a failed compare-and-swap) and for
# a store.
Order = row("Order", "name c load ptx ptx_load ptx_store")
# Who must agree on an order: PTX's and HIP's word for it.
Scope = row("Scope", "name ptx hip")
ORDERS = tuple(Order(f"IRIS_{n}", f"__ATOMIC_{n}", f"__ATOMIC_{load.upper()}", n.lower(), load, store) for n, load, store in (
    ("RELAXED", "relaxed", "relaxed"), ("ACQUIRE", "acquire", "relaxed"), ("RELEASE", "relaxed", "release"),
    ("ACQ_REL", "acquire", "release")))
SCOPES = tuple(Scope(f"IRIS_SCOPE_{n}", ptx, f"__HIP_MEMORY_SCOPE_{hip}") for n, ptx, hip in (
    ("WG", "cta", "WORKGROUP"), ("AGENT", "gpu", "AGENT"), ("SYSTEM", "sys", "SYSTEM")))

@dataclass(frozen=True)
class WordAtomic:
    """irisi_atomic_<op>_<t>, which every platform has. In a compare-and-swap loop its next value is
    `old <sign> value`, or the value that wins when `value <wins> old`."""
    op: str
    t: DType
    ptx: str  # PTX's words for operation and type
    sign: str = ""
    wins: str = ""

    # The ends of clang's __hip_atomic_<...> and of C's __atomic_<...>.
    hip = property(lambda self: "exchange" if self.op == "xchg" else f"fetch_{self.op}")
    c = property(lambda self: "exchange_n" if self.op == "xchg" else f"fetch_{self.op}")
PTX_REGISTERS = dict(i32="r", u32="r", i64="l", u64="l", f32="f", f64="d")
WORDS = (_D["u32"], _D["u64"])
WORD_ROWS = dict(
    words=WORDS, orders=ORDERS, scopes=SCOPES, modes=tuple((o, s) for s in SCOPES for o in ORDERS), reg=PTX_REGISTERS,
    xchg=tuple(WordAtomic("xchg", t, f"exch.b{t.bits}") for t in WORDS),
    add=tuple(WordAtomic("add", t, f"add.{t.name}", sign="+") for t in WORDS),
    bits=tuple(WordAtomic(op, t, f"{op}.b{t.bits}", sign=c)
               for t in WORDS for op, c in (("and", "&"), ("or", "|"), ("xor", "^"))),
    extrema=tuple(WordAtomic(op, t, f"{op}.{t.name.replace('i', 's')}", wins=c)
                  for t in _WIDE for op, c in (("min", "<"), ("max", ">"))),
    floats=tuple(WordAtomic("add", _D[n], f"add.{n}", sign="+") for n in ("f32", "f64")))
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

# What a reduction combines with, a function of op.h: an average is a sum that is divided at the end.
REDUCE = dict(sum="sum", prod="prod", min="min", max="max", avg="sum")
OPS = {t.name: REDUCE if t.kind == "float" else {**REDUCE, "and": "and", "or": "or", "xor": "xor"} for t in DTYPES}
MOVES = {t.name: ("",) for t in DTYPES}
ADDS = {t.name: tuple("sum" for a in ATOMICS_NATIVE + ATOMICS_BY_CAS if (a.op, a.t) == ("add", t)) for t in DTYPES}
# A collective: the ops of each dtype, its schedules with what each wants in the symmetric heap, and whether few slices
# do better at all sizes; which buffers have a row of elements for each member; which is the root's, if there is one.
Collective = row("Collective", "name ops text schedules rows root", rows="", root="")
COLLECTIVES = (
    Collective("all_reduce", OPS, "every rank's elements combined, on every rank",
               dict(one_shot="few", two_shot="dst src", two_phase="dst src", two_shot_push="dst", ring="", ll="few", ll_two_shot="few")),
    Collective("all_gather", MOVES, "every rank's row, on every rank",
               dict(push="dst", pull="src few", ring="dst", ll="few"), "dst"),
    Collective("reduce_scatter", OPS, "row m of every rank combined, on rank m",
               dict(pull="src few", push="", ring="", ll="few"), "src"),
    Collective("all_to_all", MOVES, "row m of rank k is row k of rank m", dict(push="dst", pull="src few", ll="few"), "dst src"),
    Collective("broadcast", MOVES, "the root's elements, on every rank",
               dict(push="dst", chain="dst", ll="few", relay="dst", ll_relay="few", fetch="dst few"), root="src"),
    Collective("reduce", OPS, "every rank's elements combined, on the root", dict(two_shot="dst src", pull="src few"), root="dst"),
    Collective("gather", MOVES, "every rank's row, on the root", dict(push="dst"), "dst", "dst"),
    Collective("scatter", MOVES, "row m of the root, on rank m", dict(pull="src few"), "src", "src"),
)
# A template and the header that it makes under <build>/include/iris/gen/: the path's folder is the family, `title` ends
# the banner's first line, `tests` is the source that names its functions or file, `rows` are further variables.
Template = row("Template", "path output title tests rows family")
def T(path, title, tests, output="", **rows):
    return Template(f"{path}.h.j2", f"{output or path.split('/')[1]}.h", title, f"tests/{tests}", rows, path.split("/")[0])
_GEMM = "gemm/all_scatter.cpp"
TEMPLATES = (
    T("dtype/dtypes", "every element type: its value at run time, widening and narrowing", "dtype/convert.cpp"),
    T("op/op", "sum, product, minimum, maximum and bit operations of every type", "dtype/op.cpp"),
    T("memory/bits", "values of every type as bits of their width, and back", "memory/load_store.cpp"),
    T("memory/load_store", "loads and stores of one element, or of 16 bytes, on any rank", "memory/load_store.cpp"),
    T("memory/rma", "put, get and copy of any length by a lane, a wave or a workgroup", "memory/rma.cpp"),
    T("memory/put_signal", "a put, and a signal that says it has arrived", "memory/put_signal.cpp"),
    T("atomic/atomic", "atomic operations on any rank", "atomic/atomic.cpp", atomic_types=ATOMIC_TYPES, atomics_native=ATOMICS_NATIVE, atomics_by_cas=ATOMICS_BY_CAS),
    T("signal/wait", "waiting for and testing signals", "signal/wait.cpp"),
    T("host/create", "typed creation and access from the host", "create/create.cpp"),
    *(T(f"arch/atomic_{p}", f"atomics of 32 and 64 bits {how}", "arch/atomic.cpp", f"arch/atomic_{p}", **WORD_ROWS)
      for p, how in (("host", "on the CPU"), ("nvidia", "in PTX"), ("amd", "by clang's builtins"))),
    *(T(f"arch/{name}", title, _GEMM, f"arch/{name}", **GEMM_ROWS) for name, title in (
        ("gemm_micro_host", "micro-kernels of the blocked loop, by vector unit"),
        ("gemm_host", "the mainloop of GEMMs on the CPU"), ("gemm_simt", "the plain mainloop of GEMMs on GPUs"),
        ("gemm_sm90a_nvidia", "the mainloop of GEMMs on Hopper"), ("gemm_sm90a_leave_nvidia", "how their tiles leave"), ("gemm_sm90a_lines_nvidia", "Hopper's for few rows of C and a B whose rows start anywhere"), ("wgmma_nvidia", "matrix products by a warpgroup"), ("gemm_few_nvidia", "the mainloop for few rows of C, wherever rows start"), ("gemm_thin_nvidia", "the mainloop for up to 8 rows of C and much of B"),
        ("gemm_sm80_nvidia", "the mainloop on warps' tensor cores"), ("gemm_mfma_amd", "mainloops of GEMMs on AMD's matrix units"), ("gemm_few_amd", "AMD's for few rows of C"))),
    T("gemm/types", "element types that GEMM kernels exist for", _GEMM, "gemm_types", **GEMM_ROWS),
    T("gemm/epilogue", "from accumulators to the staging tile", _GEMM, "gemm_epilogue", **GEMM_ROWS),
    T("gemm/tiles", "what math and loader waves do for a tile", _GEMM, "gemm_tiles", **GEMM_ROWS),
    *(T(f"gemm/all_scatter_{p.name}", f"GEMM and all-scatter by {p.text}", _GEMM, f"gemm_all_scatter_{p.name}", **GEMM_ROWS)
      for p in GEMM_PATTERNS),
    T("gemm/launch_all_scatter", "launchers of GEMM and all-scatter", _GEMM, "launch/gemm_all_scatter", **GEMM_ROWS),
    T("collective/reduction", "elements of all members combined", "collective/all_reduce.cpp", ops=OPS),
    T("collective/schedules", "collectives and schedules by number", "collective/all_reduce.cpp",
      collectives=COLLECTIVES, schedules=tuple(dict.fromkeys(s for c in COLLECTIVES for s in c.schedules))),
    *(T(f"collective/{c.name}_{s}", f"{c.text}, by {s}", f"collective/{'rooted' if c.root else c.name}.cpp", c=c, stem=f"{c.name}_{s}", few="few" in c.schedules[s])
      for c in COLLECTIVES for s in c.schedules),
    T("collective/all_reduce_atomic", "every rank's elements added up in any order", "collective/all_reduce.cpp",
      c=Collective("all_reduce", ADDS, "", {}), stem="all_reduce_atomic", few=False),
    *(T(f"collective/launch_{'reduction' if c.ops is OPS else 'movement'}", f"launchers: {c.text}",
        f"collective/{'rooted' if c.root else c.name}.cpp", f"launch/{c.name}", c=c) for c in COLLECTIVES),
    *(T(f"collective/{launch}{n}", text, f"collective/{n}.cpp", f"{launch.replace('_', '/')}{n}") for launch in ("", "launch_")
      for n, text in (("send_recv", "messages between two ranks"), ("all_to_allv", "all-to-all of rows of any length"))),
    *(T(f"collective/{n}all_reduce_rmsnorm", text + "all-reduce with residual and RMSNorm", "collective/rmsnorm.cpp", f"{n.replace('_', '/')}all_reduce_rmsnorm",
        rmsnorm_types=tuple(t for t in DTYPES if (t.kind, t.bits) == ("float", 16))) for n, text in (("", ""), ("launch_", "launchers: "))),
    T("index/index", "X-macros over everything that is generated", "gen/index.c"),
)
