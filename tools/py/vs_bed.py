"""The servers and clients of tools/bench vs: servers on one CPU, clients on another.

    NAME-s   the appliance: over vhost for clockoo-load, or at v0 10.99.0.1 for kernel clients
    NAME-k   the peers, on lo for their best client and at k0 10.99.1.1
    NAME-c   kernel clients of view a      v1 10.99.0.2/24     k1 10.99.1.2/24

A core of the appliance spins, so it is stopped (SIGSTOP) while others have their turn on its CPU.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import types

import appliance
import build_tree
import netns
from cpu_pair import CpuPair
from links import Bed, checked, inside
from progress import Failed, Step, say

PORT = 11211
MEMORY_MB = 512
KEYS = 1_000_000
PEER_NET = 1
LIMIT_S = 120
START_S = 5.0


def cpu_s(pid):
    """Returns the CPU time of all its threads."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(path.read_text().split()[0])
    return total / 1e9


def lcores(cpus):
    """Returns the value of --lcores: cores from 0 on, one on each CPU."""
    return ",".join(f"{core}@{cpu}" for core, cpu in enumerate(cpus))


class Peer:
    """A server on the kernel's stack. options: what ask needs to speak to it."""

    def __init__(self, name, threads, command, options=(), udp=True):
        self.name, self.threads, self.command = name, threads, command
        self.options, self.udp = list(options), udp
        self.pid = self.port = None


def memcached(name, binary, threads):
    return Peer(name, threads, lambda port: [
        binary, "-l", "0.0.0.0", "-p", str(port), "-U", str(port), "-t", str(threads), "-m",
        str(MEMORY_MB), "-c", "1024"])


def redis():
    return Peer("redis", 1, lambda port: [
        "redis-server", "--port", str(port), "--bind", "0.0.0.0", "--protected-mode", "no", "--save",
        "", "--appendonly", "no", "--dir", "/tmp", "--maxclients", "1000"], ["--redis"], udp=False)


def peers_of(given, with_redis):
    """Returns the peers to measure, and names absent ones with the reason."""
    found = []
    if shutil.which("memcached"):
        found += [memcached("memcached", "memcached", 1), memcached("memcached_2t", "memcached", 2)]
    else:
        say("memcached: skipped, it is not installed")
    if with_redis:
        if shutil.which("redis-server"):
            found.append(redis())
        else:
            say("redis: skipped, it is not installed (apt-get install redis-server)")
    for number, path in enumerate(given, 1):
        path = pathlib.Path(path).absolute()
        if not os.access(path, os.X_OK):
            raise Failed(f"--memcached {path}: no program is there")
        found.append(memcached(f"given{number}", str(path), 1))
    return found


