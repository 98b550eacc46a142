"""One address on two boxes: network namespaces of a client, a router with ECMP and BFD (FRR), and two boxes whose files and
hook are those of FLEET.md, the first with BIRD, the second with FRR.

    client 10.60.0.2 -- 10.60.0.1 router 10.50.N.1 -- 10.50.N.2 box N, and the VIPs on both boxes
    client 2001:db8:60::2 -- ::1 router 2001:db8:N::1 -- ::2 box N
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess

from kernel_bed import NIC_TOOL, WAIT_S, Peer, die_with_parent, run
from routing_bed import BIRDC, Bird, Frr, until

FLEET = pathlib.Path(__file__).resolve().parents[2] / "drivers-config/FLEET.md"
VIP, BOX, GATEWAY = "198.51.100.1", "192.0.2.5", "192.0.2.1"  # addresses in FLEET.md
VIP6, BOX6, GATEWAY6 = "2001:db8:77::1", "2001:db8:5::5", "2001:db8:5::1"
CLIENT, CLIENT6, PORT = "10.60.0.2", "2001:db8:60::2", 11211
DRAIN_S = 600  # time limit of a drain, which tests do not reach


def blocks():
    """Returns the file of the box, the hook and both daemons' files and lines, as FLEET.md has them."""
    section = FLEET.read_text().split("## One address on several boxes\n")[1].split("\n## ")[0]
    hook, bird, frr = re.findall(r"```\n(.*?)```", section, re.S)
    config = "".join(line[4:] + "\n" for line in section.splitlines() if line.startswith("    "))
    return {"config": config, "hook": hook, "bird": bird, "frr": frr,
            "lines": [re.search(rf"\*\*{name}.*?\*\*(.*?):\n\n```", section, re.S)[1] for name in ("BIRD", "FRR")]}


def functions(text):
    """Returns the shell's functions announce() and withdraw() of a daemon's line."""
    return "\n".join(" ".join(found.split()) for found in re.findall(r"`(\w+\(\) \{.*?\})`", text, re.S))


def add_addresses(host, iface, address, address6):
    host.run("ip", "addr", "add", f"{address}/24", "dev", iface)
    host.run("ip", "addr", "add", f"{address6}/64", "dev", iface, "nodad")


