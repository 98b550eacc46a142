"""clockoo-nic take in the guest, on a NIC that the kernel's driver has: a session with the guest's kernel goes on while the
NIC is taken, returned, taken again and confirmed, and when nobody confirms; the cache answers while it is taken, and an
802.1Q interface of the guest's kernel, which the appliance has no address in.

The tool runs in dash: busybox's shell takes its own `ip` before any in $PATH, which knows no taps.
"""

import os
import pathlib
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import boot_client
import boot_tap
from boot_tap import GUEST_IP, HERE_IP, PREFIX_LEN
from kernel_bed import cksum

ECHO_PORT = 2022
SESSION_S = 120        # a segment that was lost meanwhile is sent again, later and later
WITHIN_S = 20          # of a take that nobody confirms: it has to start the service meanwhile
RETURNED_TRIES, RETURNED_STEP_S = 400, 0.2
ASK_TRIES, ASK_S = 20, 6  # of a frame that may be lost
VLAN, VLAN_IP, VLAN_HERE_IP, VLAN_HERE_MAC = 9, "10.45.0.2", "10.45.0.1", bytes.fromhex("020000450001")
ETH_P_ALL, ARP, IPV4, TAG = 3, 0x0806, 0x0800, 0x8100
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID, AUXDATA = 263, 8, 1 << 4, struct.Struct("IIIHHHH")  # linux/if_packet.h
PINGS = (0, 100, 1472)  # bytes of data; the last is a whole packet
TOOL = "/tmp/clockoo-nic"
SERVICE = f"""#!/bin/sh
case $1 in
start)
    rm -f /tmp/out; touch /tmp/out
    setsid clockoo --config none --port @ --address {GUEST_IP}/{PREFIX_LEN} --kernel clockoo0 --probe off -m 32 -c 64 -t 1 --yield \\
        </dev/null >/tmp/out 2>&1 &
    pid=$!
    until grep -q ready: /tmp/out; do kill -0 $pid 2>/dev/null || exit 1; sleep 0.1; done
    ;;
stop)
    kill $(pidof clockoo)
    while pidof clockoo; do sleep 0.1; done
    ;;
esac
"""


def prepare(guest, address):
    """The guest's kernel has the NIC, an address, a default route, and a server that echoes one session."""
    iface = guest.must(f"basename /sys/bus/pci/devices/{address}/virtio*/net/*").strip()
    guest.must(f"ip=/usr/bin/ip; $ip link set lo up; $ip addr add {GUEST_IP}/{PREFIX_LEN} dev {iface} && $ip link set {iface} up && "
               f"$ip route add default via {HERE_IP} && (busybox nc -l -p {ECHO_PORT} -e cat </dev/null >/dev/null 2>&1 &)")
    guest.must(f"sed '1s,/bin/sh,/usr/bin/dash,' /usr/bin/nic >{TOOL}; chmod +x {TOOL}; echo root:x:0: >/etc/group")
    for number, line in enumerate(SERVICE.replace("@", address).splitlines()):
        guest.must(f"printf '%s\\n' '{line}' >{'>' * (number > 0)}/tmp/service")
    guest.must("chmod +x /tmp/service")
    return iface


def take(guest, address, within):
    return guest.run(f"{TOOL} --within {within} --service /tmp/service take {address} clockoo0 root")


class Session:
    """A TCP connection to the guest's kernel; echo() is True if a line comes back."""

    def __init__(self):
        self._conn = socket.create_connection((GUEST_IP, ECHO_PORT), boot_client.WAIT_S)
        self._conn.settimeout(SESSION_S)
        self._count = 0

    def echo(self):
        self._count += 1
        line = f"line {self._count}\n".encode()
        self._conn.sendall(line)
        return boot_client.read_until(self._conn, b"\n") == line


