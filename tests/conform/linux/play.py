"""Plays many conversations with a server at the same time, step by step, and notes what their peers observe.

A step ends when a connection that was opened after its segments were sent has had two answers: servers take frames,
connections and requests in their order, and STEP_S later: longer than an ACK may be delayed and than the appliance
waits between two challenges, however late a loaded machine took the segments.
"""

import select
import socket
import time
import zlib

import conversations as talk
import segments as sg

STEP_S, LAST_S = 0.12, 0.3
PROBE_S = 0.1  # a segment into a closed window after this time is a probe
BARRIER_AGAIN_S, BARRIER_MOST_S = 1.0, 20
HOSTS, PORTS_A_HOST, PORT_FIRST = 256, 60000, 2048  # many hosts, since servers limit replies by source
BARRIER_HOST = 0  # host number of peers that end a step
BURST = 24  # frames to one side before the other side is read
RECEIVE_BYTES = 64 << 20
TIME_BASE = 100_000  # first value of a peer's timestamps
UNKNOWN_ISS = 0x1000  # the number of a server that has not answered


class Peer:
    """One peer of a conversation, with what it has received so far."""

    def __init__(self, conversation):
        self.conversation = conversation
        self.iss = self.echo = self.host = self.port = None
        self.upto, self.crc, self.acked, self.fin = 0, 0, 0, None
        self.closed_at = None
        self.window, self.resets, self.again, self.syn_acks, self.sack, self.gap = None, [], 0, [], None, False

    def take(self, found):
        """Notes a segment from the server."""
        if found.flags & sg.RST:
            base = self.iss if self.iss is not None else 0
            self.resets.append(
                (
                    "A" if found.flags & sg.ACK else "",
                    (found.seq - base) % sg.NUMBERS,
                    self.relative_ack(found) if found.flags & sg.ACK else None,
                )
            )
            return
        if sg.TS in found.options:
            self.echo = int.from_bytes(found.options[sg.TS][:4], "big")
        if found.flags & sg.SYN:
            self.take_syn(found)
            return
        if self.iss is None:
            self.gap = True
            return
        at = (found.seq - self.iss) % sg.NUMBERS
        end = at + len(found.data) + bool(found.flags & sg.FIN)
        is_probe = at + 1 == self.upto and len(found.data) <= 1 or end <= self.upto and len(found.data) > 0
        is_late = self.closed_at is not None and time.monotonic() - self.closed_at > PROBE_S
        if end > self.upto and is_late:
            self.acked = max(self.acked, self.relative_ack(found))
            return
        if found.flags & sg.ACK and not is_probe:
            self.take_ack(found, at, end)
        if end > self.upto and at <= self.upto:
            new = found.data[self.upto - at :]
            self.crc = zlib.crc32(new, self.crc)
            self.upto = end
            if found.flags & sg.FIN:
                self.fin = end
        elif at > self.upto and len(found.data):
            self.gap = True

    def take_syn(self, found):
        if self.iss is not None and found.seq != self.iss:
            self.upto = self.crc = 0
        if self.upto <= 1:
            self.iss, self.upto, self.acked = found.seq, 1, 1
        options = {kind: value for kind, value in found.options.items() if kind in (sg.MSS, sg.SACKOK)}
        self.syn_acks.append(
            (
                found.flags,
                self.relative_ack(found),
                sg.WSCALE in found.options,
                sg.TS in found.options,
                tuple(sorted(options.items())),
            )
        )

    def take_ack(self, found, at, end):
        ack = self.relative_ack(found)
        self.window = found.win == 0
        if ack > self.acked and ack < 1 << 31:
            self.acked = ack
        elif end == at and self.fin is None or end == at and at == self.upto:
            self.again += 1
        blocks = found.options.get(sg.SACK)
        self.sack = blocks and tuple(
            (int.from_bytes(blocks[n : n + 4], "big") - self.conversation.isn) % sg.NUMBERS
            for n in range(0, len(blocks), 4)
        )

    def relative_ack(self, found):
        return (found.ack - self.conversation.isn) % sg.NUMBERS

    def observed(self):
        """Returns what was received since the last call."""
        seen = {
            "syn_acks": tuple(self.syn_acks),
            "resets": tuple(self.resets),
            "upto": self.upto,
            "crc": self.crc,
            "fin": self.fin,
            "acked": self.acked,
            "again": self.again,
            "window": self.window,
            "sack": self.sack,
            "gap": self.gap,
        }
        self.syn_acks, self.resets, self.again, self.sack = [], [], 0, None
        return seen

    def segment(self, macs, server, part, now):
        conv = self.conversation
        stamps = any(kind == "ts" for kind, *_ in conv.options)
        flags, ack, options = sg.flags_of(part.flags), 0, b""
        if "A" in part.flags and part.ack is not None:
            ack = (self.iss if self.iss is not None else UNKNOWN_ISS) + max(self.upto, 1) + part.ack
        if part.options is not None:
            options = talk.options_bytes(part.options, now)
        elif stamps and "R" not in part.flags and part.time != "none":
            options = sg.timestamps(
                {"old": now - 90_000, "far": now + (1 << 30)}.get(part.time, now),
                (self.echo or 0) + (1 << 29 if part.time == "echo" else 0),
            )
        if "A" in part.flags:
            self.closed_at = (self.closed_at or time.monotonic()) if part.win == 0 else None
        data = talk.bytes_of(conv.stream, part.seq, part.size)
        return sg.frame(
            macs,
            (self.host, server),
            self.port,
            flags,
            conv.isn + part.seq,
            ack,
            part.win,
            options,
            data,
            part.urgent,
        )


