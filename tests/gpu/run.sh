#!/usr/bin/env bash
# Builds tests, examples and benchmarks for this machine's GPUs and runs the tests on them.
#   tests/gpu/run.sh build [REGEX]            everything, or the sources whose name matches, on all cores
#   tests/gpu/run.sh tests MODE RANKS TIER    MODE process (a GPU each) or thread (ranks share one process)
#   tests/gpu/run.sh examples MODE RANKS
#   tests/gpu/run.sh accept [OPTION...]       everything on 1, 2 and 4 GPUs and under sanitizers, at once: accept.py says
# IRIS_GPU_ARCH: sm_90a (default), sm_80 …: nvcc. gfx942, gfx90a, gfx950: ROCm's clang, or clang 22 (IRIS_HIPCC: another).
# IRIS_GPU_BUILD: where to (default build-gpu). IRIS_GPU_FLAGS: more options of the compiler. Closes with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=${IRIS_GPU_BUILD:-build-gpu}
arch=${IRIS_GPU_ARCH:-sm_90a}
skip='^host/|^gen/|^gemm/(mf?ma|relay|lines|few|thin)_|^mutants/(relay|few|thin)' # what drives the host platform's own processes and files, or has no kernels
includes="-Iinclude -I$dir -Itests"
case $arch in
gfx*)
    rocm=${ROCM_PATH:-/opt/rocm}
    for compiler in "$rocm/llvm/bin/clang++" "$rocm/lib/llvm/bin/clang++" clang++-22 hipcc; do command -v "$compiler" >/dev/null && break; done
    compiler=${IRIS_HIPCC:-$compiler}
    # Neither HIP's device headers nor its libraries, and the C++ library as it is, not as clang wraps it for them.
    own=$("$compiler" -print-resource-dir)/include
    compile="$compiler -x hip --offload-arch=$arch -nogpuinc -nogpulib -nobuiltininc -isystem $own -D__HIP_PLATFORM_AMD__ -std=c++17 -O3"
    [ -d "$rocm/include/hip" ] && compile="$compile -isystem $rocm/include"
    link="$compiler" runtime="-lamdhip64 -pthread -lm"
    [ -d "$rocm/lib" ] && runtime="-L$rocm/lib -Wl,-rpath,$rocm/lib $runtime" ;;
*)
    compile="nvcc -arch=$arch -std=c++17 -O3 -x cu"
    link="nvcc -arch=$arch" runtime="" ;;
esac
compile="$compile ${IRIS_GPU_FLAGS:-} $includes"

# The sources, each with the name of its object; $1: only those that match.
sources() {
    (cd tests && ls ./*/*.cpp) | sed 's|^\./||' | grep -Ev "$skip" | while read -r t; do
        echo "tests/$t test_$(echo "${t%.cpp}" | tr / _)"
    done | grep -E "$1"
    for e in examples/*/main.c; do echo "$e example_$(basename "$(dirname "$e")")"; done | grep -E "$1"
    for b in bench/*.c; do echo "$b bench_$(basename "${b%.c}")"; done | grep -E "$1"
}

build() {
    mkdir -p "$dir/obj"
    python3 -m gen --out "$dir/iris/gen" || return 1
    local catch2="" o without=no_example blas=(-lopenblas) # what example 07 checks against, in a source of its own
    echo '#include <catch2/catch_session.hpp>' | c++ -x c++ -E - >/dev/null 2>&1 && catch2=-lCatch2 # older ones are a header
    echo 'int main(void) { return 0; }' | cc -x c - "${blas[@]}" -o /dev/null 2>"$dir/log" || without=07_gemm blas=()
    [ "$without" = no_example ] || echo "example 07_gemm_all_scatter is left out: there is no OpenBLAS"
    { echo "include/iris/init.c init" && echo "tests/harness.cpp harness" && echo "tests/session.cpp session" && sources "$1" | grep -v "$without"; } |
        xargs -P "${IRIS_GPU_JOBS:-$(nproc)}" -L 1 sh -c "$compile"' -c "$0" -o '"$dir"'/obj/"$1".o 2>'"$dir"'/obj/"$1".log || { echo "does not compile: $0"; grep -m 3 error '"$dir"'/obj/"$1".log; rm -f '"$dir"'/obj/"$1".o; }'
    ar rcs "$dir/obj/libharness.a" "$dir/obj/harness.o" "$dir/obj/session.o" # an archive: tests with a main of their own do without
    for o in "$dir"/obj/test_*.o; do
        [ -e "$o" ] && $link "$o" "$dir/obj/libharness.a" "$dir/obj/init.o" $catch2 $runtime -o "$dir/$(basename "${o%.o}")" &
    done
    for o in "$dir"/obj/example_*.o "$dir"/obj/bench_*.o; do
        local reference=()
        [ -e "$o" ] || continue
        case $o in *07_gemm*) cc -O2 -c examples/07_gemm_all_scatter/reference.c -o "$dir/obj/reference.o" && reference=("$dir/obj/reference.o" "${blas[@]}") ;; esac
        $link "$o" "$dir/obj/init.o" "${reference[@]}" $runtime -o "$dir/$(basename "${o%.o}")" &
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
build) build "${2:-.}" ;;
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
*) sed -n '2,8s/^# //p' "$0"; exit 2 ;;
esac
[ "$failed" -eq 0 ]
