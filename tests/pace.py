# SPDX-License-Identifier: MIT
"""How slow this machine is: limits on seconds of CPU were set on one where `work` takes USUAL."""
import time

USUAL = 0.12


def work():
    total = 0
    for i in range(3_000_000):
        total += i * i % 7
    return total


def slowness():
    """What a limit is multiplied by: 1 or more, by the quickest of three runs just now."""
    least = None
    for _ in range(3):
        before = time.process_time()
        work()
        took = time.process_time() - before
        least = took if least is None else min(least, took)
    return max(1.0, least / USUAL)
