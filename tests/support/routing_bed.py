"""Debian's routing daemons in network namespaces: FRR (zebra, bgpd, bfdd) and BIRD, each with BGP and BFD to one neighbour.

A daemon is started by a prefix of words that enters its namespace, has a folder for its files, and ends with this
process.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from kernel_bed import WAIT_S, die_with_parent

FRR = pathlib.Path("/usr/lib/frr")
BIRD, BIRDC = shutil.which("bird", path="/usr/sbin:/usr/bin"), shutil.which("birdc", path="/usr/sbin:/usr/bin")
HAS_FRR, HAS_BIRD = (FRR / "bgpd").exists(), BIRD is not None
LOOK_S = 0.05


def until(words, true):
    """Waits until true() is, because of what a daemon does by itself."""
    end = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"not within {WAIT_S} s: {words}")
        time.sleep(LOOK_S)


class Daemon:
    """Processes that end with the daemon's close()."""

    def __init__(self, folder, enter):
        self.folder, self.enter, self.processes = pathlib.Path(folder), list(enter), []
        self.folder.mkdir(parents=True)

    def start(self, *command):
        log = open(self.folder / f"{os.path.basename(command[0])}.log", "w", encoding="utf-8")
        with log:
            self.processes.append(subprocess.Popen([*self.enter, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   preexec_fn=die_with_parent))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def logs(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def close(self):
        for process in reversed(self.processes):
            process.terminate()  # the daemon then removes its routes from the kernel
            process.wait(WAIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Frr(Daemon):
    """zebra, bgpd and bfdd with an operator's file, as in FLEET.md."""

    def __init__(self, folder, enter, conf):
        super().__init__(folder, enter)
        file = self.write("frr.conf", conf)
        self.write("vtysh.conf", "")
        shutil.chown(self.folder, "frr", "frr")
        common = ["-z", f"{folder}/zserv", "--vty_socket", str(folder), "-f", file, "-P", "0"]
        for name, more in (("zebra", []), ("bfdd", ["--bfdctl", f"{folder}/bfdd.sock"]), ("bgpd", [])):
            self.start(str(FRR / name), *common, "-i", f"{folder}/{name}.pid", *more)
            until(f"{name} listens: {self.logs()}", (self.folder / f"{name}.vty").exists)

    def ask(self, *lines):
        words = [word for line in lines for word in ("-c", line)]
        done = subprocess.run([*self.enter, "vtysh", "--vty_socket", str(self.folder), "--config_dir", str(self.folder), *words],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout

    def ask_json(self, line):
        try:
            return json.loads(self.ask(line))
        except ValueError:
            return {}

    def bgp_is_up(self, neighbour):
        peers = self.ask_json("show bgp ipv4 unicast summary json").get("peers", {})
        return peers.get(neighbour, {}).get("state") == "Established"

    def bfd_is_up(self, neighbour):
        peers = self.ask_json("show bfd peers json") or []
        return any(peer["peer"] == neighbour and peer["status"] == "up" for peer in peers)

    def has_route(self, prefix):
        return prefix in self.ask_json("show ip route json")


class Bird(Daemon):
    def __init__(self, folder, enter, conf):
        super().__init__(folder, enter)
        self.socket = f"{folder}/bird.ctl"
        self.start(BIRD, "-f", "-c", self.write("bird.conf", conf), "-s", self.socket, "-P", f"{folder}/bird.pid")
        until(f"bird listens: {self.logs()}", lambda: os.path.exists(self.socket))

    def ask(self, line):
        return subprocess.run([BIRDC, "-s", self.socket, *line.split()], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL).stdout

    def bgp_is_up(self, neighbour):
        return f"Neighbor address: {neighbour}\n" in (said := self.ask("show protocols all")) and "Established" in said

    def bfd_is_up(self, neighbour):
        return re.search(rf"^{re.escape(neighbour)} +\S+ +Up ", self.ask("show bfd sessions"), re.M) is not None

    def has_route(self, prefix):
        return prefix in self.ask(f"show route for {prefix}")


# No graceful restarts: a neighbour that supports them could keep the routes of a dead box.
def frr_conf(own_as, other_as, neighbour, more=""):
    """Returns the file of a router or a box: BGP, and BFD of 50 ms x 3, to one neighbour."""
    return f"""
router bgp {own_as}
 no bgp ebgp-requires-policy
 no bgp network import-check
 timers bgp 1 3
 neighbor {neighbour} remote-as {other_as}
 neighbor {neighbour} timers connect 1
 neighbor {neighbour} bfd
 neighbor {neighbour} graceful-restart-disable
 address-family ipv4 unicast
{more}
bfd
 peer {neighbour}
  detect-multiplier 3
  receive-interval 50
  transmit-interval 50
"""


def bird_conf(own_id, own_as, other_as, neighbour, interface, more=""):
    return f"""
router id {own_id};
protocol device {{ }}
protocol kernel {{ ipv4 {{ export all; }}; }}
protocol bfd {{ interface "{interface}" {{ min rx interval 50 ms; min tx interval 50 ms; multiplier 3; }}; }}
protocol bgp rack {{
  local as {own_as};
  neighbor {neighbour} as {other_as};
  connect retry time 1; connect delay time 1; error wait time 1, 2;
  bfd on;
  graceful restart off;
  ipv4 {{ import all; export all; }};
}}
{more}
"""
