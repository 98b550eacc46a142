#!/usr/bin/python3 -B
"""tools/check catches what it is there for.

Goal: every rule fails on a tree that breaks it, names the file, and no rule fails on a clean tree.
Method: a small tree in a temporary folder; one change a case; the rule that must speak.
"""

import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check"
UNFINISHED = "TO" + "DO"

TABLE = """# lib
<!-- rooms: here -->
| room | may include | what it is |
|---|---|---|
| base | {base} | bytes |
| wire | base | frames |
| dpdk | base | EAL |
<!-- end of rooms -->
"""
CLEAN = {
    "lib/README.md": TABLE.format(base=""),
    "lib/base/README.md": "# base\n\n## Decisions\n",
    "lib/wire/README.md": "# wire\n\n## Decisions\n",
    "lib/dpdk/README.md": "# dpdk\n\n## Decisions\n",
    "lib/base/bytes.h": "int bytes;\n",
    "lib/wire/frame.c": '#include "frame.h"\n#include "base/bytes.h"\n/* rte_eth is far away */\n',
    "lib/wire/frame.h": 'extern const char *frame; /* "rte_" in words is no DPDK */\n',
    "lib/dpdk/eal.c": "#include <rte_eal.h>\n",
}

# What is changed, what tools/check must say about it.
VIOLATIONS = [
    ("a room that includes upwards", {"lib/base/bytes.c": '#include "wire/frame.h"\n'},
     "room base may not include wire/frame.h"),
    ("a room that includes upwards with angle brackets",
     {"lib/base/bytes.c": "#include <wire/frame.h>\n"}, "room base may not include wire/frame.h"),
    ("a room that includes around the rule", {"lib/base/bytes.c": '#include "../wire/frame.h"\n'},
     "a room is named by itself"),
    ("a load generator that includes what it may not", {"tests/load/load.c": '#include "wire/frame.h"\n'},
     "room tests/load may not include wire/frame.h"),
    ("a DPDK header outside lib/dpdk", {"lib/wire/frame2.c": "#include <rte_mbuf.h>\n"},
     "includes rte_mbuf.h outside"),
    ("a DPDK name outside lib/dpdk", {"app/main.c": "int n = rte_lcore_count();\n"},
     "app/main.c:1: rte_lcore_count outside"),
    ("a DPDK macro outside lib/dpdk", {"lib/wire/frame2.c": "\nint n = RTE_MAX_LCORE;\n"},
     "lib/wire/frame2.c:2: RTE_MAX_LCORE outside"),
    ("two files of one name", {"lib/wire/bytes.h": "int other;\n"}, "bytes.h: more than one file"),
    ("a room without a README", {"lib/wire/README.md": None}, "lib/wire/README.md: missing"),
    ("a README without decisions", {"lib/wire/README.md": "# wire\n\n## Bounds\n"},
     "its last section is not its decisions"),
    ("a room that is not in the table", {"lib/extra/extra.c": "int extra;\n"}, "room extra is in"),
    ("a circle of rooms", {"lib/README.md": TABLE.format(base="wire")}, "circle of rooms"),
    ("unfinished work", {"lib/wire/frame2.c": f"/* {UNFINISHED}: later */\n"}, UNFINISHED),
    ("C that is not formatted", {"lib/wire/frame2.c": "int   x ;\n"}, "not formatted"),
]


def run_on(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **changes}.items():
            if text is not None:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        done = subprocess.run([sys.executable, "-B", str(CHECK), "--root", folder],
                              capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    status, output = run_on({})
    cases = [("a clean tree passes", status == 0, output)]
    for words, changes, must_say in VIOLATIONS:
        status, output = run_on(changes)
        caught = status == 1 and must_say in output and output.count("\nnot ok") <= 1
        cases.append((f"{words} is caught", caught, output))
    for words, good, output in cases:
        print(f"{'ok' if good else 'not ok'} - {words}")
        if not good:
            failed += 1
            print(output)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
