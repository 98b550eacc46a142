"""tools/bench front, the timed parts: the product as a front beside nutcracker and memcached's proxy, before
four memcached servers. The three take turns on the same CPU.

forward and multiget are measured twice: over the wire (bench_wire --front), where ports cost nothing and
the servers are a core of the product; and with a kernel client over veths for all (kernel_), with Debian's
memcached as servers. What needs copies of the front says so in builds that keep none.
"""

import contextlib
import statistics

import front_cost
from bench_figures import Figures, spread, table
from front_bed import FIRST_PORT, MCPROXY, NUTCRACKER, PEER_SIDE, SERVERS
from progress import Failed
from vs_bed import PORT

OWN = "front"
PROXIES = (NUTCRACKER, MCPROXY)
CONNECTIONS = 50
ROUNDS, QUICK_ROUNDS = 5, 2
MS, QUICK_MS = 2000, 500
WARM_MS = 200
FORWARD_KEYS, QUICK_KEYS = 10_000_000, 200_000  # keys over the wire; real servers have KERNEL_KEYS
KERNEL_KEYS = 200_000
HIT_KEYS = 1000
HIT_PAIRS, QUICK_HIT_PAIRS, HIT_MS = 150, 80, 50  # short: a busy machine keeps its state for moments only
ZIPF = 1.01
COLD_CLIENTS = 1000
CALM_S, CALM_KEYS = 1, 100
KILL_ROUNDS_A_ROUND = 4  # short, for the same reason
AGE_S, QUICK_AGE_S, AGE_KEYS, AGE_TTL_MS = 20, 4, 8, 1000  # the default of front.ttl
HISTORY_ROUNDS, QUICK_HISTORY_ROUNDS = 8, 1
HISTORY_PAUSE_S = 0.7  # between two changes of the list
FORMULA_COPIES = 64  # the number that auto chooses for four servers
HIT_COPIES = str(4 * HIT_KEYS)  # copies for all keys, even if they are spread unevenly over sets
# name: ask's options, what is counted, its unit, front.items
KERNEL = {
    "hit": (["--sets", 0], "requests_per_s", "mops", HIT_COPIES),
    "forward": (["--depth", 32, "--sets", 0], "requests_per_s", "mops", "0"),
    "mixed": (["--depth", 32, "--sets", 10], "requests_per_s", "mops", "0"),
    "multiget": (["--multiget", 100, "--sets", 0], "keys_per_s", "miss_mkeys", "0"),
    "cpu": (["--depth", 8, "--sets", 0, "--zipf", ZIPF], "requests_per_s", "mops", "auto"),
}
# name: bench_wire's kind and options, what is counted, the figure
WIRE = {
    "forward": ("tcp_pipelined", ["--depth", 32, "--sets", 0], "requests_per_s", "front_forward_mops"),
    "multiget": ("multiget", ["--depth", 2], "keys_per_s", "front_multiget_miss_mkeys"),
    "cpu": ("tcp_pipelined", ["--depth", 8, "--sets", 0, "--zipf", ZIPF, "--copies", FORMULA_COPIES], "requests_per_s",
            "front_cpu_mops"),
}
TIMED = ("hit", "forward", "mixed", "multiget", "cpu", "level", "cold", "streams", "kill", "staleness", "violations", "warm", "large", "cost", "tls")
FAR_MS = 20
LARGE_BYTES, LARGE_CLIENTS, LARGE_KEYS, LARGE_WARM_MS = 100_000, 200, 4, 2000  # keys of each client
LARGE_MTUS = 9000, 1500  # the first one's figures have no suffix
# Each figure has pipelines of front_streams.py. The slowest one in relation to nutcracker counts.
STREAMS = {"pipe_incr": ("incr", "set"), "pipe_set_get": ("set_get",), "pipe_distinct": ("sets", "deletes"),
           "line_500": ("line",)}
GROWTH, GROWTH_KEYS, GROWTH_S, QUICK_GROWTH_S = (8, 6), 20_000, 20, 5  # servers, and seconds before the next change
HANDS_OVER = ("--front-warm", "1h")
NO_COPIES = "this build keeps no copies (front.items)"


