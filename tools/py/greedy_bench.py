"""Part of tools/bench flood: the latency of clients that behave, beside peers that do not read or do not finish.

Each attack has an appliance of its own. Runs come in pairs, with and without the peers, in alternating order; a ratio
compares the runs of a pair.
"""

import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile

import appliance
import build_tree
import netns
import run_front
from bench_figures import Figures, spread, table
from links import PORT, Bed, inside
from progress import Failed, Step, say

HERE = pathlib.Path(__file__).parent
PAIRS, QUICK_PAIRS = 5, 1
REQUESTS, QUICK_REQUESTS = 2000, 800
HELLOS = 4  # requests for each handshake
READY_S, RUN_S = 30.0, 180.0
EVEN_S = 6.0
SERVERS = 4
CERTIFICATE = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
               "/CN=flood", "-keyout", "key", "-out", "cert"]
OWN = "own:50:2000:20000"
AHEAD = ["nice", "-n", "-15"]  # the measured programs have priority over other work


def gets(name, count, times=1):
    """Returns the text of gets of NAME0 to NAMEcount-1."""
    return b"".join(b"get %s%d\r\n" % (name.encode(), i % count) for i in range(count * times))


def half_a_hello():
    """Returns a ClientHello without its last byte."""
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="flood").do_handshake()
    return out.read()[:-1]


class Attack:
    """peers: their number, what each sends, and options of greedy_peers.py. beside: the same for the peers of the
    control run; None: it has none."""

    def __init__(self, peers, text, options=(), filled=(), what="get", own=OWN, words=(), beside=None, tls=False, front=False):
        self.peers, self.text, self.options, self.filled = peers, text, list(options), [*filled, own]
        self.what, self.own, self.words, self.beside = what, own, list(words), beside
        self.tls, self.front = tls, front


ATTACKS = {
    "unread_values": Attack(900, gets("big", 4), filled=["big:4:900000:900000"]),
    "unread_pipelines": Attack(300, gets("own", 50, 20), what="set", own="own:50:20000:100000", words=["--endless"]),
    "half_hellos": Attack(3000, half_a_hello(), ["-c", "8192"], what="hello", beside=b"", tls=True),
    "front_unread": Attack(400, gets("mid", 64), filled=["mid:64:20000:20000"], front=True),
    "one_key": Attack(320, gets("big", 1), filled=["big:1:1000000:1000000"]),
    "huge_value": Attack(5, gets("big", 1), ["-m", "400", "-I", "64m"], filled=["big:1:60000000:60000000"]),
}
EVEN = "front_even"
PARTS = [*ATTACKS, EVEN]


class GreedyBed(Bed):
    """An appliance, optionally as a front of memcached servers, and clients on a veth."""

    SIDES = ("c", "s")

    def __init__(self, program, options, tls=False, front=False):
        super().__init__(None)
        self.program, self.options, self.tls, self.front = program, options, tls, front

    def make(self, ledger):
        self.client = f"{ledger.name}-c"
        self.folder = pathlib.Path(self._undo.enter_context(tempfile.TemporaryDirectory(prefix="clockoo-flood-")))
        wire = netns.Wire(ledger.name, "af_packet")
        wire.lay()
        self.host = wire.host
        options = [*self.options]
        if self.tls:
            subprocess.run(CERTIFICATE, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)
            options += ["-Z", "-o", f"ssl_chain_cert={self.folder}/cert,ssl_key={self.folder}/key"]
        if self.front:
            fleet = run_front.Fleet(wire, SERVERS)
            self._undo.callback(fleet.stop)
            fleet.start(False)
            options += fleet.options()
        command = [*AHEAD, str(self.program), "--config", "none", *wire.options(), "-p", str(PORT), "-U", "0", "--probe", "off", "-v",
                   "--file-prefix", ledger.name, "--data-dir", str(build_tree.ROOT / "drivers-config"), "--yield", *options]
        self.server, _ = appliance.start(command, wire, ledger, False)
        self._undo.callback(self.server.stop)
        self.server.on_line = self._words.append

    def _script(self, name, *words, ahead=()):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *inside(self.client), *ahead, sys.executable, "-B",
                                 str(HERE / name), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def bystanders(self, words, what, *more):
        """Returns the row of bystanders.py."""
        tls = ["--tls"] if self.tls else []
        with Step(words), ended(self._script("bystanders.py", *tls, what, self.host, PORT, *more, ahead=AHEAD)) as child:
            try:
                out, _ = child.communicate(timeout=RUN_S)
            except subprocess.TimeoutExpired:
                raise Failed(f"{words}: its clients were not done within {RUN_S:.0f} s") from None
            self.server.check_alive()
            if child.returncode != 0:
                raise Failed(f"{words}: bystanders.py: status {child.returncode}")
        return json.loads(out)

    @contextlib.contextmanager
    def greedy(self, peers, text, words):
        """Runs the peers while the block runs. Yields a dict that has their row afterwards."""
        path, row = self.folder / "sent", {}
        path.write_bytes(text)
        with ended(self._script("greedy_peers.py", self.host, PORT, "--peers", peers, "--send", path, *words)) as child:
            if child.stdout.readline() != "ready\n":
                raise Failed("greedy_peers.py does not start")
            yield row
            out, _ = child.communicate(timeout=READY_S)
            row |= json.loads(out)


