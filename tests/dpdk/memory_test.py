#!/usr/bin/python3 -B
"""What the program takes of the machine's memory. Goal: beside -m no more than 40 MB with 1,024
connections and one core, and --plan says each part, all together a little more than what the kernel
counts. Method: the built program on a null port that receives nothing, in ordinary pages, and its
smaps_rollup.

    memory_test.py CLOCKOO
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
MEMORY_MB, BESIDE_MB = 64, 40
PLAN_SPARE_MB = 16  # EAL's reserve and the roundings
WAIT_S = 30
WORDS = ["--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "-m", str(MEMORY_MB), "-c", "1024", "-t", "1",
         "--config", "none"]
FIELDS = ("Pss:", "Private_Hugetlb:", "Shared_Hugetlb:")


def measured_mb():
    process = subprocess.Popen([PROGRAM, *WORDS, "--yield", "--file-prefix", f"memory-{os.getpid()}"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # ready
        rollup = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_S)
    return sum(int(line.split()[1]) for line in rollup if line.startswith(FIELDS)) / 1024


class MemoryTest(unittest.TestCase):
    def test_the_program_takes_what_its_plan_says_and_no_more_than_40_mb_beside_m(self):
        plan = subprocess.run([PROGRAM, "--plan", *WORDS], capture_output=True, text=True, timeout=WAIT_S).stdout
        planned, beside = map(int, re.search(r": (\d+) MB in all, (\d+) of them beside -m", plan).groups())
        measured = measured_mb()
        self.assertEqual(planned - beside, MEMORY_MB, plan)
        self.assertLessEqual(measured - MEMORY_MB, BESIDE_MB)
        self.assertLessEqual(measured, planned, plan)
        self.assertLess(planned - PLAN_SPARE_MB, measured, plan)


if __name__ == "__main__":
    unittest.main()
