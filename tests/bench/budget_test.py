#!/usr/bin/python3 -B
"""budget_test.py BENCH_REQUEST - no request costs more than its budget.

Goal: instructions of a UDP get, a TCP get, a set and a key of a multi-get are at most 3 % above what
tests/bench/budget.json says for this release of the compiler. Method: callgrind counts them; the file was written
by tools/bench budget --keep. What cannot be compared is skipped, with the reason.
"""

import functools
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import budget  # noqa: E402

PROGRAM = sys.argv[1]
SKIPPED = 77


@functools.cache
def counted(case):
    return budget.instructions(PROGRAM, case)


def cannot():
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if not pathlib.Path("/usr/include/valgrind/callgrind.h").exists():
        return "built without valgrind/callgrind.h"
    here = counted("udp_get")["compiler"]
    return None if budget.kept_of(here) else f"{budget.FILE.name} has no budget of {budget.release_of(here)}"


class Budget(unittest.TestCase):
    def test_no_request_costs_more_than_its_budget(self):
        kept = budget.kept_of(counted("udp_get")["compiler"])["cases"]
        self.assertEqual(set(kept), set(budget.CASES))
        for case, row in kept.items():
            with self.subTest(case):
                found = counted(case)
                print(f"{case}: {found['instructions']} instructions, budget {row['instructions']}")
                wrong = budget.judge(case, found["instructions"], row["instructions"])
                self.assertIsNone(wrong, wrong)
                # The stages add up to the turn, except for the cost of measuring them.
                self.assertLess(abs(sum(found["stages"].values()) / found["instructions"] - 1), 0.1)

    def test_three_percent_more_is_told_and_less_is_not(self):
        for found, told in ((1000, False), (900, False), (1029, False), (1031, True)):
            self.assertEqual(budget.judge("x", found, 1000) is not None, told, found)

    def test_each_release_of_a_compiler_has_a_budget_of_its_own(self):
        self.addCleanup(setattr, budget, "FILE", budget.FILE)
        with tempfile.TemporaryDirectory(prefix="clockoo-budget-test-") as folder:
            budget.FILE = pathlib.Path(folder, "budget.json")
            self.assertIsNone(budget.kept_of("gcc 12.2.0"))
            for compiler, cases in (("gcc 12.2.0", 1), ("gcc 16.2.0", 2), ("gcc 12.3.0", 3)):
                budget.keep_in_file({"compiler": compiler, "cases": cases})
            found = [budget.kept_of(f"gcc {release}")["cases"] for release in ("12.2.0", "16.1.0")]
            self.assertEqual(found, [3, 2])
            self.assertIsNone(budget.kept_of("gcc 1.2"))


if __name__ == "__main__":
    reason = cannot()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
