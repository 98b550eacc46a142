#!/usr/bin/python3 -B
"""clockoo capture. Goal: what Wireshark reads in the file is what passed the port: frames in both directions,
their times, their queue, as many, as long and as the filter says; whatever is wrong is one line; whatever a
client does, the appliance serves and the next one may capture. Method: the built program between a memif and
the load generator, tshark for the file, the socket by hand.

    capture_test.py CLOCKOO CLOCKOO-LOAD SOURCE
"""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, LOAD, SOURCE = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
WAIT_S = 60
RATE = 4000  # requests a second
NOBODY = 65534
SERVER_IP = "10.99.0.1"
MAGIC, SNAP, BY_STOP, MESSAGE_BYTES = 0x636c6b32, 16384, 4, 64 << 10  # capture_wire.h
SUMMARY = re.compile(r"^clockoo: capture: (\S+): (\d+) frames in ([\d.]+) s, (\d+) dropped: (.+)\n$")


def options(folder, name, port="memif"):
    where = ["--socket", f"{folder}/memif"] if port == "memif" else []
    return ["--no-huge", "--port", port, *where, "--yield", "--data-dir", str(SOURCE / "drivers-config"),
            "--file-prefix", f"{name}-{os.getpid()}"]


HAS_FILTERS = "without libpcap" not in subprocess.run([PROGRAM, "capture", "x", "tpc"], capture_output=True, text=True).stderr


