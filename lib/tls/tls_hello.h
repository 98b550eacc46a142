/*
 * tls_hello.h - how long a hello claims to be, seen before OpenSSL has its bytes: that takes memory
 * for all that a peer claims, 128 KB, before any of it is here.
 *
 * Shape:  every byte of a handshake passes tls_hello_passes, in order, in pieces of any size.
 * Owner:  the stream's.
 * Thread: that of the stream.
 * Errors: false: the hello is longer than TLS_HELLO_MAX. Anything else that is wrong is OpenSSL's.
 */
#ifndef CLOCKOO_TLS_HELLO_H
#define CLOCKOO_TLS_HELLO_H

#include "base/bytes.h"

/* With its header it fits the buffer that OpenSSL has for any message. Hellos have some hundred
 * bytes, 2 KB where they bring keys that quantum computers cannot find, and a ticket's more. */
#define TLS_HELLO_MAX (16384u - TLS_MESSAGE_HEADER)

#define TLS_RECORD_HEADER  5u
#define TLS_MESSAGE_HEADER 4u

#define TLS_RECORD_HANDSHAKE 22u

struct tls_hello {
	uint32_t record_left, message_left; /* bytes; 0: a header is next */
	uint8_t header[TLS_RECORD_HEADER], message[TLS_MESSAGE_HEADER];
	uint8_t header_len, message_len; /* of these, what is here */
	bool is_handshake;               /* the record */
	bool any;                        /* a message has begun */
};

/* again: a hello may come behind the first one, as TLS 1.3 has it. Else what follows may be
 * ciphered, and is not looked at. */
bool tls_hello_passes(struct tls_hello *h, const uint8_t *bytes, uint32_t len, bool again);

/* Is the record that a stream begins with here, or known not to be a hello of ours? begin: the
 * first of the bytes that are here. */
bool tls_hello_is_whole(struct view begin, uint32_t here);

#endif
