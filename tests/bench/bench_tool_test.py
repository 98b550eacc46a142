#!/usr/bin/python3 -B
"""Tests of tools/bench without the programs that measure.

Goal: counts start first and run beside each other, and measurements of time run alone; figures have the names that
other tools look for; a part that fails or is stopped leaves nothing running; pieces merge; plots are SVG with a point
for every figure.
Method: programs of the same names that print rows made up here, and record when they ran.
"""

import contextlib
import types
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from unittest import mock

for folder in ("tools/py", "tests/support"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / folder))

import appliance  # noqa: E402
import bench_main  # noqa: E402
import bench_plot  # noqa: E402
import budget  # noqa: E402
import build_tree  # noqa: E402
import charts  # noqa: E402
import flood_bench  # noqa: E402
import links  # noqa: E402
import loss_bench  # noqa: E402
import policy_bench  # noqa: E402
import progress  # noqa: E402
import sizes_bench  # noqa: E402
import store_bench  # noqa: E402
import told_bench  # noqa: E402
import vs_bed  # noqa: E402
import vs_bench  # noqa: E402
from bench_case import BenchCase  # noqa: E402
from progress import Failed  # noqa: E402

# A program for all names: prints the lines of NAME.rows, and records when it began and ended.
FAKE = """#!/usr/bin/python3 -S
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[0])
rows = (here.parent / (here.name + ".rows")).read_text()
if "--steered" in sys.argv:
    print(rows, end="", flush=True)
    for line in sys.stdin:
        print(rows, end="", flush=True)
    sys.exit()
began = time.monotonic()
print("working", *sys.argv[1:], "50 %", file=sys.stderr, flush=True)
time.sleep(float(os.environ.get("FAKE_S", "0.05")))
(here.parent / f"began-{os.getpid()}").touch()
while len(list(here.parent.glob("began-*"))) < int(os.environ.get("FAKE_AT_ONCE", "1")) and time.monotonic() < began + 60:
    time.sleep(0.05)
print(rows, end="")
with open(here.parent / "log", "a") as log:
    log.write(f"{here.name}{'-timed' * ('--writers' in sys.argv)} {began} {time.monotonic()}\\n")
sys.exit(int(os.environ.get("FAKE_STATUS", "0")))
"""
# A project that has a library only where pkg-config finds it.
LATE = """project('late')
late = dependency('late', required: false)
custom_target('found', output: 'found', capture: true, command: ['echo', late.found() ? late.version() : 'none'])
"""
ROWS = {
    "bench_fill": [{"part": "space", "slots": 1000, "items": 990, "index_bytes": 6400, "moves": 5},
                   {"part": "insert", "from": 0, "to": 100, "ns": 80},
                   {"part": "insert", "from": 900, "to": 950, "ns": 200}],
    "bench_space": [{"part": "memory", "items": 10, "bytes_per_item": 63.3, "rss_per_item": 64,
                     "pss_per_item": 127}],
    "bench_miss": [{"part": "miss", "who": who, "miss": 10.5, "items": 7}
                   for who in ("clockoo", "LRU, equal items", "LRU, equal bytes")],
    "bench_policy": [{"part": "policy", "trace": "any", "who": who, "miss": miss, "items": 7}
                     for who, miss in (("store, 2q", 0.3), ("store, clock", 0.33), ("lru", 0.34),
                                       ("clock", 0.33), ("sieve", 0.31), ("s3fifo", 0.32))]
                    + [{"part": "lag", "who": who, "hit": hit, "items": 9}
                       for who, hit in (("store, 2q", 0.99), ("store, clock", 0.9), ("lru", 1.0))],
    "bench_sizes": [{"part": "sizes", "hit": 0.8, "hit_bytes": 0.7, "items": 7, "rescued_share": 0.01,
                     "page_mb": 16.0, "pss_mb": 47.0},
                    {"part": "shares", "pages": 62, "classes": 62, "without_page": 1.5,
                     **dict.fromkeys(sizes_bench.SHARES, 0.1)}],
    "bench_expiry": [{"part": "expiry", "who": who, "hit": 0.7, "dead": 0.01}
                     for who in ("left out", "deleted", "expiring")],
    "bench_mixed": [{"part": "mixed", "share": share, "get_ns": 30 + share, "insert_ns": 100,
                     "operation_ns": 40} for share in (0, 5, 10, 50)],
    "bench_get": [{"part": "depth", "depth": 8, "mops": 9}, {"part": "chosen", "depth": 8},
                  {"part": "pages", "rss_kb": 10, "huge_kb": 9},
                  *({"part": "get", "table": table, "baseline": table == "boost", "kind": kind,
                     "threads": threads, "mops": mops}
                    for kind in ("hit", "miss", "touch") for threads in (1, 2)
                    for table, mops in (("clockoo stages", 30),
                                        ("rte_hash", 15), ("boost", 60))),
                  *({"part": "get_filled", "table": table, "baseline": table == "boost", "kind": kind,
                     "threads": 1, "mops": mops}
                    for kind in ("hit", "miss")
                    for table, mops in (("clockoo stages", 18), ("rte_hash", 15), ("boost", 60)))],
    "bench_set": [{"part": "set", "what": "any", "ns": 50}],
    "bench_churn": [{"part": "churn", "what": what, "size": 100, "hit": hit, "filled": 0.9,
                     "refused": 0, "waits": 0, "turn_max_us": 20.0, "turns": 5, "turns_long": 0,
                     "set_max_us": 3.0, "sets": 9, "sets_long": 0}
                    for what, hit in (("fresh", 0.8), ("churned", 0.76))],
    "bench_grow": [{"part": "grow", "phase": phase, "items": 10, "index_bytes_per_item": 7.0,
                    "occupancy": 0.9, "forgotten": 1, "linked": 100, "early_forgotten": 0,
                    "index_bytes": 70, **{f"{at}{kind}_{what}": 1.0 for at in ("", "rest_")
                                          for kind in ("turn", "set", "get")
                                          for what in ("mean_ns", "tail_us", "max_us")},
                    "turns": 1, "sets": 1, "gets": 1, "turns_long": 0, "sets_long": 0,
                    "gets_long": 0} for phase in ("fill", "large", "back")],
    "bench_turns": [*({"part": "turns", "phase": phase, "turns": 9, "p50_us": 5.0, "p99_us": 9.0,
                       "p9999_us": p9999, "max_us": most, "over_50us_ours": 1, "over_100us_ours": 0,
                       "one_run_p9999_us": 90.0, "one_run_max_us": 900.0, "over_50us_one_run": 3,
                       "over_100us_one_run": 2}
                      for phase, p9999, most in (("fill", 20.0, 60.0), ("evict", 30.0, 40.0))),
                    {"part": "turns", "phase": "host", "switches": 77, "faults": 5}],
}
PROMISED = """index_occupancy index_bytes_per_key get_hit_vs_best get_miss_vs_best bytes_per_item_1g
    get_hit_vs_best_filled get_miss_vs_best_filled
    memcached_bytes_per_item_1g churn_worst_hit_vs_fresh churn_worst_occupancy_vs_fresh
    churn_out_of_memory grow_turn_max_us grow_forgotten_before_full get_rate_at_50_inserts
    miss_clockoo_at_20 insert_ns_1w_at_950 insert_ns_2w_at_950 miss_zipf09_vs_s3fifo
    miss_scan_vs_s3fifo miss_oneshot_vs_s3fifo miss_loop_vs_s3fifo miss_shift_vs_clock
    miss_getset_zipf09_vs_lru beside_m_mb beside_m_vhost_mb told_16_32_256m told_40_1000_256m
    memcached_told_16_32_256m memcached_told_40_1000_256m told_16_32_1g told_30_200_1g told_40_1000_1g
    told_60_4000_1g memcached_told_16_32_1g memcached_told_30_200_1g memcached_told_40_1000_1g
    memcached_told_60_4000_1g hits_mixed_4000_16m_vs_memcached
    hits_mixed_60000_64m_vs_memcached hits_mixed_60000_16m_vs_memcached_equal_memory
    items_mixed_4000_16m_vs_memcached_equal_memory hits_mixed_4000_16m_vs_memcached_at_equal_memory
    hits_mixed_60000_64m_vs_memcached_all_told items_mixed_4000_64m_vs_memcached ttl_pressure_hits_vs_no_ttl
    set_new_full_ns set_overwrite_ns set_new_2t_by_1t turn_p9999_us turn_max_us
    turns_over_50us_ours turns_over_100us_ours turn_fill_p9999_us turn_evict_max_us
    set_two_threads_vs_two_processes set_overwrite_two_threads_vs_two_processes""".split()


