#!/usr/bin/python3 -B
"""Kinds of metrics. Goal: no row of STATS.md becomes a gauge of Prometheus because nobody said what it is.
Method: each row that is no counter of a room's list is in counting[] of metrics_names.c, or in LEVELS here;
a row that admin_stats.c sums over counters of the cores is in counting[].

    row_kinds_test.py SOURCE
"""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "tools/py"))

import shown_names  # noqa: E402

# Rows that go up and down, times and texts, by reply. The rows of `settings` and `memory` are levels, all of them.
LEVELS = {
    "stats": """pid uptime time version pointer_size max_connections curr_connections connection_structures
        response_obj_count response_obj_bytes read_buf_count read_buf_bytes limit_maxbytes accepting_conns threads
        hash_power_level hash_bytes hash_is_expanding slab_reassign_running log_watchers bytes curr_items
        slab_global_page_pool memory_items memory_index memory_frames memory_connections memory_tables memory_rings
        memory_program memory_sum restart restart_kept restart_lost restart_us memory_resident turn_p50_us turn_p99_us
        turn_p9999_us turn_max_us libevent read_buf_bytes_free reserved_fds slab_reassign_last_busy_status
        lru_crawler_running time_since_server_cert_refresh""",
    "items": "number number_cold age mem_requested evicted_time number_hot number_warm age_hot age_warm",
    "slabs": "chunk_size chunks_per_page total_pages total_chunks used_chunks free_chunks free_chunks_end",
    "front": """name state server_connections queue round_trip_p50_us round_trip_p99_us server_ejected_at copies mode
        copy_ttl_ms busiest_server busiest_by_mean fates_unknown reason role recent_by_mean handing_over""",
    "extstore": """extstore_pages_free extstore_pages_used extstore_limit_maxbytes extstore_io_queue flash_state flash_io
        flash_write_amplification flash_log_items flash_hash_items flash_conversion""",
    "net": "nic_link_up frames_bytes frames_free nic_conntrack_allowance_available",
    "stack": "conns_max conns_used conns_open chunk_bytes chunks chunks_used rx_frames_held stack_bytes",
}
OF_STATS = re.compile(r"\w+_extstore")  # rows of `stats` that STATS.md has beside those of `stats extstore`
SUMMED = re.compile(r'X\(NUMBER, "(\w+)",\s+(?:OWN\()?(?:SERVE|STORE|STACK|TURNS)\(')


def counting(text):
    """{reply: rows} of the C table counting[]."""
    table = text.partition("counting[] = {")[2].partition("\n};")[0]
    return {reply: set("".join(re.findall(r'"([^"]*)"', rows)).split())
            for reply, rows in re.findall(r'\{"(\w+)",((?:\s*"[^"]*")+)\}', table)}


def unknown(counters, levels, sections):
    """Rows of which neither table has anything."""
    listed = set(shown_names.counters(shown_names.STATS.read_text()))  # the rooms' counters
    return [f"stats {reply}: {row}" for reply in levels
            for row in sections["stats" if reply == "stats" else f"stats {reply}"]
            if not (row in listed or reply == "extstore" and OF_STATS.fullmatch(row))
            if row not in counters.get(reply, ()) and row not in levels[reply].split()]


class RowKinds(unittest.TestCase):
    def setUp(self):
        self.counters = counting((SOURCE / "lib/metrics/metrics_names.c").read_text())

    def test_each_row_has_a_kind(self):
        self.assertEqual(unknown(self.counters, LEVELS, shown_names.sections()), [],
                         "a counter belongs into counting[] of lib/metrics/metrics_names.c, a level into LEVELS of this test")

    def test_no_row_has_both_kinds(self):
        self.assertEqual([row for reply in LEVELS for row in LEVELS[reply].split() if row in self.counters.get(reply, ())], [])

    def test_sums_of_counters_are_counters(self):
        summed = SUMMED.findall((SOURCE / "lib/admin/admin_stats.c").read_text())
        self.assertIn("cmd_touch", summed)
        self.assertEqual([row for row in summed if row not in self.counters["stats"]], [])

    def test_a_row_without_a_kind_is_found(self):
        self.assertEqual(unknown({"net": {"a"}}, {"net": "b"}, {"stats net": ["a", "b", "c"]}), ["stats net: c"])


unittest.main()
