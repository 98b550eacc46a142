/*
 * tier_kill.c - the process is killed at a gap, and the next one recovers; or a copy of the state
 * that it would leave is recovered beside it, and must contain nothing that is not reachable in the
 * process.
 */
#include "tier_world.h"

#include "flash/flash_recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_BYTES   ((size_t)FLASH_BUFFERS * TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES)
#define SEGMENT_BYTES ((size_t)TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES)
#define DEPTH         3u

static uint8_t *memory; /* memory for reads */

static struct {
	uint64_t kills, copies, found, puts, bad, unindexed;
} seen;

void
tier_kill_print(void)
{
	printf("%8llu kills: %llu records, %llu bad segments, %llu without room in the index\n"
	       "%8llu copies recovered, %llu judged keys in them\n",
	       (unsigned long long)seen.kills, (unsigned long long)seen.puts,
	       (unsigned long long)seen.bad, (unsigned long long)seen.unindexed,
	       (unsigned long long)seen.copies, (unsigned long long)seen.found);
}

/* The state that a killed process leaves. */
static struct {
	struct flash_shard shard;
	struct flash_kept kept;
	struct flash_intents intents;
	struct mem_flash device;
	struct bucket *buckets;
	uint8_t *pages, *read, *columns;
} copy;

static void *
aligned(size_t bytes)
{
	void *p = aligned_alloc(FLASH_PAGE_BYTES, bytes);

	ensure(p != NULL);
	return p;
}

static void
tick(void *arg)
{
	struct mem_flash *m = arg;

	mem_flash_tick(m, m->now_ns + 1);
}

struct flash_recover_config
tier_recover_config(struct mem_flash *m)
{
	return (struct flash_recover_config){.device = &m->device,
					     .memory = memory,
					     .depth = DEPTH,
					     .hash = tier_hash,
					     .shards = 1,
					     .wait = tick,
					     .arg = m};
}

static struct flash_recovered
recover(struct flash_shard *s, struct flash_shard_config c, struct mem_flash *m, bool is_kept)
{
	const struct flash_recover_config r = tier_recover_config(m);

	c.column.is_kept = is_kept;
	memset(c.buckets, 0, TIER_BUCKETS * sizeof *c.buckets);
	return flash_shard_recover(s, &c, &r);
}

/* True if no segment is left out, unless there were faults. */
static bool
all_whole(struct flash_recovered r)
{
	const struct mem_flash_faults *f = &w.device.faults;

	if (r.bad == 0 || w.rots || f->write_errors != 0 || f->read_errors != 0 || f->flips != 0)
		return true;
	printf("a restart leaves out %u segments\n", r.bad);
	return false;
}

/* Ends the transfers under way: each is done, torn, or not done. */
static void
end_transfers(struct mem_flash *m)
{
	struct flash_result r;

	for (uint32_t i = 0; i < m->under_way; i++) {
		m->at[i].end_ns = m->now_ns;
		if (sim_chance(&w.rng, 500))
			m->at[i].error = -EIO;
	}
	while (m->device.ops->poll(&m->device, &r, 1) == 1)
		continue;
}

/* Changes a byte of a written page. */
static void
rot(void)
{
	const size_t page = sim_below(&w.rng, TIER_DEVICE_BYTES / FLASH_PAGE_BYTES);

	w.device.now[page * FLASH_PAGE_BYTES + sim_below(&w.rng, FLASH_PAGE_BYTES)] ^= 1;
}

bool
tier_restart(struct flash_recovered *recovered, bool is_kept)
{
	struct flash_shard_config c = tier_config();
	const uint32_t write_errors = w.device.faults.write_errors;

	w.device.faults.write_errors = 0; /* with write errors it would start cold */
	memset(w.locked, 0, sizeof w.locked);
	w.flushing = w.writing = false;
	tier_count();
	c.generation = w.generation;
	if (w.rots && sim_chance(&w.rng, 500))
		rot();

	*recovered = recover(&w.shard, c, &w.device, is_kept);
	w.device.faults.write_errors = write_errors;
	memset(&w.intents, 0, sizeof w.intents);
	tier_convert_init();
	w.now_ns = w.device.now_ns;
	return all_whole(*recovered);
}

