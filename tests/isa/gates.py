# SPDX-License-Identifier: MIT
"""What must hold for the instructions of each kernel in kernels.c, and how to break it.

A gate is a promise about some kernels. `check(listing, isa)` yields a sentence for each way in which a listing breaks
it. `breaks` are edits of a listing, (pattern, replacement) of whole instructions, each of which the gate must catch:
a gate that does not see its own breakage is no gate.
"""
import re
from dataclasses import dataclass

SLICES = ("isa_slice_barrier", "isa_slice_barrier_puts", "isa_slice_raise_set")
WG_PUTS = ("isa_put_signal_wg", "isa_barrier_wg", "isa_fence_wg", "isa_signal_add_wg") + SLICES
# Every form of a put: by a lane, a wave, a workgroup; alone, with a signal that adds, with one that sets.
SIGNAL_PUTS = ("isa_put_signal_wg", "isa_put_signal_wave", "isa_put_signal", "isa_put_signal_set_wg",
               "isa_put_signal_2d_wg")
PUTS = SIGNAL_PUTS + ("isa_put", "isa_put_wave", "isa_put_wg", "isa_put_2d_wave", "isa_copy_wg")
# Kernels of cache hints: that of the loads, that of the stores.
HINTED = {"isa_hint_ca_wb": ("ca", "wb"), "isa_hint_cg_cg": ("cg", "cg"), "isa_hint_cv_wt": ("cv", "wt"),
          "isa_hint_stream_cs": ("stream", "cs"), "isa_put_hint_cg_cs_wg": ("cg", "cs"),
          "isa_get_hint_cv_wb_wave": ("cv", "wb"), "isa_copy_hint_stream_wt": ("stream", "wt")}
KEPT = "isa_put_hint_wb_signal_add_wg"  # a put that may stay in a cache, then a signal
DELTA = 64  # offset of iris_ctx.delta, which translation reads


@dataclass(frozen=True)
class Isa:
    """What an instruction set calls things; patterns of instruction texts."""
    store: str
    data_store: str  # a store of data, which is no signal
    wide: str
    barrier: str
    add: str         # signal by addition
    set: str         # signal by store
    poll: str
    end: str
    stream_load: str
    stream_store: str
    load: str          # of data
    load_hints: dict   # modifiers of a load by its hint
    store_hints: dict  # of a store
    hinted_load: str   # one with modifiers for {}, for breakages
    hinted_store: str
    arrived: str = ""   # waits for the wave's stores
    through: str = ""   # modifiers of a store that goes to the system
    write_back: str = ""
    invalidate: str = ""
    invalidate_far: str = ""  # before it, where that leaves lines of other devices
    settle: str = ""
    delta_load: str = ""   # of an offset between two heaps, from the context
    address_add: str = ""  # of 64 bits, counted once
    other_load: str = ""   # from memory that is no kernel argument


AMD_TRANSLATION = {
    "delta_load": rf"^s_load_dwordx2 s\[\d+:\d+\], s\[\d+:\d+\], {DELTA:#x}$",
    "address_add": r"^(s_add_u32|v_lshl_add_u64|v_add_co_u32)",
    "other_load": r"^(global|flat|scratch|buffer)_load|^ds_"}
AMD_HINTS = {"load": r"^global_load", "hinted_load": "global_load_dword v2, v[0:1], off {}",
             "hinted_store": "global_store_dword v[0:1], v2, off {}"}
