#!/usr/bin/python3 -B
"""A front that speaks TLS to its servers. Goal: clients are answered as over plain connections; a server that is not verified, or
stops amid its handshake, is down with its reason in one line, and a reload of the issuers mends it; sessions are resumed; a server
that is killed under load costs errors and misses, and no wrong value. Method: the built program on port user; servers are Debian's
memcached, the program itself, and servers of this file; certificates of openssl(1).

    front_tls_test.py CLOCKOO
"""

import contextlib
import pathlib
import random
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import front_ends_test as ends  # takes CLOCKOO from the arguments
import local_server

SIZES = (0, 1, 1400, 16384, 100_000, 1_000_000)
CLIENTS, KILLS, KEYS = 4, 3, 20


def openssl(*words):
    subprocess.run(["openssl", *words], stdin=subprocess.DEVNULL, capture_output=True, check=True)


class Issuer:
    """An issuer in a folder of its own, by its name."""

    def __init__(self, folder, name, days="30"):
        self.folder = pathlib.Path(folder, name)
        self.folder.mkdir()
        self.cert, self.key = (str(self.folder / file) for file in ("ca.pem", "ca.key"))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", days, "-keyout", self.key,
                "-out", self.cert, "-subj", f"/CN={name}")

    def issue(self, name, names, days="30"):
        """Returns memcached's options for a certificate with these names."""
        return ["-Z", "-o", "ssl_chain_cert={},ssl_key={}".format(*self.files(name, names, days))]

    def own(self, name):
        """Returns a front's options for a certificate of its own."""
        cert, key = self.files(name, "DNS:front.example", "30")
        return ["--front-tls-cert", cert, "--front-tls-key", key]

    def files(self, name, names, days):
        """Makes a certificate with these names. Returns its file, and that of its key."""
        key, request, extra, cert = (str(self.folder / f"{name}.{end}") for end in ("key", "csr", "ext", "pem"))
        pathlib.Path(extra).write_text(f"subjectAltName={names}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
                "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", days,
                "-extfile", extra, "-out", cert)
        return cert, key


def front(port, issuers, *words):
    return ends.Program(*ends.before(port), "--front-tls-ca", issuers, *words)


