"""Records what a run has borrowed from the machine, so that the next run can give it back.

Each run has a file in /run/clockoo, which is locked as long as the run lives. A killed run leaves its file unlocked,
and the next run gives back what the file lists. So what a killed run had borrowed is lost only until the next run.

The big lock is held while a run takes or gives back, so that two runs never count the same
hugepages as free.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from netns import SIDES, end_processes

FOLDER = pathlib.Path("/run/clockoo")
NETNS = pathlib.Path("/run/netns")
EAL_FOLDERS = ("/run/dpdk", "/tmp/dpdk")  # root's folder, and that of other users
EAL_PREFIXES = ("", "-2", "-3", "-4")  # suffixes of a run's name, one for each of its DPDK programs
NR_HUGEPAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")


def keep_in_tmp():
    """Keeps the records in /tmp, for users who may not write to /run: a run without namespaces takes nothing
    that others share."""
    global FOLDER
    FOLDER = pathlib.Path(tempfile.gettempdir()) / f"clockoo-{os.getuid()}"


@contextlib.contextmanager
def big_lock():
    FOLDER.mkdir(mode=0o755, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Ledger:
    """The file of this run. It lists namespaces, hugepages, and EAL's folder for the run's file prefix."""

    def __init__(self):
        self.name = f"clockoo-{os.getpid()}"
        self.pages = 0
        self._path = FOLDER / f"{self.name}.run"
        with big_lock():
            self._file = open(self._path, "w")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self.write()
            _note_netns_mount()
            _sweep()

    def write(self):
        self._file.seek(0)
        self._file.truncate()
        json.dump({"name": self.name, "pages": self.pages}, self._file)
        self._file.flush()

    def close(self):
        with big_lock():
            _give_back(self.name, self.pages)
            self._path.unlink(missing_ok=True)
            self._file.close()
            _drop_netns_mount()


def nr_hugepages():
    return int(NR_HUGEPAGES.read_text())


def change_hugepages(by):
    """Changes the number of hugepages. Returns the actual change. Called under the big lock."""
    before = nr_hugepages()
    try:
        NR_HUGEPAGES.write_text(str(max(0, before + by)))
    except OSError:
        return 0
    return nr_hugepages() - before


def _give_back(name, pages):
    end_processes(name)
    for side in SIDES:
        if (NETNS / f"{name}-{side}").exists():
            subprocess.run(["ip", "netns", "delete", f"{name}-{side}"], check=False)
    if pages:
        change_hugepages(-pages)
    for folder in EAL_FOLDERS:
        for number in EAL_PREFIXES:
            shutil.rmtree(f"{folder}/{name}{number}", ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _sweep():
    """Gives back for runs that no longer live."""
    for path in FOLDER.glob("*.run"):
        with contextlib.suppress(OSError, ValueError, KeyError), open(path) as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: the run lives
            dead = json.load(f)
            _give_back(str(dead["name"]), int(dead["pages"]))
            path.unlink()


def _is_mount(path):
    """Returns True for a mount point, also for a folder that is bound onto itself, as ip netns does, which
    os.path.ismount does not see."""
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == str(path) for line in mounts)


def _note_netns_mount():
    """Notes whether /run/netns is a mount point. ip netns makes it one and leaves it so; the end of the run undoes
    that."""
    if not _is_mount(NETNS):
        (FOLDER / "netns-mount").touch()


def _drop_netns_mount():
    note = FOLDER / "netns-mount"
    if note.exists() and not (NETNS.exists() and any(NETNS.iterdir())):
        note.unlink()
        if _is_mount(NETNS):
            subprocess.run(["umount", str(NETNS)], check=False)
