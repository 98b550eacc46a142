#!/usr/bin/python3 -B
"""Tests of tools/bench front without the program that simulates.

Goal: a figure is of the worst point, under the name that other tools look for; every figure of the thesis is drawn with
all its points; a program that fails leaves no figures. Method: a program that prints rows made up here.
"""

import contextlib
import io
import pathlib
import sys
import unittest

for folder in ("tools/py", "tests/support"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / folder))

import bench_main  # noqa: E402
import bench_plot  # noqa: E402
import front_bench  # noqa: E402
import front_charts  # noqa: E402
from bench_case import BenchCase  # noqa: E402
from progress import Failed  # noqa: E402

FAKE = """#!/usr/bin/python3 -S
import pathlib, sys
here = pathlib.Path(sys.argv[0]).parent
(here / "asked").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[-1] == (here / "fails").read_text():
    sys.exit(3)
print("working 50 %", file=sys.stderr)
print((here / sys.argv[-1]).read_text(), end="")
"""


def point(part, who, busiest, n=85, c=3000, x=6000, load="uniform", **more):
    row = {"part": part, "who": who, "load": load, "n": n, "c": c, "x": x, "busiest": busiest}
    if who == "formula":
        return row | {"bound": 1.2}
    return row | {"runs": 2, "least": busiest - 0.1, "most": busiest + 0.1, "by_share": busiest / 2, "overall": 0.5,
                  "hits": 0.25, **more}


def compared(part, *who, base):
    """Two points each; the second is the worse."""
    return [point(part, name, base + step + 0.1 * i, x=6000 * (step + 1)) for i, name in enumerate(who)
            for step in (0, 1)]


ROWS = {
    "adversary": [point("adversary", "front", 1.95, n=10, c=185, x=370)] +
    compared("adversary", "front", "perfect", "formula", base=0.9) +
    [point("adversary", "front", 0.5, x=x) for x in range(10_000, 110_000, 1000)],
    "scan": compared("scan", "front", "clock", "perfect", base=0.8),
    "zipf101": compared("zipf101", "front", "clock", "perfect", "none", base=0.4),
    "shift": [point("shift", "front", busiest, x=x, shift=shift) for busiest, x, shift in
              ((1.3, 3300, 9000), (1.4, 6000, 9000), (0.9, 3300, 90000), (0.8, 6000, 90000))],
    "cold": compared("cold", "front", base=0.3),
    "ketama": compared("ketama", "front", base=0.2),
    "weights": compared("weights", "front", base=0.6),
    "names": [point("names-md5", "none", 1.25, c=0)],
    "2.4": compared("2.4", "front", "formula", "perfect", base=0.5),
    "2.5": [point("2.5", who, busiest, n=100, c=c) for who in ("front", "perfect", "formula")
            for c, busiest in ((461, 1.1), (461, 1.3), (3685, 1.05))],
    "2.6": [point("2.6", who, 1.0, n=n, load=load) for who in ("front", "perfect", "none") for n in (10, 85)
            for load in ("uniform", "zipf101")] +
    [point("2.6 adversary", who, busiest, n=n) for who in ("front", "perfect", "none", "formula")
     for n in (10, 85) for busiest in (1.0, 2.0)],
    "2.7": [{"part": "2.7", "who": "none", "n": 85, "c": 0, "x": x, "loads": [0.5, 2.0]} for x in (10, 100)],
    "2.8": compared("2.8", "none", base=1),
    "2.9": compared("2.9", "front", "perfect", "formula", base=1),
    "2.10": compared("2.10", "front", "perfect", "formula", base=1),
}


class FrontBenchTest(BenchCase):
    def setUp(self):
        super().setUp()
        self.program("front_level", FAKE)
        (self.folder / "fails").write_text("")
        for part, rows in ROWS.items():
            self.rows(part, rows)

    def measure(self, quick=True):
        return self.measured(lambda keep: front_bench.balance(self.folder, quick, keep))

    def test_every_promised_figure_is_of_the_worst_point(self):
        figures, tables, kept = self.measure()
        self.assertEqual(figures["busiest_by_mean_adversary"], 1.95)  # at n = 10
        self.assertEqual(figures["busiest_by_mean_scan"], 1.8)
        self.assertEqual(figures["busiest_by_mean_zipf101"], 1.4)
        self.assertAlmostEqual(figures["busiest_by_mean_scan_clock"], 1.9)
        self.assertEqual(figures["busiest_by_share_weights"], 0.8)
        self.assertEqual(figures["busiest_by_mean_bound"], 1.2)
        self.assertEqual((figures["busiest_by_mean_shift_every_3c"], figures["busiest_by_mean_shift_every_30c"]),
                         (1.4, 0.9))
        self.assertEqual(kept[-1], figures)
        for words in ("adversary", "scan", "zipf101", "1.950", "1.40, 0.50"):
            self.assertIn(words, tables)

    def test_all_points_are_kept_part_by_part(self):
        figures, _, kept = self.measure()
        self.assertEqual(figures[front_bench.POINTS], [row for rows in ROWS.values() for row in rows])
        self.assertEqual(len(kept), len(ROWS) + 1)

    def test_a_quick_run_asks_for_the_same_parts(self):
        self.measure(quick=True)
        self.measure(quick=False)
        asked = (self.folder / "asked").read_text().splitlines()
        self.assertEqual([words.split()[-1] for words in asked], [*ROWS, *ROWS])
        runs = {words.split()[-1]: words.split()[1] for words in asked[:len(ROWS)]}
        self.assertEqual(runs, dict.fromkeys(ROWS, "2") | {"scan": "8"})  # a scan needs more runs than two
        self.assertEqual(asked[len(ROWS):], list(ROWS))

    def test_a_program_that_fails_is_no_figure(self):
        (self.folder / "fails").write_text("scan")
        with self.assertRaisesRegex(Failed, "status 3"):
            self.measure()

    def test_every_figure_of_the_thesis_is_drawn_with_all_its_points(self):
        figures, _, _ = self.measure()
        found = front_charts.charts(figures[front_bench.POINTS])
        self.assertEqual(list(found), ["2_4", "2_5a", "2_5b", "2_6a", "2_6b", "2_7", "2_8", "2_9", "2_10"])
        self.assertEqual(found["2_5a"][0]["front"], [(461, 1.3), (3685, 1.05)])  # the worst x
        self.assertEqual([round(x, 2) for x, _ in found["2_5b"][0]["formula 2.13"]], [1, 8])
        self.assertEqual(found["2_6b"][0]["adversary"], [(10, 50), (85, 425)])
        self.assertEqual(found["2_7"][0]["x = 10"], [(1, 2.5), (2, 10)])
        self.assertEqual(found["2_9"][0]["servers alone"][0], (6000, 637.5))
        self.assertEqual(round(found["2_10"][0]["formula"][0][1], 1), 708.3)
        for name, chart in bench_plot.charts_of(figures).items():
            series = found[name.removeprefix("front_")][0]
            self.assertEqual([list(map(tuple, line.get_xydata())) for line in chart.axes[0].lines],
                             [list(map(tuple, points)) for points in series.values()])

    def test_without_points_nothing_is_drawn(self):
        self.assertEqual(front_charts.charts([]), {})

    def test_parts_are_known(self):
        self.assertEqual(bench_main.arguments(["front", "--part", "balance", "--part", "cold"]).part, ["balance", "cold"])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            bench_main.arguments(["front", "--part", "flood"])


if __name__ == "__main__":
    unittest.main()
