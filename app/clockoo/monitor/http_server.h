/*
 * http_server.h - telemetry.http: GET and HEAD of http_answers, by libmicrohttpd.
 *
 * Shape:  the library has no thread of its own: a thread of the program polls one file and calls
 *         http_run(), which never waits. Probes are answered from http_start() to http_stop(),
 *         all else between http_serve() and http_stopping().
 * Owner:  the listening socket stays the caller's.
 * Thread: one at a time: the control thread while it runs, else that of http_alone.h.
 * Errors: a peer's fault is answered with a status or ends its connection; none is logged.
 * Bounds: HTTP_CONNS_MAX connections of HTTP_CONN_BYTES; a request is complete, and its answer
 *         read, HTTP_REQUEST_S after its connection was opened or HTTP_IDLE_S after the last
 *         one. HTTP_CONNS_KEPT places (BUDGET.md): a new connection takes the place of the one
 *         that has waited longest, of a source that has more than its share if there is one.
 */
#ifndef CLOCKOO_HTTP_SERVER_H
#define CLOCKOO_HTTP_SERVER_H

#include "http_answers.h"
#include "http_counters.h"
#include "http_listen.h"

#define HTTP_CONNS_MAX  32u
#define HTTP_CONNS_KEPT 24u
#define HTTP_CONN_BYTES (16u << 10)
#define HTTP_REQUEST_S  10u
#define HTTP_IDLE_S     60u

struct http_server;

/* True if this program was built with libmicrohttpd; otherwise *err says so. */
bool http_is_built(struct error *err);
/* The server takes these: its listening socket, and its counters. */
struct http_at {
	const struct config_http *config;
	int fd; /* of http_listen(); -1: none */
	struct counter *counters;
};
/* Starts the server. *server is NULL without a socket; the calls below then do nothing. */
bool http_start(struct http_server **server, const struct http_at *at, struct error *err);
/* The program serves: from now on the rows are shown. */
bool http_serve(struct http_server *server, const struct stat_source *rows, struct error *err);
/* The program stops: the rows are not read any more. */
void http_stopping(struct http_server *server);
/* The program drains: it is not ready any more, and rows are still shown. */
void http_draining(struct http_server *server);
/* Says whether a core is stuck. */
void http_set_stuck(struct http_server *server, bool stuck);
/* Returns the file to poll for input; -1: none. */
int http_fd(const struct http_server *server);
/* Does the pending work once; called on input and some times a second. True if more remains. */
bool http_run(struct http_server *server, uint64_t now_ns);
void http_stop(struct http_server *server);

#endif
