# SPDX-License-Identifier: MIT
"""GEMMs: operations, patterns, element types and mainloops."""
from dataclasses import dataclass

from .dtypes import BY_NAME, DType


PATTERN_NAMES = ("bulk_synchronous", "producer_consumer", "fused_sequential", "wg_specialized", "wave_specialized")


@dataclass(frozen=True)
class GemmOp:
    """
    A GEMM and the communication that belongs to it: IRIS_GEMM_<NAME>, and headers and launchers of that name. The
    fields from split_n on are its properties: gen/gemm_ops.h has a mask of the operations that have each.
    """
    name: str
    enum: str   # the comment beside its value
    title: str = ""  # the operation in a banner's first line
    text: str = ""   # what a launch leaves in memory; follows "C as iris_gemm_args says, "
    arrived: str = ""  # what holds once the stream has passed the launch
    to: str = ""     # IRISI_GEMM_TO_<TO>: where tiles go
    communicate: str = ""  # ends the name of the kernel that communicates
    auto: tuple = ()       # patterns that AUTO may choose: a program has others' kernels with IRIS_GEMM_ALL_PATTERNS
    patterns: tuple = PATTERN_NAMES  # those that it has
    split_n: bool = False    # a rank has its band of the columns of B
    split_k: bool = False    # a rank has a part of K: what it computes are partial sums
    split_m: bool = False    # rows are dealt out: of A, or of sums
    c_on_all: bool = False   # C is m x n on every rank, in the heap, and written by all
    gathers: bool = False    # a rank has its rows of A, and the kernel that communicates comes first
    sends_tiles: bool = False  # the kernel that computes, or one beside it, sends its tiles to all ranks
    norms: bool = False      # each row of C is normalised, into another matrix; it exists for types that `norms`

    reduces = property(lambda self: self.split_k)

    def has(self, g):
        """Whether the operation exists for types `g`."""
        return g.norms or not self.norms


GEMM_LOCAL = GemmOp("local", "a GEMM alone, without communication: no other rank takes part", split_n=True)
GEMM_OPS = (
    GemmOp(
        "all_scatter", "N split; every rank's band of columns goes to every rank", title="GEMM and all-scatter",
        text="every rank's band of columns on every rank", arrived="all of C has arrived", to="everyone",
        communicate="send", auto=PATTERN_NAMES, split_n=True, c_on_all=True, sends_tiles=True),
    GemmOp(
        "reduce_scatter", "K split; each rank gets the sums of its rows", title="GEMM and reduce-scatter",
        text="the sums over all ranks of this rank's rows", arrived="they are there", to="owner", communicate="reduce",
        auto=("fused_sequential",), split_k=True, split_m=True),
    GemmOp(
        "all_reduce", "K split; every rank gets all sums", title="GEMM and all-reduce",
        text="the sums over all ranks on every rank", arrived="all of C has arrived", to="owner", communicate="reduce",
        auto=("fused_sequential",), split_k=True, c_on_all=True),
    GemmOp(
        "all_gather", "A split by M; every rank gathers it, and computes its band", title="all-gather and GEMM",
        text="this rank's band of columns, of the A of all ranks", arrived="it is there", to="self",
        communicate="gather", auto=("bulk_synchronous", "wg_specialized"), patterns=(*PATTERN_NAMES, "copy_engine"),
        split_n=True, split_m=True, gathers=True),
    GemmOp(
        "all_reduce_rmsnorm", "all_reduce; and RMSNorm of each row of C, in another matrix on every rank",
        title="GEMM, all-reduce, residual and RMSNorm",
        text="the sums over all ranks on every rank, and their RMSNorm in out", arrived="all of C and out has arrived",
        to="owner", communicate="reduce", auto=("bulk_synchronous", "fused_sequential"),
        patterns=("bulk_synchronous", "fused_sequential"), split_k=True, c_on_all=True, norms=True),
)
GEMM_OP_PROPERTIES = {
    "split_n": "a rank has its band of the columns of B",
    "split_k": "a rank has a part of K: what it computes are partial sums",
    "split_m": "rows are dealt out, of A or of sums",
    "c_on_all": "C is m x n on every rank, in the heap, and written by all",
    "gathers": "a rank has only its rows of A",
    "sends_tiles": "the tiles that a rank computes go to all ranks",
    "norms": "each row of C is normalised, into another matrix; there are bulk_synchronous and fused_sequential alone",
}


