#!/usr/bin/python3 -B
"""bench_wire_test.py BENCH_WIRE - tests bench_wire, which has both cores in one process.

Goal: every kind of request is answered right over the wire, rows have what tools/bench vs reads, and the residence of
an open loop is shorter than the latency it is part of; a mistake is one line. Method: the program as built, few keys,
and a number of requests: a run ends when they are answered, however seldom other work leaves the two cores their CPUs.
"""

import json
import os
import subprocess
import sys
import unittest

WIRE = sys.argv[1]
LIMIT_S = 90
REQUESTS = 5000
TRIES = 5
KINDS = {"udp_get": 1, "tcp_get": 1, "tcp_pipelined": 1, "multiget": 100}


def wire(*words):
    return subprocess.run([WIRE, *words], capture_output=True, text=True, timeout=LIMIT_S)


def rows(*words):
    done = wire(*words, "--keys", "1000", "--runs", "1", "--ms", "100", "--requests", str(REQUESTS))
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {row["part"]: row for row in map(json.loads, done.stdout.splitlines())}


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "server and client need a CPU each")
class Wire(unittest.TestCase):
    def test_every_kind_is_answered(self):
        for kind, keys in KINDS.items():
            with self.subTest(kind):
                found = rows(kind)
                self.assertGreater(found["echo"]["frames_per_s"], 0)
                row = found[kind]
                self.assertEqual(row["requests"], REQUESTS)
                self.assertGreater(row["requests_per_s"], 0)
                if keys > 1:
                    self.assertAlmostEqual(row["keys_per_s"] / row["requests_per_s"], keys, 2)
                for side in ("generator", "server"):  # busy shares may round to 0; these do not
                    self.assertGreater(row[f"{side}_ns"], 0)
                    self.assertLessEqual(row[f"{side}_busy"], 1.01)

    def test_residence_is_a_part_of_the_latency(self):
        # Requests of the warm-up count in only one of the two figures, so other work may make them differ.
        found = [rows("udp_get", "--load", "30")["open_loop"]]
        while len(found) < TRIES and found[-1]["residence_p50_us"] > found[-1]["p50_us"] * 1.01:
            found.append(rows("udp_get", "--load", "30")["open_loop"])
        self.assertGreater(found[-1]["residence_p50_us"], 0)
        self.assertLessEqual(found[-1]["residence_p50_us"], found[-1]["p50_us"] * 1.01)

    def test_values_and_popularity_are_as_asked(self):
        for lent in ((), ("--lent",)):
            row = rows("tcp_get", "--value", "100000", "--zipf", "0.99", "--sets", "0", *lent)["tcp_get"]
            self.assertGreater(row["bytes_per_s"] / row["requests_per_s"], 100_000)

    def test_a_front_asks_its_servers_for_every_key(self):
        found = rows("multiget", "--front", "4")
        self.assertEqual(found["multiget"]["requests"], REQUESTS)
        fleet = found["fleet"]
        self.assertEqual((fleet["servers"], fleet["failed"]), (4, 0))
        self.assertGreaterEqual(fleet["keys"], REQUESTS * 100)  # and those of the warm-up
        self.assertGreater(fleet["keys_a_request"], 1)

    def test_servers_that_are_bypassed_are_asked_nothing(self):
        found = rows("tcp_get", "--front", "4", "--bypassed")
        self.assertEqual((list(found), found["tcp_get"]["requests"]), (["tcp_get"], REQUESTS))

    def test_copies_answer_what_was_asked_before(self):
        fleet = rows("tcp_get", "--front", "4", "--copies", "8000", "--sets", "0")["fleet"]
        # Each key is requested from its server until the front has a copy.
        self.assertLess(fleet["keys"], REQUESTS)

    def test_pairs_are_of_a_front_and_of_a_core_that_is_none(self):
        found = rows("tcp_get", "--front", "4", "--copies", "8000", "--sets", "0", "--pairs", "2")
        self.assertEqual([len(pair) for pair in found["pairs"]["pairs"]], [2, 2])
        self.assertGreater(min(figure for pair in found["pairs"]["pairs"] for side in pair for figure in side), 0)
        self.assertEqual([found[who]["requests"] for who in ("tcp_get", "alone")], [REQUESTS, REQUESTS])
        self.assertGreater(found["fleet"]["keys"], 0)

    def test_a_flood_to_the_kernel_is_refused_and_every_request_answered(self):
        # A loop that gets little CPU sends less than its rate, so no figure has a least value.
        for kind in ("udp_get", "tcp_get"):
            with self.subTest(kind):
                found = rows(kind, "--flood", "1000000")["flood"]
                (with_flood, alone, refused_s, *_), = found["pairs"]
                self.assertGreater(min(with_flood, alone, refused_s), 0)

    def test_mistakes_are_one_line(self):
        for words in ((), ("nonsense",), ("udp_get", "--zipf", "9"), ("udp_get", "--cpus", "1"),
                      ("udp_get", "--front", "4"), ("tcp_get", "--pairs", "2"),
                      ("tcp_get", "--front", "4", "--flood", "9")):
            done = wire(*words)
            self.assertIn(done.returncode, (1, 2))  # 2: a wrong option
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
