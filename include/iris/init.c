/* SPDX-License-Identifier: MIT */
/*
 * init.c: the host API's one implementation file; compile it into the program as C, C++, CUDA or HIP.
 *
 * It holds no platform test: what differs is behind the functions of arch/<platform>/host.h. Its larger parts are in
 * runtime/: coordinator.h and control_link.h (how ranks talk), fork.h (what a forked child has), heap_allocator.h,
 * heap_map.h (how heaps are made, shared and grown), rendezvous.h (how ranks find each other).
 * Here, in order: errors, world (making and ending one), together, heap, launching, spawn.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memfd_create, SO_PEERCRED, sched_getaffinity */
#endif
#define IRIS_INIT_C 1

#if defined(__has_include)
#if !__has_include("init.h")
#define IRISI_SINGLE 1
#endif
#endif
#ifdef IRISI_SINGLE
#include "iris.h" /* two copied files: the single header holds all that this file needs */
#else
#include "init.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
const char IRISI_ABI = 1;
#ifdef __cplusplus
}
#endif

/* ---- errors --------------------------------------------------------------------------------------------------- */

const char *iris_status_name(iris_status status)
{
    switch (status) {
    case IRIS_OK: return "IRIS_OK";
    case IRIS_ERR_ARGUMENT: return "IRIS_ERR_ARGUMENT";
    case IRIS_ERR_NOMEM: return "IRIS_ERR_NOMEM";
    case IRIS_ERR_TIMEOUT: return "IRIS_ERR_TIMEOUT";
    case IRIS_ERR_PEER: return "IRIS_ERR_PEER";
    case IRIS_ERR_TOKEN: return "IRIS_ERR_TOKEN";
    case IRIS_ERR_MISMATCH: return "IRIS_ERR_MISMATCH";
    case IRIS_ERR_GRID: return "IRIS_ERR_GRID";
    case IRIS_ERR_ARCH: return "IRIS_ERR_ARCH";
    case IRIS_ERR_DEVICE: return "IRIS_ERR_DEVICE";
    case IRIS_ERR_SYSTEM: return "IRIS_ERR_SYSTEM";
    case IRIS_ERR_UNSUPPORTED: return "IRIS_ERR_UNSUPPORTED";
    case IRIS_ERR_CHECK: return "IRIS_ERR_CHECK";
    }
    return "unknown iris_status";
}

const char *iris_error_string(const iris_world *w) { return w ? w->error : irisi_last_error; }

/* What the sentence about a memory fault adds, on whichever platform: a plain build cannot say more. */
static const char irisi_build_checked[] =
    "; where a kernel has touched what it must not, a build with -DIRIS_CHECKED=1 says what";

/* Whether a sentence begins with the rank that it is about. */
static int irisi_names_rank(const char *text)
{
    return strncmp(text, "rank ", 5) == 0 && text[5] >= '0' && text[5] <= '9';
}

/* A sentence without the "rank 3: " that irisi_fail put before it: it becomes a part of another, or is compared. */
static const char *irisi_bare(const char *text)
{
    const char *end = text + (irisi_names_rank(text) ? 5 : 0);
    while (*end >= '0' && *end <= '9')
        end++;
    return end > text && strncmp(end, ": ", 2) == 0 ? end + 2 : text;
}

/* Remembers a sentence that says which rank has failed; what stopped the world is the same sentence on all ranks. */
static void irisi_remember_failure(iris_world *w, iris_status status, const char *sentence)
{
    char text[IRISI_SENTENCE]; /* the sentence may be the world's own */
    const int named = !w || irisi_names_rank(sentence);
    const int used = named ? 0 : snprintf(text, sizeof text, "rank %d: ", w->rank);
    snprintf(text + used, sizeof text - (size_t)used, "%s", sentence);
    memcpy(irisi_last_error, text, sizeof text);
    irisi_last_status = status;
    if (w) {
        memcpy(w->error, text, sizeof text);
        w->last = status;
    }
    irisi_group_fail(status);
}

iris_status irisi_fail(iris_world *w, iris_status status, const char *format, ...)
{
    char text[IRISI_SENTENCE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    irisi_remember_failure(w, status, text);
    irisi_log(w ? w->rank : -1, IRISI_ERROR, "%s: %s", iris_status_name(status), irisi_last_error);
    return status;
}

/* Every call on a stopped world fails with the same sentence; IRIS_LOG tells it once. */
static iris_status irisi_fail_stopped(iris_world *w)
{
    irisi_remember_failure(w, w->failed, w->failure);
    if (!w->failure_logged)
        irisi_log(w->rank, IRISI_ERROR, "%s: %s", iris_status_name(w->failed), w->error);
    w->failure_logged = 1;
    return w->failed;
}

/* What this job has printed, and which rank this thread is; null and -1 outside the ranks of iris_spawn. */
static __thread irisi_reported *irisi_job_reported;
static __thread int irisi_job_rank = -1;

/* FNV-1a of a sentence without the rank before it. `kind`: each number counts as 0, hexadecimal ones too. */
static uint64_t irisi_sentence_hash(const char *sentence, int kind)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *p = irisi_bare(sentence); *p;) {
        char c = *p++;
        if (kind && c >= '0' && c <= '9') {
            p += c == '0' && *p == 'x' ? 1 + strspn(p + 1, "0123456789abcdef") : strspn(p, "0123456789");
            c = '0';
        }
        hash = irisi_hash_word(hash, (unsigned char)c);
    }
    return hash | 1;
}