@dataclass(frozen=True)
class GemmPart:
    """A kernel of a pattern: one for each mainloop, or if it does not compute, one for each type."""
    role: str           # IRISI_GEMM_KERNEL_<ROLE>: which part of the operation the kernel does
    suffix: str = ""    # the kernel's name: the pattern's, then this
    lanes: str = "IRISI_GEMM_LANES"  # the most lanes of a workgroup; the mainloop's suffix follows
    cluster_split_k: bool = False    # True: mainloops with cluster_split_k may have clusters that cut K in it

    computes = property(lambda self: not self.role.startswith("communicate"))

    def ends(self, op):
        """What the name of an operation's kernel adds to the pattern's."""
        return ("" if self.computes else "_" + op.communicate) + self.suffix


@dataclass(frozen=True)
class GemmPattern:
    """How a GEMM and its communication share the device."""
    name: str
    text: str
    parts: tuple
    local_first: bool = False  # the GEMM alone (LOCAL_PART) runs before these kernels
    auto: bool = True         # False: AUTO never chooses it; its kernels exist only with IRIS_GEMM_ALL_PATTERNS
    captured: str = ""         # the pattern used instead in a graph, which may run two branches one after the other

    def kernels(self, op):
        """The parts that compute. Only what they compute goes as packets."""
        return [p for p in self.parts if p.computes and (op.sends_tiles or op.reduces or p.role != "packets")]

    def others(self, op):
        """The parts that only communicate; by packets rows of A before the GEMM, or partial sums behind it."""
        return [p for p in self.parts if not p.computes and (op.gathers or op.reduces or p.role != "communicate_ll")]


# The kernel of a GEMM alone, which all patterns and operations share.
LOCAL_PART = GemmPart("compute", cluster_split_k=True)
GEMM_PATTERNS = (
    GemmPattern(
        "bulk_synchronous", "a GEMM kernel and a kernel that communicates, one after the other", local_first=True,
        parts=(GemmPart("communicate"), GemmPart("communicate_ll", "_ll"))),
    GemmPattern(
        "producer_consumer", "a kernel that computes and one that sends, on two streams", auto=False,
        captured="wg_specialized",
        parts=(GemmPart("compute", "_compute"), GemmPart("communicate"))),
    GemmPattern(
        "fused_sequential", "workgroups that compute a tile, then send it",
        parts=(GemmPart("whole", cluster_split_k=True), GemmPart("packets", "_ll", cluster_split_k=True))),
    GemmPattern(
        "wg_specialized", "workgroups that compute and workgroups that send",
        parts=(GemmPart("whole"),)),
    GemmPattern(
        "wave_specialized", "waves of a workgroup that compute or send",
        parts=(GemmPart("whole", lanes="IRISI_GEMM_LANES_WITH_COMM"),)),
    GemmPattern(  # it computes with producer_consumer's kernel
        "copy_engine", "copy engines that gather beside producer_consumer's kernel, on two streams",
        auto=False, captured="wg_specialized", parts=(GemmPart("communicate"),)),
)


