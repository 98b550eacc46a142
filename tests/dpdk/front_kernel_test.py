#!/usr/bin/python3 -B
"""A front whose servers are reached through the kernel: Unix sockets and 127.0.0.1. Goal: clients are answered as over the NIC;
a server that is killed, stopped, missing or forbidden costs errors and misses with its reason in one line, and no wrong value;
a reload adds and removes such servers; a stop ends. Method: the built program on port user before Debian's memcached.

    front_kernel_test.py CLOCKOO
"""

import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import front_ends_test as ends  # takes CLOCKOO from the arguments
import front_tls_test as tls

CLIENTS, KILLS = 4, 3


class Memcached:
    """One on a Unix socket, or on this address. where: as front.servers has it."""

    def __init__(self, path=None, *words, host="127.0.0.1"):
        port = ends.free_port()
        self.address = str(path) if path else (host, port)
        self.where = f"unix:{path}" if path else f"kernel:{host}:{port}"
        self.words = [ends.MEMCACHED, "-u", "root", "-U", "0", "-I", "2m", *words,
                      *(["-s", str(path)] if path else ["-l", host, "-p", str(port)])]
        self.start()

    def value(self, key):
        """Returns the value that this server has; None: it has none."""
        family = socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET
        with socket.socket(family) as s:
            s.settimeout(ends.WAIT_S)
            s.connect(self.address)
            s.sendall(b"get %s\r\n" % key)
            with s.makefile("rb") as heard:
                return heard.readline() if heard.readline().startswith(b"VALUE") else None

    def start(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def has_loopback6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as s:
        s.bind(("::1", 0))
        return True
    return False


def options(*where):
    return ["--front-servers", ",".join(f"{w}:1" for w in where), "--front-items", "0", "--front-server-retry-timeout", "200ms",
            "--front-timeout", "30s", "--front-connect-timeout", "500ms"]


@unittest.skipUnless(ends.MEMCACHED, "no memcached here")
class ByKernel(ends.Files):
    def path(self, name):
        return pathlib.Path(self.folder, name)

    def both(self):
        """Servers of both kinds, one after the other."""
        for path in (self.path("memcached.sock"), None):
            with self.subTest(path=path), Memcached(path) as server:
                yield server

    def down(self, program, where, why):
        self.assertEqual(program.line(" is down: "), f"clockoo: front.servers: {where} is down: {why}; its keys fail\n")

    def has(self, heard, want):
        """An error is one line, and nothing follows it: the first line comes before the rest is waited for."""
        first = heard.readline()
        self.assertEqual(first, want[:want.index(b"\n") + 1])
        self.assertTrue(heard.read(len(want) - len(first)) == want[len(first):], want[:40])

    def values_pass(self, program):
        program.stores()
        with socket.create_connection(("127.0.0.1", program.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
            for size in ends.SIZES:
                value = random.randbytes(size)
                s.sendall(b"set v%d 5 0 %d\r\n%s\r\nget v%d\r\n" % (size, size, value, size))
                self.has(heard, b"STORED\r\n")
                self.has(heard, b"VALUE v%d 5 %d\r\n%s\r\nEND\r\n" % (size, size, value))
            s.sendall(b"".join(b"set p%d 0 0 4\r\n%04d\r\nget p%d\r\n" % (i % 9, i, i % 9) for i in range(500)))
            for i in range(500):
                self.has(heard, b"STORED\r\n")
                self.has(heard, b"VALUE p%d 0 4\r\n%04d\r\nEND\r\n" % (i % 9, i))
            s.sendall(b"get " + b" ".join(b"p%d" % i for i in range(9)) + b"\r\n")
            got = []
            while (line := heard.readline()).startswith(b"VALUE"):
                got.append(line)
                heard.readline()
            self.assertEqual((sorted(got), line), ([b"VALUE p%d 0 4\r\n" % i for i in range(9)], b"END\r\n"))

    def test_values_pass(self):
        for server in self.both():
            with ends.Program(*options(server.where)) as program:
                self.values_pass(program)
                self.assertGreater(tls.stat(program, "sock_link_opened"), 0)

    def test_server_that_is_killed_under_load_costs_no_wrong_value(self):
        for server in self.both():
            until = threading.Event()
            with ends.Program(*options(server.where)) as program:
                program.stores()
                writers = [tls.Writer(program.port, i, until) for i in range(CLIENTS)]
                for writer in writers:
                    writer.start()
                try:
                    for _ in range(KILLS):
                        time.sleep(0.3)
                        server.kill()
                        time.sleep(0.1)
                        server.start()
                        program.stores()
                    time.sleep(0.3)
                finally:
                    until.set()
                    for writer in writers:
                        writer.join()
                self.assertEqual([w.wrong for w in writers], [[]] * CLIENTS)
                self.assertGreater(sum(w.stored for w in writers), 0)
                self.assertGreater(sum(w.hits for w in writers), 0)

    def test_server_that_does_not_answer_is_late_and_returns(self):
        for server in self.both():
            with ends.Program(*options(server.where), "--front-timeout", "300ms") as program:
                program.stores()
                server.process.send_signal(signal.SIGSTOP)
                value = random.randbytes(1_000_000)
                with socket.create_connection(("127.0.0.1", program.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
                    s.sendall(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value))
                    self.assertTrue(heard.readline().startswith(b"SERVER_ERROR"))
                program.line(" is down: ")
                server.process.send_signal(signal.SIGCONT)
                program.line(" is back")
                program.stores()

    def test_each_reason_is_named_and_passes(self):
        port, path = ends.free_port(), self.path("absent.sock")
        with ends.Program(*options(f"kernel:127.0.0.1:{port}")) as program:
            self.down(program, f"kernel:127.0.0.1:{port}", "it refuses connections")
        with ends.Program(*options(f"unix:{path}")) as program:
            self.down(program, f"unix:{path}", "there is no such Unix socket")
            self.assertTrue(program.ask(b"set k 0 0 1\r\nv\r\n").startswith(b"SERVER_ERROR"))
            with Memcached(path):
                program.line(" is back")
                program.stores()

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_socket_that_the_services_user_may_not_use_is_named(self):
        path = self.path("private.sock")
        os.chmod(self.folder, 0o755)
        with Memcached(path, "-a", "0700"), ends.Program(*options(f"unix:{path}"), "-u", "nobody") as program:
            self.down(program, f"unix:{path}", "the service's user (-u) may not connect to it")

    def test_reload_adds_and_removes_servers(self):
        with Memcached(self.path("one.sock")) as one, Memcached() as two:
            servers = self.file("servers", f"{one.where}:1 one\n")
            with ends.Program(*options("x")[2:], "--front-servers", servers) as program:
                program.stores()
                for text, count in ((f"{one.where}:1 one\n{two.where}:1 two\n", 2), (f"{two.where}:1 two\n", 1)):
                    self.file("servers", text)
                    program.hup()
                    program.line(f"front.servers: {count} server{'s' if count > 1 else ''} now")
                    self.values_pass(program)
                one.kill()
                self.values_pass(program)

    def test_first_server_through_the_kernel_needs_a_restart(self):
        with ends.memcached() as port, Memcached() as other:
            servers = self.file("first", f"{ends.HOST_INSIDE}:{port}:1 a\n")
            with ends.Program(*options("x")[2:], "--front-servers", servers) as program:
                program.stores()
                self.file("first", f"{ends.HOST_INSIDE}:{port}:1 a\n{other.where}:1 b\n")
                program.hup()
                program.line("the first server through the kernel needs a restart; the servers are those of before")
                program.stores()

    def test_servers_of_both_ways_stand_beside_each_other(self):
        with ends.memcached() as port, Memcached(self.path("beside.sock")) as other:
            with ends.Program(*options(f"{ends.HOST_INSIDE}:{port}", other.where)) as program:
                program.stores()
                with socket.create_connection(("127.0.0.1", program.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
                    for i in range(50):
                        s.sendall(b"set m%d 0 0 2\r\n%02d\r\nget m%d\r\n" % (i, i, i))
                        want = b"STORED\r\nVALUE m%d 0 2\r\n%02d\r\nEND\r\n" % (i, i)
                        self.assertEqual(heard.read(len(want)), want)

    def test_several_cores_share_the_helper(self):
        for server in self.both():
            with ends.Program(*options(server.where), "-t", "2") as program:
                self.values_pass(program)
                self.assertEqual(tls.stat(program, "sock_link_opened"), 2)
                until = threading.Event()
                writers = [tls.Writer(program.port, i, until) for i in range(CLIENTS)]
                for writer in writers:
                    writer.start()
                end = time.monotonic() + ends.WAIT_S
                while not all(w.stored > 20 and w.hits > 20 for w in writers) and time.monotonic() < end:
                    time.sleep(0.05)
                until.set()
                for writer in writers:
                    writer.join()
                self.assertTrue(all(w.hits > 20 for w in writers))
                self.assertEqual([(w.wrong, w.errors) for w in writers], [([], 0)] * CLIENTS)

    @unittest.skipUnless(socket.has_ipv6 and has_loopback6(), "no ::1 here")
    def test_ipv6_server_is_reached(self):
        with Memcached(host="::1") as server, ends.Program(*options(server.where)) as program:
            self.values_pass(program)

    def test_server_with_users_is_logged_in_to(self):
        users, login = self.file("users", f"{ends.NAME}:{ends.WORD}\n"), self.file("login", f"{ends.NAME}:{ends.WORD}\n")
        wrong = self.file("wrong", f"{ends.NAME}:{ends.OTHER}\n")
        for path in (self.path("users.sock"), None):
            with self.subTest(path=path), Memcached(path, "-Y", users) as server:
                with ends.Program(*options(server.where), "--front-login", login) as program:
                    self.values_pass(program)
                with ends.Program(*options(server.where), "--front-login", wrong) as program:
                    self.down(program, server.where, ends.REFUSES)

    def test_gutter_stands_in_for_a_server_that_leaves(self):
        for path in (self.path("gutter.sock"), None):
            with self.subTest(path=path), Memcached() as server, Memcached(path) as gutter, \
                    ends.Program(*options(server.where), "--front-auto-eject-hosts", "--front-gutter", f"{gutter.where}:1") as program:
                program.stores()
                self.assertIsNone(gutter.value(b"k"))
                server.kill()
                program.line(" has left: ")
                program.stores()
                self.assertEqual(gutter.value(b"k"), b"hi\r\n")

    def test_keys_that_move_as_a_weight_grows_are_handed_over(self):
        with Memcached(self.path("former.sock")) as former, Memcached() as joins:
            servers = self.file("moving", f"{former.where}:1 former\n")
            with ends.Program(*options("x")[2:], "--front-servers", servers, "--front-mode", "sole", "--front-warm", "1h", "--front-hash", "md5",
                              "--front-reload", "flush") as program:
                program.stores()
                for i in range(60):
                    self.assertEqual(program.ask(b"set m%d 0 0 2\r\nhi\r\n" % i), b"STORED\r\n")
                there = []
                for weight in (1, 3, 12):
                    self.file("moving", f"{former.where}:1 former\n{joins.where}:{weight} joins\n")
                    program.seen.clear()  # the line of the change before
                    program.hup()
                    program.line("front.servers: 2 servers now")
                    for i in range(60):
                        end = time.monotonic() + ends.WAIT_S
                        while program.ask(b"get m%d\r\n" % i) != b"VALUE m%d 0 2\r\n" % i:
                            self.assertLess(time.monotonic(), end, f"m{i} was lost at weight {weight}")
                    there.append(sum(joins.value(b"m%d" % i) is not None for i in range(60)))
                self.assertTrue(0 < there[0] < there[1] < there[2], there)

    def test_stop_ends(self):
        for server in self.both():
            with ends.Program(*options(server.where)) as program:
                program.stores()
                program.process.send_signal(signal.SIGTERM)
                self.assertEqual(program.process.wait(ends.WAIT_S), 0)


class Refused(unittest.TestCase):
    def refused(self, *words):
        done = subprocess.run([ends.PROGRAM, *ends.base(11299), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=ends.WAIT_S)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_wrong_servers_are_refused_in_one_line(self):
        for where, why in (("unix:" + "/" + "x" * 108, "a path of 109 bytes; at most 107"),
                           ("unix:x", "expected an absolute path"),
                           ("127.0.0.1:11211", "; kernel: before it reaches it"),
                           ("kernel:127.0.0.1:11299", "kernel:127.0.0.1:11299 is the front itself"),
                           ("unix:/a:1 b,unix:/a", "unix:/a is there twice")):
            with self.subTest(where=where):
                self.assertIn(why, self.refused("--front-servers", f"{where}:1"))

    def test_tls_is_refused_in_one_line(self):
        self.assertIn("no TLS is spoken through the kernel",
                      self.refused("--front-servers", "unix:/a:1", "--front-tls-ca", "/nowhere/ca.pem"))

    def test_plan_names_them(self):
        done = subprocess.run([ends.PROGRAM, *ends.base(11299), "--front-servers", "unix:/a:1", "--plan"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=ends.WAIT_S)
        self.assertIn("1 server through the kernel, by a thread of their own", done.stdout)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        unittest.main()
