/*
 * test_flash_threads.c - flash devices whose transfers helper threads make.
 *
 * Goal:   a transfer is made once, by one helper, and its end is polled once, for any answer of
 *         the kernel and any number of helpers; no helper sleeps while a transfer waits; a stop
 *         begins no more transfers.
 * Method: the kernel's calls are this test's: they answer as a table says, count, and wait where
 *         a test holds them. First without threads, a transfer at a time; then with helpers,
 *         whose ends are polled until they arrive, or for TRIES_MAX pauses. Mutants
 *         (stress/mutants.py) break each rule.
 */
#include "flash/flash_threads.h"
#include "sim/sim_rng.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define QUEUES      2u
#define HELPERS     3u
#define DEPTH       16u
#define PAGES       3u /* in a transfer */
#define PAGES_BYTES (PAGES * FLASH_PAGE)
#define BYTES       ((uint64_t)FLASH_DEPTH_MAX * PAGES_BYTES)
#define FD          77
#define ANSWERS     12u
#define WHOLE       INT64_MAX /* an answer: all bytes requested */
#define TRANSFERS   rounds(200000u, 40000u)
#define SLEEPS      rounds(20000u, 4000u)
#define TRIES_MAX   tries_max() /* a minute */
#define ASLEEP_MAX  10000u
#define YIELDS      2000u /* polls without a pause */
#define PAUSE_US    500u

/* ---- the kernel ---- */

static struct {
	int64_t answers[ANSWERS]; /* of the next calls; later calls transfer all */
	uint32_t answer_count, asked;
	struct iovec parts[ANSWERS]; /* of the first calls */
	off_t offsets[ANSWERS];
	_Atomic bool held;     /* calls wait */
	_Atomic(void *) alone; /* NULL or the only memory whose calls wait */
	_Atomic uint32_t inside;
} kernel;

/* Returns the count of calls of a page, which is its first word. */
static _Atomic uint32_t *
calls_of(void *data)
{
	return data;
}

/* Answers a call. One thread at a time calls this while there are answers. */
static ssize_t
answer(const struct iovec *part, off_t offset)
{
	int64_t n = WHOLE;

	atomic_fetch_add(&kernel.inside, 1);
	while (atomic_load(&kernel.held) &&
	       (atomic_load(&kernel.alone) == NULL || atomic_load(&kernel.alone) == part->iov_base))
		sched_yield();
	if (kernel.answer_count != 0 && kernel.asked < ANSWERS) {
		kernel.parts[kernel.asked] = *part;
		kernel.offsets[kernel.asked] = offset;
		if (kernel.asked < kernel.answer_count)
			n = kernel.answers[kernel.asked];
		kernel.asked++;
	}
	atomic_fetch_sub(&kernel.inside, 1);
	if (n < 0)
		errno = (int)-n;
	return n < 0 ? -1 : n == WHOLE ? (ssize_t)part->iov_len : n;
}

ssize_t
preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	check(fd == FD && count == 1);
	atomic_fetch_add(calls_of(parts->iov_base), 1);
	return answer(parts, offset);
}

ssize_t
pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	return preadv(fd, parts, count, offset);
}

int
fdatasync(int fd)
{
	check_eq(fd, FD);
	return answer(&(struct iovec){0}, 0) < 0 ? -1 : 0;
}

/* ---- rig ---- */

struct rig {
	struct flash_queue queues[QUEUES];
	struct flash_threads threads;
	pthread_t helpers[HELPERS];
	uint32_t helper_count;
	uint8_t *memory[QUEUES]; /* PAGES_BYTES for each tag */
	bool under_way[QUEUES][FLASH_DEPTH_MAX];
};

static void *
help(void *threads)
{
	flash_threads_help(threads, 0);
	return NULL;
}

