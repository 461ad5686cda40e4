#!/bin/sh
# SPDX-License-Identifier: MIT
# Headers, examples and tests for MI200, MI300X and MI350: clang alone, without ROCm, without a warning. Every header
# and every test for MI300X; for the others all headers in one source, examples, and the tests of what is written for
# each device or has types in parts.
# A pattern as argument chooses checks by name.
. "$(dirname "$0")/common.sh"

archs="gfx90a gfx942 gfx950"
compiler=$(command -v clang++-22 || command -v hipcc) || {
    echo "skipped: neither clang++-22 nor hipcc is here"
    exit 0
}
flags="-x hip -std=c++17 -nogpuinc -nogpulib $warnings $includes"
device="$flags --cuda-device-only --no-gpu-bundle-output"
# The C++ library as it is, not as clang wraps it for HIP's headers; Catch2 uses __COUNTER__.
plain="-Wno-c2y-extensions -nobuiltininc -isystem $("$compiler" -print-resource-dir)/include"
{
    # Code for gfx942, as users would make it, of programs and, with little optimisation, of tests of what is written
    # for each device; tests have a part of the types, another one for each device (tests/types.h). For its neighbours
    # less again: isa/check.py and isa/gemm.py look at the library's own kernels on all three, and have what tests of
    # collectives and examples of GEMMs hold, less f64.
    part=0
    for arch in $archs; do
        for file in $(programs); do
            heavy=
            ! has_gemms "$file" || heavy=heavy-
            case $heavy$arch-$file in
            *gfx942-tests/*) effort="-O1 -c" ;;
            *gfx942-bench/*) effort=-fsyntax-only ;; # link.sh makes the code of most
            heavy-gfx942-*) effort=-fsyntax-only ;;
            gfx942-*) effort="-O3 -c" ;;
            *-tests/*) effort=-fsyntax-only ;;
            heavy-* | *-bench/*) continue ;;
            *) effort="-O1 -c" ;;
            esac
            check "$arch $file" "$compiler $device $effort -o /dev/null --offload-arch=$arch $(more "$file") \
                $root/$file"
        done
        for file in $(tests); do
            case $file in # what is written for each device: instructions, and loops of GEMMs
            */arch/* | */atomic/* | */memory/* | */signal/* | */ll/* | */gemm/*) effort="-O1 -c" ;;
            *) effort=-fsyntax-only ;;
            esac
            case $arch-$effort-$file in
            gfx942-*) ;;
            *-c-* | */dtype/* | */tensor/* | */gpu/*) effort=-fsyntax-only ;;
            *) continue ;;
            esac
            check "$arch $file" "$compiler $device $effort -o /dev/null $plain --offload-arch=$arch -DIRIST_PART=$part \
                -DIRIST_KERNELS_ELSEWHERE -I$root/tests $root/$file"
        done
        part=$((part + 1))
    done
    printf '#define %s\n#include <%s>\n' IRIS_INSTANTIATE_GEMM_LOCAL_F64 iris/gen/launch/gemm.h >"$scratch/f64.c"
    check "gfx942 GEMM alone of f64" "$compiler $device -O3 -c -o /dev/null --offload-arch=gfx942 $scratch/f64.c"
    wrong_hints "$scratch/wrong_hints.c"
    check "gfx942 refuses wrong cache hints" \
        "$(refuses_hints "$compiler $device -O1 -c -o /dev/null --offload-arch=gfx942 $scratch/wrong_hints.c")"
    # A header alone: those that the host does not have. The others are alone in host.sh.
    for header in $(headers amd | grep -E '(arch|mainloop)/'); do
        check "gfx942 $header" "printf '%s\\n' $(alone "$header") | $compiler $flags --cuda-device-only -fsyntax-only \
            --offload-arch=gfx942 -"
    done
    every_launcher amd >"$scratch/every_launcher.c"
    for arch in $archs; do
        check "$arch c++20 every launcher" \
            "$compiler $(echo "$device" | sed 's/c++17/c++20/') -fsyntax-only --offload-arch=$arch \
                $scratch/every_launcher.c"
    done
    # A program that includes nothing before these headers: what HIP's own need of C++20, they bring.
    for standard in c++20 c++23; do
        file=examples/00_pass_right/main.c
        check "hip host $standard $file" \
            "$compiler $(echo "$flags" | sed "s/c++17/$standard/") --cuda-host-only -fsyntax-only $root/$file"
    done
    check "hip host c++20 every launcher" \
        "$compiler $(echo "$flags" | sed 's/c++17/c++20/') $plain --cuda-host-only -fsyntax-only \
            $scratch/every_launcher.c"
    # The host's half of HIP files, and init.c as HIP and as plain C for HIP. The index names device functions only.
    for file in include/iris/init.c $(programs | tr ' ' '\n' | grep -v gen/index); do
        check "hip host $file" "$compiler $flags --cuda-host-only -c -o /dev/null $(more "$file") $root/$file"
    done
    check "c11 for amd init.c" "clang-22 -std=c11 -DIRIS_TARGET_AMD -D__HIP_PLATFORM_AMD__ -fsyntax-only $warnings \
        $includes $root/include/iris/init.c"
} >"$scratch/checks"
check_all <"$scratch/checks"
