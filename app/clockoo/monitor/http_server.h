/*
 * http_server.h - telemetry.http: answers GET and HEAD by http_answers, over libmicrohttpd.
 *
 * Shape:  the library has no thread. A thread of the program polls one file and calls http_run(),
 *         which never waits. Probes are answered from http_start() to http_stop(), all other
 *         requests from http_serve() to http_stopping().
 * Owner:  the caller has the listening socket.
 * Thread: one at a time: the control thread while it runs, otherwise that of http_alone.h.
 * Errors: a faulty request gets a status, or its connection ends. Nothing is logged.
 * Bounds: HTTP_CONNS_MAX connections of HTTP_CONN_BYTES each. A request must be complete, and its
 *         answer read, within HTTP_REQUEST_S of the connection's opening or within HTTP_IDLE_S of
 *         the last answer. At most HTTP_CONNS_KEPT connections are kept (BUDGET.md): a new one then
 *         takes the place of the one that has waited longest, of a source that has more than its
 *         share if there is one.
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

/* True if this program was built with libmicrohttpd. Otherwise *err says that it was not. */
bool http_is_built(struct error *err);
/* The socket and the counters of a server. */
struct http_at {
	const struct config_http *config;
	int fd; /* from http_listen(); -1: none */
	struct counter *counters;
};
/* Starts the server. Without a socket *server is NULL, and the functions below do nothing. */
bool http_start(struct http_server **server, const struct http_at *at, struct error *err);
/* The program serves. From now on rows are shown. */
bool http_serve(struct http_server *server, const struct stat_source *rows, struct error *err);
/* The program stops. From now on rows are not read. */
void http_stopping(struct http_server *server);
/* The program drains. It is not ready any more; rows are still shown. */
void http_draining(struct http_server *server);
/* Sets whether a core is stuck. */
void http_set_stuck(struct http_server *server, bool stuck);
/* Returns the file to poll for input; -1: none. */
int http_fd(const struct http_server *server);
/* Handles input and time limits. Called on input, and several times a second. True if another
 * call has work at once. */
bool http_run(struct http_server *server, uint64_t now_ns);
void http_stop(struct http_server *server);

#endif
