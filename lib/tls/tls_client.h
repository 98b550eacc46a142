/*
 * tls_client.h - the client's end of a TLS stream (tls_stream.h): verifies its server, and resumes
 * sessions.
 *
 * Shape:  a server has a name, which may be an address. Its handshake completes only if its
 *         certificate was issued by one of the context's, has that name, and is valid now. A
 *         session that the server offers is taken once, and may be given to a later stream of the
 *         same context and name.
 * Units:  now_s: Unix time.
 * Owner:  a session is the caller's, until tls_session_free().
 * Thread: as tls_stream.h; a session is used by one thread.
 * Errors: a handshake that fails says why: tls_stream_fault(). A server of TLS 1.3 refuses the
 *         client's certificate only after the client's handshake is complete.
 * Bounds: a server's chain has TLS_PEER_CHAIN_MAX bytes at most.
 */
#ifndef CLOCKOO_TLS_CLIENT_H
#define CLOCKOO_TLS_CLIENT_H

#include "tls_stream.h"

struct tls_session;

/* PEM files of a client. */
struct tls_client_files {
	const char *ca;   /* the certificates that issue servers' ones */
	const char *cert; /* its own one, with the chain; NULL: it has none */
	const char *key;  /* of cert */
};

/* Loads the files. NULL on failure; why then says the reason, on one line that begins with the
 * option of the file: --front-tls-ca, -cert, or -key. */
struct tls_context *tls_client_context_load(const struct tls_client_files *files,
					    char why[TLS_WHY_BYTES]);
/* True if an issuer is not valid at now_s, or ends within TLS_ENDS_SOON_S; words then says which
 * and when, on one line. tls_context_date_is_near() checks the client's own certificate. */
bool tls_client_issuer_date_is_near(const struct tls_context *context, int64_t now_s,
				    char words[TLS_WHY_BYTES]);

/* Returns a new stream to the server of that name; NULL without memory. resume: a session to offer,
 * or NULL. It is not offered if its certificate has expired. */
struct tls_stream *tls_client_open(struct tls_context *context, struct tls_io *io, const char *name,
				   int64_t now_s, const struct tls_session *resume);
/* Takes the last session that the server has offered since the last call; NULL: none. */
struct tls_session *tls_client_session(struct tls_stream *stream);
void tls_session_free(struct tls_session *session);
/* True if the server has asked for the client's certificate. */
bool tls_client_is_asked(const struct tls_stream *stream);

/* The reason of a failed handshake. */
enum tls_fault {
	TLS_FAULT_OTHER,
	TLS_FAULT_NOT_TLS,     /* the peer's bytes are not a record */
	TLS_FAULT_REFUSED,     /* the peer has sent an alert */
	TLS_FAULT_EXPIRED,     /* a certificate of its chain has expired */
	TLS_FAULT_EARLY,       /* a certificate of its chain is not valid yet */
	TLS_FAULT_NAME,        /* the certificate has another name */
	TLS_FAULT_ISSUER,      /* no certificate of the context has issued it */
	TLS_FAULT_CERTIFICATE, /* it does not verify for another reason */
};
enum tls_fault tls_stream_fault(const struct tls_stream *stream);

#endif