/* The entry that is equal to `mine` in the bits of `mask`; `mine`, where it was added just now; 0: there is no room. */
static uint64_t irisi_reported_entry(uint64_t *entries, uint64_t mine, uint64_t mask, int *added)
{
    *added = 0;
    for (int i = 0; i < IRISI_REPORTED; i++) {
        uint64_t there = 0;
        *added = __atomic_compare_exchange_n(&entries[i], &there, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (*added || (there & mask) == (mine & mask))
            return *added ? mine : there;
    }
    return 0;
}

/* 1 for the first rank of a job that has this to say; the others would print it again. */
static int irisi_first_to_report(const char *sentence)
{
    const uint64_t hash = irisi_sentence_hash(sentence, 0);
    int added = 0;
    return !irisi_job_reported ||
           !irisi_reported_entry(irisi_job_reported->sentences, hash, UINT64_MAX, &added) || added;
}

/*
 * Whether a failure of `rank` is to be printed. Ranks run one program and often fail alike, each for itself. Of
 * sentences that differ in numbers alone (addresses, sizes, ranks) one rank's is printed, and irisi_report_likewise
 * says how many other ranks had one.
 */
static int irisi_to_be_reported(int rank, const char *sentence)
{
    const uint64_t mask = ~(uint64_t)0xffff;
    const uint64_t mine = (irisi_sentence_hash(sentence, 1) & mask) | (uint64_t)(rank + 1);
    int added;
    if (!irisi_first_to_report(sentence))
        return 0;
    if (!irisi_job_reported || rank < 0)
        return 1;
    const uint64_t first = irisi_reported_entry(irisi_job_reported->kinds, mine, mask, &added);
    if (first == 0 || first == mine)
        return 1;
    irisi_job_reported->likewise[rank] = 1;
    return 0;
}

/* When all ranks are gone. */
static void irisi_report_likewise(const irisi_reported *reported, int n)
{
    int others = 0;
    for (int r = 0; r < n; r++)
        others += reported->likewise[r];
    if (others)
        fprintf(stderr, "iris: %d other rank%s failed likewise\n", others, others > 1 ? "s" : "");
}

int irisi_try_failed(iris_status status, const char *call)
{
    irisi_group_drop(); /* its caller returns, and nobody would end the group */
    if (irisi_to_be_reported(irisi_job_rank, irisi_last_error))
        fprintf(stderr, "iris: %s failed: %s (%s)\n", call, irisi_last_error, iris_status_name(status));
    return 1;
}

/* ---- calls that a group holds (runtime/group.h), as they are made at its end ------------------------------------ */

/* The arguments of calls that are held; each call has its own use of them. */
typedef struct irisi_held_args {
    void *to;
    const void *from;
    size_t bytes;
    int root;
    iris_stream stream;
    iris_event event;
} irisi_held_args;

static iris_status irisi_held_synchronize(iris_world *w, const void *args)
{
    (void)args;
    return iris_synchronize(w);
}

static iris_status irisi_held_barrier(iris_world *w, const void *args)
{
    (void)args;
    return iris_barrier(w);
}

static iris_status irisi_held_reset(iris_world *w, const void *args)
{
    (void)args;
    return iris_reset(w);
}

static iris_status irisi_held_finalize(iris_world *w, const void *args)
{
    (void)args;
    return iris_finalize(w);
}

static iris_status irisi_held_allgather(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_allgather(w, a->from, a->to, a->bytes);
}

static iris_status irisi_held_broadcast(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_broadcast(w, a->to, a->bytes, a->root);
}

static iris_status irisi_held_heap_grow(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_heap_grow(w, a->bytes);
}

static iris_status irisi_held_free(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_free(w, a->to);
}

static iris_status irisi_held_channel_destroy(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_channel_destroy(w, (iris_channel *)a->to);
}

static iris_status irisi_held_stream_synchronize(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_stream_synchronize(w, a->stream);
}

static iris_status irisi_held_event_record(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_event_record(w, a->event, a->stream);
}

static iris_status irisi_held_stream_wait_event(iris_world *w, const void *args)
{
    const irisi_held_args *a = (const irisi_held_args *)args;
    return iris_stream_wait_event(w, a->stream, a->event);
}

/* ---- world ---------------------------------------------------------------------------------------------------- */

/* Gives back what is left of a world once its threads and connections are gone. */
static void irisi_world_memory_free(iris_world *w)
{
    if (w->far)
        irisi_dev_local_free(&w->dev, w->far);
    irisi_teams_free(w);
    irisi_windows_free(w);
    irisi_collective_rows_free(w);
    irisi_heaps_free(w);
    irisi_dev_close(&w->dev);
    free(w->reply_data);
    free(w->arena[0].blocks);
    free(w->arena[1].blocks);
    free(w->gemm_numbers);
    if (w->tracer)
        free(w->tracer->fits);
    free(w->tracer);
    free(w->heaps);
    free(w->peers);
    free(w->delta);
    free(w);
}

/* A forked child's copy of a world: its threads, and a lock that one of them may hold, are the parent's alone. */
static void irisi_world_abandon(iris_world *w)
{
    irisi_forget_sockets(w);
    irisi_dev_abandon(&w->dev);
    if (w->hub)
        irisi_hub_free(w->hub);
    irisi_world_memory_free(w);
}

/* Frees everything that a world holds; works for one that is half made. */
static void irisi_world_free(iris_world *w)
{
    irisi_dev_stop(&w->dev);
    if (w->have_reader) {
        shutdown(w->sock, SHUT_RDWR);
        pthread_join(w->reader, NULL);
    }
    irisi_close_all(&w->sock, 1);
    irisi_close_all(&w->post, 1);
    if (w->hub)
        irisi_hub_join(w->hub);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    irisi_world_memory_free(w);
}

static iris_world *irisi_world_new(const irisi_settings *s)
{
    iris_world *w = (iris_world *)calloc(1, sizeof *w);
    pthread_condattr_t monotonic;
    if (!w)
        return NULL;
    w->rank = s->c.rank;
    w->size = s->c.world;
    w->checked = s->c.checked;
    w->log_level = irisi_log_level();
    w->timeout_ms = s->c.timeout_ms;
    w->sock = w->post = -1;
    w->process = getpid();
    w->log_hash = 14695981039346656037u;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    w->heaps = (irisi_heap *)calloc((size_t)w->size, sizeof *w->heaps);
    w->peers = (irisi_peer *)calloc((size_t)w->size, sizeof *w->peers);
    w->delta = (int64_t *)calloc((size_t)w->size, sizeof *w->delta);
    for (int r = 0; w->heaps && r < w->size; r++)
        w->heaps[r].fd = -1;
    if (w->heaps && w->peers && w->delta) {
        w->peers[w->rank].near = 1;
        return w;
    }
    irisi_world_free(w);
    return NULL;
}

/* Makes a rank's world on a connection that stands already; takes the link's sockets. */
static iris_status irisi_start(iris_world **out, const irisi_settings *s, irisi_link *link)
{
    iris_world *w = irisi_world_new(s);
    if (!w) {
        irisi_close_all(&link->sock, 1);
        irisi_close_all(link->hub, link->hub ? s->c.world : 0); /* who waits for an answer sees that there is none */
        return irisi_fail(NULL, IRIS_ERR_NOMEM, "no memory for a world of %d ranks", s->c.world);
    }
    w->sock = link->sock;
    if (link->hub) {
        w->hub = irisi_hub_start(w->size, link->hub, link->parent, w->timeout_ms);
        if (!w->hub) {
            irisi_close_all(link->hub, s->c.world);
            irisi_world_free(w);
            return irisi_fail(NULL, IRIS_ERR_SYSTEM, "cannot create the thread that joins the ranks");
        }
    }
    const char *why = irisi_dev_open(&w->dev, s->ordinal);
    iris_status status = why ? irisi_fail(w, IRIS_ERR_DEVICE, "%s", why) : IRIS_OK;
    why = status == IRIS_OK ? irisi_dev_stream_create(&w->dev, &w->stream) : NULL;
    if (why)
        status = irisi_fail(w, IRIS_ERR_DEVICE, "cannot create the default stream: %s", why);
    if (w->size > 1) {
        w->have_reader = irisi_own_thread(&w->reader, NULL, irisi_reader_main, w) == 0;
        if (!w->have_reader)
            status = irisi_fail(w, IRIS_ERR_SYSTEM, "cannot create the thread that listens to rank 0");
    }
    if (w->size == 1 || w->have_reader)
        status = irisi_agree(w, IRISI_INIT, status);
    if (status == IRIS_OK)
        status = irisi_make_heaps(w, s);
    if (status != IRIS_OK) {
        irisi_world_free(w);
        return status;
    }
    irisi_log(w->rank, IRISI_INFO, "rank %d of %d (%s): %s, heap of %zu + %zu KiB (%s, at most %zu MiB)", w->rank,
              w->size, s->launcher, w->dev.arch, (w->heap_bytes - w->sync_bytes) >> 10, w->sync_bytes >> 10,
              irisi_mode_name[w->mode], w->heap_most >> 20);
    irisi_trace_begin_all(w);
    *out = w;
    return IRIS_OK;
}

/*
 * The platform adds variables to the environment for its runtime. Ranks may be threads that start together, and the C
 * library lets nobody read the environment while another adds to it: so the first to come adds, and the others wait,
 * before any of them reads.
 */
static void irisi_prepare_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, irisi_dev_prepare);
}

iris_status iris_init(iris_world **world, const iris_config *config)
{
    irisi_settings s;
    irisi_link link;
    irisi_prepare_process();
    if (!world)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_init: the result's address is null");
    *world = NULL;
    iris_status status = irisi_settle(&s, config);
    if (status == IRIS_OK)
        status = irisi_connect(&s, &link);
    if (status != IRIS_OK)
        return status;
    status = irisi_start(world, &s, &link);
    free(link.hub);
    return status;
}

/* A rank knows its own kernels by name: what checked mode refused them comes before what others say. */
static void irisi_own_fault(iris_world *w, const irisi_control *own)
{
    char text[IRISI_SENTENCE];
    if (w->failed || !own->report.complete || own->report.fault == IRISI_FAULT_NONE)
        return;
    const iris_status status = irisi_report_text(text, sizeof text, w, w->rank, &own->report);
    irisi_stop(w, status, text);
}

/* What every function begins with: a world of this process, that has not stopped, on its device. */
static iris_status irisi_enter_world(iris_world *w, const char *call)
{
    if (!w)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "%s: the world is null", call);
    if (irisi_foreign(w))
        return irisi_refuse_fork(w, call);
    const char *why = irisi_dev_use(&w->dev);
    if (why)
        return irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s", call, why);
    irisi_control own;
    if (!w->failed && __atomic_load_n(&w->notice, __ATOMIC_ACQUIRE) == IRIS_ERR_CHECK &&
        irisi_dev_read_control(&w->dev, w->control, &own) == NULL)
        irisi_own_fault(w, &own);
    const iris_status noticed = irisi_take_notice(w);
    return noticed == IRIS_OK && w->failed ? irisi_fail_stopped(w) : noticed;
}

/* After streams were drained: did a kernel, here or on another rank, report something? */
static iris_status irisi_check(iris_world *w)
{
    irisi_control own, origin;
    char text[IRISI_SENTENCE];
    const char *why = irisi_dev_read_control(&w->dev, w->control, &own);
    if (why)
        return irisi_fail(w, IRIS_ERR_DEVICE, "cannot read the control block: %s", why);
    irisi_own_fault(w, &own);
    const int rank = irisi_reporter(w, &own);
    if (own.abort && rank != w->rank && w->size > 1)
        irisi_await_notice(w); /* that rank knows its kernel's name */
    iris_status noticed = irisi_take_notice(w); /* first: a notice raises the abort word too */
    if (noticed != IRIS_OK || !own.abort)
        return noticed;
    memset(&origin, 0, sizeof origin);
    if (rank < w->size)
        irisi_dev_read_control(&w->dev, (const irisi_control *)(void *)w->heaps[rank].base, &origin);
    const iris_status status = irisi_report_text(text, sizeof text, w, rank, &origin.report);
    if (w->size > 1) { /* of several reports the hub takes one, and every rank says that */
        irisi_send_text(w->sock, IRISI_ABORT, rank, status, text);
        irisi_await_notice(w);
        noticed = irisi_take_notice(w);
    }
    return noticed != IRIS_OK ? noticed : irisi_stop(w, status, text);
}

