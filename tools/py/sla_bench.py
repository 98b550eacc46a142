"""tools/bench sla: the highest rate that meets an SLO about latency, setting by setting.

The literature has two SLOs: the average round trip within 1 ms (the Intel paper of 2014 on memcached), and the 99th
percentile within it (the memtier studies). For both of them clockoo-load raises its rate over vhost (open loop,
Poisson) until the SLO is violated, and closes in on the knee. Each setting differs from the base in one thing. The
appliance is started again for one of its options (cores, -R, --burst).
"""

import argparse
import collections
import re

from bench_figures import Figures, table
from progress import say
from vs_bed import KEYS, VsBed

CONNECTIONS = 50
DEEP = 32  # requests of a connection in flight, where settings of -R are compared
# {thing to vary: (largest value of --vary, values of a full run)}
VARIES = {"connections": (1000, (1, 10, 50, 200)), "cores": (64, (1, 2)),
          "requests": (65535, (1, 20, 100)), "batch": (64, (8, 32, 64))}
QUICK_VARIES = [("connections", (10, 50))]
VALUES_MAX = 16
LIMIT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(us|ms)")
SLO_FIELDS = {"avg": "mean_us", "p99": "p99_us"}  # {SLO: the figure of a point that it limits}
ROUNDS, QUICK_ROUNDS = 5, 3
RUN_S, QUICK_RUN_S = 0.5, 0.25
WARM_S = 0.05
TURN_LIMIT_S = 300
ALONE = 0.9  # share of its CPUs that a server must have: with less, pauses by other work are in its p99

# options: the appliance's. Equal settings are measured once, under all their names.
Setting = collections.namedtuple("Setting", "connections cores depth options")


def setting(what, value):
    return Setting(value if what == "connections" else CONNECTIONS, value if what == "cores" else 1,
                   DEEP if what == "requests" else 1,
                   {"requests": ("-R", value), "batch": ("--burst", value)}.get(what, ()))


def vary(text):
    """"connections=1,10" as ("connections", (1, 10)); for argparse."""
    what, _, values = text.partition("=")
    if what not in VARIES:
        raise argparse.ArgumentTypeError(f"\"{text}\": expected {', '.join(VARIES)}, as in cores=1,2")
    most = VARIES[what][0]
    numbers = [int(v) if v.isascii() and v.isdigit() else 0 for v in values.split(",")]
    if len(numbers) > VALUES_MAX or not all(1 <= n <= most for n in numbers):
        raise argparse.ArgumentTypeError(
            f"\"{text}\": expected up to {VALUES_MAX} numbers from 1 to {most} with commas")
    return what, tuple(dict.fromkeys(numbers))


def limit(text):
    """The text of an SLO's time, such as 1ms or 200us; for argparse."""
    if LIMIT.fullmatch(text) is None or limit_us(text) == 0:
        raise argparse.ArgumentTypeError(f"\"{text}\": expected 1ms, 200us or the like")
    return text


def limit_us(text):
    number, unit = LIMIT.fullmatch(text).groups()
    return float(number) * (1000 if unit == "ms" else 1)


class SlaBed(VsBed):
    """An appliance over vhost, and a generator with as many cores, each on a CPU of its own."""

    SIDES = ("s",)

    def __init__(self, build):
        super().__init__(None, build, ())

    def make(self, ledger):
        self.settle(ledger)

    def lacks(self, cores):
        """Returns why this many cores cannot be measured on this machine; None: they can."""
        if 2 * cores > len(self.cpus):
            return (f"{cores} cores and as many of the generator's spin on a CPU each, and this machine "
                    f"lets us have {len(self.cpus)}")
        return None

    def started(self, cores, options):
        self.server_cpus, self.client_cpus = self.cpus[:cores], self.cpus[cores:2 * cores]
        return self.start_vhost(*map(str, options))

    def sweep(self, words, server, *options):
        """Measures a knee. Returns {"knee", "points", "cpu_share"}."""
        found, share = self.load_whole(words, server, "--no-fill", *options, limit_s=TURN_LIMIT_S)
        return {"knee": found["knee_per_s"], "points": found["points"], "cpu_share": share}


def at_knee(found):
    """Returns the point with the highest rate that kept the SLO; None: no point did."""
    kept = [p for p in found["points"] if abs(p["offered_per_s"] - found["knee"]) < 1]
    return kept[-1] if kept else None


