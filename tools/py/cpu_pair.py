"""Finds where a host runs our two CPUs, so that no turn is measured beside another machine's load.

The host moves a virtual machine's CPUs: to different chips, or to cores whose other hardware thread another machine
uses. Two programs that work together then take up to twice the time, for seconds. cpu_pair finds out where the CPUs
are, in some ms. Both CPUs must be on one chip, each with a core of its own, at the begin and end of a turn. Other turns
are repeated, until patience_s is used up; then all turns count. A machine without neighbours always passes.
"""

import json
import subprocess
import time

ONE_CORE_NS = 30  # nearer CPUs are threads of one core
FAR = 1.5         # CPUs are apart from this multiple of the least distance seen
SHARED = 0.8      # a CPU is shared if it has less than this part of the largest share seen
FIRST_LOOKS = 10
PAUSE_S, WAITS = 0.2, 50
TRIES = 3


class CpuPair:
    def __init__(self, program, cpus, patience_s):
        self._command = [program, *map(str, cpus)]
        self._patience_s = patience_s
        self._least_ns, self._most_share = float("inf"), 0.0
        self.turns = self.repeated = self.kept_apart = 0
        self.farthest_ns = 0.0
        for _ in range(FIRST_LOOKS):
            self.is_ours()
            time.sleep(PAUSE_S / 2)

    def is_ours(self):
        found = json.loads(subprocess.run(self._command, capture_output=True, text=True,
                                          check=True).stdout)
        share, distance_ns = min(found["shares"]), found["distance_ns"]
        self._most_share = max(self._most_share, share)
        if share < SHARED * self._most_share or distance_ns < ONE_CORE_NS:
            return False
        self._least_ns = min(self._least_ns, distance_ns)
        self.farthest_ns = max(self.farthest_ns, distance_ns)
        return distance_ns < FAR * self._least_ns

    def _wait(self):
        """Waits until both CPUs are ours. Waits at most WAITS times, to leave patience for later turns."""
        for _ in range(WAITS):
            if self._patience_s <= 0 or self.is_ours():
                return
            self._patience_s -= PAUSE_S
            time.sleep(PAUSE_S)

    def turn(self, run):
        """Returns the result of the first run() during which both CPUs were ours, or that of the last one."""
        self.turns += 1
        for tries in range(TRIES):
            self.repeated += tries != 0
            self._wait()
            began = time.monotonic()
            row = run()
            if self.is_ours():
                return row
            self._patience_s -= time.monotonic() - began
            if self._patience_s <= 0:
                break
        self.kept_apart += 1
        return row

    def figures(self):
        return {"cpu_pair_near_ns": self._least_ns, "cpu_pair_far_ns": self.farthest_ns,
                "turns": self.turns, "turns_repeated": self.repeated,
                "turns_kept_apart": self.kept_apart}

    def words(self):
        if self.repeated == self.kept_apart == 0:
            return f"the two CPUs were near ({self._least_ns:.0f} ns) and ours in all {self.turns} turns"
        return (f"the host moved the two CPUs apart ({self._least_ns:.0f} ns became "
                f"{self.farthest_ns:.0f}) or shared them: {self.repeated} turns were repeated, "
                f"{self.kept_apart} of {self.turns} count as they were")
