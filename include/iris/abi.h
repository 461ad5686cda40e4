/* SPDX-License-Identifier: MIT */
/*
 * abi.h: makes a mix of versions or platforms a link error, and a missing launcher one that says what to define.
 *
 * init.c defines one symbol whose name says version and target, iris_abi_0_1_host; every file that includes the
 * library refers to it. A file compiled for another target, or against another version's headers, does not link.
 * -DIRIS_FAR_RANKS, for worlds of more than IRIS_CTX_RANKS ranks, changes how kernels translate: the name says so.
 */
#ifndef IRIS_ABI_H
#define IRIS_ABI_H

#include <iris/arch/select.h>
#include <iris/ctx.h>

#if defined(IRIS_FAR_RANKS)
#define IRISI_MOST_RANKS 1024
#define IRISI_ABI_PASTE(major, minor, target) iris_abi_##major##_##minor##_##target##_far
#else
#define IRISI_MOST_RANKS IRIS_CTX_RANKS
#define IRISI_ABI_PASTE(major, minor, target) iris_abi_##major##_##minor##_##target
#endif
#define IRISI_ABI_NAME(major, minor, target) IRISI_ABI_PASTE(major, minor, target)
#define IRISI_ABI IRISI_ABI_NAME(IRIS_VERSION_MAJOR, IRIS_VERSION_MINOR, IRIS_TARGET_NAME)

#ifdef __cplusplus
extern "C" {
#endif
extern const char IRISI_ABI;
#ifdef __cplusplus
}
#endif

/*
 * Behind the prototype of a launcher, which exists where `macro` is defined before its header is first included: the
 * symbol holds the macro's name, so that the linker's "undefined reference" says what to define.
 */
#define IRISI_NEEDS(name, macro) __asm__(#name "__needs_" #macro)

static const char *const irisi_abi_used __attribute__((used)) = &IRISI_ABI;

#endif
