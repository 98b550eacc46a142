/*
 * second_tier.c - makes the tier's parts in order (device, shards, backends, thread), and writes
 * its buffers at a stop.
 */
#include "second_tier.h"
#include "base/time_units.h"
#include "flash/flash_recover.h"
#include "flash_check.h"
#include "process/last_words.h"
#include "serve/serve_rows.h"
#include "image/store_saved.h"
#include "tier_helpers.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define LINE        "clockoo: flash.device: "
#define THREAD_NAME "clockoo-flash"
/* The thread's pause between two rounds without work, at least and at most. */
#define PAUSE_MIN_NS     50000u
#define PAUSE_MAX_NS     5000000u
#define RECOVER_PAUSE_NS 20000u
#define LOCK_PAUSE_MS    50u

static_assert(CONFIG_FLASH_ITEM_MAX <= FLASH_VALUE_MAX, "a record lies in one segment");
static_assert(CORES_MAX + 1 <= FLASH_CORES_MAX, "cores of the store, with the loader");
static_assert(TIER_READS_SMALL + TIER_READS_LARGE <= FLASH_DEPTH_MAX, "a device has all reads");
static_assert(FLASH_BUFFERS * FLASH_SHARDS_MAX + FLASH_CONVERT_TRANSFERS <= FLASH_DEPTH_MAX,
	      "and all writes");

/* ---- the device ---- */

/* Writes the superblock. Its page is aligned, since flash_file_open() uses O_DIRECT. Returns 0 or
 * -errno. */
static int
super_write(struct second_tier *t, bool clean)
{
	_Alignas(FLASH_PAGE_BYTES) uint8_t page[FLASH_SUPER_BYTES] = {0};
	uint64_t offset;

	t->super.counter++;
	t->super.clean = clean;
	offset = flash_super_write(page, &t->super);
	errno = EIO; /* for a short write, which sets no errno */
	return pwrite(t->file.fd, page, sizeof page, (off_t)offset) == (ssize_t)sizeof page &&
			       fdatasync(t->file.fd) == 0
		       ? 0
		       : -errno;
}

static int
super_read(struct second_tier *t)
{
	_Alignas(FLASH_PAGE_BYTES) uint8_t pages[2 * FLASH_SUPER_BYTES] = {0};

	if (pread(t->file.fd, pages, sizeof pages, 0) != (ssize_t)sizeof pages)
		return -errno;
	t->from.had_super = flash_super_read(pages, &t->from.super);
	return 0;
}

static bool
tier_refused(struct second_tier *t, int e, struct error *err)
{
	const char *device = t->of.config->flash.device, *at = t->under.at;

	second_tier_close(t);
	if (e == -EEXIST)
		return error_set(
			err,
			"--flash-device: %s: loop device %s lies over the same file: name one "
			"of both, or detach it (losetup -d)",
			device, at);
	if (e != -EWOULDBLOCK && e != -EBUSY)
		return error_set(err, "--flash-device: %s: %s", device, strerror(-e));
	return error_set(err, "--flash-device: %s: another process has %s%s", device,
			 at[0] != '\0' ? "what it lies on, " : "it", at);
}

/* Tries once to open and lock the device. Also locks the devices below a block device, which its
 * own lock does not cover. */
static int
open_and_lock(struct second_tier *t, const struct config *cfg)
{
	struct flash_file *file = &t->file;
	int e = flash_file_open(file, cfg->flash.device, (uint64_t)cfg->flash.size_mb << 20);

	t->under.at[0] = '\0';
	if (e != 0)
		return e;
	e = flock(file->fd, LOCK_EX | LOCK_NB) != 0
		    ? -errno
		    : flash_under_lock(&t->under, FLASH_UNDER_SYSFS, file->fd);
	if (e != 0)
		flash_file_close(file);
	return e;
}

/* Opens the device, with retries: after a kill, the ring of the old process keeps file and
 * transfers for a while. */
static int
wait_for(struct second_tier *t, const struct config *cfg)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * NS_PER_MS};
	uint32_t waited_ms = 0;
	int e;

	for (; (e = open_and_lock(t, cfg)) == -EWOULDBLOCK || e == -EBUSY;
	     waited_ms += LOCK_PAUSE_MS) {
		if (waited_ms >= MEMORY_FILE_WAIT_MS)
			break;
		nanosleep(&pause, NULL);
	}
	return e;
}

