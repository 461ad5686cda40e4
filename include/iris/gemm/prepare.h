/* SPDX-License-Identifier: MIT */
/*
 * prepare.h: plans for GEMMs with communication, from the host. Implemented by init.c.
 *
 *   iris_gemm_prepare iris_gemm_release iris_gemm_pattern_name
 *   iris_gemm_set_rows                        fewer rows in the launches to come
 *   iris_gemm_choice iris_gemm_candidates     what was chosen for a plan, and what else is worth a try, as tuning rows
 *   iris_gemm_tiles                           how many tiles there are
 *   iris_gemm_grid                            the launch of your own kernels that carry a plan
 *   irisi_gemm_run                            what the launchers in gen/launch/ call
 *   iris_gemm_pack                            what they do first, as must the launches of your own kernels
 */
#ifndef IRIS_GEMM_PREPARE_H
#define IRIS_GEMM_PREPARE_H

#include <iris/gemm/plan.h>
#include <iris/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Plans
 *
 * Host functions. A plan is made once and launched any number of times.
 *
 * @param w       the world, from iris_init
 * @param plan    the plan
 * @param op      the operation: a GEMM alone, or one with communication
 * @param dtype   type of A and B
 * @param args    what to compute; a zeroed field means its default
 * @param pattern how communication and arithmetic share the device
 * @param row     receives the choice
 * @param stream  null: the world's default stream
 * @{
 */
/**
 * Makes a plan: checks every value, lets the ranks compare what they passed, chooses what was left open, and creates
 * the plan's channel. Collective; when one rank's arguments are refused, every rank returns an error. The plan can be
 * used at once, without a barrier, by the launcher of any pattern that the program has kernels of.
 *
 * For IRIS_GEMM_LOCAL it is not collective, whatever the world's size: no other rank need call it, nothing is compared,
 * and nothing of the heap is taken. Its launchers are those of gen/launch/gemm.h.
 *
 * Mainloops on matrix units read A and B at multiples of 16 bytes. Where an operand or its rows start elsewhere, or its
 * rows are too far apart, the plan holds memory of the device for an aligned copy, as large as the operand with rows
 * rounded up to 128 bytes, and each launch makes the copy first. That takes as long as reading and writing the operand
 * once; aligned operands need neither memory nor time. Ranks may differ in what is aligned. On Hopper an unaligned B of
 * f16 or bf16 is read in place where C has the same type and at most 128 rows.
 *
 * With args->a_transposed no mainloop reads A in place: the plan holds an m x k copy, each row rounded up to 128 bytes,
 * and each launch makes it first, of as many rows as it has. A BLAS of the caller's reads A itself.
 * The bits of C are those of the same A given as m x k, aligned, by the same choice.
 *
 * What the arguments leave open is chosen by the first tuning row that is for the problem and contradicts no argument:
 * of args->tune, or if that is null of the environment's IRIS_TUNE, then of the built-in table; if there is none, by a
 * model of times. All ranks must read the same rows; if they do not find the same one, because their devices differ, no
 * row counts. docs/gemm-choosing.md says what a row is.
 *
 * With args->blas the choice may be IRIS_GEMM_BLAS_GATHER: a launch calls that function for this rank's columns, and
 * then, unless it is a GEMM alone, sends them. When the function fails, the launch returns the error on that rank; all
 * other ranks' waits end at once with IRIS_ERR_TIMEOUT and the same sentence, and the world needs iris_reset. No rank
 * waits for a GEMM alone. The bits of C may differ from those of the other patterns, but not between ranks.
 *
 * @param plan  receives the plan; it may be copied, but only one copy is to be released
 * @param dtype of A and B; iris_gemm_args says which types go together, and what they accumulate in
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for an invalid value; IRIS_ERR_UNSUPPORTED for types without kernels, types or a
 *         pattern that the operation lacks, a transposed A without the library's kernels for its types, or a pattern
 *         whose kernels the program holds only with IRIS_GEMM_ALL_PATTERNS; IRIS_ERR_GRID for workgroups that cannot be
 *         on the device at once; IRIS_ERR_DEVICE where the driver makes no tensor map;
 *         IRIS_ERR_NOMEM when the heap cannot hold the channel, or packets that a row asks for, or the device an
 *         operand's copy; IRIS_ERR_MISMATCH when ranks differ
 */
iris_status iris_gemm_prepare(iris_world *w, iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                              const iris_gemm_args *args);

/**
 * Bytes of symmetric memory that a plan needs for partial sums (reduce_scatter, all_reduce, all_reduce_rmsnorm) or the
 * gathered A (all_gather), 0 for other operations or for sizes and types that iris_gemm_prepare would refuse. Plans
 * launched on one stream may share one workspace, of the largest of their lengths: a launch is done with it, on all
 * ranks, when its stream has passed it. args->workspace and args->workspace_bytes say which; without them a plan
 * allocates its own.
 * With args->gathered (any address will do here) or args->ld_gathered it says how long args->gathered must be.
 */
size_t iris_gemm_workspace_bytes(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *args);

/**
 * Frees what a plan holds. Collective, but for a plan for IRIS_GEMM_LOCAL; this rank's work is drained first. Accepts a
 * zeroed plan. In a world that needs iris_reset it frees nothing, and the plan is released afterwards.
 *
 * Where ranks are threads that share a device, freeing an operand's copy waits for all kernels of all of them. So there
 * a plan for IRIS_GEMM_LOCAL that has copies is released while no other rank's kernel waits for this rank.
 */
iris_status iris_gemm_release(iris_world *w, iris_gemm_plan *plan);

/**
 * Says how many rows the launches to come have, as in decoding, where the batch changes from step to step: as if the
 * plan had been prepared for an m of `rows`, but with the mainloop, the tiles and the memory that it has. So own rows
 * are those of iris_gemm_shard(rows, world, rank). Of A (of its first columns, with a_transposed), C, out, the residual
 * and scale_a the first rows count; what is beyond is not read and stays as it was. With 0 a launch computes nothing,
 * and still meets the other ranks.
 *
 * Every rank says the same before the same launch of an operation that communicates; nothing is sent or allocated, and
 * the call returns at once. In a world in checked mode (iris_config.checked) the ranks compare their numbers, and must
 * all make the call. Launches already made keep their rows, and so does a graph that has captured them: capture one for
 * each number of rows, from the same plan. Other copies of the plan keep theirs too.
 *
 * Bits of C do not depend on the rows where the mainloop adds up K in one order for all tiles, as on the host platform
 * and on AMD; those of sums over ranks are the same on all ranks in any case.
 *
 * @param rows from 0 to the m that the plan was prepared for
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for another number, or a plan that is not live (on this rank alone, in checked
 *         mode too); IRIS_ERR_MISMATCH in checked mode when ranks differ; IRIS_ERR_DEVICE where the driver makes no
 *         tensor map. After an error the plan has the rows that it had
 */
iris_status iris_gemm_set_rows(iris_world *w, iris_gemm_plan *plan, int64_t rows);

/** "fused_sequential"; "auto"; "none" when `pattern` is none. */
const char *iris_gemm_pattern_name(iris_gemm_pattern pattern);

/** Most bytes of a tuning row, the 0 at its end included. */
enum { IRIS_GEMM_TUNE_ROW = 384 };

/** A row as iris_gemm_args.tune and IRIS_TUNE take it. */
typedef struct iris_gemm_row {
    char text[IRIS_GEMM_TUNE_ROW]; /**< ends in 0 */
} iris_gemm_row;

/**
 * The problem of a plan and what was chosen for it, as a tuning row, which makes the same choice for another plan. The
 * rows of two ranks may differ, as what they have to compute does; a row of iris_gemm_args.tune must be the same on
 * every rank, so hand on that of one.
 *
 * @param row receives it
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for a null pointer, and for a plan that is not live
 */
iris_status iris_gemm_choice(iris_world *w, const iris_gemm_plan *plan, iris_gemm_row *row);

/**
 * What a tuner would try for a plan's problem by one pattern, as tuning rows; where there is a model of times, the
 * fastest by it first. May take seconds for problems of a million tiles. The same on every rank that asks the same of
 * a plan with the same k.
 *
 * @param pattern for a GEMM alone IRIS_GEMM_AUTO, since it has none
 * @param rows    receives up to `most` rows
 * @param most    how many there is room for
 * @return how many; 0 when `pattern` is not possible, has senders but no peers, or is auto or blas_gather, which have
 *         no choice of tiles
 */
uint32_t iris_gemm_candidates(iris_world *w, const iris_gemm_plan *plan, iris_gemm_pattern pattern, iris_gemm_row *rows,
                              uint32_t most);

/** How many tiles a launch of the plan's rows computes; traces number them from 0. 0 for a null plan. */
uint32_t iris_gemm_tiles(const iris_gemm_plan *plan);

/**
 * The launch of your own kernel that carries a plan: the plan's workgroups, cooperative.
 *
 * @param plan   null: a launch of the default shape
 * @param stages staging tiles in shared memory: 1, or 2 for kernels with communication waves in each workgroup
 */
iris_launch_config iris_gemm_grid(const iris_gemm_plan *plan, uint32_t stages);

/**
 * Copies operands that the plan's mainloop cannot read in place (iris_gemm_prepare), a transposed A among them; does
 * nothing if it can. The launchers do it themselves; for your own kernels call it on the same stream before each
 * launch. Returns at once.
 */
iris_status iris_gemm_pack(iris_world *w, const iris_gemm_plan *plan, iris_stream stream);
/** @} */

/* Which part of an operation a kernel does. */
typedef enum irisi_gemm_kernel_role {
    IRISI_GEMM_KERNEL_WHOLE,          /* all of it */
    IRISI_GEMM_KERNEL_PACKETS,        /* all of it, by LL packets (gemm/tile_ll.h) */
    IRISI_GEMM_KERNEL_COMPUTE,        /* this rank's arithmetic */
    IRISI_GEMM_KERNEL_COMMUNICATE,    /* the communication, before, beside or behind the arithmetic */
    IRISI_GEMM_KERNEL_COMMUNICATE_LL, /* the same by LL packets (gemm/gather.h, reduce.h) */
    IRISI_GEMM_KERNEL_ROLES           /* how many there are */
} irisi_gemm_kernel_role;

/* The mainloop of a kernel that does not compute, and so goes with any mainloop. */
enum { IRISI_GEMM_ANY_LOOP = 255 };

/* A kernel that the program has. Kernels of a GEMM alone serve every pattern: theirs is IRIS_GEMM_AUTO. */
typedef struct irisi_gemm_kernel {
    uint32_t op, mainloop, pattern, role;
    irisi_kernel kernel;
    const char *name;
} irisi_gemm_kernel;

/*
 * The kernels that a launch header holds for types of A and B, and of C. Each header adds its own to a list, so that
 * any number of them can be in a program, in one file or in several.
 */
typedef struct irisi_gemm_offer {
    iris_dtype dtype, c_dtype;
    const irisi_gemm_kernel *rows;
    size_t n;
    irisi_kernel probe; /* which mainloops the image has; null in headers of operations */
    irisi_kernel pack;  /* copies operands (gemm/pack.h); null in headers of operations */
    struct irisi_gemm_offer *next;
} irisi_gemm_offer;

/* Adds an offer to the list, which keeps it: launch headers do, before main. */
void irisi_gemm_add_offer(irisi_gemm_offer *offer);

/* 1 while the stream (null: the default one) is captured into a graph, which may run branches one after the other. */
int irisi_gemm_capturing(iris_world *w, iris_stream stream);

/*
 * 1 where two kernels on two streams that wait for each other may run one after the other: in a graph, and where ranks
 * share a device. Their streams share the process's 32 queues, and a kernel that waits may hold up another rank's.
 */
int irisi_gemm_in_sequence(iris_world *w, iris_stream stream);

#define IRISI_GEMM_KERNEL(op, mainloop, pattern, role, kernel)                                                         \
    {(op), (mainloop), (pattern), (role), IRISI_KERNEL_PTR(kernel), #kernel}

/* Launches an operation by a pattern, with the kernels of the plan's mainloop; for a GEMM alone by IRIS_GEMM_AUTO. */
iris_status irisi_gemm_run(iris_world *w, const iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                           iris_dtype c_dtype, iris_gemm_pattern pattern, iris_stream stream);

#ifdef __cplusplus
}
#endif

#endif
