#!/usr/bin/python3 -B
"""The appliance's addresses and routes. Goal: without an IPv4 address it starts, says so, serves over IPv6, sends no ARP,
and leaves IPv4 to the kernel beside it; a route's MTU bounds its segments and datagrams; a reload that replaces 500 of
1,000 addresses costs the others no answer. Method: the bed of kernel_bed.py; frames are judged where the peer gets them.

    addresses_test.py CLOCKOO
"""

import contextlib
import errno
import os
import pathlib
import resource
import signal
import socket
import struct
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kernel_bed
from kernel_bed import (CACHE, OURS, OURS6, PEER, PEER6, SSH, WAIT_S, BedTest, enter_namespaces, exchange, ping,
                        ping_socket, run)
from routing_bed import until

ETH_P_ALL, OUTGOING = 3, 4
IPV6_ONLY = ("--address", "none", "--probe", "short")
FAR, FAR6, FAR_MTU, FAR6_MTU = "198.51.100.9", "2001:db8:9::9", 600, 1300
ROUTES = f"198.51.100.0/24 via {PEER} mtu {FAR_MTU},2001:db8:9::/64 via {PEER6} mtu {FAR6_MTU}"
VALUE = bytes(range(97, 123)) * 200
UDP_HEAD = struct.Struct(">HHHH")
SHARED, MOVING, ROUNDS = 500, 500, 3


def appliance(*options, kernel=None):
    return kernel_bed.Appliance(PROGRAM, *options, kernel=kernel)


