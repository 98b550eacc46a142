"""TCP conversations of a peer with a cache, correct and incorrect ones, drawn from a seed.

A conversation is a list of steps. A step is a list of segments that are sent at once. Its bytes are requests of
memcached's protocol, so both servers answer the same; where a segment repeats a byte, it repeats its value.
"""

import collections
import random
import struct

import segments as sg

# seq is relative. ack is None, or relative to all that the server has sent. time says how the timestamps are wrong.
Segment = collections.namedtuple(
    "Segment", "flags seq size ack win time options urgent", defaults=(0, 0, 60000, "", None, 0)
)
Conversation = collections.namedtuple("Conversation", "seed isn options stream steps")

VALUES = {b"v100": 100, b"v1400": 1400, b"v3000": 3000}
REQUESTS = [b"mn\r\n"] * 8 + [
    b"get none\r\n",
    b"mg v100 v\r\n",
    b"get v1400\r\n",
    b"get v3000\r\n",
    b"wrong\r\n",
    b"mg none v\r\n",
]
STREAM_LEAST = 4000  # least bytes of requests; more follow as far as segments reach
FAR = 3_000_000  # beyond every window
FAR_ACK = 1 << 30
QUIT_MOST = 40  # most bytes before a quit, so that all replies fit the initial window
ACTIONS_MOST = 7
MSS_CHOICES = (0, 1, 64, 215, 216, 536, 1000, 1460, 1460, 1460, 8960, 65535)
WRONG_OPTIONS = (
    b"\x02\x03\x05",
    b"\x02\x04\x05",
    b"\xfd\x06abcd",
    b"\x08\x06abcd",
    b"\x03\x01",
    b"\x22\x02",
    b"\x00\x02\x04\x05\xb4",
    b"\x05\x02",
    b"\xfe\x00",
    b"\x1e\x0c" + b"\1" * 10,
)


def handshake_options(rnd):
    """Returns the options of a SYN, and how a peer with these behaves later."""
    if rnd.random() < 0.4:
        parts = [("mss", 1460), ("sackok",), ("ts",), ("wscale", 7)]
    else:
        parts = [
            part
            for part in (("mss", rnd.choice(MSS_CHOICES)), ("sackok",), ("ts",), ("wscale", rnd.randrange(0, 16)))
            if rnd.random() < 0.6
        ]
        rnd.shuffle(parts)
    if rnd.random() < 0.08:
        parts.insert(rnd.randrange(len(parts) + 1), ("raw", rnd.choice(WRONG_OPTIONS)))
    return tuple(parts)


def options_bytes(parts, now):
    made = b""
    for kind, *values in parts:
        made += {
            "mss": lambda v=0: sg.option(sg.MSS, struct.pack(">H", v)),
            "sackok": lambda: sg.option(sg.SACKOK),
            "wscale": lambda v=0: sg.option(sg.WSCALE, bytes([v])),
            "ts": lambda: sg.timestamps(now, 0),
            "raw": lambda v=b"": v,
        }[kind](*values)
    return made


