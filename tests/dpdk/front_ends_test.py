#!/usr/bin/python3 -B
"""The two ends of a front. Goal: clients are served over TLS, and only once they have named a user; servers that ask for a
login get it before any request, and who refuses it is named in one line, without a word of it in any line, list or page.
Method: the built program on port user; servers are Debian's memcached, the program itself, and servers of this file.

    front_ends_test.py CLOCKOO
"""

import contextlib
import os
import pathlib
import queue
import random
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import local_server
from user_port_program import HOST_INSIDE, WAIT_S, UserPortProgram, base, free_port

PROGRAM = os.path.abspath(sys.argv.pop(1))
MEMCACHED = shutil.which("memcached")
TRY_S = 0.05              # of a request until a server is up, or down
NAME, WORD, OTHER = "front", "pass-7f3a", "pass-of-before"
REFUSES = "it refuses the login"
REQUIRES = "it requires a login: name a file with one as front.login"
ERROR = b"SERVER_ERROR out of order\r\n"
SIZES = (0, 1, 1400, 16384, 100_000, 1_000_000)


class Program(UserPortProgram):
    def __init__(self, *words):
        super().__init__(PROGRAM, *words)

    def line(self, words):
        """Asks until a line of stderr has these words: only requests make a front notice that a server fails."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                self.seen.append(self.lines.get(timeout=TRY_S))
            if self.seen and words in self.seen[-1]:
                return self.seen[-1]
            self.ask(b"get k\r\n")
        raise AssertionError(f"no line has \"{words}\": {self.seen}")

    def stores(self):
        """Stores and gets a value, as soon as the server is in use."""
        self.until_stored()
        got = self.ask(b"get k\r\n")
        if got != b"VALUE k 0 2\r\n":
            raise AssertionError(f"{got}: {self.seen}")

    def until_stored(self):
        end = time.monotonic() + WAIT_S
        while self.ask(b"set k 0 0 2\r\nhi\r\n") != b"STORED\r\n" and time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                self.seen.append(self.lines.get(timeout=TRY_S))

    def hup(self):
        self.process.send_signal(signal.SIGHUP)


def before(*ports):
    """Returns the options of a front before the servers on these ports of this host."""
    return ["--front-servers", ",".join(f"{HOST_INSIDE}:{port}:1" for port in ports), "--front-items", "0",
            "--front-server-retry-timeout", "200ms", "--front-timeout", f"{WAIT_S}s", "--front-connect-timeout", f"{WAIT_S}s"]


@contextlib.contextmanager
def memcached(*words):
    port = free_port()
    process = subprocess.Popen([MEMCACHED, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root", *words],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def server(answer):
    """Starts a server that gives this answer to every line."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                while asked := self.request.recv(65536):
                    self.request.sendall(answer * asked.count(b"\r\n"))

    return local_server.LocalServer(Handler).server_address[1]


