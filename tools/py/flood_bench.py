"""tools/bench flood: the throughput of established clients, and new connections, while SYNs from
sources that do not exist arrive as fast as the port takes them.

The flood takes a CPU of the same machine, so the same frames are also sent where they reach no appliance
(elsewhere), and to a MAC without an owner (stray: they fill the port and are dropped there). The appliance's
own loss is the difference to stray.

Also measures clients that behave, beside peers that do not read or do not finish (greedy_bench.py).
"""

import contextlib
import json
import statistics

import greedy_bench
import netns
from bench_figures import Figures, spread, table
from links import PORT, Bed, checked, inside
from progress import Failed, run_step

ON_LINK, OFF_LINK = "10.99.0.0/24", "198.18.0.0/15"
# {name: (kind, sources, whether the flood reaches the appliance's port)}
PHASES = {"quiet": None, "elsewhere": ("syn", OFF_LINK, False), "stray": ("stray", OFF_LINK, True),
          "syn on-link": ("syn", ON_LINK, True), "syn off-link": ("syn", OFF_LINK, True)}
SYNS = ("syn on-link", "syn off-link")
LONG = "syn, 30 s"         # runs once, in full runs, after all rounds, with a quiet phase before and after it
PHASES_LONG = {LONG: PHASES["syn off-link"]}
LONG_MS, MS, QUICK_MS = 30_000, 3000, 1200
ROUNDS, QUICK_ROUNDS = 5, 3
CONNECT_MS, WARM_MS, PROBE_MS, LIMIT_MS = 10_000, 300, 100, 10_000
CONNECTED = "connected"  # talk's word for it
SYN = "syn"
PARTS = [SYN, *greedy_bench.PARTS]
CONNECTIONS, DEPTH, VALUE_MAX = 16, 4, 1000


class FloodBed(Bed):
    """A wire between clients and appliance, and one that ends nowhere."""

    SIDES = ("c", "m", "s")

    def make(self, ledger):
        self.client = f"{ledger.name}-c"
        wire = netns.Wire(ledger.name, "af_packet")
        wire.lay()
        self.host, self._iface = wire.host, wire.peer
        checked(*inside(self.client), "ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1",
                "netns", f"{ledger.name}-m")
        for ns, iface in ((self.client, "d0"), (f"{ledger.name}-m", "d1")):
            checked(*inside(ns), "ip", "link", "set", iface, "up")
        self.start_appliance(ledger, wire)
        self.mac = self._mac_of(wire)

    def _mac_of(self, wire):
        """Returns the appliance's MAC, as the kernel resolves it. That also proves that the appliance answers."""
        self.row("the first answer", self.client, "connect_probe", wire.host, PORT, "--ms", 300)
        words = checked(*inside(self.client), "ip", "neigh", "show", wire.host).split()
        if "lladdr" not in words:
            raise Failed(f"no MAC of {wire.host} is known: {' '.join(words)}")
        return words[words.index("lladdr") + 1]

    def flooding(self, phase, ms, seed):
        """Runs the phase's flood during a with block; yields None if the phase has none. Each flood has a seed of its
        own, since the appliance may still remember SYNs of earlier ones."""
        what = (PHASES | PHASES_LONG)[phase]
        if what is None:
            return contextlib.nullcontext()
        kind, source, reaches = what
        return self.ending(self.program(self.client, "frame_flood", self._iface if reaches else "d0",
                                        self.mac, self.host, PORT, "--kind", kind, "--source", source,
                                        "--ms", ms, "--seed", seed))


class FloodBench(Figures):
    def __init__(self, bed, quick):
        super().__init__()
        self.bed, self.quick = bed, quick
        self.rounds = QUICK_ROUNDS if quick else ROUNDS
        self.runs = []

    def phase(self, name, number):
        bed = self.bed
        ms = LONG_MS if name == LONG else QUICK_MS if self.quick else MS
        words = f"{name}, round {number + 1} of {self.rounds}"
        beside = {}
        with contextlib.ExitStack() as stack:
            def begin(line):
                """Starts the flood once the established clients have connected. It ends after both clients, so all of
                their measured time is under the flood."""
                if line == CONNECTED:
                    beside["flood"] = stack.enter_context(
                        bed.flooding(name, ms + WARM_MS + 500, len(self.runs) + 1))
                    beside["connect_probe"] = stack.enter_context(bed.ending(bed.program(
                        bed.client, "connect_probe", bed.host, PORT, "--ms", ms + WARM_MS, "--every-ms",
                        PROBE_MS, "--limit-ms", LIMIT_MS)))

            row = bed.row(words, bed.client, "talk", bed.host, PORT, "--connections", CONNECTIONS,
                          "--depth", DEPTH, "--value-max", VALUE_MAX, "--connect-ms", CONNECT_MS,
                          "--warm-ms", WARM_MS, "--ms", ms, on_line=begin)
            probes = last_row(beside["connect_probe"])
            sent = None if beside["flood"] is None else last_row(beside["flood"])
        row = {"phase": name, "round": number, **row, "connect_probe": probes, "flood": sent}
        self.runs.append(row)
        return row

    def all_phases(self):
        """Returns {phase: its rows}. The phases take turns, so that ratios compare neighbours in time."""
        by = {name: [] for name in PHASES}
        for number in range(self.rounds):
            for name in PHASES:
                by[name].append(self.phase(name, number))
        if not self.quick:
            by[LONG] = [self.phase(LONG, self.rounds - 1)]
        return by

    def figure_out(self, by):
        for base in ("quiet", "stray"):
            for name in SYNS:
                self.keep(figure_of(name, base), [a["operations_s"] / max(b["operations_s"], 1e-6)
                                                  for a, b in zip(by[name], by[base])])
            self.figures[f"flood_kept_vs_{base}"] = min(self.figures[figure_of(name, base)]
                                                        for name in SYNS)
        floods = [row for name, rows in by.items() if name in (*SYNS, LONG) for row in rows]
        probes = [row["connect_probe"] for row in floods]
        self.figures |= {
            "flood_connect_longest_s": max(k["longest_s"] for k in probes),
            "flood_connect_failed": sum(k["failed"] for k in probes),
            "flood_connects": sum(k["tried"] for k in probes),
            "flood_resets": sum(r["resets"] for r in floods),
            "flood_wrong_bytes": sum(r["wrong_bytes"] + r["wrong_answers"] for r in self.runs),
            "flood_longest_stall_s": max(r["longest_stall_s"] for r in floods)}
        self.keep("flood_frames_s", [r["flood"]["frames_s"] for r in floods], 0)


