"""The part told of tools/bench store: all memory of a program, divided by the items that it keeps when full.

The appliance runs as a program in ordinary pages, one core, connections as by default. clockoo-load fills it over memif
until it evicts, and then ends; the process's PSS and hugepages count. Debian's memcached is filled over its socket
until it evicts (bench_space), and is counted in the same way. It also measures the memory of the process minus -m, for
ports that need no client.
"""

import os
import pathlib
import re
import subprocess
import tempfile

import build_tree
from bench_figures import table
from progress import Failed, Step, say

PROGRAMS = ("app/clockoo", "tests/load/clockoo-load")
MIB = 1 << 20
SHAPES = ((16, 32), (30, 200), (40, 1000), (60, 4000))  # bytes of key and value
SMALL_MB, LARGE_MB = 256, 1024
SMALL_SHAPES = ((16, 32), (40, 1000))
BESIDE_ITEM = 14    # least bytes of an item's header and index entry
SPARE = 1.05        # keys stored, as a multiple of those that would fit without other memory
EVICTED_SHARE = 64  # memory counts as full once one item in this many was evicted
CONNS, CORES = 1024, 1
DEPTH = "64"
BESIDE_MB = 64
READY, END_S, FILL_S = " ready:", 30.0, 600.0
COUNTER = re.compile(r"clockoo: ([A-Z0-9_]+) (\d+) \(")
FIELDS = ("Pss:", "Private_Hugetlb:", "Shared_Hugetlb:")
SOCKET = "SOCKET"
PORTS = {"null": (), "vhost": ("--socket", SOCKET), "memif": ("--socket", SOCKET), "af_packet": ("--iface", "lo")}
IN_NAMESPACE = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def common(name, last):
    """Returns the options of both programs; their cores are on the first and the last of our CPUs."""
    cpu = (max if last else min)(os.sched_getaffinity(0))
    return ["--no-huge", "--yield", "--lcores", f"0@{cpu}", "--file-prefix", f"told-{os.getpid()}{name}",
            "--data-dir", str(build_tree.ROOT / "drivers-config")]


def memory_bytes(pid):
    """Returns the memory of a process: its own, its share of shared mappings, and its hugepages."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in rollup if line.startswith(FIELDS))


def rings_bytes(pid):
    """Returns the part of that memory that the kernel shares with a packet socket as rings."""
    found, ours = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            ours = "socket:[" in line
        elif ours and line.startswith("Pss:"):
            found += 1024 * int(line.split()[1])
    return found


class Program:
    """A running appliance, which ends with the block. counts: the counters that it printed at its end."""

    def __init__(self, path, folder, mebibytes, port):
        self.socket, self.counts = str(pathlib.Path(folder, "port")), {}
        words = [self.socket if word == SOCKET else word for word in PORTS[port]]
        within = IN_NAMESPACE if port == "af_packet" else ()
        self._said = open(pathlib.Path(folder, "said"), "w+")
        self._child = subprocess.Popen(
            [*within, "setpriv", "--pdeathsig", "KILL", str(path), "--config", "none", *common("", last=False),
             "--port", port, *words, "-m", str(mebibytes), "-c", str(CONNS), "-t", str(CORES), "-v"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said, text=True)
        self.pid = self._child.pid

    def __enter__(self):
        for line in self._child.stdout:
            if READY in line:
                return self
        words = self._words()
        self.stop()
        raise Failed(f"the appliance did not start: {words[-200:]}")

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._child.terminate()
        try:
            self._child.wait(END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child.stdout.close()
        if not self._said.closed:
            self.counts = {match[1]: int(match[2]) for match in map(COUNTER.match, self._words().splitlines())
                           if match}
            self._said.close()

    def _words(self):
        self._said.seek(0)
        return self._said.read().strip()


def beside(path, port):
    """Returns the bytes of memory besides -m, and how many of them are the kernel's rings."""
    with tempfile.TemporaryDirectory(prefix="clockoo-bench-") as folder, \
            Program(path, folder, BESIDE_MB, port) as program:
        return memory_bytes(program.pid) - BESIDE_MB * MIB, rings_bytes(program.pid)


def own(path, load, mebibytes, key, value):
    """Returns the appliance's bytes an item."""
    with tempfile.TemporaryDirectory(prefix="clockoo-bench-") as folder, \
            Program(path, folder, mebibytes, "memif") as program:
        keys = int(SPARE * mebibytes * MIB / (BESIDE_ITEM + key + value))
        done = subprocess.run(
            [str(load), *common("-load", last=True), "--port", "memif", "--socket", program.socket, "--transport", "tcp",
             "--depth", DEPTH, "--key-size", str(key), "--value-size", str(value), "--keys", str(keys), "--fill-only",
             "--quiet"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FILL_S)
        if done.returncode != 0:
            raise Failed(f"clockoo-load: {(done.stderr or done.stdout).strip()[-200:]}")
        memory = memory_bytes(program.pid)
        program.stop()
        counts = program.counts
    items = counts["STORE_ITEMS_LINKED"] - counts["STORE_ITEMS_UNLINKED"]
    if counts.get("STORE_EVICTED", 0) * EVICTED_SHARE < items:
        raise Failed(f"{mebibytes} MB were not full with {keys} keys")
    return memory / items


def name_of(key, value, mebibytes):
    return f"told_{key}_{value}_{'1g' if mebibytes == LARGE_MB else f'{mebibytes}m'}"


def rows():
    """Returns the rows of each shape at each size, the longest first."""
    return [(LARGE_MB, *shape) for shape in SHAPES] + [(SMALL_MB, *shape) for shape in SMALL_SHAPES]


def counts():
    """Returns memcached's counts, for Bench.ahead."""
    return {row: ("bench_space", ("--memory", row[0], "--key", row[1], "--value", row[2]), row[0]) for row in rows()}


def ports():
    if os.geteuid() == 0:
        return ("null", "vhost", "af_packet")
    say("told: af_packet is left out: a packet socket needs root")
    return ("null", "vhost")


def told(bench):
    path, load = (bench.folder / "../../.." / name for name in PROGRAMS)
    lines = []
    for port in ports():
        with Step(f"what {port} takes beside -m"):
            memory, rings = beside(path, port)
        mebibytes = bench.keep("beside_m_mb" if port == "null" else f"beside_m_{port}_mb", [memory / MIB], 1)
        lines.append([port, mebibytes, bench.keep(f"rings_{port}_mb", [rings / MIB], 1) if rings else "-"])
    table(f"Memory beside -m in MB (-c {CONNS}, -t {CORES}, ordinary pages)",
          ["port", "beside -m", "of that the kernel's rings"], lines)
    lines = []
    for row, count in counts().items():
        mebibytes, key, value = row
        name = name_of(key, value, mebibytes)
        with Step(f"filling {mebibytes} MB with {key}/{value} bytes"):
            ours = bench.keep(name, [own(path, load, *row)], 1)
        theirs = bench.keep(f"memcached_{name}",
                            [bench.counted("filling memcached", count)["memory"][0]["pss_per_item"]], 1)
        lines.append([f"{key}/{value}", mebibytes, ours, theirs, f"{ours / theirs:.3f}"])
    table("Bytes an item, all told: the process's PSS by the items it keeps",
          ["key/value", "-m", "appliance", "memcached", "ratio"], lines)
