"""tools/bench operate: compares what operators are shown with the truth, and measures what showing it costs.

Each part is a row of PARTS: the programs it needs, built before, and a function that keeps its figures and
returns lines of a table. LIMITS has the limits of figures; figures outside of them are reported.
"""

import dataclasses
import json
import pathlib
import subprocess

import budget
import operate_live
import tls_bench
from bench_figures import Figures, table
from progress import Failed, Step

RUN_LIMIT_S = 600
PROGRAM = "tests/bench/bench_operate"
ZIPF = "tests/bench/hot_zipf"
REQUEST, BARE = "tests/bench/bench_request", "tests/bench/bench_request_bare"
COST_CASES = ("udp_get", "tcp_get")
RUNS = 100
ACCESS_CASES = ("udp_get", "tcp_get", "tcp_set")
NETWORKS = 10_000
KINDS = ("udp_mix", "tcp_mix", "tcp_multiget")
PIPELINED = "tcp_pipelined_mix"  # apart from other kinds, since a pass counts from its first bytes
REQUESTS, QUICK_REQUESTS = 2_000_000, 200_000
# {figure: (least, most)}; None: no limit.
LIMITS = {"latency_p50_ratio": (0.95, 1.05), "latency_p99_ratio": (0.95, 1.05),
          "hotkeys_in_order": (0.99, None), "latency_cost_ratio": (None, 1.01), "metrics_names": (1, 1),
          "get_rate_ratio": (0.99, None), "allow_list_cost_ratio": (None, 1.01),
          "capture_rate_ratio_off": (0.999, 1.001)}


@dataclasses.dataclass
class Bench:
    folder: pathlib.Path  # the build's folder
    quick: bool
    figures: Figures

    def rows(self, program, *words):
        """Returns the lines of JSON that a program prints."""
        done = subprocess.run([str(self.folder / program), *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=RUN_LIMIT_S)
        if done.returncode != 0:
            raise Failed(f"{pathlib.Path(program).name}: {(done.stderr or done.stdout).strip()[-400:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def furthest(ratios):
    """Returns the ratio that is furthest from 1."""
    return max(ratios, key=lambda ratio: max(ratio, 1 / ratio) if ratio > 0 else float("inf"))


def latency(bench):
    """Returns the percentiles of `stats latency` divided by those of the load generator's timestamps, for each
    kind of request."""
    found, lines = {"p50": [], "p99": []}, []
    for kind in (*KINDS, PIPELINED):
        with Step(f"latency: {kind}"):
            row, = bench.rows(PROGRAM, "latency", kind, "--requests",
                              QUICK_REQUESTS if bench.quick else REQUESTS)
        if row["counted"] != row["requests"]:
            raise Failed(f"latency: {kind}: {row['requests']} requests were answered, {row['counted']} are shown")
        for name, ratios in found.items():
            stamped, shown = row[f"generator_{name}_us"], row[f"stats_{name}_us"]
            ratio = shown / stamped if stamped else float("inf")
            lines.append([f"{kind} {name}, us", f"{stamped:.2f}", f"{shown:.2f}", f"{ratio:.3f}"])
            if kind == PIPELINED:
                bench.figures.keep(f"latency_pipelined_{name}_ratio", [ratio])
            else:
                ratios.append(ratio)
    for name, ratios in found.items():
        bench.figures.keep(f"latency_{name}_ratio", [furthest(ratios)])
    return lines


def hotkeys(bench):
    """Returns the number of runs of a Zipf stream, and of those in which the ten hottest keys were named in
    order."""
    with Step(f"hotkeys: {RUNS} streams"):
        row, = bench.rows(ZIPF, "--runs", RUNS)
    bench.figures.keep("hotkeys_in_order", [row["in_order"] / row["runs"]])
    return [["streams", row["runs"], row["in_order"], f"{row['in_order'] / row['runs']:.2f}"]]


def cost(bench):
    """Returns the instructions of a request without and with latency histograms."""
    lines = []
    for case in COST_CASES:
        with Step(f"cost: {case}"):
            bare, full = (budget.instructions(bench.folder / p, case)["instructions"] for p in (BARE, REQUEST))
        lines.append([case, bare, full, f"{full / bare:.4f}"])
        if case == "udp_get":
            bench.figures.keep("latency_cost_ratio", [full / bare], 4)
    return lines


def allow_list(bench):
    """Returns the instructions of a get with a list of 10,000 networks, divided by those without a list."""
    ratios, lines = [], []
    for case in ACCESS_CASES:
        with Step(f"allow_list: {case}"):
            bare, listed = (budget.instructions(bench.folder / REQUEST, case, *words)["instructions"]
                            for words in ((), ("--networks", NETWORKS)))
        ratios.append(listed / bare)
        lines.append([f"{case}, instructions", f"{bare:.1f}", f"{listed:.1f}", f"{ratios[-1]:.4f}"])
    bench.figures.keep("allow_list_cost_ratio", [furthest(ratios)])
    return lines


def capture(bench):
    """Returns the instructions of a request on a port after a capture, and during one, divided by those on a port that
    was never captured."""
    ratios, lines, now = [], [], []
    for case in ACCESS_CASES:
        with Step(f"capture: {case}"):
            never, before, on = (budget.instructions(bench.folder / REQUEST, case, *words)["instructions"]
                                 for words in ((), ("--captured", "before"), ("--captured", "now")))
        ratios.append(never / before)
        now.append(on / never)
        lines += [[f"{case}, off again", f"{never:.1f}", f"{before:.1f}", f"{ratios[-1]:.4f}"],
                  [f"{case}, while it runs", f"{never:.1f}", f"{on:.1f}", f"{now[-1]:.4f}"]]
    bench.figures.keep("capture_rate_ratio_off", [furthest(ratios)], 4)
    bench.figures.keep("capture_cost_ratio_on", [furthest(now)], 4)
    return lines


PARTS = {
    "names": ([operate_live.PROGRAM, operate_live.LOAD], operate_live.names),
    "scrape": ([operate_live.PROGRAM, operate_live.LOAD], operate_live.scrape),
    "cost": ([REQUEST, BARE], cost),
    "latency": ([PROGRAM], latency),
    "hotkeys": ([ZIPF], hotkeys),
    "allow_list": ([REQUEST], allow_list),
    "capture": ([REQUEST], capture),
    "tls": ([tls_bench.PROGRAM], tls_bench.tls),
}


def targets(parts):
    """Returns the targets that these parts need."""
    return sorted({target for part in parts for target in PARTS[part][0]})


def outside(figures):
    """Returns a line for each figure outside its limits."""
    return [f"{name} is {figures[name]}, and has to be {least if least is not None else ''}.."
            f"{most if most is not None else ''}" for name, (least, most) in LIMITS.items()
            if name in figures and ((least is not None and figures[name] < least) or
                                    (most is not None and figures[name] > most))]


def measure(folder, quick, parts, keep):
    bench = Bench(folder, quick, Figures())
    for part in parts:
        lines = PARTS[part][1](bench)
        keep(bench.figures.figures)
        table(PARTS[part][1].__doc__.splitlines()[0], [part, "is", "shown", "ratio"], lines)
    for line in outside(bench.figures.figures):
        print(line, flush=True)
    return bench.figures.figures
