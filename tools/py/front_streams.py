#!/usr/bin/python3 -B
"""Pipelines of one client to a distant server (tools/bench front, part streams); prints a line of JSON.

    front_streams.py relay PORT SERVER MS     forwards PORT to SERVER of this host; an answer comes MS later
    front_streams.py stream HOST PORT ROUNDS  the time of each pipeline from its first byte to its last answer, ms

relay lives until its stdin ends.
"""

import asyncio
import contextlib
import json
import socket
import sys
import time

PATIENCE_S = 20
DEPTH, LINE_KEYS = 200, 500
STORED = b"STORED\r\n"


# ---- the distance ----

async def carry(reader, writer, delay_s):
    """Forwards what comes, each part at its time."""
    parts = asyncio.Queue()

    async def write():
        while (part := await parts.get()) is not None:
            await asyncio.sleep(part[0] - time.monotonic())
            writer.write(part[1])
        writer.close()

    writing = asyncio.create_task(write())
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(1 << 16):
            parts.put_nowait((time.monotonic() + delay_s, part))
    parts.put_nowait(None)
    await writing


async def relay(port, server, ms):
    async def serve(reader, writer):
        near = await asyncio.open_connection("127.0.0.1", server)
        await asyncio.gather(carry(reader, near[1], ms / 2000), carry(near[0], writer, ms / 2000))

    listener = await asyncio.start_server(serve, "0.0.0.0", port, backlog=64)
    print(json.dumps({"ready": port}), flush=True)
    async with listener:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


# ---- pipelines ----

def put(key, value):
    return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)


def told(key, value):
    return b"VALUE %s 0 %d\r\n%s\r\n" % (key, len(value), value)


def pipelines(number):
    """Returns for each pipeline: its name, requests that prepare it with their answers, the pipeline, its
    answers. Each round has its own keys."""
    one, keys = b"one%d" % number, [b"key%d.%d" % (number, i) for i in range(LINE_KEYS)]
    some = keys[:DEPTH]
    values = [b"%d" % i for i in range(DEPTH)]
    sets = b"".join(put(key, b"x" * 20) for key in keys)
    yield ("incr", put(one, b"0"), STORED, DEPTH * (b"incr %s 1\r\n" % one),
           b"".join(b"%d\r\n" % (i + 1) for i in range(DEPTH)))
    yield "set", b"", b"", b"".join(put(one, value) for value in values), DEPTH * STORED
    yield ("set_get", b"", b"", b"".join(put(one, value) + b"get %s\r\n" % one for value in values[:DEPTH // 2]),
           b"".join(STORED + told(one, value) + b"END\r\n" for value in values[:DEPTH // 2]))
    yield "sets", b"", b"", b"".join(put(key, b"x" * 20) for key in some), DEPTH * STORED
    yield "deletes", b"", b"", b"".join(b"delete %s\r\n" % key for key in some), DEPTH * b"DELETED\r\n"
    yield ("line", sets, LINE_KEYS * STORED, b"get " + b" ".join(keys) + b"\r\n",
           b"".join(told(key, b"x" * 20) for key in keys) + b"END\r\n")


def exchange(conn, requests, length):
    """Returns that many bytes of answers, and how long they took."""
    begin = time.perf_counter()
    conn.sendall(requests)
    got = bytearray()
    while len(got) < length:
        part = conn.recv(1 << 20)
        if not part:
            break
        got += part
    return bytes(got), 1000 * (time.perf_counter() - begin)


def is_right(name, got, want):
    """Returns True if the answer is right. Keys of a line may be in any order: a proxy returns those of one
    server after the other."""
    return got == want if name != "line" else sorted(got.split(b"VALUE")) == sorted(want.split(b"VALUE"))


def stream(host, port, rounds):
    times, wrong = {}, []
    with socket.create_connection((host, port), PATIENCE_S) as conn:
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(rounds):
            for name, before, ready, requests, answers in pipelines(number):
                if before and exchange(conn, before, len(ready))[0] != ready:
                    wrong.append(f"{name}: not prepared")
                got, ms = exchange(conn, requests, len(answers))
                if not is_right(name, got, answers):
                    wrong.append(f"{name}: {got[:100]}")
                times.setdefault(name, []).append(round(ms, 2))
    print(json.dumps({"part": "streams", "ms": times, "wrong": wrong}))


def main(argv):
    what, *words = argv
    if what == "relay":
        asyncio.run(relay(int(words[0]), int(words[1]), float(words[2])))
    else:
        stream(words[0], int(words[1]), int(words[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
