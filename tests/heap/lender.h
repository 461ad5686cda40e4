/* SPDX-License-Identifier: MIT */
/*
 * lender.h: memory as another library would make it.
 *
 *   lent_memory     which iris_as_symmetric can put into the heap without a copy; base is null where this platform has
 *                   none; mapped() says how often this process maps it, -1 unknown
 *   others_memory   which ranks of this job can give to each other; of several kinds, where a platform has several
 */
#ifndef IRIST_LENDER_H
#define IRIST_LENDER_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <iris/init.h>

#include "gemm/device_memory.h"

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <iris/arch/nvidia/driver.h>

/* A driver function by name, since nothing links against the driver. */
template <class Function> Function driver(const char *name)
{
    return (Function)(uintptr_t)irisi_driver_find(name);
}

struct lent_memory {
    char *base;
    size_t bytes;

    lent_memory(iris_world *w, size_t least) : base(nullptr), bytes((least + (2u << 20) - 1) >> 21 << 21)
    {
        CUmemAllocationProp prop;
        CUmemAccessDesc access;
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at = 0;
        std::memset(&prop, 0, sizeof prop);
        std::memset(&access, 0, sizeof access);
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = iris_device(w);
        access.location = prop.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (std::strcmp(iris_heap_mode(w), "vmm") != 0)
            return;
        if (driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&at, bytes, 0, 0, 0) == CUDA_SUCCESS &&
            driver<decltype(&cuMemCreate)>("cuMemCreate")(&handle, bytes, &prop, 0) == CUDA_SUCCESS &&
            driver<decltype(&cuMemMap)>("cuMemMap")(at, bytes, 0, handle, 0) == CUDA_SUCCESS &&
            driver<decltype(&cuMemRelease)>("cuMemRelease")(handle) == CUDA_SUCCESS &&
            driver<decltype(&cuMemSetAccess)>("cuMemSetAccess")(at, bytes, &access, 1) == CUDA_SUCCESS)
            base = (char *)(uintptr_t)at;
    }
    ~lent_memory()
    {
        if (!base)
            return;
        driver<decltype(&cuMemUnmap)>("cuMemUnmap")((CUdeviceptr)(uintptr_t)base, bytes);
        driver<decltype(&cuMemAddressFree)>("cuMemAddressFree")((CUdeviceptr)(uintptr_t)base, bytes);
    }
    int mapped() const { return -1; }
};

#elif defined(IRIS_TARGET_AMD)

struct lent_memory {
    char *base;
    lent_memory(iris_world *, size_t) : base(nullptr) {}
    int mapped() const { return -1; }
};

#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct lent_memory {
    char *base;
    size_t bytes;
    int fd;

    lent_memory(iris_world *w, size_t least) : base(nullptr), bytes(least), fd(-1)
    {
        if (std::strcmp(iris_heap_mode(w), "vmm") != 0)
            return;
        fd = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
            return;
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        base = p == MAP_FAILED ? nullptr : (char *)p;
    }
    ~lent_memory()
    {
        if (base)
            munmap(base, bytes);
        if (fd >= 0)
            close(fd);
    }
    int mapped() const
    {
        struct stat file;
        char line[512];
        unsigned long inode = 0;
        int n = 0;
        FILE *f = std::fopen("/proc/self/maps", "r");
        fstat(fd, &file);
        while (f && std::fgets(line, sizeof line, f))
            n += std::sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode == file.st_ino;
        if (f)
            std::fclose(f);
        return n;
    }
};

#endif

struct others_memory {
    std::unique_ptr<lent_memory> lent;
    std::unique_ptr<device_memory> plain;
    char *base = nullptr;

    others_memory(iris_world *w, size_t bytes, uint32_t kind)
    {
        const char *spawn = std::getenv("IRIS_SPAWN");
        const bool host = std::strcmp(iris_arch_name(w), "host") == 0;
        const bool alone = iris_world_size(w) == 1 || (spawn && std::strcmp(spawn, "thread") == 0);
        if (kind % 2 == 0 || (host && !alone)) {
            lent.reset(new lent_memory(w, bytes));
            base = lent->base;
        }
        if (!base && (!host || alone)) {
            plain.reset(new device_memory(w, bytes));
            base = plain->base;
        }
    }
};

#endif
