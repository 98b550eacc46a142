#!/usr/bin/python3 -B
"""The runner of packet scripts is itself right: a script that is wrong fails, at the line that is
wrong, in words that say what was expected and what came. Method: a table of small scripts, each
wrong in one way; and one that is right, so that nothing fails for another reason.

usage: script_test.py RUN_SCRIPTS
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # in a cross build

HELLO = """script a handshake
in SYN 0 <mss 1460>
out SYN-ACK 0 ack 1 win 14600
in ACK 1 ack 1
opened 1
state ESTABLISHED
"""

# what, the text after HELLO's six lines, the line that must be named, words that must be said
DIFFERS = [
    ("silence where a segment is due", "out ACK 1 ack 1", 7, "expected out ACK 1 ack 1, got silence"),
    ("another sequence number", "write 5\nout PSH-ACK 2+5 ack 1", 8,
     "expected out PSH-ACK 2+5 ack 1, got out PSH-ACK 1+5 ack 1"),
    ("another acknowledgment", "write 5\nout PSH-ACK 1+5 ack 2", 8, "got out PSH-ACK 1+5 ack 1"),
    ("another length", "write 5\nout PSH-ACK 1+4 ack 1", 8, "got out PSH-ACK 1+5 ack 1"),
    ("other flags", "write 5\nout ACK 1+5 ack 1", 8, "got out PSH-ACK 1+5 ack 1"),
    ("another window", "write 5\nout PSH-ACK 1+5 ack 1 win 7", 8, "win 65535"),
    ("options that do not come", "write 5\nout PSH-ACK 1+5 ack 1 <ts 1 ecr 2>", 8,
     "expected out PSH-ACK 1+5 ack 1 <ts 1 ecr 2>, got out PSH-ACK 1+5 ack 1 <>"),
    ("fewer segments than are due", "write 2920\nout ACK 1+1460 ack 1 x2", 8,
     "got out PSH-ACK 1461+1460 ack 1"),
    ("a segment nobody named", "write 5\nwait 1ms", 8, "expected silence before this, got out PSH-ACK 1+5"),
    ("a segment nobody named, in the end", "write 5", 7, "expected silence before this"),
    ("silence that is not", "write 5\nsilence", 8, "expected silence before this"),
    ("another count", "count TCP_SYNS 2", 7, "expected TCP_SYNS 2, got 1"),
    ("opened once", "opened 2", 7, "expected opened 2, got 1"),
    ("not gone", "gone 1", 7, "expected gone 1, got 0"),
    ("not the end of the stream", "eof yes", 7, "expected eof 1, got 0"),
    ("nothing to read", "readable 1", 7, "expected readable 1, got 0"),
    ("nothing to read, either", "read 1", 7, "expected 1 bytes more to read, got none"),
    ("nothing held", "held 1", 7, "expected held 1, got 0"),
    ("another state", "state CLOSING", 7, "expected state CLOSING, got ESTABLISHED"),
    ("other bytes", "in ACK 1+10 ack 1 other-data\nout ACK 1 ack 11\nread 10", 9,
     "expected the peer's byte 0, got another"),
    ("no connection", "from 50000\nwrite 5", 8, "expected an open connection, got none"),
    ("a service that acts in a pause", "pause\nwrite 5", 8, "expected wait, in, icmp or resume"),
    ("a pause without an end", "pause", 7, "expected resume after pause"),
    ("an end without a pause", "resume", 7, "expected a pause before resume"),
    ("no room", "write 1000000", 7, "expected room to write"),
    ("the line of a define",
     "define five\nwrite 5\nout ACK 1+5 ack 1\nscript two\nin SYN 0\nout SYN-ACK 0 ack 1\n"
     "in ACK 1 ack 1\nuse five", 9, "used at line 14"),
]

UNREADABLE = [
    ("a verb", "jump 5", 7, "expected a verb, got 'jump'"),
    ("no flags", "in FOO 1", 7, "expected flags such as SYN, FIN-ACK or none, got 'FOO'"),
    ("no number", "in SYN x", 7, "expected a number that fits here, got 'x'"),
    ("a flag without its number", "in ACK 1", 7, "expected 'ack N'"),
    ("a number without its flag", "in SYN 1 ack 2", 7, "expected 'ack N'"),
    ("no such window", "in SYN 1 win 70000", 7, "expected a number that fits here, got '70000'"),
    ("no such option", "in SYN 1 <foo 1>", 7, "expected mss, wscale, sackok, ts, sack or raw"),
    ("an open list", "in SYN 1 <mss 1460", 7, "expected ',' or '>'"),
    ("a star", "in SYN 1 <ts * ecr 0>", 7, "expected no * here"),
    ("five blocks", "in ACK 1 ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", 7, "expected at most four blocks"),
    ("no unit", "wait 40", 7, "expected a time"),
    ("words left over", "close now", 7, "expected the end of the line, got 'now'"),
    ("no such counter", "count TCP_FOO 1", 7, "expected a counter"),
    ("no such state", "state OPEN", 7, "expected a state of RFC 9293"),
    ("no such setting", "set foo 1", 7, "expected a setting"),
    ("no such define", "use foo", 7, "expected the name of a define above"),
    ("a name twice", "define a\nclose\ndefine a", 9, "expected a name not yet taken"),
    ("a file that is not", "include nowhere.script", 0, "cannot be read"),
    ("no title", "script", 7, "expected a title"),
    ("two rules", "rule a\nrule b", 8, "expected one rule"),
]


def main() -> int:
    run, bad = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "wrong.script"

        def judge(what: str, more: str, rc: int, line: int, words: str) -> None:
            nonlocal bad
            path.write_text(HELLO + more + "\n")
            got = subprocess.run([*WRAPPER, run, path], capture_output=True, text=True, timeout=60)
            where = f".script:{line}: "
            if got.returncode != rc or words not in got.stdout or (rc != 0 and where not in got.stdout):
                bad += 1
                print(f"{what}: wanted exit {rc}, line {line}, '{words}'; exit {got.returncode}:\n{got.stdout}")

        judge("nothing is wrong", "", 0, 0, "ok 1 - a handshake")
        for what, more, line, words in DIFFERS:
            judge(what, more, 1, line, words)
        for what, more, line, words in UNREADABLE:
            judge(what, more, 2, line, words)
    print(f"{1 + len(DIFFERS) + len(UNREADABLE)} scripts, {bad} judged wrongly")
    return bad != 0


sys.exit(main())
