#!/usr/bin/python3 -B
"""weak_orders.py [PROGRAM [--find] [TEXT]] - each memory order of lib is in orders.txt, and a case fails without it.

Without PROGRAM: every order of the source has a row, and every row an order. With PROGRAM (weak_cases): of each row
that names a case, that case fails when the order is weakened there (of rows with TEXT in them, if it is given). With
--find: prints the orders without a row, with the quickest case that fails.

Method: PROGRAM --sites names the addresses that order, addr2line their lines. Copies of a function by inlining are
weakened together.
"""

import argparse
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys
import time

from orders_source import orders_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("orders.txt")
WAIT_S = 300
WRONG_ARGUMENT = 2
FRAME = re.compile(r"(?P<path>(?:lib|tests)/\S+?):(?P<line>\d+)")


def table_of():
    """Returns ({row: (what, the case or the reason)}, the reasons' names)."""
    rows, reasons, used = {}, {}, set()
    for line in TABLE.read_text().splitlines():
        head, _, answer = line.partition(": ")
        words = head.split()
        if line.startswith("#") or not line:
            continue
        if line.startswith("    "):
            reasons[list(reasons)[-1]] += f" {line.strip()}"
        elif len(words) == 2 and words[0] == "why":
            reasons[words[1]] = answer
        elif len(words) == 4:
            rows[tuple(words)] = tuple(answer.split(" ", 1))
            used.add(answer.split(" ", 1)[1] if answer.startswith("why ") else None)
        else:
            sys.exit(f"not ok - orders.txt: {line}")
    wrong = [f"no reason {name}" for name in used - set(reasons) - {None}]
    wrong += [f"no row has the reason {name}" for name in set(reasons) - used]
    return rows, wrong


def row_of(rows, order):
    """Returns the order's own row, or the first pattern that matches it."""
    if order in rows:
        return order
    return next((row for row in rows if "*" in " ".join(row) and
                 all(map(fnmatch.fnmatchcase, order, row))), None)


def check_table():
    rows, wrong = table_of()
    source = orders_of(ROOT)
    answers = {order: row_of(rows, order) for order in source}
    wrong += [f"no row: {' '.join(order)}" for order, row in answers.items() if row is None]
    wrong += [f"no such order: {' '.join(row)}" for row in rows.keys() - answers.values()]
    wrong += [f"neither case nor why: {' '.join(row)}" for row, answer in rows.items()
              if answer[0] not in ("case", "why") or len(answer) != 2]
    for line in sorted(wrong):
        print(f"not ok - {line}")
    caught = sum(row is not None and rows[row][0] == "case" for row in answers.values())
    print(f"{len(source)} parts of orders: {caught} caught by a case, {len(source) - caught} explained")
    return 1 if wrong else 0


def run(program, *args):
    """Returns whether all cases passed, and the output. A crash is a failure; a wrong argument ends this program."""
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=WAIT_S)
    if done.returncode == WRONG_ARGUMENT:
        sys.exit(f"not ok - {done.stderr.strip()}")
    return done.returncode == 0, done.stdout


class Sites:
    """The memory orders in a program's cases: {(path, line): addresses}, and {address: cases}, quickest first."""

    def __init__(self, program):
        self.program = program
        self.cases_at = collections.defaultdict(list)
        took = []
        for case in run(program, "--cases")[1].split():
            begun = time.monotonic()
            passed, out = run(program, "--sites", case)
            if not passed:
                sys.exit(f"{out}\nnot ok - {case} fails with every order in place")
            took.append((time.monotonic() - begun, case, out))
        for _, case, out in sorted(took):
            for line in out.splitlines():
                if line.startswith("site "):
                    self.cases_at[line.split()[1]].append(case)
        # The call's instruction is before the address to which it returns.
        calls = "\n".join(hex(int(address, 16) - 1) for address in self.cases_at)
        named = subprocess.run(["addr2line", "-p", "-e", program], input=calls, capture_output=True, text=True,
                               check=True).stdout.splitlines()
        self.at_line = collections.defaultdict(list)
        for address, name in zip(self.cases_at, named):
            frame = FRAME.search(name)
            self.at_line[frame["path"], int(frame["line"])].append(address)

    def addresses(self, row, lines):
        return [address for line in range(lines[0], lines[1] + 1) for address in self.at_line.get((row[0], line), [])]

    def cases(self, addresses):
        return list(dict.fromkeys(case for address in addresses for case in self.cases_at[address]))

    def fails(self, row, addresses, case):
        return not run(self.program, *[word for a in addresses for word in ("--relax", row[3], a)], case)[0]


def find(sites, row, addresses):
    caught = next((case for case in sites.cases(addresses) if sites.fails(row, addresses, case)), None)
    print(f"{' '.join(row)}: {f'case {caught}' if caught else '-' if addresses else 'unreached'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--find", action="store_true")
    parser.add_argument("text", nargs="?", default="")
    args = parser.parse_intermixed_args()
    if args.program is None:
        return check_table()
    rows = table_of()[0]
    sites = Sites(args.program)
    failed = 0
    for row, lines in orders_of(ROOT).items():
        answer = rows.get(row_of(rows, row), ("", ""))
        addresses = sites.addresses(row, lines)
        if args.text not in f"{' '.join(row)}: {' '.join(answer)}":
            continue
        if args.find and not any(answer):
            find(sites, row, addresses)
        elif answer[0] == "case" and not args.find:
            caught = bool(addresses) and sites.fails(row, addresses, answer[1])
            print(f"{'ok' if caught else 'not ok'} - {' '.join(row)}: {answer[1]}", flush=True)
            failed += not caught
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
