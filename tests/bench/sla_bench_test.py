#!/usr/bin/python3 -B
"""Tests that `tools/bench sla` reports each knee under its name; appliance and clockoo-load are faked.

Goal: a setting is measured once, by an appliance that was started for it; a setting that does
not fit the machine is skipped, and the output says so; figures, table and plots show the results
of the sweeps.
Method: a fake test bed that returns invented knees and logs each call.
"""

import contextlib
import io
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import bench_main  # noqa: E402
import bench_plot  # noqa: E402
import progress  # noqa: E402
import sla_bench  # noqa: E402


class FakeSlaBed:
    """A bed of four CPUs. The knee is 1000 requests a second for each connection, in the second round a tenth of that;
    with 10 connections none meets the limit of p99."""

    def __init__(self, log):
        self.log = log
        self.rounds = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def lacks(self, cores):
        return "too few CPUs" if cores > 2 else None

    def started(self, cores, options):
        self.log.append(("start", cores, options))
        return "server"

    def load(self, words, server, *options):
        self.log.append(("load", *options))

    def end(self, server):
        self.log.append(("end",))

    def sweep(self, words, server, *options):
        asked = dict(zip(options[::2], options[1::2]))
        self.log.append(("sweep", asked))
        knee = 1000 * asked["--connections"] / (10 if asked["--seed"] == 2 else 1)
        if asked["--connections"] == 10 and asked["--sweep"].startswith("p99"):
            knee = 0
        return {"knee": knee, "cpu_share": 0.9, "points": [
            {"offered_per_s": rate, "requests_per_s": rate - 1, "mean_us": us, "p99_us": 2 * us,
             "generator_busy": 0.5} for rate, us in ((knee, 400), (2 * knee + 1, 40000))]}


class SlaTest(unittest.TestCase):
    LIMITS = {"avg": "1ms", "p99": "500us"}

    def measure(self, varies, quick=True):
        log = []
        self.addCleanup(setattr, sla_bench, "SlaBed", sla_bench.SlaBed)
        sla_bench.SlaBed = lambda app: FakeSlaBed(log)
        progress.quiet = True
        with contextlib.redirect_stdout(io.StringIO()) as out:
            figures = sla_bench.measure("app", quick, varies, self.LIMITS, lambda figures: None)
        return figures, out.getvalue(), log

    def test_a_knee_has_its_name_and_the_latency_there(self):
        figures, table, _ = self.measure([("connections", (10, 50))])
        self.assertEqual((figures["sla_connections_50_avg_knee_per_s"],
                          figures["sla_connections_50_p99_mean_us"],
                          figures["sla_connections_50_p99_p99_us"],
                          figures["sla_connections_50_avg_server_cpu"]), (50000, 400, 800, 0.9))
        self.assertEqual(figures["sla_connections_10_p99_knee_per_s"], 0)
        self.assertNotIn("sla_connections_10_p99_mean_us", figures)
        self.assertRegex(table, r"connections=10 +p99 500us +none")
        self.assertRegex(table, r"connections=50 +avg 1ms +50,000")

    def test_rounds_give_a_median_and_its_spread(self):
        figures, _, _ = self.measure([("connections", (50,))], quick=False)
        self.assertEqual((figures["sla_connections_50_avg_knee_per_s"],
                          figures["sla_connections_50_avg_knee_per_s_spread"]), (50000, [5000, 50000]))

    def test_what_is_the_appliances_starts_it_anew_and_equal_settings_are_measured_once(self):
        _, _, log = self.measure([("connections", (1, 50)), ("cores", (1, 2)), ("requests", (20,)),
                                  ("batch", (8, 64))])
        self.assertEqual([line[1:] for line in log if line[0] == "start"],
                         [(1, ()), (2, ()), (1, ("-R", 20)), (1, ("--burst", 8)),
                          (1, ("--burst", 64))])
        self.assertEqual([line[0] for line in log].count("end"), 5)
        deep = [line[1]["--depth"] for line in log if line[0] == "sweep"]
        self.assertEqual(deep, [depth for depth, settings in ((1, 3), (sla_bench.DEEP, 1), (1, 2))
                                for _ in range(settings * len(self.LIMITS) * sla_bench.QUICK_ROUNDS)])

    def test_what_does_not_fit_is_left_out_with_its_reason(self):
        figures, _, log = self.measure([("cores", (1, 3))])
        self.assertEqual(figures["sla_left_out"], {"cores=3": "too few CPUs"})
        self.assertEqual([line[1] for line in log if line[0] == "start"], [1])
        self.assertNotIn("sla_cores_3_avg_knee_per_s", figures)

    def test_a_core_needs_two_cpus(self):
        bed = types.SimpleNamespace(cpus=[0, 1, 2])
        self.assertIsNone(sla_bench.SlaBed.lacks(bed, 1))
        self.assertIn("lets us have 3", sla_bench.SlaBed.lacks(bed, 2))

    def test_latency_is_drawn_as_far_as_twice_the_limit(self):
        figures, _, _ = self.measure([("connections", (50,)), ("batch", (8,))])
        charts = bench_plot.sla_charts(figures)
        self.assertEqual(sorted(charts), [f"sla_{what}_{slo}" for what in ("batch", "connections")
                                          for slo in ("avg", "p99")])
        self.assertEqual(charts["sla_connections_avg"][0], {
            "connections 50": [(4.999, 400), (49.999, 400), (49.999, 400)]})

    def test_only_what_can_be_varied_and_limited_is_taken(self):
        for wrong in (["sla", "--vary", "depth=1"], ["sla", "--vary", "cores=0"],
                      ["sla", "--vary", "cores=1,"], ["sla", "--vary", "batch=65"],
                      ["sla", "--vary", "cores=" + ",".join(["1"] * 17)], ["sla", "--avg", "1"],
                      ["sla", "--p99", "0ms"], ["sla", "--p99", "1ms\n"], ["vs", "--avg", "1ms"],
                      ["sla", "file"]):
            with self.assertRaises(SystemExit, msg=wrong), contextlib.redirect_stderr(io.StringIO()):
                bench_main.arguments(wrong)
        parsed = bench_main.arguments(["sla", "--avg", "0.5ms", "--vary", "cores=2,2,1"])
        self.assertEqual((sla_bench.limit_us(parsed.avg), parsed.vary), (500, [("cores", (2, 1))]))


if __name__ == "__main__":
    unittest.main()