class BenchToolTest(BenchCase):
    def setUp(self):
        super().setUp()
        for name, rows in ROWS.items():
            self.program(name, FAKE)
            self.rows(f"{name}.rows", rows)
        memcached = store_bench.memcached
        self.addCleanup(setattr, store_bench, "memcached", memcached)
        store_bench.memcached = lambda mebibytes: contextlib.nullcontext("socket")
        for name, fake in (("beside", lambda path, port: (30 << 20, 0)),
                           ("own", lambda path, load, mebibytes, key, value: 72.0)):
            self.addCleanup(setattr, told_bench, name, getattr(told_bench, name))
            setattr(told_bench, name, fake)
        for name in ("FAKE_S", "FAKE_STATUS", "FAKE_AT_ONCE"):
            self.addCleanup(os.environ.pop, name, None)

    def run_all(self, *parts, quick=True):
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                store_bench.Bench(self.folder, quick) as bench:
            store_bench.run(bench, parts or list(store_bench.PARTS), lambda: None)
        return bench.figures, out.getvalue()

    def spans(self):
        lines = (self.folder / "log").read_text().splitlines()
        return [(words[0], float(words[1]), float(words[2]))
                for words in map(str.split, lines)]

    def test_every_promised_figure_has_its_name(self):
        figures, tables = self.run_all()
        self.assertEqual([name for name in PROMISED if name not in figures], [])
        self.assertEqual(figures["get_hit_vs_best"], 2)  # 30 / 15: boost is shown, and is no competitor
        self.assertEqual(figures["get_hit_vs_best_filled"], 1.2)
        self.assertEqual(figures["churn_worst_hit_vs_fresh"], 0.95)
        self.assertIn("ours by the best", tables)
        self.assertEqual((figures["told_16_32_1g"], figures["memcached_told_16_32_1g"]), (72, 127))
        self.assertEqual(figures["beside_m_mb"], 30)
        # The largest figures of any phase; turns of all phases.
        self.assertEqual((figures["turn_p9999_us"], figures["turn_max_us"]), (30, 60))
        self.assertEqual(figures["turns_over_50us_ours"], 2)
        self.assertEqual(figures["turns_over_100us_ours"], 0)
        self.assertIn("77 involuntary", tables)

    def test_a_trace_is_measured_where_one_is_given(self):
        for trace in None, pathlib.Path("some.bin"):
            with contextlib.redirect_stdout(io.StringIO()) as out, \
                    store_bench.Bench(self.folder, True, trace) as bench:
                store_bench.run(bench, ["policy"], lambda: None)
            self.assertEqual("miss_trace_vs_s3fifo" in bench.figures, trace is not None)
            self.assertEqual("not given" in out.getvalue(), trace is None)
            self.assertEqual(("bench_policy", ("--file", trace), None) in
                             store_bench.counts_of(bench, "policy"), trace is not None)

    def test_a_referee_is_asked_for_what_it_can_run(self):
        class Referee:
            def __init__(self, figures, reason):
                self.figures, self.reason, self.asked = figures, reason, []

            def rows(self, **args):
                self.asked.append(args)
                return dict(self.figures)

        for figures, reason in ((dict.fromkeys(policy_bench.REFEREED, 0.35), None), ({}, "no network")):
            judge = Referee(figures, reason)
            with contextlib.redirect_stdout(io.StringIO()) as out, \
                    store_bench.Bench(self.folder, True, referee=judge) as bench:
                store_bench.run(bench, ["policy", "lag"], lambda: None)
            self.assertEqual(bench.figures.get("miss_zipf09_referee_2q"), figures.get("2q"))
            self.assertEqual(bench.figures.get("hits_lag_6_9000_referee_lru"), figures.get("lru"))
            self.assertEqual(bench.figures.get("referee_from_models_most"), None if reason else 0.04)
            self.assertEqual(bench.figures.get("miss_getset_zipf09_referee_lru"), figures.get("lru"))
            self.assertEqual("skipped: no network" in out.getvalue(), reason is not None)
            self.assertIn({"items": 9, "lag": 40}, judge.asked)

    def test_sets_are_compared_with_those_of_another_tree(self):
        before = self.folder / "before"
        before.mkdir()
        (before / "bench_set").write_text(FAKE)
        (before / "bench_set").chmod(0o755)
        (before / "bench_set.rows").write_text(json.dumps({"ns": 100}) + "\n")
        with contextlib.redirect_stdout(io.StringIO()), \
                store_bench.Bench(self.folder, True, before=before) as bench:
            store_bench.run(bench, ["set"], lambda: None)
        self.assertEqual(bench.figures["set_new_full_ns_vs_before"], 0.5)
        self.assertEqual(bench.figures["set_overwrite_vs_before"], 0.5)

    def test_an_appliance_without_room_has_a_line_and_no_figure(self):
        told_bench.beside = lambda path, port: (46 << 20, 0)  # memcached's process has 47 MB
        figures, tables = self.run_all("mixed_sizes")
        self.assertIn("no room", tables)
        self.assertNotIn("hits_mixed_4000_64m_vs_memcached_all_told", figures)

    def test_a_set_bench_that_ends_is_told(self):
        (self.folder / "bench_set").write_text("#!/bin/sh\nexit 3\n")
        with self.assertRaisesRegex(Failed, "bench_set .*: no answer, status 3"):
            self.run_all("set")

    def test_what_measures_time_runs_alone(self):
        self.run_all()
        spans = self.spans()
        timed = ("bench_fill-timed", "bench_get", "bench_mixed", "bench_churn", "bench_grow",
                 "bench_turns")
        self.assertEqual({s[0] for s in spans} & set(timed), set(timed))
        for one in spans:
            beside = [s[0] for s in spans if s is not one and s[1] < one[2] and one[1] < s[2]]
            if one[0] in timed:
                self.assertEqual(beside, [], one[0])

    @unittest.skipIf(os.cpu_count() == 1, "one CPU counts one after the other")
    def test_counts_run_beside_each_other(self):
        os.environ["FAKE_AT_ONCE"] = "2"  # the first waits for the other
        self.run_all("space")
        (_, _, first_end), (_, second_start, _) = sorted(self.spans(), key=lambda s: s[1])
        self.assertLess(second_start, first_end)

    def test_a_piece_of_misses_is_that_piece(self):
        figures, _ = self.run_all("miss:2.5", quick=False)
        self.assertIn("miss_clockoo_at_2.5", figures)
        self.assertNotIn("miss_clockoo_at_5", figures)

    def test_a_program_that_fails_is_told_with_its_last_words(self):
        os.environ["FAKE_STATUS"] = "3"
        for part in ("space", "grow"):
            with self.assertRaisesRegex(Failed, "status 3, last words: working .* 50 %"):
                self.run_all(part)

    def test_who_is_stopped_leaves_nothing_running(self):
        os.environ["FAKE_S"] = "600"
        start = time.monotonic()
        with store_bench.Bench(self.folder, True) as bench:
            for count in store_bench.counts_of(bench, "memory"):
                bench.ahead(count)
            time.sleep(0.3)
        self.assertLess(time.monotonic() - start, 300)
        self.assertFalse((self.folder / "log").exists())

    def notes_of_the_second(self, seconds):
        """Returns what who waits for the second of two counts is shown, and the words of the first, which takes so long."""
        os.environ["FAKE_S"] = seconds
        notes, step_type = [], store_bench.Step

        class Seen(step_type):
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
                if name == "note":
                    notes.append(value)

        with mock.patch.object(store_bench, "Step", Seen), store_bench.Bench(self.folder, True) as bench:
            bench._pool = store_bench.concurrent.futures.ThreadPoolExecutor(1)
            first, second = store_bench.space_counts(True).values()
            bench.ahead(first)
            bench.counted("the second", second)
        return notes, store_bench.bar(f"working --slots-shift {first[1][1]} 50 %")

    def test_who_waits_for_a_count_in_line_sees_the_one_that_runs(self):
        for seconds in ("1.5", "6", "24"):  # on a busy machine the first may end before the second waits
            notes, words = self.notes_of_the_second(seconds)
            if words in notes:
                break
        self.assertIn(words, notes)

    def test_progress_is_a_bar(self):
        self.assertEqual(store_bench.bar("filling 50 %"), "filling [##########----------] 50 %")
        self.assertEqual(store_bench.bar("done 250 %"), "done [####################] 250 %")
        for text in ("", "50", "no number %", "%", " %"):
            self.assertEqual(store_bench.bar(text), text)