class Maker:
    """Draws one conversation. next is the first byte that was not sent yet."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.options = handshake_options(self.rnd)
        self.stream = self.requests()
        self.steps, self.next, self.ended = [], 1, False

    def requests(self):
        made = b""
        while len(made) < STREAM_LEAST:
            made += self.rnd.choice(REQUESTS)
            if self.rnd.random() < 0.08:
                made += b"quit\r\n"
        return made

    def add(self, *parts):
        self.steps.append(list(parts))

    def ack(self, **other):
        return Segment("A", self.next, **other)

    def request_end(self, count):
        """Returns where the count-th request from next on ends."""
        at = self.next - 1
        for _ in range(count):
            at = self.stream.find(b"\n", at) + 1 or at + 4
        return at + 1

    # ---- handshakes ----

    def open(self):
        rnd = self.rnd
        syn = Segment("S", 0, ack=None, options=self.options)
        odd = rnd.random()
        if odd < 0.72:
            self.add(syn)
            self.add(Segment("A", 1, win=rnd.choice((60000, 60000, 60000, 512, 0))))
        elif odd < 0.80:
            self.add(
                rnd.choice(
                    (
                        Segment("A", 1),
                        Segment("F", 0, ack=None),
                        Segment("R", 0, ack=None),
                        Segment("", 0, ack=None),
                        Segment("SA", 0),
                        Segment("SF", 0, ack=None, options=self.options),
                        Segment("SR", 0, ack=None),
                        Segment("FA", 1),
                        Segment("PA", 1, 4),
                        Segment("RA", 1),
                        Segment("SFPU", 0, ack=None),
                        Segment("SEC", 0, ack=None, options=self.options),
                        Segment("SP", 0, 8, None, options=self.options),
                    )
                )
            )
            self.add(syn)
            self.add(Segment("A", 1))
        else:
            self.add(syn)
            for _ in range(rnd.randrange(1, 3)):
                self.add(
                    rnd.choice(
                        (
                            syn,
                            Segment("S", 1, ack=None, options=self.options),
                            Segment("S", FAR, ack=None),
                            Segment("R", 1, ack=None),
                            Segment("R", 2, ack=None),
                            Segment("R", FAR, ack=None),
                            Segment("A", 1, ack=1),
                            Segment("A", 1, ack=-1),
                            Segment("A", 1, ack=FAR_ACK),
                            Segment("", 1, 4, None),
                            Segment("PA", 5, 4),
                            Segment("A", FAR),
                            Segment("A", 0),
                            Segment("F", 1, ack=None),
                            Segment("RA", 1),
                            Segment("SA", 0),
                            Segment("A", 1, time="none"),
                            Segment("FA", 5),
                            Segment("PA", 1, 4, ack=1),
                        )
                    )
                )
            self.add(
                rnd.choice(
                    (Segment("A", 1), Segment("A", 1), Segment("FA", 1), Segment("PA", 1, 4), Segment("FPA", 1, 4))
                )
            )

    # ---- what an open connection meets ----

    def do_data(self):
        end = self.request_end(self.rnd.randrange(1, 4))
        parts, at = [], self.next
        while at < end:
            size = min(end - at, self.rnd.choice((end - at, end - at, 1, 3, 10)))
            parts.append(Segment("PA", at, size, win=self.rnd.choice((60000, 60000, 60000, 20000))))
            at += size
            if len(parts) == 4 and at < end:
                parts.append(Segment("PA", at, end - at))
                break
        self.next = end
        if self.rnd.random() < 0.25:
            self.rnd.shuffle(parts)
        if self.rnd.random() < 0.5:
            self.add(*parts)
        else:
            for part in parts:
                self.add(part)
        if self.rnd.random() < 0.7:
            self.add(self.ack())

    def do_hole(self):
        end = self.request_end(2)
        at = self.rnd.randrange(self.next + 1, end)
        self.add(Segment("PA", at, end - at))
        if self.rnd.random() < 0.5:
            self.add(Segment("PA", end + 4, 8))
        if self.rnd.random() < 0.7:
            self.add(Segment("PA", self.next, at - self.next))
            self.next = end

    def do_again(self):
        start = self.rnd.randrange(1, self.next + 1)
        self.add(Segment("PA", start, self.rnd.randrange(0, 24)))
        if start + self.steps[-1][0].size > self.next:
            self.next = start + self.steps[-1][0].size

    def do_wrong_ack(self):
        off = self.rnd.choice((1, 100, 100000, FAR_ACK, -1, -4, -100, -100000, -FAR_ACK))
        self.add(Segment("PA", self.next, 4, off) if self.rnd.random() < 0.3 else self.ack(ack=off))

    def do_far(self):
        self.add(Segment("PA", self.next + self.rnd.choice((FAR, -FAR, 1 << 31)), self.rnd.choice((0, 1, 4))))

    def do_rst(self):
        at = self.next + self.rnd.choice((0, 0, 1, 1000, -1, -1000, FAR, -FAR))
        self.add(Segment("RA", at) if self.rnd.random() < 0.3 else Segment("R", at, ack=None))

    def do_syn(self):
        at = self.rnd.choice((0, self.next, self.next + 5, self.next - 1, FAR, -FAR))
        self.add(
            self.rnd.choice(
                (
                    Segment("S", at, ack=None),
                    Segment("SA", at),
                    Segment("S", at, ack=None, options=self.options),
                    Segment("SF", at, ack=None),
                    Segment("SPA", at, 4),
                )
            )
        )

    def do_fin(self):
        at = self.next + self.rnd.choice((0, 0, 0, 0, 4, -1))
        size = self.rnd.choice((0, 0, 0, 4))
        self.add(Segment("FA", at, size))
        if at == self.next:
            self.next += size + 1
            self.ended = True
        for _ in range(self.rnd.randrange(0, 3)):
            self.add(
                self.rnd.choice(
                    (
                        Segment("FA", at, size),
                        self.ack(),
                        Segment("PA", self.next, 4),
                        Segment("PA", 1, 4),
                        Segment("R", self.next, ack=None),
                        Segment("A", self.next, ack=-1),
                        Segment("FA", self.next),
                        Segment("S", self.next, ack=None),
                        Segment("A", FAR),
                        Segment("A", self.next, ack=1),
                    )
                )
            )

    def do_zero_window(self):
        end = self.request_end(1)
        self.add(Segment("PA", self.next, end - self.next, win=0))
        self.next = end
        if self.rnd.random() < 0.5:
            self.add(Segment("PA", self.next, 4, win=0))
            self.next += 4
        self.add(self.ack(win=60000))

    def do_keepalive(self):
        self.add(Segment("A", self.next - 1, self.rnd.choice((0, 1))))

    def do_flags(self):
        self.add(
            self.rnd.choice(
                (
                    Segment("", self.next, 4, None),
                    Segment("P", self.next, 4, None),
                    Segment("F", self.next, 0, None),
                    Segment("FPU", self.next, 0, None, urgent=1),
                    Segment("EA", self.next),
                    Segment("CA", self.next),
                    Segment("ECA", self.next),
                    Segment("", self.next + FAR, 0, None),
                )
            )
        )

    def do_urgent(self):
        self.add(Segment("UPA", self.next, 4, urgent=self.rnd.choice((0, 1, 4, 5, 1000))))
        self.next += 4

    def do_time(self):
        time = self.rnd.choice(("old", "none", "far", "echo"))
        size = self.rnd.choice((0, 4, 4))
        self.add(Segment(self.rnd.choice(("PA", "PA", "FA", "R", "S")), self.next, size, time=time))
        self.add(Segment("PA", self.next, 4))
        self.next += 4

    def do_quit(self):
        end = self.stream.find(b"quit\r\n", self.next - 1) + 7
        if 7 <= end <= self.next + QUIT_MOST:
            self.add(Segment("PA", self.next, end - self.next))
            self.next = end
        for _ in range(self.rnd.randrange(1, 4)):
            self.add(
                self.rnd.choice(
                    (
                        self.ack(),
                        self.ack(ack=-1),
                        Segment("PA", self.next, 4),
                        Segment("FA", self.next),
                        self.ack(ack=1),
                        Segment("FA", self.next, ack=-1),
                        Segment("R", self.next, ack=None),
                        Segment("FA", self.next, 4),
                        Segment("A", self.next - 1),
                        Segment("S", self.next, ack=None),
                        Segment("PA", self.next + 4, 4),
                    )
                )
            )

    ACTIONS = (
        ("do_data", 8),
        ("do_hole", 3),
        ("do_again", 3),
        ("do_wrong_ack", 3),
        ("do_far", 2),
        ("do_rst", 2),
        ("do_syn", 2),
        ("do_fin", 3),
        ("do_zero_window", 2),
        ("do_keepalive", 2),
        ("do_flags", 2),
        ("do_urgent", 1),
        ("do_time", 2),
        ("do_quit", 2),
    )


def draw(seed):
    maker = Maker(seed)
    maker.open()
    names, weights = zip(*Maker.ACTIONS)
    for _ in range(maker.rnd.randrange(0, ACTIONS_MOST)):
        getattr(maker, maker.rnd.choices(names, weights)[0])()
    isn = maker.rnd.choice((maker.rnd.randrange(sg.NUMBERS), sg.NUMBERS - maker.rnd.randrange(1, 200)))
    return Conversation(seed, isn, maker.options, maker.stream, maker.steps)


def bytes_of(stream, seq, size):
    """Returns the bytes of that part of the stream; before it are zeros, and beyond its end it repeats a request."""
    start, end = seq - 1, seq - 1 + size
    before = bytes(max(0, min(0, end) - start))
    start = max(0, start)
    beyond = max(start, len(stream))
    tail = bytes(b"mn\r\n"[(at - len(stream)) % 4] for at in range(beyond, end))
    return before + stream[start : max(start, end)] + tail


def written(segment):
    """Returns the words that a packet script has for it."""
    text = f"in {sg.spelled(segment.flags)} {segment.seq}" + (f"+{segment.size}" if segment.size else "")
    if segment.ack is not None and "A" in segment.flags:
        text += f" ack all{segment.ack:+d}" if segment.ack else " ack all"
    text += f" win {segment.win}" if segment.win != 60000 else ""
    text += f" urgent {segment.urgent}" if "U" in segment.flags else ""
    text += f" time {segment.time}" if segment.time else ""
    if segment.options is not None:
        text += (
            " <"
            + ", ".join(
                " ".join(value.hex() if isinstance(value, bytes) else str(value) for value in part)
                for part in segment.options
            )
            + ">"
        )
    return text
