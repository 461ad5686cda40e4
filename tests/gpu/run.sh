#!/usr/bin/env bash
# Builds tests, examples and benchmarks with nvcc and runs the tests on this machine's GPUs.
#   tests/gpu/run.sh build [DIR]              everything into DIR (default build-gpu), on all cores
#   tests/gpu/run.sh tests MODE RANKS TIER    MODE process (a GPU each) or thread (ranks share one process)
#   tests/gpu/run.sh examples MODE RANKS
#   tests/gpu/run.sh accept [OPTION...]       everything on 1, 2 and 4 GPUs and under sanitizers, at once: accept.py says
# Closes with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=${IRIS_GPU_BUILD:-build-gpu}
arch=${IRIS_GPU_ARCH:-sm_90a}
skip='^host/|^gen/|^gemm/mfma_model' # what drives the host platform's own processes and files, or has no kernels
nvcc="nvcc -arch=$arch -std=c++17 -O3 -x cu -Iinclude -I$dir -Itests"

build() {
    mkdir -p "$dir/obj"
    python3 -m gen --out "$dir/iris/gen" || return 1
    local without=no_example blas=(-lopenblas) # what example 07 checks against, in a source of its own
    echo 'int main(void) { return 0; }' | cc -x c - "${blas[@]}" -o /dev/null 2>"$dir/log" || without=07_gemm blas=()
    [ "$without" = no_example ] || echo "example 07_gemm_all_scatter is left out: there is no OpenBLAS"
    {
        echo "include/iris/init.c init"
        echo "tests/harness.cpp harness"
        echo "tests/session.cpp session"
        (cd tests && ls ./*/*.cpp) | sed 's|^\./||' | grep -Ev "$skip" | while read -r t; do
            echo "tests/$t test_$(echo "${t%.cpp}" | tr / _)"
        done
        for e in examples/*/main.c; do echo "$e example_$(basename "$(dirname "$e")")"; done | grep -v "$without"
        for b in bench/*.c; do echo "$b bench_$(basename "${b%.c}")"; done
    } | xargs -P "$(nproc)" -L 1 sh -c "$nvcc"' -c "$0" -o '"$dir"'/obj/"$1".o 2>'"$dir"'/obj/"$1".log || { echo "does not compile: $0"; grep -m 3 error '"$dir"'/obj/"$1".log; }'
    ar rcs "$dir/obj/libharness.a" "$dir/obj/harness.o" "$dir/obj/session.o" # an archive: tests with a main of their own do without
    for o in "$dir"/obj/test_*.o; do
        nvcc -arch="$arch" "$o" "$dir/obj/libharness.a" "$dir/obj/init.o" -lCatch2 -o "$dir/$(basename "${o%.o}")" &
    done
    for o in "$dir"/obj/example_*.o "$dir"/obj/bench_*.o; do
        local reference=()
        case $o in *07_gemm*) reference=(examples/07_gemm_all_scatter/reference.c "${blas[@]}") ;; esac
        nvcc -arch="$arch" "$o" "$dir/obj/init.o" "${reference[@]}" -o "$dir/$(basename "${o%.o}")" &
    done
    wait
}

passed=0 failed=0
try() {
    local name=$1 began=$SECONDS
    shift
    if timeout "${IRIS_GPU_TEST_SECONDS:-120}" "$@" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok     $name ($((SECONDS - began)) s)"
    else
        echo "FAILED $name (rc $?, $((SECONDS - began)) s)"
        failed=$((failed + 1))
        grep -vE '^\s*$|^[-~=.]+$' "$dir/log" | head -${IRIS_GPU_LOG_LINES:-12}
    fi
}

case ${1:-} in
build) build ;;
tests)
    for t in "$dir"/test_*; do
        case $2-$t in thread-*killed) continue ;; esac # it kills processes
        IRIS_SPAWN=$2 try "$(basename "$t"), $2, $3 ranks, $4" "$t" --ranks "$3" --tier "$4"
    done
    echo "$passed passed, $failed failed" ;;
examples)
    for e in "$dir"/example_0[0-68]* "$dir"/example_1*; do IRIS_SPAWN=$2 try "$(basename "$e"), $2, $3 ranks" "$e" "$3"; done
    echo "$passed passed, $failed failed" ;;
accept) exec python3 -B tests/gpu/accept.py "${@:2}" ;;
*) sed -n '2,7s/^# //p' "$0"; exit 2 ;;
esac
[ "$failed" -eq 0 ]
