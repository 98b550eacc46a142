"""A bond of two NICs of the guest, driven by the appliance, whose partner is the guest's kernel: two cables inside
QEMU lead from the appliance's NICs to two of the kernel. The client outside reaches the bond through the guest, which
routes.

Shown: LACP and active-backup while members flap, every byte compared; a partner that is silent, that is another, or
that is no bond; an MLAG, which is two bonds with one system; a member of another speed.
"""

import re
import subprocess
import threading

import boot_client
import boot_tap

CONNECTIONS = 8
FLAPS, BACKUP_FLAPS, SIZE = 20, 6, 20000
ROUNDS = 2            # of each connection while a member is away, and after it
GUEST_IP, BOND_IP, BOND_HERE, PREFIX_LEN = "10.44.0.2", "10.45.0.2", "10.45.0.1", 24
SYSTEM = "02:00:00:00:00:99"
SLOT_FIRST = 0x10
OURS, KERNELS = ("ours0", "ours1"), ("kernel0", "kernel1")  # QEMU's names of the NICs, cable by cable
SLOW = "slow1"        # a NIC of ours at the second cable, too, with another speed
NUMBERS = (1, 2, 3, 4, 5)
OURS_NUMBERS, KERNELS_NUMBERS, SLOW_NUMBER = NUMBERS[:2], NUMBERS[2:4], NUMBERS[4]
VIRTIO, SPEED, SLOW_SPEED = "virtio-net-pci,disable-legacy=on,iommu_platform=on,duplex=full", 10000, 1000
UNTIL_TRIES, UNTIL_STEP_S = 400, 0.2
LACP = "mode 802.3ad miimon 50 xmit_hash_policy layer3+4 lacp_rate"
CARRIES = 4  # states of LACP that say so: of both members, ours and the kernel's


def words():
    """QEMU's command line: the client's NIC, and both ends of two cables (hubs)."""
    out = ["-netdev", f"tap,id=wire,ifname={boot_tap.NAME},script=no,downscript=no,vhost=off",
           "-device", f"{VIRTIO},speed={SPEED},netdev=wire,bus=pcie.0,addr={SLOT_FIRST:#x},mac=52:54:00:45:00:00"]
    for number, name in zip(NUMBERS, (*OURS, *KERNELS, SLOW)):
        hub, speed = (len(OURS), SLOW_SPEED) if name == SLOW else (1 + (number - 1) % len(OURS), SPEED)
        out += ["-netdev", f"hubport,id=end-{name},hubid={hub}",
                "-device", f"{VIRTIO},speed={speed},id={name},netdev=end-{name},bus=pcie.0,addr={SLOT_FIRST + number:#x},"
                f"mac=52:54:00:45:00:0{number}"]
    return out


def pci(number):
    return f"0000:00:{SLOT_FIRST + number:02x}.0"


def iface(guest, number):
    return guest.must(f"basename /sys/bus/pci/devices/{pci(number)}/virtio*/net/*").strip()


def ip(guest, *lines):
    return guest.must("; ".join(f"/usr/bin/ip {line}" for line in lines))


class Talk:
    """Connections that set and get values until they are stopped; every byte is compared."""

    def __init__(self):
        self.conns = [boot_client.connect(BOND_IP) for _ in range(CONNECTIONS)]
        self.rounds, self.faults, self._stops = [0] * CONNECTIONS, [], False
        self._more = threading.Condition()
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(CONNECTIONS)]
        for thread in self._threads:
            thread.start()

    def _run(self, i):
        try:
            self.conns[i].settimeout(boot_client.WAIT_S * 3)
            while not self._stops:
                value = boot_client.value_of(f"{i}-{self.rounds[i]}", SIZE)
                boot_client.expect(self.conns[i], b"set bond%d 0 0 %d\r\n%s\r\n" % (i, SIZE, value), b"STORED\r\n")
                boot_client.expect(self.conns[i], b"get bond%d\r\n" % i, boot_client.reply_of(f"bond{i}", value))
                with self._more:
                    self.rounds[i] += 1
                    self._more.notify_all()
        except (OSError, boot_client.Wrong) as fault:
            with self._more:
                self.faults.append(f"connection {i}: {fault!r}")
                self._more.notify_all()

    def goes_on(self):
        """True once each connection has had some more rounds."""
        before = list(self.rounds)
        def have_they():
            return self.faults or all(now >= then + ROUNDS for now, then in zip(self.rounds, before))
        with self._more:
            return self._more.wait_for(have_they, boot_client.WAIT_S * 3) and not self.faults

    def stop(self):
        self._stops = True
        for thread in self._threads:
            thread.join()
        return not self.faults


