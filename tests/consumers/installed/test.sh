#!/bin/sh
# SPDX-License-Identifier: MIT
# A program built against an installed iris by pkg-config, also from a second folder of headers only.
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
