"""Clients of a front that record and judge its answers: each key must behave as one register that may forget.

    front_history.py HOST PORT SEED       until its stdin ends

Every value is written once. So a key's history has an order (P. Gibbons, E. Korach, SIAM J. Computing 1997,
theorem 4.2) if no two values must be present at the same time, and no call that must take effect while one
value is present contradicts it. A miss, or a delete, is a value, since a cache may evict at any time. A write
without an answer may happen at any later time, or never; a read of its value shows that it did. `cas` counts as
a write: a restarted server may use its number again.
"""

import bisect
import json
import random
import socket
import sys
import threading
import time

CLIENTS = 8
KEYS, COUNTERS = 6, 2
PATIENCE_S = 3
REOPEN_S = 0.05
NEVER = float("inf")
STEP = 1_000_000  # distance between the first values of counters
GET, MISS, WRITE, LOST, GONE = "get", "miss", "write", "lost", "gone"
TOLD = {"STORED": WRITE, "NOT_FOUND": MISS, "EXISTS": GONE}


class Key:
    """The requests for a key and their answers, with the times of one clock."""

    def __init__(self):
        self.written, self.lost, self.read, self.misses, self.counts_lost = {}, {}, {}, [], []
        self.faults = []

    def note(self, kind, began, ended, value=None):
        if kind == GET:
            self.read.setdefault(value, []).append((began, ended))
        elif kind == MISS:
            self.misses.append((began, ended))
        elif kind == LOST and value is None:
            self.counts_lost.append(began)
        elif kind == LOST:
            self.lost[value] = began
        elif value in self.written:
            self.faults.append(f"{value} was made twice")
        else:
            self.written[value] = (began, ended)

    def _writer(self, value, heard):
        """Returns when the value can have been written; None: never."""
        if value in self.written:
            return self.written[value]
        began = self.lost.get(value)
        if began is None and isinstance(value, int):
            began = min(self.counts_lost, default=None)
        return (began, NEVER) if began is not None and began < heard else None

    def zones(self):
        """Yields (from, to, value). If from < to the key had this value all that time; otherwise the value came
        and left between them."""
        for value in self.written.keys() | self.read.keys():
            reads = self.read.get(value, [])
            first = min((ended for _, ended in reads), default=NEVER)
            writer = self._writer(value, first)
            if writer is None or first < writer[0]:
                self.faults.append(f"{value} was told, and nobody had written it")
                continue
            yield min(writer[1], first), max([writer[0], *(began for began, _ in reads)]), value

    def judge(self):
        """Returns the calls that no order explains."""
        zones = list(self.zones())
        needed = sorted(zone for zone in zones if zone[0] < zone[1])
        points = [(ended, began, what) for ended, began, what in zones if ended >= began]
        points += [(ended, began, "a miss") for began, ended in self.misses]
        for (_, until, one), (begins, _, other) in zip(needed, needed[1:]):
            if begins < until:
                self.faults.append(f"{one} was returned after {other} had replaced it")
        for ended, began, what in points:
            at = bisect.bisect_left(needed, (began,)) - 1
            if at >= 0 and needed[at][0] < began and ended < needed[at][1]:
                self.faults.append(f"{needed[at][2]} was returned after {what}")
        return self.faults


