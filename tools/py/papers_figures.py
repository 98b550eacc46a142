"""Figures of the papers as tools/bench papers draws them: what each shows, which lines are ours, and the paper's claim.

Facts of the papers are given in our own words, with their figures. A figure that compares states whether more or less
is better. `reasons` explains, by words of a baseline's name, why that baseline is ahead of ours in some points, and
what was tried.
"""

from papers_memc3_figures import MEMC3_FIGURES
from papers_shapes import INTEL, OURS, STUDY, THESIS, Figure

QPS, LOADED = "thousand requests/s", "busiest server's load by the mean"
SIMULATED = "Their cluster was 85 Atom nodes with SSDs; here the fleet is simulated behind the product's own placement and " \
            "admission, each node 10,000 requests/s as theirs. "
PERFECT = {"formula": "The bound is of a perfect cache. The product learns by a sketch which keys are asked for most: with hardly more keys than places, all asked for "
                      "alike, it lets in and throws out by chance."}
FILTERS = {"blk-BF": "A blocked Bloom filter reads or writes one line a key, a cuckoo filter two for a look: in 192 MB lines from memory are what both wait for. It has "
                     "twice the false positives of a Bloom filter and cannot delete. Tried: lookups in groups of 64, with both buckets fetched ahead (the line \"64 at once\" of "
                     "figure 4.5, where they lead).",
           "CBF": "Its nine counters lie in nine lines that no other waits for, so today's cores fetch them at once, and a look ends at the first zero; at four times the memory of a "
                  "Bloom filter. Tried for deletes: both buckets of a fingerprint fetched ahead (201 MB: 6.0 to 7.8 million/s for 7.3 to 7.8, taken back).",
           "BF": "A look for an absent key ends at its first zero bit: one line from memory while the filter is nearly empty, two when it is full; a cuckoo filter always reads two "
                 "buckets. Keys that are there cost nine reads, and ours leads, unless the filter fits the second cache (--quick). Tried: as for blk-BF."}
WALKS = "An insert of a cuckoo filter moves fingerprints as it fills, each move a bucket from memory that says which is next; a Bloom filter writes nine bits that wait for " \
        "nothing, a blocked one a single line, which is why they cannot take them back. Tried: in each full bucket who finds room in its other one leaves, all four asked for " \
        "ahead (lib/filter; 201 MB filled at 5.0 million/s for 3.2, and in 25 MB 0.970 full for 0.958)."

