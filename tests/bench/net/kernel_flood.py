#!/usr/bin/python3 -B
"""The appliance beside the kernel, under floods: for tools/bench nic, which starts it as a program of its own, since it
needs network namespaces of its own. Prints one line of JSON.

    kernel_flood.py CLOCKOO ASK FRAME_FLOOD SECONDS
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from kernel_bed import CACHE, OURS, PEER, SSH, Appliance, EchoServer, Peer, die_with_parent, enter_namespaces, exchange, run, set_up, stats_of

ALIVE_EVERY_S = 0.1
ALIVE_MAX_S = 2.0  # a session whose line takes longer counts as dead
IPERF_PORT = 5201
FLOOD_FRAMES_S = 50_000  # a rate that the sender keeps on a shared CPU in both floods


def inside(peer, *command):
    return subprocess.Popen(["nsenter", "-t", str(peer.holder.pid), "-n", *command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=die_with_parent)


def json_of(process):
    return json.loads(process.communicate()[0].splitlines()[-1])


def ask(peer, program, seconds):
    return inside(peer, program, OURS, str(CACHE), "--udp", "--connections", "16", "--keys", "1000",
                  "--warm-ms", "300", "--ms", str(int(1000 * seconds)))


def flood(peer, program, kind, seconds):
    mac = re.search(r"lladdr (\S+)", peer.run("ip", "neigh", "show", OURS).stdout)[1]
    return inside(peer, program, "v1", mac, OURS, str(SSH), "--kind", kind, "--source", "10.99.0.128/25",
                  "--ms", str(int(1000 * seconds)), "--rate", str(FLOOD_FRAMES_S))


class Session(threading.Thread):
    """A session that sends a line now and then, and counts the share of lines that return in time."""

    def __init__(self, peer):
        super().__init__()
        self.socket, self.ended, self.lines, self.late = peer.connect(SSH), False, 0, 0
        self.socket.settimeout(ALIVE_MAX_S)

    def run(self):
        while not self.ended:
            self.lines += 1
            try:
                exchange(self.socket, b"line\n", b"\n")
            except (OSError, RuntimeError):
                self.late += 1
                return
            time.sleep(ALIVE_EVERY_S)

    def alive(self):
        self.ended = True
        self.join()
        self.socket.close()
        return int(self.lines != 0 and self.late == 0)


def iperf(peer, seconds):
    """Returns the rate from the peer to a server of the kernel, in Mb/s."""
    if shutil.which("iperf3") is None:
        return None
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", str(IPERF_PORT)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
    time.sleep(0.5)
    client = inside(peer, "iperf3", "-c", OURS, "-p", str(IPERF_PORT), "-t", str(int(max(1, seconds))), "-J")
    report = json.loads(client.communicate()[0])
    server.wait()
    return report["end"]["sum_received"]["bits_per_second"] / 1e6


def measure(programs, seconds):
    clockoo, asker, flooder = programs
    peer, figures = Peer(), {}
    set_up(peer)
    server = EchoServer(SSH)
    with Appliance(clockoo):
        json_of(inside(peer, asker, OURS, str(CACHE), "--keys", "1000", "--fill"))
        session = Session(peer)
        session.start()
        figures["alone"] = json_of(ask(peer, asker, seconds))["requests_per_s"]
        figures["ssh_alive_under_get_flood"] = session.alive()
        # Frames to a MAC without an owner cost the machine, the wire and classification as much, and the kernel's
        # share nothing.
        for kind in ("stray", "syn"):
            floods = flood(peer, flooder, kind, seconds + 1)
            figures[f"gets_{kind}"] = json_of(ask(peer, asker, seconds))["requests_per_s"]
            figures[f"flood_{kind}"] = json_of(floods)["frames_s"]
        rows = stats_of(peer, "net")
        figures["given"], figures["cut"] = rows["kernel_given"], rows["kernel_drop_rate"]
        figures["iperf_mbps"] = iperf(peer, seconds)
    # Now the wire is measured without the appliance: the kernel has the NIC.
    run("nft", "delete table netdev deaf")
    run("ip", "link", "delete", "clockoo0")
    run("ip", "addr", "add", f"{OURS}/24", "dev", "v0")
    peer.run("ip", "neigh", "flush", "dev", "v1")
    figures["iperf_alone_mbps"] = iperf(peer, seconds)
    server.close()
    peer.close()
    return figures


if __name__ == "__main__":
    enter_namespaces()
    print(json.dumps(measure([os.path.abspath(word) for word in sys.argv[1:4]], float(sys.argv[4]))))
