/* SPDX-License-Identifier: MIT */
/*
 * cases.h: random layouts of partitioned tensors, and a plain oracle of who has what: indices are dealt out one unit
 * after the other.
 */
#ifndef IRIST_TENSOR_CASES_H
#define IRIST_TENSOR_CASES_H

#include <cstring>
#include <string>
#include <vector>

#include "harness.h"
#include "types.h"

#include <iris/tensor.h>

typedef std::vector<unsigned char> irist_bytes;

/** Where each index of a dimension is: the block, and the place in it. */
struct irist_cut {
    std::vector<int> part;
    std::vector<int64_t> place, count; /* of each index; of each block */

    irist_cut(int64_t size, int parts, int64_t unit) : count((size_t)parts, 0)
    {
        const int64_t units = (size + unit - 1) / unit;
        std::vector<int64_t> has((size_t)parts, 0);
        for (int64_t u = 0; u < units; u++) /* dealt out like cards, then each block takes as many in a row */
            has[(size_t)(u % parts)]++;
        int p = 0;
        for (int64_t u = 0, taken = 0; u < units; u++, taken++) {
            while (taken == has[(size_t)p])
                p++, taken = 0;
            for (int64_t i = u * unit; i < (u + 1) * unit && i < size; i++) {
                part.push_back(p);
                place.push_back(count[(size_t)p]++);
            }
        }
    }
};

/** A layout, and what it means. */
struct irist_case {
    iris_tensor_layout layout;
    iris_team team;
    int members, parts[IRIS_TENSOR_DIMS];
    int64_t elements, stride[IRIS_TENSOR_DIMS];
    std::vector<irist_cut> cut;

    size_t bytes() const { return iris_dtype_bytes(layout.dtype); }

    /* The index of element i, in row-major order. */
    void index_of(int64_t i, int64_t *index) const
    {
        for (int d = layout.dims - 1; d >= 0; d--) {
            index[d] = i % layout.size[d];
            i /= layout.size[d];
        }
    }

    /* Place in the team among the ranks of one copy. */
    int member_of(const int64_t *index) const
    {
        int member = 0;
        for (int d = 0; d < layout.dims; d++)
            member = member * parts[d] + cut[(size_t)d].part[(size_t)index[d]];
        return member;
    }
    int64_t offset_of(const int64_t *index) const
    {
        int64_t offset = 0;
        for (int d = 0; d < layout.dims; d++)
            offset += cut[(size_t)d].place[(size_t)index[d]] * stride[d];
        return offset;
    }
    /* -1 for a rank outside the team. */
    int place_of(int rank) const
    {
        for (int m = 0; m < team.size; m++)
            if (team.start + m * team.stride == rank)
                return m;
        return -1;
    }
    int owner_of(const int64_t *index, int rank) const
    {
        const int own = place_of(rank), copy = own < 0 ? 0 : own / members;
        return team.start + (copy * members + member_of(index)) * team.stride;
    }

    void finish(int ranks)
    {
        team = layout.team;
        if (team.size == 0)
            team.start = 0, team.stride = 1, team.size = ranks;
        int64_t known = 1, packed = 1;
        elements = 1;
        for (int d = 0; d < layout.dims; d++)
            known *= layout.parts[d] > 1 ? layout.parts[d] : 1;
        members = 1;
        for (int d = 0; d < layout.dims; d++) {
            parts[d] = layout.parts[d] > 1 ? layout.parts[d] : 1;
            if (layout.parts[d] == IRIS_TENSOR_REST)
                parts[d] = (int)(team.size / known);
            members *= parts[d];
            elements *= layout.size[d];
            cut.emplace_back(layout.size[d], parts[d], layout.unit[d] ? layout.unit[d] : 16);
        }
        for (int d = layout.dims - 1; d >= 0; d--) {
            int64_t most = 0;
            for (int64_t c : cut[(size_t)d].count)
                most = c > most ? c : most;
            stride[d] = layout.stride[d] ? layout.stride[d] : packed;
            packed *= most > 1 ? most : 1;
        }
    }

    std::string text() const
    {
        std::string s = std::string(iris_dtype_name(layout.dtype)) + " [";
        for (int d = 0; d < layout.dims; d++)
            s += (d ? ", " : "") + std::to_string(layout.size[d]) + "/" + std::to_string(parts[d]) + "x" +
                 std::to_string(layout.unit[d]) + "+" + std::to_string(stride[d]);
        return s + "] from " + std::to_string(team.start) + " by " + std::to_string(team.stride) + ", " +
               std::to_string(team.size) + " ranks, " + std::to_string(members) + " of a copy";
    }
};

