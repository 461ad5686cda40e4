#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file of a trace is what Perfetto takes: `valid.py PROGRAM` runs docs/programs/trace.c and reads what it wrote.

JSON of Chrome's trace format with the keys that each kind of event must have; threads that Perfetto keeps apart; events
of one row that lie in each other or apart, once cut to nanoseconds as Perfetto does (it drops others); a wait after
each raise, and arrows to the part of a wait that is after its raise; ranks in order. look.py shows a file in Perfetto.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

KEYS = {"X": ("name", "cat", "pid", "tid", "ts", "dur"), "M": ("name", "pid", "args"),
        "C": ("name", "pid", "ts", "args"), "s": ("name", "cat", "id", "pid", "tid", "ts"),
        "f": ("name", "cat", "id", "pid", "tid", "ts", "bp")}
RANKS, TURNS, GROUPS = 3, 4, 3  # of the program


def cut(event):
    """(begin, end) in nanoseconds."""
    begin = int(event["ts"] * 1000)
    return begin, begin + int(event.get("dur", 0) * 1000)


def row(event):
    """Its thread, as Perfetto sees it: 0 and the process's number are that process's main thread."""
    main = event.get("tid") in (0, event["pid"])
    return event["pid"], "main" if main else event.get("tid")


def overlapping(events):
    """Events of a row that begin in another one and end after it."""
    for where in {row(e) for e in events}:
        open_until = []
        for event in sorted((e for e in events if row(e) == where), key=lambda e: (cut(e)[0], -cut(e)[1])):
            begin, end = cut(event)
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            if open_until and end > open_until[-1]:
                yield f"{event['name']} at {event['ts']} of {where} ends after what it lies in"
            open_until.append(end)


def in_kind(events, flow, kind, peer=None):
    """Whether an arrow's end lies in an event of this kind in its row, with this other rank where one is given."""
    at = cut(flow)[0]
    return any(row(e) == row(flow) and e["cat"] == kind and peer in (None, e["args"].get("peer")) and
               (cut(e)[0] <= at < cut(e)[1] or cut(e) == (at, at)) for e in events)


def saw(events, signal, slack):
    """Whether a wait ends after this raise, with its value or one that replaced it."""
    args = signal["args"]
    return any(e["cat"] == "wait" and e["pid"] == args["peer"] and e["args"]["heap_offset"] == args["heap_offset"] and
               e["args"]["value"] >= args["value"] and e["ts"] + e["dur"] >= signal["ts"] - slack for e in events)


def problems(trace):
    every = trace["traceEvents"]
    yield from (f"{key} is missing in {e}" for e in every for key in KEYS[e["ph"]] if key not in e)
    spans = [e for e in every if e["ph"] == "X"]
    yield from overlapping(spans)
    yield from (f"thread {e['tid']} is the main thread of a rank" for e in spans if e["tid"] < RANKS)
    first = list(dict.fromkeys(e["pid"] for e in sorted((e for e in every if "ts" in e), key=lambda e: cut(e)[0])))
    if first != sorted(first):
        yield f"the first events are of ranks {first}: Perfetto shows ranks of as many blocks in this order"
    wanted = {"smooth": RANKS * TURNS * (GROUPS - 1), "exchange": RANKS * TURNS, "put": RANKS * TURNS}
    for name, count in wanted.items():
        found = sum(e["name"] == name for e in spans)
        if found != count:
            yield f"{found} events {name}, not {count}"
    named = {row(e) for e in every if e["ph"] == "M" and e["name"] == "thread_name"}
    yield from (f"row {where} has no name" for where in sorted({row(e) for e in spans} - named))
    begins, ends = ({e["id"]: e for e in every if e["ph"] == ph} for ph in "sf")
    if set(begins) != set(ends) or len(begins) != RANKS * TURNS:
        yield f"{len(begins)} arrows begin and {len(ends)} end, not {RANKS * TURNS}"
    slack = 2 * max(c["within_us"] for c in trace["otherData"]["clocks"])
    yield from (f"no wait saw {e}" for e in spans if e["cat"] == "signal" and not saw(spans, e, slack))
    for number in set(begins) & set(ends):
        begin, end = begins[number], ends[number]
        if not in_kind(spans, begin, "signal"):
            yield f"arrow {number} begins in no raise"
        known = end["ts"] != begin["ts"] or slack == 0  # else the clocks know no better
        if known and not (in_kind(spans, end, "wait") and in_kind(spans, end, "raised", begin["pid"])):
            yield f"arrow {number} does not end in the part of a wait after its raise"
        if end["ts"] < begin["ts"]:
            yield f"arrow {number} ends before it begins"
    for rank in range(RANKS):
        flight = [e["args"]["bytes"] for e in every if e["ph"] == "C" and e["pid"] == rank]
        if not flight or flight[-1] != 0 or min(flight) < 0 or max(flight) == 0:
            yield f"rank {rank}: bytes in flight {flight}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "trace.json"
        subprocess.run([sys.argv[1], file], check=True)
        trace = json.loads(file.read_text(encoding="utf-8"))
    found = list(problems(trace))
    print("\n".join(found) or f"{len(trace['traceEvents'])} events are as Perfetto wants them")
    return 1 if found else 0


sys.exit(main())
