"""tools/bench filter: the cuckoo filter beside a Bloom, a blocked Bloom and a counting Bloom filter.

Tables 4.2 and 4.3 and figures 4.2 to 4.9 of B. Fan's thesis, with ours beside its figures where its text has
them, and filters with the product's own settings. Times are CPU times of a thread, of several runs.
"""

import contextlib
import io
import json
import math
import statistics
import subprocess

from bench_figures import Figures, spread, table
from progress import Failed, Step

POINTS = "filter_trial"  # the name of all points among the figures
NAMES = {"cf": "CF", "ss_cf": "ss-CF", "bf": "BF", "blk_bf": "blk-BF", "cbf": "CBF"}
# Table 4.3: bits an item, false positives in %, million inserts a second; 192 MB, Xeon L5640.
PAPER = {"cf": (12.60, 0.19, 5.00), "ss_cf": (12.58, 0.09, 3.13), "bf": (13.00, 0.19, 3.91),
         "blk_bf": (13.00, 0.43, 7.64)}
PAPER_LOAD = {2: 0.84, 4: 0.95, 8: 0.98}
GOALS = {"filter_bits_per_item": 12.6, "filter_false_positives": 0.0019, "filter_sorted_bits_per_item": 12.6,
         "filter_sorted_false_positives": 0.0009, "filter_refused": 0, "filter_sorted_refused": 0}  # limits
LOAD_GOAL = 0.95  # least occupancy

# (part, runs, options)
QUICK = (("sized", 3, ("--buckets", 1 << 18, "--looks", 400_000)), ("loads", 3, ("--buckets", 1 << 15)),
         ("space", 1, ("--buckets", 1 << 14, "--looks", 60_000)), ("all", 3, ("--shift", 18, "--looks", 60_000)))
FULL = (("sized", 5, ("--buckets", 1 << 22, "--looks", 1_000_000)), ("loads", 10, ("--buckets", 1 << 15)),
        ("loads", 5, ("--buckets", 1 << 20)), ("loads", 1, ("--buckets", 1 << 23)),
        ("space", 10, ("--buckets", 1 << 16, "--looks", 200_000)),
        ("all", 3, ("--shift", 25, "--looks", 1_000_000)))


