"""tools/bench flash: the second tier alone, beside extstore, a raw device, and the figures of chapter 5 of B.
Fan's thesis.

Counts (bytes an item, reads, bytes written, hits) come from a device in memory and are the same in every run.
Rates are medians of rounds in which both sides take turns, over io_uring on a file beside the builds.
"""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

import filter_bench
import flash_kills
from bench_figures import Figures, bar, table
from progress import Failed, Step

PROGRAM = "tests/bench/flash/flash_trial"
STRESS = "tests/stress/stress_tier"
FILTER = "tests/bench/filter/filter_trial"
CONVERT = "tests/unit/flash/test_flash_convert"
PARTS = ("bytes", "reads", "convert", "misses", "filter", "pack", "raw", "recover", "extstore", "hits", "kept", "evicted", "busy", "kills", "sigkill")
EVICTED = "tests/bench/flash/flash_evicted"
TARGETS = {"convert": CONVERT, "filter": FILTER, "evicted": EVICTED, "kills": STRESS, "sigkill": "app/clockoo"}  # programs by part; PROGRAM for the others

# Gets, puts and conversions a second of the thesis on its SSD (table 5.4, sections 5.4.2, 5.4.3).
THESIS = {"gets": "44,900 to 46,800", "puts": "204,600", "conversions": "68,000", "of the device": "0.94 to 0.975"}
MOST = {"log_dram_bytes_per_item": 6.6, "hash_dram_bytes_per_item": 2.0, "reads_per_hit": 1.01, "reads_per_miss": 0.01,
        "hash_reads_per_hit": 1.01, "hash_reads_per_miss": 0.01,
        "hit_p99_busy_ratio": 1.10, "evicted_p99_ratio": 1.10, "write_amplification_log": 1.05, "write_amplification_hash": 2.1, "filter_bits_per_item": 12.6,
        "filter_false_positives": 0.0019, "filter_sorted_false_positives": 0.0009, "wrong_values": 0, "resurrected": 0}
LEAST = {"read_ratio_of_raw": 0.90, "misses_mops": 10, "recovery_ratio_of_raw": 0.8, "filter_occupancy": 0.95,
         "items_at_equal_dram": 5, "evicted_bytes_kept_4k": 0.99, "evicted_bytes_kept_64k": 0.99, "evicted_bytes_kept_1m": 0.99}
OF_FULL = {"simulated_kills": 10_000, "kills_real": 200}  # not in --quick

# Runs and options of each part, quick and full.
RUNS = {"bytes": ((1, ("--mib", 256)), (1, ("--mib", 2048))),
        "reads": ((1, ("--mib", 512, "--gets", 400_000)), (1, ("--mib", 1024, "--gets", 4_000_000))),
        "misses": ((3, ("--mib", 64, "--gets", 3_000_000)), (5, ("--mib", 128, "--gets", 20_000_000))),
        "raw": ((1, ("--mib", 256, "--gets", 40_000, "--rounds", 9)), (1, ("--mib", 1024, "--gets", 200_000, "--rounds", 5))),
        "recover": ((1, ("--mib", 512, "--rounds", 3)), (1, ("--mib", 1100, "--rounds", 5))),
        "pack": ((3, ("--gets", 50_000)), (5, ("--gets", 400_000))),
        "kept": ((1, ("--mib", 32)), (1, ("--mib", 64))),
        "evicted": ((1, ("--rounds", 5)), (3, ("--rounds", 15))),
        "busy": ((1, ("--mib", 256, "--rounds", 7)), (1, ("--mib", 1024, "--rounds", 25))),
        "filter": ((1, ("--buckets", 1 << 16, "--looks", 400_000)), (3, ("--buckets", 1 << 20, "--looks", 1_000_000)))}
