#!/bin/sh
# SPDX-License-Identifier: MIT
# refuses.sh SENTENCE COMMAND…: the command fails by itself, without a crash, and says so. Silent when it does.
sentence=$1
shift
said=$(timeout 120 "$@" 2>&1)
rc=$?
[ "$rc" -ge 1 ] && [ "$rc" -lt 124 ] || {
    printf '%s: exit status %s\n%s\n' "$*" "$rc" "$said"
    exit 1
}
case $said in
*"$sentence"*) ;;
*) printf '%s: does not say "%s" but\n%s\n' "$*" "$sentence" "$said"; exit 1 ;;
esac
