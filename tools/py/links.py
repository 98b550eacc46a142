"""The network of tools/bench loss and flood: the appliance and a cache on the kernel's stack, each behind a
link that a program of ours impairs.

    NAME-c   clients           a1 10.99.0.2/24     k1 10.99.1.2/24
    NAME-m   impair between    a1m <-> a0m         k1m <-> k0m
    NAME-s   the appliance     v0  10.99.0.1
    NAME-k   memcached                             k0  10.99.1.1/24

A lost frame must be one segment, not a burst of sixty, so segmentation and checksum offloads are off on every interface
of both sides. ARP requests must not be lost: three in a row fail all connects of a client's kernel, which says nothing
about a server's TCP. So the kernels know the MACs. Clients, and memcached unless stated otherwise, use the congestion
control of congestion().
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess

import appliance
import build_tree
import lendings
import netns
from bench_figures import bar
from netns import inside
from progress import Failed, Step

PORT = 11211
OFFLOADS = [word for name in ("tx", "tso", "gso", "gro") for word in (name, "off")]
MEMORY_MB = 512
CONNS_MAX = 2048
END_S = 10.0
# The kernel must not remember metrics of a path (ssthresh, reordering) for the next run.
FORGET = "net.ipv4.tcp_no_metrics_save=1"
ALLOWED = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
COUNTER = re.compile(r"clockoo: ([A-Z0-9_]+) (\d+) \(")
PROGRAMS = ("impair", "talk", "connect_probe", "frame_flood")


def checked(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def kernel_counts(ns):
    """Returns the counters of a namespace's kernel, {"TcpOutSegs": ...}."""
    lines = checked(*inside(ns), "cat", "/proc/net/snmp", "/proc/net/netstat").splitlines()
    counts = {}
    for heads, values in zip(lines[::2], lines[1::2]):
        part, *names = heads.split()
        counts |= {part.rstrip(":") + name: int(value)
                   for name, value in zip(names, values.split()[1:])}
    return counts


class Link:
    """The link to one server: its namespace and address, and the interfaces in between."""

    def __init__(self, run, side, far, near, subnet):
        self.server, self.client, self.middle = (f"{run}-{end}" for end in (side, "c", "m"))
        self.iface, self.near = far, near
        self.middle_near, self.middle_far = near + "m", near[0] + "0m"
        self.host, self.here = (f"10.99.{subnet}.{end}" for end in (1, 2))

    def make(self, address_of_far):
        self._pair(self.client, self.near, self.middle_near)
        self._pair(self.server, self.iface, self.middle_far)
        self._up(self.client, self.near, self.here)
        self._up(self.server, self.iface, self.host if address_of_far else None)
        for iface in (self.middle_near, self.middle_far):
            self._up(self.middle, iface, None)

    def join(self):
        """Called by appliance.start for the steps that need a running appliance. This link has none."""

    def know_server(self):
        self._know(self.client, self.near, self.host, self._mac(self.server, self.iface))

    def know_client(self):
        self._know(self.server, self.iface, self.here, self._mac(self.client, self.near))

    def _mac(self, ns, iface):
        return json.loads(checked(*inside(ns), "ip", "-j", "link", "show", iface))[0]["address"]

    def _know(self, ns, iface, address, mac):
        checked(*inside(ns), "ip", "neigh", "replace", address, "lladdr", mac, "dev", iface, "nud",
                "permanent")

    def _pair(self, ns, iface, in_middle):
        checked(*inside(ns), "ip", "link", "add", iface, "type", "veth", "peer", "name", in_middle,
                 "netns", self.middle)

    def _up(self, ns, iface, address):
        checked(*inside(ns), "ethtool", "-K", iface, *OFFLOADS)
        if address is not None:
            checked(*inside(ns), "ip", "addr", "add", f"{address}/{netns.PREFIX_LEN}", "dev", iface)
        checked(*inside(ns), "ip", "link", "set", iface, "up")


def congestion():
    """Returns the congestion control of a Debian kernel, or one that every namespace may use. Never BBR, which may be a
    machine's default: it ignores losses, so it is measured separately."""
    allowed = ALLOWED.read_text().split()
    return next(name for name in ("cubic", "reno") if name in allowed)


def set_congestion(ns, name):
    """Sets the congestion control for later connections of that namespace."""
    checked(*inside(ns), "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={name}")


