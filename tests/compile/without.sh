#!/bin/sh
# SPDX-License-Identifier: MIT
# without.sh PATTERN COMMAND…: the command, and what it says without the lines that match.
pattern=$1
shift
said=$("$@" 2>&1)
rc=$?
printf '%s\n' "$said" | grep -v -e "$pattern" -e '^$'
exit "$rc"
