"""Shared by the network pieces of tools/bench papers: servers that are started and stopped, and the use of CPUs
meanwhile."""

import contextlib
import os
import pathlib
import shutil

import vs_bed
from links import checked, inside
from progress import Failed
from vs_bed import MEMORY_MB, PORT, VsBed

KINDS = ("user", "system", "interrupts", "soft interrupts", "idle", "stolen")
# Columns of a line of /proc/stat: user nice system idle iowait irq softirq steal
FIELDS = {"user": (0, 1), "system": (2,), "interrupts": (5,), "soft interrupts": (6,), "idle": (3, 4), "stolen": (7,)}


def cpu_times(cpu=None):
    """Returns the ticks of one CPU, or of all, by kind."""
    name = "cpu" if cpu is None else f"cpu{cpu}"
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0] == name:
            ticks = list(map(int, words[1:9]))
            return {kind: sum(ticks[i] for i in fields) for kind, fields in FIELDS.items()}
    raise Failed(f"/proc/stat has no {name}")


def shares(before, after):
    """Returns percentages of the time between two readings, by kind."""
    spent = {kind: after[kind] - before[kind] for kind in KINDS}
    whole = sum(spent.values()) or 1
    return {kind: 100 * ticks / whole for kind, ticks in spent.items()}


def memcached(threads, *options, binary="memcached", name="memcached"):
    return vs_bed.Peer(name, threads, lambda port: [binary, "-l", "0.0.0.0", "-p", str(port), "-U", str(port), "-t", str(threads), "-m",
                                                    str(MEMORY_MB), "-c", "1024", *map(str, options)])


def redis(binary="redis-server", name="redis"):
    peer = vs_bed.redis()
    command = peer.command
    peer.name, peer.command = name, lambda port: [binary, *command(port)[1:]]
    return peer


TWITTERS = "server_host: 0.0.0.0\nserver_port: {port}\nadmin_port: {admin}\nslab_mem: {memory}\n"
PELIKANS = """daemonize = false
[admin]
host = "127.0.0.1"
port = "{admin}"
[server]
host = "0.0.0.0"
port = "{port}"
[worker]
threads = 1
[seg]
hash_power = 20
heap_size = {memory}
[time]
time_type = "Memcache"
[debug]
log_level = "error"
"""


def pelikan(binary, name, folder):
    """Returns Pelikan as a peer. It reads a configuration file: pelikan-segcache in TOML, Twitter's older pelikan_* in
    lines. It speaks memcached's protocol over TCP."""
    text = TWITTERS if pathlib.Path(binary).name.startswith("pelikan_") else PELIKANS

    def command(port):
        path = pathlib.Path(folder, f"{name}.conf")
        path.write_text(text.format(port=port, admin=port + 1000, memory=MEMORY_MB << 20))
        path.chmod(0o644)
        return [binary, str(path)]

    return vs_bed.Peer(name, 1, command, udp=False)


def given(name, path, folder):
    """Returns a server given by path. Its name determines its protocol and options."""
    path = str(pathlib.Path(path).absolute())
    if not os.access(path, os.X_OK):
        raise Failed(f"--server {name}={path}: no program is there")
    if name.startswith("pelikan"):
        return pelikan(path, name, folder)
    if name.startswith(("redis", "valkey", "keydb")):
        return redis(path, name)
    return memcached(1, binary=path, name=name)


def cpus_of_ours():
    return sorted(os.sched_getaffinity(0))


def installed(*names):
    return [name for name in names if shutil.which(name)]


class PapersBed(VsBed):
    """Servers on the kernel's stack, one after the other, on the loopback of a namespace; and the appliance as in
    VsBed."""

    SIDES = ("c", "s", "k")

    def __init__(self, folder):
        super().__init__(folder / "tests/bench/net", folder, ())

    def make(self, ledger):
        self.settle(ledger)
        os.chmod(self._folder, 0o755)

    @property
    def folder(self):
        return self._folder

    @contextlib.contextmanager
    def running(self, peer, cpus=None, keys=None):
        """Runs a server at PORT, filled with `keys` keys."""
        child = self._start_peer(peer, PORT, cpus)
        try:
            if keys:
                self.ask(f"storing {keys:,} keys, {peer.name}", self.peer_ns, "127.0.0.1", PORT, child.pid, "--keys", keys, "--fill",
                         "--depth", 32, *peer.options)
            yield peer
        finally:
            child.kill()
            child.wait()

    def asked(self, words, peer, *options, cpu=None):
        """Returns a kernel client's row, with the shares of a CPU's time meanwhile."""
        before = cpu_times(cpu)
        row = self.ask(words, self.peer_ns, "127.0.0.1", PORT, peer.pid, *peer.options, *options)
        return row | {"shares": shares(before, cpu_times(cpu))}

    @staticmethod
    def pin(pid, cpus):
        """Lets all threads of a process run on any of these CPUs."""
        checked("taskset", "-acp", ",".join(map(str, cpus)), str(pid))

    @staticmethod
    def pin_workers(pid, cpus):
        """Pins each of memcached's worker threads, which follow its first thread, to a CPU."""
        threads = sorted(int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir())
        for number, thread in enumerate(threads):
            checked("taskset", "-cp", str(cpus[number % len(cpus)]), str(thread))

    def lay_peer_veth(self):
        """Lays a veth: k0 for servers, k1 for clients. The kernel computes checksums, since the generator verifies
        them."""
        self._lay_peer_wire()
        checked(*inside(self.peer_ns), "ethtool", "-K", "k0", "tx", "off")
        checked(*inside(self.client), "ethtool", "-K", "k1", "tx", "off")
