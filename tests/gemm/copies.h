/* SPDX-License-Identifier: MIT */
/*
 * copies.h: cp.async on the host, for mma_run.cpp and gemv_run.cpp, which include fibers.h before: copies of 16 bytes
 * to shared memory by groups, which arrive when their lane waits for them and no sooner. What is copied over is NaN
 * till then; another wave may not touch it from the copy's issue on.
 *
 *   copy_chunk                           begins one, of bytes that are read at once
 *   close_copies await_copies            a lane's group of copies; `open` of them may stay under way
 *   begin_copies                         a lane has none
 */
#ifndef TESTS_GEMM_COPIES_H
#define TESTS_GEMM_COPIES_H

#include <cstring>
#include <deque>

struct transfer {
    uint32_t to, issued;
    char bytes[16];
};

static std::deque<std::vector<transfer>> copy_groups[WAVES][LANES]; /* the last one is open */

static std::deque<std::vector<transfer>> &own_groups() { return copy_groups[wg.now->wave][wg.now->lane]; }

static void begin_copies() { own_groups().assign(1, {}); }

static void copy_chunk(uint32_t to, const char *bytes)
{
    transfer t = {to, wg.now->met, {}};
    std::memcpy(t.bytes, bytes, 16);
    touch_shared(to, 16, t.issued, true);
    std::memset(&wg.shared[to], 0xff, 16);
    own_groups().back().push_back(t);
}

static void close_copies() { own_groups().emplace_back(); }

static void await_copies(uint32_t open)
{
    for (; own_groups().size() - 1 > open; own_groups().pop_front())
        for (const transfer &t : own_groups().front()) {
            touch_shared(t.to, 16, t.issued, true);
            std::memcpy(&wg.shared[t.to], t.bytes, 16);
        }
}

#endif
