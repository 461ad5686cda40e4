/* SPDX-License-Identifier: MIT */
/*
 * world.h: the host API but for typed creation. Plain C11, usable from C++; implemented by init.c. Programs include
 * <iris/init.h>, which has both.
 *
 *   start       iris_init iris_init_all iris_finalize iris_reset iris_spawn
 *   one thread  iris_group_begin iris_group_end iris_group_call iris_launch_all
 *   facts       iris_rank iris_world_size iris_device iris_compute_units iris_arch_name iris_device_name
 *               iris_platform_name iris_device_ctx iris_clock_ticks
 *   together    iris_barrier iris_broadcast iris_allgather
 *   heap        iris_malloc iris_malloc_kind iris_free iris_is_symmetric iris_as_symmetric iris_is_alias
 *               iris_translate iris_heap_used iris_heap_high_water iris_heap_size iris_heap_grow iris_heap_limit
 *               iris_heap_mode
 *   memory      iris_memcpy iris_memset, and <iris/gen/create.h>: iris_zeros_f32 and its family, iris_peek_f32
 *   signals     iris_signals iris_channel_create iris_channel_destroy
 *   launching   iris_launch iris_grid iris_cooperative iris_max_workgroups iris_default_stream iris_stream_create
 *               iris_stream_destroy iris_stream_synchronize iris_synchronize iris_event_create iris_event_destroy
 *               iris_event_record iris_event_elapsed_ms iris_stream_wait_event
 *   errors      iris_status_name iris_error_string IRIS_TRY
 *
 * Every function that can fail returns an iris_status (or a null pointer) and leaves one sentence for
 * iris_error_string: what failed, on which rank, and what to do. "Collective" functions are called by every rank of
 * the world, in the same order. A world is used by one host thread at a time, and only in the process that made it: in
 * a forked child iris_finalize frees the copy, and everything else fails with IRIS_ERR_ARGUMENT.
 *
 * Environment: IRIS_RANK, IRIS_WORLD, IRIS_HOST, IRIS_PORT, IRIS_JOB, IRIS_TOKEN (start-up), IRIS_HEAP_MB,
 * IRIS_SYNC_MB, IRIS_HEAP (auto ipc vmm), IRIS_HEAP_MAX_MB, IRIS_TIMEOUT_MS (0: none), IRIS_CHECKED, IRIS_LOG (error
 * warn info debug), IRIS_SPAWN (process thread), IRIS_TUNE (how GEMMs and collectives are carried out),
 * IRIS_TRACE (a file for trace.h); docs/environment.md.
 * Launchers whose variables are understood: torchrun, Open MPI, MPICH (PMI) and Slurm.
 *
 * Where a stream is asked for, null means the world's default stream.
 */
#ifndef IRIS_WORLD_H
#define IRIS_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include <iris/abi.h>
#include <iris/arch/select.h>
#include <iris/channel.h>
#include <iris/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a call says about itself. Everything but IRIS_OK leaves a sentence for iris_error_string. */
typedef enum iris_status {
    IRIS_OK = 0,
    IRIS_ERR_ARGUMENT,    /**< a value the function does not take */
    IRIS_ERR_NOMEM,       /**< the symmetric heap, or the machine's memory, is full */
    IRIS_ERR_TIMEOUT,     /**< a wait passed its deadline; the world needs iris_reset */
    IRIS_ERR_PEER,        /**< a rank died or left; the job is over */
    IRIS_ERR_TOKEN,       /**< the job token does not match the other ranks' */
    IRIS_ERR_MISMATCH,    /**< ranks called collectives with different arguments or in a different order */
    IRIS_ERR_GRID,        /**< a cooperative grid is too large to be on the device at once */
    IRIS_ERR_ARCH,        /**< no kernel for this device */
    IRIS_ERR_DEVICE,      /**< the device runtime reported an error, there is no device, or the self-test failed */
    IRIS_ERR_SYSTEM,      /**< the operating system reported an error */
    IRIS_ERR_UNSUPPORTED, /**< not available on this platform or in this build */
    IRIS_ERR_CHECK        /**< checked mode, or all_to_allv, refused what a kernel did; the world needs iris_reset */
} iris_status;