def rows_of(program, part, run, options):
    done = subprocess.run([str(program), "--run", str(run), *map(str, options), part], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{program.name} {part}: status {done.returncode}: {done.stderr[-1000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def chosen(rows, part, **where):
    return [r for r in rows if r["part"] == part and all(r[name] == value for name, value in where.items())]


def by_x(rows, x, value, middle=statistics.median):
    """Returns [(x, the median of the runs)]."""
    found = {}
    for row in rows:
        found.setdefault(row[x], []).append(row[value])
    return sorted((at, middle(values)) for at, values in found.items())


def filters_of(rows, part):
    return [name for name in NAMES if chosen(rows, part, filter=name)]


def bits_at(rows, name, rate):
    """Returns the bits an item for that rate, interpolated between two points; None beyond them."""
    points = [(r["rate"], r["bits_per_item"]) for r in means(rows, name) if r["rate"] > 0]
    for (high, fewer), (low, more) in zip(points, points[1:]):
        if high >= rate >= low:
            share = math.log(high / rate) / math.log(high / low) if high > low else 0
            return fewer + share * (more - fewer)
    return None


def means(rows, name):
    """Returns the points of part space, each the mean of its runs, the fewest bits first."""
    found = {}
    for row in chosen(rows, "space", filter=name):
        found.setdefault(row["bits"], []).append(row)
    return [{what: statistics.mean(r[what] for r in of) for what in ("bits_per_item", "rate")}
            for _, of in sorted(found.items())]


def figures_of(rows):
    figures = Figures()
    for name, words in (("cf", "filter"), ("ss_cf", "filter_sorted")):
        sized = chosen(rows, "sized", filter=name)
        figures.keep(f"{words}_bits_per_item", [r["bits_per_item"] for r in sized], 4)
        figures.keep(f"{words}_false_positives", [r["rate"] for r in sized], 6)
        figures.keep(f"{words}_refused", [r["refused"] for r in sized])
    for name in filters_of(rows, "full"):
        of = chosen(rows, "full", filter=name)
        for what, digits in (("bits_per_item", 3), ("rate", 6), ("mops", 2)):
            figures.keep(f"filter_full_{name}_{what}", [r[what] for r in of], digits)
        for part in ("mix", "many"):
            for percent, _ in by_x(chosen(rows, part, filter=name), "present", "mops"):
                figures.keep(f"filter_{part}_{name}_{percent}pct_mops",
                             [r["mops"] for r in chosen(rows, part, filter=name, present=percent)], 2)
    figures.figures["filter_occupancy"] = min(r["load"] for name in ("cf", "ss_cf")
                                              for r in chosen(rows, "full", filter=name))
    return figures.figures


def goals_missed(figures):
    return [*(name for name, most in GOALS.items() if figures[name] > most),
            *(["filter_occupancy"] if figures["filter_occupancy"] < LOAD_GOAL else [])]


def show_goals(figures):
    missed = goals_missed(figures)
    lines = [[name, figures[name], f"<= {most}", "missed" if name in missed else "met"] for name, most in GOALS.items()]
    lines.append(["filter_occupancy", figures["filter_occupancy"], f">= {LOAD_GOAL}",
                  "missed" if "filter_occupancy" in missed else "met"])
    table("Made by filter_shape_for for a number of items and a rate: 0.0019, and semi-sorted 0.0009",
          ["figure", "here", "asked", ""], lines)


def show_4_2(rows):
    lines = []
    for name, formula, what in (("bf", "1.44 log2(1/e)", lambda e: 1.44 * math.log2(1 / e)),
                                ("cf4", "(log2(1/e) + 3) / a", lambda e: (math.log2(1 / e) + 3) / 0.955),
                                ("ss_cf", "(log2(1/e) + 2) / a", lambda e: (math.log2(1 / e) + 2) / 0.955)):
        found = [bits_at(rows, name, e) for e in (0.01, 0.001)]
        reads = chosen(rows, "reads", bits=14) if name == "bf" else None
        lines.append([NAMES[name.removesuffix("4")], formula,
                      *(f"{bits:.2f} ({what(e):.2f})" if bits else "-" for bits, e in zip(found, (0.01, 0.001))),
                      *((f"{reads[0]['present']} ({math.log2(1 / 0.001):.0f})", f"{reads[0]['absent']:.2f} (2)")
                        if reads else ("1..2 (2)", "2 (2)"))])
    table("Table 4.2: bits an item for a rate e, measured (by the paper's formula), and reads a lookup; BF: 14 bits",
          ["", "paper", "e = 0.01", "e = 0.001", "present", "absent"], lines)


def show_4_3(rows):
    lines = []
    for name in filters_of(rows, "full"):
        of = chosen(rows, "full", filter=name)
        bits, rate, speed = PAPER.get(name, ("-", "-", "-"))
        lines.append([NAMES[name], f"{statistics.median(r['items'] for r in of) / 1e6:.2f}",
                      f"{statistics.median(r['bits_per_item'] for r in of):.2f}", bits,
                      spread((100 * r["rate"] for r in of), 3), rate, spread((r["mops"] for r in of), 2), speed])
    size = chosen(rows, "full")[0]["bytes"] / 1e6
    table(f"Table 4.3, all of {size:.0f} MB (paper: 201 MB on an L5640), each beside the paper's",
          ["", "items, M", "bits/item", "paper", "false, %", "paper", "inserts, M/s", "paper"], lines)


def show_looks(rows):
    percents = sorted({r["present"] for r in chosen(rows, "mix")})
    lines = [[NAMES[name] + words, *(spread((r["mops"] for r in chosen(rows, part, filter=name, present=percent)))
                                     for percent in percents)]
             for part, words in (("mix", ""), ("many", ", 64 at once")) for name in filters_of(rows, part)]
    table("Figure 4.5: million lookups a second in full filters, by how many of the keys are present",
          ["", *(f"{percent} %" for percent in percents)], lines)


def ratio(rows, part, name, which=min):
    """Returns the smallest y divided by the largest or, if which is not min, the last one divided by the first."""
    points = [value for _, value in by_x(chosen(rows, part, filter=name), "load", "mops")]
    return min(points) / max(points) if which is min else points[-1] / points[0]


def at(rows, part, name, x, value, what):
    return dict(by_x(chosen(rows, part, filter=name), x, what))[value]


def claims(rows):
    """Returns [(figure, the paper's words, the figure here, whether the paper's claim holds here)]."""
    def mix(name, percent):
        return at(rows, "mix", name, "present", percent, "mops")

    full = {name: statistics.median(r["rate"] for r in chosen(rows, "full", filter=name)) for name in NAMES}
    loads = {slots: min(r["load"] for r in chosen(rows, "loads", slots=slots)) for slots in (4, 8)}
    fewer = {rate: [bits_at(rows, name, rate) or math.inf for name in ("cf2", "cf4", "cf8")] for rate in (0.02, 0.001)}
    below = [r for r in means(rows, "ss_cf") if 0 < r["rate"] < 0.03]
    slow = {name: at(rows, "latency_absent", name, "percent", 95, "ns") for name in ("cf", "blk_bf", "bf")}
    deletes = {name: statistics.median(r["mops"] for r in chosen(rows, "delete", filter=name))
               for name in filters_of(rows, "delete")}
    return [
        ("4.2", "95 % full with 4 slots, 98 % with 8", f"{100 * loads[4]:.1f}, {100 * loads[8]:.1f} at least",
         loads[4] >= PAPER_LOAD[4] and loads[8] >= PAPER_LOAD[8]),
        ("4.3", "2 slots the smallest above 0.002, then 4", ", ".join(
            f"{rate}: " + " ".join(f"{bits:.2f}" for bits in of) for rate, of in fewer.items()),
         min(fewer[0.02]) == fewer[0.02][0] and min(fewer[0.001]) == fewer[0.001][1]),
        ("4.4", "ss-CF below 1.44 log2(1/e) for e < 3 %",
         f"{sum(r['bits_per_item'] < 1.44 * math.log2(1 / r['rate']) for r in below)} of {len(below)} points",
         all(r["bits_per_item"] < 1.44 * math.log2(1 / r["rate"]) for r in below)),
        ("4.3", "blk-BF has twice the false ones of BF, four times ss-CF's",
         f"{full['blk_bf'] / full['bf']:.1f}, {full['blk_bf'] / full['ss_cf']:.1f}",
         full["blk_bf"] > 1.8 * full["bf"] and full["blk_bf"] > 3.6 * full["ss_cf"]),
        ("4.5", "CF alike for present and absent keys", f"{mix('cf', 100) / mix('cf', 0):.2f}",
         0.8 < mix("cf", 100) / mix("cf", 0) < 1.25),
        ("4.5", "BF and blk-BF slower, the more are present",
         f"{mix('bf', 100) / mix('bf', 0):.2f}, {mix('blk_bf', 100) / mix('blk_bf', 0):.2f}",
         mix("bf", 100) < mix("bf", 0) and mix("blk_bf", 100) < mix("blk_bf", 0)),
        ("4.5", "ss-CF faster than BF above 25 % present",
         ", ".join(f"{mix('ss_cf', p) / mix('bf', p):.2f}" for p in (50, 75, 100)),
         all(mix("ss_cf", p) > mix("bf", p) for p in (50, 75, 100))),
        ("4.6", "most lookups below 250 ns (CF, blk-BF), 400 ns (BF)",
         "95 % in " + ", ".join(f"{slow[name]:.0f}" for name in slow),
         max(slow["cf"], slow["blk_bf"]) < 250 and slow["bf"] < 400),
        ("4.7", "CF, ss-CF steady at any load, absent keys", f"{ratio(rows, 'absent', 'cf'):.2f}, "
         f"{ratio(rows, 'absent', 'ss_cf'):.2f} of the fastest", min(ratio(rows, "absent", "cf"),
                                                                    ratio(rows, "absent", "ss_cf")) > 0.5),
        ("4.8", "inserts of CF slower when full, of BF not", f"{ratio(rows, 'insert', 'cf', None):.2f}, "
         f"{ratio(rows, 'insert', 'bf', None):.2f} of the first",
         ratio(rows, "insert", "cf", None) < ratio(rows, "insert", "bf", None)),
        ("4.9", "CF deletes fastest", ", ".join(f"{NAMES[name]} {value:.1f}" for name, value in deletes.items()),
         max(deletes.values()) == deletes["cf"]),
    ]


def show(rows, figures):
    show_goals(figures)
    show_4_2(rows)
    show_4_3(rows)
    show_looks(rows)
    table("What the thesis says of its figures, and what is seen here", ["figure", "there", "here", ""],
          [[where, there, here, "so here" if so else "not so here"] for where, there, here, so in claims(rows)])


def tables_of(figures):
    """Returns what show prints, as text."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(figures[POINTS], figures)
    return out.getvalue()


def measure(programs, quick, keep):
    rows = []
    for part, runs, options in QUICK if quick else FULL:
        with Step(f"filters: {part}"):
            for run in range(runs):
                rows += rows_of(programs / "filter_trial", part, run, options)
        keep({POINTS: rows})
    figures = {**figures_of(rows), POINTS: rows}
    keep(figures)
    show(rows, figures)
    return figures
