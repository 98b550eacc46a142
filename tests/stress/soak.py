#!/usr/bin/env python3
"""soak.py - every load of tests/stress whose runs differ, again and again.

    soak.py BUILD [--runs N] [--seconds S] [--minutes M] [--jobs J] [--only WORD] [--state FILE]

A run is a load's program, started again until S seconds have passed. N runs of every load; with --minutes as many
seconds a run as fit. The first program that fails ends it: its output says the seed. A line a load and round, and at
the end a line a load.

FILE keeps the runs that are done, a line of JSON each, so that an interrupted soak goes on where it ended. A run
counts if its program was this one, byte for byte, and had as many seconds.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import time

# Tests that do the same each time. `meson test` runs them once, which is enough.
REPEAT_EXACTLY = ("mutant-", "stress-cuts", "stress-held", "stress-hot", "stress-scan", "stress-wrap", "stress-stay",
                  "stress-linear", "weak-")
# Tests that depend on their seed: the number of seeds in one start. Each start begins at another seed.
SEEDS_A_START = {"stress-front": 500, "stress-tier": 500}
SEEDS_A_RUN = 1_000_000
# A program that runs longer hangs.
LONGEST_S = 300


def loads(build, only):
    tests = json.loads(subprocess.run(("meson", "introspect", "--tests", build), check=True,
                                      capture_output=True, text=True).stdout)
    return {t["name"]: t["cmd"] for t in tests
            if any(s.endswith("stress") for s in t["suite"]) and only in t["name"]
            and not t["name"].startswith(REPEAT_EXACTLY)}


def command_of(name, command, number, times):
    seeds = SEEDS_A_START.get(name)
    first = (number + 1) * SEEDS_A_RUN + times * (seeds or 0)
    return command if seeds is None else [*command, "seeds", str(seeds), str(first)]


def run(name, command, number, seconds):
    """Returns how often the program ran, and its output if it failed."""
    began, times = time.monotonic(), 0
    while times == 0 or time.monotonic() - began < seconds:
        try:
            said = subprocess.run(command_of(name, command, number, times), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_S,
                                  check=False)
        except subprocess.TimeoutExpired as stuck:
            return times, f"did not end in {LONGEST_S} s\n{stuck.output}"
        times += 1
        if said.returncode != 0:
            return times, f"exit {said.returncode}\n{said.stdout}"
    return times, None


class State:
    """The runs that are done, by load; kept in a file if there is one."""

    def __init__(self, path, commands, seconds):
        self._path = path
        self._seconds = seconds
        self._programs = {name: hashlib.sha256(pathlib.Path(command[0]).read_bytes()).hexdigest()
                          for name, command in commands.items()}
        self.rows = collections.defaultdict(list)
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                if row["program"] == self._programs.get(row["load"]) and row["seconds"] >= seconds:
                    self.rows[row["load"]].append(row)

    def has(self, name, number):
        return any(row["number"] == number for row in self.rows[name])

    def add(self, name, number, times):
        row = {"load": name, "number": number, "seconds": self._seconds, "times": times,
               "program": self._programs[name]}
        self.rows[name].append(row)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def say(self):
        for name, rows in sorted(self.rows.items()):
            print(f"{name}: {len(rows)} runs of {min(row['seconds'] for row in rows):g} s or more, "
                  f"{sum(row['times'] for row in rows)} times, no lie")


def soak(commands, options, state, seconds):
    """The output of the first program that failed, or None."""
    def one(name, number):
        return name, number, *run(name, commands[name], number, seconds)

    todo = [(name, number) for number in range(options.runs) for name in commands if not state.has(name, number)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, number, times, failed in pool.map(lambda at: one(*at), todo):
            print(f"{number + 1}: {name}: {times} times, {'failed' if failed else 'no lie'}", flush=True)
            if failed:
                pool.shutdown(cancel_futures=True)
                return failed
            state.add(name, number, times)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--state", type=pathlib.Path)
    options = parser.parse_args()
    commands = loads(options.build, options.only)
    if not commands:
        sys.exit("soak.py: no such load")
    seconds = options.seconds
    if options.minutes is not None:
        seconds = options.minutes * 60 * options.jobs / (len(commands) * options.runs)
    state = State(options.state, commands, seconds)
    left = len(commands) * options.runs - sum(state.has(name, n) for name in commands for n in range(options.runs))
    print(f"{len(commands)} loads, {options.runs} runs of {seconds:.1f} s each, {left} runs left: "
          f"{left * seconds / options.jobs / 60:.0f} minutes", flush=True)
    failed = soak(commands, options, state, seconds)
    if failed:
        print(failed, flush=True)
        return 1
    state.say()
    return 0


if __name__ == "__main__":
    sys.exit(main())
