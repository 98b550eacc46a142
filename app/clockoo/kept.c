/*
 * kept.c - opens the file, judges what lies there, keeps its page while the cache serves.
 */
#include "kept.h"
#include "appliance.h"
#include "crash_count.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define MB_SHIFT      20
#define NS_PER_S      1000000000ull
#define CORES_LOOK_NS (2 * NS_PER_S) /* as a manager's time: they are looked at each second */

static uint64_t
clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t
boot_clock(void *arg)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t
wall_clock(void *arg)
{
	return clock_ns(CLOCK_REALTIME);
}

static uint64_t
store_clock(void *arg)
{
	const struct kept *k = arg;

	return STORE_CLOCK_START * NS_PER_S + tsc_clock_ns(k->clock) - k->start_ns;
}

static struct memory_file_wanted
wanted_of(const struct appliance *a)
{
	return (struct memory_file_wanted){
		.path = a->config.memory_file,
		.bytes = a->sizes.file_bytes,
		.page_at = STORE_IMAGE_APP_AT,
		.other_uid = a->privileges.change ? a->privileges.uid : MEMORY_FILE_NO_UID,
		.wait_ms = MEMORY_FILE_WAIT_MS,
	};
}

static bool
map(struct kept *k, const struct appliance *a, struct error *err)
{
	struct huge_block block;

	if (!memory_file_map(&k->file, err))
		return false;
	block = (struct huge_block){k->file.base, k->file.bytes};
	k->page = store_image_app_page(k->file.base);
	return huge_block_place(&block, &a->config, k->file.page_bytes,
				(int)a->nic.machine.placement.node, err) &&
	       memory_file_populate(&k->file, err);
}

/* After so many crashes a bad page may be the cause, which stays with the old file. */
static bool
renew_after_crashes(struct kept *k, const struct appliance *a, struct error *err)
{
	const struct memory_file_wanted wanted = wanted_of(a);

	if (!memory_page_is_set(k->page) || k->page->attempts < CRASHES_MAX)
		return true;
	memory_file_unmap(&k->file);
	return memory_file_renew(&k->file, &wanted, err) && map(k, a, err);
}

static void
judge(struct kept *k, const struct config *cfg)
{
	if (k->file.before_bytes != 0)
		snprintf(k->words, sizeof k->words, "it had %zu MB, and %zu are configured",
			 k->file.before_bytes >> MB_SHIFT, k->file.bytes >> MB_SHIFT);
	else if (k->file.fresh)
		strcpy(k->words, "it is new");
	else if (kept_page_is_whole(k->page, &k->file.id, cfg->keep_for_s, &k->gap, k->words))
		strcpy(k->words, "this version does not read it");
}

bool
kept_open(struct kept *k, const struct appliance *a, struct error *err)
{
	const struct memory_file_wanted wanted = wanted_of(a);

	k->used = a->config.memory_file[0] != '\0';
	if (!k->used)
		return true;
	if (memory_file_open(&k->file, &wanted, err) && map(k, a, err)) {
		judge(k, &a->config);
		if (renew_after_crashes(k, a, err))
			return true;
	}
	kept_close(k);
	return false;
}

struct store *
kept_create_store(struct kept *k, struct region *region, const struct store_config *cfg)
{
	struct store *store;
	struct gap_now now;

	fprintf(stderr, "clockoo: memory.file: %s: starts empty: %s\n", k->file.path, k->words);
	store = store_create_in(region, k->file.base, cfg);
	kept_now(&now);
	memory_page_begin(k->page, k->file.id, now.boot_id, (uint32_t)getpid());
	k->started = true;
	return store;
}

/* No beat where the clocks could not be read at one moment: the one before stays the last. */
static void
beat(struct kept *k)
{
	const struct clocks clocks = {boot_clock, wall_clock, store_clock, k};

	if (beat_read_clocks(&k->beat, &clocks))
		heartbeat_write(&k->page->heartbeat, &k->beat);
}

void
kept_ready(struct kept *k, const struct appliance *a)
{
	if (!k->used)
		return;
	k->clock = &a->nic.clock;
	k->start_ns = a->start_ns;
	k->ready_ns = k->beat.served_boot_ns = clock_ns(CLOCK_BOOTTIME);
	watchdog_begin(&k->cores, CORES_LOOK_NS, a->config.cores, k->ready_ns);
	beat(k);
	memory_page_ready(k->page);
	k->started = false;
	crash_count_begin(k->page);
}

void
kept_tick(struct kept *k, const struct telemetry *t)
{
	uint32_t core;
	uint64_t now_ns;

	if (!k->used)
		return;
	now_ns = clock_ns(CLOCK_BOOTTIME);
	/* A stuck core loses clients' invalidations, though this thread goes on. */
	if (watchdog_check(&k->cores, t, now_ns, &core) == WATCHDOG_ALIVE)
		k->beat.served_boot_ns = now_ns;
	beat(k);
	memory_file_populate_more(&k->file);
	if (k->ready_ns != 0 && now_ns - k->ready_ns > CRASHES_FORGIVEN_NS) {
		memory_page_forgive(k->page);
		k->ready_ns = 0;
	}
}

void
kept_stop(struct kept *k)
{
	if (!k->used)
		return;
	k->beat.served_boot_ns = clock_ns(CLOCK_BOOTTIME);
	beat(k);
	memory_page_forgive(k->page);
	crash_count_end();
}

void
kept_close(struct kept *k)
{
	if (!k->used)
		return;
	if (k->started)
		memory_page_ready(k->page);
	memory_file_close(&k->file);
	*k = (struct kept){.used = false};
}
