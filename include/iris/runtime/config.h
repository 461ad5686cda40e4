/* SPDX-License-Identifier: MIT */
/*
 * config.h: who a rank is: its config, completed from the environment. Rank and world come from the config, else from
 * the launcher's variables, else the world is this rank alone.
 */
#ifndef IRIS_RUNTIME_CONFIG_H
#define IRIS_RUNTIME_CONFIG_H
#ifdef IRIS_INIT_C

#include <iris/runtime/environment.h>
#include <iris/runtime/heap_allocator.h>

/* How a rank starts: a config with everything filled in. */
typedef struct irisi_settings {
    iris_config c;
    int ordinal; /* of the device; -1: the current one */
    irisi_heap_mode heap_mode;
    int config_sizes[3]; /* 1: the caller's config says it: heap_bytes, sync_bytes, heap_max_bytes */
    const char *launcher;
    char job[160];
    char by[448]; /* who says that it is this rank of so many, for sentences */
} irisi_settings;

/* A rank's connection to the hub, and in rank 0 the hub's ends. */
typedef struct irisi_link {
    int sock, parent;
    int *hub; /* null: not rank 0 */
} irisi_link;

static uint64_t irisi_hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = irisi_hash_word(h, (unsigned char)*text);
    return h;
}

/* A number that says which machine this is (which boot of it). */
static uint64_t irisi_node(void)
{
    char text[128] = "";
    FILE *f = irisi_open_text("/proc/sys/kernel/random/boot_id");
    if (!f || !fgets(text, sizeof text, f))
        gethostname(text, sizeof text - 1);
    if (f)
        fclose(f);
    return irisi_hash_text(text);
}

/* A whole number from the environment; 1: read, 0: not set, -1: nonsense (with a sentence). */
static int irisi_env_number(const char *name, int64_t low, int64_t high, int64_t *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return 0;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (errno || *end || n < low || n > high) {
        irisi_fail(NULL, IRIS_ERR_ARGUMENT, "%s=%.40s is not a whole number from %lld to %lld", name, text,
                   (long long)low, (long long)high);
        return -1;
    }
    *value = n;
    return 1;
}

/* Default deadline; sanitizers make everything about ten times slower. */
static int64_t irisi_default_timeout_ms(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 100000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
    return 100000;
#else
    return 10000;
#endif
#else
    return 10000;
#endif
}

/* A size in MiB from the environment, unless the config has one. */
static int irisi_env_size(const char *name, size_t *bytes)
{
    int64_t mb = 0;
    const int found = *bytes ? 0 : irisi_env_number(name, 1, (int64_t)1 << 32, &mb);
    if (found > 0)
        *bytes = (size_t)mb << 20;
    return found;
}

/* Sums of a few sizes are in 64 bits. */
static iris_status irisi_check_size(const char *field, size_t bytes)
{
    const size_t most = (size_t)1 << 52;
    if (bytes <= most)
        return IRIS_OK;
    return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_config.%s is %zu bytes; at most %zu (4 PiB) can be", field, bytes,
                      most);
}

/* How heaps are to be made, and what they may grow to. */
static iris_status irisi_settle_heap(irisi_settings *s)
{
    const char *mode = s->c.heap ? s->c.heap : getenv("IRIS_HEAP");
    s->heap_mode = IRISI_HEAP_AUTO;
    if (mode && strcmp(mode, "ipc") == 0)
        s->heap_mode = IRISI_HEAP_IPC;
    else if (mode && strcmp(mode, "vmm") == 0)
        s->heap_mode = IRISI_HEAP_VMM;
    else if (mode && *mode && strcmp(mode, "auto") != 0)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "IRIS_HEAP=%.40s is none of auto, ipc and vmm", mode);
    if (irisi_check_size("heap_bytes", s->c.heap_bytes) != IRIS_OK ||
        irisi_check_size("sync_bytes", s->c.sync_bytes) != IRIS_OK ||
        irisi_check_size("heap_max_bytes", s->c.heap_max_bytes) != IRIS_OK)
        return IRIS_ERR_ARGUMENT;
    size_t *const sizes[] = {&s->c.heap_bytes, &s->c.sync_bytes, &s->c.heap_max_bytes};
    for (int i = 0; i < 3; i++) {
        s->config_sizes[i] = *sizes[i] > 0;
        if (irisi_env_size(irisi_size_variable[i], sizes[i]) < 0)
            return IRIS_ERR_ARGUMENT;
    }
    return IRIS_OK;
}