_THESIS = (
    Figure("thesis/2.4", f"{THESIS}, figure 2.4", "Busiest of 100 servers, cache of 1000", "keys asked for", LOADED,
           "Balls in bins bound how many of x keys, asked for evenly, one of 100 servers gets behind a cache of 1,000; the bound is "
           "near the simulation, and one x is the worst an adversary can do.",
           SIMULATED + "The product learns by sketch what is popular, where the thesis assumes a perfect cache: 'perfect' stands beside it.",
           better="less", ours=("front",), bases=("formula",), reasons=PERFECT, log_x=True),
    Figure("thesis/2.5a", f"{THESIS}, figure 2.5 (a)", "Worst load by the size of the cache, 100 servers", "items in the cache", LOADED,
           "The worst load falls fast with the first items of the cache, then hardly: that says how large a cache to buy.",
           SIMULATED, better="less", ours=("front",), bases=("formula",), reasons=PERFECT),
    Figure("thesis/2.5b", f"{THESIS}, figure 2.5 (b)", "Worst load by k, with c = k n ln n + 1 items", "k", LOADED,
           "With k = 8 the busiest node has at most a fifth more than the mean, whatever is asked for.", SIMULATED,
           better="less", ours=("front",), bases=("formula",), reasons=PERFECT, paper={"paper: k = 8, 1.2": [(8, 1.2)]}),
    Figure("thesis/2.6", f"{THESIS}, figure 2.6", "What a fleet serves, without a cache and behind a front", "servers", QPS,
           "Without a cache an adversary keeps the cluster at 10,000 a second, however many nodes; with a cache of 8 n ln n + 1 items "
           "every load scales as the even one does, and Zipf's better.", SIMULATED, better=None,
           paper={"paper: adversary, no cache": [(10, 10), (85, 10)], "paper: even load": [(10, 100), (85, 850)]}),
    Figure("thesis/2.7", f"{THESIS}, figure 2.7", "Each of 85 servers without a cache, by x keys", "servers, by what they serve", QPS,
           "Ten keys leave 75 nodes idle and 100 keys a third of them; with 100,000 the load is even.",
           "Their 28 idle nodes at x = 100 are one draw, ours another.", better=None),
    Figure("thesis/2.8", f"{THESIS}, figure 2.8", "85 servers without a cache: what an adversary leaves", "keys asked for", QPS,
           "One key is the worst, 10,000 requests a second in all; throughput rises with the number of keys.", SIMULATED, better=None,
           log_x=True, paper={"paper: one key": [(1, 10)]}),
    Figure("thesis/2.9", f"{THESIS}, figure 2.9", "85 servers behind a cache of 3000", "keys asked for", QPS,
           "Cache and servers together never fall below what the servers do with an even load.", SIMULATED, better="more", ours=("front",), bases=("formula",), reasons=PERFECT,
           log_x=True, paper={"paper: 85 nodes, even load": [(3001, 850), (1000000, 850)]}),
    Figure("thesis/2.10", f"{THESIS}, figure 2.10", "85 servers: the worst an adversary can do, by the cache", "items in the cache", QPS,
           "Measured throughput is above the theory's lower bound, but for the smallest cache.", SIMULATED, better="more", ours=("front",), bases=("formula",), reasons=PERFECT),
    Figure("thesis/4.2a", f"{THESIS}, figure 4.2 (a)", "How full a cuckoo filter gets: 4 slots a bucket", "bits of a fingerprint", "slots in use",
           "With fingerprints of six bits or more a filter of four slots fills to 95 %, of any size.",
           "Theirs had up to 2^30 buckets; the sizes here are in the legend. The least of the runs is drawn, as theirs.", better=None, ours=("",)),
    Figure("thesis/4.2b", f"{THESIS}, figure 4.2 (b)", "How full a cuckoo filter gets: 8 slots a bucket", "bits of a fingerprint", "slots in use",
           "Eight slots fill to 98 %.", "As for (a).", better=None, ours=("",)),
    Figure("thesis/4.3", f"{THESIS}, figure 4.3", "Bits an item by the rate of false positives, by slots", "absent keys reported as present",
           "bits an item", "Two slots are smallest above 0.2 %, four below.", "Counts, not times: they hold for any machine.", better=None, ours=("",), log_x=True),
    Figure("thesis/4.4", f"{THESIS}, figure 4.4", "Bits an item beside Bloom filters", "absent keys reported as present", "bits an item",
           "Below 3 % a cuckoo filter with sorted buckets takes fewer bits than the best Bloom filter.",
           "Measured points beside the paper's formulas.", better=None, ours=("CF", "ss-CF"), log_x=True),
    Figure("thesis/4.5", f"{THESIS}, figure 4.5", "Lookups in full filters", "keys that are present, %", "million lookups/s",
           "A cuckoo filter is as fast for keys that are there as for others; Bloom filters slow down with the share that is. The blocked one "
           "leads while nearly all are absent.",
           "Their filters had 192 MB, which the full run has too; --quick has 1.5 MB, which fits the second cache and flatters filters of "
           "many dependent reads.", better="more", ours=("CF", "ss-CF"), reasons=FILTERS),
    Figure("thesis/4.6a", f"{THESIS}, figure 4.6 (a)", "Single lookups: absent keys", "ns", "% of lookups that took no longer",
           "Most lookups take less than 250 ns (cuckoo, blocked Bloom) or 400 ns (Bloom).", "An L5640 of 2010 there.", better=None, ours=("CF", "ss-CF")),
    Figure("thesis/4.6b", f"{THESIS}, figure 4.6 (b)", "Single lookups: present keys", "ns", "% of lookups that took no longer",
           "The tails of Bloom filters grow; those of cuckoo filters do not.", "An L5640 of 2010 there.", better=None, ours=("CF", "ss-CF")),
    Figure("thesis/4.7a", f"{THESIS}, figure 4.7 (a)", "Looks by load: absent keys", "load", "million lookups/s",
           "Cuckoo filters are steady at any load; Bloom filters are fast while few bits are set.", "As for 4.5.", better="more", ours=("CF", "ss-CF"), reasons=FILTERS),
    Figure("thesis/4.7b", f"{THESIS}, figure 4.7 (b)", "Looks by load: present keys", "load", "million lookups/s",
           "All are steady but those that search longer chains.", "As for 4.5.", better="more", ours=("CF", "ss-CF"), reasons=FILTERS),
    Figure("thesis/4.8", f"{THESIS}, figure 4.8", "Inserts by load", "load", "million inserts/s",
           "A cuckoo filter's inserts slow down as it fills, since keys have to move; a Bloom filter's do not.", "As for 4.5.", better="more", ours=("CF", "ss-CF"),
           reasons={"": WALKS}),
    Figure("thesis/4.9", f"{THESIS}, figure 4.9", "Deletes by what is left", "items left, 1: full", "million deletes/s",
           "The cuckoo filter deletes fastest of those that can, steadily.", "The d-left and quotient filters of the paper are not here; a counting Bloom filter stands for them.",
           better="more", ours=("CF", "ss-CF"), reasons=FILTERS),
    Figure("thesis/5.4", f"{THESIS}, tables 5.3 and 5.4", "The second tier, a second", "", "thousand operations/s",
           "A log takes 204,600 puts a second; 68,000 items a second are converted; 44,900 to 46,800 gets hit, over 7 million miss.",
           "Their figures are of a SATA SSD of 2010 with 1,000-byte values, at 0.94 to 0.975 of the device's own random reads; ours of a file on "
           "this machine's disk and its page cache. What compares is the share of the raw device (row thesis_54_get_of_raw).",
           better=None, bars=True, log_y=True),
)

