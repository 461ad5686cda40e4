/* SPDX-License-Identifier: MIT */
/*
 * world_state.h: what init.c and its parts share: the world's layout, limits, the frames that travel between ranks.
 *
 * The files of this folder are parts of init.c, and only it includes them (through init.h, so that the single header
 * holds them too): world.h, socket_list.h (every open socket), coordinator.h (rank 0's thread), fork.h (what a forked
 * child has), control_link.h (each rank's end), heap_allocator.h (the allocator), fd_exchange.h (how descriptors
 * travel), heap_map.h (how heaps are made, shared and grown) and rendezvous.h (how ranks find each other).
 */
#ifndef IRIS_RUNTIME_WORLD_STATE_H
#define IRIS_RUNTIME_WORLD_STATE_H
#ifdef IRIS_INIT_C

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <iris/runtime/socket_list.h>

/* A step of FNV-1a. */
static uint64_t irisi_hash_word(uint64_t hash, uint64_t word) { return (hash ^ word) * 1099511628211u; }

enum {
    IRISI_SENTENCE = 640,    /* longest error sentence */
    IRISI_TOKEN = 128,       /* longest job token, with its end */
    IRISI_CHUNK = 256 << 10, /* most bytes that one rank sends in one frame */
    IRISI_MANY_RANKS = 1024,
    IRISI_LAUNCHES = 16,  /* launches whose kernels a report can name */
    IRISI_RECORDS = 256,  /* allocation calls that checked mode can name */
    IRISI_MAX_ARGS = 4096 /* bytes of a kernel's argument struct */
};

/* What a sentence about too many ranks adds. */
static const char *const irisi_more_ranks =
    IRISI_MOST_RANKS < IRISI_MANY_RANKS ? "; more when every file is compiled with -DIRIS_FAR_RANKS" : "";

/* One call that changed the heap, as checked mode compares it. */
typedef struct irisi_record {
    uint64_t bytes; /* asked for; or the offset given back */
    uint32_t align, kind, freed, pad;
} irisi_record;

/* How many sentences of a job are remembered as printed. */
enum { IRISI_REPORTED = 32 };

/* What the ranks of iris_spawn have printed, in memory that they share. */
typedef struct irisi_reported {
    uint64_t sentences[IRISI_REPORTED]; /* hashes */
    uint64_t kinds[IRISI_REPORTED];     /* hashes without numbers, their lowest 16 bits 1 + the rank that failed so */
    unsigned char likewise[IRISI_MOST_RANKS]; /* 1: failed as another rank did, and printed nothing */
} irisi_reported;

/* A kernel that was launched. */
typedef struct irisi_launched {
    const char *name;
    uint32_t workgroups;
} irisi_launched;

typedef enum irisi_block_tag {
    IRISI_BLOCK_PLAIN,
    IRISI_BLOCK_ZEROED, /* by iris_reset */
    IRISI_BLOCK_LENT,   /* memory of the caller's, mapped here */
    IRISI_BLOCK_ABSENT  /* addresses that lent memory has left */
} irisi_block_tag;

/* A live allocation. */
typedef struct irisi_block {
    size_t offset, bytes;
    irisi_block_tag tag;
    size_t lead, mapped; /* lent: where in the block the caller's memory begins, and how much of it is mapped */
    const char *by;      /* the function that was asked for it, for sentences */
    size_t asked;        /* bytes asked for */
    uint64_t call;       /* which allocation call it was, as checked mode counts them */
    iris_team team;      /* of a channel: whose collectives are launched on it; size 0 before the first, -1: messages */
    iris_stream stream;  /* of a channel: where collectives are launched on it, null before the first */
    const struct irisi_collective_rows *rows; /* of a channel: tuning rows of collectives on it, or null */
} irisi_block;

/* The allocator of one memory kind: live blocks in the order of their offsets. */
typedef struct irisi_arena {
    size_t start, end, used, high;
    size_t granule; /* offsets and sizes are multiples of it */
    irisi_block *blocks;
    size_t n, room;
} irisi_arena;

/* What a rank remembers of another. */
typedef struct irisi_peer {
    uint64_t key[2]; /* names its socket for descriptors */
    int near;        /* same process */
} irisi_peer;

typedef struct irisi_hub irisi_hub;

/* A team of iris_team_create or iris_team_split. */
typedef struct irisi_team {
    int32_t number; /* never given twice in a world, and the same on every rank */
    int32_t size;
    int32_t *ranks; /* world ranks of the members */
    void *far;      /* delta of each, where kernels can read it; beyond IRIS_CTX_RANKS */
    int32_t gone;   /* 1: destroyed; kept because a trace may have its number */
} irisi_team;

/* A rank's part of a window. */
typedef struct irisi_window_part {
    irisi_window_view view;
    uint64_t bytes;
    iris_reach reach;
} irisi_window_part;

/* Memory that others allocated, of every rank (iris_register). */
typedef struct irisi_window {
    iris_ctx ctx; /* its number is ctx.window: never given twice in a world, and the same on every rank */
    void *table;  /* ctx.far */
    irisi_window_part *parts;
} irisi_window;

