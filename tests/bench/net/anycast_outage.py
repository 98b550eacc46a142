#!/usr/bin/python3 -B
"""How long clients of an address on two boxes have no answer when one of them dies, drains or loses its link.

A router of FRR with ECMP and BFD (50 ms x 3) spreads the clients, and both boxes run FLEET.md's files and hook
(tests/support/anycast_bed.py). A client sends a get over UDP each 5 ms, from 64 ports in turn, so about half of them reach
the box of the event. Its outage is the time from the first request without an answer to the last one. A second client
makes a new TCP connection for each get, and a third one keeps its connections. After each kind of event a line of JSON has
all figures so far.

An event begins once the router has led to both boxes for longer than BFD waits, and BFD is up on both. A change of the
router's ways that no event asked for is a flap. While a box returns only clients' datagrams are judged, since ECMP
moves connections to it. An event with an error or a flap is printed with the changes of the routes (route_journal.py).

    anycast_outage.py CLOCKOO ROUNDS [KIND...]

KIND: kill, link, drain, or stop (SIGTERM; only if named). Without KIND flaps of a quiet time are counted, too.
ANYCAST_BFD_MS: the interval of BFD, for a busy machine.
"""

import json
import os
import pathlib
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import kernel_bed
from anycast_bed import VIP, Rack
from kernel_bed import CACHE
from route_journal import Journal, flaps
from routing_bed import until

BFD_MS, DRAIN_BFD_MS = 50, 1500  # a drain does not need BFD, whose flaps on a busy machine would look like its errors
DRAIN_S = 5
SETTLED_S = 2.0  # and longer than BFD waits
EACH_S, PORTS = 0.005, 64
CONNECT_EACH_S, KEPT, ANSWER_S = 0.05, 8, 5.0
LATE_S = 0.5  # time limit of an answer on this machine
QUIET_S, AFTER_S = 20, 1.0
REQUEST = b"get nothing\r\n"
KINDS = ("kill", "link", "drain")
NO_BFD_NEEDED = {"drain", "stop"}
VERBOSE = "ANYCAST_VERBOSE" in os.environ


class Client(threading.Thread):
    """Sends requests in a loop until stop()."""

    def __init__(self, ended):
        super().__init__()
        self.ended, self.failed, self.longest_s, self.done, self.faults = ended, 0, 0.0, 0, []

    def fail(self, words):
        self.failed += 1
        self.faults.append((time.monotonic(), words))

    def ask(self, s):
        """Returns whether the connection answered."""
        port = s.getsockname()[1]
        try:
            kernel_bed.exchange(s, REQUEST, b"END\r\n")
        except (OSError, RuntimeError) as fault:
            self.fail(f"from port {port}: {fault!r}")
            return False
        return True


class NewConnections(Client):
    """Each request has a connection of its own."""

    def run(self):
        while not self.ended.is_set():
            begun = time.monotonic()
            try:
                with socket.create_connection((VIP, CACHE), ANSWER_S) as s:
                    self.ask(s)
            except OSError as fault:
                self.fail(f"no connection: {fault!r}")
            self.done += 1
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            time.sleep(CONNECT_EACH_S)


class KeptConnections(Client):
    """A few connections, used in turns. One that fails is opened again. So is one that the server has closed between
    two requests, which is no error."""

    def run(self):
        kept = []
        while not self.ended.is_set():
            try:
                if len(kept) < KEPT:
                    kept.append(socket.create_connection((VIP, CACHE), ANSWER_S))
                s = kept.pop(0)
            except OSError:
                continue
            if select.select([s], [], [], 0)[0]:
                s.close()
                continue
            self.done += 1
            if self.ask(s):
                kept.append(s)
            else:
                s.close()
            time.sleep(EACH_S)


