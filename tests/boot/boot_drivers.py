"""Drivers, by a table: each NIC that QEMU emulates serves a client outside, loses its link, and is taken away.

All NICs are in one machine, each behind a port of its own, so that QEMU can take it out (device_del) and the guest
knows it by its port. A virtual function (igbvf) is made in the guest by its physical function's kernel driver.
"""

import dataclasses
import json
import re
import socket
import subprocess
import threading
import time

import boot_client
import boot_tap

JUMBO = 9000
JUMBO_FOLDER = "/tmp/jumbo"
BIGGEST, BIGGEST_FRAMES = 65536, 16  # bytes of a value, and the most jumbo frames that it fills
VLAN = 7
LOADS = ("--transport udp --depth 4", "--transport tcp --connections 4")
CONNECTIONS = {1: 8, 2: 32}  # by cores; 32 flows all on one of two queues: once in two thousand million
UDP_REQUESTS = 8
FLAP_CONNECTIONS, FLAP_ROUNDS, TALK_S = 8, 20, 0.05
CONNS_MAX = 256
SLOT_FIRST = 0x10   # on the PCI Express bus, of the ports
WAIT_S = 60         # for something that the guest does by itself
LOOK_S = 0.2
STATS_SLACK = 64    # frames that pass between the second's figures of the NIC and ours
REMOVED = "the device was removed"
REMOVED_STATUS = 74
LENDING = "rx_cksum,tx_ip_cksum,tx_udp_cksum,tx_tcp_cksum,tx_loans"
NOT_LENT = "no tx_loans: the driver cannot free sent frames on request"
COLUMNS = ("served", "bytes compared", "VLAN", "MTU 9000", "statistics", "loans", "link flap", "removal")


@dataclasses.dataclass
class Driver:
    device: str               # QEMU's words for it
    cores: int = 1            # queues, too
    jumbo_bytes: int = 9216   # of one buffer for a jumbo frame; 0: the NIC takes none
    tap_queues: int = 1
    function: bool = False    # a virtual function of the device, whose kernel driver stays
    no_flap: str = ""         # why its link stays up here


DRIVERS = {
    # These NICs have one size of buffer above 8 KB.
    "e1000": Driver("e1000", jumbo_bytes=16384),
    "e1000e-8": Driver("e1000e", jumbo_bytes=16384),
    "igb": Driver("igb", cores=2),
    "igbvf": Driver("igb", function=True),
    "vmxnet3": Driver("vmxnet3"),
    "split": Driver("virtio-net-pci,mq=on,rss=on,vectors=8,disable-legacy=on,iommu_platform=on,host_mtu=9000",
                     cores=2, tap_queues=2),
    "packed": Driver("virtio-net-pci,packed=on,mq=on,rss=on,vectors=8,disable-legacy=on,iommu_platform=on,host_mtu=9000",
                     cores=2, tap_queues=2, no_flap="no: QEMU's packed rings pass no frame after it"),
}


ALWAYS = "igbvf"  # the row of a run without names


