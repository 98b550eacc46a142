/*
 * notify.h - messages to a service manager (sd_notify(3)): ready, alive, reloading, stopping.
 *
 * Shape:  one datagram of NAME=value lines to the socket that $NOTIFY_SOCKET names. Without that
 *         variable nothing is sent.
 * Units:  watchdog_ns: how long the manager waits for a sign of life; 0 = it does not.
 * Thread: notify_begin by main after -d has forked; the rest from any thread.
 * Errors: none: the cache continues if the manager does not listen.
 */
#ifndef CLOCKOO_NOTIFY_H
#define CLOCKOO_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
	int fd; /* -1 = no service manager */
	uint64_t watchdog_ns;
	struct sockaddr_un to;
	socklen_t to_bytes;
};

/* Extends a start or a stop in progress, by more than the time between two of these lines. */
#define NOTIFY_EXTEND "EXTEND_TIMEOUT_USEC=10000000"

void notify_begin(struct notify *n);
void notify_send(const struct notify *n, const char *lines);
/* A reload begins; READY=1 ends it. */
void notify_reloading(const struct notify *n, uint64_t now_ns);
void notify_end(struct notify *n);

#endif
