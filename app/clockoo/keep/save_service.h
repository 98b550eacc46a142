/*
 * save_service.h - the appliance's side of `clockoo save`.
 *
 * Shape:  one snapshot at a time. The control thread polls the files and calls save_service_run(),
 *         which never waits. The command opens the file and renames it at the end, with its own
 *         rights.
 * Owner:  the service has the file's descriptor until the snapshot's end.
 * Thread: the control thread; but main starts and ends the service.
 * Errors: one line to the command; one on stderr, too, once the snapshot has begun.
 * Bounds: a request must arrive within SAVE_ASK_NS. One call accepts SAVE_CLIENTS.
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
	uid_t starter;        /* the user who started the appliance */
	uint64_t due_ns;      /* time limit for a client's request */
};

/* Opens the socket if there is --memory-save. Called before privileges are dropped. */
void save_service_start(struct save_service *s, struct memory_save *save);
/* Fills in the files to poll, SAVE_POLLS at most, and returns their number. */
uint32_t save_service_polls(const struct save_service *s, struct pollfd *to);
/* Takes requests and reports results. */
void save_service_run(struct save_service *s, uint64_t now_ns);
/* Takes no more requests, and cancels a snapshot. */
void save_service_stop(struct save_service *s);
/* Waits for the snapshot's thread. */
void save_service_end(struct save_service *s);

#endif
