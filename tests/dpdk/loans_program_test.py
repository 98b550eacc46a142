#!/usr/bin/python3 -B
"""Values without a copy, with the whole program. Goal: every byte that a client reads is that of one value, of the last
one acknowledged or a newer one, while values of 64 KB to 1 MB are lent to the port and are replaced, deleted, evicted,
flushed, moved to flash and back, while frames are lost and clients are reset; a stop with readers ends, and a start after
it serves; a port whose peer cannot read the values copies them, and says why.
Method: the built program on a tap of this network namespace, or between vhost and virtio_user, with tx_loans in the
profile; the kernel's TCP as client; nft drops frames. All namespaces end with this process.

    loans_program_test.py CLOCKOO FOLDER
"""

import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kernel_bed import die_with_parent, enter_namespaces, exchange, run

PROGRAM, PROFILES = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve() / "drivers-config"
WAIT_S = 60
IFACE, HOST, HERE, HOST6, HERE6 = "loans0", "10.77.0.1", "10.77.0.2", "fd77::1", "fd77::2"
CPU = min(os.sched_getaffinity(0))
CORES = ["--lcores", f"0@{CPU},1@{CPU}"]
MEMORY_MB = 64
SIZES = (100, 5000, 64_000, 65_536, 64_000, 300_000, 1_000_000)
KEYS, WRITERS, READERS, GETS = 120, 2, 5, 60
LENT_LEAST = 1000  # segments, of some 20,000
LOSS_PER_MILLE = 5
FLASH_KEYS, FLASH_BYTES = 1200, 65_536  # more than memory holds
POOL = random.Random(42).randbytes(max(SIZES) + (1 << 20))
RESET = struct.pack("ii", 1, 0)  # SO_LINGER


class Wrong(Exception):
    """A client read what it must not."""


def value_of(key, version, size):
    at = (key * 0x9e3779b1 + version * 0x85ebca6b) % ((1 << 20) - 1)
    return POOL[at:at + size]


def profiles_with_loans(folder):
    """The shipped profiles, with tx_loans for the ports of these tests."""
    shutil.copytree(PROFILES, folder)
    for name in ("tap", "vhost", "virtio_user", "memif"):
        path = pathlib.Path(folder, f"{name}.yaml")
        text = path.read_text()
        if "tx_loans" not in text:
            path.write_text(re.sub(r"^offloads: \[(.*)\]$", lambda m: f"offloads: [{', '.join(filter(None, (m[1], 'tx_loans')))}]",
                                   text, flags=re.M))
    return str(folder)


class Program:
    """The built program on a port. Its words are those of stderr."""

    def __init__(self, profiles, port, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "--config", "none", "--no-huge", "--yield", "--poll", "adaptive", "--probe", "off", "--data-dir", profiles,
             "--file-prefix", f"loans-{port}-{os.getpid()}", "-m", str(MEMORY_MB), "-c", "64", "--port", port, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        if not select.select([self.process.stdout], [], [], WAIT_S)[0] or " ready" not in self.process.stdout.readline():
            self.process.kill()
            raise RuntimeError(f"did not start: {self.process.communicate()}")

    def end(self):
        """Ends the program by SIGTERM. Returns its status and its stderr."""
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=WAIT_S)[1]
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class OnTap(Program):
    def __init__(self, profiles, *options):
        super().__init__(profiles, "tap", "--iface", IFACE, "--address", f"{HOST}/24", "--address6", f"{HOST6}/64",
                         *CORES, *options)
        run("ip", "addr", "add", f"{HERE}/24", "dev", IFACE)
        run("ip", "link", "set", IFACE, "up")
        run("ip", "addr", "add", f"{HERE6}/64", "dev", IFACE, "nodad")
        run("nft", f"add table netdev lossy; add chain netdev lossy in {{ type filter hook ingress device {IFACE} priority 0; }}")

    def lose_frames(self):
        """The kernel drops some of the frames that come from the appliance, so that it sends them again."""
        run("nft", f"add rule netdev lossy in ip protocol tcp numgen random mod 1000 < {LOSS_PER_MILLE} drop")


