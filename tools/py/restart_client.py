"""The clients of tools/bench restart, as a program in their namespace: steered by lines, answers in JSON.

    fill KEYS BYTES    sets of values that follow from their keys
    check KEYS BYTES   {"kept": how many are there, "wrong": with another value}
    drop KEYS STEP     every STEP-th key is deleted
    gets KEYS BYTES MS gets of one key at a time: {"p50_us": ..., "p99_us": ..., "gets": how many, "wrong": ...}
    reach              {} when it answers
    stats              {"name": "value", ...}, and slabs' chunks
    anew               the server begins empty, and so does the journal
    converts SECONDS   {"stage": the conversion's of flash, once there is one, or idle}
    write SEED FULL    four writers with a journal: first what it says is checked, {"checked": ...};
                       then they write until the next line, {"acknowledged": ...}, since a killed server closes no
                       connection. Beside them a crowd of keys that are not checked makes the index grow; with FULL 1 it
                       exceeds the memory, so that the index shrinks, too, and pages change their class

The journal has for each key what a get may return: None is a miss. A write under way adds its value to these; its
acknowledgement leaves only that value. Unless the memory is full no key is evicted.
"""

import contextlib
import json
import random
import socket
import sys
import threading
import time

WAIT_S = 30
BATCH = 200
WRITERS, KEYS = 4, 150
LARGE_BYTES = 60_000
EXPIRED_S = 3.0  # after this time an expiry of 1 s has passed on every clock
CROWD_SMALL, CROWD_SMALL_KEYS = 16, 40_000  # bytes and keys with which the smallest index grows
CROWD_LARGE, CROWD_LARGE_KEYS = 3000, 12_000  # bytes and keys that exceed FULL_MB
CROWD_LOOK = 10               # batches
CLASSES = 40                  # most slab classes


class Line:
    """A connection."""

    def __init__(self, host, port):
        self.sock = socket.create_connection((host, port), WAIT_S)
        self.heard = self.sock.makefile("rb")

    def send(self, data):
        self.sock.sendall(data)

    def line(self):
        line = self.heard.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError
        return line[:-2]

    def ask(self, words, value=None):
        self.send(words + (b"" if value is None else b" %d\r\n" % len(value) + value) + b"\r\n")
        return self.line()

    def get_many(self, keys, verb=b"get"):
        """Returns {key: (value, cas)}."""
        self.send(verb + b" " + b" ".join(keys) + b"\r\n")
        found = {}
        while (line := self.line()) != b"END":
            words = line.split()
            value = self.heard.read(int(words[3]) + 2)
            if len(value) != int(words[3]) + 2:
                raise ConnectionError
            found[words[1]] = (value[:-2], words[4] if len(words) > 4 else None)
        return found

    def close(self):
        self.heard.close()
        self.sock.close()


def key_of(i):
    return b"key%09d" % i


