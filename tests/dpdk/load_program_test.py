#!/usr/bin/python3 -B
"""load_program_test.py CLOCKOO CLOCKOO-LOAD [CLASS] - the load generator from outside.

Goal: what the operator gets wrong is one line and exit code 1; a server that is not there is said, not
passed over in silence; over vhost and virtio_user, and over memif, UDP and TCP, every request is
answered right, and table and JSON say the same. Method: both programs as built, ordinary memory, a
socket in a folder of its own. Needs no root, no NIC, no hugepages.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

CLOCKOO, LOAD = sys.argv[1], sys.argv[2]
TUNING = pathlib.Path(__file__).resolve().parents[2] / "drivers-config/TUNING.md"
READY_S, RUN_S = 60, 120
PREFIX = f"load-test-{os.getpid()}"
COMMON = ["--no-huge", "--yield"]
# Two cores, on one CPU, so that it runs anywhere.
CPU = min(os.sched_getaffinity(0))
TWO = ["--lcores", f"0@{CPU},1@{CPU}"]
# The generator's port that connects to the appliance's port.
OTHER_SIDE = {"vhost": "virtio_user", "memif": "memif"}

REFUSED = [
    (["--nonsense"], "unknown option"),
    (["--rate", "fast"], "--rate"),
    (["--sets", "60", "--deletes", "60"], "more than 100 percent"),
    (["--popularity", "zipf:x"], "expected uniform, zipf:0.99 or hot:90:10"),
    (["--key-size", "4"], "from 8 to 250"),
    (["--transport", "udp", "--value-size", "5000"], "one datagram"),
    (["--transport", "quic"], "udp|tcp"),
    (["--sweep", "p50=1ms"], "avg=1ms"),
    (["--sweep", "p99=1ms", "--rate", "1k"], "leave --rate out"),
    (["--vary", "keys=1"], "connections=LIST"),
    (["--server", "10.99.0.2"], "our own"),
    (["--server", "300.1.1.1"], "such as 10.99.0.1:11211"),
    (["--depth", "2000", "--transport", "tcp"], "at most 1024"),
    (["--seconds"], "expected a value"),
    (["--no-fill=1"], "takes no value"),
    (["--port", "virtio_user", "--socket", "no-socket"], "start the vhost side"),
    (["--port", "memif", "--socket", "no-socket"], "start the memif server first"),
    (["--port", "memif", "--socket", "no-socket", *TWO], "--cores: more than one needs a port"),
]


def load(*words):
    return subprocess.run([LOAD, *COMMON, "--file-prefix", PREFIX + "-gen", *words],
                          capture_output=True, text=True, timeout=RUN_S)


class Appliance:
    """The appliance on the side of a socket that listens; port are the words to reach it."""

    def __init__(self, folder, *words, port="vhost"):
        self.socket = str(pathlib.Path(folder, "s.sock"))
        self.port = ["--port", OTHER_SIDE[port], "--socket", self.socket]
        self.child = subprocess.Popen(
            [CLOCKOO, "--config", "none", *COMMON, "--port", port, "--socket", self.socket, "--file-prefix",
             PREFIX + "-srv", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if "ready" not in line:
            raise RuntimeError(self.child.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.communicate(timeout=READY_S)


class Bed(unittest.TestCase):
    def one_line(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def figures_of(self, server, folder, words, points):
        path = pathlib.Path(folder, "figures.json")
        # Three that poll on two busy CPUs: one of them may not run in a fifth of a second.
        for seconds in ("0.2", "1", "5"):
            done = load(*server.port, "--keys", "500", "--seconds", seconds, "--warmup", "0.05", "--timeout", "5",
                        "--json", str(path), *words)
            if "no answer in the measured time: 0 requests were lost" not in done.stderr:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        figures = json.loads(path.read_text())
        self.assertEqual(figures["wrong"], 0)
        self.assertEqual(len(figures["points"]), points)
        for point in figures["points"]:
            self.assertGreater(point["answered"], 0)
            self.assertEqual(point["lost"] + point["broken"] + point["refused"], 0)
            self.assertEqual(point["hits"] + point["misses"], point["keys_asked"])
            self.assertGreater(point["p99_us"], 0)
            self.assertGreaterEqual(point["max_us"], point["p50_us"])
            self.assertIn(f"{point['requests_per_s']:.0f}", done.stdout)
        if "--deletes" not in words:
            self.assertEqual(figures["points"][0]["misses"], 0)


class LoadProgram(Bed):
    def test_mistakes_are_one_line(self):
        for words, line in REFUSED:
            with self.subTest(words):
                self.one_line(load(*words), line)

    def test_help_names_every_option(self):
        done = load("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--sweep", "--rate", "--popularity", "--json", "--socket"):
            self.assertIn(word, done.stdout)

    def test_the_tuning_guide_names_no_option_that_is_not_there(self):
        own = TUNING.read_text().partition("## clockoo-load")[2]
        options = set(re.findall(r"--[a-z]+", own))
        self.assertGreater(len(options), 3)
        for option in options:
            self.assertIn(f"{option} ", load("--help").stdout)

    def test_a_server_that_crashed_starts_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for port in ("vhost", "memif"):
                with self.subTest(port):
                    crashed = Appliance(folder, port=port)
                    crashed.child.kill()
                    crashed.child.communicate(timeout=READY_S)
                    self.assertTrue(os.path.exists(crashed.socket))
                    with Appliance(folder, port=port) as server:
                        self.figures_of(server, folder, ["--transport", "tcp", "--connections", "2"], 1)
                    self.assertFalse(os.path.exists(crashed.socket))

    def test_silence_is_said(self):
        self.one_line(load("--port", "null", "--keys", "10"), "no ARP reply")

    def test_figures_of_every_kind_of_run(self):
        runs = [
            (["--transport", "udp", "--depth", "16"], 1),
            (["--transport", "tcp", "--connections", "4", "--deletes", "5"], 1),
            (["--transport", "tcp", "--multiget", "10", "--value-size", "etc", "--key-size", "etc",
              "--popularity", "zipf:0.99", "--protocol", "meta"], 1),
            (["--transport", "udp", "--rate", "2k", "--popularity", "hot:90:10"], 1),
            (["--transport", "tcp", "--vary", "depth=1,4"], 2),
        ]
        with tempfile.TemporaryDirectory() as folder, Appliance(folder, "-U", "11211") as server:
            for words, points in runs:
                with self.subTest(words):
                    self.figures_of(server, folder, words, points)

    def test_two_cores_over_two_queues(self):
        with tempfile.TemporaryDirectory() as folder, Appliance(folder, "-U", "11211", *TWO) as server:
            for words in (["--transport", "udp"], ["--transport", "tcp", "--connections", "5"]):
                with self.subTest(words):
                    self.figures_of(server, folder, [*TWO, *words], 1)

    def test_a_promise_that_nothing_keeps_is_said_and_is_no_failure(self):
        with tempfile.TemporaryDirectory() as folder, Appliance(folder) as server:
            done = load(*server.port, "--keys", "100", "--seconds", "0.1", "--warmup", "0", "--sweep", "p99=0.001us")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("knee: no rate meets p99", done.stdout)

    def test_values_that_are_not_what_was_asked_for_end_with_2(self):
        short = ["--keys", "100", "--seconds", "0.1", "--warmup", "0",
                 "--sets", "0"]
        with tempfile.TemporaryDirectory() as folder, Appliance(folder) as server:
            done = load(*server.port, *short, "--fill-only")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = load(*server.port, *short, "--no-fill", "--value-size", "31")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("WRONG", done.stdout)
        self.assertIn("its length, 32 bytes, or its flags", done.stdout)


class Memif(Bed):
    def test_memif_carries_both_transports_for_one_client_after_the_other(self):
        runs = (["--transport", "udp", "--depth", "16"], ["--transport", "tcp", "--connections", "5"],
                ["--transport", "tcp", "--multiget", "10", "--value-size", "etc", "--vlan", "7"])
        with tempfile.TemporaryDirectory() as folder, Appliance(folder, "-U", "11211", port="memif") as server:
            for words in runs[:2]:
                with self.subTest(words):
                    self.figures_of(server, folder, words, 1)
        with tempfile.TemporaryDirectory() as folder, Appliance(folder, "--vlan", "7", port="memif") as server:
            self.figures_of(server, folder, runs[2], 1)
            server.port[-1] = os.path.relpath(server.socket)
            self.figures_of(server, folder, runs[2], 1)

    def test_two_cores_behind_the_one_queue_of_a_memif_lose_nothing(self):
        with tempfile.TemporaryDirectory() as folder, \
                Appliance(folder, "-U", "11211", *TWO, port="memif") as server:
            for words in (["--transport", "udp"], ["--transport", "tcp", "--connections", "5"]):
                with self.subTest(words):
                    self.figures_of(server, folder, words, 1)

    def test_a_memif_that_does_not_take_us_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            with Appliance(folder) as server:
                self.one_line(load("--port", "memif", "--socket", server.socket), "of another kind")
            with Appliance(folder, port="memif") as server:
                first = subprocess.Popen([LOAD, *COMMON, *server.port, "--file-prefix", PREFIX + "-first", "--keys",
                                          "100", "--seconds", "60", "--quiet"], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
                try:
                    first.stdout.readline()  # the table's head: it is connected, its keys are stored
                    self.one_line(load(*server.port, "--address", "10.99.0.3/24"), "in use by another program")
                finally:
                    first.terminate()
                    first.communicate(timeout=READY_S)
            left = str(pathlib.Path(folder, "left.sock"))
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as crashed:
                crashed.bind(left)
            self.one_line(load("--port", "memif", "--socket", left), "no process listens")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
