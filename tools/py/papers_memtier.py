"""The part memtier of tools/bench papers: the study's curves. A kernel client measures memcached and redis on loopback;
ours is measured over a wire that copies no frame. Each piece returns points (papers_points.py).
"""

import statistics

import budget
import papers_bed
from papers_bed import KINDS, PapersBed, cpus_of_ours
from papers_points import absent, point
from papers_programs import json_rows
from progress import Step

PART = "memtier"
KEYS = 10_000  # the study has 9,900
OURS = "ours"
DEPTH = 32
SETTINGS = {  # quick, in full
    "connections": ((1, 10, 50, 100, 200), (1, 2, 5, 10, 20, 50, 84, 100, 150, 200)),
    "threads": ((1, 2, 4), (1, 2, 3, 4, 6, 8, 12)), "R": ((1, 20, 100), (1, 5, 20, 100, 1000)),
    "keys": ((1, 10, 100), (1, 2, 5, 10, 20, 50, 100)), "rounds": (2, 5), "few": (1, 5), "ms": (150, 500), "warm_ms": (50, 100)}
LATENCIES = {"mean": "mean_us", "p99": "p99_us"}
STAGES = {"tcp_get": "ours, TCP get", "tcp_pipelined": "ours, TCP get of 32", "udp_get": "ours, UDP get"}
LONG_CONNECTIONS = 50


class Study:
    def __init__(self, folder, quick):
        self.folder, self.quick = folder, quick
        self.points = []

    def setting(self, name):
        return SETTINGS[name][0 if self.quick else 1]

    @property
    def client(self):
        return ("--keys", KEYS, "--warm-ms", self.setting("warm_ms"), "--ms", self.setting("ms"))

    def add(self, figure, series, x, unit, values, times=1.0):
        values = [v * times for v in values]
        if values:
            self.points.append(point(PART, figure, series, x, None, unit, values))

    def lack(self, figure, series, why):
        self.points.append(absent(PART, figure, series, why))

    def wire(self, kind, *options):
        """Returns a row of bench_wire, which needs no namespace."""
        rows = json_rows([self.folder / "tests/bench/net/bench_wire", kind, "--keys", KEYS, "--runs", 1, "--ms", self.setting("ms"), *options])
        return next(row for row in rows if row["part"] == kind)

    def rounds(self, name="few"):
        return range(self.setting(name))


def peers():
    found = []
    if papers_bed.installed("memcached"):
        found.append(papers_bed.memcached(1))
    if papers_bed.installed("redis-server"):
        found.append(papers_bed.redis())
    return found


def by_connections(study, name, found):
    """Returns points of one server. found: {connections: its rows}"""
    for conns, rows in found.items():
        study.add("fig2-rate", name, conns, "thousand requests/s", [r["requests_per_s"] for r in rows], 1e-3)
        rate = statistics.median(r["requests_per_s"] for r in rows) / 1e3
        for words, field in LATENCIES.items():
            study.add(f"fig2-{words}", name, conns, "us", [r[field] for r in rows])
            study.add("fig1", f"{name}, {words}", rate, "us", [r[field] for r in rows])
    good = [statistics.median(r["requests_per_s"] for r in rows) for rows in found.values()
            if statistics.median(r["p99_us"] for r in rows) <= 1000]
    if good:
        study.add("slo", name, "p99 1 ms", "thousand requests/s", [max(good)], 1e-3)
    else:
        study.lack("slo", name, "its p99 passed 1 ms with any number of connections: other work had its CPU")


def our_row(study, conns):
    """Returns a row of ours. Its mean latency follows from Little's law, since each connection has one request in
    flight."""
    row = study.wire("tcp_get", "--connections", conns, "--burst", 12)
    return row | {"mean_us": 1e6 * conns / row["requests_per_s"]}


