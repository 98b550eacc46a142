"""The papers' claims about their tables and figures, as rows. Each names its place in the paper, the claim and its
figure, and the picks (papers_points.py) of the baseline and of ours. Nothing here is a measurement of ours.
"""

from papers_figures import WALKS
from papers_memc3_claims import MEMC3_CLAIMS, MEMC3_NAMED, MEMC3_REASONS
from papers_points import LAST, LEAST, MOST, Claim, over
from papers_shapes import INTEL, OURS, STUDY, THESIS

NO_REASON = "not explained yet"
CORES = "more than this machine's cores"
RATIO, LOADED = "times", "by the mean"


def thesis(name, where, claim, paper, unit, better, *picks):
    return Claim(f"thesis_{name}", f"{THESIS}, {where}", claim, paper, unit, better, *picks)


def memtier(name, where, claim, paper, unit, better, *picks):
    return Claim(f"memtier_{name}", f"{STUDY}, {where}", claim, paper, unit, better, *picks)


def intel(name, where, claim, paper, unit, better, *picks):
    return Claim(f"intel_{name}", f"{INTEL}, {where}", claim, paper, unit, better, *picks)


def beyond(name, claim, paper, unit, better, *picks):
    return Claim(f"beyond_{name}", OURS, claim, paper, unit, better, *picks)


FRONT, NONE, FORMULA = "front", "no cache", "formula"
CF, SS_CF, BF, BLOCKED, CBF = "CF", "ss-CF", "BF", "blk-BF", "CBF"
FULL = "thesis/table4.3"

