#!/usr/bin/python3 -B
"""Tests of tools/bench edge without ports.

Goal: the frames have memcached's UDP protocol and right checksums, and set each key once; the edge's time is the
appliance's minus the floor's and core_turn's, round by round; a port that cannot be measured is skipped by name with
its reason, and a run without any port fails. Method: a bed with the same calls, which returns times made up here.
"""

import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import edge_bench  # noqa: E402
import edge_frames  # noqa: E402
import progress  # noqa: E402
from progress import Failed  # noqa: E402

MAC = "02:70:63:61:70:00"


def records(path):
    data = path.read_bytes()
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def folded(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


class Bed:
    """A bed whose spans take the times listed for a server."""

    client_cpu, build = 1, pathlib.Path("/")

    def __init__(self, times):
        self.times, self.turns, self.ended = times, [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def frames(self, mac):
        return f"{mac}.pcap"

    def mac(self, server):
        return MAC

    def path(self, name):
        return name

    def start_clockoo(self, *_, **__):
        return "clockoo"

    def start_macswap(self, *_, **__):
        if "macswap" not in self.times:
            raise Failed("dpdk-testpmd is not installed")
        return "macswap"

    def start_port_echo(self, *_):
        return "port_echo"

    def span(self, server, _):
        self.turns.append(server)
        return {"ns": self.times[server].pop(0)}

    def ask_frames(self, _, server, *__):
        return {**self.span(server, 0), "idle": 0.5}

    def end_all(self):
        self.ended += 1


def measured(times, parts, turn_ns=50.0):
    bed, kept = Bed(times), []
    cycles = {"cycles": turn_ns * 2.5, "cycles_per_ns": 2.5}
    with mock.patch.object(edge_bench, "EdgeBed", lambda *_: bed), \
            mock.patch.object(edge_bench.budget, "cycles", lambda *_: cycles), mock.patch("builtins.print"):
        figures = edge_bench.measure(pathlib.Path("/"), True, parts, kept.append)
    return figures, bed, kept


class Edge(unittest.TestCase):
    def setUp(self):
        progress.quiet = True

    def test_frames_are_right_and_set_each_key_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "frames")
            edge_frames.write(path, MAC)
            found = list(records(path))
        self.assertEqual(len(found), edge_frames.FRAMES)
        sets = []
        for frame in found:
            self.assertEqual(frame[:6].hex(":"), MAC)
            self.assertEqual(folded(frame[14:34]), 0xffff)
            self.assertEqual(folded(frame[26:34] + b"\0\x11" + frame[38:40] + frame[34:]), 0xffff)
            self.assertEqual(struct.unpack("!H", frame[36:38])[0], edge_frames.PORT)
            sets += [frame[50:].split()[1]] * frame[50:].startswith(b"set ")
        self.assertEqual((len(sets), len(set(sets))), (edge_frames.KEYS, edge_frames.KEYS))
        self.assertEqual(len(found) - len(sets), 19 * len(sets))

    def test_what_is_left_is_of_neighbours_in_time(self):
        figures, bed, _ = measured({"macswap": [20.0, 30.0, 10.0], "clockoo": [100.0, 120.0, 80.0]}, ["pcap"])
        self.assertEqual(bed.turns, ["macswap", "clockoo"] * edge_bench.QUICK_ROUNDS)
        self.assertEqual(figures["edge_pcap_extra_ns"], 30.0)
        self.assertEqual(figures["edge_pcap_extra_ns_spread"], [20.0, 40.0])
        self.assertEqual(figures["edge_pcap_udp_mops"], 10.0)
        self.assertEqual(bed.ended, 1)

    def test_figures_have_the_names_that_others_look_for(self):
        times = {"macswap": [20.0] * 6, "clockoo": [100.0] * 12, "port_echo": [60.0] * 6}
        figures, _, _ = measured(times, ["pcap", "ixgbe", "vhost", "memif"])
        self.assertLessEqual({"edge_ixgbe_udp_mops", "edge_ixgbe_cycles_per_get", "edge_pcap_extra_ns", "edge_vhost_extra_ns"}, set(figures))
        self.assertEqual(figures["edge_ixgbe_cycles_per_get"], 250.0)
        self.assertEqual(figures["edge_vhost_extra_ns"], -10.0)

    def test_a_port_that_cannot_be_is_skipped_with_its_reason(self):
        figures, bed, kept = measured({"clockoo": [100.0] * 3, "port_echo": [60.0] * 3}, ["pcap", "ring", "vhost"])
        self.assertEqual(figures["edge_pcap_skipped"], "dpdk-testpmd is not installed")
        self.assertIn("no client", figures["edge_ring_skipped"])
        self.assertIn("edge_vhost_ns", kept[-1])
        self.assertEqual(bed.ended, 3)
        with self.assertRaisesRegex(Failed, "dpdk-testpmd is not installed"):
            measured({"clockoo": []}, ["pcap"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
