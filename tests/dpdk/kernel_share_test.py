#!/usr/bin/python3 -B
"""The kernel beside the cache, on one NIC. Goal: at one address, gets are answered by the appliance and a TCP server by
the kernel; each question about the address has one answer; no RST of the kernel reaches a client of the cache; a session
with the kernel survives kill -9 of the appliance; what hinders a start is one line. Method: the built program on a veth
whose other end is in another network namespace, with a tap of this one; plain sockets, and a packet socket that sees
all that comes out of the NIC. All namespaces end with this process.

    kernel_share_test.py CLOCKOO
"""

import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kernel_bed
from kernel_bed import (CACHE, OTHER, OURS, OURS6, PEER, PEER6, SSH, WAIT_S, BedTest, cksum, enter_namespaces, exchange,
                        ping, ping_socket, run, stats_of)
from routing_bed import until

ETH_P_ALL = 3
FLOOD_S = 3.0
MEMCACHED, SERVER_PORT = shutil.which("memcached"), 11311
SSHD, SSHD_PORT = shutil.which("sshd", path="/usr/sbin:/usr/bin"), 2022


def appliance(*options, **how):
    return kernel_bed.Appliance(PROGRAM, *options, **how)


@contextlib.contextmanager
def appliance_after(first):
    """A call that starts another appliance, once the first was killed."""
    started = []

    def start():
        if first.process.poll() is None:
            raise RuntimeError("the first appliance runs")
        started.append(appliance().ready())

    try:
        yield start
    finally:
        for a in started:
            a.end()