class Bed:
    """The surroundings of a measurement: namespaces, an appliance, programs of ours. `with Bed(...) as bed`
    gives all of it back at the end."""

    SIDES = ()

    def __init__(self, programs, appliance_args=()):
        self._programs, self._args = programs, appliance_args
        self._undo = contextlib.ExitStack()
        self._words = []

    def __enter__(self):
        if os.geteuid() != 0:
            raise Failed("this makes network namespaces and packet sockets: it needs root")
        try:
            ledger = lendings.Ledger()
            self._undo.callback(ledger.close)
            for side in self.SIDES:
                ns = f"{ledger.name}-{side}"
                checked("ip", "netns", "add", ns)
                checked(*inside(ns), "sysctl", "-qw", *netns.SYSCTLS, FORGET)
                checked(*inside(ns), "ip", "link", "set", "lo", "up")
                set_congestion(ns, congestion())
            self.make(ledger)
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, *_):
        self._undo.close()

    def start_appliance(self, ledger, wire):
        folder = build_tree.default_folder()
        # --yield, since clients and appliance share few CPUs.
        command = [str(folder.with_name(folder.name + "-bench") / "app/clockoo"), "--config",
                   "none", "--port", "af_packet", "--iface", wire.iface, "--address",
                   f"{wire.host}/{netns.PREFIX_LEN}", "-p", str(PORT), "-U", "0", "-m",
                   str(MEMORY_MB), "-I", "2m", "-c", str(CONNS_MAX), "-v", "--probe", "off", "--file-prefix",
                   ledger.name, "--data-dir", str(build_tree.ROOT / "drivers-config"), "--yield",
                   *self._args]
        self.server, _ = appliance.start(command, wire, ledger, False)
        self._undo.callback(self.server.stop)
        self.server.on_line = self._words.append

    def stop_appliance(self):
        """Stops the appliance. Returns the counters that it prints at its end, {symbol: count}."""
        self.server.stop()
        found = (COUNTER.match(text) for text in self._words)
        return {match[1]: int(match[2]) for match in found if match}

    def program(self, ns, name, *args):
        """Starts a program of ours in a namespace."""
        # nsenter becomes the program (exec), so the pid is its own.
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *inside(ns),
                                 str(self._programs / name), *map(str, args)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace")

    def row(self, words, ns, name, *args, on_line=None):
        """Runs a program to its end. Returns its row. on_line is called with each line of its stderr."""
        with Step(words) as step, self.ending(self.program(ns, name, *args)) as child:
            last = ""
            for line in child.stderr:
                last = line.strip()[:80]
                step.note = bar(last)
                if on_line is not None:
                    on_line(last)
            out = child.stdout.read()
            self.server.check_alive()
            if child.wait() != 0:
                raise Failed(f"{name}: status {child.returncode}, last words: {last}")
        return json.loads(out)

    @contextlib.contextmanager
    def ending(self, child):
        """Ends a background process at the end of the block, if it still runs."""
        try:
            yield child
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stdout.close()
            child.stderr.close()


class Links(Bed):
    """The two servers, each behind its own link."""

    SIDES = ("c", "m", "s", "k")

    congestion = property(lambda self: congestion())
    has_bbr = property(lambda self: "bbr" in ALLOWED.read_text().split())

    def set_congestion(self, link, name):
        set_congestion(link.server, name)

    def make(self, ledger):
        self.clockoo = Link(ledger.name, "s", "v0", "a1", 0)
        self.memcached = Link(ledger.name, "k", "k0", "k1", 1)
        self.clockoo.make(address_of_far=False)
        self.memcached.make(address_of_far=True)
        self.start_appliance(ledger, self.clockoo)
        self._start_memcached()
        for link in (self.clockoo, self.memcached):
            link.know_server()
        self.memcached.know_client()

    def _start_memcached(self):
        # memcached refuses to run as root. The death signal is set last, because changing the user clears it.
        command = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                   "--pdeathsig", "KILL", "memcached", "-l", self.memcached.host, "-p", str(PORT),
                   "-U", "0", "-t", "1", "-m", str(MEMORY_MB), "-I", "2m", "-c", str(CONNS_MAX)]
        child = subprocess.Popen([*inside(self.memcached.server), *command],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self._undo.callback(child.wait)
        self._undo.callback(child.kill)

    def client_counts(self, link):
        return kernel_counts(link.client)

    @contextlib.contextmanager
    def impaired(self, link, *how):
        """Runs the link while the block runs. Yields a dict that has its row afterwards."""
        row = {}
        with self.ending(self.program(link.middle, "impair", link.middle_near, link.middle_far,
                                      *how)) as child:
            if child.stdout.readline() != "ready\n":
                raise Failed(f"impair: {child.stderr.read().strip()}")
            yield row
            child.terminate()
            out, _ = child.communicate(timeout=END_S)
            row.update(json.loads(out))
