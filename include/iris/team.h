/* SPDX-License-Identifier: MIT */
/*
 * team.h: teams of any ranks in any order, each a small world of its own.
 *
 *   iris_team_create iris_team_split iris_team_destroy iris_team_ctx iris_team_rank iris_team_world_rank
 *
 * A kernel that gets a team's context instead of the world's has the members for its world: ctx.rank, ctx.world and
 * every rank that it names are places in the team, and everything that takes a context works among the members, at the
 * same cost: the context's table of heaps is the members' part of the world's. iris_team_translate (memory.h) goes from
 * one numbering to the other.
 *
 * Implemented by init.c.
 */
#ifndef IRIS_TEAM_H
#define IRIS_TEAM_H

#include <iris/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Teams of any ranks
 *
 * Host functions. A launcher of a collective takes such a team as it takes {start, stride, size}: roots are world
 * ranks, rows of a buffer lie in the order of the team.
 *
 * @param w      the world, from iris_init
 * @param team   receives the team, or is one
 * @param ranks  n world ranks, no two the same; the first is the team's rank 0
 * @param n      at least 1
 * @param colour ranks of one colour are a team; below 0: in none
 * @param key    ranks are numbered by ascending keys, those of equal keys by world rank
 * @param rank   world rank
 * @param member rank in the team
 * @param ctx    receives the context
 * @{
 */
/**
 * Makes the team of the listed ranks. Collective, on every rank of the world, members or not: the ranks compare their
 * lists, and all refuse what differs (IRIS_ERR_MISMATCH). A rank twice, a rank beyond the world and an empty list are
 * refused (IRIS_ERR_ARGUMENT). It lives until iris_team_destroy or iris_finalize.
 */
iris_status iris_team_create(iris_world *w, iris_team *team, const int *ranks, int n);
/**
 * Makes a team of the ranks of each colour and gives every rank its own, as MPI_Comm_split does. Collective, on every
 * rank of the world. A rank whose colour is below 0 gets a team of size -1, which has no members.
 */
iris_status iris_team_split(iris_world *w, iris_team *team, int colour, int key);
/** Forgets a team on this rank. No kernel that has its context may still run; its channels are destroyed apart. */
iris_status iris_team_destroy(iris_world *w, iris_team *team);
/**
 * What a member's kernels need to have a team of iris_team_create or iris_team_split for their world; of size 0, the
 * world's context. Elsewhere it is refused (IRIS_ERR_ARGUMENT). A channel that kernels use with it is for this team
 * alone. It holds for as long as the team lives; after iris_heap_grow, kernels built with -DIRIS_CHECKED=1 need a new
 * one before they touch the new part.
 */
iris_status iris_team_ctx(iris_world *w, iris_team team, iris_ctx *ctx);
/** The rank in a team, of any kind, of a world rank; -1 where it is no member. Nothing here fails. */
int iris_team_rank(const iris_world *w, iris_team team, int rank);
/** The world rank of a member of a team of any kind; -1 where there is none. Nothing here fails. */
int iris_team_world_rank(const iris_world *w, iris_team team, int member);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
