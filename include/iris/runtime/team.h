/* SPDX-License-Identifier: MIT */
/*
 * team.h: a part of init.c: teams of any ranks. iris/team.h declares them.
 *
 *   irisi_team_of irisi_team_text irisi_team_numbered irisi_teams_free
 */
#ifndef IRIS_RUNTIME_TEAM_H
#define IRIS_RUNTIME_TEAM_H
#ifdef IRIS_INIT_C

#include <iris/runtime/group.h>
#include <iris/team.h>

/* A listed team's value has a start that no rank reaches: a kernel that takes it beside the world's context is outside
 * of it. */
enum { IRISI_TEAM_LISTED = -(1 << 30), IRISI_TEAM_MOST = (1 << 30) - 1 };

static int irisi_team_listed(iris_team t) { return t.size > 0 && t.start < IRISI_TEAM_LISTED; }

/* Of no ranks. */
static iris_team irisi_team_none(void)
{
    iris_team t;
    t.start = t.stride = 0;
    t.size = -1;
    return t;
}

/* A team by its number, one that a trace keeps too; null when there is none. */
static const irisi_team *irisi_team_numbered(const iris_world *w, int64_t number)
{
    for (size_t i = 0; i < w->n_teams; i++)
        if (w->teams[i].number == number)
            return w->teams + i;
    return NULL;
}

/* The list of a live team; null where the value is another. */
static const irisi_team *irisi_team_of(const iris_world *w, iris_team t)
{
    const irisi_team *list = irisi_team_listed(t) ? irisi_team_numbered(w, IRISI_TEAM_LISTED - (int64_t)t.start) : NULL;
    return list && list->size == t.size && !list->gone ? list : NULL;
}

/* "4, 0, 1": the members. */
static const char *irisi_team_text(const irisi_team *list, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int32_t m = 0; m < list->size && used + 16 < room; m++)
        used += (size_t)snprintf(text + used, room - used, used + 32 < room ? "%s%d" : "%s…", m ? ", " : "",
                                 (int)list->ranks[m]);
    return text;
}

static void irisi_team_free(iris_world *w, irisi_team *list)
{
    if (list->far)
        irisi_dev_local_free(&w->dev, list->far);
    free(list->ranks);
}

/* Gives back all of them; for a forked child's copy too. */
static void irisi_teams_free(iris_world *w)
{
    for (size_t i = 0; i < w->n_teams; i++)
        irisi_team_free(w, w->teams + i);
    free(w->teams);
    w->teams = NULL;
    w->n_teams = 0;
}

/* The members' heaps where kernels can read them, in worlds beyond IRIS_CTX_RANKS. */
static const char *irisi_team_table(iris_world *w, irisi_team *list)
{
    int64_t delta[IRISI_MOST_RANKS];
    for (int32_t m = 0; m < list->size; m++)
        delta[m] = w->delta[list->ranks[m]];
    return irisi_dev_table(&w->dev, delta, sizeof *delta * (size_t)list->size, &list->far);
}

/* Remembers a team that all ranks have agreed on. */
static iris_status irisi_team_add(iris_world *w, const char *call, int32_t number, const int32_t *ranks, int32_t n,
                                  iris_team *team)
{
    irisi_team list;
    irisi_team *teams = (irisi_team *)realloc(w->teams, (w->n_teams + 1) * sizeof *teams);
    if (teams)
        w->teams = teams;
    list.number = number;
    list.size = n;
    list.far = NULL, list.gone = 0;
    list.ranks = (int32_t *)malloc(sizeof *list.ranks * (size_t)n);
    if (!teams || !list.ranks) {
        free(list.ranks);
        return irisi_fail(w, IRIS_ERR_NOMEM, "%s: no memory for a team of %d ranks", call, (int)n);
    }
    memcpy(list.ranks, ranks, sizeof *ranks * (size_t)n);
    const char *why = IRISI_MOST_RANKS > IRIS_CTX_RANKS ? irisi_team_table(w, &list) : NULL;
    if (why) {
        irisi_team_free(w, &list);
        return irisi_fail(w, IRIS_ERR_DEVICE, "%s: cannot make the table of heap addresses: %s", call, why);
    }
    w->teams[w->n_teams++] = list;
    team->start = IRISI_TEAM_LISTED - number;
    team->stride = 1;
    team->size = n;
    return IRIS_OK;
}

/* ---- from a list ------------------------------------------------------------------------------------------------ */

/* Everything that can be wrong on this rank alone. */
static iris_status irisi_team_check(iris_world *w, const iris_team *team, const int *ranks, int n)
{
    if (team == NULL || ranks == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_create: the %s is null", team ? "list" : "team's address");
    if (n < 1 || n > w->size)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_create: a list of %d ranks is not of 1 to %d", n, w->size);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= w->size)
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_create: place %d of the list is rank %d, which is not "
                              "within ranks 0 to %d", i, ranks[i], w->size - 1);
        for (int before = 0; before < i; before++)
            if (ranks[before] == ranks[i])
                return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_create: rank %d is in the list twice, at places %d "
                                  "and %d", ranks[i], before, i);
    }
    return IRIS_OK;
}

