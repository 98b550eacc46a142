#!/usr/bin/python3 -B
"""The store's memory in a file, from outside. Goal: one process has the file, and whoever comes second
learns who; a stop, a kill and a start that fails are no crash, a crash is counted once and still is
one, and the third one takes a new file; a stop asked for during the repair ends it; clocks are written
while it serves; another size starts empty and says so, and one that does not fit changes nothing; what
another program wrote or damaged is not believed, and not promised. Method: the built
program on the null port, a folder of ours on a tmpfs, and the page of the file, read as the C code
lays it out.

    memory_file_test.py CLOCKOO
"""

import os
import pathlib
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
TMPFS = "/dev/shm"
WAIT_S = 60  # ends what hangs
PAGE_AT = 4096
MAGIC = 0x31656761706b6c63
# memory_page.h: magic, pid, incarnation, attempts, signal, device, inode, boot id; two beats.
PAGE = struct.Struct("<QIIIIQQ40s")
BEAT = struct.Struct("<QQQQQ")  # boot, wall, store, served, count
WALL_ATS = [PAGE_AT + PAGE.size + i * BEAT.size + 8 for i in range(2)]
ATTEMPTS_AT, SIGNAL_AT, CHANGED_AT = PAGE_AT + 16, PAGE_AT + 20, PAGE_AT + PAGE.size + 2 * BEAT.size
LAYOUT_AT, STATE_AT, FLOORS_AT = 8, 8192, 12288 + 40960  # image.h
OTHERS_S = 2.2  # more than CHANGED_BY_OTHERS_NS


class Page:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()[PAGE_AT:2 * PAGE_AT]
        self.magic, self.pid, _, self.attempts, self.signal, _, self.inode, boot = PAGE.unpack_from(data)
        self.boot_id = boot.rstrip(b"\0").decode()
        beats = [BEAT.unpack_from(data, PAGE.size + i * BEAT.size) for i in range(2)]
        self.boot_ns, self.wall_ns, self.store_ns, self.served_ns, self.count = max(beats, key=lambda b: b[4])