GFX942 = Isa(
    store=r"^global_store", data_store=r"^global_store(?!_dwordx2 .* sc1)", wide=r"^global_store_dwordx4",
    barrier=r"^s_barrier", add=r"^global_atomic_add_x2 .* sc1", set=r"^global_store_dwordx2 .* sc0 sc1",
    poll=r"^global_load_dwordx2 .* sc0 sc1", end=r"^s_endpgm", arrived=r"^s_waitcnt .*vmcnt\(0\)", through=r" sc0 sc1",
    write_back=r"^buffer_wbl2 sc0 sc1$", invalidate=r"^buffer_inv sc0 sc1$", settle=r"^s_nop [1-9]",
    stream_load=r"^global_load_dword .* nt$", stream_store=r"^global_store_dword .* sc0 nt sc1$",
    load_hints={"ca": "", "stream": "nt", "cg": "nt", "cv": "sc0 sc1"},
    store_hints={"wb": "", "cg": "", "cs": "sc0 sc1 nt", "wt": "sc0 sc1"}, **AMD_HINTS, **AMD_TRANSLATION)
# gfx90a has no system bits: fine-grained memory writes through by its page (arch/amd/memory.h).
GFX90A = Isa(
    store=r"^global_store", data_store=r"^global_store(?!_dwordx2)", wide=r"^global_store_dwordx4",
    barrier=r"^s_barrier", add=r"^global_atomic_add_x2", set=r"^global_store_dwordx2",
    poll=r"^global_load_dwordx2 .* glc", end=r"^s_endpgm", arrived=r"^s_waitcnt .*vmcnt\(0\)",
    write_back=r"^buffer_wbl2$", invalidate=r"^buffer_wbinvl1_vol$", invalidate_far=r"^buffer_invl2$", settle=r"^s_nop",
    stream_load=r"^global_load_dword .* glc slc$", stream_store=r"^global_store_dword .* glc slc$",
    load_hints={"ca": "", "stream": "glc slc", "cg": "glc slc", "cv": "glc"},
    store_hints={"wb": "", "cg": "", "cs": "glc slc", "wt": ""}, **AMD_HINTS, **AMD_TRANSLATION)
PTX = Isa(
    store=r"^st\.(?!param)", data_store=r"^st\.global", wide=r"^st\.global\.v4", barrier=r"^bar\.(sync|red)",
    add=r"^red\.(relaxed|release)\.sys\.global\.add\.u64", set=r"^st\.(relaxed|release)\.sys\.global\.u64",
    poll=r"^ld\.(relaxed|acquire)\.sys\.global\.u64",
    end=r"^ret", write_back=r"^fence\.release\.sys", invalidate=r"^fence\.acquire\.sys",
    stream_load=r"^ld\.global\.L1::no_allocate", stream_store=r"^st\.global\.cs",
    load=r"^ld\.global", load_hints={"ca": "", "stream": "L1::no_allocate", "cg": "cg", "cv": "cv"},
    store_hints={"wb": "", "cg": "cg", "cs": "cs", "wt": "wt"},
    hinted_load="ld.global.{}.u32 %r1, [%rd1];", hinted_store="st.global.{}.u32 [%rd1], %r1;",
    delta_load=rf"^ld\.param\.u64 .*\[%rd\d+\+{DELTA}\]", address_add=r"^add\.s64",
    other_load=r"^ld\.(global|local|const)")


def reaches(listing, starts, goal, without, sentence):
    """Yields the sentence once when a path leads from a start to `goal` and meets none of `without`."""
    goals, stops = listing.find(goal), [i for w in without for i in listing.find(w)]
    for start in starts:
        end = listing.path(start, goals, stops)
        if end is not None:
            origin = listing.code[start].text if start >= 0 else "the entry"
            yield f"{sentence}: {origin} -> {listing.code[end].text}"
            return


def stores_arrive(listing, isa):
    stores = isa.data_store if "slice" in listing.name else isa.store  # nobody waits for a meeting's signals
    yield from reaches(listing, listing.find(stores), isa.barrier, [isa.arrived],
                       "a store is still under way at a barrier")
    if "signal" in listing.name and "set" not in listing.name:
        yield from reaches(listing, listing.find(isa.data_store), isa.add, [isa.arrived],
                           "a store is still under way at the signal")