/* Whether every rank has the same list. A vote: how many, 0 where a rank has refused already, then world ranks. */
static iris_status irisi_team_agree(iris_world *w, const int32_t *vote, iris_status own)
{
    const size_t words = 1 + (size_t)w->size;
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_team_create", vote, words * sizeof *vote, &votes);
    const int32_t *first = (const int32_t *)votes;
    iris_status s = own != IRIS_OK ? own : met;
    for (int r = 0; s == IRIS_OK && r < w->size; r++)
        if (first[(size_t)r * words] == 0)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_team_create: rank %d refused its arguments", r);
    for (int r = 1; s == IRIS_OK && r < w->size; r++) {
        const int32_t *theirs = first + (size_t)r * words;
        size_t i = 0;
        while (i < words && theirs[i] == first[i])
            i++;
        if (i == 0)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_team_create: the list has %d ranks on rank %d but %d on rank 0; "
                           "it must be the same", (int)theirs[0], r, (int)first[0]);
        else if (i < words)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_team_create: place %d of the list is rank %d on rank %d but "
                           "rank %d on rank 0; it must be the same", (int)i - 1, (int)theirs[i], r, (int)first[i]);
    }
    free(votes);
    return s;
}

/* iris_team_create and iris_team_split, as a group holds them. */
typedef struct irisi_held_team {
    iris_team *team;
    const int *ranks;
    int a, b; /* n; colour and key */
} irisi_held_team;

static iris_status irisi_held_team_create(iris_world *w, const void *args)
{
    const irisi_held_team *a = (const irisi_held_team *)args;
    return iris_team_create(w, a->team, a->ranks, a->a);
}