@dataclass(frozen=True)
class GemmType:
    """Element types of a GEMM. The first row with a `t` has the default type of C."""
    name: str
    t: DType     # of A and B
    out: DType   # of C
    acc: DType   # of sums
    work: DType  # of the epilogue's arithmetic
    bias: DType
    narrow: str  # <narrow>_<out> makes an element of a value of `work`
    slot: DType  # of partial sums, where K is split over ranks
    by: str      # the row whose kernels compute those: the one with that C

    # A row of C has a norm in f32, and partial sums are of C's type: a slot's chunk is one of C.
    norms = property(lambda self: self.work.name == "f32" and self.slot == self.out)
    # C may be made of pairs of columns, glu.h
    gates = property(lambda self: self.out.name == "f32")
    # What else C may be of where K is split over ranks, as a plan says: then partial sums are wider than it.
    narrower = property(lambda self: self.t if self.out.name == "f32" and self.t.name in SHORT else None)


def gemm_type(name):
    """The row of `f16`, or of `f16_f32` where C has a type of its own."""
    t, out = (BY_NAME[part] for part in (name.split("_")[0], name.split("_")[-1]))
    whole = t.kind == "int"
    slot = out if out.bits > 8 else BY_NAME["bf16"]
    return GemmType(
        name, t, out,
        acc=BY_NAME["i32" if whole else t.acc],
        work=BY_NAME["f64" if out.name in ("f64", "i32") else "f32"],
        bias=out if out.bits > 8 else BY_NAME["bf16"],
        narrow="irisi_round" if out.kind == "int" else "iris_narrow",
        slot=slot, by=name if slot == out else f"{t.name}_{slot.name}")


GEMM_TYPES = tuple(map(gemm_type, (
    "f16", "bf16", "f32", "f64", "f16_f32", "bf16_f32", "f8e4m3_bf16", "f8e4m3_f16", "f8e4m3_f8e4m3", "f8e5m2_bf16",
    "f8e4m3fnuz_bf16", "f8e5m2fnuz_bf16", "i8_i32", "i8_bf16", "i8_i8")))


@dataclass(frozen=True)
class GemmLoop:
    """
    Mainloop IRISI_GEMM_<NAME>, which a platform has where IRISI_GEMM_HAS_<NAME> is 1. The fields from unaligned_a on
    are its properties: gen/gemm_loops.h has a mask of the mainloops that have each.
    """
    name: str
    text: str                   # in the comment beside its number
    header: str                 # gen/mainloop/<header>.h holds its functions
    title: str                  # of that header
    types: tuple                # of GEMM_TYPES, by name
    suffix: str = ""            # ends the names of its functions
    beside_comm: bool = False   # it has separate functions for kernels with communication waves
    ahead: bool = False         # it prefetches B while the kernel before it still runs (irisi_gemm_ahead)
    leaves: tuple = ()          # the types for which it has an epilogue of its own
    waits: bool = False         # it calls irisi_launch_wait itself
    next: str = "scheduled"     # how its waves find their next tile: irisi_tile_next_<next>
    waits_to_launch: bool = False  # it calls irisi_launch_next itself
    chosen: tuple = ("fused_sequential", "wg_specialized", "wave_specialized")  # the patterns that AUTO may choose with
                                   # it, besides bulk_synchronous; others need IRIS_GEMM_ALL_PATTERNS
    unaligned_a: bool = False   # it reads an unaligned A in place
    unaligned_b: bool = False   # the same of B
    skinny: bool = False        # for few rows of C: lanes load what they multiply, tiles are not cut
    cluster_split_k: bool = False  # the workgroups of a cluster may compute a split of K each
    early_launch: bool = False  # a kernel of it that only computes may begin while the one before it ends
    early_beside: bool = False  # the same in images that hold a loop with early_launch
    f32_b_by_rows: bool = False  # it reads a k x n B of f32; other loops on matrix units only one that is n x k


GEMM_LOOP_PROPERTIES = {
    "unaligned_a": "reads an unaligned A in place",
    "unaligned_b": "reads an unaligned B in place",
    "skinny": "is for few rows of C: lanes load what they multiply, and tiles are not cut",
    "cluster_split_k": "cuts K over the workgroups of a cluster",
    "early_launch": "may begin, in a kernel that only computes, while the kernel before it ends",
    "early_beside": "the same in images that hold a loop with early_launch",
    "f32_b_by_rows": "reads a k x n B of f32; others on matrix units only one that is n x k",
}


