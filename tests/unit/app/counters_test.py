#!/usr/bin/python3 -B
"""counters_test.py - no counter is forgotten.

Goal: each list of counters of lib is registered by the program, so that `stats` shows it, and is in
the lists from which STATS.md is made. What the drop alarm says the page counts as a drop. Method: the
lists are found in the headers by their names.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
LISTED = re.compile(r"^#define (\w+)_COUNTERS\(X\)", re.MULTILINE)
ELSEWHERE = {
    "STACK": "NET and TCP, one behind the other",
    "STORE_CLASS": "of `stats items`",
    "ARP": "the example of counter.h",
}


def lists():
    return sorted({name for path in ROOT.glob("lib/*/*.h") for name in LISTED.findall(path.read_text())})


class Counters(unittest.TestCase):
    def test_the_program_registers_each_list(self):
        program = "".join((ROOT / "app/clockoo" / name).read_text() for name in (
            "appliance.c", "access/tls_cores.c", "access/tls_servers.c", "fleet/kernel_servers.c", "start/core_build.c"))
        for name in lists():
            with self.subTest(name):
                if name not in ELSEWHERE:
                    names = "stack" if name in ("NET", "TCP") else name.lower()
                    self.assertTrue(f"{names}_counter_names" in program)

    def test_the_document_has_each_list(self):
        listed = (ROOT / "tests/unit/admin/counter_lists.h").read_text()
        for name in lists():
            with self.subTest(name):
                if name not in ELSEWHERE:
                    self.assertIn(f"{name}_COUNTERS(COUNTER_NAME)", listed)

    def test_the_lists_are_found(self):
        self.assertLessEqual({"NET", "TCP", "SERVE", "STORE", "CORE", "TURN", "PORT", "HANDOVER", "FRONT", "FLASH"},
                             set(lists()))

    def test_the_page_counts_what_the_alarm_says(self):
        rows = (ROOT / "app/clockoo/monitor/drop_alarm.h").read_text().partition("#define DROP_REASONS")[2].partition("#define DROP_SYMBOL")[0]
        page = re.search(r"const DROP = /(.*)/;", (ROOT / "app/clockoo/monitor/page.html").read_text()).group(1)
        symbols = re.findall(r'"([A-Z0-9_]+)"', rows)
        self.assertGreater(len(symbols), 10)
        for symbol in symbols:
            with self.subTest(symbol):
                self.assertTrue(re.search(page, symbol.lower()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
