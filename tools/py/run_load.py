"""tools/run --load: clockoo-load in the client's namespace, so that the live line has something to show.

It drives the client's end of the wire itself, with an address of its own beside the kernel's, and checks every value.
On two CPUs it sends the appliance several times the requests of a kernel client.
"""

import contextlib
import os
import subprocess

import netns
import run_flash
from progress import Failed, say

CONNECTIONS, DEPTH, KEYS = 50, 8, 20_000
LONGEST_S = 86_400
END_S = 5.0


def command(build, wire, name, profiles, port, keys, more):
    """Returns the command, on the first CPU, which the appliance takes last."""
    cpu = min(os.sched_getaffinity(0))
    if wire.port == "user":  # port user has a network of its own, in which the host is 10.0.2.2, too
        return [str(build / "tests/load/clockoo-load"), "--port", "user", "--server", f"{wire.here_inside}:{port}",
                *_common(name, profiles, keys, more, cpu)]
    net, _, _ = wire.host.rpartition(".")
    return [str(build / "tests/load/clockoo-load"), "--port", "af_packet", "--iface", wire.peer, "--address",
            f"{net}.3/{netns.PREFIX_LEN}", "--server", f"{wire.host}:{port}", *_common(name, profiles, keys, more, cpu)]


def _common(name, profiles, keys, more, cpu):
    return ["--no-huge", "--yield", "--lcores", f"0@{cpu}", "--file-prefix", name, "--data-dir", str(profiles),
            "--connections", str(CONNECTIONS), "--depth", str(DEPTH), "--keys", str(keys), "--seconds",
            str(LONGEST_S), "--quiet", *more]


class Load:
    def __init__(self, build, wire, name, profiles, port, hot=None, keys=KEYS, flash=None):
        more = ["--popularity", hot, "--sets", "1"] if hot else []
        if flash is not None:
            keys = flash.load_keys()
            more = ["--popularity", "zipf:0.9", "--value-size", str(run_flash.LOAD_VALUE)]
        words = command(build, wire, name, profiles, port, keys, more)
        say(f"\nThe load: clockoo-load, {CONNECTIONS} connections with {DEPTH} requests each on their way, "
            f"{keys} keys, " + ("half of the requests for one of them, 1 % sets" if hot else
                                f"{'more than memory holds, ' if flash else ''}5 % sets"))
        # setpriv and nsenter become the program (exec), so the pid is its own.
        self._child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *netns.inside(wire.client), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)

    def check_alive(self):
        """Raises Failed if the load has ended: it ends if a value is wrong or no answer arrives."""
        status = self._child.poll()
        if status is not None:
            raise Failed(f"the load ended (status {status}): {self._child.stderr.read().strip()}")

    def stop(self):
        self._child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(END_S)
        self._child.kill()
        self._child.wait()
        self._child.stderr.close()
