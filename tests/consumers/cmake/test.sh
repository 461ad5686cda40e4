#!/bin/sh
# SPDX-License-Identifier: MIT
# CMake projects: each block of the page's, as the whole of a CMakeLists.txt: find_package(iris), pkg-config, and the
# copied files. The installed prefix is moved first, which a package that holds no path of its own does not mind.
. "$(dirname "$0")/../common.sh"
command -v cmake >/dev/null || {
    echo "skipped: cmake is not here, and it reads what meson install writes for find_package(iris)"
    exit 77
}

meson setup build "$root" --prefix "$work/first" -Dtests=false --buildtype release >log || { cat log; exit 1; }
meson install -C build >>log || { cat log; exit 1; }
mv first prefix
sed -i "s|$work/first|$work/prefix|" "$(find prefix -name iris.pc)"
export CMAKE_PREFIX_PATH="$work/prefix"
(cd "$root" && python3 -B -m gen --single "$work/copied/iris/iris.h" --preset host vocabulary)

# The page's blocks, one after the other.
page=$root/docs/how-to/add-to-a-project.md
awk '/^```cmake/ { n++; inside = 1; next } /^```/ { inside = 0 } inside { print >"block" n }' "$page"
grep -q 'find_package(iris 0.1 REQUIRED)' block1
[ -f block3 ]
for block in block?; do
    mkdir "project_$block"
    (echo 'cmake_minimum_required(VERSION 3.16)' && echo 'project(consumer C)' && cat "$block") \
        >"project_$block/CMakeLists.txt"
    cp -r "$root/examples/00_pass_right/main.c" "project_$block/app.c"
    ! grep -q iris/init.c "$block" || cp -r copied/iris "project_$block"
    { cmake -S "project_$block" -B "build_$block" -DCMAKE_BUILD_TYPE=Release && cmake --build "build_$block"; } \
        >log 2>&1 ||
        { cat log; exit 1; }
    passes "./build_$block/app"
done

# A version that would not link is not found.
for version in 0.2 0.0 1.1 0.1.1; do
    sed "s/iris 0.1 /iris $version /" project_block1/CMakeLists.txt >CMakeLists.txt
    cp project_block1/app.c .
    if cmake -S . -B "build_$version" >log 2>&1 || ! grep -q 'considered but not accepted' log; then
        cat log
        echo "find_package(iris $version) should have said that there is another version"
        exit 1
    fi
done
