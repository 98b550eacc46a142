"""The built program on port user, and ports of this host, for a test that reads what it writes."""

import contextlib
import os
import queue
import random
import socket
import subprocess
import threading

HOST_INSIDE = "10.0.2.2"  # this host's address for the program
WAIT_S = 60               # time limit of a step


def free_port():
    """Returns a port that is free for TCP and UDP at all addresses, below those that the kernel chooses from."""
    while True:
        port = random.randint(15000, 32000)
        with contextlib.suppress(OSError), contextlib.ExitStack() as undo:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                undo.enter_context(socket.socket(socket.AF_INET, kind)).bind(("0.0.0.0", port))
            return port


def base(port):
    return ["--config", "none", "--port", "user", "--no-huge", "-m", "16", "-p", str(port), "--file-prefix",
            f"user-{os.getpid()}-{random.getrandbits(32)}"]


class UserPortProgram:
    """with UserPortProgram(PROGRAM, WORDS) as p: p.ready is its first line, p.lines has those of stderr; the program is
    killed at the end. p.line(WORDS) waits for a line that has them."""

    def __init__(self, program, *words):
        self.port = free_port()
        self.lines, self.seen = queue.Queue(), []
        self.process = subprocess.Popen([program, *base(self.port), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.ready = self.process.stdout.readline()

    def read(self):
        for line in self.process.stderr:
            self.lines.put(line)

    def __enter__(self):
        if " ready: " not in self.ready:
            self.__exit__()
            raise AssertionError(f"it is not ready: {list(self.lines.queue)}")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, request):
        with socket.create_connection(("127.0.0.1", self.port), WAIT_S) as s, s.makefile("rb") as heard:
            s.sendall(request)
            return heard.readline()

    def line(self, words):
        while words not in (self.seen[-1] if self.seen else ""):
            try:
                self.seen.append(self.lines.get(timeout=WAIT_S))
            except queue.Empty:
                raise AssertionError(f"no line has \"{words}\": {self.seen}") from None
        return self.seen[-1]
