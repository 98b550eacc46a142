"""Progress of the tools: one line a step, a clock while it runs, its time at the end.

All of it goes to stderr: stdout belongs to the command that a script runs through us.
"""

import collections
import contextlib
import os
import re
import subprocess
import sys
import threading
import time

TICK_S = 1.0
PLAIN_FIRST_S, PLAIN_TICK_S = 2.0, 10.0  # without a terminal: until a long step's first line, and to each next one
LOG_TAIL_LINES = 40
EDGE = re.compile(r"\[\d+/\d+\] [^\r\n\x1b]+")  # ninja's line of progress
EDGE_LOOK_BACK = 200  # bytes of the piece before in which an edge may begin
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

quiet = False


class Failed(Exception):
    """A step failed. The text is all that the user needs."""


def say(text):
    if not quiet:
        print(text, file=sys.stderr, flush=True)


class Step:
    """A step of the work. In `with Step("building") as step`, step.note = "[3/80]" shows its progress."""

    def __init__(self, words):
        self.words = words
        self.note = ""
        self._done = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self):
        self._start = time.monotonic()
        if not quiet:
            self._ticker.start()
        return self

    def __exit__(self, kind, value, trace):
        self._done.set()
        if quiet:
            return
        self._ticker.join()
        end = "" if kind is None else " - failed" if issubclass(kind, Exception) else " - stopped"
        self._write(f"{self.words} ({self.seconds():.1f} s){end}", last=True)

    def seconds(self):
        return time.monotonic() - self._start

    def _tick(self):
        terminal = sys.stderr.isatty()
        wait_s = TICK_S if terminal else PLAIN_FIRST_S
        while not self._done.wait(wait_s):
            wait_s = TICK_S if terminal else PLAIN_TICK_S
            self._write(f"{self.words} ... {self.seconds():.0f} s  {self.note}", last=not terminal)

    def _write(self, text, last):
        if sys.stderr.isatty():
            sys.stderr.write("\r" + text[:110] + "\033[K" + ("\n" if last else ""))
        else:
            sys.stderr.write(text.rstrip() + "\n")
        sys.stderr.flush()


def run_step(words, command, log=None, **popen_args):
    """Runs a command as a step. Its latest line is the note, and log, a file, gets all lines. Returns (status,
    last lines)."""
    tail = collections.deque(maxlen=LOG_TAIL_LINES)
    with Step(words) as step:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              **popen_args) as child:
            try:
                for line in child.stdout:
                    tail.append(line.rstrip("\n"))
                    if log is not None:
                        log.write(line)
                    step.note = tail[-1].strip()[:80]
            except BaseException:
                child.terminate()
                raise
        return child.returncode, list(tail)


def run_ninja(words, command):
    """Runs ninja as run_step does. The note is the edge that ninja began last, even while compilers print. Only on a
    terminal does ninja name edges when they begin, so it gets one."""
    ours, its = os.openpty()
    with open(ours, "rb", 0) as said, Step(words) as step:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                              env={**os.environ, "TERM": "xterm"}) as child:
            os.close(its)
            try:
                text = _read_edges(said, step)
            except BaseException:
                child.terminate()
                raise
    # A line that ninja has overwritten does not count as a line.
    lines = [line.rpartition("\r")[2] for line in ESCAPE.sub("", text).replace("\r\n", "\n").split("\n")]
    return child.returncode, lines[-LOG_TAIL_LINES:]


def _read_edges(terminal, step):
    """Reads what is written to the terminal until its last writer closes it."""
    text = ""
    with contextlib.suppress(OSError):  # EIO: the terminal has no writer left
        while piece := terminal.read(1 << 16):
            text += piece.decode(errors="replace")
            edges = EDGE.findall(text[-len(piece) - EDGE_LOOK_BACK:])
            step.note = edges[-1].strip()[:80] if edges else step.note
    return text
