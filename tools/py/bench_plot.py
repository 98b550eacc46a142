"""Makes named charts of the figures of tools/bench. charts.py draws them."""

import json
import re

import charts
import filter_bench
import filter_charts
import front_bench
import front_charts
from progress import Failed

INSERT = re.compile(r"insert_ns_(\d)w_at_(\d+)$")
LOSS = re.compile(r"goodput_mbs_(clockoo|memcached)_(\d+)pct$")
VS = re.compile(r"(?:(.+)_)?(udp_get|tcp_get|tcp_pipelined|multiget)_(?:mops|mkeys)$")
SLA = re.compile(r"sla_points_([a-z]+)_(\d+)_(avg|p99)$")
SLA_LIMITS_HIGH = 2  # a latency is drawn up to this many times its limit
MISS = re.compile(r"miss_(.+)_at_([\d.]+)$")


def insert_series(figures):
    """Returns {legend: [(percent of the slots in use at the step's end, ns)]}."""
    found = {}
    for name, value in figures.items():
        if match := INSERT.match(name):
            found.setdefault(f"{match[1]} writer{'s' if match[1] != '1' else ''}",
                             []).append((int(match[2]) / 10, value))
    return {legend: sorted(points) for legend, points in sorted(found.items())}


def miss_series(figures):
    """Returns {legend: [(percent of the working set that is cached, percent of gets that missed)]}."""
    found = {}
    for name, value in figures.items():
        if match := MISS.match(name):
            legend = match[1].replace("_", " ")
            found.setdefault(legend, []).append((float(match[2]), value))
    return {legend: sorted(points) for legend, points in sorted(found.items())}


def loss_series(figures):
    """Returns {server: [(percent lost each way, MB/s)]}."""
    found = {}
    for name, value in figures.items():
        if match := LOSS.match(name):
            found.setdefault(match[1], []).append((float(match[2]), value))
    return {server: sorted(points) for server, points in sorted(found.items())}


def sla_charts(figures):
    """{name: (series, title, labels)}: {setting: [(thousand requests a second, us)]} for each thing that varies and
    each SLO. Points far beyond the SLO are left out."""
    found = {}
    for name, points in figures.items():
        if match := SLA.match(name):
            most = SLA_LIMITS_HIGH * figures[f"sla_{match[3]}_limit_us"]
            if near := sorted((x / 1e3, y) for x, y in points if y <= most):
                found.setdefault((match[1], match[3]), {})[f"{match[1]} {match[2]}"] = near
    return {f"sla_{what}_{slo}": (
        series, f"Latency ({slo}) against throughput, by {what}", "thousand requests a second", "us")
        for (what, slo), series in found.items()}


def vs_groups(figures):
    """Returns {workload: [(server, million requests or keys a second)]}, with clockoo first."""
    found = {}
    for name, value in figures.items():
        match = VS.match(name)
        if match and not (match[1] or "").startswith("kernel"):
            found.setdefault(match[2], []).append((match[1] or "clockoo", value))
    return found


def charts_of(figures):
    """{name: figure of matplotlib}: insert, miss, loss, vs, those of sla, front and filter, as far as there are figures."""
    lines = {"insert": (insert_series(figures), "A set of a new key, by how full the index is",
                        "slots in use, %", "ns"),
             "miss": (miss_series(figures), "Misses by the size of the cache",
                      "cache, % of the working set", "% of gets"),
             "loss": (loss_series(figures), "Goodput of 50 connections, by what the link loses",
                      "frames lost each way, %", "MB/s"),
             **sla_charts(figures)}
    found = {name: charts.line_chart(*labels, series) for name, (series, *labels) in lines.items() if series}
    for name, (series, *labels, log_x) in front_charts.charts(figures.get(front_bench.POINTS, [])).items():
        found[f"front_{name}"] = charts.line_chart(*labels, series, log_x)
    for name, (series, *labels, log_x) in filter_charts.charts(figures.get(filter_bench.POINTS, [])).items():
        found[f"filter_{name}"] = charts.line_chart(*labels, series, log_x)
    if groups := vs_groups(figures):
        found["vs"] = charts.bar_chart("Million requests (multiget: keys) a second, each server at its "
                                       "best client", groups)
    return found


def save(found, folder, ending):
    """Writes {name: figure} into folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in found.items():
            figure.savefig(folder / f"{name}.{ending}")
    except OSError as error:
        raise Failed(f"--plot: {error}") from error


def plot(figures, folder, ending=charts.FORMATS[0]):
    """Draws the figures that tools/bench measured. Returns the charts' names."""
    try:
        found = charts_of(figures)
        save(found, folder, ending)
        return list(found)
    except ImportError as error:
        raise Failed(f"--plot: python3-matplotlib is not installed: {error}") from error


def plot_files(paths, folder, ending):
    """Draws each file. The chart of a file of clockoo-load has the file's name; those of tools/bench have their own."""
    for path in paths:
        try:
            found = json.loads(path.read_text())
            if charts.is_load(found):
                save({path.stem: charts.load_chart(found)}, folder, ending)
            else:
                plot(found, folder, ending)
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise Failed(f"{path}: no figures of tools/bench or clockoo-load: {error!r}") from error
        except ImportError as error:
            raise Failed(f"plot: python3-matplotlib is not installed: {error}") from error
