#!/usr/bin/python3 -B
"""Waits of an idle core. Goal: with --poll adaptive it waits most of the time and still turns many
times a second, as timers and the service manager's watchdog want; with --poll spin it never waits.
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
RUN_S, WAIT_S = 2.0, 30
COUNTER = re.compile(r"^clockoo: ([A-Z0-9_]+) (\d+) \(", re.M)


def counters_of(poll):
    """{symbol: count} of a run in which no frame came."""
    process = subprocess.Popen(
        [PROGRAM, "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "-m", "16", "-c", "64",
         "-v", "--yield", "--file-prefix", f"poll-{os.getpid()}", "--config", "none", "--poll", poll],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # ready
        time.sleep(RUN_S)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
        process.communicate()
    return {symbol: int(count) for symbol, count in COUNTER.findall(err)}


class PollTest(unittest.TestCase):
    def test_an_adaptive_core_waits_most_of_the_time_and_goes_on_turning(self):
        counters = counters_of("adaptive")
        self.assertGreater(counters["CORE_WAITED_NS"], counters["CORE_TOTAL_NS"] / 2)
        # Each wait takes 500 us at most, and what a busy machine adds.
        self.assertGreater(counters["CORE_WAITS"], 20 * RUN_S)
        self.assertGreater(counters["CORE_TURNS"], counters["CORE_WAITS"])

    def test_a_spinning_core_never_waits(self):
        self.assertNotIn("CORE_WAITS", counters_of("spin"))


if __name__ == "__main__":
    unittest.main()