bool
tier_kill(bool keeps_store)
{
	struct flash_recovered r;
	bool whole;

	end_transfers(&w.device);
	if (!keeps_store)
		memset(w.d, 0, sizeof w.d);
	whole = tier_restart(&r, true);
	seen.kills++;
	seen.puts += r.puts;
	seen.bad += r.bad;
	seen.unindexed += r.unindexed;
	return whole;
}

/* ---- a recovery of a copy ---- */

static void
copy_world(struct flash_shard_config *c)
{
	const size_t columns = flash_columns_bytes(FILTER_BUCKETS_MIN);

	if (copy.buckets == NULL) {
		copy.buckets = aligned(FLASH_PAGE_BYTES);
		copy.pages = aligned(PAGES_BYTES);
		copy.read = aligned(SEGMENT_BYTES);
		copy.columns = aligned(align_up(columns, FLASH_PAGE_BYTES));
		mem_flash_open(&copy.device, TIER_DEVICE_BYTES, 8, 1);
	}
	copy.device.under_way = 0;
	memcpy(copy.device.now, w.device.now, TIER_DEVICE_BYTES);
	memcpy(copy.columns, tier_column_memory(), columns);
	memcpy(copy.pages, c->pages, PAGES_BYTES);
	memcpy(&copy.kept, &w.kept, sizeof w.kept);
	memcpy(&copy.intents, &w.intents, sizeof w.intents);
	c->kept = &copy.kept;
	c->intents = &copy.intents;
	c->pages = copy.pages;
	c->buckets = copy.buckets;
	c->column.memory = copy.columns;
}

/* Finds the shard's copy of a key. Without a device: in its buffers, or unknown. */
static bool
find(struct flash_shard *s, const struct mem_flash *m, uint32_t key, char *value, uint32_t *flags)
{
	struct flash_look l = {0};
	struct flash_found f;

	/* While the columns change, a lookup sees what has been changed so far. */
	if (s->column.count != 0) {
		const uint32_t sequence = s->columns.kept->sequence;

		s->columns.kept->sequence = sequence + (sequence & 1);
		flash_look_begin(s, &l);
		flash_look_end(s, &l, w.hash[key]);
		s->columns.kept->sequence = sequence;
	} else {
		flash_look_begin(s, &l);
		flash_look_end(s, &l, w.hash[key]);
	}
	for (uint32_t i = 0; i < l.count; i++) {
		const bool was_buffer = flash_read_buffer(s, &l.at[i], copy.read);

		if (!was_buffer)
			memcpy(copy.read, m->now + flash_candidate_offset(s, &l.at[i]),
			       (size_t)flash_candidate_pages(&l.at[i]) * FLASH_PAGE_BYTES);
		if (flash_read_judge(s, &l.at[i], copy.read, was_buffer,
				     (struct view){(const uint8_t *)w.name[key], TIER_NAME_LEN},
				     &f) != FLASH_FOUND)
			continue;
		flash_payload_get(copy.read, f.walk.value_at, value, HISTORY_VALUE_MAX);
		*flags = f.record.flags;
		return true;
	}
	return false;
}

bool
tier_copy_has_no_more(void)
{
	struct flash_shard_config c = tier_config();

	copy_world(&c);
	bool ok = all_whole(recover(&copy.shard, c, &copy.device, true));

	seen.copies++;
	for (uint32_t key = 0; key < TIER_KEYS; key++) {
		char left[HISTORY_VALUE_MAX], now[HISTORY_VALUE_MAX];
		uint32_t left_flags, now_flags;

		if (!find(&copy.shard, &copy.device, key, left, &left_flags))
			continue;
		seen.found++;
		if (w.d[key].there) {
			printf("a restart now would find %s of %s beside the store's %s\n", left,
			       w.name[key], w.d[key].text);
			ok = false;
		}
		if (!find(&w.shard, &w.device, key, now, &now_flags) ||
		    memcmp(left, now, sizeof now) != 0 || left_flags != now_flags) {
			printf("a restart now would find %s of %s\n", left, w.name[key]);
			ok = false;
		}
	}
	return ok;
}

void
tier_kill_create(void)
{
	memory = aligned(DEPTH * SEGMENT_BYTES);
}
