#!/usr/bin/python3 -B
"""The timed parts of tools/bench front, with their servers and load generators replaced.

Goal: figures have the names that other tools look for, and a ratio compares two runs that follow each other.
A part that the build or the machine cannot run is listed, and has no figure. The level of tools/run --front
agrees with the servers' counts. The slow server answers in order, each request after its delay. Method: a bed
that returns rows made up here.
"""

import asyncio
import contextlib
import io
import json
import pathlib
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/py"))

import front_clients  # noqa: E402
import front_history  # noqa: E402
import front_load  # noqa: E402
import run_front  # noqa: E402
from progress import Failed  # noqa: E402


class Bed:
    """Returns a fixed rate for each server, a tenth of it higher in each round."""

    RATE = {1: 100_000, 2: 50_000, 3: 40_000, 4: 200_000}  # by pid
    CPU = {1: 0.1, 2: 0.5, 3: 0.8, 4: 0.2}
    SHARES = {1: {"own": 1, "kernel": 2, "servers": 1}, 2: {"own": 3, "kernel": 6, "servers": 4},
              3: {"own": 9, "kernel": 9, "servers": 3}, 4: {"own": 1, "kernel": 1, "servers": 0}}

    def __init__(self, keeps_copies=True, peers=("nutcracker", "mcproxy")):
        self.keeps_copies, self.asked, self.started, self.awaited = keeps_copies, [], [], []
        self.absent = {who: "it is not there" for who in front_load.PROXIES if who not in peers}
        self.peers = [types.SimpleNamespace(name=who, port=1000 + pid, pid=pid)
                      for pid, who in ((2, "nutcracker"), (3, "mcproxy")) if who in peers]
        self.wrong, self.moved, self.talked, self.alike, self.fleets = [], 7, [], False, []
        self.rounds, self.gets, self.dead, self.loads, self.looks = {}, [0, 0, 0, 0], None, [], 0

    def start_front(self, copies=None, servers=None, mode="sole", *options):
        self.started.append(copies)
        return types.SimpleNamespace(host="front", pid=1)

    @contextlib.contextmanager
    def servers_to(self, count):
        self.fleets.append(count)
        yield list(range(11311, 11311 + count))

    def certificates(self):
        return "folder"

    def tls_proxies(self, words):
        return [peer for peer in self.peers if peer.name == "mcproxy"]

    def inside_run(self, words, *command):
        """Returns 3 microseconds of the processor for a get of the first program, 6 for the second, and so on."""
        names = [word.partition("=")[0] for word in command if "=" in str(word)]
        return "a line\n" + json.dumps({name: [900 / (i + 1)] for i, name in enumerate(names)})

    def frames_alike(self, mtu):
        self.alike = mtu
        return ("--mtu", mtu)

    def talk_at(self, words, host, port, *options):
        """Returns a row in which the front has twice nutcracker's rate."""
        self.talked.append((self.alike, options[options.index("--value-min") + 1], options[options.index("--connections") + 1]))
        return {"goodput_mbs": 200 if host == "front" else 100 if port == 1002 else 50}

    def start_own(self, number):
        return types.SimpleNamespace(host="own", pid=4)

    def await_copies(self, front):
        self.awaited.append(self.started[-1])

    def end(self, server):
        pass

    @contextlib.contextmanager
    def turn_of(self, server):
        yield

    def ask_at(self, words, host, port, pid, keys, *options):
        if "--fill" in options:
            return {}
        part = words.split(",")[0]
        number = self.rounds[part, pid] = self.rounds.get((part, pid), 0) + 1
        rate = self.RATE[pid] * (1 + number / 10)
        if part == "level":
            for i, more in enumerate((100, 50, 30, 20) if self.started[-1] == "auto" else (700, 100, 100, 100)):
                self.gets[i] += more
        return {"seconds": 2, "requests_per_s": rate, "keys_per_s": 100 * rate, "hits": 900, "misses": 100,
                **{f"{side}_cpu_s": self.CPU[pid] * 2 * rate / 1e4 for side in ("server", "machine")}}

    def wire(self, words, kind, *options):
        self.asked.append((kind, *map(str, options)))
        keys = 100 if kind == "multiget" else 1
        n = len(self.asked)
        # In four pairs, one had no CPU and one is an outlier.
        hits = [[[90 + n, 500], [100, 400]], [[0, 0], [100, 400]], [[91 + n, 500], [100, 450]], [[900, 50], [100, 400]]]
        return {"pairs": {"pairs": hits}, kind: {"requests_per_s": 2e6 / keys * n, "keys_per_s": 2e6 * n, "server_ns": 500.0 * keys,
                       "slice_best_tenth_per_s": 3e6 / keys, "server_busy": 0.9, "generator_busy": 0.8},
                "fleet": {"keys_a_request": 9.5}}

    def cpu_now(self, pid):
        self.looks += 1
        return {what: us * 1e-6 * 1000 * self.looks for what, us in self.SHARES[pid].items()}

    def busy_s(self, host):
        us = self.SHARES[1]  # half of its own code's turns found nothing to do
        return (us["kernel"] + us["own"] / 2) * 1e-6 * 1000 * self.looks

    def server_gets(self):
        return list(self.gets)

    @contextlib.contextmanager
    def slow_server(self):
        yield 11399

    @contextlib.contextmanager
    def far_server(self, ms):
        yield 11398

    def streams_program(self, words, what, host, port, rounds):
        names = ("incr", "set", "set_get", "sets", "deletes", "line")
        ms = {name: (30.0 if name == "set" else 22.0) if host == "front" else 20.0 for name in names}
        return {"ms": {name: [one, one, one + rounds] for name, one in ms.items()}, "wrong": self.wrong}

    @contextlib.contextmanager
    def proxies_of(self, servers, port):
        yield self.peers

    def clients_program(self, words, what, host, *options):
        if what == "cold":
            return {"gets": 1 if host == "front" else 1000, "right": 999, "of": 1000}
        if what == "age":
            return {"gets": 1000, "old": 900, "max_ms": 937.5, "violations": 0, "faults": []}
        return {"p99_us": 110.0 if self.dead else 100.0, "missed": 0}

    def history(self, words, number):
        return {"violations": number + 1, "faults": ["k1: old"], "get": 1250, "miss": 20, "write": 30, "lost": 1, "copied": 512}

    @contextlib.contextmanager
    def growing_front(self, *options):
        self.warms = "--front-warm" in options
        yield types.SimpleNamespace(host="front", pid=1)

    def growing_clients(self, words, front, keys, seconds, changes):
        """Returns a row in which hits drop in the second of each change, by half a point or by a fifth."""
        self.changes = changes
        hits = [1.0] * seconds
        for second, count in changes:
            hits[second] = 0.995 if self.warms else 0.8
        return {"hits": hits, "gets": [1000] * seconds, "errors": 0}

    def grown_history(self, words, number, front, changes, pause_s):
        return {"violations": 2 if self.moved else 0, "faults": ["k2: older"], "get": 1250, "miss": 20, "write": 30, "lost": 1, "copied": 0}

    def rows_of(self, front, reply):
        return {"front_handed_over": str(self.moved)}

    def store_where(self, host, keys, port):
        return set(keys[port % 4::4])

    def ports(self):
        return [11312, 11313, 11314, 11315]

    def kill_server(self, port):
        self.dead = port

    def start_server(self, port):
        self.dead = None


