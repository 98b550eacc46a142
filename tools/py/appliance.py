"""Starts the appliance in its namespace, watches it, keeps what it prints, and stops it.

The appliance runs in its own session, so Ctrl-C reaches only us, and we stop it after its client. If we are killed the
kernel kills it (prctl(2), PR_SET_PDEATHSIG).
"""

import collections
import re
import subprocess
import threading

import lendings
import netns
from progress import Failed, Step, say

READY_WAIT_S = 60.0  # a large -m takes long to touch
STOP_WAIT_S = 15.0
LAST_WORDS_LINES = 12
PAGE_MB = 2

READY = " ready:"
TCP_PORT = re.compile(r" ready:.*? tcp \S+:(\d+)")
HUGE_NEED = re.compile(r"hugepages: (\d+) MB needed")


class Died(Failed):
    """The appliance ended by itself. The text has its last lines."""


class Appliance:
    def __init__(self, command, ns):
        self.has_tls = "-Z" in command or "--enable-ssl" in command
        self.tcp_port = None  # set by the line that says that the appliance serves
        self.on_line = None  # called with every line that it prints once it is ready
        self._words = collections.deque(maxlen=LAST_WORDS_LINES)
        self._ready = threading.Event()
        # setpriv and nsenter become the appliance (exec), so the pid is its own.
        self._child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *netns.inside(ns), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True)
        self.pid = self._child.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._child.stdout:
            line = line.rstrip("\n")
            self._words.append(line)
            if self._ready.is_set() and self.on_line:
                self.on_line(line)
            if READY in line:
                found = TCP_PORT.search(line)
                self.tcp_port = int(found.group(1)) if found else None
                self._ready.set()

    def wait_ready(self):
        for _ in range(int(READY_WAIT_S / 0.05)):
            if self._ready.wait(0.05):
                return
            self.check_alive()
        raise Died(f"the appliance was not ready within {READY_WAIT_S:.0f} s\n{self.last_words()}")

    def check_alive(self):
        status = self._child.poll()
        if status is not None:
            self._reader.join(1.0)
            how = f"signal {-status}" if status < 0 else f"status {status}"
            raise Died(f"the appliance died ({how}). Its last words:\n{self.last_words()}")

    def wait(self, seconds):
        """Waits for its end. Returns True if it ended within that time."""
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self):
        """Stops it: it drains, or is killed if that takes too long. Returns its status."""
        if self._child.poll() is None:
            self._child.terminate()
            if not self.wait(STOP_WAIT_S):
                say(f"the appliance did not drain within {STOP_WAIT_S:.0f} s: killed")
                self._child.kill()
                self._child.wait()
        self._reader.join(1.0)
        return self._child.returncode

    def last_words(self):
        return "\n".join(f"  {line}" for line in self._words) or "  (none)"


def start(command, wire, ledger, no_huge):
    """Starts the appliance with hugepages if there are enough, otherwise without. Returns (appliance, on hugepages).
    Only the appliance knows how much memory it needs, and it says so before it takes any. So it is started once, is
    lent the missing pages, and is started again."""
    with lendings.big_lock(), Step("starting the appliance"):
        if not no_huge:
            need = _try_hugepages(command, wire)
            if isinstance(need, Appliance):
                return need, True
            if need > 0 and _lend(ledger, need):
                need = _try_hugepages(command, wire)
                if isinstance(need, Appliance):
                    return need, True
        return _started(command + ["--no-huge"], wire), False


def _try_hugepages(command, wire):
    """Returns the appliance or, if it lacks hugepages, the MB that it needs (0: unknown)."""
    try:
        return _started(command, wire)
    except Died as died:
        # Another program, perhaps in a container, may have taken the hugepages that were free before.
        if not any(words in str(died) for words in ("ugepage", "Cannot allocate memory")):
            raise
        need = HUGE_NEED.search(str(died))
        return int(need.group(1)) if need else 0


def lend_for(words, ledger):
    """Lends the hugepages that a DPDK program reports as missing. False: it ended for another reason, or no page can be
    lent."""
    need = HUGE_NEED.search(words)
    with lendings.big_lock():
        return need is not None and _lend(ledger, int(need.group(1)))


def _started(command, wire):
    appliance = Appliance(command, wire.server)
    try:
        appliance.wait_ready()
        if appliance.tcp_port is not None:  # port_echo has no TCP port
            wire.tcp_port = appliance.tcp_port
        wire.join()
    except BaseException:
        appliance.stop()
        raise
    return appliance


def _lend(ledger, need_mb):
    """Raises nr_hugepages by the missing pages, all or none."""
    free = _meminfo("HugePages_Free:") - _meminfo("HugePages_Rsvd:")
    # A few more than the program reports: EAL rounds each of its segments up to whole pages.
    missing = need_mb // PAGE_MB + 8 - free
    if _meminfo("Hugepagesize:") != PAGE_MB * 1024:
        return False
    if missing * PAGE_MB * 1024 * 4 > _meminfo("MemAvailable:") * 3:
        say(f"hugepages: {missing} pages would take too much of this machine's memory")
        return False
    got = lendings.change_hugepages(missing)
    ledger.pages += got
    ledger.write()
    if got < missing and got > 0:
        lendings.change_hugepages(-got)
        ledger.pages -= got
        ledger.write()
    return got >= missing


def _meminfo(key):
    with open("/proc/meminfo") as f:
        return next((int(line.split()[1]) for line in f if line.startswith(key)), 0)
