#!/usr/bin/python3 -B
"""charts.py FILE... [--out DIR] [--format svg|png] - draw latency against throughput.

Each FILE is what `clockoo-load --json FILE` wrote; its chart has the same name and another ending, and lies in
DIR (the current folder). Mean, median and 99th percentile have a line each, for each number of connections and
depth. The axis of latency is logarithmic, since it spans decades. tools/bench draws its charts by the same
functions. Needs python3-matplotlib; the package installs this file in /usr/share/clockoo.
"""

import argparse
import json
import pathlib
import sys

WIDE, HIGH, BAR_HIGH = 7.5, 4.4, 0.22  # inches
COLOURS = ("#0b6fb8", "#d1591b", "#3a8f3a", "#8a4fa3", "#777777")
LINES = ("-", "--", ":", "-.")
LATENCIES = {"mean": "mean_us", "p50": "p50_us", "p99": "p99_us"}
LEAST_US = 0.1  # lower values have no place on a logarithmic scale
FORMATS = ("svg", "png")


def empty(title, high=HIGH):
    """Returns a figure and its axes. The first chart loads the library, which takes a second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, high), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    return figure, axes


def line_chart(title, x_label, y_label, series, log_x=False):
    """Draws a line for each series, {legend: [(x, y)]}. Both axes begin at zero; x may be logarithmic."""
    figure, axes = empty(title)
    for number, (legend, points) in enumerate(series.items()):
        again, colour = divmod(number, len(COLOURS))
        axes.plot(*zip(*points), LINES[again % len(LINES)], marker="o", markersize=4, label=legend,
                  color=COLOURS[colour])
    axes.set(xlabel=x_label, ylabel=y_label)
    if log_x:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(color="#ddd")
    axes.legend(fontsize="small")
    return figure


def bar_chart(title, groups):
    """Draws a group of bars for each key of {group: [(name, value)]}, from zero. The first bar of each has its
    own colour."""
    rows = [row for group, members in groups.items() for row in [(group, None), *members]]
    figure, axes = empty(title, 1 + BAR_HIGH * len(rows))
    firsts = {members[0] for members in groups.values()}
    for y, (name, value) in enumerate(rows):
        if value is not None:
            drawn = axes.barh(y, value, color=COLOURS[(name, value) not in firsts])
            axes.bar_label(drawn, fmt=" %.3g", fontsize="small")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize="small")
    for label, (_, value) in zip(axes.get_yticklabels(), rows):
        label.set_fontweight("bold" if value is None else "normal")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    return figure


def load_settings(found):
    """Returns {words: points} of clockoo-load's file. The points of a setting are in the order of the offered
    rate or, for a closed loop, of the answered rate."""
    settings = {}
    for point in found["points"]:
        words = f"depth {point['depth']}"
        if point["connections"]:
            words = f"{point['connections']} connections, {words}"
        settings.setdefault(words, []).append(point)
    return {words: sorted(points, key=lambda p: p["offered_per_s"] or p["requests_per_s"])
            for words, points in settings.items()}


def load_chart(found):
    """Draws latency against throughput. A colour stands for a latency, a kind of line for a setting."""
    figure, axes = empty("Latency against throughput")
    settings = load_settings(found)
    for number, (words, points) in enumerate(settings.items()):
        for colour, (name, field) in zip(COLOURS, LATENCIES.items()):
            axes.plot([p["requests_per_s"] for p in points], [max(p[field], LEAST_US) for p in points],
                      LINES[number % len(LINES)], marker="o", markersize=3, color=colour,
                      label=name if len(settings) == 1 else f"{name}, {words}")
    axes.set(xlabel="requests/s", ylabel="us", yscale="log")
    axes.set_xlim(left=0)
    axes.grid(color="#ddd")
    if settings:
        axes.legend(fontsize="small")
    return figure


def is_load(found):
    """Returns True for a file of clockoo-load, not of tools/bench."""
    return isinstance(found, dict) and "settings" in found and "points" in found


def main(argv):
    parser = argparse.ArgumentParser(prog="charts.py", description=__doc__.splitlines()[0].partition(" - ")[2])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path())
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
    args = parser.parse_args(argv)
    for path in args.files:
        try:
            found = json.loads(path.read_text())
            if not is_load(found):
                raise ValueError("clockoo-load did not write it")
            out = args.out / f"{path.stem}.{args.format}"
            load_chart(found).savefig(out)
        except ImportError:
            print("charts.py: python3-matplotlib is not installed", file=sys.stderr)
            return 1
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"charts.py: {path}: {error}", file=sys.stderr)
            return 1
        print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
