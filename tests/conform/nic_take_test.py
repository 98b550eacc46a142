#!/usr/bin/python3 -B
"""tools/nic take moves the network of a NIC to the tap of the cache, and undoes that by itself.

Goal: after take the tap has the MTU, MAC, addresses and routes of the interface, and its sessions live; without confirm
all is restored, whichever process was killed between two steps; a service that does not come up is undone at once; each
refusal is one line and changes nothing. Method: as in nic_tool_test.py, but devbind is a stub that removes the veth and
makes it again, and the service is a stub that attaches a process to the tap. Addresses, routes and taps are the
kernel's.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import nic_tool_test
from nic_tool_test import NIC, SKIPPED, a_tree, add_device, in_namespace, text

AT = "0000:50:00.0"
MAC = "02:00:00:00:50:01"
ADDRESSES = ("10.50.0.2/24", "10.50.7.7/32", "2001:db8:50::2/64")
ROUTES = ("-4 route add default via 10.50.0.1 dev take0 metric 100", "-4 route add 10.60.0.0/16 via 10.50.0.9 dev take0 table 77",
          "-6 route add default via 2001:db8:50::1 dev take0 metric 55")
WAIT_S, LOOK_S = 60, 0.05
WITHIN_S = 2  # time until a take without confirm is undone
# The stub makes the veth anew, as a driver makes an interface when it gets its NIC. A word in "kill" ends the processes of
# take at that step.
DEVBIND = """#!/bin/sh
echo "$*" >>{root}/devbind.log
kill_at() {{ if grep -qx "$1" {root}/kill 2>/dev/null; then rm {root}/kill; kill -9 0; fi; }}
[ ! -e {root}/devbind-fails ] || exit 3
if [ "$2" = vfio-pci ]; then
    kill_at before-bind
    ip link del take0
    rm -rf {at}/net
else
    ip link add take0 address {mac} type veth peer name take0-p
    ip link set take0-p up
    mkdir -p {at}/net/take0
fi
mkdir -p {root}/sys/bus/pci/drivers/$2
ln -sfn ../../../../bus/pci/drivers/$2 {at}/driver
if [ "$2" = vfio-pci ]; then kill_at after-bind; fi
exit 0
"""
SERVICE = """#!/bin/sh
echo "$*" >>{root}/service.log
case $1 in
start)
    if grep -qx at-start {root}/kill 2>/dev/null; then rm {root}/kill; kill -9 0; fi
    while [ -e {root}/start-waits ]; do sleep 0.05; done
    [ ! -e {root}/start-fails ] || exit 1
    [ ! -e {root}/no-kernel ] || exit 0
    setsid {python} -c '
import fcntl, os, struct, time
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"clockoo0", 0x1002))
open("{root}/attached", "w").write(str(os.getpid()))
time.sleep(600)' </dev/null >/dev/null 2>&1 &
    until [ -s {root}/attached ]; do sleep 0.05; done
    ;;
stop) if [ -e {root}/attached ]; then kill $(cat {root}/attached); rm {root}/attached; fi ;;
esac
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=check, stdin=subprocess.DEVNULL).stdout


def network_of(iface):
    """Returns MTU, MAC, addresses and routes, without words that depend on the state of the link."""
    link = ip("-o", "link", "show", "dev", iface)
    addresses = re.findall(r"inet6? (\S+)", ip("-o", "addr", "show", "dev", iface))
    routes = [re.sub(r" (linkdown|dead|pref medium|proto \w+)\b", "", line).strip()
              for family in ("-4", "-6") for line in ip("-o", family, "route", "show", "table", "all", "dev", iface).splitlines()
              if not re.match(r"(local|broadcast|anycast|multicast|ff00::|fe80::)", line)]
    return re.findall(r"mtu (\d+)|ether (\S+)", link), sorted(addresses), sorted(routes)


