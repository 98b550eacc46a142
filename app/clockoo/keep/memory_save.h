/*
 * memory_save.h - items that outlive a reboot (--memory-save). A graceful stop saves them to a
 * file, and the next start loads it while it serves.
 *
 * Shape:  memory_save_begin reads the file's head; the store must get its seed. memory_save_take
 *         renames the file, so that only one process loads it. memory_save_start loads it in a
 *         thread. memory_save_stop writes the next file.
 * Owner:  the caller. Without --memory-save the functions do nothing.
 * Thread: main. The loader is the last of the store's cores.
 * Errors: one line on stderr, and the cache starts without the items. The start is refused if
 *         another process has locked FILE, or if it is no regular file.
 * Bounds: writing takes SAVE_LIMIT_S at most; another signal ends it sooner. The slots written
 *         until then are kept.
 */
#ifndef CLOCKOO_MEMORY_SAVE_H
#define CLOCKOO_MEMORY_SAVE_H

#include "arena_file.h"
#include "save/save_file.h"
#include "save/save_load.h"

#include <pthread.h>

#define SAVE_LIMIT_S        900u
#define SAVE_KEEP_FOR_MIN_S 300u /* least --keep-for: a reboot may take this long */

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
	bool loads;           /* there is a file to load */
	bool runs;            /* the thread must be joined */
	bool served;          /* service has begun */
	_Atomic bool settled; /* in service, and no load uses the store's last core */
	struct save_paths paths;
	int lock_fd;           /* holds the lock until the process ends */
	struct save_look look; /* facts of the file's head */
	int64_t shift_s;       /* see save_load.h */
	pthread_t thread;
	bool clocks_read; /* beat is valid */
	struct beat beat; /* the clocks at the end of service */
	struct save_loader loader;
};

/* Reads the file's head. Called before DPDK starts. */
bool memory_save_begin(struct memory_save *s, const struct memory_save_needs *of,
		       struct error *err);
/* True if a file will be loaded. The store must then get *seed. */
bool memory_save_seed(const struct memory_save *s, uint64_t *seed);
/* Decides whether to load. Called when the store and its clock exist, and no core turns. If
 * memory.file has kept items, they are newer, and the file is not loaded. */
void memory_save_take(struct memory_save *s, struct store *store, struct serve_shared *shared);
/* Undoes memory_save_take() after a failed start. No client was served, so the next start may load
 * the file. */
void memory_save_give_back(struct memory_save *s);
/* Starts the load. Called before the first request. */
void memory_save_start(struct memory_save *s);
/* Waits for the load and ends its thread. Called when the cores have ended. A load ends at the end
 * of its file. */
void memory_save_join(struct memory_save *s);
/* True once a snapshot may use the store's last core. Called by any thread. */
bool memory_save_is_settled(const struct memory_save *s);
/* Returns memory of this size for transfers; NULL: no memory. */
void *memory_save_map(size_t bytes);
/* Saves the items. Called when all threads have ended by themselves. */
void memory_save_stop(struct memory_save *s);

/* For --check and doctor: true if a start would accept the file's place; true if a stop would have
 * enough room there. */
bool memory_save_check(const struct config *cfg, struct error *err);
bool memory_save_has_room(const struct config *cfg, struct error *err);
void memory_save_words(const struct config *cfg, char words[SAVE_WORDS_BYTES]);

#endif
