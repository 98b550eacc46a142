/*
 * tls_stream.c - runs OpenSSL over memory: a BIO that reads from a view and writes into a buffer.
 */
#include "tls_stream_inside.h"

#include "base/check.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Releases before 3.2 do not compress certificates. */
#ifndef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
#define SSL_OP_NO_RX_CERTIFICATE_COMPRESSION 0
#endif

static const uint8_t session_context[] = "clockoo";

/* ---- memory ---- */

/* The most heap that a stream takes, as measured (tests/sim/test_tls_memory.c). Since 3.2 each
 * direction has its own record layer, and since 3.5 a stream keeps the peer's ML-KEM key. */
static const struct {
	unsigned long since; /* the first release, as OpenSSL_version_num() encodes it */
	uint32_t stream, handshake;
} heap_rows[] = {{0x30200000ul, 45056u, 77824u}, {0, 30720u, 73728u}};

static uint32_t
heap_row(void)
{
	uint32_t i = 0;

	while (OpenSSL_version_num() < heap_rows[i].since)
		i++;
	return i;
}

uint32_t
tls_stream_bytes(void)
{
	return heap_rows[heap_row()].stream;
}

uint32_t
tls_handshake_bytes(uint32_t verify_mode)
{
	return heap_rows[heap_row()].handshake + (verify_mode != 0 ? TLS_PEER_CHAIN_MAX : 0);
}

/* ---- the BIO ---- */

static int
io_read(BIO *bio, char *to, int len)
{
	struct tls_stream *s = BIO_get_data(bio);
	struct tls_io *io = s->io;
	const uint32_t n = (uint32_t)len < io->in_len ? (uint32_t)len : io->in_len;

	BIO_clear_retry_flags(bio);
	if (n == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	if (!s->is_open && !s->is_client &&
	    !tls_hello_passes(&s->hello, io->in, n, SSL_version(s->ssl) == TLS1_3_VERSION)) {
		s->hello_too_long = true;
		return -1;
	}
	memcpy(to, io->in, n);
	io->in += n;
	io->in_len -= n;
	return (int)n;
}

static int
io_write(BIO *bio, const char *from, int len)
{
	struct tls_io *io = ((struct tls_stream *)BIO_get_data(bio))->io;
	const uint32_t room = io->out_max - io->out_len;
	const uint32_t n = (uint32_t)len < room ? (uint32_t)len : room;

	BIO_clear_retry_flags(bio);
	if (n == 0) {
		BIO_set_retry_write(bio);
		return -1;
	}
	memcpy(io->out + io->out_len, from, n);
	io->out_len += n;
	return (int)n;
}

static long
io_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio, (void)number, (void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static int
io_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static BIO_METHOD *
io_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "clockoo");

	if (m == NULL)
		return NULL;
	BIO_meth_set_read(m, io_read);
	BIO_meth_set_write(m, io_write);
	BIO_meth_set_ctrl(m, io_ctrl);
	BIO_meth_set_create(m, io_create);
	return m;
}

/* ---- contexts ---- */

bool
tls_option_error(char why[TLS_WHY_BYTES], const char *option, const char *value, const char *words)
{
	const unsigned long code = ERR_get_error();
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	snprintf(why, TLS_WHY_BYTES, "%s%s%.160s: %s%s%s", option, value != NULL ? " " : "",
		 value != NULL ? value : "", words, reason != NULL ? ": " : "",
		 reason != NULL ? reason : "");
	ERR_clear_error();
	return false;
}

bool
tls_pair_load(SSL_CTX *ctx, const struct tls_pair *p, char why[TLS_WHY_BYTES])
{
	char words[64];

	if (SSL_CTX_use_certificate_chain_file(ctx, p->cert) != 1)
		return tls_option_error(why, p->cert_option, p->cert,
					"cannot be read as a chain of PEM certificates");
	snprintf(words, sizeof words, "is no private key of %s", p->cert_option);
	if (SSL_CTX_use_PrivateKey_file(ctx, p->key, p->key_format) != 1)
		return tls_option_error(why, p->key_option, p->key, words);
	snprintf(words, sizeof words, "does not belong to %s", p->cert_option);
	if (SSL_CTX_check_private_key(ctx) != 1)
		return tls_option_error(why, p->key_option, p->key, words);
	return true;
}

