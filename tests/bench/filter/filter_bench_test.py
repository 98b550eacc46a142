#!/usr/bin/python3 -B
"""Tests of tools/bench filter without the program that measures.

Goal: a figure is the median of its runs, under the name that other tools look for; a figure that misses its goal is
named; every figure of the thesis is drawn with all its points; a program that fails leaves no figures. Method: a
program that prints rows made up here.
"""

import contextlib
import io
import pathlib
import sys
import unittest
import unittest.mock

for folder in ("tools/py", "tests/support"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / folder))

import bench_main  # noqa: E402
import bench_plot  # noqa: E402
import bench_report  # noqa: E402
import filter_bench  # noqa: E402
import filter_charts  # noqa: E402
from bench_case import BenchCase  # noqa: E402
from progress import Failed  # noqa: E402

FAKE = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
for part; do :; done
[ "$part" != "$(cat "$here/fails")" ] || exit 3
sed "s/\\"run\\": 0/\\"run\\": $2/; s/\\"RUN\\"/$2/" "$here/$part"
"""

SPEEDS = {"cf": 10, "ss_cf": 8, "bf": 6, "blk_bf": 20, "cbf": 4}


def by(part, x, points, what="mops", names=tuple(SPEEDS)):
    return [{"part": part, "filter": name, "run": 0, x: at, what: SPEEDS[name] * factor} for name in names
            for at, factor in points]


def full(name, rate, load=0.96):
    return {"part": "full", "filter": name, "run": 0, "bytes": 1_500_000, "items": 1_000_000, "load": load,
            "bits_per_item": 12.5, "rate": rate, "mops": "RUN"}


def space(name, *points):
    return [{"part": "space", "filter": name, "bits": i, "run": 0, "bits_per_item": bits, "rate": rate}
            for i, (bits, rate) in enumerate(points)]


ROWS = {
    "sized": [{"part": "sized", "filter": name, "run": 0, "wanted": wanted, "items": 9, "refused": 0,
               "bits_per_item": bits, "rate": rate} for name, wanted, bits, rate in
              (("cf", 0.0019, 12.5, 0.0018), ("ss_cf", 0.0009, 12.6, 0.0009))],
    "loads": [{"part": "loads", "buckets": 32768, "slots": slots, "bits": bits, "run": 0, "load": load}
              for slots, load in ((4, 0.955), (8, 0.985)) for bits in (7, 8)],
    "space": [*space("cf2", (8, 0.1), (10, 0.01), (14, 0.001)), *space("cf4", (9, 0.1), (11, 0.01), (13, 0.001)),
              *space("cf8", (12, 0.1), (16, 0.0001)), *space("ss_cf", (7, 0.01), (12, 0.001), (13, 0)),
              *space("bf", (10, 0.01)), *space("blk_bf", (10, 0.02)),
              {"part": "reads", "filter": "bf", "bits": 14, "run": 0, "present": 10, "absent": 2.01}],
    "all": [full("cf", 0.0018), full("ss_cf", 0.0008, 0.957), full("bf", 0.0019), full("blk_bf", 0.0043),
            full("cbf", 0.002),
            *by("mix", "present", [(p, 1 - p / 1000) for p in (0, 25, 50, 75, 100)]),
            *by("many", "present", [(0, 2), (25, 2), (50, 2), (75, 2), (100, 3)], names=("cf", "ss_cf")),
            *by("latency_absent", "percent", [(50, 1), (95, 2)], "ns"),
            *by("latency_present", "percent", [(50, 1), (95, 3)], "ns"),
            *by("absent", "load", [(0.5, 1), (1, 0.9)]), *by("present", "load", [(0.5, 1), (1, 0.9)]),
            *by("insert", "load", [(0.5, 1), (1, 0.5)]),
            *by("delete", "load", [(0.5, 1), (1, 0.9)], names=("cf", "ss_cf", "cbf"))],
}


class FilterBenchTest(BenchCase):
    def setUp(self):
        super().setUp()
        self.program("filter_trial", FAKE)
        (self.folder / "fails").write_text("")
        for part, rows in ROWS.items():
            self.rows(part, rows)

    def measure(self, quick=True):
        return self.measured(lambda keep: filter_bench.measure(self.folder, quick, keep))

    @staticmethod
    def save(found, folder):
        folder.mkdir()
        for name in found:
            (folder / f"{name}.svg").touch()

    def change(self, part, was, now):
        path = self.folder / part
        text = path.read_text()
        self.assertIn(was, text)
        path.write_text(text.replace(was, now, 1))

    def test_promised_figures_are_medians_of_runs(self):
        figures, tables, kept = self.measure()
        self.assertEqual([figures[f"filter_{name}"] for name in ("bits_per_item", "false_positives",
                                                                 "sorted_bits_per_item", "sorted_false_positives")],
                         [12.5, 0.0018, 12.6, 0.0009])
        self.assertEqual(figures["filter_occupancy"], 0.957)  # the least
        self.assertEqual((figures["filter_full_cf_mops"], figures["filter_full_cf_mops_spread"]), (1, [0, 2]))
        self.assertEqual(figures["filter_mix_blk_bf_50pct_mops"], 19)
        self.assertEqual(figures["filter_many_ss_cf_100pct_mops"], 24)
        self.assertEqual(kept[-1], figures)
        self.assertIn("1.00 (0.00..2.00)", tables)

    def test_goals_are_said_to_be_met_or_missed(self):
        figures, tables, _ = self.measure()
        self.assertEqual(filter_bench.goals_missed(figures), [])
        self.assertNotIn("missed", tables)
        for part, was, now, missed in (
                ("sized", '"rate": 0.0009', '"rate": 0.00091', "filter_sorted_false_positives"),
                ("sized", '"bits_per_item": 12.5', '"bits_per_item": 12.61', "filter_bits_per_item"),
                ("sized", '"refused": 0', '"refused": 1', "filter_refused"),
                ("all", '"load": 0.957', '"load": 0.94', "filter_occupancy")):
            with self.subTest(missed):
                before = (self.folder / part).read_text()
                self.change(part, was, now)
                figures, tables, _ = self.measure()
                self.assertEqual(filter_bench.goals_missed(figures), [missed])
                self.assertIn("missed", tables)
                (self.folder / part).write_text(before)

    def test_claims_of_the_thesis_are_judged_each_by_its_points(self):
        rows = self.measure()[0][filter_bench.POINTS]
        self.assertEqual([so for *_, so in filter_bench.claims(rows)],
                         [True] * 3 + [True] * 2 + [True, True, True, True, False, True])
        self.change("loads", "0.955", "0.94")
        self.change("all", '"rate": 0.0043', '"rate": 0.002')
        rows = self.measure()[0][filter_bench.POINTS]
        self.assertEqual([so for *_, so in filter_bench.claims(rows)][:4], [False, True, True, False])

    def test_bits_for_a_rate_lie_between_two_points(self):
        rows = ROWS["space"]
        self.assertEqual(filter_bench.bits_at(rows, "cf4", 0.01), 11)
        self.assertAlmostEqual(filter_bench.bits_at(rows, "cf8", 0.01), 12 + 4 / 3)
        self.assertIsNone(filter_bench.bits_at(rows, "cf4", 0.0001))

    def test_a_quick_run_asks_for_smaller_filters(self):
        self.measure(quick=True)
        self.measure(quick=False)
        asked = (self.folder / "asked").read_text().splitlines()
        quick = sum(runs for _, runs, _ in filter_bench.QUICK)
        self.assertEqual(len(asked), quick + sum(runs for _, runs, _ in filter_bench.FULL))
        self.assertEqual(asked[0], "--run 0 --buckets 262144 --looks 400000 sized")
        self.assertEqual([words for words in asked if "--shift" in words],
                         [f"--run {run} --shift {shift} --looks {looks} all" for shift, looks in
                          ((18, 60_000), (25, 1_000_000)) for run in range(3)])

    def test_a_program_that_fails_is_no_figure(self):
        (self.folder / "fails").write_text("space")
        with self.assertRaisesRegex(Failed, "status 3"):
            self.measure()

    def test_every_figure_of_the_thesis_is_drawn_with_all_its_points(self):
        figures, _, _ = self.measure()
        found = filter_charts.charts(figures[filter_bench.POINTS])
        self.assertEqual(list(found), ["4_2a", "4_2b", "4_3", "4_4", "4_5", "4_6a", "4_6b", "4_7a", "4_7b", "4_8",
                                       "4_9"])
        self.assertEqual(found["4_2a"][0], {"32768 buckets": [(7, 0.955), (8, 0.955)],
                                            "paper: 0.95": [(7, 0.95), (8, 0.95)]})
        self.assertEqual(found["4_3"][0]["2 slots"], [(0.001, 14), (0.01, 10), (0.1, 8)])
        self.assertEqual(found["4_4"][0]["ss-CF"], [(0.001, 12), (0.01, 7)])  # a rate of 0 cannot be drawn
        self.assertEqual(round(found["4_4"][0]["paper: BF"][-1][1], 2), 4.78)
        self.assertEqual(found["4_5"][0]["CF, 64 at once"], [(0, 20), (25, 20), (50, 20), (75, 20), (100, 30)])
        self.assertEqual(found["4_6b"][0]["CBF"], [(4, 50), (12, 95)])
        self.assertEqual(list(found["4_9"][0]), ["CF", "ss-CF", "CBF"])
        for name, chart in bench_plot.charts_of(figures).items():
            series = found[name.removeprefix("filter_")][0]
            self.assertEqual([list(map(tuple, line.get_xydata())) for line in chart.axes[0].lines],
                             [list(map(tuple, points)) for points in series.values()])
            looks = [(line.get_color(), line.get_linestyle()) for line in chart.axes[0].lines]
            self.assertEqual(len(set(looks)), len(looks))  # no two lines alike

    def test_a_report_has_the_tables_and_every_chart(self):
        figures, tables, _ = self.measure()
        folder = self.folder / "report"
        # Charts are made, not drawn: that takes seconds, and bench_tool_test draws some.
        with unittest.mock.patch.object(bench_plot, "save", lambda found, to, _: self.save(found, to)):
            bench_report.write(folder, "filter", figures, filter_bench.tables_of(figures), {"cpu": "a <CPU>"})
        page = (folder / "filter.html").read_text()
        for words in ("Table 4.2", "Table 4.3", "a &lt;CPU&gt;", "&lt;= 12.6"):
            self.assertIn(words, page)
        charts = sorted(path.name for path in folder.glob("*.svg"))
        self.assertEqual(len(charts), 11)
        for name in charts:
            self.assertIn(f'src="{name}"', page)

    def test_without_points_nothing_is_drawn(self):
        self.assertEqual(filter_charts.charts([]), {})

    def test_a_report_is_for_filter_alone(self):
        self.assertEqual(bench_main.arguments(["filter", "--report", "d"]).report, pathlib.Path("d"))
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            bench_main.arguments(["front", "--report", "d"])


if __name__ == "__main__":
    unittest.main()
