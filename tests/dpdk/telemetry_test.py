#!/usr/bin/python3 -B
"""telemetry.dpdk. Goal: who speaks the protocol of DPDK's telemetry (dpdk-telemetry.py, Telegraf, collectd) finds the
port's figures, and under /clockoo/ what `stats` says, with the same names and numbers; nothing is there unless it is
asked for; whatever a client sends, the program serves. Method: the built program before a memif without a peer, the
socket by hand, telemetry.http beside it.

    telemetry_test.py CLOCKOO SOURCE
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAM, SOURCE = os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
WAIT_S = 60  # ends what hangs
REPLIES = {"stats", "settings", "items", "slabs", "front", "extstore", "latency", "hotkeys", "net", "stack", "cores",
           "counters", "sources", "slow"}

NO_HTTP = "built without libmicrohttpd"
# The option is refused with these words before anything else is looked at.
HAS_HTTP = NO_HTTP not in subprocess.run(
    [PROGRAM, "--no-huge", "--port", "null", "-m", "16", "-c", "64", "--config", "none", "--data-dir", str(SOURCE / "drivers-config"),
     "--telemetry-http", "/no/such/folder/x"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr


def cpus():
    return sorted(os.sched_getaffinity(0))


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Served:
    count = 0

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="clockoo-telemetry-")
        Served.count += 1
        self.prefix = f"tel-{os.getpid()}-{Served.count}"
        self.process = subprocess.Popen(
            [PROGRAM, "--no-huge", "--port", "memif", "--socket", f"{self.folder.name}/memif", "--yield", "-m", "16", "-c", "64",
             "--config", "none", "--data-dir", str(SOURCE / "drivers-config"), "--file-prefix", self.prefix,
             *(["--telemetry-http", f"{self.folder.name}/http"] if HAS_HTTP else []), *options], env=os.environ | {"RUNTIME_DIRECTORY": self.folder.name}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, self.err = self.process.communicate(timeout=WAIT_S)
        self.folder.cleanup()

    @property
    def path(self):
        return f"{self.folder.name}/dpdk/{self.prefix}/dpdk_telemetry.v2"

    def api(self, name):
        c = Local(f"{self.folder.name}/http")
        c.request("GET", f"/api/{name}")
        text = c.getresponse().read()
        c.close()
        return json.loads(text)


class Client:
    """A client like usertools/dpdk-telemetry.py: it gets a greeting, then an object for each command."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(path)
        self.hello = json.loads(self.socket.recv(1024))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def raw(self, command):
        self.socket.send(command)
        return self.socket.recv(self.hello["max_output_len"])

    def ask(self, command):
        (name, value), = json.loads(self.raw(command.encode())).items()
        assert name == command.partition(",")[0]
        return value


class Telemetry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        both = cpus()[:1] * 2
        cls.s = Served("--telemetry-dpdk", "--lcores", f"0@{both[0]},1@{both[1]}")
        cls.addClassCleanup(cls.s.end)

    def test_the_ports_figures_and_ours_are_listed(self):
        with Client(self.s.path) as c:
            listed = c.ask("/")
            self.assertLessEqual({f"/clockoo/{name}" for name in REPLIES} | {"/ethdev/stats", "/ethdev/xstats"}, set(listed))
            self.assertEqual(c.ask("/ethdev/list"), [0])
            self.assertEqual(c.ask("/ethdev/stats,0")["ipackets"], 0)
            self.assertIn("Rows of this reply", c.ask("/help,/clockoo/net")["/clockoo/net"])

    @unittest.skipUnless(HAS_HTTP, NO_HTTP)
    def test_rows_are_those_of_stats(self):
        with Client(self.s.path) as c:
            for name in REPLIES:
                rows, shown = c.ask(f"/clockoo/{name}"), self.s.api(name)
                flat = {(f"{key}_{inner}" if isinstance(value, dict) else key): number
                        for key, value in shown.items()
                        for inner, number in (value.items() if isinstance(value, dict) else [("", value)])}
                self.assertEqual(set(rows), set(flat), name)
                for key, number in flat.items():
                    self.assertEqual(type(rows[key]), int if str(number).isdigit() else str, key)
                    if name == "settings":  # others move
                        self.assertEqual(str(rows[key]), str(number), key)
            self.assertEqual(c.ask("/clockoo/settings")["maxbytes"], 16 << 20)
            self.assertEqual(c.ask("/clockoo/stats")["pid"], self.s.process.pid)

    def test_a_parameter_picks(self):
        with Client(self.s.path) as c:
            whole = c.ask("/clockoo/cores")
            for core in ("0", "1"):
                rows = c.ask(f"/clockoo/cores,{core}")
                self.assertEqual({f"{core}_{name}" for name in rows}, {name for name in whole if name.startswith(f"{core}_")})
                self.assertIn("core_busy_ns", rows)
            self.assertEqual(c.ask("/clockoo/cores,2"), {})
            self.assertEqual(c.ask("/clockoo/net,0"), c.ask("/clockoo/net,0") | c.ask("/clockoo/net,0"))
            self.assertGreater(len(c.ask("/clockoo/net,0")), 50)
            self.assertEqual(c.ask("/clockoo/net,1"), {})
            for wrong in ("x", "-1", "1x", "99999999999999999999999", " "):
                self.assertIsNone(c.ask(f"/clockoo/net,{wrong}"), wrong)

    def test_any_bytes_and_many_clients_are_answered(self):
        for data in (b"/clockoo/", b"/clockoo/none", b"/clockoo/net" + b"x" * 900, b"\xff\x00\n", b"{", b",", b"/clockoo/net,\xff"):
            with Client(self.s.path) as c:  # the library repeats what it was sent
                self.assertTrue(c.raw(data).startswith(b'{"'), data)
        wrong = []

        def asks():
            with contextlib.suppress(OSError), Client(self.s.path) as c:
                for name in sorted(REPLIES):
                    if c.ask(f"/clockoo/{name}") is None:
                        wrong.append(name)

        threads = [threading.Thread(target=asks) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_zz_an_appliance_stops_while_it_is_asked(self):
        s = Served("--telemetry-dpdk")
        stop = threading.Event()

        def asks():
            with contextlib.suppress(OSError, ValueError), Client(s.path) as c:
                while not stop.is_set():
                    c.ask("/clockoo/net")

        t = threading.Thread(target=asks)
        t.start()
        with Client(s.path) as c:
            c.ask("/clockoo/net")
        s.end()
        stop.set()
        t.join()
        self.assertEqual((s.process.returncode, s.err), (0, ""))


class Start(unittest.TestCase):
    def test_nothing_is_there_unless_it_is_asked_for(self):
        s = Served()
        self.assertIn("ready", s.ready)
        self.assertFalse(os.path.exists(s.path))
        s.end()

    def test_a_folder_that_cannot_be_is_one_line(self):
        for folder, words in (("/proc", "--telemetry-dpdk: DPDK has no folder for its socket"),
                              (None, "TELEMETRY: Error with socket binding, path too long")):
            with tempfile.TemporaryDirectory(prefix="t" * 100) as long:
                done = subprocess.run(
                    [PROGRAM, "--no-huge", "--port", "null", "--yield", "-m", "16", "-c", "64", "--config", "none", "--data-dir",
                     str(SOURCE / "drivers-config"), "--file-prefix", f"tel-{os.getpid()}", "--telemetry-dpdk"],
                    env=os.environ | {"RUNTIME_DIRECTORY": folder or long}, capture_output=True, text=True, timeout=WAIT_S)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