/*
 * What draining ended with. When a peer dies its memory may go away under this rank's kernels; the device reports that
 * as a fault of their own, often before the death is known here. The peer's death is what happened.
 */
static iris_status irisi_drained(iris_world *w, const char *call, const char *why)
{
    if (!why)
        return irisi_check(w);
    for (int ms = 0; ms < 1000 && w->size > 1 && !__atomic_load_n(&w->notice, __ATOMIC_ACQUIRE); ms += 10)
        irisi_nap_ms(10);
    const iris_status noticed = irisi_take_notice(w);
    const int touched = (strstr(why, "illegal memory access") || strstr(why, "misaligned address")) && !IRISI_CHECKED;
    if (noticed == IRIS_ERR_PEER)
        return noticed;
    return irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s%s", call, why, touched ? irisi_build_checked : "");
}

iris_status iris_synchronize(iris_world *w)
{
    if (irisi_grouped())
        return irisi_hold(w, "iris_synchronize", irisi_held_synchronize, IRISI_HELD_WAITS, NULL, 0);
    const iris_status status = irisi_enter(w, "iris_synchronize");
    if (status != IRIS_OK)
        return status;
    return irisi_drained(w, "iris_synchronize", irisi_dev_synchronize(&w->dev));
}

/* `stays`: a heap that grows is no answer to it. */
static void irisi_creation_lacked(iris_world *w, int stays)
{
    if (!w)
        return;
    stays = stays && w->last == IRIS_ERR_NOMEM;
    if (w->pending != IRIS_OK && (w->pending != IRIS_ERR_NOMEM || w->pending_stays || !stays))
        return; /* the first counts, or the first that a larger heap does not answer */
    w->pending = w->last;
    w->pending_stays = stays;
    memcpy(w->pending_text, w->error, sizeof w->pending_text);
}

void irisi_creation_failed(iris_world *w) { irisi_creation_lacked(w, 0); }

iris_status iris_barrier(iris_world *w)
{
    if (irisi_grouped())
        return irisi_hold(w, "iris_barrier", irisi_held_barrier, IRISI_HELD_WAITS, NULL, 0);
    iris_status status = irisi_enter(w, "iris_barrier");
    if (status == IRIS_OK)
        status = iris_synchronize(w);
    if (status == IRIS_OK)
        status = w->checked && w->size > 1 ? irisi_compare_logs(w) : irisi_meet(w, IRISI_BARRIER);
    if (status != IRIS_OK || w->pending == IRIS_OK)
        return status;
    status = w->pending;
    w->pending = IRIS_OK;
    irisi_remember_failure(w, status, w->pending_text);
    return status;
}

iris_status iris_allgather(iris_world *w, const void *mine, void *all, size_t bytes)
{
    const irisi_held_args held = {all, mine, bytes, 0, NULL, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_allgather", irisi_held_allgather, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_allgather");
    if (status == IRIS_OK && bytes && (!mine || !all))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_allgather: a buffer is null");
    for (size_t at = 0; status == IRIS_OK && (at < bytes || at == 0); at += IRISI_CHUNK) {
        const size_t part = bytes - at < (size_t)IRISI_CHUNK ? bytes - at : (size_t)IRISI_CHUNK;
        char *data;
        size_t total;
        status = irisi_gather(w, IRISI_ALLGATHER, bytes, at, (const char *)mine + at, part, &data, &total);
        for (int r = 0; status == IRIS_OK && part && r < w->size; r++)
            memcpy((char *)all + (size_t)r * bytes + at, data + (size_t)r * part, part);
        free(data);
    }
    return status;
}

iris_status iris_broadcast(iris_world *w, void *bytes_of, size_t bytes, int root)
{
    const irisi_held_args held = {bytes_of, NULL, bytes, root, NULL, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_broadcast", irisi_held_broadcast, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_broadcast");
    if (status == IRIS_OK && bytes && !bytes_of)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_broadcast: the buffer is null");
    if (status == IRIS_OK && (root < 0 || root >= w->size))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_broadcast: root %d is not a rank of this world (0 to %d)", root,
                          w->size - 1);
    for (size_t at = 0; status == IRIS_OK && (at < bytes || at == 0); at += IRISI_CHUNK) {
        const size_t part = bytes - at < (size_t)IRISI_CHUNK ? bytes - at : (size_t)IRISI_CHUNK;
        char *data;
        size_t total;
        status = irisi_gather(w, IRISI_BROADCAST, bytes, (uint64_t)root, (char *)bytes_of + at,
                              w->rank == root ? part : 0, &data, &total);
        if (status == IRIS_OK && part)
            memcpy((char *)bytes_of + at, data, part);
        free(data);
    }
    return status;
}

/* Takes leave of the hub without the other ranks, and says why. */
static void irisi_leave(iris_world *w, const char *why)
{
    if (w->sock >= 0)
        irisi_send_text(w->sock, IRISI_LEAVE, w->rank, IRIS_ERR_PEER, why);
}

iris_status iris_finalize(iris_world *w)
{
    char text[IRISI_SENTENCE];
    if (!w)
        return IRIS_OK;
    if (irisi_foreign(w)) {
        irisi_world_abandon(w);
        return IRIS_OK;
    }
    if (irisi_grouped())
        return irisi_hold(w, "iris_finalize", irisi_held_finalize, IRISI_HELD_LAST, NULL, 0);
    irisi_trace_end_all(w);
    iris_status status = iris_synchronize(w);
    if (status == IRIS_OK && w->checked && w->size > 1)
        status = irisi_compare_logs(w);
    if (status == IRIS_OK || status == IRIS_ERR_MISMATCH) {
        iris_status met = irisi_meet(w, IRISI_LEAVING); /* nobody's kernels touch anyone's heap any more */
        irisi_windows_close(w);
        irisi_close_imports(w);
        if (met == IRIS_OK)
            met = irisi_meet(w, IRISI_FINALIZE); /* nobody maps this rank's heap any more */
        status = met == IRIS_OK ? status : met;
    }
    if (status != IRIS_OK && status != IRIS_ERR_MISMATCH) {
        snprintf(text, sizeof text, "rank %d left after a failure: %.500s", w->rank, irisi_bare(w->error));
        irisi_leave(w, text);
    }
    irisi_world_free(w);
    return status;
}

/* While the world was stopped a rank may have allocated what another could not: then addresses no longer agree. */
static iris_status irisi_compare_heaps(iris_world *w)
{
    uint64_t mine[2] = {0, 0}; /* live allocations; a hash of where they are */
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < w->arena[kind].n; i++) {
            const irisi_block *b = &w->arena[kind].blocks[i];
            mine[0]++;
            mine[1] = (mine[1] ^ b->offset) * 0x9E3779B97F4A7C15u + b->bytes;
        }
    void *counts;
    iris_status status = irisi_hear_all(w, "iris_reset", mine, sizeof mine, &counts);
    const uint64_t(*all)[2] = (const uint64_t(*)[2])counts;
    for (int r = 0; status == IRIS_OK && r < w->size; r++)
        if (all[r][0] != mine[0] || all[r][1] != mine[1])
            status =
                irisi_fail(w, IRIS_ERR_MISMATCH,
                           "iris_reset: this rank has %llu live allocations, rank %d has %llu or has them elsewhere; "
                           "free what was allocated after the world had stopped, then reset again",
                           (unsigned long long)mine[0], r, (unsigned long long)all[r][0]);
    free(counts);
    return status;
}

iris_status iris_reset(iris_world *w)
{
    if (irisi_grouped())
        return irisi_hold(w, "iris_reset", irisi_held_reset, IRISI_HELD_WAITS, NULL, 0);
    if (!w)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_reset: the world is null");
    if (irisi_foreign(w))
        return irisi_refuse_fork(w, "iris_reset");
    const char *why = irisi_dev_use(&w->dev);
    if (!why)
        why = irisi_dev_synchronize(&w->dev); /* kernels that wait see the abort word, here or at their own deadline */
    iris_status status = w->size > 1 ? irisi_meet(w, IRISI_RESET) : IRIS_OK;
    const irisi_arena *sync = &w->arena[IRIS_MEM_SYNC];
    if (!why && status == IRIS_OK)
        why = irisi_dev_fill(&w->dev, w->control, 0, sizeof *w->control, w->stream);
    if (!why && status == IRIS_OK)
        why = irisi_trace_resume(w);
    for (size_t i = 0; !why && status == IRIS_OK && i < sync->n; i++)
        if (sync->blocks[i].tag == IRISI_BLOCK_ZEROED)
            why = irisi_dev_fill(&w->dev, w->heaps[w->rank].base + sync->blocks[i].offset, 0, sync->blocks[i].bytes,
                                 w->stream);
    if (status != IRIS_OK)
        return status;
    pthread_mutex_lock(&w->lock);
    if (irisi_mendable(w->notice))
        __atomic_store_n(&w->notice, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&w->lock);
    w->failed = IRIS_OK;
    w->seq = 0;
    status = w->size > 1 ? irisi_meet(w, IRISI_RESTART) : IRIS_OK;
    if (why)
        return irisi_fail(w, IRIS_ERR_DEVICE, "iris_reset: %s", why);
    return status == IRIS_OK && w->size > 1 ? irisi_compare_heaps(w) : status;
}

