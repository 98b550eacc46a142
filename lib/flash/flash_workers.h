/*
 * flash_workers.h - threads that read segments' records while a recovery changes its shard.
 *
 * Shape:  a job is a segment whose bytes are here: any thread checks its pages and lists its
 *         changes. The recovery takes the lists in the order of sequences, and is one of the
 *         threads: where there is no other it does all of it.
 * Owner:  the caller: the lists' memory, and the threads, which leave flash_workers_help once
 *         flash_workers_end was called.
 * Thread: flash_workers_help, flash_workers_end: any. All else: the recovery's.
 * Bounds: FLASH_JOBS jobs of FLASH_JOB_CHANGES changes each; what a segment has beyond them the
 *         recovery reads itself. Nobody sleeps but by the wait that is passed in.
 */
#ifndef CLOCKOO_FLASH_WORKERS_H
#define CLOCKOO_FLASH_WORKERS_H

#include "flash_replay.h"

#define FLASH_JOBS        16u
#define FLASH_JOB_CHANGES 32768u
#define FLASH_JOBS_BYTES  (FLASH_JOBS * FLASH_JOB_CHANGES * sizeof(struct flash_change))

enum flash_job_state {
	FLASH_JOB_NONE,
	FLASH_JOB_READY, /* anybody's */
	FLASH_JOB_TAKEN, /* one thread's */
	FLASH_JOB_DONE,  /* the recovery's */
};

struct flash_job {
	_Atomic uint32_t state;
	_Atomic uint64_t sequence;
	const uint8_t *bytes;
	struct flash_change *changes;
	struct flash_replay replay;
};

struct flash_workers {
	struct flash_replay_of of;
	struct flash_job jobs[FLASH_JOBS];
	_Atomic bool over;
};

/* changes: FLASH_JOBS_BYTES. */
void flash_workers_init(struct flash_workers *w, struct flash_change *changes);
/* Does what there is to do; wait is called where there is nothing. */
void flash_workers_help(struct flash_workers *w, void (*wait)(void *arg), void *arg);
void flash_workers_end(struct flash_workers *w);

/* ---- the recovery's side ---- */

/* All jobs are FLASH_JOB_NONE, and of this log from now on. */
void flash_workers_begin(struct flash_workers *w, const struct flash_replay_of *of);
/* Its bytes are here, and stay until it was taken back. */
void flash_workers_give(struct flash_workers *w, uint32_t job, const uint8_t *bytes,
			uint64_t sequence);
/* The oldest one that is ready. False: none is. */
bool flash_workers_work(struct flash_workers *w);
/* Of one that was given: its changes are listed, by whomever. */
bool flash_workers_is_done(const struct flash_workers *w, uint32_t job);
/* The recovery has no use for it any more; true once no thread has it. */
bool flash_workers_take_back(struct flash_workers *w, uint32_t job);

#endif