def measure(bed, *parts, quick=True):
    kept = []
    with contextlib.redirect_stdout(io.StringIO()) as out:
        figures = front_load.measure(bed, quick, parts, lambda found: kept.append(dict(found)))
    return figures, out.getvalue(), kept


class FrontLoadTest(unittest.TestCase):
    def test_wrong_answers_of_a_pipeline_end_the_run(self):
        bed = Bed()
        bed.wrong = ["set: other answers"]
        with self.assertRaises(Failed):
            measure(bed, "streams")

    def test_history_without_moved_keys_is_no_figure(self):
        bed = Bed()
        bed.moved = 0
        with self.assertRaises(Failed):
            measure(bed, "warm")

    def test_fleet_grows_and_shrinks_at_its_seconds(self):
        bed = Bed()
        measure(bed, "warm", quick=False)
        self.assertEqual(bed.changes, [(front_load.GROWTH_S, 8), (2 * front_load.GROWTH_S, 6)])

    def test_every_promised_figure_is_there(self):
        figures, tables, kept = measure(Bed(), *front_load.TIMED)
        self.assertAlmostEqual(figures["front_hit_ratio_of_tcp_get"], 0.925)  # the median of 92 and 93 of 100
        self.assertEqual(figures["front_hit_ratio_of_tcp_get_spread"], [0.92, 0.93])
        self.assertEqual(figures["front_hit_ratio_of_tcp_get_core_ns"], 0.9)
        self.assertAlmostEqual(figures["front_hit_ratio_of_itself"], 0.94)
        self.assertEqual(figures["front_kernel_hit_ratio_of_tcp_get"], 0.5)
        self.assertEqual(figures["front_stream_set_ms"], 30)
        self.assertEqual(figures["pipe_incr_vs_nutcracker"], 1.5)  # sets, which are slower
        self.assertEqual(figures["pipe_distinct_vs_mcproxy"], 1.1)
        self.assertEqual(figures["front_forward_mops"], 9)          # the mean of 8 and 10
        self.assertEqual(figures["front_multiget_miss_mkeys"], 13)  # the mean of 12 and 14
        self.assertEqual(figures["front_multiget_miss_mkeys_best_tenth"], 3)
        self.assertEqual(figures["front_multiget_core_ns"], 500)
        for who in ("nutcracker", "mcproxy"):
            for name in ("hit_mops", "forward_mops", "multiget_miss_mkeys", "forward_server_cpu_us"):
                self.assertIn(f"front_{who}_{name}", figures)
        self.assertEqual(figures["front_kernel_cpu_server_cpu_vs_better"], 5)  # nutcracker's 50 us by 10
        self.assertEqual(figures["front_cpu_server_cpu_vs_better"], 100)  # by 500 ns
        self.assertAlmostEqual(figures["front_kernel_cpu_kernel_cpu_us"], 2)
        self.assertAlmostEqual(figures["front_kernel_cpu_server_cpu_vs_better_best_possible"], 25)  # 50 us by those 2
        self.assertIn("5.00 times less CPU than the better one; 25.00 if its own code cost nothing", tables)
        self.assertAlmostEqual(figures["front_kernel_cpu_servers_cpu_vs_better"], 3)  # 3 us by 1
        self.assertAlmostEqual(figures["front_kernel_cpu_fleet_cpu_vs_better"], 13 / 4)
        self.assertEqual(figures["front_cold_gets"], 1)
        self.assertEqual(figures["front_cold_wrong"], 2)
        self.assertEqual(figures["front_mcproxy_cold_gets"], 1000)
        self.assertEqual(figures["front_kill_p99_ratio"], 1.1)
        self.assertEqual(figures["busiest_by_mean_real_zipf101"], 0.4)
        self.assertEqual(figures["busiest_by_mean_real_zipf101_no_copies"], 2.8)
        self.assertEqual((figures["staleness_max_ms"], figures["staleness_violations"]), (937.5, 0))
        self.assertEqual((figures["violations"], figures["violations_calls"]), (1, 1300))
        self.assertIn("k1: old", tables)
        self.assertEqual((figures["warm_dip_points"], figures["cold_dip_points"]), (0.5, 20))
        self.assertEqual(figures["warm_dip_points_each"], [0.5, 0.5])
        self.assertEqual((figures["warm_stale"], figures["warm_stale_moved"]), (2, 7))
        self.assertIn("k2: older", tables)
        for load in ("even", "zipf", "hot", "keys_100", "clients_1000", "clients_5000", "servers_32", "servers_200"):
            self.assertAlmostEqual(figures[f"cpu_vs_nutcracker_{load}"], 0.2)  # 10 us by 50
            self.assertAlmostEqual(figures[f"cpu_vs_mcproxy_{load}"], 0.125)
            self.assertAlmostEqual(figures[f"cpu_own_vs_nutcracker_{load}"], 0.033)  # a third of 10 us, half of it busy
        self.assertEqual((figures["tls_front_kops"], figures["tls_mcproxy_kops"], figures["tls_front_vs_mcproxy"]), (900, 450, 2))
        self.assertEqual(figures["front_left_out"], [])
        self.assertEqual(kept[-1]["front_runs"], figures["front_runs"])
        for words in ("Over the wire", "One cold key", "hit, a kernel client"):
            self.assertIn(words, tables)

    def test_a_build_without_copies_says_so(self):
        bed = Bed(keeps_copies=False)
        figures, tables, _ = measure(bed, *front_load.TIMED)
        for name in ("front_hit_ratio_of_tcp_get", "front_kernel_hit_mops", "front_cpu_server_cpu_vs_better",
                     "front_kernel_cpu_server_cpu_vs_better",
                     "busiest_by_mean_real_zipf101"):
            self.assertNotIn(name, figures)
        self.assertIn("front_nutcracker_hit_mops", figures)
        self.assertEqual(len(figures["front_left_out"]), 7)
        self.assertIn("front in hit is not measured: this build keeps no copies", tables)

    def test_large_values_are_compared_on_frames_that_are_alike(self):
        bed = Bed()
        figures, _, _ = measure(bed, "large")
        self.assertEqual(set(bed.talked), {(9000, 100_000, 200), (1500, 100_000, 200)})
        self.assertEqual((figures["large_100k_vs_nutcracker"], figures["large_100k_vs_mcproxy"]), (2, 4))
        self.assertEqual((figures["front_large_100k_mbs"], figures["front_large_100k_1500_mbs"]), (200, 200))

    def test_costs_are_those_of_fleets_of_each_size(self):
        bed = Bed()
        measure(bed, "cost")
        self.assertEqual((bed.fleets, bed.started), ([4, 32, 200], 3 * ["auto"]))

    def test_tls_without_a_proxy_is_the_fronts_alone(self):
        figures, _, _ = measure(Bed(peers=("nutcracker",)), "tls")
        self.assertEqual(figures["tls_front_kops"], 900)
        self.assertIn("tls of memcached's proxy", figures["front_left_out"][-1])

    def test_who_is_absent_is_named(self):
        figures, tables, _ = measure(Bed(peers=("nutcracker",)), "forward")
        self.assertEqual(figures["front_left_out"], ["mcproxy: it is not there"])
        self.assertNotIn("front_mcproxy_forward_mops", figures)
        self.assertIn("front_forward_server_cpu_vs_better", figures)

    def test_copies_are_kept_where_a_part_is_about_them(self):
        for part, copies in (("hit", [front_load.HIT_COPIES]), ("forward", ["0"]), ("mixed", ["0"]), ("multiget", ["0"]), ("cpu", ["auto"]),
                             ("level", ["auto", "0"]), ("cold", ["auto"]), ("kill", ["0"])):
            bed = Bed()
            measure(bed, part)
            self.assertEqual(bed.started, copies, part)
            # A cold key has no copy; the clients that request it share a get.
            self.assertEqual(bed.awaited, [one for one in copies if one != "0" and part != "cold"], part)

    def test_copies_are_awaited_until_no_get_reaches_a_server(self):
        class Front:
            keys, gets, silent = 0, 0, True

            def ask(self, text):
                if text != run_front.STATS:
                    self.gets += 1
                    self.keys += 16 if self.gets < 3 else 1 if self.gets == 3 else 0
                    return b""
                if self.silent:  # an answer comes only once it serves
                    self.silent = False
                    return b""
                return b"STAT 0:keys %d\r\nSTAT 1:keys 7\r\nEND\r\n" % self.keys

        front = Front()
        with mock.patch.multiple(run_front, POLL_S=0), contextlib.redirect_stderr(io.StringIO()):
            run_front.await_copies(front.ask)
            self.assertEqual(front.gets, 4)
            never = Front()
            never.gets = -1000000
            with mock.patch.multiple(run_front, COPIES_S=0.01), self.assertRaises(Failed):
                run_front.await_copies(never.ask)

    def test_copies_of_shared_mode_are_awaited_although_they_end_between_two_looks(self):
        class Front:
            keys, over, now = 0, True, 0.0

            def ask(self, text):
                if text != run_front.STATS:
                    self.keys, self.over = self.keys + self.over, False
                return b"STAT 0:keys %d\r\nEND\r\n" % self.keys

            def sleep(self, seconds):  # the test's own clock, so that a busy machine changes nothing
                self.now, self.over = self.now + seconds, True

        front = Front()
        clock = types.SimpleNamespace(monotonic=lambda: front.now, sleep=front.sleep)
        with mock.patch.multiple(run_front, time=clock), contextlib.redirect_stderr(io.StringIO()):
            run_front.await_copies(front.ask)

    def test_a_full_run_asks_for_as_many_keys_as_the_issue(self):
        bed = Bed()
        measure(bed, "forward", quick=False)
        words = bed.asked[0]
        self.assertEqual(words[words.index("--keys") + 1], "10000000")
        self.assertEqual(len(bed.asked), front_load.ROUNDS)


