/*
 * flash_workers.c - passes jobs between threads, by the state of each job.
 */
#include "flash_workers.h"

void
flash_workers_init(struct flash_workers *w, struct flash_change *changes)
{
	*w = (struct flash_workers){0};
	for (uint32_t i = 0; i < FLASH_JOBS; i++)
		w->jobs[i].changes = changes + (size_t)i * FLASH_JOB_CHANGES;
}

void
flash_workers_begin(struct flash_workers *w, const struct flash_replay_of *of)
{
	w->of = *of;
}

void
flash_workers_give(struct flash_workers *w, uint32_t job, const uint8_t *bytes, uint64_t sequence)
{
	struct flash_job *j = &w->jobs[job];

	j->bytes = bytes;
	atomic_store_explicit(&j->sequence, sequence, memory_order_relaxed);
	/* Release: pairs with the acquire in job_take, so the thread that takes it sees the bytes
	 * and the log. */
	atomic_store_explicit(&j->state, FLASH_JOB_READY, memory_order_release);
}

static bool
job_take(struct flash_job *j, enum flash_job_state then)
{
	uint32_t ready = FLASH_JOB_READY;

	/* Acquire: pairs with the release in flash_workers_give. */
	return atomic_compare_exchange_strong_explicit(&j->state, &ready, then,
						       memory_order_acquire, memory_order_relaxed);
}

/* Returns the oldest ready job; NULL: none is. Another thread may take the job before the caller
 * does, and the slot may even have a later segment by then. */
static struct flash_job *
oldest_ready(struct flash_workers *w)
{
	struct flash_job *oldest = NULL;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < FLASH_JOBS; i++) {
		struct flash_job *j = &w->jobs[i];

		if (atomic_load_explicit(&j->state, memory_order_relaxed) != FLASH_JOB_READY)
			continue;

		const uint64_t sequence = atomic_load_explicit(&j->sequence, memory_order_relaxed);

		if (sequence < least) {
			least = sequence;
			oldest = j;
		}
	}
	return oldest;
}

bool
flash_workers_work(struct flash_workers *w)
{
	struct flash_job *j = oldest_ready(w);

	if (j == NULL || !job_take(j, FLASH_JOB_TAKEN))
		return false;
	flash_replay_begin(&j->replay, &w->of, j->bytes,
			   atomic_load_explicit(&j->sequence, memory_order_relaxed));
	if (j->replay.step == FLASH_RECORD)
		flash_replay_next(&j->replay, &w->of, j->changes, FLASH_JOB_CHANGES);
	/* Release: pairs with the acquire in flash_workers_is_done, so the recovery sees the
	 * list. */
	atomic_store_explicit(&j->state, FLASH_JOB_DONE, memory_order_release);
	return true;
}

bool
flash_workers_is_done(const struct flash_workers *w, uint32_t job)
{
	/* Acquire: pairs with the release in flash_workers_work. */
	return atomic_load_explicit(&w->jobs[job].state, memory_order_acquire) == FLASH_JOB_DONE;
}

bool
flash_workers_take_back(struct flash_workers *w, uint32_t job)
{
	struct flash_job *j = &w->jobs[job];

	if (job_take(j, FLASH_JOB_NONE))
		return true;
	/* Acquire, as above: no thread reads the job's bytes any more. */
	if (atomic_load_explicit(&j->state, memory_order_acquire) == FLASH_JOB_TAKEN)
		return false;
	atomic_store_explicit(&j->state, FLASH_JOB_NONE, memory_order_relaxed);
	return true;
}

void
flash_workers_help(struct flash_workers *w, void (*wait)(void *arg), void *arg)
{
	/* Pairs with the store in flash_workers_end, which carries no data. */
	while (!atomic_load_explicit(&w->over, memory_order_relaxed))
		if (!flash_workers_work(w))
			wait(arg);
}

void
flash_workers_end(struct flash_workers *w)
{
	atomic_store_explicit(&w->over, true, memory_order_relaxed);
}