int iris_rank(const iris_world *w) { return w ? w->rank : -1; }
int iris_world_size(const iris_world *w) { return w ? w->size : 0; }
int iris_device(const iris_world *w) { return w ? w->dev.device : -1; }
int iris_compute_units(const iris_world *w) { return w ? w->dev.compute_units : 0; }
const char *iris_arch_name(const iris_world *w) { return w ? w->dev.arch : ""; }
const char *iris_device_name(const iris_world *w) { return w ? w->dev.name : ""; }

#define IRISI_QUOTE(word) #word
#define IRISI_NAME_OF(target) IRISI_QUOTE(target) /* what the macro stands for, not its name */
const char *iris_platform_name(void) { return IRISI_NAME_OF(IRIS_TARGET_NAME); }

iris_ctx iris_device_ctx(const iris_world *w)
{
    iris_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    if (!w)
        return ctx;
    ctx.rank = w->rank;
    ctx.world = w->size;
    ctx.base = (uint64_t)(uintptr_t)w->heaps[w->rank].base;
    ctx.bytes = w->heap_bytes;
    ctx.sync_bytes = w->sync_bytes;
    if (w->timeout_ms > 0)
        ctx.deadline = (uint64_t)w->timeout_ms * (w->dev.clock_hz / 1000);
    ctx.control = w->control;
    ctx.far = (const int64_t *)w->far;
    for (int r = 0; r < w->size && r < IRIS_CTX_RANKS; r++)
        ctx.delta[r] = w->delta[r];
    return ctx;
}

uint64_t iris_clock_ticks(const iris_world *w, uint64_t us)
{
    if (!w)
        return 0;
    const uint64_t second = 1000000, whole = us / second, hz = w->dev.clock_hz;
    if (whole >= UINT64_MAX / hz - 1)
        return UINT64_MAX;
    return whole * hz + (us % second * hz + second - 1) / second;
}

void *iris_malloc(iris_world *w, size_t bytes) { return iris_malloc_kind(w, bytes, 0, IRIS_MEM_DATA); }

/* What `by` was asked for; null with a sentence. */
static void *irisi_allocate(iris_world *w, const char *by, size_t bytes, size_t align, iris_mem_kind kind)
{
    if (kind != IRIS_MEM_DATA && kind != IRIS_MEM_SYNC) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_malloc_kind: %d is no memory kind", (int)kind);
        return NULL;
    }
    irisi_arena *a = &w->arena[kind];
    const size_t aligned = align > a->granule ? align : a->granule;
    if ((align & (align - 1)) != 0 || align > w->dev.heap_alignment) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_malloc_kind: alignment %zu is not a power of two up to %zu", align,
                   w->dev.heap_alignment);
        return NULL;
    }
    irisi_log_call(w, bytes, aligned, kind, 0);
    irisi_block *block = bytes <= w->heap_bytes ? irisi_arena_alloc(a, bytes, aligned) : NULL;
    if (!block) {
        irisi_fail(w, IRIS_ERR_NOMEM,
                   "the %s heap is full: asked for %zu bytes (aligned to %zu), %zu of %zu are free, the largest hole "
                   "has %zu; %sraise %s (now %zu)",
                   irisi_mem_name[kind], bytes, aligned, a->end - a->start - a->used, a->end - a->start,
                   irisi_arena_largest(a),
                   kind == IRIS_MEM_DATA && w->heap_most > w->heap_bytes ? "call iris_heap_grow or " : "",
                   irisi_size_name(w, (int)kind),
                   irisi_size_value(w, (int)kind, a->end - (kind == IRIS_MEM_SYNC ? 0 : a->start)));
        return NULL;
    }
    block->by = by;
    block->asked = bytes;
    block->call = w->log_count;
    return w->heaps[w->rank].base + block->offset;
}

void *irisi_malloc_by(iris_world *w, const char *by, size_t bytes, size_t align, iris_mem_kind kind)
{
    if (irisi_enter_own(w, by) != IRIS_OK)
        return NULL;
    void *p = irisi_allocate(w, by, bytes, align, kind);
    if (!p)
        irisi_creation_lacked(w, kind == IRIS_MEM_SYNC);
    return p;
}

void *iris_malloc_kind(iris_world *w, size_t bytes, size_t align, iris_mem_kind kind)
{
    return irisi_malloc_by(w, "iris_malloc", bytes, align, kind);
}

iris_status iris_free(iris_world *w, void *p)
{
    const irisi_held_args held = {p, NULL, 0, 0, NULL, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_free", irisi_held_free, IRISI_HELD_WAITS, &held, sizeof held);
    const iris_status status = irisi_enter(w, "iris_free");
    if (!w || !p || irisi_foreign(w) || (status != IRIS_OK && !irisi_mendable(w->failed)))
        return status; /* a stopped world that iris_reset can mend lets go of what it holds */
    const size_t offset = (size_t)((uintptr_t)p - (uintptr_t)w->heaps[w->rank].base);
    const iris_mem_kind kind = offset < w->sync_bytes ? IRIS_MEM_SYNC : IRIS_MEM_DATA;
    irisi_block *lent = irisi_adopted(w, offset);
    const char *why = lent ? irisi_dev_synchronize(&w->dev) : NULL;
    if (why)
        return irisi_fail(w, IRIS_ERR_DEVICE, "iris_free: %s", why);
    if (lent && offset == lent->offset + lent->lead)
        irisi_give_back(w, lent);
    else if (!iris_is_symmetric(w, p, 1) || !irisi_arena_free(&w->arena[kind], offset))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_free: %p is not the start of a live allocation (freed twice?)",
                          p);
    irisi_log_call(w, offset, 0, kind, 1);
    return IRIS_OK;
}

int iris_is_symmetric(const iris_world *w, const void *p, size_t bytes)
{
    if (!w || !p)
        return 0;
    const uintptr_t offset = (uintptr_t)p - (uintptr_t)w->heaps[w->rank].base;
    return offset < w->heap_bytes && bytes <= w->heap_bytes - offset;
}

void *iris_as_symmetric(iris_world *w, const void *p, size_t bytes)
{
    iris_status status = irisi_enter(w, "iris_as_symmetric");
    if (status == IRIS_OK)
        status = iris_synchronize(w); /* memory is mapped while no kernel of this rank runs */
    void *alias = NULL;
    if (status == IRIS_OK && w->mode == IRISI_HEAP_VMM)
        alias = irisi_adopt(w, p, bytes, &status);
    else if (status == IRIS_OK && !p && bytes)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_as_symmetric: the source is null");
    void *copy = NULL;
    if (status == IRIS_OK && !alias && (copy = iris_malloc(w, bytes)) != NULL) {
        status = irisi_memcpy_by(w, "iris_as_symmetric", copy, p, bytes);
        if (status != IRIS_OK)
            iris_free(w, copy), copy = NULL;
    }
    if (status != IRIS_OK && w && !w->failed)
        irisi_creation_failed(w);
    return alias ? alias : copy;
}

int iris_is_alias(const iris_world *w, const void *p)
{
    return iris_is_symmetric(w, p, 1) && irisi_adopted(w, (size_t)((uintptr_t)p - (uintptr_t)w->heaps[w->rank].base));
}

void *iris_translate(const iris_world *w, const void *p, int rank)
{
    if (!iris_is_symmetric(w, p, 0) || rank < 0 || rank >= w->size)
        return NULL;
    return w->heaps[rank].base + ((uintptr_t)p - (uintptr_t)w->heaps[w->rank].base);
}

static const irisi_arena *irisi_arena_of(const iris_world *w, iris_mem_kind kind)
{
    return w && (kind == IRIS_MEM_DATA || kind == IRIS_MEM_SYNC) ? &w->arena[kind] : NULL;
}

size_t iris_heap_size(const iris_world *w, iris_mem_kind kind)
{
    const irisi_arena *a = irisi_arena_of(w, kind);
    return a ? a->end - a->start - irisi_absent_bytes(a) : 0;
}

