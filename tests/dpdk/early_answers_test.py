#!/usr/bin/python3 -B
"""A client that comes while the appliance starts. Goal: while memory is set aside a connection is reset and not left without
an answer, pings are answered, and connections with the kernel beside the cache are left alone; afterwards it serves.
Method: the bed of kernel_bed.py, a memory that takes a while to touch, and a client that begins a connection every PAUSE_S.

    early_answers_test.py CLOCKOO
"""

import contextlib
import pathlib
import select
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kernel_bed
from kernel_bed import CACHE, OURS, OURS6, SSH, WAIT_S, BedTest, enter_namespaces, exchange

MEMORY_MB = 1024
PAUSE_S = 0.01
RETRANS_AT = 100  # tcpi_total_retrans of struct tcp_info, which counts repeated SYNs, too
REFUSED_MIN = 1
CONNECTIONS_MAX = 300  # of one kind: what select() takes


class Connections:
    """Connections of the peer to one port of an address, and what became of each."""

    def __init__(self, peer, host, port):
        self.peer, self.host, self.port = peer, host, port
        self.open, self.begun, self.refused, self.opened, self.repeated = [], 0, 0, 0, 0

    def begin(self):
        if self.begun == CONNECTIONS_MAX:
            return
        self.begun += 1
        s = self.peer.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET, socket.SOCK_STREAM)
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            s.connect((self.host, self.port))
        self.open.append(s)

    def collect(self):
        for s in select.select([], self.open, [], 0)[1]:
            refused = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
            info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RETRANS_AT + 4)
            self.refused, self.opened = self.refused + refused, self.opened + (not refused)
            self.repeated += int.from_bytes(info[RETRANS_AT:], sys.byteorder) != 0
            self.open.remove(s)
            s.close()

    def collect_all(self):
        until = time.monotonic() + WAIT_S
        while self.open and time.monotonic() < until:
            self.collect()
            time.sleep(PAUSE_S)


class EarlyAnswers(BedTest):
    def start(self, kernel, *connections):
        """Starts the appliance while connections are begun. Returns it, ready."""
        box = kernel_bed.Appliance(PROGRAM, "-m", str(MEMORY_MB), kernel=kernel)
        self.addCleanup(box.__exit__)
        until = time.monotonic() + WAIT_S
        while not select.select([box.process.stdout], [], [], PAUSE_S)[0] and time.monotonic() < until:
            for c in connections:
                c.begin()
                c.collect()
        box.ready()
        for c in connections:
            c.collect()
            c.early = c.refused
            c.collect_all()
            print(f"{c.host} port {c.port}: {c.refused} refused, {c.early} of them before the ready line, {c.opened} opened; "
                  f"{c.repeated} first SYNs without an answer")
        return box

    def check_serves(self):
        with self.peer.connect(CACHE) as s:
            self.assertEqual(exchange(s, b"set k 0 0 2\r\nhi\r\n", b"\r\n"), b"STORED\r\n")
            self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), b"VALUE k 0 2\r\nhi\r\nEND\r\n")

    def test_connections_are_reset_while_memory_is_set_aside(self):
        four, six = Connections(self.peer, OURS, CACHE), Connections(self.peer, OURS6, CACHE)
        self.start(None, four, six)
        for c in (four, six):
            self.assertEqual(c.open, [])
            self.assertGreaterEqual(c.early, REFUSED_MIN)
        self.check_serves()

    def test_connections_with_the_kernel_beside_the_cache_are_not_reset(self):
        cache, ssh = Connections(self.peer, OURS, CACHE), Connections(self.peer, OURS, SSH)
        self.start("clockoo0", cache, ssh)
        self.assertGreaterEqual(cache.early, REFUSED_MIN)
        self.assertEqual((ssh.open, ssh.refused), ([], 0))
        self.check_serves()


if __name__ == "__main__":
    enter_namespaces()
    PROGRAM = sys.argv.pop(1)
    unittest.main()
