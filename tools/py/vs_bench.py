"""tools/bench vs: the appliance beside memcached, redis and whatever memcached is given by path, one
server CPU each, in turns.

View b: each at its best client, the appliance by the load generator over a wire that copies nothing
(bench_wire), the others by our kernel client over loopback; beside it the appliance by clockoo-load
over vhost. View a: the same kernel client over the same kind of veth to all. View c: cycles a request
of core_turn alone. In every round each server has its turn at each workload; ratios are of neighbours
in time.
"""

import statistics

import budget
from bench_figures import Figures, spread, table
from progress import Failed
from vs_bed import KEYS, PORT, VsBed, peers_of

CONNECTIONS = 50
# name: clockoo-load's options, ask's, what is counted, its unit
WORK = {
    "udp_get": (["--transport", "udp", "--depth", 512], ["--udp"], "requests_per_s", "mops"),
    "tcp_get": (["--transport", "tcp"], [], "requests_per_s", "mops"),
    "tcp_pipelined": (["--transport", "tcp", "--depth", 32], ["--depth", 32], "requests_per_s",
                      "mops"),
    "multiget": (["--transport", "tcp", "--multiget", 100, "--sets", 0],
                 ["--multiget", 100, "--sets", 0], "keys_per_s", "mkeys"),
}
# bench_wire's options. --burst 12: if the client took all 50 requests in one burst, each end would wait for the other.
WIRE = {"udp_get": ["--depth", 256], "tcp_get": ["--burst", 12], "tcp_pipelined": ["--depth", 32],
        "multiget": ["--depth", 1]}
# Over the wire, in full runs: {name: (kind, options, what is counted, its size)}
MORE = {
    "udp_get_16m_mops": ("udp_get", ["--keys", 16_000_000], "requests_per_s", 1e6),
    "udp_get_zipf_mops": ("udp_get", ["--zipf", 0.99], "requests_per_s", 1e6),
    "tcp_get_zipf_mops": ("tcp_get", ["--zipf", 0.99, "--burst", 12], "requests_per_s", 1e6),
    "udp_value_1k_gbytes": ("udp_get", ["--value", 1000, "--sets", 0], "bytes_per_s", 1e9),
    "tcp_value_1k_gbytes": ("tcp_pipelined", ["--value", 1000, "--sets", 0], "bytes_per_s", 1e9),
    "value_64k_gbytes": ("tcp_get", ["--value", 65536, "--keys", 1000, "--sets", 0], "bytes_per_s", 1e9),
    "value_64k_lent_gbytes": ("tcp_get", ["--value", 65536, "--keys", 1000, "--sets", 0, "--lent"], "bytes_per_s", 1e9),
    "tcp_value_1m_gbytes": ("tcp_get", ["--value", 1_000_000, "--keys", 100, "--sets", 0],
                            "bytes_per_s", 1e9),
    "tcp_value_1m_lent_gbytes": ("tcp_get", ["--value", 1_000_000, "--keys", 100, "--sets", 0, "--lent"],
                                 "bytes_per_s", 1e9),
}
LOADED = 80               # rate at which the time of a request in the core is measured, in percent of the closed loop's
PREFIX = {"a": "kernel_", "b": "", "v": "vhost_"}
UDP_DEPTHS = (1, 8)       # depths of a kernel client's socket: the better one counts
ROUNDS, QUICK_ROUNDS = 5, 2
MS, QUICK_MS = 2000, 400
WARM_MS = 150
PATIENCE_S, QUICK_PATIENCE_S = 900, 10   # for turns in which the host moved our CPUs (cpu_pair.py)
TITLES = {
    "b": f"View b, each at its best client: {CONNECTIONS} connections, {KEYS / 1e6:g} million keys of 16 "
         "bytes, values of 32, 5 % sets;\nM/s of requests, multiget of keys: median (least..most); us of "
         "CPU a request or key; busy, client: CPUs that the server and\nits client used, of ours in turns "
         "that moved a frame: the one near 1 is the limit",
    "v": "The appliance by clockoo-load over vhost, where the port takes its share",
    "a": "View a, the same kernel client over a veth to all; client us: what the client's CPU paid, of "
         "the servers' work too",
}
CYCLES = {"udp_get": "udp_get", "tcp_get": "tcp_get", "tcp_pipelined": "tcp_pipelined",
          "tcp_multiget": "multiget_key", "udp_set": "udp_set", "tcp_set": "tcp_set"}
