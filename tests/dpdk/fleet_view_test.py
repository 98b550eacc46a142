#!/usr/bin/python3 -B
"""The view of a fleet on a front. Goal: a server that is killed is shown with its state and reason by `stats front`, by
/metrics and by what the page reads, and is shown as in use once it is back; a server whose name no one knows, one that is
silent and one that is no memcached say so; a server that a reload adds or leaves out is shown with its part and with the keys
that moved. Method: the built program on port user with telemetry.http, before Debian's memcached and servers of this file.

    fleet_view_test.py CLOCKOO
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import local_server

PROGRAM = os.path.abspath(sys.argv.pop(1))
MEMCACHED = shutil.which("memcached")
HOST_INSIDE = "10.0.2.2"  # this host, on port user
WAIT_S = 60               # ends what hangs
POLL_S = 0.1
KEYS = 60
NO_NAME = "no-such-host.invalid"  # RFC 2606 section 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def server(answer):
    """Starts a server that gives this answer to every line; empty: it is silent."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                while self.rfile.readline():
                    self.wfile.write(answer)

    return local_server.LocalServer(Handler).server_address[1]


class Memcached:
    def __init__(self, port=None):
        self.port = port or free_port()
        self.process = subprocess.Popen([MEMCACHED, "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-u", "root"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Front:
    """with Front({name: entry}) as f: it has said that it is ready."""

    def __init__(self, servers, *words, folder):
        self.file = pathlib.Path(folder, "servers")
        self.write(servers)
        self.port, self.http = random.randint(15000, 32000), f"{folder}/http"
        self.process = subprocess.Popen(
            [PROGRAM, "--config", "none", "--port", "user", "--no-huge", "-m", "16", "-p", str(self.port), "--file-prefix",
             f"view-{os.getpid()}-{random.getrandbits(32)}", "--front-servers", str(self.file), "--front-server-retry-timeout", "200ms",
             "--front-items", "0", "--telemetry-http", self.http, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = self.process.stdout.readline()

    def write(self, servers):
        self.file.write_text("".join(f"{place}:1 {name}\n" for name, place in servers.items()))

    def __enter__(self):
        if " ready: " not in self.ready:
            self.__exit__()
            raise AssertionError("it is not ready")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def reload(self, servers):
        self.write(servers)
        self.process.send_signal(signal.SIGHUP)

    def ask(self, request, end):
        with socket.create_connection(("127.0.0.1", self.port), WAIT_S) as s, s.makefile("rb") as heard:
            s.sendall(request)
            lines = []
            while not lines or not lines[-1].startswith(end):
                lines.append(heard.readline())
                if lines[-1] == b"":
                    raise AssertionError(lines)
            return lines

    def get_all(self):
        """Gets every key: only requests make a front notice that a server fails, and move keys."""
        self.ask(b"get " + b" ".join(b"k%d" % i for i in range(KEYS)) + b"\r\n", (b"END", b"SERVER_ERROR"))

    def page(self, path):
        with contextlib.closing(http.client.HTTPConnection("localhost", timeout=WAIT_S)) as c:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(WAIT_S)
            c.sock.connect(self.http)
            c.request("GET", path)
            return c.getresponse().read().decode()

    def server(self, name):
        """Returns its rows, as the page reads them, with its place."""
        for place, rows in json.loads(self.page("/api/front")).items():
            if isinstance(rows, dict) and rows["name"] == name and rows["state"] != "unlisted":
                return {"place": place, **rows}
        return {}

    def shows(self, name, **wanted):
        """Asks for keys until the server has these rows. Returns all of them."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            self.get_all()
            rows = self.server(name)
            if rows and all(rows[key] == value for key, value in wanted.items()):
                return rows
            time.sleep(POLL_S)
        raise AssertionError(f"{name} does not show {wanted}: {rows}")


class Fleet(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="clockoo-view-"))

    def front(self, servers, *words):
        return self.enterContext(Front(servers, *words, folder=self.folder))

    def metric(self, front, name, place):
        """Returns the value of a server's sample, or its text."""
        found = re.findall(rf'^clockoo_front_{name}\{{server="{place}"(?:,value="([^"]*)")?\}} ([0-9.]+)$', front.page("/metrics"), re.M)
        self.assertEqual(len(found), 1, name)
        return found[0][0] or float(found[0][1])

    def agree(self, front, rows):
        """Checks that /metrics and `stats front` have the figures of the page, or ones between its two readings."""
        for name in ("name", "state", "reason", "role"):
            self.assertEqual(self.metric(front, name, rows["place"]), rows[name])
        text = b"".join(front.ask(b"stats front\r\n", b"END")).decode()
        for name in ("state", "reason"):
            self.assertIn(f"STAT {rows['place']}:{name} {rows[name]}\r\n", text)

    @unittest.skipUnless(MEMCACHED, "no memcached here")
    def test_killed_server_has_its_state_and_reason_until_it_is_back(self):
        with Memcached() as a, Memcached() as b:
            front = self.front({"first": f"{HOST_INSIDE}:{a.port}", "second": f"{HOST_INSIDE}:{b.port}"})
            for name in ("first", "second"):
                self.agree(front, front.shows(name, state="up", reason="none", role="server"))
            b.kill()
            rows = front.shows("second", state="down", reason="refused")
            self.agree(front, rows)
            self.assertEqual(front.server("first")["state"], "up")
            self.promtool(front)
            with Memcached(b.port):
                self.agree(front, front.shows("second", state="up", reason="none"))

    def promtool(self, front):
        if shutil.which("promtool"):  # tools/install monitor
            done = subprocess.run(["promtool", "check", "metrics"], input=front.page("/metrics"), capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_each_kind_of_failure_has_its_reason(self):
        servers = {"silent": server(b""), "no-memcached": server(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "nobody": free_port()}
        front = self.front({**{name: f"{HOST_INSIDE}:{port}" for name, port in servers.items()}, "unknown": f"{NO_NAME}:11211"},
                           "--front-timeout", "200ms")
        for name, reason in (("silent", "timed_out"), ("no-memcached", "invalid_answer"), ("nobody", "refused"), ("unknown", "name_unresolved")):
            with self.subTest(name=name):
                front.shows(name, state="down", reason=reason)

    @unittest.skipUnless(MEMCACHED, "no memcached here")
    def test_moved_keys_are_counted_at_both_ends(self):
        with Memcached() as a, Memcached() as b:
            first, both = {"first": f"{HOST_INSIDE}:{a.port}"}, {"first": f"{HOST_INSIDE}:{a.port}", "second": f"{HOST_INSIDE}:{b.port}"}
            front = self.front(first, "--front-mode", "sole", "--front-warm", "1h", "--front-timeout", f"{WAIT_S}s")
            front.shows("first", state="up")
            for i in range(KEYS):
                self.assertEqual(front.ask(b"set k%d 0 0 1\r\nx\r\n" % i, b""), [b"STORED\r\n"])
            front.reload(both)
            front.shows("second", state="up", role="server")
            end = time.monotonic() + WAIT_S
            while (moved := front.server("second")["handed_in"]) == 0 and time.monotonic() < end:
                front.get_all()
                time.sleep(POLL_S)
            self.assertGreater(moved, 0)
            self.assertEqual(front.server("first")["handed_out"], moved)
            self.assertEqual(json.loads(front.page("/api/front"))["handing_over"], 1)
            front.reload(first)
            front.shows("second", role="draining")


if __name__ == "__main__":
    unittest.main(verbosity=2)
