#!/usr/bin/python3 -B
"""Planted faults (referees/planted_judge.py): what counts as caught, and that a program which does not serve proves
nothing. Also tests that a file of memcached's tests that hangs is ended.

Programs of a few lines stand in for the appliance, and a row of one test for the referee.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "referees"), str(HERE.parents[1] / "tools/py")]

import memcached_t  # noqa: E402  (the paths above come first)
import planted  # noqa: E402
import planted_judge  # noqa: E402
from libraries import Library  # noqa: E402

STAND_IN = """#!/usr/bin/python3 -BI
import socketserver, sys

class Client(socketserver.StreamRequestHandler):
    def handle(self):
        items = {}
        while words := self.rfile.readline().split():
            self.wfile.write(answer(items, words, self.rfile))

def answer(items, words, rest):
    verb, key = words[0], words[-1 if words[0] in (b"version", b"get", b"delete") else 1]
    if verb == b"version":
        return b"VERSION 1\\r\\n"
    if verb in (b"set", b"add"):
        value = rest.readline()
        if verb == b"add" and key in items and not ADD_REPLACES:
            return b"NOT_STORED\\r\\n"
        items[key] = value
        return b"STORED\\r\\n"
    if verb == b"get":
        if key not in items or not GETS:
            return b"END\\r\\n"
        return b"VALUE %s 0 %d\\r\\n%sEND\\r\\n" % (key, len(items[key]) - 2, items[key])
    if verb == b"incr":
        items[key] = b"%d\\r\\n" % (int(items[key]) + int(words[2]))
        return items[key]
    return b"DELETED\\r\\n" if items.pop(key, None) else b"NOT_FOUND\\r\\n"

if ENDS:
    sys.exit(1)
socketserver.ForkingTCPServer(("127.0.0.1", int(sys.argv[sys.argv.index("-p") + 1])), Client).serve_forever()
"""
ADDS_TWICE = """exec 3<>/dev/tcp/$0/$1; printf 'add a 0 0 1\\r\\n1\\r\\nadd a 0 0 1\\r\\n2\\r\\n' >&3
read -r one <&3; read -r two <&3; echo "ok - it is stored"; [ "$two" = $'NOT_STORED\\r' ] && echo "ok - it stays" || echo "not ok - it stays" """
ROW = Library("adds twice", 1, None, lambda at, host, port: ["bash", "-c", ADDS_TWICE, host, port])


def can_isolate():
    return subprocess.run(["unshare", "--net", "--map-root-user", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def stand_in(folder, **faults):
    """Writes a program in the appliance's place below a folder."""
    (folder / "app").mkdir(parents=True)
    program = folder / "app/clockoo"
    switches = {"ENDS": False, "GETS": True, "ADD_REPLACES": False, **faults}
    first, rest = STAND_IN.split("\n", 1)
    program.write_text(first + "\n" + "".join(f"{name} = {value}\n" for name, value in switches.items()) + rest)
    program.chmod(0o755)
    return program


class Caught(unittest.TestCase):
    def test_test_that_fails_with_the_fault_alone_catches_it(self):
        self.assertEqual(planted_judge.caught({"a": True, "b": True, "c": False}, {"a": True, "b": False, "c": False}, False), ["b"])

    def test_finding_in_the_program_with_the_fault_alone_catches_it(self):
        self.assertEqual(planted_judge.caught({"a": True}, {"a": True, "takes b": False}, False), ["takes b"])

    def test_test_that_a_program_ended_before_catches_it(self):
        self.assertEqual(planted_judge.caught({"a": True, "b": True}, {"a": True}, False), ["b"])

    def test_test_that_the_limit_cut_proves_nothing(self):
        self.assertEqual(planted_judge.caught({"a": True, "b": True}, {"a": True}, True), [])

    def test_fault_whose_text_is_not_there_cannot_be_planted(self):
        fault = planted.FAULTS[0]._replace(old="there is no such text")
        self.assertRaises(planted.CannotPlant, planted.text_with, fault)

    def test_each_fault_has_its_place(self):
        for fault in planted.FAULTS:
            self.assertIn(fault.new, planted.text_with(fault))


class Files(unittest.TestCase):
    def said(self, script, silent_s):
        with tempfile.TemporaryDirectory(prefix="planted-") as home:
            return memcached_t.run_one(pathlib.Path(home), ["sh", "-c", script], None, False, silent_s)

    def test_file_that_hangs_is_ended_and_its_last_line_is_named(self):
        self.assertEqual(self.said("echo ok 1; echo not ok 2; echo ok 3 - stored; exec sleep 100000", 1),
                         ({"1": True, "2": False, "3": True}, "ok 3 - stored"))

    def test_file_that_hangs_without_a_line_is_ended(self):
        self.assertEqual(self.said("exec sleep 100000", 1), ({}, "no line"))

    def test_file_that_ends_has_no_last_line(self):
        self.assertEqual(self.said("echo ok 1", 600), ({"1": True}, None))


@unittest.skipUnless(can_isolate(), "no network namespaces here")
class Judged(unittest.TestCase):
    def judged(self, **faults):
        """Returns a referee's verdict on a stand-in with these faults, compared with one without."""
        with tempfile.TemporaryDirectory(prefix="planted-") as made:
            made = pathlib.Path(made)
            stand_in(made / "clean")
            judge = planted_judge.Judge(made, made / "clean", None)
            return judge.library(ROW, made, stand_in(made / "faulty", **faults), "adds twice")

    def test_fault_is_caught(self):
        self.assertTrue(self.judged(ADD_REPLACES=True))

    def test_program_without_a_fault_is_not_caught(self):
        self.assertFalse(self.judged())

    def test_program_that_ends_at_once_proves_nothing(self):
        self.assertRaises(planted_judge.NoControl, self.judged, ENDS=True)

    def test_program_that_fails_the_control_proves_nothing(self):
        with self.assertRaisesRegex(planted_judge.NoControl, "the control fails"):
            self.judged(GETS=False)


unittest.main()