def signal_follows_barrier(listing, isa):
    signal = isa.set if "barrier" in listing.name or "set" in listing.name else isa.add
    if not listing.find(signal):
        yield "no signal"
    stores = [-1] + [i for i in listing.find(isa.data_store) if not listing.find(signal) or i < listing.find(signal)[0]]
    yield from reaches(listing, stores, signal, [isa.barrier], "a signal before the workgroup has met")


def puts_write_nothing_back(listing, isa):
    for i in listing.find(r"^buffer_wbl2"):
        yield f"a put writes a whole L2 back: {listing.code[i].text}"


def release(listing, isa):
    signal = isa.add if "add" in listing.name else isa.set
    yield from reaches(listing, [-1], signal, [isa.write_back], "a signal without write-back")
    for i in listing.find(r"^buffer_wbl2"):
        after = listing.code[i + 1].text
        if after not in ("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)"):
            yield f"between the write-back and its wait: {after}"
    starts = listing.find(isa.write_back)
    if "signal" in listing.name:  # in a barrier, lanes without a peer raise nothing
        yield from reaches(listing, starts, isa.barrier, [signal], "a barrier between write-back and signal")
        yield from reaches(listing, starts, isa.data_store, [signal], "a store between write-back and signal")


def system_scope(listing, isa):
    for i in listing.find(isa.store):
        if isa.through not in listing.code[i].text:
            yield f"does not go through to the system: {listing.code[i].text}"
    for i in listing.find(r"^global_atomic"):
        if " sc1" not in listing.code[i].text:
            yield f"atomic of less than system scope: {listing.code[i].text}"


def acquire(listing, isa):
    polls = listing.find(isa.poll)
    if not polls:
        yield "no load of system scope polls the signal"
    for goal in (isa.barrier, isa.end):
        yield from reaches(listing, polls, goal, [isa.invalidate], "goes on without dropping stale lines")
    yield from reaches(listing, [-1], isa.invalidate, [isa.poll], "drops stale lines before the signal was seen")
    yield from reaches(listing, polls, isa.invalidate, [isa.arrived], "drops stale lines while it still polls")
    yield from drops_far_lines(listing, polls, isa)


def drops_far_lines(listing, polls, isa):
    """Where one instruction drops the near cache's lines only, another comes before it."""
    if isa.invalidate_far:
        yield from reaches(listing, polls, isa.invalidate, [isa.invalidate_far], "keeps what the far cache has")
        yield from reaches(listing, polls, isa.invalidate_far, [isa.arrived], "drops stale lines while it still polls")


def use_follows_wait(listing, isa):
    uses = r"^global_load_dword v\d+, v\[\d+:\d+\], off$" if isa is not PTX else r"^ld\.global\.u32"
    if not listing.find(uses):
        yield "no load of the data"
    yield from reaches(listing, [-1], uses, [isa.barrier], "data is read before the workgroup has met")
    if not listing.find(isa.poll):
        yield "no look at the signal of system scope"


def puts_are_wide(listing, isa):
    if not listing.find(isa.wide):
        yield "no 16-byte store"
    if listing.name == "isa_store_vec" and len(listing.find(isa.store)) != 1:
        yield "more than one store for 16 bytes"


def stores_settle(listing, isa):
    for i in listing.find(isa.wide):
        if not listing.find(isa.settle) or i + 1 not in listing.find(isa.settle):
            yield f"its data may be overwritten before it is read: {listing.code[i].text}"


def registers(text):
    """The vector registers of an operand list, each operand a set."""
    out = []
    for operand in text.split(", "):
        first, _, last = operand.partition("[")[2].partition("]")[0].partition(":")
        if operand.startswith("v["):
            out.append(set(range(int(first), int(last) + 1)))
        elif operand.startswith("v") and operand[1:].split(" ")[0].isdigit():
            out.append({int(operand[1:].split(" ")[0])})
    return out


