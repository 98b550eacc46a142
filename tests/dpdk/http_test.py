#!/usr/bin/python3 -B
"""telemetry.http. Goal: every row of STATS.md is a metric and is on the page, promtool and Prometheus' rules
agree with what is said; whatever a peer sends, or keeps back, others are answered and the program serves; a
place that cannot be had is one line. Method: the built program on the null port, HTTP by hand.

    http_test.py CLOCKOO SOURCE [CLOCKOO-LOAD]
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

PROGRAM, SOURCE = os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
LOAD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and "/" in sys.argv[1] else None
sys.path.insert(0, str(SOURCE / "tools/py"))

import shown_names  # noqa: E402

MONITORING = SOURCE / "drivers-config/monitoring"
DASHBOARDS = MONITORING / "grafana.json", SOURCE / "drivers-config/fleet/fleet.json"
WAIT_S = 60  # ends what hangs
CONNS_MAX = 32  # HTTP_CONNS_MAX
CROWD = 1000
# Replies that have rows where there are items, which a load generator stores.
OF_ITEMS = {"items", "slabs", "hotkeys", "sources", "slow"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def command(*options):
    return [PROGRAM, "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "--poll", "adaptive", "-m", "16", "-c", "64", "--config", "none",
            "--data-dir", str(SOURCE / "drivers-config"), "--file-prefix", f"http-{os.getpid()}", *options]


class Served:
    def __init__(self, where=None, options=(), env=None, ready=True):
        self.port = free_port()
        self.process = subprocess.Popen(command("--telemetry-http", where or f"127.0.0.1:{self.port}", *options),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.ready = self.process.stdout.readline() if ready else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        _, self.err = self.process.communicate(timeout=WAIT_S)

    def get(self, path, method="GET", headers=None, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, r.headers, text.decode()

    def raw(self, data, wait=True):
        s = socket.create_connection(("127.0.0.1", self.port), WAIT_S)
        s.sendall(data)
        return s


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.served = Served()

    @classmethod
    def tearDownClass(cls):
        cls.served.__exit__()

    def get(self, *args, **named):
        return self.served.get(*args, **named)

    def test_families_are_told_once_and_samples_are_theirs(self):
        for accept in ("", "application/openmetrics-text"):
            status, headers, text = self.get("/metrics", headers={"Accept": accept})
            self.assertEqual(status, 200)
            self.assertTrue(headers["Content-Type"].startswith(accept or "text/plain"))
            families = re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M)
            self.assertEqual(len(families), len(dict(families)))
            types, family = dict(families), ""
            for line in text.splitlines():
                if line.startswith("# TYPE"):
                    family = line.split()[2]
                elif not line.startswith("#"):
                    self.assertRegex(line, r'^[a-z_0-9]+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.]+$')
                    name = re.match(r"\w+", line)[0]
                    self.assertEqual(name, family + ("_total" if accept and types[family] == "counter" else ""))
            self.assertEqual(text.endswith("# EOF\n"), bool(accept))

    def test_promtool_has_nothing_to_say(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool: tools/install monitor")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[2],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_a_reply_is_there_by_its_name(self):
        self.assertIn("rx_frames", json.loads(self.get("/api/net")[2]))
        self.assertEqual(self.get("/api/none")[0], 404)
        self.assertEqual(self.get("/etc/passwd")[0], 404)

    def test_the_page_needs_nothing_from_elsewhere(self):
        status, headers, page = self.get("/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:|metrics|api/)[^"]*"|@import|url\(', page), [])
        self.assertNotIn("innerHTML", page)

    def test_only_what_reads_is_answered(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "NONSENSE"):
            status, headers, _ = self.get("/metrics", method=method)
            self.assertEqual((method, status, headers["Allow"]), (method, 405, "GET, HEAD"))
        self.assertEqual(self.get("/", method="POST", body="x" * 100000)[0], 405)
        self.assertEqual(self.get("/", body="x")[0], 400)
        status, _, text = self.get("/metrics", method="HEAD")
        self.assertEqual((status, text), (200, ""))

    def test_another_name_for_this_machine_is_refused(self):
        for host, status in (("evil.example:9150", 403), ("localhost:1", 200), ("127.0.0.1", 200),
                             ("[::1]:9150", 200), ("localhost.evil.example", 403), ("1.2.3.4.evil", 403)):
            self.assertEqual((host, self.get("/api/net", headers={"Host": host})[0]), (host, status))

    def test_what_is_no_http_harms_nobody(self):
        for data in (b"\0" * 5000, b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 100000 + b"\r\n\r\n",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET /api/" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"get a\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"\r\n" * 5000,
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            try:
                with self.served.raw(data) as s:
                    s.shutdown(socket.SHUT_WR)
                    answer = s.recv(65536)
            except OSError:
                answer = b""
            self.assertNotIn(b" 200 ", answer.split(b"\r\n")[0], data[:40])
            self.assertEqual(self.get("/api/net")[0], 200)

    def yielded(self):
        return int(json.loads(self.get("/api/counters")[2])["http_yielded"])

    def await_yielded(self, count):
        """Waits until so many connections have yielded their places to others. Rows are read anew once a second."""
        end = time.monotonic() + WAIT_S
        while (found := self.yielded()) < count and time.monotonic() < end:
            time.sleep(0.1)
        self.assertGreaterEqual(found, count)

    def test_who_says_nothing_keeps_nobody_out(self):
        """More than twice as many as there is room for: each new one takes the place of the oldest."""
        before = self.yielded()
        held = [self.served.raw(b"GET / HTTP/1.1\r\nHost: loc") for _ in range(CONNS_MAX * 2 + 6)]
        for _ in range(20):
            self.assertEqual(self.get("/metrics")[0], 200)
        self.await_yielded(before + CONNS_MAX)
        for s in held:
            s.close()

    def test_a_crowd_that_waits_to_be_accepted_is_soon_through(self):
        """The clients connect while the process is stopped and accepts none; each then gives its place to the next."""
        somaxconn = int(pathlib.Path("/proc/sys/net/core/somaxconn").read_text())
        if somaxconn < CROWD:
            self.skipTest(f"net.core.somaxconn is {somaxconn}: that many may wait")
        before = self.yielded()
        self.served.process.send_signal(signal.SIGSTOP)
        try:
            held = [self.served.raw(b"GET / HTTP/1.1\r\nHost: loc") for _ in range(CROWD)]
        finally:
            self.served.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.get("/metrics")[0], 200)
        self.await_yielded(before + CROWD - 2 * CONNS_MAX)
        for s in held:
            s.close()

    def test_who_reads_nothing_holds_nobody_up(self):
        held = [self.served.raw(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20) for _ in range(10)]
        for _ in range(5):
            self.assertEqual(self.get("/metrics")[0], 200)
        for s in held:
            s.close()

    def test_a_slow_request_is_ended(self):
        """A byte now and then does not buy more than HTTP_REQUEST_S."""
        with self.served.raw(b"GET / HT") as s:
            s.settimeout(0.5)
            end, is_open = time.monotonic() + WAIT_S, True
            while is_open and time.monotonic() < end:
                with contextlib.suppress(TimeoutError):
                    try:
                        s.sendall(b"T")
                        is_open = s.recv(100) != b""
                    except ConnectionError:
                        is_open = False
        self.assertFalse(is_open)


class Names(unittest.TestCase):
    def test_every_row_of_the_document_is_a_metric_and_is_shown(self):
        found = shown_names.all_shown(PROGRAM, LOAD)
        count, gone = shown_names.missing(found)
        self.assertGreater(count, 600)
        if LOAD is None:
            gone = [row for row in gone if row.split()[1] not in OF_ITEMS]
        self.assertEqual(gone, [])
        # Rows that belong to no part are shown on every machine and port.
        common = set.intersection(*filter(None, found.values()))
        self.assertGreater(len(common), 450)

    def test_a_row_that_is_not_shown_is_named(self):
        with unittest.mock.patch.object(shown_names, "sections", lambda: {"stats": ["pid", "no_such"]}):
            self.assertEqual(shown_names.missing({"a": {("stats", "pid")}, "b": None}), (2, ["stats no_such"]))
        self.assertEqual(shown_names.shown("# HELP x stats net a\n", {"net": {"a": 1, "b": 2}}), {("stats net", "a")})
        self.assertEqual(shown_names.shown("# HELP x stats net a\n", {"net": {"b": 2}}), set())


class Silent:
    """The peer of a port virtio_user that says nothing: the start of the program waits for it."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "vhost")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(WAIT_S)

    def started(self):
        """The connection of the program, whose start goes no further until it is closed."""
        peer, _ = self.listener.accept()
        self.listener.close()
        return peer


