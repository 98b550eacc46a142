#!/usr/bin/python3 -B
"""Each situation of situations.txt has a script of ours that exists, or a reason why not.

usage: situations_test.py [--corpus NAME=DIR]...

With a corpus at hand, each of its scripts (*.pkt) is in exactly one situation, and each pattern finds one.
"""

import argparse
import fnmatch
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPORA = ("linux", "google", "freebsd")
KINDS = (*CORPORA, "script", "test", "without")


def read(text):
    """Returns [(title, {kind: [what its lines say]})]."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        kind, _, words = line.partition(" ")
        if not kind or kind == "#":
            continue
        if kind == "situation":
            found.append((words, {kind: [] for kind in KINDS}))
        elif kind in KINDS and words and found:
            found[-1][1][kind].append(words)
        else:
            raise ValueError(f"line {number}: expected situation, {', '.join(KINDS)}, got {line!r}")
    return found


def scripts():
    """Returns "FILE: TITLE" of each packet script."""
    return {
        f"{path.stem}: {title}"
        for path in HERE.glob("*.script")
        for title in re.findall(r"^script (.*)$", path.read_text(), re.MULTILINE)
    }


def faults(situations, known):
    """Yields what is wrong with the list."""
    titles = [title for title, _ in situations]
    for title, has in situations:
        if titles.count(title) > 1:
            yield f"{title}: twice"
        if not any(has[corpus] for corpus in CORPORA):
            yield f"{title}: no file tests it"
        if not (has["script"] or has["test"] or has["without"]):
            yield f"{title}: neither a script nor a reason"
        yield from (f"{title}: no script {name!r}" for name in has["script"] if name not in known)
        yield from (f"{title}: no test {path}" for path in has["test"] if not (ROOT / path).is_file())


def faults_of_corpus(situations, corpus, files):
    """Yields the files that are not in exactly one situation, and the patterns that find no file."""
    patterns = [(title, words) for title, has in situations for line in has[corpus] for words in line.split()]
    hits = {name: [title for title, words in patterns if fnmatch.fnmatchcase(name, words)] for name in files}
    yield from (f"{corpus}: {name}: in {len(titles)} situations" for name, titles in hits.items() if len(titles) != 1)
    yield from (
        f"{corpus}: {words}: no such file" for _, words in patterns if not fnmatch.filter(files, words)
    )


class Situations(unittest.TestCase):
    def test_every_situation_has_a_script_or_a_reason(self):
        self.assertEqual(list(faults(read((HERE / "situations.txt").read_text()), scripts())), [])

    def test_what_is_wrong_with_a_list_is_found(self):
        right = "situation a\nlinux x.pkt\nscript open: three segments open a connection\n"
        wrong = [
            right.replace("three", "four"),
            right.replace("open:", "close:"),
            right.replace("linux x.pkt\n", ""),
            right[: right.index("script")],
            right[: right.index("script")] + "test tests/script/none.c\n",
            right + right,
        ]
        self.assertEqual(list(faults(read(right), scripts())), [])
        for text in wrong:
            self.assertNotEqual(list(faults(read(text), scripts())), [], text)
        self.assertRaises(ValueError, read, right + "scripts open: a\n")

    def test_a_file_is_in_one_situation(self):
        text = "situation a\nlinux x*.pkt\nwithout reason\nsituation b\nlinux xy.pkt z.pkt\nwithout reason\n"
        self.assertEqual(
            list(faults_of_corpus(read(text), "linux", ["x.pkt", "xy.pkt", "w.pkt"])),
            ["linux: xy.pkt: in 2 situations", "linux: w.pkt: in 0 situations", "linux: z.pkt: no such file"],
        )


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=DIR")
    asked = parser.parse_args(argv)
    situations, failed = read((HERE / "situations.txt").read_text()), 0
    for words in asked.corpus:
        corpus, _, folder = words.partition("=")
        files = sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*.pkt"))
        wrong = list(faults_of_corpus(situations, corpus, files))
        print("\n".join([*wrong, f"{corpus}: {len(files)} scripts, {len(wrong)} faults"]))
        failed += len(wrong)
    if asked.corpus:
        return 1 if failed else 0
    return unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