/* Everything of the config but rank and world. */
static iris_status irisi_settle_options(irisi_settings *s, const iris_config *config)
{
    const int64_t longest = (int64_t)1 << 40; /* 35 years: times in a device's ticks are in 64 bits too */
    int64_t number = 0;
    memset(s, 0, sizeof *s);
    s->ordinal = -1;
    s->launcher = "config";
    if (config)
        s->c = *config;
    if (s->c.timeout_ms < -1 || s->c.timeout_ms > longest)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_config.timeout_ms is %lld; at most %lld can be, -1 means none",
                          (long long)s->c.timeout_ms, (long long)longest);
    if (irisi_log_level() < 0)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "IRIS_LOG=%.40s is none of error, warn, info and debug",
                          getenv("IRIS_LOG"));
    if (irisi_settle_heap(s) != IRIS_OK)
        return IRIS_ERR_ARGUMENT;
    if (!s->c.timeout_ms) {
        const int found = irisi_env_number("IRIS_TIMEOUT_MS", 0, longest, &number);
        if (found < 0)
            return IRIS_ERR_ARGUMENT;
        s->c.timeout_ms = found == 0    ? irisi_default_timeout_ms()
                          : number == 0 ? -1
                                        : number; /* 0 in the variable: none */
    }
    number = 0;
    if (!s->c.checked && irisi_env_number("IRIS_CHECKED", 0, 1, &number) < 0)
        return IRIS_ERR_ARGUMENT;
    s->c.checked = s->c.checked || number;
    if (!s->c.token)
        s->c.token = getenv("IRIS_TOKEN");
    if (!s->c.token)
        s->c.token = "";
    if (strlen(s->c.token) >= IRISI_TOKEN)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "the job token has %zu bytes; at most %d", strlen(s->c.token),
                          IRISI_TOKEN - 1);
    if (!s->c.host)
        s->c.host = getenv("IRIS_HOST");
    if (s->c.host && !*s->c.host)
        s->c.host = NULL;
    number = 0;
    if (!s->c.port && irisi_env_number("IRIS_PORT", 1, 65535, &number) < 0)
        return IRIS_ERR_ARGUMENT;
    s->c.port = s->c.port ? s->c.port : (int)number;
    if (s->c.port < 0 || s->c.port > 65535)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_config.port is %d; ports are 1 to 65535", s->c.port);
    return IRIS_OK;
}

/* One launcher's variables. */
typedef struct irisi_launcher {
    const char *name, *rank, *world;
    const char *only_with; /* the pair counts only where this is set; or null */
    const char *job[2];    /* what names the job: all that are set, joined */
} irisi_launcher;

