"""The curves of figures 4.2 to 4.9 of B. Fan's thesis, from the points of tools/bench filter."""

import math

from filter_bench import NAMES, PAPER_LOAD, by_x, chosen, filters_of, means

RATES = [10 ** -(i / 4) for i in range(4, 21)]
LOAD, SPEED = "slots in use", "million a second"
THEIRS = {"paper: BF": lambda e: 1.44 * math.log2(1 / e), "paper: CF": lambda e: (math.log2(1 / e) + 3) / 0.955,
          "paper: ss-CF": lambda e: (math.log2(1 / e) + 2) / 0.955, "bound": lambda e: math.log2(1 / e)}


def loads(rows, slots):
    of = chosen(rows, "loads", slots=slots)
    found = {f"{buckets} buckets": by_x([r for r in of if r["buckets"] == buckets], "bits", "load", min)
             for buckets in sorted({r["buckets"] for r in of})}
    bits = sorted({r["bits"] for r in of})
    return {**found, f"paper: {PAPER_LOAD[slots]}": [(b, PAPER_LOAD[slots]) for b in bits]} if of else {}


def space(rows, names, formulas=()):
    found = {words: sorted((r["rate"], r["bits_per_item"]) for r in means(rows, name) if r["rate"] > 0)
             for name, words in names.items()}
    return {**found, **{words: [(e, THEIRS[words](e)) for e in reversed(RATES)] for words in formulas}}


def speeds(rows, part, x):
    return {NAMES[name]: by_x(chosen(rows, part, filter=name), x, "mops") for name in filters_of(rows, part)}


def latencies(rows, part):
    return {NAMES[name]: sorted((ns, percent) for percent, ns in by_x(chosen(rows, part, filter=name), "percent", "ns"))
            for name in filters_of(rows, part)}


def mixed(rows):
    many = {f"{name}, 64 at once": points for name, points in speeds(rows, "many", "present").items()}
    return {**speeds(rows, "mix", "present"), **many}


def charts(rows):
    """Returns {name: (series, title, x's label, y's label, whether x is logarithmic)} of the figures with points."""
    rate, bits = "absent keys reported as present", "bits an item"
    found = {
        "4_2a": (loads(rows, 4), "4.2: 4 slots, the least of the runs", "bits of a slot", LOAD, False),
        "4_2b": (loads(rows, 8), "4.2: 8 slots, the least of the runs", "bits of a slot", LOAD, False),
        "4_3": (space(rows, {"cf2": "2 slots", "cf4": "4 slots", "cf8": "8 slots"}), "4.3: by slots of a bucket",
                rate, bits, True),
        "4_4": (space(rows, {"bf": "BF", "blk_bf": "blk-BF", "cf4": "CF", "ss_cf": "ss-CF"}, THEIRS),
                "4.4: measured, and by the paper's formulas", rate, bits, True),
        "4_5": (mixed(rows), "4.5: lookups in full filters", "keys that are present, %", SPEED, False),
        "4_6a": (latencies(rows, "latency_absent"), "4.6 (a): single lookups, absent keys", "ns", "% of lookups", False),
        "4_6b": (latencies(rows, "latency_present"), "4.6 (b): single lookups, present keys", "ns", "% of lookups", False),
        "4_7a": (speeds(rows, "absent", "load"), "4.7 (a): lookups by load, absent keys", LOAD, SPEED, False),
        "4_7b": (speeds(rows, "present", "load"), "4.7 (b): lookups by load, present keys", LOAD, SPEED, False),
        "4_8": (speeds(rows, "insert", "load"), "4.8: inserts by load", LOAD, SPEED, False),
        "4_9": (speeds(rows, "delete", "load"), "4.9: deletes by what is left", "items left, 1: full", SPEED, False)}
    return {name: (series, *words) for name, (series, *words) in found.items() if series and all(series.values())}
