# SPDX-License-Identifier: MIT
# Sourced by each consumer's test.sh: an empty folder to work in, the library's sources, and the program of README.md.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CFLAGS CXXFLAGS LDFLAGS

# passes COMMAND: the program runs and says what it should, its platform first and its two ranks in any order.
passes() {
    said=$("$@" | sort | tr '\n' ';')
    [ "$said" = "platform: host;rank 0 received 1;rank 1 received 0;" ] || {
        echo "$*: said '$said'"
        exit 1
    }
    echo "$* runs"
}