_THESIS = (
    thesis("24_bound", "figure 2.4", "the busiest of 100 servers stays within equation 2.9, at the worst x", "the bound", LOADED, "less",
           ("thesis/2.4", FRONT, MOST), "equation 2.9", ("thesis/2.4", "formula 2.9", MOST)),
    thesis("24_perfect", "figure 2.4", "a small cache is enough if it has the likeliest keys", "a perfect cache", LOADED, "less",
           ("thesis/2.4", FRONT, MOST), "a perfect cache, the most of 1,000 draws", ("thesis/2.4", "perfect, most", MOST)),
    thesis("25_small_cache", "figure 2.5 (a)", "more cache levels the fleet: the worst load with the largest cache", "the bound", LOADED, "less",
           ("thesis/2.5a", FRONT, LEAST), "equation 2.12", ("thesis/2.5a", "formula 2.12", LEAST)),
    thesis("25_k8", "figure 2.5 (b)", "k = 8 bounds the worst load by 1.2", 1.2, LOADED, "less", ("thesis/2.5b", FRONT, 8.0)),
    thesis("26_adversary", "figure 2.6", "85 servers before an adversary: 10,000 a second without a cache, all of them behind one", 850, "thousand requests/s", "more",
           ("thesis/2.6", f"{FRONT}: adversary", LAST), "no cache, measured here", ("thesis/2.6", f"{NONE}: adversary", LAST)),
    thesis("26_zipf", "figure 2.6", "Zipf(1.01) gains most from a cache", "more than 850", "thousand requests/s", "more",
           ("thesis/2.6", f"{FRONT}: zipf(1.01)", LAST), "no cache, measured here", ("thesis/2.6", f"{NONE}: zipf(1.01)", LAST)),
    thesis("26_even", "figure 2.6", "an even load hardly needs it", 850, "thousand requests/s", "more",
           ("thesis/2.6", f"{FRONT}: uniform", LAST), "no cache, measured here", ("thesis/2.6", f"{NONE}: uniform", LAST)),
    thesis("27_idle", "figure 2.7", "of 85 servers 28 are idle when 100 keys are asked for", 28, "idle servers", "more", None, "no cache", ("thesis/idle", "x = 100", LAST)),
    thesis("28_one_key", "figure 2.8", "one key is the worst: one server's 10,000 a second", 10, "thousand requests/s", "more", None, "no cache", ("thesis/2.8", "none", LEAST)),
    thesis("29_never_below", "figure 2.9", "behind 3,000 items 85 servers never fall below the bound", "the bound", "thousand requests/s", "more",
           ("thesis/2.9", FRONT, LEAST), "lower bound", ("thesis/2.9", FORMULA, LEAST)),
    thesis("210_bound", "figure 2.10", "throughput is above the theory's bound, with the largest cache", "the bound", "thousand requests/s", "more",
           ("thesis/2.10", FRONT, LAST), "lower bound", ("thesis/2.10", FORMULA, LAST)),
    thesis("42_load_4", "figure 4.2 (a)", "four slots fill to 95 %", 0.95, "of slots", "more", ("thesis/loads", "4 slots", LEAST)),
    thesis("42_load_8", "figure 4.2 (b)", "eight slots fill to 98 %", 0.98, "of slots", "more", ("thesis/loads", "8 slots", LEAST)),
    thesis("t42_bf_1pct", "table 4.2", "at 1 % false positives BF 9.57 bits an item, CF 10.1", 10.1, "bits an item", "less",
           ("thesis/table4.2", "cf4", "0.01"), "Bloom filter", ("thesis/table4.2", "bf", "0.01")),
    thesis("t42_ss_1pct", "table 4.2", "at 1 % ss-CF takes 9.05 bits", 9.05, "bits an item", "less",
           ("thesis/table4.2", "ss_cf", "0.01"), "Bloom filter", ("thesis/table4.2", "bf", "0.01")),
    thesis("t42_cf_01pct", "table 4.2", "at 0.1 % CF 13.6 bits, BF 14.4", 13.6, "bits an item", "less",
           ("thesis/table4.2", "cf4", "0.001"), "Bloom filter", ("thesis/table4.2", "bf", "0.001")),
    thesis("t42_ss_01pct", "table 4.2", "at 0.1 % ss-CF 12.5 bits", 12.5, "bits an item", "less",
           ("thesis/table4.2", "ss_cf", "0.001"), "Bloom filter", ("thesis/table4.2", "bf", "0.001")),
    *(thesis(f"t43_{who.lower().replace('-', '_')}_bits", "table 4.3", f"{who}: {bits} bits an item when full, BF 13.00", bits, "bits an item", "less",
             (FULL, who, "bits an item"), "Bloom filter", (FULL, BF, "bits an item")) for who, bits in ((CF, 12.60), (SS_CF, 12.58))),
    thesis("t43_cf_false", "table 4.3", "CF: 0.19 % false positives, as BF", 0.19, "%", "less", (FULL, CF, "false positives"), "Bloom filter", (FULL, BF, "false positives")),
    thesis("t43_ss_cf_false", "table 4.3", "ss-CF: 0.09 %, half of BF's", 0.09, "%", "less", (FULL, SS_CF, "false positives"), "Bloom filter", (FULL, BF, "false positives")),
    thesis("t43_blocked_false", "table 4.3", "blk-BF: 0.43 %, four times ss-CF's", 0.09, "%", "less", (FULL, SS_CF, "false positives"), "blocked Bloom filter",
           (FULL, BLOCKED, "false positives")),
    thesis("t43_construction", "table 4.3", "CF is built at 5.00 million items a second, BF at 3.91", 5.00, "million/s", "more",
           (FULL, CF, "million inserts/s"), "Bloom filter", (FULL, BF, "million inserts/s")),
    thesis("t43_construction_blocked", "table 4.3", "blk-BF is built fastest, 7.64 million items a second", 5.00, "million/s", "more",
           (FULL, CF, "million inserts/s"), "blocked Bloom filter", (FULL, BLOCKED, "million inserts/s")),
    thesis("t43_construction_ss", "table 4.3", "ss-CF is built at 3.13 million items a second, BF at 3.91", 3.13, "million/s", "more",
           (FULL, SS_CF, "million inserts/s"), "Bloom filter", (FULL, BF, "million inserts/s")),
    thesis("45_present", "figure 4.5", "CF leads when all keys are there", "leads", "million looks/s", "more", ("thesis/4.5", CF, 100), "Bloom filter", ("thesis/4.5", BF, 100)),
    thesis("45_absent", "figure 4.5", "blk-BF leads while no key is there", "blk-BF leads", "million looks/s", "more",
           ("thesis/4.5", ("CF, 64 at once", CF), 0), "blocked Bloom filter", ("thesis/4.5", BLOCKED, 0)),
    thesis("45_alike", "figure 4.5", "CF is as fast for present keys as for absent ones", 1.0, RATIO, "more",
           over(("thesis/4.5", CF, 100), ("thesis/4.5", CF, 0))),
    thesis("45_ss_present", "figure 4.5", "ss-CF outperforms BF when more than a quarter are present", "outperforms", "million looks/s", "more",
           ("thesis/4.5", SS_CF, 50), "Bloom filter", ("thesis/4.5", BF, 50)),
    thesis("46_latency", "figure 4.6", "most looks of CF in 250 ns (95 % here)", 250, "ns", "less", ("thesis/latency", CF, "absent"),
           "Bloom filter", ("thesis/latency", BF, "absent")),
    thesis("46_latency_present", "figure 4.6", "the tail for present keys: BF 400 ns", 250, "ns", "less", ("thesis/latency", CF, "present"),
           "Bloom filter", ("thesis/latency", BF, "present")),
    thesis("48_insert_full", "figure 4.8", "inserts of CF slow down as it fills, BF's do not", "slower", "million/s", "more",
           ("thesis/4.8", CF, LAST), "Bloom filter, full", ("thesis/4.8", BF, LAST)),
    thesis("49_delete", "figure 4.9", "CF deletes fastest of those that can", "fastest", "million/s", "more", ("thesis/4.9", CF, LAST), "counting Bloom filter", ("thesis/4.9", CBF, LAST)),
    thesis("t53_puts", "table 5.3", "a log takes 204,600 puts a second", 204.6, "thousand/s", "more", ("thesis/5.4", "ours", "puts")),
    thesis("t53_conversions", "table 5.3", "67,960 items a second are converted", 67.96, "thousand/s", "more", ("thesis/5.4", "ours", "conversions")),
    thesis("t54_gets", "table 5.4", "46,790 gets a second hit a log", 46.79, "thousand/s", "more", ("thesis/5.4", "ours", "gets that hit")),
    thesis("54_get_of_raw", "table 5.4", "gets reach 0.975 of the device's random reads", 0.975, "of raw reads", "more", ("thesis/tier", "ours", "gets by raw reads")),
    thesis("t54_misses", "table 5.4", "7.1 to 7.3 million gets a second miss", 7086, "thousand/s", "more", ("thesis/5.4", "ours", "gets that miss")),
    thesis("52_dram_log", "section 5.2", "a log's index takes 6.5 bytes of DRAM a key", 6.5, "bytes an item", "less", ("thesis/tier", "ours", "DRAM an item, log")),
    thesis("52_reads_hit", "section 5.2", "one read answers a get", 1.0, "reads", "less", ("thesis/tier", "ours", "reads a hit")),
)