bool
second_tier_open(struct second_tier *t, const struct tier_needs *of, struct error *err)
{
	const struct config *cfg = of->config;
	int e;

	t->of = *of;
	t->file.fd = -1;
	if (cfg->flash.device[0] == '\0')
		return true;
	if (!flash_check(cfg, err))
		return false;
	e = wait_for(t, cfg);
	if (e == 0 && t->under.unopened[0] != '\0')
		fprintf(stderr,
			LINE
			"warning: %s lies on %s, which cannot be opened: nothing keeps another "
			"process from it\n",
			cfg->flash.device, t->under.unopened);
	if (e == 0)
		e = super_read(t);
	t->used = e == 0;
	return t->used || tier_refused(t, e, err);
}

bool
second_tier_open_state(struct second_tier *t, struct error *err)
{
	return !t->used || tier_start_open(&t->from, &t->of, err);
}

bool
second_tier_seed(const struct second_tier *t, uint64_t *seed)
{
	if (!t->used || !t->from.had_super)
		return false;
	*seed = t->from.super.layout.seed;
	return true;
}

/* ---- parts ---- */

static bool
layout_make(struct second_tier *t, uint64_t *random, struct error *err)
{
	const struct flash_plan *p = &t->of.sizes->plan;
	const struct flash_super *before = &t->from.super;

	if (getrandom(random, sizeof *random, 0) != (ssize_t)sizeof *random)
		return error_set(err, "no random numbers from the kernel");
	t->super = (struct flash_super){
		.counter = before->counter,
		.incarnation = before->incarnation + 1,
		.layout = {.device = t->from.had_super ? before->layout.device : *random,
			   .seed = store_seed(t->store),
			   .shards = p->shards,
			   .segments = p->log[0].segments,
			   .segment_pages = FLASH_SEGMENT_PAGES,
			   .buckets = p->log[0].buckets,
			   .columns = p->column.count,
			   .column_buckets = p->column.buckets,
			   .column_pages = p->column.pages,
			   .streams = p->streams,
			   .large_segments = p->log[1].segments,
			   .large_buckets = p->log[1].buckets}};
	return true;
}

static uint64_t
hash_of(void *store, struct view key)
{
	return store_hash(store, key);
}

static void
wait_for_device(void *store)
{
	const struct timespec t = {.tv_nsec = RECOVER_PAUSE_NS};

	nanosleep(&t, NULL);
}

/* Makes the shards. c has the first shard's settings, without its number and place. */
static bool
shards_start(struct second_tier *t, const struct flash_shard_config *c,
	     const struct flash_recover_config *recover, uint64_t random)
{
	const struct flash_plan *p = &t->of.sizes->plan;
	struct flash_shard_config each = *c;
	bool made = true;

	for (uint32_t i = 0; i < p->shards && made; i++) {
		tier_columns_shard(&each, p, i);
		made = tier_start_shard(&t->from, &t->shards[i], &each, recover, random);
		each.buckets += each.bucket_count;
	}
	return made;
}

static bool
shards_make(struct second_tier *t, struct region *region, uint64_t random, struct error *err)
{
	const struct flash_plan *p = &t->of.sizes->plan;
	const size_t bytes = (size_t)FLASH_RECOVER_DEPTH_MAX * FLASH_SEGMENT_BYTES;
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct flash_shard_config c = {
		.log = {.id = {.device = t->super.layout.device,
			       .incarnation = t->super.incarnation},
			.segment_pages = FLASH_SEGMENT_PAGES},
		.buckets = region_take(region, flash_plan_index_bytes(p), CACHE_LINE_BYTES),
		.generation = store_flushes(store_core_of(t->store, 0))};
	struct flash_recover_config recover = {.device = tier_io_device(t->io, 0),
					       .memory = memory,
					       .depth = FLASH_RECOVER_DEPTH_MAX,
					       .shards = p->shards / p->streams,
					       .hash = hash_of,
					       .wait = wait_for_device,
					       .arg = store_core_of(t->store, 0)};
	struct tier_helpers helpers = {0};
	bool made;

	if (memory == MAP_FAILED)
		return error_set(err, "--flash-device: no memory to read it");
	/* the kernel then pins fewer pages at each read */
	madvise(memory, bytes, MADV_HUGEPAGE);
	if (t->from.start != FLASH_COLD)
		recover.workers = tier_helpers_start(&helpers, &t->of.process->all_cpus);
	t->shards = region_take(region, p->shards * sizeof *t->shards, CACHE_LINE_BYTES);
	made = shards_start(t, &c, &recover, random);
	if (!made && t->from.end == TIER_START_TOO_LATE && !t->from.found.hangs) {
		memset(c.buckets, 0, flash_plan_index_bytes(p));
		made = shards_start(t, &c, &recover, random);
	}
	tier_helpers_stop(&helpers);
	munmap(memory, bytes);
	if (!made && t->from.end == TIER_START_STOPPED)
		return error_set_code(err, ERROR_STOPPED,
				      "flash.device: stopped amid its recovery; the next start "
				      "does it again");
	return made || error_set(err, "--flash-device: %s: its reads do not end: check the device",
				 t->of.config->flash.device);
}

