"""tools/run --flash SIZE: a second tier on a file, and the proof that it has the items that memory lacks.

The file lies in the build folder. One and a half times the items that memory holds are stored and requested, so a third
of the hits come from flash. Every value is checked. A slow disk makes the tier forget items that it had no time to
write or to read.
"""

import os
import re
import subprocess

import netns
from progress import Failed, say

SIZE = re.compile(r"[0-9]+[mgtMGT]?")
OF_MEMORY = 1.5        # bytes stored, in multiples of the memory
VALUE, KEY = 2000, b"flash:%06d"
KEYS_A_GET = 50
FOUND_LEAST = 0.99     # a cache may forget
LOAD_VALUE = 1000
LOAD_OF_MEMORY = 3


class Flash:
    """The tier's file, which is removed at the end."""

    def __init__(self, folder, name, size, wire, port):
        self.path, self.size = folder / f"flash-{name}", size
        self._wire, self._port = wire, port
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        except OSError as error:
            raise Failed(f"--flash: {self.path}: {error.strerror}; --build names a folder on a disk") from None

    def options(self):
        return ["--flash-device", str(self.path), "--flash-size", self.size, "--flash-admit", "all"]

    def remove(self):
        self.path.unlink(missing_ok=True)

    def _ask(self, text):
        command = [*netns.inside(self._wire.client), "nc", "-w", "10", self._wire.host, str(self._port)]
        return subprocess.run(command, input=text + b"quit\r\n", capture_output=True).stdout

    def stats(self, which=""):
        rows = self._ask(b"stats %b\r\n" % which.encode() if which else b"stats\r\n").decode(errors="replace").splitlines()
        return dict(row.split()[1:3] for row in rows if row.startswith("STAT ") and row.count(" ") == 2)

    def load_keys(self):
        """Returns a number of keys with LOAD_VALUE bytes that is too large for the memory."""
        return int(LOAD_OF_MEMORY * int(self.stats()["limit_maxbytes"]) / LOAD_VALUE)

    def prove(self):
        count = int(OF_MEMORY * int(self.stats()["limit_maxbytes"]) / VALUE)
        self._ask(b"".join(b"set %b 0 0 %d noreply\r\n%b\r\n" % (KEY % i, VALUE, value(i)) for i in range(count)))
        there = int(self.stats()["curr_items"])
        gets = (b" ".join(KEY % i for i in range(at, min(count, at + KEYS_A_GET)))
                for at in range(0, count, KEYS_A_GET))
        found, wrong = judge(self._ask(b"".join(b"get %b\r\n" % keys for keys in gets)))
        if wrong is not None:
            raise Failed(f"--flash: {wrong} has a value that is not its own")
        slow = int(self.stats("extstore")["flash_refused_device"]) + int(self.stats()["get_aborted_extstore"])
        if not there < FOUND_LEAST * count <= found + slow or found <= there:
            raise Failed(f"--flash: of {count} items memory had {there}, and {found} were found; the disk was too slow for {slow}")
        say(f"\n{count} items of {VALUE} bytes were stored. Memory held {there} of them; asked for, {found} were "
            f"found,\nby their values: {found - there} more than memory has, from {self.path.name}, {self.size}."
            + (f"\nThe disk was too slow for {slow}." if slow else ""))


def value(number):
    return (b"%d." % number * VALUE)[:VALUE]


def judge(answer):
    """Returns how many values are right, and a key with a wrong value, or None."""
    found = at = 0
    head = re.compile(rb"VALUE (flash:0*(\d+)) 0 %d\r\n" % VALUE)
    while (one := head.search(answer, at)) is not None:
        at = one.end() + VALUE
        if answer[one.end():at] != value(int(one[2])):
            return found, one[1].decode()
        found += 1
    return found, None
