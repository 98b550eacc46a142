/*
 * flash_trial.c - the second tier by itself: its memory, its reads and writes, and their rates.
 *
 * Each row is a line of JSON. A part prints counts, which two runs have alike, and times.
 *
 *   flash_trial [--run NUMBER] [--mib MIB] [--value BYTES] [--depth READS] [--gets COUNT]
 *               [--rounds NUMBER] [--file FILE] [--keys COUNT]
 *               [--flash-mib MIB] [--peer SOCKET] [--workers NUMBER] PART
 *
 *   bytes    bytes of DRAM an item of a full log
 *   reads    reads a hit and a miss; bytes written by bytes admitted
 *   raw      gets through the tier beside reads of the same device without it
 *   recover  a log read again beside the same bytes read alone
 *   busy     hits of a store while another thread writes segments
 *   kept     of the bytes that memory evicts, those that are found on flash
 *   hits     of gets, by MiB of flash; those of a memcached at --peer
 *   extstore bytes of DRAM an item of a memcached at --peer
 *   misses   lookups of absent keys, in an index and 16 columns beyond the caches
 *   pack     values packed and unpacked
 */
#include "flash_asks.h"
#include "flash_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB         (1ull << 20)
#define MIB_MIN     4u
#define MIB_MAX     32768u
#define WARM_SHARE  10u
#define WARM_SEED   99u
#define SEEDS       1000u
#define ROUNDS_MAX  1000000000u
#define BYTES_SHARE 2u /* share of the segments' room, so that the index is full first */

static uint64_t
record_room(const struct flash_trial *t)
{
	return t->mib * MIB / (FLASH_RECORD_HEAD + BENCH_KEY_BYTES + t->value);
}

static void
open_rig(struct flash_rig *rig, const struct flash_trial *t, uint64_t items, bool long_cas)
{
	const struct flash_rig_config c = {.bytes = t->mib * MIB,
					   .items = items,
					   .value_bytes = t->value,
					   .depth = t->depth,
					   .path = t->file,
					   .long_cas = long_cas,
					   .workers = t->workers};

	flash_rig_open(rig, &c);
}

/* ---- bytes ---- */

void
flash_part_bytes(const struct flash_trial *t)
{
	static struct flash_rig rig;
	uint64_t n = 0;

	open_rig(&rig, t, record_room(t) / BYTES_SHARE, false);

	const uint64_t index = (uint64_t)rig.shard.index.bucket_count * sizeof(struct bucket);
	const uint64_t before_kb = bench_memory_kb(0, "Rss");

	for (; flash_rig_put(&rig, n); n++)
		if (n % 65536 == 0)
			bench_progress("filling a log", n, record_room(t) / BYTES_SHARE);
	printf("{\"part\": \"bytes\", \"run\": %u, \"items\": %llu, \"index_bytes\": %llu, "
	       "\"bytes_per_item\": %.4f, \"fixed_bytes\": %zu, \"full\": %.4f, "
	       "\"rss_and_flash_kb\": %llu}\n",
	       t->run, (unsigned long long)n, (unsigned long long)index, (double)index / (double)n,
	       flash_rig_fixed_bytes(&rig),
	       (double)n * sizeof(struct bucket) / (double)(index * BUCKET_SLOTS),
	       (unsigned long long)(bench_memory_kb(0, "Rss") - before_kb));
	flash_rig_close(&rig);
}

/* ---- reads ---- */

/* Puts as many items as the live segments have room for, except the last two segments. Returns
 * their number. opened: the items before the last segment. */
static uint64_t
fill(struct flash_rig *rig, uint64_t *opened)
{
	const uint64_t room = (rig->shard.log.c.live - 2ull) * flash_log_capacity(&rig->shard.log);
	const uint32_t extra = rig->c.long_cas ? 1 : 0;
	const uint64_t items =
		room / (FLASH_RECORD_HEAD + BENCH_KEY_BYTES + rig->c.value_bytes + extra);

	for (uint64_t n = 0; n < items; n++) {
		const uint64_t head = rig->shard.log.head;

		ensure(flash_rig_put(rig, n));
		if (rig->shard.log.head != head)
			*opened = n;
		if (n % 65536 == 0)
			bench_progress("filling a log", n, items);
	}
	return items;
}

/* Returns bytes written divided by bytes admitted, over all full segments. */
static double
amplification(const struct flash_rig *rig, uint64_t opened)
{
	return (double)(rig->ram.write_bytes - FLASH_SEGMENT_BYTES) /
	       (double)(opened * (BENCH_KEY_BYTES + rig->c.value_bytes));
}

