"""The part intel of tools/bench papers: bags beside our store, and the highest rate whose mean round trip is within 1 ms.

One generator for all of it, clockoo-load, in user space: over a veth pair to memcached on its kernel and to the
appliance, and over vhost to the appliance, where neither side has a kernel. Each piece returns points.
"""

import contextlib
import json
import pathlib
import statistics

import papers_bed
from links import inside
from papers_bed import PapersBed, cpus_of_ours
from papers_points import absent, point
from papers_programs import json_rows, paper_rows
from progress import Step
from vs_bed import PORT, lcores

PART = "intel"
VALUE_BYTES, LIMIT = 64, "avg=1ms"
CONNECTIONS, UDP_DEPTH = 50, 256
KEYS, ROUNDS, RUN_S = (100_000, 1_000_000), (1, 5), (0.2, 0.5)  # quick, in full
FROM_RATE = 20_000
TRANSPORTS = {"tcp": ("--transport", "tcp", "--connections", CONNECTIONS, "--depth", 1), "udp": ("--transport", "udp", "--depth", UDP_DEPTH)}
SYSTEMS = {"vhost": "ours, vhost", "veth": "ours, veth", "memcached": "memcached, veth"}
CORES = (1, 2, 4, 8, 16)
ENERGY = pathlib.Path("/sys/class/powercap")
SILICON = {"ht": "a machine with /sys/devices/system/cpu/smt/control, whose hyper-threading its owner can switch",
           "turbo": "a machine with /sys/devices/system/cpu/cpufreq/boost, whose turbo its owner can switch"}


def bags(folder, quick, options):
    """Measures Bag LRU, with its cleaner and striped locks, and our store in one harness."""
    return [p | {"part": PART} for p in paper_rows(folder / "tests/bench/papers/bench_bags", quick, "bags beside our store")]


def energy_uj():
    """Returns the energy that the CPU packages have used so far, in uJ; None if the machine does not show it."""
    found = []
    for path in ENERGY.glob("intel-rapl:?"):
        with contextlib.suppress(OSError, ValueError):
            found.append(int((path / "energy_uj").read_text()))
    return sum(found) if found else None


class SlaStudy(PapersBed):
    def __init__(self, folder, quick):
        super().__init__(folder)
        self.quick = quick
        self.found = {}  # (system, transport): sweeps
        self.watts = {}

    def of(self, pair):
        return pair[0 if self.quick else 1]

    def sweep_options(self, number):
        return ("--keys", self.of(KEYS), "--value-size", VALUE_BYTES, "--sets", 0, "--seconds", self.of(RUN_S), "--warmup", 0.05, "--seed",
                number + 1, "--sweep", LIMIT, "--sweep-from", FROM_RATE)

    def fill_options(self):
        return ("--keys", self.of(KEYS), "--value-size", VALUE_BYTES, "--fill-only")

    def by_veth(self, words, iface, address, host, *options):
        """Runs clockoo-load at one end of a veth pair. Returns its results."""
        path = self.folder / "sla.json"
        net = address.rpartition(".")[0]
        self._run(words, [*inside(self.client), self.build / "tests/load/clockoo-load", "--port", "af_packet", "--iface", iface, "--address",
                          f"{net}.3/24", "--server", f"{host}:{PORT}", "--no-huge", "--lcores", lcores(self.client_cpus), *self._options("-5"),
                          "--quiet", "--json", path, *options], limit_s=300)
        return json.loads(path.read_text())

    def note(self, system, transport, found, joules):
        self.found.setdefault((system, transport), []).append(found)
        if joules is not None and found["knee_per_s"]:
            self.watts.setdefault((system, transport), []).append(joules)

    def rounds_of(self, system, ask):
        """Calls ask(words, *options) for a sweep of each transport in every round."""
        ask(f"storing keys: {SYSTEMS[system]}", *self.fill_options(), *TRANSPORTS["tcp"])
        for number in range(self.of(ROUNDS)):
            for transport, options in TRANSPORTS.items():
                before = energy_uj()
                found = ask(f"round {number + 1}, {SYSTEMS[system]}, {transport}: the mean within 1 ms", *options, "--no-fill",
                            *self.sweep_options(number))
                after = energy_uj()
                self.note(system, transport, found, None if None in (before, after) else (after - before) / 1e6)

    def measure(self):
        server = self.start_vhost()
        self.rounds_of("vhost", lambda words, *options: self.load_whole(words, server, *options, limit_s=300)[0])
        self.end(server)
        server = self.start_af_packet()
        with self.turn_of(server):
            self.rounds_of("veth", lambda words, *options: self.by_veth(words, "v1", self.host, self.host, *options))
        self.end(server)
        if papers_bed.installed("memcached"):
            self.lay_peer_veth()
            with self.running(papers_bed.memcached(1)):
                self.rounds_of("memcached", lambda words, *options: self.by_veth(words, "k1", "10.99.1.1", "10.99.1.1", *options))


