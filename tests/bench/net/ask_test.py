#!/usr/bin/python3 -B
"""ask_test.py ASK - the kernel client of tools/bench vs.

Goal: in every protocol it sends the requests of its options, detects a wrong byte, gives up a lost datagram and
continues, and reports the CPU time of server and client. Method: a small cache in this file, on loopback, that can lie.
"""

import json
import os
import pathlib
import re
import socketserver
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import local_server  # noqa: E402

ASK = sys.argv[1]
KEYS = 200
LIE_EVERY = 50
LOSE_EVERY = 20


class Store:
    """Values by key, and the fault of the server that has them."""

    def __init__(self, fault=None):
        self.fault, self.values, self.asked, self.lock = fault, {}, 0, threading.Lock()

    def value(self, key):
        with self.lock:
            self.asked += 1
            lie = self.fault == "byte" and self.asked % LIE_EVERY == 0
        value = self.values.get(key)
        return value if value is None or not lie else value[:-1] + bytes([value[-1] ^ 1])

    def text(self, line, data):
        words = line.split()
        if words[0] == b"set":
            self.values[words[1]] = data
            return b"STORED\r\n"
        found = [(key, self.value(key)) for key in words[1:]]
        return b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (key, len(value), value)
                        for key, value in found if value is not None) + b"END\r\n"

    def redis(self, words):
        if words[0] == b"SET":
            self.values[words[1]] = words[2]
            return b"+OK\r\n"
        found = [self.value(key) for key in words[1:]]
        values = b"".join(b"$-1\r\n" if v is None else b"$%d\r\n%s\r\n" % (len(v), v) for v in found)
        return b"*%d\r\n%s" % (len(found), values) if words[0] == b"MGET" else values