def make_iface():
    ip("link", "add", "take0", "address", MAC, "mtu", "1400", "type", "veth", "peer", "name", "take0-p")
    for name in ("take0-p", "take0"):
        ip("link", "set", name, "up")
    for address in ADDRESSES:
        ip("addr", "add", address, "dev", "take0", *(["nodad"] if ":" in address else []))
    for route in ROUTES:
        ip(*route.split())


class Take(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.root = self.stack.enter_context(a_tree())
        add_device(self.root, AT, "ixgbe", "take0", group="50")
        for name, script in (("devbind", DEVBIND), ("service", SERVICE)):
            (self.root / name).write_text(script.format(root=self.root, at=self.root / f"sys/bus/pci/devices/{AT}", mac=MAC,
                                                        python=sys.executable))
            (self.root / name).chmod(0o755)
        self.addCleanup(lambda: [ip("link", "del", name, check=False) for name in ("take0", "clockoo0", "take0-p")])
        self.addCleanup(self.end_all)
        make_iface()
        self.before = network_of("take0")

    def end_all(self):
        """Ends the stub of the service, and the processes that wait for a confirmation."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.root).encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def words(self, *words):
        return [str(NIC), "--root", str(self.root), "--devbind", str(self.root / "devbind"), "--service",
                str(self.root / "service"), *words]

    def run_nic(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              start_new_session=True)
        return done.returncode, done.stdout + done.stderr

    def take(self, within=60):
        return self.run_nic("--within", str(within), "take", AT, "clockoo0", "root")

    def timer(self):
        """Returns the command that the timer of this take runs."""
        return "expire", text(self.root / "run/clockoo-nic/taken/token").strip(), "0"

    def driver(self):
        return os.path.basename(os.readlink(self.root / f"sys/bus/pci/devices/{AT}/driver"))

    def until(self, words, true):
        end = time.monotonic() + WAIT_S
        while not true():
            self.assertLess(time.monotonic(), end, words)
            time.sleep(LOOK_S)

    def check_returned(self, why):
        self.until("it was not returned", lambda: why in text(self.root / "run/clockoo-nic/last") and
                   not (self.root / "run/clockoo-nic/returning").exists())
        self.assertEqual((self.driver(), network_of("take0")), ("ixgbe", self.before))
        self.assertEqual(ip("link", "show", "dev", "clockoo0", check=False), "")
        self.assertFalse((self.root / "attached").exists())
        self.assertFalse((self.root / "run/clockoo-nic/taken").exists())

    def check_taken(self):
        self.assertEqual((self.driver(), network_of("clockoo0")),
                         ("vfio-pci", tuple(eval(repr(self.before).replace("take0", "clockoo0")))))

    # ---- what take does ----

    def test_take_and_confirm_leave_the_network_on_the_tap(self):
        got, said = self.take()
        self.assertEqual(got, 0, said)
        self.assertIn(f"take0 ({AT}) goes to clockoo0", said)
        self.assertIn(f"{AT}: taken, clockoo0 has what take0 had", said)
        self.check_taken()
        timer = self.timer()
        self.assertEqual(self.run_nic("confirm"), (0, f"{AT}: confirmed\n"))
        self.assertEqual(self.run_nic(*timer), (0, ""))
        self.check_taken()
        got, said = self.run_nic("confirm")
        self.assertEqual((got, said.count("\n")), (1, 1))
        self.assertIn("confirm: nothing is taken", said)

    def test_confirm_keeps_it_at_boot_if_asked(self):
        self.take()
        self.assertEqual(self.run_nic("--keep", "confirm"), (0, f"{AT}: confirmed, and bound at every boot\n"))
        self.assertIn("vfio-pci", text(self.root / f"etc/udev/rules.d/60-clockoo-{AT}.rules"))

    def test_a_take_that_is_not_confirmed_is_undone(self):
        self.take(WITHIN_S)
        self.check_returned(f"{AT} is back with ixgbe: not confirmed within {WITHIN_S} s")
        got, said = self.run_nic("confirm")
        self.assertEqual((got, said.count("\n")), (1, 1))
        self.assertIn("nothing is taken; 0000:50:00.0 is back with ixgbe: not confirmed within", said)

    def test_return_undoes_it_at_once(self):
        self.take()
        got, said = self.run_nic("return")
        self.assertEqual(got, 0, said)
        self.check_returned("returned by its operator")
        got, said = self.run_nic("return")
        self.assertEqual((got, said.count("\n")), (1, 1))
        self.assertIn("return: nothing is taken", said)

    def test_a_tap_that_was_there_stays_without_the_addresses(self):
        ip("tuntap", "add", "dev", "clockoo0", "mode", "tap", "user", "root")
        got, said = self.take()
        self.assertEqual(got, 0, said)
        self.check_taken()
        said = self.run_nic("return")
        self.assertEqual(network_of("take0"), self.before, said)
        self.assertNotIn("inet ", ip("addr", "show", "dev", "clockoo0"))

    def test_a_tap_of_another_user_is_refused(self):
        ip("tuntap", "add", "dev", "clockoo0", "mode", "tap", "user", "nobody")
        self.refusal("clockoo0 belongs to nobody: ip link del clockoo0, then again", "take", AT, "clockoo0", "root")

    def test_the_timer_of_an_earlier_take_does_not_return_a_later_one(self):
        self.assertEqual(self.take()[0], 0)
        timer = self.timer()
        self.run_nic("return")
        self.assertEqual(self.take()[0], 0)
        self.assertEqual(self.run_nic(*timer), (0, ""))
        self.check_taken()
        self.assertEqual(self.run_nic(*self.timer()), (0, ""))
        self.check_returned("not confirmed within 60 s")

    # ---- what ends it on the way ----

    def test_a_service_that_does_not_come_up_is_undone_at_once(self):
        (self.root / "start-fails").touch()
        got, said = self.take()
        self.assertEqual((got, said.splitlines()[-1]), (1, f"tools/nic: take: {AT} is back with ixgbe: tools/nic: the "
                                                          "service did not come up"))
        self.check_returned("the service did not come up")

    def test_a_service_that_does_not_attach_to_the_tap_is_undone_at_once(self):
        (self.root / "no-kernel").touch()
        got, said = self.take()
        self.assertEqual(got, 1)
        self.check_returned("the service runs without clockoo0: network.kernel: clockoo0 and port.nic: 0000:50:00.0")

    def test_a_driver_that_does_not_take_the_nic_is_undone_at_once(self):
        (self.root / "devbind-fails").touch()
        got, said = self.take()
        self.assertEqual(got, 1)
        self.assertIn("could not bind it to vfio-pci", said)
        self.check_returned("could not bind it to vfio-pci")

    def test_processes_killed_between_steps_leave_the_return_to_the_timer(self):
        for step in ("before-bind", "after-bind", "at-start"):
            with self.subTest(step):
                (self.root / "kill").write_text(f"{step}\n")
                self.assertEqual(self.take(WITHIN_S)[0], 1)
                self.assertFalse((self.root / "kill").exists())
                self.check_returned("not confirmed within")

    def test_the_end_of_the_session_changes_nothing(self):
        (self.root / "start-waits").touch()
        with subprocess.Popen(self.words("take", AT, "clockoo0", "root"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, start_new_session=True) as session:
            self.until("the service was not started", lambda: text(self.root / "service.log") == "start\n")
            os.killpg(session.pid, signal.SIGKILL)
        self.assertIn("confirm: the service is not up yet", self.run_nic("confirm")[1])
        (self.root / "start-waits").unlink()
        self.until("it does not go on", lambda: text(self.root / "run/clockoo-nic/taken/ready") == "yes\n")
        self.check_taken()
        self.assertEqual(self.run_nic("confirm")[0], 0)

    def test_a_return_that_was_killed_is_ended_by_the_next(self):
        self.take()
        (self.root / "run/clockoo-nic/taken").rename(self.root / "run/clockoo-nic/returning")
        got, said = self.take()
        self.assertEqual(got, 1)
        self.assertIn("take: 0000:50:00.0 is being returned", said)
        self.assertEqual(self.run_nic("return")[0], 0)
        self.check_returned("returned by its operator")

    # ---- what it refuses ----

    def refusal(self, words, *say):
        got, said = self.run_nic(*(say or ("take", AT, "clockoo0", "root")))
        self.assertEqual((got, said.count("\n")), (1, 1), said)
        self.assertIn(words, said)
        self.assertEqual((self.driver(), network_of("take0"), text(self.root / "devbind.log")), ("ixgbe", self.before, ""))

    def test_a_second_take_is_refused(self):
        self.assertEqual(self.take()[0], 0)
        got, said = self.take()
        self.assertEqual((got, said.count("\n")), (1, 1))
        self.assertIn(f"take: {AT} is taken, and neither confirmed nor returned yet", said)
        self.check_taken()

    def test_whatever_take_cannot_keep_is_refused(self):
        self.refusal("bond0 lies above it", "take", nic_tool_test.AT["slave0"])
        self.refusal("it has virtual functions", "take", nic_tool_test.AT["pf0"])
        self.refusal("a route of several next hops leads over it", "take", nic_tool_test.AT["hops0"])
        self.refusal("stays with mlx5_core: there is nothing to take; network.kernel: nic", "take", nic_tool_test.MLX)
        self.refusal("has no interface of the kernel", "take", nic_tool_test.BOUND)
        self.refusal("has not exactly one interface here: none", "take", nic_tool_test.UNSEEN)
        self.refusal("shares its IOMMU group with", "take", nic_tool_test.AT["port0"], "clockoo0", "root")
        self.refusal("there is no user nobody-there", "take", AT, "clockoo0", "nobody-there")
        self.refusal("free0 is there, and is no tap", "take", AT, "free0", "root")
        self.refusal("take0 is the name of", "take", AT, "take0", "root")
        self.refusal("expected a name of at most 15", "take", AT, "a/b", "root")
        self.refusal("an address, and perhaps a name and a user", "take", AT, "a", "b", "c")
        self.refusal("confirm: takes no value", "confirm", AT)
        self.refusal("confirm: nothing is taken", "confirm")
        self.refusal("expected seconds, from 1 to 9999", "--within", "0", "take", AT)

    def test_systemd_runs_it_where_it_is(self):
        """The processes run in a unit, not in the session, which logind may end."""
        (self.root / "run/systemd/system").mkdir(parents=True)
        stubs = self.root / "stubs"
        stubs.mkdir()
        for name, script in (("systemd-run", 'case "$*" in *--on-active*) ;; *) while [ "$1" != --unit ]; do shift; done; '
                              'shift 2; exec "$@" ;; esac'), ("systemctl", "")):
            (stubs / name).write_text(f'#!/bin/sh\necho {name} "$@" | sed "s|{self.root}||g" >>{self.root}/systemd.log\n{script}\n')
            (stubs / name).chmod(0o755)
        os.environ["PATH"], was = f"{stubs}:{os.environ['PATH']}", os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", was)
        self.assertEqual(self.take()[0], 0)
        self.assertEqual(self.run_nic("confirm")[0], 0)
        timer, unit, stop = text(self.root / "systemd.log").splitlines()
        self.assertRegex(timer, r"^systemd-run .*--unit clockoo-nic-return --on-active 60 --timer-property AccuracySec=1s .* expire \S+ 0$")
        self.assertRegex(unit, r"^systemd-run .*--wait --unit clockoo-nic-take .* worker 0$")
        self.assertEqual(stop, "systemctl stop clockoo-nic-return.timer")


if __name__ == "__main__":
    if "--inside" not in sys.argv:
        sys.exit(in_namespace(sys.argv[1:], __file__))
    if os.geteuid() != 0 or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("skipped: a tap needs root and /dev/net/tun\n0 passed, 0 failed")
        sys.exit(SKIPPED)
    sys.argv.remove("--inside")
    nic_tool_test.make_interfaces()
    unittest.main(argv=sys.argv)
