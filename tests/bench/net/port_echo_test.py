#!/usr/bin/python3 -B
"""port_echo_test.py PORT_ECHO PROFILES - tests port_echo, which measures the ceiling of a virtual port.

Goal: over vhost and virtio_user frames come back and are counted; without the other end it prints a line and fails,
without a figure. Method: both roles as processes, ordinary memory, one CPU.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PORT_ECHO, PROFILES = sys.argv[1:3]
LIMIT_S = 120


def command(role, end, socket, *words):
    cpu = min(os.sched_getaffinity(0))
    return [PORT_ECHO, role, "--port", end, "--socket", str(socket), "--no-huge", "--yield", "--lcores",
            f"0@{cpu}", "--data-dir", PROFILES, "--file-prefix", f"port-echo-{os.getpid()}-{role}",
            *words]


class PortEcho(unittest.TestCase):
    def test_every_frame_comes_back(self):
        with tempfile.TemporaryDirectory() as folder:
            socket = pathlib.Path(folder, "e.sock")
            with subprocess.Popen(command("serve", "vhost", socket), stdout=subprocess.PIPE,
                                  text=True) as server:
                try:
                    self.assertIn("ready:", server.stdout.readline())
                    done = subprocess.run(command("ask", "virtio_user", socket, "--ms", "300"),
                                          capture_output=True, text=True, timeout=LIMIT_S)
                finally:
                    server.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        row = json.loads(done.stdout)
        self.assertGreater(row["frames_per_s"], 0)

    def test_what_cannot_run_is_told(self):
        for words, line in ((["ask", "--ms", "100", "--port", "virtio_user", "--socket", "none",
                              "--data-dir", PROFILES], "vhost side"), (["ask"], "--ms"), ([], "serve")):
            done = subprocess.run([PORT_ECHO, *words], capture_output=True, text=True,
                                  timeout=LIMIT_S)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(line, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
