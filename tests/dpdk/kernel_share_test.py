#!/usr/bin/python3 -B
"""The kernel beside the cache, on one NIC. Goal: at one address, gets are answered by the appliance and a TCP server by
the kernel; each question about the address has one answer; no RST of the kernel reaches a client of the cache; a session
with the kernel survives kill -9 of the appliance; what hinders a start is one line. Method: the built program on a veth
whose other end is in another network namespace, with a tap of this one; plain sockets, and a packet socket that sees
all that comes out of the NIC. All namespaces end with this process.

    kernel_share_test.py CLOCKOO
"""

import contextlib
import ctypes
import os
import pathlib
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

NIC_TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/nic"
WAIT_S = 30
SKIPPED = 77
OURS, PEER, OTHER = "10.99.0.1", "10.99.0.2", "10.99.0.77"
OURS6, PEER6 = "2001:db8::1", "2001:db8::2"
SSH, CACHE = 22, 11211
ETH_P_ALL = 3
INSIDE = "CLOCKOO_KERNEL_SHARE"
FLOOD_S = 3.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
    return done


def enter_namespaces():
    """This program again, as root of network and mount namespaces of its own."""
    if INSIDE in os.environ:
        return
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("skipped: no /dev/net/tun")
        sys.exit(SKIPPED)
    how = ["unshare", "-nm"] if os.geteuid() == 0 else ["unshare", "-Urnm"]
    if subprocess.run([*how, "true"], capture_output=True).returncode != 0:
        print("skipped: no namespaces here")
        sys.exit(SKIPPED)
    os.execvpe(how[0], [*how, sys.executable, "-B", *sys.argv], os.environ | {INSIDE: "1"})


