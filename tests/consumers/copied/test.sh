#!/bin/sh
# SPDX-License-Identifier: MIT
# A project that copies two files, iris.h and init.c, builds with nothing but a compiler.
. "$(dirname "$0")/../common.sh"

(cd "$root" && python3 -B -m gen --single "$work/iris.h")
[ "$(ls | tr '\n' ' ')" = "init.c iris.h " ]
grep -q '^#define IRIS_SINGLE_HEADER' iris.h
! grep -n '#include <iris/' iris.h
sed '/#include <iris\/init.h>/d; s|#include <iris/iris.h>.*|#include "iris.h"|' "$root/examples/00_pass_right/main.c" >app.c

cc app.c init.c -pthread -o plain
passes ./plain
cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror app.c init.c -pthread -o c11
passes ./c11
c++ -x c++ -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror app.c init.c -pthread -o c++17
passes ./c++17

# A part of it: one dtype, one family, one platform; the program needs signals too, so they are asked for.
(cd "$root" && python3 -B -m gen --single "$work/part/iris.h" --platforms host --dtypes f32 --families memory signal host)
[ "$(wc -l <part/iris.h)" -lt "$(($(wc -l <iris.h) / 2))" ]
cp app.c part
cc -Wall -Wextra -Werror part/app.c part/init.c -pthread -o part/app
passes ./part/app
