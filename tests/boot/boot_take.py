"""clockoo-nic take in the guest, on a NIC that the kernel's driver has: a session with the guest's kernel goes on while the
NIC is taken, returned, taken again and confirmed, and when nobody confirms; the cache answers while it is taken.

The tool runs in dash: busybox's shell takes its own `ip` before any in $PATH, which knows no taps.
"""

import socket

import boot_client
import boot_tap
from boot_tap import GUEST_IP, HERE_IP, PREFIX_LEN

ECHO_PORT = 2022
SESSION_S = 120        # a segment that was lost meanwhile is sent again, later and later
WITHIN_S = 20          # of a take that nobody confirms: it has to start the service meanwhile
RETURNED_TRIES, RETURNED_STEP_S = 300, 0.2
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
