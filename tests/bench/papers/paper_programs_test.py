#!/usr/bin/python3 -B
"""paper_programs_test.py PROGRAM... - the papers' programs print what tools/bench papers reads.

Each runs with --tiny, twice: every line of stdout is a JSON object with the fields that
paper_rows.h names; rows that are counts agree, and not all times do.
"""

import json
import subprocess
import sys
import unittest

TEXTS = ("part", "figure", "series", "unit")


def rows(program, *options):
    done = subprocess.run([program, "--tiny", *options], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def place(row):
    return tuple(row[name] for name in ("part", "figure", "series", "x"))


class Programs(unittest.TestCase):
    programs = []

    def check_fields(self, row):
        self.assertTrue(all(row[name] for name in TEXTS), row)
        self.assertIsInstance(row["x"], (int, float, str))
        self.assertIsInstance(row["y"], (int, float))
        self.assertGreaterEqual(row["n"], 1)
        if row["kind"] == "count":
            self.assertNotIn("spread", row)
        else:
            self.assertEqual(row["kind"], "time")
            self.assertLessEqual(row["spread"][0], row["y"], row)
            self.assertLessEqual(row["y"], row["spread"][1], row)

    def check_lines(self, rows):
        """Checks that cores that only get items write no line that another core uses, not even in their
        housekeeping."""
        for row in rows:
            if row["x"] == "shared_written_lines_per_get":
                self.assertLessEqual(row["y"], 0.01)

    def test_rows_are_whole_and_counts_of_two_runs_agree_and_times_do_not(self):
        for program in self.programs:
            one, other = rows(program), rows(program)
            for row in one:
                self.check_fields(row)
            self.assertEqual([place(r) for r in one], [place(r) for r in other])
            self.assertEqual(len({place(r) for r in one}), len(one))
            for a, b in zip(one, other):
                if a["kind"] == "count":
                    self.assertEqual(a, b)
            self.check_lines(one)
            times = [(a["y"], b["y"]) for a, b in zip(one, other) if a["kind"] == "time"]
            self.assertTrue(not times or any(a != b for a, b in times))

    def test_an_unknown_figure_is_refused(self):
        for program in self.programs:
            done = subprocess.run([program, "--figure", "none"], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    Programs.programs = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
