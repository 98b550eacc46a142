/*
 * tls_stream.h - TLS over bytes in memory, by OpenSSL: no socket, no clock, no network.
 *
 * Shape:  a context has certificates and settings; a stream is one connection of a peer. A call
 *         reads encrypted bytes from io.in, as far as it needs them, and appends others at
 *         io.out_len, up to io.out_max. A stream holds back at most one record.
 * Owner:  a stream keeps its context alive. io belongs to the caller, and is set before each call.
 * Thread: a context may be used by several threads, a stream by one at a time.
 * Errors: a peer's faults are a status; only loading a context gives a reason as text.
 * Bounds: OpenSSL takes at most tls_stream_bytes() of heap for a stream inside a record, and
 *         tls_handshake_bytes() during its handshake. A write has at most TLS_STEP_MAX bytes.
 */
#ifndef CLOCKOO_TLS_STREAM_H
#define CLOCKOO_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_STEP_MAX    16384u /* plain bytes of a record */
#define TLS_RECORD_MORE 512u   /* bytes that a write may add to its caller's */
#define TLS_WHY_BYTES   320u
#define TLS_ENDS_SOON_S (14 * 86400)

#define TLS_PEER_CHAIN_MAX 65536u /* length of certificates that a peer may claim */

struct tls_context;
struct tls_stream;

/* Settings, as in memcached's ssl_*. NULL: not given. */
struct tls_settings {
	const char *chain_cert, *key, *ciphers, *ca_cert;
	uint32_t keyformat;   /* 1: PEM, 2: DER, as OpenSSL numbers them */
	uint32_t verify_mode; /* 0: none, 1: request, 2: require, 3: once */
	uint32_t min_version; /* 0..3: TLS 1.0 to 1.3 */
};

/* Return the most heap that a stream takes inside a record, and until its handshake is complete.
 * Both depend on the release of OpenSSL that the program runs with. */
uint32_t tls_stream_bytes(void);
uint32_t tls_handshake_bytes(uint32_t verify_mode);

/* Loads certificates and keys. NULL: it failed; why has the reason, on one line that begins with
 * the option. */
struct tls_context *tls_context_load(const struct tls_settings *from, char why[TLS_WHY_BYTES]);
/* True if a certificate of the chain is not valid at now_s (Unix time), or ends within
 * TLS_ENDS_SOON_S. words: which one and when, on one line. */
bool tls_context_date_is_near(const struct tls_context *context, int64_t now_s,
			      char words[TLS_WHY_BYTES]);
void tls_context_free(struct tls_context *context);

struct tls_io {
	const uint8_t *in;
	uint8_t *out;
	uint32_t in_len, out_len, out_max;
};

enum tls_status {
	TLS_DONE,
	TLS_WAITS,  /* it needs further bytes, or room */
	TLS_ENDED,  /* the peer has announced that it sends no more */
	TLS_FAILED, /* the peer's bytes are wrong; an alert may be in io.out; no further call is
		       allowed */
};

/* Returns a new stream, NULL without memory. */
struct tls_stream *tls_stream_open(struct tls_context *context, struct tls_io *io);
void tls_stream_free(struct tls_stream *stream);

/* Continues the handshake; called until TLS_DONE. *resumed: it used a ticket instead of
 * certificates. */
enum tls_status tls_handshake(struct tls_stream *stream, bool *resumed);
enum tls_status tls_read(struct tls_stream *stream, uint8_t *to, uint32_t bytes_max,
			 uint32_t *bytes);
/* Writes a record. bytes: at most TLS_STEP_MAX; io.out has room for them and TLS_RECORD_MORE. Never
 * returns TLS_WAITS. */
enum tls_status tls_write(struct tls_stream *stream, const uint8_t *from, uint32_t bytes);
/* Writes the alert that ends the stream. */
void tls_end(struct tls_stream *stream);
/* True if decrypted bytes of a record remain to be read. */
bool tls_has_read_ahead(const struct tls_stream *stream);
/* Returns the number of key updates by the peer since the handshake. One tls_read() adds at most
 * one. */
uint32_t tls_rekeys(const struct tls_stream *stream);

#endif
