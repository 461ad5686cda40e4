# SPDX-License-Identifier: MIT
"""The site builds without a warning, and its reference shows each family's contract and parameters: `built.py DIR`."""
import html
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What a page of the reference must say, besides a list of parameters.
CONTRACTS = {
    "gen-put_signal.h": ("ordered before the signal", "must not overlap"),
    "gen-rma.h": ("must not overlap", "None of them meets other lanes", "own memory of a get"),
    "gen-load_store.h": ("no order of its own",),
    "gen-wait.h": ("Every wait acquires", "deadline", "compare as unsigned 64-bit numbers"),
    "gen-atomic.h": ("IRIS_SCOPE_SYSTEM", "sync memory on AMD", "value before"),
    "gen-create.h": ("collective in effect", "A barrier must stand between creation and the first access"),
    "tensor.h": ("the first so many blocks have one more", "Collective"),
    "gen-tensor_create.h": ("place in the whole tensor",),
    "gen-tensor_access.h": ("None of the tile functions meets other lanes",),
    "gen-launch-tensor.h": ("IRIS_INSTANTIATE_TENSOR", "src may be written again"),
    "gen-send_recv.h": ("in the order of sending", "same slice at both ends"),
    "gen-all_reduce_two_shot.h": ("A team of size 0 is the world",
                                  "calls on it come in the same order on every member"),
    "gen-all_gather_ll.h": ("elements from one row to the next",),
    "gen-all_to_allv.h": ("where there is room for dst_counts[m] elements", "length of each member’s row"),
    "gen-all_reduce_rmsnorm.h": ("IRIS_RMSNORM_SHARED",),
    "gen-launch-all_reduce.h": ("IRIS_INSTANTIATE_ALL_REDUCE", "src may be written again", "default stream"),
    "gen-launch-broadcast.h": ("IRIS_INSTANTIATE_BROADCAST", "world rank of the root"),
    "gen-launch-send_recv.h": ("IRIS_INSTANTIATE_SEND_RECV", "with the same count"),
    "gen-launch-gemm_all_scatter.h": ("IRIS_INSTANTIATE_GEMM_ALL_SCATTER", "iris_gemm_prepare"),
    "gemm-tensors.h": ("names the layout wanted", "Collective as that is"),
    "gen-gemm_all_scatter_fused_sequential.h": ("cooperative grid", "iris_gemm_all_scatter_fused_sequential_bf16_grid"),
    "gen-gemm_tiles.h": ("iris_gemm_compute_bf16",),
    "signal.h": ("Raising is a release",),
    "window.h": ("all of it is mapped", "no rank has the memory mapped any more"),
    "dlpack.h": ("calls no deleter", "The memory stays the caller’s"),
    "barrier.h": ("stream-ordered",),
    "collective-ll.h": ("iris_ll_flag(epoch)",),
    "world.h": ("host or device memory, in the heap or not", "iris_memcpy"),
}

# Pages with wide tables or long names.
WIDE = ("performance.html", "genindex.html", "reference/gen-gemm_all_scatter_producer_consumer.h.html")


def words(file):
    """A built page as plain words; none of a page that was not built."""
    if not file.exists():
        return ""
    body = re.search(r'role="main">(.*)<div class="clearer">', file.read_text(encoding="utf-8"), re.S)[1]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).split())


def problems(site):
    for name, phrases in CONTRACTS.items():
        page = site / f"reference/{name}.html"
        if not page.exists():
            yield f"{page.name} was not built"
            continue
        text = words(page)
        yield from (f"{page.name} does not say: {p}" for p in phrases if p not in text)
        if "field-list" not in page.read_text(encoding="utf-8"):
            yield f"{page.name} lists no parameters"
    for page in sorted(site.glob("reference/gen-*.html")):
        if 'class="sig sig-object' not in page.read_text(encoding="utf-8"):
            yield f"{page.name} shows no function and no type"
    if "iris_memcpy(w, to, from, bytes)" not in words(site / "how-to/move-data.html"):
        yield "how-to/move-data.html does not show iris_memcpy"
    index = words(site / "reference/index.html")
    yield from (f"the reference's index lacks the task {task}"
                for task in ("Move data from a kernel", "Collectives from the host") if task not in index)


def too_wide(site):
    """Those of the widest pages that scroll sideways in a window of 1400 pixels; none without a browser to ask."""
    browser = shutil.which("chromium")
    for name in WIDE if browser else ():
        page = site / name
        probe = page.with_name("probe.html")
        probe.write_text(page.read_text(encoding="utf-8") + "<script>document.title = 'W' + "
                         "document.documentElement.scrollWidth</script>", encoding="utf-8")
        try:
            shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
                                    "--dump-dom", f"file://{probe}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, timeout=100).stdout
        except subprocess.TimeoutExpired:
            continue  # the browser's trouble, not the page's
        finally:
            probe.unlink()
        width = re.search(rb"<title>W(\d+)</title>", shown)
        if width and int(width[1]) > 1400:
            yield f"{name} is {int(width[1])} pixels wide in a window of 1400"


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    built = subprocess.run([sys.executable, "-B", ROOT / "docs/build.py", "--or-skip", "--out", out])
    if built.returncode != 0:
        sys.exit(built.returncode)
    found = [*problems(out / "html"), *too_wide(out / "html")]
    print("\n".join(found) or "the built pages hold what they must")
    sys.exit(1 if found else 0)


main()