class Monitor:
    """QEMU's own control, by QMP."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(WAIT_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self._lines.readline()
        self.run("qmp_capabilities")

    def run(self, command, **arguments):
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self._lines.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def close(self):
        self._socket.close()


class Wire:
    """The outer end of a NIC's cable."""

    def __init__(self, number, driver):
        self.number, self.driver = number, driver
        self.name, self.here, self.there, self.load = (f"wire{number}", *(f"10.44.{number}.{host}" for host in (1, 2, 3)))

    def make(self):
        mode = ["multi_queue"] if self.driver.tap_queues > 1 else []
        for words in (["tuntap", "add", self.name, "mode", "tap", *mode], ["addr", "add", f"{self.here}/24", "dev", self.name],
                      ["link", "set", self.name, "mtu", str(JUMBO), "up"]):
            subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL)

    def remove(self):
        subprocess.run(["ip", "link", "del", self.name], stdin=subprocess.DEVNULL, check=False)

    def mtu(self, mtu):
        subprocess.run(["ip", "link", "set", self.name, "mtu", str(mtu)], check=True, stdin=subprocess.DEVNULL)

    def frames_from_guest(self):
        """Returns the frames that the guest has sent. /sys would show the network of the process that mounted it."""
        with open("/proc/self/net/dev", encoding="ascii") as file:
            return int(re.search(rf"{self.name}: *\d+ +(\d+)", file.read()).group(1))

    def words(self):
        """QEMU's command line for the NIC."""
        n, driver = self.number, self.driver
        queues = f",queues={driver.tap_queues}" if driver.tap_queues > 1 else ""
        return ["-device", f"pcie-root-port,id=port{n},bus=pcie.0,addr={SLOT_FIRST + n:#x},chassis={n + 1}",
                "-netdev", f"tap,id=wire{n},ifname={self.name},script=no,downscript=no,vhost=off,vnet_hdr=off{queues}",
                "-device", f"{driver.device},id=nic{n},bus=port{n},netdev=wire{n},mac=52:54:00:44:00:{n:02x}"]

    def address(self, guest):
        # The port's own services (0000:00:10.0:pcie002) lie beside it.
        return guest.must(f"basename /sys/bus/pci/devices/0000:00:{SLOT_FIRST + self.number:02x}.0/0000:??:??.?").strip()


def words(wires):
    return [word for wire in wires.values() for word in wire.words()]


def make_function(wire, guest):
    """The address of a virtual function with a MAC, by the NIC's kernel driver."""
    at = f"/sys/bus/pci/devices/{wire.address(guest)}"
    name = guest.must(f"ls {at}/net").strip()
    guest.must(f"/usr/bin/ip link set {name} mtu {JUMBO} up && echo 1 >{at}/sriov_numvfs && "
               f"/usr/bin/ip link set {name} vf 0 mac 52:54:00:44:01:{wire.number:02x}")
    return guest.must(f"basename $(readlink {at}/virtfn0)").strip(), name, at