static const irisi_launcher irisi_launchers[] = {
    {"IRIS_RANK", "IRIS_RANK", "IRIS_WORLD", NULL, {NULL, NULL}},
    {"torchrun", "RANK", "WORLD_SIZE", NULL, {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}},
    {"MPICH", "PMI_RANK", "PMI_SIZE", NULL, {"PMI_JOBID", NULL}},
    /* sbatch and salloc set a task count too; only srun's steps have ranks. */
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

/* A name of this job that all its ranks on this machine find, and no other job does. */
static void irisi_settle_job(irisi_settings *s, const irisi_launcher *l)
{
    const char *job = s->c.job ? s->c.job : getenv("IRIS_JOB");
    const char *first = l && l->job[0] ? getenv(l->job[0]) : NULL, *second = l && l->job[1] ? getenv(l->job[1]) : NULL;
    char name[1024];
    int length = 0;
    if (job && *job)
        length = snprintf(name, sizeof name, "%s", job);
    else if (first || second)
        length = snprintf(name, sizeof name, "%s.%s", first ? first : "", second ? second : "");
    else
        length = snprintf(name, sizeof name, "parent-%d", (int)getppid());
    if ((size_t)length < sizeof s->job) /* else what is cut off counts too */
        memcpy(s->job, name, (size_t)length + 1);
    else
        snprintf(s->job, sizeof s->job, "%.60s-%016llx", name, (unsigned long long)irisi_hash_text(name));
}

/* How a sentence names the pair of variables that a launcher set. */
static void irisi_launcher_text(char *text, size_t room, const irisi_launcher *l)
{
    snprintf(text, room, "%s=%.12s and %s=%.12s", l->rank, getenv(l->rank), l->world, getenv(l->world));
}

/*
 * Who decided which rank this is. Another launcher that says otherwise of as many ranks or more is probably the one
 * that started them, as where a pod's RANK and WORLD_SIZE make each process of an mpirun rank 0; one that counts fewer
 * has started launchers on its nodes.
 */
static void irisi_settle_by(irisi_settings *s, const irisi_launcher *found)
{
    const irisi_launcher *end = irisi_launchers + sizeof irisi_launchers / sizeof *irisi_launchers;
    char pair[120] = "iris_config", others[200] = "";
    if (found)
        irisi_launcher_text(pair, sizeof pair, found);
    for (const irisi_launcher *l = found && found != irisi_launchers ? found + 1 : end; l < end && !others[0]; l++) {
        const char *rank = getenv(l->rank), *world = getenv(l->world);
        if ((l->only_with && !getenv(l->only_with)) || !rank || !world || atoi(world) < s->c.world ||
            (atoi(world) == s->c.world && atoi(rank) == s->c.rank))
            continue;
        snprintf(others, sizeof others, ", while ");
        irisi_launcher_text(others + strlen(others), sizeof others - strlen(others), l);
    }
    snprintf(s->by, sizeof s->by, "this process is rank %d of %d by %s%s%s", s->c.rank, s->c.world, pair, others,
             others[0] ? "; unset the pair that is wrong, or set IRIS_RANK and IRIS_WORLD" : "");
    if (others[0])
        irisi_warn("%s", s->by);
}

static iris_status irisi_settle(irisi_settings *s, const iris_config *config)
{
    iris_status status = irisi_settle_options(s, config);
    const irisi_launcher *found = NULL;
    if (status != IRIS_OK)
        return status;
    for (size_t i = 0; s->c.world == 0 && i < sizeof irisi_launchers / sizeof *irisi_launchers && !found; i++) {
        const irisi_launcher *l = &irisi_launchers[i];
        int64_t rank = 0, world = 0;
        if (l->only_with && !getenv(l->only_with))
            continue;
        const int has_world = irisi_env_number(l->world, 1, INT32_MAX, &world);
        const int has_rank =
            has_world < 0 ? -1 : irisi_env_number(l->rank, 0, has_world ? world - 1 : (int64_t)INT32_MAX, &rank);
        if (has_rank < 0)
            return IRIS_ERR_ARGUMENT;
        if (has_rank != has_world)
            return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "%s is set but %s is not; set both or neither",
                              has_rank ? l->rank : l->world, has_rank ? l->world : l->rank);
        if (world > IRISI_MOST_RANKS)
            return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "%s=%lld: a world has at most %d ranks%s", l->world,
                              (long long)world, IRISI_MOST_RANKS, irisi_more_ranks);
        if (has_rank) {
            s->c.rank = (int)rank;
            s->c.world = (int)world;
            s->launcher = l->name;
            found = l;
        }
    }
    if (s->c.world == 0) {
        s->c.rank = 0;
        s->c.world = 1;
        s->launcher = "alone";
    }
    if (s->c.world < 0 || s->c.world > IRISI_MOST_RANKS || s->c.rank < 0 || s->c.rank >= s->c.world)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "there is no rank %d of a world of %d (at most %d%s)", s->c.rank,
                          s->c.world, IRISI_MOST_RANKS, irisi_more_ranks);
    irisi_settle_job(s, found);
    irisi_settle_by(s, found);
    if (s->c.rank == 0)
        irisi_warn_of_variables();
    return IRIS_OK;
}

#endif
#endif
