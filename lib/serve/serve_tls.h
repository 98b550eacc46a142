/*
 * serve_tls.h - connections whose bytes are encrypted requests (lib/tls).
 *
 * Once TLS is attached, every connection of a peer is a wire, except those to plain_port. A wire's
 * session only occupies its slot: no request is read from it, and it does not count for -c. When
 * the user has authenticated the peer, it opens a pipe beside the wire (tcp/conn_pipe.h). A pipe is
 * an ordinary connection whose input comes from the user.
 *
 * Shape:  opened() is the first call for a wire, gone() the last. ready(): the stack has visited
 *         the wire. ended(): a pipe's session has ended; if it has unsent bytes, the pipe stays,
 *         closed, until they are sent. turn(): called once a turn, before requests are read.
 * Owner:  a wire belongs to the user. Decrypted bytes lie in the read buffer of the pipe's session.
 * Thread: core-local.
 * Bounds: one read buffer of a pipe at a time.
 */
#ifndef CLOCKOO_SERVE_TLS_H
#define CLOCKOO_SERVE_TLS_H

#include "serve.h"

struct serve_tls_user {
	void *arg;
	uint16_t plain_port; /* connections to this port are plain; 0: none */
	void (*opened)(void *arg, struct conn *wire);
	void (*gone)(void *arg, struct conn *wire);
	void (*ready)(void *arg, struct conn *wire);
	void (*ended)(void *arg, struct conn *pipe);
	void (*turn)(void *arg, uint64_t now_ns);
};

/* The part of the TLS state that struct serve refers to. */
struct serve_tls {
	struct serve_tls_user user;
};

size_t serve_tls_bytes(void);
/* Attaches TLS once, before the core runs and after lib/admin is attached. The functions are
 * copied. */
void serve_tls_attach(struct serve *sv, struct region *region, const struct serve_tls_user *user);

/* Opens a pipe of the wire, from which requests are now served; NULL: no free slot. */
struct conn *serve_tls_open(struct serve *sv, struct conn *wire);
/* True if the pipe has no operation in this pass. */
bool serve_tls_may_read(const struct serve *sv, const struct conn *pipe);
/* Returns how many bytes the pipe takes now, and in *at where they go; 0: none. Called in turn(),
 * or after serve_tls_may_read(). */
uint32_t serve_tls_room(struct serve *sv, struct conn *pipe, uint8_t **at);
/* Delivers the bytes that were written there, perhaps 0; they are read in this turn. */
void serve_tls_received(struct serve *sv, struct conn *pipe, uint32_t bytes);
/* Makes ready() be called again in the next pass or turn; the core does not sleep before. Called in
 * ready(). pipe: the wire's, or NULL. */
void serve_tls_again(struct serve *sv, struct conn *wire, const struct conn *pipe);
/* Returns the number of requests so far, over any transport. */
uint64_t serve_tls_requests(const struct serve *sv);

#endif
