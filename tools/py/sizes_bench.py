"""The part mixed_sizes of tools/bench store: hits and items with values of mixed sizes, beside memcached's."""

import told_bench
from bench_figures import table
from progress import Step

STORE_MIN_BYTES = 8 << 20
MIB = 1 << 20


def sizes_counts(quick):
    """Returns counts by mebibytes and longest value: ours with the default eviction, memcached's, and those of the best
    possible eviction."""
    counts = {}
    for mebibytes in (16, 64) if quick else (16, 64, 256):
        for most in (4000, 60000):
            args = ("--memory", mebibytes, "--most", most, "--turnovers", 20)
            counts[mebibytes, most] = [("bench_sizes", (*args, "--probation"), None),
                                       ("bench_sizes", args, mebibytes),
                                       ("bench_sizes", (*args, "--best"), None)]
    return counts


SHARES = ("requested", "rounding", "retired", "free", "magazines", "tails", "moving", "pool", "index",
          "ghosts", "tables")


def sizes_versus(bench, name, ours, theirs):
    """Keeps the ratios of hits and items, and returns a line of them."""
    hits = bench.keep(f"hits_{name}", [ours["hit"] / theirs["hit"]], 3)
    items = bench.keep(f"items_{name}", [ours["items"] / theirs["items"]], 3)
    return [f"{100 * ours['hit']:.2f} %", f"{100 * theirs['hit']:.2f} %", f"{hits:.3f}",
            f"{100 * ours['hit_bytes']:.2f} %", f"{100 * theirs['hit_bytes']:.2f} %",
            ours["items"], theirs["items"], f"{items:.3f}",
            *(f"{who['page_mb']:.0f} ({who['pss_mb']:.0f})" for who in (ours, theirs))]


def equal_memories(ours, theirs, beside):
    """Returns, for each kind of equal memory, its words and our -m in MB: that of memcached's pages; of its process,
    for the store alone; of its process, for the whole appliance."""
    return (("equal_memory", "as its pages", theirs["page_mb"]),
            ("at_equal_memory", "store as its process", ours["page_mb"] + theirs["pss_mb"] - ours["pss_mb"]),
            ("all_told", "process as its process", theirs["pss_mb"] - beside))


def sizes_at_equal_memory(bench, words, name, count, mebibytes, pair, beside):
    """Measures the same keys with equal memory for both. Returns the lines of the table."""
    lines, most = [], count[1][3]
    for what, called, ours_mb in equal_memories(*pair, beside):
        if round(ours_mb) << 20 < STORE_MIN_BYTES:
            lines.append([called, most, ""] + ["-"] * 8 + ["no room", f"(beside -m: {beside:.0f})"])
            continue
        ours = bench.rows(f"{words}, {called}", "bench_sizes", "--memory", round(ours_mb), "--workload", mebibytes,
                          *count[1][2:])["sizes"][0]
        lines.append([called, most, ""] + sizes_versus(bench, f"{name}_vs_memcached_{what}", ours, pair[1]))
    return lines


def mixed_sizes(bench):
    lines, shares = [], []
    with Step("what the appliance takes beside -m"):
        beside = told_bench.beside(bench.folder / "../../.." / told_bench.PROGRAMS[0], "null")[0] / MIB
    for (mebibytes, most), counts in sizes_counts(bench.quick).items():
        words = f"values of 16 to {most} bytes in -m {mebibytes}"
        of_ours, of_theirs, of_best = (bench.counted(words, count) for count in counts)
        ours, theirs = of_ours["sizes"][0], of_theirs["sizes"][0]
        name, where = f"mixed_{most}_{mebibytes}m", [f"-m {mebibytes}", most]
        bench.keep(f"rescued_{name}", [ours["rescued_share"]], 4)
        for who, row in (("", ours), ("memcached_", theirs)):
            bench.keep(f"{who}pss_{name}_mb", [row["pss_mb"]], 1)
        best = bench.keep(f"hits_{name}_best_possible", [of_best["sizes"][0]["hit"] / theirs["hit"]], 3)
        lines.append(where + [f"{best:.3f}"] + sizes_versus(bench, f"{name}_vs_memcached", ours, theirs))
        lines += sizes_at_equal_memory(bench, words, name, counts[0], mebibytes, (ours, theirs), beside)
        row = of_ours["shares"][0]
        shares.append(where + [row["pages"], f"{row['without_page']:.0f} of {row['classes']}"]
                      + [f"{100 * row[share]:.1f}" for share in SHARES])
    table("Mixed sizes: log-uniform from 16 bytes, Zipf 0.99 over eight times the memory; gets, and a\n"
          "set after each miss. memcached gives each class a page of 1 MB, also beyond its -m; three lines more\n"
          "of each have the same keys, and our -m as large as memcached's pages were; as makes the store's memory that of\n"
          "memcached's process (PSS); as makes the appliance's, with its frames and libraries. Best: hits by memcached's of a\n"
          "cache that knows how often each key is asked for, and keeps those with most hits a byte",
          ["", "to", "best", "hits", "memcached", "by that", "of bytes", "memcached", "items", "memcached",
           "by that", "MB (PSS)", "memcached"], lines)
    table("What our memory is used for there, in 100 bytes", ["", "to", "pages", "classes without", *SHARES],
          shares)
