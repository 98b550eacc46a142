#!/usr/bin/python3 -B
"""Waits of an idle core. Goal: with --poll adaptive nearly each turn is behind a wait, and it goes
on turning, as timers and the service manager's watchdog want; with --poll spin it never waits.
Method: the built program on a null port that receives nothing, and the counters it says at its end.

    poll_test.py CLOCKOO
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

PROGRAM = sys.argv.pop(1)
RUNS_S, WAIT_S = (1, 4, 16, 40), 60
WAITS_MIN = 100
TURNS_OF_A_WAIT, WAIT_NS = 10, 100_000  # turns are shorter by far than waits, which take 500 us
COUNTER = re.compile(r"^clockoo: ([A-Z0-9_]+) (\d+) \(", re.M)


def counters_of(poll, run_s):
    """{symbol: count} of a run in which no frame came."""
    process = subprocess.Popen(
        [PROGRAM, "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "-m", "16", "-c", "64",
         "-v", "--yield", "--file-prefix", f"poll-{os.getpid()}", "--config", "none", "--poll", poll],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # ready
        time.sleep(run_s)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
        process.communicate()
    return {symbol: int(count) for symbol, count in COUNTER.findall(err)}


class PollTest(unittest.TestCase):
    def test_an_adaptive_core_waits_and_goes_on_turning(self):
        for run_s in RUNS_S:  # a core that is kept from running needs longer
            counters = counters_of("adaptive", run_s)
            waits = counters["CORE_WAITS"]
            if waits > WAITS_MIN:
                break
        self.assertGreater(waits, WAITS_MIN)
        # Apart from the first, short silence each turn is behind a wait, or just before a timer. No stall makes waits shorter.
        self.assertLess(counters["CORE_TURNS"], TURNS_OF_A_WAIT * waits)
        self.assertGreater(counters["CORE_WAITED_NS"], WAIT_NS * waits)
        self.assertGreater(counters["CORE_TURNS"], waits)

    def test_a_spinning_core_never_waits(self):
        self.assertNotIn("CORE_WAITS", counters_of("spin", RUNS_S[0]))


if __name__ == "__main__":
    unittest.main()
