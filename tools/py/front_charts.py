"""Figures 2.4 to 2.10 of B. Fan's thesis from the points of tools/bench front, as lines to be drawn."""

import math

from front_bench import chosen

NODE_KQPS = 10  # rate of a back-end node of the thesis


def kqps(row):
    return NODE_KQPS * row["n"] / row["busiest"]


def worst_by(rows, by, value, best=max):
    """Returns [(x, the worst of the rows with that x)]."""
    found = {}
    for row in rows:
        found.setdefault(by(row), []).append(value(row))
    return sorted((x, best(values)) for x, values in found.items())


def lines(rows, part, by, value, best=max, who=("front", "perfect")):
    return {name: worst_by(chosen(rows, part, name), by, value, best) for name in who}


def keys(row):
    return row["x"]


def items(row):
    return row["c"]


def nodes(row):
    return row["n"]


def factor(row):
    return (row["c"] - 1) / (row["n"] * math.log(row["n"]))


def busiest(row):
    return row["busiest"]


def bound(row):
    return row["bound"]


def figure_2_6(rows, who, adversary):
    cached = chosen(rows, "2.6", who)
    return {"uniform": worst_by([r for r in cached if r["load"] == "uniform"], nodes, kqps),
            "zipf(1.01)": worst_by([r for r in cached if r["load"] == "zipf101"], nodes, kqps),
            "adversary": worst_by(chosen(rows, "2.6 adversary", adversary), nodes, kqps, min)}


def charts(rows):
    """{name: (series, title, x's label, y's label, is x logarithmic?)} of those figures that have points."""
    servers, load, rate = "n, servers", "busiest server's load by the mean", "thousand requests/s"
    throughput = {"formula": worst_by(chosen(rows, "2.10", "formula"), items,
                                      lambda r: NODE_KQPS * r["n"] / r["bound"])}
    perfect = chosen(rows, "2.4", "perfect")
    found = {
        "2_4": ({**lines(rows, "2.4", keys, busiest), "perfect, most": worst_by(perfect, keys, lambda r: r["most"]),
                 "perfect, least": worst_by(perfect, keys, lambda r: r["least"]),
                 "formula 2.9": worst_by(chosen(rows, "2.4", "formula"), keys, busiest)},
                "2.4: n = 100, c = 1000", "x, keys asked for", load, True),
        "2_5a": ({**lines(rows, "2.5", items, busiest),
                  "formula 2.12": worst_by(chosen(rows, "2.5", "formula"), items, bound)},
                 "2.5 (a): n = 100, the worst x", "c, items of the cache", load, False),
        "2_5b": ({**lines(rows, "2.5", factor, busiest),
                  "formula 2.13": worst_by(chosen(rows, "2.5", "formula"), factor, bound)},
                 "2.5 (b): n = 100, the worst x", "k", load, False),
        "2_6a": (figure_2_6(rows, "none", "none"), "2.6 (a): without a cache", servers, rate, False),
        "2_6b": (figure_2_6(rows, "front", "front"), "2.6 (b): behind a front of c = 8 n ln n + 1", servers, rate, False),
        "2_7": ({f"x = {r['x']}": [(i + 1, NODE_KQPS * load / max(r["loads"])) for i, load in enumerate(r["loads"])]
                 for r in chosen(rows, "2.7", "none")}, "2.7: n = 85, without a cache", "servers, by throughput", rate, False),
        "2_8": (lines(rows, "2.8", keys, kqps, min, ("none",)), "2.8: n = 85, without a cache", "x, keys asked for", rate, True),
        "2_9": ({**lines(rows, "2.9", keys, kqps, min, ("front", "perfect", "formula")),
                 "servers alone": worst_by(chosen(rows, "2.9", "front"), keys, lambda r: kqps(r) * (1 - r["hits"]))},
                "2.9: n = 85, c = 3000", "x, keys asked for", rate, True),
        "2_10": ({**lines(rows, "2.10", items, kqps, min), **throughput}, "2.10: n = 85, the worst x",
                 "c, items of the cache", rate, False)}
    return {name: (series, *words) for name, (series, *words) in found.items() if all(series.values()) and series}