CONNS = (1, 10, 50, 100, 200)
_MEMTIER = (
    memtier("1_slo", "figure 1", "memcached gives 375,000 a second with p99 below 1 ms", 375, "thousand requests/s", "more",
            ("memtier/slo", "ours", LAST), "memcached", ("memtier/slo", "memcached", LAST)),
    *(memtier(f"2_rate_{c}", "figure 2", f"throughput with {c} connections" + (" (450,000 from 100 on)" if c >= 100 else ""), 450 if c >= 100 else None,
              "thousand requests/s", "more", ("memtier/fig2-rate", "ours", c), "memcached", ("memtier/fig2-rate", "memcached", c)) for c in CONNS),
    *(memtier(f"2_mean_{c}", "figure 2", f"mean latency with {c} connections, linear in them", "linear", "us", "less",
              ("memtier/fig2-mean", "ours", c), "memcached", ("memtier/fig2-mean", "memcached", c)) for c in CONNS),
    *(memtier(f"2_p99_{c}", "figure 2", f"99th percentile with {c} connections (1 ms at 84)", "1000 at 84", "us", "less",
              ("memtier/fig2-p99", "ours", c), "memcached", ("memtier/fig2-p99", "memcached", c)) for c in CONNS),
    memtier("2_redis_50", "section 6 (empty there)", "redis beside them, 50 connections", None, "thousand requests/s", "more",
            ("memtier/fig2-rate", "ours", 50), "redis", ("memtier/fig2-rate", "redis", 50)),
    memtier("3_system", "figure 3", "the system takes some 40 % of the CPU", 40, "% of the server's CPU", "more", None, "memcached", ("memtier/fig3", "system", LAST)),
    memtier("3_user", "figure 3", "memcached itself takes little", "small", "% of the server's CPU", "less", None, "memcached", ("memtier/fig3", "user", LAST)),
    memtier("3_cpu_a_request", "figure 3", "a request's CPU time goes to the kernel", None, "us of CPU a request", "less",
            ("memtier/cpu", "ours", 50), "memcached's threads", ("memtier/cpu", "memcached", 50)),
    *(memtier(f"4_rate_{n}", "figure 4", f"throughput with {n} thread{'s' * (n > 1)} (450,000 with 6)", None, "thousand requests/s", "more",
              ("memtier/fig4-rate", "ours", n), "memcached", ("memtier/fig4-rate", "memcached", n), CORES) for n in (1, 2)),
    memtier("4_threads_beyond", "figure 4", "more threads than cores serve less", "less", "thousand requests/s", "more",
            ("memtier/fig4-rate", "ours", MOST), "memcached, 4 threads", ("memtier/fig4-rate", "memcached", 4)),
    memtier("4_p99_1", "figure 4", "99th percentile by threads (973 us with 6)", 973, "us", "less", ("memtier/fig4-p99", "ours", 1), "memcached",
            ("memtier/fig4-p99", "memcached", 1)),
    memtier("6_pinned", "figure 6", "pinned threads serve more: 520,000 by 475,000", 520, "thousand requests/s", "more",
            ("memtier/fig6", "ours", "pinned"), "memcached, pinned", ("memtier/fig6", "memcached", "pinned")),
    memtier("6_pinned_gain", "figure 6", "pinning memcached gains 520 / 475", 1.09, RATIO, "more", None, "memcached",
            over(("memtier/fig6", "memcached", "pinned"), ("memtier/fig6", "memcached", "not pinned"))),
    memtier("6_unpinned", "figure 6", "the same, not pinned", 475, "thousand requests/s", "more",
            ("memtier/fig6", "ours", "not pinned"), "memcached, not pinned", ("memtier/fig6", "memcached", "not pinned")),
    memtier("7_group_20", "figure 7", "-R 20, the default", None, "thousand requests/s", "more",
            ("memtier/fig7-R", "ours", 20), "memcached", ("memtier/fig7-R", "memcached", 20)),
    memtier("7_group_1", "figure 7", "-R 1: a request of each connection in turn", None, "thousand requests/s", "more",
            ("memtier/fig7-R", "ours", 1), "memcached", ("memtier/fig7-R", "memcached", 1)),
    *(memtier(f"7_keys_{n}", "figure 7", f"multi-gets of {n} keys", None, "million keys/s", "more",
              ("memtier/fig7-keys", "ours", n), "memcached", ("memtier/fig7-keys", "memcached", n)) for n in (10, 100)),
)

