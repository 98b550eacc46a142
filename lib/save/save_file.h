/*
 * save_file.h - the names of a saved file: it is written under another name, renamed, found by a
 * start, judged, and loaded once.
 *
 * A file is loaded only once, since clients change the items afterwards. So it is renamed before
 * the first request, and a start removes files with the other names unread.
 *
 * Shape:  FILE; FILE.part is being written; FILE.loading is being loaded, or was when its process
 *         ended; FILE.refused was no saved cache. The process that uses them locks FILE.lock, which
 *         contains its process ID and is never removed.
 *
 * Units:  bytes, ns.
 *
 * Thread: main; save_forget: any thread.
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
/* Locks FILE, and the files that belong to it, for this process until it ends or closes *fd. False:
 * another process still has them after wait_ms, or the lock's file has a second name. *fd is -1 if
 * no lock can be created; then no process can save there either. */
bool save_lock(const struct save_paths *p, uint32_t wait_ms, int *fd, struct error *err);

enum save_found {
	SAVE_FOUND_NONE,
	SAVE_FOUND_WHOLE, /* would be loaded */
	SAVE_FOUND_OLD,   /* a file of this program that is of no use any more */
	SAVE_FOUND_OTHER, /* no saved cache, or essential parts are damaged */
};

struct save_look {
	enum save_found found;
	uint64_t file, bytes;
	struct save_head head;
	struct gap gap;
	char words[SAVE_WORDS_BYTES]; /* the reason, for OLD and OTHER */
	uint64_t floors[STORE_SAVED_FLOORS];
};

/* Judges whether a start would load the file. It only reads. other_uid may own the file besides
 * root and this process's user. */
void save_look_at(struct save_look *look, const char *path, const struct gap_now *now,
		  uint32_t keep_for_s, uid_t other_uid);
/* True if the path is a file, or may become one in a folder that this user may write to. */
bool save_place_ok(const char *path, struct error *err);
/* True if a stop would find room for that many bytes there. */
bool save_room_ok(const char *path, uint64_t bytes, struct error *err);

/* Renames FILE.part to FILE. */
bool save_publish(const struct save_paths *p, struct error *err);
/* Renames FILE to FILE.loading; if that fails, the file is not loaded. */
bool save_take(const struct save_paths *p, struct error *err);
/* Renames FILE to FILE.refused. */
void save_refuse(const struct save_paths *p);
/* Removes a file that is no longer of use. */
void save_forget(const char *path);

#endif
