#!/usr/bin/python3 -B
"""The sockets, the thread and the limits of port user. Goal: the program listens at the host's sockets as it was told, answers all who come
there, refuses in one line what the host refuses it, closes all when it ends, and sleeps when nobody asks.
Method: the built program and plain sockets of the loopback; no privilege, NIC or namespace. What needs another address
than the loopback's is in a network namespace of its own, where one may be made.

    user_port_test.py CLOCKOO
"""

import contextlib
import ctypes
import os
import pathlib
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from user_port_program import free_port  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
WAIT_S = 60  # ends what hangs
REFUSED = 71  # EX_OSERR
CROWD, RUSH, CORES, LAZY, RESETS, RESET_ROUNDS = 900, 1000, 4, 20, 400, 8
LARGE = 1_000_000
UNREAD_MAX, SETTLED_S = 1_000_000, 0.2
IDLE_LOOK_S = 0.25
IDLE_WAITS = 100  # of each core, before its idleness is judged
DRAIN_TURNS_MAX = 100_000  # a sleep of each is 70 us, a drain a second
IDLE_SPARE = 100  # turns without a wait, and waits without a sleep: those of the test's own requests; a core that polls makes a million
IDLE_SLEEPS_PER_S = 400  # of a thread; one that is kept from running sleeps less often
QUOTA_US, PERIOD_US = 50_000, 100_000  # half a CPU
QUOTA_ASKS, QUOTA_PAUSE_S, QUOTA_ROUNDS = 200, 0.005, 100
ASK_TURNS = 8  # turns without a wait that a request may cost
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
UDP_HEADER = struct.Struct(">HHHH")
TCP_INFO_BYTES, TCP_INFO_TOTAL_RETRANS_AT = 104, 100  # linux/tcp.h, struct tcp_info
ADDRESS_OF_ANOTHER = "192.0.2.7"
TW_REUSE_S = 2.5  # Linux keeps a port for one second at least, by timestamps


def own_address():
    """Returns an address of 127.0.0.0/8 that no other test uses."""
    return "127." + ".".join(str(random.randint(1, 254)) for _ in range(3))


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def may_bind_low():
    return int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 1


