"""The part memc3 of tools/bench papers: tables and indexes by bench_memc3, figure 9 over the network.

bench_memc3 (tests/bench/papers) has the paper's baselines and prints points. This file measures whole servers.
"""

import zlib

import papers_bed
from papers_bed import PapersBed, cpus_of_ours
from papers_memtier import Study
from papers_points import COUNT, absent, point
from papers_programs import paper_rows
from progress import Step

PART = "memc3"
KEYS = (100_000, 1_000_000)  # quick, in full
ZIPF, MULTIGET, CONNECTIONS = 0.99, 100, 50
THREADS = (1, 2)
LRU = "chaining+LRU"


def by_lru(points):
    """Returns points of table 3: items of each cache relative to memcached's design, and misses in percent."""
    items = {(p["series"], p["x"]): p["y"] for p in points if p["figure"] == "table3_items"}
    found = [p | {"y": 100 * p["y"], "unit": "% of gets"} if p["figure"] == "table3_misses" else p for p in points]
    return found + [point(PART, "table3", series, x, count / items[LRU, x], "times chaining+LRU", kind=COUNT) for (series, x), count in items.items()
                    if (LRU, x) in items]


def figures_of(folder, quick, names):
    chosen = [word for name in names for word in ("--figure", name)]
    return paper_rows(folder / "tests/bench/papers/bench_memc3", quick, f"MemC3's {', '.join(names)}", *chosen)


def tables(folder, quick, options):
    """Measures table 2 and figures 4 to 7."""
    return figures_of(folder, quick, ("table2", "fig4", "fig5a", "fig5b", "fig6", "fig7"))


def caches(folder, quick, options):
    """Measures tables 1 and 3, which fill the same caches, and figure 8."""
    return by_lru(figures_of(folder, quick, ("fig8a", "fig8b", "table1", "table3")))


def hottest_share(keys, shards, s=ZIPF):
    """Returns the busiest shard's part of the load, with keys spread by a checksum as libmemcached does."""
    loads, whole = [0.0] * shards, 0.0
    for rank in range(1, keys + 1):
        weight = rank ** -s
        loads[zlib.crc32(b"key:%d" % rank) % shards] += weight
        whole += weight
    return max(loads) / whole


def network(folder, quick, options):
    """Measures figure 9: multi-gets of 100 keys by threads, and a series of sharded servers. Keys are equally likely: a
    client takes longer to draw a key from Zipf's law than a server takes to find it, and would be the limit."""
    keys = KEYS[0 if quick else 1]
    study, ours, theirs, cpus = Study(folder, quick), [], {n: [] for n in THREADS}, cpus_of_ours()
    asked = ("--connections", CONNECTIONS, "--multiget", MULTIGET, "--sets", 0, "--warm-ms", study.setting("warm_ms"), "--ms",
             study.setting("ms"), "--keys", keys)
    has = papers_bed.installed("memcached")
    with PapersBed(folder) as bed:
        for number in study.rounds():
            with Step(f"round {number + 1}: figure 9, ours"):
                ours.append(study.wire("multiget", "--keys", keys, "--multiget", MULTIGET, "--depth", 1))
            for n in THREADS if has else ():
                peer = papers_bed.memcached(n)
                with bed.running(peer, cpus[:n], keys):
                    theirs[n].append(bed.asked(f"round {number + 1}: figure 9, memcached, {n} threads", peer, *asked))
    points = [point(PART, "fig9", "ours", 1, None, "million keys/s", [r["keys_per_s"] / 1e6 for r in ours])]
    for n, rows in theirs.items():
        if rows:
            points.append(point(PART, "fig9", "memcached", n, None, "million keys/s", [r["keys_per_s"] / 1e6 for r in rows]))
    for n in (1, 2, 4, 8, 16):
        if theirs[1]:
            # The total rate at which the busiest of n instances, each on its own core, just keeps up.
            share = hottest_share(keys, n)
            points.append(point(PART, "fig9", "memcached, sharded (one's rate, by the busiest shard)", n, None, "million keys/s",
                                [r["keys_per_s"] / 1e6 / share for r in theirs[1]]))
    if not has:
        points.append(absent(PART, "fig9", "memcached", "memcached is not installed"))
    return points
