"""Figures of MemC3 (NSDI 2013) as tools/bench papers draws them; papers_shapes.py has the class Figure."""

from papers_memc3_claims import INDEX_ON_TOP
from papers_shapes import MEMC3, Figure

MACHINE = "Their machine had two six-core L5640 at 2.27 GHz; curves here end at this machine's CPUs. "
WRITTEN = "The baselines are written from the paper, with the same hash, the same keys of 16 bytes and every answer compared. "
ONE_BY_ONE = "\"ours\" is asked key by key, \"ours, batches\" as a turn of the product asks, many at once; the better one is compared. Key by key a lookup of ours takes 217 " \
             "instructions (expiry, flush, use noted), of a cuckoo table with tags 75, of chaining 45 (callgrind), so fewer of the next lookups overlap in a core, and ours is behind. "
# Instructions by callgrind: bench_memc3 --tiny --figure table2, each table filled to its end.
TRIED = "Tried: sets of a turn whose buckets are asked for ahead, as the product does (\"ours, batches\")."
INSERTS = {"cuckoo": "An insert of ours is a whole set: memory for an item, key and value copied, linked (950 instructions); the table's stores a pointer to an item that was made "
                     f"before the clock started (780). {TRIED}",
           "chaining": "An insert of chaining's is 34 instructions: a push at the head of a chain, to an item that has its place beforehand, in the order of the keys. Ours is 950: it "
                       f"makes a whole item, looks for a slot in a table that may be full, and can evict. {TRIED}"}

MEMC3_FIGURES = (
    Figure("memc3/fig4", f"{MEMC3}, figure 4", "What an insert costs by how full the table is", "slots in use", "ns an insert",
           "At 70 % an insert takes less than 100 ns; at 95 % 1.3 us with one path and 0.84 with two.",
           MACHINE + WRITTEN + "An insert of ours is a whole set: memory, item, link; in \"ours, batches\" 32 of them a turn, as the product has them.", better="less", bases=("cuckoo",),
           paper={"paper: one path at 95 %": [(0.95, 1300)], "paper: two paths at 95 %": [(0.95, 840)]}, reasons=INSERTS),
    Figure("memc3/fig4_moves", f"{MEMC3}, figure 4", "Keys moved an insert by how full the table is", "slots in use", "moves an insert",
           "Displacements rise steeply above 90 %; more paths find a free slot earlier.", WRITTEN + "Ours has buckets of its own shape and searches breadth first.",
           better="less", bases=("cuckoo",)),
    Figure("memc3/fig5a", f"{MEMC3}, figure 5a", "One thread, no locks: what each step gives", "", "million lookups/s",
           "All steps together give twice chaining's hits and five times its misses; integer compare nearly doubles chaining, a cuckoo table without tags is slower, tags "
           "give it 2 times (hits) and 8 times (misses).", MACHINE + WRITTEN + ONE_BY_ONE + "Their memcmp was glibc's of 2012, whose start was slow for short keys.",
           better="more", bars=True),
    Figure("memc3/fig5b", f"{MEMC3}, figure 5b", "All threads: what each step gives", "", "million lookups/s",
           "Six threads: 12 times chaining under a global lock for hits, 25 for misses; bucket locks give 5 to 6 of that, tags and the optimistic lock the rest.",
           MACHINE + WRITTEN + ONE_BY_ONE + "With few threads a global lock is waited for less, so the first factor is smaller here.", better="more", bars=True),
    Figure("memc3/fig6", f"{MEMC3}, figure 6", "Lookups by threads", "threads", "million lookups/s",
           "The optimistic table scales linearly to six threads on one chip, 35 million with 12; chaining does not scale.", MACHINE + ONE_BY_ONE, better="more",
           paper={"paper: optimistic cuckoo, 12 threads": [(12, 35)]}),
    Figure("memc3/fig6_10_percent_inserts", f"{MEMC3}, figure 6", "Operations by threads, a tenth inserts", "threads", "million operations/s",
           "With 10 % inserts it peaks at 20 million with 10 threads, since inserts are one after the other.", MACHINE + ONE_BY_ONE +
           "An insert of ours makes a whole item.", better="more", paper={"paper: optimistic cuckoo, 10 threads": [(10, 20)]}, reasons=INSERTS),
    Figure("memc3/fig7", f"{MEMC3}, figure 7", "Operations by the share of inserts, all threads", "inserts, %", "million operations/s",
           "Cuckoo tables lead at every share, and fall with it; chaining stays where it was.", MACHINE + ONE_BY_ONE +
           "An insert of ours makes a whole item, so with nothing but inserts the tables compare a pointer's store with an item's making.", better="more", reasons=INSERTS),
    Figure("memc3/fig8a", f"{MEMC3}, figure 8a", "A cache that holds all: by threads, no network", "threads", "million requests/s",
           "chaining+LRU does not scale, for each get moves its item in a list; cuckoo+CLOCK reaches 30 million with 16 threads.", MACHINE + WRITTEN, better="more",
           paper={"paper: cuckoo+CLOCK, 16 threads": [(16, 30)]}),
    Figure("memc3/fig8a_5_percent_sets", f"{MEMC3}, figure 8a", "The same with 5 % sets", "threads", "million requests/s",
           "The paper's queries are 95 % gets and 5 % sets.", MACHINE + WRITTEN, better="more"),
    Figure("memc3/fig8b", f"{MEMC3}, figure 8b", "A cache of a tenth: 15 % of gets miss and set", "threads", "million requests/s",
           "6 million at most, at six threads: the sets of 15 % misses are one after the other.", MACHINE + WRITTEN, better="more",
           paper={"paper: cuckoo+CLOCK, 6 threads": [(6, 6)]}, reasons=INSERTS),
    Figure("memc3/fig9", f"{MEMC3}, figure 9", "Multi-gets of 100 keys through the network", "threads, cores or instances", "million keys/s",
           "MemC3 4.4 million, memcached 1.5; sharding does worst, because one instance has the hot keys.",
           "Their clients were 50 nodes on 10 Gb/s. Here a kernel client asks memcached on loopback, and the generator asks one core of ours over a wire; the client needs a "
           "CPU, so two threads of memcached share it. Keys are even, since drawing a Zipf key costs a client more than its lookup costs ours; the hot shard is "
           "computed: one instance's rate by the busiest shard's part of Zipf(0.99).",
           better="more", log_x=True, paper={"paper: MemC3, 16 threads": [(16, 4.4)], "paper: memcached": [(16, 1.5)]}, reasons={
               "sharded": "Several instances on as many cores, beside one core of ours.",
               "memcached": "Two threads of memcached on both CPUs, beside one core of ours."}),
    Figure("memc3/table3", f"{MEMC3}, table 3", "Items held by the same memory", "", "times chaining+LRU",
           "Chaining+LRU holds least; cuckoo alone gives 7 % more, CLOCK alone 27 %, both 40 %.", WRITTEN + "A baseline's index comes on top of its memory, as in the paper; ours is in it. Counts: the same on any machine.", better="more", bars=True,
           paper={"paper: cuckoo+CLOCK, 1.4": [(x, 1.4) for x in ("8 MB, 32 bytes", "64 MB, 32 bytes")]}, reasons={
               "CLOCK": INDEX_ON_TOP}),
    Figure("memc3/table3_misses", f"{MEMC3}, table 3", "Misses of the same memory", "", "% of gets that miss",
           "More items outweigh CLOCK's being less exact than LRU as the cache grows.", WRITTEN + "Zipf, 95 % gets, a miss is followed by a set.", better="less", bars=True),
)
