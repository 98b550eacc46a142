"""tools/bench nic: what the kernel beside the cache costs, and what floods towards one do to the other.

Instructions of a get are counted by callgrind with the kernel's lane and without. A frame that the kernel's share refuses
is timed in memory, a million a second (bench_refused). Everything else is measured over a veth
in network namespaces (tests/bench/net/kernel_flood.py), several times; figures are medians. A flood of SYNs to ssh stands
beside one of the same frames to a MAC without an owner: what both lose is the machine's, since the sender shares it.
Clients of an address on two boxes (tests/bench/net/anycast_outage.py) are measured where FRR and BIRD are installed.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
import budget
import build_tree
import routing_bed
from bench_figures import Figures, table
from progress import Failed, Step

TARGETS = ["app/clockoo", "tests/bench/bench_request", "tests/bench/net/ask", "tests/bench/net/frame_flood", "tests/bench/net/bench_refused"]
GETS = ("udp_get", "tcp_get")
FLOOD = build_tree.ROOT / "tests/bench/net/kernel_flood.py"
ROUNDS, QUICK_ROUNDS = 5, 1
SECONDS, QUICK_SECONDS = 5, 2
LIMIT_S = 300
OUTAGE = build_tree.ROOT / "tests/bench/net/anycast_outage.py"
EVENTS, QUICK_EVENTS = 20, 2
OUTAGE_LIMIT_S = 1200


def get_ratio(program):
    """The larger ratio of the instructions of a get with the kernel's lane to those without."""
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
    """The core's time for a frame that the kernel's share refuses, of each round."""
    return [json.loads(subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                                      timeout=LIMIT_S).stdout)["refused_frame_ns"] for _ in range(rounds)]


def outages(folder, events):
    """Returns what clients of an address on two boxes see of events at one of them."""
    if not (routing_bed.HAS_FRR and routing_bed.HAS_BIRD):
        return {}
    done = subprocess.run([sys.executable, "-B", OUTAGE, folder / TARGETS[0], str(events)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=OUTAGE_LIMIT_S)
    if done.returncode != 0:
        raise Failed(f"{OUTAGE.name} failed")
    return json.loads(done.stdout.splitlines()[-1])


def measure(folder, quick, keep):
    figures, rows = Figures(), []
    with Step("instructions of a get"):
        figures.figures["kernel_path_get_instructions_ratio"] = round(get_ratio(folder / TARGETS[1]), 4)
    keep(figures.figures)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with Step("a refused frame"):
        figures.keep("kernel_refused_frame_ns", refused_ns(folder / TARGETS[4], rounds), 1)
    for number in range(rounds):
        with Step(f"floods, round {number + 1} of {rounds}"):
            rows.append(one_round(folder, QUICK_SECONDS if quick else SECONDS))
    figures.figures["ssh_alive_under_get_flood"] = min(row["ssh_alive_under_get_flood"] for row in rows)
    figures.keep("get_rate_under_ssh_flood", [row["gets_syn"] / row["gets_stray"] for row in rows], 3)
    figures.keep("ssh_flood_frames_s", [row["flood_syn"] for row in rows], 0)
    if all(row["iperf_mbps"] is not None for row in rows):
        figures.keep("kernel_path_iperf_mbps", [row["iperf_mbps"] for row in rows], 1)
        figures.keep("kernel_alone_iperf_mbps", [row["iperf_alone_mbps"] for row in rows], 1)
    keep(figures.figures)
    with Step("an address on two boxes"):
        figures.figures |= outages(folder, QUICK_EVENTS if quick else EVENTS)
    keep(figures.figures)
    table("The kernel beside the cache", ["what", "median"], [[name, str(value)] for name, value in figures.figures.items()])
    return figures.figures
