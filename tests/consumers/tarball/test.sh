#!/bin/sh
# SPDX-License-Identifier: MIT
# What `meson dist` packs builds, installs and is copied from on a machine that has no Jinja2.
. "$(dirname "$0")/../common.sh"
[ -e "$root/.git" ] && command -v git >/dev/null && git -C "$root" rev-parse HEAD >/dev/null 2>&1 || {
    echo "skipped: this is no git checkout, and meson dist packs nothing else"
    exit 77
}

meson setup pack "$root" -Dtests=false >log || { cat log; exit 1; }
# What is not committed yet is not in it.
meson dist -C pack --no-tests --allow-dirty --formats gztar >>log 2>&1 || { cat log; exit 1; }
tar xzf pack/meson-dist/iris-*.tar.gz
cd iris-*/

# With Jinja2 its headers are generated as in a checkout, where a changed template would change them.
meson setup "$work/generates" -Dtests=false >log || { cat log; exit 1; }
meson introspect "$work/generates" --targets >"$work/targets"
grep -q '"gen_stamp"' "$work/targets" || {
    echo "the tarball does not generate headers, and Jinja2 is here"
    exit 1
}
python3 -B tests/style/check.py

mkdir "$work/without"
echo 'raise ImportError("Jinja2 is not here")' >"$work/without/jinja2.py"
export PYTHONPATH="$work/without"
if python3 -c 'import jinja2' 2>/dev/null; then
    echo "Jinja2 is still here"
    exit 1
fi
meson setup build --prefix "$work/prefix" --libdir lib --buildtype release >log || { cat log; exit 1; }
meson install -C build >>log || { cat log; exit 1; }
cd "$work"
for part in '' arch mainloop launch; do
    [ -n "$(find "prefix/include/iris/gen/$part" -maxdepth 1 -name '*.h')" ]
done
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
# shellcheck disable=SC2046 # words
cc "$root/examples/00_pass_right/main.c" $(pkg-config --cflags --libs iris) -o installed
passes ./installed

mkdir -p project/subprojects
mv iris-*/ project/subprojects/iris
cp "$here/../subproject/meson.build" "$here/../subproject/system.c" "$root/examples/00_pass_right/main.c" project
rm -rf project/subprojects/iris/build
meson setup project_build project >log || { cat log; exit 1; }
ninja -C project_build >>log || { cat log; exit 1; }
passes ./project_build/app

cc -Iproject/subprojects/iris/single "$root/examples/00_pass_right/main.c" project/subprojects/iris/single/iris/init.c \
    -pthread -o copied
passes ./copied