class BuildTreeTest(unittest.TestCase):
    def told(self, kept, **how):
        """Returns the options that a folder set up with `kept` gets when a bench is built in it."""
        told = []
        for name, fake in (("configure", lambda folder, *words: told.extend(words)),
                           ("_checked", lambda words, command, env=None: told.extend(
                               w for w in command if str(w).startswith(("-Dbench", "-Dwerror"))))):
            self.addCleanup(setattr, build_tree, name, getattr(build_tree, name))
            setattr(build_tree, name, fake)
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as folder:
            if kept is not None:
                path = pathlib.Path(folder, "meson-private/cmd_line.txt")
                path.parent.mkdir()
                path.write_text(f"[options]\nbuildtype = release\n{kept}\n[properties]\n")
                pathlib.Path(folder, "build.ninja").touch()
                pathlib.Path(folder, ".packages").write_text(build_tree.installed_packages())
            build_tree.build(folder, targets=["x"], **how)
        return told

    def test_a_folder_without_the_benches_gets_them_when_one_is_built(self):
        self.assertEqual(self.told(""), ["-Dbench=true"])
        self.assertEqual(self.told("bench = false"), ["-Dbench=true"])
        self.assertEqual(self.told("bench = true"), [])
        self.assertEqual(self.told(None), ["-Dbench=true"])

    def test_the_product_alone_leaves_a_folder_as_it_is(self):
        self.assertEqual(self.told("", bench=False), [])
        self.assertEqual(self.told("bench = true", bench=False), [])
        self.assertEqual(self.told(None, bench=False), ["-Dbench=false"])

    def test_a_package_that_arrives_or_changes_is_found_by_the_next_build(self):
        progress.quiet = True
        self.addCleanup(setattr, build_tree, "installed_packages", build_tree.installed_packages)
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as name:
            folder = pathlib.Path(name)
            (folder / "meson.build").write_text(LATE)
            (folder / "meson_options.txt").write_text("option('bench', type: 'boolean', value: false)\n")
            os.environ["PKG_CONFIG_PATH"] = name
            self.addCleanup(os.environ.pop, "PKG_CONFIG_PATH")
            found = []
            for version in range(3):
                build_tree.installed_packages = lambda: f"late {version}"
                build_tree.build(folder / "build", targets=["found"], root=folder)
                found.append((folder / "build/found").read_text())
                (folder / "late.pc").write_text(f"Name: late\nDescription: it comes later\nVersion: {version + 1}\n")
        self.assertEqual(found, ["none\n", "1\n", "2\n"])

    def test_a_folder_of_users_becomes_strict_for_a_test_and_stays_so(self):
        self.assertEqual(self.told("bench = true", options=build_tree.TESTED), [build_tree.STRICT])
        self.assertEqual(self.told("", options=build_tree.TESTED), ["-Dbench=true", build_tree.STRICT])
        self.assertEqual(self.told("bench = true\nwerror = true", options=build_tree.TESTED), [])
        self.assertEqual(self.told("bench = true\nwerror = true"), [])
        self.assertEqual(self.told("bench = true\nwerror = false", options=build_tree.TESTED), [build_tree.STRICT])

    def test_a_folder_that_holds_no_dpdk_is_named(self):
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as folder, \
                self.assertRaisesRegex(progress.Failed, f"--dpdk {folder}: no lib"):
            build_tree.use_dpdk(folder)