static bool
devices_open(struct second_tier *t, struct region *region, struct error *err)
{
	const struct config *cfg = t->of.config;
	const struct tier_sizes *z = t->of.sizes;
	const size_t of_core = tier_sizes_reads(t->of.config);
	struct tier_io_part parts[CORES_MAX + 1] = {
		{t->from.state.pages, t->from.state.pages_bytes,
		 FLASH_BUFFERS * z->plan.shards + FLASH_CONVERT_TRANSFERS}};

	t->reads = region_take(region, z->reads, FLASH_PAGE_BYTES);
	for (uint32_t i = 0; i < cfg->cores; i++)
		parts[1 + i] = (struct tier_io_part){t->reads + i * of_core, of_core,
						     TIER_READS_SMALL + TIER_READS_LARGE};
	t->io = tier_io_open(t->of.process, cfg->flash.io, &t->file, parts, cfg->cores + 1, err);
	return t->io != NULL;
}

static void
tier_make(struct second_tier *t, struct region *region)
{
	const struct tier_sizes *z = t->of.sizes;
	const struct config_flash *f = &t->of.config->flash;
	struct flash_tier_config c = {
		.shards = t->shards,
		.shard_count = z->plan.shards,
		.streams = z->plan.streams,
		.cores = t->of.config->cores,
		.item_max = f->item_max_bytes,
		.flush_due = t->from.state.due,
		.admit_all = f->admit == FLASH_ADMIT_ALL,
		.thread_copies = true,
		.budget = (uint64_t)f->budget_mb << 20,
		.io = tier_io_name(t->io),
	};

	t->convert =
		tier_columns_create(&t->of.sizes->plan, region, t->shards, tier_io_device(t->io, 0),
				    hash_of, store_core_of(t->store, 0));
	c.convert = t->convert;
	if (f->compress)
		c.packers = region_take(region, z->packers, CACHE_LINE_BYTES);
	c.ghosts.count = z->ghosts;
	if (c.ghosts.count != 0) {
		c.ghosts.tags = region_take(region, c.ghosts.count, CACHE_LINE_BYTES);
		memset((void *)c.ghosts.tags, 0, c.ghosts.count);
	}
	t->tier = region_take(region, sizeof *t->tier, CACHE_LINE_BYTES);
	flash_tier_init(t->tier, &c);
	t->writer = (struct flash_writer){.tier = t->tier, .device = tier_io_device(t->io, 0)};
	store_tier_attach(t->store, &t->tier->hooks);
}

bool
second_tier_create(struct second_tier *t, struct region *region, struct store *store,
		   struct error *err)
{
	uint64_t random;

	t->store = store;
	if (!t->used)
		return true;
	if (!layout_make(t, &random, err) || !devices_open(t, region, err))
		return false;
	tier_start_decide(&t->from, store, &t->super.layout);
	if (!shards_make(t, region, random, err))
		return false;
	tier_make(t, region);
	tier_start_end(&t->from);
	fprintf(stderr, LINE "%s: room for %llu items of %u bytes; %s\n",
		t->of.config->flash.device, (unsigned long long)t->of.sizes->plan.items,
		t->of.config->flash.item_size, tier_io_words(t->io));
	return true;
}

void
second_tier_attach(struct second_tier *t, struct region *region, uint32_t core, struct serve *serve)
{
	struct flash_backend_config c = tier_sizes_backend(t->of.config);
	struct flash_backend *asked;
	struct backend backend;
	struct serve_rows rows;

	if (!t->used)
		return;
	c.tier = t->tier;
	c.serve = serve;
	c.store = store_core_of(t->store, core);
	c.device = tier_io_device(t->io, 1 + core);
	c.pages = t->reads + core * tier_sizes_reads(t->of.config);
	c.deadline_ns = t->of.config->flash.deadline_ms * NS_PER_MS;
	asked = flash_backend_create(region, &c);
	backend = flash_backend_of(asked);
	backend_attach(region, serve, &backend);
	rows = flash_backend_rows(asked);
	serve_rows_attach(serve, &rows);
}

/* ---- the thread ---- */

