"""Two network namespaces and the wire between them.

    NAME-s the appliance; v0 has no address; with one the kernel would answer clients, too NAME-c the client,
    10.99.0.2/24 and fd99::2/64 on v1

A second appliance has a namespace and a wire of its own: NAME-s2, and 10.99.1.2/24 and fd99:0:0:1::2/64 on v2
in NAME-c. There the kernel uses IPv6 on the client's side only: beside the appliance it would have the same
link-local address, made from the same MAC. tools/bench has more: NAME-k, a cache on the kernel's own stack, and
NAME-m, a link between (links.py).

Everything is made inside the two namespaces; that of the caller is not touched. With tap there is one
namespace: DPDK makes the interface, and its kernel side is the client.
"""

import functools
import os
import pathlib
import signal
import socket
import subprocess
import time

from progress import Failed

TCP_PORT = 11211
HOST = "10.99.0.1"  # the first appliance's address
SIDES = ("c", "s", "s2", "k", "m")
APPLIANCES_MAX = 2
PREFIX_LEN = 24
PREFIX6_LEN = 64
END_WAIT_S = 3.0
# The appliance gets every frame through a packet socket, so the kernel drops it after that. This gives 1.1 times the
# requests, measured with 16 clients over TCP.
UNSEEN = ("table netdev unseen { chain in { type filter hook ingress device v0 priority 0; "
          "policy drop; }; }")

# Settings for quiet wires, and for a kernel that never forwards requests for the appliance.
SYSCTLS = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1",
           "net.ipv4.ip_forward=0"]
# The IPv6 address can be used at once and stays the only one: no router advertises another on this wire.
SYSCTLS6 = ["accept_dad=0", "accept_ra=0", "router_solicitations=0", "disable_ipv6=0"]


def _run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")


def _try(*command):
    """Runs a command that only makes a run faster. It may fail, since kernels and containers refuse some."""
    try:
        _run(*command)
    except (Failed, OSError):
        pass


def forward(wire):
    """Makes the client's namespace the router between the appliances' wires."""
    _run(*inside(wire.client), "sysctl", "-qw", "net.ipv4.ip_forward=1")


class UserWire:
    """Replaces the wire where there are no namespaces: clients use the host's loopback (port user). In the network
    inside the appliance this host is 10.0.2.2 (lib/config/config_listen.h)."""

    port, server, client, iface, peer = "user", None, None, "lo", "lo"
    here_inside = "10.0.2.2"

    def __init__(self, number=1):
        self.host, self.here = f"127.0.0.{number}", "127.0.0.1"
        self.host6 = "::1" if number == 1 and _has_loopback6() else ""
        self._claim = _claim(self.host, TCP_PORT)
        is_ours = self._claim is not None and _port_is_free(self.host, TCP_PORT)
        self.tcp_port = TCP_PORT if is_ours else free_port(self.host)

    def options(self):
        return ["--port", "user", "-l", ",".join(filter(None, (self.host, self.host6)))]

    def make(self):
        pass

    def join(self):
        pass