ONE = "1 core"
VHOST, VETH, MEMCACHED = "ours, vhost", "ours, veth", "memcached, veth"
BAG_THREADS, BAG_SETS, LOCKED, BATCHES = "intel/bags_by_threads", "intel/bags_by_sets", "LRU+global lock", ("ours, batches", "ours")
_INTEL = (
    intel("bags_gets", "figure 12", "bags serve 6 times the base at 16 cores: in one harness, gets alone, all threads", 6, RATIO, "more", None, "bags by LRU under a global lock",
          ("intel/bags_by_lru", "bags", 0), CORES),
    *(intel(f"bags_sets_{n}", "section 3.5", f"no lock for gets: {n} % sets, beside bags", None, "million/s", "more", (BAG_SETS, BATCHES, n), "bags", (BAG_SETS, "bags", n))
      for n in (0, 5, 30, 100)),
    *(intel(f"bags_sets_{n}_lru", "section 2.4", f"{n} % sets, beside the base", None, "million/s", "more", (BAG_SETS, BATCHES, n), "LRU, global lock", (BAG_SETS, LOCKED, n))
      for n in (0, 100)),
    intel("bags_scaling", "figure 14", "bags scale by their threads", 2, RATIO, "more", None, "bags",
          over((BAG_THREADS, "bags", 2), (BAG_THREADS, "bags", 1)), CORES),
    intel("bags_threads", "figure 14", "all threads, even keys", None, "million/s", "more", (BAG_THREADS, BATCHES, LAST), "bags", (BAG_THREADS, "bags", LAST)),
    intel("bags_threads_zipf", "figure 14", "all threads, Zipf", None, "million/s", "more", ("intel/bags_by_threads_zipf", BATCHES, LAST), "bags",
          ("intel/bags_by_threads_zipf", "bags", LAST)),
    intel("12_tcp", "figure 12", "the optimised server gives 6 times the base within 1 ms (3.15 by 0.525 million), TCP", 6, "thousand requests/s", "more",
          ("intel/fig12-tcp", VHOST, ONE), "memcached by the same generator", ("intel/fig12-tcp", MEMCACHED, ONE)),
    intel("12_udp", "figure 12", "the same over UDP", 6, "thousand requests/s", "more",
          ("intel/fig12-udp", VHOST, ONE), "memcached by the same generator", ("intel/fig12-udp", MEMCACHED, ONE)),
    intel("12_tcp_same_veth", "figure 12", "the same, both behind one kind of veth", 6, "thousand requests/s", "more",
          ("intel/fig12-tcp", VETH, ONE), "memcached behind the same", ("intel/fig12-tcp", MEMCACHED, ONE)),
    intel("12_udp_same_veth", "figure 12", "the same over UDP, both behind one kind of veth", 6, "thousand requests/s", "more",
          ("intel/fig12-udp", VETH, ONE), "memcached behind the same", ("intel/fig12-udp", MEMCACHED, ONE)),
    intel("12_ht", "figure 12", "hyper-threading adds 8 %", 1.08, RATIO, "more", ("intel/silicon", "ht", LAST)),
    intel("12_turbo", "figure 12", "turbo adds 23 %", 1.23, RATIO, "more", ("intel/silicon", "turbo", LAST)),
    intel("13_rtt_tcp", "figure 13", "the mean is 205 to 285 us right below the knee", 205, "us", "less",
          ("intel/rtt", VHOST, "tcp"), "memcached at its own knee", ("intel/rtt", MEMCACHED, "tcp")),
    intel("14_two_cores", "figure 14", "two cores serve twice what one does", 2, RATIO, "more", ("intel/scaling", "ours", "2 by 1")),
    intel("14_sixteen_cores", "figure 14", "16 cores serve 16 times what one does", 16, RATIO, "more", ("intel/fig14", "ours", 16),
          None, None, "a machine of 32 CPUs: a core and its client each; beyond/shared_written_lines has the model"),
    intel("t3_power", "table 3", "11,066 requests a second a watt by 3,298: 3.4 times", 11066, "requests/s/W", "more",
          ("intel/power", "ours", LAST), "memcached", ("intel/power", "memcached", LAST)),
)