_STUDY_LATENCY = "Their seven clients and server were six-core Xeons at 1.6 GHz on 1 Gb/s; here client and server have a CPU each: memcached and " \
                 "redis on loopback, asked by a kernel client; ours over a wire that copies no frame, asked by the generator without a kernel. "
_MEMTIER = (
    Figure("memtier/fig1", f"{STUDY}, figure 1", "Latency against throughput", "thousand requests/s", "us",
           "Latency rises linearly with load up to a point and steeply behind it; memcached gave 375,000 a second with p99 below 1 ms, at 84 connections.",
           _STUDY_LATENCY, better=None, log_x=True, log_y=True, paper={"paper: memcached, p99 1 ms": [(375, 1000)]}),
    Figure("memtier/fig2-rate", f"{STUDY}, figure 2", "Throughput by connections", "connections", "thousand requests/s",
           "Throughput rises up to about 100 connections and stays near 450,000 a second.", _STUDY_LATENCY, better="more", log_y=True,
           paper={"paper: memcached saturates": [(100, 450), (200, 450)]}),
    Figure("memtier/fig2-mean", f"{STUDY}, figure 2", "Mean latency by connections", "connections", "us",
           "The mean grows linearly with the connections.", _STUDY_LATENCY + "A closed loop: the mean is connections by throughput.", better="less", log_y=True),
    Figure("memtier/fig2-p99", f"{STUDY}, figure 2", "99th percentile by connections", "connections", "us",
           "p99 grows linearly, with fluctuation, and passes 1 ms behind 84 connections.", _STUDY_LATENCY, better="less", log_y=True,
           paper={"paper: 1 ms at 84": [(84, 1000)]}, reasons={
               "": "A time slice of the host, or of another process, is milliseconds; it falls on whichever server has its turn. The median of the rounds counts."}),
    Figure("memtier/fig3", f"{STUDY}, figure 3", "memcached's CPU by connections", "connections", "% of the server's CPU",
           "memcached itself takes little; the system's part grows to 40 %, interrupts shrink as the load grows.",
           "On loopback no device interrupts: what a NIC's interrupt does there, the sender does here, in a softirq on its own CPU.", better=None, ours=("",)),
    Figure("memtier/stages", f"{STUDY}, figure 3", "Where our time goes: cycles a request by stage", "", "cycles",
           "The paper's conclusion: the time goes to the network stack, not to the cache.", "Ours has no kernel in the path: the stages are one loop's.",
           better=None, ours=("",), bars=True),
    Figure("memtier/fig4-rate", f"{STUDY}, figure 4", "Throughput by threads", "threads or cores of the server", "thousand requests/s",
           "Throughput peaks at 450,000 with as many threads as cores (6) and falls behind that.",
           "This machine has the CPUs that the row cpus says; the client needs one of them, so more threads than that share.", better="more", log_y=True,
           paper={"paper: memcached, 6 threads on 6 cores": [(6, 450)]}),
    Figure("memtier/fig4-p99", f"{STUDY}, figure 4", "99th percentile by threads", "threads or cores of the server", "us",
           "p99 is least at 2 threads, 973 us at 6.", "As for throughput.", better="less", log_y=True, paper={"paper: 6 threads": [(6, 973)]},
           reasons={"": "A slice of the host's scheduler, as for figure 2."}),
    Figure("memtier/fig5", f"{STUDY}, figure 5", "memcached's CPU by threads", "threads", "% of all CPUs",
           "With more threads the system's share grows and interrupts' shrinks.", "As for figure 3.", better=None, ours=("",)),
    Figure("memtier/fig6", f"{STUDY}, figure 6", "Threads pinned and not", "", "thousand requests/s",
           "Pinned threads reached 520,000 a second with p99 below 1 ms, 475,000 unpinned.",
           "On two CPUs, one of them the client's, there is little room for a thread to be moved.", better="more", bars=True, log_y=True),
    Figure("memtier/fig6-p99", f"{STUDY}, figure 6", "Threads pinned and not: p99", "", "us",
           "The 99th percentile of pinned threads is lower.", "As for throughput.", better="less", bars=True, log_y=True, reasons={
               "": "Our unpinned core spins on a CPU that the kernel may give to the client as well; it is meant to be pinned, and by default it is."}),
    Figure("memtier/fig7-R", f"{STUDY}, figure 7", "By requests of a connection an event (-R), 32 in flight", "-R", "thousand requests/s",
           "-R bounds how long one connection is served before the next (20 by default); the study shows the figure and says no more.",
           "The same option on both; ours over vhost, which copies each frame twice.", better="more", log_x=True, log_y=True),
    Figure("memtier/fig7-keys", f"{STUDY}, figure 7", "Keys of multi-gets by keys a get", "keys a get", "million keys/s",
           "Group size in the other sense: keys of one get share a request's cost.", _STUDY_LATENCY, better="more", log_x=True),
)