def _has_loopback6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def _claim(host, port):
    """Reserves the port for this run before its appliance listens. None: another run has the port."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0clockoo-run/{host}:{port}")
    except OSError:
        claim.close()
        return None
    return claim


def _port_is_free(host, port):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, kind == socket.SOCK_STREAM)
                s.bind((host, port))
            except OSError:
                return False
    return True


def free_port(host):
    with socket.socket() as s:
        s.bind((host, 0))
        return s.getsockname()[1]


# A run needs these permissions of the machine, tried under unshare(1), whose flags decide between root's rights and a user's.
_PROBE = "mount -t tmpfs tmpfs /run && ip link add v0 type veth peer name v1"


def why_not(*flags):
    """Returns why namespaces made with these flags of unshare(1) cannot be used; None: they can."""
    try:
        done = subprocess.run(["unshare", *flags, "--mount", "--net", "sh", "-c", _PROBE],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        return f"unshare: {error.strerror}"
    words = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else words[-1].removeprefix("unshare: ") if words else f"status {done.returncode}"


@functools.cache
def rights():
    """Returns whose namespaces can be made here ("root", "user" or None), and why not better ones."""
    as_root = why_not() if os.geteuid() == 0 else "this is not root"
    if as_root is None:
        return "root", ""
    as_user = why_not("--user", "--map-root-user")
    return ("user", as_root) if as_user is None else (None, "; ".join(dict.fromkeys((as_root, as_user))))


def usual_wire():
    """Returns the wire that tools/run uses here. It is not laid yet."""
    return UserWire() if rights()[0] is None else Wire("", "af_packet")


class Wire:
    tcp_port = TCP_PORT

    def __init__(self, name, port, number=1):
        self.port, self.number = port, number
        self.server = f"{name}-s{number if number > 1 else ''}"
        self.client = self.server if port == "tap" else f"{name}-c"
        self.iface = "t0" if port == "tap" else "v0"
        self.peer = "t0" if port == "tap" else f"v{number}"
        self.host, self.here = (f"10.99.{number - 1}.{end}" for end in (1, 2))
        self.here_inside = self.here
        net6 = "fd99:" if number == 1 else f"fd99:0:0:{number - 1}:"
        self.host6, self._here6 = (f"{net6}:{end}" for end in (1, 2))

    def options(self):
        return ["--port", self.port, "--iface", self.iface, "--address", f"{self.host}/{PREFIX_LEN}",
                "--address6", f"{self.host6}/{PREFIX6_LEN}"]

    def make(self):
        for ns in {self.server, self.client} if self.number == 1 else {self.server}:
            _run("ip", "netns", "add", ns)
            _run(*inside(ns), "sysctl", "-qw", *SYSCTLS)
            _run(*inside(ns), "ip", "link", "set", "lo", "up")
        if self.port != "tap":
            self.lay()

    def lay(self):
        """Makes the pair of interfaces, in existing namespaces."""
        _run(*inside(self.server), "ip", "link", "add", "v0", "type", "veth",
             "peer", "name", self.peer, "netns", self.client)
        # Without this the kernel would leave checksums and segmentation to a NIC that does not exist.
        _run(*inside(self.client), "ethtool", "-K", self.peer, "tx", "off")
        _run(*inside(self.server), "ip", "link", "set", "v0", "up")
        _try(*inside(self.server), "nft", UNSEEN)
        self._address()

    def join(self):
        """Completes the wire, once the appliance has made its interface."""
        if self.port == "tap":
            self._address()

    def _address(self):
        ip = [*inside(self.client), "ip"]
        settings = [f"net.ipv6.conf.{self.peer}.{word}" for word in SYSCTLS6]
        has6 = os.path.exists("/proc/sys/net/ipv6")
        if has6:
            _run(*inside(self.client), "sysctl", "-qw", *settings)
        _run(*ip, "addr", "add", f"{self.here}/{PREFIX_LEN}", "dev", self.peer)
        _run(*ip, "link", "set", self.peer, "up")
        if has6:
            _run(*ip, "addr", "add", f"{self._here6}/{PREFIX6_LEN}", "dev", self.peer, "nodad")


def end_processes(name):
    """Ends all processes that are left in the namespaces of that run."""
    _end([p for side in SIDES for p in _members(f"{name}-{side}")])


def end_children():
    """Ends the processes that a command left. Its orphans are our children (PR_SET_CHILD_SUBREAPER)."""
    _end([int(e.name) for e in pathlib.Path("/proc").iterdir() if e.name.isdigit() and _stat(e.name)[1] == str(os.getpid())])


def _end(pids):
    for pid in pids:
        _signal(pid, signal.SIGTERM)
    end = time.monotonic() + END_WAIT_S
    while any(_alive(p) for p in pids) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in pids:
        _signal(pid, signal.SIGKILL)


def inside(ns):
    """Returns the words that run a command in ns; without a namespace, none. They use nsenter, because ip netns
    exec and ip -n also mount a sysfs, which not every container allows."""
    if ns is None:
        return []
    return ["nsenter", f"--net=/run/netns/{ns}", "--"]


def _members(ns):
    try:
        inode = os.stat(f"/run/netns/{ns}").st_ino
    except OSError:
        return []
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if os.stat(entry / "ns/net").st_ino == inode:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _stat(pid):
    """Returns the state and the parent of a process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return ["Z", ""]


def _alive(pid):
    return _stat(pid)[0] != "Z"


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