class FrontLoad(Figures):
    def __init__(self, bed, quick):
        super().__init__()
        self.bed, self.quick = bed, quick
        self.rounds, self.ms = (QUICK_ROUNDS, QUICK_MS) if quick else (ROUNDS, MS)
        self.runs, self.left_out = [], []

    def leave_out(self, what, why):
        self.left_out.append(f"{what}: {why}")
        print(f"  {what} is not measured: {why}", flush=True)

    def say_who_is_absent(self):
        for who, why in self.bed.absent.items():
            self.leave_out(who, why)

    # ---- over the wire ----

    def wire(self, part):
        kind, options, counted, name = WIRE[part]
        if "--copies" in options and not self.bed.keeps_copies:
            self.leave_out(name, NO_COPIES)
            return
        keys = KERNEL_KEYS if part == "cpu" else QUICK_KEYS if self.quick else FORWARD_KEYS
        rows = [self.bed.wire(f"{part} over the wire, round {number + 1} of {self.rounds}", kind, "--front", SERVERS,
                              "--keys", keys, "--connections", CONNECTIONS, "--runs", 1, "--ms", self.ms, *options)
                for number in range(self.rounds)]
        self.runs += [{"view": "wire", "part": part, "round": number, "row": row} for number, row in enumerate(rows)]
        each = rows[0][kind]["keys_per_s"] / rows[0][kind]["requests_per_s"]
        self.keep(name, [row[kind][counted] / 1e6 for row in rows])
        # For times when other work has the CPUs: the pair's rate in the best tenth of all milliseconds.
        self.keep(f"{name}_best_tenth", [
            row[kind]["slice_best_tenth_per_s"] * (each if counted == "keys_per_s" else 1) / 1e6 for row in rows])
        self.keep(f"front_{part}_core_ns", [row[kind]["server_ns"] / (each if part == "multiget" else 1)
                                            for row in rows])
        self.keep(f"front_{part}_keys_a_request", [row["fleet"]["keys_a_request"] for row in rows])
        self.keep(f"front_{part}_busy", [row[kind]["server_busy"] for row in rows])

    def wire_hit(self):
        """Measures the product as a front whose copies answer everything, and without a front. Both are in one
        process and take turns of HIT_MS on the same CPUs, beginning alternately. A round is a new process,
        whose memory lies elsewhere. The servers' core also turns while there is no front, when it gets no
        requests."""
        if not self.bed.keeps_copies:
            self.leave_out("front_hit_ratio_of_tcp_get", NO_COPIES)
            return
        found = [self.hit_round(number, f"round {number + 1} of {self.rounds}") for number in range(self.rounds)]
        name = "front_hit_ratio_of_tcp_get"
        for suffix, what in (("", "rate"), ("_core_ns", "core_ns"), ("_mean", "mean")):
            self.keep(name + suffix, [one[what] for one in found])
        # If the generator is the limit, rates show the generator; these figures show the core.
        self.keep("front_hit_mops", [one["row"]["requests_per_s"] / 1e6 for one in found])
        self.keep("front_hit_core_ns", [one["row"]["server_ns"] for one in found])
        self.keep("front_hit_generator_busy", [one["row"]["generator_busy"] for one in found])
        # A control: both turns are measured without a front.
        control = self.hit_round(self.rounds, "both without a front", "--bypassed")
        for suffix, what in (("", "rate"), ("_core_ns", "core_ns")):
            self.figures[f"front_hit_ratio_of_itself{suffix}"] = round(control[what], 3)
        table(f"Hits over the wire by the product's own TCP gets, pairs of {HIT_MS} ms", ["who", "by rate", "by the core's ns"],
              [["front", *(spread((one[what] for one in found), 3) for what in ("rate", "core_ns"))],
               ["the same twice", *(f"{control[what]:.3f}" for what in ("rate", "core_ns"))]])

    def hit_round(self, number, words, *options):
        """Returns the median ratios of one process's pairs, and the ratios of its whole time."""
        rows = self.bed.wire(f"hit over the wire, {words}", "tcp_get", "--front", SERVERS, "--keys", HIT_KEYS,
                             "--connections", CONNECTIONS, "--runs", 1, "--ms", HIT_MS, "--sets", 0, "--burst", 12, "--copies",
                             HIT_COPIES, "--pairs", QUICK_HIT_PAIRS if self.quick else HIT_PAIRS, *options)
        self.runs.append({"view": "wire", "part": "hit", "round": number, "row": rows["pairs"]})
        # Other work may have had a CPU for a whole turn, which then says nothing about either.
        pairs = [(mine, alone) for mine, alone in rows["pairs"]["pairs"] if mine[0] and alone[0]]
        if not pairs:
            raise Failed("hit over the wire: no pair had the CPUs")
        return {"rate": statistics.median(mine[0] / alone[0] for mine, alone in pairs),
                "core_ns": statistics.median(alone[1] / mine[1] for mine, alone in pairs),
                "mean": sum(mine[0] for mine, _ in pairs) / sum(alone[0] for _, alone in pairs), "row": rows["tcp_get"]}

    # ---- a kernel client over veths ----

    def targets(self, front, peers=None):
        """Returns the programs that are measured: name, host, port, pid, its turn. peers: None are those before all servers."""
        return [(OWN, front.host, PORT, front.pid, lambda: self.bed.turn_of(front))] + [
            (peer.name, f"{PEER_SIDE}.1", peer.port, peer.pid, None) for peer in (self.bed.peers if peers is None else peers)]

    def proxies_here(self):
        return [who for who in PROXIES if who not in self.bed.absent]

    def ask(self, words, target, keys, *options):
        _, host, port, pid, turn = target
        if turn is None:
            return self.bed.ask_at(words, host, port, pid, keys, *options)
        with turn():
            return self.bed.ask_at(words, host, port, pid, keys, *options)

    def kernel(self, part):
        options, counted, unit, copies = KERNEL[part]
        keys = HIT_KEYS if part == "hit" else KERNEL_KEYS
        can = self.bed.keeps_copies or copies == "0"
        if not can:
            self.leave_out(f"{OWN} in {part}", NO_COPIES)
        front = self.bed.start_front(copies, mode="shared") if copies != "0" else self.bed.start_front(copies)
        own = self.bed.start_own(1) if part == "hit" else None
        targets = self.targets(front) + ([("tcp_get", own.host, PORT, own.pid, lambda: self.bed.turn_of(own))]
                                     if own else [])
        targets = [target for target in targets if can or target[0] != OWN]
        if can and copies != "0":
            self.bed.await_copies(front)
        for target in targets:
            self.ask(f"{part}: storing {keys} keys, {target[0]}", target, keys, "--fill", "--depth", 32)
        for number in range(self.rounds):
            for target in targets:
                before = self.bed.cpu_now(target[3])
                row = self.ask(f"{part}, round {number + 1} of {self.rounds}, {target[0]}", target, keys, "--connections",
                               CONNECTIONS, "--warm-ms", WARM_MS, "--ms", self.ms, "--seed", number, *options)
                row["cpu"] = {what: s - before[what] for what, s in self.bed.cpu_now(target[3]).items()}
                self.runs.append({"view": "kernel", "part": part, "round": number, "who": target[0], "row": row})
        for one in filter(None, (front, own)):
            self.bed.end(one)
        self.figure_out(part)

    def rows(self, part, who):
        return [run["row"] for run in self.runs
                if (run["view"], run["part"], run.get("who")) == ("kernel", part, who)]

    def wire_rows(self, part):
        return [run["row"] for run in self.runs if run["view"] == "wire" and run["part"] == part and part in WIRE]

    def figure_out(self, part):
        _, counted, unit, _ = KERNEL[part]
        lines, cost = [], {}
        for who in (OWN, *PROXIES, "tcp_get"):
            rows = self.rows(part, who)
            if not rows:
                continue
            name = f"front_kernel_{part}" if who == OWN else f"front_{who}_{part}"
            self.keep(f"{name}_{unit}", [row[counted] / 1e6 for row in rows])
            for side in ("server", "machine"):
                cost[who, side] = [1e6 * row[f"{side}_cpu_s"] / (row[counted] * row["seconds"]) for row in rows]
                self.keep(f"{name}_{side}_cpu_us", cost[who, side])
            lines.append([who, spread((row[counted] / 1e6 for row in rows), 3),
                          *(spread(cost[who, side], 2) for side in ("server", "machine"))])
            if part == "cpu":
                self.shares(name, who, rows, cost)
        better = [who for who in PROXIES if (who, "server") in cost]
        if better:
            cost |= {("wire", "server"): [row[WIRE[part][0]]["server_ns"] / (100 if part == "multiget" else 1) / 1e3
                                          for row in self.wire_rows(part)]}
            # By the CPU time of each over the kernel's ports, and by that of the front where ports cost
            # nothing.
            for mine, form in ((OWN, "kernel_"), ("wire", "")):
                found = [min(cost[who, "server"][i] for who in better) / us
                         for i, us in enumerate(cost.get((mine, "server"), ()))]
                if found:
                    self.keep(f"front_{form}{part}_server_cpu_vs_better", found)
            if all(cost.get((OWN, "kernel"), [0])):
                # The best possible front has no cost of its own; only the kernel's part of each request is
                # left.
                self.keep(f"front_kernel_{part}_server_cpu_vs_better_best_possible", [
                    min(cost[who, "server"][i] for who in better) / us for i, us in enumerate(cost[OWN, "kernel"])])
            for what in ("servers", "fleet") if part == "cpu" and (OWN, "server") in cost else ():
                self.keep(f"front_kernel_cpu_{what}_cpu_vs_better", [
                    min(cost[who, what][i] for who in better) / us for i, us in enumerate(cost[OWN, what])])
        if part == "hit" and self.rows(part, OWN):
            self.keep("front_kernel_hit_ratio_of_tcp_get", [
                mine["requests_per_s"] / alone["requests_per_s"]
                for mine, alone in zip(self.rows(part, OWN), self.rows(part, "tcp_get"))])
        table(f"{part}, a kernel client over veths: {CONNECTIONS} connections; CPU in us a request or key",
              ["who", "M/s", "its CPU", "the machine's"], lines)
        bound = self.figures.get(f"front_kernel_{part}_server_cpu_vs_better_best_possible")
        if bound is not None:
            print(f"  the front needs {self.figures[f'front_kernel_{part}_server_cpu_vs_better']:.2f} times less CPU than "
                  f"the better one; {bound:.2f} if its own code cost nothing: the rest is its kernel's part", flush=True)

    def shares(self, name, who, rows, cost):
        """Records the CPU time of a request: the proxy's in its own code and in its kernel, the servers', and the sum."""
        for what in ("own", "kernel", "servers"):
            cost[who, what] = [1e6 * row["cpu"][what] / (row["hits"] + row["misses"]) for row in rows]
        cost[who, "fleet"] = [sum(us) for us in zip(cost[who, "own"], cost[who, "kernel"], cost[who, "servers"])]
        for what in ("own", "kernel", "servers", "fleet"):
            self.keep(f"{name}_{what}_cpu_us", cost[who, what])

    # ---- how level real servers are ----

    def level(self):
        """Returns the busiest server's gets as a multiple of its part of all requests, for Zipf's law before
        four memcached servers."""
        for copies, name in (("auto", "busiest_by_mean_real_zipf101"), ("0", "busiest_by_mean_real_zipf101_no_copies")):
            if copies != "0" and not self.bed.keeps_copies:
                self.leave_out(name, NO_COPIES)
                continue
            front = self.bed.start_front(copies)
            if copies != "0":
                self.bed.await_copies(front)
            target = self.targets(front)[0]
            self.ask(f"level: storing {KERNEL_KEYS} keys", target, KERNEL_KEYS, "--fill", "--depth", 32)
            found = []
            for number in range(self.rounds):
                before = self.bed.server_gets()
                row = self.ask(f"level, round {number + 1} of {self.rounds}", target, KERNEL_KEYS, "--zipf", ZIPF,
                               "--sets", 0, "--depth", 8, "--warm-ms", WARM_MS, "--ms", self.ms, "--seed", number)
                gets = [b - a for a, b in zip(before, self.bed.server_gets())]
                found.append(max(gets) * SERVERS / (row["hits"] + row["misses"]))
                self.runs.append({"view": "level", "copies": copies, "round": number, "gets": gets, "row": row})
            self.keep(name, found)
            self.bed.end(front)

    # ---- one cold key ----

    def cold(self):
        """Lets 1,000 clients request one key at once, whose server waits 100 ms. They share a get; a copy is
        not needed, and not waited for."""
        lines = []
        with self.bed.slow_server() as server, self.bed.proxies_of([server], 11300) as peers:
            front = self.bed.start_front("auto", [server])
            targets = [(OWN, front.host, PORT, lambda: self.bed.turn_of(front))]
            targets += [(peer.name, f"{PEER_SIDE}.1", peer.port, None) for peer in peers]
            for number in range(self.rounds):
                for who, host, port, turn in targets:
                    words = f"cold key, round {number + 1} of {self.rounds}, {who}"
                    row = self.in_turn(turn, words, "cold", host, port, COLD_CLIENTS, server)
                    self.runs.append({"view": "cold", "who": who, "round": number, "row": row})
            self.bed.end(front)
        for who, *_ in targets:
            rows = [run["row"] for run in self.runs if run["view"] == "cold" and run["who"] == who]
            name = "front_cold" if who == OWN else f"front_{who}_cold"
            self.keep(f"{name}_gets", [row["gets"] for row in rows])
            self.figures[f"{name}_wrong"] = sum(row["of"] - row["right"] for row in rows)
            lines.append([who, spread((row["gets"] for row in rows), 0), self.figures[f"{name}_wrong"]])
        table(f"One cold key, asked by {COLD_CLIENTS} clients at once, its server waits 100 ms",
              ["who", "gets that reach it", "clients without the value"], lines)

    # ---- pipelines before a server that is far away ----

    def streams(self):
        """Measures a connection to a server FAR_MS away: pipelines of one key and of many, and a line of many keys."""
        rows = {}
        with self.bed.far_server(FAR_MS) as server, self.bed.proxies_of([server], 11300) as peers:
            front = self.bed.start_front("auto", [server])
            if self.bed.keeps_copies:
                self.bed.await_copies(front)
            targets = [(OWN, front.host, PORT, lambda: self.bed.turn_of(front))]
            targets += [(peer.name, f"{PEER_SIDE}.1", peer.port, None) for peer in peers]
            for who, host, port, turn in targets:
                rows[who] = self.in_turn(turn, f"pipelines, the server {FAR_MS} ms away, {who}", "stream", host, port,
                                         2 * self.rounds, program=self.bed.streams_program)
                self.runs.append({"view": "streams", "who": who, "row": rows[who]})
                if rows[who]["wrong"]:
                    raise Failed(f"streams, {who}: {rows[who]['wrong'][0]}")
            self.bed.end(front)
        median = {who: {name: statistics.median(ms) for name, ms in row["ms"].items()} for who, row in rows.items()}
        for who, found in median.items():
            self.figures |= {f"{'front' if who == OWN else f'front_{who}'}_stream_{name}_ms": round(ms, 1)
                             for name, ms in found.items()}
        for figure, names in STREAMS.items():
            for who in set(PROXIES) & set(median):
                self.figures[f"{figure}_vs_{who}"] = round(max(median[OWN][name] / median[who][name] for name in names), 2)
        table(f"One connection, its server {FAR_MS} ms away: ms to the last answer", ["who", *median[OWN]],
              [[who, *(f"{ms:.1f}" for ms in found.values())] for who, found in median.items()])

    def in_turn(self, turn, words, *options, program=None):
        run = program or self.bed.clients_program
        if turn is None:
            return run(words, *options)
        with turn():
            return run(words, *options)

    # ---- processor time ----

    def cost(self):
        front_cost.cost(self)

    def tls(self):
        front_cost.tls(self)

    # ---- large values ----

    def large(self):
        """Lets 200 clients set and get values of 100 KB, which pass through, with frames of 9,000 bytes and of
        1,500; at 1,500 af_packet's frames a second are the limit."""
        for mtu in LARGE_MTUS:
            self._large(mtu, "" if mtu == LARGE_MTUS[0] else f"_{mtu}")

    def _large(self, mtu, name):
        front = self.bed.start_front("0", None, "sole", *self.bed.frames_alike(mtu))
        targets, view = self.targets(front), f"large{name}"
        for number in range(self.rounds):
            for who, host, port, _, turn in targets:
                words = f"values of {LARGE_BYTES} bytes, frames of {mtu}, round {number + 1} of {self.rounds}, {who}"
                with turn() if turn else contextlib.nullcontext():
                    row = self.bed.talk_at(words, host, port, "--connections", LARGE_CLIENTS, "--keys", LARGE_KEYS, "--sets", 10,
                                           "--depth", 1, "--value-min", LARGE_BYTES, "--value-max", LARGE_BYTES,
                                           "--connect-ms", LARGE_WARM_MS, "--warm-ms", LARGE_WARM_MS, "--ms", 2 * self.ms,
                                           "--seed", number + 1)
                self.runs.append({"view": view, "who": who, "round": number, "row": row})
        self.bed.end(front)
        rates = {who: [run["row"]["goodput_mbs"] for run in self.runs if run["view"] == view and run["who"] == who]
                 for who, *_ in targets}
        for who, found in rates.items():
            self.keep(f"front_large_100k{name}_mbs" if who == OWN else f"front_{who}_large_100k{name}_mbs", found)
        for who in set(PROXIES) & set(rates):
            self.keep(f"large_100k{name}_vs_{who}", [mine / theirs for mine, theirs in zip(rates[OWN], rates[who])])
        table(f"{LARGE_CLIENTS} clients, values of {LARGE_BYTES} bytes, frames of {mtu}: MB of values a second", ["who", "MB/s"],
              [[who, spread(found, 1)] for who, found in rates.items()])

    # ---- one server killed ----

    def kill(self):
        """Returns the p99 of the other servers' keys before and after one of the four is killed."""
        dead, lines = FIRST_PORT, []
        front = self.bed.start_front("0")
        target = self.targets(front)[0]
        self.ask("kill: storing keys", target, HIT_KEYS, "--fill")
        ratios, rounds = [], KILL_ROUNDS_A_ROUND * self.rounds
        for number in range(rounds):
            with self.bed.turn_of(front):
                rows = []
                for alive in (True, False):
                    if not alive:
                        self.bed.kill_server(dead)
                    words = f"kill, round {number + 1} of {rounds}, {'before' if alive else 'after'}"
                    keys = self.keys_elsewhere(front.host, dead) if alive else keys
                    rows.append(self.bed.clients_program(words, "calm", front.host, PORT,
                                                         CALM_S, *keys))
            self.bed.start_server(dead)
            ratios.append(rows[1]["p99_us"] / rows[0]["p99_us"])
            self.runs.append({"view": "kill", "round": number, "rows": rows})
            lines.append([number + 1, *(row["p99_us"] for row in rows), rows[1]["missed"]])
        self.bed.end(front)
        self.keep("front_kill_p99_ratio", ratios)
        self.figures["front_kill_missed"] = sum(run["rows"][1]["missed"] for run in self.runs if run["view"] == "kill")
        table("One of four servers killed: p99 of the others' keys, us", ["round", "before", "after", "missed"], lines)

    # ---- sole mode ----

    def violations(self):
        """Judges histories of keys while frames are lost, servers are killed and stopped, and the front is
        killed."""
        if not self.bed.keeps_copies:
            self.leave_out("violations", NO_COPIES)
            return
        rounds = QUICK_HISTORY_ROUNDS if self.quick else HISTORY_ROUNDS
        rows = [self.bed.history(f"histories, round {number + 1} of {rounds}", number) for number in range(rounds)]
        self.runs.append({"view": "violations", "rows": rows})
        sums = {name: sum(row[name] for row in rows) for name in ("violations", "get", "miss", "write", "lost", "copied")}
        if sums["get"] < 1000 or sums["lost"] == 0 or sums["copied"] == 0:
            raise Failed(f"violations: nothing was tried: {sums}")
        for fault in (fault for row in rows for fault in row["faults"]):
            print(f"  {fault}", flush=True)
        self.figures |= {"violations": sums["violations"], "violations_calls": sums["get"] + sums["miss"] + sums["write"]}
        table("Sole mode: some frames lost, servers killed and stopped, the front killed",
              ["values returned", "misses", "writes done", "calls without an answer", "by copies", "violations"],
              [[sums[name] for name in ("get", "miss", "write", "lost", "copied", "violations")]])

    # ---- a fleet that grows ----

    def warm(self):
        """Changes four servers to eight and then six, under Zipf's law. Returns the points by which hits drop
        in the worst second, and the values that are too old."""
        for name, options in (("warm_dip_points", HANDS_OVER), ("cold_dip_points", ())):
            with self.bed.growing_front(*options) as front, self.bed.turn_of(front):
                self.grow(name, front)
        with self.bed.growing_front(*HANDS_OVER, "--front-on-failure", "error") as front, self.bed.turn_of(front):
            changes = (*GROWTH, SERVERS) * (QUICK_HISTORY_ROUNDS if self.quick else HISTORY_ROUNDS)
            row = self.bed.grown_history("histories while the list changes", 1, front, changes, HISTORY_PAUSE_S)
            moved = int(self.bed.rows_of(front, "stats counters")["front_handed_over"])
        if row["get"] < 1000 or moved == 0:
            raise Failed(f"warm: nothing was tried: {row}, {moved} keys moved")
        for fault in row["faults"]:
            print(f"  {fault}", flush=True)
        self.runs.append({"view": "warm", "part": "history", "row": row, "moved": moved})
        self.figures |= {"warm_stale": row["violations"], "warm_stale_moved": moved}
        table(f"{SERVERS} servers, then {', then '.join(map(str, GROWTH))}: points by which hits drop in the worst second after each change",
              ["keys are", *(f"to {count}" for count in GROWTH)],
              [[words, *(f"{dip:.2f}" for dip in self.figures[f"{name}_each"])]
               for words, name in (("handed over", "warm_dip_points"), ("not", "cold_dip_points"))])
        print(f"  {row['get']} values returned in histories, {moved} keys handed over, {row['violations']} too old", flush=True)

    def grow(self, name, front):
        span = QUICK_GROWTH_S if self.quick else GROWTH_S
        changes = [(span * (i + 1), count) for i, count in enumerate(GROWTH)]
        row = self.bed.growing_clients(f"{name}: {GROWTH_KEYS} keys", front, GROWTH_KEYS, span * (len(GROWTH) + 1), changes)
        spans = [row["hits"][i:i + span] for i in range(0, len(row["hits"]), span)]
        each = [100 * (statistics.mean(spans[0]) - min(after)) for after in spans[1:]]
        self.figures |= {name: round(max(0, *each), 3), f"{name}_each": [round(dip, 3) for dip in each]}
        self.runs.append({"view": "warm", "part": name, "row": row})

    # ---- shared mode ----

    def staleness(self):
        """Measures how old a front's answers are for keys that another client writes at their servers."""
        if not self.bed.keeps_copies:
            self.leave_out("staleness_max_ms", NO_COPIES)
            return
        front = self.bed.start_front("auto", mode="shared")
        with self.bed.turn_of(front):
            keys = [f"aged{i}" for i in range(AGE_KEYS)]
            places = [f"{key}:{port}" for port in self.bed.ports()
                      for key in sorted(self.bed.store_where(front.host, keys, port))]
            row = self.bed.clients_program("staleness", "age", front.host, PORT,
                                           QUICK_AGE_S if self.quick else AGE_S, AGE_TTL_MS, *places)
        self.bed.end(front)
        self.runs.append({"view": "staleness", "row": row})
        if row["faults"] or len(places) != AGE_KEYS or row["max_ms"] < AGE_TTL_MS / 4:
            raise Failed(f"staleness: {row['faults'] or places or row}")
        self.figures |= {"staleness_max_ms": row["max_ms"], "staleness_violations": row["violations"],
                         "staleness_gets": row["gets"]}
        table(f"Shared mode: keys that another client writes at their servers, copies of {AGE_TTL_MS} ms",
              ["gets", "of them old", "oldest, ms", "too old"],
              [[row["gets"], row["old"], row["max_ms"], row["violations"]]])

    def keys_elsewhere(self, host, port):
        """Returns keys that are not on this server, by storing them through the front and asking the server."""
        keys = [f"calm{i}" for i in range(3 * CALM_KEYS)]
        there = self.bed.store_where(host, keys, port)
        found = [key for key in keys if key not in there][:CALM_KEYS]
        if not there or len(found) < CALM_KEYS:
            raise Failed("keys are not spread over the servers")
        return found


def measure(bed, quick, parts, keep):
    load = FrontLoad(bed, quick)
    load.say_who_is_absent()
    try:
        for part in parts:
            if part in WIRE:
                load.wire(part)
            if part == "hit":
                load.wire_hit()
            if part in KERNEL:
                load.kernel(part)
            else:
                getattr(load, part)()
            keep(load.figures | {"front_runs": load.runs, "front_left_out": load.left_out})
    finally:
        show_wire(load)
    return load.figures | {"front_runs": load.runs, "front_left_out": load.left_out}


def show_wire(load):
    lines = [[part, name, load.figures[name], load.figures[f"{name}_best_tenth"], load.figures[f"front_{part}_core_ns"],
              load.figures[f"front_{part}_busy"], load.figures[f"front_{part}_keys_a_request"]]
             for part, (_, _, _, name) in WIRE.items() if name in load.figures]
    if lines:
        table("Over the wire, where ports cost nothing: one core as a front, copies for Zipf's law only (cpu)",
              ["part", "figure", "M/s", "best tenth", "core ns", "busy", "keys a request"], lines)