class Side:
    """A packet socket to one server, and the peers behind it."""

    def __init__(self, iface, server):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, RECEIVE_BYTES)  # SO_RCVBUFFORCE
        self.sock.bind((iface, 0))
        self.sock.setblocking(False)
        self.mac, self.server = self.sock.getsockname()[4], socket.inet_aton(server)
        self.server_mac, self.peers, self.count = b"\xff" * 6, {}, 0
        self.barriers = 0

    def find_server(self):
        asked = (
            self.mac + b"\x08\x06\0\1\x08\0\6\4\0\1" + self.mac + sg.address(BARRIER_HOST) + bytes(6) + self.server
        )
        end = time.monotonic() + BARRIER_MOST_S
        while self.server_mac[0] & 1:
            if time.monotonic() > end:
                raise RuntimeError("no server answers ARP")
            self.sock.send(b"\xff" * 6 + asked)
            select.select([self.sock], [], [], 0.2)
            self.receive()

    def receive(self):
        while True:
            try:
                data = self.sock.recv(65536)
            except BlockingIOError:
                return
            if data[6:12] == self.mac:
                continue
            reply = sg.arp_reply(self.mac, data)
            if reply is not None:
                self.sock.send(reply)
            elif data[12:14] == b"\x08\x06" and data[28:32] == self.server:
                self.server_mac = data[22:28]
            elif (found := sg.read(data)) is not None and (
                peer := self.peers.get((found.host, found.port))
            ) is not None:
                peer.take(found)

    def join(self, peer, host, port):
        peer.host, peer.port = sg.address(host), port
        self.peers[(peer.host, peer.port)] = peer

    def add(self, conversation):
        peer = Peer(conversation)
        self.count += 1
        self.join(peer, 1 + self.count % HOSTS, PORT_FIRST + self.count // HOSTS % PORTS_A_HOST)
        return peer

    def send(self, peer, part, now):
        frame = peer.segment((self.mac, self.server_mac), self.server, part, now)
        while True:
            try:
                self.sock.send(frame)
                return
            except (BlockingIOError, OSError):
                time.sleep(0.001)

    def leave(self, peer):
        """Resets a connection that may be left."""
        if peer.iss is not None:
            self.send(peer, talk.Segment("R", peer.acked, ack=None), 0)
        del self.peers[(peer.host, peer.port)]

    # ---- a connection that is served after all that was sent before ----

    def open_barrier(self, request=b"mn\r\n"):
        self.barriers += 1
        conversation = talk.Conversation(0, self.barriers * 7919, (), request * 2, [])
        self.barrier = Peer(conversation)
        self.join(self.barrier, BARRIER_HOST, PORT_FIRST + self.barriers % PORTS_A_HOST)
        self.asked, self.stage, self.again_at = len(request), 0, 0

    def drive_barrier(self):
        """Returns true once it has been answered twice."""
        peer, now = self.barrier, time.monotonic()
        has = (peer.iss is not None) + (peer.acked > self.asked and peer.upto > 1) + (peer.acked > 2 * self.asked)
        if has == self.stage and now < self.again_at:
            return False
        self.stage, self.again_at = has, now + BARRIER_AGAIN_S
        if has < 3:
            part = (
                talk.Segment("S", 0, ack=None)
                if has == 0
                else talk.Segment("PA", 1 + (has - 1) * self.asked, self.asked)
            )
            self.send(peer, part, 0)
            return False
        self.leave(peer)
        return True


def wait_barriers(sides, request=b"mn\r\n"):
    end = time.monotonic() + BARRIER_MOST_S
    for side in sides:
        side.open_barrier(request)
    waiting = list(sides)
    while waiting:
        if time.monotonic() > end:
            raise RuntimeError(f"a server stands still: {waiting[0].server_mac.hex()}")
        waiting = [side for side in waiting if not side.drive_barrier()]
        select.select([side.sock for side in sides], [], [], 0.02)
        for side in sides:
            side.receive()


def listen(sides, until):
    while (left := until - time.monotonic()) > 0:
        select.select([side.sock for side in sides], [], [], left)
        for side in sides:
            side.receive()


def play(sides, played):
    """Returns, for each conversation, a list of what was observed in each step, for each side."""
    pairs = [[side.add(conversation) for side in sides] for conversation in played]
    notes = [[[] for _ in sides] for _ in played]
    began = time.monotonic()
    for step in range(max(len(conversation.steps) for conversation in played)):
        now_talking = [n for n, conversation in enumerate(played) if step < len(conversation.steps)]
        now = TIME_BASE + int((time.monotonic() - began) * 1000)
        for at in range(0, len(now_talking), BURST):
            for s, side in enumerate(sides):
                for n in now_talking[at : at + BURST]:
                    for part in played[n].steps[step]:
                        side.send(pairs[n][s], part, now)
                side.receive()
        wait_barriers(sides)
        listen(sides, time.monotonic() + STEP_S)
        # The last step of a conversation lasts twice as long as the others.
        ended = [n for n, conversation in enumerate(played) if step == len(conversation.steps)]
        for n in ended + [n for n in now_talking if step + 1 < len(played[n].steps)]:
            for s in range(len(sides)):
                notes[n][s].append(pairs[n][s].observed())
    listen(sides, time.monotonic() + LAST_S)
    for n, pair in enumerate(pairs):
        for s, side in enumerate(sides):
            if len(notes[n][s]) < len(played[n].steps):
                notes[n][s].append(pair[s].observed())
            side.leave(pair[s])
    return notes