TRACES = {"zipf09": "Zipf 0.9", "oneshot": "Zipf 0.9, three in ten asked for once", "scan": "Zipf 0.9, four in ten a scan", "loop": "a loop a fifth larger than the cache",
          "shift": "Zipf 0.9 whose popular keys change", "getset_zipf09": "Zipf 0.9, a fifth sets"}
POLICIES = {"lru": "exact LRU", "clock": "CLOCK", "bags": "bags", "sieve": "SIEVE", "s3fifo": "S3-FIFO", "wtinylfu": "W-TinyLFU"}
LINES, DERIVED = "beyond/shared_written_lines", "beyond/derived"
_BEYOND = (
    *(beyond(f"policy_{trace}_{policy}", f"misses on {words}, beside {name}", None, "% of gets", "less",
             ("beyond/policies", "store, 2q", trace), name, ("beyond/policies", policy, trace))
      for trace, words in TRACES.items() for policy, name in POLICIES.items()),
    *(beyond(f"shared_lines_{name}", f"lines shared and written {words}, 16 modelled cores", None, "lines", "less", (DERIVED, "ours", f"shared_written_lines_per_{name}"))
      for name, words in (("get", "a get"), ("request", "a request, 5 % sets"), ("set", "a set"))),
    *(beyond(f"shared_lines_get_{n}", f"lines shared and written a get, {n} modelled cores", None, "lines", "less", (LINES, "get", n)) for n in (2, 4, 8)),
    beyond("lines_model_error", "the model beside the two real cores: within 0.15", 0.15, "of the measured", "less", (DERIVED, "ours", "model_error_2_cores"), None, None,
           "bench_two_cores, which is not built here: two CPUs and gcc"),
)

