/* SPDX-License-Identifier: MIT */
/*
 * The temperature of a plate whose rim is held at random temperatures: Laplace's equation, by Jacobi's method. The
 * plate is cut into blocks of rows and columns, one for each rank. One persistent kernel a rank makes all steps: it
 * sends the four edges of its block to the neighbours, all-reduces the largest change, and leaves when that is small.
 */
#include <iris/gen/all_reduce_ll.h>
#include <iris/collective/launch.h>
#include <iris/iris.h>
#include <iris/init.h>

#include "../plane.h"

enum { NORTH, SOUTH, WEST, EAST, SIDES, WORKGROUPS = 4, LANES = 128 };

typedef struct {
    iris_ctx ctx;
    iris_channel all, grid; /* of the all-reduce; of the grid's barriers */
    uint32_t rows, columns; /* of the own block */
    uint32_t steps;         /* at most */
    float tolerance;        /* converged: no element has changed by as much in a step */
    uint32_t room;          /* elements of the longest edge of any block */
    int neighbour[SIDES];   /* ranks; -1: the plate's rim */
    float *plate[2];        /* the own block and a rim of one element, after an even and after an odd step */
    float *edges;           /* the own edges, an edge behind the other */
    float *halos;           /* symmetric: what neighbours send, four edges for even steps and four for odd ones */
    iris_signal *arrived;   /* symmetric: one for each side, edges that have arrived */
    float *change;          /* the largest change in an even and in an odd step */
    uint64_t *converged;    /* the step with which the kernel left, 0: none */
} jacobi_args;

/* A line of elements in a block with its rim. */
typedef struct {
    size_t first, stride, count;
} line;

/* The edge of the own block on a side, or with `rim` 1 the line beyond it. */
IRIS_DEVICE line line_of(const jacobi_args *a, int side, size_t rim)
{
    const size_t pitch = a->columns + 2;
    line l;
    l.stride = side < WEST ? 1 : pitch;
    l.count = side < WEST ? a->columns : a->rows;
    switch (side) {
    case NORTH: l.first = (1 - rim) * pitch + 1; break;
    case SOUTH: l.first = (a->rows + rim) * pitch + 1; break;
    case WEST: l.first = pitch + 1 - rim; break;
    default: l.first = pitch + a->columns + rim; break;
    }
    return l;
}

/* A step of the own block by the whole grid; the largest change that this lane has made. */
IRIS_DEVICE float relax(const jacobi_args *a, const float *from, float *to)
{
    const size_t pitch = a->columns + 2, count = (size_t)a->rows * a->columns;
    float largest = 0;
    for (size_t i = iris_grid_lane(); i < count; i += iris_grid_lanes()) {
        const float *was = from + (i / a->columns + 1) * pitch + i % a->columns + 1;
        const float is = 0.25f * ((*(was - pitch) + *(was + pitch)) + (*(was - 1) + *(was + 1)));
        const float change = is > *was ? is - *was : *was - is;
        to[was - from] = is;
        largest = change > largest ? change : largest;
    }
    return largest;
}

/* Where the edges lie that have come, or come, from `side` in a step. Two turns, as a neighbour may be a step ahead. */
IRIS_DEVICE float *halo_of(const jacobi_args *a, int side, uint64_t step)
{
    return a->halos + (step % 2 * SIDES + (uint64_t)side) * a->room;
}

/* Packs an edge and sends it. By one workgroup. */
IRIS_DEVICE void send_edge(const jacobi_args *a, const float *plate, int side, uint64_t step)
{
    const line edge = line_of(a, side, 0);
    const int opposite = side ^ 1; /* what leaves in the north arrives in the neighbour's south */
    float *packed = a->edges + (size_t)side * a->room;
    for (size_t i = iris_wg_lane(); i < edge.count; i += iris_wg_lanes())
        packed[i] = plate[edge.first + i * edge.stride];
    iris_sync_wg(); /* any lane sends what others have packed */
    iris_put_signal_f32_wg(&a->ctx, halo_of(a, opposite, step), packed, edge.count, a->arrived + opposite, 1,
                           IRIS_SIGNAL_ADD, a->neighbour[side]);
}

/* Waits for a neighbour's edge and unpacks it into the rim. By one workgroup. */
IRIS_DEVICE void receive_edge(const jacobi_args *a, float *plate, int side, uint64_t step)
{
    const line rim = line_of(a, side, 1);
    const float *halo = halo_of(a, side, step);
    iris_wait_ge_wg(&a->ctx, a->arrived + side, step);
    for (size_t i = iris_wg_lane(); i < rim.count; i += iris_wg_lanes())
        plate[rim.first + i * rim.stride] = halo[i];
}

/* A barrier of the grid: 1 once all workgroups have come, 0 when the world has stopped. */
IRIS_DEVICE int meet(const jacobi_args *a)
{
    iris_grid_sync(&a->ctx, &a->grid);
    return !iris_stopped_wg(&a->ctx);
}

