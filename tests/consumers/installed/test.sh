#!/bin/sh
# SPDX-License-Identifier: MIT
# A program built against an installed iris by pkg-config, also from a second folder of headers only. What is built for
# installing has no tests, and ./run says so.
. "$(dirname "$0")/../common.sh"

meson setup build "$root" --prefix "$work/prefix" --libdir lib -Dtests=false --buildtype release >log ||
    { cat log; exit 1; }
meson install -C build >>log || { cat log; exit 1; }
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
[ -f prefix/include/iris/gen/load_store.h ] && [ -f prefix/include/iris/gen/arch/atomic_host.h ]
[ -z "$(find prefix/include -name meson.build)" ]
# shellcheck disable=SC2046 # words
cc "$root/examples/00_pass_right/main.c" $(pkg-config --cflags --libs iris) -o app
passes ./app
cc "$root/examples/00_pass_right/main.c" prefix/include/iris/init.c -Iprefix/include -pthread -o no_library
passes ./no_library

for command in test demo; do
    if IRIS_BUILD=$work/build "$root/run" $command >log 2>&1 || ! grep -q 'was configured without tests' log; then
        cat log
        echo "./run $command should have said that the build folder has no tests"
        exit 1
    fi
done

# For NVIDIA init.c is compiled with the headers of CUDA, wherever that is; programs need none of them.
mkdir -p cuda/include
CUDA_HOME=$work/cuda meson setup nvidia "$root" -Dtarget=nvidia -Dtests=false >log || { cat log; exit 1; }
grep -q -e "-isystem $work/cuda/include" nvidia/compile_commands.json
if grep cuda nvidia/meson-private/iris.pc; then
    echo "pkg-config tells programs of CUDA's headers"
    exit 1
fi