def matrix_results_rest(listing, isa):
    fresh = set()
    for instr in listing.code:
        operands = registers(instr.args)
        if instr.op.startswith("v_mfma"):
            fresh |= operands[0]
        elif instr.op.startswith("global_store") and operands[1] & fresh:
            yield f"stores what the matrix unit may still be writing: {instr.text}"
        elif instr.op.startswith("v_") and operands:
            fresh -= operands[0]
    if not listing.find(r"^v_mfma"):
        yield "no matrix instruction"


def translation(listing, isa):
    """One load from the context, one add of 64 bits after it, and the address is there."""
    loads = listing.find(isa.delta_load)
    if len(loads) != 1:
        yield f"{len(loads)} loads of an offset between heaps"
    adds = [i for i in listing.find(isa.address_add) if loads and i > loads[0]]
    if len(adds) != 1:
        yield f"{len(adds)} additions after the load"
    for i in listing.find(isa.other_load):
        yield f"reads memory: {listing.code[i].text}"
    for i in listing.find(r"branch|^bra|^v_cmp|^setp|^s_cmp"):
        yield f"decides something: {listing.code[i].text}"


def acquires_once(listing, isa):
    """Looks of relaxed order need the fence before anybody goes on; acquiring ones (older compilers) do not."""
    if not listing.find(isa.poll):
        yield "no look at the signal of system scope"
    for goal in (isa.barrier, isa.end):
        yield from reaches(listing, listing.find(r"^ld\.relaxed\.sys\.global\.u64"), goal, [isa.invalidate],
                           "goes on without having acquired")


def releases_first(listing, isa):
    """A relaxed signal needs the fence, after all that it is to cover; a releasing one (older compilers) does not."""
    starts = [-1] + listing.find(isa.data_store) + listing.find(isa.barrier)
    yield from reaches(listing, starts, r"^(red|st)\.relaxed\.sys\.global\.(add\.)?u64", [isa.write_back],
                       "a signal that does not release")


def streams(listing, isa):
    if not listing.find(isa.stream_load):
        yield "the load does not stream"
    if not listing.find(isa.stream_store):
        yield "the store does not stream, or does not go through"


WIDE = "(v4|dwordx)"  # of 16 bytes, and halves of them
MODIFIERS = {"sc0", "sc1", "nt", "glc", "slc", "L1::no_allocate", "ca", "cg", "cs", "cv", "lu", "wb", "wt"}


def hints_arrive(listing, isa):
    """Every load and every store has the modifiers of its hint and no others."""
    load, store = HINTED[listing.name]
    for pattern, hint, wanted in ((isa.load, load, isa.load_hints[load]), (isa.store, store, isa.store_hints[store])):
        if not listing.find(pattern):
            yield f"nothing has the hint {hint}"
        for i in listing.find(pattern):
            text = listing.code[i].text
            if set(re.split("[ .,]+", text)) & MODIFIERS != set(wanted.split()):
                yield f"the hint {hint} is {wanted or 'no modifier'}, but there is: {text}"


def hint_gates(isa):
    """A gate for each kernel of HINTED. It notices when an access is missing, and each wrong hint of either width."""
    for name, (load, store) in HINTED.items():
        breaks = []
        for pattern, hint, hints, wrong_one in ((isa.load, load, isa.load_hints, isa.hinted_load),
                                                (isa.store, store, isa.store_hints, isa.hinted_store)):
            breaks.append((pattern, "nop"))
            for wrong in sorted(set(hints.values()) - {hints[hint]}):
                text = wrong_one.format(wrong).replace("..", ".").rstrip()
                breaks += [(f"{pattern}.*{WIDE}", text), (f"{pattern}(?!.*{WIDE})", text)]
        yield Gate(f"hints reach every load and store: {load}, {store}", (name,), hints_arrive, tuple(breaks))


def safe_atomics(listing, isa):
    for i in listing.find(r"^global_atomic_(?!cmpswap)"):
        yield f"not carried by every memory: {listing.code[i].text}"
    if not listing.find(r"^global_atomic_cmpswap"):
        yield "no compare-and-swap"


