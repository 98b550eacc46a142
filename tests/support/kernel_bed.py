"""A wire between the appliance beside the kernel and a peer: network namespaces, a veth with the NIC at one end, a tap
by which the kernel shares the NIC, and a server on the kernel's stack. For tests and benches; all of it ends with the
process.
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
import time
import unittest

NIC_TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/nic"
WAIT_S = 60  # time limit of a step
SKIPPED = 77
OURS, PEER, OTHER = "10.99.0.1", "10.99.0.2", "10.99.0.77"
OURS6, PEER6 = "2001:db8::1", "2001:db8::2"
SSH, CACHE = 22, 11211
INSIDE = "CLOCKOO_KERNEL_SHARE"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
    return done


def enter_namespaces():
    """Runs this program again, as root of network and mount namespaces of its own."""
    if INSIDE in os.environ:
        return
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("skipped: no /dev/net/tun")
        sys.exit(SKIPPED)
    how = ["unshare", "-nm"] if os.geteuid() == 0 else ["unshare", "-Urnm"]
    if subprocess.run([*how, "true"], capture_output=True).returncode != 0:
        print("skipped: no namespaces here")
        sys.exit(SKIPPED)
    os.execvpe(how[0], [*how, sys.executable, "-B", *sys.argv], os.environ | {INSIDE: "root" if os.geteuid() == 0 else "user"})


def set_namespace(fd):
    if LIBC.setns(fd, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Peer:
    """Commands and sockets of the namespace at the other end of the wire."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"], stdin=subprocess.DEVNULL,
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
    """Sends echo requests over a raw socket. Returns the number of answers to each."""
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
    # The kernel must not receive the veth's frames, as if DPDK drove a real NIC. The packet socket gets them before
    # this hook drops them.
    run("nft", "add table netdev deaf; add chain netdev deaf in { type filter hook ingress device v0 priority 0; policy drop; }")
    pathlib.Path("/proc/sys/net/ipv6/conf/v0/disable_ipv6").write_text("1")
    run("ip", "link", "set", "v0", "up")
    peer.run("ip", "link", "set", "lo", "up")
    peer.run("ethtool", "-K", "v1", "tx", "off")
    for address in (f"{PEER}/24", f"{PEER6}/64"):
        peer.run("ip", "addr", "add", address, "dev", "v1", *(["nodad"] if ":" in address else []))
    peer.run("ip", "link", "set", "v1", "up")
    # The kernel notes a carrier up to a second late (net/core/link_watch.c). Before that it loses what IPv6 sends.
    end = time.monotonic() + WAIT_S
    while " state UP " not in peer.run("ip", "link", "show", "v1").stdout:
        if time.monotonic() > end:
            raise RuntimeError("v1 has no carrier")
        time.sleep(0.01)
    run(str(NIC_TOOL), "kernel", "clockoo0", str(os.geteuid()))
    for address in (f"{OURS}/24", f"{OTHER}/24", f"{OURS6}/64"):
        run("ip", "addr", "add", address, "dev", "clockoo0", *(["nodad"] if ":" in address else []))


class Appliance:
    def __init__(self, program, *options, kernel="clockoo0"):
        self.process = subprocess.Popen(
            [program, "--no-huge", "--iface", "v0", *(("--kernel", kernel) if kernel is not None else ()), "-p", str(CACHE),
             "-U", str(CACHE), "-m", "16", "-c", "64", "--address", f"{OURS}/24", "--address6", f"{OURS6}/64", "--probe", "off", "--poll", "adaptive",
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


class BedTest(unittest.TestCase):
    """Tests that share one peer, beside a server of the kernel at SSH's port."""

    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()
        cls.addClassCleanup(cls.peer.close)
        set_up(cls.peer)
        cls.addClassCleanup(EchoServer(SSH).close)


def stats_of(peer, name):
    with peer.connect(CACHE) as s:
        rows = exchange(s, f"stats {name}\r\n".encode(), b"END\r\n").decode()
    return {key: int(value) for key, value in re.findall(r"STAT (?:\d+_)?(\S+) (\d+)\r", rows)}


def cksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack(">H", ~total & 0xffff)