class Appliance:
    def __init__(self, name, port="memif"):
        self.folder = tempfile.TemporaryDirectory(prefix="clockoo-capture-")
        self.name, self.load = f"{name}-{os.getpid()}", None
        self.process = subprocess.Popen([PROGRAM, *options(self.folder.name, name, port), "--config", "none", "-m", "16", "-c",
                                         "64", "-U", "11211"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline()

    def load_begin(self):
        self.load = subprocess.Popen([LOAD, *options(self.folder.name, f"{self.name}-l"), "--transport", "udp", "--rate", str(RATE),
                                      "--keys", "100", "--seconds", "600", "--quiet"], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_frames()

    def wait_for_frames(self):
        for _ in range(WAIT_S):
            if frames_of(self.capture("-", "udp", "--count", "20", "--seconds", "1")) == 20:
                return
        raise unittest.SkipTest("the load generator does not run here")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, self.err = self.process.communicate(timeout=WAIT_S)
        if self.load is not None:  # last: if the client ended first, the appliance's memif could fail
            self.load.kill()
            self.load.communicate()
        self.folder.cleanup()

    def command(self, *words):
        return [PROGRAM, "capture", *map(str, words), "--file-prefix", self.name]

    def capture(self, *words, **named):
        return subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=named.pop("stdout", subprocess.DEVNULL),
                              stderr=subprocess.PIPE, text=True, timeout=WAIT_S, **named)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def socket(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(WAIT_S)
        s.connect(f"\0clockoo/{self.name}/capture")
        return s


def frames_of(done):
    found = SUMMARY.match(done.stderr)
    return int(found[2]) if found else done.stderr


def request(magic=MAGIC, snap=SNAP, seconds=60, insns=(), count=0, size=100 << 20, insn_count=None, text=b""):
    head = struct.pack("=IIIIQQ256s", magic, snap, seconds, len(insns) if insn_count is None else insn_count, count, size, text)
    return head + b"".join(struct.pack("=HBBI", *insn) for insn in insns)


@unittest.skipUnless(HAS_FILTERS, "built without libpcap")
@unittest.skipUnless(os.access(LOAD, os.X_OK), "built without the load generator (-Dbench=true)")
@unittest.skipUnless(shutil.which("tshark"), "there is no tshark: apt-get install tshark")
class Wireshark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.a = Appliance("cap")
        cls.addClassCleanup(cls.a.end)
        cls.a.load_begin()

    def setUp(self):
        self.a.wait_for_frames()  # the last test's client may still hold the place

    def read(self, path, *fields):
        """A list of values for each frame; Wireshark has nothing to complain about."""
        done = subprocess.run(["tshark", "-n", "-r", path, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T",
                               "fields", "-E", "occurrence=f", *(word for field in fields for word in ("-e", field))],
                              capture_output=True, text=True, timeout=WAIT_S)
        wrong = [line for line in done.stderr.splitlines() if "Running as user" not in line]
        self.assertEqual((done.returncode, wrong), (0, []))
        return [line.split("\t") for line in done.stdout.splitlines()]

    def test_as_many_frames_of_both_directions_with_their_times_and_checksums(self):
        path, before = self.a.path("all.pcapng"), time.time()
        done = self.a.capture(path, "--count", "500")
        after = time.time()
        self.assertEqual((done.returncode, SUMMARY.match(done.stderr)[2], SUMMARY.match(done.stderr)[5]),
                         (0, "500", "--count is reached"))
        frames = self.read(path, "frame.time_epoch", "frame.len", "frame.cap_len", "frame.packet_flags_direction", "ip.src",
                           "frame.interface_queue", "udp.checksum.status", "ip.checksum.status", "frame.interface_name",
                           "udp.payload")
        self.assertEqual(len(frames), 500)
        times = [float(frame[0]) for frame in frames]
        self.assertEqual(times, sorted(times))
        # The appliance's clock is the kernel's within some parts of a million; test_clock.c has how near. A turn that began
        # before this test may have stood still.
        self.assertGreater(times[0], before - WAIT_S)
        self.assertLess(times[-1], after + WAIT_S)
        frames = [frame for frame in frames if frame[4]]  # the appliance may look for a neighbour meanwhile
        self.assertGreater(len(frames), 480)
        self.assertEqual({tuple(frame[3:5]) for frame in frames}, {("0x00000001", "10.99.0.2"), ("0x00000002", SERVER_IP)})
        self.assertTrue(all(frame[1] == frame[2] and frame[5:9] == ["0", "1", "1", "memif"] for frame in frames))
        # Apart from requests at the edges, each request has an answer (by its number), and no answer lacks its request.
        asked = [frame[9][:4] for frame in frames if frame[4] != SERVER_IP]
        answered = [frame[9][:4] for frame in frames if frame[4] == SERVER_IP]
        self.assertTrue(set(asked[:-60]) <= set(answered))
        self.assertTrue(set(answered[60:]) <= set(asked))

    def test_frames_are_filtered_and_cut(self):
        path = self.a.path("cut.pcapng")
        for seconds in (1, 4, 16, 40):  # a machine that stands still has none in a second
            done = self.a.capture(path, "udp", "and", "dst", "port", "11211", "--snap", "60", "--seconds", str(seconds), "--count", "1000000")
            self.assertEqual(SUMMARY.match(done.stderr)[5], "--seconds are over")
            if frames_of(done) > 0:
                break
        frames = self.read(path, "frame.cap_len", "frame.len", "udp.dstport", "frame.packet_flags_direction")
        self.assertEqual(len(frames), frames_of(done))
        self.assertGreater(len(frames), 0)
        self.assertTrue(all(frame[0] == "60" and int(frame[1]) > 60 and frame[2:] == ["11211", "0x00000001"] for frame in frames))

    def test_a_file_is_as_large_as_it_may_be_and_whole(self):
        path = self.a.path("size.pcapng")
        done = self.a.capture(path, "--size", "20k")
        self.assertEqual(SUMMARY.match(done.stderr)[5], "--size is reached")
        self.assertLessEqual(os.path.getsize(path), 20 << 10)
        self.assertGreater(os.path.getsize(path), 18 << 10)
        self.assertEqual(len(self.read(path, "frame.len")), frames_of(done))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_an_interrupt_ends_it_and_the_file_is_whole(self):
        path = self.a.path("interrupted.pcapng")
        child = subprocess.Popen(self.a.command(path), stderr=subprocess.PIPE, text=True)
        while not os.path.exists(path) or os.path.getsize(path) < 4096:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        found = SUMMARY.match(child.communicate(timeout=WAIT_S)[1])
        self.assertEqual((child.returncode, found[5]), (0, "ended"))
        self.assertEqual(len(self.read(path, "frame.len")), int(found[2]))

    def test_a_program_may_read_it_meanwhile(self):
        child = subprocess.Popen(self.a.command("-", "--count", "50"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        done = subprocess.run(["tshark", "-n", "-r", "-"], stdin=child.stdout, capture_output=True, text=True, timeout=WAIT_S)
        child.stdout.close()
        self.assertEqual((child.wait(WAIT_S), len(done.stdout.splitlines())), (0, 50))

    def test_a_full_disk_is_told_and_what_is_there_is_whole(self):
        path = self.a.path("full.pcapng")
        room = 3 * MESSAGE_BYTES  # room for some messages: each is written whole or not at all
        done = self.a.capture(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^clockoo: capture: \S+: File too large; \d+ bytes are whole\n$")
        self.assertGreater(len(self.read(path, "frame.len")), 10)
        with open("/dev/full", "wb") as full:
            done = self.a.capture("-", stdout=full)
        self.assertEqual((done.returncode, done.stderr), (1, "clockoo: capture: -: No space left on device; 0 bytes are whole\n"))


@unittest.skipUnless(HAS_FILTERS, "built without libpcap")
class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.a = Appliance("capn")
        cls.addClassCleanup(cls.a.end)

    def refused(self, words, *options, code=1, **named):
        done = self.a.capture(*options, **named)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
        self.assertIn(words, done.stderr)
        self.assertTrue(done.stderr.startswith("clockoo: "))

    def expect_served(self, a=None):
        """Tries until the cores have left the previous capture."""
        for _ in range(WAIT_S * 10):
            with (a or self.a).socket() as s:
                answer = b""
                with contextlib.suppress(OSError):
                    s.send(request(insns=[(6, 0, 0, 0)]))
                    answer = s.recv(1 << 16)
                if answer == b"B":
                    s.shutdown(socket.SHUT_WR)
                    while (answer := s.recv(1 << 16))[:1] == b"D":
                        pass
                    break
            time.sleep(0.1)
        self.assertEqual(answer[:1], b"Z", answer)

    def test_what_is_wrong_is_one_line(self):
        there = self.a.path("there")
        pathlib.Path(there).write_text("kept")
        self.refused("File exists; name another", there)
        self.assertEqual(pathlib.Path(there).read_text(), "kept")
        os.symlink("/nowhere/at/all", self.a.path("link"))
        self.refused("File exists; name another", self.a.path("link"))
        self.refused("its folder is not there", self.a.path("no/such"))
        self.refused("no file is named", code=64)
        self.refused("unknown option --snaps", "x", "--snaps", "3", code=64)
        for option, value in (("--count", "0"), ("--count", "-1"), ("--seconds", "86401"), ("--snap", "13"), ("--snap", "16385"),
                              ("--size", "4095"), ("--size", "2000g"), ("--size", "99999999999999999999"), ("--count", "1x"),
                              ("--count", "")):
            self.refused(f'{option} "{value}": expected a number', "x", option, value, code=64)
        self.refused("a filter of more than 255 characters", "x", "udp or " * 60, code=64)
        for text in ("tpc", "port 70000", "ip6 protochain 6"):
            self.refused("capture: filter \"", "x", text)
        self.assertFalse(os.path.exists("x"))
        done = subprocess.run([PROGRAM, "capture", "x", "--file-prefix", "nobody-has-this"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^clockoo: capture: no appliance with --file-prefix nobody-has-this is here: .*\n$")
        self.assertFalse(os.path.exists("x"))
        done = subprocess.run([PROGRAM, "capture", "x", "--file-prefix"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (64, "clockoo: capture: --file-prefix needs a value\n"))

    @unittest.skipUnless(os.geteuid() == 0, "root alone can be somebody else")
    def test_others_may_not(self):
        def nobody():
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        self.refused("only root and the user who started the appliance may capture", "-", preexec_fn=nobody)
        os.chmod(self.a.folder.name, 0o755)
        self.refused("Permission denied; name a folder that you may write to", self.a.path("not-mine"), preexec_fn=nobody)
        self.expect_served()

    def test_of_two_at_a_time_the_second_is_refused(self):
        with self.a.socket() as s:
            s.send(request())
            self.assertEqual(s.recv(1 << 16), b"B")
            path = self.a.path("second.pcapng")
            self.refused("another capture is running", path)
            self.assertFalse(os.path.exists(path))
        self.expect_served()

    def test_any_bytes_are_refused_and_it_serves(self):
        ret, back, odd = (6, 0, 0, 1), (5, 0, 0, 0xffffffff), (0xffff, 0, 0, 0)
        for data in (b"x", request()[:-1], request() + b"x", request(magic=1), request(snap=0), request(snap=1 << 20),
                     request(seconds=0), request(seconds=1 << 31), request(size=0), request(size=1 << 63), request(insn_count=1),
                     request(insn_count=513), request(insns=[ret], insn_count=0xffffffff), request(text=b"x" * 256),
                     request(insns=[back, ret]), request(insns=[odd, ret]), request(insns=[(0x20, 0, 0, 0)]),
                     request(insns=[(0x15, 9, 9, 0), ret]), request(insns=[ret] * 512 + [ret]), b"\0" * 65536):
            with self.a.socket() as s:
                s.send(data)
                answer = s.recv(1 << 16)
                self.assertEqual(answer[:1], b"E", data[:48])
                self.assertNotIn(b"\n", answer)
                self.assertEqual(s.recv(1 << 16), b"")
        self.expect_served()

    def test_who_says_nothing_is_not_waited_for(self):
        with self.a.socket() as s:
            self.refused("another capture is running", "-")
            self.assertEqual(s.recv(1 << 16), b"")
        self.expect_served()

    def test_who_goes_away_or_does_not_read_keeps_nothing(self):
        a = Appliance("capr", "null")  # a null port receives frames for ever
        self.addCleanup(a.end)
        for _ in range(5):
            with contextlib.suppress(OSError), a.socket() as s:
                s.send(request())
                s.recv(1 << 16)
            with contextlib.suppress(OSError), a.socket() as s:
                s.send(request())
        self.expect_served(a)
        with a.socket() as s:
            s.send(request())
            time.sleep(0.3)
            s.shutdown(socket.SHUT_WR)
            kinds, frames, lost = set(), 0, None
            while message := s.recv(1 << 16):
                kinds.add(message[:1])
                if message[:1] == b"Z":
                    frames, lost = struct.unpack("=QQ", message[1:17])
        self.assertEqual(kinds, {b"B", b"D", b"Z"})
        self.assertGreater(lost, frames)
        self.expect_served(a)

    def test_zz_a_stop_of_the_appliance_ends_it(self):
        with self.a.socket() as s:
            s.send(request(insns=[(6, 0, 0, 0)]))  # no frame is wanted
            self.assertEqual(s.recv(1 << 16), b"B")
            self.a.process.send_signal(signal.SIGTERM)
            while (message := s.recv(1 << 16))[:1] == b"D":
                pass
            self.assertEqual((message[:1], message[25:29]), (b"Z", struct.pack("=I", BY_STOP)))
        self.assertEqual(self.a.process.wait(WAIT_S), 0)


@unittest.skipIf(HAS_FILTERS, "built with libpcap")
class WithoutFilters(unittest.TestCase):
    def test_a_filter_is_one_line_and_all_frames_can_be_had(self):
        a = Appliance("capw", "null")
        self.addCleanup(a.end)
        done = a.capture("x", "udp")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn('capture: filter "udp": this program was built without libpcap; install libpcap-dev', done.stderr)
        with a.socket() as s:
            s.send(request(insns=[(6, 0, 0, 1)]))
            self.assertEqual(s.recv(1 << 16)[:1], b"E")
        self.assertEqual(frames_of(a.capture("-", "--count", "10")), 10)


class Taken(unittest.TestCase):
    def test_a_name_that_is_taken_is_a_warning(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(f"\0clockoo/capt-{os.getpid()}/capture")
            a = Appliance("capt", "null")
            a.end()
        self.assertIn("ready", a.ready)
        self.assertIn("warning: `clockoo capture` cannot be used", a.err)

    def test_who_took_it_is_named(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(f"\0clockoo/capm-{os.getpid()}/capture")
            s.listen()
            a = Appliance("capm", "null")
            a.end()
        self.assertIn(f"held by process {os.getpid()} of user {os.getuid()}", a.err)

    @unittest.skipUnless(os.getuid() == 0, "not root, so nobody else can take the name")
    def test_what_another_user_sends_is_not_believed(self):
        ends = os.pipe()
        stranger = os.fork()
        if stranger == 0:
            os.setuid(NOBODY)
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(f"\0clockoo/capx-{os.getpid()}/capture")
            s.listen()
            os.write(ends[1], b"y")
            with s.accept()[0] as client:
                client.send(b"B")
                client.send(b"D" + b"not what passed the port")
            os._exit(0)
        os.read(ends[0], 1)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "x.pcapng")
            command = [PROGRAM, "capture", file, "--file-prefix", f"capx-{stranger}"]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=WAIT_S)
            left = os.path.getsize(file) if os.path.exists(file) else 0
        os.waitpid(stranger, 0)
        self.assertEqual((done.returncode, left), (1, 0))
        self.assertIn(f"is held by process {stranger} of user {NOBODY}", done.stderr)

    def test_who_took_it_writes_on_no_terminal(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(f"\0clockoo/captw-{os.getpid()}/capture")
            s.listen()
            command = [PROGRAM, "capture", "-", "--file-prefix", f"captw-{os.getpid()}"]
            done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with s.accept()[0] as client:
                client.recv(1 << 16)
                client.send(b"E\x1b]0;mine\x07\r\nclockoo: all is well\x9b\n" + b"." * 60000)
                err = done.communicate(timeout=WAIT_S)[1]
        self.assertRegex(err, rb"^clockoo: capture: \?\]0;mine\?\?\?clockoo: all is well\?\?\.+\n$")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
