#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs linked for MI300X and for H100, and what they say on a machine without a GPU: one sentence, no crash. What
# init.c does on AMD, on a stand-in of HIP. Then devices that are too old: a compiler's sentence. A pattern as argument
# chooses checks by name.
. "$(dirname "$0")/common.sh"

no_gpu="there is no GPU on this machine"
clang=$(command -v clang++-22 || command -v hipcc) || clang=
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || nvcc=
init=$root/include/iris/init.c
# Of programs with GEMMs, those of few kernels: isa/gemm.py compiles the others.
simple=$(cd "$root" && ls examples/0*/main.c docs/programs/*.c bench/*.c tests/gen/*.c | sort | while read -r file; do
    case $file in
    docs/programs/gemm.c | docs/programs/gemm_alone.c | bench/beside.c) echo "$file" ;;
    *) has_gemms "$file" || echo "$file" ;;
    esac
done)
[ -e /usr/include/hip/hip_runtime_api.h ] || [ -e /opt/rocm/include/hip/hip_runtime_api.h ] || hip=missing

# program NAME COMPILE FILE…: an executable $scratch/NAME.
program() {
    name=$1 compile=$2
    shift 2
    echo "$compile $* -o $scratch/$name"
}
# silent NAME: runs it where there is no GPU; elsewhere it was linked, which is enough.
silent() {
    if [ -e /dev/kfd ] || [ -e /dev/nvidiactl ]; then
        echo true
    else
        echo "$here/refuses.sh '$no_gpu' $scratch/$1"
    fi
}
{
    if [ -n "$clang" ] && [ -z "${hip:-}" ]; then
        hip="$clang -x hip --offload-arch=gfx942 -nogpuinc -nogpulib -O1 $includes"
        (cd "$scratch" && $hip -c "$init" -o amd.o && cc -std=c11 -O1 -DIRIS_TARGET_AMD -D__HIP_PLATFORM_AMD__ \
            $includes -c "$init" -o amd_c11.o) || echo "init.c for AMD does not compile" >&2
        for file in $simple; do
            name=amd_$(echo "${file%.c}" | tr / _)
            check "gfx942 links $file" "$(program "$name" "$hip" "$root/$file" -x none "$scratch/amd.o" -lamdhip64 \
                -pthread -lm)"
        done
        name=amd_refuses
        check "gfx942 without a GPU" \
            "$(program "$name" "$hip" "$root/examples/00_pass_right/main.c" -x none "$scratch/amd.o" -lamdhip64 \
            -pthread) && $(silent $name)"
        name=amd_refuses_c11
        check "gfx942 without a GPU, init.c as C11" \
            "$(program "$name" "$hip" "$root/examples/40_self_test/main.c" -x none "$scratch/amd_c11.o" -lamdhip64 \
            -pthread) && $(silent $name)"
        run=true small="IRIS_HEAP_MB=2 IRIS_SYNC_MB=1"
        for how in IRIS_SPAWN=process IRIS_SPAWN=thread IRIST_HIP=5.0 IRIST_HIP=6.0 IRIST_SHARED=163840; do
            run="$run && env $small $how $scratch/host_half 3 304"
        done
        # Of 8 ranks two share each of the 4 devices: each counts on less than half, or on half of every chiplet's
        # compute units; where a chiplet has fewer of them than there are ranks, start-up refuses.
        check "gfx942, the host's half on a stand-in of HIP" \
            "c++ -std=c++17 -O1 -Wall -Wextra -D__HIP_PLATFORM_AMD__ -c $here/stand_in/hip.cpp -o $scratch/hip.o && \
            $(program host_half "$hip" "$here/stand_in/host_half.c" -x none "$scratch/hip.o" "$scratch/amd_c11.o" \
            -pthread -lm) && \
            $run && env $small IRIS_SPAWN=thread $scratch/host_half 8 145 && \
            env $small IRIST_UNITS=16 IRIS_SPAWN=thread $scratch/host_half 8 8 && \
            $here/refuses.sh 'whose 8 chiplets have 1 compute units each' \
            env $small IRIST_UNITS=8 IRIS_SPAWN=thread $scratch/host_half 8 8 && \
            $here/refuses.sh 'HIP error 17: its IPC handle cannot be opened (inside a container' \
            env $small IRIST_NO_IPC=1 IRIS_SPAWN=process $scratch/host_half 2 304"
    fi
    if [ -n "$clang" ]; then
        check "an AMD device that is too old" "$here/refuses.sh 'Iris supports the AMD GPUs gfx90a, gfx942 and gfx950' \
            $clang -x hip --offload-arch=gfx906 -nogpuinc -nogpulib --cuda-device-only -c -o /dev/null $includes \
            $root/examples/00_pass_right/main.c"
    fi
    if [ -n "$nvcc" ]; then
        cuda="$nvcc -x cu -std=c++17 $includes"
        check "sm_90 without a GPU" \
            "$cuda -arch=sm_90 $root/examples/00_pass_right/main.c $init -o $scratch/nvidia && $(silent nvidia)"
        check "an NVIDIA device that is too old" "$here/refuses.sh 'compute capability 8.0 or newer' \
            $cuda -arch=sm_75 -c -o /dev/null $root/examples/00_pass_right/main.c"
    fi
} >"$scratch/checks"
check_all <"$scratch/checks"
