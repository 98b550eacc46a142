"""Parts of tools/bench operate that query a running appliance: which rows it shows, and what reading them
costs.

scrape: the load generator asks over a memif, at a rate that both ends hold; the core's time of each get is compared
while /metrics is read SCRAPES times a second, and while nobody reads. Short slices with and without reading alternate.
Each is compared with its neighbour only, and the figure is the median of these ratios.
"""

import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time

import shown_names
from bench_figures import spread
from progress import Failed, Step

PROGRAM, LOAD = "app/clockoo", "tests/load/clockoo-load"
SCRAPES = 100  # reads of /metrics a second
RATE, KEYS = 150_000, 100_000
SLICE_S, PAIRS, QUICK_PAIRS = 1.2, 31, 7
ROWS_S = 1.1  # rows are refreshed once a second, so after this time they show the slice's counts
READY_S = 60


def names(bench):
    """Returns the rows of STATS.md, and those that are in /metrics and on the page of one of several
    appliances."""
    with Step("metrics_names"):
        found = shown_names.all_shown(bench.folder / PROGRAM, bench.folder / LOAD)
    count, missing = shown_names.missing(found)
    bench.figures.keep("metrics_names", [(count - len(missing)) / count])
    lines = [[name, "-", "not here" if rows is None else len(rows), "-"] for name, rows in found.items()]
    return [*lines, ["all together", count, count - len(missing), f"{1 - len(missing) / count:.3f}"],
            *([[f"missing: {', '.join(missing[:8])}", "", "", ""]] if missing else [])]


class Scraper:
    """Reads /metrics at even intervals on one connection, as a monitor does, and keeps the ms of each answer."""

    def __init__(self, path):
        self.path, self.took_ms, self.stop = path, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        c, due = shown_names.Local(self.path), time.monotonic()
        while not self.stop.is_set():
            begun = time.monotonic()
            c.request("GET", "/metrics")
            c.getresponse().read()
            self.took_ms.append((time.monotonic() - begun) * 1e3)
            due += 1 / SCRAPES
            time.sleep(max(0, due - time.monotonic()))
        c.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def looked(path):
    """Returns (gets, ns that the core was busy)."""
    found = json.loads(shown_names.get(path, "/api/all"))
    return int(found["stats"]["cmd_get"]), sum(int(core["core_busy_ns"]) for core in found["cores"].values())


def slice_of(path, scraped):
    """Returns (gets a second, ns of the core a get, ms of scrapes). Scrapes begin ROWS_S before the first
    reading and end after the last, so that both readings show rows of this slice's kind."""
    with Scraper(path) if scraped else contextlib.nullcontext() as scraper:
        time.sleep(ROWS_S)
        gets, busy_ns = looked(path)
        begun = time.monotonic()
        time.sleep(SLICE_S)
        after, after_ns = looked(path)
        took_s = time.monotonic() - begun
    if after <= gets:
        raise Failed("scrape: the load generator asks for nothing")
    return (after - gets) / took_s, (after_ns - busy_ns) / (after - gets), scraper.took_ms if scraped else []


def scrape(bench):
    """Returns the time that reading /metrics a hundred times a second takes, and how much of it the core loses
    for a get."""
    pairs = QUICK_PAIRS if bench.quick else PAIRS
    rates, costs, took = {False: [], True: []}, {False: [], True: []}, []
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="clockoo-scrape-") as folder:
        path, memif = f"{folder}/http", f"{folder}/memif"
        common = ["--no-huge", "--port", "memif", "--socket", memif, "--data-dir", str(shown_names.ROOT / "drivers-config")]
        server = subprocess.Popen([str(bench.folder / PROGRAM), *common, "--config", "none", "-m", "128", "-U", "11211", "--lcores",
                                   f"0@{cpus[0]}", "--file-prefix", f"scrape-{os.getpid()}", "--telemetry-http", path],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        load = None
        try:
            if "ready" not in server.stdout.readline():
                server.wait(READY_S)
                raise Failed(f"scrape: {server.stderr.read().strip()}")
            seconds = 2 * pairs * (SLICE_S + 4) + 30
            load = subprocess.Popen([str(bench.folder / LOAD), *common, "--yield", "--lcores", f"0@{cpus[-1]}", "--file-prefix",
                                     f"scrape-load-{os.getpid()}", "--transport", "udp", "--rate", str(RATE), "--sets", "0", "--keys",
                                     str(KEYS), "--seconds", str(seconds), "--quiet"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(4)
            with Step(f"scrape: {pairs} pairs of slices"):
                for number in range(2 * pairs):
                    scraped = number % 4 in (1, 2)  # with, without, without, with: a drift affects both
                    rate, cost_ns, took_ms = slice_of(path, scraped)
                    rates[scraped].append(rate)
                    costs[scraped].append(cost_ns)
                    took += took_ms
        finally:
            for child in filter(None, (load, server)):
                child.terminate()
                child.wait(READY_S)
    bench.figures.keep("scrape_ms", took)
    # The median is robust against other work: what lasts longer than a pair slows both of its halves, and what is
    # shorter affects few pairs.
    ratio = bench.figures.keep("get_rate_ratio", [alone / scraped for alone, scraped in zip(costs[False], costs[True])])
    for kind, scraped in (("alone", False), ("scraped", True)):
        bench.figures.keep(f"get_ns_{kind}", costs[scraped], 1)
    bench.figures.keep("scrapes_per_s", [len(took) / (pairs * (ROWS_S + SLICE_S))])
    return [["gets a second", spread(rates[False], 0), spread(rates[True], 0), f"{statistics.median(rates[True]) / statistics.median(rates[False]):.3f}"],
            ["the core's ns of a get", spread(costs[False]), spread(costs[True]), f"{ratio:.3f}"],
            ["ms of a scrape", "-", spread(took, 2), "-"]]
