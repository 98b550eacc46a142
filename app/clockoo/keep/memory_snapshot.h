/*
 * memory_snapshot.h - a saved file of a running appliance, written by a thread of its own.
 *
 * The file is one that a start elsewhere takes by its --memory-save. Clients go on to change the
 * items here, so a start of this appliance must not (save_command.c).
 *
 * Shape:  one snapshot at a time: begin, has_ended until it is true, end.
 * Owner:  the caller closes the descriptor after the end.
 * Thread: the control thread, but for the last end.
 * Errors: struct error.
 * Bounds: MEMORY_SNAPSHOT_BYTES_S; save_live_bytes of memory while it runs.
 */
#ifndef CLOCKOO_MEMORY_SNAPSHOT_H
#define CLOCKOO_MEMORY_SNAPSHOT_H

#include "memory_save.h"
#include "save/save_live.h"

/* The rate at which items are read and written: a small part of what a machine's memory can do. */
#define MEMORY_SNAPSHOT_BYTES_S (64ull << 20)

struct memory_snapshot {
	struct memory_save *save;
	pthread_t thread;
	bool runs;
	_Atomic bool cancelled, ended;
	int fd;
	char path[CONFIG_PATH_BYTES];
	/* ---- the result, once ended is true ---- */
	bool done;
	struct save_result result;
	struct error err;
	uint64_t begun_ns, took_ns;
};

/* Begins to write all items to fd, an empty file that will have this path. */
bool memory_snapshot_begin(struct memory_snapshot *s, int fd, const char *path, struct error *err);
/* True once the result is there. */
bool memory_snapshot_has_ended(const struct memory_snapshot *s);
/* Has the thread end early, within a slot of the file. */
void memory_snapshot_cancel(struct memory_snapshot *s);
/* Waits for the thread. */
void memory_snapshot_end(struct memory_snapshot *s);

#endif
