#!/usr/bin/python3 -B
"""An address of each family on two boxes, as FLEET.md describes. Goal: a box that drains or stops ends its idle connections
before the router leaves it for both families, and the router leaves it before the process ends; a box that dies or loses its
link is left, too, and the other one answers; a box that is back is used again. Method: two built programs, each with a
kernel, a routing daemon and the hook of FLEET.md in a namespace of its own; a router of FRR with ECMP and BFD; a client. A
drain lasts until a connection ends that the test holds, so the order is the test's, not the clock's.

    anycast_test.py CLOCKOO
"""

import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kernel_bed
import routing_bed
from anycast_bed import VIP, VIP6, Rack
from kernel_bed import CACHE, exchange, run
from routing_bed import until

IDLE = 8
BFD_MS = 1500  # of a machine that other tests share: a box that waits for a CPU is not left
SKIP = "needs FRR and BIRD (frr, bird2: tools/install routing) and root"


class Anycast(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run("mount", "-t", "tmpfs", "none", "/run")  # of this mount namespace
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.rack = cls.enterClassContext(Rack(PROGRAM, folder.name, BFD_MS))

    def setUp(self):
        self.assertTrue(self.rack.leads_to(self.rack.boxes))

    def connected(self, vip):
        """A new client of a VIP that has an answer."""
        s = self.rack.client.socket(socket.AF_INET6 if vip == VIP6 else socket.AF_INET, socket.SOCK_STREAM)
        s.connect((vip, CACHE))
        self.assertEqual(exchange(s, b"get nothing\r\n", b"END\r\n"), b"END\r\n")
        return s

    def check_answered(self):
        for vip in (VIP, VIP6):
            self.connected(vip).close()

    def check_left(self, box):
        other = [one for one in self.rack.boxes if one is not box]
        until(f"the router leaves box {box.number}", lambda: self.rack.leads_to(other))
        for _ in range(4):
            self.check_answered()

    def check_back(self):
        until("both are used again", lambda: self.rack.leads_to(self.rack.boxes))
        self.check_answered()

    def idle_connections(self, stack):
        """Connections to each VIP, on both boxes unless chance has it otherwise."""
        return [stack.enter_context(self.connected(vip)) for vip in (VIP, VIP6) for _ in range(IDLE)]

    def check_in_order(self, s):
        """The connection has ended without a reset, or is answered."""
        if select.select([s], [], [], 0)[0]:
            self.assertEqual(s.recv(1), b"")
        else:
            self.assertEqual(exchange(s, b"get nothing\r\n", b"END\r\n"), b"END\r\n")

    @contextlib.contextmanager
    def left_in_order(self, box, leave):
        """Has the box leave by leave(). Yields a connection to it that waits for the rest of a value, and so the stop does."""
        with contextlib.ExitStack() as stack:
            held = stack.enter_context(self.rack.router.socket(socket.AF_INET, socket.SOCK_STREAM))
            held.connect((box.own, CACHE))
            held.sendall(b"set held 0 0 5\r\nhe")
            idle = self.idle_connections(stack)
            leave()
            self.check_left(box)
            for s in idle:
                self.check_in_order(s)
            self.assertIsNone(box.appliance.poll())
            yield held
            self.assertEqual(box.appliance.wait(kernel_bed.WAIT_S), 0)
        box.start()
        self.check_back()

    def check_ends_behind(self, held):
        self.assertEqual(exchange(held, b"llo\r\n", b"\r\n"), b"STORED\r\n")
        self.assertEqual(held.recv(1), b"")

    def test_a_box_that_drains_ends_connections_then_its_route_then_itself(self):
        box = self.rack.boxes[1]
        drains = []
        with self.left_in_order(box, lambda: drains.append(subprocess.Popen(
                box.command("drain"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                preexec_fn=kernel_bed.die_with_parent))) as held:
            self.check_ends_behind(held)
            self.assertEqual(drains[0].wait(kernel_bed.WAIT_S), 0)

    def test_a_box_that_stops_has_the_order_of_a_drain(self):
        box = self.rack.boxes[0]
        with self.left_in_order(box, lambda: box.appliance.send_signal(signal.SIGTERM)) as held:
            self.check_ends_behind(held)

    def test_a_second_stop_is_at_once(self):
        """The first one would wait for the value that nobody completes, for DRAIN_S."""
        box = self.rack.boxes[1]
        with self.left_in_order(box, lambda: box.appliance.send_signal(signal.SIGTERM)):
            box.appliance.send_signal(signal.SIGTERM)

    def test_a_box_that_is_killed_is_left(self):
        for box in self.rack.boxes:
            with self.subTest(box.number):
                box.end(signal.SIGKILL)
                self.check_left(box)
                box.start()
                self.check_back()

    def test_a_box_without_a_link_is_left(self):
        for box in self.rack.boxes:
            with self.subTest(box.number):
                self.rack.router.run("ip", "link", "set", box.link, "down")
                self.check_left(box)
                self.rack.router.run("ip", "link", "set", box.link, "up")
                self.check_back()


kernel_bed.enter_namespaces()
PROGRAM = os.path.abspath(sys.argv.pop(1))
if __name__ == "__main__":
    if os.environ[kernel_bed.INSIDE] != "root" or not (routing_bed.HAS_FRR and routing_bed.HAS_BIRD):
        print(f"skipped: {SKIP}")
        sys.exit(kernel_bed.SKIPPED)
    unittest.main(argv=sys.argv)
