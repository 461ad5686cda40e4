#!/bin/sh
# SPDX-License-Identifier: MIT
# Projects in C++20 and C++23 that make warnings errors: the copied header with the kernels and launchers of every
# family, and the program of README.md, by each compiler that is here; by nvcc as C++20. c++2b is what compilers called
# C++23 before it was one.
. "$(dirname "$0")/../common.sh"

(cd "$root" && python3 -B -m gen --single "$work/iris.h")
sed '/#include <iris\/init.h>/d; s|#include <iris/iris.h>.*|#include "iris.h"|' "$root/examples/00_pass_right/main.c" \
    >app.c
every_launcher >every_launcher.c

warnings="-Wall -Wextra -Wpedantic -Werror"
for compiler in c++ clang++ clang++-22; do
    command -v "$compiler" >/dev/null || continue
    for standard in c++20 c++2b; do
        # shellcheck disable=SC2086 # words; compile/host.sh has every launcher as C++23
        [ $standard = c++2b ] || "$compiler" -x c++ -std=$standard $warnings -fsyntax-only every_launcher.c
        # shellcheck disable=SC2086
        "$compiler" -x c++ -std=$standard $warnings app.c init.c -pthread -o app
        passes ./app
    done
    echo "$compiler: C++20 and C++23"
done
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || exit 0
cp app.c app.cu
cp init.c init.cu
for file in app.cu init.cu; do
    "$nvcc" -std=c++20 -arch=sm_90 -Werror all-warnings -Xcompiler -Wall,-Wextra -c $file
done
echo "nvcc: C++20"