static bool
certificates_load(SSL_CTX *ctx, const struct tls_settings *s, char *why)
{
	const struct tls_pair pair = {
		.cert_option = "ssl_chain_cert",
		.cert = s->chain_cert,
		.key_option = "ssl_key",
		.key = s->key != NULL ? s->key : s->chain_cert,
		.key_format =
			s->keyformat == SSL_FILETYPE_ASN1 ? SSL_FILETYPE_ASN1 : SSL_FILETYPE_PEM,
	};

	if (!tls_pair_load(ctx, &pair, why))
		return false;
	if (s->ca_cert == NULL)
		return true;
	if (SSL_CTX_load_verify_locations(ctx, s->ca_cert, NULL) != 1)
		return tls_option_error(why, "ssl_ca_cert", s->ca_cert,
					"cannot be read as PEM certificates");
	SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(s->ca_cert));
	return true;
}

static bool
context_set(SSL_CTX *ctx, const struct tls_settings *s, char *why)
{
	static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION,
				       TLS1_3_VERSION};
	static const int modes[] = {SSL_VERIFY_NONE, SSL_VERIFY_PEER,
				    SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
				    SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE};

	SSL_CTX_set_min_proto_version(ctx, versions[s->min_version & 3]);
	SSL_CTX_set_verify(ctx, modes[s->verify_mode & 3], NULL);
	SSL_CTX_set_session_id_context(ctx, session_context, sizeof session_context - 1);
	/* The client keeps its session, in a ticket. */
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_max_early_data(ctx, 0);
	if (s->ciphers != NULL && SSL_CTX_set_cipher_list(ctx, s->ciphers) != 1)
		return tls_option_error(why, "ssl_ciphers", s->ciphers,
					"names no cipher that there is");
	return certificates_load(ctx, s, why);
}

static void
context_limit(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 /* 700 bytes of a peer could decompress to 64 KB. */
					 SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* A read returns at the first record that is not application data: in a frame full of key
	 * updates each takes some 30 us. */
	SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_max_cert_list(ctx, TLS_PEER_CHAIN_MAX);
}

struct tls_context *
tls_context_new(const SSL_METHOD *method)
{
	struct tls_context *context = OPENSSL_zalloc(sizeof *context);

	ERR_clear_error();
	if (context == NULL)
		return NULL;
	atomic_store(&context->users, 1);
	context->ctx = SSL_CTX_new(method);
	context->method = io_method();
	if (context->ctx != NULL && context->method != NULL) {
		context_limit(context->ctx);
		return context;
	}
	tls_context_free(context);
	return NULL;
}

struct tls_context *
tls_context_load(const struct tls_settings *from, char why[TLS_WHY_BYTES])
{
	struct tls_context *context = tls_context_new(TLS_server_method());

	why[0] = '\0';
	if (context != NULL && context_set(context->ctx, from, why))
		return context;
	if (why[0] == '\0')
		tls_option_error(why, "TLS", NULL, "no memory");
	tls_context_free(context);
	return NULL;
}

void
tls_context_free(struct tls_context *context)
{
	if (context == NULL || atomic_fetch_sub(&context->users, 1) != 1)
		return;
	SSL_CTX_free(context->ctx);
	BIO_meth_free(context->method);
	OPENSSL_free(context);
}

/* ---- dates ---- */

/* Writes the text for a date that is past or near at now_s. False: it is neither. who: the
 * certificate that has the date. */
bool
tls_date_words(const X509 *cert, int64_t now_s, const char *who, char words[TLS_WHY_BYTES])
{
	const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
	time_t now = (time_t)now_s, soon = (time_t)(now_s + TLS_ENDS_SOON_S);
	const bool early = X509_cmp_time(from, &now) > 0, late = X509_cmp_time(to, &now) < 0;
	struct tm date;
	char day[32];

	if ((!early && !late && X509_cmp_time(to, &soon) >= 0) ||
	    ASN1_TIME_to_tm(early ? from : to, &date) != 1 ||
	    strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &date) == 0)
		return false;
	snprintf(words, TLS_WHY_BYTES, "%s %s %s", who,
		 early  ? "is not valid before"
		 : late ? "has expired on"
			: "expires on",
		 day);
	return true;
}

bool
tls_context_date_is_near(const struct tls_context *context, int64_t now_s,
			 char words[TLS_WHY_BYTES])
{
	const X509 *own = SSL_CTX_get0_certificate(context->ctx);
	STACK_OF(X509) *chain = NULL;

	if (own != NULL && tls_date_words(own, now_s, "the certificate", words))
		return true;
	SSL_CTX_get0_chain_certs(context->ctx, &chain);
	for (int i = 0; i < sk_X509_num(chain); i++)
		if (tls_date_words(sk_X509_value(chain, i), now_s, "a certificate of its chain",
				   words))
			return true;
	return false;
}

/* ---- streams ---- */

