/* SPDX-License-Identifier: MIT */
/*
 * descriptor.h: how init.c opens anything.
 *
 *   irisi_descriptor irisi_open_text
 *
 * A program may run with its standard streams closed. What is opened then would get their numbers, and what the program
 * prints would go to the other ranks. So the library keeps no descriptor below 3, and none that a new program inherits.
 */
#ifndef IRIS_ARCH_DESCRIPTOR_H
#define IRIS_ARCH_DESCRIPTOR_H
#ifdef IRIS_INIT_C

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Takes a descriptor that was just opened and returns it as it is to be kept: not below 3, closed by exec. Or -1. */
static int irisi_descriptor(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        if (fd >= 0)
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
    }
    const int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), failed = errno;
    close(fd);
    errno = failed;
    return kept;
}

/* A file to read, or null. */
static FILE *irisi_open_text(const char *path)
{
    const int fd = irisi_descriptor(open(path, O_RDONLY | O_CLOEXEC));
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

#endif
#endif
