#!/usr/bin/python3 -B
"""Tests of tools/bench flash without the program that measures.

Goal: every figure has the name that other tools look for; a figure that misses its goal is named; a ratio compares
measurements of one round; two runs agree in their counts. Method: a program that prints rows made up here; then the
real one, twice, with little memory.
"""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import types
import unittest

for folder in ("tools/py", "tests/support"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / folder))

import bench_main  # noqa: E402
import flash_bench  # noqa: E402
import flash_kills  # noqa: E402
from bench_case import BenchCase  # noqa: E402
from progress import Failed  # noqa: E402

FAKE = """#!/bin/sh
here=${0%/tests/*}
echo "$*" >> "$here/asked"
for part; do :; done
case "$0" in
*/flash_evicted) part=evicted ;;
esac
case "$part $*" in
hits*--peer*) part=hits-peer ;;
*--file*) part=$part-file ;;
esac
[ "$part" != "$(cat "$here/fails")" ] || exit 3
echo "working 50 %" >&2
cat "$here/$part"
"""
CONVERT = """#!/bin/sh
echo "items 9, refused 0, found 9, in columns 8
hash_dram_bytes_per_item 1.873, occupancy 0.9536
log_dram_bytes_per_item 6.463 when it was fullest
write_amplification by records: log 1.0393, hash 2.0433; by key + value 1.0778, 2.1189
reads_per_hit 1.0032, reads_per_miss 0.0075
items converted a second of CPU: 1275716"
"""
STRESS = """#!/bin/sh
echo "     300 kills: 3 records, 1 bad segments, 0 without room in the index"
echo "     100 cuts: 80 cold starts, 20 from a stop, 3 records"
echo "      70 copies recovered, 9 judged keys in them"
exit $(cat "$(dirname "$0")/status")
"""
RATES = ((80, 100, 90), (99, 110, 110), (45, 50, 47))  # tier, raw and bare, of three rounds
ROWS = {
    "bytes": [{"bytes_per_item": 6.5, "full": 0.985, "fixed_bytes": 4200000}],
    "reads": [{"reads_per_hit": 1.0001, "reads_per_miss": 0.0003, "two_pages": 0.05, "amplification": 1.0433,
               "amplification_long_cas": 1.08}],
    "misses": [{"mops": 12.5, "one_mops": 7.5, "large_mops": 9, "sets_mops": 11, "sets_one_mops": 4, "column_bytes": 67_000_000, "candidates": 0.0072, "column_bytes_per_item": 1.88}],
    "pack": [{"what": "json", "bytes": 400, "share": 0.5, "pack_ns": 600, "unpack_ns": ns} for ns in (900, 800, 1000)],
    "raw-file": [{"who": who, "round": i, "per_s": both[turn], "cpu_ns": 5, "puts_per_s": 7}
                 for i, both in enumerate(RATES) for turn, who in enumerate(("tier", "raw", "bare"))],
    "recover-file": [{"who": who, "gb_per_s": rate, "cpu_ns_per_record": 5}
                     for who, rate in (("raw", 2.0), ("tier", 1.8), ("raw", 1.6), ("tier", 1.2), ("raw", 1.6))],
    "recover": [{"who": who, "gb_per_s": 1, "cpu_ns_per_record": ns}
                for who, ns in (("raw", 20), ("tier", 95), ("raw", 22))],
    "extstore": [{"items": 300_000, "bytes_per_item": 104.0}],
    "kept": [{"value": value, "evicted_bytes": 1000, "kept_bytes": kept, "longest_wait_turns": 4}
             for value, kept in ((4096, 1000), (65536, 995), (1 << 20, 990))],
    "busy": [{"who": who, "round": i, "p99_ns": both[turn], "puts": 100}
             for i, both in enumerate(((50, 55), (40, 44), (80, 100))) for turn, who in enumerate(("off", "on"))],
    "evicted": [{"who": who, "round": i, "p99_ns": both[turn], "p50_ns": 5}
                for i, both in enumerate(((100, 104), (90, 99), (80, 84))) for turn, who in enumerate(("none", "tier"))],
    "hits": [{"who": "used", "hits": 0.61}, {"who": "all", "hits": 0.82}],
    "hits-peer": [{"who": "extstore", "hits": 0.66}],
    "sized": [{"part": "sized", "filter": name, "bits_per_item": 12.5, "rate": rate}
              for name, rate in (("cf", 0.0018), ("ss_cf", 0.0008))],
    "loads": [{"part": "loads", "slots": 4, "load": load} for load in (0.96, 0.955)],
}
COUNTS = {"bytes": ("--mib", "32"), "reads": ("--mib", "32", "--gets", "20000"),
          "misses": ("--mib", "4", "--gets", "6400"), "pack": ("--gets", "640"), "recover": ("--mib", "32", "--rounds", "1"),
          "kept": ("--mib", "16"), "hits": ("--mib", "32", "--flash-mib", "32", "--keys", "60000", "--gets", "30000")}
