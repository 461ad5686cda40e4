#!/usr/bin/env bash
# Builds tests, examples and benchmarks for this machine's GPUs and runs the tests on them.
#   tests/gpu/run.sh build [REGEX]            everything, or what matches, on all cores, what has changed: build.py says
#   tests/gpu/run.sh tests MODE RANKS TIER    MODE process (a GPU each) or thread (ranks share one process)
#   tests/gpu/run.sh examples MODE RANKS
#   tests/gpu/run.sh accept [OPTION...]       everything on 1, 2 and 4 GPUs and under sanitizers, at once
# IRIS_GPU_ARCH: sm_90a (default), sm_80 …: nvcc. gfx942, gfx90a, gfx950: ROCm's clang, or clang 22
# (IRIS_HIPCC: another).
# IRIS_GPU_BUILD: where to (default build-gpu). IRIS_GPU_FLAGS: more options of the compiler.
# The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=${IRIS_GPU_BUILD:-build-gpu}
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
build) exec python3 -B tests/gpu/build.py "${@:2}" ;;
tests)
    for t in "$dir"/test_*; do
        case $2-$t in thread-*killed) continue ;; esac # it kills processes
        IRIS_SPAWN=$2 try "$(basename "$t"), $2, $3 ranks, $4" "$t" --ranks "$3" --tier "$4"
    done
    echo "$passed passed, $failed failed" ;;
examples)
    for e in "$dir"/example_*; do
        case $e in *_gemm_all_scatter) set -- "$@" --shape 96x80x64 -n ;; esac # small, as in accept.py
        IRIS_SPAWN=$2 try "$(basename "$e"), $2, $3 ranks" "$e" "${@:4}" "$3"
        set -- "${@:1:3}"
    done
    echo "$passed passed, $failed failed" ;;
accept) exec python3 -B tests/gpu/accept.py "${@:2}" ;;
*) sed -n '2,8s/^# //p' "$0"; exit 2 ;;
esac
[ "$failed" -eq 0 ]
