/*
 * http_server.h - telemetry.http: GET and HEAD of http_answers, by libmicrohttpd.
 *
 * Shape:  the library has no thread of its own: the control thread polls one file and calls
 *         http_run(), which never waits.
 * Owner:  the listening socket stays the caller's.
 * Thread: the control thread, but start.
 * Errors: what a peer sends is answered with a status, or its connection ends; nothing is logged.
 * Bounds: HTTP_CONNS_MAX connections of HTTP_CONN_BYTES; a request is complete, and its answer
 *         read, HTTP_REQUEST_S after its connection was opened or HTTP_IDLE_S after the last one.
 *         HTTP_CONNS_KEPT places (BUDGET.md): a new connection takes the place of the one that
 *         has waited longest, of a source that has more than its part if there is one.
 */
#ifndef CLOCKOO_HTTP_SERVER_H
#define CLOCKOO_HTTP_SERVER_H

#include "http_answers.h"

#define HTTP_CONNS_MAX  32u
#define HTTP_CONNS_KEPT 24u
#define HTTP_CONN_BYTES (16u << 10)
#define HTTP_REQUEST_S  10u
#define HTTP_IDLE_S     60u

struct http_server;

/* Was this program built with libmicrohttpd? Else false, and *err says so. */
bool http_is_built(struct error *err);
/* *server: NULL if fd is -1. */
bool http_start(struct http_server **server, struct appliance *a, int fd, struct error *err);
/* To be polled for input; -1: nothing ever comes. */
int http_fd(const struct http_server *server);
/* What there is to do, once; also some times a second. True: there is more. */
bool http_run(struct http_server *server, uint64_t now_ns);
void http_stop(struct http_server *server);

#endif
