# SPDX-License-Identifier: MIT
"""The mutants: one wrong line each, and the test that must notice it.

A pattern must occur exactly once in its header, or is the first one behind `after`, which does; `tsan` mutants are run
with ranks as threads under thread sanitizer, where a missing order is a data race even on a machine that never shows
it.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    header: str  # under include/
    old: str
    new: str
    test: str  # under tests/
    case: str  # what Catch2 runs: a case
    ranks: int = 2
    tsan: bool = False
    tries: int = 1  # seeds; for what a machine shows only sometimes
    tier: str = "smoke"
    section: str = ""
    after: str = ""
    patience: int = 4000  # milliseconds of a wait: what hangs is noticed sooner


MESSAGE = "who sees a signal sees the data before it*"
BARRIER = "a barrier of the world holds back*"
LL_EPOCHS = "LL packets of one epoch*"
CHECKED = "checked mode refuses*"
AGAIN = "a collective may follow itself*"
MIXED = "any collective may follow*"
SELF_TEST = "a sound machine passes*"
OPERATIONS = "*all_gather are right for every*"
SHARED = "plans that share a workspace*"
LL_ROW = "GEMMs by packets in a row*"
TMA_FORWARD = "a workgroup that only sends*"
SKINNY_AMD = "few rows are multiplied right on AMD's matrix units"
GEMV = "up to 8 rows are multiplied right*"
MMA = "slabs in shared memory are multiplied right by mma.sync"
MFMA = "tiles are multiplied right by AMD's matrix units"

ATOMIC = """{} value, iris_order order, iris_scope scope)
{{
    (void)scope;
    switch (order) {{
    case IRIS_RELAXED: return {};"""

MUTANTS = (
    # order
    Mutant("release of signal_add turned relaxed", "iris/arch/host/memory.h",
           "__atomic_fetch_add(signal, v, __ATOMIC_RELEASE)", "__atomic_fetch_add(signal, v, __ATOMIC_RELAXED)",
           "litmus/message.cpp", MESSAGE, tsan=True),
    Mutant("release of signal_set turned relaxed", "iris/arch/host/memory.h",
           "__atomic_store_n(signal, v, __ATOMIC_RELEASE)", "__atomic_store_n(signal, v, __ATOMIC_RELAXED)",
           "litmus/message.cpp", MESSAGE, tsan=True),
    Mutant("acquire of a wait turned relaxed", "iris/arch/host/memory.h",
           "__atomic_load_n(signal, __ATOMIC_ACQUIRE)", "__atomic_load_n(signal, __ATOMIC_RELAXED)",
           "litmus/message.cpp", MESSAGE, tsan=True),
    Mutant("signal_wg raised before the workgroup has met", "iris/signal.h",
           """    iris_sync_wg();
    if (iris_wg_lane() == 0) {
        irisi_release();""", """    if (iris_wg_lane() == 0) {
        irisi_release();""", "litmus/message.cpp", MESSAGE, tsan=True),
    Mutant("signal raised before the data", "iris/gen/put_signal.h",
           """    iris_put_u32_wg(ctx, dst, src, n, rank);
    irisi_put_raise_wg(at, value, op);""", """    irisi_put_raise_wg(at, value, op);
    iris_put_u32_wg(ctx, dst, src, n, rank);""", "litmus/message.cpp", MESSAGE, tries=3),
    Mutant("fence that lets a load overtake a store", "iris/arch/host/memory.h",
           "__atomic_thread_fence(__ATOMIC_SEQ_CST)", "__atomic_thread_fence(__ATOMIC_ACQ_REL)",
           "litmus/litmus.cpp", "what the memory model forbids*", tries=8, tier="full",
           section="store buffering with fences"),
    # epochs, banks, barriers
    Mutant("epoch of a channel not advanced", "iris/barrier.h",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELEASE",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch - 1, IRIS_RELEASE",
           "channel/channel.cpp", "a channel's epoch lasts*", after="void irisi_channel_close("),
    Mutant("epoch of a GEMM by packets not advanced", "iris/barrier.h",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELEASE",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch - 1, IRIS_RELEASE",
           "mutants/gemm_row.cpp", LL_ROW, ranks=3, after="void irisi_channel_close("),
    Mutant("epoch of a barrier not advanced", "iris/barrier.h",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELAXED",
           "irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch - 1, IRIS_RELAXED",
           "channel/channel.cpp", BARRIER),
    Mutant("bank not switched", "iris/barrier.h", "(epoch & 1) * ch->bank_bytes", "(epoch & 0) * ch->bank_bytes",
           "channel/channel.cpp", "a channel's banks keep*", ranks=3, tries=5),
    Mutant("barrier one rank short", "iris/barrier.h",
           "i < team.size; i += (int32_t)iris_wg_lanes()) {", "i < team.size - 1; i += (int32_t)iris_wg_lanes()) {",
           "channel/channel.cpp", BARRIER, tries=3),
    Mutant("grid barrier one workgroup short", "iris/barrier.h",
           "+ 1 == iris_workgroups()", "+ 1 >= iris_workgroups() - (iris_workgroups() > 1)",
           "channel/channel.cpp", "a barrier of the grid*", tries=3),
    # collectives
    Mutant("step of a slice not advanced", "iris/collective/collective.h",
           "irisi_atomic_set_u64(&s->words[IRISI_SLICE_STEP].value, s->step,",
           "irisi_atomic_set_u64(&s->words[IRISI_SLICE_STEP].value, s->step - 1,", "collective/launch.cpp", MIXED),
    Mutant("scratch of a slice not switched", "iris/collective/collective.h",
           "s->banks + (step & 1) * s->turn + s->half", "s->banks + (step & 0) * s->turn + s->half",
           "collective/launch.cpp", AGAIN, ranks=3, tries=5),
    Mutant("packets of a slice not switched", "iris/collective/collective.h",
           "(void *)(s->banks + (step & 1) * s->turn)", "(void *)(s->banks + (step & 0) * s->turn)",
           "collective/launch.cpp", AGAIN, ranks=3, tries=5),
    Mutant("meeting one member short", "iris/collective/collective.h",
           "irisi_wait_signal(s->ctx, irisi_slice_word(s, row, from), IRISI_GE, value, from);",
           "if (k > 1)\n            irisi_wait_signal(s->ctx, irisi_slice_word(s, row, from), IRISI_GE, value, from);",
           "collective/launch.cpp", AGAIN, tries=3),
    Mutant("two shots without the last meeting", "iris/gen/all_reduce_two_shot.h",
           "    irisi_reduce_i32(s, op, dst + own.first, IRISI_FOR_ALL, irisi_from_members(s, src + own.first), "
           "own.count);\n    irisi_slice_meet_puts(s);",
           "    irisi_reduce_i32(s, op, dst + own.first, IRISI_FOR_ALL, irisi_from_members(s, src + own.first), "
           "own.count);",
           "collective/launch.cpp", AGAIN, tries=3),
    Mutant("a piece goes on around before it is here", "iris/collective/sources.h", "if (k > 0)",
           "if (k > 1)", "collective/launch.cpp", AGAIN, ranks=3, tries=3),
    Mutant("a member returns before the last pieces are here", "iris/collective/sources.h",
           "irisi_slice_wait(s, IRISI_WORD_MOVED, s->size", "if (0) irisi_slice_wait(s, IRISI_WORD_MOVED, s->size",
           "collective/launch.cpp", AGAIN, tries=3),
    Mutant("two_shot_push combines before everybody's elements are here", "iris/gen/all_reduce_two_shot_push.h",
           "iris_slice_meet_wg(s);", "irisi_slice_arrive(s, 0);", "collective/launch.cpp", AGAIN, tries=3,
           after="void irisi_all_reduce_two_shot_push_i32("),
    Mutant("sums of ll_two_shot sent where elements are still read", "iris/gen/all_reduce_ll_two_shot.h",
           "irisi_slice_packets(s, s->step + 1)", "irisi_slice_packets(s, s->step)", "collective/launch.cpp", AGAIN,
           tries=3, after="void irisi_all_reduce_ll_two_shot_i32("),
    Mutant("chain passes a piece on before it is here", "iris/gen/broadcast_chain.h",
           "if (behind > 0)", "if (behind > 1)", "collective/launch.cpp", AGAIN, ranks=3, tries=3,
           after="void irisi_broadcast_chain_u8("),
    Mutant("a part is fetched before the root has it", "iris/gen/broadcast_fetch.h",
           "irisi_slice_wait(s, IRISI_WORD_MOVED, s->step, root);", "iris_sync_wg();", "collective/launch.cpp", AGAIN,
           ranks=3, tries=3, after="void irisi_broadcast_fetch_u8("),
    Mutant("who fetched returns before the others have", "iris/gen/broadcast_fetch.h",
           "irisi_slice_wait_all(s, IRISI_WORD_MOVED,", "if (0) irisi_slice_wait_all(s, IRISI_WORD_MOVED,",
           "collective/launch.cpp", AGAIN, ranks=3, tries=3, after="void irisi_broadcast_fetch_u8("),
    Mutant("message sent before there is room", "iris/collective/message.h", "if (sent > 2)", "if (sent > 200)",
           "collective/send_recv.cpp", "messages down a pipeline*", tries=5),
    # waits
    Mutant("comparison of signals signed", "iris/signal.h",
           "seen > value;", "(int64_t)seen > (int64_t)value;", "signal/wait.cpp", "a test of a signal*"),
    Mutant("wait_all forgets the first signal", "iris/signal.h",
           "for (size_t i = member; i < n; i += members)", "for (size_t i = member + 1; i < n; i += members)",
           "signal/wait.cpp", "wait_all returns*", tries=5),
    Mutant("waits deaf to the abort word", "iris/signal.h",
           "IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0)\n        return 1;",
           "IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 77)\n        return 1;",
           "signal/deadline.cpp", "one rank's deadline*", patience=10000),
    Mutant("a wait that was given up says that its condition held", "iris/signal.h",
           "return irisi_holds(cmp, irisi_wait_signal(ctx, signal, cmp, value, -1), value);",
           "return irisi_wait_signal(ctx, signal, cmp, value, -1), 1;",
           "signal/deadline.cpp", "a signal that never comes*", section="wait"),
    Mutant("lanes of a workgroup hear only of their own flags", "iris/arch/host/device.h",
           "__atomic_store_n(&g->said[turn & 1], turn, __ATOMIC_RELAXED);",
           "return iris_sync_wg(), 1;",
           "signal/deadline.cpp", "one rank's deadline*", patience=10000),
    # data and atomics
    Mutant("tail of a copy left out", "iris/bytes.h",
           "(uint32_t)(bytes - tail), align", "0u, align", "litmus/message.cpp", MESSAGE),
    Mutant("narrow atomics tear their word", "iris/atomic.h",
           "const uint32_t seen = irisi_atomic_cas_u32(c.word, old, next, order, scope);",
           "const uint32_t seen = old; irisi_atomic_set_u32(c.word, next, order, scope);",
           "atomic/atomic.cpp", "atomics of every order*", ranks=3, tries=12, tier="full", section="u8"),
    # the self-test notices what it is for
    Mutant("signal raised before the data, by the self-test", "iris/gen/put_signal.h",
           """    iris_put_u32_wg(ctx, dst, src, n, rank);
    irisi_put_raise_wg(at, value, op);""", """    irisi_put_raise_wg(at, value, op);
    iris_put_u32_wg(ctx, dst, src, n, rank);""", "self_test/self_test.cpp", SELF_TEST, tries=20),
    Mutant("atomic add that loses updates", "iris/gen/arch/atomic_host.h",
           ATOMIC.format("uint64_t irisi_atomic_add_u64(uint64_t *p, uint64_t",
                         "__atomic_fetch_add(p, value, __ATOMIC_RELAXED)"),
           ATOMIC.format("uint64_t irisi_atomic_add_u64(uint64_t *p, uint64_t",
                         "__atomic_load_n(p, 0); __atomic_store_n(p, *p + value, 0)"), "self_test/self_test.cpp",
           SELF_TEST, tries=3),
    Mutant("exchange that is a load and a store", "iris/gen/arch/atomic_host.h",
           ATOMIC.format("uint64_t irisi_atomic_xchg_u64(uint64_t *p, uint64_t",
                         "__atomic_exchange_n(p, value, __ATOMIC_RELAXED)"),
           ATOMIC.format("uint64_t irisi_atomic_xchg_u64(uint64_t *p, uint64_t",
                         "__atomic_load_n(p, 0); __atomic_store_n(p, value, 0)"), "self_test/self_test.cpp", SELF_TEST,
           tries=3),
    # LL messages
    Mutant("LL flag compared with >=", "iris/collective/ll.h",
           "return bits >> 32 == flag;", "return bits >> 32 >= flag;", "ll/ll.cpp", "LL flags begin anew", tries=3),
    Mutant("LL bank not switched", "iris/collective/ll.h",
           "iris_channel_bank(ch, epoch)", "iris_channel_bank(ch, epoch * 0)", "ll/ll.cpp", LL_EPOCHS, tries=3),
    Mutant("LL flag the same in every epoch", "iris/collective/ll.h",
           "return (uint32_t)epoch | 0x80000000u;", "return (uint32_t)(epoch * 0) | 0x80000000u;", "ll/ll.cpp",
           LL_EPOCHS),
    Mutant("LL barrier waits for itself only", "iris/collective/ll.h",
           "iris_ll_receive(ctx, slots + rank, iris_ll_flag(epoch), rank);",
           "iris_ll_receive(ctx, slots + ctx->rank, iris_ll_flag(epoch), rank);",
           "ll/ll.cpp", "the LL barrier holds back*", tries=3),
    # checked mode
    Mutant("roots are not compared", "iris/collective/collective.h", "return (uint32_t)root | ", "return (uint64_t)",
           "collective/checked.cpp", "calls that differ*", section="root of gather push"),
    Mutant("a message's length is not looked at", "iris/collective/message.h",
           "const uint64_t sent = right ? irisi_load_64(row, IRIS_CACHE_DEFAULT) : whole;",
           "const uint64_t sent = whole;",
           "collective/checked.cpp", "messages of another length*", section="shorter than sent"),
    Mutant("what scratch held is taken for a piece that has come", "iris/collective/message.h",
           """irisi_message_reached(s, IRISI_WORD_MOVED, received, from) &&
            irisi_load_64(row + 8, IRIS_CACHE_DEFAULT) == received;""", "1;",
           "collective/checked.cpp", "nothing is taken of a message*"),
    Mutant("a row that wraps around is taken", "iris/collective/collective.h", "first <= most && ", "",
           "collective/all_to_allv.cpp", "rows that do not fit*", section="an offset whose bytes wrap"),
    Mutant("a row without room is taken", "iris/collective/collective.h", "(count <= room && first", "(first",
           "collective/all_to_allv.cpp", "rows that do not fit*", section="one element more than there is room"),
    Mutant("checked mode looks at the first byte only", "iris/check.h",
           "n > (ctx->bytes - offset) / size", "offset == ctx->bytes", "memory/checked.cpp", CHECKED),
    Mutant("checked mode lets remote atomics go anywhere", "iris/check.h",
           "offset + n * size > ctx->sync_bytes", "offset > ctx->bytes", "memory/checked.cpp", CHECKED),
    # GEMM
    Mutant("entry handshake of GEMM dropped", "iris/gemm/roles.h",
           "irisi_gemm_await_all(ctx, irisi_exchange_ready(plan, 0), plan, epoch, 0);", "(void)epoch;",
           "mutants/gemm_row.cpp", "GEMMs in a row*", ranks=3, tries=10),
    Mutant("a staging tile filled while it is still being sent", "iris/gemm/roles.h",
           "irisi_stage_pipe_await(part, plan, IRISI_EMPTY, seq, seq / plan->machine.slots_with_comm - 1,\n"
           "                           plan->machine.comm_waves);\n", "",
           "gemm/aligned.cpp", "every pattern stays right*", tsan=True, after="irisi_stage_pipe_acquire("),
    Mutant("a staging tile sent before it is full", "iris/gemm/roles.h",
           "IRISI_FULL, seq, seq / plan->machine.slots_with_comm,",
           "IRISI_FULL, seq, seq / plan->machine.slots_with_comm - 1,",
           "mutants/gemm_row.cpp", "GEMMs in a row*", tsan=True, after="*irisi_stage_pipe_wait(const"),
    Mutant("GEMM ends before its peers' tiles are here", "iris/gemm/roles.h",
           "irisi_exchange_done(plan, 0), plan, epoch, 1);", "irisi_exchange_done(plan, 0), plan, 0 * epoch, 1);",
           "mutants/gemm_row.cpp", "GEMMs in a row*", ranks=3, tries=10),
    # sums and operands that cross the ranks
    Mutant("partial sums read before all ranks have theirs", "iris/gemm/meet.h",
           "irisi_gemm_wait_all(ctx, irisi_exchange_ready(plan, 0), epoch);", "(void)epoch;",
           "mutants/operations.cpp", SHARED, ranks=3, tries=10),
    Mutant("a GEMM ends while others still read its partial sums", "iris/gemm/meet.h",
           "epoch * plan->machine.equal_workgroups);", "0 * epoch);", "mutants/operations.cpp", SHARED, ranks=3, tries=10),
    Mutant("one workgroup's end counts for all", "iris/gemm/meet.h",
           "epoch * plan->machine.equal_workgroups);", "(epoch - 1) * plan->machine.equal_workgroups + 1);",
           "mutants/operations.cpp", SHARED, ranks=3, tries=10),
    Mutant("partial sums added in another order", "iris/gen/gemm_reduce.h",
           "irisi_translate(ctx, own, rank)", "irisi_translate(ctx, own, ctx->world - 1 - rank)",
           "mutants/operations.cpp", OPERATIONS, ranks=3, after="void irisi_gemm_reduce_f32("),
    Mutant("a partial sum added twice", "iris/gen/gemm_reduce.h",
           "if (first + k < ctx->world) {", "if (1) {", "mutants/operations.cpp", OPERATIONS, ranks=3,
           after="void irisi_gemm_reduce_f32("),
    Mutant("the scale of C left out", "iris/gen/gemm_reduce.h",
           "if (plan->sums.scale_c != NULL) {", "if (0) {", "mutants/operations.cpp", OPERATIONS, ranks=3,
           after="void irisi_gemm_finish_sums_bf16("),
    Mutant("partial sums read before all of them have been put", "iris/gemm/meet.h",
           "const uint64_t amount = epoch *", "const uint64_t amount = 0 *", "mutants/operations.cpp", SHARED, ranks=3,
           tries=10),
    Mutant("partial sums put before their owner has begun", "iris/gemm/roles.h",
           "irisi_gemm_await_all(ctx, irisi_exchange_ready(plan, 0), plan, epoch, 0);", "(void)epoch;",
           "mutants/operations.cpp", SHARED, ranks=3, tries=10),
    Mutant("a tile's rows all put to the first one's owner", "iris/gemm/tile.h",
           "irisi_gemm_owner_of(plan, tile->m0 + (uint32_t)row);", "irisi_gemm_owner_of(plan, tile->m0);",
           "mutants/operations.cpp", OPERATIONS, ranks=3, after="void irisi_tile_put_owners("),
    Mutant("patterns that put nothing do not count as if they had", "iris/gemm/meet.h",
           "if (!put && last)", "if (0)", "mutants/operations.cpp", SHARED, ranks=3),
    Mutant("a block of A announced before it is put", "iris/gemm/gather.h",
           "BLOCK_ROWS < rows; block += workers) {",
           "BLOCK_ROWS < rows; block += workers) {\n"
           "        for (int rank = 0; rank < ctx->world && iris_wg_lane() == 0; rank++)\n"
           "            irisi_raise(ctx, irisi_exchange_block(plan, plan->rank, block), epoch, IRIS_SIGNAL_SET, rank);",
           "mutants/operations.cpp", SHARED, tsan=True),
    Mutant("a tile waits for the block before its rows'", "iris/gemm/gather.h",
           "irisi_exchange_block(plan, owner, block), IRISI_GE", "irisi_exchange_block(plan, owner, 0), IRISI_GE",
           "mutants/operations.cpp", OPERATIONS, ranks=2, tries=20, tier="full"),
    Mutant("tiles do not wait for their rows of A", "iris/gen/gemm_tiles.h", "if (way.needs && !loader)", "if (0)",
           "mutants/operations.cpp", SHARED, ranks=3, tries=10, after="void irisi_gemm_compute_f64("),
    Mutant("an empty part of K is not zero", "iris/runtime/gemm/packing.h",
           "iris_memset(w, p->launcher.zeros, 0, a + b)", "iris_memset(w, p->launcher.zeros, 0x40, a + b)",
           "mutants/operations.cpp", OPERATIONS, ranks=3),
    Mutant("the last rows of A are not gathered", "iris/gemm/gather.h",
           "(size_t)count * across", "(size_t)(count > 0 ? count - 1 : 0) * across", "mutants/operations.cpp",
           OPERATIONS, ranks=3),
    # a GEMM alone
    Mutant("a GEMM alone waits for the other ranks", "iris/runtime/gemm/agree.h",
           "if (p->op == IRIS_GEMM_LOCAL)", "if (0)", "gemm/local.cpp", "a GEMM alone needs no other rank"),
    Mutant("a GEMM alone computes this rank's band, unasked", "iris/runtime/gemm/make.h",
           "op == IRIS_GEMM_LOCAL && !g->band;", "0;", "gemm/local.cpp", "a GEMM alone needs no other rank"),
    Mutant("a copy of a released plan still runs", "iris/runtime/gemm/make.h",
           "    irisi_gemm_plan_strike(w, p);\n", "", "gemm/local.cpp", "plans for a GEMM alone*"),
    Mutant("a GEMM alone written at the first column, whichever is its own", "iris/gemm/tile.h",
           "return (char *)plan->route.base +", "return (char *)plan->operands.c +", "gemm/local.cpp",
           "a GEMM alone writes its band only*"),
    Mutant("a row's ends beside whole 16 bytes left out", "iris/gemm/tile.h",
           "i < bytes - (end - head); i += members * unit", "i < head; i += members * unit", "gemm/local.cpp",
           "a GEMM alone is right for every type*", ranks=1),
    # tiles that go as packets
    Mutant("a tile's packets are not waited for", "iris/collective/ll_units.h",
           "late |= (uint32_t)(seen[k] >> 32) ^ flag;", "late |= 0;", "mutants/gemm_row.cpp", LL_ROW, ranks=3),
    Mutant("one bank for the packets of all epochs", "iris/gemm/tile_ll.h",
           "iris_ll_bank(&plan->exchange.ll, epoch)", "iris_ll_bank(&plan->exchange.ll, 0)",
           "mutants/gemm_row.cpp", LL_ROW, ranks=3,
           tries=10),
    Mutant("no packet from who has no columns", "iris/gemm/tile_ll.h",
           "if (plan->region.columns == 0 &&", "if (0 &&", "mutants/gemm_row.cpp", LL_ROW, ranks=3),
    # a workgroup that only sends
    Mutant("a part is fetched over one that is still being put", "iris/mainloop/nvidia/tma_forward.h",
           "        irisi_mbar_wait(bar + 8, r->parity ^ 1);\n", "", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("a part said to have left when the next one is on its way", "iris/mainloop/nvidia/tma_forward.h",
           "        if (r->left)\n            irisi_mbar_expect(r->left, 0);", "        irisi_mbar_expect(bar + 8, 0);",
           "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("a part said to have left before it was read", "iris/mainloop/nvidia/tma_forward.h",
           "        irisi_bulk_reusable(1);\n", "", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("parity kept around the ring, by who skips a tile", "iris/mainloop/nvidia/tma_forward.h",
           "    r->parity ^= r->at >= IRISI_TMA_FORWARD_PARTS;\n", "", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("a tile fetched before its flag", "iris/gemm/roles.h",
           "irisi_wait_signal(ctx, irisi_exchange_flag(plan, tile.index), IRISI_GE, part->epoch, ctx->rank);", "",
           "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1, after="void irisi_gemm_tma_forward_fetch("),
    Mutant("what the engine fetches not fenced behind its flag", "iris/mainloop/nvidia/tma_forward.h",
           "irisi_bulk_acquired();", ";", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("a tile that no wave fetches", "iris/gemm/roles.h",
           "others = IRISI_TMA_FORWARD_FETCHERS - 1;", "others = IRISI_TMA_FORWARD_FETCHERS;",
           "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("peers told of tiles before they have arrived", "iris/gemm/roles.h",
           "    irisi_tma_forward_end();\n", "", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("peers told of tiles that other waves still put", "iris/gemm/roles.h",
           "    irisi_drain(); /* what lanes have sent */\n    iris_wave_group_sync(&part->group);\n",
           "    irisi_drain(); /* what lanes have sent */\n",
           "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("boxes put where the world has stopped", "iris/mainloop/nvidia/tma_forward.h",
           " && !stopped; k++", "; k++", "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    Mutant("a ring for what is sent while others still compute", "iris/gemm/roles.h",
           "    iris_sync_wg(); /* the barriers are made", "    /* the barriers are made",
           "mutants/tma_forward.cpp", TMA_FORWARD, ranks=1),
    # few rows, on AMD's matrix units
    Mutant("AMD: waves' sums written over those of the last tile", "iris/gen/mainloop/gemm_skinny_amd.h",
           "    if (pipe->tiles++ > 0)\n        iris_wave_group_sync(group);", "    pipe->tiles++;",
           "mutants/skinny_amd.cpp", SKINNY_AMD,
           ranks=1, after="void irisi_skinny_tile_bf16_skinny_mfma("),
    Mutant("AMD: waves' sums added up before all are there", "iris/gen/mainloop/gemm_skinny_amd.h",
           "v[block][row_group]);\n    }\n    iris_wave_group_sync(group);\n", "v[block][row_group]);\n    }\n",
           "mutants/skinny_amd.cpp", SKINNY_AMD, ranks=1, after="void irisi_skinny_tile_bf16_skinny_mfma("),
    Mutant("AMD: what is behind the end of K counts", "iris/mainloop/amd/skinny.h",
           "    if (job->k - begun >= IRISI_SKINNY_DEEP)\n        return;\n", "    return;\n", "mutants/skinny_amd.cpp",
           SKINNY_AMD,
           ranks=1),
    Mutant("AMD: lines behind the end of K are loaded", "iris/mainloop/amd/skinny.h",
           "own + (s.n_major ? i : 0) < left ? job->b_at[i] : first", "job->b_at[i]", "mutants/skinny_amd.cpp",
           SKINNY_AMD,
           ranks=1),
    Mutant("AMD: columns behind the last are loaded", "iris/mainloop/amd/skinny.h",
           "column < tile->cols ? column", "column <= tile->cols ? column", "mutants/skinny_amd.cpp", SKINNY_AMD,
           ranks=1),
    Mutant("AMD: a step is multiplied from the ring's next words", "iris/gen/mainloop/gemm_skinny_amd.h",
           "irisi_skinny_fetch(s, &job, step + i + s.ring, &words[i]);",
           "irisi_skinny_fetch(s, &job, step + i + s.ring + 1, &words[i]);", "mutants/skinny_amd.cpp", SKINNY_AMD,
           ranks=1,
           after="void irisi_skinny_part_bf16_skinny_mfma("),
    Mutant("AMD: few tiles on some of the chiplets", "iris/gemm/scheduler.h",
           "plan->tiling.positions < workers ? plan->tiling.positions : workers", "workers",
           "mutants/skinny_amd.cpp", SKINNY_AMD,
           ranks=1),
    Mutant("AMD: lanes read sums from one bank", "iris/mainloop/amd/skinny.h",
           "2 * (lane / 16) ^ (block % 2 | block / 2 * 4)", "0 * lane", "mutants/skinny_amd.cpp", SKINNY_AMD, ranks=1),
    Mutant("AMD: sums of one wave left out", "iris/gen/mainloop/gemm_skinny_amd.h",
           "for (uint32_t wave = 1; wave < IRISI_SKINNY_WAVES; wave++)",
           "for (uint32_t wave = 2; wave < IRISI_SKINNY_WAVES; wave++)",
           "mutants/skinny_amd.cpp", SKINNY_AMD, ranks=1, after="void irisi_skinny_tile_bf16_skinny_mfma("),
    # up to 8 rows
    Mutant("sums where others still multiply", "iris/gen/mainloop/gemm_gemv_nvidia.h",
           "    iris_wave_group_sync(group);\n    irisi_gemv_leave(", "    irisi_gemv_leave(", "mutants/gemv.cpp",
           GEMV, ranks=1,
           after="void irisi_gemv_part_bf16_gemv("),
    Mutant("sums added up before all waves have left theirs", "iris/gen/mainloop/gemm_gemv_nvidia.h",
           "    iris_wave_group_sync(group);\n    irisi_gemv_collect(", "    irisi_gemv_collect(", "mutants/gemv.cpp",
           GEMV, ranks=1,
           after="void iris_gemm_mma_tile_bf16_gemv("),
    Mutant("a step multiplied before it has come", "iris/gen/mainloop/gemm_gemv_nvidia.h",
           "irisi_copies_await(IRISI_GEMV_RING - 2);", "irisi_copies_await(IRISI_GEMV_RING - 1);", "mutants/gemv.cpp",
           GEMV,
           ranks=1, after="void irisi_gemv_rows_bf16_gemv("),
    Mutant("a piece of A over one that others still read", "iris/mainloop/nvidia/gemv.h",
           "    iris_wave_group_sync(group); /* the whole piece is there, and the one before has been read */\n", "",
           "mutants/gemv.cpp", GEMV, ranks=1),
    Mutant("what words of columns hold of their neighbours counts", "iris/mainloop/nvidia/gemv.h",
           "    if ((job->begin > 0 || step > 0) && (step + 1) << job->deep <= job->end)\n        return;\n",
           "    return;\n",
           "mutants/gemv.cpp", GEMV, ranks=1),
    Mutant("what words of A hold of its neighbours counts", "iris/mainloop/nvidia/gemv.h",
           "    if (r.at >= r.begin && r.at + 16 * r.words <= r.end)\n        return;\n", "    return;\n",
           "mutants/gemv.cpp",
           GEMV, ranks=1),
    Mutant("splits' sums given to the same place", "iris/mainloop/nvidia/gemv_join.h",
           "irisi_shared_address(pipe->given) + 4 * tile->k_split * all;", "irisi_shared_address(pipe->given);",
           "mutants/gemv.cpp", GEMV, ranks=1),
    # slabs multiplied by mma.sync
    Mutant("mma.sync: a slab multiplied before it has come", "iris/mainloop/nvidia/mma.h",
           "job->open = slabs - 2;", "job->open = slabs - 1;", "mutants/mma.cpp", MMA, ranks=1),
    Mutant("mma.sync: a slab over one that others still read", "iris/mainloop/nvidia/mma.h",
           "    irisi_copies_await(job->open);\n    iris_wave_group_sync(group);\n",
           "    irisi_copies_await(job->open);\n", "mutants/mma.cpp", MMA, ranks=1),
    Mutant("mma.sync: a step multiplied twice, the next one never", "iris/gen/mainloop/gemm_sm80_nvidia.h",
           "irisi_mma_take_16(shape, &job, 1, n_major, &odd);", "irisi_mma_take_16(shape, &job, 0, n_major, &odd);",
           "mutants/mma.cpp", MMA, ranks=1, after="void irisi_mma_tile_f16_sm80("),
    Mutant("mma.sync: rows of accumulators change places", "iris/mainloop/nvidia/mma_layout.h",
           "irisi_mma_wave_row(wave) + lane / 4 + e / 2 * 8;", "irisi_mma_wave_row(wave) + lane / 4 + (e / 2 ^ 1) * 8;",
           "mutants/mma.cpp", MMA, ranks=1),
    # tiles multiplied by AMD's matrix units
    Mutant("mfma: a direct load that nobody waits for", "iris/mainloop/amd/gemm_mfma.h",
           "    if (loop.direct)\n        irisi_mfma_loaded();\n}", "}", "mutants/mfma.cpp", MFMA, ranks=1),
    Mutant("mfma: chunks of a row stand where no operand is read from", "iris/mainloop/amd/mfma_layout.h",
           "c.chunk = index % chunks ^ irisi_mfma_swizzle(s.depth, c.row);", "c.chunk = index % chunks;",
           "mutants/mfma.cpp", MFMA, ranks=1),
    Mutant("mfma: a slab over one that others still read", "iris/gen/mainloop/gemm_mfma_amd.h",
           "irisi_mfma_hurry(0);\n            irisi_mfma_meet(group, 0);\n", "irisi_mfma_hurry(0);\n",
           "mutants/mfma.cpp", MFMA, ranks=1, after="void irisi_mfma_round_f16_gfx942("),
    Mutant("mfma: a step multiplied twice, the next one never", "iris/mainloop/amd/gemm_mfma.h",
           "const uint32_t step = phase * loop.steps + i;", "const uint32_t step = phase * loop.steps;",
           "mutants/mfma.cpp", MFMA, ranks=1),
)