class Text(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while line := self.rfile.readline():
            data = self.rfile.read(int(line.split()[4]) + 2)[:-2] if line.startswith(b"set") else b""
            self.wfile.write(self.server.store.text(line, data))


class Redis(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while head := self.rfile.readline():
            words = []
            for _ in range(int(head[1:])):
                words.append(self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2])
            answer = self.server.store.redis(words)
            # In two pieces, as a network may cut it.
            self.wfile.write(answer[:7])
            self.wfile.write(answer[7:])


class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        datagram, socket = self.request
        store = self.server.store
        line, _, data = datagram[8:].partition(b"\r\n")
        answer = store.text(line, data[:-2])
        if store.fault != "lose" or store.asked % LOSE_EVERY != 0:
            socket.sendto(datagram[:2] + b"\0\0\0\1\0\0" + answer, self.client_address)


class Server(local_server.LocalServer):
    def __init__(self, handler, store):
        self.store = store
        super().__init__(handler)


def server(handler, store):
    if handler is not Udp:
        return Server(handler, store)
    made = socketserver.UDPServer(("127.0.0.1", 0), handler)
    made.store = store
    local_server.serve_until_the_end(made)
    return made


def ask(made, *args):
    return subprocess.run([ASK, "127.0.0.1", str(made.server_address[1]), "--keys", str(KEYS), *args],
                          capture_output=True, text=True, timeout=60)


def row_of(made, *args):
    done = ask(made, *args)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class AskTest(unittest.TestCase):
    def run_all(self, handler, fault, *args, is_enough=lambda row: row["requests"] > 10):
        """Returns the row of a run that is long enough, against a server that has all keys."""
        store = Store()
        fill = server(Redis if handler is Redis else Text, store)
        stored = row_of(fill, "--fill", "--connections", "3", "--depth", "4",
                        *(["--redis"] if handler is Redis else []))
        self.assertEqual((stored["stored"], len(store.values)), (KEYS, KEYS))
        for ms in (150, 1000, 5000, 20000):  # on a busy machine it may get no CPU for a while
            store.fault, store.asked = fault, 0
            row = row_of(server(handler, store), "--connections", "4", "--ms", str(ms),
                         "--server-pid", str(os.getpid()), *args)
            if is_enough(row):
                break
        return row

    RUNS = [(Text, []), (Text, ["--depth", "8"]), (Text, ["--multiget", "100", "--sets", "0"]),
            (Redis, ["--redis", "--depth", "4"]), (Redis, ["--redis", "--multiget", "20"]),
            (Udp, ["--udp"]), (Udp, ["--udp", "--depth", "4"])]

    def test_an_honest_server_is_right_in_every_protocol(self):
        for handler, args in self.RUNS:
            with self.subTest(handler=handler.__name__, args=args):
                row = self.run_all(handler, None, *args, is_enough=lambda row: row["requests"] > 10 and row["hits"] > 5)
                self.assertGreater(row["requests"], 10)
                # A request in flight at either end of the measured time is in only one of the two counts.
                self.assertLess(0, row["p50_us"])
                self.assertLessEqual(row["p50_us"], row["p99_us"])
                self.assertLess(0, row["mean_us"])
                self.assertEqual((row["wrong"], row["misses"]), (0, 0))
                if handler is not Udp:  # over UDP an answer that a busy machine delays counts as lost
                    self.assertEqual(row["lost"], 0)
                self.assertGreater(row["hits"], 5)

    def test_a_wrong_byte_is_seen_in_every_protocol(self):
        for handler, args in self.RUNS:
            with self.subTest(handler=handler.__name__, args=args):
                self.assertGreater(self.run_all(handler, "byte", *args)["wrong"], 0)

    def test_keys_are_counted_one_by_one(self):
        row = self.run_all(Text, None, "--multiget", "50", "--sets", "0")
        # The two rates are rounded to whole numbers separately.
        self.assertAlmostEqual(row["keys_per_s"], 50 * row["requests_per_s"], delta=50)

    def test_a_datagram_that_does_not_come_is_lost_and_the_others_go_on(self):
        row = self.run_all(Udp, "lose", "--udp", is_enough=lambda row: row["lost"] > 2 and row["requests"] > 5 * row["lost"])
        self.assertGreater(row["lost"], 2)
        self.assertGreater(row["requests"], 5 * row["lost"])

    def test_whose_cpu_is_told(self):
        row = self.run_all(Text, None, is_enough=lambda row: min(row["server_cpu_s"], row["client_cpu_s"]) > 0.001)
        for who in ("server", "client"):
            self.assertGreater(row[f"{who}_cpu_s"], 0.001)

    def failure_of(self, handler):
        """The words of a client whose server is this handler."""
        done = ask(server(handler, Store()), "--connections", "3", "--ms", "200")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        found = re.fullmatch(r"ask: client [123] of 3, port \d+: (.*)\n", done.stderr)
        self.assertIsNotNone(found, done.stderr)
        return found[1]

    def test_a_closed_connection_is_named(self):
        class Ends(Text):
            def handle(self):
                self.rfile.readline()

        self.assertEqual(self.failure_of(Ends), "the server closed the connection; 0 answers before, 1 requests in flight; read last: ")

    def test_bytes_that_are_no_reply_are_named(self):
        class Greets(Text):
            def handle(self):
                self.rfile.readline()
                self.wfile.write(b"HELLO\x01\r\n")
                self.rfile.readline()

        self.assertEqual(self.failure_of(Greets),
                         "the bytes are no reply; 0 answers before, 1 requests in flight; the bytes: HELLO\\x01\\x0d\\x0a")

    def test_what_a_server_says_before_it_ends_a_connection_is_named(self):
        class Refuses(Text):
            def handle(self):
                self.wfile.write(b"ERROR Too many open connections\r\n")

        self.assertRegex(self.failure_of(Refuses), r"^the (server closed the connection|connection failed: .*); "
                         r"[01] answers before, [01] requests in flight; (read last|the bytes): ERROR Too many open connections")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
