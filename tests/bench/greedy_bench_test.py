#!/usr/bin/python3 -B
"""Tests of the parts of tools/bench flood whose peers do not read or do not finish.

Goal: pairs alternate and a ratio is of its pair; misses and refusals beside the peers are counted; the clients report a
miss, a refusal and a wait, and none where there is none; the peers read nothing and reconnect. Method: a bed that
returns rows made up here; a small cache in this file, on loopback.
"""

import contextlib
import io
import json
import pathlib
import socketserver
import subprocess
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tools/py"
sys.path[:0] = [str(HERE), str(ROOT / "tests/support")]

import greedy_bench  # noqa: E402
import local_server  # noqa: E402
import progress  # noqa: E402

STALL_S, WAIT_S = 0.5, 60.0
NAME = "k:8:100:2000"


class FakeGreedyBed:
    """Control runs take 2, 3, ... ms at p99, and runs beside peers three times as long."""

    log = []

    def __init__(self, program, options, tls=False, front=False):
        self.beside, self.runs = False, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def bystanders(self, words, what, *more):
        if what == "fill":
            return {}
        if what == "even":
            return {"gets": 60, "missed": 2, "refused": 1}
        self.log.append(self.beside)
        base = 2 + self.runs // 2
        self.runs += 1
        return {"p99_ms": base * (3 if self.beside else 1), "longest_ms": 9, "missed": int(self.beside), "refused": 5 * (not self.beside),
                "words": []}

    @contextlib.contextmanager
    def greedy(self, peers, text, words):
        self.beside = True
        yield {"ended": 4}
        self.beside = False

    def stop_appliance(self):
        return {"TCP_SYNS": 1}


class FiguresTest(unittest.TestCase):
    def measure(self, quick, parts):
        progress.quiet = True
        FakeGreedyBed.log = []
        self.addCleanup(setattr, greedy_bench, "GreedyBed", greedy_bench.GreedyBed)
        greedy_bench.GreedyBed = FakeGreedyBed
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return greedy_bench.measure("program", quick, parts, lambda figures: None), out.getvalue()

    def test_pairs_alternate_and_a_ratio_is_of_its_pair(self):
        figures, shown = self.measure(False, ["one_key"])
        self.assertEqual(FakeGreedyBed.log, [False, True, True, False, False, True, True, False, False, True])
        self.assertEqual((figures["one_key_p99_ratio"], figures["one_key_p99_ratio_spread"]), (3.0, [3.0, 3.0]))
        self.assertEqual((figures["one_key_control_p99_ms"], figures["one_key_p99_ms"]), (4, 12))
        self.assertIn("one_key", shown)

    def test_what_is_missed_and_refused_beside_the_peers_is_counted(self):
        figures, _ = self.measure(False, ["front_unread"])
        self.assertEqual((figures["front_unread_missed"], figures["front_unread_refused"]), (5, 0))

    def test_false_misses_of_an_even_load_are_counted(self):
        figures, _ = self.measure(False, ["front_even"])
        self.assertEqual((figures["front_even_false_misses"], figures["front_even_refused"]), (10, 5))

    def test_half_a_hello_lacks_its_last_byte(self):
        text = greedy_bench.half_a_hello()
        self.assertEqual(text[0], 22)
        self.assertEqual(int.from_bytes(text[3:5], "big") + 5, len(text) + 1)


class Cache(socketserver.StreamRequestHandler):
    def handle(self):
        self.server.opened += 1
        with contextlib.suppress(ConnectionError, ValueError):
            while line := self.rfile.readline():
                words = line.split()
                if words[0] == b"set":
                    self.server.values[words[1]] = self.rfile.read(int(words[4]))
                    self.rfile.read(2)
                    self.wfile.write(b"STORED\r\n")
                else:
                    self.get(words[1])

    def get(self, key):
        self.server.gets += 1
        fault = self.server.fault if self.server.gets == 20 else ""
        if fault == "stall":
            time.sleep(STALL_S)
        value = None if fault == "miss" else self.server.values.get(key)
        if fault == "refuse":
            self.wfile.write(b"SERVER_ERROR no\r\n")
        elif fault == "end":
            raise ConnectionError
        elif value is None:
            self.wfile.write(b"END\r\n")
        else:
            self.wfile.write(b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value))