static struct rig *
rig_open(uint32_t depth, uint32_t helpers)
{
	const struct flash_file file = {FD, BYTES};
	struct rig *r = aligned_alloc(CACHE_LINE_BYTES, sizeof *r);

	check_ptr(r);
	*r = (struct rig){.helper_count = helpers};
	memset(&kernel, 0, sizeof kernel);
	flash_threads_init(&r->threads, r->queues, QUEUES);
	for (uint32_t q = 0; q < QUEUES; q++) {
		flash_queue_open(&r->queues[q], &r->threads, &file, depth);
		r->memory[q] = aligned_alloc(FLASH_PAGE, BYTES);
		check_ptr(r->memory[q]);
		memset(r->memory[q], 0, BYTES);
	}
	for (uint32_t i = 0; i < helpers; i++)
		check_eq(pthread_create(&r->helpers[i], NULL, help, &r->threads), 0);
	return r;
}

static void
end_helpers(struct rig *r)
{
	flash_threads_end(&r->threads);
	atomic_store(&kernel.held, false);
	while (r->helper_count != 0)
		check_eq(pthread_join(r->helpers[--r->helper_count], NULL), 0);
}

static void
rig_close(struct rig *r)
{
	end_helpers(r);
	for (uint32_t q = 0; q < QUEUES; q++)
		free(r->memory[q]);
	free(r);
}

static uint8_t *
data_of(struct rig *r, uint32_t q, uint64_t tag)
{
	return r->memory[q] + tag * PAGES_BYTES;
}

static uint32_t
submit_one(struct rig *r, uint32_t q, uint32_t tag, enum flash_io_kind kind)
{
	const struct flash_io io = {tag, (uint64_t)tag * PAGES_BYTES, data_of(r, q, tag),
				    PAGES_BYTES, kind};

	return r->queues[q].device.ops->submit(&r->queues[q].device, &io, 1);
}

static uint32_t
poll(struct rig *r, uint32_t q, struct flash_result *results, uint32_t count)
{
	return r->queues[q].device.ops->poll(&r->queues[q].device, results, count);
}

static bool
work(struct rig *r)
{
	return flash_threads_work(&r->threads, &(uint32_t){0});
}

/* ---- without threads ---- */

TEST(what_the_kernel_answers_is_the_transfers_end)
{
	static const struct {
		int64_t answers[ANSWERS];
		uint32_t count, calls;
		int32_t error;
		bool of_sync;
	} cases[] = {
		{{0}, 0, 1, 0, true},
		{{-EIO}, 1, 1, -EIO, true},
		{{-ENOSPC}, 1, 1, -ENOSPC, true},
		{{-ENODEV}, 1, 1, -ENODEV, true},
		{{-EAGAIN, -EINTR, WHOLE}, 3, 3, 0, true},
		{{-EINTR, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR, WHOLE}, 8, 8, 0, true},
		{{-EINTR, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR},
		 8,
		 8,
		 -EINTR,
		 true},
		{{-EAGAIN, -EAGAIN, -EAGAIN, -EAGAIN, -EAGAIN, -EAGAIN, -EAGAIN, -EAGAIN},
		 8,
		 8,
		 -EAGAIN,
		 true},
		{{0}, 1, 1, -EIO, false},
		{{512}, 1, 1, -EIO, false},
		{{FLASH_PAGE + 512}, 1, 1, -EIO, false},
		{{FLASH_PAGE, WHOLE}, 2, 2, 0, false},
		{{FLASH_PAGE, FLASH_PAGE, FLASH_PAGE}, 3, 3, 0, false},
		{{2 * FLASH_PAGE, 0}, 2, 2, -EIO, false},
		{{FLASH_PAGE, -EINTR, -ENOSPC}, 3, 3, -ENOSPC, false},
	};
	static const enum flash_io_kind kinds[] = {FLASH_READ, FLASH_WRITE, FLASH_SYNC};
	struct rig *r = rig_open(1, 0);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (size_t k = 0; k < 2u + cases[i].of_sync; k++) {
			struct flash_result result;

			memset(&kernel, 0, sizeof kernel);
			memcpy(kernel.answers, cases[i].answers, sizeof kernel.answers);
			kernel.answer_count = cases[i].count;
			check_eq(submit_one(r, 0, 0, kinds[k]), 1);
			check_eq(poll(r, 0, &result, 1), 0);
			check(work(r));
			check(!work(r));
			check_eq(poll(r, 0, &result, 1), 1);
			check_eq(result.error, cases[i].error);
			check(kernel.asked == cases[i].calls || cases[i].count == 0);
		}
	rig_close(r);
}

