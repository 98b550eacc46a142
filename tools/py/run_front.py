"""tools/run --front N: memcached servers in the client's namespace, and how evenly the front loads them.

They are Debian's memcached, on the client's address, so the front reaches them over the wire on which its
clients come. Each second `stats front` shows the requests to every server since the second before.
"""

import contextlib
import os
import shutil
import subprocess
import threading
import time

import netns
from progress import Failed, Step, say

SERVERS_MAX = 8
FIRST_PORT = 11311
START_S = 5.0
POLL_S = 1.0
WITHOUT_S = 8  # how long the servers are shown without the front's copies
CELLS = 12     # length of a bar; the mean load fills half of it
STATS = b"stats front\r\nquit\r\n"
PROBE = 16 * b"get are-copies-kept\r\n" + b"quit\r\n"
COPIES_S = 80.0  # longer than FRONT_QUIET_S of lib/front/front.h
HOT = "hot:50:0.01"  # skew with which one key of ten thousand gets half of all requests
KEYS = 10_000


def ports(count):
    return [FIRST_PORT + i for i in range(count)]


class Fleet:
    """The servers, which end when we do."""

    def __init__(self, wire, count):
        if shutil.which("memcached") is None:
            raise Failed("--front needs memcached (apt-get install memcached)")
        self.wire, self.ports, self._children = wire, ports(count), []

    def options(self):
        servers = ",".join(f"{self.wire.here_inside}:{port}:1" for port in self.ports)
        return ["--front-servers", servers]

    def peer_options(self, wire, port):
        """Returns the options of one of two fronts: the other one and the servers are behind the client's namespace."""
        other = netns.Wire(wire.client.removesuffix("-c"), wire.port, 3 - wire.number)
        return ["--gateway", wire.here, "--front-peers", f"{other.host}:{port}"]

    def start(self, userns):
        # A user namespace has one user, so there root serves; only the real root can become another user.
        user = ["-u", "root" if userns else "nobody"] if os.geteuid() == 0 else []
        for port in self.ports:
            self._children.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *netns.inside(self.wire.client), "memcached", *user, "-l", self.wire.here, "-p", str(port), "-U", "0", "-m", "64", "-t", "1"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True))
        end = time.monotonic() + START_S
        for port in self.ports:
            while not self.ask(self.wire.here, port, b"version\r\nquit\r\n").startswith(b"VERSION"):
                if time.monotonic() > end:
                    raise Failed(f"memcached does not serve on port {port}")
                time.sleep(0.05)

    def stop(self):
        for child in self._children:
            child.terminate()
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(2)
            child.kill()
            child.wait()

    def ask(self, host, port, text):
        command = [*netns.inside(self.wire.client), "nc", "-w", "3", host, str(port)]
        return subprocess.run(command, input=text, capture_output=True).stdout

    def show_where(self, port):
        """Proves that it is a front: the key of the last session is on one server."""
        request = b"get greeting\r\nquit\r\n"
        have = [p for p in self.ports if b"VALUE greeting" in self.ask(self.wire.here, p, request)]
        if len(have) != 1:
            raise Failed(f"the front's key is on {len(have)} servers")
        say(f"\nThe front stored greeting on one of {len(self.ports)} memcached servers "
            f"({self.wire.here}, ports {self.ports[0]} to {self.ports[-1]}):\n\n"
            f"  > get greeting              (nc {self.wire.here} {have[0]})\n  < VALUE greeting 0 15\n\n"
            f"Each of them, as the front sees it:  echo stats front | nc {self.wire.host} {port}")


def counts(text):
    """Returns the requests of clients so far, and those to each server, from `stats` and `stats front`."""
    rows = dict(line.split()[1:3] for line in text.splitlines() if line.startswith("STAT ") and line.count(" ") == 2)
    servers = [int(rows[f"{i}:keys"]) for i in range(SERVERS_MAX) if f"{i}:keys" in rows]
    return sum(int(rows.get(name, 0)) for name in ("cmd_get", "cmd_set")), servers


def level(before, now):
    """Returns a line with a bar for each server, half full if the server has its fair share of the requests."""
    got = [max(0, b - a) for a, b in zip(before[1], now[1])]
    whole = max(now[0] - before[0], sum(got))
    if not whole:
        return None
    loads = [n * len(got) / whole for n in got]
    bars = (("#" * min(CELLS, round(load * CELLS / 2))).ljust(CELLS) for load in loads)
    return f"level |{'|'.join(bars)}| busiest {max(loads):.2f} of the mean, {sum(got) / whole:.0%} of all reaches servers"


class Level(threading.Thread):
    """Prints the level each second, until it is stopped."""

    def __init__(self, fleet, port, out):
        super().__init__(daemon=True)
        self._fleet, self._port, self._out = fleet, port, out
        self._end = threading.Event()

    def run(self):
        before = None
        while not self._end.wait(POLL_S):
            now = counts(self._fleet.ask(self._fleet.wire.host, self._port,
                                         b"stats\r\nstats front\r\nquit\r\n").decode(errors="replace"))
            line = level(before, now) if before and len(now[1]) == len(before[1]) else None
            if line is not None:
                self._out(line)
            before = now if now[1] else before

    def stop(self):
        self._end.set()
        self.join(5)


def keeps_copies(program):
    """Returns True if this build has copies, so that the fleet is shown with and without them."""
    done = subprocess.run([program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return "--front-items" in done.stdout


def await_copies(ask):
    """Waits until the front answers from its copies: in sole mode it may keep none for the first FRONT_QUIET_S
    of a process. ask: returns the answer to these bytes. No other client must ask meanwhile."""
    end = time.monotonic() + COPIES_S
    before = []
    with Step("waiting until the front keeps copies"):
        while True:
            servers = counts(ask(STATS).decode(errors="replace"))[1]
            if servers and servers == before:
                return
            if time.monotonic() > end:
                raise Failed(f"the front keeps no copies {COPIES_S:.0f} s after its start")
            time.sleep(POLL_S)
            ask(PROBE)  # in shared mode earlier copies have expired by now
            before = counts(ask(STATS).decode(errors="replace"))[1]
            ask(PROBE)
