/*
 * saved.h - items that outlive a reboot (--memory-save): saved by a graceful stop, loaded by the
 * next start while it serves.
 *
 * Shape:  saved_begin looks at the file, as its seed must be the store's; saved_take gives it
 *         another name, so that it is loaded once; a thread of its own loads it. saved_stop writes
 *         the next one.
 * Owner:  struct appliance; without --memory-save nothing here does anything.
 * Thread: main; the loader is the store's last core.
 * Errors: one line on stderr: a start without its items is a start. A FILE that another process
 *         has, or that is no file, refuses the start.
 * Bounds: SAVE_LIMIT_S for the writing; another signal ends it sooner. What is written then is
 *         kept.
 */
#ifndef CLOCKOO_SAVED_H
#define CLOCKOO_SAVED_H

#include "save/save_file.h"
#include "save/save_load.h"

#include <pthread.h>

#define SAVE_LIMIT_S 900u
/* A reboot takes longer than a shorter gap. */
#define SAVE_KEEP_FOR_MIN_S 300u

struct appliance;
struct sizes;

struct saved {
	bool used;
	bool loads; /* there is something to load */
	bool runs;  /* the thread must be joined */
	bool served;
	struct save_paths paths;
	int lock_fd; /* until the process ends */
	struct save_look look;
	int64_t shift_s; /* as in save_load.h */
	pthread_t thread;
	bool clocks_read;
	struct beat beat; /* of the end of service */
	struct save_loader loader;
};

/* Before DPDK, once sizes are computed: the seed of what would be loaded becomes the store's. */
bool saved_begin(struct saved *s, struct appliance *a, struct error *err);
/* The store is there, and its clock, and no core turns. What memory.file has kept wins. */
void saved_take(struct saved *s, struct appliance *a);
/* Undoes saved_take() after a failed start: no client was served, so the next start loads the file.
 */
void saved_give_back(struct saved *s);
/* Called before the first request. */
void saved_start(struct saved *s, struct appliance *a);
/* The cores have ended, and with them the service: the gap begins. A load ends with its file. */
void saved_join(struct saved *s, struct appliance *a);
/* Called when all threads have ended by themselves. */
void saved_stop(struct saved *s, struct appliance *a);

/* For --check and doctor: true if a stop could write the file. */
bool saved_check(const struct config *cfg, struct error *err);
void saved_words(const struct config *cfg, char words[SAVE_WORDS_BYTES]);

#endif