/** A random team of the world; the world more often than not. */
static inline iris_team irist_team(uint64_t seed, uint64_t n, int ranks)
{
    iris_team team = {0, 0, 0};
    if (irist_pick(seed, 1, n, 3) > 0)
        return team;
    team.stride = 1 + (int)irist_pick(seed, 2, n, 2);
    const int most = (ranks - 1) / team.stride + 1;
    team.size = 1 + (int)irist_pick(seed, 3, n, (uint32_t)most);
    team.start = (int)irist_pick(seed, 4, n, (uint32_t)(ranks - (team.size - 1) * team.stride));
    return team;
}

/** A random layout; `dims` 0 and `size` null: of a random shape too. A third has gaps, and dimensions in any order. */
static inline irist_case irist_layout(uint64_t seed, uint64_t n, int ranks, iris_dtype dtype, int dims,
                                      const int64_t *size)
{
    static const int64_t units[] = {0, 1, 1, 2, 3, 8, 16, 50};
    irist_case c;
    std::memset(&c.layout, 0, sizeof c.layout);
    c.layout.dtype = dtype;
    c.layout.dims = dims ? dims : 1 + (int)irist_pick(seed, 5, n, IRIS_TENSOR_DIMS);
    c.layout.team = irist_team(seed, n, ranks);
    int left = c.layout.team.size ? c.layout.team.size : ranks;
    static const uint32_t most[] = {0, 600, 90, 26, 12, 8};
    for (int d = 0; d < c.layout.dims; d++) {
        const uint64_t at = n * 16 + (uint64_t)d;
        c.layout.size[d] = size ? size[d] : irist_pick(seed, 6, at, most[c.layout.dims]);
        if (!size && c.layout.size[d] == 0 && irist_pick(seed, 7, at, 4))
            c.layout.size[d] = 1; /* few tensors without elements */
        c.layout.unit[d] = units[irist_pick(seed, 8, at, 8)];
        int parts = 1 + (int)irist_pick(seed, 9, at, (uint32_t)left);
        while (left % parts)
            parts--;
        c.layout.parts[d] = parts;
        left /= parts;
    }
    if (irist_pick(seed, 10, n, 3) == 0 && left > 1)
        c.layout.parts[irist_pick(seed, 11, n, (uint32_t)c.layout.dims)] = IRIS_TENSOR_REST;
    c.finish(ranks);
    if (irist_pick(seed, 12, n, 3) == 0) { /* gaps, and dimensions in any order */
        int64_t stride = 1 + irist_pick(seed, 13, n, 2);
        const int turn = (int)irist_pick(seed, 14, n, (uint32_t)c.layout.dims);
        for (int k = c.layout.dims - 1; k >= 0; k--) {
            const int d = (k + turn) % c.layout.dims;
            int64_t longest = 1;
            for (int64_t count : c.cut[(size_t)d].count)
                longest = count > longest ? count : longest;
            c.layout.stride[d] = stride;
            stride = stride * longest + irist_pick(seed, 15, n * 16 + (uint64_t)d, 9);
        }
        c.cut.clear();
        c.finish(ranks);
    }
    return c;
}

/** Random bytes for every element of the whole tensor, the same on every rank. */
static inline irist_bytes irist_whole(const irist_case &c, uint64_t seed)
{
    irist_bytes whole((size_t)c.elements * c.bytes());
    for (size_t i = 0; i < whole.size(); i++)
        whole[i] = (unsigned char)irist_random(seed, 77, i);
    return whole;
}

/** What the memory of a rank's shard holds, `room` elements, where the tensor holds `whole` and the gaps `before`. */
static inline irist_bytes irist_image(const irist_case &c, const irist_bytes &whole, const irist_bytes &before,
                                      int rank)
{
    irist_bytes image = before;
    const size_t bytes = c.bytes();
    int64_t index[IRIS_TENSOR_DIMS];
    for (int64_t i = 0; c.place_of(rank) >= 0 && i < c.elements; i++) {
        c.index_of(i, index);
        if (c.owner_of(index, rank) == rank)
            std::memcpy(image.data() + (size_t)c.offset_of(index) * bytes, whole.data() + (size_t)i * bytes, bytes);
    }
    return image;
}

#endif
