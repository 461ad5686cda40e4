#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Of checks that take long, each commit has a part, most commits another one than the commit before.

IRIS_TEST_PART=all asks for all of them, a number for the part of that number. In a shell, `part.py N` passes on one of
N parts of the lines that it reads; what stands before a line's `|` is the name of its check. `part.py` prints "all", or
this commit's number.
"""
import os
import pathlib
import subprocess
import sys
import time
import zlib

PARTS = 840  # numbers of parts: whatever divides it, all parts are as likely
ROOT = pathlib.Path(__file__).resolve().parent.parent


def number():
    """The number of this commit's part, where no commit is known of this day's; None where everything is asked for."""
    asked = os.environ.get("IRIS_TEST_PART", "")
    if asked:
        return None if asked == "all" else int(asked)
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        done = None
    known = done is not None and done.returncode == 0
    return (int(done.stdout, 16) if known else int(time.time()) // 86400) % PARTS


def mine(names, parts):
    """Those of the names that this commit's part has: about one of `parts`."""
    part = number()
    return [n for n in names if part is None or (zlib.crc32(str(n).encode()) - part) % parts == 0]


def main():
    if len(sys.argv) == 1:
        part = number()
        print("all" if part is None else part)
        return
    lines = sys.stdin.read().splitlines()
    chosen = set(mine([line.split("|", 1)[0] for line in lines], int(sys.argv[1])))
    print("".join(f"{line}\n" for line in lines if line.split("|", 1)[0] in chosen), end="")


if __name__ == "__main__":
    main()
