/*
 * memory_snapshot.h - saves the items of a running appliance to a file, in a thread of its own.
 *
 * A start elsewhere can load the file by its --memory-save. A start of this appliance must not,
 * since clients change its items after the snapshot (save_command.c).
 *
 * Shape:  one snapshot at a time: begin, has_ended until true, end.
 * Owner:  the caller closes the descriptor after memory_snapshot_end.
 * Thread: the control thread; but main makes the last call of memory_snapshot_end.
 * Errors: struct error.
 * Bounds: MEMORY_SNAPSHOT_BYTES_S; memory of save_live_bytes() while a snapshot runs.
 */
#ifndef CLOCKOO_MEMORY_SNAPSHOT_H
#define CLOCKOO_MEMORY_SNAPSHOT_H

#include "memory_save.h"
#include "save/save_live.h"

/* Bytes per second that are read from memory and written. A small part of the bandwidth of a
 * machine's memory. */
#define MEMORY_SNAPSHOT_BYTES_S (64ull << 20)

struct memory_snapshot {
	struct memory_save *save;
	pthread_t thread;
	bool runs;
	_Atomic bool cancelled, ended;
	int fd;
	char path[CONFIG_PATH_BYTES];
	/* ---- valid once ended is true ---- */
	bool done; /* the file is complete */
	struct save_result result;
	struct error err;
	uint64_t begun_ns, took_ns;
};

/* Begins to write all items to fd, an empty file. path is the name that it gets later. */
bool memory_snapshot_begin(struct memory_snapshot *s, int fd, const char *path, struct error *err);
/* True once the snapshot has ended and its result is valid. */
bool memory_snapshot_has_ended(const struct memory_snapshot *s);
/* Cancels the snapshot. The thread ends within a slot of the file. */
void memory_snapshot_cancel(struct memory_snapshot *s);
/* Waits for the thread. */
void memory_snapshot_end(struct memory_snapshot *s);

#endif
