/*
 * http_listen.h - the listening socket of telemetry.http, which is one of the kernel's.
 *
 * Errors: struct error, one line: place, fault, cure. A file at the path of a Unix socket is
 *         removed if it is a socket without a listener; any other file is an error.
 */
#ifndef CLOCKOO_HTTP_LISTEN_H
#define CLOCKOO_HTTP_LISTEN_H

#include "config/config.h"

/* Connections that may wait to be accepted. A full queue would make a client try again after 1
 * s. */
#define HTTP_BACKLOG 1024

/* Opens the socket, non-blocking and close-on-exec. *fd is -1 if the configuration names none. */
bool http_listen(int *fd, const struct config_http *http, struct error *err);
/* Connects to the server at this address. Sending and receiving at the socket wait for wait_ms at
 * most. -1: the address has no listener. */
int http_connect(const struct config_http *http, uint32_t wait_ms);
void http_unlisten(int fd, const struct config_http *http);

enum http_place {
	HTTP_PLACE_FREE,
	HTTP_PLACE_TAKEN, /* another process listens, perhaps this service */
	HTTP_PLACE_BAD,   /* *err has the reason */
};
/* Checks whether a start could listen. Leaves no socket and no file. */
enum http_place http_place_check(const struct config_http *http, struct error *err);
/* True if other machines can reach the address. */
bool http_place_is_open(const struct config_http *http);

#endif