class Row:
    """The tests of one NIC and their results, a cell for each column."""

    def __init__(self, name, wire, part, guest, monitor, appliance):
        self.name, self.wire, self.driver, self.part = name, wire, wire.driver, part
        self.guest, self.monitor, self.appliance = guest, monitor, appliance
        self.cells = {column: "not reached" for column in COLUMNS}

    def check(self, column, words_, good, cell="yes", why=""):
        self.cells[column] = cell if good else "**failed**"
        return self.part.check(f"{self.name}: {words_}", good, why)

    def start(self, more):
        said = self.appliance.start(self.guest, f"exec clockoo --port {self.address} --address {self.wire.there}/24 -U 11211 "
                                    f"-m 32 -c {CONNS_MAX} -t {self.driver.cores} -v --yield {more}")
        found = re.search(r" ready: .*", said)
        self.check("served", f"the appliance is ready with {more or 'its usual settings'}", found is not None,
                   f"{self.driver.cores} queue{'s' * (self.driver.cores > 1)}", said)
        return found is not None

    def stats(self, group="net"):
        with boot_client.connect(self.wire.there) as conn:
            conn.sendall(f"stats {group}\r\n".encode())
            text = boot_client.read_until(conn, b"END\r\n").decode()
        return {name: int(value) for name, value in re.findall(r"STAT (\w+) (\d+)", text)}

    def bind(self):
        self.function_of = None
        if self.driver.function:
            self.address, *self.function_of = make_function(self.wire, self.guest)
        else:
            self.address = self.wire.address(self.guest)
        return self.check("served", f"tools/nic binds {self.address} to vfio-pci",
                          boot_tap.bind(self.guest, self.address, "nic") == "vfio-pci")

    def every_byte(self):
        host = self.wire.there
        conns = boot_client.over_tcp(host, CONNECTIONS[self.driver.cores])
        boot_client.over_udp(host, UDP_REQUESTS)
        numbers = {number // CONNS_MAX for number in boot_client.connection_numbers(host)}
        self.check("served", f"{self.driver.cores} cores have connections", len(numbers) == self.driver.cores, f"{self.driver.cores} queue{'s' * (self.driver.cores > 1)}", numbers)
        self.check("bytes compared", f"every byte over {len(conns)} TCP connections and by UDP", True, "TCP, UDP")
        return conns

    def jumbo(self, conns):
        value = boot_client.value_of("jumbo", BIGGEST)
        boot_client.expect(conns[0], b"set jumbo 0 0 %d\r\n%s\r\n" % (BIGGEST, value), b"STORED\r\n")
        before = self.wire.frames_from_guest()
        boot_client.expect(conns[0], b"get jumbo\r\n", boot_client.reply_of("jumbo", value))
        frames = self.wire.frames_from_guest() - before
        self.check("MTU 9000", f"{BIGGEST} bytes come in {frames} frames", frames <= BIGGEST_FRAMES, "yes", frames)

    def loans(self):
        """None of these drivers can lend values; igb's would stop sending after one turn of its ring."""
        if not self.start(f"--offloads {LENDING}"):
            return
        conns = boot_client.over_tcp(self.wire.there, CONNECTIONS[self.driver.cores])
        lent, said = self.stats("stack")["tcp_tx_lent"], self.appliance.stop(self.guest)
        self.check("loans", f"asked for tx_loans, it copies, every byte over {len(conns)} TCP connections, and says why",
                   lent == 0 and NOT_LENT in said and "\nended 0" in said, "refused", (lent, said))

    def statistics(self):
        """The NIC's own counters beside ours, when a second has passed without requests."""
        for _ in range(5):
            time.sleep(1.2)
            stats = self.stats()
            gaps = {way: abs(stats[f"nic_{way}_frames"] - stats[f"{way}_frames"]) for way in ("rx", "tx")}
            if max(gaps.values()) <= STATS_SLACK:
                break
        wrong = {name: stats[name] for name in ("nic_missed", "nic_no_buffer", "nic_rx_errors", "nic_tx_errors")
                 if stats[name] != 0}
        self.check("statistics", f"the NIC counts {stats['nic_rx_frames']} and {stats['nic_tx_frames']} frames, we "
                   f"{stats['rx_frames']} and {stats['tx_frames']}", max(gaps.values()) <= STATS_SLACK and not wrong, "yes",
                   (gaps, wrong))

    def through_a_flap(self):
        """Requests on all connections, before, while and after the link is down: nothing is lost but time."""
        conns = [boot_client.connect(self.wire.there) for _ in range(FLAP_CONNECTIONS)]
        for conn in conns:
            conn.settimeout(WAIT_S * 2)
        rounds, end, faults = [0] * len(conns), threading.Event(), []

        def talk(i):
            try:
                while not end.is_set() or rounds[i] < FLAP_ROUNDS:
                    key = f"flap-{i}"
                    value = boot_client.value_of(f"{key}-{rounds[i]}", 3000)
                    boot_client.expect(conns[i], b"set %s 0 0 3000\r\n%s\r\n" % (key.encode(), value), b"STORED\r\n")
                    boot_client.expect(conns[i], b"get %s\r\n" % key.encode(), boot_client.reply_of(key, value))
                    rounds[i] += 1
                    time.sleep(TALK_S)
            except (OSError, boot_client.Wrong) as fault:
                faults.append(fault)

        threads = [threading.Thread(target=talk, args=(i,)) for i in range(len(conns))]
        for thread in threads:
            thread.start()
        said = self.flap()
        settled, until = sum(rounds), time.monotonic() + WAIT_S
        while sum(rounds) < settled + len(conns) * 2 and time.monotonic() < until and not faults:
            time.sleep(LOOK_S)
        end.set()
        for thread in threads:
            thread.join()
        self.check("link flap", f"the link goes down and up: {len(conns)} connections go on, {sum(rounds)} requests",
                   not faults and said, "yes", (faults, rounds, said, self.guest.must("cat /tmp/out")))

    def says(self, words_):
        """True once the appliance has said so."""
        tries = int(WAIT_S / LOOK_S)
        return self.guest.run(f"n=0; until grep -q '{words_}' /tmp/out || [ $n = {tries} ]; do sleep {LOOK_S}; n=$((n + 1)); "
                              f"done; grep -q '{words_}' /tmp/out")[0] == 0

    def flap(self):
        link = f"nic{self.wire.number}"
        self.monitor.run("set_link", name=link, up=False)
        down = self.says("the link is down")
        self.monitor.run("set_link", name=link, up=True)
        return down and self.says("the link is up again")

    def vlan(self):
        load = self.part.build / "tests/load/clockoo-load"
        self.wire.mtu(1500)
        if not self.start(f"--vlan {VLAN}"):
            return
        for how in LOADS:
            done = subprocess.run(
                [load, "--no-huge", "--iface", self.wire.name, "--address", f"{self.wire.load}/24", "--server",
                 self.wire.there, "--vlan", str(VLAN), "--yield", "--quiet", "--keys", "100", "--seconds", "0.3", "--warmup", "0",
                 "--timeout", "20", "--file-prefix", f"drivers-{self.wire.number}", *how.split()],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            said = done.stdout + done.stderr
            self.check("VLAN", f"clockoo-load {how} in VLAN {VLAN} finds every value right",
                       done.returncode == 0 and "HITS" in said and "MISSES" not in said, "yes", said)

    def remove(self):
        if self.driver.function:
            self.guest.must(f"(echo 0 >{self.function_of[1]}/sriov_numvfs) & true")
        else:
            self.monitor.run("device_del", id=f"nic{self.wire.number}")
        tries = int(WAIT_S / LOOK_S)
        said = self.guest.must(f"n=0; until grep -q ^ended /tmp/out || [ $n = {tries} ]; do sleep {LOOK_S}; n=$((n + 1)); "
                               "done; cat /tmp/out")
        lines = [line for line in said.splitlines() if line.startswith("clockoo: --port")]
        self.check("removal", f"a NIC that is taken away ends the program with {REMOVED_STATUS}, in one line",
                   f"\nended {REMOVED_STATUS}" in said and len(lines) == 1 and REMOVED in lines[0], "yes", said)

    def make_profiles(self):
        """The shipped ones, with room for a jumbo frame in one buffer."""
        self.guest.must(f"rm -rf {JUMBO_FOLDER} && cp -r /usr/share/clockoo/drivers-config {JUMBO_FOLDER} && sed -i 's/^mtu_max: .*/"
                        f"mtu_max: {JUMBO}/; s/^mbuf_bytes: .*/mbuf_bytes: {self.driver.jumbo_bytes}/' {JUMBO_FOLDER}/*.yaml")

    def run(self):
        if not self.bind():
            return
        self.make_profiles()
        if not self.start(f"--mtu {JUMBO} --data-dir {JUMBO_FOLDER}" if self.driver.jumbo_bytes else ""):
            return
        if not self.driver.jumbo_bytes:
            self.wire.mtu(1500)
        conns = self.every_byte()
        if self.driver.jumbo_bytes:
            self.jumbo(conns)
        self.statistics()
        self.cells["link flap"] = self.driver.no_flap
        if not self.driver.no_flap:
            self.through_a_flap()
        said = self.appliance.stop(self.guest)
        self.check("served", "SIGTERM ends it with 0", "\nended 0" in said,
                   f"{self.driver.cores} queue{'s' * (self.driver.cores > 1)}", said)
        self.wire.mtu(1500)
        self.loans()
        self.vlan()
        self.remove()


def table(rows):
    lines = [" | ".join(("| driver", *COLUMNS)) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    return "\n".join(lines + [" | ".join((f"| {row.name}", *(row.cells[column] for column in COLUMNS))) + " |" for row in rows])
