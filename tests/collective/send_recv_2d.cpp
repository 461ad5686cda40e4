/* SPDX-License-Identifier: MIT */
/*
 * send_recv_2d.cpp: boxes arrive whole and in order as messages: around a ring, each workgroup on a slice of its own,
 * narrow and wide, longer and shorter than a piece, of other pitches at both ends, received as boxes and as contiguous
 * elements. What lies between rows must stay.
 */
#include <cstring>

#include "harness.h"

#include <iris/collective/launch.h>
#include <iris/gen/send_recv.h>
#include <iris/gen/send_recv_2d.h>

namespace {

enum { SLICES = 2, MESSAGES = 24, GUARD = 32 };
enum { BOTH, APART, FLAT_RECV, FLAT_SEND, KINDS };

/* A message: elements of the areas at which it begins. Kinds: both ends in one call, or in two; one end contiguous. */
struct message {
    uint64_t dst, src, rows, n, dst_pitch, src_pitch;
    int32_t kind;
};

struct ring_args {
    iris_ctx ctx;
    iris_channel ch;
    const message *messages; /* own: MESSAGES for each slice */
    char *dst, *src;         /* own areas */
    int next, last;
};

/* Every workgroup its messages, one after the other; even ranks send first where that is a call of its own. */
#define RING(d, ctype)                                                                                                 \
    IRIS_KERNEL(ring_##d, ring_args, a, 256)                                                                           \
    {                                                                                                                  \
        const iris_ctx *c = &a->ctx;                                                                                   \
        const uint32_t slice = iris_workgroup();                                                                       \
        for (uint32_t k = 0; k < MESSAGES; k++) {                                                                      \
            const message m = a->messages[slice * MESSAGES + k];                                                       \
            ctype *dst = (ctype *)(void *)a->dst + m.dst;                                                              \
            const ctype *src = (const ctype *)(const void *)a->src + m.src;                                            \
            if (m.kind == BOTH || c->world == 1) {                                                                     \
                iris_send_recv_2d_##d##_wg(c, &a->ch, slice, dst, m.dst_pitch, a->last, src, m.src_pitch, a->next,     \
                                           m.rows, m.n);                                                               \
                continue;                                                                                              \
            }                                                                                                          \
            for (int turn = 0; turn < 2; turn++)                                                                       \
                if (turn == (c->rank == 0) && m.kind == FLAT_RECV)                                                     \
                    iris_recv_##d##_wg(c, &a->ch, slice, dst, m.rows *m.n, a->last);                                   \
                else if (turn == (c->rank == 0))                                                                       \
                    iris_recv_2d_##d##_wg(c, &a->ch, slice, dst, m.rows, m.n, m.dst_pitch, a->last);                   \
                else if (m.kind == FLAT_SEND)                                                                          \
                    iris_send_##d##_wg(c, &a->ch, slice, src, m.rows *m.n, a->next);                                   \
                else                                                                                                   \
                    iris_send_2d_##d##_wg(c, &a->ch, slice, src, m.rows, m.n, m.src_pitch, a->next);                   \
        }                                                                                                              \
    }
RING(u8, uint8_t)
RING(bf16, iris_bf16)
RING(f64, double)

struct ring_type {
    const char *name;
    irisi_kernel kernel;
    size_t bytes;
};
const ring_type types[] = {{"u8", IRISI_KERNEL_PTR(ring_u8), 1},
                           {"bf16", IRISI_KERNEL_PTR(ring_bf16), 2},
                           {"f64", IRISI_KERNEL_PTR(ring_f64), 8}};

/* The same table on every rank. */
std::vector<message> choose(uint64_t seed, size_t *area)
{
    static const uint64_t rows[] = {0, 1, 2, 3, 9, 40}, widths[] = {0, 1, 3, 8, 16, 33, 100, 700};
    std::vector<message> table;
    *area = GUARD;
    for (uint64_t i = 0; i < SLICES * MESSAGES; i++) {
        message m;
        m.rows = rows[irist_pick(seed, 1, i, 6)];
        m.n = widths[irist_pick(seed, 2, i, 8)];
        m.kind = (int32_t)irist_pick(seed, 3, i, KINDS);
        const uint64_t unit = irist_pick(seed, 4, i, 2) ? 16 : 1, pitch = (m.n + unit - 1) / unit * unit;
        m.dst_pitch = m.kind == FLAT_RECV ? m.n : pitch + irist_pick(seed, 5, i, 3) * unit;
        m.src_pitch = m.kind == FLAT_SEND ? m.n : pitch + irist_pick(seed, 6, i, 3) * unit;
        m.dst = *area + irist_pick(seed, 7, i, 3) * unit;
        m.src = *area + irist_pick(seed, 8, i, 3) * unit;
        *area += (m.rows * (pitch + 2 * unit) + 2 * unit + GUARD + 15) / 16 * 16;
        table.push_back(m);
    }
    return table;
}

std::vector<unsigned char> area_of(const irist_rank *t, size_t bytes, int rank, uint64_t lap)
{
    std::vector<unsigned char> v(bytes);
    for (size_t i = 0; i < bytes; i++)
        v[i] = (unsigned char)irist_random(t->seed + lap, 50 + (uint64_t)rank, i);
    return v;
}

void one_ring(irist_rank *t, ring_args *a, const ring_type &type, uint64_t lap, char *table, size_t room)
{
    size_t area = 0;
    const std::vector<message> messages = choose(t->seed * 100 + lap, &area);
    const size_t e = type.bytes, bytes = area * e;
    if (!irist_check(t, bytes <= room, "a test's area is too small: %zu bytes", bytes))
        return;
    const std::vector<unsigned char> sent = area_of(t, bytes, a->last, lap);
    std::vector<unsigned char> want = irist_poisoned(bytes);
    irist_upload(t, a->dst, want);
    irist_upload(t, a->src, area_of(t, bytes, t->rank, lap));
    irist_ok(t, iris_memcpy(t->world, table, messages.data(), messages.size() * sizeof messages[0]));
    irist_delay(t, lap);
    irist_run_kernel(t, type.kernel, type.name, a, sizeof *a, iris_cooperative(SLICES, 256));
    for (const message &m : messages)
        for (uint64_t r = 0; r < m.rows; r++)
            std::memcpy(&want[(m.dst + r * m.dst_pitch) * e], &sent[(m.src + r * m.src_pitch) * e], m.n * e);
    const std::vector<unsigned char> got = irist_download(t, a->dst, bytes);
    for (size_t i = got == want ? bytes : 0; i < bytes; i++)
        if (got[i] != want[i]) {
            size_t k = messages.size();
            while (k > 0 && messages[k - 1].dst * e > i)
                k--;
            const message m = messages[k > 0 ? k - 1 : 0];
            irist_check(t, false,
                        "%s: byte %zu is %d, not %d; message %zu before it, kind %d, has %d rows of %d, pitches %d "
                        "and %d, at byte %zu",
                        type.name, i, got[i], want[i], k - 1, (int)m.kind, (int)m.rows, (int)m.n, (int)m.dst_pitch,
                        (int)m.src_pitch, (size_t)m.dst * e);
            return;
        }
}

void rings(irist_rank *t)
{
    const size_t room = (size_t)4 << 20;
    ring_args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.next = (t->rank + 1) % t->ranks, a.last = (t->rank + t->ranks - 1) % t->ranks;
    a.dst = (char *)iris_malloc(t->world, room);
    a.src = (char *)iris_malloc(t->world, room);
    char *table = (char *)iris_malloc(t->world, SLICES * MESSAGES * sizeof(message));
    a.messages = (const message *)(const void *)table;
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 2048));
    irist_check(t, a.dst && a.src && table, "%s", iris_error_string(t->world));
    irist_meet(t);
    const uint32_t laps = irist_laps(9, t->ranks > 4 ? 12 : 60);
    for (uint32_t lap = 0; lap < laps && !t->failures; lap++)
        one_ring(t, &a, types[lap % 3], lap, table, room);
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, table));
    irist_ok(t, iris_free(t->world, a.src));
    irist_ok(t, iris_free(t->world, a.dst));
}