/** One rank's membership of a job: opaque. */
typedef struct iris_world iris_world;

/**
 * Exchanges `bytes` bytes with every rank: `all` receives world * bytes, in rank order. Returns 0 on success.
 * For start-up only; MPI_Allgather, PMIx or anything else can stand behind it.
 */
typedef int (*iris_allgather_fn)(void *arg, const void *mine, void *all, size_t bytes);

/** How to start; a zeroed struct means defaults. Values left 0 come from the environment, then from defaults. */
typedef struct iris_config {
    int rank;                    /**< used with world > 0 */
    int world;                   /**< 0: take rank and world from the launcher's environment, else 1 rank */
    size_t heap_bytes;           /**< data part of the heap; IRIS_HEAP_MB; default 64 MiB on the host, 1 GiB on GPUs */
    size_t sync_bytes;           /**< sync part; IRIS_SYNC_MB; default 8 MiB on the host, 128 on NVIDIA, 64 on AMD */
    int64_t timeout_ms;          /**< deadline of waits, at most 2^40; IRIS_TIMEOUT_MS; default 10,000; -1 = none */
    int checked;                 /**< 1: compare allocation sequences and arguments between ranks; IRIS_CHECKED */
    const char *host;            /**< TCP rendezvous at host:port (rank 0's); IRIS_HOST; null: Unix socket, one node */
    int port;                    /**< IRIS_PORT */
    const char *job;             /**< names the job on this machine; IRIS_JOB, else the launcher's job id; where this
                                      struct gives rank and world, the parent process: ranks with others need a name */
    const char *token;           /**< secret that all ranks of a job share; IRIS_TOKEN */
    iris_allgather_fn allgather; /**< used for start-up instead of the environment's rendezvous address */
    void *allgather_arg;         /**< first argument of `allgather` */
    const char *heap;            /**< "ipc", "vmm" or "auto" (vmm where it can be had); IRIS_HEAP; default auto */
    size_t heap_max_bytes;       /**< most that iris_heap_grow can make of the data part; IRIS_HEAP_MAX_MB; default the
                                      device's memory, 8 GiB on the host. Addresses for it are reserved at start */
    int reserved[4];             /**< 0 */
} iris_config;

/**
 * @name Start and end
 *
 * Host functions. "Collective" ones are called by every rank of the world, in the same order. All that return a status
 * leave a sentence for iris_error_string when it is not IRIS_OK.
 *
 * @param w      the world; null does nothing where that is said
 * @param world  receives the world; null on failure
 * @param worlds receives n worlds
 * @param n      how many ranks
 * @param config null or zeroed for defaults
 * @param main   what each rank runs
 * @param arg    handed to it
 * @{
 */
/**
 * Joins (or starts) the job and creates this rank's symmetric heap, zeroed. Collective. Adopts the caller's current
 * device for good; host functions that take the world make its device current in the calling thread.
 *
 * @param world  receives the world; null on failure
 * @param config null or zeroed for defaults
 * @return IRIS_OK, or a status whose sentence iris_error_string(NULL) gives
 */
iris_status iris_init(iris_world **world, const iris_config *config);

/**
 * Creates `n` ranks inside this process, rank r on device r modulo the devices, as if each had called iris_init.
 * Collectives block until every rank has called: each world is driven by a thread of its own, or one thread makes the
 * calls of all worlds between iris_group_begin and iris_group_end. When it fails, the `n` of `worlds` are null, unless
 * `n` is out of range.
 */
iris_status iris_init_all(iris_world **worlds, int n, const iris_config *config);

/** Leaves the job and frees the world and its heap, whatever it returns. Collective; streams are drained first.
 *  Accepts null. In a process that forked from the world's it only frees the copy, and returns IRIS_OK. */
iris_status iris_finalize(iris_world *w);

/** Makes a world usable again after IRIS_ERR_TIMEOUT or IRIS_ERR_CHECK: drains, clears the abort word and every signal.
 *  Collective. */