class Server(local_server.LocalServer):
    def __init__(self, fault=""):
        self.fault, self.gets, self.opened, self.values = fault, 0, 0, {}
        super().__init__(Cache)


def bystanders(server, what, *words):
    done = subprocess.run([sys.executable, "-B", str(HERE / "bystanders.py"), what, "127.0.0.1", str(server.server_address[1]), *words],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class BystandersTest(unittest.TestCase):
    def row(self, fault, what="get"):
        server = Server(fault)
        bystanders(server, "fill", NAME)
        return bystanders(server, what, "80", NAME)

    def told(self, fault, what="get"):
        row = self.row(fault, what)
        return row["requests"], row["missed"], row["refused"]

    def test_what_is_there_is_neither_missed_nor_refused(self):
        for what in ("get", "set"):
            self.assertEqual(self.told("", what), (80, 0, 0))

    def test_a_miss_a_refusal_and_an_end_are_seen(self):
        self.assertEqual(self.told("miss"), (80, 1, 0))
        self.assertEqual(self.told("refuse"), (80, 0, 1))
        self.assertEqual(self.told("end"), (80, 0, 1))

    def test_a_wait_counts_for_each_request_that_was_due(self):
        row = self.row("stall")
        self.assertGreater(row["longest_ms"], STALL_S * 500)
        self.assertGreater(row["p99_ms"], STALL_S * 250)

    def test_even_clients_see_a_miss(self):
        for fault, missed in (("", 0), ("miss", 1)):
            server = Server(fault)
            bystanders(server, "fill", NAME)
            for seconds in ("0.5", "2", "8", "32"):  # on a busy machine it may get no CPU for a while
                server.gets = 0
                row = bystanders(server, "even", seconds, NAME)
                if row["gets"] > 64:
                    break
            self.assertEqual((row["missed"], row["refused"]), (missed, 0), row)
            self.assertGreater(row["gets"], 64)


class PeersTest(unittest.TestCase):
    def peers(self, server, *words, until=lambda: True):
        with tempfile.NamedTemporaryFile() as file:
            file.write(greedy_bench.gets("k", 1))
            file.flush()
            child = subprocess.Popen([sys.executable, "-B", str(HERE / "greedy_peers.py"), "127.0.0.1", str(server.server_address[1]),
                                      "--peers", "5", "--send", file.name, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), "ready\n")
            time.sleep(0.5)
            end_s = time.monotonic() + WAIT_S
            while not until() and time.monotonic() < end_s:
                time.sleep(0.01)
            out, _ = child.communicate(timeout=60)
        return types.SimpleNamespace(**json.loads(out))

    def test_they_send_once_and_read_nothing(self):
        row = self.peers(Server())
        self.assertEqual((row.opened, row.sent, row.read), (5, 5 * len(b"get k0\r\n"), 0))

    def test_endless_ones_send_until_nothing_more_is_taken(self):
        self.assertGreater(self.peers(Server(), "--endless").sent, 10000)

    def test_slow_ones_read_slowly(self):
        row = self.peers(Server(), "--endless", "--read", "40")
        self.assertIn(row.read, range(10, 5 * 40 * 20))

    def test_who_is_ended_comes_again(self):
        class Ending(Cache):
            def get(self, key):
                raise ConnectionError

        server = Server()
        server.RequestHandlerClass = Ending
        row = self.peers(server, "--pause", "0.1", until=lambda: server.opened > 10)
        self.assertGreaterEqual(row.ended, 5)
        self.assertGreater(row.opened, 5)


if __name__ == "__main__":
    unittest.main()
