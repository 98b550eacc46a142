#!/usr/bin/python3 -B
"""Clients of tools/bench front that a closed loop cannot be; each prints one line of JSON.

    front_clients.py slow PORT                a server that answers a get after 100 ms; counts gets
    front_clients.py cold HOST PORT N SERVER  N connections ask for one key at once; SERVER: slow's port
    front_clients.py calm HOST PORT SECONDS KEY...  p99 of those keys, one after the other
    front_clients.py age HOST PORT SECONDS TTL_MS KEY:SERVER...  how old values are that a front returns for keys which
                                              another client writes at their servers, ports of 127.0.0.1
    front_clients.py grow HOST PORT KEYS SECONDS  the part of gets that hit, by second, of keys under Zipf's law; a key that is missed is set

slow lives until its stdin ends. It answers `stats` with the number of gets so far.
"""

import asyncio
import contextlib
import itertools
import json
import random
import resource
import socket
import sys
import threading
import time

WAIT_S = 0.1      # delay of the slow server's answers
PATIENCE_S = 20
CALM_GAP_S = 0.0005
AGE_GAP_S = 0.005  # time between two writes of a key
AGE_READERS = 4
GROW_BATCH, GROW_FILL, GROW_ZIPF = 32, 500, 0.99


def answer_of(verb, words):
    """Returns memcached's answer to a request of a front, nutcracker or memcached's proxy, and how many gets it
    was."""
    if verb in (b"get", b"gets"):
        return b"".join(b"VALUE %s 0 1\r\nx\r\n" % key for key in words) + b"END\r\n", len(words)
    if verb == b"mg":
        opaque = [word for word in words if word[:1] == b"O"]
        return b" ".join([b"VA 1", *opaque]) + b"\r\nx\r\n", 1
    return {b"version": b"VERSION 1.6.18\r\n"}.get(verb, b"ERROR\r\n"), 0


async def answer_in_time(answers, writer):
    """Each at its time, in order: one that waits holds up none behind it for longer than itself."""
    with contextlib.suppress(ConnectionError):
        while (due := await answers.get()) is not None:
            await asyncio.sleep(due[0] - time.monotonic())
            writer.write(due[1])
            await writer.drain()
    writer.close()