class LevelTest(unittest.TestCase):
    def test_a_bar_is_half_full_at_the_mean_of_all_that_is_asked(self):
        text = ("STAT cmd_get 60\r\nSTAT cmd_set 40\r\nEND\r\nSTAT 0:name a\r\nSTAT 0:keys 30\r\nSTAT 1:name b c\r\n"
                "STAT 1:keys 20\r\nEND\r\n")
        now = run_front.counts(text)
        self.assertEqual(now, (100, [30, 20]))
        line = run_front.level((0, [0, 0]), now)
        self.assertEqual(line, "level |####        |##          | busiest 0.60 of the mean, 50% of all reaches servers")
        self.assertEqual(run_front.level((0, [0, 0]), (0, [20, 0])),
                         "level |############|            | busiest 2.00 of the mean, 100% of all reaches servers")
        self.assertIsNone(run_front.level(now, now))


class AgesTest(unittest.TestCase):
    def test_an_age_is_counted_from_the_write_that_came_next(self):
        ages = front_clients.Ages(1.0, ["a"])
        done_s = [10.0, 11.0, 12.0]
        for asked_s, value, oldest_s, violations in ((12.5, 2, 0, 0), (11.0, 0, 0, 0), (12.5, 1, 0.5, 0),
                                                     (12.0, 0, 1.0, 0), (12.5, None, 1.0, 0), (12.5, 0, 1.5, 1)):
            ages.judge(done_s, asked_s, value)
            self.assertEqual((ages.oldest_s, ages.violations), (oldest_s, violations))
        self.assertEqual((ages.gets, ages.old, ages.missed), (6, 3, 1))


