"""tools/bench idle: the CPU time of an idle core, and how much its sleep delays the next request.

A kernel client sends one request over UDP after each silence. The appliance spins (--poll spin) or waits
(--poll adaptive), in turns. The CPU time is that of the process without requests.
"""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import netns
from bench_figures import Figures, table
from links import PORT, Bed, inside
from progress import Failed, Step

POLLS = ("spin", "adaptive")
SILENCES = {"1ms": (0.001, 200), "10ms": (0.01, 100), "1s": (1.0, 12)}  # {silence: (seconds, requests)}
QUICK_PART = 4       # a quick run has this part of the rounds
ROUNDS, QUICK_ROUNDS = 3, 1
IDLE_S, QUICK_IDLE_S = 5.0, 2.0
WARM = 50
ANSWER_S = 2.0
FRAME = b"\x00\x01\x00\x00\x00\x01\x00\x00"
TICKS_S = os.sysconf("SC_CLK_TCK")


class IdleBed(Bed):
    """A wire between a client and an appliance that has nothing else to do."""

    SIDES = ("c", "s")

    def __init__(self, programs, poll):
        super().__init__(programs, ("-U", str(PORT), "--poll", poll))

    def make(self, ledger):
        self.client = f"{ledger.name}-c"
        wire = netns.Wire(ledger.name, "af_packet")
        wire.lay()
        self.host = wire.host
        self.start_appliance(ledger, wire)

    def cpu_s(self):
        """Returns the CPU time of the process so far."""
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_S

    def idle_share(self, seconds):
        before, start = self.cpu_s(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu_s() - before) / (time.monotonic() - start)

    def latencies(self, silence_s, times):
        """Returns latencies in microseconds."""
        done = subprocess.run([*inside(self.client), sys.executable, "-B", __file__, self.host,
                               str(silence_s), str(times)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        self.server.check_alive()
        if done.returncode != 0:
            raise Failed(f"the client: {done.stderr.strip()[-200:]}")
        return json.loads(done.stdout)


def one_run(programs, poll, quick, words):
    """Returns {"cpu": its share of a CPU, "1ms": latencies, ...}, and the appliance's counters."""
    with IdleBed(programs, poll) as bed:
        row = {}
        for name, (silence_s, times) in SILENCES.items():
            with Step(f"{words}: after {name}"):
                row[name] = bed.latencies(silence_s, times // QUICK_PART if quick else times)
        with Step(f"{words}: nobody asks"):
            row["cpu"] = bed.idle_share(QUICK_IDLE_S if quick else IDLE_S)
        return row, bed.stop_appliance()


def measure(programs, quick, keep):
    figures, runs, counters = Figures(), {poll: [] for poll in POLLS}, {}
    rounds = QUICK_ROUNDS if quick else ROUNDS
    for number in range(rounds):
        for poll in POLLS:
            row, counters[poll] = one_run(programs, poll, quick,
                                          f"{poll}, round {number + 1} of {rounds}")
            runs[poll].append(row)
    lines = []
    for poll, rows in runs.items():
        line = [poll, f"{100 * figures.keep(f'idle_{poll}_cpu', (r['cpu'] for r in rows)):.1f}"]
        for name in SILENCES:
            all_us = sorted(us for r in rows for us in r[name])
            figures.keep(f"idle_{poll}_{name}_us", [statistics.median(r[name]) for r in rows], 1)
            line += [f"{statistics.median(all_us):.0f}", f"{all_us[int(0.95 * len(all_us))]:.0f}"]
        lines.append(line)
    figures.figures |= {"idle_waits": counters["adaptive"].get("CORE_WAITS", 0),
                        "idle_waits_spin": counters["spin"].get("CORE_WAITS", 0)}
    keep(figures.figures)
    table("An idle core: its share of a CPU in %, and how long a lone request takes after a silence:\n"
          "microseconds, median and 95 of 100, as a kernel client sees it",
          ["poll", "CPU %", *(f"{name} {of}" for name in SILENCES for of in ("median", "p95"))], lines)
    return figures.figures


def client(host, silence_s, times):
    latencies = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(ANSWER_S)
        s.connect((host, PORT))
        for i in range(-WARM, times):
            time.sleep(silence_s if i >= 0 else 0)
            start = time.perf_counter_ns()
            s.send(FRAME + b"get key\r\n")
            s.recv(2048)
            if i >= 0:
                latencies.append((time.perf_counter_ns() - start) / 1e3)
    print(json.dumps(latencies))


if __name__ == "__main__":
    client(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