_OPEN = "Their four clients were a machine each on 10 Gb/s; here the generator has one CPU and the server one. memcached is asked by the same generator, " \
        "in user space, over a veth pair; ours over the same veth pair, and over vhost, where neither side has a kernel. "
_BAGS = "Bags, their cleaner thread and striped locks are written here from the paper; keys of 16 bytes, values of 32, every value copied and compared. "
BESIDE = {"memcached": "Other work had a CPU: ours and the generator spin, one of two CPUs each, and lose theirs for whole time slices, each longer than the limit; a server that "
                       "sleeps gets its turn as it wakes. Alone on this machine ours leads 11 times (TCP) and 28 times (UDP)."}
_INTEL = (
    Figure("intel/bags_by_threads", f"{INTEL}, figures 12 and 14", "One harness: requests by threads, even keys", "threads", "million requests/s",
           "Gets of bags take no lock, so they scale; the base does not.", _BAGS, better="more"),
    Figure("intel/bags_by_threads_zipf", f"{INTEL}, figures 12 and 14", "One harness: requests by threads, Zipf", "threads", "million requests/s",
           "The same where some keys are hot.", _BAGS, better="more"),
    Figure("intel/bags_by_sets", f"{INTEL}, section 3.5", "One harness: requests by the share of sets, all threads", "sets, %", "million requests/s",
           "Sets contend by a CAS at a bag's end, which is accepted since gets dominate.", _BAGS, better="more"),
    Figure("intel/fig12-tcp", f"{INTEL}, figure 12", "Highest rate with a mean below 1 ms, TCP, 64-byte values", "", "thousand requests/s",
           "Bags gave 3.15 million gets a second with 16 threads, HT and Turbo, six times the base with 0.525.", _OPEN, better="more", bars=True, log_y=True,
           paper={"paper: bags, 16 cores": [("1 core", 3150)], "paper: base": [("1 core", 525)]}, reasons=BESIDE),
    Figure("intel/fig12-udp", f"{INTEL}, figure 12", "Highest rate with a mean below 1 ms, UDP, 64-byte values", "", "thousand requests/s",
           "The same method over UDP.", _OPEN, better="more", bars=True, log_y=True, reasons=BESIDE),
    Figure("intel/fig13-tcp", f"{INTEL}, figure 13", "Mean round trip as the rate is raised, TCP", "thousand requests/s", "us",
           "The mean stays at 205 to 285 us up to a point and then leaves the 1 ms at once.", _OPEN, better=None, log_x=True, log_y=True,
           paper={"paper: bags, knee": [(3150, 205)]}),
    Figure("intel/fig13-udp", f"{INTEL}, figure 13", "Mean round trip as the rate is raised, UDP", "thousand requests/s", "us",
           "As over TCP.", _OPEN, better=None, log_x=True, log_y=True),
    Figure("intel/fig14", f"{INTEL}, figure 14", "Highest rate by cores", "cores of the server", "million requests/s",
           "Linear from 1 to 16 cores, since gets take no lock.",
           "Cores that this machine does not have are not drawn; the model of shared lines (beyond/shared_written_lines) says what would keep ours from it.",
           better="more", paper={"paper: bags, from the knee at 16": [(1, 3.15 / 16), (2, 3.15 / 8), (16, 3.15)]}, reasons=BESIDE),
)