class VsBed(Bed):
    SIDES = ("c", "s", "k")

    def __init__(self, programs, build, peers):
        super().__init__(programs)
        self.cpus = sorted(os.sched_getaffinity(0))
        if len(self.cpus) < 2:
            raise Failed("server and client need a CPU each; this machine lets us have one")
        self.server_cpu, self.client_cpu = self.cpus[:2]
        # Programs that spin get a CPU for each core.
        self.server_cpus, self.client_cpus = [self.server_cpu], [self.client_cpu]
        self.build, self.peers = build, peers
        self.huge = True
        self.pair = None  # cpu_pair.Pair, which repeats turns; None: no turn is repeated

    def be_patient(self, patience_s):
        """From now on repeats turns in which the host had moved our CPUs apart."""
        self.pair = CpuPair(self._programs / "cpu_pair", (self.server_cpu, self.client_cpu),
                            patience_s)

    def _turn(self, run):
        return run() if self.pair is None else self.pair.turn(run)

    def make(self, ledger):
        self.settle(ledger)
        self._lay_peer_wire()
        for number, peer in enumerate(self.peers):
            self._start_peer(peer, PORT + number)

    def settle(self, ledger):
        self._ledger = ledger
        self.client, self.server_ns, self.peer_ns = (f"{ledger.name}-{s}" for s in "csk")
        self._folder = pathlib.Path(self._undo.enter_context(
            tempfile.TemporaryDirectory(prefix="clockoo-vs-")))

    def _lay_peer_wire(self):
        """Lays the veth with every offload on, as an operator would."""
        checked(*inside(self.peer_ns), "ip", "link", "add", "k0", "type", "veth", "peer", "name",
                "k1", "netns", self.client)
        for ns, iface, end in ((self.peer_ns, "k0", 1), (self.client, "k1", 2)):
            checked(*inside(ns), "ip", "addr", "add", f"10.99.{PEER_NET}.{end}/24", "dev", iface)
            checked(*inside(ns), "ip", "link", "set", iface, "up")

    def _start_peer(self, peer, port, cpus=None):
        """Starts the process, which ends with the bed or earlier."""
        cpus = cpus or [self.server_cpu, self.client_cpu][:peer.threads]
        # memcached refuses to run as root. The death signal is set last, because changing the user clears it.
        child = subprocess.Popen(
            [*inside(self.peer_ns), "taskset", "-c", ",".join(map(str, cpus)), "setpriv", "--reuid",
             "nobody", "--regid", "nogroup", "--clear-groups", "--pdeathsig", "KILL",
             *peer.command(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self._undo.callback(child.wait)
        self._undo.callback(child.kill)
        peer.pid, peer.port = child.pid, port
        end = time.monotonic() + START_S
        listens = ["ss", "-Hltn", "sport", "=", str(port)]
        while not checked(*inside(self.peer_ns), *listens):
            if child.poll() is not None or time.monotonic() > end:
                raise Failed(f"{peer.name} does not start: {' '.join(peer.command(port))}")
            time.sleep(0.05)
        return child

    # ---- servers over a port of their own ----

    def _options(self, prefix):
        return ["--data-dir", str(build_tree.ROOT / "drivers-config"), "--file-prefix",
                f"{self._ledger.name}{prefix}"]

    def _spinner(self, command, prefix, ns, join=lambda: None):
        """Starts a server whose core spins, and stops it until its turn."""
        wire = types.SimpleNamespace(server=ns, join=join)
        server, huge = appliance.start([*command, *self._options(prefix), "--lcores",
                                        lcores(self.server_cpus)], wire, self._ledger, not self.huge)
        self.huge = self.huge and huge
        os.kill(server.pid, signal.SIGSTOP)
        self._undo.callback(self.end, server)
        return server

    def end(self, server):
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGCONT)
        server.stop()

    @contextlib.contextmanager
    def turn_of(self, server):
        os.kill(server.pid, signal.SIGCONT)
        try:
            yield
            server.check_alive()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGSTOP)

    def _app(self, *options):
        return [str(self.build / "app/clockoo"), "--config", "none", "-p", str(PORT), "-U", str(PORT), "-m", str(MEMORY_MB),
                *options]

    def start_vhost(self, *options):
        return self._spinner(self._app("--port", "vhost", "--socket", self._folder / "app.sock",
                                       *options), "", self.server_ns)

    def start_echo(self):
        return self._spinner([str(self._programs / "port_echo"), "serve", "--port", "vhost",
                              "--socket", self._folder / "echo.sock"], "-2", self.server_ns)

    def start_af_packet(self):
        wire = netns.Wire(self._ledger.name, "af_packet")
        wire.lay()
        self.host = wire.host
        return self._spinner(self._app("--port", "af_packet", "--iface", wire.iface, "--address",
                                       f"{wire.host}/{netns.PREFIX_LEN}", "--probe", "off"), "", self.server_ns,
                             wire.join)

    # ---- clients; each returns a row ----

    def _run(self, words, command, cpus=None, limit_s=LIMIT_S):
        with Step(words):
            try:
                done = subprocess.run(["setpriv", "--pdeathsig", "KILL", "taskset", "-c",
                                       cpus or ",".join(map(str, self.client_cpus)),
                                       *map(str, command)], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=limit_s)
            except subprocess.TimeoutExpired:
                raise Failed(f"{words}: {command[0]} did not end within {limit_s} s") from None
        if done.returncode != 0:
            # The reason stands first, since the command is long.
            raise Failed(f"{words}: {(done.stderr or done.stdout).strip()[-600:]}\n"
                         f"  (status {done.returncode} of {' '.join(map(str, command))})")
        return done.stdout

    def _kernelless(self, words, command, prefix, limit_s=LIMIT_S):
        """Starts a DPDK program, with hugepages if there are any."""
        command = [*command, "--lcores", lcores(self.client_cpus), *self._options(prefix)]
        if self.huge:
            try:
                return self._run(words, command, limit_s=limit_s)
            except Failed as failed:
                if not appliance.lend_for(str(failed), self._ledger):
                    raise
            return self._run(words, command, limit_s=limit_s)
        return self._run(words, [*command, "--no-huge"], limit_s=limit_s)

    def load(self, words, server, *options):
        """Runs clockoo-load against the appliance over vhost."""
        found, share = self._turn(lambda: self.load_whole(words, server, *options))
        if not found["points"] and "--fill-only" not in options:
            raise Failed(f"{words}: clockoo-load measured nothing")
        return {"cpu_share": share, **found["points"][0]} if found["points"] else {}

    def load_whole(self, words, server, *options, limit_s=LIMIT_S):
        """Returns the results of clockoo-load, and the CPUs' worth of time that the appliance had meanwhile."""
        path = self._folder / "load.json"
        with self.turn_of(server):
            from_s, cpu_from = time.monotonic(), cpu_s(server.pid)
            self._kernelless(words, [self.build / "tests/load/clockoo-load", "--port", "virtio_user", "--socket",
                                     self._folder / "app.sock", "--keys", KEYS, "--quiet", "--json",
                                     path, *options], "-3", limit_s)
            share = (cpu_s(server.pid) - cpu_from) / (time.monotonic() - from_s)
        return json.loads(path.read_text()), share

    def echo(self, words, server, ms):
        with self.turn_of(server):
            out = self._kernelless(words, [self._programs / "port_echo", "ask", "--ms", ms, "--port",
                                           "virtio_user", "--socket", self._folder / "echo.sock"],
                                   "-4")
        return json.loads(out.splitlines()[-1])

    def _both(self, words, program, *options):
        """Runs a program that is server and client at once, with the hugepages that are free. Returns its rows."""
        cpus = f"{self.server_cpu},{self.client_cpu}"
        command = [self._programs / program, *options, "--cpus", cpus]
        out = self._turn(lambda: self._run(words, command, cpus))
        return [json.loads(line) for line in out.splitlines()]

    def wire(self, words, kind, *options):
        """Runs core and generator over a wire, a CPU each. Returns the rows by part."""
        return {row["part"]: row for row in self._both(words, "bench_wire", kind, *options)}

    def cores(self, words):
        """Measures one core, then two. Returns the figures by name."""
        return self._both(words, "bench_cores")[-1]

    def ask(self, words, ns, host, port, pid, *options):
        """Runs a kernel client. Returns its row."""
        command = [*inside(ns), self._programs / "ask", host, port, "--server-pid", pid, "--keys", KEYS,
                   *options]
        out = self._turn(lambda: self._run(words, command))
        row = json.loads(out.splitlines()[-1])
        if row.get("wrong", 0) != 0:
            raise Failed(f"{words}: {row['wrong']} answers were wrong")
        return row
