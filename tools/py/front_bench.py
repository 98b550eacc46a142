"""tools/bench front: how level a front keeps its fleet, and how fast (front_load.py).

The part balance simulates a fleet behind the front's own placement and admission
(tests/bench/front/front_level.c): figures 2.4 to 2.10 of B. Fan's thesis, beside its formulas and a perfect
cache. Nothing in it is timed: the same seed gives the same figures on any machine.
"""

import json
import subprocess

import front_load
from bench_figures import table
from front_bed import FrontBed
from progress import Failed, Step

BALANCE = "balance"
PARTS = (BALANCE, *front_load.TIMED)
LEVELS = ("adversary", "scan", "zipf101", "shift", "cold", "ketama", "weights", "names")
THESIS = ("2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10")
QUICK = ("--requests", "100000", "--keys", "300000")
# A perfect cache has 1.04 +- 0.02, only by the random placement of keys on servers. So two points of a scan
# prove nothing.
QUICK_RUNS = {"scan": "8"}
POINTS = "front_level"  # the name of all points among the figures


def rows_of(program, part, quick):
    with Step(f"fleets behind a front: {part}"):
        done = subprocess.run([str(program), *(("--runs", QUICK_RUNS.get(part, "2"), *QUICK) if quick else ()), part], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{program.name} {part}: status {done.returncode}: {done.stderr[-1000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def chosen(rows, part, who, **where):
    return [r for r in rows if r["part"] == part and r["who"] == who and
            all(r[name] == value for name, value in where.items())]


def worst(rows, part, who, by="busiest", **where):
    """Returns the point of that part at which the busiest server has the most load."""
    return max(chosen(rows, part, who, **where), key=lambda r: r[by])


def figures_of(rows):
    """Returns the worst x and n of each part."""
    found = {f"busiest_by_mean_{part}": worst(rows, part, "front")["busiest"]
             for part in ("adversary", "scan", "zipf101", "cold")}
    for part, who in (("adversary", "perfect"), ("scan", "perfect"), ("scan", "clock"), ("zipf101", "perfect"),
                      ("zipf101", "clock"), ("zipf101", "none")):
        found[f"busiest_by_mean_{part}_{who}"] = worst(rows, part, who)["busiest"]
    found["busiest_by_mean_bound"] = max(r["bound"] for r in chosen(rows, "adversary", "formula"))
    found["busiest_by_mean_ketama"] = worst(rows, "ketama", "front")["busiest"]
    for part in ("ketama", "weights"):
        found[f"busiest_by_share_{part}"] = worst(rows, part, "front", "by_share")["by_share"]
    for row in chosen(rows, "shift", "front"):
        name = f"busiest_by_mean_shift_every_{round(row['shift'] / row['c'])}c"
        found[name] = max(found.get(name, 0), row["busiest"])
    for row in rows:
        if row["part"].startswith("names-"):
            found[f"busiest_by_mean_{row['part'].replace('-', '_')}"] = row["busiest"]
    return found


def show(rows):
    lines = []
    for part in ("adversary", "scan", "zipf101"):
        for n in sorted({r["n"] for r in rows if r["part"] == part}):
            of = {who: worst(rows, part, who, n=n) for who in ("front", "clock", "perfect", "none", "formula")
                  if chosen(rows, part, who, n=n)}
            front = of["front"]
            lines.append([part, n, front["c"], f"{front['x'] / front['c']:.3g}", f"{front['busiest']:.3f}",
                          f"{front['least']:.3f}..{front['most']:.3f}",
                          *(f"{of[who]['busiest']:.3f}" if who in of else "-" for who in ("perfect", "clock", "none"))])
    table("Busiest server's load by the mean at the worst x: each server's part of all requests, hits too, is 1.\n"
          f"The thesis bounds it by {figures_of(rows)['busiest_by_mean_bound']:.3f}",
          ["load", "n", "c", "x by c", "front", "runs", "perfect", "clock", "none"], lines)
    shifts = chosen(rows, "shift", "front")
    table("All x keys exchanged every so many requests: the busiest between two exchanges, and of all time",
          ["every", *(f"x = {x:.3g} c" for x in sorted({r["x"] / r["c"] for r in shifts}))],
          [[f"{every / shifts[0]['c']:.3g} c",
            *(f"{r['busiest']:.2f}, {r['overall']:.2f}" for r in sorted(shifts, key=lambda r: r["x"])
              if r["shift"] == every)] for every in sorted({r["shift"] for r in shifts})])


def balance(programs, quick, keep):
    rows = []
    for part in (*LEVELS, *THESIS):
        rows += rows_of(programs / "front_level", part, quick)
        keep({POINTS: rows})
    figures = {**figures_of(rows), POINTS: rows}
    keep(figures)
    show(rows)
    return figures


def measure(build, quick, parts, given, keep):
    """Measures. build: the folder of all programs."""
    figures = {}

    def keep_too(found):
        keep(figures | found)

    if BALANCE in parts:
        figures |= balance(build / "tests/bench/front", quick, keep_too)
    timed = [part for part in front_load.TIMED if part in parts]
    if timed:
        with FrontBed(build / "tests/bench/net", build, given) as bed:
            figures |= front_load.measure(bed, quick, timed, keep_too)
    return figures