_BEYOND = (
    Figure("beyond/policies", f"{OURS}: eviction policies", "Misses by policy: as many items, the same keys", "", "% of gets that miss",
           "Published since: SIEVE, S3-FIFO and W-TinyLFU, each better than LRU on its traces; Intel's bags as a policy.",
           "All hold as many items as our store held at its end; models written here, SIEVE, S3-FIFO, LRU and CLOCK checked against libCacheSim. "
           "At equal bytes ours holds more items than any with list pointers.", better="less", ours=("store",), bars=True, reasons={
               "wtinylfu": "It keeps a counter of how often each key was asked for, far beyond what it holds, at several bytes an item; what we keep is one bit and a ghost. Of a loop a "
                           "fifth larger than the cache the best keeps what it has (16.7 % misses): counters that are all alike let nobody in, our ghosts let some in. Tried: those ghosts "
                           "themselves, without which a loop misses always, as LRU and CLOCK do. Not tried: counters.",
               "sieve": "It keeps what was used once until its hand comes by, which pays where popularity never changes.",
               "s3fifo": "The store evicts by page and class, S3-FIFO's model by the one item; what is left between them is that.",
               "lru": "Where popularity shifts, recency is all there is to know, and exact LRU knows it exactly; at equal bytes it holds fewer items.",
               "clock": "The plain clock forgets faster than probation does, which pays where popularity shifts.",
               "bags": "As the plain clock."}),
    Figure("beyond/shared_written_lines", f"{OURS}: cores that this machine does not have", "Lines shared and written a request, by cores", "cores", "lines a request",
           "No paper counts them. A line that two cores write, or one writes and others read, is what ends scaling; Intel's claim is that gets have none.",
           "A model: every access of the store is seen, 1 to 16 cores take turns in one thread, and their caches follow one coherence protocol. A line counts when a core takes "
           "it from another that had written it, or had read it and this one writes it. Counts: the same on any machine.", better=None, ours=("",)),
    Figure("beyond/servers", f"{OURS}: other servers", "The same requests to every server", "", "thousand requests/s",
           "Pelikan and others are newer than the papers; --server NAME=PATH takes any.", _STUDY_LATENCY, better="more", bars=True, log_y=True),
)

FIGURES = {figure.name: figure for figure in (*MEMC3_FIGURES, *_THESIS, *_MEMTIER, *_INTEL, *_BEYOND)}