def gemm_types_of(*inputs):
    """Names of the GEMM types whose A and B are of one of these types."""
    return tuple(g.name for g in GEMM_TYPES if g.t.name in inputs)


SHORT = ("f16", "bf16")
SM90A_TYPES = tuple(g.name for g in GEMM_TYPES if g.name != "f64" and "fnuz" not in g.name)
SM90A_LEAVES = tuple(g.name for g in GEMM_TYPES if g.out.bits in (16, 32) and g.acc in (g.work, g.out))
MFMA_TYPES = dict(
    gfx90a=gemm_types_of("f16", "bf16", "f32", "i8"),
    gfx942=gemm_types_of("f16", "bf16", "f32", "i8", "f8e4m3fnuz", "f8e5m2fnuz"),
    gfx950=gemm_types_of("f16", "bf16", "f32", "i8", "f8e4m3", "f8e5m2"))
# Mainloops are numbered in this order. C code counts from MFMA_GFX90A or MFMA_GFX90A_SMALL to an AMD device's loop, so
# that each three of these must follow each other.
GEMM_LOOPS = (
    GemmLoop(
        "PLAIN", "fused multiply-adds from shared memory; on the CPU, vectors", "gemm_simt",
        "the plain mainloop of GEMMs on GPUs", tuple(g.name for g in GEMM_TYPES),
        unaligned_a=True, unaligned_b=True),
    GemmLoop(
        "SM80", "mma.sync from slabs in shared memory", "gemm_sm80_nvidia", "the mainloop on warps' tensor cores",
        ("f16", "bf16", "f32", "f64"), "_sm80", beside_comm=True, f32_b_by_rows=True),
    GemmLoop(
        "SM90A", "products by warpgroups, of blocks that TMA loads", "gemm_sm90a_nvidia",
        "the mainloop of GEMMs on Hopper", SM90A_TYPES, "_sm90a", ahead=True, leaves=SM90A_LEAVES,
        chosen=("fused_sequential", "wg_specialized"), early_launch=True),
    *(GemmLoop(
        f"MFMA_{arch.upper()}{small.upper()}", f"{arch}'s matrix units{', small tiles' if small else ''}",
        "gemm_mfma_amd", "mainloops of GEMMs on AMD's matrix units", types, f"_{arch}{small}", beside_comm=True)
      for small in ("", "_small") for arch, types in MFMA_TYPES.items()),
    GemmLoop(
        "SM90A_UNALIGNED_B", "sm_90a's for few rows of C and an unaligned B", "gemm_sm90a_unaligned_b_nvidia",
        "Hopper's mainloop for few rows of C and an unaligned B", SHORT, "_sm90a_unaligned_b",
        chosen=("fused_sequential",), unaligned_b=True, early_launch=True),
    GemmLoop(
        "GEMV", "mma.sync for up to 8 rows of C; A and B may be unaligned", "gemm_gemv_nvidia",
        "the mainloop for up to 8 rows of C and much of B", SHORT, "_gemv", beside_comm=True, leaves=SHORT,
        waits=True, next="even", waits_to_launch=True, chosen=("fused_sequential",), unaligned_a=True,
        unaligned_b=True, skinny=True, cluster_split_k=True, early_beside=True),
    GemmLoop(
        "SKINNY_MFMA", "AMD's matrix units for few rows of C", "gemm_skinny_amd",
        "AMD's mainloop for few rows of C", SHORT, "_skinny_mfma", beside_comm=True, waits=True, next="even",
        skinny=True),
)


