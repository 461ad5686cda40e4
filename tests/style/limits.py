# SPDX-License-Identifier: MIT
"""Every test has a time limit of its own, that a machine meets on which others compute too: Meson's default is 30 s.

    python3 tests/style/limits.py BUILD
"""
import json
import pathlib
import sys

LEAST = 300  # seconds

tests = json.loads(pathlib.Path(sys.argv[1], "meson-info/intro-tests.json").read_text(encoding="utf-8"))
short = [t for t in tests if t["timeout"] < LEAST]
for t in short:
    print(f"limits: '{t['name']}' has {t['timeout']} s, less than {LEAST}.")
print(f"{len(tests) - len(short)} of {len(tests)} tests have {LEAST} s or more")
sys.exit(1 if short or not tests else 0)