def datagrams(ended):
    """Returns when, and from which of the ports, requests were sent that had no answer within LATE_S, and how many were sent."""
    sockets = []
    for _ in range(PORTS):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect((VIP, CACHE))
        s.setblocking(False)
        sockets.append(s)
    sent, lost, number = {}, [], 0
    while not ended.is_set() or sent:
        now = time.monotonic()
        if not ended.is_set():
            number += 1
            ident = number % 65536
            sent[ident] = now
            try:
                sockets[number % PORTS].send(ident.to_bytes(2, "big") + b"\0\0\0\1\0\0" + REQUEST)
            except OSError:
                pass  # an ICMP error of the router: the request is counted as lost
        while (left := now + EACH_S - time.monotonic()) > 0:
            for s in select.select(sockets, [], [], left)[0]:
                try:
                    sent.pop(int.from_bytes(s.recv(64)[:2], "big"), None)
                except OSError:
                    pass
        lost += [(when, ident % PORTS) for ident, when in sent.items() if when < now - LATE_S]
        sent = {ident: when for ident, when in sent.items() if when >= now - LATE_S}
    return lost, number


def client():
    """The program in the client's namespace: runs until its stdin ends, then prints its results."""
    ended = threading.Event()
    threads = [NewConnections(ended), KeptConnections(ended)]
    for one in threads:
        one.start()
    watch = threading.Thread(target=lambda: (sys.stdin.read(), ended.set()))
    watch.start()
    lost, sent = datagrams(ended)
    for one in (*threads, watch):
        one.join()
    print(json.dumps({"lost": lost, "sent": sent, "new": vars_of(threads[0]), "kept": vars_of(threads[1])}))


def vars_of(one):
    return {"done": one.done, "failed": one.failed, "longest_s": one.longest_s, "faults": one.faults}


