/* SPDX-License-Identifier: MIT */
/*
 * hip.cpp: a stand-in for libamdhip64: four MI300X of host memory, on which kernels do nothing. It is for host_half.c,
 * so that what init.c does on AMD runs somewhere without a GPU.
 *
 *   IRIST_HIP=5.0        a runtime of ROCm 5: no uncached memory, IPC's flag is 0, half of MI300's registers
 *   IRIST_HIP=6.0        likewise, but with uncached memory, and IPC's flag is 1
 *   IRIST_UNITS=16       devices of so many compute units, on 8 chiplets
 *   IRIST_SHARED=163840  of so many bytes of shared memory a compute unit: MI350X's
 *   IRIST_NO_IPC=1       other processes' handles cannot be opened
 */
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

enum { DEVICES = 4, COMPUTE_UNITS = 304, CHIPLETS = 8, SHARED = 64 << 10, CLOCK_KHZ = 100000 };
enum { WALL_CLOCK = 10017, XCCS = 10018 }; /* attributes that are not in every version's headers */

struct piece {
    size_t bytes;
    int fd;
    bool opened; /* another process's */
    int device;  /* that was current */
};
std::mutex lock;
std::map<void *, piece> pieces;
bool enabled[DEVICES][DEVICES];
thread_local int device;
thread_local hipError_t last;

hipError_t result(hipError_t error)
{
    if (error != hipSuccess)
        last = error;
    return error;
}

bool is(const char *version)
{
    const char *v = std::getenv("IRIST_HIP");
    return v && std::strcmp(v, version) == 0;
}

hipError_t map(void **p, size_t bytes, int fd, bool opened)
{
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return result(hipErrorOutOfMemory);
    std::lock_guard<std::mutex> hold(lock);
    pieces[at] = {bytes, fd, opened, device};
    *p = at;
    return hipSuccess;
}

hipError_t make(void **p, size_t bytes)
{
    const int fd = (int)syscall(SYS_memfd_create, "hip", 0);
    return ftruncate(fd, (off_t)bytes) != 0 ? result(hipErrorOutOfMemory) : map(p, bytes, fd, false);
}

hipError_t drop(void *p, bool opened)
{
    std::lock_guard<std::mutex> hold(lock);
    const auto found = pieces.find(p);
    if (found == pieces.end() || found->second.opened != opened)
        return result(hipErrorInvalidValue);
    munmap(p, found->second.bytes);
    close(found->second.fd);
    pieces.erase(found);
    return hipSuccess;
}

/* Kernels with light_ in their names, which come before this file's own variables are there. */
std::set<const void *> &light()
{
    static std::set<const void *> kernels;
    return kernels;
}

size_t shared()
{
    const char *set = std::getenv("IRIST_SHARED");
    return set ? (size_t)std::atoi(set) : (size_t)SHARED;
}

struct ipc {
    pid_t pid;
    int fd;
    size_t bytes;
};

} // namespace

extern "C" {
void **__hipRegisterFatBinary(const void *)
{
    static void *none;
    return &none;
}
void __hipUnregisterFatBinary(void **) {}
void __hipRegisterFunction(void **, const void *kernel, char *, const char *name, unsigned, void *, void *, void *,
                           void *, int *)
{
    if (std::strstr(name, "light_"))
        light().insert(kernel);
}
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *) { return hipErrorUnknown; }

hipError_t hipGetDeviceCount(int *n) { return *n = DEVICES, hipSuccess; }
hipError_t hipGetDevice(int *d) { return *d = device, hipSuccess; }
hipError_t hipSetDevice(int d)
{
    if (d < 0 || d >= DEVICES)
        return result(hipErrorInvalidDevice);
    return device = d, hipSuccess;
}
hipError_t hipDriverGetVersion(int *v) { return *v = 1, hipSuccess; }
hipError_t hipMemGetInfo(size_t *left, size_t *all) { return *left = *all = (size_t)192 << 30, hipSuccess; }
hipError_t hipDeviceGetAttribute(int *v, hipDeviceAttribute_t which, int)
{
    const char *units = std::getenv("IRIST_UNITS");
    *v = which == hipDeviceAttributeMultiprocessorCount         ? units ? std::atoi(units) : COMPUTE_UNITS
         : (int)which == XCCS && !std::getenv("IRIST_HIP")      ? CHIPLETS
         : which == hipDeviceAttributeMaxSharedMemoryPerBlock   ? (int)shared()
         : (int)which == WALL_CLOCK && !std::getenv("IRIST_HIP") ? CLOCK_KHZ
                                                                : -1;
    return *v < 0 ? result(hipErrorInvalidValue) : hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char *id, int room, int d)
{
    return std::snprintf(id, (size_t)room, "0000:%02x:00.0", d), hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int)
{
    std::memset(static_cast<void *>(p), 0, sizeof *p);
    std::strcpy(p->name, "a stand-in");
    std::strcpy(p->gcnArchName, "gfx942:sramecc+:xnack-");
    return hipSuccess;
}

