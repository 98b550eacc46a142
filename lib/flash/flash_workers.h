/*
 * flash_workers.h - threads that read the records of segments while a recovery changes its shard.
 *
 * Shape:  a job is a segment whose bytes were read. Any thread checks its pages and lists its
 *         changes. The recovery applies the lists in the order of the segments. The recovery's own
 *         thread does jobs, too; if there is no other, it does all.
 * Owner:  the caller owns the lists' memory and the threads. The threads leave flash_workers_help
 *         after flash_workers_end.
 * Thread: flash_workers_help, flash_workers_end: any. All others: the recovery's thread.
 * Bounds: FLASH_JOBS jobs of FLASH_JOB_CHANGES changes each. If a segment has more, the recovery
 *         itself reads the rest. A thread sleeps only in the wait function that is passed in.
 */
#ifndef CLOCKOO_FLASH_WORKERS_H
#define CLOCKOO_FLASH_WORKERS_H

#include "flash_replay.h"

#define FLASH_JOBS        16u
#define FLASH_JOB_CHANGES 32768u
#define FLASH_JOBS_BYTES  (FLASH_JOBS * FLASH_JOB_CHANGES * sizeof(struct flash_change))

enum flash_job_state {
	FLASH_JOB_NONE,
	FLASH_JOB_READY, /* any thread may take it */
	FLASH_JOB_TAKEN, /* one thread works on it */
	FLASH_JOB_DONE,  /* its list is for the recovery */
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

/* Initializes the workers. changes: FLASH_JOBS_BYTES. */
void flash_workers_init(struct flash_workers *w, struct flash_change *changes);
/* Does jobs until flash_workers_end; wait is called when none is ready. */
void flash_workers_help(struct flash_workers *w, void (*wait)(void *arg), void *arg);
void flash_workers_end(struct flash_workers *w);

/* ---- the recovery's side ---- */

/* Sets all jobs to FLASH_JOB_NONE, for the log of one shard. */
void flash_workers_begin(struct flash_workers *w, const struct flash_replay_of *of);
/* Makes a job ready. The bytes stay unchanged until the job is taken back. */
void flash_workers_give(struct flash_workers *w, uint32_t job, const uint8_t *bytes,
			uint64_t sequence);
/* Does the oldest ready job. False: none is ready. */
bool flash_workers_work(struct flash_workers *w);
/* True if some thread has listed the changes of a job that was given. */
bool flash_workers_is_done(const struct flash_workers *w, uint32_t job);
/* Withdraws a job. True once no thread works on it. */
bool flash_workers_take_back(struct flash_workers *w, uint32_t job);

#endif
