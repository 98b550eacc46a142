#!/usr/bin/python3 -B
"""The clients of tools/bench flood that behave. Measures how long each of their requests takes beside misbehaving
peers.

    bystanders.py fill  HOST PORT NAME:COUNT:MIN:MAX...   stores NAME0, NAME1, ... of MIN to MAX bytes
    bystanders.py get   HOST PORT REQUESTS NAME:COUNT:MIN:MAX
    bystanders.py set   HOST PORT REQUESTS NAME:COUNT:MIN:MAX
    bystanders.py hello HOST PORT REQUESTS                TLS handshakes, each on a connection of its own
    bystanders.py even  HOST PORT SECONDS NAME:COUNT:MIN:MAX  EVEN_CLIENTS that each keep EVEN_DEPTH gets in flight

Prints one line of JSON. get, set and hello have CLIENTS clients, each a request every GAP_S, or HELLO_GAP_S. The time of a request
counts from when it was due, so a client that waits does not hide the requests that it did not send meanwhile. fill, get
and set take TLS with --tls.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import sys
import threading
import time

CLIENTS, GAP_S, HELLO_GAP_S = 8, 0.02, 0.1
PATIENCE_S, LIMIT_S = 20.0, 60.0  # timeouts of one answer and of the whole run
EVEN_CLIENTS, EVEN_DEPTH = 64, 8
STREAM_BYTES = 4 << 20
SENT_AGAIN_AT = 100  # tcpi_total_retrans in struct tcp_info
SWITCH_S = 0.0005  # interval at which Python switches threads


class Refused(Exception):
    """An answer that is neither the value nor a miss."""


def sizes_of(text):
    """{key: length of its value}, evenly from MIN to MAX."""
    name, count, least, most = text.split(":")
    count, least, most = int(count), int(least), int(most)
    return {f"{name}{i}": least + (most - least) * (i * 7919 % count) // max(count - 1, 1) for i in range(count)}


def value_of(key, length):
    piece = (key + ".").encode()
    return (piece * (length // len(piece) + 1))[:length]


class Client:
    def __init__(self, host, port, context):
        self.sock = socket.create_connection((host, port), PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            self.sock = context.wrap_socket(self.sock)
        self.file = self.sock.makefile("rb", 1 << 16)

    def set(self, key, value):
        self.sock.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value))
        if (line := self.file.readline()) != b"STORED\r\n":
            raise Refused(line)

    def get(self, key, value):
        """Returns True if the key was there."""
        self.sock.sendall(b"get %s\r\n" % key.encode())
        line = self.file.readline()
        if line == b"END\r\n":
            return False
        if line != b"VALUE %s 0 %d\r\n" % (key.encode(), len(value)):
            raise Refused(line)
        if self.file.read(len(value) + 7) != value + b"\r\nEND\r\n":
            raise Refused(b"another value")
        return True

    def sent_again(self):
        """Returns the segments that the kernel has sent a second time."""
        return struct.unpack_from("I", self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), SENT_AGAIN_AT)[0]

    def close(self):
        self.file.close()
        self.sock.close()


class Timed:
    """Runs the requests of CLIENTS clients at their due times."""

    def __init__(self, count, gap_s):
        self.each, self.gap_s, self.lock = max(1, count // CLIENTS), gap_s, threading.Lock()
        self.times_s, self.missed, self.refused, self.words, self.sent_again = [], 0, 0, set(), 0

    def run(self, make):
        """make(number) returns a client's function, which sends one request and returns whether the key existed."""
        threads = [threading.Thread(target=self._client, args=(make, number)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, make, number):
        times_s, missed, refused, ask = [], 0, 0, None
        due_s = time.monotonic() + self.gap_s * number / CLIENTS
        end_s = due_s + LIMIT_S
        for n in range(self.each):
            if time.monotonic() > end_s:
                refused += self.each - n
                break
            early_s = due_s - time.monotonic()
            if early_s > 0:
                time.sleep(early_s)
            begin_s = time.monotonic() if early_s > 0 else due_s
            try:
                ask = ask or make(number)
                missed += not ask(n)
            except (OSError, Refused) as error:
                refused, ask = refused + 1, None
                self.words.add(f"{type(error).__name__}: {error}"[:100])
            times_s.append(time.monotonic() - begin_s)
            due_s += self.gap_s
        with self.lock:
            self.times_s += times_s
            self.sent_again += getattr(ask, "sent_again", lambda: 0)()
            self.missed += missed
            self.refused += refused

    def row(self):
        times = sorted(self.times_s)
        return {"part": "bystanders", "requests": len(times), "missed": self.missed, "refused": self.refused,
                "sent_again": self.sent_again, "words": sorted(self.words)[:4], "p50_ms": round(times[len(times) // 2] * 1e3, 3),
                "p99_ms": round(times[len(times) * 99 // 100] * 1e3, 3), "longest_ms": round(times[-1] * 1e3, 3)}


def fill(host, port, context, names):
    client = Client(host, port, context)
    for name in names:
        for key, length in sizes_of(name).items():
            client.set(key, value_of(key, length))
    client.close()


def requests(what, host, port, context, count, name):
    items = [(key, value_of(key, length)) for key, length in sizes_of(name).items()]
    timed = Timed(count, GAP_S)

    def make(number):
        client = Client(host, port, context)

        def ask(n):
            key, value = items[(n * CLIENTS + number) % len(items)]
            return client.get(key, value) if what == "get" else client.set(key, value) is None

        ask.sent_again = client.sent_again
        return ask

    timed.run(make)
    return timed.row()


def hellos(host, port, context, count):
    timed = Timed(count, HELLO_GAP_S)

    def ask(n):
        Client(host, port, context).close()
        return True

    timed.run(lambda number: ask)
    return timed.row()


class Even:
    """Clients that read everything that they request, and keep several gets in flight."""

    def __init__(self, host, port, seconds, name):
        self.host, self.port, self.end_s = host, port, time.monotonic() + seconds
        self.sizes = list(sizes_of(name).items())
        self.row = {"part": "even", "gets": 0, "missed": 0, "refused": 0, "words": []}

    async def _answer(self, reader, key, length):
        line = await reader.readline()
        if line == b"VALUE %s 0 %d\r\n" % (key.encode(), length):
            await reader.readexactly(length + 7)
        elif line == b"END\r\n":
            self.row["missed"] += 1
        else:
            self.row["refused"] += 1
            self.row["words"] = (self.row["words"] + [line[:80].decode(errors="replace")])[:4]
            if not line:
                raise ConnectionError("closed")
        self.row["gets"] += 1

    async def _client(self, number):
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=STREAM_BYTES)
        asked, answered = number, number
        # A client that begins late still sends EVEN_DEPTH gets.
        while asked == number or answered < asked or time.monotonic() < self.end_s:
            while asked - answered < EVEN_DEPTH and (asked < number + EVEN_DEPTH or time.monotonic() < self.end_s):
                writer.write(b"get %s\r\n" % self.sizes[asked * 31 % len(self.sizes)][0].encode())
                asked += 1
            await asyncio.wait_for(self._answer(reader, *self.sizes[answered * 31 % len(self.sizes)]), PATIENCE_S)
            answered += 1
        writer.close()

    async def run(self):
        found = await asyncio.gather(*map(self._client, range(EVEN_CLIENTS)), return_exceptions=True)
        faults = [f"{type(fault).__name__}: {fault}" for fault in found if fault is not None]
        self.row["refused"] += len(faults)
        self.row["words"] += faults[:4]


def main(argv):
    sys.setswitchinterval(SWITCH_S)
    context = None
    with contextlib.suppress(ValueError):
        argv.remove("--tls")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    what, host, port, *words = argv
    if what == "fill":
        fill(host, int(port), context, words)
        row = {"part": "fill"}
    elif what == "hello":
        row = hellos(host, int(port), context, int(words[0]))
    elif what == "even":
        even = Even(host, int(port), float(words[0]), words[1])
        asyncio.run(even.run())
        row = even.row
    else:
        row = requests(what, host, int(port), context, int(words[0]), words[1])
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