iris_status iris_reset(iris_world *w);

/** A rank's main function for iris_spawn. A return value other than 0 fails the job. */
typedef int (*iris_rank_main)(iris_world *w, void *arg);

/**
 * Runs `n` ranks of `main` and waits for them: forked processes, before any device call, or with IRIS_SPAWN=thread
 * threads of this process. Initialises and finalises each rank's world. When a rank dies the others are told, and the
 * sentence naming it goes to stderr.
 *
 * @return 0, or the first failing rank's value (128 + signal number for one killed by a signal, 1 for an iris error)
 */
int iris_spawn(int n, iris_rank_main main, void *arg);
/** iris_spawn with a config for every rank (rank and world are set for each). */
int iris_spawn_config(int n, iris_rank_main main, void *arg, const iris_config *config);
/** @} */

/**
 * @name Facts
 *
 * Any host thread may ask; nothing here fails.
 *
 * @param w the world, from iris_init
 * @{
 */
/** This rank's number, 0 .. iris_world_size(w) - 1. */
int iris_rank(const iris_world *w);
/** The number of ranks. */
int iris_world_size(const iris_world *w);
/** Index of the device in its runtime's numbering; 0 on the host. */
int iris_device(const iris_world *w);
/** Compute units that this rank counts on (streaming multiprocessors; processor cores on the host): the device's,
 *  shared out evenly where several ranks run on it. */
int iris_compute_units(const iris_world *w);
/** "gfx942", "sm_90", "host". */
const char *iris_arch_name(const iris_world *w);
/** What the device calls itself: "NVIDIA H200", "AMD Instinct MI300X"; the processor's name on the host. */
const char *iris_device_name(const iris_world *w);
/** "host", "nvidia" or "amd": the platform that this program was built for. No world is needed. */
const char *iris_platform_name(void);
/** What kernels need: pass it by value in the argument struct. */
iris_ctx iris_device_ctx(const iris_world *w);
/**
 * Ticks of the device's iris_clock in `us` microseconds, rounded up: how long an iris_wait_until_* may last, to be
 * given to the kernel. UINT64_MAX, which is no limit, when 64 bits do not hold them; 0 of a null world.
 */
uint64_t iris_clock_ticks(const iris_world *w, uint64_t us);
/** @} */

/**
 * @name All ranks together
 *
 * Collective: every rank of the world calls them, in the same order. They block until all have.
 *
 * @param w     the world, from iris_init
 * @param data  host memory; of rank `root` what is copied, of others where it goes
 * @param mine  what this rank gives
 * @param all   receives world * bytes bytes, in rank order
 * @param bytes the same on every rank
 * @param root  the rank that gives
 * @{
 */
/**
 * Drains every stream that this world knows, then waits for every rank to do the same. Collective. Where iris_malloc,
 * typed creation, iris_signals, iris_as_symmetric or iris_tensor_create fails, the next barrier also returns that
 * status, once: a program that creates and then meets need not look at every pointer. In checked mode it also compares
 * the ranks' allocation calls: IRIS_ERR_MISMATCH names the first that differs.
 */
iris_status iris_barrier(iris_world *w);
/** Copies `bytes` bytes of host memory from rank `root` to every rank. Collective. */
iris_status iris_broadcast(iris_world *w, void *data, size_t bytes, int root);
/** Gathers `bytes` bytes of host memory from every rank into `all` (world * bytes), in rank order. Collective. */
iris_status iris_allgather(iris_world *w, const void *mine, void *all, size_t bytes);
/** @} */

/**
 * @name One thread for several worlds
 *
 * After iris_init_all one thread can drive all worlds: it makes their collective calls one after the other between
 * iris_group_begin and iris_group_end, as with NCCL. docs/how-to/drive-several-devices.md shows it.
 *
 * @param w    the world, from iris_init_all
 * @param main what to run; 0 means that it went well
 * @param arg  handed to it
 * @{
 */
