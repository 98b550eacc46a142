"""The part beyond of tools/bench papers: newer policies, more cores than this machine has, other servers."""

import concurrent.futures
import os

from papers_points import COUNT, point
from papers_programs import json_rows, paper_rows
from progress import Step

PART = "beyond"
TRACES = ("zipf09", "oneshot", "scan", "loop", "shift", "getset_zipf09")
POLICY = ((150_000, 8192, 1_000_000), (1_000_000, 32768, 10_000_000))  # keys, KB, operations: quick, in full


def policies(folder, quick, options):
    """Counts misses of policies, two runs at a time."""
    keys, kilobytes, operations = POLICY[0 if quick else 1]

    def run(trace):
        return json_rows([folder / "tests/bench/store/bench_policy", "--trace", trace, "--keys", keys, "--memory", kilobytes,
                          "--operations", operations])

    with Step("misses by policy"), concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        rows = [row for found in pool.map(run, TRACES) for row in found]
    return [point(PART, "policies", row["who"], row["trace"], 100 * row["miss"], "% of gets", kind=COUNT) for row in rows]


def lines(folder, quick, options):
    """Runs the model of cache coherence, which starts bench_two_cores to compare itself with two real cores; the load
    with the largest difference counts."""
    rows = [p | {"part": PART} for p in paper_rows(folder / "tests/bench/papers/bench_shared_lines", quick, "shared lines, by a model")]
    errors = [p for p in rows if p["figure"] == "derived" and p["x"] == "model_error_2_cores"]
    return rows + [max(errors, key=lambda p: p["y"]) | {"series": "ours"}] if errors else rows


def servers(folder, quick, options):
    """Measures every server on the kernel's stack that is installed or given by path, with the same requests."""
    import papers_memtier

    return papers_memtier.others(folder, quick, options)