def ordered_atomic(listing, isa):
    yield from reaches(listing, [-1], isa.add, [isa.write_back], "no write-back before the atomic")
    yield from reaches(listing, listing.find(isa.add), isa.end, [isa.invalidate], "no invalidation after the atomic")
    if not listing.find(isa.add):
        yield "no atomic of system scope"


def only_global_memory(listing, isa):
    for i in listing.find(r"^(scratch_|flat_|buffer_(load|store))|\.local\b|^ld\.global\.nc"):
        yield f"leaves coherent global memory: {listing.code[i].text}"


def fences(listing, isa):
    if not listing.find(r"^fence\.sc\.sys"):
        yield "no sequentially consistent fence of system scope"
    yield from reaches(listing, [-1], r"^fence\.sc\.sys", [isa.barrier], "fences before the workgroup has met")
    yield from reaches(listing, listing.find(r"^fence\.sc\.sys"), isa.end, [isa.barrier], "goes on before the fence")


ALL = PUTS + ("isa_translate", "isa_signal_add_wg", "isa_signal_set", "isa_wait_wg",
       "isa_barrier_wg", "isa_barrier_grid", "isa_fence_wg", "isa_store", "isa_store_stream", "isa_store_vec",
       "isa_store_if", "isa_test_all", "isa_wait_until",
       "isa_atomic_add_f32", "isa_atomic_min_i64", "isa_atomic_add_u64", *HINTED, KEPT)


@dataclass(frozen=True)
class Gate:
    text: str
    kernels: tuple
    check: object
    breaks: tuple  # of (pattern, replacement), each for the first kernel


