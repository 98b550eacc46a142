"""tools/bench nic: the cost of a kernel beside the cache, and how floods of one affect the other.

instructions: those of a get, counted by callgrind with the kernel's lane and without. refused: a frame that the kernel's
share refuses, timed in memory (bench_refused). wire: gets beside a million SYNs a second to ssh, which a core refuses, over a
wire without a driver (bench_wire --flood), in pairs with the same gets alone. veth: the program over a veth in network
namespaces (tests/bench/net/kernel_flood.py); a flood of SYNs stands beside one of the same frames to a MAC without an
owner, since the sender shares the machine. anycast: clients of an address on two boxes (tests/bench/net/anycast_outage.py).
Figures are medians.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
import budget
import build_tree
import routing_bed
from bench_figures import Figures, table
from progress import Failed, Step, say

TARGETS = ["app/clockoo", "tests/bench/bench_request", "tests/bench/net/ask", "tests/bench/net/frame_flood", "tests/bench/net/bench_refused",
           "tests/bench/net/bench_wire"]
PARTS = ("instructions", "refused", "wire", "veth", "anycast")
GETS = ("udp_get", "tcp_get")
FLOOD = build_tree.ROOT / "tests/bench/net/kernel_flood.py"
ROUNDS, QUICK_ROUNDS = 5, 1
SECONDS, QUICK_SECONDS = 5, 2
LIMIT_S = 300
OUTAGE = build_tree.ROOT / "tests/bench/net/anycast_outage.py"
EVENTS, QUICK_EVENTS = 20, 2
OUTAGE_LIMIT_S = 1800
FLOOD_FRAMES_S = 1_000_000
WIRE_KINDS = {"udp_get": "get", "tcp_get": "tcp_get"}  # {the program's kind: prefix of its figures}
PAIRS, QUICK_PAIRS, PAIR_MS = 41, 9, 100


def get_ratio(program):
    """Returns the larger ratio of a get's instructions with the kernel's lane to those without."""
    def count(*options):
        return {case: budget.instructions(program, case, *options)["instructions"] for case in GETS}

    without, beside = count(), count("--kernel")
    return max(beside[case] / without[case] for case in GETS)


def one_round(folder, seconds):
    programs = [folder / name for name in (TARGETS[0], *TARGETS[2:4])]
    done = subprocess.run([sys.executable, "-B", FLOOD, *programs, str(seconds)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failed(f"{FLOOD.name}: {(done.stderr or done.stdout).strip()[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])


def refused_ns(program, rounds):
    """Returns the core's time for a frame that the kernel's share refuses, by round."""
    return [json.loads(subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                                      timeout=LIMIT_S).stdout)["refused_frame_ns"] for _ in range(rounds)]


def wire_pairs(program, kind, pairs):
    """Returns rows of pairs: gets a second beside the flood and without it, the flood's frames a second, the core's ns
    for a frame, and the generator's busy share."""
    done = subprocess.run([program, kind, "--sets", "0", "--flood", str(FLOOD_FRAMES_S), "--runs", str(pairs), "--ms", str(PAIR_MS)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failed(f"{program.name}: {done.stderr.strip()[-300:]}")
    pairs = [row for row in json.loads(done.stdout.splitlines()[-1])["pairs"] if min(row[:3]) > 0]
    if not pairs:
        raise Failed(f"{program.name} had no share of the CPUs")
    return pairs


def outages(folder, events):
    """Returns what clients of an address on two boxes notice of events at one of them, for the kinds that were
    measured."""
    done = subprocess.run([sys.executable, "-B", OUTAGE, folder / TARGETS[0], str(events)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=OUTAGE_LIMIT_S)
    lines = done.stdout.splitlines()
    if not lines:
        raise Failed(f"{OUTAGE.name} failed")
    return json.loads(lines[-1]) | ({} if done.returncode == 0 else {"nic_anycast_skipped": f"{OUTAGE.name} ended with {done.returncode}"})


class NicBench(Figures):
    def __init__(self, folder, quick):
        super().__init__()
        self.folder, self.quick, self.rounds = folder, quick, QUICK_ROUNDS if quick else ROUNDS

    def instructions(self):
        with Step("instructions of a get"):
            self.figures["kernel_path_get_instructions_ratio"] = round(get_ratio(self.folder / TARGETS[1]), 4)

    def refused(self):
        with Step("a refused frame"):
            self.keep("kernel_refused_frame_ns", refused_ns(self.folder / TARGETS[4], self.rounds), 1)

    def wire(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise Failed("core and generator need a CPU each")
        for kind, prefix in WIRE_KINDS.items():
            with Step(f"{kind} beside {FLOOD_FRAMES_S} refused frames a second"):
                pairs = wire_pairs(self.folder / TARGETS[5], kind, QUICK_PAIRS if self.quick else PAIRS)
            columns = list(zip(*pairs))
            self.keep(f"{prefix}_rate_under_ssh_flood", [flooded / alone for flooded, alone in zip(*columns[:2])])
            self.keep(f"{prefix}_flood_frames_s", columns[2], 0)
            self.keep(f"{prefix}_flood_frame_ns", columns[3], 1)
            self.keep(f"{prefix}_flood_generator_busy", columns[4])

    def veth(self):
        rows = []
        if shutil.which("iperf3") is None:
            say("veth: iperf3 is not installed (tools/install routing): its figures are left out")
        for number in range(self.rounds):
            with Step(f"floods over a veth, round {number + 1} of {self.rounds}"):
                rows.append(one_round(self.folder, QUICK_SECONDS if self.quick else SECONDS))
        self.figures["ssh_alive_under_get_flood"] = min(row["ssh_alive_under_get_flood"] for row in rows)
        self.keep("veth_get_rate_under_ssh_flood", [row["gets_syn"] / row["gets_stray"] for row in rows], 3)
        self.keep("veth_ssh_flood_frames_s", [row["flood_syn"] for row in rows], 0)
        if all(row["iperf_mbps"] is not None for row in rows):
            self.keep("kernel_path_iperf_mbps", [row["iperf_mbps"] for row in rows], 1)
            self.keep("kernel_alone_iperf_mbps", [row["iperf_alone_mbps"] for row in rows], 1)

    def anycast(self):
        if not (routing_bed.HAS_FRR and routing_bed.HAS_BIRD):
            raise Failed("FRR and BIRD are not installed (tools/install routing)")
        with Step("an address on two boxes"):
            self.figures |= outages(self.folder, QUICK_EVENTS if self.quick else EVENTS)


def measure(folder, quick, parts, keep):
    """Measures. Parts that cannot run here are named, each in a line and a figure."""
    bench = NicBench(folder, quick)
    for part in parts:
        try:
            getattr(bench, part)()
        except (Failed, OSError, ValueError, LookupError, subprocess.SubprocessError) as failed:
            say(f"{part}: skipped: {failed}")
            bench.figures[f"nic_{part}_skipped"] = str(failed)
        keep(bench.figures)
    shown = {name: value for name, value in bench.figures.items() if not name.endswith(("_spread", "_skipped"))}
    if not shown:
        raise Failed("nothing could be measured")
    table("The kernel beside the cache", ["what", "median"], [[name, str(value)] for name, value in shown.items()])
    return bench.figures
