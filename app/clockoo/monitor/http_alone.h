/*
 * http_alone.h - a thread that runs telemetry.http while the control thread does not: during the
 * start of the program, and from the stop signal to the end.
 *
 * Owner:  the server stays the caller's, and is the thread's from begin to end.
 * Thread: begin and end by one thread at a time.
 * Errors: struct error, one line.
 */
#ifndef CLOCKOO_HTTP_ALONE_H
#define CLOCKOO_HTTP_ALONE_H

#include "http_server.h"

#include <pthread.h>
#include <stdatomic.h>

struct http_alone {
	struct http_server *server; /* NULL: no thread runs */
	pthread_t thread;
	atomic_bool
		end; /* carries no data: relaxed on both sides, pthread_join() orders the rest */
};

/* Starts the thread; does nothing without a server. */
bool http_alone_begin(struct http_alone *alone, struct http_server *server, struct error *err);
/* Ends the thread, if it runs. */
void http_alone_end(struct http_alone *alone);

#endif
