"""The parts of tools/bench store: each runs a program of tests/bench/store, prints its table and keeps its
figures by name.

Counts do not depend on other processes, so programs that only count start first and run beside each
other (Bench.ahead). Programs that measure time run afterwards, alone.
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import policy_bench
import referee_bench
import sizes_bench
import told_bench
import traces_bench
from bench_figures import Figures, bar, spread, table
from progress import Failed, Step
from sizes_bench import STORE_MIN_BYTES

PROGRAMS = ("bench_fill", "bench_get", "bench_mixed", "bench_space", "bench_miss", "bench_policy",
            "bench_churn", "bench_grow", "bench_sizes", "bench_expiry", "bench_set",
            "bench_turns")
OWN = "clockoo"
MISS_KEYS = 1_310_720
WORKING_SET_BYTES = 64  # bytes that the part miss counts for a key of the working set
# glibc then has huge pages under the heap, so that all tables have the same pages.
HUGE_HEAP = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
COUNTS_AT_ONCE_MAX = 4  # a count takes up to 2 GB
LOOK_S = 0.1


class Job:
    """A running program of the benches. note: its last line of progress. done: the future of its rows by part."""

    def __init__(self, command, mebibytes_of_peer=None):
        self.command, self.mebibytes_of_peer = command, mebibytes_of_peer
        self.note, self.done, self._child = "", None, None
        self._stopped = False

    def run(self):
        if self.mebibytes_of_peer is None:
            return self._rows(self.command)
        with memcached(self.mebibytes_of_peer) as socket:
            return self._rows([*self.command, "--peer", str(socket)])

    def stop(self):
        self._stopped = True
        if self._child is not None:
            self._child.terminate()

    def _rows(self, command):
        found, last = collections.defaultdict(list), ""
        with tempfile.TemporaryFile("w+") as out:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.PIPE, text=True, errors="replace",
                                  env={**os.environ, **HUGE_HEAP}) as child:
                self._child = child
                if self._stopped:
                    child.terminate()
                for line in child.stderr:
                    last = line.strip()[:80]
                    self.note = bar(last)
            if child.returncode != 0:
                raise Failed(f"{' '.join(command)}: status {child.returncode}, last words: {last}")
            out.seek(0)
            for line in out:
                row = json.loads(line)
                found[row["part"]].append(row)
        return found


class Steered:
    """A bench_set that measures what it is asked for: with Steered(program, *args) as sets."""

    def __init__(self, program, *args):
        self._command = [str(program), *map(str, args), "--steered"]

    def __enter__(self):
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True,
                                       env={**os.environ, **HUGE_HEAP})
        return self

    def __exit__(self, *_):
        self._child.terminate()
        self._child.communicate()

    def ready(self):
        self._answer()

    def ns(self, what):
        self.ask(what)
        return self.told()

    def ask(self, what):
        self._child.stdin.write(f"{what}\n")
        self._child.stdin.flush()

    def told(self):
        return self._answer()["ns"]

    def _answer(self):
        line = self._child.stdout.readline()
        if not line:
            raise Failed(f"{' '.join(self._command)}: no answer, status {self._child.wait()}")
        return json.loads(line)


class Bench(Figures):
    """A run of tools/bench store: with Bench(folder, quick) as bench. Programs that still run at the end are ended.
    before: the folder of the programs of another tree, with which ours take turns. referee: libCacheSim
    (referee_bench.py), or None."""

    def __init__(self, folder, quick, trace=None, before=None, referee=None):
        self.folder, self.quick, self.trace, self.before = folder, quick, trace, before
        self.referee, self._traces = referee, tempfile.TemporaryDirectory(prefix="clockoo-traces-")
        self.apart = referee_bench.Apart()
        self.runs = 3 if quick else 5
        super().__init__()
        self._jobs, self._ahead = [], {}
        self._pool = concurrent.futures.ThreadPoolExecutor(min(os.cpu_count(), COUNTS_AT_ONCE_MAX))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for job in self._jobs:
            job.done.cancel()
            job.stop()
        self._pool.shutdown()
        self._traces.cleanup()

    def trace_file(self, trace):
        """Returns the path of a generated trace, which the referee reads before the trace is measured."""
        return pathlib.Path(self._traces.name) / f"{trace}.bin"

    def ahead(self, count):
        """Starts a count (program, arguments, the peer's MB or None) in the background."""
        self._ahead[count] = self._start(*count)

    def counted(self, words, count):
        """Returns the rows of a count, by their part."""
        if count not in self._ahead:
            self.ahead(count)
        return self._wait(words, self._ahead[count])

    def rows(self, words, program, *args):
        """Runs a program after all counts have ended. Returns the rows that it prints, by their part."""
        return self._wait(words, self._start(program, args))

    def _start(self, program, args, mebibytes_of_peer=None):
        job = Job([str(self.folder / program), *map(str, args)], mebibytes_of_peer)
        self._jobs.append(job)
        job.done = self._pool.submit(job.run)
        return job

    def _wait(self, words, job):
        with Step(words) as step:
            while True:
                try:
                    return job.done.result(timeout=LOOK_S)
                except concurrent.futures.TimeoutError:
                    # While the program waits for its turn, show the one that runs.
                    step.note = job.note or next((other.note for other in self._jobs
                                                  if other.note and not other.done.done()), "")


def space_counts(quick):
    return {shift: ("bench_fill", ("--slots-shift", shift), None)
            for shift in (20, 22 if quick else 24)}


def space(bench):
    lines = []
    for shift, count in space_counts(bench.quick).items():
        row = bench.counted(f"filling 2^{shift} slots", count)["space"][0]
        occupancy = bench.keep(f"index_occupancy_2_{shift}", [row["items"] / row["slots"]], 5)
        a_key = bench.keep(f"index_bytes_per_key_2_{shift}", [row["index_bytes"] / row["items"]])
        moves = row["moves"] / row["items"]
        lines.append([f"2^{shift}", row["slots"], f"{100 * occupancy:.2f} %", a_key, f"{moves:.3f}"])
    bench.figures["index_occupancy"] = occupancy  # the larger table's
    bench.figures["index_bytes_per_key"] = a_key
    table("Space: filled until an insert found no place (MemC3: 95 %, 9.46 bytes a key)",
          ["slots", "exactly", "occupancy", "bytes a key", "moves an insert"], lines)


def insert(bench):
    shift = 20 if bench.quick else 24
    by_step = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in range(bench.runs):
        for writers in (1, 2):
            rows = bench.rows(f"inserts, {writers} writers, run {run + 1} of {bench.runs}",
                              "bench_fill", "--slots-shift", shift, "--writers", writers)
            for row in rows["insert"]:
                by_step[row["from"], row["to"]][writers].append(row["ns"])
    lines = []
    for (low, high), by_writers in sorted(by_step.items()):
        line = [f"{low / 10:g}..{high / 10:g} %"]
        for writers in (1, 2):
            ns = by_writers.get(writers)
            if not ns:
                line += ["-", "-"]
                continue
            bench.keep(f"insert_ns_{writers}w_at_{high}", ns, 1)
            line += [spread(ns, 0), f"{writers * 1e3 / statistics.median(ns):.2f}"]
        lines.append(line)
    table(f"Insert: a whole set of a key that is not there, 2^{shift} slots (ns of its thread's CPU)",
          ["slots in use", "1 writer ns", "M/s", "2 writers ns", "M/s"], lines)


def get_lines(bench, by, kind, threads):
    """Returns the lines of one table. Keeps our figures relative to the best competitor, and to the baselines."""
    ours = {t: v for t, v in by[kind, threads].items() if t.startswith(OWN)}
    mine = ours[max(ours, key=lambda t: statistics.median(ours[t]["mops"]))]
    others = {t: v for t, v in by[kind, threads].items() if t not in ours}
    to_beat = {t: v for t, v in others.items() if not v["baseline"]}
    best = max(to_beat, key=lambda t: statistics.median(to_beat[t]["mops"]))
    suffix = "" if threads == 1 else f"_{threads}t"
    baselines = [t for t in others if others[t]["baseline"]]
    for name, rival in [("best", best), *(("boost", t) for t in baselines)]:
        ratios = [a / b for a, b in zip(mine["mops"], others[rival]["mops"])]
        bench.keep(f"get_{kind}_vs_{name}{suffix}", ratios)
    bench.figures[f"get_{kind}_best{suffix}"] = best
    for t, values in by[kind, threads].items():
        bench.keep(f"get_{kind}_mops_{t.replace(' ', '_')}{suffix}", values["mops"], 2)
    return best


def get_filled(bench, rows):
    """Keeps ours relative to the best competitor in tables as the last insert left them, with all overflow bits set by
    then."""
    for kind in ("hit", "miss"):
        by = collections.defaultdict(list)
        for row in rows:
            if row["kind"] == kind and not row["baseline"]:
                by[row["table"]].append(row["mops"])
        mine = max((t for t in by if t.startswith(OWN)), key=lambda t: statistics.median(by[t]))
        best = max((t for t in by if not t.startswith(OWN)), key=lambda t: statistics.median(by[t]))
        bench.keep(f"get_{kind}_vs_best_filled", [a / b for a, b in zip(by[mine], by[best])])


def get(bench):
    keys, lookups = (1_000_000, 200_000) if bench.quick else (17_000_000, 2_000_000)
    rows = bench.rows(f"gets among {keys / 1e6:g} million keys", "bench_get", "--keys", keys,
                      "--lookups", lookups, "--runs", bench.runs)
    by = collections.defaultdict(dict)
    for row in rows["get"]:
        entry = by[row["kind"], row["threads"]].setdefault(row["table"], {"baseline": row["baseline"],
                                                                          "mops": []})
        entry["mops"].append(row["mops"])
    depth, pages = rows["chosen"][0]["depth"], rows["pages"][0]
    bench.figures["get_depth"], bench.figures["get_keys"] = depth, keys
    bench.keep("get_huge_share", [pages["huge_kb"] / max(1, pages["rss_kb"])])
    combos = [(k, t) for k in ("hit", "miss", "touch") for t in (1, 2)]
    best = {combo: get_lines(bench, by, *combo) for combo in combos}
    get_filled(bench, rows["get_filled"])
    lines = []
    for t in by["hit", 1]:
        lines.append([t + (" (baseline)" if by["hit", 1][t]["baseline"] else "")] +
                     [spread(by[combo][t]["mops"]) for combo in combos])
    if not any(t == "libcuckoo" for t in by["hit", 1]):
        lines.append(["libcuckoo"] + ["not given"] * len(combos))
    ratios = ["ours by the best"]
    for kind, threads in combos:
        suffix = "" if threads == 1 else f"_{threads}t"
        ratios.append(f"{bench.figures[f'get_{kind}_vs_best{suffix}']:.2f}")
    lines += [ratios, ["the best"] + [best[combo] for combo in combos]]
    table(f"Get: {keys / 1e6:g} million 16-byte keys, random, million lookups a second of CPU;\n"
          f"{bench.figures['get_huge_share'] * 100:.0f} % of memory in 2 MB pages (THP) for all; "
          "touch: the value is read too",
          ["table"] + [f"{k} {t}t" for k, t in combos], lines)
    table("Keys we have on the way at once (hits, 1 thread); the best is used above",
          [r["depth"] for r in rows["depth"]], [[f"{r['mops']:.1f}" for r in rows["depth"]]])


def mixed(bench):
    keys, operations = (500_000, 125_000) if bench.quick else (10_000_000, 2_000_000)
    rows = bench.rows("gets beside inserts", "bench_mixed", "--keys", keys, "--operations",
                      operations, "--runs", bench.runs)
    by = collections.defaultdict(list)
    for row in rows["mixed"]:
        by[row["share"]].append(row)
    base = [row["get_ns"] for row in by[0]]
    lines = []
    for share, measured in sorted(by.items()):
        rate = bench.keep(f"get_rate_at_{share}_inserts",
                          [b / row["get_ns"] for b, row in zip(base, measured)])
        bench.keep(f"mixed_operation_ns_at_{share}", [r["operation_ns"] for r in measured], 1)
        lines.append([f"{share} %", spread(r["get_ns"] for r in measured), f"{rate:.2f}",
                      spread((r["insert_ns"] for r in measured), 0),
                      f"{2e3 / statistics.median(r['operation_ns'] for r in measured):.1f}"])
    table(f"Gets beside inserts, 2 threads, {keys / 1e6:g} million keys (MemC3, figures 6b and 7)",
          ["inserts", "ns a get", "get rate by that at 0 %", "ns an insert", "M operations/s"], lines)


@contextlib.contextmanager
def memcached(mebibytes):
    """Runs a memcached on a Unix socket. It ends when we do."""
    with tempfile.TemporaryDirectory(prefix="clockoo-bench-") as folder:
        socket = pathlib.Path(folder) / "socket"
        # memcached refuses to run as root. The death signal is set last, because changing the user clears it.
        user = []
        if os.geteuid() == 0:
            os.chmod(folder, 0o777)
            user = ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
        command = ["setpriv", *user, "--pdeathsig", "KILL", "memcached", "-s", str(socket), "-U",
                   "0", "-t", "1", "-R", "1000", "-m", str(mebibytes)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            try:
                yield socket
            finally:
                child.kill()


def memory_counts(quick):
    """Returns counts by mebibytes, ours and memcached's. The longest comes first, so that the others run beside it."""
    return {mebibytes: [("bench_space", ("--memory", mebibytes), peer)
                        for peer in (mebibytes, None)]
            for mebibytes in ((1024, 64) if quick else (1024, 256, 64))}


def memory(bench):
    lines = []
    for mebibytes, (theirs, ours) in sorted(memory_counts(bench.quick).items()):
        name = "1g" if mebibytes == 1024 else f"{mebibytes}m"
        line = [f"-m {mebibytes}"]
        for who, words, count in (("", "the store", ours), ("memcached_", "memcached", theirs)):
            row = bench.counted(f"items in {words} -m {mebibytes}", count)["memory"][0]
            bench.keep(f"{who}bytes_per_item_{name}", [row["bytes_per_item"]], 2)
            bench.keep(f"{who}rss_per_item_{name}", [row["rss_per_item"]], 2)
            bench.figures[f"{who}items_{name}"] = row["items"]
            line += [row["items"], f"{row['bytes_per_item']:.1f}", f"{row['rss_per_item']:.1f}"]
        lines.append(line)
    table("Memory: items of a 16-byte key and a 32-byte value until it evicts; bytes an item are\n"
          "the budget and what is not in it (our tables a core, memcached's hash table), by the items",
          ["", "items", "bytes/item", "RSS/item", "memcached", "bytes/item", "RSS/item"], lines)


def miss_is_valid(quick, only=None):
    """Yields for each share of the working set: keys, kilobytes, and the counts to measure."""
    operations = 500_000 if quick else 10_000_000
    counts = {}
    for share in (0.2, 0.6) if quick else (0.025, 0.05, 0.1, 0.2, 0.4, 0.6):
        if only is not None and f"{share * 100:g}" != only:
            continue
        # Few keys, so that even a large cache changes its contents while it warms up, but enough for the store's least
        # memory, 8 MB.
        keys = max(0 if quick else MISS_KEYS, round(STORE_MIN_BYTES / (WORKING_SET_BYTES * share)))
        kilobytes = max(STORE_MIN_BYTES, int(keys * WORKING_SET_BYTES * share)) >> 10
        args = ("--keys", keys, "--memory", kilobytes, "--operations", operations)
        whos = {"": None, " of memcached": max(1, round(kilobytes / 1024))}
        if quick and share != 0.2:
            del whos[" of memcached"]
        counts[share] = (keys, kilobytes, {w: ("bench_miss", args, peer) for w, peer in whos.items()})
    return counts


def miss(bench, only=None):
    whos = (OWN, "LRU, equal items", "LRU, equal bytes", "memcached")
    lines = []
    for share, (keys, kilobytes, counts) in miss_is_valid(bench.quick, only).items():
        rows = []
        for words, count in counts.items():
            rows += bench.counted(f"misses{words} at {share * 100:g} %", count)["miss"]
        by = {row["who"]: row for row in rows}
        line = [f"{share * 100:g} %", f"{kilobytes / 1024:.0f} MB", f"{keys / 1e6:.2f}"]
        for who in whos:
            if who not in by:
                line += ["-", "-"]
                continue
            name = who.replace(", ", "_").replace(" ", "_")
            bench.keep(f"miss_{name}_at_{share * 100:g}", [by[who]["miss"]])
            line += [f"{by[who]['miss']:.2f} %", by[who]["items"]]
        lines.append(line)
    table("Misses: Zipf 0.99, 95 % gets, 16-byte keys, 32-byte values\n"
          "(MemC3, table 3); cache in parts of the working set at 64 bytes a key",
          ["cache", "", "M keys"] + [w for who in whos for w in (f"{who}", "items")], lines)


def expiry_counts(quick):
    args = ("--memory", 32, "--rounds", 4 if quick else 16)
    return [("bench_expiry", args, None), ("bench_expiry", (*args, "--probation"), None)]


def expiry(bench):
    lines = []
    for suffix, count in zip(("", "_2q"), expiry_counts(bench.quick)):
        by = {row["who"]: row for row in bench.counted("items that expire", count)["expiry"]}
        hit = {who: row["hit"] for who, row in by.items()}
        left_out = bench.keep(f"ttl_pressure_hits_vs_no_ttl{suffix}",
                              [hit["expiring"] / hit["left out"]], 3)
        deleted = bench.keep(f"ttl_pressure_hits_vs_deleted{suffix}",
                             [hit["expiring"] / hit["deleted"]], 3)
        dead = bench.keep(f"ttl_pressure_expired_share{suffix}", [by["expiring"]["dead"]], 4)
        lines.append([suffix[1:] or "clock", *(f"{100 * hit[who]:.2f} %" for who in by),
                      f"{left_out:.3f}", f"{deleted:.3f}", f"{100 * dead:.1f} %"])
    table("Expiry under pressure: half of all sets have a TTL of 3 s; hits of the keys without, beside\n"
          "stores where the others are never set, or deleted in the second in which they would expire",
          ["", "left out", "deleted", "expiring", "by the first", "by the second", "expired"], lines)


def churn(bench):
    mebibytes, operations = (16, 2_000_000) if bench.quick else (256, 200_000_000)
    rows = bench.rows("churn", "bench_churn", "--memory", mebibytes, "--operations",
                      operations)["churn"]
    fresh = {row["size"]: row for row in rows if row["what"] == "fresh"}
    lines, worst_hit, worst_filled, refused = [], 1.0, 1.0, 0
    for row in (r for r in rows if r["what"] == "churned"):
        hit = row["hit"] / fresh[row["size"]]["hit"]
        filled = row["filled"] / fresh[row["size"]]["filled"]
        worst_hit, worst_filled = min(worst_hit, hit), min(worst_filled, filled)
        refused = row["refused"]
        lines.append([row["size"], f"{100 * row['hit']:.2f} %", f"{hit:.3f}",
                      f"{100 * row['filled']:.2f} %", f"{filled:.3f}", row["refused"], row["waits"],
                      row["turn_max_us"], f"{row['turns_long']}/{row['turns']}",
                      row["set_max_us"], f"{row['sets_long']}/{row['sets']}"])
    bench.keep("churn_worst_hit_vs_fresh", [worst_hit])
    bench.keep("churn_worst_occupancy_vs_fresh", [worst_filled])
    bench.figures["churn_out_of_memory"] = refused
    bench.figures["churn_waits_of_a_turn"] = rows[-1]["waits"]
    bench.keep("churn_turn_max_us", [max(r["turn_max_us"] for r in rows)], 1)
    bench.figures["churn_turns_over_100us"] = sum(r["turns_long"] for r in rows)
    bench.figures["churn_sets_over_100us"] = sum(r["sets_long"] for r in rows)
    bench.keep("churn_set_max_us", [max(r["set_max_us"] for r in rows)], 1)
    table(f"Churn: {operations / 1e6:g} million operations in {mebibytes} MB; after each shift, beside\n"
          "a store that never saw another size",
          ["value bytes", "hits", "by fresh", "filled", "by fresh", "refused", "waits", "longest turn us",
           "over 100", "longest set us", "over 100"], lines)


def grow(bench):
    mebibytes = 32 if bench.quick else 256
    rows = bench.rows("growing and shrinking", "bench_grow", "--memory", mebibytes)["grow"]
    lines = []
    for row in rows:
        for kind in ("turn", "set", "get"):
            lines.append([f"{row['phase']}: {kind}s", row[f"{kind}s"], row[f"{kind}_mean_ns"],
                          row[f"rest_{kind}_mean_ns"], row[f"{kind}_tail_us"],
                          row[f"rest_{kind}_tail_us"], row[f"{kind}_max_us"],
                          row[f"rest_{kind}_max_us"], row[f"{kind}s_long"]])
    fill, large, back = rows
    bench.keep("grow_turn_tail_us", [fill["turn_tail_us"]], 1)
    bench.keep("grow_turn_max_us", [fill["turn_max_us"]], 1)
    bench.keep("grow_set_max_us", [fill["set_max_us"]], 1)
    bench.keep("grow_get_vs_rest", [fill["get_mean_ns"] / fill["rest_get_mean_ns"]])
    bench.figures["grow_forgotten_before_full"] = fill["early_forgotten"]
    bench.keep("grow_index_bytes_per_item", [fill["index_bytes_per_item"]])
    bench.keep("grow_index_shrunk_to", [large["index_bytes"] / fill["index_bytes"]])
    bench.keep("grow_forgotten_on_the_way_back", [back["forgotten"] / fill["linked"]], 5)
    table(f"An index that follows its items, {mebibytes} MB; while it is resized, and at rest",
          ["", "count", "mean ns", "at rest", "1 in 1000 us", "at rest", "longest us", "at rest",
           "over 100"], lines)
    table("and then", ["", "items", "index bytes an item", "slots used", "forgotten"],
          [[row["phase"], row["items"], row["index_bytes_per_item"],
            f"{100 * row['occupancy']:.1f} %", row["forgotten"]] for row in rows])


def turns(bench):
    """Measures turns. A turn's own time is the least of equal runs: time that only some runs have is the
    host's."""
    args = ("--memory", 16, "--turns", 4000) if bench.quick else ("--memory", 64, "--turns", 20000)
    rows = bench.rows("turns", "bench_turns", *args, "--runs", bench.runs)["turns"]
    host = {row["phase"]: row for row in rows}.pop("host")
    phases = [row for row in rows if row["phase"] != "host"]
    for row in phases:
        bench.keep(f"turn_{row['phase']}_p9999_us", [row["p9999_us"]], 1)
        bench.keep(f"turn_{row['phase']}_max_us", [row["max_us"]], 1)
    bench.keep("turn_p9999_us", [max(row["p9999_us"] for row in phases)], 1)
    bench.keep("turn_max_us", [max(row["max_us"] for row in phases)], 1)
    for limit in (50, 100):
        for who in ("ours", "one_run"):
            name = f"over_{limit}us_{who}"
            bench.figures[f"turns_{name}"] = sum(row[name] for row in phases)
    table("Turns of 64 operations and the store's upkeep, us; a turn's own time is the least of "
          f"{bench.runs}\nequal runs, beside it what one run saw. In all: {host['switches']} "
          f"involuntary context switches, {host['faults']} page faults",
          ["", "turns", "median", "1 in 100", "1 in 10,000", "longest", "over 50", "over 100",
           "one run: 1 in 10,000", "longest", "over 50", "over 100"],
          [[row["phase"], row["turns"], row["p50_us"], row["p99_us"], row["p9999_us"], row["max_us"],
            row["over_50us_ours"], row["over_100us_ours"], row["one_run_p9999_us"],
            row["one_run_max_us"], row["over_50us_one_run"], row["over_100us_one_run"]]
           for row in phases])


SETS = ("new", "new_2t", "new_alone", "overwrite", "overwrite_2t", "overwrite_alone", "get")


def ns_of_both(programs, what):
    """Returns the mean of two processes at once, which is the best that two threads can reach that share nothing."""
    for program in programs:
        program.ask(what)
    return statistics.mean(program.told() for program in programs)


def sets(bench):
    """Compares our sets with those of the tree before, by turns; each is first in every other round."""
    mebibytes, operations, rounds = (32, 32768, 5) if bench.quick else (256, 65536, 31)
    folders = [bench.folder] + ([bench.before] if bench.before is not None else [])
    ns = {what: [[] for _ in folders] for what in SETS}
    apart = {"new": [], "overwrite": []}
    with contextlib.ExitStack() as stack, Step("sets") as step:
        programs = [stack.enter_context(Steered(folder / "bench_set", "--memory", mebibytes,
                                                "--operations", operations)) for folder in folders]
        beside = stack.enter_context(Steered(bench.folder / "bench_set", "--memory", mebibytes,
                                             "--operations", operations))
        for program in (*programs, beside):
            program.ready()
        for turn in range(rounds):
            step.note = bar(f"rounds {100 * turn // rounds} %")
            for what in SETS:
                for i in sorted(range(len(programs)), reverse=turn % 2 == 1):
                    ns[what][i].append(programs[i].ns(what))
                if what in apart:
                    apart[what].append(ns_of_both((programs[0], beside), what))
    lines = []
    for what, (ours, *before) in ns.items():
        name = {"new": "new_full"}.get(what, what)
        bench.keep(f"set_{name}_ns" if what != "get" else "set_get_ns", ours, 1)
        line = [what.replace("_", " "), spread(ours)]
        if before:
            ratio = [a / b for a, b in zip(ours, before[0])]
            bench.keep("set_new_full_ns_vs_before" if what == "new" else f"set_{name}_vs_before", ratio)
            line += [spread(before[0]), spread(ratio, 3)]
        lines.append(line)
    for what, processes in apart.items():
        one, threads = ns[what][0], ns[f"{what}_2t"][0]
        name = {"new": "set"}.get(what, f"set_{what}")
        bench.keep(f"set_{what}_2t_by_1t", [2 * a / b for a, b in zip(one, threads)])
        bench.keep(f"set_{what}_2p_by_1p", [2 * a / b for a, b in zip(one, processes)])
        bench.keep(f"{name}_two_threads_vs_two_processes", [a / b for a, b in zip(processes, threads)])
        lines.append([f"{what}, two processes", spread(processes)] + [""] * (2 * len(folders) - 2))
    table(f"Sets, {mebibytes} MB, 16-byte keys, 32-byte values, ns of CPU: of new keys in a full store, and over\n"
          "what is there in one that evicts nothing; in bursts of 32 as lib/serve has them, or alone",
          ["", "ns", "before", "by that"][:2 + 2 * (len(folders) - 1)], lines)


PARTS = {"space": space, "memory": memory, "told": told_bench.told, "miss": miss, "policy": policy_bench.policy, "lag": policy_bench.lag,
         "traces": traces_bench.traces,
         "insert": insert, "get": get, "set": sets, "mixed": mixed, "churn": churn, "grow": grow,
         "turns": turns,
         "mixed_sizes": sizes_bench.mixed_sizes, "expiry": expiry}
MISS_PIECES = [f"miss:{100 * share:g}" for share in miss_is_valid(quick=False)]


def counts_of(bench, part):
    """Returns what of a part may run beside other counts, the longest first."""
    (name, _, only), quick = part.partition(":"), bench.quick
    if name == "memory":
        return [count for pair in memory_counts(quick).values() for count in pair]
    if name == "told":
        return list(told_bench.counts().values())
    if name == "miss":
        return [count for _, _, counts in miss_is_valid(quick, only or None).values()
                for count in reversed(counts.values())]
    if name == "policy":
        return list(policy_bench.policy_counts(bench).values())
    if name == "lag":
        return list(policy_bench.lag_counts(quick).values())
    if name == "mixed_sizes":
        return [count for pair in sizes_bench.sizes_counts(quick).values() for count in reversed(pair)]
    if name == "expiry":
        return expiry_counts(quick)
    return list(space_counts(quick).values()) if name == "space" else []


def run(bench, parts, keep):
    """Runs the parts in turn, and calls keep() after each. "miss:20" is a piece of a part."""
    parts = [part for part in PARTS if part in parts] + [p for p in MISS_PIECES if p in parts]
    for part in sorted(parts, key=lambda p: not p.startswith("memory")):
        for count in counts_of(bench, part):
            bench.ahead(count)
    # Parts that only count come first, and wait for their counts. So parts that measure time run alone.
    for part in sorted(parts, key=lambda p: not counts_of(bench, p)):
        name, _, only = part.partition(":")
        PARTS[name](bench, *([only] if only else []))
        keep()
