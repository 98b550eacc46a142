"""tools/bench edge: the time that DPDK's drivers, mbufs and the edge of lib/dpdk take of a UDP request, by
port.

Servers of one port take turns on one CPU: a floor that only passes frames on (dpdk-testpmd, macswap; for ports with a
peer port_echo), and the appliance as it is shipped. In the same turn core_turn alone answers the same mix of requests.
The edge's time is the appliance's for a request, minus the floor's for a frame and core_turn's for a request.
"""

import budget
import edge_ixgbe
from bench_figures import Figures, spread, table
from edge_bed import EdgeBed
from edge_frames import KEYS
from progress import Failed, Step, say

ROUNDS, QUICK_ROUNDS = 7, 3
SPAN_S, QUICK_SPAN_S = 1.0, 0.3
ASK_MS, QUICK_ASK_MS = 2000, 1200
CASE, TURN_REQUESTS = "udp_mix", 400_000
PCAP_MAC = "02:70:63:61:70:00"  # name of the driver's first port
# Ports with a peer: the port of the server, that of the asker, options of the server.
PEERED = {"vhost": ("vhost", "virtio_user", []), "memif": ("memif", "memif_client", []), "virtio_user": ("virtio_user", "vhost", [])}
ASKER_BUSY = 0.02  # if the asker waits in a smaller part of its turns, it is the limit
SKIPPED = {"ring": "what is sent comes back to the core that sent it: there is no client"}
TARGETS = ("tests/bench/bench_request", "tests/bench/net/port_echo", "tests/dpdk/nic82599/nic82599_preload.so")
PARTS = ("pcap", "ixgbe", "vhost", "memif", "ring")


class EdgeBench(Figures):
    def __init__(self, bed, bench_request, quick):
        super().__init__()
        self.bed, self.bench_request, self.quick = bed, bench_request, quick
        self.rounds = QUICK_ROUNDS if quick else ROUNDS
        self.span_s = QUICK_SPAN_S if quick else SPAN_S
        self.lines, self.rows = [], []

    def core_turn(self):
        """Returns the nanoseconds of a request of the same mix, and cycles a nanosecond."""
        found = budget.cycles(self.bench_request, CASE, 1, KEYS, TURN_REQUESTS // (4 if self.quick else 1))
        return {"turn_ns": found["cycles"] / found["cycles_per_ns"], "cycles_per_ns": found["cycles_per_ns"]}

    def one_round(self, part, floor, server):
        """Runs the turns of floor and server, given as functions, one after the other, so that both find the machine in
        the same state."""
        row = {"floor": floor(), **self.core_turn(), "server": server()}
        row["extra_ns"] = row["server"]["ns"] - row["floor"]["ns"] - row["turn_ns"]
        self.rows.append({"part": part, **row})
        return row

    def keep_part(self, part, rows):
        for name, values in (("ns", [r["server"]["ns"] for r in rows]), ("floor_ns", [r["floor"]["ns"] for r in rows]),
                             ("core_turn_ns", [r["turn_ns"] for r in rows]), ("extra_ns", [r["extra_ns"] for r in rows]),
                             ("udp_mops", [1e3 / r["server"]["ns"] for r in rows])):
            self.keep(f"edge_{part}_{name}", values)
        self.lines.append([part, *(spread(values) for values in (
            [1e3 / r["server"]["ns"] for r in rows], [r["server"]["ns"] for r in rows], [r["floor"]["ns"] for r in rows],
            [r["turn_ns"] for r in rows], [r["extra_ns"] for r in rows]))])

    def rounds_of(self, part, floor, server):
        rows = []
        for number in range(self.rounds):
            with Step(f"{part}, round {number + 1} of {self.rounds}"):
                rows.append(self.one_round(part, floor, server))
        self.keep_part(part, rows)
        return rows

    def spans(self, part, floor, server):
        """Measures rounds of two servers whose port always has frames."""
        return self.rounds_of(part, lambda: self.bed.span(floor, self.span_s), lambda: self.bed.span(server, self.span_s))

    def pcap(self):
        bed = self.bed
        vdev = f"rx_pcap={bed.frames(PCAP_MAC)},infinite_rx=1"
        server = bed.start_clockoo("", "--port", "pcap", "--vdev-args", vdev)
        floor = bed.start_macswap("-2", "--no-pci", f"--vdev=net_pcap0,{vdev}")
        self.spans("pcap", floor, server)

    def ixgbe(self):
        edge_ixgbe.measure(self)

    def peered(self, part):
        bed = self.bed
        port, asker, options = PEERED[part]
        server = bed.start_clockoo("", "--port", port, "--socket", bed.path("app.sock"), *options)
        floor = bed.start_port_echo("-2", "--port", port, "--socket", bed.path("echo.sock"), *options)
        frames = {one: bed.frames(bed.mac(one)) for one in (server, floor)}
        ms = QUICK_ASK_MS if self.quick else ASK_MS

        def asking(one, name):
            return lambda: bed.ask_frames(f"{part}: asking {name}", one, asker, name, frames[one], ms)

        rows = self.rounds_of(part, asking(floor, "echo.sock"), asking(server, "app.sock"))
        idle = self.keep(f"edge_{part}_asker_idle", [row[side]["idle"] for row in rows for side in ("floor", "server")])
        if idle < ASKER_BUSY:
            say(f"{part}: the asker is the limit: it waited in {100 * idle:.1f} % of its turns")

    def measure(self, part):
        if part in SKIPPED:
            raise Failed(SKIPPED[part])
        if part in PEERED:
            self.peered(part)
        else:
            getattr(self, part)()

    def show(self):
        table(f"UDP, {KEYS} keys, 95 % gets: median (least..most); ns a request, a frame of the floor, a request of core_turn alone;\n"
              "what is left is the edge's. By the CPU time of the core; over vhost and memif by the asker's fastest tenth",
              ["port", "M/s", "ns", "floor ns", "core_turn ns", "edge ns"], self.lines)


def measure(programs, quick, parts, keep):
    with EdgeBed(programs, programs / "../../..") as bed:
        bench = EdgeBench(bed, programs / "../bench_request", quick)
        for part in parts:
            try:
                bench.measure(part)
            except Failed as failed:
                say(f"{part}: skipped: {failed}")
                bench.figures[f"edge_{part}_skipped"] = str(failed)
            finally:
                bed.end_all()
            keep(bench.figures | {"edge_runs": bench.rows})
        bench.show()
        if not bench.lines:
            raise Failed("no port could be measured: " + "; ".join(f"{name}: {words}" for name, words in bench.figures.items()))
        return bench.figures
