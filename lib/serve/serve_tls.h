/*
 * serve_tls.h - connections whose bytes are not requests, but carry them ciphered (lib/tls).
 *
 * Once attached, every connection of a peer, but those of plain_port, is a wire: a session keeps
 * its place, no request is read from it, and it is not counted for -c. The user opens a pipe beside
 * it (tcp/conn_pipe.h) when it knows the peer: that is a connection as any other, whose requests
 * the user brings.
 *
 * Shape:  opened() and gone() frame a wire; ready(): the stack has popped it. ended(): a pipe's
 *         session is over; the pipe stays, closed, if bytes are left in it. turn(): once a turn,
 *         before requests are read.
 * Owner:  the wire is the user's. Bytes brought lie in the session's read buffer.
 * Thread: core-local.
 * Bounds: a read buffer of the pipe at a time.
 */
#ifndef CLOCKOO_SERVE_TLS_H
#define CLOCKOO_SERVE_TLS_H

#include "serve.h"

struct serve_tls_user {
	void *arg;
	uint16_t plain_port; /* connections of it are as without; 0: there is none */
	void (*opened)(void *arg, struct conn *wire);
	void (*gone)(void *arg, struct conn *wire);
	void (*ready)(void *arg, struct conn *wire);
	void (*ended)(void *arg, struct conn *pipe);
	void (*turn)(void *arg, uint64_t now_ns);
};

/* What struct serve knows of it. */
struct serve_tls {
	struct serve_tls_user user;
};

size_t serve_tls_bytes(void);
/* Once, before the core turns, and after lib/admin is there. The functions are copied. */
void serve_tls_attach(struct serve *sv, struct region *region, const struct serve_tls_user *user);

/* Requests are served on a pipe of the wire from now on; NULL: no slot. */
struct conn *serve_tls_open(struct serve *sv, struct conn *wire);
/* In turn(): where the next bytes of the pipe go, and how many; 0: it reads none now. */
uint32_t serve_tls_room(struct serve *sv, struct conn *pipe, uint8_t **at);
/* So many were put there, perhaps none; they are read in this turn. */
void serve_tls_received(struct serve *sv, struct conn *pipe, uint32_t bytes);
/* In ready(): it is called again in the next turn, for which the core does not wait. */
void serve_tls_again(struct serve *sv, struct conn *wire);
/* Requests so far, of whatever kind. */
uint64_t serve_tls_requests(const struct serve *sv);

#endif
