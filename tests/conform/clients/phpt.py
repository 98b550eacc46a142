#!/usr/bin/python3 -B
"""Runs the .phpt files of a folder, as PHP's own run-tests does: phpt.py FOLDER.

Prints "ok - NAME" or "not ok - NAME" for each; a test that its SKIPIF skips, or that does not end, has no outcome.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TEST_S = 120  # generous: only what hangs is ended
SECTION = re.compile(r"^--([A-Z_]+)--\r?\n", re.M)
# Patterns for the marks of an EXPECTF; other text stands for itself.
PATTERNS = {"%s": r"[^\r\n]+", "%S": r"[^\r\n]*", "%a": r".+", "%A": r".*", "%w": r"\s*", "%i": r"[+-]?\d+", "%d": r"\d+", "%x": r"[0-9a-fA-F]+",
            "%f": r"[+-]?\.?\d+\.?\d*(?:[Ee][+-]?\d+)?", "%c": ".", "%e": "/"}


def sections(text):
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2]))


def run_php(folder, options, code):
    """Runs the code in the folder of the tests, whose files it includes. Returns its output."""
    with tempfile.NamedTemporaryFile("w", suffix=".php", dir=folder) as file:
        file.write(code)
        file.flush()
        words = ["php", *(word for option in options for word in ("-d", option)), file.name]
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TEST_S, check=False)
    return done.stdout.decode(errors="replace").replace("\r\n", "\n").strip()


def expected(parts):
    if "EXPECT" in parts:
        return re.escape(parts["EXPECT"].replace("\r\n", "\n").strip())
    text = parts["EXPECTF"].replace("\r\n", "\n").strip()
    return "".join(PATTERNS.get(piece) or re.escape(piece) for piece in re.split(r"(%[sSaAwidxfce])", text))


def judge(folder, parts):
    """Returns True if a test passes, None if it must be skipped."""
    options = [re.sub(r"\s*=\s*", "=", line, count=1) for line in parts.get("INI", "").splitlines() if "=" in line]
    if run_php(folder, options, parts.get("SKIPIF", "")).lower().startswith("skip"):
        return None
    return re.fullmatch(expected(parts), run_php(folder, options, parts["FILE"]), re.S) is not None


def main():
    folder = pathlib.Path(sys.argv[1])
    for file in sorted(folder.glob("*.phpt")):
        try:
            held = judge(folder, sections(file.read_text(errors="replace")))
        except subprocess.TimeoutExpired:
            print(f"cut - {file.stem}", flush=True)
            continue
        if held is not None:
            print(f"{'ok' if held else 'not ok'} - {file.stem}", flush=True)


main()
