#!/usr/bin/python3 -B
"""Tests of tools/bench restart: its journal, and its figures, without appliances and clients.

Goal: a wrong value, an old one that returned and one that was lost are counted apart, and a write under way may be done
or not; a run that would prove nothing gives no figure. Method: a server's answers from a dictionary; a bed and a client
that return rows made up here.
"""

import contextlib
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import progress  # noqa: E402
import restart_bench  # noqa: E402
import restart_client  # noqa: E402
from progress import Failed  # noqa: E402


class FakeLine:
    """A server with the given keys, which answers gets only."""

    def __init__(self, has):
        self.has = has

    def get_many(self, keys, verb=b"get"):
        return {key: (self.has[key], b"1") for key in keys if key in self.has}


class JournalTest(unittest.TestCase):
    def judge(self, may, got, dead_at=None, full=False):
        writer = restart_client.Writer(0)
        key = next(iter(writer.may))
        writer.may[key] = may
        if dead_at is not None:
            writer.dead_at[key] = dead_at
        told = dict.fromkeys(("checked", "live", "lost", "resurrected", "wrong"), 0)
        writer.check(FakeLine({} if got is None else {key: got}), told, full)
        self.assertEqual(told["checked"], restart_client.KEYS)
        return {name for name in ("lost", "resurrected", "wrong") if told[name]}, writer.may[key]

    def test_what_is_found_is_the_last_value_or_the_one_under_way(self):
        far = 1e18
        for may, got, dead_at, found in (
                ({b"1"}, b"1", None, set()), ({b"1", b"2"}, b"1", None, set()), ({b"1", b"2"}, b"2", None, set()),
                ({None}, None, None, set()), ({b"1", None}, None, None, set()),
                ({b"1"}, b"2", None, {"wrong"}), ({b"1", None}, b"2", None, {"wrong"}),
                ({b"1"}, None, None, {"lost"}), ({b"1", b"2"}, None, None, {"lost"}),
                ({None}, b"1", None, {"resurrected"}),
                ({b"1", None}, b"1", far, set()), ({b"1", None}, b"1", 0, {"resurrected"}),
                ({b"1", None}, None, 0, set())):
            with self.subTest(may=may, got=got, dead_at=dead_at):
                self.assertEqual(self.judge(may, got, dead_at)[0], found)

    def test_what_is_missing_where_memory_is_full_was_evicted(self):
        for may, got, found in (({b"1"}, None, set()), ({b"1"}, b"2", {"wrong"}), ({None}, b"1", {"resurrected"})):
            self.assertEqual(self.judge(may, got, full=True)[0], found)

    def test_sums_go_on_when_the_journal_begins_anew(self):
        journal = restart_client.Journal()
        journal.writers[0].acknowledged, journal.crowd.grown = 3, 1
        self.assertEqual(journal.anew()["acknowledged"], 3)
        journal.writers[1].acknowledged = 4
        self.assertEqual((journal.sums()["acknowledged"], journal.sums()["grown"]), (7, 1))

    def test_a_new_process_counts_its_moved_pages_anew(self):
        crowd, rows = restart_client.Crowd(), iter(((64, 2), (64, 5), (128, 1), (96, 1)))
        self.addCleanup(setattr, restart_client, "stats", restart_client.stats)
        restart_client.stats = lambda line: dict(zip(("hash_bytes", "slabs_moved"), map(str, next(rows))),
                                                 evictions="0", hash_is_expanding="0")
        for _ in range(4):
            crowd.look(None)
        self.assertEqual((crowd.moved, crowd.grown, crowd.shrunk), (6, 1, 1))

    def test_what_was_found_is_what_must_be_there_next_time(self):
        self.assertEqual(self.judge({b"1", b"2"}, b"2")[1], {b"2"})
        self.assertEqual(self.judge({b"1", None}, b"1", 1e18)[1], {b"1", None})


class FakeClient:
    def __init__(self, bed):
        self.bed = bed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def tell(self, *words):
        self.words = words

    def row(self):
        if self.words[0] == "gets":
            return {"p50_us": 10, "p99_us": 22, "gets": 9, "wrong": self.bed.wrong}
        if self.words[0] == "write":
            return {"checked": 600, "live": 500, "lost": 1, "resurrected": 0, "wrong": 0,
                    "evictions": self.bed.evictions, "amid_resize": False}
        return {"acknowledged": 1000, "grown": 1, "shrunk": 1, "moved": 1}

    def ask(self, *words):
        if words[0] == "fill":
            self.bed.keys = words[1]
        return {"gets": {"p50_us": 10, "p99_us": 20, "gets": 9, "wrong": 0}, "check": {"kept": 90, "wrong": 0}, 
                "stats": {"restart_us": "2000", "restart": self.bed.kind, "restart_kept": "90", "bytes": "1000000000",
                          "used_chunks": 75, "total_chunks": 100}}.get(words[0], {})


class FakeRestartBed:
    client_ns = peer_ns = "x"
    wire = type("Wire", (), {"host": "x"})
    evictions, repairs, wrong = 0, True, 0

    def __init__(self, programs):
        self.kind, self.starts, self.kills = "empty", 0, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def client(self, ns, host):
        return FakeClient(self)

    def start(self, mebibytes, cores=1):
        self.starts += 1

    def take_pages(self, huge):
        pass

    def page_kb(self):
        return 2048

    def scratch(self):
        return "x"

    def save(self, path):
        return {"items": self.keys, "s": 0.5, "skew_ms": 400}

    def kill(self):
        self.kills += 1
        self.kind = "repaired" if self.repairs else "empty"

    def end(self):
        self.kind = "attached"

    def forget(self):
        self.kind = "empty"

    def memcached(self, mebibytes, client):
        pass

    def memcached_recovery_s(self):
        return 0.5

    def end_memcached(self, number):
        pass


