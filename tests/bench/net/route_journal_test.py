#!/usr/bin/python3 -B
"""Tests that changes of a router's routes that no event explains are counted as flaps."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from route_journal import flaps  # noqa: E402

BOTH, ONE, NONE = ("a", "b"), ("b",), ()


class Flaps(unittest.TestCase):
    def test_the_changes_of_an_event_are_none(self):
        self.assertEqual(flaps([ONE, BOTH], [ONE, BOTH]), 0)

    def test_a_change_that_is_told_twice_is_one(self):
        self.assertEqual(flaps([ONE, ONE, BOTH, BOTH], [ONE, BOTH]), 0)

    def test_each_further_change_is_one(self):
        self.assertEqual(flaps([ONE, BOTH, ONE, BOTH], [ONE, BOTH]), 2)

    def test_another_way_is_one(self):
        self.assertEqual(flaps([NONE, BOTH], [ONE, BOTH]), 1)
        self.assertEqual(flaps([BOTH], [ONE, BOTH]), 1)


if __name__ == "__main__":
    unittest.main()
