"""Reads, with their times, the changes of a rack's routes (tests/support/anycast_bed.py): ways to the VIP in the
router's kernel, BFD and BGP sessions in its daemons' logs, and the commands of the boxes' hooks to their daemons.

Units: seconds of time.monotonic(), which all processes of a machine share.
"""

import datetime
import pathlib
import re
import subprocess
import time

from anycast_bed import VIP
from kernel_bed import die_with_parent

FRR_LINE = re.compile(r"^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+) \S+: (?:\[\S+\] ?)*(.*)")
KERNEL_LINE = re.compile(r"^\[(\S+)\] ?(.*)")
HOOK_LINE = re.compile(r"^(\d+\.\d+) (.*)")
TOLD = {"bfdd.log": "state-change", "bgpd.log": "ADJCHANGE"}  # the lines of a log that are kept


def local_time(text):
    return datetime.datetime.fromisoformat(text.replace("/", "-")).timestamp()


class Journal:
    """with Journal(rack) as journal: notes are taken until its end."""

    def __init__(self, rack):
        self.rack, self.noted = rack, []
        self.routes = pathlib.Path(rack.frr.folder) / "routes"
        self.begun_s = time.monotonic()
        self.wall_s = time.time() - self.begun_s

    def __enter__(self):
        with open(self.routes, "w", encoding="utf-8") as out:
            self.watch = subprocess.Popen(["nsenter", "-t", str(self.rack.router.holder.pid), "-n", "ip", "-ts", "-o", "monitor",
                                           "route"], stdin=subprocess.DEVNULL, stdout=out, preexec_fn=die_with_parent)
        return self

    def __exit__(self, *_):
        self.watch.kill()
        self.watch.wait()

    def note(self, who, words):
        self.noted.append((time.monotonic(), who, words))

    def read(self, path, form, who, wanted, seconds):
        """Returns the lines of a log, each with its time."""
        found = []
        for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
            if (said := form.match(line)) and wanted in said[2]:
                found.append((seconds(said[1]) - self.wall_s, who, said[2].strip()))
        return found

    def ways(self):
        """Returns each change of the routes to the VIP: its time, and the boxes to which they lead."""
        return [(when, () if line.startswith("Deleted") else tuple(sorted(re.findall(r"via (\S+)", line))))
                for when, _, line in self.read(self.routes, KERNEL_LINE, "kernel", VIP, local_time)]

    def lines(self, since_s):
        """Returns the notes made after since_s, in order."""
        found = self.noted + [(when, "router", f"ways to {VIP}: {', '.join(ways) or 'none'}") for when, ways in self.ways()]
        for log, wanted in TOLD.items():
            found += self.read(pathlib.Path(self.rack.frr.folder) / log, FRR_LINE, f"router's {log[:-4]}", wanted, local_time)
        for box in self.rack.boxes:
            found += self.read(box.folder / "hook", HOOK_LINE, f"hook of box {box.number}", "", float)
        return sorted(line for line in found if line[0] >= since_s)


def flaps(ways, expected):
    """Returns how many of these changes are not those expected, in their order."""
    distinct = [one for i, one in enumerate(ways) if i == 0 or one != ways[i - 1]]
    return max(len(distinct) - len(expected), 0 if distinct[:len(expected)] == expected else 1)
