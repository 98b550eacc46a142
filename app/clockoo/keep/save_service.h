/*
 * save_service.h - the appliance's side of `clockoo save`.
 *
 * Shape:  one snapshot at a time. The control thread polls and calls save_service_run, which never
 *         waits. The command opens the file, and gives it its name when it is complete: it does so
 *         with its own rights.
 * Owner:  the descriptor of a file is this side's until the snapshot's end.
 * Thread: the control thread, but start and end.
 * Errors: one line to the command, and one to stderr once the snapshot has begun.
 * Bounds: a request arrives within SAVE_ASK_NS. SAVE_CLIENTS are accepted in one call.
 */
#ifndef CLOCKOO_SAVE_SERVICE_H
#define CLOCKOO_SAVE_SERVICE_H

#include "memory_snapshot.h"

#include <poll.h>

#define SAVE_ASK_NS  1000000000ull
#define SAVE_CLIENTS 4u
#define SAVE_POLLS   2u

struct save_service {
	struct memory_snapshot snapshot;
	int listener, client; /* -1: none */
	uid_t starter;
	uint64_t due_ns; /* when a request must be there */
};

/* Opens the socket if there is --memory-save, before privileges are dropped. */
void save_service_start(struct save_service *s, struct memory_save *save);
/* Fills in the files to poll, SAVE_POLLS at most. Returns their number. */
uint32_t save_service_polls(const struct save_service *s, struct pollfd *to);
/* Does the pending work. */
void save_service_run(struct save_service *s, uint64_t now_ns);
/* Takes no more requests, and ends a snapshot early. */
void save_service_stop(struct save_service *s);
/* Waits for the snapshot's thread. */
void save_service_end(struct save_service *s);

#endif