/**
 * From here to iris_group_end the calling thread's calls are held. Held: iris_barrier, iris_broadcast, iris_allgather,
 * iris_heap_grow, iris_reset, iris_finalize, iris_synchronize, iris_stream_synchronize, iris_event_record,
 * iris_stream_wait_event, iris_launch, iris_launch_all, iris_free, iris_collective_channel, iris_channel_destroy, every
 * launcher of a collective or message, operations on a stream (on_stream.h), iris_tensor_reshard, iris_team_create,
 * iris_team_split, iris_register, iris_unregister and iris_group_call.
 *
 * A held call returns IRIS_OK at once. Its arguments are copied, a kernel's argument struct too; what pointers show to,
 * a result and a channel among it, is read and written by iris_group_end and lives until then. What only touches
 * memory of this rank (creation, iris_memcpy, iris_channel_create, iris_team_ctx) and facts happen at once, and are
 * refused behind a held call of the same world, which they would overtake. Everything else that takes a world,
 * iris_gemm_prepare and GEMM launchers among it, is refused; iris_group_call takes a function that makes such calls.
 * Groups can be nested: the outermost end counts. IRIS_TRY ends the group of a function that it leaves, without making
 * its calls.
 */
iris_status iris_group_begin(void);
/**
 * Makes the calls that the thread's group holds: for each world in order, and for all worlds at the same time, in a
 * thread for each where one of them waits for other ranks. Returns when all have returned.
 *
 * @return the status of the call that failed first, whose sentence iris_error_string(NULL) gives; iris_error_string(w)
 *         has that of each world. What follows a failed call of a world is not made, but for iris_finalize. Where a
 *         call was refused when it was to be held, its status again: then none is made
 */
iris_status iris_group_end(void);
/** Holds main(w, arg), which may make any calls of its world, for iris_group_end; outside of a group runs it at once.
 *  When main does not return 0, the status is that of the last call that failed in it, or IRIS_ERR_PEER. */
iris_status iris_group_call(iris_world *w, iris_rank_main main, void *arg);
/** @} */

/** What memory is for. SYNC: signals, channels, LL packets and targets of remote atomics (uncached on AMD). */
typedef enum iris_mem_kind { IRIS_MEM_DATA, IRIS_MEM_SYNC } iris_mem_kind;

/**
 * @name The symmetric heap
 *
 * An object has the same offset on every rank as long as all ranks make the same calls in the same order.
 *
 * @param w     the world, from iris_init
 * @param bytes length
 * @param align a power of two; 0: 256 bytes
 * @param kind  IRIS_MEM_DATA, or IRIS_MEM_SYNC for signals, channels, packets and targets of remote atomics
 * @param p     address of the object on this rank
 * @param rank  world rank
 * @{
 */
/** Symmetric data memory, 256-byte aligned, contents undefined: the same offset on every rank. Collective in effect:
 *  equal call sequences give equal offsets. Null (and a sentence with the numbers) when the heap is full; the next
 *  iris_barrier says so too, unless iris_heap_grow comes before it. */
void *iris_malloc(iris_world *w, size_t bytes);
/** iris_malloc with a kind and an alignment (a power of two, 0 for the default). */
void *iris_malloc_kind(iris_world *w, size_t bytes, size_t align, iris_mem_kind kind);
/* The same for function `by`, whose name sentences about the memory give; `by` lives as long as the program. */
void *irisi_malloc_by(iris_world *w, const char *by, size_t bytes, size_t align, iris_mem_kind kind);

/* iris_memcpy and iris_memset, as a failure of `by`. */
iris_status irisi_memcpy_by(iris_world *w, const char *by, void *to, const void *from, size_t bytes);
iris_status irisi_memset_by(iris_world *w, const char *by, void *p, int byte, size_t bytes);
/** Gives memory back, in a world that needs iris_reset too. Put an iris_barrier before it when peers may still touch
 *  it. Accepts null. */
