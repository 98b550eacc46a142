/*
 * A recovery with threads that read records for it. Goal: it has the same result as without them,
 * to the byte, and no helper reads its memory once it has ended. Method: random logs, some with
 * damage, recovered alone and with helpers. Where a fault would be hidden otherwise, each side
 * waits for the other: the recovery for a helper to be amid its segment, a helper for the
 * recovery to wait.
 */
#include "support/test.h"
#include "flash_hash.h"
#include "flash/flash_recover.h"
#include "sim/mem_flash.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define HELPERS      3u
#define DEPTH        4u
#define LOGS         rounds(60u, 20u)
#define SEGMENTS     12u
#define FEW_PAGES    3u
#define MANY_PAGES   180u /* their records are more than a job's list has room for */
#define BUCKETS      8192u
#define DEVICE_BYTES ((size_t)SEGMENTS * MANY_PAGES * FLASH_PAGE_BYTES)
#define PAGES_BYTES  ((size_t)FLASH_BUFFERS * MANY_PAGES * FLASH_PAGE_BYTES)
#define HOLD_EVERY   32u
#define SPINS_MAX    50000000u

static struct flash_shard shard;
static struct flash_intents intents;
static struct flash_workers workers;
static struct mem_flash device;
static uint32_t segment_pages, bucket_count;
static uint64_t state;

/* The state that a process leaves, and the result of a recovery. */
static struct left {
	_Alignas(FLASH_PAGE_BYTES) uint8_t pages[PAGES_BYTES];
	uint8_t device[DEVICE_BYTES];
	struct flash_kept kept;
	struct bucket buckets[BUCKETS];
	struct flash_recovered found;
	uint64_t head, mark;
} * now, *left, *alone;
static uint8_t *memory;
static struct flash_change *changes;

static _Thread_local bool is_helper;
static _Thread_local uint32_t hashed;
static _Atomic uint32_t waits, helped;
static bool is_helped;

static uint32_t
draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

static bool
any_job(enum flash_job_state in)
{
	for (uint32_t i = 0; i < FLASH_JOBS; i++)
		if (workers.jobs[i].state == in)
			return true;
	return false;
}

static void
wait_for_helper(void)
{
	for (uint32_t i = 0; is_helped && helped == 0 && any_job(FLASH_JOB_READY); i++) {
		check(i < SPINS_MAX);
		sched_yield();
	}
}

static uint64_t
hash_and_meet(void *arg, struct view key)
{
	if (!is_helper)
		wait_for_helper();
	else if (hashed++ % HOLD_EVERY == 0) {
		const uint32_t had = waits;

		helped++;
		while (waits == had && !workers.over)
			sched_yield();
	}
	return hash_of(arg, key);
}

static void
wait_main(void *arg)
{
	mem_flash_tick(&device, device.now_ns + 1);
	waits++;
	sched_yield();
}

static void
wait_helper(void *arg)
{
	sched_yield();
}

static void *
help(void *arg)
{
	is_helper = true;
	flash_workers_help(&workers, wait_helper, NULL);
	return NULL;
}

static struct flash_shard_config
config(void)
{
	return (struct flash_shard_config){
		.log = {.segments = SEGMENTS, .segment_pages = segment_pages, .live = SEGMENTS - 2},
		.buckets = now->buckets,
		.bucket_count = bucket_count,
		.kept = &now->kept,
		.intents = &intents,
		.pages = now->pages};
}

static bool (*go_on)(void *arg, uint32_t done, uint32_t all);
static uint32_t until;

static void
recover(bool with_helpers)
{
	const struct flash_shard_config c = config();
	const struct flash_recover_config how = {.device = &device.device,
						 .memory = memory,
						 .depth = DEPTH,
						 .shards = 1,
						 .hash = hash_and_meet,
						 .wait = wait_main,
						 .workers = with_helpers ? &workers : NULL,
						 .go_on = go_on};
	pthread_t threads[HELPERS];

	memset(now->buckets, 0, bucket_count * sizeof(struct bucket));
	memset(&intents, 0, sizeof intents);
	flash_workers_init(&workers, changes);
	helped = 0;
	is_helped = with_helpers;
	for (uint32_t i = 0; i < HELPERS && with_helpers; i++)
		check_eq(pthread_create(&threads[i], NULL, help, NULL), 0);
	now->found = flash_shard_recover(&shard, &c, &how);
	/* No helper owns memory of the recovery any more. */
	check(!any_job(FLASH_JOB_TAKEN) && !any_job(FLASH_JOB_READY));
	flash_workers_end(&workers);
	for (uint32_t i = 0; i < HELPERS && with_helpers; i++)
		pthread_join(threads[i], NULL);
	now->head = shard.log.head;
	now->mark = shard.log.mark;
}

static size_t
device_bytes(void)
{
	return (size_t)SEGMENTS * segment_pages * FLASH_PAGE_BYTES;
}

static size_t
pages_bytes(void)
{
	return (size_t)FLASH_BUFFERS * segment_pages * FLASH_PAGE_BYTES;
}

static void
begin(uint32_t pages_of_segment, uint32_t buckets)
{
	if (device.now != NULL)
		mem_flash_close(&device);
	segment_pages = pages_of_segment;
	bucket_count = buckets;
	mem_flash_open(&device, device_bytes(), DEPTH, 1);
	memset(&now->kept, 0, sizeof now->kept);
	memset(now->pages, 0, pages_bytes());
	recover(false);
}

