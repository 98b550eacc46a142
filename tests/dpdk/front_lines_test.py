#!/usr/bin/python3 -B
"""The lines that a front writes of its servers. Goal: a server that fails is named in one line with its reason; its error to a get
is no miss; the front is ready once its names were looked up; names that no one knows leave the servers that
there are in use. Method: the built program on port user, before servers of this file that refuse, close, are silent
or say something else.

    front_lines_test.py CLOCKOO
"""

import os
import pathlib
import signal
import socket
import socketserver
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import local_server
from user_port_program import HOST_INSIDE, WAIT_S, UserPortProgram

PROGRAM = os.path.abspath(sys.argv.pop(1))
NO_NAME = "no-such-host.invalid"  # RFC 2606 section 2
FAILURES = 3
GREETING = {b"version": b"VERSION 1.6.18\r\n", b"mn": b"MN\r\n"}  # what a front asks first on a connection
SHORT = "200ms"  # for what a test waits for; a server that is to answer has WAIT_S, however busy the machine is
ERROR = b"SERVER_ERROR out of order\r\n"
PASSED_ON = b"SERVER_ERROR the server of this key refuses the request\r\n"


def server(answer=b"", closes=False, greets=False):
    """Starts a server that gives this answer to every request. closes: it ends each connection. greets: it answers the
    requests of GREETING as memcached does."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while (asked := self.rfile.readline()) and not closes:
                self.wfile.write(GREETING.get(asked.strip(), answer) if greets else answer)

    return local_server.LocalServer(Handler).server_address[1]


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Front(UserPortProgram):
    """A front before these servers, which are in a file of the folder if there is one. timeout: front.timeout."""

    def __init__(self, *servers, folder=None, timeout=f"{WAIT_S}s"):
        spec = ",".join(servers)
        if folder is not None:
            self.file = pathlib.Path(folder, "servers")
            self.write(*servers)
            spec = str(self.file)
        super().__init__(PROGRAM, "--front-timeout", timeout, "--front-connect-timeout", f"{WAIT_S}s", "--front-server-retry-timeout", SHORT,
                         "--front-server-failure-limit", str(FAILURES), "--front-servers", spec)

    def write(self, *servers):
        self.file.write_text("".join(f"{one}\n" for one in servers))

    def fails_as(self, port, reason):
        for _ in range(2 * FAILURES):
            self.ask(b"get k\r\n")
        line = self.line(f"{HOST_INSIDE}:{port} is down: ")
        if line != f"clockoo: front.servers: {HOST_INSIDE}:{port} is down: {reason}; its keys fail\n":
            raise AssertionError(line)


class Down(unittest.TestCase):
    def test_server_that_refuses_connections(self):
        port = closed_port()
        with Front(f"{HOST_INSIDE}:{port}:1") as f:
            f.fails_as(port, "it refuses connections")

    def test_server_that_ends_its_connections(self):
        port = server(closes=True)
        with Front(f"{HOST_INSIDE}:{port}:1") as f:
            f.fails_as(port, "it ends its connections")

    def test_server_that_does_not_answer(self):
        port = server()
        with Front(f"{HOST_INSIDE}:{port}:1", timeout=SHORT) as f:
            f.fails_as(port, "it does not answer requests within front.timeout")

    def test_server_that_is_no_memcached(self):
        port = server(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with Front(f"{HOST_INSIDE}:{port}:1") as f:
            f.fails_as(port, "its answers are not those of a memcached")


class Errors(unittest.TestCase):
    def test_error_to_a_get_is_no_miss(self):
        with Front(f"{HOST_INSIDE}:{server(ERROR, greets=True)}:1") as f:
            self.assertEqual(f.ask(b"get k\r\n"), PASSED_ON)


class Names(unittest.TestCase):
    def test_ready_comes_after_the_first_lookup(self):
        """A front that is ready has printed its line about a name that has no address."""
        with Front(f"{HOST_INSIDE}:{server()}:1", f"{NO_NAME}:11211:1") as f:
            self.assertIn(" ready: ", f.ready)
            self.assertIn("; its keys fail\n", f.line(f"front.servers: {NO_NAME}: "))

    def test_reload_to_a_name_that_no_one_knows_keeps_the_servers(self):
        with tempfile.TemporaryDirectory() as folder:
            with Front(f"{HOST_INSIDE}:{server(ERROR, greets=True)}:1", folder=folder) as f:
                f.write(f"{NO_NAME}:11211:1")
                f.process.send_signal(signal.SIGHUP)
                self.assertIn(f"reload: {NO_NAME} has no address: the 1 server of before stays;", f.line("reload: no-such"))
                self.assertEqual(f.ask(b"get k\r\n"), PASSED_ON)


if __name__ == "__main__":
    unittest.main()
