"""tools/bench front, the parts cost and tls: the processor time of a request, of the front and of each proxy.

cost: loads that differ in keys, clients and servers; the front keeps copies as it does by default. A figure
cpu_vs_PROXY_LOAD is the front's time by the proxy's, over kernel ports; cpu_own_vs_PROXY_LOAD that of its own code
in busy turns (core_busy_ns without the kernel's share of it), by all of the proxy's: a core without work polls on. tls: clients speak TLS, servers do not.
"""

import contextlib
import json
import sys

import tls_bench
from bench_figures import spread, table

KEYS, ZIPF, DEPTH, CLIENTS = 200_000, 0.99, 8, 50
CLIENTS_MAX = 6144
FEW = 4  # servers, unless a load says otherwise
# name: clients, requests of each at a time, keys, ask's further options, servers
LOADS = {
    "even": (CLIENTS, DEPTH, KEYS, (), FEW),
    "zipf": (CLIENTS, DEPTH, KEYS, ("--zipf", ZIPF), FEW),
    "hot": (CLIENTS, DEPTH, 1, (), FEW),
    "keys_100": (CLIENTS, 1, KEYS, ("--multiget", 100), FEW),
    "clients_1000": (1000, 1, KEYS, (), FEW),
    "clients_5000": (5000, 1, KEYS, (), FEW),
    "servers_32": (CLIENTS, DEPTH, KEYS, (), 32),
    "servers_200": (CLIENTS, DEPTH, KEYS, (), 200),
}
WARM_MS = 200


def cost(load):
    """Runs all loads. Prints and keeps the processor time of a request."""
    lines = []
    for count in sorted({row[-1] for row in LOADS.values()}):
        with contextlib.ExitStack() as ends:
            ports = ends.enter_context(load.bed.servers_to(count))
            peers = load.bed.peers if count == FEW else ends.enter_context(load.bed.proxies_of(ports, 11300 - count))
            front = load.bed.start_front("auto" if load.bed.keeps_copies else None, ports, "shared", "-c", str(CLIENTS_MAX))
            ends.callback(load.bed.end, front)
            targets = load.targets(front, peers)
            for target in targets:
                load.ask(f"{count} servers: storing {KEYS} keys, {target[0]}", target, KEYS, "--fill", "--depth", 32)
            if load.bed.keeps_copies:
                load.bed.await_copies(front)
            lines += [line_of(load, name, targets) for name, row in LOADS.items() if row[-1] == count]
    table("Processor time of a request over kernel ports, us; in brackets its own code's", ["load", "front", *load.proxies_here()], lines)


def line_of(load, name, targets):
    us = {target[0]: [] for target in targets}
    clients, depth, keys, options, _ = LOADS[name]
    for number in range(load.rounds):
        for target in targets:
            before = used(load, target)
            row = load.ask(f"{name}, round {number + 1} of {load.rounds}, {target[0]}", target, keys, "--connections", clients, "--depth",
                           depth, "--sets", 0, "--warm-ms", WARM_MS, "--ms", load.ms, "--seed", number, *options)
            took = {what: s - before[what] for what, s in used(load, target).items()}
            whole = 1e6 * row["server_cpu_s"] / (row["requests_per_s"] * row["seconds"])
            own = min(took["own"], max(took["busy"] - took["kernel"], 0)) if "busy" in took else took["own"]
            us[target[0]].append((whole, whole * own / max(took["own"] + took["kernel"], 1e-9)))
            load.runs.append({"view": "cost", "part": name, "round": number, "who": target[0], "row": row})
    ours = us.pop(targets[0][0])
    for who, theirs in us.items():
        load.keep(f"cpu_vs_{who}_{name}", [mine[0] / their[0] for mine, their in zip(ours, theirs)])
        load.keep(f"cpu_own_vs_{who}_{name}", [mine[1] / their[0] for mine, their in zip(ours, theirs)])
    return [name, *(f"{spread((one[0] for one in found), 2)} ({spread((one[1] for one in found), 2)})" for found in (ours, *us.values()))]


def used(load, target):
    """Returns the CPU seconds that the target used so far; of a front those of its busy turns, too."""
    _, host, _, pid, turn = target
    if turn is None:
        return load.bed.cpu_now(pid)
    with turn():
        return load.bed.cpu_now(pid) | {"busy": load.bed.busy_s(host)}


def tls(load):
    """Gets over TLS in pipelines of 100, thousands by the second of processor time."""
    folder = load.bed.certificates()
    words = ["-Z", "-o", f"ssl_chain_cert={folder}/used.pem,ssl_key={folder}/used.key"]
    front = load.bed.start_front("0" if load.bed.keeps_copies else None, None, "shared", "-U", "0", *words)
    peers = load.bed.tls_proxies(words)
    targets = load.targets(front, peers)
    if not peers:
        load.leave_out("tls of memcached's proxy", "no --memcached PATH of a build with --enable-proxy and --enable-tls")
    with load.bed.turn_of(front):
        row = json.loads(load.bed.inside_run("tls: all in turns", sys.executable, "-B", tls_bench.__file__, folder,
                                             "quick" if load.quick else "full",
                                             *(f"{who}={host}:{port}:{pid}" for who, host, port, pid, _ in targets)).splitlines()[-1])
    load.bed.end(front)
    load.runs.append({"view": "tls", "row": row})
    load.keep("tls_front_kops", row["front"])
    for who in set(row) - {"front"}:
        load.keep(f"tls_{who}_kops", row[who])
        load.keep(f"tls_front_vs_{who}", [mine / theirs for mine, theirs in zip(row["front"], row[who])])
    table("Clients that speak TLS, pipelines of 100 gets: thousand gets by the second of processor time", ["who", "kops"],
          [[who, spread(found, 1)] for who, found in row.items()])
