/*
 * tls_hello.h - the claimed length of a hello, checked before OpenSSL has its bytes. OpenSSL
 * allocates what a peer claims, up to 128 KB, before the bytes have arrived.
 *
 * Shape:  every byte of a handshake passes tls_hello_passes, in order, in pieces of any size.
 * Owner: struct tls_hello is the stream's.
 * Thread: the stream's.
 * Errors: false if the hello is longer than TLS_HELLO_MAX. OpenSSL finds all other faults.
 */
#ifndef CLOCKOO_TLS_HELLO_H
#define CLOCKOO_TLS_HELLO_H

#include "base/bytes.h"

/* A hello of this length, with its header, fits the buffer that OpenSSL has for any message. Hellos
 * have some hundred bytes, 2 KB with post-quantum keys, and a ticket adds its length. */
#define TLS_HELLO_MAX (16384u - TLS_MESSAGE_HEADER)

#define TLS_RECORD_HEADER  5u
#define TLS_MESSAGE_HEADER 4u

#define TLS_RECORD_HANDSHAKE 22u

struct tls_hello {
	uint32_t record_left, message_left; /* bytes not yet seen; 0: a header is next */
	uint8_t header[TLS_RECORD_HEADER], message[TLS_MESSAGE_HEADER];
	uint8_t header_len, message_len; /* bytes of each header seen so far */
	bool is_handshake;               /* the record has handshake messages */
	bool any;                        /* a message has begun */
};

/* Checks further bytes. again: a second hello may follow the first, as in TLS 1.3. Otherwise later
 * messages may be encrypted, and are not checked. */
bool tls_hello_passes(struct tls_hello *h, const uint8_t *bytes, uint32_t len, bool again);

/* True if the first record of a stream has arrived completely, or cannot be a hello. begin: its
 * first bytes; here: the number of bytes that have arrived. */
bool tls_hello_is_whole(struct view begin, uint32_t here);

#endif