# Values that core_turn alone sends, in GB/s: copied into frames, and lent to the port.
VALUES = {"tcp_value_64k": "value_64k_core_gbytes", "tcp_value_64k_lent": "value_64k_lent_core_gbytes"}
VALUE_BYTES, VALUE_KEYS, VALUE_REQUESTS = 65536, 400, 20000
QUICK_CYCLES = ("udp_get", "tcp_get", "tcp_pipelined", "tcp_multiget")
OWN = "clockoo"
US = 1e6


class VsBench(Figures):
    def __init__(self, bed, quick):
        super().__init__()
        self.bed, self.quick = bed, quick
        self.rounds, self.ms = (QUICK_ROUNDS, QUICK_MS) if quick else (ROUNDS, MS)
        self.runs = []

    def _note(self, view, work, number, who, row):
        """Notes one turn of a server: its rate, and the CPU time of server and client for a unit of work."""
        unit = WORK[work][2]
        rate = row[unit]
        if who == OWN and view != "a":
            # The appliance and its generator spin, so their CPU time says nothing.
            used = {"server_us": US * row.get("cpu_share", 1) / rate, "client_us": None,
                    "machine_us": None, "client_busy": row.get("generator_busy")}
        else:
            done = rate * row["seconds"]
            used = {f"{side}_us": US * row[f"{side}_cpu_s"] / done
                    for side in ("server", "client", "machine")}
            used["client_busy"] = used["client_us"] * rate / US
        # Busy below 1: the client is the limit. The CPU time of a request is valid all the same.
        used["server_busy"] = row.get("server_busy", used["server_us"] * rate / US)
        run = {"view": view, "work": work, "round": number, "who": who, "rate": rate, **used,
               "row": row}
        self.runs.append(run)
        return run

    def best_of(self, work):
        """Returns ask's options that are tried for a peer's best client."""
        options = WORK[work][1]
        if work != "udp_get" or self.quick:
            return [options]
        return [[*options, "--depth", depth] for depth in UDP_DEPTHS]

    def _ask(self, view, work, number, words, ns, host, port, pid, extra):
        rows = [self.bed.ask(words, ns, host, port, pid, "--connections", CONNECTIONS, "--warm-ms",
                             WARM_MS, "--ms", self.ms, "--seed", number, *extra, *options)
                for options in (self.best_of(work) if view == "b" else [WORK[work][1]])]
        return max(rows, key=lambda row: row[WORK[work][2]])

    def fill(self, server):
        bed = self.bed
        bed.load(f"storing {KEYS / 1e6:g} million keys, {OWN}", server, "--fill-only")
        for peer in bed.peers:
            bed.ask(f"storing {KEYS / 1e6:g} million keys, {peer.name}", bed.peer_ns, "127.0.0.1",
                    peer.port, peer.pid, "--fill", "--depth", 32, *peer.options)

    def wire(self, words, kind, *options):
        """Returns the rows of bench_wire by part."""
        return self.bed.wire(words, kind, "--runs", 1, "--ms", self.ms, "--connections", CONNECTIONS,
                             *options)

    def round_b(self, number, server, echo):
        bed = self.bed
        row = bed.echo(f"round {number + 1} of {self.rounds}, vhost alone", echo, self.ms)
        self.runs.append({"view": "vhost_echo", "round": number, "rate": row["frames_per_s"],
                          "row": row})
        for work, (load_options, _, _, _) in WORK.items():
            words = f"round {number + 1} of {self.rounds}, {work}, "
            rows = self.wire(words + OWN, work, "--keys", KEYS, *WIRE[work])
            self.runs.append({"view": "echo", "round": number, "work": work,
                              "rate": rows["echo"]["frames_per_s"], "row": rows["echo"]})
            self._note("b", work, number, OWN, rows[work])
            for peer in bed.peers:
                if work != "udp_get" or peer.udp:
                    self._note("b", work, number, peer.name, self._ask(
                        "b", work, number, words + peer.name, bed.peer_ns, "127.0.0.1", peer.port,
                        peer.pid, peer.options))
            row = bed.load(words + OWN + " over vhost", server, "--no-fill", "--connections",
                           CONNECTIONS, "--seconds", self.ms / 1e3, "--warmup", WARM_MS / 1e3,
                           "--seed", number + 1, *load_options)
            self._note("v", work, number, OWN, row)

    def residence(self):
        """Measures how long a request stays in a core that is busy, but not fully."""
        rows = [self.wire(f"UDP gets at {LOADED} % of the most, round {number + 1}", "udp_get",
                          "--keys", KEYS, "--load", LOADED, "--runs", 21, "--ms", 20)["open_loop"]
                for number in range(self.rounds)]
        if any("residence_p50_us" not in row for row in rows):
            raise Failed("no turn measured how long a request is in the core: other work had the CPUs")
        for name in ("residence_p50_us", "residence_p99_us", "residence_p999_us",
                     "residence_p99_least_us"):
            self.keep(name, [row[name] for row in rows])
        self.keep("residence_at_mops", [row["requests_per_s"] / 1e6 for row in rows])
        self.runs += [{"view": "residence", "round": number, "row": row}
                      for number, row in enumerate(rows)]
        print(f"\n  at {self.figures['residence_at_mops']:.2f} M requests/s ({LOADED} % of the most) a "
              f"UDP request is in the core for {self.figures['residence_p50_us']:.1f} us (p50), "
              f"{self.figures['residence_p99_us']:.1f} (p99), "
              f"{self.figures['residence_p999_us']:.1f} (p99.9), from frame in to frame out", flush=True)

    def more(self):
        lines = []
        for name, (kind, options, counted, size) in MORE.items():
            rows = [self.wire(f"{name}, round {number + 1} of {self.rounds}", kind, *options)[kind]
                    for number in range(self.rounds)]
            self.keep(name, [row[counted] / size for row in rows])
            # The core's own busy time is meaningful even where the client is the limit.
            self.keep(f"{name.rpartition('_')[0]}_core_ns", [row["server_ns"] for row in rows])
            self.runs += [{"view": "more", "name": name, "round": number, "row": row}
                          for number, row in enumerate(rows)]
            lines.append([name, spread((row[counted] / size for row in rows), 3),
                          *(f"{statistics.median(row[name] for row in rows):.2f}"
                            for name in ("server_busy", "generator_busy", "server_ns"))])
        table("Over the wire: other keys, popularity, values (GB/s are of replies)",
              ["what", "M/s or GB/s", "server busy", "client busy", "core ns"], lines)

    def cores(self):
        """Runs two cores over one store, a CPU each, with their clients in the same threads."""
        rows = [self.bed.cores(f"two cores, round {number + 1} of {self.rounds}")
                for number in range(self.rounds)]
        for name in rows[0]:
            self.keep(name, [row[name] for row in rows])
        print(f"\n  two cores serve {self.figures['two_cores_scaling']:.2f} times what one does "
              f"(zipf 0.99: {self.figures['two_cores_scaling_zipf']:.2f})", flush=True)

    def view_b(self):
        bed = self.bed
        server, echo = bed.start_vhost(), bed.start_echo()
        self.fill(server)
        for number in range(self.rounds):
            self.round_b(number, server, echo)
        for one in (server, echo):
            bed.end(one)

    def view_a(self):
        bed = self.bed
        server = bed.start_af_packet()
        with bed.turn_of(server):
            bed.ask(f"storing {KEYS / 1e6:g} million keys over af_packet", bed.client, bed.host,
                    PORT, server.pid, "--fill", "--depth", 32)
        for number in range(self.rounds):
            for work in WORK:
                words = f"kernel client, round {number + 1} of {self.rounds}, {work}, "
                with bed.turn_of(server):
                    row = self._ask("a", work, number, words + OWN, bed.client, bed.host, PORT,
                                    server.pid, [])
                self._note("a", work, number, OWN, row)
                for peer in bed.peers:
                    if work != "udp_get" or peer.udp:
                        self._note("a", work, number, peer.name, self._ask(
                            "a", work, number, words + peer.name, bed.client, "10.99.1.1", peer.port,
                            peer.pid, peer.options))
        bed.end(server)

    def view_c(self, bench_request):
        cases = QUICK_CYCLES if self.quick else CYCLES
        lines = []
        for case in cases:
            # No neighbour measures now: the servers sleep, or have ended.
            found = budget.cycles(bench_request, case, 3 if self.quick else 5,
                                  requests=300_000 if self.quick else 1_000_000)
            name = f"cycles_per_{CYCLES[case]}"
            self.figures[name], self.figures[f"{name}_spread"] = found["cycles"], found["spread"]
            if case.endswith("_set"):
                self.figures[f"{case}_cycles"] = found["cycles"]
            lines.append([CYCLES[case], found["cycles"],
                          f"{found['spread'][0]}..{found['spread'][1]}",
                          *found["cycle_stages"].values()])
            stages = list(found["cycle_stages"])
        table(f"View c, in process: cycles of core_turn, {budget.CYCLE_KEYS / 1e6:g} million keys, "
              "by stage", ["a", "cycles", "spread", *stages], lines)
        for case, name in VALUES.items():
            found = budget.cycles(bench_request, case, 3, VALUE_KEYS, VALUE_REQUESTS)
            self.figures[name] = round(VALUE_BYTES * found["cycles_per_ns"] / found["cycles"], 2)
            print(f"  {name}: {self.figures[name]} GB/s", flush=True)

    # ---- what was found ----

    def rows(self, view, work, who):
        return [r for r in self.runs if (r["view"], r.get("work"), r.get("who")) == (view, work, who)]

    def figure_out(self, view):
        """Returns figures by name; those of view a begin with kernel_."""
        prefix = PREFIX[view]
        for work, (_, _, _, unit) in WORK.items():
            own = self.rows(view, work, OWN)
            for who in (OWN, *(p.name for p in self.bed.peers)):
                rows = self.rows(view, work, who)
                if not rows:
                    continue
                name = prefix + (f"{work}" if who == OWN else f"{who}_{work}")
                self.keep(f"{name}_{unit}", [r["rate"] / 1e6 for r in rows])
                for side in ("server", "client"):
                    used = [r[f"{side}_us"] for r in rows if r[f"{side}_us"] is not None]
                    if used:
                        self.keep(f"{name}_{side}_cpu_us", used)
                core_ns = [r["row"]["server_ns"] for r in rows if "server_ns" in r["row"]]
                if core_ns:
                    self.keep(f"{name}_core_ns", core_ns)
                for side in ("server", "client"):
                    busy = [r[f"{side}_busy"] for r in rows if r[f"{side}_busy"] is not None]
                    if busy:
                        self.keep(f"{name}_{side}_busy", busy)
            self._ratios(view, prefix + work, work, own)

    def echoes(self):
        """Measures the ports alone, and the part of their rate that UDP gets reach. An interrupted run may lack
        rows of either."""
        for view, kind in (("b", "echo"), ("v", "vhost_echo")):
            if not self.rows(view, "udp_get", OWN):
                continue
            echo = [r["rate"] / 1e6 for r in self.runs
                    if r["view"] == kind and r.get("work", "udp_get") == "udp_get"]
            prefix = PREFIX[view]
            self.keep(f"{prefix}port_echo_mpps", echo)
            self.keep(f"{prefix}udp_get_vs_port_echo", [
                r["rate"] / 1e6 / e for r, e in zip(self.rows(view, "udp_get", OWN), echo)])

    def sums(self):
        """Returns the sums that must be zero: keys that a server lacked, and requests without an answer."""
        for name in ("misses", "lost"):
            for who in (OWN, *(p.name for p in self.bed.peers)):
                count = sum(r["row"].get(name, 0) for r in self.runs if r.get("who") == who)
                self.figures[f"{who}_{name}"] = count
                if count:
                    print(f"  {who}: {count} {name}", flush=True)

    def _ratios(self, view, name, work, own):
        """Returns the ratios to the best memcached with one server core: by rate, and by server CPU."""
        peers = [(p, self.rows(view, work, p.name)) for p in self.bed.peers
                 if p.name.startswith("memcached")]
        peers = [(p, rows) for p, rows in peers if rows]
        if not peers or not own:
            return
        whole = min(len(rows) for rows in (own, *(rows for _, rows in peers)))
        self.keep(f"{name}_vs_memcached", [
            mine["rate"] / max(rows[i]["rate"] / p.threads for p, rows in peers)
            for i, mine in enumerate(own[:whole])])
        self.keep(f"{name}_vs_memcached_server_cpu", [
            min(rows[i]["server_us"] for _, rows in peers) / mine["server_us"]
            for i, mine in enumerate(own[:whole])])

    def show(self, view):
        lines = []
        for work, (_, _, _, unit) in WORK.items():
            for who in (OWN, *(p.name for p in self.bed.peers)):
                rows = self.rows(view, work, who)
                if rows:
                    lines.append([work, who, spread((r["rate"] / 1e6 for r in rows), 3),
                                  *(used(rows, name) for name in ("server_us", "client_us", "machine_us",
                                                                    "server_busy", "client_busy")),
                                  self.ratio_of(view, work) if who == OWN else ""])
        table(TITLES[view], ["workload", "who", "M/s", "server us", "client us", "machine us", "busy",
                      "client", "by memcached, by its CPU"], lines)

    def ratio_of(self, view, work):
        name = PREFIX[view] + work
        found = [self.figures.get(f"{name}_vs_memcached{kind}") for kind in ("", "_server_cpu")]
        return "-" if None in found else f"{found[0]:.2f}, {found[1]:.2f}"


