/*
 * arena_file.h - the store's memory in a file (--memory-file), from the start to the stop.
 *
 * Shape:  the start opens, locks and maps the file before DPDK starts, so that a file that cannot
 *         be used is refused early. The store gets the memory when all other parts exist. From then
 *         on the control thread writes heartbeats.
 * Owner:  the caller. Without --memory-file the functions do nothing.
 * Thread: main; but the control thread calls arena_file_tick.
 * Errors: struct error. If no item is kept, a line on stderr says why.
 */
#ifndef CLOCKOO_ARENA_FILE_H
#define CLOCKOO_ARENA_FILE_H

#include "arena_check.h"
#include "memfile/memory_file.h"
#include "process/process.h"
#include "process/watchdog.h"
#include "serve/serve.h"

struct arena_file_needs {
	const struct config *config;
	const struct process *process;
	const struct store_config *store; /* of the store in the file */
	int node;                         /* NUMA node of the file's memory */
};

struct arena_file {
	struct arena_file_needs of;
	bool used;
	struct memory_file file;
	bool had;                 /* the file existed before this start */
	struct memory_page *page; /* in the file's memory */
	struct gap gap;           /* the time since the file was last in service */
	char words[ARENA_WORDS];  /* why no item is kept; empty: the items are kept */
	uint64_t judged_ns;       /* CLOCK_BOOTTIME at which gap was judged */
	uint64_t ahead_ns;        /* see arena_file_ahead_ns(); 0: the store is empty */
	struct serve_restart restart;
	bool flushed; /* a delayed flush_all came due while the cache was down */
	bool started; /* the page counts this start as an attempt */
	/* CLOCK_BOOTTIME at which service began; 0: the cache has served long enough for earlier
	 * crashes not to count any more. */
	uint64_t ready_ns;
	struct beat beat;
	struct watchdog cores; /* notices a core that is stuck */
};

/* Locks, maps and judges the file. Called before DPDK starts. */
bool arena_file_open(struct arena_file *k, const struct arena_file_needs *of, struct error *err);
/* Opens the store in the file on all lcores: with its items if they may be kept, otherwise empty.
 * Prints a line that says which. NULL if a stop was requested during a repair; the next start then
 * repairs again. */
struct store *arena_file_make_store(struct arena_file *k, struct region *region, struct error *err);
/* Returns the time that the store's clock is ahead of the clock of a process that has just
 * begun. */
uint64_t arena_file_ahead_ns(const struct arena_file *k);
/* Reads the present clocks for a heartbeat. Works without --memory-file, too. */
bool arena_file_read_clocks(struct arena_file *k, struct beat *b);
/* Begins service: writes the first heartbeat. A crash counts from now on. */
void arena_file_ready(struct arena_file *k);
/* Called at each tick of the control thread. */
void arena_file_tick(struct arena_file *k, const struct telemetry *t);
/* Writes the last heartbeat. Called when the cores have ended: the gap begins now. */
void arena_file_end_service(struct arena_file *k);
/* Leaves the image clean. Called when all threads have ended by themselves and no reply holds an
 * item. */
void arena_file_stop(struct arena_file *k, struct store *store);
/* Closes the file after a stop or a failed start. Neither counts as a crash. */
void arena_file_close(struct arena_file *k);

#endif
