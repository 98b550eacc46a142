/*
 * http_listen.h - the listening socket of telemetry.http, one of the kernel's.
 *
 * Errors: struct error, one line: where, what is wrong, what to do. A file at the path of a Unix
 *         socket is removed if it is a socket without a listener, and else refused.
 */
#ifndef CLOCKOO_HTTP_LISTEN_H
#define CLOCKOO_HTTP_LISTEN_H

#include "config/config.h"

/* Connections that may wait to be accepted: a full queue makes a client try again after 1 s. */
#define HTTP_BACKLOG 1024

/* Opens the socket, which does not block and is closed by exec. *fd is -1 if the configuration
 * names none. */
bool http_listen(int *fd, const struct config_http *http, struct error *err);
/* Connects to a server there; its socket waits wait_ms at most to send or receive. -1: nothing
 * listens. */
int http_connect(const struct config_http *http, uint32_t wait_ms);
void http_unlisten(int fd, const struct config_http *http);

enum http_place {
	HTTP_PLACE_FREE,
	HTTP_PLACE_TAKEN, /* another process listens there, perhaps this service */
	HTTP_PLACE_BAD,   /* *err has the reason */
};
/* Checks whether a start could listen; leaves nothing behind. */
enum http_place http_place_check(const struct config_http *http, struct error *err);
/* True if other machines can reach the address. */
bool http_place_is_open(const struct config_http *http);

#endif