class HistoryTest(unittest.TestCase):
    """Each row: the calls recorded, and how many of them no order explains. In all, 1 was set from 10 to 20, and 2 from
    30 to 40."""

    SETS = (("write", 10, 20, "1"), ("write", 30, 40, "2"))

    def test_an_order_is_found_or_missed(self):
        for calls, lies in (
                ((("get", 21, 29, "1"), ("get", 41, 50, "2")), 0),
                ((("get", 31, 39, "2"), ("get", 31, 38, "1")), 0),
                ((("get", 41, 50, "1"),), 1),                          # old
                ((("get", 11, 15, "1"), ("get", 45, 50, "1")), 1),
                ((("get", 5, 8, "1"),), 1),                            # before it was there
                ((("get", 21, 29, "9"),), 1),                          # nobody's
                ((("miss", 21, 29, None), ("get", 41, 50, "2")), 0),   # a cache forgets,
                ((("miss", 41, 45, None), ("get", 46, 50, "2")), 1),   # once
                ((("miss", 15, 55, None), ("get", 46, 50, "2")), 0),
                ((("lost", 21, 25, "3"), ("get", 90, 95, "3")), 0),    # executed late
                ((("lost", 21, 25, "3"), ("get", 90, 95, "2")), 0),    # or never
                ((("lost", 21, 25, "3"), ("get", 26, 28, "3"), ("get", 90, 95, "2")), 0),
                ((("lost", 41, 45, "3"), ("get", 46, 48, "3"), ("get", 90, 95, "2")), 1),
                ((("lost", 41, 45, "3"), ("get", 46, 48, "3"), ("get", 50, 52, "2"), ("get", 90, 95, "3")), 1),
                ((("write", 50, 60, 5_000_000), ("write", 61, 65, 5_000_001), ("get", 66, 70, 5_000_001)), 0),
                ((("write", 50, 60, 5_000_001), ("write", 61, 65, 5_000_001)), 1),  # two counted the same
                ((("lost", 41, 45, None), ("get", 66, 70, 5_000_001)), 0)):         # a count without an answer
            key = front_history.Key()
            for kind, began, ended, value in (*self.SETS, *calls):
                key.note(kind, began, ended, value)
            self.assertEqual(bool(key.judge()), bool(lies), calls)


