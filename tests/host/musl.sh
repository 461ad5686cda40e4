#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the C programs of the GEMM tests against musl, a C library whose threads have 128 KiB of stack, and runs them.
#   tests/host/musl.sh GENERATED WORK    the folder that holds iris/gen, and a scratch folder
set -eu
cd "$(dirname "$0")/../.."
generated=$1 work=$2
mkdir -p "$work"
musl-gcc -std=c11 -O1 -Iinclude -I"$generated" -c include/iris/init.c -o "$work/init.o"
ar rcs "$work/libiris.a" "$work/init.o" # gemm/prepare.c includes init.c itself
for source in gemm/cut gemm/prepare gemm/table gemm/whole host/small_stack; do
    program=$work/$(basename $source)
    musl-gcc -std=c11 -O1 -Wall -Wextra -Werror -Iinclude -I"$generated" "tests/$source.c" "$work/libiris.a" -lm \
        -o "$program"
    for ranks in process thread; do
        IRIS_SPAWN=$ranks "$program" || { echo "musl: $source failed, ranks by IRIS_SPAWN=$ranks" && exit 1; }
    done
done
echo "5 programs run with musl"