TEST(the_rest_of_a_short_transfer_is_asked_for_where_it_is)
{
	struct rig *r = rig_open(2, 0);

	kernel.answers[0] = FLASH_PAGE;
	kernel.answers[1] = -EINTR;
	kernel.answer_count = 2;
	check_eq(submit_one(r, 0, 1, FLASH_READ), 1);
	check(work(r));
	check_eq(kernel.asked, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t done = i == 0 ? 0 : FLASH_PAGE;

		check_eq(kernel.offsets[i], PAGES_BYTES + done);
		check_eq(kernel.parts[i].iov_len, PAGES_BYTES - done);
		check(kernel.parts[i].iov_base == data_of(r, 0, 1) + done);
	}
	rig_close(r);
}

/* The positions of a ring wrap several times. */
TEST(a_full_ring_takes_no_more_and_all_of_it_is_made)
{
	struct rig *r = rig_open(FLASH_DEPTH_MAX, 0);
	struct flash_result results[FLASH_DEPTH_MAX];

	for (uint32_t round = 0; round < 4; round++) {
		uint32_t n = 0;

		for (uint32_t tag = 0; tag < FLASH_DEPTH_MAX; tag++)
			check_eq(submit_one(r, 0, tag, FLASH_READ), 1);
		check_eq(submit_one(r, 0, 0, FLASH_READ), 0);
		while (work(r))
			n++;
		check_eq(n, FLASH_DEPTH_MAX);
		check_eq(submit_one(r, 0, 0, FLASH_READ), 0);
		check_eq(poll(r, 0, results, 3), 3);
		check_eq(poll(r, 0, results + 3, FLASH_DEPTH_MAX), FLASH_DEPTH_MAX - 3);
		for (uint32_t tag = 0; tag < FLASH_DEPTH_MAX; tag++)
			check_eq(atomic_load(calls_of(data_of(r, 0, tag))), round + 1);
		/* The next round begins at another position. */
		check_eq(submit_one(r, 1, round, FLASH_READ), 1);
		check(work(r));
		check_eq(poll(r, 1, results, 1), 1);
	}
	rig_close(r);
}

TEST(queues_are_served_in_turn)
{
	struct rig *r = rig_open(DEPTH, 0);
	uint32_t at = 0;

	for (uint32_t q = 0; q < QUEUES; q++)
		for (uint32_t tag = 0; tag < 4; tag++)
			check_eq(submit_one(r, q, tag, FLASH_WRITE), 1);
	for (uint32_t tag = 0; tag < 4; tag++)
		for (uint32_t q = 0; q < QUEUES; q++) {
			struct flash_result result;

			check(flash_threads_work(&r->threads, &at));
			check_eq(poll(r, q, &result, 1), 1);
			check_eq(result.tag, tag);
		}
	check(!flash_threads_work(&r->threads, &at));
	rig_close(r);
}

/* A wake is a system call and a step of the word that helpers sleep on. */
TEST(a_submit_wakes_only_if_a_helper_sleeps)
{
	struct rig *r = rig_open(DEPTH, 0);

	check_eq(submit_one(r, 0, 0, FLASH_READ), 1);
	check_eq(atomic_load(&r->threads.signal), 0);
	atomic_store(&r->threads.asleep, 1);
	check_eq(submit_one(r, 0, 1, FLASH_READ), 1);
	check_eq(atomic_load(&r->threads.signal), 1);
	rig_close(r);
}

/* ---- with helpers ---- */

/* Returns how often an end is looked for: for a minute, as the machine may be busy. A mutant loses
 * it, so there IS_MUTANT is set and two seconds do. */
static uint32_t
tries_max(void)
{
	return getenv("IS_MUTANT") != NULL ? 4000 : 120000;
}

/* Returns the ends of transfers of a queue; 0 if none arrived in time. */
static uint32_t
wait_for(struct rig *r, uint32_t q, struct flash_result *results, uint32_t count)
{
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		const uint32_t n = poll(r, q, results, count);

		if (n != 0)
			return n;
		if (i < YIELDS)
			sched_yield();
		else
			usleep(PAUSE_US);
	}
	return 0;
}

