/*
 * tier_cut.c - power is lost at a gap, or at any step of a graceful stop: the next process finds
 * the media alone, and starts as its superblock allows.
 *
 * The superblock is on a device of its own, so that each device is cut with its own transfers under
 * way. The steps of the stop: segments and rows of columns written, synced, superblock written,
 * synced.
 */
#include "tier_world.h"

#include "flash/flash_rows.h"
#include "flash/flash_super.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUPER_DEVICE (2 * FLASH_SUPER_BYTES)
#define PAGES_BYTES  ((size_t)FLASH_BUFFERS * TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES)

enum stop { AT_ONCE, LEFT, SYNCED, WRITING, WRITTEN, STOPPED, STOPS };

static struct {
	struct mem_flash device;
	struct flash_super now;
	uint8_t *pages; /* pages for reading both copies, and for writing one */
} super;

static struct {
	uint64_t cuts, cold, clean, records, columns;
} seen;

void
tier_cut_print(void)
{
	printf("%8llu cuts: %llu cold starts, %llu from a stop, %llu records, %llu items in "
	       "columns\n",
	       (unsigned long long)seen.cuts, (unsigned long long)seen.cold,
	       (unsigned long long)seen.clean, (unsigned long long)seen.records,
	       (unsigned long long)seen.columns);
}

/* ---- the superblock ---- */

static void
do_io(struct mem_flash *m, enum flash_io_kind kind, uint64_t offset, uint8_t *data, uint32_t len)
{
	const struct flash_io io = {.offset = offset, .data = data, .len = len, .kind = kind};
	struct flash_result r;

	ensure(m->device.ops->submit(&m->device, &io, 1) == 1);
	while (m->device.ops->poll(&m->device, &r, 1) == 0)
		mem_flash_tick(m, m->now_ns + 1);
	ensure(r.error == 0);
}

static void
sync_all(struct mem_flash *m)
{
	do_io(m, FLASH_SYNC, 0, NULL, 0);
}

/* Composes the page of the superblock. Returns its offset. */
static uint64_t
make_super(bool clean)
{
	struct flash_super *s = &super.now;

	s->counter++;
	s->clean = clean;
	s->shard[0].head = w.kept.head;
	s->shard[0].first = w.kept.first;
	return flash_super_write(super.pages, s);
}

static void
write_super(bool clean)
{
	uint64_t offset;

	if (!clean)
		super.now.shard[0].rows = 0;
	offset = make_super(clean);
	do_io(&super.device, FLASH_WRITE, offset, super.pages, FLASH_SUPER_BYTES);
}

static void
serve(void)
{
	write_super(false);
	sync_all(&super.device);
}

void
tier_cut_begin(uint64_t seed)
{
	if (super.pages == NULL) {
		super.pages = aligned_alloc(FLASH_PAGE_BYTES, SUPER_DEVICE);
		ensure(super.pages != NULL);
	} else {
		mem_flash_close(&super.device);
	}
	mem_flash_open(&super.device, SUPER_DEVICE, 2, seed);
	super.now = (struct flash_super){.layout = {.device = 1, .buckets = TIER_BUCKETS}};
	serve();
}

/* ---- a stop ---- */

static bool
tick(void *arg)
{
	mem_flash_tick(&w.device, w.device.now_ns + 1);
	return true;
}

static const struct flash_rows_io rows_io = {&w.device.device, tick, NULL};

/* Ends all transfers and writes the closed segments. False if that failed. */
static bool
leave(void)
{
	struct flash_recover_config r;

	while (w.device.under_way != 0)
		tier_poll();
	r = tier_recover_config(&w.device);
	if (!flash_shard_leave(&w.shard, &r))
		return false;
	if (w.columns != 0)
		super.now.shard[0].rows = flash_rows_write(&w.shard.column, &rows_io);
	return true;
}

/* Stops as far as this step. Returns the last step that was done. */
static enum stop
stop_at(enum stop last)
{
	if (last == AT_ONCE || !leave() || last == LEFT)
		return last == AT_ONCE ? AT_ONCE : LEFT;
	sync_all(&w.device);
	if (last == SYNCED)
		return last;
	if (last == WRITING) {
		const struct flash_io io = {.offset = make_super(true),
					    .data = super.pages,
					    .len = FLASH_SUPER_BYTES,
					    .kind = FLASH_WRITE};

		ensure(super.device.device.ops->submit(&super.device.device, &io, 1) == 1);
		return last;
	}
	write_super(true);
	if (last == STOPPED)
		sync_all(&super.device);
	return last;
}

/* ---- the next start ---- */

static enum flash_start
find_start(void)
{
	static const struct flash_state_id nobody;
	const struct flash_before before = {
		.super = &super.now, .state = &nobody, .state_words = "", .gap_words = ""};
	char words[FLASH_START_WORDS];

	do_io(&super.device, FLASH_READ, 0, super.pages, SUPER_DEVICE);
	if (!flash_super_read(super.pages, &super.now))
		return FLASH_COLD;
	return flash_start_of(&before, &super.now.layout, words);
}

/* Reads the columns' rows; those in memory are lost. True if they are kept. */
static bool
find_rows(enum flash_start start)
{
	struct flash_column_config c = tier_config().column;

	if (w.columns == 0)
		return false;
	memset(c.memory, 0x5a, TIER_ROWS_PAGES * FLASH_PAGE_BYTES);
	flash_rows_start(&c, start, &super.now, 0, &rows_io);
	return c.is_kept;
}

/* True if the start is allowed by the steps that had ended before power was lost. */
static bool
is_right(enum stop stopped, enum flash_start start)
{
	if (stopped == STOPPED ? start == FLASH_FROM_CLEAN
			       : start == FLASH_COLD || stopped >= WRITING)
		return true;
	printf("a start is %s after a stop cut at step %u\n", start == FLASH_COLD ? "cold" : "warm",
	       (uint32_t)stopped);
	return false;
}

bool
tier_cut(bool stops)
{
	const enum stop stopped = stop_at(stops ? sim_below(&w.rng, STOPS) : AT_ONCE);
	enum flash_start start;

	mem_flash_cut(&w.device);
	mem_flash_cut(&super.device);
	memset(w.d, 0, sizeof w.d);
	start = find_start();
	flash_start_kept(start, &super.now, 0, sim_random(&w.rng), &w.kept);
	seen.cuts++;
	seen.cold += start == FLASH_COLD;
	seen.clean += start == FLASH_FROM_CLEAN;

	struct flash_recovered recovered;
	const bool whole = tier_restart(&recovered, find_rows(start));

	seen.records += recovered.puts;
	if (w.columns != 0)
		seen.columns += flash_columns_items(&w.shard.columns);
	serve();
	return whole && is_right(stopped, start) && (start != FLASH_COLD || recovered.puts == 0);
}