iris_status iris_free(iris_world *w, void *p);
/** 1 when [p, p + bytes) lies in this rank's heap. */
int iris_is_symmetric(const iris_world *w, const void *p, size_t bytes);
/**
 * Ordinary memory as a part of the heap, until iris_free. Collective: the same `bytes` on every rank.
 *
 * Without a copy where the memory can be mapped a second time: on NVIDIA device memory of cuMemCreate with the handle
 * type POSIX_FILE_DESCRIPTOR (as expandable segments and communication libraries make it), in one mapping; on the host
 * a memfd sealed against shrinking and mapped as a whole; on all ranks the same place in a mapping of the same size.
 * Everything else (cudaMalloc, hipMalloc, malloc, the stack) no driver can map there, and it is copied.
 * iris_is_alias tells which it was. Keep the original as long as the alias. Drains this rank's streams.
 */
void *iris_as_symmetric(iris_world *w, const void *p, size_t bytes);
/** 1 when `p` is memory that iris_as_symmetric put into the heap without a copy: a write here shows there. */
int iris_is_alias(const iris_world *w, const void *p);
/** The address, valid in this rank's kernels, of object `p` on `rank`; null, without a sentence, when p is outside the
 *  heap or there is no such rank. */
void *iris_translate(const iris_world *w, const void *p, int rank);
/**
 * Puts `bytes` more bytes of memory, rounded up and zeroed, behind the data part of every rank's heap. Collective: the
 * same `bytes` on every rank. Nothing moves: addresses, translations, captured graphs and contexts stay valid; checked
 * kernels accept the new part with a context that was made afterwards. Drains this rank's streams first; do not call it
 * while a kernel that waits is running.
 *
 * @return IRIS_ERR_MISMATCH when the ranks differ, IRIS_ERR_NOMEM beyond iris_heap_limit or without memory (the heap
 *         then is as before, on every rank), IRIS_ERR_UNSUPPORTED when iris_heap_mode is "ipc"
 */
iris_status iris_heap_grow(iris_world *w, size_t bytes);
/** Bytes that the data part can have at most. */
size_t iris_heap_limit(const iris_world *w);
/** "vmm": the heap can grow; "ipc": it is one allocation. */
const char *iris_heap_mode(const iris_world *w);
/** Bytes of the heap's part for `kind`. */
size_t iris_heap_size(const iris_world *w, iris_mem_kind kind);
/** Bytes of it that are allocated now. */
size_t iris_heap_used(const iris_world *w, iris_mem_kind kind);
/** The most bytes of it that were ever allocated at once. */
size_t iris_heap_high_water(const iris_world *w, iris_mem_kind kind);
/** @} */

/**
 * @name Data in and out
 *
 * The own rank's memory only: a kernel's puts and gets, or a collective, move data between ranks. On the host platform
 * the device's memory is the host's. <iris/gen/create.h> has typed forms: iris_upload_f32, iris_download_f32,
 * iris_peek_f32, iris_poke_f32. docs/how-to/move-data.md shows all of them.
 *
 * @param w     the world, from iris_init
 * @param to    where bytes go: host or device memory, in the heap or not
 * @param from  where they come from, likewise
 * @param p     device memory
 * @param byte  what each byte is set to
 * @param bytes how many; 0 does nothing
 * @{
 */
/** Copies between host and device memory, any direction; complete when it returns; ordered after the default
 *  stream's earlier work. */
iris_status iris_memcpy(iris_world *w, void *to, const void *from, size_t bytes);
/** Fills device memory with a byte; complete when it returns. */
iris_status iris_memset(iris_world *w, void *p, int byte, size_t bytes);
/** @} */

/**
 * @name Signals and channels
 *
 * In sync memory of the heap, the same offsets on every rank. Put an iris_barrier between creation and the first use.
 *
 * @param w          the world, from iris_init
 * @param n          how many
 * @param ch         the channel
 * @param signals    signals a rank
 * @param bank_bytes bytes of each of the two scratch banks
 * @{
 */
/** `n` zeroed signals in sync memory. */
iris_signal *iris_signals(iris_world *w, size_t n);

/**
 * State of one stateful operation: `signals` signals a rank, an epoch, two scratch banks of `bank_bytes` each.
 * Collective in effect; put an iris_barrier between creation and first use.
 */
