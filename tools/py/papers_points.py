"""Measured points of tools/bench papers, and picks, by which rows refer to them.

A point is a dict, as the programs of tests/bench/papers print it: {"part", "figure", "series", "x": a number or a
label, "y", "unit", "spread": [least, most] or absent, "n": rounds, "kind": "count" or "time"}. A point without "y"
has "absent": why this machine cannot show it, and what would.

A pick names one value: (figure, series, x), where x is an x, a label, or one of FIRST, LAST, MOST, LEAST. series and x
may be lists, of which the first that exists counts. ("/", pick, pick) is a ratio.
"""

import collections
import statistics

FIRST, LAST, MOST, LEAST = "first", "last", "most", "least"
COUNT, TIME = "count", "time"


# A claim, of which a row is made. source: its place in the paper; paper: the paper's figure, a number in `unit` or
# words; better: "more" or "less"; ours: the pick of ours; against: the baseline's name; baseline: its pick; needs: what
# a machine would need, if no point says so.
Claim = collections.namedtuple("Claim", "name source claim paper unit better ours against baseline needs", defaults=(None, None, None))


def over(a, b):
    """Returns the pick of a ratio."""
    return ("/", a, b)


def point(part, figure, series, x, y, unit, values=(), kind=TIME):
    """Returns a point; y is the median of values if there are any."""
    values = list(values)
    found = {"part": part, "figure": figure, "series": series, "x": x, "y": statistics.median(values) if values else y,
             "unit": unit, "n": max(1, len(values)), "kind": kind}
    if len(values) > 1:
        found["spread"] = [min(values), max(values)]
    return found


def absent(part, figure, series, why):
    return {"part": part, "figure": figure, "series": series, "absent": why}


def there(points):
    return [p for p in points if p.get("y") is not None]


class Points:
    """Points by figure (such as "memc3/fig6") and series."""

    def __init__(self, points):
        self.by, self.lacks = {}, {}
        for p in points:
            name = f"{p['part']}/{p['figure']}"
            if p.get("y") is None:
                self.lacks.setdefault(name, {})[p["series"]] = p.get("absent", "not measured")
            else:
                self.by.setdefault(name, {}).setdefault(p["series"], []).append(p)

    def series(self, figure):
        """Returns {series: [points]}, by x, or for labels in the order measured."""
        return {name: ordered(points) for name, points in self.by.get(figure, {}).items()}

    def find(self, pick):
        """Returns the point that a pick names; None if there is none."""
        figure, series, x = pick
        for name in (series,) if isinstance(series, str) else series:
            points = ordered(self.by.get(figure, {}).get(name, []))
            if found := chosen(points, x):
                return found
        return None

    def value(self, pick):
        if pick is None:
            return None
        if pick[0] == "/":
            over, under = self.value(pick[1]), self.value(pick[2])
            return over / under if over is not None and under else None
        found = self.find(pick)
        return found and found["y"]

    def spread(self, pick):
        if pick is None or pick[0] == "/":
            return None
        found = self.find(pick)
        return found and found.get("spread")

    def why_absent(self, pick):
        """Returns what a machine would need for that value, if an absent point says so."""
        if pick is None:
            return None
        if pick[0] == "/":
            return self.why_absent(pick[1]) or self.why_absent(pick[2])
        lacks = self.lacks.get(pick[0], {})
        names = (pick[1],) if isinstance(pick[1], str) else pick[1]
        return next((lacks[name] for name in (*names, "all") if name in lacks), None)


def ordered(points):
    numbers = all(isinstance(p["x"], (int, float)) for p in points)
    return sorted(points, key=lambda p: p["x"]) if numbers else list(points)


def chosen(points, x):
    if not points:
        return None
    if x in (MOST, LEAST):
        return (max if x == MOST else min)(points, key=lambda p: p["y"])
    if x in (FIRST, LAST):
        return points[0 if x == FIRST else -1]
    wanted = x if isinstance(x, tuple) else (x,)
    return next((p for one in wanted for p in points if p["x"] == one), None)
