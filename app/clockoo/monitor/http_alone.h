/*
 * http_alone.h - a thread that runs telemetry.http while there is no control thread: during the
 * start, and from the stop signal to the end.
 *
 * Owner:  the caller has the server. The thread alone uses it from begin to end.
 * Thread: one thread at a time begins and ends.
 * Errors: struct error, one line.
 */
#ifndef CLOCKOO_HTTP_ALONE_H
#define CLOCKOO_HTTP_ALONE_H

#include "http_server.h"

#include <pthread.h>
#include <stdatomic.h>

struct http_alone {
	struct http_server *server; /* NULL: the thread does not run */
	pthread_t thread;
	atomic_bool end; /* relaxed: it carries no data, and pthread_join() orders the rest */
};

/* Starts the thread. Does nothing if server is NULL. */
bool http_alone_begin(struct http_alone *alone, struct http_server *server, struct error *err);
/* Ends the thread if it runs. */
void http_alone_end(struct http_alone *alone);

#endif