class Client(threading.Thread):
    def __init__(self, number, seed, target, keys, end):
        super().__init__()
        self.number, self.target, self.keys, self.end = number, target, keys, end
        self.random = random.Random(f"{seed} {number}")
        self.file, self.made = None, 0
        self.told = dict.fromkeys((GET, MISS, WRITE, LOST, GONE), 0)
        self.fault = None

    def new_value(self, counts):
        self.made += 1
        number = self.number * 100_000 + self.made
        return number * STEP if counts else f"v{number}"

    def say(self, text):
        self.file.write(text.encode())
        self.file.flush()
        line = self.file.readline().decode()
        if not line.endswith("\r\n") or line.startswith("SERVER_ERROR"):
            raise ConnectionError(line)
        return line[:-2]

    def retrieve(self, verb, key, counts):
        """Gets a key. Returns its value, or None, and its cas number."""
        line = self.say(f"{verb} {key}\r\n")
        if line == "END":
            return None, None
        words = line.split()
        if words[:2] != ["VALUE", key]:
            raise ValueError(line)
        value = self.file.read(int(words[3]) + 2)[:-2].decode()
        end = self.file.readline()
        if end.startswith(b"SERVER_ERROR") or not end:
            raise ConnectionError(end)
        if end != b"END\r\n":
            raise ValueError(end)
        return int(value) if counts else value, words[4] if len(words) > 4 else None

    def call(self, key, note):
        """Calls note(kind, value) once with the outcome; with LOST before a write is sent."""
        counts, what = key.startswith("n"), self.random.randrange(100)
        if what < 60:
            value, _ = self.retrieve("gets" if what < 15 else "get", key, counts)
            note(MISS if value is None else GET, value)
        elif what < 66:
            note(LOST, GONE)
            self.say(f"delete {key}\r\n")
            note(MISS, None)
        elif counts and what < 92:
            note(LOST, None)
            line = self.say(f"incr {key} 1\r\n")
            if not line.isdigit() and line != "NOT_FOUND":
                raise ValueError(line)
            note(*((WRITE, int(line)) if line.isdigit() else (MISS, None)))
        else:
            self.write(key, counts, note, what < 72)

    def write(self, key, counts, note, compares):
        value, more, verb = self.new_value(counts), "", "set"
        if compares:
            was, number = self.retrieve("gets", key, counts)
            if was is None:
                note(MISS, None)
                return
            verb, more = "cas", f" {number}"
        note(LOST, value)
        line = self.say(f"{verb} {key} 0 0 {len(str(value))}{more}\r\n{value}\r\n")
        if line not in TOLD:
            raise ValueError(line)
        note(TOLD[line], value)

    def one(self):
        """Makes a call, and adds it to its key's history."""
        kinds = [f"k{i}" for i in range(KEYS)] + [f"n{i}" for i in range(COUNTERS)]
        name, told = self.random.choice(kinds), [(GONE, None)]
        began = time.monotonic_ns()
        try:
            self.call(name, lambda kind, value: told.append((kind, value)))
        finally:
            kind, value = told[-1]
            self.told[kind] += 1
            if kind != GONE and (kind, value) != (LOST, GONE):
                lock, key = self.keys[name]
                with lock:
                    key.note(kind, began, time.monotonic_ns(), value)

    def run(self):
        while not self.end.is_set() and self.fault is None:
            try:
                with socket.create_connection(self.target, PATIENCE_S) as conn, conn.makefile("rwb") as self.file:
                    while not self.end.is_set():
                        self.one()
            except OSError:
                self.end.wait(REOPEN_S)
            except ValueError as fault:
                self.fault = f"{type(fault).__name__}: {fault}"


def main(argv):
    host, port, seed = argv[0], int(argv[1]), argv[2]
    end = threading.Event()
    names = [f"k{i}" for i in range(KEYS)] + [f"n{i}" for i in range(COUNTERS)]
    keys = {name: (threading.Lock(), Key()) for name in names}
    clients = [Client(i, seed, (host, port), keys, end) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    sys.stdin.read()
    end.set()
    for client in clients:
        client.join(4 * PATIENCE_S)
    faults = [f"{name}: {fault}" for name, (_, key) in keys.items() for fault in key.judge()]
    faults += [client.fault for client in clients if client.fault]
    told = {kind: sum(client.told[kind] for client in clients) for kind in (GET, MISS, WRITE, LOST)}
    print(json.dumps({"part": "history", "violations": len(faults), "faults": faults[:10], **told}))


if __name__ == "__main__":
    main(sys.argv[1:])
