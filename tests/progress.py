#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command of Meson and says how far it is: `progress.py meson test -C build …`, as ./run test does.

On a terminal the last line says what is running, how many steps of the build or tests are done, and how long the rest
will take at the pace so far. Elsewhere Meson's lines pass as they are, with such a line once a minute.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TEST = re.compile(r"^ *(\d+)/(\d+) .*? +(?:OK|FAIL|SKIP|TIMEOUT|ERROR|EXPECTEDFAIL|UNEXPECTEDPASS|INTERRUPT) +[\d.]+s")
STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
EVERY = 60  # seconds between lines where there is no terminal


def duration(seconds):
    """"45 s", "12 min" or "1 h 20 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """How far the command is: steps of the build, then tests."""

    def __init__(self):
        self.kind, self.done, self.all, self.began, self.step = "", 0, 0, time.monotonic(), ""

    def read(self, line):
        """Takes a line of the command's; True when it is a step of the build that went well, as all but few are."""
        test, step = TEST.match(line), STEP.match(line)
        found = test or step
        if not found:
            return False
        kind = "tests" if test else "steps of the build"
        if kind != self.kind:
            self.kind, self.began = kind, time.monotonic()
        self.done, self.all, self.step = int(found[1]), int(found[2]), step[3] if step else ""
        return step is not None

    def text(self, running):
        """The line; `running`: names of what is at work."""
        if not self.kind:
            return ", ".join(running)
        spent, left = time.monotonic() - self.began, ""
        if self.all <= 10 * self.done and self.done < self.all:  # the first few say little: long ones begin
            left = f", about {duration(spent / self.done * (self.all - self.done))} left"
        now = self.step if self.step else ", ".join(running)
        return f"{self.done} of {self.all} {self.kind}{left}" + (f": {now}" if now else "")


def name_of(words):
    """What a process is called by its command line: a script's name where a program runs one, and short arguments."""
    if not words:
        return ""
    at = next((i for i, w in enumerate(words[1:], 1) if w.endswith((".py", ".sh"))), 0) if re.search(
        r"(^|/)(python[\d.]*|sh|bash)$", words[0]) else 0
    more = [w for w in words[at + 1:] if "/" not in w]
    return " ".join([pathlib.Path(words[at]).name, *more])[:60]


def running(parent):
    """What the children of a process are called; nothing where the system does not say."""
    names = []
    for children in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            for pid in children.read_text(encoding="ascii").split():
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                names.append(name_of([w for w in words if w]))
        except OSError:
            continue  # it has ended
    return [n for n in names if n]


def watch(command, out):
    """Runs the command; its exit status."""
    terminal = out.isatty()
    progress, lock = Progress(), threading.Lock()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1) as child:
        ended = threading.Event()

        def show():
            while not ended.wait(1 if terminal else EVERY):
                with lock:
                    text = progress.text(running(child.pid))
                    if terminal:
                        out.write("\r\033[K" + text[:shutil.get_terminal_size().columns - 1])
                    elif progress.kind == "tests":
                        out.write(f"run: {text}\n")
                    out.flush()

        shower = threading.Thread(target=show, daemon=True)
        shower.start()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has it too, and ends in its own way
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())  # which the command has not
        for line in child.stdout:
            with lock:
                passed = progress.read(line)
                if terminal:
                    out.write("\r\033[K")
                if not (terminal and passed):
                    out.write(line)
                out.flush()
        status = child.wait()
        ended.set()
        shower.join()
        if terminal:
            out.write("\r\033[K")
            out.flush()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: progress.py COMMAND…")
    os.environ.setdefault("PYTHONUNBUFFERED", "1")  # Meson's lines as they come
    sys.exit(watch(sys.argv[1:], sys.stdout))
