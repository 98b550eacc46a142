#!/usr/bin/python3 -B
"""weak_orders.py PROGRAM [--all] - a memory order of the store that is taken out makes a case of PROGRAM (weak_store) fail.

Goal: each order of NEEDED is reached by the cases, and needed by one of them.
Method: PROGRAM --sites names the addresses; addr2line their functions. Copies of a function by inlining are taken out
together. --all tries every order that the cases reach, and prints which ones no case needs.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

WAIT_S = 300
WRONG_ARGUMENT = 2
FRAME = re.compile(r"(?P<function>\S+) at .*?(?P<path>(?:lib|tests)/\S+?):(?P<line>\d+)")
# File, function, the part of the order.
NEEDED = (
    ("bucket.h", "bucket_put", "release"),
    ("bucket.h", "bucket_ref", "acquire"),
    ("bucket.h", "bucket_try_lock", "acquire"),
    ("bucket.h", "bucket_unlock", "release"),
    ("epoch.h", "epoch_quiescent", "release"),
    ("index.c", "geometry_end", "release"),
    ("index.h", "index_find", "acquire"),
    ("index.h", "index_seq", "acquire"),
)


def run(program, *args):
    """Whether no case failed, and what was printed. A crash is a failure; a wrong argument ends this program."""
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=WAIT_S)
    if done.returncode == WRONG_ARGUMENT:
        sys.exit(f"not ok - {done.stderr.strip()}")
    return done.returncode == 0, done.stdout


def orders_of(program):
    """{(file, function, part): {line: [address, ...]}} of all orders that are stronger than relaxed."""
    passed, out = run(program, "--sites")
    if not passed:
        sys.exit(f"{out}\nnot ok - the cases fail with every order in place")
    sites = [line.split()[1:] for line in out.splitlines() if line.startswith("site ")]
    # A call stands before the address that it returns to.
    calls = "\n".join(hex(int(site[0], 16) - 1) for site in sites)
    named = subprocess.run(["addr2line", "-f", "-p", "-e", program], input=calls, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    orders = collections.defaultdict(lambda: collections.defaultdict(list))
    for (address, *parts), name in zip(sites, named):
        frame = FRAME.search(name)
        path = pathlib.PurePath(frame["path"]).name
        for part in parts:
            orders[path, frame["function"].split(".")[0], part][int(frame["line"])].append(address)
    return orders


def is_needed(program, part, addresses):
    words = [word for address in addresses for word in ("--relax", part, address)]
    return not run(program, *words)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    orders = orders_of(args.program)
    failed = 0
    for key in sorted(orders) if args.all else NEEDED:
        needed = any(is_needed(args.program, key[2], addresses) for addresses in orders[key].values())
        print(f"{'ok' if needed else 'not ok'} - {' '.join(key)} {'is needed' if needed else 'is not needed by a case'}", flush=True)
        failed += not needed
    return 1 if failed and not args.all else 0


if __name__ == "__main__":
    sys.exit(main())
