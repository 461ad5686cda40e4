#!/bin/sh
# SPDX-License-Identifier: MIT
# init.c and every program: gcc and clang, as C11 and as C++17, without a warning. Every header alone, once as C11 and
# once as C++17. All launchers in one source as C++20 and C++23 too.
# A pattern as argument chooses checks by name.
. "$(dirname "$0")/common.sh"

languages="gcc;c;c11 g++;c++;c++17 clang;c;c11 clang++;c++;c++17"
for language in $languages; do
    compiler=${language%%;*} rest=${language#*;}
    flags="-x ${rest%%;*} -std=${rest#*;} -fsyntax-only $warnings $includes"
    command -v "$compiler" >/dev/null || continue
    case $compiler in
    gcc | clang++) # a header alone: each language once; programs below have them with the other compilers
        for header in $(headers host); do
            check "$compiler ${rest#*;} $header" "printf '%s\\n' $(alone "$header") | $compiler $flags -"
        done
        ;;
    esac
    for file in include/iris/init.c $(programs) $host_only; do
        check "$compiler ${rest#*;} $file" "$compiler $flags $root/$file"
    done
done >"$scratch/checks"
wrong_hints "$scratch/wrong_hints.c"
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    check "$compiler refuses wrong cache hints" \
        "$(refuses_hints "$compiler -std=c11 -O1 $includes -c -o /dev/null $scratch/wrong_hints.c")"
done >>"$scratch/checks"
# Newer languages deprecate what these headers could hold, such as arithmetic on two enumerations. c++2b is what
# compilers called C++23 before it was one.
every_launcher host >"$scratch/every_launcher.c"
for compiler in g++ clang++ clang++-22; do
    command -v "$compiler" >/dev/null || continue
    for standard in c++20 c++2b; do
        flags="-x c++ -std=$standard -fsyntax-only $warnings $includes"
        check "$compiler $standard every launcher" "$compiler $flags $scratch/every_launcher.c"
        [ $standard = c++2b ] || check "$compiler $standard -ffast-math every launcher" \
            "$compiler $flags -O1 -ffast-math $scratch/every_launcher.c"
        check "$compiler $standard include/iris/init.c" "$compiler $flags $root/include/iris/init.c"
    done
done >>"$scratch/checks"
check_all <"$scratch/checks"