class Sshd:
    """OpenSSH's server with keys of its own, at port SSHD_PORT of this namespace."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.key = f"{self.folder.name}/key"
        self.made_run = not os.path.exists("/run/sshd")
        os.makedirs("/run/sshd", exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self.process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", "/dev/null", "-p", str(SSHD_PORT), "-h", self.key, "-o", "PidFile=none",
             "-o", "StrictModes=no", "-o", f"AuthorizedKeysFile={self.key}.pub", "-o", "PermitRootLogin=yes"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=kernel_bed.die_with_parent)
        return self

    def session(self, peer):
        """A shell's place is taken by cat: each line comes back."""
        return subprocess.Popen(
            ["nsenter", "-t", str(peer.holder.pid), "-n", "ssh", "-q", "-i", self.key, "-p", str(SSHD_PORT),
             "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes",
             "-o", "ConnectionAttempts=30", f"root@{OURS}", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=kernel_bed.die_with_parent)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
        if self.made_run:
            os.rmdir("/run/sshd")


def line_of(session, line):
    session.stdin.write(line)
    session.stdin.flush()
    return session.stdout.readline()


@contextlib.contextmanager
def named_server(peer, name):
    """memcached beside the peer, and its name in the peer's name server, which is this namespace's only one."""
    with contextlib.ExitStack() as stack:
        server = subprocess.Popen(["nsenter", "-t", str(peer.holder.pid), "-n", MEMCACHED, "-u", "root", "-l", PEER, "-p", str(SERVER_PORT)],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=kernel_bed.die_with_parent)
        stack.callback(server.wait)
        stack.callback(server.kill)
        names = stack.enter_context(peer.socket(socket.AF_INET, socket.SOCK_DGRAM))
        names.bind((PEER, 53))
        resolver = stack.enter_context(tempfile.NamedTemporaryFile("w"))
        resolver.write(f"nameserver {PEER}\noptions timeout:1\n")
        resolver.flush()
        run("mount", "--bind", resolver.name, "/etc/resolv.conf")
        stack.callback(run, "umount", "/etc/resolv.conf")

        def answer():
            """Answers the questions that have arrived."""
            while select.select([names], [], [], 0)[0]:
                data, whence = names.recvfrom(512)
                question = data[12:data.index(b"\0", 12) + 5]
                has = question.startswith(bytes([len(name)]) + name.encode() + b"\0\0\1")  # an A record
                names.sendto(data[:2] + struct.pack(">HHHHH", 0x8180, 1, has, 0, 0) + question +
                             has * (struct.pack(">HHHIH", 0xc00c, 1, 1, 60, 4) + socket.inet_aton(PEER)), whence)

        yield answer


class Wire:
    """with Wire(peer) as wire: all frames that the peer receives meanwhile; wire.frames() ends it."""

    def __init__(self, peer):
        self.socket = peer.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        with peer.inside():
            self.socket.bind(("v1", 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def frames(self, settle_s=0.3):
        got, outgoing = [], 4
        self.socket.settimeout(settle_s)
        with contextlib.suppress(TimeoutError):
            while True:
                frame, address = self.socket.recvfrom(65536)
                if address[2] != outgoing:
                    got.append(frame)
        return got


def tcp_resets_from(frames, port, last=None):
    """Frames of IPv4 or IPv6 with RST from this port, or from it to the last."""
    count = 0
    for frame in frames:
        kind = int.from_bytes(frame[12:14], "big")
        at = 14 + (frame[14] & 15) * 4 if kind == 0x0800 and frame[23] == 6 else 54 if kind == 0x86dd and frame[20] == 6 else 0
        count += at != 0 and port <= int.from_bytes(frame[at:at + 2], "big") <= (last or port) and (frame[at + 13] & 4) != 0
    return count


class KernelShare(BedTest):
    def check_both(self, host=OURS):
        with self.peer.connect(CACHE, host) as s:
            self.assertEqual(exchange(s, b"set k 0 0 2\r\nhi\r\n", b"\r\n"), b"STORED\r\n")
            self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), b"VALUE k 0 2\r\nhi\r\nEND\r\n")
        with self.peer.connect(SSH, host) as s:
            self.assertEqual(exchange(s, b"a line\n", b"\n"), b"a line\n")

    def test_cache_and_kernel_serve_at_one_address_and_no_reset_of_the_kernel_leaves(self):
        with appliance(), Wire(self.peer) as wire:
            for _ in range(5):
                self.check_both(OURS)
                self.check_both(OURS6)
            self.assertEqual(tcp_resets_from(wire.frames(), CACHE), 0)

    def test_a_question_about_the_address_has_one_answer(self):
        with appliance(), Wire(self.peer) as wire:
            self.peer.run("ip", "neigh", "flush", "dev", "v1")
            for host in (OURS, OURS6):
                with self.peer.socket(*ping_socket(host)) as s:
                    self.assertEqual(ping(s, host), [1, 1, 1])
            frames = wire.frames()
            arp = [f for f in frames if f[12:14] == b"\x08\x06" and f[21] == 2 and f[28:32] == socket.inet_aton(OURS)]
            asked = self.peer.run("ip", "neigh", "show", OURS).stdout
            self.assertIn("lladdr", asked)
            self.assertEqual(len(arp), 1)
            mac = re.search(r"link/ether (\S+)", run("ip", "link", "show", "clockoo0").stdout)[1]  # as the NIC's
            self.assertIn(f"lladdr {mac} ", asked)
            # The kernel has received the questions as well, to learn the asking hosts, and its answers did not leave.
            self.assertGreater(stats_of(self.peer, "net")["kernel_silenced"], 0)

    def test_another_address_is_the_kernels(self):
        with appliance():
            with self.peer.socket(*ping_socket(OTHER)) as s:
                self.assertEqual(ping(s, OTHER), [1, 1, 1])
            with self.peer.connect(SSH, OTHER) as s:
                self.assertEqual(exchange(s, b"hello\n", b"\n"), b"hello\n")

    def test_the_kernel_reaches_others_and_others_its_datagrams(self):
        with appliance():
            for host in (PEER, PEER6):
                with socket.socket(*ping_socket(host)) as s:
                    self.assertEqual(ping(s, host), [1, 1, 1])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dhcp:
                dhcp.bind(("", 67))
                dhcp.settimeout(WAIT_S)
                asks = self.peer.socket(socket.AF_INET, socket.SOCK_DGRAM)
                asks.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                asks.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"v1")
                asks.sendto(b"discover", ("255.255.255.255", 67))
                data, whence = dhcp.recvfrom(100)
                self.assertEqual((data, whence[0]), (b"discover", PEER))
                dhcp.sendto(b"x" * 4000, whence)  # in fragments
                self.assertEqual(len(asks.recv(9000)), 4000)
                asks.sendto(b"y" * 4000, (OURS, 67))
                self.assertEqual(len(dhcp.recv(9000)), 4000)
                asks.close()

    def test_a_session_survives_kill_9_of_the_appliance(self):
        with appliance() as first:
            session = self.peer.connect(SSH)
            self.assertEqual(exchange(session, b"before\n", b"\n"), b"before\n")
            first.end(signal.SIGKILL)
            session.sendall(b"while nobody is there\n")
            self.assertNotEqual(run("ip", "addr", "show", "clockoo0").stdout.count("inet "), 0)
        with appliance(), Wire(self.peer) as wire:
            got = b""
            while not got.endswith(b"\n"):
                got += session.recv(1000)
            self.assertEqual(got, b"while nobody is there\n")
            self.assertEqual(exchange(session, b"after\n", b"\n"), b"after\n")
            self.assertEqual(tcp_resets_from(wire.frames(), SSH), 0)
        session.close()

    @unittest.skipIf(MEMCACHED is None or os.environ.get(kernel_bed.INSIDE) != "root", "needs memcached and root")
    def test_a_front_looks_names_up_by_the_kernel_and_no_reset_meets_its_connections(self):
        def is_stored():
            answer()
            return exchange(s, b"set k 0 0 2\r\nhi\r\n", b"\r\n") == b"STORED\r\n"

        with named_server(self.peer, "cache1") as answer, Wire(self.peer) as wire, \
                appliance("--front-servers", f"cache1:{SERVER_PORT}:1") as front:
            with self.peer.connect(CACHE) as s:
                until("the front has its server", is_stored)
            self.check_both()
            with self.peer.connect(SERVER_PORT, PEER) as s:
                self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), b"VALUE k 0 2\r\nhi\r\nEND\r\n")
            self.assertEqual(tcp_resets_from(wire.frames(), 32768, 65535), 0)
            self.assertEqual(front.end()[0], 0)

    def test_large_transfers_pass_the_kernel_whole(self):
        data = os.urandom(1 << 20)
        with appliance(), self.peer.connect(SSH) as s:
            got, sent = bytearray(), 0
            s.setblocking(False)
            while len(got) < len(data):
                readable, writable, _ = select.select([s], [s] if sent < len(data) else [], [], WAIT_S)
                self.assertTrue(readable or writable)
                if writable:
                    sent += s.send(data[sent:sent + 65536])
                if readable:
                    got += s.recv(65536)
            self.assertEqual(bytes(got), data)

    def test_a_flood_of_gets_leaves_sessions_alive_and_a_flood_of_syns_leaves_gets(self):
        with appliance():
            session, cache = self.peer.connect(SSH), self.peer.connect(CACHE)
            datagrams = self.peer.socket(socket.AF_INET, socket.SOCK_DGRAM)
            datagrams.setblocking(False)
            datagrams.connect((OURS, CACHE))
            get = struct.pack(">HHHH", 1, 0, 1, 0) + b"get nothing\r\n"
            # A packet socket writes SYNs to ssh as fast as it can.
            syns = self.peer.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            with self.peer.inside():
                syns.bind(("v1", 0))
            syns.setblocking(False)
            mac = bytes.fromhex(re.search(r"lladdr (\S+)", self.peer.run("ip", "neigh", "show", OURS).stdout)[1].replace(":", ""))
            syn = syn_frame(mac, pathlib.Path("/proc/self").stat().st_ino & 0xffff)
            until, rounds = time.monotonic() + FLOOD_S, 0
            while time.monotonic() < until:
                for _ in range(200):
                    with contextlib.suppress(BlockingIOError):
                        datagrams.send(get)
                    with contextlib.suppress(BlockingIOError):
                        syns.send(syn)
                rounds += 1
                line = f"line {rounds}\n".encode()
                self.assertEqual(exchange(session, line, b"\n"), line)
                self.assertEqual(exchange(cache, b"get nothing\r\n", b"END\r\n"), b"END\r\n")
            rows = stats_of(self.peer, "net")
            self.assertGreater(rows["kernel_given"], 0)
            for s in (session, cache, datagrams, syns):
                s.close()

    def test_the_default_router_is_the_one_that_advertises_itself(self):
        with appliance("--gateway6", "auto") as box, self.peer.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as s:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            with self.peer.inside():
                index = socket.if_nametoindex("v1")
            until("the peer has its link-local address", lambda: " fe80" in self.peer.run(
                "ip", "-6", "-br", "addr", "show", "dev", "v1", "scope", "link", "-tentative").stdout)
            for lifetime_s, state in ((1800, "fe80::"), (0, "none now")):
                s.sendto(struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, lifetime_s, 0, 0), ("ff02::1", 0, 0, index))
                while state not in (line := box.process.stderr.readline()):
                    self.assertNotEqual(line, "")
                self.assertIn("--gateway6 auto: the default router is", line)
            self.assertEqual(stats_of(self.peer, "net")["nd_router_noted"], 2)

    @unittest.skipIf(SSHD is None or os.environ.get(kernel_bed.INSIDE) != "root",
                     "needs sshd (openssh-server) and root")
    def test_an_ssh_session_of_a_real_sshd_survives_kill_9_and_a_restart(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(how.name):
                self.check_ssh_survives(how)

    def check_ssh_survives(self, how):
        with Sshd() as sshd, appliance() as first, appliance_after(first) as second:
            session = sshd.session(self.peer)
            self.assertEqual(line_of(session, b"before\n"), b"before\n")
            first.end(how)
            session.stdin.write(b"while nobody is there\n")
            session.stdin.flush()
            second()
            self.assertEqual(session.stdout.readline(), b"while nobody is there\n")
            self.assertEqual(line_of(session, b"after\n"), b"after\n")
            session.stdin.close()
            self.assertEqual(session.wait(WAIT_S), 0)
            session.stdout.close()

    # ---- what hinders a start ----

    def refusal(self, *options, kernel="clockoo0"):
        a = appliance(*options, kernel=kernel)
        out, err = a.process.communicate(timeout=WAIT_S)
        self.assertEqual((out, a.process.returncode), ("", 1))
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_an_interface_that_is_missing_or_no_tap_is_one_line(self):
        self.assertIn("there is no interface clockoo9: tools/nic kernel clockoo9 makes it", self.refusal(kernel="clockoo9"))
        self.assertIn("--kernel: lo is no tap", self.refusal(kernel="lo"))

    def test_an_interface_in_use_or_with_a_larger_mtu_is_one_line(self):
        with appliance():
            pass
        run("ip", "link", "set", "clockoo0", "mtu", "1600")
        self.assertIn("its MTU is 1600, and the port's 1500: ip link set clockoo0 mtu 1500", self.refusal())
        run("ip", "link", "set", "clockoo0", "mtu", "1500")
        with appliance():
            err = self.refusal("--file-prefix", f"second-{os.getpid()}", "--address", "10.99.0.9/24")
            self.assertIn("clockoo0 is in use by another process", err)

    def test_plan_check_and_doctor_know_the_interface(self):
        def ask(*words, kernel="clockoo0"):
            return run(PROGRAM, *words, "--no-huge", "--iface", "v0", "--kernel", kernel, check=False)

        self.assertIn("kernel     clockoo0: what is not the cache's", ask("--plan").stdout)
        said = ask("--plan", kernel="clockoo9")
        self.assertIn("which a start refuses: --kernel: there is no interface clockoo9", said.stdout)
        self.assertEqual(said.returncode, 1)
        self.assertIn("clockoo0 has what is not the cache's", ask("doctor").stdout)
        ports = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
        kept = pathlib.Path("/proc/sys/net/ipv4/ip_local_reserved_ports")
        was = ports.read_text()
        ports.write_text("32768 65535")
        self.assertIn("the kernel may take local ports from 61000 on", ask("doctor").stdout)
        kept.write_text("61000-65535")
        self.assertNotIn("the kernel may take local ports", ask("doctor").stdout)
        kept.write_text("")
        ports.write_text(was)
        run("mount", "-t", "tmpfs", "none", "/run")
        os.makedirs("/run/clockoo-nic/taken")
        self.assertIn("goes back to the kernel's driver unless that is confirmed\n", ask("doctor").stdout)
        run("umount", "/run")
        self.assertNotIn("unless that is confirmed", ask("doctor").stdout)
        run("ip", "link", "set", "clockoo0", "down")
        self.assertIn("clockoo0 is down", ask("doctor").stdout)
        run("ip", "link", "set", "clockoo0", "up")
        run("ip", "addr", "add", f"{OURS6}/64", "dev", "clockoo0", "nodad")  # lost with "down"
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("network:\n  kernel: clockoo9\nport:\n  iface: v0\n")
            file.flush()
            said = run(PROGRAM, "--check", file.name, check=False)
            self.assertEqual(said.stderr, "")
            self.assertIn("not ready to start: ", said.stdout)
            self.assertIn("network.kernel: there is no interface clockoo9", said.stdout)


def syn_frame(mac, ident):
    """A SYN to ssh from another address of the peer's network."""
    source = bytes([10, 99, 0, 200])
    tcp = struct.pack(">HHIIBBHHH", 40000 + ident % 1000, SSH, 1, 0, 0x50, 2, 64000, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 1, 0, 64, 6, 0, source, socket.inet_aton(OURS))
    ip = ip[:10] + cksum(ip) + ip[12:]
    pseudo = source + socket.inet_aton(OURS) + struct.pack(">BBH", 0, 6, len(tcp))
    tcp = tcp[:16] + cksum(pseudo + tcp) + tcp[18:]
    return mac + b"\x02\0\0\0\0\x55" + b"\x08\x00" + ip + tcp


enter_namespaces()
PROGRAM = os.path.abspath(sys.argv.pop(1))
if __name__ == "__main__":
    unittest.main(argv=sys.argv)