def set_namespace(fd):
    if LIBC.setns(fd, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Peer:
    """Commands and sockets of the namespace at the other end of the wire."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "600"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        own = os.stat("/proc/self/ns/net").st_ino
        until = time.monotonic() + WAIT_S
        while os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino == own and time.monotonic() < until:
            time.sleep(0.01)
        self.ns = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY)
        self.own = os.open("/proc/self/ns/net", os.O_RDONLY)

    def run(self, *command, check=True):
        return run("nsenter", "-t", str(self.holder.pid), "-n", *command, check=check)

    @contextlib.contextmanager
    def inside(self):
        set_namespace(self.ns)
        try:
            yield
        finally:
            set_namespace(self.own)

    def socket(self, *kind):
        with self.inside():
            s = socket.socket(*kind)
        s.settimeout(WAIT_S)
        return s

    def connect(self, port, host=OURS):
        s = self.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        s.connect((host, port))
        return s

    def close(self):
        self.holder.kill()
        self.holder.wait()


def ping(s, host, times=3):
    """Echo requests over a raw socket; how many answers each of them got."""
    six = ":" in host
    answers = []
    for number in range(times):
        message = struct.pack(">BBHHH", 128 if six else 8, 0, 0, os.getpid() & 0xffff, number) + b"0123456789abcdef"
        if not six:
            message = message[:2] + cksum(message) + message[4:]
        s.settimeout(WAIT_S)
        s.sendto(message, (host, 0))
        got = 0
        with contextlib.suppress(TimeoutError):
            while True:
                data = s.recv(2048)
                data = data if six else data[(data[0] & 15) * 4:]
                if data[0] == (129 if six else 0) and data[4:] == message[4:]:
                    got += 1
                    s.settimeout(0.2)  # a second answer would come at once
        answers.append(got)
    return answers


def ping_socket(host):
    return ((socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if ":" in host
            else (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))


def set_up(peer):
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(peer.holder.pid))
    # This kernel has the NIC as well, and must not hear what arrives there: a NIC that DPDK has is no interface. A packet
    # socket gets the frames before this hook.
    run("nft", "add table netdev deaf; add chain netdev deaf in { type filter hook ingress device v0 priority 0; policy drop; }")
    pathlib.Path("/proc/sys/net/ipv6/conf/v0/disable_ipv6").write_text("1")
    run("ip", "link", "set", "v0", "up")
    peer.run("ip", "link", "set", "lo", "up")
    peer.run("ethtool", "-K", "v1", "tx", "off")
    for address in (f"{PEER}/24", f"{PEER6}/64"):
        peer.run("ip", "addr", "add", address, "dev", "v1", *(["nodad"] if ":" in address else []))
    peer.run("ip", "link", "set", "v1", "up")
    run("ip", "tuntap", "add", "dev", "clockoo0", "mode", "tap", "user", str(os.geteuid()))
    for address in (f"{OURS}/24", f"{OTHER}/24", f"{OURS6}/64"):
        run("ip", "addr", "add", address, "dev", "clockoo0", *(["nodad"] if ":" in address else []))
    run("ip", "link", "set", "clockoo0", "up")


class Appliance:
    def __init__(self, *options, kernel="clockoo0"):
        self.process = subprocess.Popen(
            [PROGRAM, "--no-huge", "--iface", "v0", "--kernel", kernel, "-p", str(CACHE), "-U", str(CACHE), "-m", "16",
             "-c", "64", "--address", f"{OURS}/24", "--address6", f"{OURS6}/64", "--probe", "off", "--poll", "adaptive",
             "--yield", "--file-prefix", f"kernel-{os.getpid()}", "--config", "none", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self):
        if not select.select([self.process.stdout], [], [], WAIT_S)[0] or self.process.stdout.readline() == "":
            self.process.kill()
            raise RuntimeError(f"did not start: {self.process.communicate()[1]}")
        return self

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, err

    def __enter__(self):
        return self.ready()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)


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


def tcp_resets_from(frames, port):
    """Frames of IPv4 or IPv6 with RST from this port."""
    count = 0
    for frame in frames:
        kind = int.from_bytes(frame[12:14], "big")
        at = 14 + (frame[14] & 15) * 4 if kind == 0x0800 and frame[23] == 6 else 54 if kind == 0x86dd and frame[20] == 6 else 0
        count += at != 0 and int.from_bytes(frame[at:at + 2], "big") == port and (frame[at + 13] & 4) != 0
    return count


def exchange(s, request, end):
    s.sendall(request)
    got = b""
    while not got.endswith(end):
        piece = s.recv(65536)
        if not piece:
            raise RuntimeError(f"closed after {got!r}")
        got += piece
    return got


class EchoServer:
    """A server of the kernel: each connection is a process that echoes lines, as a shell does."""

    def __init__(self, port, family=socket.AF_INET6):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", port))
        listener.listen(16)
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            while True:
                connection, _ = listener.accept()
                if os.fork() == 0:
                    die_with_parent()
                    listener.close()
                    while data := connection.recv(65536):
                        connection.sendall(data)
                    os._exit(0)
                connection.close()
        listener.close()

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def stats_of(peer, name):
    with peer.connect(CACHE) as s:
        rows = exchange(s, f"stats {name}\r\n".encode(), b"END\r\n").decode()
    return {key: int(value) for key, value in re.findall(r"STAT (?:\d+_)?(\S+) (\d+)\r", rows)}


class KernelShare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()
        cls.addClassCleanup(cls.peer.close)
        set_up(cls.peer)
        cls.addClassCleanup(EchoServer(SSH).close)

    def check_both(self, host=OURS):
        with self.peer.connect(CACHE, host) as s:
            self.assertEqual(exchange(s, b"set k 0 0 2\r\nhi\r\n", b"\r\n"), b"STORED\r\n")
            self.assertEqual(exchange(s, b"get k\r\n", b"END\r\n"), b"VALUE k 0 2\r\nhi\r\nEND\r\n")
        with self.peer.connect(SSH, host) as s:
            self.assertEqual(exchange(s, b"a line\n", b"\n"), b"a line\n")

    def test_cache_and_kernel_serve_at_one_address_and_no_reset_of_the_kernel_leaves(self):
        with Appliance(), Wire(self.peer) as wire:
            for _ in range(5):
                self.check_both(OURS)
                self.check_both(OURS6)
            self.assertEqual(tcp_resets_from(wire.frames(), CACHE), 0)

    def test_a_question_about_the_address_has_one_answer(self):
        with Appliance(), Wire(self.peer) as wire:
            self.peer.run("ip", "neigh", "flush", "dev", "v1")
            for host in (OURS, OURS6):
                with self.peer.socket(*ping_socket(host)) as s:
                    self.assertEqual(ping(s, host), [1, 1, 1])
            frames = wire.frames()
            arp = [f for f in frames if f[12:14] == b"\x08\x06" and f[21] == 2 and f[28:32] == socket.inet_aton(OURS)]
            asked = self.peer.run("ip", "neigh", "show", OURS).stdout
            self.assertIn("lladdr", asked)
            self.assertEqual(len(arp), 1)
            # The kernel has heard the questions as well, to learn who asks, and its answers did not leave.
            self.assertGreater(stats_of(self.peer, "net")["kernel_silenced"], 0)

    def test_another_address_is_the_kernels(self):
        with Appliance():
            with self.peer.socket(*ping_socket(OTHER)) as s:
                self.assertEqual(ping(s, OTHER), [1, 1, 1])
            with self.peer.connect(SSH, OTHER) as s:
                self.assertEqual(exchange(s, b"hello\n", b"\n"), b"hello\n")

    def test_the_kernel_reaches_others_and_others_its_datagrams(self):
        with Appliance():
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
        with Appliance() as first:
            session = self.peer.connect(SSH)
            self.assertEqual(exchange(session, b"before\n", b"\n"), b"before\n")
            first.end(signal.SIGKILL)
            session.sendall(b"while nobody is there\n")
            self.assertNotEqual(run("ip", "addr", "show", "clockoo0").stdout.count("inet "), 0)
        with Appliance(), Wire(self.peer) as wire:
            got = b""
            while not got.endswith(b"\n"):
                got += session.recv(1000)
            self.assertEqual(got, b"while nobody is there\n")
            self.assertEqual(exchange(session, b"after\n", b"\n"), b"after\n")
            self.assertEqual(tcp_resets_from(wire.frames(), SSH), 0)
        session.close()

    def test_large_transfers_pass_the_kernel_whole(self):
        data = os.urandom(1 << 20)
        with Appliance(), self.peer.connect(SSH) as s:
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
        with Appliance():
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

    # ---- what hinders a start ----

    def refusal(self, *options, kernel="clockoo0"):
        a = Appliance(*options, kernel=kernel)
        out, err = a.process.communicate(timeout=WAIT_S)
        self.assertEqual((out, a.process.returncode), ("", 1))
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_an_interface_that_is_missing_or_no_tap_is_one_line(self):
        self.assertIn("there is no interface clockoo9: tools/nic kernel clockoo9 makes it", self.refusal(kernel="clockoo9"))
        self.assertIn("--kernel: lo is no tap", self.refusal(kernel="lo"))

    def test_an_interface_in_use_or_with_a_larger_mtu_is_one_line(self):
        with Appliance():
            pass
        run("ip", "link", "set", "clockoo0", "mtu", "1600")
        self.assertIn("its MTU is 1600, and the port's 1500: ip link set clockoo0 mtu 1500", self.refusal())
        run("ip", "link", "set", "clockoo0", "mtu", "1500")
        with Appliance():
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


def cksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack(">H", ~total & 0xffff)


enter_namespaces()
PROGRAM = os.path.abspath(sys.argv.pop(1))
if __name__ == "__main__":
    unittest.main(argv=sys.argv)