CLAIMS = (*MEMC3_CLAIMS, *_INTEL, *_MEMTIER, *_THESIS, *_BEYOND)

# Figures that are asked for by name.
NAMED = {**MEMC3_NAMED,
         "udp_sla_times_memcached": over(("intel/fig12-udp", VHOST, ONE), ("intel/fig12-udp", MEMCACHED, ONE)),
         "bags_vs_memcached": ("intel/bags_by_lru", "bags", 0),
         "shared_written_lines_per_get": (DERIVED, "ours", "shared_written_lines_per_get"),
         "model_error_2_cores": (DERIVED, "ours", "model_error_2_cores")}
REASONS = {
    **MEMC3_REASONS,
    "thesis_24_perfect": "A perfect cache has the likeliest keys from the first request on; the product learns them by a sketch, so a hot key passes now and then.",
    "thesis_24_bound": "The bound is of a perfect cache; what the sketch has not yet learned passes to a server.",
    "thesis_25_small_cache": "The bound is of a perfect cache; what the sketch lets out by mistake is a hundredth.",
    "thesis_26_even": "What servers do without a cache is computed of the keys' shares; behind the front it is counted of 500,000 requests, 5,900 a server, and the busiest of "
                      "85 such counts is 2.4 standard deviations, 3 %, above their mean by chance alone. An even load over 8.5 million keys has nothing worth keeping.",
    "thesis_45_present": "In a filter that fits the second cache nine reads cost less than two buckets compared by their slots; with 192 MB each read is a miss.",
    "thesis_45_alike": "In a small filter a look ends at the first bucket for half of the present keys, which the processor guesses wrongly half of the time.",
    "thesis_25_k8": "The bound's 1.2 is of a perfect cache.",
    "thesis_t42_bf_1pct": "At 1 % a Bloom filter is the smaller one, as the paper says: a cuckoo filter pays 3 bits a slot for its buckets. ss-CF is below both.",
    "thesis_t43_construction": WALKS, "thesis_48_insert_full": WALKS,
    "thesis_t43_construction_blocked": f"{WALKS} The blocked one has twice to four times the false positives.",
    "thesis_t43_construction_ss": f"Each insert sorts and codes its bucket again; that is what its bit an item costs. The paper has it slower than BF, too. {WALKS}",
    "thesis_45_absent": "A blocked Bloom filter reads one line, a cuckoo filter two. Tried: 64 looks at once with buckets fetched ahead, which is the figure of ours here.",
    "thesis_45_ss_present": "In a filter that fits the second cache nine reads cost less than decoding two buckets; with 192 MB they are misses.",
    "thesis_46_latency": "An absent key ends a Bloom filter's look after two reads on average; ours reads two buckets at once.",
    "thesis_46_latency_present": "In a filter that fits the second cache (--quick) nine reads cost less than two buckets compared by their slots; with 192 MB ours leads, 277 ns by 384.",
    "thesis_27_idle": "The draw of 100 keys over 85 servers; 26 are idle in the mean.",
    "thesis_52_dram_log": "Within a hundredth of it: tags of 16 bits and an offset of 32, at 93 % load.",
    "memtier_6_pinned_gain": "Two CPUs leave a thread nowhere to be moved to but its client's, and the kernel seldom does it.",
    "memtier_3_system": "On loopback the system's part has the sender's half of the stack in it, too; their NIC's interrupts were counted apart.",
    "intel_bags_gets": "Two threads give bags twice at most, and the base half again less than one has; the paper's six times are of 16 cores.",
    "intel_bags_scaling": MEMC3_REASONS["memc3_6_scaling"],
    "intel_13_rtt_tcp": "At its knee a server is as late as the SLA lets it be: 1 ms for both; the mean of ours at a rate where memcached is past its knee is in figure 13.",
    "intel_14_two_cores": "Host CPUs of a virtual machine are moved and shared; README of tests/bench/net has what cpu_pair shows of it.",
}
