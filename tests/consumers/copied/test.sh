#!/bin/sh
# SPDX-License-Identifier: MIT
# A project that copies three files, iris.h, init.c and init.h, builds with nothing but a compiler: the README's program
# as it stands, one call of every family, and what presets leave.
. "$(dirname "$0")/../common.sh"
PATH=$PATH:/usr/local/cuda/bin
# Where lines begin takes gcc a quarter of a minute in a C file of so many (docs/how-to/add-to-a-project.md).
warnings="-Wall -Wextra -Wno-misleading-indentation -Werror"

single() { (cd "$root" && python3 -B -m gen --single "$work/$1/iris.h" $2); }
single iris ""
[ "$(ls iris | tr '\n' ' ')" = "init.c init.h iris.h " ]
grep -q '^#define IRIS_SINGLE_HEADER' iris/iris.h
if grep -n '#include <iris/' iris/iris.h; then
    echo "the one header includes others"
    exit 1
fi
cp "$root/examples/00_pass_right/main.c" app.c

cc -I. app.c iris/init.c -pthread -o plain
passes ./plain
cc -std=c11 -I. -O2 $warnings -Wpedantic app.c iris/init.c -pthread -o c11
passes ./c11
c++ -x c++ -std=c++17 -I. -O2 $warnings -Wpedantic app.c iris/init.c -pthread -o c++17
passes ./c++17
(echo '#include <iris/init.h>' && cat app.c) >other_order.c
cc -I. -fsyntax-only $warnings other_order.c

# Without any IRIS_INSTANTIATE_… it shows every function that the headers it was made of show, all of them together.
(cd "$root" && python3 -B -m gen --out "$work/many/iris/gen")
(cd many && find iris -name '*.h' ! -path '*/arch/*' ! -path '*/mainloop/*' ! -name index.h &&
    cd "$root/include" && printf '%s\n' iris/self_test.h iris/on_stream.h) |
    sed 's/.*/#include <&>/' >every.c
words() { cc -E "$@" | grep -oE '\biris_\w+' | sort -u; }
words -I"$root/include" -Imany every.c >expected
words iris/iris.h >seen
[ "$(grep -c all_reduce_atomic expected)" -gt 10 ]
if comm -23 expected seen | grep .; then
    echo "are not in the one header unless something is defined"
    exit 1
fi

cc -std=c11 -I. $warnings -Wpedantic "$here/families.c" "$here/launchers.c" iris/init.c -pthread -o families
says "rank 0: every family;rank 1: every family;" ./families
echo "every family runs"

# The part of it that the page names.
page=$root/docs/how-to/add-to-a-project.md
part="--platforms host amd --dtypes f32 bf16 u64 --families memory signal create"
grep -qF -e "$(echo "$part" | sed 's/ --/`, `--/; s/ --/` and `--/')" "$page"
single part/iris "$part"
[ "$(wc -l <part/iris/iris.h)" -lt "$(($(wc -l <iris/iris.h) / 6))" ]
cc $warnings -Ipart app.c part/iris/init.c -pthread -o part/app
passes ./part/app

# One type, with the kernels and launchers of every family: it brings the types that these call.
single type/iris "--dtypes f32"
every_launcher >every_launcher.c
cc $warnings -Itype/iris -fsyntax-only every_launcher.c

# Presets have the sizes that the page says, to a tenth, and hold what the program needs.
sed -nE 's/^\| `--preset ([a-z ]+)` \|.* ([0-9.]+) MB \|$/\1;\2/p; s/^\| none \|.* ([0-9.]+) MB \|$/;\1/p' "$page" \
    >presets
[ "$(wc -l <presets)" -ge 8 ]
cut -d';' -f1 presets | python3 -B "$here/presets.py"
compiled=
while IFS=';' read -r preset says; do
    made=preset/${preset:-none}
    size=$(wc -c <"$made/iris/iris.h")
    awk -v size="$size" -v says="$says" 'BEGIN { exit !(size > 0.9e6 * says - 5e4 && size < 1.1e6 * says + 5e4) }' || {
        echo "preset '$preset' has $size bytes, and docs/how-to/add-to-a-project.md says $says MB"
        exit 1
    }
    case $preset in
    *nvidia* | *amd*) ;;
    *) cc "-I$made" $warnings app.c "$made/iris/init.c" -pthread -o "$made/app" && passes "$made/app" ;;
    esac
    case $preset in # what a part lacks, compilers for devices miss; of those parts that lack most, two each
    "nvidia vocabulary" | "nvidia gemm")
        compiled=${compiled}x
        ! command -v nvcc >/dev/null || nvcc -arch=sm_80 "-I$made" -x cu -c app.c -o "$made/app.o" ;;
    "amd vocabulary" | "amd collectives")
        compiled=${compiled}x
        ! command -v clang++-22 >/dev/null ||
            clang++-22 -x hip --offload-arch=gfx942 -nogpuinc -nogpulib -O1 "-I$made" -c app.c -o "$made/app.o" ;;
    esac
done <presets
[ "$compiled" = xxxx ] || { echo "a preset that is compiled for devices is not on the page"; exit 1; }
