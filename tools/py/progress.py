"""What the tools say while they work: one line a step, a clock while it runs, its time at the end.

All of it goes to stderr: stdout belongs to the command that a script runs through us.
"""

import collections
import subprocess
import sys
import threading
import time

TICK_S = 1.0
PLAIN_FIRST_S, PLAIN_TICK_S = 2.0, 10.0  # no terminal: a line if it takes long, and now and then
LOG_TAIL_LINES = 40

quiet = False


class Failed(Exception):
    """A step did not work; the text is for the reader and complete."""


def say(text):
    if not quiet:
        print(text, file=sys.stderr, flush=True)


class Step:
    """with Step("building") as step: ... step.note = "[3/80]" ..."""

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
    """Run command as a step; its latest line is the note, and log, a file, gets all of them. Returns (status, last lines)."""
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