class Bond:
    """The appliance in the guest, and the kernel's ends of its cables."""

    def __init__(self, part, guest, monitor, appliance):
        self.part, self.guest, self.monitor, self.appliance = part, guest, monitor, appliance
        for number in (*OURS_NUMBERS, SLOW_NUMBER):
            guest.must(f"nic bind {pci(number)}")
        self.second = OURS_NUMBERS[1]
        wire = iface(guest, 0)
        self.ends = [iface(guest, number) for number in KERNELS_NUMBERS]
        ip(guest, "link set lo up", f"addr add {GUEST_IP}/{PREFIX_LEN} dev {wire}", f"link set {wire} up")
        guest.must("echo 1 >/proc/sys/net/ipv4/ip_forward")
        for end in self.ends:  # without a speed a port of 802.3ad has no LACP
            guest.must(f"/usr/bin/ethtool -s {end} speed 10000 duplex full")
        subprocess.run(["ip", "route", "add", f"{BOND_HERE.rsplit('.', 1)[0]}.0/24", "via", GUEST_IP], check=True)

    def check(self, words, good, why=""):
        return self.part.check(f"bond: {words}", good, why)

    def master(self, name, how, ends, address=True):
        ip(self.guest, f"link add {name} type {how}", *(f"link set {end} down" for end in ends),
           *(f"link set {end} master {name}" for end in ends), *(f"link set {end} up" for end in ends),
           *([f"addr add {BOND_HERE}/{PREFIX_LEN} dev {name}"] if address else []), f"link set {name} up")

    def start(self, mode, second=OURS_NUMBERS[1]):
        self.second = second
        return self.appliance.start(
            self.guest, f"exec clockoo --config none --port {pci(1)} --bond {mode} --bond-member {pci(second)} --address "
                        f"{BOND_IP}/{PREFIX_LEN} --gateway {BOND_HERE} -m 32 -c 64 -t 2 -v --yield --probe off")

    def until(self, line):
        """True once a line of the guest's shell succeeds."""
        return self.guest.run(f"n=0; until {line}; do [ $n = {UNTIL_TRIES} ] && exit 1; n=$((n + 1)); "
                              f"sleep {UNTIL_STEP_S}; done")[0] == 0

    def until_said(self, member, words):
        address = pci(self.second if member else OURS_NUMBERS[0])
        return self.until(f"sed -n \"/bond: {address}/h; \\${{g;p}}\" /tmp/out | grep -q \"{words}\"")

    def cable(self, member, up):
        for name in (OURS[member], KERNELS[member]):
            self.monitor.run("set_link", name=name, up=up)

    def joined(self):
        """True once both ends collect and distribute on both members."""
        return self.until(f"[ $(grep -c \"port state: 6[13]\" /proc/net/bonding/bond7) = {CARRIES} ]")


def timeouts():
    """Retransmission time-outs of this side's kernel."""
    with open("/proc/self/net/netstat", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("TCPTimeouts")])


def flap(bond, talk, count, is_back):
    """Cuts one cable after the other; returns how many flaps the connections went through."""
    for number in range(count):
        member = number % 2
        bond.cable(member, False)
        if not bond.until_said(member, "no link") or not talk.goes_on():
            return number
        bond.cable(member, True)
        if not bond.until_said(member, "it carries frames") or not is_back() or not talk.goes_on():
            return number
    return count


def show_flaps(bond, rate):
    """A machine that is emulated on a busy one may stand still for longer than the fast time-out: members then leave and
    join without a cut, too, and the connections go on all the same."""
    bond.master("bond7", f"bond {LACP} {rate}", bond.ends)
    said = bond.start({"slow": "lacp-slow", "fast": "lacp"}[rate])
    if not bond.check(f"the appliance is ready, by {rate} LACP", " ready: " in said, said):
        return
    both = bond.joined()
    state = bond.guest.must("cat /proc/net/bonding/bond7")
    bond.check("Linux has both ports in one aggregator, and us as its partner",
               both and "Partner Mac Address: 52:54:00:45:00:01" in state, state)
    talk = Talk()
    talk.goes_on()
    before = timeouts()
    done = flap(bond, talk, FLAPS, bond.joined)
    bond.check(f"{FLAPS} flaps of {rate} LACP: {CONNECTIONS} connections go on, every byte right", done == FLAPS,
               (done, talk.faults, bond.guest.must("tail -n 5 /tmp/out; cat /proc/net/bonding/bond7")))
    # An emulated machine stands still for longer than a time-out, so test_bond judges their number.
    print(f"   {timeouts() - before} time-outs of the client's kernel in {FLAPS} flaps", flush=True)
    bond.check("no connection was lost by any of that", talk.stop(), talk.faults)
    said = bond.appliance.stop(bond.guest)
    counted = {name: int(n) for name, n in re.findall(r"(BOND_[A-Z_]+) (\d+)", said)}
    least = min(counted.get("BOND_TX_FIRST", 0), counted.get("BOND_TX_SECOND", 0))
    bond.check("frames left by both members, and SIGTERM ends it with 0",
               "\nended 0" in said and least > FLAPS * CONNECTIONS, said[-1500:])


