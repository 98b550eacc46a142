#!/usr/bin/python3 -B
"""Programs of Debian on the NIC of a running appliance. Goal: FRR, BIRD, dhclient, lldpd and node_exporter, unchanged,
work through the kernel's interface while clients and clockoo-load ask the cache at the same address, and no request of
these fails.
Method: as kernel_share_test.py; the other end of each program is another program, or frames of ours, in the peer's
namespace. A program that is not installed (tools/install routing) is skipped by name.

    kernel_programs_test.py CLOCKOO CLOCKOO-LOAD|none
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kernel_bed
import routing_bed
from kernel_bed import CACHE, OURS, PEER, WAIT_S, Peer, enter_namespaces, exchange, run, set_up
from routing_bed import Bird, Daemon, Frr, until

EXPORTER, EXPORTER_PORT = shutil.which("prometheus-node-exporter"), 9100
DHCLIENT, DNSMASQ = (shutil.which(name, path="/usr/sbin:/sbin:/usr/bin") for name in ("dhclient", "dnsmasq"))
LLDPD, LLDPCLI = (shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("lldpd", "lldpcli"))
LOADER, SILENT_MAX = "10.99.0.9", 20
CLIENT_PAUSE_S = 0.005
LLDP, LLDP_GROUP = 0x88CC, bytes.fromhex("0180c200000e")
BOX_AS, RACK_AS, ROUTE = 65001, 65000, "198.51.100.1/32"


class Clients(threading.Thread):
    """with Clients(peer): sets and gets at the cache until the end; each reply is compared."""

    def __init__(self, peer):
        super().__init__()
        self.connection, self.ended, self.rounds, self.fault = peer.connect(CACHE), threading.Event(), 0, None

    def run(self):
        try:
            while not self.ended.is_set():
                value = b"%d" % self.rounds
                if (exchange(self.connection, b"set k 0 0 %d\r\n%s\r\n" % (len(value), value), b"\r\n") != b"STORED\r\n" or
                        exchange(self.connection, b"get k\r\n", b"END\r\n") != b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)):
                    raise RuntimeError(f"round {self.rounds}")
                self.rounds += 1
                self.ended.wait(CLIENT_PAUSE_S)
        except (OSError, RuntimeError) as fault:
            self.fault = fault

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.connection.close()


class Load(threading.Thread):
    """with Load(enter, folder): clockoo-load at an address of its own beside the peer's, run after run until the end."""

    def __init__(self, enter, folder):
        super().__init__()
        self.figures = folder / "figures"
        self.words = ["nice", "-n", "5", *enter, LOAD, "--no-huge", "--yield", "--iface", "v1", "--address", f"{LOADER}/24",
                      "--server", OURS, "--connections", "4", "--keys", "100", "--rate", "1000", "--seconds", "1", "--warmup", "0",
                      "--timeout", str(WAIT_S), "--quiet", "--file-prefix", f"kernel-load-{os.getpid()}", "--json", str(self.figures)]
        self.ended, self.rounds, self.fault = threading.Event(), 0, None

    def run(self):
        silent = 0  # on a busy machine nothing may be answered in a run's second
        while self.fault is None and not (self.ended.is_set() and self.rounds != 0):
            done = subprocess.run(self.words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if "no answer in the measured time: 0 requests were lost" in done.stderr and silent < SILENT_MAX:
                silent += 1
            elif done.returncode != 0 or not all_right(json.loads(self.figures.read_text())):
                self.fault = done.stdout + done.stderr
            else:
                self.rounds += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def all_right(figures):
    return figures["wrong"] == 0 and all(p["answered"] > 0 and p["lost"] + p["broken"] + p["refused"] + p["misses"] == 0
                                         for p in figures["points"])


class KernelPrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()
        cls.addClassCleanup(cls.peer.close)
        set_up(cls.peer)
        run("mount", "-t", "tmpfs", "none", "/run")  # of this mount namespace
        cls.there = ["nsenter", "-t", str(cls.peer.holder.pid), "-n"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)

    @contextlib.contextmanager
    def serving(self):
        """An appliance whose clients ask all the time, and are all answered."""
        with contextlib.ExitStack() as running:
            running.enter_context(kernel_bed.Appliance(PROGRAM))
            asking = [running.enter_context(Clients(self.peer))]
            asking += [running.enter_context(Load(self.there, self.folder))] if LOAD != "none" else []
            yield
        for one in asking:
            self.assertIsNone(one.fault)
            self.assertGreater(one.rounds, 0)

    def check_routing(self, ours, theirs):
        """BGP and BFD come up, a route passes, a killed appliance ends both, and its next start brings them back."""
        def both_up():
            return all(one.bgp_is_up(other) and one.bfd_is_up(other) for one, other in ((ours, PEER), (theirs, OURS)))

        with self.serving():
            until("BGP and BFD are up", both_up)
            until("the route has arrived", lambda: theirs.has_route(ROUTE))
        until("BFD is down without the appliance", lambda: not theirs.bfd_is_up(OURS))
        until("the route is withdrawn", lambda: not theirs.has_route(ROUTE))
        with self.serving():
            until("BGP and BFD are up again", both_up)
            until("the route has arrived again", lambda: theirs.has_route(ROUTE))

    @unittest.skipUnless(routing_bed.HAS_FRR and routing_bed.HAS_BIRD, "needs FRR and BIRD (frr, bird2)")
    def test_bgpd_and_bfdd_of_frr_have_a_session_with_bird(self):
        with Frr(self.folder / "frr", [], routing_bed.frr_conf(BOX_AS, RACK_AS, PEER, f"  network {ROUTE}")) as ours, \
                Bird(self.folder / "bird", self.there,
                     routing_bed.bird_conf(PEER, RACK_AS, BOX_AS, OURS, "v1")) as theirs:
            self.check_routing(ours, theirs)

    @unittest.skipUnless(routing_bed.HAS_FRR and routing_bed.HAS_BIRD, "needs FRR and BIRD (frr, bird2)")
    def test_bird_has_a_session_with_bgpd_and_bfdd_of_frr(self):
        vip = f"protocol static vip {{ ipv4; route {ROUTE} blackhole; }}"
        with Bird(self.folder / "bird", [], routing_bed.bird_conf(OURS, BOX_AS, RACK_AS, PEER, "clockoo*", vip)) as ours, \
                Frr(self.folder / "frr", self.there, routing_bed.frr_conf(RACK_AS, BOX_AS, OURS)) as theirs:
            self.check_routing(ours, theirs)

    @unittest.skipUnless(DHCLIENT and DNSMASQ, "needs dhclient and dnsmasq (isc-dhcp-client, dnsmasq-base)")
    def test_dhclient_gets_a_lease(self):
        script = self.folder / "script"
        script.write_text(f"#!/bin/sh\necho $reason $new_ip_address >>{self.folder}/said\n"
                          "[ $reason != BOUND ] || ip addr replace $new_ip_address/24 dev $interface\n")
        script.chmod(0o755)
        with self.serving(), Daemon(self.folder / "server", self.there) as server:
            server.start(DNSMASQ, "--keep-in-foreground", "--port=0", "--conf-file=/dev/null", "--interface=v1", "--user=root",
                         f"--dhcp-leasefile={self.folder}/leases", "--pid-file", "--dhcp-range=10.99.0.100,10.99.0.150,1h",
                         "--log-facility=-")
            done = run(DHCLIENT, "-1", "-4", "-sf", str(script), "-lf", f"{self.folder}/lease", "-pf", f"{self.folder}/pid",
                       "-cf", "/dev/null", "clockoo0", check=False)
            self.addCleanup(run, "ip", "addr", "flush", "dev", "clockoo0", "to", "10.99.0.100/30", check=False)
            self.assertEqual(done.returncode, 0, done.stderr + server.logs())
            pid = self.folder / "pid"  # written behind the command's end
            until("dhclient is in the background", lambda: pid.exists() and pid.read_text().strip() != "")
            os.kill(int(pid.read_text()), signal.SIGKILL)
            reason, address = (self.folder / "said").read_text().splitlines()[-1].split()
            self.assertEqual((reason, address[:9]), ("BOUND", "10.99.0.1"))
            self.assertIn(address, (self.folder / "leases").read_text())
            with self.peer.socket(*kernel_bed.ping_socket(address)) as s:
                self.assertEqual(kernel_bed.ping(s, address), [1, 1, 1])

    @unittest.skipUnless(LLDPD, "needs lldpd")
    def test_lldpd_sees_its_neighbour_and_is_seen(self):
        os.makedirs("/run/lldpd", exist_ok=True)
        control = f"{self.folder}/lldpd.sock"
        with self.serving(), Daemon(self.folder / "lldpd", []) as lldpd, \
                self.peer.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(LLDP)) as wire:
            with self.peer.inside():
                wire.bind(("v1", 0))
            lldpd.start(LLDPD, "-d", "-I", "clockoo0", "-C", "clockoo0", "-u", control, "-S", "the box")
            frame = wire.recv(2048)
            self.assertEqual(frame[:6], LLDP_GROUP)
            self.assertIn(b"the box", frame)
            source = bytes.fromhex("020000000055")
            ours = b"".join(struct.pack(">H", kind << 9 | len(body)) + body for kind, body in (
                (1, b"\x04" + source), (2, b"\x05port7"), (3, struct.pack(">H", 120)), (5, b"the switch"), (0, b"")))
            wire.send(LLDP_GROUP + source + struct.pack(">H", LLDP) + ours)
            until("lldpd shows the switch", lambda: "the switch" in run(LLDPCLI, "-u", control, "show", "neighbors",
                                                                        check=False).stdout)

    @unittest.skipUnless(EXPORTER, "needs prometheus-node-exporter")
    def test_node_exporter_is_scraped(self):
        with self.serving(), Daemon(self.folder / "exporter", []) as exporter:
            exporter.start(EXPORTER, f"--web.listen-address={OURS}:{EXPORTER_PORT}", "--collector.disable-defaults", "--collector.netdev")
            page = b""

            def scraped():
                nonlocal page
                with self.peer.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
                    if s.connect_ex((OURS, EXPORTER_PORT)) != 0:
                        return False
                    s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    while more := s.recv(65536):
                        page += more
                return page != b""

            until(f"the exporter answers: {exporter.logs()}", scraped)
            self.assertIn(b" 200 OK\r\n", page)
            self.assertIn(b'node_network_receive_bytes_total{device="clockoo0"}', page)


enter_namespaces()
PROGRAM, LOAD = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
if __name__ == "__main__":
    if os.environ[kernel_bed.INSIDE] != "root":
        print("skipped: the programs need root")
        sys.exit(kernel_bed.SKIPPED)
    unittest.main(argv=sys.argv)
