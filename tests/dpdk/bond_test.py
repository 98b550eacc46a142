#!/usr/bin/python3 -B
"""A bond of two interfaces, by the built program. Goal: as active-backup every byte is right while the members' links
go and return, and the interfaces have their own MACs afterwards; a member without a link, and one without a partner,
has its line; what hinders a start is one line. Method: two veths whose other ends are ports of a bridge with the
client's address, in a namespace of this process.

    bond_test.py CLOCKOO
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kernel_bed import SKIPPED, enter_namespaces, exchange, run

PORT, OURS, PEER = 11211, "10.99.0.1", "10.99.0.2"
FLAPS, VALUE, WAIT_S, STEP_S = 6, b"v" * 20000, 60, 0.05


def set_up():
    run("ip", "link", "set", "lo", "up")
    if run("ip", "link", "add", "br0", "type", "bridge", check=False).returncode != 0:
        print("skipped: no bridges here")
        sys.exit(SKIPPED)
    for number in (0, 1):
        run("ip", "link", "add", f"ours{number}", "type", "veth", "peer", "name", f"far{number}")
        run("ip", "link", "set", f"far{number}", "master", "br0")
        run("ethtool", "-K", f"far{number}", "tx", "off", check=False)
        run("ip", "link", "set", f"ours{number}", "up")
        run("ip", "link", "set", f"far{number}", "up")
    run("ethtool", "-K", "br0", "tx", "off", check=False)
    run("ip", "addr", "add", f"{PEER}/24", "dev", "br0")
    run("ip", "link", "set", "br0", "up")


def mac_of(name):
    return re.search(r"link/ether (\S+)", run("ip", "link", "show", name).stdout).group(1)


class Appliance:
    def __init__(self, mode, member="ours1"):
        self.lines = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [PROGRAM, "--config", "none", "--no-huge", "--yield", "--iface", "ours0", "--bond", mode,
             "--bond-member", member, "--address", f"{OURS}/24", "-m", "16", "-c", "64", "-t", "2", "--share-cpus",
             "--probe", "off", "--file-prefix", f"bond-{os.getpid()}"],
            stdin=subprocess.DEVNULL, stdout=self.lines, stderr=self.lines)

    def said(self):
        self.lines.seek(0)
        return self.lines.read()

    def until_said(self, pattern):
        """True once what it said matches the pattern."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and self.process.poll() is None:
            if re.search(pattern, self.said()):
                return True
            for name in ("ours0", "far0", "ours1", "far1"):  # the kernel of a busy machine is late with carriers unless asked
                run("ip", "link", "show", name)
            time.sleep(STEP_S)
        return re.search(pattern, self.said()) is not None

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)

    def __enter__(self):
        if not self.until_said(" ready: "):
            raise RuntimeError(self.said())
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.lines.close()


def last_line_of(member, words):
    return rf"(?s)--bond: {member}: {words}(?!.*--bond: {member}:)"


class TwoMembers(unittest.TestCase):
    def setUp(self):
        for number in (0, 1):
            run("ip", "link", "set", f"far{number}", "up")

    def test_a_backup_takes_over_while_members_flap(self):
        before = [mac_of(f"ours{number}") for number in (0, 1)]
        with Appliance("active-backup") as a, socket.create_connection((OURS, PORT), WAIT_S) as client:
            for flap in range(FLAPS):
                member = flap % 2
                run("ip", "link", "set", f"far{member}", "down")
                self.assertTrue(a.until_said(last_line_of(f"ours{member}", "no link")), a.said())
                value = VALUE + b"%d" % flap
                stored = exchange(client, b"set k 0 0 %d\r\n%s\r\n" % (len(value), value), b"\r\n")
                self.assertEqual(stored, b"STORED\r\n")
                self.assertEqual(exchange(client, b"get k\r\n", b"END\r\n"),
                                 b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value))
                run("ip", "link", "set", f"far{member}", "up")
                self.assertTrue(a.until_said(last_line_of(f"ours{member}", "it carries frames")), a.said())
            self.assertEqual(a.end(), 0, a.said())
        self.assertEqual([mac_of(f"ours{number}") for number in (0, 1)], before)

    def test_half_of_a_bond_without_a_partner_serves_and_says_so(self):
        run("ip", "link", "set", "far1", "down")
        with Appliance("lacp") as a:
            self.assertTrue(a.until_said(last_line_of("ours0", "no LACP partner answers")), a.said())
            self.assertTrue(a.until_said(last_line_of("ours1", "no link")), a.said())
            with socket.create_connection((OURS, PORT), WAIT_S) as client:
                self.assertEqual(exchange(client, b"get none\r\n", b"END\r\n"), b"END\r\n")

    def test_a_member_that_is_not_there_is_one_line(self):
        a = Appliance("lacp", "ours9")
        self.assertEqual(a.process.wait(WAIT_S), 1)
        self.assertRegex(a.said(), r"\Aclockoo: [^\n]*ours9[^\n]*\n\Z")
        a.lines.close()


enter_namespaces()
PROGRAM = os.path.abspath(sys.argv.pop(1))
if __name__ == "__main__":
    set_up()
    unittest.main(argv=sys.argv)
