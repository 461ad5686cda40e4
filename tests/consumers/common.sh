# SPDX-License-Identifier: MIT
# Sourced by each consumer's test.sh: an empty folder to work in, the library's sources, and the program of README.md.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CFLAGS CXXFLAGS LDFLAGS

# A source with the one header, and with the kernels and launchers of every family.
every_launcher() {
    launchers=$(cd "$root" && python3 -B -m gen --outputs launch)
    printf '%s\n' $launchers self_test.h on_stream.h | sed 's/\.h$//' | tr a-z A-Z |
        sed 's/.*/#define IRIS_INSTANTIATE_&/'
    echo '#include "iris.h"'
}

# says LINES COMMAND: the command succeeds and says these lines, sorted, each with a semicolon behind it.
says() {
    wanted=$1
    shift
    "$@" >"$work/said" || {
        echo "$*: ended with $?, and said '$(cat "$work/said")'"
        exit 1
    }
    said=$(sort "$work/said" | tr '\n' ';')
    [ "$said" = "$wanted" ] || {
        echo "$*: said '$said'"
        exit 1
    }
}

# passes COMMAND: the program runs and says what it should, its platform first and its two ranks in any order.
passes() {
    says "platform: host;rank 0 received 1;rank 1 received 0;" "$@"
    echo "$* runs"
}
