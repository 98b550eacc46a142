/*
 * save_file.h - a saved file's life: written beside its name, renamed to it; found, judged, taken
 * once.
 *
 * What was loaded once is not loaded again: clients have changed it since. So a file loses its name
 * before the first request, and what a start finds under another name it removes unread.
 *
 * Shape:  FILE; FILE.part is being written; FILE.loading is being loaded, or was when its process
 *         ended; FILE.refused was no saved cache. FILE.lock is locked by the process that has all
 *         of them, and names it; it stays.
 *
 * Units:  bytes, ns.
 *
 * Thread: main; save_forget: any.
 *
 * Errors: struct error, or words.
 */
#ifndef CLOCKOO_SAVE_FILE_H
#define CLOCKOO_SAVE_FILE_H

#include "config/config.h"
#include "save_format.h"

#include <sys/types.h>

#define SAVE_PATH_BYTES  (CONFIG_PATH_BYTES + 16u)
#define SAVE_WORDS_BYTES 256u
#define SAVE_NO_UID      ((uid_t)-1)

struct save_paths {
	char file[SAVE_PATH_BYTES], part[SAVE_PATH_BYTES], loading[SAVE_PATH_BYTES],
		refused[SAVE_PATH_BYTES], lock[SAVE_PATH_BYTES];
};

void save_paths_set(struct save_paths *p, const char *file);
/* FILE is a file, or nothing is there yet. */
bool save_path_ok(const char *file, struct error *err);
/* From now on FILE and what belongs to it are this process's, until it ends or closes *fd. False:
 * another one has them, and goes on to for wait_ms. *fd is -1 where no lock can be made: nobody
 * saves there. */
bool save_lock(const struct save_paths *p, uint32_t wait_ms, int *fd, struct error *err);

enum save_found {
	SAVE_FOUND_NONE,
	SAVE_FOUND_WHOLE, /* would be loaded */
	SAVE_FOUND_OLD,   /* ours, and of no use any more */
	SAVE_FOUND_OTHER, /* no saved cache, or damaged where all depends on it */
};

struct save_look {
	enum save_found found;
	uint64_t file, bytes;
	struct save_head head;
	struct gap gap;
	char words[SAVE_WORDS_BYTES]; /* of OLD and OTHER: why */
	uint64_t floors[STORE_SAVED_FLOORS];
};

/* Would a start load it? Only reads. other_uid: may own it beside root and this process's user. */
void save_look_at(struct save_look *look, const char *path, const struct gap_now *now,
		  uint32_t keep_for_s, uid_t other_uid);
/* Can a stop write it there: so many bytes, into a folder that this user may write to? */
bool save_place_ok(const char *path, uint64_t bytes, struct error *err);

/* From FILE.part to FILE. */
bool save_publish(const struct save_paths *p, struct error *err);
/* From FILE to FILE.loading; it is not loaded if that fails. */
bool save_take(const struct save_paths *p, struct error *err);
/* From FILE to FILE.refused. */
void save_refuse(const struct save_paths *p);
/* What is of no use any more. */
void save_forget(const char *path);

#endif
