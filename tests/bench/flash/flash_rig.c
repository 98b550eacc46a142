/*
 * flash_rig.c - a shard, its device, and gets of many keys at once.
 */
#include "flash_asks.h"
#include "flash_rig.h"

#include "base/hash.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FULL          0.985 /* share of the index's slots */
#define TURN_EVERY    32u   /* puts between two turns */
#define TRIES_MAX     100000000u
#define BUFFERS_BYTES ((size_t)FLASH_BUFFERS * FLASH_SEGMENT_BYTES)
#define VALUE_MAX     FLASH_RIG_VALUE_MAX
#define AT_ONCE_SHARE 4u /* reads that end together, as a part of the depth */

/* ---- memory as a device ---- */

static uint32_t
ram_submit(struct flash_device *device, const struct flash_io *ios, uint32_t n)
{
	struct ram_device *ram = (struct ram_device *)device;
	uint32_t taken = 0;

	for (; taken < n && ram->count < device->depth; taken++) {
		const struct flash_io *io = &ios[taken];

		if (io->kind == FLASH_READ)
			memcpy(io->data, ram->bytes + io->offset, io->len);
		else if (io->kind == FLASH_WRITE)
			memcpy(ram->bytes + io->offset, io->data, io->len);
		ram->reads += io->kind == FLASH_READ;
		ram->read_bytes += io->kind == FLASH_READ ? io->len : 0;
		ram->write_bytes += io->kind == FLASH_WRITE ? io->len : 0;
		ram->ended[ram->count++] = (struct flash_result){.tag = io->tag};
	}
	return taken;
}

static uint32_t
ram_poll(struct flash_device *device, struct flash_result *results, uint32_t n)
{
	struct ram_device *ram = (struct ram_device *)device;
	uint32_t count = 0;

	while (count < n && ram->count != 0)
		results[count++] = ram->ended[--ram->count];
	return count;
}

static const struct flash_device_ops ram_ops = {ram_submit, ram_poll};

void
ram_device_open(struct ram_device *ram, uint64_t bytes, uint32_t depth)
{
	*ram = (struct ram_device){.device = {&ram_ops, bytes, depth}, .bytes = bench_map(bytes)};
}

void
ram_device_close(struct ram_device *ram)
{
	bench_unmap(ram->bytes, ram->device.bytes);
}

/* ---- a shard ---- */

static void
fail(const char *words, int error)
{
	fprintf(stderr, "flash_trial: %s: %s\n", words, strerror(error));
	exit(1);
}

static uint32_t
record_bytes(const struct flash_rig_config *c)
{
	return FLASH_RECORD_HEAD + (c->long_cas ? 1 : 0) + BENCH_KEY_BYTES + c->value_bytes;
}

/* Returns the device's depth. Gets that read a second time may need as many transfers again. */
static uint32_t
device_depth(const struct flash_rig *rig)
{
	return 2 * rig->c.depth + FLASH_BUFFERS;
}

static void
open_device(struct flash_rig *rig)
{
	if (rig->c.path == NULL) {
		ram_device_open(&rig->ram, rig->c.bytes, device_depth(rig));
		rig->device = &rig->ram.device;
		return;
	}

	int e = flash_file_open(&rig->file, rig->c.path, rig->c.bytes);

	if (e == 0)
		e = flash_uring_open(&rig->uring, &rig->file, device_depth(rig), rig->memory,
				     rig->memory_bytes);
	if (e != 0)
		fail(rig->c.path, -e);
	fprintf(stderr, "%s\n", flash_uring_words(&rig->uring));
	rig->device = &rig->uring.device;
}