class Thread:
    """A thread of the program that is held by ptrace(2)."""
    CONT, DETACH, SEIZE, INTERRUPT = 7, 17, 0x4206, 0x4207

    def __init__(self, tid):
        self.tid = tid
        self.call = ctypes.CDLL(None, use_errno=True).ptrace
        self.call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def ptrace(self, request):
        if self.call(request, self.tid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self.ptrace(self.SEIZE)
        self.ptrace(self.INTERRUPT)
        os.waitpid(self.tid, 0x40000000)  # __WALL
        return self

    def __exit__(self, *_):
        self.ptrace(self.DETACH)


class Probes(unittest.TestCase):
    """The probes of Kubernetes: /healthz says if a restart is due, /readyz if the program serves."""

    def probes(self, served):
        return [served.get(path)[::2] for path in ("/healthz", "/readyz")]

    def seen(self, served, wanted):
        """Asks until the answers are these."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = self.probes(served)
            if found == wanted:
                return
            time.sleep(0.02)
        self.assertEqual(found, wanted)

    def test_a_start_is_alive_and_not_ready(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = Silent(folder)
            with Served(options=("--port", "virtio_user", "--vdev-args", "queue_size=256", "--socket", peer.path), ready=False) as s:
                with peer.started():
                    self.assertEqual(self.probes(s), [(200, "alive\n"), (503, "starting\n")])
                    self.assertEqual(s.get("/metrics")[::2], (503, "starting\n"))
                self.assertEqual(s.process.wait(timeout=WAIT_S), 1)
            self.assertEqual(s.err.count("\n"), 1, s.err)

    def test_who_serves_is_ready(self):
        with Served() as s:
            self.assertEqual(self.probes(s), [(200, "alive\n"), (200, "serving\n")])
            self.assertEqual(s.get("/readyz", method="HEAD")[::2], (200, ""))

    def test_a_drain_is_alive_and_not_ready_to_its_end(self):
        """Cores that hand frames over drain for DRAIN_NS, a second."""
        cpu = min(os.sched_getaffinity(0))
        with Served(options=("--lcores", f"0@{cpu},1@{cpu}")) as s:
            self.assertEqual(self.probes(s)[1], (200, "serving\n"))
            s.process.send_signal(signal.SIGTERM)
            answers = []
            with contextlib.suppress(OSError, http.client.HTTPException):
                while True:
                    answers.append([*self.probes(s), s.get("/api/net")[::2]])
            stopping = [a for a in answers if a == [(200, "alive\n"), (503, "stopping\n"), (503, "stopping\n")]]
            self.assertTrue(stopping, answers)
            self.assertEqual(answers[-len(stopping):], stopping)
        self.assertEqual(s.process.returncode, 0, s.err)

    def test_a_core_that_is_stuck_fails_both(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(os.path.join(folder, "notify"))
            with Served(env={"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "400000"}) as s:
                self.seen(s, [(200, "alive\n"), (200, "serving\n")])
                try:
                    held = Thread(s.process.pid)
                    held.__enter__()
                except OSError as error:
                    self.skipTest(f"no ptrace here: {error}")
                with contextlib.ExitStack() as undo:
                    undo.callback(held.__exit__)
                    self.seen(s, [(503, "a core is stuck\n")] * 2)
                self.seen(s, [(200, "alive\n"), (200, "serving\n")])
            self.assertIn("core 0 is stuck", s.err)


class Places(unittest.TestCase):
    def refused(self, where, *words):
        done = subprocess.run(command("--telemetry-http", where), capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        for word in ("--telemetry-http", where, *words):
            self.assertIn(word, done.stderr)

    def test_a_place_that_cannot_be_had_is_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.refused(f"127.0.0.1:{other.getsockname()[1]}", "another program has it")
        self.refused("192.0.2.77:9150", "no interface of the kernel has that address")
        self.refused("/no/such/folder/socket", "its folder is not there")
        with tempfile.NamedTemporaryFile() as f:
            self.refused(f.name, "File exists")

    def test_a_unix_socket_is_made_anew_and_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(path)  # left by a process that was killed
            with Served(path):
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path)
                    s.sendall(b"GET /api/net HTTP/1.0\r\n\r\n")
                    self.assertIn(b" 200 ", s.recv(100))
                self.refused(path, "another program has it")
            self.assertFalse(os.path.exists(path))

    def test_plan_and_doctor_know_it(self):
        where = f"127.0.0.1:{free_port()}"
        done = subprocess.run(command("--telemetry-http", where, "--plan"), capture_output=True, text=True)
        self.assertIn(f"http       {where}, by the control thread", done.stdout)
        program, *options = command("--telemetry-http", where)
        done = subprocess.run([program, "doctor", *options], capture_output=True, text=True)
        self.assertIn(f"telemetry http   {where}: free", done.stdout)
        program, *options = command("--telemetry-http", "0.0.0.0:9150")
        done = subprocess.run([program, "doctor", *options], capture_output=True, text=True)
        self.assertIn("whoever reaches it reads figures and keys", done.stdout)

    def test_a_file_is_checked_and_a_reload_asks_for_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            path, port = pathlib.Path(folder) / "c.yaml", free_port()
            text = f"telemetry:\n  http: 127.0.0.1:{port}\n"
            path.write_text(text)
            done = subprocess.run([PROGRAM, "--check", str(path)], capture_output=True, text=True)
            self.assertIn(f"telemetry.http: 127.0.0.1:{port}: for this machine only", done.stdout)
            options = command()
            options[options.index("none")] = str(path)
            with subprocess.Popen(options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
                p.stdout.readline()
                path.write_text(text.replace(str(port), str(port + 1)))
                p.send_signal(signal.SIGHUP)
                self.assertIn("telemetry.http changes only after a restart", p.stderr.readline())
                p.send_signal(signal.SIGTERM)
                p.communicate(timeout=WAIT_S)


class Rules(unittest.TestCase):
    def test_rules_tell_incidents(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool: tools/install monitor")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(MONITORING / "alerts.yaml", folder)
            shutil.copy(SOURCE / "tests/dpdk/alerts_test.yaml", folder)
            for words in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")):
                done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_expressions_of_dashboards_are_parsed(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool: tools/install monitor")
        for path in DASHBOARDS:
            exprs = [target["expr"].replace("$__rate_interval", "5m") for panel in json.loads(path.read_text())["panels"]
                     for target in panel["targets"]]
            self.assertGreater(len(exprs), 10)
            rules = {"groups": [{"name": "panels", "rules": [{"record": f"panel:{i}", "expr": e} for i, e in enumerate(exprs)]}]}
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                json.dump(rules, file)
                file.flush()
                done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules_and_dashboards_name_metrics_that_there_are(self):
        text = ""
        for options in ((), ("--front-servers", "10.99.0.9:11211:1 a")):
            with Served(options=options) as s:
                text += s.get("/metrics")[2]
        there = set(re.findall(r"^([a-z_0-9]+)[ {]", text, re.M)) | set(re.findall(r"^# TYPE (\S+)", text, re.M))
        absent = {"clockoo_slabs_chunk_size", "clockoo_slabs_total_chunks", "clockoo_cores_core_long_"}
        # Only the NICs of a cloud have these.
        absent |= {f"clockoo_net_nic_{name}_allowance_exceeded_total" for name in ("bw_in", "bw_out", "pps", "conntrack", "linklocal")}
        absent.add("clockoo_net_nic_conntrack_allowance_available")
        for path in (MONITORING / "alerts.yaml", *DASHBOARDS):
            for name in set(re.findall(r"\b(?:clockoo|memcached)_\w+", path.read_text())) - absent:
                if not name.endswith("_"):
                    self.assertIn(name, there, path.name)


class Absent(unittest.TestCase):
    """A program that was built without libmicrohttpd."""
    WORDS = "this program was built without libmicrohttpd; install libmicrohttpd-dev and build it again, or leave it out"

    def test_it_is_refused_in_one_line_and_a_file_is_told_so(self):
        done = subprocess.run(command("--telemetry-http", "127.0.0.1:9150"), capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"clockoo: --telemetry-http: {self.WORDS}\n"))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("telemetry:\n  http: 127.0.0.1:9150\n")
            f.flush()
            options = command()
            options[options.index("none")] = f.name
            done = subprocess.run(options, capture_output=True, text=True, timeout=WAIT_S)
            self.assertEqual((done.returncode, done.stderr), (78, f"clockoo: {f.name}:2: telemetry.http: {self.WORDS}\n"))
            done = subprocess.run([PROGRAM, "--check", f.name], capture_output=True, text=True, timeout=WAIT_S)
            self.assertIn(f"not ready to start: {f.name}:2: telemetry.http: {self.WORDS}", done.stdout)

    def test_plan_and_doctor_say_it(self):
        program, *options = command("--telemetry-http", "127.0.0.1:9150")
        done = subprocess.run([program, *options, "--plan"], capture_output=True, text=True, timeout=WAIT_S)
        self.assertIn("http       127.0.0.1:9150, which this program refuses", done.stdout)
        done = subprocess.run([program, "doctor", *options], capture_output=True, text=True, timeout=WAIT_S)
        self.assertIn(self.WORDS, done.stdout)

    def test_without_it_the_program_runs(self):
        with subprocess.Popen(command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            self.assertIn("ready", p.stdout.readline())
            p.send_signal(signal.SIGTERM)
            p.communicate(timeout=WAIT_S)
            self.assertEqual(p.returncode, 0)


if __name__ == "__main__":
    probe = subprocess.run(command("--telemetry-http", "/no/such/folder/x"), capture_output=True, text=True)
    there = "built without libmicrohttpd" not in probe.stderr
    unittest.main(defaultTest=[t.__name__ for t in ((Http, Names, Probes, Places, Rules) if there else (Absent,))], verbosity=2)
