/*
 * tls_stream.h - TLS over bytes in memory, by OpenSSL: no socket, no clock, no network.
 *
 * Shape:  a context has certificates and settings; a stream is one connection of a peer. A call
 *         reads ciphered bytes from io.in, as far as it needs them, and puts others behind
 *         io.out_len, as far as io.out_max allows: no more is ever held back than one record.
 * Owner:  a stream keeps its context alive. io belongs to the caller, and is set before each call.
 * Thread: a context may be used by several threads, a stream by one at a time.
 * Errors: whatever the peer sends is a status; only a context tells why in words.
 * Bounds: OpenSSL takes at most tls_stream_bytes() of heap for a stream inside a record, and
 *         tls_handshake_bytes() while it shakes hands. TLS_STEP_MAX bytes a write.
 */
#ifndef CLOCKOO_TLS_STREAM_H
#define CLOCKOO_TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_STEP_MAX    16384u /* a record */
#define TLS_RECORD_MORE 512u   /* that a write may take beside its bytes */
#define TLS_WHY_BYTES   320u
#define TLS_ENDS_SOON_S (14 * 86400)

#define TLS_PEER_CHAIN_MAX 65536u /* that a peer may claim of its certificates */

struct tls_context;
struct tls_stream;

/* As memcached's ssl_*. NULL: not given. */
struct tls_settings {
	const char *chain_cert, *key, *ciphers, *ca_cert;
	uint32_t keyformat;   /* 1: PEM, 2: DER, as OpenSSL numbers them */
	uint32_t verify_mode; /* 0: none, 1: request, 2: require, 3: once */
	uint32_t min_version; /* 0..3: TLS 1.0 to 1.3 */
};

/* Return the most heap a stream takes, inside a record and until its handshake is complete. Both
 * depend on the release of OpenSSL that the program runs with. */
uint32_t tls_stream_bytes(void);
uint32_t tls_handshake_bytes(uint32_t verify_mode);

/* Reads the files. NULL: why says what is wrong, on one line that begins with the option. */
struct tls_context *tls_context_load(const struct tls_settings *from, char why[TLS_WHY_BYTES]);
/* True if a certificate of the chain is not valid at now_s (Unix time), or ends within
 * TLS_ENDS_SOON_S; words then says which and when, on one line. */
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
	TLS_WAITS,  /* for bytes, or for room */
	TLS_ENDED,  /* the peer has said that it sends no more */
	TLS_FAILED, /* what it sent is wrong: an alert may be in io.out; nothing else may be asked
		     */
};

/* NULL: no memory. */
struct tls_stream *tls_stream_open(struct tls_context *context, struct tls_io *io);
void tls_stream_free(struct tls_stream *stream);

/* Until TLS_DONE; resumed: without certificates, by a ticket. */
enum tls_status tls_handshake(struct tls_stream *stream, bool *resumed);
enum tls_status tls_read(struct tls_stream *stream, uint8_t *to, uint32_t bytes_max,
			 uint32_t *bytes);
/* At most TLS_STEP_MAX, and room for them and TLS_RECORD_MORE. Not TLS_WAITS. */
enum tls_status tls_write(struct tls_stream *stream, const uint8_t *from, uint32_t bytes);
/* Tells the peer that no more comes. */
void tls_end(struct tls_stream *stream);
/* Bytes of a record that were deciphered, and not read. */
bool tls_has_read_ahead(const struct tls_stream *stream);
/* How often the peer has asked for other keys since the handshake: one at most in a tls_read(). */
uint32_t tls_rekeys(const struct tls_stream *stream);

#endif