iris_status iris_heap_grow(iris_world *w, size_t bytes)
{
    const irisi_held_args held = {NULL, NULL, bytes, 0, NULL, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_heap_grow", irisi_held_heap_grow, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_heap_grow");
    if (status == IRIS_OK)
        status = iris_synchronize(w); /* as above */
    if (status == IRIS_OK)
        status = irisi_grow(w, bytes);
    if (status == IRIS_OK && w->pending == IRIS_ERR_NOMEM && !w->pending_stays)
        w->pending = IRIS_OK; /* the answer to what did not fit */
    return status;
}

size_t iris_heap_limit(const iris_world *w) { return w ? w->heap_most - w->sync_bytes : 0; }
const char *iris_heap_mode(const iris_world *w) { return w ? irisi_mode_name[w->mode] : ""; }

size_t iris_heap_used(const iris_world *w, iris_mem_kind kind)
{
    const irisi_arena *a = irisi_arena_of(w, kind);
    return a ? a->used : 0;
}

size_t iris_heap_high_water(const iris_world *w, iris_mem_kind kind)
{
    const irisi_arena *a = irisi_arena_of(w, kind);
    return a ? a->high : 0;
}

/* A call on the device runtime that failed. */
static iris_status irisi_device_result(iris_world *w, const char *call, const char *why)
{
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s", call, why) : IRIS_OK;
}

iris_status irisi_memcpy_by(iris_world *w, const char *by, void *to, const void *from, size_t bytes)
{
    const iris_status status = irisi_enter_own(w, by);
    if (status != IRIS_OK || !bytes)
        return status;
    if (!to || !from)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the %s is null", by, to ? "source" : "destination");
    return irisi_device_result(w, by, irisi_dev_copy(&w->dev, to, from, bytes, w->stream));
}

iris_status irisi_memset_by(iris_world *w, const char *by, void *p, int byte, size_t bytes)
{
    const iris_status status = irisi_enter_own(w, by);
    if (status != IRIS_OK || !bytes)
        return status;
    if (!p)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the destination is null", by);
    return irisi_device_result(w, by, irisi_dev_fill(&w->dev, p, byte, bytes, w->stream));
}

iris_status iris_memcpy(iris_world *w, void *to, const void *from, size_t bytes)
{
    return irisi_memcpy_by(w, "iris_memcpy", to, from, bytes);
}

iris_status iris_memset(iris_world *w, void *p, int byte, size_t bytes)
{
    return irisi_memset_by(w, "iris_memset", p, byte, bytes);
}

/* Zeroed sync memory that iris_reset zeroes again. */
static void *irisi_sync_memory(iris_world *w, const char *by, size_t bytes, size_t align)
{
    char *p = (char *)irisi_allocate(w, by, bytes, align, IRIS_MEM_SYNC);
    if (p)
        irisi_sync_block(w, p)->tag = IRISI_BLOCK_ZEROED;
    if (p && bytes && iris_memset(w, p, 0, bytes) != IRIS_OK)
        return NULL;
    return p;
}

iris_signal *iris_signals(iris_world *w, size_t n)
{
    if (irisi_enter_own(w, "iris_signals") != IRIS_OK)
        return NULL;
    if (n == 0 || n > w->sync_bytes / sizeof(iris_signal)) {
        if (n == 0)
            irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_signals: asked for no signal; ask for one or more");
        else
            irisi_fail(w, IRIS_ERR_NOMEM,
                       "iris_signals: %zu signals do not fit the sync heap of %zu bytes; raise %s", n, w->sync_bytes,
                       irisi_size_name(w, IRIS_MEM_SYNC));
        irisi_creation_lacked(w, 1);
        return NULL;
    }
    iris_signal *signals = (iris_signal *)irisi_sync_memory(w, irisi_by_signals, n * sizeof(iris_signal), 0);
    if (!signals)
        irisi_creation_lacked(w, 1);
    return signals;
}

iris_status iris_channel_create(iris_world *w, iris_channel *ch, size_t signals, size_t bank_bytes)
{
    const iris_status status = irisi_enter_own(w, "iris_channel_create");
    if (status != IRIS_OK)
        return status;
    if (!ch)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_channel_create: the channel is null");
    memset(ch, 0, sizeof *ch);
    if (signals > w->heap_bytes || bank_bytes > w->heap_bytes)
        return irisi_fail(w, IRIS_ERR_NOMEM,
                          "iris_channel_create: %zu signals and two banks of %zu bytes do not fit the heap of %zu",
                          signals, bank_bytes, w->heap_bytes);
    /* Signals, state and banks begin on lines of their own: peers raise here, this rank's workgroups count there. */
    const size_t head = irisi_round_up(signals * sizeof(iris_signal), 256), state = 256;
    const size_t bank = irisi_round_up(bank_bytes, 256);
    char *p = (char *)irisi_sync_memory(w, "iris_channel_create", head + state + 2 * bank, 256);
    if (!p)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_channel_create: %s", irisi_bare(irisi_last_error));
    ch->signals = (iris_signal *)(void *)p;
    ch->state = (uint64_t *)(void *)(p + head);
    ch->banks = p + head + state;
    ch->bank_bytes = bank;
    ch->n_signals = signals;
    return IRIS_OK;
}

iris_status iris_channel_destroy(iris_world *w, iris_channel *ch)
{
    const irisi_held_args held = {ch, NULL, 0, 0, NULL, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_channel_destroy", irisi_held_channel_destroy, IRISI_HELD_RETURNS,
                          &held, sizeof held);
    const iris_status status = irisi_enter(w, "iris_channel_destroy");
    if (!w || !ch || !ch->state || irisi_foreign(w) || (status != IRIS_OK && !irisi_mendable(w->failed)))
        return status; /* as iris_free */
    const size_t head = irisi_round_up(ch->n_signals * sizeof(iris_signal), 256);
    const iris_status freed = iris_free(w, (char *)ch->state - head);
    memset(ch, 0, sizeof *ch);
    return freed;
}

/* ---- launching ------------------------------------------------------------------------------------------------ */

iris_launch_config iris_grid(uint32_t workgroups, uint32_t lanes)
{
    iris_launch_config cfg;
    memset(&cfg, 0, sizeof cfg);
    cfg.workgroups = workgroups;
    cfg.lanes = lanes;
    return cfg;
}

iris_launch_config iris_cooperative(uint32_t workgroups, uint32_t lanes)
{
    iris_launch_config cfg = iris_grid(workgroups, lanes);
    cfg.flags = IRIS_LAUNCH_COOPERATIVE;
    return cfg;
}

/* A null stream is the default stream; any other must be one. */
static iris_status irisi_take_stream(iris_world *w, const char *call, iris_stream *stream)
{
    const iris_status status = irisi_enter(w, call);
    if (status != IRIS_OK)
        return status;
    if (!*stream)
        *stream = w->stream;
    const int known = irisi_dev_stream_known(&w->dev, *stream);
    if (known < 0)
        return irisi_fail(w, IRIS_ERR_NOMEM, "%s: no memory for a longer list of streams", call);
    if (!known)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %p is not a stream of this world", call, (void *)*stream);
    return IRIS_OK;
}

uint32_t irisi_max_workgroups(iris_world *w, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes)
{
    uint32_t most = 0;
    if (irisi_enter_own(w, "iris_max_workgroups") != IRIS_OK)
        return 0;
    if (!lanes)
        lanes = 256;
    if (!kernel || lanes > 1024) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_max_workgroups: %u lanes a workgroup (1 to 1024)%s", lanes,
                   kernel ? "" : ", and the kernel is null");
        return 0;
    }
    const char *why = irisi_dev_max_workgroups(&w->dev, kernel, lanes, shared_bytes, &most);
    return irisi_device_result(w, "iris_max_workgroups", why) == IRIS_OK ? most : 0;
}

/* Why a launch was refused: a mistake of the caller's, or an error of the runtime's. */
static iris_status irisi_refused(iris_world *w, const char *name, const char *why)
{
    const iris_status status = why == w->dev.mistake ? IRIS_ERR_ARGUMENT : IRIS_ERR_DEVICE;
    return irisi_fail(w, status, "iris_launch(%s): %s", name, why);
}

iris_status irisi_launch(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                         const iris_launch_config *cfg, iris_stream stream)
{
    return irisi_launch_with(w, kernel, name, args, bytes, cfg, 0, stream);
}