static void
write_full(void)
{
	struct flash_result ended;
	struct flash_io io;

	if (!flash_log_write(&shard.log, &io))
		return;
	check_eq(device.device.ops->submit(&device.device, &io, 1), 1);
	check_eq(device.device.ops->poll(&device.device, &ended, 1), 1);
	flash_log_wrote(&shard.log, (uint32_t)ended.tag, draw(8) == 0 ? -5 : ended.error);
	flash_shard_turn(&shard);
}

static void
put(uint32_t n, uint32_t value_len)
{
	const struct flash_record record = {
		.kind = FLASH_PUT, .key = {(const uint8_t *)&n, sizeof n}, .value_len = value_len};
	struct flash_reserved r;

	write_full();
	if (!flash_shard_reserve(&shard, &record, &r))
		return;
	flash_shard_put(&shard, 0, hash_of_number(n), &r, 0, 0);
	flash_log_release(&shard.log, &r);
}

static void
copy(struct left *to, const struct left *from)
{
	memcpy(to->pages, from->pages, pages_bytes());
	memcpy(to->buckets, from->buckets, bucket_count * sizeof(struct bucket));
	to->kept = from->kept;
	to->found = from->found;
	to->head = from->head;
	to->mark = from->mark;
}

static void
leave(struct left *to)
{
	memcpy(to->device, device.now, device_bytes());
	copy(to, now);
}

static void
restore(void)
{
	copy(now, left);
	memcpy(device.now, left->device, device_bytes());
}

/* Checks that both ways find the same, and leave the same on the device and in memory. */
static void
recover_both_ways(void)
{
	restore();
	recover(false);
	leave(alone);
	restore();
	recover(true);
	check_eq(now->found.segments, alone->found.segments);
	check_eq(now->found.bad, alone->found.bad);
	check_eq(now->found.puts, alone->found.puts);
	check_eq(now->found.unindexed, alone->found.unindexed);
	check_eq(now->head, alone->head);
	check_eq(now->mark, alone->mark);
	check_eq(now->kept.head, alone->kept.head);
	check_eq(now->kept.first, alone->kept.first);
	check_eq(now->kept.unjournaled, alone->kept.unjournaled);
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		check_eq(now->kept.sequence[i], alone->kept.sequence[i]);
	check(memcmp(now->buckets, alone->buckets, bucket_count * sizeof(struct bucket)) == 0);
	check(memcmp(now->pages, alone->pages, pages_bytes()) == 0);
	check(memcmp(device.now, alone->device, device_bytes()) == 0);
}

static void
random_log(void)
{
	const uint32_t keys = 20 + draw(400), records = 50 + draw(800);

	begin(FEW_PAGES, draw(2) == 0 ? 16 : 64);
	for (uint32_t i = 0; i < records; i++) {
		const uint32_t what = draw(200);

		if (what < 40)
			flash_shard_erase(&shard, hash_of_number(draw(keys)));
		else if (what == 40)
			flash_shard_flushed(&shard, shard.generation + 1);
		else
			put(draw(keys), draw(what < 190 ? 60 : 3000));
	}
	if (draw(3) == 0)
		device.now[draw(SEGMENTS * FEW_PAGES * FLASH_PAGE_BYTES)] ^= 1;
	leave(left);
}

TEST(helpers_change_nothing_of_what_is_found)
{
	uint32_t bad = 0, unindexed = 0, many = 0;

	for (uint32_t i = 0; i < LOGS; i++) {
		state = i;
		random_log();
		recover_both_ways();
		bad += alone->found.bad != 0;
		unindexed += alone->found.unindexed != 0;
		many += alone->found.segments > DEPTH && helped != 0;
	}
	print_message("%u logs: %u with bad segments, %u with full indexes, %u with helpers\n",
		      LOGS, bad, unindexed, many);
	check(bad > LOGS / 20);
	check(unindexed != 0);
	check(many > LOGS / 3);
}

TEST(what_a_list_has_no_room_for_is_done_again_too)
{
	uint32_t n = 0;

	state = 1;
	begin(MANY_PAGES, BUCKETS);
	while (shard.log.head < 3)
		put(n++, 0);
	leave(left);
	recover_both_ways();
	check(alone->found.puts > 2 * FLASH_JOB_CHANGES);
	check(helped != 0);
}

/* Stops the recovery at the last call, with a helper amid its segment if any is unread. */
static bool
goes_on(void *arg, uint32_t done, uint32_t all)
{
	if (until-- != 0)
		return true;
	wait_for_helper();
	return false;
}

TEST(a_recovery_that_is_stopped_leaves_nobody_reading)
{
	uint32_t amid = 0, n = 0;

	state = 2;
	begin(FEW_PAGES, 64);
	while (shard.log.head < SEGMENTS - 2)
		put(n++, 40);
	leave(left);
	go_on = goes_on;
	now->found.stopped = true;
	for (uint32_t i = 0; now->found.stopped; i++) {
		restore();
		until = i;
		recover(true);
		amid += now->found.stopped && helped != 0;
	}
	go_on = NULL;
	check(amid > 3);
}

int
main(void)
{
	int failed;

	now = aligned_alloc(FLASH_PAGE_BYTES, sizeof *now);
	left = aligned_alloc(FLASH_PAGE_BYTES, sizeof *left);
	alone = aligned_alloc(FLASH_PAGE_BYTES, sizeof *alone);
	changes = malloc(FLASH_JOBS_BYTES);
	memory = aligned_alloc(FLASH_PAGE_BYTES, (size_t)DEPTH * MANY_PAGES * FLASH_PAGE_BYTES);
	failed = tests_run(NULL, NULL);
	mem_flash_close(&device);
	free(memory);
	free(changes);
	free(alone);
	free(left);
	free(now);
	return failed;
}
