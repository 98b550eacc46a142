"""Figures of tools/bench papers as SVG, by matplotlib: ours in strong lines, baselines in thinner ones, the paper's
values in grey."""

import io

import charts

WIDE, HIGH, BAR = 6.4, 3.9, 0.2  # inches
OURS, BASES, PAPER = ("#0b6fb8", "#12a0b8", "#5a4fb8", "#0a4f80"), ("#d1591b", "#3a8f3a", "#8a4fa3", "#b8860b", "#a33b4f", "#5f6b2f", "#4f7f8a", "#7a5a3a"), "#6b6b6b"
MUTED = "#c9b8ab"  # colour of baselines' bars, which carry their names
LONG = 34          # letters of a name that fit on one line


def style():
    """Sets what all charts share. Text is kept as text, so that the page can be searched."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "papers", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                                "axes.edgecolor": "#888", "axes.labelcolor": "#333", "xtick.color": "#444", "ytick.color": "#444",
                                "font.family": ["DejaVu Sans"], "figure.facecolor": "white", "axes.facecolor": "white"})


def colours(figure, series):
    """Returns {series: colour}: blue for ours, others by their order."""
    ours, found, others = set(figure.ours_of(series)) if figure.better else {n for n in series if n.startswith(("ours", "front", "store"))}, {}, 0
    mine = 0
    for name in series:
        if name.startswith("paper"):
            found[name] = PAPER
        elif name in ours and figure.ours != ("",):
            found[name] = OURS[mine % len(OURS)]
            mine += 1
        else:
            found[name] = BASES[others % len(BASES)]
            others += 1
    return found


def named(name, own):
    return f"{name} (ours)" if own and not name.startswith("ours") else name


def empty(figure, high=HIGH):
    made, axes = charts.empty("", high)
    made.set_layout_engine(None)  # saving crops the figure anyway, and takes a third of the time without a layout
    made.set_size_inches(WIDE, high)
    axes.set_title("")
    axes.grid(color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    return made, axes


def legend(made, axes):
    handles, labels = axes.get_legend_handles_labels()
    labels = [label if len(label) <= LONG else label[:LONG].rsplit(" ", 1)[0] + "\n" + label[len(label[:LONG].rsplit(" ", 1)[0]) + 1:] for label in labels]
    if not labels:
        return
    columns = 2 if max(map(len, labels)) > 24 else 3
    below = -0.55 / made.get_figheight()
    axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.45, below), ncol=min(columns, len(labels)), fontsize=8.5, frameon=False)


def line_chart(figure, series):
    """Draws a line for each series, with the spread of its rounds as a band."""
    made, axes = empty(figure)
    colour = colours(figure, series)
    for name, points in series.items():
        xs, ys = [p["x"] for p in points], [p["y"] for p in points]
        own, theirs = colour[name] in OURS, name.startswith("paper")
        few = len(xs) <= 40
        axes.plot(xs, ys, "--" if theirs else "-", color=colour[name], linewidth=2.4 if own else 1.5, marker="o" if few else None,
                  markersize=4.5 if own else 3.5, label=named(name, own), zorder=3 if own else 2)
        if all("spread" in p for p in points):
            axes.fill_between(xs, [p["spread"][0] for p in points], [p["spread"][1] for p in points], color=colour[name], alpha=0.13, linewidth=0)
    for name, points in figure.paper.items():
        axes.plot(*zip(*points), "--" if len(points) > 1 else "", color=PAPER, marker="D", markersize=6, markerfacecolor="white", markeredgewidth=1.6, label=name, zorder=4)
    axes.set(xlabel=figure.x, ylabel=figure.y)
    scale(axes, figure)
    legend(made, axes)
    return made


def scale(axes, figure):
    from matplotlib.ticker import LogFormatterSciNotation, ScalarFormatter

    def plain(value, _):
        return f"{value:,.10g}" if 1e-3 <= abs(value) < 1e7 else LogFormatterSciNotation()(value)

    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
    else:
        axes.xaxis.set_major_formatter(ScalarFormatter(useOffset=False))
        axes.set_xlim(left=0) if axes.get_xlim()[0] > 0 and axes.get_xlim()[0] < 0.5 * axes.get_xlim()[1] else None
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
    else:
        axes.set_ylim(bottom=0)


def bars_of(figure, series, labels):
    """Returns [(group, name, point)] of all bars."""
    return [(label, name, p) for label in labels for name, points in series.items() for p in points if p["x"] == label]


def bar_chart(figure, series):
    """Draws a group of bars for each label. Names stand beside the bars or, if many groups have the same few, in a
    legend. The paper's values are marks."""
    labels = list(dict.fromkeys(p["x"] for points in series.values() for p in points))
    drawn = {name: points for name, points in series.items() if not name.startswith("paper")}
    marks = {name: [(p["x"], p["y"]) for p in points] for name, points in series.items() if name.startswith("paper")} | figure.paper
    beside = not (len(drawn) <= 3 and len(labels) > 3)
    bars = bars_of(figure, drawn, labels)
    made, axes = empty(figure, 1.0 + BAR * (len(bars) + len(labels) * (1.6 if beside and any(labels) else 0.8)))
    axes.grid(axis="y", visible=False)
    colour, y, ticks, seen = colours(figure, drawn), 0.0, [], set()
    for label in labels:
        y += 0.7
        if beside and label:
            ticks.append((y, str(label), True))
            y += 1
        first = y
        for _, name, p in (bar for bar in bars if bar[0] == label):
            own = colour[name] in OURS
            axes.barh(y, p["y"], height=0.8, color=(OURS[0] if own else MUTED) if beside else colour[name],
                      label=None if beside or name in seen else named(name, own))
            axes.annotate(f"{p['y']:,.3g}" if abs(p["y"]) < 1e4 else f"{p['y']:,.0f}", (p["y"], y), xytext=(4, 0), textcoords="offset points",
                          va="center", fontsize=8, color="#333")
            if beside:
                ticks.append((y, named(name, own), False))
            seen.add(name)
            y += 1
        if not beside:
            ticks.append(((first + y - 1) / 2, str(label), False))
        for name, points in marks.items():
            for x, value in points:
                if x == label:
                    axes.plot([value, value], [first - 0.5, y - 0.5], "--", color=PAPER, linewidth=1.6, label=None if name in seen else name)
                    seen.add(name)
    axes.set_yticks([at for at, _, _ in ticks], [text for _, text, _ in ticks], fontsize=8.5)
    for text, (_, _, head) in zip(axes.get_yticklabels(), ticks):
        text.set_fontweight("bold" if head else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y, 0)
    axes.set_xlabel(figure.y)
    if figure.log_y:
        axes.set_xscale("log")
        axes.margins(x=0.2)
    else:
        axes.set_xlim(left=0)
        axes.margins(x=0.15)
    legend(made, axes)
    return made


def svg(figure, series):
    """Returns a figure's SVG as text, with a title and a description for readers who cannot see it."""
    style()
    made = (bar_chart if figure.bars else line_chart)(figure, series)
    out = io.StringIO()
    made.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Title": figure.title})
    return out.getvalue()