static struct flash_shard_config
shard_config(struct flash_rig *rig)
{
	const uint32_t segments = (uint32_t)(rig->c.bytes / FLASH_SEGMENT_BYTES);
	const uint32_t live = segments - segments / 16 - 1;
	const uint64_t room = (uint64_t)live * (FLASH_SEGMENT_PAGES - 1) * FLASH_PAYLOAD_BYTES;
	const uint64_t items = rig->c.items != 0 ? rig->c.items : room / record_bytes(&rig->c);
	const uint32_t buckets = (uint32_t)((double)items / (BUCKET_SLOTS * FULL)) + 2;

	return (struct flash_shard_config){.log = {.id = {.device = RIG_SEED},
						   .segments = segments,
						   .segment_pages = FLASH_SEGMENT_PAGES,
						   .live = live},
					   .bucket_count = align_up(buckets, 2),
					   .kept = &rig->kept,
					   .intents = &rig->intents,
					   .pages = rig->memory};
}

void
flash_rig_open(struct flash_rig *rig, const struct flash_rig_config *config)
{
	const size_t gets = (size_t)2 * config->depth * RIG_SMALL_PAGES * FLASH_PAGE_BYTES;
	const size_t asks = flash_asks_read_bytes(config->depth);
	const size_t reads = gets > asks ? gets : asks;
	const size_t segments = (size_t)FLASH_RECOVER_DEPTH_MAX * FLASH_SEGMENT_BYTES;
	const struct flash_tier_config t = {.shards = &rig->shard,
					    .shard_count = 1,
					    .cores = 1,
					    .item_max = VALUE_MAX,
					    .admit_all = true};

	memset(rig, 0, sizeof *rig);
	rig->c = *config;
	ensure(config->value_bytes % 8 == 0 && config->value_bytes <= VALUE_MAX);
	rig->memory_bytes = BUFFERS_BYTES + reads + segments;
	rig->memory = bench_map(rig->memory_bytes);
	rig->reads = rig->memory + BUFFERS_BYTES;
	rig->segments = rig->reads + reads;
	if (config->workers != 0)
		rig->changes = bench_map(FLASH_JOBS_BYTES);
	open_device(rig);
	rig->shard_config = shard_config(rig);
	rig->shard_config.buckets =
		bench_map(rig->shard_config.bucket_count * sizeof(struct bucket));
	flash_tier_init(&rig->tier, &t);
	rig->writer = (struct flash_writer){.tier = &rig->tier, .device = rig->device};
	flash_shard_init(&rig->shard, &rig->shard_config);
}

void
flash_rig_close(struct flash_rig *rig)
{
	if (rig->c.path == NULL)
		ram_device_close(&rig->ram);
	else if (!flash_uring_close(&rig->uring))
		fail("the device does not end", ETIMEDOUT);
	else
		flash_file_close(&rig->file);
	bench_unmap(rig->shard_config.buckets,
		    rig->shard_config.bucket_count * sizeof(struct bucket));
	bench_unmap(rig->memory, rig->memory_bytes);
	if (rig->c.workers != 0)
		bench_unmap(rig->changes, FLASH_JOBS_BYTES);
}

uint64_t
flash_rig_hash(void *rig, struct view key)
{
	return hash_bytes(key.data, key.len, RIG_SEED);
}

size_t
flash_rig_fixed_bytes(const struct flash_rig *rig)
{
	return BUFFERS_BYTES + sizeof rig->shard + sizeof rig->kept;
}

/* ---- items ---- */

static struct view
key_view(const struct bench_key *k)
{
	return (struct view){(const uint8_t *)k, sizeof *k};
}

static void
value_of(uint64_t n, uint64_t *words, uint32_t count)
{
	uint64_t x = bench_mix(n);

	for (uint32_t i = 0; i < count; i++)
		words[i] = x += 0x9e3779b97f4a7c15ull;
}

static void
turn(struct flash_rig *rig)
{
	flash_writer_work(&rig->writer, bench_ns());
	flash_tier_turn(&rig->tier, 0, 1, 0);
}

static void
reserve(struct flash_rig *rig, const struct flash_record *record, struct flash_reserved *r)
{
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		if (flash_shard_reserve(&rig->shard, record, r))
			return;
		turn(rig);
		sched_yield();
	}
	fail("no buffer becomes free", ETIMEDOUT);
}

