/*
 * memory_snapshot.c - the thread that writes a snapshot, and the rate that it keeps to.
 */
#include "memory_snapshot.h"
#include "base/time_units.h"
#include "process/last_words.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define NAP_NS (10 * NS_PER_MS) /* longest sleep for the rate: a cancel is noticed after it */

static uint64_t
snapshot_now_ns(void *arg)
{
	const struct memory_snapshot *s = arg;

	return process_now_ns(s->save->of.process);
}

static uint32_t
snapshot_now_s(void *arg)
{
	const struct memory_snapshot *s = arg;

	return process_store_s(s->save->of.process);
}

static bool
is_cancelled(const struct memory_snapshot *s)
{
	return atomic_load_explicit(&s->cancelled, memory_order_relaxed) ||
	       process_is_stopping(s->save->of.process);
}

/* Waits until the rate allows more. False: the snapshot was cancelled. */
static bool
rate_wait(void *arg, const struct save_result *result)
{
	struct memory_snapshot *s = arg;
	const uint64_t bytes =
		result->value_bytes > result->file_bytes ? result->value_bytes : result->file_bytes;
	const uint64_t due_ns =
		s->begun_ns + (uint64_t)((double)bytes / MEMORY_SNAPSHOT_BYTES_S * NS_PER_S);

	uint64_t now_ns;

	while (!is_cancelled(s) && (now_ns = snapshot_now_ns(s)) < due_ns) {
		const uint64_t left_ns = due_ns - now_ns;

		nanosleep(&(struct timespec){.tv_nsec = (int64_t)(left_ns < NAP_NS ? left_ns
										   : NAP_NS)},
			  NULL);
	}
	return !is_cancelled(s);
}

static bool
snapshot_write(struct memory_snapshot *s, void *memory)
{
	struct memory_save *of = s->save;
	struct save_live_ask ask = {
		.store = of->store,
		.core = store_core_of(of->store, of->of.config->cores),
		.fd = s->fd,
		.path = s->path,
		.level = of->of.config->save_compress,
		.uring = true,
		.memory = memory,
		.now_s = snapshot_now_s,
		.now_ns = snapshot_now_ns,
		.go_on = rate_wait,
		.arg = s,
	};
	struct gap_now now;

	arena_gap_now(&now);
	ask.boot_id = now.boot_id;
	if (!arena_file_read_clocks(of->of.arena, &ask.beat))
		return error_set(&s->err, "the clocks cannot be read at one moment");
	if (getrandom(&ask.file, sizeof ask.file, 0) != (ssize_t)sizeof ask.file)
		return error_set(&s->err, "no random numbers from the kernel");
	return save_live(&ask, &s->result, &s->err);
}

static void *
snapshot_run(void *arg)
{
	struct memory_snapshot *s = arg;
	const size_t bytes = save_live_bytes();
	void *memory = memory_save_map(bytes);

	last_words_thread("the writer of clockoo save");
	process_pin(s->save->of.process);
	if (memory != NULL) {
		s->done = snapshot_write(s, memory);
		munmap(memory, bytes);
	} else {
		error_set(&s->err, "no memory for it");
	}
	s->took_ns = snapshot_now_ns(s) - s->begun_ns;
	/* Release: pairs with the acquire in memory_snapshot_has_ended(). The result is written
	 * before. */
	atomic_store_explicit(&s->ended, true, memory_order_release);
	return NULL;
}

bool
memory_snapshot_begin(struct memory_snapshot *s, int fd, const char *path, struct error *err)
{
	struct memory_save *save = s->save;

	ensure(!s->runs);
	if (!memory_save_is_settled(save))
		return error_set(err, "the items of the last stop are still being loaded");
	snprintf(s->path, sizeof s->path, "%s", path);
	s->fd = fd;
	s->done = false;
	s->begun_ns = process_now_ns(save->of.process);
	atomic_store_explicit(&s->cancelled, false, memory_order_relaxed);
	atomic_store_explicit(&s->ended, false, memory_order_relaxed);
	s->runs = pthread_create(&s->thread, NULL, snapshot_run, s) == 0;
	return s->runs || error_set(err, "no thread for it");
}

bool
memory_snapshot_has_ended(const struct memory_snapshot *s)
{
	/* Acquire: pairs with the release in snapshot_run(). */
	return atomic_load_explicit(&s->ended, memory_order_acquire);
}

void
memory_snapshot_cancel(struct memory_snapshot *s)
{
	atomic_store_explicit(&s->cancelled, true, memory_order_relaxed);
}

void
memory_snapshot_end(struct memory_snapshot *s)
{
	if (s->runs)
		pthread_join(s->thread, NULL);
	s->runs = false;
}