IRIS_KERNEL(jacobi, jacobi_args, a, LANES)
{
    const int group = (int)iris_workgroup(), groups = (int)iris_workgroups();
    for (uint64_t step = 1; step <= a->steps; step++) {
        float *plate = a->plate[step % 2], *change = a->change + step % 2;
        const float largest = relax(a, a->plate[1 - step % 2], plate);
        iris_atomic_max_f32(&a->ctx, change, largest, a->ctx.rank, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        if (!meet(a))
            break;
        for (int side = group; side < SIDES; side += groups) /* each workgroup its sides: all edges leave first */
            if (a->neighbour[side] >= 0)
                send_edge(a, plate, side, step);
        if (group == groups - 1) { /* a float of every rank; max is the same in any order */
            iris_all_reduce_ll_max_f32_wg(&a->ctx, &a->all, iris_team_world(&a->ctx), 0, change, change, 1);
            if (iris_wg_lane() == 0)
                a->change[1 - step % 2] = 0; /* read in the step before, used in the next one */
        }
        for (int side = group; side < SIDES; side += groups)
            if (a->neighbour[side] >= 0)
                receive_edge(a, plate, side, step);
        if (!meet(a))
            break;
        if (*change < a->tolerance) { /* the same number on every rank: all leave in this step */
            if (iris_grid_lane() == 0)
                *a->converged = step;
            break;
        }
    }
}

static const float tolerance = 1e-4f;

/* The same on one rank, in plain C: the oracle. */
typedef struct {
    const options *o;
    float *plate; /* with its rim */
    uint64_t converged;
} plain;

static float plain_step(const options *o, const float *from, float *to)
{
    const size_t pitch = (size_t)o->columns + 2;
    float largest = 0;
    for (size_t i = pitch; i < (o->rows + 1) * pitch; i++) {
        if (i % pitch == 0 || i % pitch == pitch - 1)
            continue;
        to[i] = 0.25f * ((from[i - pitch] + from[i + pitch]) + (from[i - 1] + from[i + 1]));
        const float change = to[i] > from[i] ? to[i] - from[i] : from[i] - to[i];
        largest = change > largest ? change : largest;
    }
    return largest;
}

/* The plate before the first step: its rim random, everything else 1/2. */
static float first_element(const options *o, size_t row, size_t column)
{
    const int rim = row == 0 || row == (size_t)o->rows + 1 || column == 0 || column == (size_t)o->columns + 1;
    return rim ? (float)(random_at(o->seed, row * ((size_t)o->columns + 2) + column) >> 40) / 16777216.0f : 0.5f;
}

static int plain_solve(plain *p)
{
    const options *o = p->o;
    const size_t pitch = (size_t)o->columns + 2, count = (o->rows + (size_t)2) * pitch;
    float *plates[2] = {(float *)malloc(count * sizeof(float)), (float *)malloc(count * sizeof(float))};
    uint64_t step = 0;
    for (size_t i = 0; plates[0] && plates[1] && i < count; i++)
        plates[0][i] = plates[1][i] = first_element(o, i / pitch, i % pitch);
    while (plates[0] && plates[1] && p->converged == 0 && step < o->number) {
        step++;
        if (plain_step(o, plates[1 - step % 2], plates[step % 2]) < tolerance)
            p->converged = step;
    }
    free(plates[1 - step % 2]);
    p->plate = plates[step % 2];
    return p->plate != NULL;
}

/* The grid of ranks, down times across, whose blocks have the shortest edges; 0 where a rank would have none. */
static uint32_t ranks_down(const options *o)
{
    const uint32_t world = (uint32_t)o->ranks;
    uint32_t best = 0;
    uint64_t shortest = UINT64_MAX;
    for (uint32_t down = 1; down <= world; down++) {
        const uint64_t edges = (uint64_t)down * o->columns + (uint64_t)world / down * o->rows;
        if (world % down == 0 && down <= o->rows && world / down <= o->columns && edges < shortest)
            best = down, shortest = edges;
    }
    return best;
}

/* Where part i of `parts` begins in a side of `length`. */
static uint32_t part(uint32_t length, uint32_t parts, uint32_t i) { return (uint32_t)((uint64_t)length * i / parts); }

/* The block of a rank. */
typedef struct {
    uint32_t row, column, rows, columns;
    int neighbour[SIDES];
} block;

static block block_of(const options *o, int rank)
{
    const uint32_t down = ranks_down(o), across = (uint32_t)o->ranks / down;
    const uint32_t i = (uint32_t)rank / across, j = (uint32_t)rank % across;
    block b;
    b.row = part(o->rows, down, i), b.rows = part(o->rows, down, i + 1) - b.row;
    b.column = part(o->columns, across, j), b.columns = part(o->columns, across, j + 1) - b.column;
    b.neighbour[NORTH] = i > 0 ? rank - (int)across : -1;
    b.neighbour[SOUTH] = i + 1 < down ? rank + (int)across : -1;
    b.neighbour[WEST] = j > 0 ? rank - 1 : -1;
    b.neighbour[EAST] = j + 1 < across ? rank + 1 : -1;
    return b;
}

/* Memory of as many elements on every rank, however many the own block has. */
static int prepare(iris_world *w, const options *o, const block *b, jacobi_args *a)
{
    const uint32_t down = ranks_down(o), across = (uint32_t)o->ranks / down;
    const size_t widest = o->columns / across + 3, highest = o->rows / down + 3, pitch = (size_t)b->columns + 2;
    const size_t count = (b->rows + (size_t)2) * pitch;
    memset(a, 0, sizeof *a);
    a->ctx = iris_device_ctx(w);
    a->rows = b->rows, a->columns = b->columns, a->steps = o->number, a->tolerance = tolerance;
    a->room = (uint32_t)(widest > highest ? widest : highest);
    memcpy(a->neighbour, b->neighbour, sizeof a->neighbour);
    a->plate[0] = iris_empty_f32(w, widest * highest);
    a->plate[1] = iris_empty_f32(w, widest * highest);
    a->edges = iris_empty_f32(w, SIDES * a->room);
    a->halos = iris_empty_f32(w, 2 * SIDES * a->room);
    a->change = iris_zeros_f32(w, 2);
    a->converged = iris_zeros_u64(w, 1);
    a->arrived = iris_signals(w, SIDES);
    IRIS_TRY(iris_collective_channel(w, &a->all, 0));
    IRIS_TRY(iris_channel_create(w, &a->grid, 1, 0));
    float *host = (float *)malloc(count * sizeof *host);
    IRIS_TRY(host && a->plate[0] && a->plate[1] && a->edges && a->halos && a->arrived ? IRIS_OK : IRIS_ERR_NOMEM);
    for (size_t i = 0; i < count; i++)
        host[i] = first_element(o, b->row + i / pitch, b->column + i % pitch);
    IRIS_TRY(iris_upload_f32(w, a->plate[0], host, count));
    IRIS_TRY(iris_upload_f32(w, a->plate[1], host, count));
    free(host);
    return 0;
}

/* How many rows of the own block are not those of the plain solution, bit for bit. */
static uint32_t differing(const plain *p, const block *b, const float *found)
{
    const size_t pitch = (size_t)p->o->columns + 2, own = (size_t)b->columns + 2;
    uint32_t n = 0;
    for (size_t i = 1; i <= b->rows; i++)
        n += memcmp(found + i * own + 1, p->plate + (b->row + i) * pitch + b->column + 1, b->columns * sizeof *found) !=
             0;
    return n;
}

static int rank_main(iris_world *w, void *arg)
{
    const plain *p = (const plain *)arg;
    const block b = block_of(p->o, iris_rank(w));
    const size_t count = (b.rows + (size_t)2) * (b.columns + (size_t)2);
    const iris_launch_config grid = iris_cooperative(WORKGROUPS, LANES);
    jacobi_args a;
    if (prepare(w, p->o, &b, &a))
        return 1;
    IRIS_TRY(iris_barrier(w)); /* everyone has created */
    IRIS_TRY(iris_launch(w, jacobi, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));

    const uint64_t converged = iris_peek_u64(w, a.converged);
    float *found = (float *)malloc(count * sizeof *found);
    IRIS_TRY(found ? iris_download_f32(w, found, a.plate[(converged ? converged : a.steps) % 2], count)
                   : IRIS_ERR_NOMEM);
    const uint32_t rows = differing(p, &b, found);
    free(found);
    if (iris_rank(w) == 0 || rows || converged != p->converged)
        printf("rank %d of %d, with %u x %u of a plate of %u x %u: %s after %llu steps, %s; %u rows differ\n",
               iris_rank(w), iris_world_size(w), b.rows, b.columns, p->o->rows, p->o->columns,
               converged ? "converged" : "not converged", (unsigned long long)(converged ? converged : a.steps),
               converged == p->converged ? "as on one rank" : "otherwise than on one rank", rows);
    return rows || converged != p->converged;
}

int main(int argc, char **argv)
{
    static const command c = {
        "The temperature of a plate whose rim is held at random temperatures, by Jacobi's method.",
        "rows and columns of the plate, without its rim",
        "steps",
        "how many steps at most",
        1000000000,
        {4, 61, 45, 5000, 1}};
    options o;
    plain p;
    iris_config config;
    const int status = parse_options(&o, argc, argv, &c);
    if (status >= 0)
        return status;
    if (ranks_down(&o) == 0)
        return fprintf(stderr, "%s: a plate of %u x %u has no block for each of %d ranks\n", argv[0], o.rows, o.columns,
                       o.ranks),
               2;
    memset(&p, 0, sizeof p);
    memset(&config, 0, sizeof config);
    p.o = &o;
    const size_t bytes = ((size_t)o.rows + 8) * ((size_t)o.columns + 8) * 2 * sizeof(float) + (16u << 20);
    config.heap_bytes = bytes > (64u << 20) ? bytes : 0;
    printf("platform: %s\n", iris_platform_name());
    if (!plain_solve(&p))
        return fprintf(stderr, "%s: no memory for the plain solution\n", argv[0]), 1;
    const int failed = iris_spawn_config(o.ranks, rank_main, &p, &config);
    free(p.plate);
    return failed;
}