def connections(folder, quick, options):
    """Measures figures 1, 2 and 3."""
    study = Study(folder, quick)
    conns = study.setting("connections")
    found = {OURS: {c: [] for c in conns}}
    with PapersBed(folder) as bed:
        servers = peers()
        for number in study.rounds("rounds"):
            for c in conns:
                with Step(f"round {number + 1}: {c} connections, ours"):
                    found[OURS][c].append(our_row(study, c))
            for peer in servers:
                with bed.running(peer, keys=KEYS):
                    for c in conns:
                        found.setdefault(peer.name, {}).setdefault(c, []).append(bed.asked(
                            f"round {number + 1}: {c} connections, {peer.name}", peer, "--connections", c, *study.client, cpu=bed.server_cpu))
    for name, of in found.items():
        by_connections(study, name, of)
    for c, rows in found.get("memcached", {}).items():
        for kind in KINDS:
            study.add("fig3", kind, c, "% of the server's CPU", [r["shares"][kind] for r in rows])
        study.add("cpu", "memcached", c, "us of CPU a request", [1e6 * r["server_cpu_s"] / max(1, r["requests"]) for r in rows])
    for c, rows in found[OURS].items():
        study.add("cpu", OURS, c, "us of CPU a request", [r["server_ns"] / 1e3 for r in rows])
    stages(study)
    for name in {"memcached", "redis"} - found.keys():
        study.lack("fig2-rate", name, f"{name} is not installed")
    return study.points


def stages(study):
    with Step("cycles of our requests by stage"):
        for case, words in STAGES.items():
            found = budget.cycles(study.folder / "tests/bench/bench_request", case, 3, keys=KEYS, requests=100_000 if study.quick else 1_000_000)
            for stage, cycles in found["cycle_stages"].items():
                study.add("stages", words, stage, "cycles", [cycles])


def our_two_cores(study):
    """Measures two cores at once, each on its CPU: their rate relative to one core's, in cycles."""
    with Step("two cores"):
        rows = json_rows([study.folder / "tests/bench/net/bench_cores", "--keys", KEYS, "--ms", study.setting("ms")])
    return rows[-1]["two_cores_scaling"]


def threads(folder, quick, options):
    """Measures figures 4, 5 and 6."""
    study = Study(folder, quick)
    counts, found, ours = study.setting("threads"), {}, []
    cpus = cpus_of_ours()
    with PapersBed(folder) as bed:
        for number in study.rounds():
            with Step(f"round {number + 1}: one core"):
                ours.append(our_row(study, LONG_CONNECTIONS))
            for n in counts if papers_bed.installed("memcached") else ():
                peer = papers_bed.memcached(n)
                with bed.running(peer, cpus[:1] if n == 1 else cpus, KEYS):
                    found.setdefault(n, []).append(bed.asked(f"round {number + 1}: memcached, {n} threads", peer, "--connections",
                                                             LONG_CONNECTIONS, *study.client))
        pinning(study, bed)
    rates = [r["requests_per_s"] for r in ours]
    study.add("fig4-rate", OURS, 1, "thousand requests/s", rates, 1e-3)
    study.add("fig4-rate", OURS, 2, "thousand requests/s", [rate * our_two_cores(study) for rate in rates], 1e-3)
    study.add("fig4-p99", OURS, 1, "us", [r["p99_us"] for r in ours])
    for n, rows in found.items():
        study.add("fig4-rate", "memcached", n, "thousand requests/s", [r["requests_per_s"] for r in rows], 1e-3)
        study.add("fig4-p99", "memcached", n, "us", [r["p99_us"] for r in rows])
        for kind in KINDS:
            study.add("fig5", kind, n, "% of all CPUs", [r["shares"][kind] for r in rows])
    return study.points


def pinning(study, bed):
    """Measures figure 6: memcached's two threads, and our core over vhost, pinned to CPUs or free to run on both."""
    cpus = cpus_of_ours()[:2]
    server = bed.start_vhost()
    bed.load("storing keys, ours", server, "--fill-only", "--keys", KEYS)
    rows = {}
    for number in study.rounds():
        for words in ("pinned", "not pinned"):
            bed.pin(server.pid, cpus[:1] if words == "pinned" else cpus)
            found = bed.load(f"round {number + 1}: ours, {words}", server, "--no-fill", "--keys", KEYS, "--transport", "tcp", "--connections",
                             LONG_CONNECTIONS, "--seconds", study.setting("ms") / 1e3, "--warmup", study.setting("warm_ms") / 1e3)
            rows.setdefault((OURS, words), []).append(found)
            peer = papers_bed.memcached(2)
            if papers_bed.installed("memcached"):
                with bed.running(peer, cpus, KEYS):
                    if words == "pinned":
                        bed.pin_workers(peer.pid, cpus)
                    rows.setdefault(("memcached", words), []).append(bed.asked(
                        f"round {number + 1}: memcached, {words}", peer, "--connections", LONG_CONNECTIONS, *study.client))
    bed.end(server)
    for (name, words), of in rows.items():
        study.add("fig6", name, words, "thousand requests/s", [r["requests_per_s"] for r in of], 1e-3)
        study.add("fig6-p99", name, words, "us", [r["p99_us"] for r in of])