async def slow(port):
    gets = 0

    async def serve(reader, writer):
        nonlocal gets
        answers = asyncio.Queue()
        writing = asyncio.create_task(answer_in_time(answers, writer))
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                verb, *words = line.split() or [b""]
                answer, n = answer_of(verb, words)
                gets += n
                if verb == b"stats":
                    answer = b"STAT cmd_get %d\r\nEND\r\n" % gets
                answers.put_nowait((time.monotonic() + (WAIT_S if n else 0), answer))
        answers.put_nowait(None)
        await writing

    server = await asyncio.start_server(serve, "0.0.0.0", port, backlog=2048)
    print(json.dumps({"ready": port}), flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def gets_of(port):
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as conn:
        conn.sendall(b"stats\r\n")
        return int(conn.makefile("rb").readline().split()[2])


async def ask_one(host, port, gate, ready):
    reader, writer = await asyncio.open_connection(host, port)
    ready.append(1)
    await gate.wait()
    writer.write(b"get cold\r\n")
    answer = await asyncio.wait_for(reader.readuntil(b"END\r\n"), PATIENCE_S)
    writer.close()
    return answer == b"VALUE cold 0 1\r\nx\r\nEND\r\n"


async def cold(host, port, count, server):
    before, gate, ready = gets_of(server), asyncio.Event(), []
    asks = [asyncio.create_task(ask_one(host, port, gate, ready)) for _ in range(count)]
    end = time.monotonic() + PATIENCE_S
    while len(ready) < count and time.monotonic() < end:
        await asyncio.sleep(0.01)
    begin = time.monotonic()
    gate.set()
    answers = await asyncio.gather(*asks, return_exceptions=True)
    print(json.dumps({"part": "cold", "gets": gets_of(server) - before, "right": sum(a is True for a in answers),
                      "of": count, "seconds": round(time.monotonic() - begin, 3)}))


def calm(host, port, seconds, keys):
    times, wrong, n = [], 0, 0
    with socket.create_connection((host, port), PATIENCE_S) as conn, conn.makefile("rb") as file:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.perf_counter()
            conn.sendall(b"get %s\r\n" % keys[n % len(keys)].encode())
            line = file.readline()
            if line.startswith(b"VALUE"):
                file.readline(), file.readline()
            else:
                wrong += 1
            times.append(time.perf_counter() - begin)
            n += 1
            time.sleep(CALM_GAP_S)
    times.sort()
    print(json.dumps({"part": "calm", "requests": n, "missed": wrong, "p50_us": round(times[n // 2] * 1e6, 1),
                      "p99_us": round(times[n * 99 // 100] * 1e6, 1)}))


class Ages:
    """The numbered writes of each key, and when the server confirmed each."""

    def __init__(self, ttl_s, keys):
        self.ttl_s, self.end = ttl_s, threading.Event()
        self.done_s = {key: [] for key in keys}
        self.lock = threading.Lock()
        self.gets = self.old = self.violations = self.missed = 0
        self.oldest_s, self.faults = 0.0, []

    def write(self, servers):
        with contextlib.ExitStack() as undo:
            files = {}
            for port in set(servers.values()):
                conn = undo.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
                files[port] = undo.enter_context(conn.makefile("rwb"))
            while not self.end.wait(AGE_GAP_S):
                for key, port in servers.items():
                    text = b"%d" % len(self.done_s[key])
                    files[port].write(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(text), text))
                    files[port].flush()
                    if files[port].readline() != b"STORED\r\n":
                        raise ValueError("a server does not store")
                    self.done_s[key].append(time.monotonic())

    def read(self, host, port, first):
        keys = sorted(self.done_s)
        with socket.create_connection((host, port), PATIENCE_S) as conn, conn.makefile("rwb") as file:
            for n in itertools.count(first):
                if self.end.is_set():
                    return
                key, asked_s = keys[n % len(keys)], time.monotonic()
                file.write(b"get %s\r\n" % key.encode())
                file.flush()
                value = None
                while (line := file.readline()) != b"END\r\n":
                    value = int(line) if line.strip().isdigit() else None
                self.judge(self.done_s[key], asked_s, value)

    def judge(self, done_s, asked_s, value):
        """Records for how long the write after this one had been at the server when the value was requested."""
        next_s = done_s[value + 1] if value is not None and value + 1 < len(done_s) else asked_s
        age_s = max(0.0, asked_s - next_s)
        with self.lock:
            self.gets += 1
            self.missed += value is None
            self.old += age_s > 0
            self.violations += age_s > self.ttl_s
            self.oldest_s = max(self.oldest_s, age_s)

    def run(self, work, *words):
        try:
            work(*words)
        except (OSError, ValueError) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")
            self.end.set()


def age(host, port, seconds, ttl_ms, places):
    servers = {key: int(server) for key, server in (place.split(":") for place in places)}
    ages = Ages(ttl_ms / 1000, servers)
    threads = [threading.Thread(target=ages.run, args=(ages.write, servers))]
    threads += [threading.Thread(target=ages.run, args=(ages.read, host, port, first)) for first in range(AGE_READERS)]
    for thread in threads:
        thread.start()
    ages.end.wait(seconds)
    ages.end.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    print(json.dumps({"part": "age", "gets": ages.gets, "old": ages.old, "missed": ages.missed,
                      "violations": ages.violations, "max_ms": round(ages.oldest_s * 1000, 3),
                      "writes": sum(map(len, ages.done_s.values())), "faults": ages.faults}))


def set_all(s, heard, names):
    s.sendall(b"".join(b"set %s 0 0 5\r\nvalue\r\n" % name for name in names))
    return sum(heard.readline() == b"STORED\r\n" for _ in names)


def is_hit(heard):
    """Reads the answer to a get. Returns True for a value, None for an error."""
    line = heard.readline()
    if not line.startswith(b"VALUE "):
        return False if line == b"END\r\n" else None
    heard.readline()
    heard.readline()
    return True


def grow(host, port, keys, seconds):
    """Counts hits by second: a get belongs to the second in which its wait began. Errors do not count as hits."""
    names = [b"grow%d" % i for i in range(keys)]
    weights = list(itertools.accumulate((i + 1) ** -GROW_ZIPF for i in range(keys)))
    gets, hits, errors = [0] * seconds, [0] * seconds, 0
    with socket.create_connection((host, port), PATIENCE_S) as s, s.makefile("rb") as heard:
        for first in range(0, keys, GROW_FILL):
            if set_all(s, heard, names[first:first + GROW_FILL]) != len(names[first:first + GROW_FILL]):
                raise SystemExit("not all keys were stored")
        print("ready", flush=True)
        began = time.monotonic()
        while (second := int(time.monotonic() - began)) < seconds:
            asked = random.choices(names, cum_weights=weights, k=GROW_BATCH)
            s.sendall(b"".join(b"get %s\r\n" % name for name in asked))
            answers = [is_hit(heard) for _ in asked]
            gets[second] += len(asked)
            hits[second] += answers.count(True)
            errors += answers.count(None)
            set_all(s, heard, [name for name, hit in zip(asked, answers) if hit is False])
    print(json.dumps({"part": "grow", "gets": gets, "hits": [h / max(1, g) for h, g in zip(hits, gets)], "errors": errors}))


def main(argv):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    what, *words = argv
    if what == "slow":
        asyncio.run(slow(int(words[0])))
    elif what == "cold":
        asyncio.run(cold(words[0], int(words[1]), int(words[2]), int(words[3])))
    elif what == "grow":
        grow(words[0], int(words[1]), int(words[2]), int(words[3]))
    elif what == "age":
        age(words[0], int(words[1]), float(words[2]), float(words[3]), words[4:])
    else:
        calm(words[0], int(words[1]), float(words[2]), words[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
