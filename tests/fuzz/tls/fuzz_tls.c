/*
 * fuzz_tls.c - bytes of a hostile peer into a TLS stream, cut anywhere.
 *
 * Goal:   any bytes give a status; nothing is written beyond the room, nothing is read past the
 *         bytes received, and without a handshake no byte is deciphered.
 * Method: byte 0 is the length of a piece, byte 1 the room for output; the rest is what the peer
 *         sends. The certificate is made once.
 *
 * Bounds: BYTES_MAX bytes of input.
 */
#include "../fuzz_target.h"
#include "base/check.h"
#include "tls/tls_stream.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX 65536u
#define ROOM_UNIT 64u

static struct tls_context *context;

/* Writes a certificate and its key into one file. */
static void
pem_write(const char *path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	FILE *out = fopen(path, "w");

	ensure(key != NULL && x != NULL && out != NULL);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 864000);
	X509_set_pubkey(x, key);
	ensure(X509_sign(x, key, EVP_sha256()) > 0 && PEM_write_X509(out, x) == 1);
	ensure(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(out) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

static void
context_make(void)
{
	char path[] = "/tmp/fuzz_tls-XXXXXX", why[TLS_WHY_BYTES];
	const int fd = mkstemp(path);

	ensure(fd >= 0);
	close(fd);
	pem_write(path);
	context = tls_context_load(
		&(struct tls_settings){.chain_cert = path, .verify_mode = 1, .min_version = 2},
		why);
	unlink(path);
	ensure(context != NULL);
}

/* Gives a piece from the end of a block of its own: a read past it is detected. */
static enum tls_status
piece_give(struct tls_stream *stream, struct tls_io *io, const uint8_t *data, uint32_t len)
{
	uint8_t *piece = malloc(len), out[ROOM_UNIT * 256];
	enum tls_status status = TLS_WAITS;
	bool resumed;

	ensure(piece != NULL);
	memcpy(piece, data, len);
	io->in = piece;
	io->in_len = len;
	io->out = out;
	for (uint32_t i = 0; i < 64 && status == TLS_WAITS; i++) {
		const uint32_t before = io->in_len;

		io->out_len = 0;
		status = tls_handshake(stream, &resumed);
		ensure(io->out_len <= io->out_max && io->in_len <= len);
		ensure(status != TLS_DONE); /* no input can forge a Finished */
		if (io->in_len == before && io->out_len == 0)
			break;
	}
	free(piece);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_io io = {0};
	struct tls_stream *stream;
	uint32_t piece;

	if (context == NULL)
		context_make();
	if (size < 2)
		return 0;
	size = size < BYTES_MAX ? size : BYTES_MAX;
	piece = data[0] + 1u;
	io.out_max = (data[1] + 1u) * ROOM_UNIT;
	stream = tls_stream_open(context, &io);
	ensure(stream != NULL);
	for (size_t at = 2; at < size; at += piece) {
		const size_t left = size - at;

		if (piece_give(stream, &io, data + at, (uint32_t)(left < piece ? left : piece)) !=
		    TLS_WAITS)
			break;
	}
	io.in_len = io.out_len = 0;
	tls_stream_free(stream);
	return 0;
}