iris_status iris_team_create(iris_world *w, iris_team *team, const int *ranks, int n)
{
    const irisi_held_team held = {team, ranks, n, 0};
    if (irisi_grouped())
        return irisi_hold(w, "iris_team_create", irisi_held_team_create, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_team_create");
    if (status != IRIS_OK)
        return status;
    int32_t vote[1 + IRISI_MOST_RANKS];
    memset(vote, 0, sizeof vote);
    status = irisi_team_check(w, team, ranks, n);
    if (status == IRIS_OK && w->team_numbers == IRISI_TEAM_MOST)
        status = irisi_fail(w, IRIS_ERR_NOMEM, "iris_team_create: this world has made %d teams", IRISI_TEAM_MOST);
    for (int i = 0; status == IRIS_OK && i < n; i++)
        vote[1 + i] = ranks[i];
    vote[0] = status == IRIS_OK ? n : 0;
    status = irisi_team_agree(w, vote, status);
    if (status != IRIS_OK)
        return status;
    return irisi_team_add(w, "iris_team_create", ++w->team_numbers, vote + 1, n, team);
}

/* ---- by colour and key ------------------------------------------------------------------------------------------ */

/* What a rank asks for; refused: nothing, it has failed with a status of its own. */
typedef struct irisi_split_vote {
    int32_t colour, key, refused;
} irisi_split_vote;

/* The members of this rank's colour, in order; how many. */
static int32_t irisi_split_members(const iris_world *w, const irisi_split_vote *all, int32_t *ranks)
{
    int32_t n = 0;
    for (int32_t r = 0; r < w->size; r++) {
        int32_t at = n;
        if (all[r].colour != all[w->rank].colour)
            continue;
        for (; at > 0 && all[ranks[at - 1]].key > all[r].key; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = r;
        n++;
    }
    return n;
}

/* How many teams there are of colours below `limit`: each has a number of its own, which all ranks know alike. */
static int32_t irisi_split_teams(const iris_world *w, const irisi_split_vote *all, int64_t limit)
{
    int32_t teams = 0;
    for (int r = 0; r < w->size; r++) {
        int first = all[r].colour >= 0 && all[r].colour < limit;
        for (int before = 0; before < r; before++)
            first &= all[before].colour != all[r].colour;
        teams += first;
    }
    return teams;
}

static iris_status irisi_held_team_split(iris_world *w, const void *args)
{
    const irisi_held_team *a = (const irisi_held_team *)args;
    return iris_team_split(w, a->team, a->a, a->b);
}

iris_status iris_team_split(iris_world *w, iris_team *team, int colour, int key)
{
    const irisi_held_team held = {team, NULL, colour, key};
    if (irisi_grouped())
        return irisi_hold(w, "iris_team_split", irisi_held_team_split, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_team_split");
    if (status != IRIS_OK)
        return status;
    if (team == NULL)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_split: the team's address is null");
    else if (w->team_numbers > IRISI_TEAM_MOST - w->size)
        status = irisi_fail(w, IRIS_ERR_NOMEM, "iris_team_split: this world has made %d teams", (int)w->team_numbers);
    const irisi_split_vote vote = {colour, key, status != IRIS_OK};
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_team_split", &vote, sizeof vote, &votes);
    const irisi_split_vote *all = (const irisi_split_vote *)votes;
    status = status != IRIS_OK ? status : met;
    for (int r = 0; status == IRIS_OK && r < w->size; r++)
        if (all[r].refused)
            status = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_team_split: rank %d refused its arguments", r);
    if (status == IRIS_OK) {
        int32_t ranks[IRISI_MOST_RANKS];
        const int32_t number = w->team_numbers + 1 + irisi_split_teams(w, all, colour);
        w->team_numbers += irisi_split_teams(w, all, INT64_MAX);
        *team = irisi_team_none();
        if (colour >= 0)
            status = irisi_team_add(w, "iris_team_split", number, ranks, irisi_split_members(w, all, ranks), team);
    }
    free(votes);
    return status;
}

/* ---- use -------------------------------------------------------------------------------------------------------- */

/* The sentence for a value that is none of them. */
static iris_status irisi_team_unknown(iris_world *w, const char *call)
{
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "%s: the team is not from iris_team_create or iris_team_split of this world, or was destroyed",
                      call);
}

iris_status iris_team_destroy(iris_world *w, iris_team *team)
{
    const iris_status status = irisi_enter_own(w, "iris_team_destroy");
    if (status != IRIS_OK)
        return status;
    const irisi_team *list = team ? irisi_team_of(w, *team) : NULL;
    if (list == NULL)
        return irisi_team_unknown(w, "iris_team_destroy");
    const size_t at = (size_t)(list - w->teams);
    if (w->tracer) { /* which needs the members alone */
        if (list->far)
            irisi_dev_local_free(&w->dev, list->far);
        w->teams[at].far = NULL, w->teams[at].gone = 1;
    } else {
        irisi_team_free(w, w->teams + at);
        w->teams[at] = w->teams[--w->n_teams];
    }
    *team = irisi_team_none();
    return IRIS_OK;
}

/* A member's context, in which the members are the world. */
static iris_ctx irisi_team_ctx_of(const iris_world *w, const irisi_team *list)
{
    iris_ctx ctx = iris_device_ctx(w);
    memset(ctx.delta, 0, sizeof ctx.delta);
    ctx.world = list->size;
    ctx.team = (uint32_t)list->number;
    ctx.far = (const int64_t *)list->far;
    for (int32_t m = 0; m < list->size; m++) {
        if (m < IRIS_CTX_RANKS)
            ctx.delta[m] = w->delta[list->ranks[m]];
        if (list->ranks[m] == w->rank)
            ctx.rank = m;
    }
    return ctx;
}

/* `rank`, this one or the root of a collective, is a member of a listed team, or of none. */
static iris_status irisi_team_check_member(iris_world *w, const char *call, iris_team team, const char *which, int rank)
{
    char members[96];
    const irisi_team *list = irisi_team_of(w, team);
    if (team.size < 0 && team.start == 0 && team.stride == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: this rank is in no team: iris_team_split was called with a colour below 0, or the team "
                          "was destroyed", call);
    if (list == NULL)
        return irisi_team_unknown(w, call);
    if (iris_team_rank(w, team, rank) < 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s %d is not in the team of ranks %s", call, which, rank,
                          irisi_team_text(list, members, sizeof members));
    return IRIS_OK;
}

iris_status iris_team_ctx(iris_world *w, iris_team team, iris_ctx *ctx)
{
    iris_status status = irisi_enter_own(w, "iris_team_ctx");
    if (status != IRIS_OK)
        return status;
    if (ctx == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_team_ctx: the context's address is null");
    if (team.size > 0 && !irisi_team_listed(team))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_team_ctx: kernels take a team of %d ranks from %d on, %d apart, beside the world's "
                          "context; for a context of its own make it with iris_team_create",
                          (int)team.size, (int)team.start, (int)team.stride);
    if (team.size != 0)
        status = irisi_team_check_member(w, "iris_team_ctx", team, "rank", w->rank);
    if (status == IRIS_OK)
        *ctx = team.size == 0 ? iris_device_ctx(w) : irisi_team_ctx_of(w, irisi_team_of(w, team));
    return status;
}

int iris_team_world_rank(const iris_world *w, iris_team team, int member)
{
    const irisi_team *list = w ? irisi_team_of(w, team) : NULL;
    const int size = team.size == 0 && w ? w->size : team.size;
    if (!w || member < 0 || member >= size || (irisi_team_listed(team) && !list))
        return -1;
    if (list)
        return list->ranks[member];
    const int64_t rank = team.size == 0 ? member : team.start + (int64_t)team.stride * member;
    return rank >= 0 && rank < w->size ? (int)rank : -1;
}

int iris_team_rank(const iris_world *w, iris_team team, int rank)
{
    const irisi_team *list = w ? irisi_team_of(w, team) : NULL;
    for (int m = 0; w && rank >= 0 && m < w->size; m++)
        if (list ? m < list->size && list->ranks[m] == rank : iris_team_world_rank(w, team, m) == rank)
            return m;
    return -1;
}

#endif
#endif