def value_of(i, size):
    return (b"%08d" % i * (size // 8 + 1))[:size]


def fill(line, keys, size):
    for first in range(0, keys, BATCH):
        line.send(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (key_of(i), size, value_of(i, size))
                           for i in range(first, min(first + BATCH, keys))))
    return {"version": line.ask(b"version").decode()}


def check(line, keys, size):
    kept = wrong = 0
    for first in range(0, keys, BATCH):
        numbers = range(first, min(first + BATCH, keys))
        found = line.get_many([key_of(i) for i in numbers])
        kept += len(found)
        wrong += sum(found.get(key_of(i), (value_of(i, size),))[0] != value_of(i, size) for i in numbers)
    return {"kept": kept, "wrong": wrong}


def drop(line, keys, step):
    for first in range(0, keys, BATCH * step):
        line.send(b"".join(b"delete %s noreply\r\n" % key_of(i)
                           for i in range(first, min(first + BATCH * step, keys), step)))
    return {"version": line.ask(b"version").decode()}


def gets(line, keys, size, ms):
    rng, took, wrong = random.Random(1), [], 0
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        i = rng.randrange(keys)
        begun = time.perf_counter_ns()
        found = line.get_many([key_of(i)])
        took.append(time.perf_counter_ns() - begun)
        wrong += found.get(key_of(i), (None,))[0] != value_of(i, size)
    took.sort()
    return {"p50_us": took[len(took) // 2] / 1000, "p99_us": took[len(took) * 99 // 100] / 1000, "gets": len(took),
            "wrong": wrong}


def reach(host, port):
    end = time.monotonic() + WAIT_S
    while True:
        try:
            line = Line(host, port)
            line.ask(b"version")
            line.close()
            return {}
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.0005)


def stats(line):
    found = {}
    for what in (b"stats", b"stats slabs"):
        line.send(what + b"\r\n")
        while (row := line.line()) != b"END":
            _, name, value = row.decode().split(" ", 2)
            name = name.rpartition(":")[2]
            if name in ("total_chunks", "used_chunks"):
                found[name] = found.get(name, 0) + int(value)
            elif what == b"stats":
                found[name] = value
    return found


def converts(line, seconds):
    end = time.monotonic() + seconds
    while True:
        line.send(b"stats extstore\r\n")
        stage = "idle"
        while (row := line.line()) != b"END":
            words = row.decode().split(" ", 2)
            stage = words[2] if words[1] == "flash_conversion" else stage
        if stage != "idle" or time.monotonic() > end:
            return {"stage": stage}
        time.sleep(0.002)


class Crowd:
    """Yields keys of small values, and, if the memory must be full, alternately keys of large ones."""

    def __init__(self, large=CROWD_LARGE):
        self._large, self._large_keys = large, CROWD_LARGE * CROWD_LARGE_KEYS // large // BATCH * BATCH
        self.sent = self.grown = self.shrunk = self.moved = self.evicted = self.index = self._moved_seen = 0

    def _set(self, line, full):
        at = self.sent % (CROWD_SMALL_KEYS + self._large_keys) if full else self.sent % CROWD_SMALL_KEYS
        size = CROWD_SMALL if at < CROWD_SMALL_KEYS else self._large
        line.send(b"".join(b"set c%d 0 0 %d noreply\r\n%s\r\n" % (i, size, b"c" * size) for i in range(at, at + BATCH)))
        self.sent += BATCH

    def look(self, line):
        """Returns True if the index is being resized."""
        found = stats(line)
        index, moved = int(found["hash_bytes"]), int(found["slabs_moved"])
        self.moved += moved - (self._moved_seen if moved >= self._moved_seen else 0)  # a new process begins at 0
        self._moved_seen = moved
        self.evicted = max(self.evicted, int(found["evictions"]))
        self.grown += 0 < self.index < index
        self.shrunk += index < self.index
        self.index = index
        return found["hash_is_expanding"] == "1"

    def write(self, line, seed, full):
        rng = random.Random(seed)
        try:
            while True:
                for _ in range(CROWD_LOOK):
                    self._set(line, full)
                if full:  # unused keys are evicted
                    line.ask(b"slabs reassign -1 %d" % rng.randint(1, CLASSES))
                self.look(line)
        except OSError:
            line.close()


class Writer:
    """A writer with its own keys. may: the values that a get of each may return."""

    def __init__(self, number, keys=KEYS):
        self.number, self.written, self.acknowledged = number, 0, 0
        self.may = {b"w%d-%d" % (number, i): {None} for i in range(keys)}
        self.dead_at = {}

    def check(self, line, told, full=False):
        keys, now = list(self.may), time.monotonic()
        for first in range(0, len(keys), 10):
            part = keys[first:first + 10]
            found = line.get_many(part)
            for key in part:
                got, may = found.get(key, (None,))[0], self.may[key]
                if self.dead_at.get(key, now) < now:
                    may = {None}
                told["checked"] += 1
                told["live"] += None not in may and not full
                if got not in may and not (full and got is None):
                    told["lost" if got is None else "resurrected" if may == {None} else "wrong"] += 1
                if None not in (got, *may) or got is None:
                    self.dead_at.pop(key, None)
                self.may[key] = {got} if key not in self.dead_at else {got, None}

    def _try(self, line, key, new, words, value=None, good=(b"STORED", b"DELETED", b"TOUCHED")):
        self.may[key] = self.may[key] | {new}
        answer = line.ask(words, value)
        if answer in good or answer.isdigit():
            self.may[key] = {new}
            self.acknowledged += 1
        return answer

    def step(self, line, rng):
        key = rng.choice(list(self.may))
        if key in self.dead_at or len(self.may[key]) != 1:
            return self._set(line, key, rng)
        old = next(iter(self.may[key]))
        kind = rng.randrange(10)
        if old is None or kind < 3:
            return self._set(line, key, rng)
        if kind == 3:
            return self._try(line, key, None, b"delete " + key)
        if kind == 4:
            return self._try(line, key, old, b"touch " + key + b" 0")
        if kind == 5 and old.isdigit() and len(old) < 18:
            return self._try(line, key, b"%d" % (int(old) + 7), b"incr " + key + b" 7")
        if kind == 6 and len(old) < LARGE_BYTES:
            return self._try(line, key, old + b"+%d" % self.written, b"append " + key + b" 0 0",
                             b"+%d" % self.written)
        if kind == 7:
            cas = line.get_many([key], b"gets").get(key, (None, b"0"))[1]  # the key may have been evicted meanwhile
            new = b"cas %d" % self.written
            self.may[key] = {old, new}
            line.send(b"cas %s 0 0 %d %s\r\n%s\r\n" % (key, len(new), cas, new))
            if line.line() == b"STORED":
                self.may[key] = {new}
                self.acknowledged += 1
            return None
        if kind == 8:
            new = b"short %d" % self.written
            self.may[key] = self.may[key] | {new, None}
            if line.ask(b"set " + key + b" 0 1", new) == b"STORED":
                self.may[key] = {new, None}
                self.acknowledged += 1
            self.dead_at[key] = time.monotonic() + EXPIRED_S
            return None
        return self._set(line, key, rng)

    def _set(self, line, key, rng):
        kind = rng.randrange(8)
        new = b"%d" % self.written if kind < 3 else b"%d of %s;" % (self.written, key) * rng.randrange(1, 60)
        if kind == 7:
            new = (new * (LARGE_BYTES // len(new) + 1))[:LARGE_BYTES]
        answer = self._try(line, key, new, b"set " + key + b" 0 0", new)
        if answer == b"STORED":
            self.dead_at.pop(key, None)
        return answer

    def write(self, line, seed):
        rng = random.Random(seed * WRITERS + self.number)
        try:
            while True:
                self.written += 1
                self.step(line, rng)
        except OSError:
            line.close()


def flush(line, writers):
    """Flushes while no writer is active, shortly before the kill."""
    if line.ask(b"flush_all") == b"OK":
        for w in writers:
            w.may, w.dead_at = {key: {None} for key in w.may}, {}


def write(host, port, journal, seed, full):
    told = dict.fromkeys(("checked", "live", "lost", "resurrected", "wrong"), 0)
    writers, crowd, line = journal.writers, journal.crowd, Line(host, port)
    told["amid_resize"] = crowd.look(line)
    for w in writers:
        w.check(line, told, full)
    told["evictions"] = 0 if full else crowd.evicted
    told["from_flash"] = int(stats(line).get("get_extstore", 0))
    lines = [Line(host, port) for _ in range(WRITERS + 1)]
    if seed % 5 == 4:
        flush(line, writers)
    line.close()
    threads = [threading.Thread(target=w.write, args=(line, seed)) for w, line in zip(writers, lines)]
    threads.append(threading.Thread(target=crowd.write, args=(lines[-1], seed, full)))
    for t in threads:
        t.start()
    print(json.dumps(told), flush=True)
    sys.stdin.readline()
    for line in lines:
        with contextlib.suppress(OSError):
            line.sock.shutdown(socket.SHUT_RDWR)
    for t in threads:
        t.join()
    return journal.sums()


class Journal:
    def __init__(self):
        self._before = dict.fromkeys(("acknowledged", "grown", "shrunk", "moved"), 0)
        self.writers, self.crowd = [], Crowd()
        self.anew()

    def anew(self, keys=KEYS, crowd=CROWD_LARGE):
        self._before = self.sums()
        self.writers, self.crowd = [Writer(i, keys) for i in range(WRITERS)], Crowd(crowd)
        return self._before

    def sums(self):
        """Returns sums of the writes, of pages that moved, and of looks at the index that found it changed."""
        of_now = {"acknowledged": sum(w.acknowledged for w in self.writers), "grown": self.crowd.grown,
                  "shrunk": self.crowd.shrunk, "moved": self.crowd.moved}
        return {name: self._before[name] + value for name, value in of_now.items()}


def main(host, port):
    journal = Journal()
    for words in map(str.split, iter(sys.stdin.readline, "")):
        if words[0] == "write":
            answer = write(host, port, journal, int(words[1]), words[2] == "1")
        elif words[0] == "anew":
            answer = journal.anew(*map(int, words[1:]))
        elif words[0] == "reach":
            answer = reach(host, port)
        else:
            line = Line(host, port)
            answer = {"fill": fill, "check": check, "drop": drop, "stats": stats, "gets": gets, "converts": converts}[words[0]](line, *map(int, words[1:]))
            line.close()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
