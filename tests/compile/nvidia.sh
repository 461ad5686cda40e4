#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header, example and test for sm_80 and sm_90a by nvcc, without a warning.
# A pattern as argument chooses checks by name.
. "$(dirname "$0")/common.sh"

compiler=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || {
    echo "skipped: nvcc is not here"
    exit 0
}
# Not -Wpedantic: the code that nvcc itself makes for the host does not pass it.
flags="-x cu -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra -o /dev/null $includes"
# -arch=sm_90a would compile everything for compute_90 once more.
hopper="-gencode arch=compute_90a,code=sm_90a" archs="-gencode arch=compute_80,code=sm_80 $hopper"
# Examples are compiled as users would, and so are benchmarks, for the device that they are run on; those whose kernels
# are the library's end at PTX, since examples have those kernels' machine code. GEMMs take ptxas longest:
# a file that asks for a GEMM alone of bf16 has its machine code, for sm_90a, the tests that of kernels of their own,
# and the rest ends at PTX. Tests hold hundreds of instances: as quickly as this nvcc can (ptxas then says that
# warpgroup products wait for each other), and kernels alone, without host code, of a part of the types (tests/types.h).
quick="-Xptxas -O1" ptx="-gencode arch=compute_90a,code=compute_90a"
! "$compiler" --help | grep -q -- --Ofast-compile || quick=-Ofc=max ptx="$ptx -Ofc=max"
quietly="$here/without.sh 'ptxas info .*(C75[02][04])' $compiler"
{
    printf '#define %s\n#include <%s>\n' IRIS_INSTANTIATE_GEMM_LOCAL_BF16 iris/gen/launch/gemm.h \
        >"$scratch/gemm.cu"
    check "sm_90a GEMM alone of bf16" "$compiler $flags -c $hopper $scratch/gemm.cu"
    for file in include/iris/init.c $(programs); do
        heavy=
        ! has_gemms "$file" || heavy=heavy-
        case $heavy$file in
        heavy-examples/*) as="-gencode arch=compute_80,code=compute_80 $ptx" ;;
        heavy-* | bench/collectives.c | bench/mpi.c) as=$ptx ;;
        bench/*) as="$hopper $quick" ;;
        tests/*) as="$archs $quick" ;;
        *) as=$archs ;;
        esac
        check "sm_80 sm_90a $file" "$compiler $flags -c $as $(more "$file") $root/$file"
    done
    for file in $(tests); do
        case $file in # what is written for each device: instructions, and loops of GEMMs
        */arch/* | */atomic/* | */memory/* | */signal/* | */ll/* | */gemm/*) of="sm_80 sm_90a" on=$archs ;;
        *) of=sm_90a on=$hopper ;;
        esac
        check "$of $file" "$quietly $flags -fatbin $on $quick -DIRIST_PART=1 -DIRIST_KERNELS_ELSEWHERE \
            -I$root/tests $root/$file"
    done
    (echo '#include <iris/init.h>' && headers nvidia | sed 's/.*/#include <&>/') >"$scratch/every_header.cu"
    check "sm_80 sm_90a every header" "$compiler $flags -c $archs $scratch/every_header.cu"
    every_launcher nvidia >"$scratch/every_launcher.cu"
    newer=$(echo "$flags" | sed 's/c++17/c++20/')
    for file in "$scratch/every_launcher.cu" include/iris/init.c; do
        check "c++20 $(basename "$file")" "cd $root && $compiler $newer -c $ptx $file"
    done
    # HIP's headers are not needed, and where they came first the alias file stands back: a stand-in has only its guard.
    hip="-DHIP_INCLUDE_HIP_HIP_RUNTIME_API_H $root/include/iris/init.c"
    check "no HIP header for nvidia" "! $compiler -x cu -std=c++17 -arch=sm_90 $includes -M $root/include/iris/init.c \
        | grep /hip/"
    check "HIP's own names win" "$here/refuses.sh hipError_t $compiler $flags -c -arch=sm_90 $hip"
    check "c11 for nvidia init.c" "cc -std=c11 -DIRIS_TARGET_NVIDIA -isystem $(dirname "$compiler")/../include \
        -fsyntax-only $warnings $includes $root/include/iris/init.c"
} >"$scratch/checks"
check_all <"$scratch/checks"