/* A launch that was looked at: defaults filled in, and it fits. */
static iris_status irisi_launch_settle(iris_world *w, irisi_kernel kernel, const char *name, const void *args,
                                       size_t bytes, const iris_launch_config *cfg, iris_launch_config *settled,
                                       iris_stream *stream)
{
    const iris_status status = irisi_take_stream(w, "iris_launch", stream);
    if (status != IRIS_OK)
        return status;
    iris_launch_config c = cfg ? *cfg : iris_grid(0, 0);
    if (!c.lanes)
        c.lanes = 256;
    if (!c.workgroups)
        c.workgroups = (uint32_t)w->dev.compute_units;
    if (!kernel || (bytes && !args))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_launch(%s): its %s null", name,
                          kernel ? "arguments are" : "kernel is");
    if (bytes > IRISI_MAX_ARGS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_launch(%s): its %zu bytes of arguments are more than %d", name,
                          bytes, (int)IRISI_MAX_ARGS);
    if (c.lanes > 1024 || c.workgroups > 0x7fffffffu || c.shared_bytes > (1u << 30) || (c.flags & ~1u))
        return irisi_fail(
            w, IRIS_ERR_ARGUMENT,
            "iris_launch(%s): %u workgroups of %u lanes (at most 1024), %u bytes of shared memory, flags %u", name,
            c.workgroups, c.lanes, c.shared_bytes, c.flags);
    if (c.flags & IRIS_LAUNCH_COOPERATIVE) {
        uint32_t most = 0;
        const char *why = irisi_dev_max_workgroups(&w->dev, kernel, c.lanes, c.shared_bytes, &most);
        if (why)
            return irisi_refused(w, name, why);
        if (c.workgroups > most && !(cfg && cfg->workgroups) && most)
            c.workgroups = most;
        if (c.workgroups > most)
            return irisi_fail(w, IRIS_ERR_GRID,
                              "iris_launch(%s): %u workgroups of %u lanes and %u bytes of shared memory cannot be on "
                              "the device at once, "
                              "%u can; use at most iris_max_workgroups()",
                              name, c.workgroups, c.lanes, c.shared_bytes, most);
    }
    *settled = c;
    return IRIS_OK;
}

static iris_status irisi_launch_settled(iris_world *w, irisi_kernel kernel, const char *name, const void *args,
                                        size_t bytes, const iris_launch_config *cfg, uint32_t flags,
                                        iris_stream stream)
{
    iris_launch_config c = *cfg;
    irisi_remember_launch(w, name, c.workgroups);
    if (irisi_verbose(w))
        irisi_log(w->rank, IRISI_DEBUG,
                  "launch of %s: %u workgroups of %u lanes, %u bytes of shared memory%s, %s stream", name, c.workgroups,
                  c.lanes, c.shared_bytes, c.flags & IRIS_LAUNCH_COOPERATIVE ? ", cooperative" : "",
                  stream == w->stream ? "default" : "another");
    c.flags |= flags;
    const char *why = irisi_dev_launch(&w->dev, kernel, args, bytes, &c, stream);
    if (why == NULL || why == w->dev.mistake)
        return why ? irisi_refused(w, name, why) : IRIS_OK;
    return irisi_fail(w, IRIS_ERR_DEVICE,
                      "iris_launch(%s): %s (%u workgroups of %u lanes, %u bytes of shared memory%s)", name, why,
                      c.workgroups, c.lanes, c.shared_bytes, c.cluster > 1 ? ", in clusters" : "");
}

iris_status irisi_launch_with(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                              const iris_launch_config *cfg, uint32_t flags, iris_stream stream)
{
    iris_launch_config settled;
    const iris_status status = irisi_launch_settle(w, kernel, name, args, bytes, cfg, &settled, &stream);
    return status == IRIS_OK ? irisi_launch_settled(w, kernel, name, args, bytes, &settled, flags, stream) : status;
}

/* A launch that a group holds. */
typedef struct irisi_held_launch {
    irisi_kernel kernel;
    const char *name;
    size_t bytes;
    iris_launch_config cfg;
    iris_stream stream;
    int shaped; /* there is a cfg */
    IRISI_ALIGN(16) char args[IRISI_MAX_ARGS];
} irisi_held_launch;

static iris_status irisi_held_launch_run(iris_world *w, const void *args)
{
    const irisi_held_launch *l = (const irisi_held_launch *)args;
    return irisi_launch(w, l->kernel, l->name, l->args, l->bytes, l->shaped ? &l->cfg : NULL, l->stream);
}

iris_status irisi_launch_grouped(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                                 const iris_launch_config *cfg, iris_stream stream)
{
    irisi_held_launch l;
    if (!irisi_grouped())
        return irisi_launch(w, kernel, name, args, bytes, cfg, stream);
    if (bytes > IRISI_MAX_ARGS || (bytes && !args))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_launch(%s): its %zu bytes of arguments are %s", name, bytes,
                          args ? "more than 4096" : "null");
    memset(&l, 0, offsetof(irisi_held_launch, args));
    l.kernel = kernel;
    l.name = name;
    l.bytes = bytes;
    l.shaped = cfg != NULL;
    if (cfg)
        l.cfg = *cfg;
    l.stream = stream;
    if (bytes)
        memcpy(l.args, args, bytes);
    return irisi_hold(w, "iris_launch", irisi_held_launch_run, IRISI_HELD_RETURNS, &l,
                      offsetof(irisi_held_launch, args) + bytes);
}

iris_status irisi_launch_all(iris_world *const *worlds, int n, irisi_kernel kernel, const char *name, const void *args,
                             size_t bytes, const iris_launch_config *cfg, const iris_stream *streams)
{
    iris_launch_config settled[IRISI_MOST_RANKS];
    iris_stream stream[IRISI_MOST_RANKS];
    const char *each = (const char *)args;
    iris_status status = IRIS_OK;
    if (!worlds || n < 1 || n > IRISI_MOST_RANKS)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_launch_all(%s): %d worlds (1 to %d)%s", name, n,
                          IRISI_MOST_RANKS, worlds ? "" : ", and worlds is null");
    if (bytes && !args)
        return irisi_fail(worlds[0], IRIS_ERR_ARGUMENT, "iris_launch_all(%s): its arguments are null", name);
    for (int i = 0; i < n && irisi_grouped() && status == IRIS_OK; i++)
        status = irisi_launch_grouped(worlds[i], kernel, name, each + bytes * (size_t)i, bytes, cfg,
                                      streams ? streams[i] : NULL);
    if (irisi_grouped())
        return status;
    for (int i = 0; i < n && status == IRIS_OK; i++) { /* all of them or none: kernels would wait for who is missing */
        stream[i] = streams ? streams[i] : NULL;
        status = irisi_launch_settle(worlds[i], kernel, name, each + bytes * (size_t)i, bytes, cfg, &settled[i],
                                     &stream[i]);
    }
    for (int i = 0; i < n && status == IRIS_OK; i++) {
        const char *why = irisi_dev_use(&worlds[i]->dev);
        status = why ? irisi_fail(worlds[i], IRIS_ERR_DEVICE, "iris_launch_all(%s): %s", name, why)
                     : irisi_launch_settled(worlds[i], kernel, name, each + bytes * (size_t)i, bytes, &settled[i], 0,
                                            stream[i]);
    }
    return status;
}

iris_stream iris_default_stream(iris_world *w) { return w ? w->stream : NULL; }

iris_status iris_stream_create(iris_world *w, iris_stream *stream)
{
    const iris_status status = irisi_enter_own(w, "iris_stream_create");
    if (stream)
        *stream = NULL;
    if (status != IRIS_OK)
        return status;
    if (!stream)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_stream_create: the result's address is null");
    return irisi_device_result(w, "iris_stream_create", irisi_dev_stream_create(&w->dev, stream));
}

iris_status iris_stream_destroy(iris_world *w, iris_stream stream)
{
    if (w && !stream)
        return IRIS_OK;
    const iris_status status = irisi_take_stream(w, "iris_stream_destroy", &stream);
    /* A world that has stopped forgets it too: it must not come to a stream of the program's that is gone. */
    const int stopped = status != IRIS_OK && w && w->failed != IRIS_OK && !irisi_foreign(w) && !irisi_grouped() &&
                        stream != w->stream && irisi_dev_use(&w->dev) == NULL &&
                        irisi_dev_stream_known(&w->dev, stream) > 0 && !irisi_dev_stream_capturing(&w->dev, stream);
    if (status != IRIS_OK && !stopped)
        return status;
    if (stream == w->stream)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_stream_destroy: the default stream lives as long as its world");
    if (irisi_dev_stream_capturing(&w->dev, stream)) /* to drain it would spoil the graph */
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_stream_destroy: the stream is being captured into a graph; end the capture first");
    irisi_arena *sync = &w->arena[IRIS_MEM_SYNC];
    for (size_t i = 0; i < sync->n; i++)
        if (sync->blocks[i].stream == stream)
            sync->blocks[i].stream = NULL; /* what follows on another stream follows what is drained here */
    const char *why = irisi_dev_stream_destroy(&w->dev, stream);
    return stopped ? status : irisi_device_result(w, "iris_stream_destroy", why);
}