NOP = "s_nop 0"
WAIT = r"^s_waitcnt vmcnt\(0\)$"
AMD_GATES = (
    Gate("every wave waits for its stores before a barrier or signal", WG_PUTS + SIGNAL_PUTS[1:] + (KEPT,),
         stores_arrive, ((WAIT, NOP),)),
    Gate("a workgroup's signal follows its barrier", ("isa_put_signal_wg", "isa_signal_add_wg", KEPT),
         signal_follows_barrier, (("^s_barrier", NOP), ("^global_atomic_add_x2", NOP))),
    Gate("a put's signal writes no cache back", PUTS + SLICES[2:], puts_write_nothing_back,
         (("^s_barrier", "buffer_wbl2 sc0 sc1"),)),
    Gate("write-back, its wait, then the signal", ("isa_signal_add_wg", "isa_signal_set", KEPT),
         release, (("^buffer_wbl2", NOP), (r"^s_waitcnt vmcnt\(0\)$", "v_mov_b32_e32 v0, 0"),
                   ("^v_mbcnt_hi", "global_store_dword v[2:3], v1, off"), ("^v_mbcnt_hi", "s_barrier"))),
    Gate("a wait polls at system scope and then drops stale lines", ("isa_wait_wg",), acquire,
         (("^buffer_(inv|wbinvl1_vol)", NOP), ("^global_load_dwordx2", "global_load_dwordx2 v[2:3], v1, s[4:5]"))),
    Gate("a test sees its signal before it drops stale lines", ("isa_test", "isa_test_all", "isa_wait_until"),
         acquire,
         ((WAIT, NOP), ("^buffer_(inv|wbinvl1_vol)", NOP))),
    Gate("data is used after the wait and the barrier", ("isa_wait_wg",), use_follows_wait,
         (("^s_barrier", NOP), ("^global_load_dwordx2", NOP))),
    Gate("puts store 16 bytes at once", ("isa_store_vec",) + PUTS, puts_are_wide,
         (("^global_store_dwordx4", "global_store_dwordx2 v[0:1], v[2:3], off sc0 sc1"),)),
    Gate("16 bytes are read before their registers change", PUTS + ("isa_store_vec",), stores_settle,
         (("^s_nop", "v_mov_b32_e32 v4, 0"),)),
    Gate("accumulators rest before they are stored", ("isa_matrix_store",), matrix_results_rest,
         (("^v_or_b32", NOP), ("^v_mfma", NOP))),
    Gate("the hint reaches loads and stores", ("isa_store_stream",), streams,
         (("^global_store_dword", "global_store_dword v[0:1], v2, off sc0 sc1"),
          ("^global_load_dword", "global_load_dword v2, v[0:1], off"))),
    Gate("atomics that a bus may not carry are compare-and-swap", ("isa_atomic_add_f32", "isa_atomic_min_i64"),
         safe_atomics, (("^global_atomic_cmpswap", "global_atomic_add_f32 v0, v1, s[0:1] sc1"),)),
    Gate("an acquire-release atomic writes back before and drops stale lines after", ("isa_atomic_add_u64",),
         ordered_atomic, (("^buffer_wbl2", NOP), ("^buffer_(inv|wbinvl1_vol)", NOP), ("^global_atomic_add", NOP))),
    Gate("translation is one load from the context and one addition", ("isa_translate",), translation, (
        ("^v_mov_b32_e32 v1", "s_load_dwordx2 s[6:7], s[0:1], 0x40"), ("^global_store", "s_add_u32 s0, s0, s4"),
        ("^v_mov_b32_e32 v1", "global_load_dword v1, v0, s[4:5]"), ("^s_lshl", "s_cbranch_scc0 2"))),
    Gate("only global instructions touch memory", ALL, only_global_memory,
         (("^global_store_dwordx4", "scratch_store_dwordx4 off, v[0:3], s32"),
          ("^global_store_dwordx4", "flat_store_dwordx4 v[0:1], v[2:5]"))),
)
GFX90A_GATES = tuple(hint_gates(GFX90A)) + (
    Gate("who saw a signal drops the lines of both caches",
         ("isa_wait_wg", "isa_test", "isa_test_all", "isa_wait_until"), acquire,
         (("^buffer_invl2", NOP), ("^buffer_wbinvl1_vol", NOP), (WAIT, NOP))),
)
# What needs signals that differ from other stores of 8 bytes.
GFX942_GATES = tuple(hint_gates(GFX942)) + (
    Gate("a barrier raises its signals after the workgroup has met", ("isa_barrier_wg",) + SLICES[:1],
         signal_follows_barrier,
         (("^s_barrier", NOP),)),
    Gate("a barrier raises its signals after a write-back", ("isa_barrier_wg", "isa_slice_barrier"), release,
         (("^buffer_wbl2", NOP),)),
    Gate("a barrier polls at system scope and then drops stale lines", ("isa_barrier_wg",) + SLICES[:2], acquire,
         (("^buffer_inv", NOP), ("^global_load_dwordx2", "global_load_dwordx2 v[2:3], v1, s[4:5]"))),
    Gate("puts and signals reach the system", PUTS + SLICES[2:]
         + ("isa_store", "isa_store_vec", "isa_store_if"), system_scope,
         (("^global_store_dwordx4", "global_store_dwordx4 v[0:1], v[2:5], off"),
          ("^global_store_dwordx4", "global_store_dwordx4 v[0:1], v[2:5], off nt"),
          ("^global_atomic_add_x2", "global_atomic_add_x2 v1, v[0:1], s[2:3]"))),
)
PTX_GATES = (
    Gate("a workgroup's signal follows its barrier", ("isa_put_signal_wg", "isa_signal_add_wg", "isa_barrier_wg"),
         signal_follows_barrier, ((r"^bar\.sync", "nop"), (r"^red\.relaxed\.sys", "red.relaxed.gpu.global.add.u64"))),
    Gate("a signal releases what comes before it", ("isa_signal_set", "isa_signal_add_wg", "isa_barrier_wg", KEPT)
         + SIGNAL_PUTS,
         releases_first, ((r"^fence\.release", "nop"), (r"^fence\.release", "fence.release.gpu;"))),
    Gate("a wait polls at system scope, then the workgroup meets, then data is used", ("isa_wait_wg",),
         use_follows_wait, ((r"^bar\.red", "nop"), (r"^ld\.relaxed\.sys\.global\.u64", "ld.relaxed.gpu.global.u64"))),
    Gate("who saw the signal has acquired before it goes on",
         ("isa_wait_wg", "isa_test", "isa_test_all", "isa_wait_until"), acquires_once,
         ((r"^fence\.acquire", "nop"), (r"^ld\.relaxed\.sys\.global\.u64", "ld.relaxed.gpu.global.u64"))),
    Gate("puts store 16 bytes at once", ("isa_store_vec",) + PUTS, puts_are_wide,
         ((r"^st\.global\.v4", "st.global.u32"),)),
    Gate("the hint reaches loads and stores", ("isa_store_stream",), streams,
         ((r"^st\.global\.cs", "st.global.u32"), (r"^ld\.global\.L1", "ld.global.u32"))),
    Gate("a fence is sequentially consistent and covers the workgroup", ("isa_fence_wg",), fences,
         ((r"^fence", "fence.acq_rel.sys"), (r"^bar\.sync", "nop"))),
    Gate("translation is one load from the context and one addition", ("isa_translate",), translation, (
        (r"^mul\.wide", "ld.param.u64 %rd9, [%rd6+64]"), (r"^st\.global", "add.s64 %rd8, %rd8, %rd7"),
        (r"^mul\.wide", "ld.global.u64 %rd9, [%rd6]"), (r"^mul\.wide", "setp.ne.s32 %p1, %r1, 0"))),
    Gate("no local memory, no read-only path", ALL, only_global_memory,
         ((r"^st\.global\.v4", "st.local.v4.u32"), (r"^ld\.global\.v4", "ld.global.nc.v4.u32"))),
) + tuple(hint_gates(PTX))
BULK_PUT = r"^cp\.async\.bulk\.(tensor\.2d\.)?global"
BULK_ARRIVED = r"^cp\.async\.bulk\.wait_group 0"
BULK_READ = r"^cp\.async\.bulk\.wait_group\.read"


