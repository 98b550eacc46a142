#!/usr/bin/python3 -B
"""papers_bench_test.py FILTER_TRIAL - tools/bench papers: rows, verdicts, resumed and merged runs, and the report.

Goal: a row exists for every claim, with its verdict computed of the points that were measured and with nothing
invented; a baseline that is ahead is named, with the lead and the reason; a point that this machine cannot show names
what it would take; pieces are resumed and merged; two runs differ in their times and agree in their counts; the report
has every figure, in a real browser and on a phone. Method: points made up here; the filter's program at a small size,
twice; headless Chromium (packages of group monitor: skipped without).
"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/py"), str(ROOT / "tests/conform")]

import bench_main  # noqa: E402
import browser  # noqa: E402
import papers_bed  # noqa: E402
import papers_bench  # noqa: E402
import papers_claims  # noqa: E402
import papers_intel  # noqa: E402
import papers_memc3  # noqa: E402
import papers_memtier  # noqa: E402
import papers_report  # noqa: E402
import papers_rows  # noqa: E402
import papers_thesis  # noqa: E402
import progress  # noqa: E402
from papers_figures import FIGURES  # noqa: E402
from papers_points import COUNT, FIRST, LAST, LEAST, MOST, Points, absent, point  # noqa: E402
from progress import Failed  # noqa: E402

TRIAL = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
SMALL = (("loads", 1, ("--buckets", 512)), ("space", 1, ("--buckets", 512, "--looks", 1000)), ("all", 1, ("--shift", 9, "--looks", 1000)))


def made(figure, series, points, unit="x", kind="time"):
    part, _, name = figure.partition("/")
    return [point(part, name, series, x, y, unit, kind=kind) for x, y in points]


def picks_of(pick):
    if pick is None:
        return []
    return picks_of(pick[1]) + picks_of(pick[2]) if pick[0] == "/" else [pick]


def enough():
    """Returns a point for every pick of every claim and every figure."""
    found, number = [], 0
    for pick in [p for c in papers_claims.CLAIMS for one in (c.ours, c.baseline) for p in picks_of(one)]:
        number += 1
        series = pick[1] if isinstance(pick[1], str) else pick[1][0]
        x = pick[2][0] if isinstance(pick[2], tuple) else 1 if pick[2] in (FIRST, LAST, MOST, LEAST) else pick[2]
        found += made(pick[0], series, [(x, 1 + number % 7)])
    for name, figure in FIGURES.items():
        if name not in {f"{p['part']}/{p['figure']}" for p in found}:
            xs = ("a", "b") if figure.bars else (1, 10)
            for series in (figure.ours[0] or "a line", "another", "paper"):
                found += made(name, series, [(x, 1.0 + len(series)) for x in xs])
    return found


class RowsTest(unittest.TestCase):
    def row(self, points, **change):
        claim = papers_claims.Claim("memc3_x", "a paper, table 1", "it is so", 12, "Mops", "more", ("memc3/f", "ours", 1), "the old", ("memc3/f", "old", 1))
        return papers_rows.row_of(claim._replace(**change), Points(points), {"memc3_x": "it is older"})

    def test_a_verdict_is_ours_beside_the_baseline_by_what_is_better(self):
        for ours, old, better, verdict, times in ((20, 10, "more", "ahead", 2), (10, 20, "more", "behind", 0.5), (10, 20, "less", "ahead", 2),
                                                  (10.2, 10, "more", "level", 1.02), (9.8, 10, "more", "level", 0.98), (0, 0, "less", "level", 1)):
            with self.subTest(ours=ours, old=old, better=better):
                row = self.row(made("memc3/f", "ours", [(1, ours)]) + made("memc3/f", "old", [(1, old)]), better=better)
                self.assertEqual((row["verdict"], row["times"], row["ours"], row["baseline"]), (verdict, times, ours, old))
                self.assertEqual(row.get("why"), "it is older" if verdict == "behind" else None)

    def test_counts_are_compared_exactly(self):
        row = self.row(made("memc3/f", "ours", [(1, 9.99)], kind=COUNT) + made("memc3/f", "old", [(1, 10)], kind=COUNT))
        self.assertEqual((row["verdict"], row["kind"]), ("behind", COUNT))

    def test_without_a_baseline_the_paper_is_what_is_compared(self):
        for ours, verdict in ((12.5, "as claimed"), (11.5, "as claimed"), (11, "short of the claim")):
            self.assertEqual(self.row(made("memc3/f", "ours", [(1, ours)]), baseline=None, against=None)["verdict"], verdict)

    def test_what_is_absent_says_what_it_takes_and_is_no_zero(self):
        row = self.row([absent("memc3", "f", "ours", "a machine of 32 CPUs")])
        self.assertEqual((row["verdict"], row["needs"], row["ours"]), ("not shown here", "a machine of 32 CPUs", None))
        self.assertEqual(self.row([], needs="an SSD")["needs"], "an SSD")
        self.assertNotIn("why", row)

    def test_a_behind_baseline_is_a_cell_with_its_reason(self):
        points = made("memtier/fig2-rate", "ours", [(1, 9), (10, 30)]) + made("memtier/fig2-rate", "memcached", [(1, 10), (10, 10)])
        found = papers_rows.found_of(points)
        self.assertFalse(found["ours_best_everywhere"])
        self.assertEqual({c["cell"] for c in found["cells_behind"]}, {"memtier/fig2-rate at 1", "memtier_2_rate_1"})
        self.assertTrue(all(c["why"] == papers_claims.NO_REASON and c["by"] == 1.111 for c in found["cells_behind"]))
        self.assertEqual(found["cells_unexplained"], 2)
        found = papers_rows.found_of(made("memtier/fig2-rate", "ours", [(1, 11)]) + made("memtier/fig2-rate", "memcached", [(1, 10)]))
        self.assertTrue(found["ours_best_everywhere"])
        self.assertFalse(papers_rows.found_of([])["ours_best_everywhere"])  # nothing was compared

    def test_a_cell_is_explained_by_its_figure_by_its_row_or_by_rounds_that_overlap(self):
        def cells(figure, ours, other):
            points = [p for name, rounds in (("ours", ours), ("memcached", other)) for p in made(figure, name, [(1, 0)])]
            spread = [p | {"y": sorted(rounds)[1], "spread": [min(rounds), max(rounds)]} for p, rounds in zip(points, (ours, other))]
            return papers_rows.found_of(spread)

        found = cells("memtier/fig4-p99", (9, 9, 9), (7, 7, 7))
        self.assertTrue(found["ours_best_everywhere"] and found["cells_behind"])
        self.assertIn("host's scheduler", found["cells_behind"][0]["why"])
        found = cells("memtier/fig2-rate", (9, 10, 14), (10, 12, 13))
        self.assertTrue(found["ours_best_everywhere"] and all("9 to 14 of ours and 10 to 13" in c["why"] for c in found["cells_behind"]))
        found = cells("memtier/fig2-rate", (9, 10, 11), (12, 13, 14))
        self.assertFalse(found["ours_best_everywhere"])

    def test_of_several_lines_the_best_counts_and_the_papers_own_never(self):
        points = (made("memtier/fig2-rate", "ours", [(1, 9)]) + made("memtier/fig2-rate", "ours, batches", [(1, 12)]) +
                  made("memtier/fig2-rate", "memcached", [(1, 10)]) + made("memtier/fig2-rate", "paper", [(1, 99)]))
        cell, = papers_rows.figure_cells(FIGURES["memtier/fig2-rate"], Points(points))
        self.assertEqual((cell["ours_series"], cell["baseline_series"], cell["times"]), ("ours, batches", "memcached", 1.2))

    def test_every_claim_is_a_row_by_a_name_of_its_own(self):
        names = [c.name for c in papers_claims.CLAIMS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 60)
        self.assertEqual({name.partition("_")[0] for name in names}, set(papers_bench.PARTS))
        self.assertEqual(papers_claims.REASONS.keys() - set(names), set())
        found = papers_rows.found_of(enough())
        self.assertEqual([row["name"] for row in found["rows"] if row["verdict"] == "not shown here"], [])
        self.assertEqual(set(papers_claims.NAMED) - set(found), set())

    def test_a_row_follows_its_points(self):
        """No figure of ours or of a baseline is a constant: doubled points give doubled figures."""
        once = enough()
        twice = [p | {"y": 2 * p["y"]} for p in once]
        for one, two, claim in zip(papers_rows.found_of(once)["rows"], papers_rows.found_of(twice)["rows"], papers_claims.CLAIMS):
            for field, pick in (("ours", claim.ours), ("baseline", claim.baseline)):
                if pick is not None and pick[0] != "/":
                    self.assertEqual(two[field], papers_rows.rounded(2 * one[field]), claim.name)


class PiecesTest(unittest.TestCase):
    def setUp(self):
        progress.quiet = True
        folder = tempfile.TemporaryDirectory(prefix="clockoo-papers-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ran = []
        pieces = {name: piece._replace(measure=self.piece(name)) for name, piece in papers_bench.PIECES.items()}
        patch = unittest.mock.patch.object(papers_bench, "PIECES", pieces)
        patch.start()
        self.addCleanup(patch.stop)

    def piece(self, name):
        def measure(folder, quick, options):
            self.ran.append(name)
            if name == self.fails:
                raise Failed("no such program")
            return made("thesis/2.4", name, [(1, len(self.ran))])
        return measure

    fails = None

    def measure(self, *names, kept=None):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            figures = papers_bench.measure(self.folder, True, papers_bench.chosen(names), {}, kept or {}, lambda found: None)
        return figures, out.getvalue()

    def file(self, name, figures, quick=True):
        path = self.folder / name
        path.write_text(json.dumps({"machine": {"cpu": "a"}, "quick": quick, **figures}))
        return path

    def test_a_part_is_its_pieces_and_one_that_fails_stops_no_other(self):
        self.fails = "filter"
        figures, tables = self.measure("thesis")
        self.assertEqual(self.ran, ["front", "filter", "flash"])
        self.assertEqual(papers_bench.failed(figures), ["filter"])
        self.assertIn("rows", figures)
        self.assertIn("not shown here", tables)

    def test_a_resumed_run_measures_what_is_missing_or_failed(self):
        self.fails = "filter"
        path = self.file("kept.json", self.measure("front", "filter")[0])
        self.fails = None
        self.ran.clear()
        figures, _ = self.measure("thesis", kept=papers_bench.resumed(path, True))
        self.assertEqual(self.ran, ["filter", "flash"])
        self.assertEqual(papers_bench.failed(figures), [])
        with self.assertRaisesRegex(Failed, "not comparable"):
            papers_bench.resumed(path, False)
        with self.assertRaisesRegex(Failed, "no figures"):
            papers_bench.resumed(self.folder / "absent.json", True)

    def test_files_merge_and_rows_are_computed_of_all_of_them(self):
        one = papers_bench.computed({"papers_front": {"points": made("thesis/2.4", "front", [(1, 1.1)])}})
        two = papers_bench.computed({"papers_flash": {"points": made("thesis/2.4", "formula 2.9", [(1, 1.2)])}})
        merged = bench_main.merged([self.file("one", one), self.file("two", two)])
        row = next(r for r in merged["rows"] if r["name"] == "thesis_24_bound")
        self.assertEqual((row["verdict"], row["ours"], row["baseline"]), ("ahead", 1.1, 1.2))

    def test_the_command_takes_parts_servers_and_a_report(self):
        args = bench_main.arguments(["papers", "--quick", "--part", "memtier", "--server", "pelikan=/opt/p", "--report", "d"])
        self.assertEqual(args.server, [("pelikan", "/opt/p")])
        for wrong in (["papers", "--part", "none"], ["papers", "--server", "x"], ["vs", "--resume", "f"], ["vs", "--report", "d"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                bench_main.arguments(wrong)


class MappingTest(unittest.TestCase):
    def test_knees_are_figure_12_and_their_curves_13(self):
        sweep = {"knee_per_s": 2e5, "points": [{"offered_per_s": 2e5, "requests_per_s": 199e3, "mean_us": 250},
                                               {"offered_per_s": 4e5, "requests_per_s": 300e3, "mean_us": 9000}]}
        points = Points(papers_intel.points_of({("memcached", "udp"): [sweep]}))
        self.assertEqual(points.value(("intel/fig12-udp", "memcached, veth", "1 core")), 200)
        self.assertEqual(points.value(("intel/rtt", "memcached, veth", "udp")), 250)
        self.assertEqual([(p["x"], p["y"]) for p in points.series("intel/fig13-udp")["memcached, veth"]], [(199, 250)])

    def test_one_lucky_round_does_not_decide(self):
        sweeps = [{"knee_per_s": knee, "points": []} for knee in (1e5, 9e5, 2e5)]
        points = Points(papers_intel.points_of({("memcached", "udp"): sweeps}))
        self.assertEqual(points.value(("intel/fig12-udp", "memcached, veth", "1 core")), 200)
        self.assertEqual(points.spread(("intel/fig12-udp", "memcached, veth", "1 core")), [100, 900])

    def test_a_machine_without_a_knee_has_no_figure_and_no_zero(self):
        found = papers_rows.found_of(papers_intel.points_of({("vhost", "udp"): [{"knee_per_s": 0, "points": []}]}))
        row = next(r for r in found["rows"] if r["name"] == "intel_12_udp")
        self.assertEqual((row["verdict"], row["ours"]), ("not shown here", None))
        self.assertNotIn("udp_sla_times_memcached", found)

    def test_cores_that_are_not_here_say_so(self):
        points = [point("intel", "fig12-tcp", "ours, vhost", "1 core", 2000, "x"), point("intel", "fig12-tcp", "memcached, veth", "1 core", 200, "x")]
        row = next(r for r in papers_rows.found_of(points + papers_intel.by_cores(points, [0, 1], [1.9]))["rows"] if r["name"] == "intel_14_sixteen_cores")
        self.assertEqual(row["verdict"], "not shown here")
        self.assertIn("32 CPUs", row["needs"])

    def test_the_busiest_shard_has_more_than_its_part(self):
        self.assertEqual(papers_memc3.hottest_share(1000, 1), 1)
        self.assertGreater(papers_memc3.hottest_share(10_000, 16), 1 / 16)

    def test_shares_of_a_cpu_make_a_hundred(self):
        before = dict.fromkeys(papers_bed.KINDS, 10)
        self.assertEqual(papers_bed.shares(before, before | {"user": 15, "idle": 25})["user"], 25)
        self.assertAlmostEqual(sum(papers_bed.shares(before, before | {"user": 15, "stolen": 12}).values()), 100)
        self.assertEqual(set(papers_bed.cpu_times()), set(papers_bed.KINDS))

    def test_a_server_by_path_speaks_what_its_name_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program")
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
            self.assertEqual(papers_bed.given("redis7", path, folder).options, ["--redis"])
            self.assertIn("-t", papers_bed.given("memcached2", path, folder).command(1))
            for program, line in (("pelikan-segcache", 'port = "11211"'), ("pelikan_twemcache", "server_port: 11211")):
                command = papers_bed.given("pelikan", path.rename(path.with_name(program)), folder).command(11211)
                self.assertIn(line, pathlib.Path(command[1]).read_text())
                path = path.with_name(program)
            with self.assertRaisesRegex(Failed, "no program"):
                papers_bed.given("pelikan", path.parent / "absent", folder)

    def test_a_closed_loop_below_the_limit_is_the_rate_within_it(self):
        study = papers_memtier.Study(None, True)
        papers_memtier.by_connections(study, "memcached", {c: [{"requests_per_s": 1000 * c, "mean_us": c, "p99_us": 90 * c}] for c in (1, 10, 50)})
        self.assertEqual(Points(study.points).value(("memtier/slo", "memcached", LAST)), 10)

    def test_the_tiers_figures_are_tables_5_3_and_5_4(self):
        points = Points(papers_thesis.tier_points({"flash_puts_per_s": 300_000, "flash_puts_per_s_spread": [290_000, 310_000]}))
        self.assertEqual(points.find(("thesis/5.4", "ours", "puts"))["spread"], [290, 310])
        self.assertEqual(points.value(("thesis/5.4", "paper", "puts")), 204.6)


@unittest.skipIf(TRIAL is None, "no program was named")
class TwiceTest(unittest.TestCase):
    def test_two_runs_differ_in_their_times_and_agree_in_their_counts(self):
        progress.quiet = True
        with unittest.mock.patch.object(papers_thesis, "FILTER_QUICK", SMALL):
            one, two = (papers_thesis.filters(TRIAL.parents[3], True, {}) for _ in range(2))
        self.assertEqual([(p["figure"], p["series"]) for p in one], [(p["figure"], p["series"]) for p in two])
        counts = [[p["y"] for p in points if p["kind"] == COUNT] for points in (one, two)]
        self.assertEqual(*counts)
        self.assertGreater(len(counts[0]), 20)
        self.assertNotEqual(*([p["y"] for p in points if p["kind"] != COUNT] for points in (one, two)))
        rows = {r["name"]: r for r in papers_rows.found_of(one)["rows"]}
        self.assertNotEqual(rows["thesis_42_load_4"]["verdict"], "not shown here")


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        progress.quiet = True
        cls.folder = tempfile.TemporaryDirectory(prefix="clockoo-papers-report-")
        cls.addClassCleanup(cls.folder.cleanup)
        try:
            cls.names = papers_report.write(pathlib.Path(cls.folder.name), {"papers_front": {"points": enough()}, "quick": True}, {"cpu": "a <b>", "cpus": 2})
        except Failed as failed:
            raise unittest.SkipTest(str(failed)) from failed
        cls.path = pathlib.Path(cls.folder.name, papers_report.NAME)

    def test_every_figure_is_drawn_and_says_claim_and_difference(self):
        page = self.path.read_text()
        self.assertEqual(set(self.names), set(FIGURES))
        self.assertEqual(page.count("<b>Claimed.</b>"), len(FIGURES))
        self.assertIn("a &lt;b&gt;", page)

    @unittest.skipIf(browser.name() is None, "no browser (packages of group monitor)")
    def test_no_plot_is_missing_in_a_browser_and_a_phone_needs_no_scrolling_aside(self):
        with browser.Browser() as page:
            for width, height in ((1280, 900), (390, 844)):
                page.open(self.path.as_uri(), width, height)
                page.until(f"document.images.length == {len(FIGURES)} && [...document.images].every(i => i.complete)", 30)
                self.assertEqual(page.value("[...document.images].filter(i => i.naturalWidth < 100 || i.width < 200).length"), 0)
                self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
            self.assertEqual(page.value("document.querySelectorAll('tbody tr').length"), len(papers_claims.CLAIMS))
            self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
