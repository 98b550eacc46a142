/*
 * serve_tls.h - connections whose bytes are encrypted requests (lib/tls).
 *
 * Once attached, every connection of a peer, except those to plain_port, is a wire: its session
 * only occupies its slot. No request is read from a wire, and it does not count for -c. When the
 * user has authenticated the peer it opens a pipe beside the wire (tcp/conn_pipe.h). A pipe is an
 * ordinary connection whose input comes from the user.
 *
 * Shape:  opened() and gone() are the first and last call for a wire. ready(): the stack has
 *         visited the wire. ended(): a pipe's session has ended; a pipe with unsent bytes stays,
 *         closed. turn(): once a turn, before requests are read.
 * Owner:  the wire is the user's. Decrypted bytes lie in the session's read buffer.
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
/* Called in turn(), or after serve_tls_may_read(): returns how many bytes the pipe takes now, and
 * in *at where to; 0: none. */
uint32_t serve_tls_room(struct serve *sv, struct conn *pipe, uint8_t **at);
/* Delivers `bytes` bytes, possibly 0, that were written there; they are read in this turn. */
void serve_tls_received(struct serve *sv, struct conn *pipe, uint32_t bytes);
/* Called in ready(): ready() is called again in the next pass or turn, before which the core does
 * not sleep. pipe: the wire's, or NULL. */
void serve_tls_again(struct serve *sv, struct conn *wire, const struct conn *pipe);
/* Returns the number of requests so far, of any transport. */
uint64_t serve_tls_requests(const struct serve *sv);

#endif
