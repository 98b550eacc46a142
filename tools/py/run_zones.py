"""Two zones of two appliances and a shadow, with memcached's proxy in each zone, which runs
drivers-config/fleet/zones.lua.

The appliances use the host's sockets (--port user) at free ports of the loopback. Their items are in memory files, so a
killed one returns with its items. The proxy is a memcached that was built with --enable-proxy.
"""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import appliance
import build_tree
import netns
from progress import Failed, Step, say

HOST = "127.0.0.1"
ZONES = "a", "b"
START_S = 20.0
POLL_S = 0.05
MEMORY_MB = 64
CONNECTIONS = 256
FILES = "/dev/shm"  # a memory file needs a tmpfs
DEMO_KEYS, DEMO_S, DEMO_KILL_S, DEMO_RETURN_S = 1000, 20, 5, 12
GREETING, ASKED = "set greeting 0 0 5\r\nhello\r\n", "mg greeting v\r\n"
LUA = build_tree.ROOT / "drivers-config/fleet/zones.lua"
PLACES = {"10.1.0.1": "a1", "10.1.0.2": "a2", "10.2.0.1": "b1", "10.2.0.2": "b2", "10.3.0.1": "shadow"}


def ask(port, text, answers=1):
    """Returns the first lines of the answer to a request."""
    with socket.create_connection((HOST, port), 5) as s:
        s.sendall(text.encode())
        file = s.makefile("rb")
        return [file.readline().decode().rstrip("\r\n") for _ in range(answers)]


def await_service(port, child):
    end = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError):
            if ask(port, "mn\r\n") == ["MN"]:
                return
        if child.poll() is not None or time.monotonic() > end:
            raise Failed(f"nothing serves at port {port}")
        time.sleep(POLL_S)


class Box:
    """An appliance that has the same port after each kill and start."""

    def __init__(self, program, name, folder, keeps):
        self.name, self.port, self.process = name, netns.free_port(HOST), None
        self._command = [str(program), "--config", "none", "--port", "user", "-l", HOST, "-p", str(self.port), "-U", "0",
                         "--no-huge", "-m", str(MEMORY_MB), "-c", str(CONNECTIONS), "--file-prefix", f"{folder.name}-{name}",
                         "--data-dir", str(build_tree.ROOT / "drivers-config"), "--yield"]
        if keeps:
            self._command += ["--memory-file", str(folder / name), "--keep-for", "always"]

    def start(self):
        self.process = appliance.Appliance(self._command, None)

    def wait_ready(self):
        self.process.wait_ready()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(5)


class Zones:
    def __init__(self, program, memcached, lua=None, keeps=True):
        """lua: the text of another configuration than LUA; keeps: whether a killed box returns with its items."""
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="clockoo-zones-", dir=FILES))
        self._undo = contextlib.ExitStack()
        self._undo.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self.boxes = {name: Box(program, name, self._folder, keeps) for name in PLACES.values()}
        self._memcached, self.proxies = memcached, {}
        self._text = lua or LUA.read_text()

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            with Step("starting two zones of appliances, and a proxy in each"):
                for box in self.boxes.values():
                    box.start()
                    self._undo.callback(box_end, box)
                for box in self.boxes.values():
                    box.wait_ready()
                self._start_proxies()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._undo.close()

    def _start_proxies(self):
        path = self._folder / "zones.lua"
        text = self._text
        for place, name in PLACES.items():
            text = text.replace(f"{place}:11211", f"{HOST}:{self.boxes[name].port}")
        path.write_text(text)
        user = ["-u", "root"] if os.geteuid() == 0 else []
        for zone in ZONES:
            port = netns.free_port(HOST)
            child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self._memcached, *user, "-l", HOST, "-p", str(port), "-U", "0", "-t", "1",
                 "-o", f"proxy_config=routelib:{LUA.with_name('every.lua')},proxy_arg={path}"], env={**os.environ, "ZONE": zone},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            self._undo.callback(child.wait)
            self._undo.callback(child.kill)
            self.proxies[zone] = port
            await_service(port, child)


def box_end(box):
    if box.process is not None and not box.process.wait(0):
        box.signal(signal.SIGCONT)
        box.process.stop()


# ---- tools/run --fleet ----

class Load(threading.Thread):
    """Writes and reads through one proxy, as fast as it answers."""

    def __init__(self, port):
        super().__init__()
        self._port, self.over = port, threading.Event()
        self.counts = collections.Counter()

    def run(self):
        number = 0
        while not self.over.is_set():
            number += 1
            key = f"k{number % DEMO_KEYS}"
            for what, text in (("sets", f"set {key} 0 0 1\r\nx\r\n"), ("gets", f"mg {key} t\r\n")):
                try:
                    line = ask(self._port, text)[0]
                except OSError:
                    line = "SERVER_ERROR"
                self.counts[f"failed {what}" if line.startswith("SERVER_ERROR") else "misses" if line == "EN" else what] += 1


def show(program, memcached):
    """Kills and restarts a box while clients of both zones continue."""
    with Zones(program, memcached) as zones, contextlib.ExitStack() as undo:
        first = zones.proxies["a"]
        say(f"\nTwo zones of two appliances and a shadow, behind memcached's proxy with {LUA.relative_to(build_tree.ROOT)}:\n")
        for zone, port in zones.proxies.items():
            boxes = ", ".join(f"{name} {box.port}" for name, box in zones.boxes.items() if name[0] == zone)
            say(f"  zone {zone}: proxy {HOST}:{port}   boxes {boxes}")
        say(f"\n  > set greeting 0 0 5 hello     (nc {HOST} {first})\n  < {ask(first, GREETING)[0]}")
        say(f"  > mg greeting v               (nc {HOST} {zones.proxies['b']})\n  < {' '.join(ask(zones.proxies['b'], ASKED, 2))}\n")
        loads = {zone: Load(port) for zone, port in zones.proxies.items()}
        for load in loads.values():
            undo.callback(load.join)
            undo.callback(load.over.set)
            load.start()
        box = zones.boxes["a1"]
        for second in range(DEMO_S):
            if second == DEMO_KILL_S:
                box.kill()
                say("a1 is killed: its keys are read from zone b; sets of them fail, so that no zone is left behind in silence")
            if second == DEMO_RETURN_S:
                box.start()
                box.wait_ready()
                say("a1 is back, with its items")
            before = {zone: collections.Counter(load.counts) for zone, load in loads.items()}
            time.sleep(1)
            say("   ".join(f"zone {zone}: " + ", ".join(f"{n} {what}" for what, n in sorted((load.counts - before[zone]).items()))
                           for zone, load in loads.items()))
    return 0