def show_faults(bond):
    end, guest = bond.ends[1], bond.guest
    ip(guest, "link set bond7 down", "link set bond7 type bond lacp_rate fast", "link set bond7 up")
    said = bond.start("lacp")
    if not bond.check("the appliance is ready, by fast LACP", " ready: " in said and bond.joined(), said):
        bond.appliance.stop(guest)
        return
    talk = Talk()
    bond.monitor.run("set_link", name=KERNELS[1], up=False)
    bond.check("a partner that falls silent is left by LACP's time-out",
               bond.until_said(1, "no LACP partner") and talk.goes_on())
    bond.monitor.run("set_link", name=KERNELS[1], up=True)
    bond.check("and is joined again", bond.until_said(1, "it carries frames") and bond.joined() and talk.goes_on())
    ip(guest, f"link set {end} nomaster", f"link set {end} up")
    bond.check("half of a bond has its line", bond.until_said(1, "no LACP partner") and talk.goes_on())
    bond.master("bond8", f"bond {LACP} fast ad_actor_system {SYSTEM}", [end], address=False)
    bond.check("another partner has its line, and no flow", bond.until_said(1, "partner is another") and talk.goes_on(),
               (talk.faults, guest.must("tail -n 9 /tmp/out")))
    guest.must(f"/usr/bin/ip link set bond7 type bond ad_actor_system {SYSTEM}")
    bond.check("two bonds with one system are one partner (MLAG)", bond.until_said(1, "it carries frames"),
               guest.must("tail -n 5 /tmp/out; cat /proc/net/bonding/bond7 /proc/net/bonding/bond8"))
    ip(guest, f"link set {end} nomaster", "link del bond8")
    bond.check("no connection was lost by any of that, either", talk.stop(), talk.faults)
    bond.appliance.stop(guest)


def show_speed(bond):
    """The member at the second cable has a tenth of the first one's speed; the kernel's ends have equal ones."""
    end, guest = bond.ends[1], bond.guest
    ip(guest, f"link set {end} down", f"link set {end} master bond7", f"link set {end} up")
    said = bond.start("lacp", SLOW_NUMBER)
    if not bond.check("the appliance is ready, with a slower member", " ready: " in said, said):
        bond.appliance.stop(guest)
        return
    bond.check("a member of another speed has its line", bond.until_said(1, "another speed"), guest.must("tail -n 9 /tmp/out"))
    talk = Talk()
    bond.check("connections go on over the other one", talk.goes_on() and talk.stop(), talk.faults)
    said = bond.appliance.stop(guest)
    sent = re.search(r"BOND_TX_SECOND (\d+)", said)
    bond.check("the member of another speed carried none", sent is None or int(sent.group(1)) == 0, said[-1500:])


def show_backup(bond):
    ip(bond.guest, "link del bond7")
    bond.master("switch0", "bridge", bond.ends)
    said = bond.start("active-backup")
    if not bond.check("the appliance is ready, as active-backup", " ready: " in said, said):
        return
    talk = Talk()
    done = flap(bond, talk, BACKUP_FLAPS, lambda: True)
    bond.check(f"active-backup: {BACKUP_FLAPS} flaps: {CONNECTIONS} connections go on, every byte right",
               done == BACKUP_FLAPS, (done, talk.faults))
    bond.check("active-backup: no connection was lost", talk.stop(), talk.faults)
    bond.check("active-backup: SIGTERM ends it with 0", "\nended 0" in bond.appliance.stop(bond.guest))


def run(part, guest, monitor, appliance):
    bond = Bond(part, guest, monitor, appliance)
    show_flaps(bond, "slow")
    show_faults(bond)
    show_speed(bond)
    show_backup(bond)


def run_fast(part, guest, monitor, appliance):
    show_flaps(Bond(part, guest, monitor, appliance), "fast")


def run_speed(part, guest, monitor, appliance):
    bond = Bond(part, guest, monitor, appliance)
    bond.master("bond7", f"bond {LACP} fast", bond.ends)
    show_speed(bond)