def groups(folder, quick, options):
    """Measures figure 7: -R, and keys of a multi-get."""
    study = Study(folder, quick)
    with PapersBed(folder) as bed:
        for group in study.setting("R"):
            by_group(study, bed, group)
        found = {}
        servers = peers()
        for number in study.rounds():
            for keys in study.setting("keys"):
                with Step(f"round {number + 1}: ours, {keys} keys a get"):
                    found.setdefault((OURS, keys), []).append(study.wire("multiget", "--multiget", keys, "--depth", 1))
            for peer in servers:
                with bed.running(peer, keys=KEYS):
                    for keys in study.setting("keys"):
                        found.setdefault((peer.name, keys), []).append(bed.asked(
                            f"round {number + 1}: {peer.name}, {keys} keys a get", peer, "--connections", LONG_CONNECTIONS, "--multiget", keys,
                            "--sets", 0, *study.client))
    for (name, keys), rows in found.items():
        study.add("fig7-keys", name, keys, "million keys/s", [r["keys_per_s"] for r in rows], 1e-6)
    return study.points


def by_group(study, bed, group):
    rows = {OURS: [], "memcached": []}
    server = bed.start_vhost("-R", str(group))
    bed.load("storing keys, ours", server, "--fill-only", "--keys", KEYS)
    peer = papers_bed.memcached(1, "-R", group)
    for number in study.rounds():
        rows[OURS].append(bed.load(f"round {number + 1}: ours, -R {group}", server, "--no-fill", "--keys", KEYS, "--transport", "tcp",
                                   "--connections", LONG_CONNECTIONS, "--depth", DEPTH, "--seconds", study.setting("ms") / 1e3, "--warmup",
                                   study.setting("warm_ms") / 1e3))
        if papers_bed.installed("memcached"):
            with bed.running(peer, keys=KEYS):
                rows["memcached"].append(bed.asked(f"round {number + 1}: memcached, -R {group}", peer, "--connections", LONG_CONNECTIONS,
                                                   "--depth", DEPTH, *study.client))
    bed.end(server)
    for name, of in rows.items():
        study.add("fig7-R", name, group, "thousand requests/s", [r["requests_per_s"] for r in of], 1e-3)


OTHER_WORK = {"TCP gets": ("tcp_get", ("--connections", 50, "--burst", 12), ()), "32 in a pipeline": ("tcp_pipelined", ("--depth", 32), ("--depth", 32))}


def others(folder, quick, options):
    """Returns points of the part beyond: the same requests to every server that is installed or given by path."""
    study, found = Study(folder, quick), {}
    with PapersBed(folder) as bed:
        servers = peers() + [papers_bed.given(name, path, bed.folder) for name, path in options.get("servers", {}).items()]
        for number in study.rounds():
            for work, (kind, wire, _) in OTHER_WORK.items():
                with Step(f"round {number + 1}: {work}, ours"):
                    found.setdefault((OURS, work), []).append(study.wire(kind, *wire))
            for peer in servers:
                with bed.running(peer, keys=KEYS):
                    for work, (_, _, ask) in OTHER_WORK.items():
                        found.setdefault((peer.name, work), []).append(bed.asked(f"round {number + 1}: {work}, {peer.name}", peer, *ask, *study.client))
    points = [point("beyond", "servers", name, work, None, "thousand requests/s", [r["requests_per_s"] / 1e3 for r in rows])
              for (name, work), rows in found.items()]
    if not any(name.startswith("pelikan") for name in options.get("servers", {})):
        points.append(absent("beyond", "servers", "pelikan", "Pelikan is no package of Debian 12: --server pelikan=PATH of its pelikan-segcache (tests/bench/papers/README.md)"))
    return points
