"""The budget: how many instructions a request may cost core_turn, kept in tests/bench/budget.json with its
commit, one for each major release of a compiler.

Instructions are counted by callgrind, so they do not depend on other processes, and a test compares them with
the file (tests/bench/budget_test.py). Cycles, for people, are those of the machine on which the file was
written.
"""

import json
import pathlib
import re
import subprocess
import tempfile

import build_tree
from bench_figures import table
from progress import Failed, Step

FILE = build_tree.ROOT / "tests/bench/budget.json"
# The unit of each case, in requests or keys of a request.
CASES = {"udp_get": 1, "udp_set": 1, "tcp_get": 1, "tcp_set": 1, "tcp_pipelined": 1,
         "tcp_multiget": 100}
KEYS = 1000              # keys for counting: few, so that storing them is quick
CYCLE_KEYS, CYCLE_RUNS, CYCLE_REQUESTS = 1_000_000, 5, 500_000
MORE_MAX = 1.03          # allowed count, as a multiple of the file's
TOTALS = re.compile(r"^totals: (\d+)$", re.M)
LIMIT_S = 120


def release_of(compiler):
    """Returns the key of a budget: "gcc 12" for "gcc 12.2.0"."""
    return compiler.split(".")[0]


def kept_of(compiler):
    """Returns the budget of that compiler's release, or None."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    return kept.get(release_of(compiler))


def keep_in_file(figures):
    """Writes one compiler's budget to the file; those of others stay."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(json.dumps({**kept, release_of(figures["compiler"]): figures}, indent=1) + "\n")


def ran(words):
    done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()[-400:]}")


def _per_unit(counts, requests, case):
    return {stage: round(count / requests / CASES[case], 1) for stage, count in counts.items()}


def instructions(program, case, *options):
    """{"compiler": its name, "instructions": a unit's, "stages": {stage: a unit's}}"""
    with tempfile.TemporaryDirectory(prefix="clockoo-budget-") as folder:
        base, row = pathlib.Path(folder, "count"), pathlib.Path(folder, "row.json")
        ran(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
             f"--callgrind-out-file={base}", program, case, "--keys", KEYS, "--instructions",
             "--json", row, *options])
        row = json.loads(row.read_text())
        counts = {}
        for number, stage in enumerate(row["dumps"], 1):
            found = TOTALS.search(base.with_name(f"{base.name}.{number}").read_text())
            if found is None:
                raise Failed(f"callgrind: dump {number} of {case} has no totals")
            counts[stage] = counts.get(stage, 0) + int(found[1])
    total = _per_unit({"turn": counts.pop("turn")}, row["requests"], case)["turn"]
    return {"compiler": row["compiler"], "instructions": total,
            "stages": _per_unit(counts, row["staged_requests"], case)}


def cycles(program, case, runs=CYCLE_RUNS, keys=CYCLE_KEYS, requests=CYCLE_REQUESTS):
    """{"cycles": a unit's, "spread": [least, most], "cycle_stages": {stage: a unit's}}"""
    with tempfile.TemporaryDirectory(prefix="clockoo-budget-") as folder:
        path = pathlib.Path(folder, "row.json")
        ran([program, case, "--keys", keys, "--runs", runs, "--requests",
             max(100, requests // CASES.get(case, 1)), "--json", path])
        row = json.loads(path.read_text())
    unit = CASES.get(case, 1)
    return {"cycles": round(row["cycles"] / unit, 1),
            "spread": [round(row[end] / unit, 1) for end in ("least", "most")],
            "hugepages": row["hugepages"], "cycles_per_ns": row["cycles_per_ns"],
            "cycle_stages": {name.removeprefix("stage_"): round(value / unit, 1)
                             for name, value in row.items() if name.startswith("stage_")}}


def judge(case, found, kept):
    """Returns what is wrong with a count, or None."""
    if found <= kept * MORE_MAX:
        return None
    return (f"{case}: {found:.1f} instructions, {100 * (found / kept - 1):.1f} % more than the "
            f"{kept:.1f} in {FILE.name}. If that is what it has to cost, say why in the commit and "
            "write the file anew: tools/bench budget --keep")


def commit():
    git = ["git", "-C", str(build_tree.ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    dirty = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "lib", "meson.build"])
    return head.stdout.strip() + ("+" if dirty.returncode else "")


def measure(program, keep_file, machine, keep):
    """Counts and times all cases; with keep_file they become the budget."""
    found = {}
    for case in CASES:
        with Step(f"{case}: instructions"):
            found[case] = instructions(program, case)
            compiler = found[case].pop("compiler")
        with Step(f"{case}: cycles"):
            found[case] |= cycles(program, case)
    figures = {"commit": commit(), "compiler": compiler, "machine": machine, "keys": KEYS,
               "cycle_keys": CYCLE_KEYS, "cases": found}
    kept = (kept_of(compiler) or {"cases": {}})["cases"]
    lines = [[case, "key" if CASES[case] > 1 else "request", row["instructions"],
              kept.get(case, {}).get("instructions", "-"), row["cycles"],
              f"{row['spread'][0]}..{row['spread'][1]}"] for case, row in found.items()]
    table(f"What core_turn costs: instructions ({KEYS} keys), cycles ({CYCLE_KEYS / 1e6:g} million)",
          ["case", "of a", "instructions", "budget", "cycles", "spread"], lines)
    for kind, words in (("stages", "Instructions"), ("cycle_stages", "Cycles")):
        stages = list(next(iter(found.values()))[kind])
        table(f"{words} by stage", ["case", *stages],
              [[case, *(row[kind][s] for s in stages)] for case, row in found.items()])
    if keep_file:
        keep_in_file(figures)
    keep({"budget": figures})
    return {"budget": figures}