class SlowServerTest(unittest.TestCase):
    def test_it_answers_as_memcached_does(self):
        self.assertEqual(front_clients.answer_of(b"get", [b"a", b"b"]),
                         (b"VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\nx\r\nEND\r\n", 2))
        self.assertEqual(front_clients.answer_of(b"mg", [b"a", b"v", b"O7"]), (b"VA 1 O7\r\nx\r\n", 1))
        self.assertEqual(front_clients.answer_of(b"mn", []), (b"ERROR\r\n", 0))

    def test_answers_keep_their_order_and_do_not_add_up(self):
        class Writer:
            def __init__(self):
                self.bytes, self.closed = b"", False

            def write(self, text):
                self.bytes += text

            async def drain(self):
                pass

            def close(self):
                self.closed = True

        async def scenario():
            answers, writer = asyncio.Queue(), Writer()
            slept = []

            async def sleep(seconds):
                slept.append(seconds)

            real, front_clients.asyncio.sleep = asyncio.sleep, sleep
            try:
                for due in ((5, b"a"), (5, b"b"), (6, b"c"), None):
                    answers.put_nowait(due)
                front_clients.time = types.SimpleNamespace(monotonic=lambda: 5)
                await front_clients.answer_in_time(answers, writer)
            finally:
                front_clients.asyncio.sleep = real
            return writer, slept

        writer, slept = asyncio.run(scenario())
        self.assertEqual((writer.bytes, writer.closed, slept), (b"abc", True, [0, 0, 1]))


if __name__ == "__main__":
    unittest.main()
