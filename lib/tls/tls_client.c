/*
 * tls_client.c - the client's end of a stream, by OpenSSL: verifies servers and keeps the sessions
 * that they offer.
 */
#include "tls_client.h"
#include "tls_stream_inside.h"

#include "base/check.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static_assert(sizeof(time_t) == sizeof(int64_t), "a Unix time is a time_t");

/* ---- sessions ---- */

static SSL_SESSION *
ssl_session(const struct tls_session *session)
{
	return (SSL_SESSION *)(void *)(uintptr_t)session;
}

/* Keeps a session that the server offers in place of the last one. Returns 1: the stream now owns
 * it. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls_stream *stream = BIO_get_data(SSL_get_rbio(ssl));

	SSL_SESSION_free(stream->offered);
	stream->offered = session;
	return 1;
}

/* True if the certificate of the session's first handshake is valid at now_s. A resumed handshake
 * shows no certificate, so this is the only check of its end. */
static bool
session_is_valid(const SSL_SESSION *session, int64_t now_s)
{
	const X509 *cert = SSL_SESSION_get0_peer((SSL_SESSION *)(uintptr_t)session);
	time_t now = (time_t)now_s;

	return cert != NULL && X509_cmp_time(X509_get0_notAfter(cert), &now) > 0 &&
	       SSL_SESSION_is_resumable(session) == 1;
}

struct tls_session *
tls_client_session(struct tls_stream *stream)
{
	SSL_SESSION *session = stream->offered;

	stream->offered = NULL;
	return (struct tls_session *)(void *)session;
}

void
tls_session_free(struct tls_session *session)
{
	SSL_SESSION_free(ssl_session(session));
}

/* ---- contexts ---- */

/* Notes that the server asks for our certificate. Returns 1: the context's is sent, if it has one.
 */
static int
on_asked(SSL *ssl, void *arg)
{
	struct tls_stream *stream = BIO_get_data(SSL_get_rbio(ssl));

	(void)arg;
	stream->is_asked = true;
	return 1;
}

bool
tls_client_is_asked(const struct tls_stream *stream)
{
	return stream->is_asked;
}

static bool
files_load(SSL_CTX *ctx, const struct tls_client_files *files, char why[TLS_WHY_BYTES])
{
	const struct tls_pair own = {
		.cert_option = "--front-tls-cert",
		.cert = files->cert,
		.key_option = "--front-tls-key",
		.key = files->key,
		.key_format = SSL_FILETYPE_PEM,
	};

	if (SSL_CTX_load_verify_locations(ctx, files->ca, NULL) != 1)
		return tls_option_error(why, "--front-tls-ca", files->ca,
					"cannot be read as PEM certificates");
	return files->cert == NULL || tls_pair_load(ctx, &own, why);
}

struct tls_context *
tls_client_context_load(const struct tls_client_files *files, char why[TLS_WHY_BYTES])
{
	struct tls_context *context = tls_context_new(TLS_client_method());

	why[0] = '\0';
	if (context == NULL) {
		tls_option_error(why, "TLS", NULL, "no memory");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(context->ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);
	/* Every certificate of the file is trusted, even an intermediate one without its root. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context->ctx), X509_V_FLAG_PARTIAL_CHAIN);
	SSL_CTX_set_session_cache_mode(context->ctx,
				       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context->ctx, on_session);
	SSL_CTX_set_cert_cb(context->ctx, on_asked, NULL);
	if (files_load(context->ctx, files, why))
		return context;
	tls_context_free(context);
	return NULL;
}

bool
tls_client_issuer_date_is_near(const struct tls_context *context, int64_t now_s,
			       char words[TLS_WHY_BYTES])
{
	STACK_OF(X509) *issuers = X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(context->ctx));
	char who[TLS_WHY_BYTES / 2], name[96];
	bool near = false;

	for (int i = 0; i < sk_X509_num(issuers) && !near; i++) {
		const X509 *issuer = sk_X509_value(issuers, i);

		X509_NAME_oneline(X509_get_subject_name(issuer), name, sizeof name);
		snprintf(who, sizeof who, "the issuer %s", name);
		near = tls_date_words(issuer, now_s, who, words);
	}
	sk_X509_pop_free(issuers, X509_free);
	return near;
}

/* ---- streams ---- */

/* Makes the handshake verify that name and send it to the server. Names count where RFC 9525 has
 * them, not in the subject's common name. */
static bool
name_set(SSL *ssl, const char *name)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	const size_t len = strlen(name), dot = len > 1 && name[len - 1] == '.';
	char host[TLSEXT_MAXLEN_host_name + 1];

	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1)
		return true;
	ERR_clear_error();
	if (len >= sizeof host)
		return false;
	/* A DNS name may end with a dot; a certificate's name does not. */
	snprintf(host, sizeof host, "%.*s", (int)(len - dot), name);
	return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
	       SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls_stream *
tls_client_open(struct tls_context *context, struct tls_io *io, const char *name, int64_t now_s,
		const struct tls_session *resume)
{
	struct tls_stream *stream = tls_stream_new(context, io);

	ensure(name[0] != '\0');
	if (stream == NULL)
		return NULL;
	stream->is_client = true;
	SSL_set_connect_state(stream->ssl);
	X509_VERIFY_PARAM_set_time(SSL_get0_param(stream->ssl), (time_t)now_s);
	if (!name_set(stream->ssl, name)) {
		ERR_clear_error();
		tls_stream_free(stream);
		return NULL;
	}
	if (resume != NULL && session_is_valid(ssl_session(resume), now_s))
		SSL_set_session(stream->ssl, ssl_session(resume));
	return stream;
}

/* ---- faults ---- */

static enum tls_fault
fault_of_verification(long result)
{
	switch (result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return TLS_FAULT_EXPIRED;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return TLS_FAULT_EARLY;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return TLS_FAULT_NAME;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return TLS_FAULT_ISSUER;
	default:
		return TLS_FAULT_CERTIFICATE;
	}
}

enum tls_fault
tls_stream_fault(const struct tls_stream *stream)
{
	const long verified = SSL_get_verify_result(stream->ssl);
	const int reason =
		ERR_GET_LIB(stream->error) == ERR_LIB_SSL ? ERR_GET_REASON(stream->error) : 0;

	if (verified != X509_V_OK)
		return fault_of_verification(verified);
	if (reason >= SSL_AD_REASON_OFFSET)
		return TLS_FAULT_REFUSED;
	switch (reason) {
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
	case SSL_R_BAD_RECORD_TYPE:
	case SSL_R_UNEXPECTED_MESSAGE:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
		return TLS_FAULT_NOT_TLS;
	default:
		return TLS_FAULT_OTHER;
	}
}
