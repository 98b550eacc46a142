"""A client that knows as little as possible: bytes out, bytes in, over TCP and UDP.

Real clients (pymemcache, libmemcached) are tested as well; this one shows details that they hide.
"""

import os
import select
import socket
import ssl
import struct
import sys
import time

HOST = os.environ.get("CLOCKOO_HOST", "10.99.0.1")
FAMILY = socket.AF_INET6 if ":" in HOST else socket.AF_INET
PORT = int(os.environ.get("CLOCKOO_PORT", "11211"))
UDP_PORT = int(os.environ.get("CLOCKOO_UDP_PORT", "11211"))

# The certificate by which an appliance with -Z is verified.
TLS_CA = os.environ.get("CLOCKOO_TLS_CA")

# The appliance is a front before one of Debian's memcached (run_conform --front). Cases name what then differs: its
# figures are those of copies, it refuses a dump, and the server's -I limits values.
FRONT = "--front" in sys.argv

WAIT_S = 60.0    # wait for an answer that must arrive
SILENCE_S = 0.3  # time without an answer that counts as none
RECV_BYTES = 1 << 18
UDP_HEADER = struct.Struct(">HHHH")
UDP_PAYLOAD_MAX = 1392


class Wrong(Exception):
    """The answer is wrong."""


def expect(got, want, about=""):
    if got != want:
        raise Wrong(f"{about} got {_short(got)}, expected {_short(want)}".strip())


def expect_true(fact, about):
    if not fact:
        raise Wrong(about)


def _short(thing):
    text = repr(thing)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-80:]} ({len(thing)} long)"


def tls_context():
    c = ssl.create_default_context(cafile=TLS_CA)
    c.check_hostname = False
    return c


class Tcp:
    def __init__(self, receive_bytes=None, own_port=None):
        self.sock = socket.socket(FAMILY)
        if own_port:
            self.sock.bind(("", own_port))
        if receive_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.sock.settimeout(WAIT_S)
        self.sock.connect((HOST, PORT))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if TLS_CA is not None:
            self.sock = tls_context().wrap_socket(self.sock)
        self._buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        data = self.sock.recv(RECV_BYTES)
        if not data:
            raise Wrong(f"connection closed after {_short(bytes(self._buffer))}")
        self._buffer += data

    def take(self, count):
        try:
            while len(self._buffer) < count:
                self._more()
        except TimeoutError:
            raise Wrong(f"silence after {_short(bytes(self._buffer))}, {count} bytes "
                        "expected") from None
        got = bytes(self._buffer[:count])
        del self._buffer[:count]
        return got

    def take_until(self, end):
        looked = 0
        try:
            while (at := self._buffer.find(end, looked)) < 0:
                looked = max(0, len(self._buffer) - len(end))
                self._more()
        except TimeoutError:
            raise Wrong(f"silence after {_short(bytes(self._buffer))}, no {end!r}") from None
        return self.take(at + len(end))

    def ask(self, request, want, about=""):
        """Sends the request. The answer must begin with exactly want; further bytes fail the next ask."""
        self.send(request)
        expect(self.take(len(want)), want, about or _short(request))

    def barrier(self, about=""):
        """Checks that only the version follows, so no surplus answer was sent."""
        self.send(b"version\r\n")
        line = self.take_until(b"\r\n")
        if not line.startswith(b"VERSION "):
            raise Wrong(f"{about} an answer too many: {_short(line)}".strip())

    def expect_closed(self, about=""):
        try:
            data = bytes(self._buffer) or self.sock.recv(RECV_BYTES)
        except ConnectionResetError:
            return
        except TimeoutError:
            raise Wrong(f"{about} the connection stays open".strip()) from None
        expect(data, b"", about)


def values_of(answer):
    """Returns {key: (flags, value, cas or None)} of a complete answer to get or gets."""
    found, at = {}, 0
    while not answer.startswith(b"END\r\n", at):
        end = answer.find(b"\r\n", at)
        words = answer[at:end].split(b" ")
        if words[0] != b"VALUE" or len(words) not in (4, 5):
            raise Wrong(f"no VALUE line: {_short(answer[at:at + 100])}")
        size = int(words[3])
        value = answer[end + 2:end + 2 + size]
        expect(answer[end + 2 + size:end + 4 + size], b"\r\n", "after a value")
        cas = int(words[4]) if len(words) == 5 else None
        found[words[1]] = (int(words[2]), value, cas)
        at = end + 4 + size
    expect(len(answer), at + 5, "length of a get answer")
    return found


class Udp:
    def __init__(self):
        self.sock = socket.socket(FAMILY, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.connect((HOST, UDP_PORT))
        self._id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send_raw(self, datagram):
        self.sock.send(datagram)

    def send(self, request):
        self._id = self._id + 1 & 0xffff
        self.send_raw(UDP_HEADER.pack(self._id, 0, 1, 0) + request)
        return self._id

    def datagram(self, wait_s=WAIT_S):
        """Returns (id, sequence, total, reserved, payload), or None."""
        if not select.select([self.sock], [], [], wait_s)[0]:
            return None
        data = self.sock.recv(65536)
        expect_true(len(data) >= UDP_HEADER.size, "a datagram shorter than its header")
        return (*UDP_HEADER.unpack_from(data), data[UDP_HEADER.size:])

    def message(self, request_id):
        """Receives the n datagrams of one answer, in any order. Returns (payload, n)."""
        parts, total, end = {}, None, time.monotonic() + WAIT_S
        while total is None or len(parts) < total:
            got = self.datagram(max(0.0, end - time.monotonic()))
            expect_true(got is not None, f"answer {len(parts)} of {total} datagrams, then silence")
            expect(got[0], request_id, "request id")
            expect(got[3], 0, "reserved field")
            total = got[2] if total is None else total
            expect(got[2], total, "total of a datagram")
            expect_true(got[1] < total and got[1] not in parts, f"sequence {got[1]} of {total}")
            expect_true(len(got[4]) <= UDP_PAYLOAD_MAX, f"{len(got[4])} bytes in one datagram")
            parts[got[1]] = got[4]
        return b"".join(parts[i] for i in range(total)), total

    def ask(self, request, want):
        expect(self.message(self.send(request))[0], want, _short(request))

    def expect_silence(self, about):
        got = self.datagram(SILENCE_S)
        expect_true(got is None, f"{about}: answered with {_short(got)}")
