/*
 * saved.h - items that outlive a reboot (--memory-save): saved by a graceful stop, loaded by the
 * next start while it serves.
 *
 * Shape:  saved_begin reads the file's head, as its seed must become the store's; saved_take
 *         gives it another name, so that it is loaded once; a thread of its own loads it.
 *         saved_stop writes the next one.
 * Owner:  the caller; without --memory-save nothing here does anything.
 * Thread: main; the loader is the store's last core.
 * Errors: one line on stderr: a start without its items is a start. The start is refused if
 *         another process has FILE, or if it is no file.
 * Bounds: writing takes SAVE_LIMIT_S at most; another signal ends it sooner. The part that is
 *         written by then is kept.
 */
#ifndef CLOCKOO_SAVED_H
#define CLOCKOO_SAVED_H

#include "kept.h"
#include "save/save_file.h"
#include "save/save_load.h"

#include <pthread.h>

#define SAVE_LIMIT_S 900u
/* The least --keep-for: a reboot takes longer than a shorter gap. */
#define SAVE_KEEP_FOR_MIN_S 300u

struct saved_needs {
	const struct config *config;
	const struct process *process;
	struct kept *kept;
};

struct saved {
	struct saved_needs of;
	struct store *store;
	struct serve_shared *shared;
	bool used;
	bool loads; /* there is a file to load */
	bool runs;  /* the thread must be joined */
	bool served;
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
bool saved_begin(struct saved *s, const struct saved_needs *of, struct error *err);
/* True if a file will be loaded: *seed must become the store's. */
bool saved_seed(const struct saved *s, uint64_t *seed);
/* Decides on the load when the store and its clock exist and no core turns. Items kept by
 * memory.file take precedence. */
void saved_take(struct saved *s, struct store *store, struct serve_shared *shared);
/* Undoes saved_take() after a failed start: no client was served, so the next start loads the file.
 */
void saved_give_back(struct saved *s);
/* Called before the first request. */
void saved_start(struct saved *s);
/* Ends the load and its thread when the cores have ended and the gap begins. A load ends at the end
 * of its file. */
void saved_join(struct saved *s);
/* Called when all threads have ended by themselves. */
void saved_stop(struct saved *s);

/* For --check and doctor: true if a start would accept the file's place; true if a stop would find
 * room there. */
bool saved_check(const struct config *cfg, struct error *err);
bool saved_has_room(const struct config *cfg, struct error *err);
void saved_words(const struct config *cfg, char words[SAVE_WORDS_BYTES]);

#endif