def stat(program, name):
    with socket.create_connection(("127.0.0.1", program.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
        s.sendall(b"stats stack\r\n")
        for line in iter(heard.readline, b"END\r\n"):
            words = line.split()
            if words[1] == name.encode():
                return int(words[2])
    raise AssertionError(f"no row {name}")


class Tls(ends.Files):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.issuer, cls.other = Issuer(cls.folder, "issuer"), Issuer(cls.folder, "other")
        cls.good = cls.issuer.issue("good", f"IP:{ends.HOST_INSIDE}")

    def down(self, program, port, why):
        self.assertEqual(program.line(" is down: "),
                         f"clockoo: front.servers: {ends.HOST_INSIDE}:{port} is down: {why}; its keys fail\n")


@unittest.skipUnless(ends.MEMCACHED and shutil.which("openssl"), "no memcached or openssl here")
class Verified(Tls):
    def values_pass(self, program):
        program.stores()
        with socket.create_connection(("127.0.0.1", program.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
            for size in SIZES:
                value = random.randbytes(size)
                s.sendall(b"set v%d 5 0 %d\r\n%s\r\nget v%d\r\n" % (size, size, value, size))
                want = b"STORED\r\nVALUE v%d 5 %d\r\n%s\r\nEND\r\n" % (size, size, value)
                self.assertTrue(heard.read(len(want)) == want, size)
            s.sendall(b"".join(b"set p%d 0 0 4\r\n%04d\r\nget p%d\r\n" % (i % 9, i, i % 9) for i in range(500)))
            for i in range(500):
                want = b"STORED\r\nVALUE p%d 0 4\r\n%04d\r\nEND\r\n" % (i % 9, i)
                self.assertEqual(heard.read(len(want)), want)

    def test_memcached_is_spoken_to_in_tls(self):
        with ends.memcached(*self.good, "-I", "2m") as port, front(port, self.issuer.cert) as program:
            self.values_pass(program)
            self.assertEqual(stat(program, "tls_link_handshake_errors"), 0)

    def test_appliance_with_a_login_and_tls_to_its_own_clients_is_too(self):
        users, login = self.file("users", f"{ends.NAME}:{ends.WORD}\n"), self.file("login", f"{ends.NAME}:{ends.WORD}\n")
        with ends.Program(*self.good, "-Y", users) as cache, front(cache.port, self.issuer.cert, "--front-login", login) as program:
            self.values_pass(program)

    def test_name_may_be_another_than_the_hosts(self):
        with ends.memcached(*self.issuer.issue("named", "DNS:cache.example")) as port, \
                front(port, self.issuer.cert, "--front-tls-name", "cache.example") as program:
            program.stores()

    def test_session_is_resumed_by_a_server_that_was_late(self):
        """On a machine that stands still the server may be late without being stopped, so a request may fail again."""
        with ends.Program(*self.good) as cache, front(cache.port, self.issuer.cert, "--front-timeout", "300ms") as program:
            program.until_stored()
            before = stat(program, "tls_link_resumed")
            cache.process.send_signal(signal.SIGSTOP)
            program.ask(b"get k\r\n")
            cache.process.send_signal(signal.SIGCONT)
            end = time.monotonic() + ends.WAIT_S
            while stat(program, "tls_link_resumed") == before and time.monotonic() < end:
                program.ask(b"get k\r\n")
                time.sleep(ends.TRY_S)
            self.assertGreater(stat(program, "tls_link_resumed"), before)
            while (got := program.ask(b"get k\r\n")) != b"VALUE k 0 2\r\n" and time.monotonic() < end:
                time.sleep(ends.TRY_S)
            self.assertEqual(got, b"VALUE k 0 2\r\n")


@unittest.skipUnless(ends.MEMCACHED and shutil.which("openssl"), "no memcached or openssl here")
class Refused(Tls):
    def test_each_reason_is_named(self):
        rows = [(self.other.issue("by-other", f"IP:{ends.HOST_INSIDE}"), "no certificate of front.tls_ca has issued its own"),
                (self.issuer.issue("expired", f"IP:{ends.HOST_INSIDE}", "-1"), "its certificate has expired"),
                (self.issuer.issue("named", "DNS:cache.example"), "its certificate has another name: see front.tls_name"),
                ([], "it does not speak TLS")]
        for words, why in rows:
            with self.subTest(why=why), ends.memcached(*words) as port, front(port, self.issuer.cert) as program:
                self.down(program, port, why)
                self.assertTrue(program.ask(b"set k 0 0 1\r\nv\r\n").startswith(b"SERVER_ERROR"))

    def test_reload_of_the_issuers_mends_it(self):
        issuers = self.file("issuers.pem", pathlib.Path(self.other.cert).read_text())
        with ends.memcached(*self.good) as port, front(port, issuers) as program:
            self.down(program, port, "no certificate of front.tls_ca has issued its own")
            self.file("issuers.pem", pathlib.Path(self.issuer.cert).read_text())
            program.hup()
            program.line(f"reload: front.tls_ca: {issuers} was read again, for new connections to servers")
            program.line(" is back")
            program.stores()

    def test_reload_to_a_broken_file_keeps_the_issuers(self):
        issuers = self.file("broken.pem", pathlib.Path(self.issuer.cert).read_text())
        with ends.memcached(*self.good) as port, front(port, issuers) as program:
            program.stores()
            self.file("broken.pem", "no certificate\n")
            program.hup()
            program.line("the issuers are those of before")
            program.stores()

    def test_server_that_stops_amid_the_handshake_is_named(self):
        class Silent(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    while self.request.recv(65536):
                        pass

        port = local_server.LocalServer(Silent).server_address[1]
        with front(port, self.issuer.cert, "--front-connect-timeout", "500ms") as program:
            self.down(program, port, "its TLS handshake does not end within front.connect_timeout")

    def test_wrong_options_are_refused_in_one_line(self):
        for words, why in ((["--front-tls-ca", "ca.pem"], "--front-tls-ca: ca.pem: expected an absolute path"),
                           (["--front-tls-name", "a"], "--front-tls-name without --front-tls-ca: servers are spoken to in the clear, "
                                                       "and show no certificate"),
                           (["--front-tls-ca", "/nowhere/ca.pem"], "--front-tls-ca /nowhere/ca.pem: cannot be read as PEM certificates")):
            with self.subTest(why=why):
                done = subprocess.run([ends.PROGRAM, *ends.base(ends.free_port()), *ends.before(11311), *words], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=ends.WAIT_S)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertNotEqual(done.returncode, 0)


@unittest.skipUnless(ends.MEMCACHED and shutil.which("openssl"), "no memcached or openssl here")
class OwnCertificate(Tls):
    REFUSED = "it refuses the certificate of front.tls_cert, or requires one"

    @contextlib.contextmanager
    def requiring(self):
        """Returns the ports of servers that require a certificate of this issuer: memcached, the program itself."""
        words = [*self.good[:-1], f"{self.good[-1]},ssl_ca_cert={self.issuer.cert},ssl_verify_mode=2"]
        with ends.memcached(*words) as port, ends.Program(*words) as cache:
            yield port, cache.port

    def test_server_that_requires_it_gets_it(self):
        with self.requiring() as ports:
            for port in ports:
                with self.subTest(port=port), front(port, self.issuer.cert, *self.issuer.own("front")) as program:
                    program.stores()

    def test_refusal_is_named(self):
        with self.requiring() as ports:
            for port in ports:
                for words in ([], self.other.own("foreign")):
                    with self.subTest(port=port, words=words), front(port, self.issuer.cert, *words) as program:
                        self.down(program, port, self.REFUSED)

    def test_reload_takes_a_new_one(self):
        good, foreign = self.issuer.own("renewed"), self.other.own("former")
        both = [self.file(name, pathlib.Path(foreign[i]).read_text()) for name, i in (("own.pem", 1), ("own.key", 3))]
        with self.requiring() as (port, _), front(port, self.issuer.cert, "--front-tls-cert", both[0], "--front-tls-key", both[1]) as program:
            self.down(program, port, self.REFUSED)
            for path, i in zip(both, (1, 3)):
                self.file(pathlib.Path(path).name, pathlib.Path(good[i]).read_text())
            program.hup()
            program.line(" is back")
            program.stores()

    def test_dates_of_issuers_and_of_it_are_warned_of(self):
        soon, own = Issuer(self.folder, "soon", "3"), self.issuer.files("ending", "DNS:front.example", "3")
        for words, what in ((["--front-tls-ca", soon.cert], f"front.tls_ca: {soon.cert}: the issuer /CN=soon expires on 20"),
                            (["--front-tls-ca", self.issuer.cert, "--front-tls-cert", own[0], "--front-tls-key", own[1]],
                             f"front.tls_cert: {own[0]}: the certificate expires on 20"),
                            (["--front-tls-ca", self.issuer.cert, *self.issuer.own("lasting")], "")):
            with self.subTest(what=what):
                done = subprocess.run([ends.PROGRAM, "doctor", *ends.base(ends.free_port()), *ends.before(11311), *words],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ends.WAIT_S)
                self.assertEqual(f"warn  certificates     {what}" in done.stdout, what != "", done.stdout + done.stderr)
        with ends.memcached(*self.good) as port, front(port, soon.cert) as program:
            self.assertIn(f"clockoo: warning: front.tls_ca: {soon.cert}: the issuer /CN=soon expires on 20", program.line("expires on"))


class Writer(threading.Thread):
    """Writes and reads keys of its own. A read returns the last value stored, one whose fate is unknown, or a miss."""

    def __init__(self, port, number, until):
        super().__init__()
        self.port, self.number, self.until = port, number, until
        self.may_be = [set() for _ in range(KEYS)]
        self.wrong, self.stored, self.hits, self.errors = [], 0, 0, 0

    def run(self):
        rng = random.Random(self.number)
        for i in range(1_000_000):
            if self.until.is_set():
                return
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), ends.WAIT_S) as s, s.makefile("rb") as heard:
                for n in range(500):
                    if self.until.is_set():
                        return
                    self.step(s, heard, rng.randrange(KEYS), b"%d.%d" % (i, n), rng.random() < 0.5)

    def step(self, s, heard, key, value, writes):
        name = b"w%d.%d" % (self.number, key)
        if writes:
            self.may_be[key].add(value)
            s.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value))
            line = heard.readline()
            if line == b"STORED\r\n":
                self.may_be[key] = {value}
                self.stored += 1
            else:
                self.errors += 1
            return
        s.sendall(b"get %s\r\n" % name)
        line = heard.readline()
        if line.startswith(b"VALUE"):
            got = heard.readline().rstrip()
            heard.readline()
            self.hits += 1
            if got not in self.may_be[key]:
                self.wrong.append((name, got, self.may_be[key]))
        else:
            self.errors += line != b"END\r\n"


@unittest.skipUnless(ends.MEMCACHED and shutil.which("openssl"), "no memcached or openssl here")
class Killed(Tls):
    def start(self, port):
        return subprocess.Popen([ends.MEMCACHED, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root", *self.good],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def await_work(self, writers):
        """Waits until each writer has stored a value and got one since."""
        before, end = [(w.stored, w.hits) for w in writers], time.monotonic() + ends.WAIT_S
        while not all(w.stored > stored and w.hits > hits for w, (stored, hits) in zip(writers, before)) and time.monotonic() < end:
            time.sleep(0.05)

    def test_server_that_is_killed_under_load_costs_no_wrong_value(self):
        port, until = ends.free_port(), threading.Event()
        server = self.start(port)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        with front(port, self.issuer.cert) as program:
            program.stores()
            writers = [Writer(program.port, i, until) for i in range(CLIENTS)]
            for writer in writers:
                writer.start()
            try:
                for _ in range(KILLS):
                    self.await_work(writers)
                    server.kill()
                    server.wait()
                    time.sleep(0.1)
                    server = self.start(port)
                    program.stores()
                self.await_work(writers)
            finally:
                until.set()
                for writer in writers:
                    writer.join()
            for writer in writers:
                self.assertEqual(writer.wrong, [])
            self.assertGreater(sum(w.stored for w in writers), 0)
            self.assertGreater(sum(w.hits for w in writers), 0)
            self.assertGreater(stat(program, "tls_link_handshakes"), 1)


if __name__ == "__main__":
    unittest.main()