class Box:
    """Box 1 or 2. Its daemon and hook keep running while its appliance starts and ends."""

    def __init__(self, number, router, program, folder, bfd_ms, drain_s):
        self.number, self.program, self.folder, self.bfd_ms = number, program, pathlib.Path(folder) / f"box{number}", bfd_ms
        self.drain_s = drain_s
        self.folder.mkdir()
        self.own, self.gateway, self.link = f"10.50.{number}.2", f"10.50.{number}.1", f"r{number}"
        self.own6, self.gateway6 = f"2001:db8:{number}::2", f"2001:db8:{number}::1"
        self.host = Peer()
        self.enter = ["nsenter", "-t", str(self.host.holder.pid), "-n"]
        self.appliance = self.hook = self.daemon = None
        router.run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "v0", "netns", str(self.host.holder.pid))
        add_addresses(router, self.link, self.gateway, self.gateway6)
        router.run("ethtool", "-K", self.link, "tx", "off")
        router.run("ip", "link", "set", self.link, "up")
        self.host.run("ip", "link", "set", "lo", "up")
        self.host.run("nft", "add table netdev deaf; add chain netdev deaf in { type filter hook ingress device v0 priority 0; "
                      "policy drop; }")
        self.host.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/v0/disable_ipv6")
        self.host.run("ip", "link", "set", "v0", "up")
        self.host.run(str(NIC_TOOL), "kernel", "clockoo0", "root")
        add_addresses(self.host, "clockoo0", self.own, self.own6)
        self.write_config()

    def named(self, text):
        """An operator's file with this box's addresses and the bed's time of BFD."""
        for old, new in ((BOX, self.own), (GATEWAY, self.gateway), (BOX6, self.own6), (GATEWAY6, self.gateway6)):
            text = text.replace(old, new)
        return re.sub(r"(interval) 50\b", rf"\1 {self.bfd_ms}", text)

    def write_config(self):
        text = re.sub(r"drain_time: \d+", f"drain_time: {self.drain_s}", self.named(blocks()["config"]))
        text = text.replace("network:\n", "network:\n  probe: off\n  kernel: clockoo0\n")
        self.config = self.folder / "clockoo.yaml"
        self.config.write_text(text + "port:\n  iface: v0\nmemory:\n  limit: 16\nprotocol:\n  conn_limit: 64\n")

    def start(self):
        with open(self.folder / "said", "w", encoding="utf-8") as said:
            self.appliance = subprocess.Popen(
                [*self.enter, self.program, "--config", str(self.config), "--no-huge", "-U", str(PORT), "--poll", "adaptive", "--yield",
                 "--pidfile", str(self.folder / "pid"), "--file-prefix", f"anycast{self.number}-{os.getpid()}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                preexec_fn=die_with_parent)
        until("the appliance is ready", lambda: self.is_ready() or self.appliance.poll() is not None)
        if self.appliance.poll() is not None:
            raise RuntimeError((self.folder / "said").read_text())

    def command(self, word):
        return [*self.enter, self.program, word, "--config", str(self.config), "--pidfile", str(self.folder / "pid")]

    def is_ready(self):
        return subprocess.run(self.command("ready"), capture_output=True, stdin=subprocess.DEVNULL).returncode == 0

    def start_routing(self):
        """The daemon with the operator's file, and the hook beside it."""
        text, (bird, frr) = blocks(), blocks()["lines"]
        noted = f"echo \"$(date +%s.%6N) $*\" >>{self.folder}/hook"
        if self.number == 1:
            self.daemon = Bird(self.folder / "bird", self.enter, self.named(text["bird"]))
            ask, lines = f"birdc() {{ {noted}; {BIRDC} -s {self.daemon.socket} \"$@\"; }}\n", functions(bird)
        else:
            self.daemon = Frr(self.folder / "frr", self.enter, self.named(text["frr"]))
            ask = f"vtysh() {{ {noted}; command vtysh --vty_socket {self.daemon.folder} --config_dir {self.daemon.folder} \"$@\"; }}\n"
            lines = functions(frr)
        hook = text["hook"].replace("clockoo ready --config /etc/clockoo/clockoo.yaml",
                                    f"{self.program} ready --config {self.config} --pidfile {self.folder}/pid")
        self.hook = subprocess.Popen([*self.enter, "sh", "-c", f"{ask}{lines}\n{hook}"], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)

    def end(self, how=signal.SIGKILL):
        if self.appliance is not None and self.appliance.poll() is None:
            os.kill(self.appliance.pid, how)
            self.appliance.wait(WAIT_S)

    def close(self):
        if self.hook is not None:
            self.hook.kill()
            self.hook.wait()
        if self.daemon is not None:
            self.daemon.close()
        self.end()
        self.host.close()


# zebra of FRR 8.4 does not restore a nexthop object that the kernel removed with its link, so this router has none.
ROUTER = """no zebra nexthop kernel enable
log stdout debugging
log timestamp precision 6
debug bfd peer
router bgp 65000
 bgp log-neighbor-changes
 no bgp ebgp-requires-policy
%s address-family ipv4 unicast
  maximum-paths 2
 address-family ipv6 unicast
  maximum-paths 2
%sbfd
%s"""
ACTIVE6 = "  neighbor {0} activate\n"
NEIGHBOUR = " neighbor {0} remote-as 65001\n neighbor {0} bfd\n neighbor {0} timers connect 1\n neighbor {0} graceful-restart-disable\n"
BFD_MULTIPLIER = 3
BFD_PEER = f" peer {{0}}\n  detect-multiplier {BFD_MULTIPLIER}\n  receive-interval {{1}}\n  transmit-interval {{1}}\n"


class Rack:
    """with Rack(program, folder) as rack: both boxes serve, and the router spreads the VIP's clients over them."""

    def __init__(self, program, folder, bfd_ms, drain_s=DRAIN_S):
        with contextlib.ExitStack() as self.stack:
            self.build(program, folder, bfd_ms, drain_s)
            self.stack = self.stack.pop_all()

    def build(self, program, folder, bfd_ms, drain_s):
        self.bfd_waits_s = BFD_MULTIPLIER * bfd_ms / 1000
        self.router, self.client = Peer(), Peer()
        for one in (self.router, self.client):
            self.stack.callback(one.close)
            one.run("ip", "link", "set", "lo", "up")
        self.router.run("sh", "-c", "cd /proc/sys/net; for one in ipv4/ip_forward ipv4/fib_multipath_hash_policy "
                        "ipv6/conf/all/forwarding ipv6/fib_multipath_hash_policy ipv6/conf/all/keep_addr_on_down; do echo 1 >$one; done")
        self.router.run("ip", "link", "add", "c0", "type", "veth", "peer", "name", "v1", "netns", str(self.client.holder.pid))
        add_addresses(self.router, "c0", "10.60.0.1", "2001:db8:60::1")
        self.router.run("ip", "link", "set", "c0", "up")
        self.client.run("ethtool", "-K", "v1", "tx", "off")
        add_addresses(self.client, "v1", CLIENT, CLIENT6)
        self.client.run("ip", "link", "set", "v1", "up")
        self.client.run("ip", "route", "add", "default", "via", "10.60.0.1")
        self.client.run("ip", "route", "add", "default", "via", "2001:db8:60::1")
        self.boxes = [Box(number, self.router, program, folder, bfd_ms, drain_s) for number in (1, 2)]
        for box in self.boxes:
            self.stack.callback(box.close)
            box.start()
        gateways = [box.own for box in self.boxes]
        self.frr = self.stack.enter_context(
            Frr(pathlib.Path(folder) / "router", ["nsenter", "-t", str(self.router.holder.pid), "-n"],
                ROUTER % ("".join(map(NEIGHBOUR.format, gateways)), "".join(map(ACTIVE6.format, gateways)), "".join(BFD_PEER.format(one, bfd_ms) for one in gateways))))
        for box in self.boxes:
            box.start_routing()
        try:
            until("both boxes are announced", lambda: self.leads_to(self.boxes))
        except AssertionError as fault:
            raise AssertionError(f"{fault}\n{self.state()}") from None

    def state(self):
        """Returns the daemons' reports of their state."""
        return "\n".join([str(self.ways()), self.frr.ask("show bgp ipv4 unicast summary", "show bfd peers", "show bgp ipv4", "show bgp ipv6"),
                          self.boxes[0].daemon.ask("show protocols"), self.boxes[0].daemon.ask("show bfd sessions"),
                          self.boxes[1].daemon.ask("show run", "show bfd peers", "show bgp ipv4 unicast summary")])

    def ways(self):
        """Returns the boxes over which the router's kernel has a route to the VIP."""
        said = self.router.run("ip", "route", "show", VIP, check=False).stdout
        return sorted(re.findall(r"via (\S+)", said))

    def leads_to(self, boxes):
        """True if the router's kernel leads clients of both VIPs to these boxes and no other."""
        said = [self.router.run("ip", family, "route", "show", vip).stdout for family, vip in (("-4", VIP), ("-6", VIP6))]
        return all(sorted(re.findall(r"via \S+ dev (\S+)", one)) == [box.link for box in boxes] for one in said)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()
