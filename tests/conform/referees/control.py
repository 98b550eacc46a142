#!/usr/bin/python3 -B
"""A control for planted faults: requests that no fault of planted.py affects, each with its right answer.

    control.py HOST PORT [tls]

A program that answers all of them has started and serves, so a referee's later failure is not for want of a server.
Exits with 1 and the first wrong answer.
"""

import socket
import ssl
import sys

ANSWER_S = 60  # generous: a loaded machine
REQUESTS = (
    (b"version\r\n", b"VERSION "),
    (b"set control 0 0 5\r\nvalue\r\n", b"STORED\r\n"),
    (b"get control\r\n", b"VALUE control 0 5\r\nvalue\r\nEND\r\n"),
    (b"set control 0 0 1\r\n4\r\n", b"STORED\r\n"),
    (b"incr control 3\r\n", b"7\r\n"),
    (b"delete control\r\n", b"DELETED\r\n"),
    (b"get control\r\n", b"END\r\n"),
)


def connected(host, port, tls):
    sock = socket.create_connection((host, port), ANSWER_S)
    if not tls:
        return sock
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(sock)


def wrong_answer(sock):
    """Returns the first wrong answer as text, or None."""
    with sock.makefile("rb") as heard:
        for asked, due in REQUESTS:
            sock.sendall(asked)
            for line in due.splitlines(keepends=True):
                got = heard.readline()
                if not got.startswith(line):
                    return f"{asked!r} is answered {got!r}, not {line!r}"
    return None


def main():
    host, port, *tls = sys.argv[1:]
    try:
        with connected(host, int(port), tls == ["tls"]) as sock:
            wrong = wrong_answer(sock)
    except OSError as why:
        wrong = str(why)
    if wrong is not None:
        print(f"the control fails on port {port}: {wrong}")
    return wrong is not None


sys.exit(main())
