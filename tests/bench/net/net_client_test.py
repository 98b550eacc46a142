#!/usr/bin/python3 -B
"""Tests that the clients of tools/bench loss and flood detect faults.

Goal: talk counts a wrong byte, a wrong answer, a reset and a stall, and none where there is none;
connect_probe times new connections and counts those that get no answer.
Method: a small cache in this file that lies, resets or waits on demand, on loopback.
Usage: net_client_test.py TALK PROBE
"""

import json
import pathlib
import socketserver
import struct
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import local_server  # noqa: E402

TALK, PROBE = sys.argv[1:3]
STALL_S = 0.4


class Cache(socketserver.StreamRequestHandler):
    """A cache with set and get, and the fault that the server's `fault` names."""

    def handle(self):
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while line := self.rfile.readline():
                self.answer(line.split())
        except (ConnectionError, BrokenPipeError):
            pass

    def answer(self, words):
        self.server.asked += 1
        due = self.server.asked == self.server.fault_at
        if words[0] == b"set":
            value = self.rfile.read(int(words[4]))
            self.rfile.read(2)
            spoiled = self.server.fault == "byte" and 0 < self.server.fault_at <= self.server.asked
            self.server.values[words[1]] = bytes([value[0] ^ 1]) + value[1:] if spoiled else value
            self.wfile.write(b"STORED\r\n")
            return
        value = self.server.values.get(words[1])
        if due and self.server.fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionError
        if due and self.server.fault == "stall":
            time.sleep(STALL_S)
        if due and self.server.fault == "forget" or value is None:
            self.wfile.write(b"END\r\n")
        elif due and self.server.fault == "word":
            self.wfile.write(b"STORED\r\n")
        else:
            self.wfile.write(b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (words[1], len(value), value))


class Server(local_server.LocalServer):
    def __init__(self, fault=None, fault_at=0):
        self.fault, self.fault_at, self.asked, self.values = fault, fault_at, 0, {}
        super().__init__(Cache)


def ask(program, server, *args):
    port = server.getsockname()[1] if isinstance(server, socket.socket) else server.server_address[1]
    done = subprocess.run([program, "127.0.0.1", str(port), *args],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def run_until(is_enough, run):
    """Returns the row of run(ms) with an ms that is long enough: on a busy machine the client may get no CPU for a
    while."""
    for ms in (300, 1000, 5000, 20000):
        row = run(ms)
        if is_enough(row):
            break
    return row


def talk(server, ms):
    # With one connection and one request at a time the fault hits a get of a key that was set.
    return ask(TALK, server, "--connections", "1", "--depth", "1", "--keys", "1", "--value-max",
               "1000", "--ms", str(ms), "--drain-ms", "20000")


class TalkTest(unittest.TestCase):
    CLEAN = {"wrong_bytes": 0, "wrong_answers": 0, "resets": 0, "stuck": 0, "misses": 0}

    def check(self, row, **expected):
        want = self.CLEAN | expected
        self.assertEqual({name: row[name] for name in want}, want, row)
        self.assertGreater(row["goodput_mbs"], 0)

    def faulty(self, fault, kind):
        """Returns the client's row. After some other requests, the first of that kind is answered with the fault."""
        original = Cache.answer
        met = []

        def answer(handler, words):
            server = handler.server
            if server.asked > 100 and server.fault_at == 0 and words[0] == kind:
                server.fault_at = server.asked + 1
                met.append(server)
            original(handler, words)

        Cache.answer = answer
        self.addCleanup(setattr, Cache, "answer", original)
        row = run_until(lambda row: met, lambda ms: talk(Server(fault), ms))
        self.assertTrue(met)
        return row

    def test_an_honest_cache_is_right(self):
        row = run_until(lambda row: min(row["sets"], row["gets"]) > 20,
                        lambda ms: ask(TALK, Server(), "--connections", "8", "--depth", "4",
                                       "--value-max", "200000", "--ms", str(ms)))
        self.check(row)
        self.assertEqual(row["connects"], 8)
        self.assertGreater(min(row["sets"], row["gets"]), 20)

    def test_a_wrong_byte_in_a_value_is_seen(self):
        row = self.faulty("byte", b"set")  # the faulty set and every set after it
        self.assertGreater(row["wrong_bytes"], 0)
        self.check(row, wrong_bytes=row["wrong_bytes"])

    def test_a_value_that_is_gone_is_a_miss(self):
        self.check(self.faulty("forget", b"get"), misses=1)

    def test_a_word_no_server_says_is_a_wrong_answer(self):
        self.check(self.faulty("word", b"get"), wrong_answers=1)

    def test_a_reset_is_counted_and_the_connection_opened_again(self):
        row = self.faulty("reset", b"get")
        self.check(row, resets=1, connects=2)

    def test_a_stall_is_timed(self):
        row = self.faulty("stall", b"get")
        self.check(row)
        # A client that got no CPU meanwhile measures a shorter stall.
        self.assertGreater(row["longest_stall_s"], STALL_S / 2)

    def test_who_never_answers_is_stuck(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            row = ask(TALK, silent, "--connections", "3", "--ms", "100", "--drain-ms", "300")
        self.assertEqual((row["stuck"], row["goodput_mbs"]), (3, 0))
        self.assertGreater(row["longest_stall_s"], 0.2)

    def test_all_are_connected_before_anything_is_measured(self):
        row = run_until(lambda row: row["goodput_mbs"] > 0,
                        lambda ms: ask(TALK, Server(), "--connections", "4", "--connect-ms", "20000",
                                       "--ms", str(ms)))
        self.check(row)
        self.assertEqual(row["connects"], 4)

    def test_who_cannot_connect_in_time_ends_it(self):
        # A queue of one: the kernel answers no further SYN.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with self.assertRaisesRegex(AssertionError, "not all are connected"):
                ask(TALK, full, "--connections", "8", "--connect-ms", "300", "--ms", "100")


class KnockTest(unittest.TestCase):
    def test_every_probe_is_answered(self):
        row = ask(PROBE, Server(), "--ms", "500", "--every-ms", "50")
        self.assertEqual((row["answered"], row["failed"]), (row["tried"], 0))
        self.assertIn(row["tried"], range(1, 11))  # on a busy machine some attempts are left out
        self.assertGreater(row["longest_s"], 0)

    def test_no_answer_within_the_limit_is_a_failure(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            row = ask(PROBE, silent, "--ms", "200", "--every-ms", "50", "--limit-ms", "300")
        self.assertEqual((row["answered"], row["failed"]), (0, row["tried"]))
        self.assertIn(row["tried"], range(1, 5))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