hipError_t hipExtMallocWithFlags(void **p, size_t bytes, unsigned flags)
{
    return flags == 3 && is("5.0") ? result(hipErrorInvalidValue) : make(p, bytes);
}
hipError_t hipMalloc(void **p, size_t bytes) { return make(p, bytes); }
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t p)
{
    std::lock_guard<std::mutex> hold(lock);
    auto found = pieces.upper_bound(p);
    if (found == pieces.begin() || (char *)p >= (char *)(--found)->first + found->second.bytes)
        return result(hipErrorInvalidValue);
    return *base = found->first, *bytes = found->second.bytes, hipSuccess;
}
hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute which, hipDeviceptr_t p)
{
    std::lock_guard<std::mutex> hold(lock);
    auto found = pieces.upper_bound(p);
    if (which != HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL || found == pieces.begin())
        return result(hipErrorInvalidValue);
    return *(int *)value = (--found)->second.device, hipSuccess;
}
hipError_t hipHostMalloc(void **p, size_t bytes, unsigned) { return make(p, bytes); }
hipError_t hipFree(void *p) { return p ? drop(p, false) : hipSuccess; }
hipError_t hipHostFree(void *p) { return drop(p, false); }
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind, hipStream_t)
{
    return std::memcpy(to, from, bytes), hipSuccess;
}
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows,
                            hipMemcpyKind, hipStream_t)
{
    for (size_t i = 0; i < rows; i++)
        std::memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
    return hipSuccess;
}
hipError_t hipMemsetAsync(void *to, int byte, size_t bytes, hipStream_t)
{
    return std::memset(to, byte, bytes), hipSuccess;
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *p)
{
    std::lock_guard<std::mutex> hold(lock);
    const auto found = pieces.find(p);
    if (found == pieces.end())
        return result(hipErrorInvalidValue);
    const ipc mine = {getpid(), found->second.fd, found->second.bytes};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &mine, sizeof mine);
    return hipSuccess;
}
hipError_t hipIpcOpenMemHandle(void **p, hipIpcMemHandle_t handle, unsigned flags)
{
    ipc theirs;
    char path[64];
    std::memcpy(&theirs, &handle, sizeof theirs);
    if (flags != (is("5.0") ? 0u : 1u) || theirs.bytes == 0)
        return result(hipErrorInvalidValue);
    if (theirs.pid == getpid())
        return result(hipErrorInvalidContext);
    if (std::getenv("IRIST_NO_IPC"))
        return result(hipErrorInvalidDevicePointer);
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)theirs.pid, theirs.fd);
    const int fd = open(path, O_RDWR);
    return fd < 0 ? result(hipErrorInvalidDevicePointer) : map(p, theirs.bytes, fd, true);
}
hipError_t hipIpcCloseMemHandle(void *p) { return drop(p, true); }
hipError_t hipDeviceCanAccessPeer(int *can, int a, int b) { return *can = a != b, hipSuccess; }
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned)
{
    std::lock_guard<std::mutex> hold(lock);
    const bool before = enabled[device][peer];
    enabled[device][peer] = true;
    return before ? result(hipErrorPeerAccessAlreadyEnabled) : hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned) { return *s = (hipStream_t)std::malloc(1), hipSuccess; }
hipError_t hipStreamDestroy(hipStream_t s) { return std::free(s), hipSuccess; }
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus *s)
{
    return *s = hipStreamCaptureStatusNone, hipSuccess;
}
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return hipSuccess; }
hipError_t hipEventCreate(hipEvent_t *e) { return *e = (hipEvent_t)std::malloc(1), hipSuccess; }
hipError_t hipEventDestroy(hipEvent_t e) { return std::free(e), hipSuccess; }
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t, hipEvent_t) { return *ms = 1, hipSuccess; }

/*
 * Kernels of 256 lanes that need as many registers as they can have. Light ones need few, so that 8 workgroups fit a
 * compute unit, and have 64 bytes of shared memory by themselves. How many fit by shared memory is a division, as in
 * HIP.
 */
hipError_t hipFuncGetAttributes(hipFuncAttributes *a, const void *kernel)
{
    std::memset(static_cast<void *>(a), 0, sizeof *a);
    a->maxThreadsPerBlock = 256;
    a->sharedSizeBytes = light().count(kernel) ? 64 : 0;
    return hipSuccess;
}
hipError_t hipFuncSetAttribute(const void *, hipFuncAttribute, int) { return hipSuccess; }
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *kernel, int, size_t bytes)
{
    const bool is_light = light().count(kernel) > 0, miscounts = !is_light && (is("5.0") || is("6.0"));
    const size_t all = bytes + (is_light ? 64 : 0), most = is_light ? 8 : 1;
    *n = miscounts ? 0 : all > 0 && shared() / all < most ? (int)(shared() / all) : (int)most;
    return is("6.0") && miscounts ? result(hipErrorUnknown) : hipSuccess;
}
hipError_t hipLaunchKernel(const void *, dim3 grid, dim3 block, void **, size_t, hipStream_t)
{
    return block.x > 256 || grid.x == 0 ? result(hipErrorLaunchFailure) : hipSuccess;
}
const char *hipGetErrorString(hipError_t error)
{
    static thread_local char text[32];
    return std::snprintf(text, sizeof text, "HIP error %d", (int)error), text;
}
hipError_t hipGetLastError()
{
    const hipError_t error = last;
    last = hipSuccess;
    return error;
}
}
