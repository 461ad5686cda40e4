#!/bin/bash
# SPDX-License-Identifier: MIT
# One check: `job.sh 'name|command'` prints "ok - name (its CPU seconds)", or "not ok - name" and what the command said.
name=${1%%|*}
TIMEFORMAT=$'\n%0U'
said=$({ time sh -c "${1#*|}"; } 2>&1)
status=$? seconds=${said##*$'\n'} said=${said%$'\n'*}
if [ "$status" = 0 ] && [ -z "$said" ]; then
    echo "ok - $name ($seconds s)"
else
    printf 'not ok - %s\n%s\n' "$name" "$said" | head -n 40
fi