def connect(host=HOST):
    s = socket.create_connection((host, 11211), WAIT_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def stats(*names):
    found = {}
    with connect() as s:
        for name in names:
            rows = exchange(s, f"stats {name}\r\n".encode().replace(b" \r", b"\r"), b"END\r\n").decode()
            found |= {key: int(value) for key, value in re.findall(r"STAT (\S+) (\d+)\r", rows)}
    return found


class Reader:
    """A connection that reads replies to their end."""

    def __init__(self, host=HOST):
        self.s = connect(host)
        self.file = self.s.makefile("rb", buffering=1 << 18)

    def get(self, key):
        """Returns (version, value), or None for a miss."""
        self.s.sendall(b"get k%d\r\n" % key)
        line = self.file.readline()
        if line == b"END\r\n":
            return None
        found = re.fullmatch(rb"VALUE k(\d+) (\d+) (\d+)\r\n", line)
        if found is None or int(found[1]) != key:
            raise Wrong(f"k{key}: {line[:80]!r}")
        value = self.file.read(int(found[3]) + 7)
        if value[-7:] != b"\r\nEND\r\n":
            raise Wrong(f"k{key}: {len(value)} bytes, {value[-20:]!r}")
        return int(found[2]), value[:-7]

    def judged(self, key):
        """Gets the key and compares every byte with the version that its flags name."""
        got = self.get(key)
        if got is not None and got[1] != value_of(key, got[0], len(got[1])):
            raise Wrong(f"k{key}: version {got[0]}, {len(got[1])} bytes, is torn")
        return got

    def reset(self):
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.close()

    def close(self):
        self.file.close()
        self.s.close()


class History:
    """The versions of each key that a get may return: from the one acknowledged last to the one sent last."""

    def __init__(self):
        self.lock = threading.Lock()
        self.least, self.most, self.deleted = ([0] * KEYS for _ in range(3))

    def begun(self, key):
        with self.lock:
            self.most[key] += 1
            return self.most[key]

    def stored(self, key, version):
        with self.lock:
            self.least[key] = max(self.least[key], version)

    def gone(self, key, version):
        """Versions up to this one have been deleted or flushed."""
        with self.lock:
            self.deleted[key] = max(self.deleted[key], version)

    def floor(self, key):
        with self.lock:
            return max(self.least[key], self.deleted[key] + 1)

    def stored_last(self, key):
        with self.lock:
            return self.least[key]

    def ceiling(self, key):
        with self.lock:
            return self.most[key]


class World:
    """Writers, readers, resets and a flush, until each reader has had its gets."""

    def __init__(self):
        self.history, self.over, self.faults = History(), threading.Event(), []
        self.hits = self.misses = self.resets = 0
        self.lock = threading.Lock()

    def store(self, s, key, size):
        version = self.history.begun(key)
        s.sendall(b"set k%d %d 0 %d\r\n" % (key, version, size))
        if exchange(s, value_of(key, version, size) + b"\r\n", b"\r\n") == b"STORED\r\n":
            self.history.stored(key, version)

    def write(self, number):
        rng, s = random.Random(number), connect()
        with s:
            while not self.over.is_set():
                key = rng.randrange(number, KEYS, WRITERS)  # each key has one writer
                if rng.random() < 0.1:
                    last = self.history.ceiling(key)
                    if exchange(s, b"delete k%d\r\n" % key, b"\r\n") not in (b"DELETED\r\n", b"NOT_FOUND\r\n"):
                        raise Wrong("delete")
                    self.history.gone(key, last)
                    continue
                self.store(s, key, rng.choice(SIZES))

    def flush(self):
        with connect() as s:
            last = [self.history.stored_last(key) for key in range(KEYS)]
            if exchange(s, b"flush_all\r\n", b"\r\n") != b"OK\r\n":
                raise Wrong("flush_all")
        for key in range(KEYS):
            self.history.gone(key, last[key])

    def read(self, number):
        rng, reader = random.Random(1000 + number), Reader()
        for i in range(GETS):
            key = rng.randrange(KEYS)
            if number == 0 and i == GETS // 2:
                self.flush()
            if rng.random() < 0.1:
                reader.s.sendall(b"get " + b" ".join(b"k%d" % rng.randrange(KEYS) for _ in range(5)) + b"\r\n")
                reader.s.recv(rng.choice((1, 20_000)))
                reader.reset()
                reader = Reader()
                with self.lock:
                    self.resets += 1
            floor = self.history.floor(key)
            got = reader.judged(key)
            if got is not None and not floor <= got[0] <= self.history.ceiling(key):
                raise Wrong(f"k{key}: version {got[0]} of {floor} to {self.history.ceiling(key)}")
            with self.lock:
                self.hits += got is not None
                self.misses += got is None
        reader.close()

    def guarded(self, work, *words):
        try:
            work(*words)
        except Exception as fault:  # judged by the caller, when all threads have ended
            self.faults.append(fault)
            self.over.set()

    def run(self):
        background = [threading.Thread(target=self.guarded, args=(self.write, i)) for i in range(WRITERS)]
        readers = [threading.Thread(target=self.guarded, args=(self.read, i)) for i in range(READERS)]
        for thread in background + readers:
            thread.start()
        for thread in readers:
            thread.join()
        self.over.set()
        for thread in background:
            thread.join()


def fill(first, count, size):
    with connect() as s:
        for key in range(first, first + count):
            s.sendall(b"set k%d 1 0 %d\r\n" % (key, size))
            if exchange(s, value_of(key, 1, size) + b"\r\n", b"\r\n") != b"STORED\r\n":
                raise Wrong(f"set k{key}")


class Loans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.profiles = profiles_with_loans(f"{cls.folder.name}/profiles")

    def test_every_byte_is_that_of_a_value_that_may_be_read(self):
        with OnTap(self.profiles) as program:
            fill(KEYS, MEMORY_MB + 16, 1_000_000)
            world = World()
            with connect() as s:
                for key in range(KEYS):
                    world.store(s, key, SIZES[key % len(SIZES)])
            program.lose_frames()
            world.run()
            self.assertEqual(world.faults, [])
            seen = stats("", "stack")
            found = {name: seen[name] for name in ("evictions", "tcp_retransmits", "tcp_tx_lent")}
            found |= {name: getattr(world, name) for name in ("hits", "misses", "resets")}
            self.assertGreater(min(found.values()), 0, found)
            self.assertGreater(seen["tcp_tx_lent"], LENT_LEAST, found)
            self.assertEqual(program.end(), (0, ""))

    def test_a_stop_with_readers_ends_and_a_start_serves_again(self):
        for _ in range(2):
            with OnTap(self.profiles) as program:
                fill(0, 20, 1_000_000)
                readers = [Reader() for _ in range(READERS)]
                for key, reader in enumerate(readers):
                    reader.s.sendall(b"get k%d\r\n" % key * 8)
                    reader.s.recv(1)
                self.assertGreater(stats("stack")["tcp_tx_lent"], 0)
                self.assertEqual(program.end(), (0, ""))
                for reader in readers:
                    reader.close()

    def test_values_that_flash_returns_are_lent(self):
        with OnTap(self.profiles, "--flash-device", f"{self.folder.name}/flash", "--flash-size", "256m") as program:
            fill(0, FLASH_KEYS, FLASH_BYTES)
            reader, hits = Reader(), 0
            for key in range(FLASH_KEYS):
                hits += reader.judged(key) is not None
            reader.close()
            seen = stats("", "stack", "extstore")
            self.assertGreater(seen["get_extstore"], 0)
            self.assertGreater(seen["tcp_tx_lent"], hits * FLASH_BYTES // 3000)
            self.assertEqual(program.end()[0], 0)

    def test_values_are_lent_over_ipv6(self):
        with OnTap(self.profiles) as program:
            fill(0, 8, 300_000)
            reader = Reader(HOST6)
            for key in range(8):
                self.assertIsNotNone(reader.judged(key))
            reader.close()
            self.assertGreater(stats("stack")["tcp_tx_lent"], 8 * 300_000 // 3000)
            self.assertEqual(program.end(), (0, ""))

    def test_a_port_that_cannot_lend_says_why_and_copies(self):
        end = ["--socket", f"{self.folder.name}/socket", "--offloads", "tx_udp_cksum,tx_tcp_cksum,tx_loans"]
        with Program(self.profiles, "vhost", *end) as reads_ours:
            with Program(self.profiles, "virtio_user", *end) as reads_eals:
                self.assertEqual(reads_eals.end(), (0, "clockoo: --offloads: no tx_loans: the port's peer cannot read the store's memory\n"))
            self.assertNotIn("tx_loans", reads_ours.end()[1])
        with Program(self.profiles, "memif", *end) as sums_nothing:
            self.assertEqual(sums_nothing.end(), (0, "clockoo: --offloads: no tx_loans: the port does not fill TCP checksums\n"))


if __name__ == "__main__":
    enter_namespaces()
    run("ip", "link", "set", "lo", "up")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
