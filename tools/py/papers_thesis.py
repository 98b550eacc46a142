"""The part thesis of tools/bench papers: chapters 2, 4 and 5.2 of B. Fan's thesis, by the programs of tools/bench
front, filter and flash. Each piece returns points (papers_points.py).
"""

import concurrent.futures
import os
import statistics

import filter_bench
import filter_charts
import flash_bench
import front_bench
import front_charts
from papers_points import COUNT, TIME, point
from progress import Step

PART = "thesis"
WHO = {"none": "no cache", "front": "front"}
# {a chart's name in front_charts and filter_charts: the figure's number}
FRONT_FIGURES = {"2_4": "2.4", "2_5a": "2.5a", "2_5b": "2.5b", "2_7": "2.7", "2_8": "2.8", "2_9": "2.9", "2_10": "2.10"}
FILTER_FIGURES = {"4_2a": "4.2a", "4_2b": "4.2b", "4_3": "4.3", "4_4": "4.4", "4_5": "4.5", "4_6a": "4.6a", "4_6b": "4.6b",
                  "4_7a": "4.7a", "4_7b": "4.7b", "4_8": "4.8", "4_9": "4.9"}
COUNTED_FILTERS = ("4.2a", "4.2b", "4.3", "4.4")
FILTER_QUICK = (("loads", 3, ("--buckets", 1 << 15)), ("space", 1, ("--buckets", 1 << 14, "--looks", 60_000)),
                ("all", 3, ("--shift", 18, "--looks", 60_000)))
# Filters of 192 MB, as in the thesis, with fewer runs than in tools/bench filter.
FILTER_FULL = (("loads", 10, ("--buckets", 1 << 15)), ("loads", 3, ("--buckets", 1 << 20)),
               ("space", 5, ("--buckets", 1 << 16, "--looks", 200_000)), ("all", 1, ("--shift", 25, "--looks", 1_000_000)))
FLASH_PARTS = ("bytes", "reads", "convert", "misses", "raw")


def of_charts(charts, figures, unit, kind_of):
    """Returns points of the charts of front_charts or filter_charts."""
    return [point(PART, figure, series, round(x, 1) if figure == "2.5b" else x, y, unit, kind=kind_of(figure))
            for name, figure in figures.items() if name in charts
            for series, points in charts[name][0].items() for x, y in points]


def scaling(rows):
    """Returns points of figure 2.6, whose two charts become one."""
    found = []
    for who, words in WHO.items():
        for load, points in front_charts.figure_2_6(rows, who, who).items():
            found += [point(PART, "2.6", f"{words}: {load}", n, kqps, "thousand requests/s", kind=COUNT) for n, kqps in points]
    return found


def idle(rows):
    """Returns points of figure 2.7: servers without requests."""
    return [point(PART, "idle", f"x = {row['x']}", 0, sum(load == 0 for load in row["loads"]), "servers", kind=COUNT)
            for row in front_bench.chosen(rows, "2.7", "none")]


def front(folder, quick, options):
    """Measures chapter 2: counts, the same on any machine, so a figure runs on each CPU at once."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = [row for found in pool.map(lambda part: front_bench.rows_of(folder / "tests/bench/front/front_level", part, quick),
                                          front_bench.THESIS) for row in found]
    return [*of_charts(front_charts.charts(rows), FRONT_FIGURES, "", lambda _: COUNT), *scaling(rows), *idle(rows)]


def table_4_3(rows):
    found = []
    for name, words in filter_bench.NAMES.items():
        of = filter_bench.chosen(rows, "full", filter=name)
        for x, unit, kind, value in (("bits an item", "bits", COUNT, "bits_per_item"), ("false positives", "%", COUNT, "rate"),
                                     ("million inserts/s", "million/s", TIME, "mops")):
            if of:
                found.append(point(PART, "table4.3", words, x, None, unit, [r[value] * (100 if value == "rate" else 1) for r in of], kind))
    return found


def table_4_2(rows):
    """Returns points of table 4.2: bits an item for a rate of false positives, interpolated between measured points."""
    return [point(PART, "table4.2", name, f"{rate:g}", bits, "bits an item", kind=COUNT)
            for name in ("bf", "cf4", "ss_cf") for rate in (0.01, 0.001) if (bits := filter_bench.bits_at(rows, name, rate))]


def loads(rows):
    return [point(PART, "loads", f"{slots} slots", bits, load, "of slots", kind=COUNT) for slots in (4, 8)
            for bits, load in filter_bench.by_x([r for r in filter_bench.chosen(rows, "loads", slots=slots) if r["bits"] >= 7], "bits", "load", min)]


def latency(rows):
    return [point(PART, "latency", filter_bench.NAMES[name], words, statistics.median(
        r["ns"] for r in filter_bench.chosen(rows, f"latency_{words}", filter=name, percent=95)), "ns")
        for words in ("absent", "present") for name in filter_bench.filters_of(rows, f"latency_{words}")]


def filters(folder, quick, options):
    """Measures chapter 4."""
    rows = []
    for part, runs, words in FILTER_QUICK if quick else FILTER_FULL:
        with Step(f"filters: {part}"):
            for run in range(runs):
                rows += filter_bench.rows_of(folder / "tests/bench/filter/filter_trial", part, run, words)
    charts = filter_charts.charts(rows)
    return [*of_charts(charts, FILTER_FIGURES, "", lambda figure: COUNT if figure in COUNTED_FILTERS else TIME),
            *table_4_2(rows), *table_4_3(rows), *loads(rows), *latency(rows)]


# {figure of tools/bench flash: (figure of the thesis, series, x, unit, factor, kind)}
TIER = {"flash_puts_per_s": ("5.4", "ours", "puts", "thousand/s", 1e-3, TIME),
        "conversions_per_s": ("5.4", "ours", "conversions", "thousand/s", 1e-3, TIME),
        "flash_gets_per_s": ("5.4", "ours", "gets that hit", "thousand/s", 1e-3, TIME),
        "raw_gets_per_s": ("5.4", "the raw device", "gets that hit", "thousand/s", 1e-3, TIME),
        "misses_mops": ("5.4", "ours", "gets that miss", "thousand/s", 1e3, TIME),
        "read_ratio_of_raw": ("tier", "ours", "gets by raw reads", "of raw reads", 1, TIME),
        "log_dram_bytes_per_item": ("tier", "ours", "DRAM an item, log", "bytes", 1, COUNT),
        "hash_dram_bytes_per_item": ("tier", "ours", "DRAM an item, hash", "bytes", 1, COUNT),
        "reads_per_hit": ("tier", "ours", "reads a hit", "reads", 1, COUNT),
        "reads_per_miss": ("tier", "ours", "reads a miss", "reads", 1, COUNT)}
PAPER_TIER = {"puts": 204.6, "conversions": 67.96, "gets that hit": 46.79, "gets that miss": 7086}


def tier_points(figures):
    found = []
    for name, (figure, series, x, unit, times, kind) in TIER.items():
        if name in figures:
            one = point(PART, figure, series, x, figures[name] * times, unit, kind=kind)
            if f"{name}_spread" in figures:
                one["spread"] = [v * times for v in figures[f"{name}_spread"]]
            found.append(one)
    return found + [point(PART, "5.4", "paper", x, y, "thousand/s", kind=COUNT) for x, y in PAPER_TIER.items()]


def flash(folder, quick, options):
    """Measures section 5.2."""
    bench = flash_bench.Bench(folder, quick)
    for part in FLASH_PARTS:
        flash_bench.MEASURES[part](bench)
    return tier_points(bench.figures)
