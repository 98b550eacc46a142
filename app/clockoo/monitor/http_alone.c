/*
 * http_alone.c - the thread that polls and runs telemetry.http until http_alone_end().
 */
#include "http_alone.h"

#include "base/time_units.h"
#include "process/last_words.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#define POLL_MS 20 /* delay after which the thread sees http_alone_end() */

static void *
run(void *arg)
{
	struct http_alone *alone = arg;
	struct pollfd file = {http_fd(alone->server), POLLIN, 0};
	bool more = false;

	last_words_thread("the thread of probes");
	while (!atomic_load_explicit(&alone->end, memory_order_relaxed)) {
		poll(&file, 1, more ? 0 : POLL_MS);
		more = http_run(alone->server, clock_ns(CLOCK_MONOTONIC));
	}
	return NULL;
}

bool
http_alone_begin(struct http_alone *alone, struct http_server *server, struct error *err)
{
	int rc;

	if (server == NULL)
		return true;
	alone->server = server;
	atomic_store_explicit(&alone->end, false, memory_order_relaxed);
	rc = pthread_create(&alone->thread, NULL, run, alone);
	if (rc == 0)
		return true;
	alone->server = NULL;
	return error_set(err, "--telemetry-http: cannot start a thread: %s", strerror(rc));
}

void
http_alone_end(struct http_alone *alone)
{
	if (alone->server == NULL)
		return;
	atomic_store_explicit(&alone->end, true, memory_order_relaxed);
	pthread_join(alone->thread, NULL);
	alone->server = NULL;
}
