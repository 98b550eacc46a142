#!/usr/bin/python3 -B
"""run_soak: what a night adds to the turns of the nights before, and that it is judged by its own."""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
LOADER = importlib.machinery.SourceFileLoader("run_soak", str(HERE / "run_soak"))
run_soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_soak", LOADER))
LOADER.exec_module(run_soak)


def row(number, failed=None):
    return {"job": "a load", "number": number, "seconds": 1800.0, "times": 1, "commit": "c", "failed": failed}


class Nights(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="soak-"))
        self.state = run_soak.State(pathlib.Path(folder) / "soak.state")
        self.state.add(row(0))
        self.state.add(row(1, "exit 1"))

    def judged(self, first):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            return self.state.report(first), said.getvalue()

    def test_hours_count_all_turns(self):
        self.assertEqual(run_soak.span(self.state, 2, None), (7200, 0))
        self.assertEqual(self.judged(0)[0], (1, 1))

    def test_night_adds_hours_and_is_judged_by_its_own_turns(self):
        end, first = run_soak.span(self.state, 2, 6)
        self.assertEqual((end, first), (3600 + 6 * 3600, 2))
        self.state.add(row(2))
        counts, text = self.judged(first)
        self.assertEqual(counts, (1, 0))
        self.assertIn("0.50 hours of c (1 turns)", text)

    def test_night_goes_on_with_the_next_seeds(self):
        self.assertEqual(run_soak.State(self.state._path).turns("a load"), 2)


if __name__ == "__main__":
    unittest.main()