class Server:
    """with Server(PATH, OPTION...) as s: it is ready. s.said is what it had said on stderr then."""

    def __init__(self, path, *options, before=None):
        self.process = subprocess.Popen(
            [PROGRAM, "--config", "none", "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "--poll", "adaptive", "-m", "16", "-c", "64",
             "--file-prefix", f"memfile-{os.getpid()}", "-e", str(path), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before)

    def __enter__(self):
        ready = self.process.stdout.readline()
        if " ready" not in ready:
            raise AssertionError(self.process.communicate(timeout=WAIT_S))
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self, number):
        """Ends the program by a signal. Returns its status and its stderr."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=WAIT_S)[1]
        return self.process.returncode, said


def damage(path, *words):
    """Words of 32 bits at offsets; it is not known then that the file was changed."""
    with open(path, "r+b") as f:
        for at, word in (*words, (CHANGED_AT, 0), (CHANGED_AT + 4, 0)):
            f.seek(at)
            f.write(struct.pack("<I", word))


class MemoryFileTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="clockoo-test-", dir=TMPFS)
        self.path = pathlib.Path(self.folder, "memory")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_a_second_process_is_told_who_has_it(self):
        with Server(self.path) as first:
            with self.assertRaises(AssertionError) as caught, Server(self.path):
                pass
            self.assertIn(f"--memory-file: {self.path}: in use by process {first.process.pid}; stop it",
                          str(caught.exception))
            self.assertEqual(Page(self.path).attempts, 0)

    def test_a_restart_waits_for_the_process_before_it(self):
        with Server(self.path) as first:
            second = Server(self.path)
            self.assertEqual(first.end(signal.SIGTERM)[0], 0)
            with second:
                self.assertEqual(Page(self.path).pid, second.process.pid)

    def test_clocks_are_written_while_it_serves(self):
        with Server(self.path) as s:
            first, deadline = Page(self.path), time.monotonic() + WAIT_S
            while Page(self.path).served_ns <= first.boot_ns and time.monotonic() < deadline:
                time.sleep(0.05)
            page = Page(self.path)
            self.assertEqual((page.magic, page.pid), (MAGIC, s.process.pid))
            self.assertEqual(page.inode, self.path.stat().st_ino)
            self.assertEqual(page.boot_id, pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())
            self.assertGreater(page.count, first.count)
            self.assertGreater(page.served_ns, first.boot_ns)
            self.assertLessEqual(page.served_ns, page.boot_ns)
            # Both clocks go on alike. A process that stands still between its two readings writes a pair that is apart.
            pages = [first]
            while not (alike := any(self.go_on_alike(one, pages[-1]) for one in pages[:-1])) and time.monotonic() < deadline:
                pages.append(Page(self.path))
                time.sleep(0.05)
            self.assertTrue(alike, [page.store_ns - page.boot_ns for page in pages])

    @staticmethod
    def go_on_alike(first, page):
        took_ns = page.boot_ns - first.boot_ns
        return took_ns >= 1e9 and abs(page.store_ns - first.store_ns - took_ns) < 0.01 * took_ns + 1e7

    def test_a_stop_and_a_kill_are_no_crash(self):
        for number, status in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL), (signal.SIGUSR1, 0)):
            with Server(self.path) as s:
                self.assertEqual(Page(self.path).attempts, 0)
                self.assertEqual(s.end(number)[0], status)
            self.assertEqual((Page(self.path).attempts, Page(self.path).signal), (0, 0))

    def test_a_crash_is_counted_once_and_is_one_still(self):
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL):
            self.path.unlink(missing_ok=True)
            with Server(self.path, "-t", "2", "--share-cpus") as s:
                self.assertEqual(s.end(number)[0], -number)
            self.assertEqual((Page(self.path).attempts, Page(self.path).signal), (1, number))

    def test_a_kill_is_repaired_and_said(self):
        with Server(self.path, "-t", "2", "--share-cpus") as s:
            s.end(signal.SIGKILL)
        with Server(self.path) as s:
            said = s.end(signal.SIGTERM)[1]
        self.assertIn("memory.file: repairing: states, 0 %", said)
        self.assertRegex(said, r"clockoo: repaired: kept 0 items, 0\.0 GB in \d+\.\d\d s; 0 lost")
        for end in (signal.SIGTERM, signal.SIGKILL):
            with Server(self.path) as s:
                said = s.end(end)[1]
            self.assertIn("clockoo: kept 0 items", said)
            self.assertNotIn("repair", said)
        with Server(self.path) as s:  # the last one had found it clean, and made it dirty
            said = s.end(signal.SIGTERM)[1]
        self.assertIn("clockoo: repaired: kept 0 items", said)
        self.assertNotIn("checksums", said)

    def test_the_third_crash_takes_a_new_file(self):
        for crash in range(1, 4):
            with Server(self.path) as s:
                self.assertEqual(Page(self.path).attempts, crash - 1)
                s.end(signal.SIGSEGV)
            self.assertEqual((Page(self.path).attempts, Page(self.path).signal), (crash, signal.SIGSEGV))
        was = Page(self.path).inode
        with Server(self.path) as s:
            self.assertNotEqual(Page(self.path).inode, was)
            self.assertEqual((Page(self.path).attempts, Page(self.path).signal), (0, 0))
            said = s.end(signal.SIGTERM)[1]
        self.assertIn("starts empty: 3 crashes with the kept memory, the last by signal 11", said)

    def test_a_stop_during_the_repair_ends_it_and_is_no_crash(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            with Server(self.path) as s:
                s.end(signal.SIGKILL)
            beat = Page(self.path).boot_ns

            def ask_to_stop():
                """Before the program begins: pending, and blocked as in each of its threads."""
                signal.pthread_sigmask(signal.SIG_BLOCK, [number])
                os.kill(os.getpid(), number)

            stopped = Server(self.path, before=ask_to_stop)
            said = stopped.process.communicate(timeout=WAIT_S)
            self.assertEqual((stopped.process.returncode, said[0]), (0, ""), said)
            self.assertIn("clockoo: memory.file: stopped amid its repair; the next start does it again", said[1])
            self.assertEqual(Page(self.path).attempts, 0)
            self.assertEqual(Page(self.path).boot_ns, beat, "the gap goes on from the last service")
            with Server(self.path) as s:
                self.assertIn("repaired: kept", s.end(signal.SIGTERM)[1])
            # An attachment is soon done: it serves, and stops.
            attached = Server(self.path, before=ask_to_stop)
            said = attached.process.communicate(timeout=WAIT_S)
            self.assertEqual(attached.process.returncode, 0, said)
            self.assertIn("clockoo: kept 0 items", said[1])
            self.path.unlink()

    def test_a_start_that_fails_is_no_crash(self):
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        time.sleep(OTHERS_S)
        done = subprocess.run([PROGRAM, "--config", "none", "--no-huge", "--port", "null", "-m", "16", "-c", "64",
                               "-e", self.path, "--pidfile", "/no/such/folder/pid"],
                              capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(Page(self.path).attempts, 0)

        with Server(pathlib.Path(self.folder, "other")):  # it has the file prefix, so DPDK refuses
            time.sleep(OTHERS_S)
            with self.assertRaises(AssertionError) as caught, Server(self.path):
                pass
            self.assertIn("in use by another instance", str(caught.exception))
        # The refused program has changed the file, and the next start detects that.
        with Server(self.path) as s:
            self.assertRegex(s.end(signal.SIGTERM)[1], "clockoo: (repaired: )?kept 0 items")

    def test_a_copy_that_is_written_back_starts_empty(self):
        """Deletes since it was made would be undone; with the times of the copy (cp -p), too."""
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        copy, times = self.path.read_bytes(), self.path.stat()
        for keeps_times in (False, True):
            with Server(self.path) as s:
                time.sleep(OTHERS_S)
                s.end(signal.SIGTERM)
            inode = self.path.stat().st_ino
            self.path.write_bytes(copy)
            if keeps_times:
                os.utime(self.path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.assertEqual(self.path.stat().st_ino, inode)
            self.assertIn("would start empty: its file was changed", self.ask("arena", "list"))
            with Server(self.path) as s:
                self.assertRegex(s.end(signal.SIGTERM)[1], "starts empty: its file was changed while nobody served "
                                                           r"from it \(cp, mv, chmod, chown\)")
            copy, times = self.path.read_bytes(), self.path.stat()
        for number in (signal.SIGKILL, signal.SIGTERM):  # an own end is no change
            with Server(self.path) as s:
                time.sleep(OTHERS_S)
                s.end(number)
            time.sleep(OTHERS_S)
            with Server(self.path) as s:
                self.assertIn("kept 0 items", s.end(signal.SIGTERM)[1])

    def test_a_size_that_does_not_fit_leaves_the_file_as_it_was(self):
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        was = self.path.stat().st_size
        said = self.ask("-t", "1", "-m", str(512 << 10), words_first=False, status=1)
        self.assertRegex(said, rf"--memory-file: {self.path}: 524288 MB do not fit: it has \d+, and \d+ are free; "
                               "lower -m, or enlarge")
        self.assertEqual(self.path.stat().st_size, was)
        with Server(self.path) as s:
            self.assertIn("clockoo: kept 0 items", s.end(signal.SIGTERM)[1])

    def test_starts_that_were_killed_are_no_signal_0(self):
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        damage(self.path, (ATTEMPTS_AT, 3), (SIGNAL_AT, 0))
        with Server(self.path) as s:
            self.assertIn("starts empty: 3 crashes with the kept memory, the last amid a start\n",
                          s.end(signal.SIGTERM)[1])

    def test_wrong_checksums_are_said_and_repaired(self):
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        damage(self.path, (FLOORS_AT, 7))
        self.assertRegex(self.ask("arena", "list"), r"would be kept, \d+ s")
        with Server(self.path) as s:
            said = s.end(signal.SIGTERM)[1]
        self.assertIn("memory.file: tables or index are not as they were left (wrong checksums): repairing\n", said)
        self.assertIn("clockoo: repaired: kept 0 items", said)

    def test_what_the_store_refuses_is_not_promised(self):
        with Server(self.path) as s:
            s.end(signal.SIGKILL)
        self.assertRegex(self.ask("arena", "list"), r"would be repaired and kept, \d+ s")
        for at, word, why in ((LAYOUT_AT, 99, "of another layout"), (STATE_AT, 7, "its header is damaged")):
            damage(self.path, (at, word))
            self.assertIn(f"would start empty: {why}", self.ask("arena", "list"))
            self.assertIn(f"the next start is empty: {why}", self.ask("doctor", status=None))
            with Server(self.path) as s:
                self.assertIn(f"starts empty: {why}", s.end(signal.SIGTERM)[1])

    def test_a_step_of_the_wall_clock_starts_empty_and_says_so(self):
        """Changes what the last heartbeats saw, as if the clock had been set while the cache was down."""
        for step_s in (-3600, 3600):
            self.path.unlink(missing_ok=True)
            with Server(self.path) as s:
                s.end(signal.SIGTERM)
            data = self.path.read_bytes()
            for at in WALL_ATS:
                wall_ns, = struct.unpack_from("<Q", data, at)
                wall_ns -= step_s * 10**9
                damage(self.path, (at, wall_ns & 0xffffffff), (at + 4, wall_ns >> 32))
            words = rf"the wall clock moved by {step_s:+d} s while it was down"
            self.assertIn(f"would start empty: {words}", self.ask("arena", "list"))
            with Server(self.path, "--keep-for", "always") as s:
                self.assertIn(f"starts empty: {words}\n", s.end(signal.SIGTERM)[1])

    def test_another_size_starts_empty_and_says_both(self):
        with Server(self.path) as s:
            s.end(signal.SIGTERM)
        with Server(self.path, "-m", "32") as s:
            said = s.end(signal.SIGTERM)[1]
        self.assertRegex(said, rf"memory\.file: {self.path}: starts empty: it had \d+ MB, and \d+ are configured")

    def ask(self, *words, status=0, words_first=True):
        own = ["--config", "none", "--no-huge", "--port", "null", "-m", "16", "-c", "64", "-e", self.path]
        done = subprocess.run([PROGRAM, *((*words, *own) if words_first else (*own, *words))], capture_output=True,
                              text=True, timeout=WAIT_S)
        if status is not None:
            self.assertEqual(done.returncode, status, done)
        return done.stdout + done.stderr

    def test_arena_doctor_and_check_say_what_a_start_would_find(self):
        config = pathlib.Path(self.folder, "f.yaml")
        config.write_text(f"memory:\n  file: {self.path}\n  limit: 16\n  no_huge: yes\nport:\n  nic: \"null\"\n"
                          "protocol:\n  conn_limit: 64\n")

        def check_all(state):
            for text in (self.ask("arena", "list"), self.ask("doctor", status=None),
                         subprocess.run([PROGRAM, "--check", config], capture_output=True, text=True).stdout):
                self.assertRegex(text, state)

        check_all("not there yet")
        with Server(self.path) as s:
            check_all(f"in use by process {s.process.pid}")
            self.assertIn(f"process {s.process.pid}: 29 MB where they should be".split(":")[0],
                          self.ask("doctor", status=None))
            self.assertIn(f"in use by process {s.process.pid}", self.ask("arena", "remove", status=1))
            s.end(signal.SIGTERM)
        check_all(r"would be kept, \d+ s without service")
        self.assertRegex(self.ask("arena", "list", "--keep-for", "never"), "would start empty: .*never")
        self.assertRegex(self.ask("arena", "list", "--memory-max", "64"), r"would start empty: it has \d+ MB, and")
        copy = pathlib.Path(self.folder, "copy")
        shutil.copyfile(self.path, copy)
        pathlib.Path(self.folder, "other").write_text("another program's")
        said = self.ask("arena", "list").splitlines()
        self.assertEqual(len(said), 2, said)
        self.assertRegex(said[1], rf"^{copy}: .* would start empty: it is a copy of another file")
        self.assertRegex(self.ask("arena", "remove"), r"removed, \d+ MB given back")
        self.assertFalse(self.path.exists())
        self.assertIn("not there", self.ask("arena", "remove"))

    def test_what_systemd_may_remove_is_warned_of(self):
        """nobody's files in /dev/shm, as of any user with sessions; not those of root."""
        self.assertNotIn("RemoveIPC", self.ask("doctor", status=None))
        if os.geteuid() != 0:
            self.skipTest("not root: -u does nothing")
        self.assertRegex(self.ask("doctor", "-u", "nobody", status=None), r"warn  memory file .*\(RemoveIPC\)\n.*-> ")
        config = pathlib.Path(self.folder, "f.yaml")
        config.write_text(f"memory:\n  file: {self.path}\nport:\n  nic: \"null\"\nprocess:\n  user: nobody\n")
        said = subprocess.run([PROGRAM, "--check", config], capture_output=True, text=True, timeout=WAIT_S).stdout
        self.assertRegex(said, r"memory\.file: .*\(RemoveIPC\); better: ")

    def test_arena_wants_a_file_and_a_word_it_knows(self):
        for words, why, status in ((["arena", "list"], "no --memory-file is configured", 1),
                                   (["arena", "save"], 'arena "save": expected list or remove', 64),
                                   (["arena"], "expected list or remove", 64)):
            done = subprocess.run([PROGRAM, *words, "--config", "none"], capture_output=True, text=True, timeout=WAIT_S)
            self.assertEqual(done.returncode, status)
            self.assertIn(why, done.stderr)

    def test_what_cannot_be_a_memory_is_refused_before_anything_starts(self):
        for path, why in (("/proc/x", "not on a hugetlbfs or tmpfs"), (self.folder, "Is a directory"),
                          (f"{self.folder}/no/x", f"its folder {self.folder}/no: No such file or directory")):
            with self.assertRaises(AssertionError) as caught, Server(path):
                pass
            self.assertIn(why, str(caught.exception))
        self.path = "/proc/x"
        self.assertRegex(self.ask("doctor", status=2), "FAIL  memory file .*\n +-> hugeadm --create-user-mounts=clockoo ")

    def test_a_daemon_has_it_after_its_parent_has_ended(self):
        pid_file = pathlib.Path(self.folder, "pid")
        done = subprocess.run([PROGRAM, "--config", "none", "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "--poll", "adaptive", "-m", "16", "-c",
                               "64", "--file-prefix", f"memfile-{os.getpid()}", "-e", self.path, "-d", "-P", pid_file],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        pid = int(pid_file.read_text())
        ended = os.pidfd_open(pid)
        try:
            self.assertEqual(Page(self.path).pid, pid)
            with self.assertRaises(AssertionError) as caught, Server(self.path):
                pass
            self.assertIn(f"in use by process {pid}", str(caught.exception))
        finally:
            os.kill(pid, signal.SIGKILL)
            self.assertNotEqual(select.select([ended], [], [], WAIT_S)[0], [])
            os.close(ended)


if __name__ == "__main__":
    if not os.path.ismount(TMPFS):
        print(f"skipped: {TMPFS} is no tmpfs")
        sys.exit(77)
    unittest.main()
