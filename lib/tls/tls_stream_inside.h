/*
 * tls_stream_inside.h - definitions shared by the files of streams: both ends use one BIO.
 *
 * Private to lib/tls.
 *
 * Thread: as tls_stream.h.
 */
#ifndef CLOCKOO_TLS_STREAM_INSIDE_H
#define CLOCKOO_TLS_STREAM_INSIDE_H

#include "tls_hello.h"
#include "tls_stream.h"

#include <openssl/ssl.h>
#include <stdatomic.h>

struct tls_context {
	SSL_CTX *ctx;
	BIO_METHOD *method;
	_Atomic uint32_t users; /* its streams, plus the caller that loaded it */
};

struct tls_stream {
	SSL *ssl;
	struct tls_context *context;
	struct tls_io *io;
	struct tls_hello hello;
	SSL_SESSION *offered; /* of a client: the last one its server offered; NULL: none */
	unsigned long error;  /* OpenSSL's code of the failure; 0: none */
	bool is_client;       /* the peer is a server, which sends no client hello */
	bool is_open;         /* its handshake is complete */
	bool is_asked;        /* of a client: its server has asked for a certificate */
	bool hello_too_long;  /* tls_hello.h: OpenSSL did not see it, and sends no alert */
	uint32_t rekeys;
};

/* Returns a new context with the settings of both roles; NULL without memory. */
struct tls_context *tls_context_new(const SSL_METHOD *method);
/* Writes "option value: words: OpenSSL's reason". Returns false. */
bool tls_option_error(char why[TLS_WHY_BYTES], const char *option, const char *value,
		      const char *words);
/* A certificate with its chain, its key, and the options that name their files. */
struct tls_pair {
	const char *cert_option, *cert, *key_option, *key;
	int key_format; /* SSL_FILETYPE_PEM or SSL_FILETYPE_ASN1 */
};
/* Loads a pair. False with the reason in why. */
bool tls_pair_load(SSL_CTX *ctx, const struct tls_pair *pair, char why[TLS_WHY_BYTES]);
/* Writes the words of a certificate's date that is past or near at now_s. False if it is neither.
 * who: the certificate, in words. */
bool tls_date_words(const X509 *cert, int64_t now_s, const char *who, char words[TLS_WHY_BYTES]);
/* Returns a stream without a role; NULL without memory. */
struct tls_stream *tls_stream_new(struct tls_context *context, struct tls_io *io);

#endif