static void
land(struct rig *r, uint32_t q, const struct flash_result *result)
{
	check(result->tag < FLASH_DEPTH_MAX && r->under_way[q][result->tag]);
	check_eq(result->error, 0);
	check_eq(atomic_exchange(calls_of(data_of(r, q, result->tag)), 0), 1);
	r->under_way[q][result->tag] = false;
}

TEST(every_transfer_is_made_once_and_ends_once)
{
	struct rig *r = rig_open(DEPTH, HELPERS);
	struct sim_rng rng = {1};
	uint32_t flying[QUEUES] = {0};

	for (uint32_t n = 0; n < TRANSFERS || flying[0] + flying[1] != 0;) {
		const uint32_t q = n < TRANSFERS ? sim_below(&rng, QUEUES) : flying[0] == 0;
		const uint32_t most = n < TRANSFERS ? sim_below(&rng, DEPTH + 1) : 0;
		struct flash_result results[DEPTH];
		uint32_t ends;

		for (uint32_t tag = 0; tag < most; tag++)
			if (!r->under_way[q][tag]) {
				r->under_way[q][tag] = true;
				check_eq(submit_one(r, q, tag, FLASH_READ), 1);
				flying[q]++, n++;
			}
		if (flying[q] == 0)
			continue;
		ends = wait_for(r, q, results, 1 + sim_below(&rng, DEPTH));
		check_ne(ends, 0);
		flying[q] -= ends;
		while (ends != 0)
			land(r, q, &results[--ends]);
	}
	rig_close(r);
}

/* The next transfer is submitted when the helper that made the last falls asleep, or sleeps. */
TEST(no_helper_sleeps_while_a_transfer_waits)
{
	struct rig *r = rig_open(DEPTH, 1);

	for (uint32_t i = 0; i < SLEEPS; i++) {
		struct flash_result result;

		for (uint32_t k = 0; i % 4 == 0 && k < ASLEEP_MAX; k++)
			if (atomic_load(&r->threads.asleep) == 0)
				sched_yield();
		r->under_way[i % 2][0] = true;
		check_eq(submit_one(r, i % 2, 0, FLASH_WRITE), 1);
		check_eq(wait_for(r, i % 2, &result, 1), 1);
		land(r, i % 2, &result);
	}
	rig_close(r);
}

TEST(a_transfer_that_hangs_holds_one_helper_and_its_slot)
{
	struct rig *r = rig_open(2, 2);
	struct flash_result result;

	atomic_store(&kernel.alone, data_of(r, 0, 1));
	atomic_store(&kernel.held, true);
	check_eq(submit_one(r, 0, 1, FLASH_READ), 1);
	for (uint32_t i = 0; i < 4 * DEPTH; i++) {
		check_eq(submit_one(r, 0, 0, FLASH_READ), 1);
		check_eq(submit_one(r, 0, 0, FLASH_READ), 0);
		check_eq(wait_for(r, 0, &result, 1), 1);
		check_eq(result.tag, 0);
	}
	atomic_store(&kernel.held, false);
	check_eq(wait_for(r, 0, &result, 1), 1);
	check_eq(result.tag, 1);
	rig_close(r);
}

TEST(a_stop_begins_nothing_more)
{
	struct rig *r = rig_open(DEPTH, 1);
	struct flash_result results[DEPTH];

	atomic_store(&kernel.held, true);
	for (uint32_t tag = 0; tag < 5; tag++)
		check_eq(submit_one(r, 0, tag, FLASH_WRITE), 1);
	for (uint32_t i = 0; i < TRIES_MAX && atomic_load(&kernel.inside) == 0; i++)
		usleep(PAUSE_US);
	check_eq(atomic_load(&kernel.inside), 1);
	end_helpers(r);
	check_eq(poll(r, 0, results, DEPTH), 1);
	check_eq(results[0].tag, 0);
	for (uint32_t tag = 1; tag < 5; tag++)
		check_eq(atomic_load(calls_of(data_of(r, 0, tag))), 0);
	rig_close(r);
}