def connect(host, port):
    sock = socket.create_connection((host, port), WAIT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def take(sock, count):
    parts = []
    while count and (part := sock.recv(min(count, 1 << 18))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def ask(sock, request, want):
    sock.sendall(request)
    got = take(sock, len(want))
    if got != want:
        raise AssertionError(f"{request[:60]!r}: got {got[:80]!r} ({len(got)}), expected {want[:80]!r} ({len(want)})")


def ask_udp(host, port, request, want, source=None):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
        if source is not None:
            s.bind((source, 0))
        s.connect((host, port))
        s.settimeout(WAIT_S)
        s.send(UDP_HEADER.pack(7, 0, 1, 0) + request)
        got = s.recv(65536)
    if got != UDP_HEADER.pack(7, 0, 1, 0) + want:
        raise AssertionError(f"from {source}: {request!r}: got {got!r}")


def stats(host, port, words):
    with connect(host, port) as s, s.makefile("rb") as heard:
        s.sendall(b"stats %s\r\n" % words)
        rows = {}
        while (line := heard.readline()) not in (b"END\r\n", b""):
            _, name, value = line.decode().rstrip().split(" ", 2)
            rows[name] = value
    return rows


def threads(pid):
    """Returns of each thread by its id: its name, its state and how often it gave its CPU away to wait."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        rows = dict(re.findall(r"^(\w+):\t(\S*)", (task / "status").read_text(), re.M))
        found[int(task.name)] = rows["Name"], rows["State"], int(rows["voluntary_ctxt_switches"])
    return found


def of_cores(rows, name):
    return [int(rows[f"{core}:{name}"]) for core in range(sum(row.endswith(":core_turns") for row in rows))]


def command(*options):
    return [PROGRAM, "--config", "none", "--port", "user", "--no-huge", "-m", "16", "-c", "1200", "--file-prefix",
            f"user-{os.getpid()}-{random.getrandbits(32)}", *options]


class Appliance:
    """with Appliance(OPTIONS) as a: it has said that it is ready."""

    def __init__(self, *options):
        self.process = subprocess.Popen(command(*options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline() or self.process.stderr.readline()

    def __enter__(self):
        if " ready: " not in self.first:
            self.__exit__()
            raise AssertionError(f"it is not ready: {self.first}")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=WAIT_S)
        return self.process.returncode


def refused(*options, before=()):
    """Runs the program. Returns its status and the lines of its stderr."""
    done = subprocess.run([*before, *command(*options)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S)
    return done.returncode, done.stderr.splitlines()


def in_own_network(function):
    """Calls it in a child that has a network of its own, with one more address. What is wrong there is raised here."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            flags = CLONE_NEWNET | (0 if os.geteuid() == 0 else CLONE_NEWUSER)
            if ctypes.CDLL(None).unshare(flags) != 0:
                status = 77
                os._exit(status)
            for words in ("link set lo up", f"addr add {ADDRESS_OF_ANOTHER}/32 dev lo"):
                subprocess.run(["ip", *words.split()], check=True)
            function()
            status = 0
        except BaseException as fault:
            os.write(writing, repr(fault).encode()[:4000])
        os._exit(status)
    os.close(writing)
    with open(reading, "rb") as heard:
        fault = heard.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 77:
        raise unittest.SkipTest("no network namespace may be made here")
    if status != 0:
        raise AssertionError(fault)


def retransmitted(sock):
    return struct.unpack_from("=I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES),
                              TCP_INFO_TOTAL_RETRANS_AT)[0]


class Quota:
    """A control group in which a process has half a CPU; of version 2, or 1."""

    def __init__(self):
        for root, limit in (("/sys/fs/cgroup", "cpu.max"), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us")):
            self.folder = pathlib.Path(root, f"clockoo-test-{os.getpid()}")
            with contextlib.suppress(OSError):
                self.folder.mkdir()
                if (self.folder / limit).exists():
                    self.set(limit)
                    return
            with contextlib.suppress(OSError):
                self.folder.rmdir()
        raise unittest.SkipTest("no control group for CPU time may be made here")

    def set(self, limit):
        if limit == "cpu.max":
            (self.folder / limit).write_text(f"{QUOTA_US} {PERIOD_US}")
            return
        (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.folder / limit).write_text(str(QUOTA_US))

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def throttled(self):
        return int(re.search(r"nr_throttled (\d+)", (self.folder / "cpu.stat").read_text())[1])

    def remove(self):
        self.folder.rmdir()


class Listening(unittest.TestCase):
    def test_every_address_and_port_of_the_list_is_served(self):
        (one, two, three), (port, another) = [own_address() for _ in range(3)], (free_port(), free_port())
        with Appliance("-l", f"{one},{two}:{another}", "-p", str(port)):
            with connect(one, port) as a, connect(two, another) as b:
                ask(a, b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
                ask(b, b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")
            for host, at in ((three, port), (one, another), (two, port)):
                self.assertRaises(ConnectionRefusedError, connect, host, at)

    def test_no_client_is_let_in_before_the_appliance_is_ready(self):
        """/readyz is not 200 during the start, so the first connection that is accepted gets 200."""
        host, port, pages = own_address(), free_port(), free_port()
        process = subprocess.Popen(command("-l", host, "-p", str(port), "--telemetry-http", f"{host}:{pages}"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            while True:
                self.assertIsNone(process.poll())
                with contextlib.suppress(ConnectionRefusedError), connect(host, port) as s:
                    with connect(host, pages) as probe:
                        probe.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
                        self.assertEqual(take(probe, 12), b"HTTP/1.1 200")
                    ask(s, b"mn\r\n", b"MN\r\n")
                    return
                time.sleep(0.01)
        finally:
            process.kill()
            process.communicate()

    def test_loopback_is_the_default(self):
        port = free_port()
        with Appliance("-p", str(port)):
            with connect("127.0.0.1", port) as s:
                ask(s, b"mn\r\n", b"MN\r\n")
            self.assertRaises(ConnectionRefusedError, connect, own_address(), port)

    @unittest.skipUnless(has_ipv6(), "this host has no IPv6")
    def test_ipv6_is_served_over_tcp_and_udp(self):
        port = free_port()
        with Appliance("-l", "::1", "-p", str(port), "-U", str(port)):
            with connect("::1", port) as s:
                ask(s, b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
            ask_udp("::1", port, b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")
            self.assertRaises(ConnectionRefusedError, connect, "127.0.0.1", port)

    def test_all_addresses_of_both_families_are_served(self):
        port = free_port()
        with Appliance("-l", "0.0.0.0,::", "-p", str(port), "-U", str(port)):
            for host in ("127.0.0.1", own_address(), *(["::1"] if has_ipv6() else [])):
                with connect(host, port) as s:
                    ask(s, b"mn\r\n", b"MN\r\n")
            for host in ("127.0.0.1", *(["::1"] if has_ipv6() else [])):
                ask_udp(host, port, b"mn\r\n", b"MN\r\n")

    def test_udp_goes_by_the_port_of_listen(self):
        port, another = free_port(), free_port()
        with Appliance("-l", f"127.0.0.1:{port}", "-U", str(another)):
            ask_udp("127.0.0.1", port, b"mn\r\n", b"MN\r\n")
            self.assertRaises(ConnectionRefusedError, ask_udp, "127.0.0.1", another, b"mn\r\n", b"MN\r\n")

    def test_udp_client_of_this_host_is_served_after_one_of_another_address(self):
        def clients():
            port = free_port()
            with Appliance("-l", "0.0.0.0", "-p", str(port), "-U", str(port)):
                for source, host in (("127.0.0.1", "127.0.0.1"), (ADDRESS_OF_ANOTHER, ADDRESS_OF_ANOTHER),
                                     ("127.0.0.1", "127.0.0.1"), (ADDRESS_OF_ANOTHER, ADDRESS_OF_ANOTHER)):
                    ask_udp(host, port, b"mn\r\n", b"MN\r\n", source)
        in_own_network(clients)

    def test_address_in_use_is_refused_in_one_line(self):
        host, port, another = own_address(), free_port(), free_port()
        with Appliance("-l", host, "-p", str(port)):
            status, said = refused("-l", host, "-p", str(port))
            self.assertEqual((status, len(said)), (REFUSED, 1), said)
            self.assertIn(f"TCP {host}:{port}: another program serves there", said[0])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind((host, another))
            status, said = refused("-l", host, "-p", str(port), "-U", str(another))
            self.assertEqual((status, len(said)), (REFUSED, 1), said)
            self.assertIn(f"UDP {host}:{another}: another program serves there", said[0])

    def test_address_of_another_host_is_refused_in_one_line(self):
        status, said = refused("-l", ADDRESS_OF_ANOTHER)
        self.assertEqual((status, len(said)), (REFUSED, 1), said)
        self.assertIn("this host does not have the address", said[0])

    @unittest.skipIf(may_bind_low(), "this host lets everybody serve at ports below 1024")
    def test_low_port_without_the_right_is_refused_in_one_line(self):
        without = ["setpriv", "--bounding-set", "-net_bind_service"] if os.geteuid() == 0 else []
        status, said = refused("-l", own_address(), "-p", "911", before=without)
        self.assertEqual((status, len(said)), (REFUSED, 1), said)
        self.assertIn("ports below 1024 need", said[0])


class Clients(unittest.TestCase):
    def setUp(self):
        self.host, self.port = own_address(), free_port()

    def appliance(self, *options):
        return Appliance("-l", self.host, "-p", str(self.port), *options)

    def connect(self):
        return connect(self.host, self.port)

    def test_rush_within_the_backlog_is_accepted_at_the_first_try(self):
        """A full queue drops the last part of a handshake, and the client sends again."""
        somaxconn = int(pathlib.Path("/proc/sys/net/core/somaxconn").read_text())
        if somaxconn < RUSH:
            self.skipTest(f"net.core.somaxconn is {somaxconn}: that many may wait")
        with self.appliance("-b", "1024") as a, contextlib.ExitStack() as undo:
            a.process.send_signal(signal.SIGSTOP)  # nobody accepts meanwhile
            rush = [undo.enter_context(socket.socket()) for _ in range(RUSH)]
            for s in rush:
                s.setblocking(False)
                s.connect_ex((self.host, self.port))
            wait = select.poll()
            for s in rush:
                wait.register(s, select.POLLOUT)
            connected = set()
            end = time.monotonic() + WAIT_S
            while len(connected) < RUSH and time.monotonic() < end:
                for fd, _ in wait.poll(1000):
                    connected.add(fd)
                    wait.unregister(fd)
            for s in rush:
                s.settimeout(WAIT_S)
                s.sendall(b"mn\r\n")
            a.process.send_signal(signal.SIGCONT)
            for s in rush:
                self.assertEqual(take(s, 4), b"MN\r\n")
            self.assertEqual(sum(retransmitted(s) > 0 for s in rush), 0, "connections whose client sent again")

    def test_peer_that_reads_nothing_is_sent_a_bounded_part_of_its_replies(self):
        """The rest of the replies waits in the appliance, whose pools have shares, and not in the kernel's memory."""
        with self.appliance() as a, socket.socket() as s:
            with self.connect() as other:
                ask(other, b"set k 0 0 %d\r\n%s\r\n" % (LARGE, b"x" * LARGE), b"STORED\r\n")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect((self.host, self.port))
            s.sendall(b"get k\r\n" * 9)
            written = before = None
            while written is None or written != before:
                before, written = written, int(stats(self.host, self.port, b"")["bytes_written"])
                written //= LARGE // 16  # replies of stats are less
                time.sleep(SETTLED_S)
            a.process.send_signal(signal.SIGSTOP)
            s.settimeout(1)
            got = 0
            with contextlib.suppress(TimeoutError):
                while part := s.recv(1 << 18):
                    got += len(part)
            self.assertLess(got, UNREAD_MAX)

    def test_many_connections_are_served_at_once(self):
        with self.appliance(), contextlib.ExitStack() as undo:
            crowd = [undo.enter_context(self.connect()) for _ in range(CROWD)]
            for i, s in enumerate(crowd):
                s.sendall(b"set k%d 0 0 4\r\n%04d\r\n" % (i, i))
            for s in crowd:
                self.assertEqual(take(s, 8), b"STORED\r\n")
            for i, s in enumerate(crowd):
                j = CROWD - 1 - i
                ask(s, b"get k%d\r\n" % j, b"VALUE k%d 0 4\r\n%04d\r\nEND\r\n" % (j, j))

    def test_every_core_has_clients(self):
        with self.appliance("-t", str(CORES), "--share-cpus"), contextlib.ExitStack() as undo:
            crowd = [undo.enter_context(self.connect()) for _ in range(32 * CORES)]
            for i, s in enumerate(crowd):
                ask(s, b"set k%d 0 0 1\r\nx\r\n" % i, b"STORED\r\n")
            for i, s in enumerate(crowd):
                ask(s, b"get k%d\r\n" % (len(crowd) - 1 - i), b"VALUE k%d 0 1\r\nx\r\nEND\r\n" % (len(crowd) - 1 - i))
            busy = of_cores(stats(self.host, self.port, b"cores"), "core_busy_ns")
            self.assertEqual((len(busy), min(busy) > 0), (CORES, True), busy)

    def test_large_values_come_back_byte_for_byte(self):
        with self.appliance("-t", "2", "--share-cpus"), contextlib.ExitStack() as undo:
            peers = [undo.enter_context(self.connect()) for _ in range(4)]
            values = [random.Random(i).randbytes(LARGE + i) for i in range(len(peers))]
            for turn in range(3):
                for i, (s, value) in enumerate(zip(peers, values)):
                    ask(s, b"set v%d 0 0 %d\r\n%s\r\n" % (i, len(value), value), b"STORED\r\n")
                for i, value in enumerate(values):
                    s = peers[(i + turn) % len(peers)]
                    ask(s, b"get v%d\r\n" % i, b"VALUE v%d 0 %d\r\n%s\r\nEND\r\n" % (i, len(value), value))

    def test_client_that_does_not_read_stalls_nobody_else(self):
        with self.appliance(), contextlib.ExitStack() as undo:
            with self.connect() as s:
                ask(s, b"set v 0 0 %d\r\n%s\r\n" % (LARGE, b"v" * LARGE), b"STORED\r\n")
            lazy = [undo.enter_context(self.connect()) for _ in range(LAZY)]
            for s in lazy:
                s.sendall(b"get v\r\n" * 20)
            for _ in range(50):
                with self.connect() as s:
                    ask(s, b"set k 0 0 1\r\n1\r\nget k\r\n", b"STORED\r\nVALUE k 0 1\r\n1\r\nEND\r\n")
            want = b"VALUE v 0 %d\r\n%s\r\nEND\r\n" % (LARGE, b"v" * LARGE)
            for _ in range(20):
                self.assertTrue(take(lazy[0], len(want)) == want, "a late answer is not the value")

    def test_connection_that_its_client_reset_ends(self):
        """The clients stopped reading, so both directions were full when they reset."""
        hosts = [self.host, "::1"] if has_ipv6() else [self.host]
        with self.appliance(*(["-l", "::1"] if has_ipv6() else [])) as a, contextlib.ExitStack() as undo:
            with self.connect() as s:
                ask(s, b"set v 0 0 %d\r\n%s\r\n" % (LARGE, b"v" * LARGE), b"STORED\r\n")
            lazy = [undo.enter_context(connect(hosts[i % len(hosts)], self.port)) for i in range(LAZY)]
            for s in lazy:
                s.setblocking(False)
                self.fill(s)
            with self.connect() as s:
                ask(s, b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
            for s in lazy:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
            self.await_connections(1)
            self.assertIsNone(a.process.poll())

    def await_connections(self, count):
        """Waits until at most count connections are open, the asking one among them."""
        end = time.monotonic() + WAIT_S
        while (left := int(stats(self.host, self.port, b"")["curr_connections"])) > count and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(left, count, "connections")

    def test_clients_that_reset_with_full_buffers_end_nothing(self):
        """A ring of libslirp's that was read in parts fills to the last byte: it then has no room when the reset comes.
        libslirp reads it all the same, and its assertion ended the process in each of these runs."""
        request = (b"get" + b" v" * 100 + b"\r\n") * 2000
        draw = random.Random(RESETS)
        with self.appliance() as a:
            with self.connect() as s:
                ask(s, b"set v 0 0 100\r\n%s\r\n" % (b"v" * 100), b"STORED\r\n")
            for _ in range(RESET_ROUNDS):
                with contextlib.ExitStack() as undo:
                    lazy = [undo.enter_context(self.connect()) for _ in range(RESETS)]
                    for s in lazy:
                        s.setblocking(False)
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    for _ in range(4 * RESETS):
                        s = draw.choice(lazy)
                        with contextlib.suppress(OSError):
                            s.recv(draw.randint(1, 9000))
                        with contextlib.suppress(OSError):
                            s.send(request[:draw.randint(1, 60000)])
                    for s in lazy:
                        self.fill_now(s, request)
                self.await_connections(1)
            self.assertIsNone(a.process.poll())

    @staticmethod
    def fill_now(sock, request):
        with contextlib.suppress(OSError):
            while True:
                sock.send(request)

    def test_client_at_the_port_of_one_that_left_is_served(self):
        """libslirp keeps the connection of the first for seconds."""
        with self.appliance():
            with self.connect_from(("127.0.0.1", 0)) as first:
                ask(first, b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
                name = first.getsockname()
            time.sleep(TW_REUSE_S)
            try:
                second = self.connect_from(name)
            except OSError as fault:
                self.skipTest(f"this host gives no port of the loopback away so soon (net.ipv4.tcp_tw_reuse): {fault}")
            with second as s:
                ask(s, b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")
            self.assertEqual(stats(self.host, self.port, b"stack")["tcp_reset_by_peer"], "0", "connections")

    def connect_from(self, name):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.settimeout(WAIT_S)
        try:
            s.bind(name)
            s.connect((self.host, self.port))
        except OSError:
            s.close()
            raise
        return s

    @staticmethod
    def fill(sock):
        """Sends requests until none has been taken for a moment."""
        requests = b"get v\r\n" * 10_000
        with contextlib.suppress(BlockingIOError):
            while select.select([], [sock], [], 0.2)[1]:
                sock.send(requests)

    def test_end_closes_every_connection(self):
        with self.appliance() as a, contextlib.ExitStack() as undo:
            peers = [undo.enter_context(self.connect()) for _ in range(100)]
            for s in peers:
                ask(s, b"mn\r\n", b"MN\r\n")
            self.assertEqual(a.end(), 0)
            for s in peers:
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(s.recv(100), b"")
            self.assertRaises(ConnectionRefusedError, self.connect)
            with self.appliance():  # its address is free again
                pass

    def test_hup_changes_what_may_change_and_no_connection(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            def write(listen, idle_s):
                file.seek(0)
                file.write(f"network:\n  listen: {listen}\nprotocol:\n  idle_timeout: {idle_s}\n")
                file.truncate()
                file.flush()

            write(self.host, 1000)
            with Appliance("--config", file.name, "-p", str(self.port)) as a, self.connect() as s:
                ask(s, b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
                write(own_address(), 2000)
                a.process.send_signal(signal.SIGHUP)
                heard = "".join(a.process.stderr.readline() for _ in range(2))
                self.assertIn("network.listen changes only after a restart", heard)
                self.assertIn("protocol.idle_timeout is 2000 now", heard)
                ask(s, b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")
                with self.connect() as another:
                    ask(another, b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")

    def test_idle_threads_sleep(self):
        """Each turn ends in a wait, each wait in a sleep, and no thread sleeps often. Counts alone decide: a thread that is kept
        from running makes fewer turns and sleeps."""
        with self.appliance("-t", "2", "--share-cpus") as a, self.connect():
            began, first, before = time.monotonic(), threads(a.process.pid), self.counts()
            while time.monotonic() < began + WAIT_S:
                time.sleep(IDLE_LOOK_S)
                awake, waits = self.since(before)
                now = threads(a.process.pid)
                slept = {task: count - first[task][2] for task, (_, _, count) in now.items()}
                up = [now[task][0] for task in now if slept[task] == 0 and not first[task][1] == now[task][1] == "S"]
                if max(awake) > IDLE_SPARE or (min(waits) >= IDLE_WAITS and not up):
                    break
            took_s = time.monotonic() - began
            self.assertEqual(up, [], "threads that never slept")
            self.assertLess(max(awake), IDLE_SPARE, "turns without a wait")
            self.assertGreaterEqual(min(waits), IDLE_WAITS, "waits")
            self.assertGreater(sum(slept.values()) + IDLE_SPARE, sum(waits), "sleeps of all threads, and waits of cores")
            self.assertLess(max(slept.values()), IDLE_SLEEPS_PER_S * took_s, "sleeps")

    def test_core_that_drains_sleeps_between_turns(self):
        """A connection that its client does not end keeps its core for the whole drain."""
        with self.appliance("-v") as a, self.connect() as s:
            ask(s, b"mn\r\n", b"MN\r\n")
            a.process.send_signal(signal.SIGTERM)
            _, said = a.process.communicate(timeout=WAIT_S)
        self.assertLess(int(re.search(r"CORE_TURNS (\d+) \(", said)[1]), DRAIN_TURNS_MAX)

    def counts(self):
        """Returns turns and waits of each core."""
        rows = stats(self.host, self.port, b"cores")
        return of_cores(rows, "core_turns"), of_cores(rows, "core_waits")

    def since(self, before):
        """Returns of each core its turns without a wait, and its waits, since then."""
        turns, waits = ([b - a for a, b in zip(then, now)] for then, now in zip(before, self.counts()))
        return [t - w for t, w in zip(turns, waits)], waits

    def test_half_a_cpu_serves_and_is_not_used_up_by_few_requests(self):
        """A core that polled would take all of it. Whoever has none left stands still for half of each period."""
        quota = Quota()
        self.addCleanup(quota.remove)
        with self.appliance("-t", "2", "--share-cpus") as a, contextlib.ExitStack() as undo:
            quota.add(a.process.pid)
            peers = [undo.enter_context(self.connect()) for _ in range(8)]
            ask(peers[0], b"set k 0 0 1\r\nx\r\n", b"STORED\r\n")
            before = self.counts()
            for _ in range(QUOTA_ASKS):
                ask(peers[0], b"get k\r\n", b"VALUE k 0 1\r\nx\r\nEND\r\n")
                time.sleep(QUOTA_PAUSE_S)
            self.assertLess(max(self.since(before)[0]), ASK_TURNS * QUOTA_ASKS, "turns without a wait")
            before = quota.throttled()
            for _ in range(QUOTA_ROUNDS):
                for s in peers:
                    s.sendall(b"get k\r\n" * 500)
                for s in peers:
                    want = b"VALUE k 0 1\r\nx\r\nEND\r\n" * 500
                    self.assertEqual(take(s, len(want)), want)
                if quota.throttled() > before:
                    return
            self.skipTest("this machine has less than half a CPU left for it")


if __name__ == "__main__":
    unittest.main(verbosity=2)
