/*
 * memory_save.h - items that outlive a reboot (--memory-save): saved by a graceful stop, loaded by
 * the next start while it serves.
 *
 * Shape:  memory_save_begin reads the file's head, whose seed must become the store's.
 *         memory_save_take gives the file another name, so that it is loaded once; a thread of its
 *         own loads it. memory_save_stop writes the next one.
 * Owner:  the caller; without --memory-save nothing here does anything.
 * Thread: main; the loader is the store's last core.
 * Errors: one line on stderr, and the cache starts without the items. The start is refused if
 *         another process has FILE, or if it is no file.
 * Bounds: writing takes SAVE_LIMIT_S at most; another signal ends it sooner. The part that is
 *         written by then is kept.
 */
#ifndef CLOCKOO_MEMORY_SAVE_H
#define CLOCKOO_MEMORY_SAVE_H

#include "arena_file.h"
#include "save/save_file.h"
#include "save/save_load.h"

#include <pthread.h>

#define SAVE_LIMIT_S 900u
/* The least --keep-for: a reboot may take longer than less. */
#define SAVE_KEEP_FOR_MIN_S 300u

struct memory_save_needs {
	const struct config *config;
	const struct process *process;
	struct arena_file *arena;
};

struct memory_save {
	struct memory_save_needs of;
	struct store *store;
	struct serve_shared *shared;
	bool used;
	bool loads; /* there is a file to load */
	bool runs;  /* the thread must be joined */
	bool served;
	_Atomic bool settled; /* in service, and no load uses the store's core for loads */
	struct save_paths paths;
	int lock_fd; /* held until the process ends */
	struct save_look look;
	int64_t shift_s; /* as in save_load.h */
	pthread_t thread;
	bool clocks_read;
	struct beat beat; /* of the end of service */
	struct save_loader loader;
};

/* Reads the head, before DPDK starts. */
bool memory_save_begin(struct memory_save *s, const struct memory_save_needs *of,
		       struct error *err);
/* True if a file will be loaded: *seed must become the store's. */
bool memory_save_seed(const struct memory_save *s, uint64_t *seed);
/* Decides on the load when the store and its clock exist and no core turns. Items kept by
 * memory.file take precedence. */
void memory_save_take(struct memory_save *s, struct store *store, struct serve_shared *shared);
/* Undoes memory_save_take() after a failed start: no client was served, so the next start loads the
 * file.
 */
void memory_save_give_back(struct memory_save *s);
/* Called before the first request. */
void memory_save_start(struct memory_save *s);
/* Ends the load and its thread when the cores have ended and the gap begins. A load ends at the end
 * of its file. */
void memory_save_join(struct memory_save *s);
/* True once a snapshot may use the store's core for loads. Any thread. */
bool memory_save_is_settled(const struct memory_save *s);
/* Returns bytes of memory for transfers; NULL if there are none. */
void *memory_save_map(size_t bytes);
/* Called when all threads have ended by themselves. */
void memory_save_stop(struct memory_save *s);

/* For --check and doctor: true if a start would accept the file's place; true if a stop would find
 * room there. */
bool memory_save_check(const struct config *cfg, struct error *err);
bool memory_save_has_room(const struct config *cfg, struct error *err);
void memory_save_words(const struct config *cfg, char words[SAVE_WORDS_BYTES]);

#endif