TIMES = {"mops", "one_mops", "large_mops", "sets_mops", "sets_one_mops", "ns", "pack_ns", "unpack_ns", "gb_per_s", "cpu_ns_per_record", "rss_and_flash_kb"}


class FakeBed:
    """A bed, an appliance and their client, which records the calls, and finds a lie in the second life."""

    did = []
    wire = types.SimpleNamespace(host="host")
    client_ns, keeps_state, layout = "ns", True, "hash"

    def __init__(self, _):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def client(self, *_):
        return FakeBed(None)

    def ask(self, *words):
        self.did.append(" ".join(map(str, words)))
        return {"stage": "records"}

    tell = ask

    def row(self):
        if self.did[-1] == "gone":
            return {"acknowledged": 10 * self.did.count("gone")}
        return {"checked": 5, "wrong": int(self.did[-1] == "write 1 1"), "resurrected": 0, "from_flash": 2}

    def start(self, *_):
        self.did.append("start")

    def forget(self):
        self.did.append("forget")

    def kill(self):
        self.did.append("kill")

    def end(self):
        self.did.append("end")


class FlashBenchTest(BenchCase):
    def setUp(self):
        super().setUp()
        for name, text in ((flash_bench.PROGRAM, FAKE), (flash_bench.FILTER, FAKE), (flash_bench.EVICTED, FAKE), (flash_bench.STRESS, STRESS),
                           (flash_bench.CONVERT, CONVERT)):
            self.program(name, text)
        (self.folder / "fails").write_text("")
        (self.folder / "tests/stress/status").write_text("0")
        for part, rows in ROWS.items():
            self.rows(part, rows)
        self.was = flash_bench.extstore
        self.addCleanup(setattr, flash_bench, "extstore", self.was)
        flash_bench.extstore = lambda *_: contextlib.nullcontext("socket")
        self.addCleanup(setattr, flash_kills, "FlashBed", flash_kills.FlashBed)
        self.bed = flash_kills.FlashBed = FakeBed
        self.addCleanup(setattr, flash_kills, "WRITES_S", flash_kills.WRITES_S)
        flash_kills.WRITES_S = (0, 0)
        self.addCleanup(setattr, flash_kills, "CONVERSION_S", flash_kills.CONVERSION_S)
        flash_kills.CONVERSION_S = 0
        FakeBed.did = []

    def measure(self, parts=flash_bench.PARTS[:-1], quick=True):
        return self.measured(lambda keep: flash_bench.measure(self.folder, quick, parts, keep))

    def test_figures_have_their_names_and_are_kept_part_by_part(self):
        figures, tables, kept = self.measure()
        want = {"log_dram_bytes_per_item": 6.5, "hash_dram_bytes_per_item": 1.873, "extstore_dram_bytes_per_item": 104.0,
                "reads_per_hit": 1.0001, "reads_per_miss": 0.0003, "write_amplification_log": 1.0433,
                "write_amplification_hash": 2.0844, "hash_reads_per_miss": 0.0075, "conversions_per_s": 1275716,
                "hit_p99_busy_ratio": 1.1, "compress_json_400_share": 0.5, "compress_json_400_unpack_ns": 900, "misses_mops": 12.5, "misses_one_by_one_mops": 7.5, "filter_bits_per_item": 12.5, "filter_false_positives": 0.0018,
                "filter_sorted_false_positives": 0.0008, "filter_occupancy": 0.955, "items_at_equal_dram": 8.0,
                "recovery_cpu_ns_per_record": 74, "evicted_bytes_kept_64k": 0.995, "evicted_longest_wait_ms_1m": 0.2, "evicted_p99_ratio": 1.05, "evicted_p99_ratio_64k": 1.05, "hits_all_64mib": 0.82, "hits_extstore_64mib": 0.66,
                "simulated_kills": 400, "wrong_values": 0, "resurrected": 0}
        self.assertEqual({name: figures[name] for name in want}, want)
        self.assertEqual([len(kept), kept[0].get("reads_per_hit"), kept[1]["reads_per_hit"]],
                         [len(flash_bench.PARTS) - 1, None, 1.0001])
        self.assertIn("204,600", tables)

    def test_a_ratio_is_of_its_round(self):
        figures, tables, _ = self.measure(("raw", "recover"))
        self.assertIn("not measured", tables)
        self.assertEqual(figures["read_ratio_of_raw"], 0.9)  # 0.8, 0.9, 0.9: not of the medians
        self.assertEqual(figures["read_ratio_of_raw_spread"], [0.8, 0.9])
        self.assertEqual(figures["bare_ratio_of_raw"], 0.94)
        self.assertEqual((figures["recovery_ratio_of_raw"], figures["recovery_ratio_of_raw_spread"]), (0.875, [0.75, 1.0]))
        self.assertFalse((self.folder / "flash-bench.file").exists())

    def test_goals_are_said_to_be_met_or_missed(self):
        figures, tables, _ = self.measure()
        self.assertEqual(flash_bench.goals_missed(figures, True), [])
        self.assertNotIn("missed", tables)
        self.assertEqual(flash_bench.goals_missed(figures, False), ["simulated_kills"])
        (self.folder / "misses").write_text(json.dumps(ROWS["misses"][0] | {"mops": 9.9}))
        figures, tables, _ = self.measure()
        self.assertEqual(flash_bench.goals_missed(figures, True), ["misses_mops"])
        self.assertIn("missed", tables)

    def test_in_full_it_kills_until_there_were_enough(self):
        figures, _, _ = self.measure(("kills",), quick=False)
        self.assertEqual((figures["simulated_kills"], figures["simulated_copies"]), (10_000, 25 * 70))

    def test_a_program_that_fails_is_no_figure(self):
        (self.folder / "fails").write_text("reads")
        with self.assertRaisesRegex(Failed, "status 3"):
            self.measure()
        (self.folder / "fails").write_text("")
        (self.folder / "tests/stress/status").write_text("1")
        with self.assertRaisesRegex(Failed, "stress_tier from seed 1 on"):
            self.measure(("kills",))

    def test_lives_end_by_kills_but_for_some_and_what_they_find_is_summed(self):
        figures, tables, _ = self.measure(("kills", "sigkill"))
        self.assertEqual({name: figures[name] for name in (
            "kills_real", "kills_amid_conversion", "kills_writes", "kills_checked", "kills_found_on_flash", "wrong_values", "resurrected")},
            {"kills_real": 10, "kills_amid_conversion": 10, "kills_writes": 120, "kills_checked": 65, "kills_found_on_flash": 26, "wrong_values": 1,
             "resurrected": 0})
        self.assertEqual([what for what in FakeBed.did if what in ("kill", "end", "forget")],
                         ["forget"] + (["kill"] * 4 + ["end"]) * 2 + ["kill"] * 3)
        self.assertEqual(flash_bench.goals_missed(figures, True), ["wrong_values"])
        self.assertIn("missed", tables)

    def test_parts_are_chosen_by_name(self):
        self.assertEqual(bench_main.arguments(["flash", "--part", "raw"]).part, ["raw"])
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            bench_main.arguments(["flash", "--part", "no"])


class CountsTest(unittest.TestCase):
    def rows(self, part):
        done = subprocess.run([PROGRAM, *COUNTS[part], part], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True)
        return [{name: value for name, value in json.loads(line).items() if name not in TIMES}
                for line in done.stdout.splitlines()]

    def test_two_runs_agree_in_what_they_count(self):
        for part in COUNTS:
            with self.subTest(part):
                self.assertEqual(self.rows(part), self.rows(part))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
