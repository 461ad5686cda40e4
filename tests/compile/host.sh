#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header alone, init.c, and every program: gcc and clang, as C11 and as C++17, without a warning.
# A pattern as argument chooses checks by name.
. "$(dirname "$0")/common.sh"

languages="gcc;c;c11 g++;c++;c++17 clang;c;c11 clang++;c++;c++17"
for language in $languages; do
    compiler=${language%%;*} rest=${language#*;}
    flags="-x ${rest%%;*} -std=${rest#*;} -fsyntax-only $warnings $includes"
    command -v "$compiler" >/dev/null || continue
    for header in $(headers host); do
        check "$compiler ${rest#*;} $header" "printf '%s\\n' $(alone "$header") | $compiler $flags -"
    done
    for file in include/iris/init.c $(programs) $host_only; do
        check "$compiler ${rest#*;} $file" "$compiler $flags $root/$file"
    done
done | check_all
