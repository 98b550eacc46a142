#!/usr/bin/python3 -B
"""Tests that tools/check catches each breach of its rules.

Goal: every rule fails on a tree that breaks it, names the file, and no rule fails on a clean tree. Method: a small tree
in a temporary folder; each case makes one change, and names the rule that must fail.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check"
UNFINISHED = "TO" + "DO"
BANNED = "lim" + "bo"
GAP = "home" + " bucket"
OPENING = "/* a file */\n"

TABLE = """# lib
<!-- rooms: here -->
| room | may include | what it is |
|---|---|---|
| base | {base} | bytes |
| wire | base | frames |
| dpdk | base | EAL |
<!-- end of rooms -->
"""
REFUSED = f"{BANNED}, {GAP}: retire list\n"
LAYERS = """# wire
<!-- layers: tools/check reads the lines from here -->
- below: {below}
- above: `{above}` (what is built on it)
<!-- end of layers -->

## Decisions
"""
# A room of two layers: seg is above frame.
LAYERED = {
    "lib/wire/README.md": LAYERS.format(below="frame", above="seg"),
    "lib/wire/seg.h": "bool seg_parse(const char *p);\nbool frame_parse(const char *p);\n",
    "lib/wire/seg.c": OPENING + '#include "seg.h"\n\nbool\nseg_parse(const char *p)\n{\n'
                                "\treturn frame_parse(p);\n}\n",
}


def ring(count, room="lib/wire"):
    """Returns files of a room, of which each calls the next one."""
    return {f"{room}/ring{n}.c": OPENING + f"int\nring_{n}(void)\n{{\n\treturn ring_{(n + 1) % count}();\n}}\n" for n in range(count)}


def pool_page(size, pool, counter="`FRAMES_LOST`", test="`test_frame`, `a_frame_is_lost`"):
    """Returns a page with one pool, its counter and its tests."""
    return {"lib/base/BUDGET.md": f"| pool | {size} | counter | tests |\n|---|---|---|---|\n| {pool} | 4 | {counter} | {test} |\n",
            "lib/wire/lost.h": '#define FRAME_COUNTERS(X) X(FRAMES_LOST, "lost")\n',
            "tests/unit/test_frame.c": OPENING + "void\na_frame_is_lost(void)\n{\n}\n"}


CLEAN = {
    ".clang-format": (CHECK.parents[1] / ".clang-format").read_text(),
    "lib/README.md": TABLE.format(base=""),
    "lib/refused_words.txt": REFUSED,
    "lib/base/README.md": "# base\n\n## Decisions\n",
    "lib/wire/README.md": "# wire\n\n## Decisions\n",
    "lib/dpdk/README.md": "# dpdk\n\n## Decisions\n",
    "lib/base/bytes.h": "int bytes;\n",
    "lib/wire/frame.c": OPENING + '#include "frame.h"\n#include "base/bytes.h"\n'
                                  "/* rte_eth is far away */\n",
    "lib/wire/frame.h": "/*\n * Shape:  a line\n *         and its rest.\n * Thread: pure.\n */\n"
                        'extern const char *frame; /* "rte_" in words is no DPDK */\n',
    "lib/dpdk/eal.c": OPENING + "#include <rte_eal.h>\n#include <wire/if.h>\n",
}

PARTS = {
    "app/README.md": "<!-- parts: -->\n| part | may include | what |\n|---|---|---|\n| keep | | files |\n| tier | keep | flash |\n"
                     "<!-- end of parts -->\n",
    "app/clockoo/keep/keep.h": "int keep;\n",
    "app/clockoo/tier/tier.h": '#include "keep/keep.h"\n',
    "app/clockoo/whole.h": '#include "tier/tier.h"\n',
}

# A change of the clean tree, and the words with which tools/check must refuse it.
VIOLATIONS = [
    ("a room that includes upwards",
     {"lib/base/bytes.c": OPENING + '#include "wire/frame.h"\n'},
     "room base may not include wire/frame.h"),
    ("a room that includes upwards with angle brackets",
     {"lib/base/bytes.c": OPENING + "#include <wire/frame.h>\n"},
     "room base may not include wire/frame.h"),
    ("a room that includes around the rule",
     {"lib/base/bytes.c": OPENING + '#include "../wire/frame.h"\n'},
     "a room is named by itself"),
    ("a load generator that includes what it may not", {"tests/load/load.c": '#include "wire/frame.h"\n'},
     "room tests/load may not include wire/frame.h"),
    ("a part of the program that includes upwards", {**PARTS, "app/clockoo/keep/file.c": OPENING + '#include "tier/tier.h"\n'},
     "part keep may not include tier/tier.h"),
    ("a part that includes the whole program", {**PARTS, "app/clockoo/keep/file.c": OPENING + '#include "whole.h"\n'},
     "part keep may not include whole.h"),
    ("a part that is not in the table", {**PARTS, "app/clockoo/more/more.h": "int more;\n"}, "part more is in"),
    ("a circle of parts", {**PARTS, "app/README.md": PARTS["app/README.md"].replace("keep | |", "keep | tier |")}, "circle of parts"),
    ("a DPDK header outside lib/dpdk", {"lib/wire/frame2.c": OPENING + "#include <rte_mbuf.h>\n"},
     "includes rte_mbuf.h outside"),
    ("a DPDK name outside lib/dpdk", {"app/main.c": OPENING + "int n = rte_lcore_count();\n"},
     "app/main.c:2: rte_lcore_count outside"),
    ("a DPDK macro outside lib/dpdk", {"lib/wire/frame2.c": OPENING + "int n = RTE_MAX_LCORE;\n"},
     "lib/wire/frame2.c:2: RTE_MAX_LCORE outside"),
    ("what a test left at the top", {"device_1OJG8L": "\n"}, "device_1OJG8L: not of the top level"),
    ("two files of one name", {"lib/wire/bytes.h": "int other;\n"}, "bytes.h: more than one file"),
    ("a room without a README", {"lib/wire/README.md": None}, "lib/wire/README.md: missing"),
    ("a README without decisions", {"lib/wire/README.md": "# wire\n\n## Bounds\n"},
     "its last section is not its decisions"),
    ("a room that is not in the table", {"lib/extra/extra.h": "int extra;\n"}, "room extra is in"),
    ("a circle of rooms", {"lib/README.md": TABLE.format(base="wire")}, "circle of rooms"),
    ("unfinished work", {"lib/wire/frame2.c": f"/* {UNFINISHED}: later */\n"}, UNFINISHED),
    ("a thread that may outlive its test", {"tests/unit/one_test.py": "t = Thread(target=f, daemon=Tr" "ue)\n"},
     "a test joins its threads"),
    ("two statics of one name", {f"lib/wire/one{n}.c": OPENING + "static int\nsame(void)\n{\n\treturn 0;\n}\n" for n in (1, 2)},
     "lib/wire/one2.c:3: same is a static of lib/wire/one1.c, too"),
    ("C that is not formatted", {"lib/wire/frame2.h": "int   x ;\n"}, "not formatted"),
    ("a word the glossary refuses, in a comment", {"lib/wire/frame2.h": f"/* in {BANNED} */\n"},
     f"lib/wire/frame2.h:1: {BANNED}"),
    ("a word the glossary refuses, in a name", {"lib/wire/frame2.h": f"int {BANNED}_count;\n"},
     f"lib/wire/frame2.h:1: {BANNED}"),
    ("a word the glossary refuses, in a message",
     {"lib/wire/frame2.h": f'static const char text[] = "{BANNED.title()}s";\n'},
     f"lib/wire/frame2.h:1: {BANNED.title()}"),
    ("a word the glossary refuses, in a script", {"tools/verb": f"#!/bin/sh\necho {BANNED}\n"},
     "tools/verb:2: "),
    ("a word the glossary refuses, in a document", {"lib/wire/notes.md": f"The {BANNED}.\n"},
     "lib/wire/notes.md:1: "),
    ("two words that the glossary refuses, over two lines",
     {"lib/wire/frame2.h": f"/*\n * the {GAP.replace(' ', chr(10) + ' * ')}\n */\n"},
     "lib/wire/frame2.h:2: "),
    ("two words that the glossary refuses, in a name",
     {"lib/wire/frame2.h": f"int {GAP.replace(' ', '_')};\n"}, "lib/wire/frame2.h:1: "),
    ("a label inside a line", {"lib/wire/frame2.h": "/*\n * Units:  bytes. Thread: pure.\n */\n"},
     "lib/wire/frame2.h:2: a label inside a line"),
    ("a label at the end of a line",
     {"lib/wire/frame2.h": "/*\n * Units:  bytes. Thread:\n *         pure.\n */\n"},
     "lib/wire/frame2.h:2: a label inside a line"),
    ("the text of a label at the margin",
     {"lib/wire/frame2.h": "/*\n * Units:  bytes of the frame,\n * its header included.\n */\n"},
     "lib/wire/frame2.h:3: the text of a label stands at the margin"),
    ("a pool without a row", {"lib/wire/frame2.c": OPENING + "int n = budget_create(&t->frames, 1);\n"},
     "lib/wire/frame2.c: the pool t->frames has no row"),
    ("a row without its pool", pool_page("units", "`t->frames`"), "lib/base/BUDGET.md: no pool t->frames is created"),
    ("a pool without a counter", pool_page("size", "frames", counter="lost"),
     "the pool frames names no word of counter"),
    ("a pool without its counter", pool_page("size", "frames", counter="`FRAMES_GONE`"),
     "the pool frames: counter: there is no FRAMES_GONE"),
    ("a pool without its test", pool_page("size", "frames", test="`test_frames all`"),
     "the pool frames: tests: there is no test_frames"),
    ("a bound that is named nowhere", {"app/clockoo/conns.h": "#define CONNS_MAX 4\n"},
     "app/clockoo/conns.h: CONNS_MAX is named neither in lib/base/BUDGET.md nor in lib/stack/LIMITS.md"),
    ("a bound that is no pool's and nowhere", {"lib/base/no_pools.txt": "CONNS_MAX\n"},
     "lib/base/no_pools.txt: no header defines CONNS_MAX"),
    ("a walk over a function that is not there", {"lib/ARCHITECTURE.md": "`frame_read()` reads it.\n"},
     "lib/ARCHITECTURE.md: frame_read() is not there"),
    ("a walk over a function of another file",
     {**LAYERED, "lib/ARCHITECTURE.md": "`frame_parse()`\n(wire/seg.h) and `seg_parse()` (wire/frame.c).\n"},
     "lib/ARCHITECTURE.md: seg_parse() is not in wire/frame.c"),
    ("a .c file that does not say what it does", {"lib/wire/frame2.c": "int frame2;\n"},
     "lib/wire/frame2.c: does not open with a comment"),
    ("a program's .c file that does not say what it does", {"app/main.c": "int frame2;\n"},
     "app/main.c: does not open with a comment"),
    ("a comment that is a question", {"lib/wire/frame2.h": "/*\n * Is the\n * frame whole?\n */\nint whole;\n"},
     "lib/wire/frame2.h:1: a question"),
    ("a question before a sentence", {"lib/wire/frame2.h": "int n; /* whole? Then 1. */\n"},
     "lib/wire/frame2.h:1: a question"),
    ("a comment that runs on", {"lib/wire/frame2.h": "int n; /* frames and ... */\nint m; /* ... bytes */\n"},
     "lib/wire/frame2.h:1: a comment that runs on"),
    ("the rest of a comment that runs on", {"lib/wire/frame2.h": "int m; /* ... bytes */\n"},
     "lib/wire/frame2.h:1: a comment that runs on"),
    *((f"a comment that opens with {word}", {"lib/wire/frame2.h": f"/* {word} sent it. */\nint n;\n"},
       "lib/wire/frame2.h:1: opens without its subject") for word in ("Of", "What", "Who", "Whose", "Those")),
    ("a script's comment without a subject", {"tools/verb": "#!/bin/sh\n# Whose it is.\nexit 0\n"},
     "tools/verb:2: opens without its subject"),
    ("a question in Python", {"tests/unit/one_test.py": "n = 0\n# Is it\n# there?\nn = 1\n"},
     "tests/unit/one_test.py:2: a question"),
    ("a docstring without a subject", {"tests/unit/one_test.py": 'def one():\n    """Of a frame."""\n'},
     "tests/unit/one_test.py:2: opens without its subject"),
    ("a document of many lines", {"lib/wire/notes.md": "line\n" * 251},
     "lib/wire/notes.md: 251 lines, the limit is 250"),
    ("a document of wide lines", {"lib/wire/notes.md": f"text\n{'x' * 111}\n"},
     "lib/wire/notes.md:2: 111 columns, the limit is 110"),
    ("a header of a higher layer",
     {**LAYERED, "lib/wire/frame.c": OPENING + '#include "frame.h"\n#include "seg.h"\n'},
     "lib/wire/frame.c:3: includes seg.h of a higher layer"),
    ("a header of a higher layer by the room's name",
     {**LAYERED, "lib/wire/frame.c": OPENING + '#include "wire/seg.h"\n'},
     "lib/wire/frame.c:2: includes seg.h of a higher layer"),
    ("a call of a higher layer",
     {**LAYERED, "lib/wire/frame.c": OPENING + "bool\nframe_parse(const char *p)\n{\n"
                                               "\treturn seg_parse(p);\n}\n"},
     "lib/wire/frame.c:5: seg_parse is of seg.c, a higher layer"),
    ("a call of a higher layer from a header",
     {**LAYERED, "lib/wire/frame.h": "static inline bool\nframe_check(const char *p)\n{\n"
                                     "\treturn seg_parse(p);\n}\n"},
     "lib/wire/frame.h:4: seg_parse is of seg.c, a higher layer"),
    ("a ring of five files", ring(5), "lib/wire: 5 files call each other: ring0.c ring1.c ring2.c ring3.c ring4.c"),
    ("a ring of five files in the folders of a program",
     {**ring(5, "app/clockoo/ring"), "app/clockoo/ring/ring1.c": None,
      "app/clockoo/ring1.c": ring(5, "app")["app/ring1.c"]}, "app/clockoo: 5 files call each other"),
    ("a ring by a header",
     {**ring(5), "lib/wire/ring4.c": None,
      "lib/wire/ring4.h": "static inline int\nring_4(void)\n{\n\treturn ring_0();\n}\n"}, "lib/wire: 5 files call each other"),
    ("a file in no layer", {**LAYERED, "lib/wire/extra.h": "int extra;\n"}, "extra.h is in no layer"),
    ("a layer of a file that is not there",
     {**LAYERED, "lib/wire/README.md": LAYERS.format(below="frame fram", above="seg")},
     "fram of the layers is no file of wire"),
    ("a file in two layers",
     {**LAYERED, "lib/wire/README.md": LAYERS.format(below="frame seg.h", above="seg seg.h")},
     "seg.h is in two layers"),
    ("layers without an end",
     {**LAYERED, "lib/wire/README.md": LAYERS.format(below="frame", above="seg")
      .replace("end of layers", "end")}, "the block of layers has no end"),
]
# Changes that look like a breach and are none.
FINE = [
    ("a longer word", {"lib/wire/frame2.h": f"int un{BANNED}ed;\n"}),
    ("a room in layers", LAYERED),
    ("a ring of four files", ring(4)),
    ("five files that call each other one way", {**ring(5), "lib/wire/ring4.c": OPENING + "int\nring_4(void)\n{\n\treturn 0;\n}\n"}),
    ("rings of two rooms", {**ring(4), **{name.replace("ring", "circle"): text.replace("ring", "circle")
                                          for name, text in ring(4, "lib/base").items()}}),
    ("statics of one name in two rooms",
     {f"lib/{room}/{room}1.c": OPENING + "static int\nsame(void)\n{\n\treturn 0;\n}\n" for room in ("wire", "base")}),
    ("parts of a program", PARTS),
    ("a layer on two lines", {**LAYERED, "lib/wire/README.md": LAYERS.format(below="frame", above="seg.c\n  seg.h")}),
    ("a question mark in a word", {"lib/wire/frame2.h": "int n; /* becomes ?. http://h/?q | cas:24? | n */\n"}),
    ("a question in a string", {"lib/wire/frame2.h": 'static const char text[] = "/* whose? */";\n'}),
    ("a document at its limits, with a wide table and code",
     {"lib/wire/notes.md": "line\n" * 245 + f"{'x' * 110}\n| {'x' * 200} |\n    {'x' * 200}\n```\n{'x' * 200}\n"}),
    ("a pool with a bound of its own", pool_page("size", "frames")),
    ("a bound of a pool", {**pool_page("`CONNS_MAX`", "conns"), "app/clockoo/conns.h": "#define CONNS_MAX 4\n"}),
    ("a header below and its .c file above",
     {**LAYERED, "lib/wire/README.md": LAYERS.format(below="seg.h, frame", above="seg.c"),
      "lib/wire/frame.c": OPENING + '#include "seg.h"\n'}),
    ("a prototype and a member of a higher layer's name",
     {**LAYERED, "lib/wire/frame.h": "bool seg_parse(const char *p);\n",
      "lib/wire/frame.c": OPENING + "int\nframe_parse(struct ops *o)\n{\n"
                                    "\treturn o->seg_parse;\n}\n"}),
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


def run_on_commits(subject):
    """Returns the output for a repository whose last commit has this subject."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in CLEAN.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run([*git, "init", "-q"], check=True)
        for year, words in ((2001, f"an old subject {'x' * 90}."), (2003, subject)):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", words], check=True,
                           env={**os.environ, "GIT_COMMITTER_DATE": f"{year}-01-01T00:00:00Z"})
        done = subprocess.run([sys.executable, "-B", str(CHECK), "--root", folder, "--commits-since", "2002-01-01T00:00:00Z"],
                              capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def commit_cases():
    for words, subject, must_say in (("a long subject", "x" * 66, "a subject of 66 characters, the limit is 65"),
                                     ("a subject with a full stop", "wire: add a frame.", "ends without a full stop")):
        status, output = run_on_commits(subject)
        yield f"{words} is caught", status == 1 and must_say in output, output
    status, output = run_on_commits("x" * 65)
    yield "a short subject passes", status == 0, output


def main():
    failed = 0
    status, output = run_on({})
    cases = [("a clean tree passes", status == 0, output)]
    for words, changes in FINE:
        status, output = run_on(changes)
        cases.append((f"{words} passes", status == 0, output))
    for words, changes, must_say in VIOLATIONS:
        status, output = run_on(changes)
        caught = status == 1 and must_say in output and output.count("\nnot ok") <= 1
        cases.append((f"{words} is caught", caught, output))
    cases += commit_cases() if shutil.which("git") else ()
    for words, good, output in cases:
        print(f"{'ok' if good else 'not ok'} - {words}")
        if not good:
            failed += 1
            print(output)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
