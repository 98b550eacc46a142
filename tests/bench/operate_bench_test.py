#!/usr/bin/python3 -B
"""operate_bench_test.py BENCH_OPERATE HOT_ZIPF - tools/bench operate, and what is shown of latencies.

Goal: the data of `stats latency` have the percentiles of the load generator's timestamps, for every kind of request;
figures outside their limits are named; parts can be run alone. Method: the program as built, few requests: both sides
measure the same turns, however long other work makes these.
"""

import json
import pathlib
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import bench_main  # noqa: E402
import operate_bench  # noqa: E402

PROGRAM, ZIPF = sys.argv[1:3]
LIMIT_S, TRIES = 120, 10


def ran(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=LIMIT_S)


class Operate(unittest.TestCase):
    def latency(self, kind):
        done = ran("latency", kind, "--keys", "1000", "--requests", "5000")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = json.loads(done.stdout)
        self.assertEqual(row["counted"], row["requests"])
        return row, max(abs(row[f"stats_{name}_us"] / row[f"generator_{name}_us"] - 1) for name in ("p50", "p99"))

    def test_latency_is_what_the_generator_stamps(self):
        """Other work may delay one of two timestamps in a run. A wrong timestamp would differ in every run."""
        for kind in operate_bench.KINDS:
            for _ in range(TRIES):
                row, apart = self.latency(kind)
                if apart <= 0.05:
                    break
            self.assertLessEqual(apart, 0.05, row)

    def test_the_hottest_keys_are_named_in_order_if_there_are_enough_samples(self):
        for words, right in ((("--keys", "20", "--requests", "40000000"), 3), (("--requests", "1000"), 0)):
            done = subprocess.run([ZIPF, "--runs", "3", *words], capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(json.loads(done.stdout)["in_order"], right, done.stderr)

    def test_mistakes_are_one_line(self):
        for words in ((), ("latency",), ("nonsense", "udp_mix"), ("latency", "nonsense")):
            done = ran(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_what_is_outside_its_limits_is_said(self):
        name, (least, most) = next((n, ends) for n, ends in operate_bench.LIMITS.items() if None not in ends)
        for value, lines in ((least, 0), (most, 0), (most + 1, 1), (least - 1, 1)):
            self.assertEqual(len(operate_bench.outside({name: value})), lines)
        self.assertEqual(operate_bench.outside({}), [])

    def test_the_figure_furthest_from_1_is_kept(self):
        self.assertEqual(operate_bench.furthest([1.01, 0.5, 1.9]), 0.5)
        self.assertEqual(operate_bench.furthest([1.01, 0.9, 1.2]), 1.2)

    def test_the_worst_request_with_a_list_is_kept_by_the_same_without(self):
        costs = {"udp_get": (600, 603), "tcp_get": (1000, 1020), "tcp_set": (2000, 1990)}
        bench = operate_bench.Bench(pathlib.Path("build"), True, operate_bench.Figures())
        with unittest.mock.patch.object(operate_bench.budget, "instructions", lambda _, case, *words: {
                "instructions": costs[case][words == ("--networks", 10_000)]}):
            lines = operate_bench.allow_list(bench)
        self.assertEqual(bench.figures.figures["allow_list_cost_ratio"], 1.02)
        self.assertEqual([line[0].split(",")[0] for line in lines], list(costs))
        self.assertEqual(len(operate_bench.outside(bench.figures.figures)), 1)

    def test_a_capture_that_has_ended_costs_nothing_or_is_said(self):
        words = {(): 600.0, ("--captured", "before"): 600.0, ("--captured", "now"): 700.0}
        bench = operate_bench.Bench(pathlib.Path("build"), True, operate_bench.Figures())
        with unittest.mock.patch.object(operate_bench.budget, "instructions", lambda _, case, *more: {
                "instructions": words[more] + (case == "tcp_get" and more == ("--captured", "before"))}):
            operate_bench.capture(bench)
        self.assertEqual(len(operate_bench.outside(bench.figures.figures)), 1)
        self.assertEqual(bench.figures.figures["capture_cost_ratio_on"], 1.1667)

    def test_parts_name_what_they_need(self):
        self.assertEqual(bench_main.arguments(["operate", "--part", "latency", "--quick"]).part, ["latency"])
        for part in operate_bench.PARTS:
            self.assertTrue(operate_bench.targets([part]))
            self.assertTrue(operate_bench.PARTS[part][1].__doc__)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
