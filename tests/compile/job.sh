#!/bin/sh
# SPDX-License-Identifier: MIT
# One check: `job.sh 'name|command'` prints "ok - name (seconds)", or "not ok - name" and what the command said.
name=${1%%|*}
begun=$(date +%s)
if said=$(sh -c "${1#*|}" 2>&1) && [ -z "$said" ]; then
    echo "ok - $name ($(($(date +%s) - begun)) s)"
else
    printf 'not ok - %s\n%s\n' "$name" "$said" | head -n 40
fi
