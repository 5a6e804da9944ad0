"""The console under load: 100,000 results in a minute on one page. Measures the latency of clicks and the memory.

    python benchmarks/console.py [RESULTS [SECONDS]]

Prints the size of the bundle, the first paint, then for every ten seconds the number of results, the latency of
clicks from the input event to the next frame (median and greatest), the heap after a collection, and the processor time
of the page's main thread.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/console"))

from demo_server import DemoServer, free_port
from playwright.sync_api import CDPSession, Page, sync_playwright
from whorl.server.routes import console
from whorl_client import Client

STREAM = "http://bench.example/s"
QUERY = """PREFIX : <http://bench.example/>
SELECT ?sensor ?value WHERE { STREAM :s [NOW] { ?sensor :value ?value } }"""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# From the input to the frame that shows its effect.
TIMER = """() => {
  window.clicks = [];
  addEventListener("click", (event) => {
    requestAnimationFrame(() => setTimeout(() => window.clicks.push(performance.now() - event.timeStamp)));
  }, true);
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main() -> None:
    results, seconds = (int(one) for one in [*sys.argv[1:], "100000", "60"][:2])
    own = [file for name, file in console._files().items() if "swagger" not in name]
    print(f"bundle {sum(len(gzip.compress(file.content)) for file in own) / 1024:.0f} KiB gzipped")
    with tempfile.TemporaryDirectory() as data:
        demo = DemoServer(Path(data) / "data", free_port())
        demo.start()
        try:
            measure(demo, results, seconds)
        finally:
            demo.kill()


def measure(demo: DemoServer, results: int, seconds: int) -> None:
    token = (demo.data_dir / "token").read_text().strip()
    with Client(demo.link.partition("/#")[0], token) as client, sync_playwright() as playwright:
        client.streams.create(STREAM)
        client.register(QUERY, "bench")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(demo.link)
        page.wait_for_selector(".card")
        print(f"first paint {page.evaluate(PAINT):.0f} ms")
        page.evaluate("() => { location.hash = '#/query/bench/history' }")
        page.wait_for_selector('[role="tab"]')
        page.evaluate(TIMER)
        feeding = threading.Thread(target=feed, args=(demo, token, results, seconds))
        feeding.start()
        watch(page, feeding)
        shown = client.queries.get("bench").last_seq
        print(f"{shown} results in all; missing on the page: {page.get_by_text('results missing').count()}")
        browser.close()


def watch(page: Page, feeding: threading.Thread) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    print(f"{'s':>4} {'clicks':>7} {'median ms':>10} {'max ms':>8} {'heap MiB':>9} {'page CPU s':>11}")
    started = time.monotonic()
    while feeding.is_alive():
        until = time.monotonic() + 10
        while time.monotonic() < until and feeding.is_alive():
            for name in ("Result", "Chart", "History"):
                tab = page.get_by_role("tab", name=name)
                if tab.count():
                    tab.click()
                page.wait_for_timeout(150)
        clicks = page.evaluate("() => window.clicks.splice(0)")
        numbers = f"{statistics.median(clicks):>10.1f} {max(clicks):>8.1f} {heap(session):>9.1f} {busy(session):>11.1f}"
        print(f"{time.monotonic() - started:>4.0f} {len(clicks):>7} {numbers}")


def heap(session: CDPSession) -> float:
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return used / 1024 / 1024


def busy(session: CDPSession) -> float:
    """Processor time of the page's main thread so far, which does not depend on other load."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


def feed(demo: DemoServer, token: str, results: int, seconds: int) -> None:
    """Send this many events, each of which yields a result, evenly over the time."""
    per_batch = max(1, results // (seconds * 10))
    start, sent = time.time(), 0
    with Client(demo.link.partition("/#")[0], token) as client:
        while sent < results:
            at_ms = int(time.time() * 1_000)
            lines = [_event(at_ms, sent + one) for one in range(min(per_batch, results - sent))]
            client.stream(STREAM).send("\n".join(lines) + "\n", format="ndjson")
            sent += len(lines)
            time.sleep(max(0.0, start + sent * seconds / results - time.time()))
    print(f"{sent} events in {time.time() - start:.0f} s")


def _event(at_ms: int, number: int) -> str:
    data = f"<http://bench.example/sensor{number % 50}> <http://bench.example/value> {number} ."
    return json.dumps({"t": at_ms, "data": data})


if __name__ == "__main__":
    main()