class RefusalTest(unittest.TestCase):
    def said(self, error):
        """Returns (status, lines on stderr, the file) of a bench that ends with `error`."""
        def measure(args, keep_figures):
            raise error

        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as folder:
            path = pathlib.Path(folder, "figures.json")
            with mock.patch.dict(bench_main.MEASURES, idle=measure), contextlib.redirect_stderr(io.StringIO()) as said, \
                    contextlib.redirect_stdout(io.StringIO()), mock.patch.object(progress, "quiet", False):
                status = bench_main.main(["idle", "--quick", "--json", str(path)])
            return status, said.getvalue().splitlines(), json.loads(path.read_text())

    def test_a_bench_that_cannot_run_says_why_in_one_line_and_in_its_file(self):
        for error, words in ((progress.Failed("no such thing"), "no such thing"), (OSError(2, "gone"), "gone"),
                             (KeyError("row"), "KeyError: 'row'")):
            status, lines, kept = self.said(error)
            self.assertEqual((status, len(lines)), (1, 1), lines)
            self.assertIn(words, lines[0])
            self.assertIn(words, kept["failed"])

    def test_a_file_without_figures_is_not_merged(self):
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as folder:
            path = pathlib.Path(folder, "figures.json")
            path.write_text(json.dumps({"machine": {}, "quick": True, "failed": "no such thing"}))
            with self.assertRaisesRegex(progress.Failed, "no figures: no such thing"):
                bench_main.merged([path])


class NinjaTest(unittest.TestCase):
    def test_the_note_is_what_is_built_now_and_not_what_a_compiler_says(self):
        """The edge succeeds only if the note named it while it ran."""
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as name:
            folder, notes, step_type = pathlib.Path(name), set(), progress.Step

            class Seen(step_type):
                def __setattr__(self, name, value):
                    super().__setattr__(name, value)
                    if name == "note" and value:
                        notes.add(value)
                        (folder / "seen").touch()

            progress.quiet, progress.Step = True, Seen
            self.addCleanup(setattr, progress, "Step", step_type)
            (folder / "build.ninja").write_text(
                f"rule link\n command = echo lto-wrapper: note: serial; for i in $$(seq 500); do [ -e {name}/seen ] && exit 0; "
                "sleep 0.01; done; exit 1\n description = Linking $out\nbuild program: link\n")
            status, lines = progress.run_ninja("building", ["ninja", "-C", name])
        self.assertEqual((status, notes), (0, {"[0/1] Linking program", "[1/1] Linking program"}))
        self.assertIn("lto-wrapper: note: serial", lines)

    def test_what_failed_is_told_in_lines(self):
        progress.quiet = True
        with tempfile.TemporaryDirectory(prefix="clockoo-bench-test-") as folder:
            pathlib.Path(folder, "build.ninja").write_text("rule fail\n command = echo wrong; exit 3\nbuild program: fail\n")
            status, lines = progress.run_ninja("building", ["ninja", "-C", folder])
        # From ninja 1.13 on it ends with the command's status, and names it.
        self.assertIn((status, lines[-5]), ((1, "FAILED: program "), (3, "FAILED: [code=3] program ")))
        self.assertEqual(lines[-4:-2], ["echo wrong; exit 3", "wrong"])