static double
amplification_with_long_cas(const struct flash_trial *t)
{
	static struct flash_rig rig;
	uint64_t opened;
	double amplified;

	open_rig(&rig, t, 0, true);
	fill(&rig, &opened);
	flash_rig_leave(&rig);
	amplified = amplification(&rig, opened);
	flash_rig_close(&rig);
	return amplified;
}

void
flash_part_reads(const struct flash_trial *t)
{
	static struct flash_rig rig;
	struct flash_trial memory = *t;
	uint64_t opened;

	memory.file = NULL;
	open_rig(&rig, &memory, 0, false);

	const uint64_t items = fill(&rig, &opened);

	flash_rig_leave(&rig);

	const struct flash_gets hits = flash_rig_get(&rig, 0, items, t->gets, t->run);
	const struct flash_gets misses =
		flash_rig_get(&rig, RIG_ABSENT_FROM, RIG_ABSENT_FROM, t->gets, t->run);

	ensure(hits.found == hits.asked && misses.found == 0);
	printf("{\"part\": \"reads\", \"run\": %u, \"items\": %llu, \"reads_per_hit\": %.6f, "
	       "\"two_pages\": %.4f, \"reads_per_miss\": %.6f, \"amplification\": %.5f, "
	       "\"amplification_long_cas\": %.5f}\n",
	       t->run, (unsigned long long)items,
	       (double)hits.flash_reads / (double)hits.flash_found,
	       (double)hits.pages / (double)hits.reads - 1,
	       (double)misses.reads / (double)misses.asked, amplification(&rig, opened),
	       amplification_with_long_cas(&memory));
	flash_rig_close(&rig);
}

/* ---- raw ---- */

static double
rate(uint64_t count, uint64_t from_ns)
{
	return (double)count * 1e9 / (double)(bench_ns() - from_ns);
}

enum side { SIDE_TIER, SIDE_RAW, SIDE_BARE, SIDES };
static const char *const side_names[SIDES] = {"tier", "raw", "bare"};

/* Runs a turn of one side. */
static void
take_turn(struct flash_rig *rig, const struct flash_trial *t, uint32_t round, enum side side,
	  uint64_t items, double two_pages, double puts_per_s)
{
	const uint64_t seed = ((uint64_t)t->run * SEEDS + round) * SIDES + side;
	const uint64_t from = bench_ns(), cpu = bench_cpu_ns();

	if (side == SIDE_RAW)
		flash_rig_read_raw(rig, t->gets, two_pages, seed);
	else if (side == SIDE_TIER)
		flash_asks_run(t->gets, seed);
	else
		ensure(flash_rig_get(rig, 0, items, t->gets, seed).found == t->gets);
	printf("{\"part\": \"raw\", \"who\": \"%s\", \"run\": %u, \"round\": %u, \"per_s\": "
	       "%.0f, \"cpu_ns\": %.1f, \"items\": %llu, \"two_pages\": %.4f, "
	       "\"puts_per_s\": %.0f}\n",
	       side_names[side], t->run, round, rate(t->gets, from),
	       (double)(bench_cpu_ns() - cpu) / t->gets, (unsigned long long)items, two_pages,
	       puts_per_s);
}

void
flash_part_raw(const struct flash_trial *t)
{
	static struct flash_rig rig;
	const uint64_t from = bench_ns();
	uint64_t items, opened;
	double puts_per_s, two_pages;

	open_rig(&rig, t, 0, false);
	items = fill(&rig, &opened);
	flash_rig_leave(&rig);
	puts_per_s = rate(items, from);

	const struct flash_gets warm =
		flash_rig_get(&rig, 0, items, t->gets / WARM_SHARE + 1, WARM_SEED);

	two_pages = (double)warm.pages / (double)warm.reads - 1;
	flash_asks_open(&rig, items);
	for (uint32_t i = 0; i < t->rounds; i++)
		for (uint32_t turn = 0; turn < SIDES; turn++)
			take_turn(&rig, t, i, (turn + i) % SIDES, items, two_pages, puts_per_s);
	flash_rig_close(&rig);
}

/* ---- recovery ---- */

static void
read_segments(struct flash_rig *rig, uint64_t first, uint64_t last)
{
	const uint32_t depth = FLASH_RECOVER_DEPTH_MAX;
	uint64_t begun = first, done = first;

	while (done <= last) {
		for (; begun <= last && begun - done < depth; begun++) {
			const struct flash_io io = {
				.tag = begun,
				.offset = flash_log_offset(
					&rig->shard.log,
					flash_location(flash_slot(&rig->shard.log, begun), 0, 1)),
				.data = rig->segments + begun % depth * FLASH_SEGMENT_BYTES,
				.len = FLASH_SEGMENT_BYTES,
				.kind = FLASH_READ};

			ensure(rig->device->ops->submit(rig->device, &io, 1) == 1);
		}
		flash_rig_poll(rig);
		done++;
	}
}

