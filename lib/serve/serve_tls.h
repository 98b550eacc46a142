/*
 * serve_tls.h - connections whose bytes are encrypted requests (lib/tls).
 *
 * Once TLS is attached, every connection of a peer is a wire, except those to plain_port. No
 * request is read from a wire's session, and it does not count for -c. When the handshake is
 * complete, the user of this interface opens a pipe for the wire (tcp/conn_pipe.h): an ordinary
 * connection whose input comes from that user.
 *
 * Shape:  opened() is the first call for a wire, gone() the last. ready() is called when the stack
 *         has visited the wire, and ended() when a pipe's session has ended; if the pipe has unsent
 *         bytes it stays, closed, until they are sent. turn() is called once a turn, before
 *         requests are read.
 * Owner:  a wire belongs to the user. Decrypted bytes are in the read buffer of the pipe's session.
 * Thread: core-local.
 * Bounds: a pipe has at most one read buffer.
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

/* The TLS state that struct serve refers to. */
struct serve_tls {
	struct serve_tls_user user;
};

size_t serve_tls_bytes(void);
/* Attaches TLS once, before the core runs and after lib/admin is attached. The table of functions
 * is copied. */
void serve_tls_attach(struct serve *sv, struct region *region, const struct serve_tls_user *user);

/* Opens a pipe for the wire, from which requests are served from now on. NULL: no slot is free. */
struct conn *serve_tls_open(struct serve *sv, struct conn *wire);
/* True if the pipe has no operation in this pass. */
bool serve_tls_may_read(const struct serve *sv, const struct conn *pipe);
/* Returns how many bytes the pipe takes now; *at: where they go. 0: none. Called in turn(), or
 * after serve_tls_may_read(). */
uint32_t serve_tls_room(struct serve *sv, struct conn *pipe, uint8_t **at);
/* Delivers the bytes that were written there, which may be none; they are read in this turn. */
void serve_tls_received(struct serve *sv, struct conn *pipe, uint32_t bytes);
/* Has ready() called again, in the next pass or turn; the core does not sleep before that. Called
 * in ready(). pipe: the wire's pipe, or NULL. */
void serve_tls_again(struct serve *sv, struct conn *wire, const struct conn *pipe);
/* Returns the number of requests so far, over any transport. */
uint64_t serve_tls_requests(const struct serve *sv);

#endif
