"""The servers of tools/bench edge: each has one port and one core, and is stopped (SIGSTOP) while another one
has its turn on the CPU. The frames that a server has moved are read from DPDK's telemetry; the CPU time is that
of its core's thread, so other work on the machine does not count.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import appliance
import edge_frames
from progress import Failed
from vs_bed import VsBed, lcores

RUNTIME = pathlib.Path("/var/run/dpdk")
ANSWER_S = 5.0
SETTLE_S = 0.1
PMD = "dpdk-testpmd"
PMD_MBUFS, PMD_MB = 16384, 128
CONNECTIONS = 64
ADDRESS = "10.99.0.1/24"


class Telemetry:
    """The DPDK telemetry socket of a process: sends a greeting, then an object for each command."""

    def __init__(self, prefix):
        path = RUNTIME / prefix / "dpdk_telemetry.v2"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(str(path))
            self._most = json.loads(self._socket.recv(1024))["max_output_len"]
        except (OSError, ValueError) as error:
            raise Failed(f"DPDK's telemetry: {path}: {error}") from error

    def ask(self, command):
        self._socket.send(command.encode())
        return next(iter(json.loads(self._socket.recv(self._most)).values()))


class Macswap:
    """dpdk-testpmd, which returns each frame with its addresses exchanged."""

    def __init__(self, words, vdev, environment):
        self._child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "env", *(f"{name}={value}" for name, value in environment.items()), PMD, *words, *vdev, "--", "--forward-mode=macswap", "--auto-start", "--nb-cores=1",
             "--burst=64", f"--total-num-mbufs={PMD_MBUFS}", "--rxd=512", "--txd=512"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        self.pid, self._words = self._child.pid, []
        self._reader = threading.Thread(target=lambda: self._words.extend(self._child.stdout), daemon=True)
        self._reader.start()

    def check_alive(self):
        status = self._child.poll()
        if status is not None:
            self._reader.join(1.0)
            raise Failed(f"{PMD} ended (status {status}): " + "  ".join(self._words[-6:]))

    def stop(self):
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(appliance.STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def threads_cpu_ns(pid):
    """Returns {thread: its CPU time}."""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            found[path.parent.name] = int(path.read_text().split()[0])
    return found


class EdgeBed(VsBed):
    SIDES = ()

    def __init__(self, programs, build):
        super().__init__(programs, build, [])
        self._started = []

    def make(self, ledger):
        self.settle(ledger)
        self.server_ns = None

    def end_all(self):
        """Ends the servers of a part, also if it failed."""
        while self._started:
            self.end(self._started.pop())

    def path(self, name):
        return self._folder / name

    def frames(self, mac):
        """Returns a capture file for a server with that MAC."""
        path = self._folder / f"{mac.replace(':', '')}.pcap"
        if not path.exists():
            edge_frames.write(path, mac)
        return path

    def start_clockoo(self, prefix, *options, environment=None):
        """Starts the appliance with its telemetry. environment: for the appliance only, not for the programs
        that start it."""
        before = ["env", *(f"{name}={value}" for name, value in (environment or {}).items())]
        server = self._spinner([*before, *self._app("--telemetry-dpdk", "--probe", "off", "--address", ADDRESS, "-c", str(CONNECTIONS),
                                                     *map(str, options))], prefix, None)
        return self._with_telemetry(server, prefix)

    def start_macswap(self, prefix, *vdev, environment=None):
        if shutil.which(PMD) is None:
            raise Failed(f"{PMD} is not installed (apt-get install dpdk-dev)")
        # -m: testpmd allocates all of its memory at the start.
        huge = self.huge and appliance.lend_for(f"hugepages: {PMD_MB} MB needed", self._ledger)
        memory = ["--in-memory" if huge else "--no-huge", "-m", str(PMD_MB)]
        words = ["--lcores", lcores([self.client_cpu, self.server_cpu]), *memory, "--file-prefix",
                 f"{self._ledger.name}{prefix}"]
        server = Macswap(words, vdev, environment or {})
        self._undo.callback(self.end, server)
        server = self._with_telemetry(server, prefix)
        os.kill(server.pid, signal.SIGSTOP)
        return server

    def start_port_echo(self, prefix, *options):
        server = self._spinner([str(self._programs / "port_echo"), "serve", "--telemetry-dpdk", "yes", *options], prefix, None)
        return self._with_telemetry(server, prefix)

    def ask_frames(self, words, server, port, socket_name, frames, ms):
        """Returns the asking program's time for a frame in its fastest tenth, when other work had none of the CPUs."""
        with self.turn_of(server):
            out = self._kernelless(words, [self._programs / "port_echo", "ask", "--ms", ms, "--frames", frames, "--port", port,
                                           "--socket", self.path(socket_name)], "-3")
        row = json.loads(out.splitlines()[-1])
        if row["block_ns"] == 0:
            raise Failed(f"{words}: too few frames came back")
        return {"ns": row["block_ns"], "idle": row["idle"]}

    def _with_telemetry(self, server, prefix):
        """Waits for the telemetry of a server, since dpdk-testpmd prints nothing when it is ready."""
        end = time.monotonic() + appliance.READY_WAIT_S
        self._started.append(server)
        with self.turn_of(server):
            while True:
                try:
                    server.telemetry = Telemetry(f"{self._ledger.name}{prefix}")
                    if server.telemetry.ask("/ethdev/list"):
                        return server
                except Failed:
                    if time.monotonic() > end:
                        raise
                server.check_alive()
                time.sleep(SETTLE_S)

    def mac(self, server):
        with self.turn_of(server):
            return server.telemetry.ask("/ethdev/info,0")["mac_addr"]

    def _sample(self, server):
        """Returns the frames sent so far, and the CPU time by thread."""
        return server.telemetry.ask("/ethdev/stats,0")["opackets"], threads_cpu_ns(server.pid)

    def span(self, server, seconds):
        """Returns the CPU ns of a server's core for each frame that it sent. Cores spin, so this includes
        waiting for frames."""
        with self.turn_of(server):
            time.sleep(SETTLE_S)
            first, cpu_first = self._sample(server)
            time.sleep(seconds)
            last, cpu_last = self._sample(server)
        cpu_ns = max(ns - cpu_first.get(thread, ns) for thread, ns in cpu_last.items())
        if last <= first or cpu_ns == 0:
            raise Failed(f"no frame was sent, in {cpu_ns / 1e9:.1f} s of its core")
        return {"ns": cpu_ns / (last - first)}