iris_status iris_stream_synchronize(iris_world *w, iris_stream stream)
{
    const irisi_held_args held = {NULL, NULL, 0, 0, stream, NULL};
    if (irisi_grouped())
        return irisi_hold(w, "iris_stream_synchronize", irisi_held_stream_synchronize, IRISI_HELD_WAITS,
                          &held, sizeof held);
    const iris_status status = irisi_take_stream(w, "iris_stream_synchronize", &stream);
    if (status != IRIS_OK)
        return status;
    return irisi_drained(w, "iris_stream_synchronize", irisi_dev_stream_synchronize(&w->dev, stream));
}

iris_status iris_event_create(iris_world *w, iris_event *event)
{
    const iris_status status = irisi_enter_own(w, "iris_event_create");
    if (event)
        *event = NULL;
    if (status != IRIS_OK)
        return status;
    if (!event)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_event_create: the result's address is null");
    return irisi_device_result(w, "iris_event_create", irisi_dev_event_create(&w->dev, event));
}

iris_status iris_event_destroy(iris_world *w, iris_event event)
{
    const iris_status status = irisi_enter(w, "iris_event_destroy");
    return status != IRIS_OK || !event
               ? status
               : irisi_device_result(w, "iris_event_destroy", irisi_dev_event_destroy(&w->dev, event));
}

iris_status iris_event_record(iris_world *w, iris_event event, iris_stream stream)
{
    const irisi_held_args held = {NULL, NULL, 0, 0, stream, event};
    if (irisi_grouped())
        return irisi_hold(w, "iris_event_record", irisi_held_event_record, IRISI_HELD_RETURNS, &held, sizeof held);
    const iris_status status = irisi_take_stream(w, "iris_event_record", &stream);
    if (status != IRIS_OK)
        return status;
    if (!event)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_event_record: the event is null");
    return irisi_device_result(w, "iris_event_record", irisi_dev_event_record(&w->dev, event, stream));
}

iris_status iris_stream_wait_event(iris_world *w, iris_stream stream, iris_event event)
{
    const irisi_held_args held = {NULL, NULL, 0, 0, stream, event};
    if (irisi_grouped())
        return irisi_hold(w, "iris_stream_wait_event", irisi_held_stream_wait_event, IRISI_HELD_RETURNS,
                          &held, sizeof held);
    const iris_status status = irisi_take_stream(w, "iris_stream_wait_event", &stream);
    if (status != IRIS_OK)
        return status;
    if (!event)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_stream_wait_event: the event is null");
    return irisi_device_result(w, "iris_stream_wait_event", irisi_dev_stream_wait_event(&w->dev, stream, event));
}

iris_status iris_event_elapsed_ms(iris_world *w, float *ms, iris_event start, iris_event stop)
{
    const iris_status status = irisi_enter(w, "iris_event_elapsed_ms");
    if (status != IRIS_OK)
        return status;
    if (!ms || !start || !stop)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_event_elapsed_ms: an event or the result's address is null");
    return irisi_device_result(w, "iris_event_elapsed_ms", irisi_dev_event_elapsed_ms(&w->dev, ms, start, stop));
}

/* ---- spawn ---------------------------------------------------------------------------------------------------- */

/* A socket pair for each rank, and in pair n one for the spawning parent: ends[i] the rank's, hub[i] the hub's. */
static int irisi_pairs(int n, int *hub, int *ends)
{
    int pair[2];
    for (int i = 0; i <= n; i++)
        hub[i] = ends[i] = -1;
    for (int i = 0; i <= n; i++) {
        if (irisi_socket_pair(pair) != 0) {
            irisi_close_all(hub, n + 1);
            irisi_close_all(ends, n + 1);
            return -1;
        }
        hub[i] = pair[0];
        ends[i] = pair[1];
    }
    return 0;
}

/* One rank of iris_spawn or iris_init_all. */
typedef struct irisi_seat {
    irisi_settings settings;
    irisi_link link;
    iris_rank_main main; /* null: only make the world */
    void *arg;
    iris_world *world;
    int result;
    int caused; /* it failed because another rank did */
    int over;   /* 1: result and caused are final, but for what exit() does */
    iris_status status;
    char error[IRISI_SENTENCE];
    irisi_reported reported; /* the first seat's: of all ranks */
} irisi_seat;

/* What a process exits with for its main's value: not 0 unless that is. */
static int irisi_exit_value(int result) { return result == 0 ? 0 : result & 255 ? result & 255 : 255; }

/* A rank from start to end: its main's value, or 1 for a failure of this library. */
static void *irisi_seat_run(void *arg)
{
    irisi_seat *seat = (irisi_seat *)arg;
    char text[96];
    if (seat->main) {
        irisi_job_reported = &(seat - seat->settings.c.rank)->reported;
        irisi_job_rank = seat->settings.c.rank;
    }
    seat->status = irisi_start(&seat->world, &seat->settings, &seat->link);
    if (seat->status != IRIS_OK || !seat->main) {
        snprintf(seat->error, sizeof seat->error, "%s", irisi_last_error);
        seat->result = seat->status == IRIS_OK ? 0 : 1;
        if (seat->main)
            irisi_try_failed(seat->status, "iris_init");
        return NULL;
    }
    const int rank = seat->world->rank;
    const int result = seat->main(seat->world, seat->arg);
    if (irisi_foreign(seat->world)) { /* a child that the rank forked: the seat, which ranks share, is its parent's */
        iris_finalize(seat->world);
        exit(irisi_exit_value(result));
    }
    seat->result = result;
    if (seat->result != 0) {
        seat->caused = irisi_take_notice(seat->world) == IRIS_ERR_PEER;
        snprintf(text, sizeof text, "rank %d failed: its main returned %d", rank, seat->result);
        /* Where it has been printed why the rank failed, those who hear that it did print nothing. */
        if (irisi_job_reported && __atomic_load_n(&irisi_job_reported->sentences[0], __ATOMIC_ACQUIRE))
            irisi_first_to_report(text);
        irisi_stop(seat->world, IRIS_ERR_PEER, text);
        irisi_trace_end_all(seat->world);
        irisi_leave(seat->world, text);
        irisi_world_free(seat->world);
        return NULL;
    }
    seat->status = iris_finalize(seat->world);
    seat->caused = seat->status == IRIS_ERR_PEER;
    if (seat->status != IRIS_OK)
        seat->result = irisi_try_failed(seat->status, "iris_finalize");
    return NULL;
}

static void irisi_seats_free(irisi_seat *seats, int n) { munmap(seats, (size_t)n * sizeof *seats); }

/* Settings and sockets for n ranks of one job; ends[n] is the spawning parent's. Forked ranks share the seats. */
static iris_status irisi_seats_new(irisi_seat **made, int n, const iris_config *config, int *hub, int *ends)
{
    irisi_settings s;
    if (irisi_settle_options(&s, config) != IRIS_OK)
        return IRIS_ERR_ARGUMENT;
    irisi_warn_of_variables();
    void *memory =
        mmap(NULL, (size_t)n * sizeof(irisi_seat), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || irisi_pairs(n, hub, ends) != 0) {
        if (memory != MAP_FAILED)
            irisi_seats_free((irisi_seat *)memory, n);
        return irisi_fail(NULL, IRIS_ERR_SYSTEM, "no memory or no descriptors for %d ranks (see ulimit -n)", n);
    }
    irisi_seat *seats = *made = (irisi_seat *)memory;
    s.launcher = "iris_spawn";
    for (int r = 0; r < n; r++) {
        seats[r].settings = s;
        seats[r].settings.c.rank = r;
        seats[r].settings.c.world = n;
        seats[r].settings.ordinal = r;
        seats[r].link.sock = n > 1 ? ends[r] : -1;
        seats[r].link.parent = hub[n];
        seats[r].link.hub = r == 0 && n > 1 ? hub : NULL;
    }
    return IRIS_OK;
}

/* Runs the seats as threads of this process. */
static iris_status irisi_run_threads(irisi_seat *seats, int n)
{
    pthread_t threads[IRISI_MOST_RANKS];
    int started = 0;
    while (started < n && irisi_thread_with_room(&threads[started], irisi_seat_run, &seats[started]) == 0)
        started++;
    for (int r = started; r < n; r++) { /* no thread: the others see its connection close */
        seats[r].status = irisi_fail(NULL, IRIS_ERR_SYSTEM, "cannot create a thread for rank %d of %d", r, n);
        snprintf(seats[r].error, sizeof seats[r].error, "%s", irisi_last_error);
        seats[r].result = 1;
        irisi_socket_close(seats[r].link.sock);
    }
    for (int r = 0; r < started; r++)
        pthread_join(threads[r], NULL);
    return started == n ? IRIS_OK : IRIS_ERR_SYSTEM;
}