static void
pause_for(uint32_t ns)
{
	const struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void *
work(void *arg)
{
	struct second_tier *t = arg;
	uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
	uint32_t pause_ns = PAUSE_MIN_NS;

	last_words_thread("the writer of flash");
	process_pin(t->of.process);
	/* relaxed: `stop` carries no data */
	while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
		const bool did = flash_writer_work(&t->writer, clock_ns(CLOCK_MONOTONIC));
		const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

		flash_tier_earn(t->tier, now_ns - before_ns);
		before_ns = now_ns;
		if (!did)
			pause_for(pause_ns);
		pause_ns = did                           ? PAUSE_MIN_NS
			   : pause_ns < PAUSE_MAX_NS / 2 ? 2 * pause_ns
							 : PAUSE_MAX_NS;
	}
	return NULL;
}

bool
second_tier_start(struct second_tier *t, struct error *err)
{
	int e;

	if (!t->used) {
		tier_start_none(&t->of);
		return true;
	}
	/* The superblock has two copies. Both are written, since a bad page must not restore an
	 * older CLEAN. */
	e = super_write(t, false);
	e = e != 0 ? e : super_write(t, false);
	if (e != 0)
		return error_set(err, "--flash-device: %s: cannot be written: %s",
				 t->of.config->flash.device, strerror(-e));
	tier_start_serve(&t->from, &t->super, &t->tier->health);
	e = pthread_create(&t->thread, NULL, work, t);
	t->runs = e == 0;
	if (t->runs)
		pthread_setname_np(t->thread, THREAD_NAME);
	return t->runs ||
	       error_set(err, "cannot start the thread of --flash-device: %s", strerror(e));
}

void
second_tier_change(struct second_tier *t, const struct config_flash *now)
{
	if (t->used)
		flash_tier_change_mt(t->tier, now->admit == FLASH_ADMIT_ALL,
				     (uint64_t)now->budget_mb << 20);
}

/* ---- the stop ---- */

/* Returns the number of segments that are not on flash yet. *failed: some could not be written. */
static uint32_t
count_buffers(const struct second_tier *t, bool *failed)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < t->tier->c.shard_count; i++)
		for (uint32_t b = 0; b < FLASH_BUFFERS; b++) {
			const uint32_t state = atomic_load_explicit(
				&t->shards[i].log.buffer[b].state, memory_order_relaxed);

			*failed |= state == FLASH_FAILED;
			left += state == FLASH_CLOSED || state == FLASH_WRITING;
		}
	return left;
}

/* Writes all buffers to flash. True if all of them are on it. */
static bool
write_all(struct second_tier *t)
{
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_TIER_LEAVE_S * NS_PER_S;
	bool failed = false, whole = true;

	for (uint32_t i = 0; i < t->tier->c.shard_count; i++)
		flash_log_close(&t->shards[i].log);
	while (count_buffers(t, &failed) != 0) {
		if (clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return false;
		if (!flash_writer_work(&t->writer, clock_ns(CLOCK_MONOTONIC)))
			pause_for(PAUSE_MIN_NS);
	}
	for (uint32_t i = 0; i < t->tier->c.shard_count && !failed; i++)
		whole &= flash_shard_leave(&t->shards[i], &(struct flash_recover_config){0});
	tier_columns_leave(t->shards, t->tier->c.shard_count, tier_io_device(t->io, 0), &t->super);
	return whole && !failed && fdatasync(t->file.fd) == 0;
}

static bool
leave(struct second_tier *t)
{
	if (flash_health_off(&t->tier->health) != FLASH_ON || !write_all(t))
		return false;
	tier_start_leave(&t->from, &t->super);
	for (uint32_t i = 0; i < t->tier->c.shard_count; i++) {
		t->super.shard[i].head = t->shards[i].log.kept->head;
		t->super.shard[i].first = t->shards[i].log.kept->first;
	}
	return super_write(t, true) == 0;
}

static void
end_thread(struct second_tier *t)
{
	if (!t->runs)
		return;
	atomic_store_explicit(&t->stop, true, memory_order_relaxed);
	pthread_join(t->thread, NULL);
	t->runs = false;
}

void
second_tier_stop(struct second_tier *t)
{
	if (!t->runs)
		return;
	end_thread(t);
	if (leave(t))
		flash_state_end(&t->from.state);
	else if (flash_health_off(&t->tier->health) == FLASH_ON)
		fprintf(stderr, LINE "not all of it could be written\n");
}

void
second_tier_tick(struct second_tier *t)
{
	if (t->used)
		tier_start_tick(&t->from, &t->tier->health);
}

/* Frees the tier. If transfers hang, the device keeps its memory until the process ends. */
void
second_tier_close(struct second_tier *t)
{
	end_thread(t);

	const bool ended = t->io == NULL || tier_io_close(t->io);

	flash_state_close(&t->from.state);
	if (t->file.fd >= 0 && ended)
		flash_file_close(&t->file);
	if (ended)
		flash_under_unlock(&t->under);
	t->io = NULL;
	t->used = false;
}
