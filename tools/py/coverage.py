"""tools/test coverage: which lines of lib the tests reach, room by room.

gcc's own gcov reads the counts. Only the objects of lib itself count, not those of lib's files that a test compiles for
itself, such as mutants. A line of a header is reached if any object reached it.
"""

import collections
import json
import os
import subprocess

import build_tree
from progress import Failed, Step

RUN = {"unit", "sim", "script", "fuzz", "dpdk"}
SUITES = [word for suite in sorted(RUN) for word in ("--suite", suite)]
SLOWNESS = 4
GOAL = 90.0  # percent of the lines of lib


def build():
    folder = build_tree.beside_default("coverage")
    build_tree.build(folder, build_tree.COVERAGE,
                     targets=lambda at: build_tree.test_targets(at, RUN))
    for counts in folder.rglob("*.gcda"):  # counts of the previous run
        counts.unlink()
    return folder


def _lines_of(folder):
    """Returns {file relative to the root: {line: whether it was reached}}."""
    lines = collections.defaultdict(dict)
    with Step("reading the counts"):
        notes = sorted(str(path) for path in (folder / "lib").rglob("*.gcno"))
        done = subprocess.run(["gcov", "--json-format", "--stdout", *notes], cwd=folder,
                              capture_output=True, text=True)
        # The status of gcov is ignored: it fails for a file without functions.
        for document in done.stdout.splitlines():
            for file in json.loads(document)["files"] if document.startswith("{") else ():
                name = os.path.relpath(os.path.join(folder, file["file"]), build_tree.ROOT)
                reached = lines[name]
                for line in file["lines"]:
                    at = line["line_number"]
                    reached[at] = reached.get(at, False) or line["count"] > 0
    if not any(name.startswith("lib/") for name in lines):
        raise Failed(f"gcov found nothing: {done.stderr.strip()[-400:]}")
    return lines


def report(folder):
    """Prints a line for each room. Returns (whether it is enough, a line about lib)."""
    rooms = collections.defaultdict(lambda: [0, 0])
    for name, reached in _lines_of(folder).items():
        parts = name.split("/")
        for room in (parts[1], "lib") if parts[0] == "lib" else ():
            rooms[room][0] += sum(reached.values())
            rooms[room][1] += len(reached)
    for room, (covered, total) in sorted(rooms.items(), key=lambda item: item[0] == "lib"):
        print(f"   {room:10} {covered:6} of {total:6} lines, {100 * covered / total:5.1f} %")
    covered, total = rooms["lib"]
    share = 100 * covered / max(total, 1)
    return share >= GOAL, f"{share:.1f} % of the lines of lib were reached, the goal is {GOAL:.0f} %"
