"""A client outside the guest: the kernel's TCP and UDP on this side, every byte compared. Times are
limits after which nobody answers any more, never a measure: the machine is an emulated one."""

import random
import re
import socket
import struct

PORT = 11211
WAIT_S = 60.0
TRIES = 15
SIZES = (1, 100, 1460, 1461, 8192, 65536)
UDP_HEADER = struct.Struct("!HHHH")  # request, number of the datagram, datagrams, zero
UDP_VALUE_BYTES = 5000               # more than three datagrams


class Wrong(Exception):
    """A value differs from the one that was stored."""


def value_of(key, size):
    return random.Random(key).randbytes(size)


def read_until(conn, end, heard=b""):
    while not heard.endswith(end):
        more = conn.recv(65536)
        if not more:
            raise Wrong(f"closed after {heard[-80:]!r}")
        heard += more
    return heard


def expect(conn, request, reply):
    conn.sendall(request)
    got = b""
    while len(got) < len(reply):
        more = conn.recv(65536)
        if not more:
            break
        got += more
    if got != reply:
        raise Wrong(f"{request[:60]!r}: {len(got)} bytes instead of {len(reply)}, "
                    f"{got[:80]!r}")


def reply_of(key, value):
    return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key.encode(), len(value), value)


def connect(host):
    return socket.create_connection((host, PORT), WAIT_S)


def over_tcp(host, connections):
    """Sets and gets of every size, each value read over another connection than it was stored by."""
    conns = [connect(host) for _ in range(connections)]
    for i, conn in enumerate(conns):
        for size in SIZES:
            key = f"tcp-{i}-{size}"
            value = value_of(key, size)
            expect(conn, b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), size, value), b"STORED\r\n")
            expect(conns[i - 1], b"get %s\r\n" % key.encode(), reply_of(key, value))
    return conns


def ask_udp(sock, host, number, request):
    """The reply, put together; None if a datagram was lost."""
    sock.sendto(UDP_HEADER.pack(number, 0, 1, 0) + request, (host, PORT))
    parts = {}
    try:
        while True:
            data, _ = sock.recvfrom(65536)
            asked, index, count, _ = UDP_HEADER.unpack_from(data)
            if asked != number:
                continue
            parts[index] = data[UDP_HEADER.size:]
            if len(parts) == count:
                return b"".join(parts[i] for i in range(count))
    except TimeoutError:
        return None


def over_udp(host, requests):
    """Gets from many ports, so that they reach every queue; a lost datagram is asked for again."""
    key, number = "udp", 0
    value = value_of(key, UDP_VALUE_BYTES)
    with connect(host) as conn:
        expect(conn, b"set udp 0 0 %d\r\n%s\r\n" % (len(value), value), b"STORED\r\n")
    for _ in range(requests):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(WAIT_S / TRIES)
            for _ in range(TRIES):
                number += 1
                got = ask_udp(sock, host, number, b"get udp\r\n")
                if got is not None:
                    break
            if got != reply_of(key, value):
                raise Wrong(f"over UDP: {got!r:.80}")


def connection_numbers(host):
    """Returns the numbers of all open connections, from `stats conns`: a core's follow each other."""
    with connect(host) as conn:
        conn.sendall(b"stats conns\r\n")
        text = read_until(conn, b"END\r\n").decode()
    return sorted({int(n) for n in re.findall(r"STAT (\d+):state conn_read", text)})
