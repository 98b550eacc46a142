#!/usr/bin/env python3
"""soak.py - every load of tests/stress whose runs differ, again and again.

    soak.py BUILD [--runs N] [--seconds S] [--minutes M] [--jobs J] [--only WORD]

A run is a load's program, started again until S seconds have passed. N runs of every load; with --minutes as many
seconds a run as fit. The first program that fails ends it: its output says the seed. A line a load and round.
"""
import argparse
import concurrent.futures
import json
import subprocess
import sys
import time

# These do the same each time: once is enough, and `meson test` does that.
REPEAT_EXACTLY = ("mutant-", "stress-cuts", "stress-held", "stress-hot", "stress-scan", "stress-wrap", "stress-stay",
                  "stress-linear")
# A program that has not ended by then stands still.
LONGEST_S = 300


def loads(build, only):
    tests = json.loads(subprocess.run(("meson", "introspect", "--tests", build), check=True,
                                      capture_output=True, text=True).stdout)
    return {t["name"]: t["cmd"] for t in tests
            if any(s.endswith("stress") for s in t["suite"]) and only in t["name"]
            and not t["name"].startswith(REPEAT_EXACTLY)}


def run(name, command, seconds):
    """How often the program ran; what it said if it failed."""
    began, times = time.monotonic(), 0
    while times == 0 or time.monotonic() - began < seconds:
        try:
            said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=LONGEST_S, check=False)
        except subprocess.TimeoutExpired as stuck:
            return name, times, f"did not end in {LONGEST_S} s\n{stuck.output}"
        times += 1
        if said.returncode != 0:
            return name, times, f"exit {said.returncode}\n{said.stdout}"
    return name, times, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    commands = loads(options.build, options.only)
    if not commands:
        sys.exit("soak.py: no such load")
    seconds = options.seconds
    if options.minutes is not None:
        seconds = options.minutes * 60 * options.jobs / (len(commands) * options.runs)
    whole = len(commands) * options.runs * seconds / options.jobs
    print(f"{len(commands)} loads, {options.runs} runs of {seconds:.1f} s each: {whole / 60:.0f} minutes", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.runs):
            for name, times, failed in pool.map(lambda at: run(*at, seconds), commands.items()):
                print(f"{number + 1}: {name}: {times} times, {'failed' if failed else 'no lie'}", flush=True)
                if failed:
                    print(failed, flush=True)
                    pool.shutdown(cancel_futures=True)
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