iris_status iris_channel_create(iris_world *w, iris_channel *ch, size_t signals, size_t bank_bytes);
/** Gives a channel's memory back, in a world that needs iris_reset too. Collective in effect; put an iris_barrier
 *  before it. Accepts a zeroed channel. */
iris_status iris_channel_destroy(iris_world *w, iris_channel *ch);
/** @} */

/** Shape of a launch; 0 means the default. */
typedef struct iris_launch_config {
    uint32_t workgroups;   /**< default: one for each compute unit */
    uint32_t lanes;        /**< lanes a workgroup; default 256 */
    uint32_t shared_bytes; /**< workgroup-shared memory, what iris_shared() returns */
    uint32_t cluster;      /**< workgroups a cluster (sm_90); default 1 */
    uint32_t flags;        /**< IRIS_LAUNCH_COOPERATIVE */
} iris_launch_config;

/** The kernel waits for other workgroups or ranks: the whole grid must be on the device at once. */
enum { IRIS_LAUNCH_COOPERATIVE = 1 };

/*
 * The library's own: the kernel calls irisi_launch_wait, and may begin while the one before it in the stream ends, if
 * that one has called irisi_launch_next. Only for images that have the two (sm_90 and above).
 */
enum { IRISI_LAUNCH_EARLY = 2 };

/**
 * @name Launches
 *
 * A kernel that waits for another workgroup or rank has its whole grid on the device at once: a cooperative launch.
 *
 * @param w            the world, from iris_init
 * @param kernel       what IRIS_KERNEL declared
 * @param args         its argument struct, copied
 * @param bytes        size of the struct
 * @param cfg          shape of the launch; null for defaults
 * @param stream       null: the world's default stream
 * @param worlds       iris_launch_all: n worlds
 * @param n            how many worlds
 * @param streams      a stream of each world; null: default streams
 * @param workgroups   0: one for each compute unit
 * @param lanes        lanes a workgroup; 0: 256
 * @param shared_bytes workgroup-shared memory
 * @{
 */
/** An ordinary launch. */
iris_launch_config iris_grid(uint32_t workgroups, uint32_t lanes);
/** A launch for a kernel that waits. */
iris_launch_config iris_cooperative(uint32_t workgroups, uint32_t lanes);

/** iris_launch(w, kernel, &args, sizeof args, &cfg, stream): puts a kernel on a stream, with a copy of the arguments
 *  (at most 4 KiB). Returns an iris_status: IRIS_ERR_GRID when a cooperative grid does not fit; cfg may be null.
 *  `bytes` is the size of the kernel's struct; the host platform refuses any other, a GPU's runtime cannot tell. */
