#!/usr/bin/python3 -B
"""guest_control runs what arrives whole. Goal: a line of which the serial port lost bytes is not run, and says so.
Method: a pseudoterminal in the place of the port."""

import os
import pathlib
import subprocess
import unittest

import boot_guest

HERE = pathlib.Path(__file__).resolve().parent


class Lines(unittest.TestCase):
    def setUp(self):
        self.ours, self.port = os.openpty()
        self.child = subprocess.Popen(["sh", HERE / "guest_control"], env={**os.environ, "control": os.ttyname(self.port)[len("/dev/"):]})
        self.assertEqual(self.answer(), "@@ 0\n")

    def tearDown(self):
        self.child.kill()
        self.child.wait()
        os.close(self.ours)
        os.close(self.port)

    def answer(self):
        heard = b""
        while boot_guest.DONE.search(heard) is None:
            heard += os.read(self.ours, 4096)
        return heard.decode().replace("\r", "")

    def ask(self, sent):
        os.write(self.ours, sent)
        return self.answer()

    def test_a_whole_line_is_run(self):
        self.assertEqual(self.ask(boot_guest.control_line(" echo  'a  b'; (exit 3)\n")), "a  b\n@@ 3\n")

    def test_a_line_in_part_is_not_run(self):
        whole = boot_guest.control_line("echo one; echo two")
        for broken in (whole.replace(b"echo two", b"two"), whole[3:], b"\n"):
            self.assertEqual(self.ask(broken), f"@@ {boot_guest.IN_PART}\n")
        self.assertEqual(self.ask(whole), "one\ntwo\n@@ 0\n")


if __name__ == "__main__":
    unittest.main()