@dataclass(frozen=True)
class GemmKernel:
    """A mainloop compiled for types `g`."""
    loop: str
    suffix: str
    g: GemmType
    sums: str         # ends the names of functions that do not depend on C's type
    name: str         # ends the names of all others
    beside_comm: str  # the same of functions for use beside communication waves
    by: str           # of those that compute partial sums, where K is split over ranks
    by_beside_comm: str  # the same, beside communication waves
    ahead: bool
    leaves: bool
    waits: bool
    waits_to_launch: bool
    next: str
    cluster_split_k: bool
    chosen: tuple


def gemm_kernel(loop, g):
    name = g.name + loop.suffix
    return GemmKernel(
        loop.name, loop.suffix, g, sums=g.t.name + loop.suffix, name=name,
        beside_comm=name + "_with_comm" if loop.beside_comm else name, by=g.by + loop.suffix,
        by_beside_comm=g.by + loop.suffix + ("_with_comm" if loop.beside_comm else ""),
        ahead=loop.ahead, leaves=g.name in loop.leaves, waits=loop.waits, waits_to_launch=loop.waits_to_launch,
        next=loop.next, cluster_split_k=loop.cluster_split_k, chosen=loop.chosen)


GEMM_KERNELS = tuple(gemm_kernel(loop, g) for loop in GEMM_LOOPS for g in GEMM_TYPES if g.name in loop.types)


@dataclass(frozen=True)
class GemmMfma:
    """AMD's matrix instructions for 16-bit floats: irisi_mfma_<name>, of a block of 32 x 32 or of 16 x 16."""
    name: str
    sums: str          # a lane's share of the block
    deep: str          # ends the name of gfx950's instruction, which takes a lane's 16 bytes
    shallow: str       # the same of older ones, which take 8
    element: str       # gfx950's
    half_element: str  # older ones'


# gfx90a has bf16 instructions called 1k, and older ones, which are half as deep.
GEMM_MFMAS = (
    GemmMfma("f16", "irisi_mfma_acc", "32x32x16_f16", "32x32x8f16", "_Float16", "_Float16"),
    GemmMfma("bf16", "irisi_mfma_acc", "32x32x16_bf16", "32x32x8bf16_1k", "__bf16", "short"),
    GemmMfma("16_f16", "irisi_mfma_acc_16", "16x16x32_f16", "16x16x16f16", "_Float16", "_Float16"),
    GemmMfma("16_bf16", "irisi_mfma_acc_16", "16x16x32_bf16", "16x16x16bf16_1k", "__bf16", "short"),
)


@dataclass(frozen=True)
class GemmIsa:
    """A vector unit of the host: bytes of a vector; a micro-kernel's rows, and its vectors of columns."""
    name: str
    bytes: int
    rows: int
    vectors: int


GEMM_ISAS = (
    GemmIsa("base", bytes=16, rows=4, vectors=2),
    GemmIsa("avx2", bytes=32, rows=4, vectors=2),
    GemmIsa("avx512", bytes=64, rows=8, vectors=2),
)
GEMM_ROWS = dict(
    gemm_ops=GEMM_OPS, gemm_local_op=GEMM_LOCAL, gemm_op_properties=GEMM_OP_PROPERTIES, gemm_types=GEMM_TYPES,
    gemm_kernels=GEMM_KERNELS, gemm_patterns=GEMM_PATTERNS, gemm_isas=GEMM_ISAS, gemm_mfmas=GEMM_MFMAS,
    gemm_local=LOCAL_PART, gemm_accs=dict.fromkeys(g.acc for g in GEMM_TYPES), gemm_loops=GEMM_LOOPS,
    gemm_properties=GEMM_LOOP_PROPERTIES,
    gemm_works=(BY_NAME["f32"], BY_NAME["f64"]))


def gemm_rows(op):
    """GEMM_ROWS with the types, kernels and patterns of an operation alone."""
    return dict(
        GEMM_ROWS, op=op, gemm_types=tuple(filter(op.has, GEMM_TYPES)),
        gemm_kernels=tuple(k for k in GEMM_KERNELS if op.has(k.g)),
        gemm_patterns=tuple(p for p in GEMM_PATTERNS if p.name in op.patterns))
