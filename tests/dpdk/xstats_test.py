#!/usr/bin/python3 -B
"""Counters of drivers. Goal: a counter that a profile names, or a row of `stats net` is made of, is one of its
driver's. Method: each name is a string of the driver's archive and of the program that is linked with it. A driver
that this DPDK does not have, and a counter that came with a later release, are skipped by name.

    xstats_test.py CLOCKOO SOURCE FOLDER-OF-DPDK RELEASE DRIVER...   as meson calls it
"""

import pathlib
import re
import sys
import unittest

PROGRAM, SOURCE, FOLDER = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
RELEASE = tuple(int(n) for n in sys.argv.pop(1).split(".")[:2])
LINKED = sys.argv[1:]
del sys.argv[1:]

PROFILES = sorted((SOURCE / "drivers-config").glob("*.yaml"))
ENTRY = re.compile(r"^  - what: (.+)\n    source: DPDK (\d+)\.(\d+) ", re.M)
# Drivers whose name is not their library's.
LIBRARIES = {"net_e1000_igb": "net_e1000", "net_e1000_igb_vf": "net_e1000", "net_e1000_em": "net_e1000", "mlx5_pci": "net_mlx5"}


def counters(text):
    """[(name, release)] of a profile's list xstats."""
    part = re.search(r"^xstats:(.*?)^quirks:", text, re.M | re.S)[1]
    found = [(name, (int(year), int(month))) for name, year, month in ENTRY.findall(part)]
    if len(found) != part.count("- what:"):
        raise ValueError(f"an entry of xstats has no release of DPDK as its source: {part}")
    return found


class Counters(unittest.TestCase):
    def test_each_is_a_string_of_its_driver(self):
        program, seen = PROGRAM.read_bytes(), 0
        for path in PROFILES:
            text = path.read_text()
            driver = re.search(r"^drivers: \[(\w*)", text, re.M)[1]
            library = LIBRARIES.get(driver, driver)
            for name, since in counters(text):
                if library.removeprefix("net_") not in LINKED:
                    print(f"skipped: {path.stem}: {name}: this DPDK has no {library}")
                elif since > RELEASE:
                    print(f"skipped: {path.stem}: {name}: it came with DPDK {since[0]}.{since[1]:02}")
                else:
                    seen += 1
                    self.assertIn(name.encode() + b"\0", (FOLDER / f"librte_{library}.a").read_bytes(), path.name)
                    self.assertIn(name.encode() + b"\0", program, path.name)
        self.assertGreater(seen, 10)

    def test_rows_of_stats_net_are_those_of_ena(self):
        header = (SOURCE / "lib/base/nic_allowances.h").read_text()
        names = re.findall(r'X\(\w+, "(\w+)"\)', header)
        self.assertEqual(names, [name for name, _ in counters((SOURCE / "drivers-config/ena.yaml").read_text())])
        self.assertEqual(len(names), 6)

    def test_a_name_that_the_driver_does_not_have_is_seen(self):
        self.assertNotIn(b"bw_in_allowance_exceded\0", (FOLDER / "librte_net_ena.a").read_bytes())

    def test_an_entry_without_a_release_is_refused(self):
        with self.assertRaises(ValueError):
            counters("xstats:\n  - what: a\n    source: a book\nquirks: []\n")


unittest.main(verbosity=2)