class Files(unittest.TestCase):
    """Tests with a folder of their class, in which file() writes one that only its owner reads."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())

    @classmethod
    def file(cls, name, text):
        path = pathlib.Path(cls.folder, name)
        path.touch(mode=0o600)
        path.write_text(text)
        return str(path)


@unittest.skipUnless(MEMCACHED, "no memcached here")
class Login(Files):
    def test_memcached_with_users_is_logged_in_to(self):
        users, login = self.file("users", f"other:x\n{NAME}:{WORD}\n"), self.file("login", f"{NAME}:{WORD}\n")
        with memcached("-Y", users) as port, Program(*before(port), "--front-login", login) as front:
            front.stores()

    def test_appliance_with_users_is_logged_in_to(self):
        """A line of the server's file of users, role included, may serve as the front's login."""
        users = self.file("users", f"{NAME}:{WORD}:write\n")
        with Program("-Y", users) as cache, Program(*before(cache.port), "--front-login", users) as front:
            front.stores()

    def test_server_without_users_keeps_no_login(self):
        login = self.file("login", f"{NAME}:{WORD}\n")
        with memcached() as port, Program(*before(port), "--front-login", login) as front:
            front.stores()
            with socket.create_connection(("127.0.0.1", port), WAIT_S) as s, s.makefile("rb") as heard:
                s.sendall(b"get clockoo-login\r\n")
                self.assertEqual(heard.readline(), b"END\r\n")

    def test_refused_login_is_named_and_a_reload_mends_it(self):
        users, login = self.file("users", f"{NAME}:{WORD}\n"), self.file("login", f"{NAME}:{OTHER}\n")
        with memcached("-Y", users) as port, Program(*before(port), "--front-login", login) as front:
            self.assertEqual(front.line(" is down: "),
                             f"clockoo: front.servers: {HOST_INSIDE}:{port} is down: {REFUSES}; its keys fail\n")
            self.file("login", f"{NAME}:{WORD}\n")
            front.hup()
            front.line("front.login: new connections to servers begin with this login now")
            front.line(" is back")
            front.stores()
            for secret in (WORD, OTHER):
                self.assertNotIn(secret, "".join(front.seen))

    def test_server_that_requires_a_login_is_named(self):
        users = self.file("users", f"{NAME}:{WORD}\n")
        with memcached("-Y", users) as port, Program(*before(port)) as front:
            self.assertEqual(front.line(" is down: "),
                             f"clockoo: front.servers: {HOST_INSIDE}:{port} is down: {REQUIRES}; its keys fail\n")

    def test_reload_to_no_file_keeps_the_login(self):
        login = self.file("login", f"{NAME}:{WORD}\n")
        with memcached("-Y", login) as port, Program(*before(port), "--front-login", login) as front:
            front.stores()
            os.unlink(login)
            front.hup()
            front.line(f"reload: --front-login: cannot read {login}")
            front.stores()


class Secrets(Files):
    def test_no_page_has_the_login(self):
        login = self.file("login", f"{NAME}:{WORD}\n")
        config = self.file("front.yaml", f"port: {{nic: user}}\nfront: {{servers: ['{HOST_INSIDE}:11311:1'], login: {login}}}\n")
        for words in (["--config", config, "--print-config"], ["--check", config], ["--config", config, "--plan"]):
            with self.subTest(words=words):
                done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S)
                self.assertNotIn(WORD, done.stdout + done.stderr)
        printed = subprocess.run([PROGRAM, "--config", config, "--print-config"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=WAIT_S)
        self.assertIn(login, printed.stdout)

    def test_broken_files_are_refused_without_a_word_of_them(self):
        for text, why in (("", " is empty"), (f"a:{WORD}\nb:{WORD}\n", ": 2 users; a front logs in as one"),
                          (f"a b:{WORD}\n", ": a space in the name, which memcached's login has no way to say"),
                          (f"{WORD}\n", ": line 1: expected user:password")):
            with self.subTest(why=why):
                login = self.file("login", text)
                done = subprocess.run([PROGRAM, *base(free_port()), *before(11311), "--front-login", login], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=WAIT_S)
                self.assertIn(f"--front-login: {login}{why}\n", done.stderr)
                self.assertNotIn(WORD, done.stdout + done.stderr)
                self.assertNotEqual(done.returncode, 0)


class Handshake(unittest.TestCase):
    def test_server_that_answers_it_with_an_error_is_named(self):
        port = server(ERROR)
        with Program(*before(port)) as front:
            self.assertEqual(front.line(" is down: "), f"clockoo: front.servers: {HOST_INSIDE}:{port} is down: "
                                                       "its answers are not those of a memcached; its keys fail\n")


@unittest.skipUnless(MEMCACHED and shutil.which("openssl"), "no memcached or openssl here")
class Clients(Files):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cert, key = (str(pathlib.Path(cls.folder, name)) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3",
                        "-keyout", key, "-out", cert, "-subj", "/CN=front", "-addext", "subjectAltName=DNS:front"],
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        users = cls.file("users", f"{NAME}:{WORD}\n")
        port = cls.enterClassContext(memcached("-Y", users))
        other = cls.enterClassContext(memcached())
        cls.front = cls.enterClassContext(Program(*before(port, other), "--front-login", users, "-Y", cls.file("own", "client:word\n"), "-Z",
                                                  "-o", f"ssl_chain_cert={cert},ssl_key={key}"))
        cls.context = ssl.create_default_context(cafile=cert)

    def connect(self, session=None):
        plain = socket.create_connection(("127.0.0.1", self.front.port), WAIT_S)
        return self.enterContext(self.context.wrap_socket(plain, server_hostname="front", session=session))

    def asks(self, s, request, want):
        s.sendall(request)
        got = b""
        while len(got) < len(want) and (part := s.recv(65536)):
            got += part
        if got != want:
            raise AssertionError(f"{request[:40]!r}: {got[:60]!r} ({len(got)}), expected {want[:60]!r} ({len(want)})")

    def log_in(self, s):
        self.asks(s, b"set auth 0 0 11\r\nclient word\r\n", b"STORED\r\n")

    def test_who_has_named_a_user_is_served_over_tls(self):
        with self.connect() as s:
            self.asks(s, b"get k\r\n", b"CLIENT_ERROR unauthenticated\r\n")
            self.log_in(s)
            for size in SIZES:
                value = random.randbytes(size)
                for key in (b"a%d" % size, b"b%d" % size, b"c%d" % size):
                    self.asks(s, b"set %s 5 0 %d\r\n%s\r\n" % (key, size, value), b"STORED\r\n")
                    self.asks(s, b"get %s\r\n" % key, b"VALUE %s 5 %d\r\n%s\r\nEND\r\n" % (key, size, value))
            sets = b"".join(b"set p%d 0 0 4\r\n%04d\r\n" % (i, i) for i in range(500))
            self.asks(s, sets, b"STORED\r\n" * 500)
            self.asks(s, b"".join(b"get p%d\r\n" % i for i in range(500)), b"".join(b"VALUE p%d 0 4\r\n%04d\r\nEND\r\n" % (i, i) for i in range(500)))

    def test_sessions_are_resumed(self):
        with self.connect() as s:
            self.log_in(s)
            session = s.session
        with self.connect(session) as s:
            self.assertTrue(s.session_reused)
            self.log_in(s)
            self.asks(s, b"get absent\r\n", b"END\r\n")

    def test_who_speaks_in_the_clear_is_refused(self):
        with socket.create_connection(("127.0.0.1", self.front.port), WAIT_S) as s:
            s.sendall(b"set auth 0 0 11\r\nclient word\r\n")
            self.assertNotIn(b"STORED", s.recv(100))


if __name__ == "__main__":
    unittest.main()
