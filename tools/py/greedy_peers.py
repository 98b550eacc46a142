#!/usr/bin/python3 -B
"""The peers of tools/bench flood that misbehave: many connections of which each sends a file and reads nothing.

    greedy_peers.py HOST PORT --peers N --send FILE [--endless] [--read BYTES_A_SECOND] [--pause SECONDS]

With --endless a peer sends the file again as long as its socket takes it. With --read it reads that slowly. A
connection that the server ends is opened again after the pause. Prints "ready" once every peer has sent as much as its
socket takes and little more arrives, or after READY_S. Until then the peers only load the cable. Lives until its stdin
ends and then prints one line of JSON.
"""

import argparse
import contextlib
import errno
import fcntl
import heapq
import itertools
import json
import pathlib
import resource
import select
import socket
import struct
import sys
import termios
import time

READY_S, LOOK_S = 10.0, 0.25
LITTLE_BYTES = 1 << 18  # bytes that all peers together receive in LOOK_S
READ_EVERY_S = 0.25  # interval of --read
SENDS_A_VISIT = 16
PIECE_BYTES = 1 << 16


class Peer:
    def __init__(self):
        self.sock, self.at, self.has_sent = None, 0, False


class Greedy:
    def __init__(self, args):
        self.args, self.text = args, pathlib.Path(args.send).read_bytes()
        self.address = (args.host, args.port)
        self.epoll, self.by_fd, self.due, self.order = select.epoll(), {}, [], itertools.count()
        self.peers = [Peer() for _ in range(args.peers)]
        self.row = {"part": "greedy_peers", "opened": 0, "ended": 0, "sent": 0, "read": 0}

    def open(self, peer):
        peer.sock, peer.at = socket.socket(), 0
        peer.sock.setblocking(False)
        peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.by_fd[peer.sock.fileno()] = peer
        if peer.sock.connect_ex(self.address) not in (0, errno.EINPROGRESS):
            raise OSError(f"no connection to {self.address}")
        self.epoll.register(peer.sock.fileno(), select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET)
        self.row["opened"] += 1

    def end(self, peer):
        del self.by_fd[peer.sock.fileno()]
        peer.sock.close()
        peer.sock = None
        self.row["ended"] += 1
        self.at_time(self.args.pause, self.open, peer)

    def at_time(self, after_s, work, peer):
        heapq.heappush(self.due, (time.monotonic() + after_s, next(self.order), work, peer))

    def send(self, peer):
        """Sends as much as the socket takes; with --endless only some pieces a visit."""
        for _ in range(SENDS_A_VISIT):
            if peer.at == len(self.text):
                peer.has_sent = True
                if not self.args.endless:
                    return
                peer.at = 0
            try:
                n = peer.sock.send(self.text[peer.at:peer.at + PIECE_BYTES])
            except BlockingIOError:
                peer.has_sent = True
                return
            peer.at += n
            self.row["sent"] += n
        self.at_time(0, self.send_again, peer)

    def send_again(self, peer):
        if peer.sock is not None:
            self.visit(peer, select.EPOLLOUT)

    def read(self, peer):
        self.at_time(READ_EVERY_S, self.read, peer)
        if peer.sock is not None:
            with contextlib.suppress(OSError):
                self.row["read"] += len(peer.sock.recv(max(1, int(self.args.read * READ_EVERY_S))))

    def visit(self, peer, events):
        if events & ~select.EPOLLOUT:
            return self.end(peer)
        try:
            self.send(peer)
        except OSError:
            self.end(peer)

    def moved(self):
        """Returns the bytes sent and received so far."""
        waiting = 0
        for fd in self.by_fd:
            waiting += struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]
        return self.row["sent"] + self.row["read"] + waiting

    def look(self, moved, late_s):
        """Prints "ready" once the peers are (see the module's text)."""
        now = self.moved()
        calm = abs(now - moved) < LITTLE_BYTES and all(peer.has_sent for peer in self.peers)
        if calm or time.monotonic() > late_s:
            print("ready", flush=True)
        else:
            self.at_time(LOOK_S, lambda _: self.look(now, late_s), None)

    def run(self):
        """Runs until stdin ends."""
        self.epoll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
        for number, peer in enumerate(self.peers):
            self.open(peer)
            if self.args.read:
                self.at_time(READ_EVERY_S * number / len(self.peers), self.read, peer)
        self.look(-LITTLE_BYTES, time.monotonic() + READY_S)
        while True:
            now_s = time.monotonic()
            while self.due and self.due[0][0] <= now_s:
                _, _, work, peer = heapq.heappop(self.due)
                work(peer)
            wait_s = max(0.0, min(0.1, self.due[0][0] - now_s)) if self.due else 0.1
            for fd, events in self.epoll.poll(wait_s, 256):
                if fd == sys.stdin.fileno():
                    return
                if fd in self.by_fd:
                    self.visit(self.by_fd[fd], events)


def main(argv):
    p = argparse.ArgumentParser()
    p.add_argument("host")
    p.add_argument("port", type=int)
    p.add_argument("--peers", type=int, required=True)
    p.add_argument("--send", required=True)
    p.add_argument("--endless", action="store_true")
    p.add_argument("--read", type=float, default=0.0)
    p.add_argument("--pause", type=float, default=1.0)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    greedy = Greedy(p.parse_args(argv))
    greedy.run()
    print(json.dumps(greedy.row))


if __name__ == "__main__":
    main(sys.argv[1:])