class TaggedWire:
    """The cable's outer end in a VLAN. This side's kernel may know no 802.1Q: a packet socket writes tags, and learns that of
    a received frame from its auxiliary data."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._socket.bind((boot_tap.NAME, 0))
        self._here, self._there = socket.inet_aton(VLAN_HERE_IP), socket.inet_aton(VLAN_IP)

    def close(self):
        self._socket.close()

    def _send(self, mac, kind, body):
        self._socket.send(mac + VLAN_HERE_MAC + struct.pack(">HHH", TAG, VLAN, kind) + body)

    def _receive(self, kind, is_answer):
        """The next frame of this kind to us in the VLAN that is the answer: its sender and its body; None: it did not come."""
        until = time.monotonic() + ASK_S
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                frame, more, _, _ = self._socket.recvmsg(2048, 256)
            except TimeoutError:
                return None
            status, _, _, _, _, tci, _ = AUXDATA.unpack(more[0][2])
            if status & VLAN_VALID and tci & 0xfff == VLAN and frame[:6] == VLAN_HERE_MAC and frame[12:14] == kind.to_bytes(2, "big") \
                    and is_answer(frame[14:]):
                return frame[6:12], frame[14:]
        return None

    def _ask(self, mac, kind, body, is_answer):
        for _ in range(ASK_TRIES):
            self._send(mac, kind, body)
            answer = self._receive(kind, is_answer)
            if answer is not None:
                return answer
        raise TimeoutError

    def resolve(self):
        """The MAC that has VLAN_IP."""
        body = struct.pack(">HHBBH6s4s6s4s", 1, IPV4, 6, 4, 1, VLAN_HERE_MAC, self._here, bytes(6), self._there)
        return self._ask(b"\xff" * 6, ARP, body, lambda body: body[7] == 2 and body[14:18] == self._there)[0]

    def ping(self, mac, data):
        """Returns once the answer has the same bytes."""
        echo = struct.pack(">BBHHH", 8, 0, 0, VLAN, len(data)) + data
        echo = echo[:2] + cksum(echo) + echo[4:]
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(echo), 0, 0x4000, 64, 1, 0, self._here, self._there)
        self._ask(mac, IPV4, ip[:10] + cksum(ip) + ip[12:] + echo,
                  lambda body: body[12:16] == self._there and body[20] == 0 and body[24:20 + len(echo)] == echo[4:])


def tagged(guest):
    """The fault of the guest's 802.1Q interface, or nothing."""
    guest.must(f"ip=/usr/bin/ip; $ip link add link clockoo0 name tagged type vlan id {VLAN} && $ip addr add {VLAN_IP}/24 dev tagged && "
               "$ip link set tagged up")
    wire = TaggedWire()
    try:
        mac = wire.resolve()
        for n in PINGS:
            wire.ping(mac, os.urandom(n))
        return ""
    except TimeoutError:
        return "no answer: " + guest.run("/usr/bin/ip -s link show tagged; /usr/bin/ip neigh")[1]
    finally:
        wire.close()


def driver(guest, address):
    return guest.must(f"basename $(readlink /sys/bus/pci/devices/{address}/driver)").strip()


def run(part, guest):
    address = boot_tap.find_nic(guest)
    iface = prepare(guest, address)
    session = Session()
    part.check(f"take: a session with the guest's kernel over {iface}", session.echo())
    status, said = take(guest, address, 600)
    part.check(f"take: {address} is bound to vfio-pci, and the service is up", status == 0 and
               driver(guest, address) == "vfio-pci", said + guest.run("cat /tmp/out /run/clockoo-nic/log")[1])
    part.check("take: the session goes on over the tap", session.echo())
    boot_client.over_tcp(GUEST_IP, 2)
    part.check("take: the cache answers at the same address, every byte", True)
    fault = tagged(guest)
    part.check(f"take: the kernel's interface of VLAN {VLAN} answers ARP and pings of {PINGS[-1]} bytes", fault == "", fault)
    status, said = guest.run(f"{TOOL} --service /tmp/service return")
    part.check("take: return gives the NIC back to virtio-pci", status == 0 and driver(guest, address) == "virtio-pci", said)
    part.check("take: the session goes on over the NIC", session.echo())
    take(guest, address, WITHIN_S)
    said = guest.run(f"n=0; until grep -q 'not confirmed within' /run/clockoo-nic/last || [ $n = {RETURNED_TRIES} ]; "
                     f"do sleep {RETURNED_STEP_S}; n=$((n + 1)); done; cat /run/clockoo-nic/last; "
                     f"while [ -e /run/clockoo-nic/returning ]; do sleep {RETURNED_STEP_S}; done")[1]
    part.check("take: the NIC comes back when nobody confirms", "not confirmed within" in said and
               driver(guest, address) == "virtio-pci", said)
    part.check("take: the session has survived that", session.echo())
    routes = guest.must("/usr/bin/ip route")
    part.check("take: the default route is back", f"default via {HERE_IP} dev {iface}" in routes, routes)
    take(guest, address, 600)
    status, said = guest.run(f"{TOOL} confirm")
    part.check("take: confirm keeps it", status == 0 and driver(guest, address) == "vfio-pci" and session.echo(), said)
