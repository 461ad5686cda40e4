# SPDX-License-Identifier: MIT
# Sourced by the scripts here: they name checks, and check_all runs them.
set -eu
only=${1:-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
includes="-I$root/include -I$scratch"
warnings="-Wall -Wextra -Wpedantic -Werror"
(cd "$root" && python3 -B -m gen --out "$scratch/iris/gen")

# Headers by the name they are included with; of arch/ and mainloop/ those that the platform asked for uses.
headers() {
    others=$(echo host nvidia amd | tr ' ' '\n' | grep -vx "$1" | paste -sd'|')
    [ "$1" != host ] || others="$others|simt"
    (cd "$root/include" && find iris -name '*.h' && cd "$scratch" && find iris -name '*.h') | sort -u |
        grep -vE "(arch|mainloop)/(\w+_)?($others)(/|_|\.h)"
}

# The lines of a source that includes one header alone. Headers that are parts of another are entered through that one.
alone() {
    case $1 in
    iris/mainloop/* | iris/gen/mainloop/*) whole=gemm/roles.h ;;
    iris/arch/* | iris/gen/arch/*) whole=arch/select.h ;;
    iris/self_test_*.h) whole=self_test.h ;;
    *) whole=${1#iris/} ;;
    esac
    echo "'#include <iris/$whole>' '#include <$1>' 'typedef int alone;'"
}

# every_launcher PLATFORM: a source with every header, and with the kernels and launchers of every family.
every_launcher() {
    { (cd "$scratch/iris/gen/launch" && ls) | sed 's/\.h$//' && echo self_test && echo on_stream; } | tr a-z A-Z |
        sed 's/.*/#define IRIS_INSTANTIATE_&/'
    echo '#define IRIS_GEMM_ALL_PATTERNS'
    echo '#include <iris/init.h>'
    headers "$1" | grep -v arch/ | sed 's/.*/#include <&>/'
}

# check NAME COMMAND: a line for check_all.
check() { printf '%s|%s\n' "$1" "$2"; }

# wrong_hints FILE: a source whose load has a store's cache hint, and whose put has a store with a load's.
wrong_hints() {
    cat >"$1" <<'end'
#include <iris/gen/rma_cache.h>
#include <iris/iris.h>
typedef struct wrong_args {
    iris_ctx ctx;
    float *p;
} wrong_args;
IRIS_KERNEL(wrong_load, wrong_args, a, 256) { a->p[0] = iris_load_cache_f32(&a->ctx, a->p, 0, IRIS_CACHE_WB); }
IRIS_KERNEL(wrong_put, wrong_args, a, 256)
{
    iris_put_cache_f32_wg(&a->ctx, a->p, a->p + 4, 4, 0, IRIS_CACHE_CA, IRIS_CACHE_CV);
}
end
}
# refuses_hints COMMAND…: the command refuses both, each with its sentence.
refuses_hints() {
    echo "$here/refuses.sh 'the cache hint of a load is' $* && $here/refuses.sh 'the cache hint of a store is' $*"
}

# What a user or a test compiles: kernels in one file with the host code that launches them.
programs() {
    # tests/gen/mainloop has a mainloop that the registry has not.
    (cd "$root" && find examples docs bench tests -name '*.c' -not -path 'tests/consumers/*' -not -path 'tests/isa/*' \
        -not -path 'tests/gen/mainloop/*' -not -path '*/stand_in/*') | sort | grep -vxF "$host_only"
}
# cut.c and crowded.c call device functions from main, log.c expects what is chosen on the host, small_stack.c has a
# frame that no GPU has room for, wake.c looks into the host's streams, gemm_fused_stub.c is a benchmark with operations
# of a test's, trace/file.c a part of init.c, the others init.c with another platform's shapes or another table.
host_only="tests/bench/gemm_fused_stub.c
tests/collective/room.c
tests/gemm/cut.c
tests/gemm/offers.c
tests/gemm/prepare.c
tests/gemm/table.c
tests/gemm/whole.c
tests/host/crowded.c
tests/host/log.c
tests/host/small_stack.c
tests/host/wake.c
tests/trace/file.c"
# has_gemms FILE: whether a program holds kernels of the library's GEMMs or all of its collectives: they take longest to
# compile, and tests/isa/ compiles them for each device.
has_gemms() { grep -qE '<iris/gen/launch/(gemm|tensor)' "$root/$1"; }
# What else a program is compiled with: the tuner's kernels are those of gemm_fused, those of gemm_local too many, and
# ranges are for traces.
more() {
    case $1 in
    bench/iris_tune.c | bench/gemm_local.c) echo "-DIRIST_KERNELS_ELSEWHERE" ;;
    docs/programs/trace.c) echo "-DIRIS_TRACE=1" ;;
    esac
}
tests() { (cd "$root" && find tests bench -name '*.cpp' -not -name session.cpp -not -path '*/stand_in/*') | sort; }

# Runs the checks that come in, as many at once as there are processors; fails when one fails, or when none has a name
# that matches the pattern. They come from a file, not through a pipe: what a script died of while it named them would
# be lost. Of more than 20, and without a pattern: init.c, the check named "every header", and of the others this
# commit's half.
check_all() {
    grep -e "^[^|]*$only" >"$scratch/all" || {
        [ -n "$only" ] || { echo "skipped: no compiler for these checks is here"; return 0; }
        echo "no check has a name that matches '$only'"
        return 1
    }
    if [ -z "$only" ] && [ "$(wc -l <"$scratch/all")" -gt 20 ]; then
        always='^[^|]*\(init\.c\|every header\)'
        {
            grep "$always" "$scratch/all" || :
            grep -v "$always" "$scratch/all" | python3 -B "$root/tests/part.py" 2
        } >"$scratch/part"
        mv "$scratch/part" "$scratch/all"
    fi
    xargs -r -d '\n' -n 1 -P "$(nproc)" "$here/job.sh" <"$scratch/all" | tee "$scratch/log"
    [ -s "$scratch/log" ] && ! grep -q '^not ok' "$scratch/log"
}