def knee_point(found):
    """Returns the point with the highest rate within the limit; None if there is none."""
    kept = [p for p in found["points"] if abs(p["offered_per_s"] - found["knee_per_s"]) < 1]
    return kept[-1] if kept and found["knee_per_s"] else None


def points_of(found):
    """Returns points of figures 12 and 13 from the sweeps of each system."""
    points = []
    for (system, transport), sweeps in found.items():
        name = SYSTEMS[system]
        if all(s["knee_per_s"] == 0 for s in sweeps):
            points.append(absent(PART, f"fig12-{transport}", name, "no rate kept its mean within 1 ms: a machine whose CPUs nobody else has"))
            continue
        knees = [s["knee_per_s"] / 1e3 for s in sweeps]
        points.append(point(PART, f"fig12-{transport}", name, "1 core", None, "thousand requests/s", knees))
        at_knee = [p["mean_us"] for p in map(knee_point, sweeps) if p is not None]
        if at_knee:
            points.append(point(PART, "rtt", name, transport, None, "us", at_knee))
        for p in sorted((p for s in sweeps for p in s["points"]), key=lambda p: p["requests_per_s"]):
            if 0 < p["mean_us"] <= 3000:
                points.append(point(PART, f"fig13-{transport}", name, p["requests_per_s"] / 1e3, p["mean_us"], "us"))
    return points


def by_cores(points, cpus, scaling):
    """Adds points of figure 14 for cores that this machine has, and an absent point for each that it lacks."""
    one, theirs = (next((p.get("y") for p in points if p["figure"] == "fig12-tcp" and p["series"] == SYSTEMS[system]), None)
                   for system in ("vhost", "memcached"))
    found = [point(PART, "scaling", "ours", "2 by 1", None, "times", scaling)]
    for name, rate in (("ours", one), ("memcached", theirs)):
        if rate is not None:
            found.append(point(PART, "fig14", name, 1, rate / 1e3, "million requests/s"))
    if one is not None:
        found.append(point(PART, "fig14", "ours, two cores by their cycles", 2, None, "million requests/s", [one * times / 1e3 for times in scaling]))
    most = max(c for c in CORES if c == 1 or 2 * c <= len(cpus))
    return found + [absent(PART, "fig14", "ours", f"{2 * CORES[-1]} CPUs, one a core and one each for its client; this machine lets us have "
                                                  f"{len(cpus)}, which shows {most}")]


def power(study):
    if energy_uj() is None:
        return [absent(PART, "power", "all", "RAPL: no /sys/class/powercap/intel-rapl here; a machine that is not virtual, or whose host passes it on")]
    found = []
    for (system, transport), joules in study.watts.items():
        if transport == "tcp" and system != "veth":
            seconds = sum(len(s["points"]) for s in study.found[system, transport]) * study.of(RUN_S)
            rate = statistics.median(s["knee_per_s"] for s in study.found[system, transport])
            found.append(point(PART, "power", "ours" if system == "vhost" else "memcached", "requests/s/W", rate / (sum(joules) / seconds), "requests/s/W"))
    return found


def sla(folder, quick, options):
    """Measures figures 12, 13 and 14, and table 3."""
    with SlaStudy(folder, quick) as study:
        study.measure()
    points = points_of(study.found)
    with Step("two cores at once"):
        scaling = [json_rows([folder / "tests/bench/net/bench_cores", "--ms", 100 if quick else 1000])[-1]["two_cores_scaling"]
                   for _ in range(study.of(ROUNDS))]
    points += by_cores(points, cpus_of_ours(), scaling) + power(study)
    points += [absent(PART, "silicon", name, words) for name, words in SILICON.items()]
    if not papers_bed.installed("memcached"):
        points.append(absent(PART, "fig12-tcp", SYSTEMS["memcached"], "memcached is not installed"))
    return points