#define iris_launch(w, kernel, args, bytes, cfg, stream)                                                               \
    irisi_launch_grouped((w), IRISI_KERNEL_PTR(kernel), #kernel, (args), (bytes), (cfg), (stream))
iris_status irisi_launch_grouped(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                                 const iris_launch_config *cfg, iris_stream stream);
/**
 * iris_launch_all(worlds, n, kernel, args, bytes, cfg, streams): a kernel on the devices of n worlds at once, by one
 * thread. `args` has an argument struct of `bytes` bytes for each world, in the order of `worlds`, each with the
 * context of its world: ctx.rank is the device's index in the grid of devices. `streams` has a stream for each, or is
 * null for default streams. Grids, arguments and worlds are looked at before the first launch: where one is refused,
 * none is made. That a stream is another device's, only its launch shows.
 */
#define iris_launch_all(worlds, n, kernel, args, bytes, cfg, streams)                                                  \
    irisi_launch_all((worlds), (n), IRISI_KERNEL_PTR(kernel), #kernel, (args), (bytes), (cfg), (streams))
iris_status irisi_launch_all(iris_world *const *worlds, int n, irisi_kernel kernel, const char *name, const void *args,
                             size_t bytes, const iris_launch_config *cfg, const iris_stream *streams);
/* At once, whatever a group holds. */
iris_status irisi_launch(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                         const iris_launch_config *cfg, iris_stream stream);
/* The same, with further flags. */
iris_status irisi_launch_with(iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                              const iris_launch_config *cfg, uint32_t flags, iris_stream stream);
/** iris_max_workgroups(w, kernel, lanes, shared_bytes): workgroups that can be on the device at once; 0 on error. */
#define iris_max_workgroups(w, kernel, lanes, shared_bytes)                                                            \
    irisi_max_workgroups((w), IRISI_KERNEL_PTR(kernel), (lanes), (shared_bytes))
uint32_t irisi_max_workgroups(iris_world *w, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes);
/** @} */

/**
 * @name Streams and events
 *
 * In-order queues of work; null is the world's default stream. What fails on the device is told by the call that waits.
 *
 * @param w      the world, from iris_init
 * @param stream the stream: of iris_stream_create, or on a GPU one that the program made with the runtime itself
 * @param event  the event
 * @param ms     receives milliseconds
 * @param start  an event that was recorded
 * @param stop   one that was recorded later
 * @{
 */
/** The stream that memory copies are ordered with; it lives as long as the world. */
iris_stream iris_default_stream(iris_world *w);
/** Creates a stream whose work is not ordered with other streams' work. */
iris_status iris_stream_create(iris_world *w, iris_stream *stream);
/**
 * Drains and frees a stream. One that the program made with the runtime itself is drained and forgotten: once a call of
 * this world has named it, call this before cudaStreamDestroy or hipStreamDestroy, else a later iris_synchronize waits
 * for a handle that is gone. A world that has stopped returns its failure, and has drained and forgotten the stream.
 * IRIS_ERR_ARGUMENT for the default stream, and for one that is being captured.
 */
iris_status iris_stream_destroy(iris_world *w, iris_stream stream);
/** Waits for a stream; reports a deadline that passed on the device, with who waited for whom. */
iris_status iris_stream_synchronize(iris_world *w, iris_stream stream);
/**
 * Waits for every stream of the world: those that it made, and those of the program's that calls have named. A graph
 * that the program launches on another stream is not waited for.
 */
iris_status iris_synchronize(iris_world *w);
/** Creates an event for ordering streams and measuring time. */
iris_status iris_event_create(iris_world *w, iris_event *event);
/** Frees an event. */
iris_status iris_event_destroy(iris_world *w, iris_event event);
/** Marks the point in `stream` after everything submitted to it so far. */
iris_status iris_event_record(iris_world *w, iris_event event, iris_stream stream);
/** Later work of `stream` waits until the event's recorded point has passed; the host does not wait. */
iris_status iris_stream_wait_event(iris_world *w, iris_stream stream, iris_event event);
/** Milliseconds between two recorded events; waits for the second. */
iris_status iris_event_elapsed_ms(iris_world *w, float *ms, iris_event start, iris_event stop);
/** @} */

/**
 * @name Errors
 *
 * Any host thread may ask.
 *
 * @param status what a call returned
 * @param w      a world, or null for the calling thread's last failure
 * @param call   an expression of type iris_status
 * @{
 */
/** The status's name: "IRIS_ERR_NOMEM". */
const char *iris_status_name(iris_status status);
/** The last failure's sentence: of this world, or of the calling thread when `w` is null. Never null. */
const char *iris_error_string(const iris_world *w);
/* Records a failure with its sentence and returns it; for launchers in generated headers. */
iris_status irisi_fail(iris_world *w, iris_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Returns from a rank's main function (int) with the sentence on stderr when a call fails. */
#define IRIS_TRY(call)                                                                                                 \
    do {                                                                                                               \
        const iris_status irisi_status_ = (call);                                                                      \
        if (irisi_status_ != IRIS_OK)                                                                                  \
            return irisi_try_failed(irisi_status_, #call);                                                             \
    } while (0)
/** @} */
/* Remembers the last failure for the next iris_barrier: a creation function returns null. */
void irisi_creation_failed(iris_world *w);
int irisi_try_failed(iris_status status, const char *call);

#ifdef __cplusplus
}
#endif

#endif
