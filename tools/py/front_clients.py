#!/usr/bin/python3 -B
"""Clients of tools/bench front that a closed loop cannot be; each prints one line of JSON.

    front_clients.py slow PORT                a server that answers a get after 100 ms; counts gets
    front_clients.py cold HOST PORT N SERVER  N connections ask for one key at once; SERVER: slow's port
    front_clients.py calm HOST PORT SECONDS KEY...  p99 of those keys, one after the other

slow lives until its stdin ends. It says how many gets have come to whoever asks it for `stats`.
"""

import asyncio
import contextlib
import json
import resource
import socket
import sys
import time

WAIT_S = 0.1      # of slow, before it answers
PATIENCE_S = 20
CALM_GAP_S = 0.0005


def answer_of(verb, words):
    """memcached's, for what a front, nutcracker or memcached's proxy asks; and how many gets it is."""
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


def main(argv):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    what, *words = argv
    if what == "slow":
        asyncio.run(slow(int(words[0])))
    elif what == "cold":
        asyncio.run(cold(words[0], int(words[1]), int(words[2]), int(words[3])))
    else:
        calm(words[0], int(words[1]), float(words[2]), words[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