LOADS = ("--buckets", 1 << 15)
# Each row: MiB of DRAM, sizes of flash in MiB, keys of items of 216 bytes, gets that count. Twice as many gets come
# first, uncounted. Both sides have the same.
HITS = ((32, (0, 64, 128, 256), 1_000_000, 250_000), (64, (0, 128, 256, 512), 2_000_000, 2_000_000))
SIZES, KEPT_TURN_MS = {4096: "4k", 65536: "64k", 1 << 20: "1m"}, 0.05  # as in flash_kept.c
# Fills of memcached: MiB, sets, bytes of flash.
FILLS = ((32, 400_000), (64, 2_000_000))
EXTSTORE_MIB = 1024
KILL_SEEDS, QUICK_KILL_SEEDS = 1000, 300
KILLED = re.compile(r"^ *(\d+) kills: .*$", re.M)
CUT = re.compile(r"^ *(\d+) cuts: ", re.M)
COPIED = re.compile(r"^ *(\d+) copies recovered", re.M)


CONVERTED_NAMES = ("hash_dram_bytes_per_item", "reads_per_hit", "reads_per_miss", "items converted a second of CPU:")
CONVERTED = re.compile(rf"({'|'.join(CONVERTED_NAMES)}) ([0-9.]+)")
AMPLIFIED = re.compile(r"by key \+ value ([0-9.]+), ([0-9.]+)")


@contextlib.contextmanager
def extstore(mebibytes, flash_mib):
    """Runs Debian's memcached with extstore on a Unix socket. It ends when we do."""
    with tempfile.TemporaryDirectory(prefix="clockoo-bench-") as folder:
        socket, user = pathlib.Path(folder) / "socket", []
        if os.geteuid() == 0:  # it will not run as root
            os.chmod(folder, 0o777)
            user = ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
        command = ["setpriv", *user, "--pdeathsig", "KILL", "memcached", "-s", str(socket), "-U", "0", "-t", "1", "-R",
                   "1000", "-m", str(mebibytes)]
        if flash_mib != 0:
            command += ["-o", f"ext_page_size=8,ext_wbuf_size=4,ext_path={folder}/extstore:{flash_mib}M,ext_item_size=64"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            try:
                yield socket
            finally:
                child.kill()


class Bench(Figures):
    def __init__(self, folder, quick):
        super().__init__()
        self.folder, self.quick = folder, quick
        self.rows = {}

    def program(self, part, *options, program=PROGRAM):
        """Runs a part of the program. Returns its rows, which are also kept by part."""
        command = [str(self.folder / program), *map(str, options), *([part] if program == PROGRAM else [])]
        with Step(f"flash: {part}") as step, tempfile.TemporaryFile("w+") as out:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                                  errors="replace") as child:
                last = ""
                for line in child.stderr:
                    last = line.strip()[:80]
                    step.note = bar(last)
            if child.returncode != 0:
                raise Failed(f"{' '.join(command)}: status {child.returncode}, last words: {last}")
            out.seek(0)
            rows = [json.loads(line) for line in out]
        self.rows.setdefault(part, []).extend(rows)
        return rows

    def runs(self, part, *more):
        times, options = RUNS[part][0 if self.quick else 1]
        return [row for run in range(times) for row in self.program(part, "--run", run, *options, *more)]


def memory(bench):
    row, = bench.runs("bytes")
    bench.keep("log_dram_bytes_per_item", [row["bytes_per_item"]])
    bench.keep("log_full", [row["full"]], 4)
    bench.keep("shard_fixed_mb", [row["fixed_bytes"] / 1e6])


def reads(bench):
    row, = bench.runs("reads")
    bench.keep("reads_per_hit", [row["reads_per_hit"]], 5)
    bench.keep("reads_per_miss", [row["reads_per_miss"]], 5)
    bench.keep("reads_of_two_pages", [row["two_pages"]], 4)
    bench.keep("write_amplification_log", [row["amplification"]], 4)
    bench.keep("write_amplification_log_long_cas", [row["amplification_long_cas"]], 4)


def misses(bench):
    rows = bench.runs("misses")
    bench.keep("misses_mops", [r["mops"] for r in rows], 2)
    bench.keep("misses_one_by_one_mops", [r["one_mops"] for r in rows], 2)
    bench.keep("misses_large_mops", [r["large_mops"] for r in rows], 2)
    bench.keep("new_keys_mops", [r["sets_mops"] for r in rows], 2)
    bench.keep("new_keys_one_by_one_mops", [r["sets_one_mops"] for r in rows], 2)
    bench.keep("misses_column_mb", [rows[0]["column_bytes"] / 1e6], 1)
    bench.keep("misses_candidates", [rows[0]["candidates"]], 5)


