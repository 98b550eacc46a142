#!/usr/bin/python3 -B
"""The appliance behind a switch that snoops MLD. Goal: the switch learns the group of each IPv6 address, by reports when
an address comes and by its own queries (MLDv1 and MLDv2) when it has forgotten; it learns that a group has ended, and a
client reaches each address though the switch floods no multicast. Method: the built program on a veth whose other end
is a port of a Linux bridge, the client's namespace behind another port.

    mld_switch_test.py CLOCKOO
"""

import ipaddress
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kernel_bed import CACHE, SKIPPED, WAIT_S, Peer, enter_namespaces, exchange, run
from routing_bed import until

OURS, OURS6, PEER6 = "10.99.0.1", "2001:db8::1", "2001:db8::2"
VIP, LATER = "2001:db8:77::aa:bbcc", "2001:db8:77::dd:eeff"
ROUTE = "2001:db8:77::/64"
QUERY = "100"  # hundredths of a second between two queries
CONFIG = """port: {{nic: af_packet, iface: ours}}
network:
  address: {ours}/24
  address6: "{ours6}/64"
  addresses: [{addresses}]
  probe: off
memory: {{limit: 16}}
protocol: {{conn_limit: 64}}
"""


def group_of(address):
    """The solicited-node group (RFC 4291 section 2.7.1)."""
    low = int(ipaddress.IPv6Address(address)) & 0xffffff
    return str(ipaddress.IPv6Address(int(ipaddress.IPv6Address("ff02::1:ff00:0")) | low))


def learned():
    """The groups that the bridge has at the appliance's port."""
    lines = run("bridge", "mdb", "show", "dev", "switch").stdout.splitlines()
    return {words[words.index("grp") + 1] for words in map(str.split, lines) if "grp" in words and "far" in words}


def set_up(peer):
    run("ip", "link", "set", "lo", "up")
    if run("ip", "link", "add", "switch", "type", "bridge", "mcast_snooping", "1", check=False).returncode != 0:
        print("skipped: no bridges here")
        sys.exit(SKIPPED)
    run("ip", "link", "add", "ours", "type", "veth", "peer", "name", "far")
    run("ip", "link", "add", "port", "type", "veth", "peer", "name", "v1", "netns", str(peer.holder.pid))
    pathlib.Path("/proc/sys/net/ipv6/conf/ours/disable_ipv6").write_text("1")
    for end in ("far", "port"):
        run("ip", "link", "set", end, "master", "switch")
        run("bridge", "link", "set", "dev", end, "mcast_flood", "off")
        run("ip", "link", "set", end, "up")
    for name in ("ours", "switch"):
        run("ip", "link", "set", name, "up")
    peer.run("ethtool", "-K", "v1", "tx", "off")
    peer.run("ip", "addr", "add", f"{PEER6}/64", "dev", "v1", "nodad")
    peer.run("ip", "link", "set", "v1", "up")
    peer.run("ip", "-6", "route", "add", ROUTE, "dev", "v1")


def query(version):
    """The bridge asks from now on, at once. It floods for a response interval of the time before the querier is on."""
    for words in (("mcast_query_interval", QUERY, "mcast_startup_query_interval", QUERY, "mcast_query_response_interval", QUERY),
                  ("mcast_mld_version", str(version), "mcast_querier", "1")):
        run("ip", "link", "set", "switch", "type", "bridge", *words)


def forget():
    run("ip", "link", "set", "switch", "type", "bridge", "mcast_snooping", "0")
    run("ip", "link", "set", "switch", "type", "bridge", "mcast_snooping", "1")


class Appliance:
    def __init__(self, folder):
        self.config = pathlib.Path(folder) / "clockoo.yaml"
        self.addresses(VIP)
        self.out = open(f"{folder}/out", "w+")
        self.process = subprocess.Popen([PROGRAM, "--config", str(self.config), "--no-huge", "--yield", "--file-prefix",
                                         f"mld-{os.getpid()}"], stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.out)

    def addresses(self, *vips):
        self.config.write_text(CONFIG.format(ours=OURS, ours6=OURS6, addresses=", ".join(f'"{vip}"' for vip in vips)))

    def reload(self, *vips):
        self.addresses(*vips)
        self.process.send_signal(signal.SIGHUP)

    def said(self):
        self.out.seek(0)
        return self.out.read()

    def __enter__(self):
        until("the appliance is ready", lambda: " ready: " in self.said() or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise RuntimeError(self.said())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.out.close()


class SnoopingSwitch(unittest.TestCase):
    def setUp(self):
        self.peer = Peer()
        self.addCleanup(self.peer.close)
        for name in ("switch", "ours", "port"):
            self.addCleanup(run, "ip", "link", "del", name, check=False)
        set_up(self.peer)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def answers(self, address):
        self.peer.run("ip", "-6", "neigh", "flush", "dev", "v1")
        with self.peer.connect(CACHE, address) as s:
            return exchange(s, b"get none\r\n", b"END\r\n") == b"END\r\n"

    def test_queries_teach_a_switch_that_has_forgotten(self):
        with Appliance(self.folder) as a:
            for version in (1, 2):
                query(version)
                forget()
                until(f"MLDv{version}: the switch has learned", lambda: {group_of(OURS6), group_of(VIP)} <= learned())
                self.assertTrue(self.answers(OURS6))
                self.assertTrue(self.answers(VIP))
            self.assertIsNone(a.process.poll())

    def test_reports_alone_teach_what_comes_and_what_goes(self):
        with Appliance(self.folder) as a:
            until("the switch has learned", lambda: {group_of(OURS6), group_of(VIP)} <= learned())
            query(2)
            a.reload(VIP, LATER)
            until("the switch has learned the later one", lambda: group_of(LATER) in learned())
            self.assertTrue(self.answers(LATER))
            a.reload(LATER)
            until("the switch has forgotten the first one", lambda: group_of(VIP) not in learned())
            self.assertTrue(self.answers(LATER))
            self.assertIn(group_of(OURS6), learned())


if __name__ == "__main__":
    enter_namespaces()
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
