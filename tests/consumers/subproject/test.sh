#!/bin/sh
# SPDX-License-Identifier: MIT
# A Meson project with iris as a subproject: dependency('iris') is all it says, and nothing but the library is built.
. "$(dirname "$0")/../common.sh"

mkdir -p subprojects/iris
(cd "$root" && cp -r LICENSE cmake gen include templates meson.build meson_options.txt "$work/subprojects/iris/")
cp "$here/meson.build" "$here/system.c" .
cp "$root/examples/00_pass_right/main.c" .
meson setup build --buildtype release >log || { cat log; exit 1; }
ninja -C build >>log || { cat log; exit 1; }
passes ./build/app
targets=$(meson introspect build --targets |
    python3 -c 'import json, sys; print(*sorted(t["name"] for t in json.load(sys.stdin)))')
[ "$targets" = "app gen gen_arch gen_launch gen_mainloop gen_stamp iris" ] ||
    { echo "the subproject builds more than it should: $targets"; exit 1; }
