"""TCP over bad links, inside the guest: two kernels' namespaces with a bridge between, netem on both
of its ports, the appliance on one side and tests/bench/net/talk on the other.

    c  talk 10.99.0.2 v1 -- m1  bridge  m0 -- v0 10.99.0.1 clockoo  s

netem lies on the bridge's ports, because af_packet sends past the queue of its own interface. A
frame has to be one segment, with its own checksum: offloads are off everywhere.

No request follows the measured time, and the link is mended then: a connection is stuck that does not
recover on a good one. A bad one may take longer than anybody waits: within a burst of `gemodel 1% 30%`
each further copy of a segment is lost by 70 %, and the time to the next copy doubles.
"""

import dataclasses
import json
import re

CONNECTIONS, VALUE_MAX = 10, 65536
WARM_MS, RUN_MS, DRAIN_MS = 200, 2500, 30_000
RUN_S = 60
LOOK_S = 0.2
GOOD = "delay 1ms duplicate 0% corrupt 0% loss 0%"
# By path: busybox's shell takes its own `ip` before any in $PATH.
IP, TC = "/usr/bin/ip", "/usr/bin/tc"
APPLIANCE = f"{IP} netns exec s clockoo --probe off --iface v0 -m 64 -c 256 -v --yield --lcores 0@1"
COUNTER = re.compile(r"clockoo: ([A-Z0-9_]+) (\d+) \(")


@dataclasses.dataclass
class Setting:
    words: str
    netem: str        # both directions
    drops: bool       # netem must have dropped something


SETTINGS = (
    Setting("5 ms each way, 1 ms more or less", "delay 5ms 1ms", False),
    Setting("1 % lost", "delay 1ms loss 1%", True),
    Setting("5 % lost", "delay 1ms loss 5%", True),
    Setting("bursts lost", "delay 1ms loss gemodel 1% 30%", True),
    Setting("5 % twice", "delay 1ms duplicate 5%", False),
    Setting("5 % overtake the others", "delay 2ms reorder 5%", False),
    Setting("1 % with a wrong bit", "delay 1ms corrupt 1%", False),
    Setting("all of it", "delay 2ms 1ms loss 1% duplicate 1% corrupt 0.5%", True),
)


def make_network(guest):
    guest.must(f"{IP} link add bridge type bridge && {IP} link set bridge up")
    for ns, near, far in (("s", "v0", "m0"), ("c", "v1", "m1")):
        guest.must(f"{IP} netns add {ns} && {IP} link add {far} type veth peer name {near} netns {ns}")
        for enter, iface in (("", far), (f"{IP} netns exec {ns}", near)):
            guest.must(f"{enter} ethtool -K {iface} tx off tso off gso off gro off && "
                       f"{enter} {IP} link set {iface} up")
        guest.must(f"{IP} link set {far} master bridge")
    guest.must(f"{IP} -n c addr add 10.99.0.2/24 dev v1 && {IP} -n c link set lo up")


def dropped(guest):
    text = guest.must(f"{TC} -s qdisc show dev m0; {TC} -s qdisc show dev m1")
    return sum(int(n) for n in re.findall(r"\(dropped (\d+)", text))


def run(guest, setting):
    """(what is wrong, or nothing; words for the reader)"""
    for port in ("m0", "m1"):
        guest.must(f"{TC} qdisc del dev {port} root 2>/dev/null; "
                   f"{TC} qdisc add dev {port} root netem limit 10000 {setting.netem}")
    status, text = guest.run(  # the last run's output is removed first
        f": >/tmp/row; : >/tmp/said; {IP} netns exec c talk 10.99.0.1 11211 --connections {CONNECTIONS} --value-max {VALUE_MAX} "
        f"--warm-ms {WARM_MS} --ms {RUN_MS} --drain-ms {DRAIN_MS} >/tmp/row 2>/tmp/said & talk=$!; "
        f"until grep -q draining /tmp/said || ! kill -0 $talk 2>/dev/null; do sleep {LOOK_S}; done; "
        f"for port in m0 m1; do {TC} qdisc change dev $port root netem limit 10000 {GOOD} || kill $talk; done; "
        "wait $talk; status=$?; cat /tmp/row /tmp/said; exit $status", RUN_S)
    if status != 0:
        return f"talk ended with {status}: {text}", ""
    row = json.loads(text.splitlines()[0])
    lost = dropped(guest)
    words = (f"{row['sets'] + row['gets']} operations, {lost} frames lost, {row['resets']} resets, "
             f"longest stall {row['longest_stall_s']} s")
    faults = [f"{name} {row[name]}" for name in ("wrong_bytes", "wrong_answers", "resets", "stuck")
              if row[name] != 0]
    if row["sets"] == 0 or row["gets"] == 0:
        faults.append("nothing was asked")
    if setting.drops and lost == 0:
        faults.append("netem lost nothing")
    return ", ".join(faults), words


def judge_counters(said):
    """Checks that the appliance's counters show what netem did in the whole matrix."""
    counters = {name: int(n) for name, n in COUNTER.findall(said)}
    yield "SIGTERM ends the appliance with 0", "\nended 0" in said
    yield "segments were sent again", counters.get("TCP_RETRANSMITS", 0) > 0
    yield "broken frames were found by their checksum", \
        sum(n for name, n in counters.items() if "CKSUM" in name) > 0