class SlaBench(Figures):
    def __init__(self, bed, quick, limits):
        super().__init__()
        self.bed, self.limits = bed, limits
        self.rounds, self.run_s = (QUICK_ROUNDS, QUICK_RUN_S) if quick else (ROUNDS, RUN_S)
        self.found = {}  # (setting, slo): what each round found
        for slo, text in limits.items():
            self.figures[f"sla_{slo}_limit_us"] = limit_us(text)

    def leave_out(self, labels):
        """Returns {label: setting} without those that this machine cannot measure, and prints a line with the reason
        for each of these."""
        left = {}
        for label, one in labels.items():
            if lack := self.bed.lacks(one.cores):
                say(f"{label[0]}={label[1]}: left out: {lack}")
                left[f"{label[0]}={label[1]}"] = lack
        self.figures["sla_left_out"] = left
        return {label: one for label, one in labels.items() if not self.bed.lacks(one.cores)}

    def measure(self, settings):
        """Measures each setting once in every round, those of one appliance one after the other."""
        groups = {}
        for one in dict.fromkeys(settings):
            groups.setdefault((one.cores, one.options), []).append(one)
        for number, ((cores, options), members) in enumerate(groups.items(), 1):
            server = self.bed.started(cores, options)
            self.bed.load(f"storing {KEYS / 1e6:g} million keys, appliance {number} of {len(groups)}",
                          server, "--fill-only")
            for turn in range(self.rounds):
                for one in members:
                    for slo in self.limits:
                        self._knee(turn, server, one, slo)
            self.bed.end(server)

    def _knee(self, turn, server, one, slo):
        words = " ".join(map(str, (f"{one.connections} connections, {one.cores} cores,", *one.options)))
        self.found.setdefault((one, slo), []).append(self.bed.sweep(
            f"round {turn + 1} of {self.rounds}, {words.rstrip(',')}: {slo} {self.limits[slo]}",
            server, "--transport", "tcp", "--connections", one.connections, "--depth", one.depth,
            "--seconds", self.run_s, "--warmup", WARM_S, "--seed", turn + 1, "--sweep",
            f"{slo}={self.limits[slo]}"))

    def line(self, label, one, slo):
        """Returns a row of the table, and keeps its figures by name."""
        rounds = self.found[one, slo]
        name = f"sla_{label[0]}_{label[1]}_{slo}"
        knee = self.keep(f"{name}_knee_per_s", [f["knee"] for f in rounds], 0)
        self.figures[f"sla_points_{label[0]}_{label[1]}_{slo}"] = [
            [p["requests_per_s"], p[SLO_FIELDS[slo]]] for f in rounds for p in f["points"]]
        cpu = self.keep(f"{name}_server_cpu", [f["cpu_share"] for f in rounds])
        line = ["=".join(map(str, label)), f"{slo} {self.limits[slo]}",
                f"{knee:,.0f}" if knee else "none", self._spread(rounds)]
        points = [p for p in map(at_knee, rounds) if p is not None and knee > 0]
        for field, digits in (("mean_us", 0), ("p99_us", 0), ("generator_busy", 2)):
            line.append(f"{self.keep(f'{name}_{field}', [p[field] for p in points]):.{digits}f}"
                        if points else "-")
        return [*line, f"{cpu:.2f}"]

    @staticmethod
    def _spread(rounds):
        knees = [f["knee"] for f in rounds]
        return f"{min(knees):,.0f}..{max(knees):,.0f}" if len(knees) > 1 else "-"

    def show(self, labels):
        table(f"Knees over vhost: the highest open-loop rate over TCP that meets the SLO. Base: "
              f"{CONNECTIONS} connections, 1 core,\n1 request at a time (requests=: -R, {DEEP} at a time), "
              f"the profile's --burst (batch=); {KEYS / 1e6:g} million keys, 5 % sets.\n"
              "busy: share of its time in which the generator had something to do; CPUs: what the server "
              "was given (it spins)",
              ["setting", "SLO", "requests/s", "spread", "avg us", "p99 us", "busy", "CPUs"],
              [self.line(label, one, slo) for label, one in labels.items()
               for slo in self.limits])
        shares = [f["cpu_share"] / one.cores for (one, _), rounds in self.found.items() for f in rounds]
        self.figures["sla_cpu_share_least"] = round(min(shares), 3)
        if min(shares) < ALONE:
            print(f"\n  other work took up to {100 - 100 * min(shares):.0f} % of the server's CPUs: these "
                  "latencies and knees are the machine's, not the appliance's alone", flush=True)


def measure(build, quick, varies, limits, keep):
    full = [(what, values) for what, (_, values) in VARIES.items()]
    labels = {(what, value): setting(what, value)
              for what, values in varies or (QUICK_VARIES if quick else full) for value in values}
    with SlaBed(build) as bed:
        bench = SlaBench(bed, quick, limits)
        labels = bench.leave_out(labels)
        bench.measure(labels.values())
        if labels:
            bench.show(labels)
        keep(bench.figures)
    return bench.figures
