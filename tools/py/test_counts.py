"""Counts for tools/test: scripts whose last line is a count, and tests of meson. Failures are kept with the end
of their output.
"""

import json
import os
import re
import subprocess

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
# Folders of tests that need neither EAL nor a NIC: these run under the sanitizers too.
SANITIZED, SLOW = ("unit", "sim", "script", "fuzz"), "slow"
SHARED = 4  # factor of all limits of time, because other programs may have most of the CPUs
TESTS_AT_ONCE = len(os.sched_getaffinity(0)) + 2  # more than CPUs, since many of them wait
REPORT_LINES = 25  # the end of what a failed test printed, in the list at the end
REPORT_WRONG = 10  # lines before it that say what is wrong
WRONG = re.compile(r"not ok|ERROR|FAILED|Error:|assert|mutant", re.IGNORECASE)


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0, reports=()):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.reports = list(reports)  # a text for each failure: its name, and what it printed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reports += other.reports

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def counting(words, command, out=None):
    """Runs a script whose last line is a count, and passes its lines on to stdout or to out. Returns the counts."""
    print(f"-- {words}", file=out, flush=True)
    last, reports = "", []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL) as child:
        try:
            for line in child.stdout:
                last = line.strip()
                if last.startswith("not ok"):
                    reports.append(f"{words}: {last}")
                print(f"   {line}" if not COUNTS.match(last) else "", end="", file=out, flush=True)
        except BaseException:
            child.terminate()
            raise
    found = COUNTS.match(last)
    if found is None:
        why = f"{words}: ended with status {child.returncode} before its count"
        print(f"   not ok - {why}", file=out)
        return Counts(failed=1, reports=[*reports, f"{why}; its last line: {last}"])
    counts = Counts(*(int(n or 0) for n in found.groups()), reports=reports)
    if child.returncode != 0 and counts.failed == 0:
        counts.failed = 1
        counts.reports.append(f"{words}: ended with status {child.returncode}")
    return counts


def meson_tests(folder, names=(), slowness=1):
    """Runs tests of a build folder, by names or suites; one test of meson counts as one. A timeout only ends a test
    that hangs: it is multiplied by SHARED for machines with much other work."""
    if names == []:
        return Counts()
    print(f"-- tests of {folder.name}", flush=True)
    log = folder / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    subprocess.run(["meson", "test", "-C", str(folder), "--no-rebuild", "--print-errorlogs",
                    "--num-processes", str(TESTS_AT_ONCE), "-t", str(slowness * SHARED), *names],
                   stdin=subprocess.DEVNULL)
    counts = Counts()
    if log.exists():
        for line in log.read_text().splitlines():
            test = json.loads(line)
            result = test["result"]
            if result == "SKIP":
                counts.skipped += 1
            elif result in ("OK", "EXPECTEDFAIL"):
                counts.passed += 1
            else:
                counts.failed += 1
                counts.reports.append(failure_report(folder, test))
    if counts.passed + counts.failed == 0:
        counts.failed = 1
        counts.reports.append(f"{folder.name}: meson ran no test")
    return counts


def failure_report(folder, test):
    """Returns a head line and the end of what a failed test of meson printed."""
    lines = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
    wrong = [line for line in lines[:-REPORT_LINES] if WRONG.search(line)]
    lines = wrong[:REPORT_WRONG] + lines[-REPORT_LINES:]
    head = (f"{folder.name}: {test['name']}: {test['result']} with status {test['returncode']} "
            f"after {test['duration']:.1f} s")
    return "\n".join([head, *(f"    {line}" for line in lines)])


def sanitized(folder):
    """Returns the tests whose program lies under one of SANITIZED. Left out are slow ones, which repeat for minutes
    what shorter ones reach, and mutants, which are wrong on purpose."""
    def suites_of(test):
        return {name.rpartition(":")[2] for name in test["suite"]}

    homes = tuple(f"{folder}/tests/{name}/" for name in SANITIZED)
    return [test for test in introspected(folder, "--tests")
            if any(word.startswith(homes) for word in test["cmd"]) and not suites_of(test) & {SLOW, "mutant"}]


def sanitized_targets(folder):
    """Returns what ninja must build for these tests, which is less than all that their suites need."""
    wanted = {target for test in sanitized(folder) for target in test["depends"]}
    return sorted(os.path.relpath(name, folder) for target in introspected(folder, "--targets")
                  if target["id"] in wanted for name in target["filename"])


def introspected(folder, what):
    return json.loads(subprocess.run(["meson", "introspect", what, str(folder)], check=True,
                                     capture_output=True, text=True).stdout)