typedef enum irisi_frame_type {
    IRISI_GATHER = 1, /* member to hub: its part of a collective */
    IRISI_RESULT,     /* hub to member: everyone's parts, or a mismatch */
    IRISI_ABORT,      /* member to hub: a kernel of `rank` reported why it stopped the world */
    IRISI_LEAVE,      /* member to hub: leaves without the others */
    IRISI_DIED,       /* spawning parent to hub: `rank` was killed */
    IRISI_NOTICE,     /* hub to member: the world has stopped */
    IRISI_PARTED,     /* hub to member: a rank has left the world that had stopped: no iris_reset will mend it */
    IRISI_HELLO,      /* member to rank 0: who I am */
    IRISI_WELCOME     /* rank 0 to member: everyone is here, or refused with a sentence */
} irisi_frame_type;

typedef struct irisi_frame {
    uint32_t magic, type, kind, payload; /* payload: bytes that follow */
    int32_t rank, status;
    uint64_t seq, a, b; /* a, b: what the ranks must agree on */
} irisi_frame;

struct iris_world {
    pid_t process;    /* whose it is: a forked child has a copy that it must not use */
    int rank, size, checked;
    int log_level;                 /* what IRIS_LOG asked for when the world was made */
    int64_t timeout_ms;            /* -1: none */
    size_t heap_bytes, sync_bytes; /* heap_bytes: both parts, as far as there is memory behind them */
    size_t heap_most;              /* what heap_bytes can grow to: addresses are reserved */
    size_t heap_block;             /* heaps grow by multiples of it */
    int config_sizes[3];           /* 1: iris_config says it: of data, of sync, and heap_most */
    irisi_heap_mode mode;
    int mode_auto; /* nobody asked for this mode */
    int gemm_warned; /* that the image lacks the device's best loop */
    struct irisi_tracer *tracer;    /* of traces (runtime/trace.h); null: none was asked for */
    uint64_t *gemm_numbers;         /* of plans that live (gemm/live_plans.h) */
    size_t gemm_plans, gemm_room;   /* how many there are, and there is room for */
    irisi_dev dev;
    irisi_heap *heaps;      /* of every rank */
    irisi_peer *peers;      /* of every rank */
    int post;               /* the socket that descriptors arrive at; -1: none */
    uint64_t turn;          /* exchanges of descriptors so far */
    irisi_control *control; /* own */
    int64_t *delta;         /* of every rank */
    void *far;              /* the same, where kernels can read it; beyond IRIS_CTX_RANKS */
    irisi_team *teams;    /* that live on this rank */
    size_t n_teams;
    int32_t team_numbers; /* given so far */
    irisi_window *windows; /* that live */
    size_t n_windows;
    uint32_t window_numbers; /* given so far */
    struct irisi_collective_rows *collective_rows; /* that channels were made with (collective_rows.h) */
    iris_stream stream;
    irisi_arena arena[2];
    uint64_t log_count, log_hash; /* allocation calls so far */
    irisi_record log[IRISI_RECORDS];
    irisi_launched launched[IRISI_LAUNCHES]; /* the latest, by the count of launches */
    uint32_t launches;
    char error[IRISI_SENTENCE];
    iris_status last;    /* of the last failure */
    iris_status pending; /* of a creation that returned null; the next iris_barrier reports it */
    char pending_text[IRISI_SENTENCE];
    int pending_stays;   /* 1: a heap that grows is no answer to it */
    iris_status failed; /* why the world has stopped */
    char failure[IRISI_SENTENCE];
    int failure_logged; /* told by IRIS_LOG */

    int sock; /* to the hub; -1 in a world of one */
    uint64_t seq;
    irisi_hub *hub; /* rank 0 */
    int have_reader;
    pthread_t reader;
    pthread_mutex_t lock; /* of what follows: the reader's */
    pthread_cond_t changed;
    irisi_frame reply;
    char *reply_data;
    int replied, leaving;
    int notice; /* iris_status; atomic, written under the lock */
    char notice_text[IRISI_SENTENCE];
    char parted_text[IRISI_SENTENCE]; /* who left after the notice; empty: nobody has */
};

/* What iris_reset mends: a kernel stopped the world, and nobody is gone. */
static int irisi_mendable(int status) { return status == IRIS_ERR_TIMEOUT || status == IRIS_ERR_CHECK; }

static __thread char irisi_last_error[IRISI_SENTENCE];
static __thread iris_status irisi_last_status; /* of that sentence */
static void irisi_remember_failure(iris_world *w, iris_status status, const char *sentence);

typedef enum irisi_level { IRISI_ERROR = 1, IRISI_WARN, IRISI_INFO, IRISI_DEBUG } irisi_level;

/* IRIS_LOG as a number; 0 when unset, -1 for nonsense. */
static int irisi_log_level(void)
{
    static const char *const names[] = {"", "error", "warn", "info", "debug"};
    const char *text = getenv("IRIS_LOG");
    for (int i = 0; text && i <= IRISI_DEBUG; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return text ? -1 : 0;
}

__attribute__((format(printf, 3, 4))) static void irisi_log(int rank, irisi_level level, const char *format, ...)
{
    char line[IRISI_SENTENCE];
    va_list args;
    if (irisi_log_level() < (int)level)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "iris[%d] %s\n", rank, line);
}

/* 1 where launches and choices are told: the environment is not searched at each of them. */
static int irisi_verbose(const iris_world *w) { return w->log_level >= IRISI_DEBUG; }

/* What a user has to know though nothing is logged; IRIS_LOG=error asks for silence about it. */
__attribute__((format(printf, 1, 2))) static void irisi_warn(const char *format, ...)
{
    char line[IRISI_SENTENCE];
    va_list args;
    if (irisi_log_level() == IRISI_ERROR)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "iris: warning: %s\n", line);
}

#endif
#endif