def used(rows, name):
    values = [r[name] for r in rows if r[name] is not None]
    return f"{statistics.median(values):.3f}" if values else "-"


def views(bench, bench_request, keep_so_far):
    """Measures all views, in this order."""
    bench.view_b()
    for view in ("b", "v"):
        bench.figure_out(view)
    bench.echoes()
    keep_so_far()
    bench.show("b")
    bench.show("v")
    for prefix, words in (("", "the wire"), ("vhost_", "vhost")):
        print(f"\n  {words} alone carries {bench.figures[prefix + 'port_echo_mpps']:.2f} million frames "
              f"a second; UDP gets reach {bench.figures[prefix + 'udp_get_vs_port_echo']:.2f} of it")
    bench.residence()
    bench.cores()
    keep_so_far()
    if not bench.quick:
        bench.more()
        keep_so_far()
        bench.view_a()
        bench.figure_out("a")
        bench.show("a")
    bench.sums()
    print(f"\n  {bench.bed.pair.words()}", flush=True)
    bench.figures |= bench.bed.pair.figures()
    bench.view_c(bench_request)
    keep_so_far()


def show_part(bench):
    """Shows the tables that have rows, for a run that could not go on."""
    print("\nNot all of it was measured. What was:", flush=True)
    for view in TITLES:
        if any(run["view"] == view for run in bench.runs):
            bench.figure_out(view)
            bench.show(view)
    bench.echoes()


def measure(programs, quick, given, keep):
    bench_request, build = programs / "../bench_request", programs / "../../.."
    with VsBed(programs, build, peers_of(given, not quick)) as bed:
        bench = VsBench(bed, quick)
        bed.be_patient(QUICK_PATIENCE_S if quick else PATIENCE_S)
        for number, path in enumerate(given, 1):
            bench.figures[f"given{number}"] = str(path)
            print(f"given{number} is {path}", flush=True)

        def keep_so_far():
            keep(bench.figures | {"vs_runs": bench.runs})

        try:
            views(bench, bench_request, keep_so_far)
        except Failed as failed:
            show_part(bench)
            keep_so_far()
            raise Failed(f"tools/bench vs: it could not go on: {failed}") from failed
    return bench.figures