class StartTest(unittest.TestCase):
    """A program that a bench starts, and the wire to it."""

    def started(self, program, wire):
        program = mock.Mock(**{"wait_ready.return_value": None}, tcp_port=program)
        with mock.patch.object(appliance, "Appliance", return_value=program):
            self.assertIs(appliance._started(["program"], wire), program)

    def test_a_program_without_a_tcp_port_leaves_the_wire_as_it_is(self):
        wire = types.SimpleNamespace(server=None, join=lambda: None)
        self.started(None, wire)
        self.assertFalse(hasattr(wire, "tcp_port"))

    def test_a_wire_leads_to_the_first_port_that_is_served(self):
        wire = types.SimpleNamespace(server=None, join=lambda: None, tcp_port=11211)
        self.started(4242, wire)
        self.assertEqual(wire.tcp_port, 4242)


class MergeTest(BenchCase):
    def piece(self, name, **figures):
        path = self.folder / name
        path.write_text(json.dumps({"machine": {"load_before": 1}, "quick": False, **figures}))
        return str(path)

    def test_pieces_merge_and_plot(self):
        out = self.folder / "all.json"
        pieces = [self.piece("a", insert_ns_1w_at_100=80, insert_ns_1w_at_950=200,
                             insert_ns_1w_at_100_spread=[1, 2]),
                  self.piece("b", **{"miss_clockoo_at_2.5": 32, "miss_LRU_equal_items_at_2.5": 33})]
        status = bench_main.main(["merge", *pieces, "--json", str(out), "--plot",
                                  str(self.folder / "plots")])
        self.assertEqual(status, 0)
        figures = json.loads(out.read_text())
        self.assertEqual((figures["insert_ns_1w_at_950"], figures["miss_clockoo_at_2.5"]), (200, 32))
        self.assertEqual(len(figures["pieces"]), 2)
        for name in ("insert", "miss"):
            xml.etree.ElementTree.parse(self.folder / "plots" / f"{name}.svg")
        points = {name: sum(len(line.get_xdata()) for line in chart.axes[0].lines)
                  for name, chart in bench_plot.charts_of(figures).items()}
        self.assertEqual(points, {"insert": 2, "miss": 2})

    def test_files_of_either_program_are_drawn(self):
        point = {"connections": 0, "depth": 256, "offered_per_s": 0, "requests_per_s": 1e6,
                 "mean_us": 0, "p50_us": 9, "p99_us": 20}
        slower = point | {"offered_per_s": 9e5, "requests_per_s": 7e5}
        loaded = self.folder / "udp.json"
        loaded.write_text(json.dumps({"settings": {}, "points": [point, slower]}))
        drawn = charts.load_chart(json.loads(loaded.read_text())).axes[0]
        self.assertEqual([(line.get_label(), list(line.get_xdata()), list(line.get_ydata()))
                          for line in drawn.lines],
                         [(name, [7e5, 1e6], [y, y]) for name, y in (("mean", 0.1), ("p50", 9), ("p99", 20))])
        self.assertEqual(drawn.get_yscale(), "log")
        words = ["plot", str(loaded), self.piece("a", clockoo_udp_get_mops=12), "--plot", str(self.folder)]
        self.assertEqual(bench_main.main(words), 0)
        for name in ("udp", "vs"):
            xml.etree.ElementTree.parse(self.folder / f"{name}.svg")
        self.assertEqual(bench_main.main([*words, "--format", "png"]), 0)
        self.assertEqual(charts.main([str(loaded), "--format", "png", "--out", str(self.folder)]), 0)
        self.assertEqual((self.folder / "udp.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        loaded.write_text("{}")
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(charts.main([str(loaded)]), 1)
        loaded.write_text("[1,")
        self.assertEqual(bench_main.main(["plot", str(loaded)]), 1)

    def test_a_higher_figure_is_drawn_higher(self):
        series = bench_plot.insert_series({"insert_ns_2w_at_950": 200, "insert_ns_2w_at_100": 50})
        self.assertEqual(series, {"2 writers": [(10, 50), (95, 200)]})
        axes = charts.line_chart("t", "x", "y", series).axes[0]
        (low_x, low_y), (high_x, high_y) = axes.transData.transform(axes.lines[0].get_xydata())
        self.assertLess(low_x, high_x)
        self.assertLess(low_y, high_y)
        self.assertEqual((axes.get_xlim()[0], axes.get_ylim()[0]), (0, 0))

    def test_what_cannot_be_merged_is_refused(self):
        quick = self.folder / "quick"
        quick.write_text(json.dumps({"machine": {}, "quick": True}))
        torn = self.folder / "torn"
        torn.write_text("[1,")
        for files in ([self.piece("a"), str(quick)], [str(torn)], [str(self.folder / "none")]):
            self.assertEqual(bench_main.main(["merge", *files]), 1, files)


class FakeLinks:
    """Links whose programs return rows of the test."""

    client = types.SimpleNamespace(middle="m", client="c", host="h", near="i")
    clockoo = memcached = client
    congestion, has_bbr = "cubic", True

    def __init__(self, goodput):
        self.goodput, self.asked, self.counted = goodput, [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def set_congestion(self, link, name):
        self.set = name

    @contextlib.contextmanager
    def impaired(self, link, *how):
        row = {}
        self.how = how
        yield row
        row.update({"out": 3000, "overrun": 0, "no_slot": 0, "refused": 0, "busy_peak": 0.5,
                    "frames_s_peak": 1e5})

    def row(self, words, ns, program, *args):
        self.asked.append((words, self.how))
        if "lost" in words and (self.set == "bbr") != ("bbr" in words):
            raise AssertionError(f"{words} with {self.set}")
        return {"goodput_mbs": self.goodput(words), "set_mbs": self.goodput(words),
                "wrong_bytes": "10 %" in words,
                "wrong_answers": 0, "resets": 1, "stuck": 0, "misses": 0, "refused": 0,
                "longest_stall_s": 0.25 + ("memcached" in words) + 4 * ("10 %" in words)}

    def client_counts(self, link):
        self.counted += 1  # before and after each run
        return {"TcpOutSegs": 1000 * self.counted, "TcpExtTCPTimeouts": 5 * self.counted,
                "TcpExtTCPSynRetrans": 2 * self.counted}

    def stop_appliance(self):
        return {"TCP_RETRANSMITS": 7}


class LossTest(unittest.TestCase):
    def measure(self, quick, losses=()):
        kept, goodput = [], lambda words: 80 if "clockoo" in words else 160 if "bbr" in words else 100
        links = FakeLinks(goodput)
        self.addCleanup(setattr, loss_bench, "Links", loss_bench.Links)
        loss_bench.Links = lambda programs: links
        with contextlib.redirect_stdout(io.StringIO()) as out:
            figures = loss_bench.measure("programs", quick, losses, kept.append)
        return figures, out.getvalue(), links, kept

    def test_every_promised_figure_has_its_name(self):
        figures, tables, _, kept = self.measure(quick=False)
        self.assertEqual([figures[f"goodput_vs_kernel_{n}pct"] for n in (0, 1, 5, 10)], [0.8] * 4)
        self.assertEqual(figures["goodput_vs_bbr_1pct"], 0.5)
        self.assertEqual((figures["wrong_bytes"], figures["wrong_bytes_memcached"]), (5, 5))
        self.assertEqual((figures["longest_stall_s"], figures["longest_stall_s_memcached"]),
                         (4.25, 5.25))
        self.assertEqual((figures["stalls_above_3s"], figures["stalls_above_3s_memcached"]),
                         (loss_bench.ROUNDS, loss_bench.ROUNDS))
        self.assertEqual([figures[f"client_timeouts_per_10k{who}{n}"] for who in ("", "_memcached")
                          for n in ("", "_1pct", "_5pct", "_10pct")], [30] * 8)
        self.assertEqual([figures[f"client_timeouts_vs_kernel_{n}pct"] for n in (1, 5, 10)], [1] * 3)
        self.assertEqual([figures[f"bulk_set_vs_kernel_{n}ms"] for n in (20, 100)], [0.8] * 2)
        self.assertEqual(figures["connections_reset"], 4 * loss_bench.ROUNDS)
        self.assertEqual(figures["loss_appliance_counters"], {"TCP_RETRANSMITS": 7})
        self.assertIn("0.80 (0.80..0.80)", tables)
        self.assertEqual(len(kept), 5)  # after each loss, and at the end

    def test_both_have_their_turn_in_every_round_behind_the_same_link(self):
        _, _, links, _ = self.measure(quick=True, losses=[5])
        turns = [(words.split(", ")[1:], how) for words, how in links.asked if "lost" in words]
        self.assertEqual([who for (_, who), _ in turns], ["clockoo", "memcached"] * 2)
        self.assertEqual(turns[0][1], turns[1][1])
        self.assertEqual(turns[0][1][:2], ("--lose", 5))
        self.assertNotEqual(turns[0][1], turns[2][1])  # each round has another seed

    def test_bulk_alone_is_sets_of_a_mebibyte_over_long_paths(self):
        figures, tables, links, _ = self.measure(quick=True, losses=["bulk"])
        turns = [(words, how) for words, how in links.asked if "1 MiB" in words]
        self.assertEqual([how[how.index("--delay-us") + 1] for _, how in turns],
                         [10_000] * 2 + [50_000] * 2)
        self.assertFalse(any("lost" in words for words, _ in links.asked))
        self.assertEqual(figures["bulk_set_mbs_clockoo_20ms"], 80)
        self.assertIn("0.80 (0.80..0.80)", tables)

    def test_losses_are_drawn(self):
        figures, _, _, _ = self.measure(quick=False)
        self.assertEqual(bench_plot.loss_series(figures)["memcached"],
                         [(0, 100), (1, 100), (5, 100), (10, 100)])


class FakeBed:
    """A bed in which all clients are as fast as the phase says."""

    client = host = "x"
    RATES = {"quiet": 1000, "elsewhere": 900, "stray": 500, "syn on-link": 450, "syn off-link": 400,
             flood_bench.LONG: 420}

    def __init__(self):
        self.connected, self.seeds = False, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def flooding(self, phase, ms, seed):
        if not self.connected:
            raise AssertionError(f"{phase} began before its clients were connected")
        self.seeds.append(seed)
        flood = (flood_bench.PHASES | flood_bench.PHASES_LONG)[phase]
        return contextlib.nullcontext(flood and {"frames_s": 1e5})

    def program(self, ns, name, *args):
        return {"tried": 10, "answered": 9, "failed": 1, "median_s": 0.001, "longest_s": 2.5}

    ending = staticmethod(contextlib.nullcontext)

    def row(self, words, *_, on_line):
        rate = next(r for name, r in self.RATES.items() if words.startswith(name + ", round"))
        on_line("connecting 0 %")
        self.connected = True
        on_line(flood_bench.CONNECTED)
        self.connected = False
        return {"operations_s": rate, "resets": 0, "wrong_bytes": 0, "wrong_answers": 0,
                "longest_stall_s": 0.1}

    def stop_appliance(self):
        return {"TCP_SYNS": 3}


class FloodTest(unittest.TestCase):
    def measure(self, quick):
        self.bed = FakeBed()
        for name, fake in (("FloodBed", lambda programs: self.bed), ("last_row", lambda row: row),
                           ("simulated", lambda programs, quick: {"new_served_4s": {"300000": 1.0}})):
            self.addCleanup(setattr, flood_bench, name, getattr(flood_bench, name))
            setattr(flood_bench, name, fake)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return flood_bench.measure("programs", quick, [flood_bench.SYN], lambda figures: None), out.getvalue()

    def test_what_is_kept_is_the_worse_flood_against_its_neighbours(self):
        figures, _ = self.measure(quick=True)
        self.assertEqual((figures["flood_kept_vs_quiet"], figures["flood_kept_vs_stray"]), (0.4, 0.8))
        self.assertEqual(figures["flood_syn_on_link_vs_stray"], 0.9)
        self.assertEqual(figures["new_served_4s"], {"300000": 1.0})
        rounds = flood_bench.QUICK_ROUNDS
        self.assertEqual((figures["flood_connect_failed"], figures["flood_connect_longest_s"]),
                         (2 * rounds, 2.5))

    def test_no_flood_repeats_the_frames_of_another(self):
        self.measure(quick=True)
        self.assertEqual(len(self.bed.seeds), len(flood_bench.PHASES) * flood_bench.QUICK_ROUNDS)
        self.assertEqual(len(set(self.bed.seeds)), len(self.bed.seeds))

    def test_the_long_flood_is_measured_in_full_alone(self):
        quick, quick_table = self.measure(quick=True)
        full, full_table = self.measure(quick=False)
        for found, name in ((quick_table, False), (full_table, True)):
            self.assertEqual(flood_bench.LONG in found, name)
        self.assertEqual(full["flood_connects"], 10 * (2 * flood_bench.ROUNDS + 1))


class FakeVsBed:
    """A bed in which the appliance answers 10 million a second, and a peer the rate of its name."""

    client = host = server_ns = peer_ns = "x"
    RATES = {"memcached": 1e5, "memcached_2t": 3e5, "redis": 2e5}

    def __init__(self, log):
        self.peers = [types.SimpleNamespace(name=name, threads=2 if "2t" in name else 1, options=[],
                                            udp=name != "redis", pid=name, port=1)
                      for name in self.RATES]
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def be_patient(self, patience_s):
        self.log.append("is patient")
        self.pair = types.SimpleNamespace(words=lambda: "near", figures=lambda: {"turns_repeated": 3})

    def start_vhost(self):
        return types.SimpleNamespace(name="vhost", pid="own")

    start_echo = start_af_packet = start_vhost
    turn_of = staticmethod(contextlib.nullcontext)

    def end(self, server):
        pass

    def load(self, words, server, *options):
        self.log.append(words)
        return {"requests_per_s": 3e6, "keys_per_s": 9e6, "cpu_share": 1.0, "generator_busy": 0.7}

    def echo(self, words, server, ms):
        return {"frames_per_s": 6e6}

    def wire(self, words, kind, *options):
        self.log.append(words)
        row = {"requests_per_s": 1e7, "keys_per_s": 3e7, "bytes_per_s": 2e9, "server_busy": 0.9,
               "generator_busy": 0.5, "server_ns": 80.0}
        return {"echo": {"frames_per_s": 1.25e7}, kind: row,
                "open_loop": row | {f"residence_{p}_us": 4.0 for p in ("p50", "p99", "p99_least", "p999")}}

    def cores(self, words):
        return {"two_cores_scaling": 1.9, "two_cores_scaling_zipf": 1.8}

    def ask(self, words, ns, host, port, pid, *options):
        self.log.append(words)
        deep = 1.5 if 8 in options and "--udp" in options else 1
        rate = 2e5 if pid == "own" else self.RATES[pid] * deep
        return {"requests_per_s": rate, "keys_per_s": rate, "seconds": 2.0, "server_cpu_s": 1.0,
                "client_cpu_s": 0.5, "machine_cpu_s": 3.0}


class PoorVsBed(FakeVsBed):
    """A bed whose hugepages run out in the middle of the second round."""

    LACK = "round 2 of 2, tcp_get, clockoo over vhost"

    def load(self, words, server, *options):
        if words == self.LACK:
            raise Failed("clockoo-load: hugepages: 94 MB needed, 12 MB free: reserve them")
        return super().load(words, server, *options)


class VsTest(unittest.TestCase):
    def measure(self, quick, bed=FakeVsBed, keep=lambda figures: None):
        log = []
        cycles = {"cycles": 240.0, "spread": [230, 250], "cycle_stages": {"rx": 3.0}, "cycles_per_ns": 2.0}
        for module, name, fake in ((vs_bench, "VsBed", lambda *_: bed(log)),
                                   (vs_bench, "peers_of", lambda *_: []),
                                   (budget, "cycles", lambda *_, **__: cycles)):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, fake)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                figures = vs_bench.measure(pathlib.Path("x"), quick, [], keep)
            except Failed as failed:
                return failed, out.getvalue(), log
        return figures, out.getvalue(), log

    def test_a_run_that_cannot_go_on_shows_and_keeps_what_it_has_and_says_what_lacked(self):
        kept = {}
        failed, shown, log = self.measure(True, PoorVsBed, kept.update)
        self.assertIsInstance(failed, Failed)
        self.assertIn("could not go on: clockoo-load: hugepages: 94 MB needed, 12 MB free", str(failed))
        self.assertIn("round 2 of 2, tcp_get, redis", log)
        self.assertNotIn("round 2 of 2, tcp_pipelined, redis", log)
        # The medians are over both rounds, over one and a half, and over one.
        self.assertEqual((kept["udp_get_mops"], kept["tcp_get_mops"], kept["multiget_mkeys"]), (10, 10, 30))
        self.assertIn("tcp_get_mops_spread", kept)
        self.assertNotIn("vhost_tcp_get_mops_spread", kept)
        self.assertAlmostEqual(kept["tcp_pipelined_vs_memcached"], 66.667)
        self.assertEqual(kept["udp_get_vs_port_echo"], 0.8)
        for words in ("View b, each at its best client", "over vhost, where the port", "multiget"):
            self.assertIn(words, shown)
        self.assertNotIn("View a", shown)

    def test_a_run_that_cannot_even_begin_shows_no_table(self):
        class NoneVsBed(FakeVsBed):
            def start_vhost(self):
                raise Failed("hugepages: none")

        failed, shown, _ = self.measure(True, NoneVsBed)
        self.assertIn("hugepages: none", str(failed))
        self.assertNotIn("View", shown)

    def test_every_promised_figure_has_its_name(self):
        for quick in (True, False):
            figures, _, _ = self.measure(quick)
            for name in ("udp_get_mops tcp_get_mops tcp_pipelined_mops multiget_mkeys port_echo_mpps "
                         "memcached_udp_get_mops memcached_tcp_get_mops memcached_multiget_mkeys "
                         "memcached_tcp_pipelined_mops cycles_per_udp_get vhost_udp_get_mops "
                         "vhost_multiget_mkeys vhost_port_echo_mpps residence_p99_us "
                         "two_cores_scaling value_64k_core_gbytes value_64k_lent_core_gbytes").split():
                self.assertIn(name, figures)
        for name in ("udp_set_cycles", "tcp_set_cycles", "value_64k_gbytes", "value_64k_lent_gbytes", "tcp_value_1m_lent_core_ns"):
            self.assertIn(name, figures)
        self.assertEqual((figures["udp_get_mops"], figures["multiget_mkeys"]), (10, 30))
        self.assertEqual(figures["udp_get_vs_port_echo"], 0.8)
        self.assertEqual((figures["vhost_tcp_get_mops"], figures["vhost_udp_get_vs_port_echo"]), (3, 0.5))
        self.assertEqual((figures["udp_get_16m_mops"], figures["tcp_value_1m_gbytes"]), (10, 2))
        self.assertEqual((figures["udp_get_core_ns"], figures["udp_get_zipf_core_ns"]), (80, 80))
        self.assertEqual((figures["udp_get_client_busy"], figures["memcached_tcp_get_client_busy"]),
                         (0.5, 0.25))

    def test_the_best_memcached_of_one_core_is_the_one_to_beat(self):
        figures, _, _ = self.measure(quick=True)
        # 10 million by 300 thousand of two threads.
        self.assertAlmostEqual(figures["tcp_get_vs_memcached"], 66.667)
        # By server CPU: half a second of it each second, of the best 3e5 answers.
        self.assertAlmostEqual(figures["tcp_get_vs_memcached_server_cpu"], 16.667)

    def test_a_peer_is_given_the_better_of_its_udp_clients(self):
        figures, _, _ = self.measure(quick=False)
        self.assertEqual(figures["memcached_udp_get_mops"], 0.15)
        self.assertNotIn("redis_udp_get_mops", figures)

    def test_all_have_their_turn_in_every_round_before_the_next_workload(self):
        _, _, log = self.measure(quick=True)
        turns = [words.split(", ")[1:] for words in log if words.startswith("round 1")]
        self.assertEqual([who for work, who in turns if work == "tcp_get"],
                         ["clockoo", *FakeVsBed.RATES, "clockoo over vhost"])
        works = [work for work, _ in turns]
        self.assertEqual(works, sorted(works, key=list(vs_bench.WORK).index))

    def test_a_kernel_client_of_all_is_measured_in_full_alone(self):
        quick, quick_table, _ = self.measure(quick=True)
        full, full_table, _ = self.measure(quick=False)
        self.assertNotIn("kernel_tcp_get_mops", quick)
        self.assertEqual(full["kernel_tcp_get_mops"], 0.2)
        self.assertNotIn("View a", quick_table)
        self.assertIn("View a", full_table)

    def test_turns_that_the_host_spoiled_are_repeated_from_the_start_and_told(self):
        figures, shown, log = self.measure(quick=True)
        self.assertEqual(log[0], "is patient")
        self.assertEqual(figures["turns_repeated"], 3)
        self.assertIn("near", shown)

    def test_keys_that_a_server_had_not_are_told(self):
        original = FakeVsBed.ask
        self.addCleanup(setattr, FakeVsBed, "ask", original)
        FakeVsBed.ask = lambda self, *words: original(self, *words) | {
            "misses": 3 * (words[4] == "redis")}
        figures, shown, _ = self.measure(quick=True)
        self.assertGreater(figures["redis_misses"], 0)
        self.assertEqual((figures["memcached_misses"], figures["clockoo_lost"]), (0, 0))
        self.assertIn(f"redis: {figures['redis_misses']} misses", shown)

    def test_what_is_drawn_is_what_was_measured(self):
        figures, _, _ = self.measure(quick=False)
        groups = bench_plot.vs_groups(figures)
        self.assertEqual(groups["tcp_get"][:2], [("clockoo", 10), ("memcached", 0.1)])
        self.assertEqual(len(groups), 4)
        drawn = charts.bar_chart("t", groups).axes[0]
        self.assertEqual([bar.get_width() for bar in drawn.patches],
                         [value for rows in groups.values() for _, value in rows])

    def test_no_appliance_of_a_bench_reads_the_configuration_of_its_machine(self):
        commands = []
        self.addCleanup(setattr, links.appliance, "start", links.appliance.start)
        links.appliance.start = lambda command, *_: (commands.append(command),
                                                     (types.SimpleNamespace(stop=None), True))[1]
        bed = links.Bed(pathlib.Path("x"))
        bed.start_appliance(types.SimpleNamespace(name="n"), types.SimpleNamespace(
            iface="i", host="h"))
        vs = vs_bed.VsBed.__new__(vs_bed.VsBed)
        vs.build = pathlib.Path("x")
        for command in (*commands, vs._app()):
            self.assertEqual(command[1:3], ["--config", "none"])
        self.assertEqual(len(commands), 1)

    def test_a_memcached_that_is_not_there_is_told(self):
        with self.assertRaisesRegex(Failed, "no program is there"):
            vs_bed.peers_of(["/nonsense/memcached"], False)


if __name__ == "__main__":
    unittest.main()