static void
say_recovery(const struct flash_trial *t, const char *who, uint64_t bytes, uint64_t puts,
	     uint64_t ns, uint64_t cpu_ns)
{
	printf("{\"part\": \"recover\", \"who\": \"%s\", \"run\": %u, \"bytes\": %llu, "
	       "\"records\": %llu, \"gb_per_s\": %.4f, \"cpu_ns_per_record\": %.2f}\n",
	       who, t->run, (unsigned long long)bytes, (unsigned long long)puts,
	       (double)bytes / (double)ns, (double)cpu_ns / (double)puts);
}

void
flash_part_recover(const struct flash_trial *t)
{
	static struct flash_rig rig;
	uint64_t from, cpu, opened;

	open_rig(&rig, t, 0, false);

	const uint64_t items = fill(&rig, &opened);

	flash_rig_leave(&rig);

	const struct flash_kept kept = {.head = rig.kept.head, .first = rig.kept.first};
	const uint64_t head = kept.head;
	const uint64_t bytes = head * FLASH_SEGMENT_BYTES;

	from = bench_ns();
	cpu = bench_cpu_ns();
	read_segments(&rig, 1, head);
	say_recovery(t, "raw", bytes, items, bench_ns() - from, bench_cpu_ns() - cpu);
	for (uint32_t i = 0; i < t->rounds; i++) {
		memset(rig.shard_config.buckets, 0,
		       rig.shard_config.bucket_count * sizeof(struct bucket));
		memcpy(&rig.kept, &kept, sizeof kept);
		from = bench_ns();
		cpu = bench_cpu_ns();

		const struct flash_recovered r = flash_rig_recover(&rig);

		ensure(r.puts == items && r.bad == 0 && r.unindexed == 0);
		say_recovery(t, "tier", bytes, items, bench_ns() - from,
			     bench_cpu_ns() - cpu + rig.workers_cpu_ns);
		from = bench_ns();
		cpu = bench_cpu_ns();
		read_segments(&rig, 1, head);
		say_recovery(t, "raw", bytes, items, bench_ns() - from, bench_cpu_ns() - cpu);
	}
	flash_rig_close(&rig);
}

/* ---- the program ---- */

static const struct {
	const char *name;
	void (*run)(const struct flash_trial *trial);
} parts[] = {
	{"bytes", flash_part_bytes},   {"reads", flash_part_reads},
	{"raw", flash_part_raw},       {"recover", flash_part_recover},
	{"misses", flash_part_misses}, {"hits", flash_part_hits},
	{"busy", flash_part_busy},     {"extstore", flash_part_extstore},
	{"kept", flash_part_kept},     {"pack", flash_part_pack},
};

static void
usage(void)
{
	fprintf(stderr, "usage: flash_trial [OPTION]... PART\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	struct flash_trial t = {
		.mib = 256, .value = 200, .depth = 64, .rounds = 2, .keys = 100000, .gets = 100000};

	const struct bench_option known[] = {
		BENCH_NUMBER("run", &t.run, 0, ROUNDS_MAX),
		BENCH_NUMBER("mib", &t.mib, MIB_MIN, MIB_MAX),
		BENCH_NUMBER("value", &t.value, 8, 2048),
		BENCH_NUMBER("depth", &t.depth, 1, (FLASH_DEPTH_MAX - FLASH_BUFFERS) / 2),
		BENCH_NUMBER("gets", &t.gets, 1, ROUNDS_MAX),
		BENCH_NUMBER("rounds", &t.rounds, 1, SEEDS / 2),
		BENCH_NUMBER("keys", &t.keys, 1, ROUNDS_MAX),
		BENCH_NUMBER("flash-mib", &t.flash_mib, 0, MIB_MAX),
		BENCH_TEXT("peer", &t.peer),
		BENCH_NUMBER("workers", &t.workers, 0, RIG_WORKERS_MAX),
		BENCH_TEXT("file", &t.file),
		{0}};

	bench_options(argc, argv, known);
	t.mib &= ~1u;
	t.flash_mib &= ~1u;
	t.value &= ~7u;
	for (uint32_t i = 0; optind == argc - 1 && i < sizeof parts / sizeof parts[0]; i++)
		if (strcmp(parts[i].name, argv[optind]) == 0) {
			parts[i].run(&t);
			return 0;
		}
	usage();
}