def figure_of(name, base):
    return f"flood_{name}_vs_{base}".replace(" ", "_").replace("-", "_")


def last_row(child):
    out, err = child.communicate()
    if child.returncode != 0:
        raise Failed(f"{child.args[-1]}: status {child.returncode}: {err.strip()[-200:]}")
    return json.loads(out)


def line(name, rows, by):
    ratios = []
    for base in ("quiet", "stray"):
        # The long phase has no neighbours, so it is compared with the median of all.
        other = [r["operations_s"] for r in by[base]]
        mine = [r["operations_s"] for r in rows]
        if len(mine) != len(other):
            other = [statistics.median(other)] * len(mine)
        ratios.append(statistics.median(a / max(b, 1e-6) for a, b in zip(mine, other)))
    probes = [r["connect_probe"] for r in rows]
    floods = [r["flood"]["frames_s"] / 1e3 for r in rows if r["flood"] is not None]
    return [name, spread((r["operations_s"] / 1e3 for r in rows)), *(f"{r:.2f}" for r in ratios),
            f"{statistics.median(floods):.0f}" if floods else "-",
            f"{max(r['longest_stall_s'] for r in rows):.2f}", sum(r["resets"] for r in rows),
            f"{sum(k['answered'] for k in probes)}/{sum(k['tried'] for k in probes)}",
            f"{1e3 * statistics.median(k['median_s'] for k in probes):.1f}",
            f"{max(k['longest_s'] for k in probes):.2f}"]


def simulated(programs, quick):
    """Returns the throughput that one core keeps at rates beyond this machine's ports, in virtual time: the
    table of a simulation, and its figures."""
    words = [str(programs.parents[1] / "sim/flood_table"), *(["--quick"] if quick else [])]
    status, lines = run_step("floods in the simulator", words)
    if status != 0:
        raise Failed("\n".join([*lines, f"flood_table: status {status}"]))
    print("\nOne core in the simulator, virtual time: new clients answered within 4 s, and how long old "
          "ones wait\n", *lines[:-1], sep="\n", flush=True)
    found = json.loads(lines[-1])
    return {"new_served_4s": found["new_served_4s"], "flood_old_p99_vs_quiet": found["old_p99_vs_quiet"]}


def measure(programs, quick, parts, keep):
    figures = syns(programs, quick, keep) if SYN in parts else {}
    greedy = [part for part in parts if part != SYN]
    if greedy:
        program = programs.parents[2] / "app/clockoo"
        figures |= greedy_bench.measure(program, quick, greedy, lambda found: keep(figures | found))
        keep(figures)
    return figures


def syns(programs, quick, keep):
    in_simulator = simulated(programs, quick)
    keep(in_simulator)
    with FloodBed(programs) as bed:
        bench = FloodBench(bed, quick)
        bench.figures |= in_simulator
        by = bench.all_phases()
        bench.figure_out(by)
        bench.figures["flood_appliance_counters"] = bed.stop_appliance()
        figures = bench.figures | {"flood_runs": bench.runs}
        keep(figures)
    table(f"{CONNECTIONS} established connections with small values; beside them SYNs of sources that "
          "do not exist,\nas many as the port takes. Thousand operations a second: median "
          "(least..most); new connections, one every\n100 ms, that had an answer, and how long it "
          "took. The flood takes a CPU of this machine too",
          ["flood", "k operations/s", "by quiet", "by stray", "k frames/s", "stall s", "resets",
           "answered", "median ms", "longest s"],
          [line(name, rows, by) for name, rows in by.items()])
    return figures
