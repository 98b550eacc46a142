#!/usr/bin/python3 -B
"""A turn is repeated when the host had moved our CPUs, and only then. Method: cpu_pair once, whose figures must be
possible; then a program that prints the figures of a list, in order."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/py"))
import cpu_pair  # noqa: E402

NEAR, FAR, SHARED, ONE_CORE = (50.0, 3.7), (240.0, 3.7), (50.0, 2.2), (24.0, 3.7)
cpu_pair.PAUSE_S = 0


def check(what, good):
    print(f"{'ok' if good else 'not ok'} - {what}", flush=True)
    return bool(good)


def pair_that_finds(folder, looks, patience_s):
    """Returns a pair whose program reports near CPUs first, then these looks, then near CPUs again."""
    lines = [NEAR] * cpu_pair.FIRST_LOOKS + list(looks)
    (folder / "looks").write_text("".join(
        json.dumps({"distance_ns": ns, "shares": [share, 3.7]}) + "\n" for ns, share in lines))
    program = folder / "program"
    program.write_text(f"#!/bin/sh\nhead -n 1 {folder}/looks\nsed -i 1d {folder}/looks\n"
                       f"[ -s {folder}/looks ] || echo '{{\"distance_ns\": 50, \"shares\": [3.7, 3.7]}}' "
                       f"> {folder}/looks\n")
    program.chmod(0o755)
    return cpu_pair.CpuPair(str(program), (0, 1), patience_s)


def main():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    results = []
    if len(cpus) < 2:
        print("skipped - the program itself: this machine lets us have one CPU")
    else:
        found = json.loads(subprocess.run([sys.argv[1], *map(str, cpus)], capture_output=True, text=True,
                                          check=True, timeout=60).stdout)
        results.append(check("the program says a distance and two shares",
                             found["distance_ns"] > 0 and len(found["shares"]) == 2 and
                             min(found["shares"]) > 0))
    cases = [  # readings before and after, patience; then turns run, repeated, and with the CPUs apart
        ("near before and after", [NEAR, NEAR], 60, 1, 0, 0),
        ("far before: it waits", [FAR, FAR, NEAR, NEAR], 60, 1, 0, 0),
        ("far after: it is repeated", [NEAR, FAR, NEAR, NEAR], 60, 2, 1, 0),
        ("two threads of one core after: it is repeated, and none of two is far then",
         [NEAR, ONE_CORE, NEAR, NEAR], 60, 2, 1, 0),
        ("shared after: it is repeated", [NEAR, SHARED, NEAR, NEAR], 60, 2, 1, 0),
        ("far after every try: it counts at last",
         [NEAR, FAR] * cpu_pair.TRIES, 60, cpu_pair.TRIES, cpu_pair.TRIES - 1, 1),
        ("no patience: it counts as it is", [FAR, FAR], 0, 1, 0, 1),
    ]
    for what, looks, patience_s, runs, repeated, kept in cases:
        with tempfile.TemporaryDirectory() as folder:
            pair = pair_that_finds(pathlib.Path(folder), looks, patience_s)
            rows = iter(range(100))
            last = pair.turn(lambda rows=rows: next(rows))
            results.append(check(what, (last + 1, pair.repeated, pair.kept_apart)
                                 == (runs, repeated, kept)))
    return 0 if all(results) else 1


sys.exit(main())
