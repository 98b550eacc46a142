#!/usr/bin/python3 -B
"""The judge of zones (zone_judge.py): what it must find in planted histories, and what it must let pass."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zone_judge import DELETE, KINDS, SET, History  # noqa: E402


def judged(writes, reads):
    """{kind: how many} without those of none. writes: (kind, began, ended or None)"""
    history = History()
    for kind, began, ended in writes:
        version = history.begin(kind, began)
        if ended is not None:
            history.end(version, ended)
    for read in reads:
        history.read(*read)
    return {kind: len(lines) for kind, lines in history.judge().items() if lines}


class Judge(unittest.TestCase):
    def test_newest_acknowledged_version_is_right(self):
        self.assertEqual(judged([(SET, 0, 1), (SET, 2, 3)], [(1, 1.2, 1.4), (2, 4, 5)]), {})

    def test_version_of_a_write_in_flight_is_right_from_its_begin_on(self):
        self.assertEqual(judged([(SET, 0, 1), (SET, 2, 3)], [(2, 2.1, 2.2), (1, 2.3, 2.4)]), {})

    def test_older_version_after_an_acknowledged_write_is_stale(self):
        self.assertEqual(judged([(SET, 0, 1), (SET, 2, 3)], [(1, 3.1, 3.2)]), {"stale": 1})

    def test_value_after_an_acknowledged_delete_is_stale(self):
        self.assertEqual(judged([(SET, 0, 1), (DELETE, 2, 3)], [(1, 3.1, 3.2)]), {"stale": 1})

    def test_lost_write_may_be_read_or_not(self):
        self.assertEqual(judged([(SET, 0, 1), (SET, 2, None)], [(1, 5, 6), (2, 7, 8), (1, 9, 10)]), {})

    def test_lost_write_after_a_newer_acknowledged_one_is_late(self):
        self.assertEqual(judged([(SET, 0, None), (SET, 2, 3)], [(1, 4, 5)]), {"late": 1})

    def test_miss_of_an_acknowledged_version_is_missing(self):
        self.assertEqual(judged([(SET, 0, 1)], [(None, 2, 3)]), {"missing": 1})

    def test_miss_before_anything_was_written_is_right(self):
        self.assertEqual(judged([(SET, 2, 3)], [(None, 0, 1), (None, 2.5, 2.6)]), {})

    def test_miss_after_a_delete_is_right_acknowledged_or_lost(self):
        for ended in (3, None):
            self.assertEqual(judged([(SET, 0, 1), (DELETE, 2, ended)], [(None, 4, 5)]), {})

    def test_lost_delete_may_take_place_behind_a_newer_set(self):
        self.assertEqual(judged([(DELETE, 0, None), (SET, 2, 3)], [(None, 4, 5)]), {})

    def test_version_that_nobody_has_begun_is_made_up(self):
        self.assertEqual(judged([(SET, 2, 3)], [(1, 0, 1), (7, 4, 5)]), {"made up": 2})

    def test_all_kinds_have_a_case_here(self):
        self.assertEqual(set(KINDS), {"stale", "late", "missing", "made up"})


if __name__ == "__main__":
    unittest.main()
