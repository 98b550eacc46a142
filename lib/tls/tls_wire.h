/*
 * tls_wire.h - reads and writes records on a wire, one call of OpenSSL at a time, for both ends.
 *
 * Private to lib/tls.
 *
 * Shape:  the wire's bytes go into the stream, and bytes that the stream writes are queued on the
 *         wire at once. A wire without room becomes ready when it has some.
 * Owner:  struct tls_wire_io is a core's, and holds nothing between two calls.
 * Thread: core-local.
 * Bounds: a call writes at most OUT_BYTES, which is more than a record.
 */
#ifndef CLOCKOO_TLS_WIRE_H
#define CLOCKOO_TLS_WIRE_H

#include "serve/serve_backend.h"
#include "stack/stack.h"
#include "tls_stream.h"

#include "base/check.h"

#define OUT_PIECES      10u /* units of CONN_RESERVE_MAX that one call may fill: more than a record */
#define OUT_BYTES       (OUT_PIECES * CONN_RESERVE_MAX)
#define PIECES_READ_MAX 64u /* most frames and records read in a visit */

static_assert(OUT_BYTES >= TLS_STEP_MAX + TLS_RECORD_MORE, "a record fits");

struct tls_wire_io {
	struct stack *stack;
	struct tls_io io; /* arguments of the current call */
	uint8_t out[OUT_BYTES], plain[TLS_STEP_MAX];
};

/* Continues the handshake as far as the wire's bytes allow. TLS_WAITS: it needs more, or room.
 * *answered: something was sent. */
enum tls_status tls_wire_handshake(struct tls_wire_io *w, struct tls_stream *stream,
				   struct conn *wire, bool *resumed, bool *answered);
/* Decrypts the wire's next bytes in one call. *bytes: how many are at `to`. */
enum tls_status tls_wire_read(struct tls_wire_io *w, struct tls_stream *stream, struct conn *wire,
			      uint8_t *to, uint32_t room, uint32_t *bytes);
/* Sends a record of the pipe's bytes or, if the pipe is done, the end of the stream. by: says where
 * a record may end (struct serve_link_user); NULL: anywhere. TLS_WAITS: there is no room. *bytes:
 * bytes taken from the pipe; 0: it has none left. */
enum tls_status tls_wire_send(struct tls_wire_io *w, struct tls_stream *stream, struct conn *wire,
			      struct conn *pipe, const struct serve_link_user *by, uint32_t *bytes);
/* True if bytes that have arrived are not read yet. */
bool tls_wire_has_input(const struct tls_stream *stream, const struct conn *wire);

#endif
