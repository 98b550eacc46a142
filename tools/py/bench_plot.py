"""Figures of tools/bench as pictures: SVG written by hand, because a fresh Debian has no plotter."""

import html
import re

from progress import Failed

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 60, 170, 40, 50
COLOURS = ("#0b6fb8", "#d1591b", "#3a8f3a", "#8a4fa3")
TICKS = 5
INSERT = re.compile(r"insert_ns_(\d)w_at_(\d+)$")
LOSS = re.compile(r"goodput_mbs_(clockoo|memcached)_(\d+)pct$")
VS = re.compile(r"(?:(.+)_)?(udp_get|tcp_get|tcp_pipelined|multiget)_(?:mops|mkeys)$")
SLA = re.compile(r"sla_points_([a-z]+)_(\d+)_(avg|p99)$")
SLA_PROMISES_HIGH = 2  # what is drawn of a latency beyond the promise
BAR_HIGH, BAR_GAP, GROUP_GAP = 14, 3, 14
MISS = re.compile(r"miss_(.+)_at_([\d.]+)$")


def insert_series(figures):
    """{legend: [(percent of the slots in use at the step's end, ns)]}"""
    found = {}
    for name, value in figures.items():
        if match := INSERT.match(name):
            found.setdefault(f"{match[1]} writer{'s' if match[1] != '1' else ''}",
                             []).append((int(match[2]) / 10, value))
    return {legend: sorted(points) for legend, points in sorted(found.items())}


def miss_series(figures):
    """{legend: [(percent of the working set that is cached, percent of gets that missed)]}"""
    found = {}
    for name, value in figures.items():
        if match := MISS.match(name):
            legend = match[1].replace("_", " ")
            found.setdefault(legend, []).append((float(match[2]), value))
    return {legend: sorted(points) for legend, points in sorted(found.items())}


def loss_series(figures):
    """{server: [(percent lost each way, MB/s)]}"""
    found = {}
    for name, value in figures.items():
        if match := LOSS.match(name):
            found.setdefault(match[1], []).append((float(match[2]), value))
    return {server: sorted(points) for server, points in sorted(found.items())}


def sla_charts(figures):
    """{file: (series, title, labels)}: {setting: [(thousand requests a second, us)]} for each thing that
    varies, and each promise; points far beyond it are left out."""
    found = {}
    for name, points in figures.items():
        if match := SLA.match(name):
            most = SLA_PROMISES_HIGH * figures[f"sla_{match[3]}_limit_us"]
            if near := sorted((x / 1e3, y) for x, y in points if y <= most):
                found.setdefault((match[1], match[3]), {})[f"{match[1]} {match[2]}"] = near
    return {f"sla_{what}_{promise}.svg": (
        series, f"Latency ({promise}) against throughput, by {what}", "thousand requests a second", "us")
        for (what, promise), series in found.items()}


def vs_groups(figures):
    """{workload: [(server, million requests or keys a second)]}, clockoo first."""
    found = {}
    for name, value in figures.items():
        match = VS.match(name)
        if match and not (match[1] or "").startswith("kernel"):
            found.setdefault(match[2], []).append((match[1] or "clockoo", value))
    return found


def bars(title, groups):
    """A group of bars for each workload, from zero; returns the text of an SVG."""
    most = max(value for rows in groups.values() for _, value in rows) or 1
    wide, left = WIDTH - 260, 200
    lines, y = [], TOP
    for group, rows in groups.items():
        lines.append(f'<text x="{left}" y="{y + 11}" font-weight="bold">{html.escape(group)}</text>')
        y += BAR_HIGH + BAR_GAP
        for i, (who, value) in enumerate(rows):
            lines += [f'<rect x="{left}" y="{y}" width="{value / most * wide:.1f}" '
                      f'height="{BAR_HIGH}" fill="{COLOURS[min(i, 1)]}"/>',
                      f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{html.escape(who)}</text>',
                      f'<text x="{left + value / most * wide + 4:.1f}" y="{y + 11}">{value:.3g}</text>']
            y += BAR_HIGH + BAR_GAP
        y += GROUP_GAP
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" '
                      'font-family="sans-serif" font-size="11">',
                      f'<rect width="{WIDTH}" height="{y}" fill="white"/>',
                      f'<text x="{WIDTH / 2}" y="{TOP / 2}" text-anchor="middle" font-size="12">'
                      f"{html.escape(title)}</text>", *lines, "</svg>", ""])


def chart(title, x_label, y_label, series):
    """One line a series, both axes from zero; returns the text of an SVG."""
    x_max = max(x for points in series.values() for x, _ in points) or 1
    y_max = max(y for points in series.values() for _, y in points) or 1
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(x, y):
        return f"{LEFT + x / x_max * wide:.1f},{TOP + high - y / y_max * high:.1f}"

    def text(x, y, words, anchor="middle", colour="#222"):
        return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
                f"{html.escape(words)}</text>")

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT + wide / 2, TOP / 2, title),
             text(LEFT + wide / 2, HEIGHT - BOTTOM / 4, x_label),
             text(LEFT, TOP - 6, y_label, "end")]
    for i in range(TICKS + 1):
        x, y = LEFT + wide * i / TICKS, TOP + high - high * i / TICKS
        lines += [f'<path d="M{LEFT},{y:.1f}h{wide}" stroke="#ddd"/>',
                  text(x, HEIGHT - BOTTOM + 16, f"{x_max * i / TICKS:.3g}"),
                  text(LEFT - 6, y + 4, f"{y_max * i / TICKS:.3g}", "end")]
    for i, (legend, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        lines.append(f'<polyline points="{" ".join(at(*p) for p in points)}" fill="none" '
                     f'stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{at(*p).split(",")[0]}" cy="{at(*p).split(",")[1]}" r="3" '
                  f'fill="{colour}"/>' for p in points]
        lines.append(text(LEFT + wide + 12, TOP + 16 * (i + 1), legend, "start", colour))
    return "\n".join([*lines, "</svg>", ""])


def plot(figures, folder):
    """insert.svg, miss.svg, loss.svg, vs.svg and those of sla in folder, as far as there are figures."""
    charts = {"insert.svg": (insert_series(figures), "A set of a new key, by how full the index is",
                             "slots in use, %", "ns"),
              "miss.svg": (miss_series(figures), "Misses by the size of the cache",
                           "cache, % of the working set", "% of gets"),
              "loss.svg": (loss_series(figures), "Goodput of 50 connections, by what the link loses",
                           "frames lost each way, %", "MB/s"),
              **sla_charts(figures)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (series, *labels) in charts.items():
            if series:
                (folder / name).write_text(chart(*labels, series))
        if groups := vs_groups(figures):
            (folder / "vs.svg").write_text(bars("Million requests (multiget: keys) a second, each "
                                                "server at its best client", groups))
    except OSError as error:
        raise Failed(f"--plot: {error}") from error
