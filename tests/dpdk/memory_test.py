#!/usr/bin/python3 -B
"""The memory that the program takes from the machine, and the part of it that a core file has. Goal: beside -m no more than
40 MB with 1,024 connections and one core, and --plan says each part, all together a little more than what the
kernel counts; the store is in no core file, wherever it lies, and a crash leaves its words and ends by its signal.
Method: the built program on a null port that receives nothing, in ordinary pages, its smaps and its core file.

    memory_test.py CLOCKOO
"""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
MEMORY_MB, BESIDE_MB = 64, 40
PLAN_SPARE_MB = 16  # EAL's reserve and the roundings
WAIT_S = 60  # ends what hangs
WORDS = ["--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "-m", str(MEMORY_MB), "-c", "1024", "-t", "1",
         "--config", "none"]
# glibc writes to all that it allocates if meson asks for it: from DPDK 24.11 on to 16 MB that EAL reserves for 128
# lcores and touches for those that it has.
os.environ.pop("MALLOC_PERTURB_", None)
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


def started(*words, **how):
    process = subprocess.Popen([PROGRAM, *WORDS, "--yield", "--data-dir", str(SOURCE / "drivers-config"), "--file-prefix",
                                f"memory-{os.getpid()}", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
    process.stdout.readline()
    return process


def left_out_mb(pid):
    """Returns the size of the mappings that a core file leaves out (`dd` of VmFlags)."""
    total, size = 0, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if words[0] == "Size:":
            size = int(words[1])
        elif words[0] == "VmFlags:" and "dd" in words:
            total += size
    return total / 1024


def cores_allowed():
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


class CoreFileTest(unittest.TestCase):
    def test_the_store_is_left_out_wherever_it_lies(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            for words in ((), ("--memory-file", f"{folder}/items")):
                process = started(*words)
                try:
                    # Parts of a page at either end of the store stay in the core file.
                    self.assertGreater(left_out_mb(process.pid), MEMORY_MB - 1, words)
                finally:
                    process.terminate()
                    process.communicate(timeout=WAIT_S)

    def test_a_crash_tells_its_signal_and_is_one(self):
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
            process = started()
            process.send_signal(number)
            said = process.communicate(timeout=WAIT_S)[1]
            self.assertEqual(process.returncode, -number)
            self.assertRegex(said, rf"clockoo: crash: signal {number:d} \({number.name}\) from process {os.getpid()}, in \w+")
            self.assertRegex(said, r"clockoo: crash: backtrace, for addr2line -Cfipe PROGRAM OFFSET: .*clockoo\+0x[0-9a-f]+")

    @unittest.skipIf(CORE_PATTERN.startswith(("|", "/")) or resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY,
                     f"core files go elsewhere, or nowhere: {CORE_PATTERN}")
    def test_a_core_file_is_there_if_asked_for_and_has_no_store(self):
        for words in (("--enable-coredumps",), ()):
            with tempfile.TemporaryDirectory() as folder:
                process = started(*words, cwd=folder, preexec_fn=cores_allowed)
                process.send_signal(signal.SIGSEGV)
                process.communicate(timeout=WAIT_S)
                found = [path.stat().st_blocks >> 11 for path in pathlib.Path(folder).iterdir()]
                self.assertEqual(len(found), len(words), found)
                self.assertLess(sum(found), MEMORY_MB)


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