class Event:
    """with Event(rack): the clients run; afterwards its outage and errors are known."""

    def __init__(self, rack, journal):
        self.journal, self.begun_s = journal, time.monotonic()
        self.clients = subprocess.Popen(
            ["nsenter", "-t", str(rack.client.holder.pid), "-n", sys.executable, "-B", __file__, "--client"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=kernel_bed.die_with_parent)

    def __enter__(self):
        time.sleep(AFTER_S)
        return self

    def __exit__(self, *_):
        self.said = json.loads(self.clients.communicate()[0])
        self.lost = sorted(map(tuple, self.said["lost"]))

    def outage_ms(self):
        return (self.lost[-1][0] - self.lost[0][0] + EACH_S) * 1000 if self.lost else 0.0

    def errors(self):
        return self.said["new"]["failed"] + self.said["kept"]["failed"]

    def report(self, kinds=("new", "kept")):
        """Returns a line for everything that happened, with the clients' errors among what routers and boxes did."""
        found = [(when, f"{kind} connection", words) for kind in kinds for when, words in self.said[kind]["faults"]]
        if self.lost:
            ports = len({port for _, port in self.lost})
            found += [(self.lost[0][0], "datagrams", f"first of {len(self.lost)} from {ports} ports without an answer"),
                      (self.lost[-1][0], "datagrams", "last without an answer")]
        return [f"  {when - self.begun_s:8.3f} s {who}: {words}"
                for when, who, words in sorted(found + self.journal.lines(self.begun_s - SETTLED_S))]


def is_settled(rack, journal, both):
    """True if the router leads to both boxes and has done so for longer than BFD waits, and BFD is up on both. BFD
    notices only later that a box that is back had been away."""
    changed_s = max((when for when, _ in journal.ways()), default=journal.begun_s)
    return time.monotonic() - changed_s > max(SETTLED_S, 0.5 + rack.bfd_waits_s) and rack.ways() == both and \
        all(map(rack.frr.bfd_is_up, both))


def measure(rack, journal, name, number, leave, back):
    """Returns the clients' view of one event of box number, which ends when the router has left the box."""
    both = tuple(box.own for box in rack.boxes)
    other = tuple(box.own for box in rack.boxes if box is not rack.boxes[number])
    until("both boxes are used", lambda: is_settled(rack, journal, list(both)))
    with Event(rack, journal) as event:
        journal.note(f"box {number + 1}", name)
        leave()
        until(f"{name}: the router leaves the box", lambda: rack.ways() == list(other))
        time.sleep(AFTER_S)
    with Event(rack, journal) as event.back:
        back()
        journal.note(f"box {number + 1}", "is back")
        until(f"{name}: both are used again", lambda: is_settled(rack, journal, list(both)))
    event.flaps = flaps([ways for when, ways in journal.ways() if when > event.begun_s], [other, both])
    return event


def events(rack, number):
    """The events of box number, each with what brings the box back."""
    box = rack.boxes[number]

    def drain():
        subprocess.Popen(box.command("drain"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         preexec_fn=kernel_bed.die_with_parent)

    def again():
        box.appliance.wait(kernel_bed.WAIT_S)
        box.start()

    return {"kill": (lambda: box.end(signal.SIGKILL), box.start),
            "link": (lambda: rack.router.run("ip", "link", "set", box.link, "down"),
                     lambda: rack.router.run("ip", "link", "set", box.link, "up")),
            "drain": (drain, again),
            "stop": (lambda: os.kill(box.appliance.pid, signal.SIGTERM), again)}


def quiet_flaps(journal):
    """Returns how often the router changed its ways to the VIP while nothing happened."""
    begun_s = time.monotonic()
    time.sleep(QUIET_S)
    return sum(when > begun_s for when, _ in journal.ways())


def figures_of(name, seen):
    outages = [one.outage_ms() for one in seen]
    return {f"anycast_{name}_outage_ms": round(statistics.median(outages), 1),
            f"anycast_{name}_outage_longest_ms": round(max(outages), 1),
            f"anycast_{name}_new_failed": sum(one.said["new"]["failed"] for one in seen),
            f"anycast_{name}_new_longest_ms": round(max(one.said["new"]["longest_s"] for one in seen) * 1000, 1),
            f"anycast_{name}_kept_failed": sum(one.said["kept"]["failed"] for one in seen),
            f"anycast_{name}_back_lost": sum(len(one.back.lost) for one in seen),
            f"anycast_{name}_flaps": sum(one.flaps for one in seen),
            f"anycast_{name}_events": len(seen)}


def repeat(rack, journal, name, rounds):
    seen = []
    for number in range(rounds):
        seen.append(one := measure(rack, journal, name, number % 2, *events(rack, number % 2)[name]))
        unasked = one.flaps or one.back.lost or VERBOSE
        print(f"{name} {number + 1} of {rounds}: {one.outage_ms():.0f} ms, {one.flaps} flaps; failed, done: new "
              f"{one.said['new']['failed']}, {one.said['new']['done']}; kept {one.said['kept']['failed']}, "
              f"{one.said['kept']['done']}; lost while it came back: {len(one.back.lost)}",
              *(one.report() if one.errors() or one.lost or unasked else ()), *(one.back.report(()) if unasked else ()),
              sep="\n", file=sys.stderr, flush=True)
    return seen


def main(program, rounds, kinds):
    figures = {}
    bfd_ms = int(os.environ.get("ANYCAST_BFD_MS", DRAIN_BFD_MS if kinds and NO_BFD_NEEDED.issuperset(kinds) else BFD_MS))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Rack(os.path.abspath(program), folder, bfd_ms, drain_s=DRAIN_S) as rack, Journal(rack) as journal:
            if not kinds:
                figures["anycast_flaps"] = quiet_flaps(journal)
            for name in kinds or KINDS:
                figures.update(figures_of(name, repeat(rack, journal, name, rounds)))
                print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--client"]:
        client()
    else:
        kernel_bed.enter_namespaces()
        kernel_bed.run("mount", "-t", "tmpfs", "none", "/run")
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