bool
flash_rig_put(struct flash_rig *rig, uint64_t n)
{
	const struct bench_key key = bench_key_of(n);
	const struct flash_record record = {.kind = FLASH_PUT,
					    .value_len = rig->c.value_bytes,
					    .cas = n + (rig->c.long_cas ? RIG_CAS_LONG : 1),
					    .key = key_view(&key)};
	uint64_t words[VALUE_MAX / 8];
	struct flash_reserved r;

	value_of(n, words, rig->c.value_bytes / 8);
	if (n % TURN_EVERY == 0)
		turn(rig);
	reserve(rig, &record, &r);
	flash_log_fill(&rig->shard.log, &r, 0, words, rig->c.value_bytes);

	const bool there =
		flash_shard_put(&rig->shard, 0, flash_rig_hash(rig, record.key), &r, 0, 0);

	flash_log_release(&rig->shard.log, &r);
	return there;
}

static void
yield_cpu(void *arg)
{
	sched_yield();
}

static struct flash_recover_config
recover_config(struct flash_rig *rig)
{
	return (struct flash_recover_config){.device = rig->device,
					     .memory = rig->segments,
					     .depth = FLASH_RECOVER_DEPTH_MAX,
					     .shards = 1,
					     .hash = flash_rig_hash,
					     .wait = yield_cpu,
					     .arg = rig};
}

void
flash_rig_leave(struct flash_rig *rig)
{
	const struct flash_recover_config c = recover_config(rig);

	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		while (rig->shard.log.buffer[i].state >= FLASH_CLOSED)
			turn(rig);
	if (!flash_shard_leave(&rig->shard, &c))
		fail("a segment was not written", EIO);
}

static void *
help(void *arg)
{
	struct flash_rig *rig = arg;
	const uint64_t from = bench_cpu_ns();

	flash_workers_help(&rig->workers, yield_cpu, rig);
	__atomic_fetch_add(&rig->workers_cpu_ns, bench_cpu_ns() - from, __ATOMIC_RELAXED);
	return NULL;
}

struct flash_recovered
flash_rig_recover(struct flash_rig *rig)
{
	struct flash_recover_config c = recover_config(rig);
	pthread_t threads[RIG_WORKERS_MAX];
	struct flash_recovered found;

	c.workers = rig->c.workers != 0 ? &rig->workers : NULL;
	rig->workers_cpu_ns = 0;
	flash_workers_init(&rig->workers, rig->changes);
	for (uint32_t i = 0; i < rig->c.workers; i++)
		if (pthread_create(&threads[i], NULL, help, rig) != 0)
			fail("a thread", EAGAIN);
	found = flash_shard_recover(&rig->shard, &rig->shard_config, &c);
	flash_workers_end(&rig->workers);
	for (uint32_t i = 0; i < rig->c.workers; i++)
		pthread_join(threads[i], NULL);
	return found;
}

/* Sleeps until `ends` reads have ended. CPU time then covers the work, not repeated polling. */
void
flash_rig_sleep(struct flash_rig *rig, uint32_t ends)
{
	struct io_uring_cqe *cqe;

	if (rig->c.path != NULL)
		io_uring_wait_cqe_nr(&rig->uring.ring, &cqe, ends);
}

struct flash_result
flash_rig_poll(struct flash_rig *rig)
{
	struct flash_result r = {0};

	for (uint32_t i = 0; rig->device->ops->poll(rig->device, &r, 1) == 0; i++) {
		ensure(i < TRIES_MAX);
		flash_rig_sleep(rig, 1);
	}
	if (r.error != 0)
		fail("a transfer", -r.error);
	return r;
}

/* ---- gets ---- */

/* A get in progress. */
struct get {
	uint64_t n, hash;
	struct bench_key key;
	struct flash_look look;
	uint32_t at, reads;
	uint8_t *pages;
};

struct batch {
	struct flash_io ios[FLASH_DEPTH_MAX];
	uint32_t count;
};