def bulk_puts_arrive(listing, isa):
    if len(listing.find(BULK_PUT)) < 2:
        yield "rows and boxes are not both put by the engine"
    for between, what in ((BULK_ARRIVED, "have arrived"), (isa.barrier, "have been met")):
        yield from reaches(listing, listing.find(BULK_PUT), isa.add, [between], f"a signal before bulk puts {what}")


def bulk_reads_are_ordered(listing, isa):
    fill = r"^st\.shared"
    if not listing.find(fill):
        yield "nothing fills the staging tile"
    yield from reaches(listing, listing.find(fill), BULK_PUT, [r"^fence\.proxy\.async\.shared::cta"],
                       "the engine reads what is not fenced")
    yield from reaches(listing, listing.find(BULK_PUT), fill, [BULK_READ], "a staging tile is filled while it is read")


SM90A_GATES = (
    Gate("a tile's signal waits until the engine's puts have arrived", ("isa_tile_put",), bulk_puts_arrive,
         ((BULK_ARRIVED, "cp.async.bulk.wait_group.read 0"), (BULK_ARRIVED, "nop"), (r"^bar\.sync", "nop"))),
    Gate("the engine reads a staging tile after a fence, and it is filled after that", ("isa_tile_put",),
         bulk_reads_are_ordered, ((r"^fence\.proxy\.async", "nop"), (BULK_READ, "nop"))),
)
SETS = {"gfx90a": (GFX90A, AMD_GATES + GFX90A_GATES), "gfx942": (GFX942, AMD_GATES + GFX942_GATES),
        "gfx950": (GFX942, AMD_GATES + GFX942_GATES), "ptx": (PTX, PTX_GATES),
        "sm_90a": (PTX, PTX_GATES + SM90A_GATES)}