@contextlib.contextmanager
def ended(child):
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


class GreedyBench(Figures):
    def __init__(self, program, quick):
        super().__init__()
        self.program, self.quick = program, quick
        self.pairs = QUICK_PAIRS if quick else PAIRS
        self.requests = QUICK_REQUESTS if quick else REQUESTS
        self.lines, self.runs = [], []

    def attack(self, name):
        what = ATTACKS[name]
        with GreedyBed(self.program, what.options, what.tls, what.front) as bed:
            bed.bystanders(f"{name}: storing", "fill", *what.filled)
            pairs = []
            for number in range(self.pairs):
                order = (False, True) if number % 2 == 0 else (True, False)
                rows = {is_attack: self._run(bed, name, number, is_attack) for is_attack in order}
                pairs.append((rows[True], rows[False]))
            self.figures[f"{name}_appliance_counters"] = bed.stop_appliance()
        self._figure_out(name, pairs)

    def _run(self, bed, name, number, is_attack):
        what = ATTACKS[name]
        text = what.text if is_attack else what.beside
        beside = contextlib.nullcontext({}) if text is None else bed.greedy(what.peers, text, what.words)
        words = f"{name}: {'attack' if is_attack else 'control'}, pair {number + 1} of {self.pairs}"
        more = [self.requests // HELLOS] if what.what == "hello" else [self.requests, what.own]
        with beside as peers:
            row = bed.bystanders(words, what.what, *more)
        row |= {"attack": name, "pair": number, "is_attack": is_attack, "peers": peers}
        self.runs.append(row)
        return row

    def _figure_out(self, name, pairs):
        self.keep(f"{name}_p99_ratio", [a["p99_ms"] / max(b["p99_ms"], 1e-6) for a, b in pairs], 2)
        self.keep(f"{name}_p99_ms", [a["p99_ms"] for a, _ in pairs])
        self.keep(f"{name}_control_p99_ms", [b["p99_ms"] for _, b in pairs])
        for what in ("missed", "refused"):
            self.figures[f"{name}_{what}"] = sum(a[what] for a, _ in pairs)
        self.lines.append([name, spread((a["p99_ms"] / b["p99_ms"] for a, b in pairs), 2), spread(b["p99_ms"] for _, b in pairs),
                           spread(a["p99_ms"] for a, _ in pairs), f"{max(a['longest_ms'] for a, _ in pairs):.0f}",
                           self.figures[f"{name}_missed"], self.figures[f"{name}_refused"], sum(a["peers"]["ended"] for a, _ in pairs)])
        for words in sorted({words for pair in pairs for row in pair for words in row["words"]})[:4]:
            say(f"{name}: an innocent client was answered {words}")

    def even(self):
        """Measures clients without peers that misbehave: a front of two cores, and values of which a few fill
        all that may be in flight."""
        own = "own:64:1000:800000"
        with GreedyBed(self.program, ["--lcores", "0@0,1@1"], front=True) as bed:
            bed.bystanders(f"{EVEN}: storing", "fill", own)
            rows = [bed.bystanders(f"{EVEN}: run {number + 1} of {self.pairs}", "even", EVEN_S, own)
                    for number in range(self.pairs)]
        self.figures |= {f"{EVEN}_false_misses": sum(row["missed"] for row in rows),
                         f"{EVEN}_refused": sum(row["refused"] for row in rows)}
        self.keep(f"{EVEN}_gets_s", [row["gets"] / EVEN_S for row in rows], 0)
        self.runs += rows
        print(f"\nA front of two cores, 64 clients with 8 gets in flight, values up to 800 KB: "
              f"{spread((row['gets'] / EVEN_S for row in rows), 0)} gets a second, "
              f"{self.figures[f'{EVEN}_false_misses']} keys that exist answered as misses, "
              f"{self.figures[f'{EVEN}_refused']} refused", flush=True)

    def show(self):
        if self.lines:
            table("Clients that behave beside peers that do not read or do not finish: p99 of their requests, by that of the\n"
                  "control run beside it; ms, median (least..most) of all pairs",
                  ["attack", "p99 by control", "control ms", "attack ms", "longest ms", "missed", "refused", "peers ended"], self.lines)


def measure(program, quick, parts, keep):
    bench = GreedyBench(program, quick)
    for part in parts:
        bench.even() if part == EVEN else bench.attack(part)
        keep(bench.figures)
    bench.show()
    return bench.figures | {"greedy_runs": bench.runs}