def fake_program(words, **_):
    """Returns rows as cuts and bench_open print them."""
    rows = [{"kind": kind, "items": 2000, "item_bytes": 10**5, "summed_bytes": 2000, "check_ns": 100, "clear_ns": 0,
             "walk_ns": 90, "pages_ns": 10} for kind in ("repair", "attach")]
    return type("Done", (), {"returncode": fake_program.status, "stdout": "x: 9 calls, 1270 cuts, 0 refused, 10 successors, "
                             "1 openings watched, 9 cuts in them, 3 opened anew\n" if "cuts" in words[0].name else "".join(json.dumps(row) + "\n" for row in rows)})


class RestartTest(unittest.TestCase):
    def measure(self, quick=True, status=0, **bed):
        progress.quiet = True
        fake_program.status = status
        for name, fake in (("checked", self.checked), ("dd", lambda path, megabytes: (1.0, 2.0)),
                           ("RestartBed", type("Bed", (FakeRestartBed,), bed)), ("SnapshotBed", type("Bed", (FakeRestartBed,), bed)),
                           ("SNAPSHOT", (1, 8, 2, 3)), ("QUICK_SNAPSHOT", (1, 8, 2, 2)), ("WRITES_S", (0, 0)),
                           ("PEER_AWAY_S", 0),
                           ("subprocess", type("Subprocess", (), {"run": fake_program, "PIPE": None})),
                           ("budget", type("Budget", (), {"instructions": lambda program, case, *options: {
                               "instructions": 500 + len(options)}}))):
            self.addCleanup(setattr, restart_bench, name, getattr(restart_bench, name))
            setattr(restart_bench, name, fake)
        self.addCleanup(setattr, restart_bench.shutil, "which", restart_bench.shutil.which)
        restart_bench.shutil.which = lambda name: name
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return restart_bench.measure(pathlib.Path("/tmp"), quick, lambda figures: None), out.getvalue()

    def checked(self, program, *words):
        return ('{"bytes": 2000000000, "items": 4, "loaded": 2000000, "save_s": 2.0, "load_s": 1.0, "how": "io_uring"}')

    def test_every_promised_figure_has_its_name(self):
        for quick, kills, shapes in ((True, restart_bench.QUICK_KILLS, len(restart_bench.QUICK_MODEL)),
                                     (False, restart_bench.KILLS, len(restart_bench.MODEL))):
            figures, said = self.measure(quick)
            for name in ("kept_ratio_graceful attach_ms_per_gb attach_cores attach_ms_per_gb_object_bytes "
                         "attach_ms_per_gb_holes kills wrong_after_kill resurrected lost_ratio_after_kill "
                         "repair_mitems_per_core kills_real kills_model crc_gbytes_per_s_core get_cycles_ratio memcached_kept_ratio memcached_attach_ms_per_gb "
                         "memcached_kept_ratio_killed attach_core_ms_per_gb_40 attach_cores_ms_per_gb_40 save_gbytes_per_s load_gbytes_per_s save_by dd_write_gbytes_per_s "
                         "snapshot_get_p50_ratio snapshot_gbytes_per_s dd_read_gbytes_per_s load_mitems_per_s save_gbytes_per_s_1000_igzip0").split():
                self.assertIn(name, figures)
            self.assertEqual((figures["attach_ms_per_gb"], figures["attach_ms_per_gb_holes"]), (2, 0.25))
            self.assertEqual((figures["kills_real"], figures["lost_ratio_after_kill"]), (kills, 0.002))
            self.assertEqual((figures["kills_model"], figures["kills"]), (13 * shapes, kills + 13 * shapes))
            self.assertEqual((figures["crc_gbytes_per_s_core"], figures["repair_core_mitems"]), (20, 20000))
            self.assertEqual(figures["get_cycles_ratio"], 1.004)
            self.assertEqual((figures["snapshot_get_p99_ratio"], figures["snapshot_skew_ms"]), (1.1, 400))
            self.assertIn(f"{kills} kills amid 1000 writes", said)
            self.assertEqual((figures["save_ratio_dd"], figures["load_ratio_dd"]), (1, 1))

    def test_a_lie_of_the_model_is_told(self):
        with self.assertRaisesRegex(Failed, "cuts small"):
            self.measure(status=1)

    def test_the_time_of_memcached_is_its_own(self):
        self.assertAlmostEqual(restart_bench.recovery_s("[restart] recovery start [1795392279.24061]\nx\n"
                                                        "[restart] recovery end [1795392280.32702]\n"), 1.008641)
        self.assertIsNone(restart_bench.recovery_s("[restart] starting with a clean cache\n"))
        self.assertEqual(self.measure()[0]["memcached_attach_ms_per_gb"], 500)

    def test_a_kill_that_no_repair_follows_is_no_figure(self):
        with self.assertRaisesRegex(Failed, "followed by empty, not by a repair"):
            self.measure(repairs=False)

    def test_a_wrong_get_beside_a_save_is_no_figure(self):
        with self.assertRaisesRegex(Failed, "0 and 1 gets were wrong"):
            self.measure(wrong=1)

    def test_a_journal_beside_evictions_says_nothing(self):
        with self.assertRaisesRegex(Failed, "evicted"):
            self.measure(evictions=1)


if __name__ == "__main__":
    unittest.main()