static void
submit(struct flash_rig *rig, struct batch *b)
{
	const uint32_t taken =
		b->count == 0 ? 0 : rig->device->ops->submit(rig->device, b->ios, b->count);

	ensure(taken == b->count);
	b->count = 0;
}

static void
look(struct flash_rig *rig, struct get *g)
{
	g->look = (struct flash_look){0};
	do
		flash_look_begin(&rig->shard, &g->look);
	while (!flash_look_end(&rig->shard, &g->look, g->hash));
	g->at = 0;
}

bool
flash_rig_is_value(const struct flash_rig *rig, uint64_t n, const void *value)
{
	uint64_t want[VALUE_MAX / 8];

	value_of(n, want, rig->c.value_bytes / 8);
	return memcmp(value, want, rig->c.value_bytes) == 0;
}

static void
check_value(const struct flash_rig *rig, const struct get *g, const struct flash_found *found)
{
	uint64_t have[VALUE_MAX / 8];

	ensure(found->record.value_len == rig->c.value_bytes);
	flash_payload_get(g->pages, found->walk.value_at, have, rig->c.value_bytes);
	ensure(flash_rig_is_value(rig, g->n, have));
}

/* Judges a record. True: the get has ended. */
static bool
judge(struct flash_rig *rig, struct get *g, bool was_buffer, struct flash_gets *sum)
{
	struct flash_found found;

	switch (flash_read_judge(&rig->shard, &g->look.at[g->at], g->pages, was_buffer,
				 key_view(&g->key), &found)) {
	case FLASH_FOUND:
		check_value(rig, g, &found);
		sum->found++;
		sum->flash_found += !was_buffer;
		sum->flash_reads += was_buffer ? 0 : g->reads;
		return true;
	case FLASH_OTHER:
		g->at++;
		return false;
	case FLASH_AGAIN:
		look(rig, g);
		return false;
	default:
		fail("a record cannot be read", EIO);
		return true;
	}
}

/* Continues a get. True: it has ended; otherwise its read is in the batch. */
static bool
go_on(struct flash_rig *rig, struct get *g, uint64_t tag, struct batch *b, struct flash_gets *sum)
{
	while (g->at < g->look.count) {
		const struct flash_candidate *at = &g->look.at[g->at];
		const uint32_t pages = flash_location_pages(at->location);

		ensure(pages <= RIG_SMALL_PAGES);
		if (!flash_read_buffer(&rig->shard, at, g->pages)) {
			b->ios[b->count++] = (struct flash_io){
				.tag = tag,
				.offset = flash_log_offset(&rig->shard.log, at->location),
				.data = g->pages,
				.len = pages * FLASH_PAGE_BYTES,
				.kind = FLASH_READ};
			g->reads++;
			sum->reads++;
			sum->pages += pages;
			return false;
		}
		sum->buffered++;
		if (judge(rig, g, true, sum))
			return true;
	}
	return true;
}

/* The gets of one call. Ended ones are judged while others replace them. */
struct gets {
	struct get get[2 * FLASH_DEPTH_MAX];
	uint32_t idle[2 * FLASH_DEPTH_MAX], idle_count;
	uint32_t under_way;
	uint64_t first, of, count, random; /* first, of: range of items; count: gets to make */
	struct batch b;
	struct flash_gets sum;
};

/* Begins the next gets, until one of them has to read. False: none is left. */
static bool
begin(struct flash_rig *rig, struct gets *all, uint64_t tag)
{
	struct get *g = &all->get[tag];

	while (all->sum.asked < all->count) {
		g->n = all->first + bench_random(&all->random) % all->of;
		g->key = bench_key_of(g->n);
		g->hash = flash_rig_hash(rig, key_view(&g->key));
		g->reads = 0;
		all->sum.asked++;
		look(rig, g);
		if (!go_on(rig, g, tag, &all->b, &all->sum))
			return true;
	}
	return false;
}