class Wire:
    """with Wire(peer) as wire: wire.frames() returns what the peer has received since the last call."""

    def __init__(self, peer):
        self.socket = peer.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        with peer.inside():
            self.socket.bind(("v1", 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def frames(self):
        got = []
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, address = self.socket.recvfrom(65536)
                if address[2] != OUTGOING:
                    got.append(frame)
        return got


def longest_to(frames, address):
    """The length of the longest IP packet to this address."""
    family, at, kind = (socket.AF_INET6, 38, 0x86dd) if ":" in address else (socket.AF_INET, 30, 0x0800)
    to = socket.inet_pton(family, address)
    return max((len(f) - 14 for f in frames if f[12:14] == kind.to_bytes(2, "big") and f[at:at + len(to)] == to), default=0)


def udp_get(s, key):
    """Returns the reply's bytes, whatever order its datagrams come in."""
    s.send(UDP_HEAD.pack(7, 0, 1, 0) + b"get " + key + b"\r\n")
    got, total = {}, 1
    while len(got) < total:
        data = s.recv(2048)
        ident, number, total, _ = UDP_HEAD.unpack_from(data)
        if ident != 7 or number in got:
            raise RuntimeError(f"datagram {number} of {ident}")
        got[number] = data[UDP_HEAD.size:]
    return b"".join(got[n] for n in range(total))


class Addresses(BedTest):
    def bound(self, kind, source, host):
        s = self.peer.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
        self.addCleanup(s.close)
        s.bind((source, 0))
        s.connect((host, CACHE))
        return s

    # ---- without an IPv4 address ----

    def test_ipv6_alone_serves_and_sends_no_arp(self):
        with Wire(self.peer) as wire, appliance(*IPV6_ONLY) as box:
            with self.peer.connect(CACHE, OURS6) as s:
                self.assertEqual(exchange(s, b"set k 0 0 2\r\nhi\r\n", b"\r\n"), b"STORED\r\n")
                settings = exchange(s, b"stats settings\r\n", b"END\r\n").decode()
                listeners = exchange(s, b"stats conns\r\n", b"END\r\n").decode()
            self.assertIn(f"STAT inter {OURS6}\r\n", settings)
            self.assertIn(f"tcp6:[{OURS6}]:{CACHE}\r\n", listeners)
            self.assertNotIn("0.0.0.0", listeners)
            self.assertEqual(udp_get(self.bound(socket.SOCK_DGRAM, PEER6, OURS6), b"k"), b"VALUE k 0 2\r\nhi\r\nEND\r\n")
            with self.peer.socket(*ping_socket(OURS6)) as s:
                self.assertEqual(ping(s, OURS6), [1, 1, 1])
            # Somebody asks for an IPv4 address, and for none.
            self.peer.run("ping", "-c1", "-W1", OURS, check=False)
            frames = wire.frames()
            mac = next(f[6:12] for f in frames if f[12:14] == b"\x86\xdd" and longest_to([f], PEER6))
            self.assertEqual({f[12:14] for f in frames if f[6:12] == mac}, {b"\x86\xdd"})
            second = appliance(*IPV6_ONLY, "--file-prefix", f"second-{os.getpid()}")
            said = second.process.communicate(timeout=WAIT_S)[1]
            self.assertIn(f"--address6: process {box.process.pid} already serves {OURS6} on v0", said)

    def test_ipv6_alone_leaves_ipv4_to_the_kernel_beside_it(self):
        with appliance(*IPV6_ONLY, kernel="clockoo0"), Wire(self.peer) as wire:
            for host in (OURS, OURS6):
                with self.peer.connect(SSH, host) as s:
                    self.assertEqual(exchange(s, b"a line\n", b"\n"), b"a line\n")
                with self.peer.socket(*ping_socket(host)) as s:
                    self.assertEqual(ping(s, host), [1, 1, 1])
            with self.peer.connect(CACHE, OURS6) as s:
                self.assertEqual(exchange(s, b"get none\r\n", b"END\r\n"), b"END\r\n")
            with self.peer.socket(socket.AF_INET, socket.SOCK_STREAM) as s:  # refused by the kernel, whose address it is
                self.assertEqual(s.connect_ex((OURS, CACHE)), errno.ECONNREFUSED)
            self.peer.run("ip", "neigh", "flush", "dev", "v1")
            wire.frames()
            with self.peer.connect(SSH, OURS):
                answers = [f for f in wire.frames() if f[12:14] == b"\x08\x06" and f[21] == 2]
            self.assertEqual(len(answers), 1)

    def test_ipv6_alone_is_known_to_check_plan_and_doctor(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(f'port: {{nic: af_packet, iface: v0}}\nnetwork: {{address: none, address6: "{OURS6}/64", kernel: clockoo0}}\n'
                       "memory: {limit: 16}\n")
            file.flush()
            for words in (("--check", file.name), ("--plan", "--config", file.name, "--no-huge"),
                          ("doctor", "--config", file.name, "--no-huge")):
                done = run(PROGRAM, *words, check=False)
                self.assertNotIn("0.0.0.0", done.stdout)
                self.assertEqual(done.stderr, "", words)
            self.assertIn("clockoo0 has what is not the cache's", done.stdout)

    # ---- an MTU by route ----

    def test_segments_and_datagrams_stay_within_the_mtu_of_their_route(self):
        for address in (f"{FAR}/32", f"{FAR6}/128"):
            self.peer.run("ip", "addr", "replace", address, "dev", "lo")
        with appliance("--routes", ROUTES), Wire(self.peer) as wire:
            with self.peer.connect(CACHE) as s:
                self.assertEqual(exchange(s, b"set k 0 0 %d\r\n%s\r\n" % (len(VALUE), VALUE), b"\r\n"), b"STORED\r\n")
            want = b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(VALUE), VALUE)
            for source, host, segment, datagram in ((PEER, OURS, 1500, 1428), (FAR, OURS, FAR_MTU, FAR_MTU),
                                                    (PEER6, OURS6, 1500, 1448), (FAR6, OURS6, FAR6_MTU, FAR6_MTU)):
                s = self.bound(socket.SOCK_STREAM, source, host)
                wire.frames()
                self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), want)
                self.assertEqual(longest_to(wire.frames(), source), segment)
                self.assertEqual(udp_get(self.bound(socket.SOCK_DGRAM, source, host), b"k"), want)
                self.assertEqual(longest_to(wire.frames(), source), datagram)

    def test_jumbo_frames_carry_values_both_ways(self):
        said = appliance("--port", "af_packet_jumbo", "--mtu", "9000").process.communicate(timeout=WAIT_S)[1]
        self.assertIn('--mtu: 9000: the MTU of "v0" is 1500: ip link set v0 mtu 9000, or --mtu 1500\n', said)
        self.wires_to(9000)
        self.addCleanup(self.wires_to, 1500)
        value = bytes(i * 7 & 0x7f | 0x40 for i in range(100_000))
        with appliance("--port", "af_packet_jumbo", "--mtu", "9000"), Wire(self.peer) as wire:
            with self.peer.connect(CACHE) as s:
                self.assertEqual(exchange(s, b"set k 0 0 %d\r\n%s\r\n" % (len(value), value), b"\r\n"), b"STORED\r\n")
                self.assertGreater(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG), 8900)
                wire.frames()
                self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value))
            self.assertEqual(longest_to(wire.frames(), PEER), 9000)
            with self.peer.socket(*ping_socket(OURS)) as s:
                self.assertEqual(ping(s, OURS), [1, 1, 1])

    def wires_to(self, mtu):
        run("ip", "link", "set", "v0", "mtu", str(mtu))
        self.peer.run("ip", "link", "set", "v1", "mtu", str(mtu))

    # ---- many addresses ----

    def test_reload_of_500_of_1000_addresses_costs_the_others_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check_reloads(pathlib.Path(folder))

    def check_reloads(self, folder):
        listed = folder / "addresses"
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        self.peer.run("ip", "route", "replace", "10.20.0.0/16", "via", OURS)
        self.peer.run("ip", "-6", "route", "replace", "2001:db8:20::/64", "via", OURS6)
        addresses = give(listed, 0)
        with appliance("--addresses", str(listed), "-c", "2100") as box:
            shared = [self.peer.connect(CACHE, a) for a in addresses[:SHARED]]
            moving = [self.peer.connect(CACHE, a) for a in addresses[SHARED:]]
            ask_all(shared + moving)
            for number in range(1, ROUNDS + 1):
                addresses = give(listed, number)
                box.process.send_signal(signal.SIGHUP)
                end = time.monotonic() + WAIT_S
                for s in moving:  # the others are asked until each of these is reset
                    while not is_reset(s):
                        self.assertLess(time.monotonic(), end, "a connection to an address that left is open")
                        ask_all(shared)
                    s.close()
                moving = [self.peer.connect(CACHE, a) for a in addresses[SHARED:]]
                ask_all(shared + moving)
            for s in shared + moving:
                s.close()
            rc, said = box.end()
        self.assertEqual(rc, 0, said)
        self.assertEqual(said.count("501 IPv4 and 501 IPv6 addresses"), ROUNDS, said)


def give(file, number):
    """Writes the addresses of a round, and returns them: SHARED that stay, and MOVING of the round alone."""
    numbers = [*range(SHARED), *range(SHARED + number * MOVING, SHARED + (number + 1) * MOVING)]
    addresses = [f"10.20.{n >> 8}.{n & 255}" if n % 2 == 0 else f"2001:db8:20::{n:x}" for n in numbers]
    file.write_text("\n".join(addresses) + "\n")
    return addresses


def ask_all(connections):
    """A get on each connection; a connection that fails, or another answer, ends the test."""
    for s in connections:
        s.sendall(b"get x\r\n")
    for s in connections:
        got = b""
        while len(got) < 5:
            piece = s.recv(5 - len(got))
            if piece == b"":
                raise RuntimeError("closed")
            got += piece
        if got != b"END\r\n":
            raise RuntimeError(got)


def is_reset(s):
    """True if the appliance has reset the connection."""
    s.setblocking(False)
    try:
        if s.recv(1) == b"":
            raise RuntimeError("closed, not reset")
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    raise RuntimeError("an answer without a request")


enter_namespaces()
PROGRAM = os.path.abspath(sys.argv.pop(1))
if __name__ == "__main__":
    unittest.main(argv=sys.argv)