/* The last rank's rows would lie over each other, or its message has a row more than the first rank receives. */
IRIS_KERNEL(unlike, ring_args, a, 128)
{
    const iris_ctx *c = &a->ctx;
    uint8_t *dst = (uint8_t *)(void *)a->dst;
    const uint8_t *src = (const uint8_t *)(const void *)a->src;
    const int last = c->rank == c->world - 1, narrow = a->messages == NULL;
    iris_send_recv_2d_u8_wg(c, &a->ch, 0, dst, last && narrow ? 6 : 9, a->last, src, 9, a->next,
                            last && !narrow ? 4 : 3, 7);
}

/* In checked mode both are refused with a sentence, and the refused message is not received. */
void refused(irist_rank *t)
{
    static const char *const words[] = {"receive of 7 x 1 bytes", "a message of"};
    const iris_launch_config one = iris_cooperative(1, 128);
    ring_args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.next = (t->rank + 1) % t->ranks, a.last = (t->rank + t->ranks - 1) % t->ranks;
    a.dst = (char *)iris_malloc(t->world, 64);
    a.src = (char *)iris_malloc(t->world, 64);
    irist_upload(t, a.src, std::vector<unsigned char>(64));
    for (int k = 0; k < 2 && IRISI_CHECKED && t->ranks > 1; k++) {
        irist_ok(t, iris_collective_channel(t->world, &a.ch, 2048));
        irist_upload(t, a.dst, irist_poisoned(64));
        irist_meet(t);
        a.messages = k == 0 ? nullptr : (const message *)(const void *)a.src;
        iris_status status = iris_launch(t->world, unlike, &a, sizeof a, &one, iris_default_stream(t->world));
        if (status == IRIS_OK)
            status = iris_synchronize(t->world);
        if (status == IRIS_OK) /* a rank that neither sends nor receives the refused message may be done before it is */
            status = iris_barrier(t->world);
        irist_check(t, status == IRIS_ERR_CHECK && std::strstr(iris_error_string(t->world), words[k]) != nullptr,
                    "%s (%s)", iris_status_name(status), iris_error_string(t->world));
        irist_ok(t, iris_reset(t->world));
        irist_check(t, t->rank != (k == 0 ? t->ranks - 1 : 0) || irist_download(t, a.dst, 64) == irist_poisoned(64),
                    "a refused message was received");
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    }
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a.src));
    irist_ok(t, iris_free(t->world, a.dst));
}

} // namespace

TEST_CASE("boxes that would be received over each other, and others than were sent, are refused", "[collective]")
{
    irist_spmd(refused, nullptr);
}
TEST_CASE("boxes go around a ring as messages, whole and in order", "[collective]") { irist_spmd(rings, nullptr); }