iris_status iris_init_all(iris_world **worlds, int n, const iris_config *config)
{
    int hub[IRISI_MOST_RANKS + 1], ends[IRISI_MOST_RANKS + 1];
    irisi_seat *seats = NULL;
    irisi_prepare_process();
    if (!worlds || n < 1 || n > IRISI_MOST_RANKS)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_init_all: %d ranks (1 to %d%s)%s", n, IRISI_MOST_RANKS,
                          irisi_more_ranks, worlds ? "" : ", and worlds is null");
    memset(worlds, 0, (size_t)n * sizeof *worlds);
    iris_status status = irisi_seats_new(&seats, n, config, hub, ends);
    if (status != IRIS_OK)
        return status;
    irisi_socket_close(hub[n]);
    irisi_socket_close(ends[n]);
    seats[0].link.parent = -1;
    if (n == 1)
        irisi_socket_close(hub[0]), irisi_socket_close(ends[0]);
    irisi_run_threads(seats, n);
    for (int r = 0; r < n && status == IRIS_OK; r++) {
        status = seats[r].status;
        memcpy(irisi_last_error, seats[r].error, sizeof irisi_last_error);
    }
    for (int r = 0; r < n; r++) {
        worlds[r] = status == IRIS_OK ? seats[r].world : NULL;
        if (status != IRIS_OK && seats[r].world)
            irisi_world_free(seats[r].world);
    }
    irisi_seats_free(seats, n);
    return status;
}

/* A forked rank; does not return. */
static void irisi_child(irisi_seat *seats, int n, int rank, const int *hub, const int *ends, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it died before the line above */
    irisi_seat *seat = &seats[rank];
    irisi_group_drop(); /* the parent's thread may have had one */
    int own[IRISI_MOST_RANKS + 2], n_own = 0;
    if (n > 1)
        own[n_own++] = ends[rank];
    for (int r = 0; seat->link.hub && r <= n; r++)
        own[n_own++] = hub[r];
    irisi_sockets_keep_only(own, n_own);
    irisi_seat_run(seat);
    fflush(NULL);
    __atomic_store_n(&seat->over, 1, __ATOMIC_RELEASE);
    exit(irisi_exit_value(seat->result));
}

/* How a child ended whose end somebody else was told (SIGCHLD ignored, another wait), as waitpid would say it. */
static int irisi_child_taken(const irisi_seat *seat, int rank, int hub)
{
    char text[160];
    if (__atomic_load_n(&seat->over, __ATOMIC_ACQUIRE))
        return irisi_exit_value(seat->result) << 8;
    snprintf(text, sizeof text, "rank %d died; how is unknown, since SIGCHLD is ignored or something else waits for "
             "children", rank);
    if (irisi_to_be_reported(rank, text))
        fprintf(stderr, "iris: %s\n", text);
    irisi_send_text(hub, IRISI_DIED, rank, IRIS_ERR_PEER, text);
    return 1 << 8;
}

/* What a child's end means for the job: 0, its exit value, or 128 + signal. The hub and stderr hear of a death. */
static int irisi_child_ended(int rank, int how, int hub)
{
    char text[256];
    if (WIFEXITED(how))
        return WEXITSTATUS(how);
    const int touched = (WTERMSIG(how) == SIGSEGV || WTERMSIG(how) == SIGBUS) && !IRISI_CHECKED;
    snprintf(text, sizeof text, "rank %d died (killed by signal %d, %s)%s", rank, WTERMSIG(how),
             strsignal(WTERMSIG(how)),
             touched ? irisi_build_checked : "");
    if (irisi_to_be_reported(rank, text))
        fprintf(stderr, "iris: %s\n", text);
    irisi_send_text(hub, IRISI_DIED, rank, IRIS_ERR_PEER, text);
    return 128 + WTERMSIG(how);
}

/* What a job returns: the value of the first rank that failed by itself, else of the first that failed. */
typedef struct irisi_verdict {
    int own, any;
} irisi_verdict;

static void irisi_judge(irisi_verdict *v, int value, int caused)
{
    if (value && !v->any)
        v->any = value;
    if (value && !caused && !v->own)
        v->own = value;
}

static void irisi_kill_children(const pid_t *pids, int n)
{
    for (int r = 0; r < n; r++) {
        if (pids[r] <= 0)
            continue;
        fprintf(stderr, "iris: rank %d did not leave after the failure and is killed\n", r);
        kill(pids[r], SIGKILL);
    }
}

/* Waits for every child. After the first failure the others have a deadline and two seconds to leave. */
static int irisi_wait_children(const irisi_seat *seats, pid_t *pids, int n, int hub, int64_t timeout_ms)
{
    irisi_verdict verdict = {0, 0};
    int left = 0, killed = 0;
    int64_t until = 0;
    for (int r = 0; r < n; r++)
        left += pids[r] > 0;
    while (left) {
        for (int r = 0; r < n; r++) {
            int how = 0;
            const pid_t ended = pids[r] > 0 ? waitpid(pids[r], &how, WNOHANG) : 0;
            if (ended == 0 || (ended < 0 && errno != ECHILD))
                continue;
            if (ended < 0)
                how = irisi_child_taken(&seats[r], r, hub);
            pids[r] = 0;
            left--;
            irisi_judge(&verdict, irisi_child_ended(r, how, hub),
                        WIFEXITED(how) && (ended > 0 || seats[r].over) ? seats[r].caused : killed);
        }
        if (verdict.any && !until)
            until = irisi_now_ms() + (timeout_ms < 0 ? 0 : timeout_ms) + 2000;
        if (until && !killed && irisi_now_ms() > until) {
            irisi_kill_children(pids, n);
            killed = 1;
        }
        if (left)
            irisi_nap_ms(3);
    }
    return verdict.own ? verdict.own : verdict.any;
}

static int irisi_spawn_processes(irisi_seat *seats, int n, int *hub, int *ends)
{
    pid_t pids[IRISI_MOST_RANKS];
    const pid_t parent = getpid();
    int failed = 0;
    fflush(NULL); /* or every child would write what is buffered once more */
    for (int r = 0; r < n; r++) {
        irisi_forks_ranks = 1;
        pids[r] = failed ? -1 : fork();
        irisi_forks_ranks = 0;
        if (pids[r] == 0)
            irisi_child(seats, n, r, hub, ends, parent);
        failed |= pids[r] < 0;
    }
    irisi_close_all(hub, n + 1);
    irisi_close_all(ends, n);
    if (failed)
        fprintf(stderr, "iris: cannot fork %d ranks: %s\n", n, strerror(errno));
    irisi_reported *outer = irisi_job_reported; /* of a rank that spawns a job of its own */
    irisi_job_reported = &seats[0].reported;
    const int result = irisi_wait_children(seats, pids, n, ends[n], failed ? -1 : seats[0].settings.c.timeout_ms);
    irisi_job_reported = outer;
    irisi_socket_close(ends[n]);
    return failed ? 1 : result;
}

int iris_spawn(int n, iris_rank_main main, void *arg) { return iris_spawn_config(n, main, arg, NULL); }

int iris_spawn_config(int n, iris_rank_main main, void *arg, const iris_config *config)
{
    int hub[IRISI_MOST_RANKS + 1], ends[IRISI_MOST_RANKS + 1], result = 0;
    irisi_prepare_process();
    const char *how = getenv("IRIS_SPAWN");
    const int threads = how && strcmp(how, "thread") == 0;
    irisi_seat *seats = NULL;
    iris_status status = IRIS_OK;
    if (n < 1 || n > IRISI_MOST_RANKS || !main)
        status = irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_spawn: %d ranks (1 to %d%s)%s", n, IRISI_MOST_RANKS,
                            irisi_more_ranks, main ? "" : ", and main is null");
    else if (how && *how && !threads && strcmp(how, "process") != 0)
        status = irisi_fail(NULL, IRIS_ERR_ARGUMENT, "IRIS_SPAWN=%.40s is neither process nor thread", how);
    else
        status = irisi_seats_new(&seats, n, config, hub, ends);
    if (status != IRIS_OK)
        return irisi_try_failed(status, "iris_spawn");
    for (int r = 0; r < n; r++) {
        seats[r].main = main;
        seats[r].arg = arg;
    }
    if (!threads) {
        result = irisi_spawn_processes(seats, n, hub, ends);
    } else {
        irisi_socket_close(hub[n]);
        irisi_socket_close(ends[n]);
        seats[0].link.parent = -1;
        if (n == 1)
            irisi_socket_close(hub[0]), irisi_socket_close(ends[0]);
        irisi_run_threads(seats, n);
        irisi_verdict verdict = {0, 0};
        for (int r = 0; r < n; r++)
            irisi_judge(&verdict, seats[r].result, seats[r].caused);
        result = verdict.own ? verdict.own : verdict.any;
    }
    irisi_report_likewise(&seats[0].reported, n);
    irisi_seats_free(seats, n);
    return result;
}