uint32_t
flash_rig_at_once(const struct flash_rig *rig)
{
	return rig->c.depth / AT_ONCE_SHARE + 1;
}

static void
begin_all(struct flash_rig *rig, struct gets *all)
{
	while (all->under_way < rig->c.depth && begin(rig, all, all->idle[all->idle_count - 1])) {
		all->idle_count--;
		all->under_way++;
	}
	submit(rig, &all->b);
}

static void
judge_all(struct flash_rig *rig, struct gets *all, const struct flash_result *ended, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t tag = ended[i].tag;
		struct get *g = &all->get[tag];

		ensure(ended[i].error == 0);
		if (judge(rig, g, false, &all->sum) || go_on(rig, g, tag, &all->b, &all->sum))
			all->idle[all->idle_count++] = (uint32_t)tag;
		else
			all->under_way++;
	}
	submit(rig, &all->b);
}

struct flash_gets
flash_rig_get(struct flash_rig *rig, uint64_t first, uint64_t of, uint64_t count, uint64_t seed)
{
	static struct gets all;
	struct flash_result ended[2 * FLASH_DEPTH_MAX];
	uint32_t n = 0;

	all.first = first;
	all.of = of;
	all.count = count;
	all.random = seed;
	all.sum = (struct flash_gets){0};
	all.idle_count = 2 * rig->c.depth;
	for (uint32_t i = 0; i < all.idle_count; i++) {
		all.get[i].pages = rig->reads + (size_t)i * RIG_SMALL_PAGES * FLASH_PAGE_BYTES;
		all.idle[i] = i;
	}
	do {
		begin_all(rig, &all);
		judge_all(rig, &all, ended, n);
		n = 0;
		if (all.under_way != 0) {
			flash_rig_sleep(rig, all.under_way < flash_rig_at_once(rig)
						     ? all.under_way
						     : flash_rig_at_once(rig));
			ended[0] = flash_rig_poll(rig);
			n = 1 + rig->device->ops->poll(rig->device, ended + 1, rig->c.depth - 1);
			all.under_way -= n;
		}
	} while (n != 0);
	return all.sum;
}

static void
read_any(struct flash_rig *rig, struct batch *b, uint64_t tag, double two_pages, uint64_t *random)
{
	/* Only segments that were written are read: a file system has nothing to read for
	 * others. */
	const struct flash_log *log = &rig->shard.log;
	const uint64_t sequence = 1 + bench_random(random) % log->head;
	const uint32_t page = (uint32_t)(bench_random(random) % (FLASH_SEGMENT_PAGES - 1));
	const bool two = (double)(bench_random(random) >> 11) * 0x1p-53 < two_pages;

	b->ios[b->count++] = (struct flash_io){
		.tag = tag,
		.offset = flash_log_offset(log, flash_location(flash_slot(log, sequence), page, 1)),
		.data = rig->reads + tag * RIG_SMALL_PAGES * FLASH_PAGE_BYTES,
		.len = (two ? 2 : 1) * FLASH_PAGE_BYTES,
		.kind = FLASH_READ};
}

void
flash_rig_read_raw(struct flash_rig *rig, uint64_t count, double two_pages, uint64_t seed)
{
	static struct batch b;
	uint64_t begun = 0, done = 0;

	for (; begun < rig->c.depth && begun < count; begun++)
		read_any(rig, &b, begun, two_pages, &seed);
	while (done < count) {
		struct flash_result ended[FLASH_DEPTH_MAX];
		uint32_t n;

		submit(rig, &b);
		flash_rig_sleep(rig, begun - done < flash_rig_at_once(rig)
					     ? (uint32_t)(begun - done)
					     : flash_rig_at_once(rig));
		ended[0] = flash_rig_poll(rig);
		n = 1 + rig->device->ops->poll(rig->device, ended + 1, rig->c.depth - 1);
		done += n;
		for (uint32_t i = 0; i < n && begun < count; i++, begun++)
			read_any(rig, &b, ended[i].tag, two_pages, &seed);
	}
}
