/*
 * arena_file.h - the store's memory in a file (--memory-file), from the start that opens it to the
 * stop that leaves it.
 *
 * Shape:  opened, locked and mapped before DPDK starts, so that a refusal comes early; becomes
 *         the store's when all other parts exist; then the control thread writes a heartbeat.
 * Owner:  the caller; without --memory-file nothing here does anything.
 * Thread: main, but arena_file_tick: the control thread.
 * Errors: struct error. If nothing is kept, one line on stderr says why.
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
	int node;                         /* NUMA node of its memory */
};

struct arena_file {
	struct arena_file_needs of;
	bool used;
	struct memory_file file;
	bool had;                 /* the file existed before this start */
	struct memory_page *page; /* in the file */
	struct gap gap;           /* the gap since the file's last service */
	char words[ARENA_WORDS];  /* the reason why it starts empty; otherwise empty */
	uint64_t judged_ns;       /* when gap was taken, on boot time */
	uint64_t ahead_ns;        /* see arena_file_ahead_ns; 0: the store is empty */
	struct serve_restart restart;
	bool flushed;      /* a flush came due while the cache was down */
	bool started;      /* this start counts as an attempt */
	uint64_t ready_ns; /* when service began, on boot time; 0: earlier crashes are forgiven */
	struct beat beat;
	struct watchdog cores; /* checks that all cores turn */
};

/* Locks, maps and judges the file. Called before DPDK starts. */
bool arena_file_open(struct arena_file *k, const struct arena_file_needs *of, struct error *err);
/* Returns the store in the file, opened on all lcores: with its items if they may be kept, else
 * empty. Prints one line that says which. NULL if a stop was requested during a repair, which the
 * next start repeats. */
struct store *arena_file_make_store(struct arena_file *k, struct region *region, struct error *err);
/* Returns how far the store's clock is ahead of that of a process that has just begun. */
uint64_t arena_file_ahead_ns(const struct arena_file *k);
/* Reads the present clocks, in service. Works with and without --memory-file. */
bool arena_file_read_clocks(struct arena_file *k, struct beat *b);
/* Begins service: writes the first heartbeat; from now on a crash counts. */
void arena_file_ready(struct arena_file *k);
/* Called at each tick of the control thread. */
void arena_file_tick(struct arena_file *k, const struct telemetry *t);
/* Writes the last heartbeat when the cores have ended: the gap begins. */
void arena_file_end_service(struct arena_file *k);
/* Called when all threads have ended by themselves and no reply holds an item. */
void arena_file_stop(struct arena_file *k, struct store *store);
/* Closes the file after a stop or a failed start, neither of which counts as a crash. */
void arena_file_close(struct arena_file *k);

#endif