struct tls_stream *
tls_stream_new(struct tls_context *context, struct tls_io *io)
{
	struct tls_stream *stream = OPENSSL_zalloc(sizeof *stream);
	SSL *ssl = stream != NULL ? SSL_new(context->ctx) : NULL;
	BIO *bio = ssl != NULL ? BIO_new(context->method) : NULL;

	if (bio == NULL) {
		SSL_free(ssl);
		OPENSSL_free(stream);
		ERR_clear_error();
		return NULL;
	}
	BIO_set_data(bio, stream);
	SSL_set_bio(ssl, bio, bio);
	atomic_fetch_add(&context->users, 1);
	*stream = (struct tls_stream){.ssl = ssl, .context = context, .io = io};
	return stream;
}

struct tls_stream *
tls_stream_open(struct tls_context *context, struct tls_io *io)
{
	struct tls_stream *stream = tls_stream_new(context, io);

	if (stream != NULL)
		SSL_set_accept_state(stream->ssl);
	return stream;
}

void
tls_stream_free(struct tls_stream *stream)
{
	/* OpenSSL would make the session unusable if the stream did not end in order. */
	if (stream->is_client)
		SSL_set_shutdown(stream->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(stream->ssl);
	SSL_SESSION_free(stream->offered);
	tls_context_free(stream->context);
	OPENSSL_free(stream);
}

/* Clears the thread's error queue. Otherwise an earlier call's error would be taken for the next
 * call's (SSL_get_error(3)). */
static void
errors_forget(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

static enum tls_status
status_of(struct tls_stream *stream, int result)
{
	switch (SSL_get_error(stream->ssl, result)) {
	case SSL_ERROR_NONE:
		return TLS_DONE;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return TLS_WAITS;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	default:
		stream->error = ERR_peek_error();
		ERR_clear_error();
		return TLS_FAILED;
	}
}

/* Notes key updates among the messages of both ends. */
static void
on_message(int is_ours, int version, int type, const void *bytes, size_t len, SSL *ssl, void *arg)
{
	struct tls_stream *stream = arg;

	const bool is_ticket = stream->is_client && len > 0 &&
			       *(const uint8_t *)bytes == SSL3_MT_NEWSESSION_TICKET;

	(void)version, (void)ssl;
	stream->rekeys += !is_ours && type == SSL3_RT_HANDSHAKE && !is_ticket;
}

/* Writes the alert for a hello that is too long, as OpenSSL does for any such message: fatal,
 * illegal_parameter. Nothing is encrypted before a hello. */
static void
alert_put(struct tls_io *io)
{
	static const uint8_t alert[] = {
		SSL3_RT_ALERT, TLS1_2_VERSION_MAJOR,    TLS1_2_VERSION_MINOR, 0, 2,
		SSL3_AL_FATAL, SSL_AD_ILLEGAL_PARAMETER};

	if (io->out_max - io->out_len < sizeof alert)
		return;
	memcpy(io->out + io->out_len, alert, sizeof alert);
	io->out_len += sizeof alert;
}

enum tls_status
tls_handshake(struct tls_stream *stream, bool *resumed)
{
	SSL *ssl = stream->ssl;
	enum tls_status status;

	errors_forget();
	status = status_of(stream, SSL_do_handshake(ssl));
	*resumed = status == TLS_DONE && SSL_session_reused(ssl) == 1;
	if (status == TLS_DONE) {
		stream->is_open = true;
		SSL_set_msg_callback(ssl, on_message);
		SSL_set_msg_callback_arg(ssl, stream);
	}
	if (stream->hello_too_long)
		alert_put(stream->io);
	/* An end in the middle of a handshake is a failure. */
	return status == TLS_ENDED ? TLS_FAILED : status;
}

enum tls_status
tls_read(struct tls_stream *stream, uint8_t *to, uint32_t bytes_max, uint32_t *bytes)
{
	size_t n = 0;
	int result;

	errors_forget();
	result = SSL_read_ex(stream->ssl, to, bytes_max, &n);
	*bytes = (uint32_t)n;
	return status_of(stream, result);
}

enum tls_status
tls_write(struct tls_stream *stream, const uint8_t *from, uint32_t bytes)
{
	size_t n = 0;
	enum tls_status status;

	ensure(bytes > 0 && bytes <= TLS_STEP_MAX);
	errors_forget();
	status = status_of(stream, SSL_write_ex(stream->ssl, from, bytes, &n));
	/* The buffer had room for all of it. */
	return status == TLS_DONE && n == bytes ? TLS_DONE : TLS_FAILED;
}

void
tls_end(struct tls_stream *stream)
{
	SSL_shutdown(stream->ssl);
	ERR_clear_error();
}

bool
tls_has_read_ahead(const struct tls_stream *stream)
{
	return SSL_pending(stream->ssl) > 0;
}

uint32_t
tls_rekeys(const struct tls_stream *stream)
{
	return stream->rekeys;
}