def pack(bench):
    rows = bench.runs("pack")
    lines = []
    for what, size in dict.fromkeys((r["what"], r["bytes"]) for r in rows):
        of = [r for r in rows if (r["what"], r["bytes"]) == (what, size)]
        for name, digits in (("share", 4), ("pack_ns", 0), ("unpack_ns", 0)):
            bench.keep(f"compress_{what}_{size}_{name}", [r[name] for r in of], digits)
        lines.append([what, size, *(str(bench.figures[f"compress_{what}_{size}_{name}"]) for name in ("share", "pack_ns", "unpack_ns"))])
    table("flash.compress: what is left of a value, and ns of CPU", ["value", "bytes", "share left", "packed", "unpacked"], lines)


def convert(bench):
    """Converts a million items from a log into 16 columns, by the test of the conversion, which also compares
    them."""
    with Step("flash: convert"):
        done = subprocess.run([str(bench.folder / CONVERT), "figures"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
    found = {name: float(value) for name, value in CONVERTED.findall(done.stdout)}
    if done.returncode != 0 or len(found) != len(CONVERTED_NAMES):
        raise Failed(f"test_flash_convert figures: status {done.returncode}: {done.stdout[-500:]}")
    bench.keep("hash_dram_bytes_per_item", [found["hash_dram_bytes_per_item"]])
    bench.keep("hash_reads_per_hit", [found["reads_per_hit"]], 4)
    bench.keep("hash_reads_per_miss", [found["reads_per_miss"]], 4)
    bench.keep("conversions_per_s", [found["items converted a second of CPU:"]], 0)
    log, both = map(float, AMPLIFIED.search(done.stdout).groups())
    if "write_amplification_log" in bench.figures:  # here segments have 2 MiB; the test's are smaller, and cost more
        bench.keep("write_amplification_hash", [bench.figures["write_amplification_log"] + both - log], 4)


def filters(bench):
    times, options = RUNS["filter"][0 if bench.quick else 1]
    with Step("flash: filter"):
        rows = [row for run in range(times)
                for row in filter_bench.rows_of(bench.folder / FILTER, "sized", run, options)]
        loads = filter_bench.rows_of(bench.folder / FILTER, "loads", 0, LOADS)
    for name, words in (("cf", "filter"), ("ss_cf", "filter_sorted")):
        of = filter_bench.chosen(rows, "sized", filter=name)
        bench.keep(f"{words}_bits_per_item", [r["bits_per_item"] for r in of], 3)
        bench.keep(f"{words}_false_positives", [r["rate"] for r in of], 6)
    bench.figures["filter_occupancy"] = round(min(r["load"] for r in filter_bench.chosen(loads, "loads", slots=4)), 4)


@contextlib.contextmanager
def file_beside(folder):
    """Yields a file that serves as a device, on the disk of the builds. It is removed afterwards."""
    path = folder / "flash-bench.file"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def pairs(rows, one, other):
    """Returns [(one, other)] of the same round."""
    found = {}
    for row in rows:
        found.setdefault(row["round"], {})[row["who"]] = row
    return [(both[one], both[other]) for both in found.values()]


def raw(bench):
    with file_beside(bench.folder) as path:
        rows = bench.runs("raw", "--file", path)
    both = pairs(rows, "tier", "raw")
    bench.keep("bare_ratio_of_raw", [bare["per_s"] / plain["per_s"] for bare, plain in pairs(rows, "bare", "raw")])
    bench.keep("read_ratio_of_raw", [tier["per_s"] / plain["per_s"] for tier, plain in both])
    for who, at in (("flash", 0), ("raw", 1)):
        bench.keep(f"{who}_gets_per_s", [pair[at]["per_s"] for pair in both], 0)
        bench.keep(f"{who}_get_cpu_ns", [pair[at]["cpu_ns"] for pair in both], 0)
    bench.keep("flash_puts_per_s", [rows[0]["puts_per_s"]], 0)


def recover(bench):
    with file_beside(bench.folder) as path:
        rows = bench.runs("recover", "--file", path)
    # Before and after each recovery the same bytes are only read.
    ratios, rates = [], []
    for i, row in enumerate(rows):
        if row["who"] == "tier":
            ratios.append(2 * row["gb_per_s"] / (rows[i - 1]["gb_per_s"] + rows[i + 1]["gb_per_s"]))
            rates.append(row["gb_per_s"])
    bench.keep("recovery_ratio_of_raw", ratios)
    bench.keep("recovery_gb_per_s", rates)
    bench.keep("raw_gb_per_s", [r["gb_per_s"] for r in rows if r["who"] == "raw"])
    # With the device in memory: the processor time of a record, without the copy that stands for a read.
    rows = bench.runs("recover")
    copy = statistics.median(r["cpu_ns_per_record"] for r in rows if r["who"] == "raw")
    bench.keep("recovery_cpu_ns_per_record", [r["cpu_ns_per_record"] - copy for r in rows if r["who"] == "tier"], 1)


def extstore_memory(bench):
    mebibytes, sets = FILLS[0 if bench.quick else 1]
    with extstore(mebibytes, EXTSTORE_MIB) as socket:
        row, = bench.program("extstore", "--mib", mebibytes, "--gets", sets, "--peer", socket)
    bench.keep("extstore_dram_bytes_per_item", [row["bytes_per_item"]], 1)
    bench.keep("extstore_items_held", [row["items"]], 0)
    # The number of items if all of extstore's memory held their headers. Half of our memory is the store's, and does
    # not count.
    ours = bench.figures.get("log_dram_bytes_per_item")
    if ours is not None:
        bench.keep("items_at_equal_dram", [row["bytes_per_item"] / ours / 2])
    hashed = bench.figures.get("hash_dram_bytes_per_item")
    if hashed is not None:
        bench.keep("items_at_equal_dram_hash", [row["bytes_per_item"] / hashed / 2])


def hits(bench):
    mebibytes, flashes, keys, gets = HITS[0 if bench.quick else 1]
    lines = []
    for flash in flashes:
        shape = ("--mib", mebibytes, "--flash-mib", flash, "--keys", keys)
        rows = bench.program("hits", *shape, "--gets", gets)
        with extstore(mebibytes, flash) as socket:
            rows += bench.program("hits", *shape, "--gets", gets, "--peer", socket)
        for row in rows:
            bench.keep(f"hits_{row['who']}_{flash}mib", [row["hits"]], 4)
        of = {row["who"]: f"{row['hits']:.4f}" for row in rows}
        lines.append([flash, of.get("none", "-"), of.get("used", "-"), of.get("all", "-"), of["extstore"]])
    table(f"Hits by MiB of flash: {mebibytes} MiB of DRAM, {keys / 1e6:g} million keys of 216 bytes, Zipf 0.9, a tenth scanned",
          ["MiB", "ours, none", "admit used", "admit all", "extstore"], lines)


def kept(bench):
    """Measures the share of the evicted bytes that are on flash. --mib: memory in MiB."""
    for row in bench.runs("kept"):
        size = SIZES[row["value"]]
        bench.keep(f"evicted_bytes_kept_{size}", [row["kept_bytes"] / row["evicted_bytes"]], 4)
        bench.keep(f"evicted_longest_wait_ms_{size}", [row["longest_wait_turns"] * KEPT_TURN_MS], 2)


def evicted(bench):
    """Returns the turns of a core while evicted values are copied, divided by those of a core without a tier in
    the same round."""
    times, options = RUNS["evicted"][0 if bench.quick else 1]
    for size, words in SIZES.items():
        rows = [row | {"round": (run, row["round"])} for run in range(times)
                for row in bench.program("evicted", "--value", size, *options, program=EVICTED)]
        both = pairs(rows, "tier", "none")
        bench.keep(f"evicted_p99_ratio_{words}", [tier["p99_ns"] / none["p99_ns"] for tier, none in both])
        bench.keep(f"evicted_p50_ratio_{words}", [tier["p50_ns"] / none["p50_ns"] for tier, none in both])
        bench.keep(f"evicted_p99_none_us_{words}", [none["p99_ns"] / 1000 for _, none in both], 1)
    bench.figures["evicted_p99_ratio"] = max(bench.figures[f"evicted_p99_ratio_{words}"] for words in SIZES.values())


def busy(bench):
    both = pairs(bench.runs("busy"), "on", "off")
    bench.keep("hit_p99_busy_ratio", [on["p99_ns"] / off["p99_ns"] for on, off in both])
    for name, at in (("busy", 0), ("idle", 1)):
        bench.keep(f"hit_p99_{name}_ns", [pair[at]["p99_ns"] for pair in both], 1)
    bench.keep("busy_puts", [sum(on["puts"] for on, _ in both)], 0)


def kills(bench):
    """Runs the simulator's kills and losses of power, which fail if a value is wrong or stale."""
    done = cuts = copies = first = 0
    wanted, seeds = (0, QUICK_KILL_SEEDS) if bench.quick else (OF_FULL["simulated_kills"], KILL_SEEDS)
    with Step("flash: kills in the simulator") as step:
        while first == 0 or done < wanted:
            run = subprocess.run([str(bench.folder / STRESS), "tier", str(seeds), str(1 + first)],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if run.returncode != 0:
                raise Failed(f"stress_tier from seed {1 + first} on: {run.stdout[-500:]}")
            cuts += int(CUT.search(run.stdout)[1])
            done += int(KILLED.search(run.stdout)[1]) + int(CUT.search(run.stdout)[1])
            copies += int(COPIED.search(run.stdout)[1])
            first += seeds
            step.note = bar(f"kills {min(100, 100 * done // max(1, wanted))} %")
    bench.figures |= {"simulated_kills": done, "simulated_cuts": cuts, "simulated_copies": copies}
    count_lies(bench, {"wrong_values": 0, "resurrected": 0})


def sigkills(bench):
    found = flash_kills.measure(bench.folder, bench.quick)
    count_lies(bench, {name: found.pop(name) for name in ("wrong_values", "resurrected")})
    bench.figures |= found


def count_lies(bench, found):
    for name, value in found.items():
        bench.figures[name] = bench.figures.get(name, 0) + value


MEASURES = {"bytes": memory, "reads": reads, "convert": convert, "misses": misses, "filter": filters, "pack": pack, "raw": raw, "recover": recover,
            "extstore": extstore_memory, "hits": hits, "kept": kept, "evicted": evicted, "busy": busy, "kills": kills,
            "sigkill": sigkills}


def least_of(quick):
    return LEAST if quick else LEAST | OF_FULL


def goals_missed(figures, quick):
    return [name for name, most in MOST.items() if figures.get(name, most) > most] + \
        [name for name, least in least_of(quick).items() if figures.get(name, least) < least]


def value_of(figures, name):
    if name not in figures:
        return "-"
    low_high = figures.get(f"{name}_spread")
    return f"{figures[name]}" + (f" ({low_high[0]}..{low_high[1]})" if low_high else "")


def show(figures, quick):
    goals = {name: f"<= {most}" for name, most in MOST.items()} | \
        {name: f">= {least}" for name, least in least_of(quick).items()}
    missed = goals_missed(figures, quick)
    table("What the second tier was asked to show", ["figure", "here", "asked", ""],
          [[name, value_of(figures, name), asked, "not measured" if name not in figures else
            "missed" if name in missed else "met"] for name, asked in goals.items()])
    others = [name for name in figures if name not in goals and not name.endswith("_spread") and
              not name.startswith(("hits_", "compress_")) and not isinstance(figures[name], (dict, list))]
    table("Beside it", ["figure", "here"], [[name, value_of(figures, name)] for name in others])
    table("What the thesis says of its SSD, a second", ["", "there", "here"],
          [["gets", THESIS["gets"], value_of(figures, "flash_gets_per_s")],
           ["puts", THESIS["puts"], value_of(figures, "flash_puts_per_s")],
           ["conversions", THESIS["conversions"], value_of(figures, "conversions_per_s")],
           ["of the device", THESIS["of the device"], value_of(figures, "read_ratio_of_raw")]])


def measure(folder, quick, parts, keep):
    bench = Bench(folder, quick)
    for part in parts:
        MEASURES[part](bench)
        keep(bench.figures)
    show(bench.figures, quick)
    return bench.figures
