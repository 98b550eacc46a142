/*
 * Heap memory that OpenSSL takes for peers with large claims. Goal: a stream takes no more than
 * --plan counts for it, in any state; a larger claim is refused before memory is taken. Method: all
 * of OpenSSL's memory is counted during calls of the server's side. The headers of a hello are cut
 * at every byte.
 */
#include "sim_tls.h"

#include "support/test.h"
#include "tls/tls_hello.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#define STREAMS      16u
#define RECORD_MAX   16384u
#define HANDSHAKE    22u
#define APPLICATION  23u
#define CERTIFICATE  11u
#define CLIENT_HELLO 1u
/* 150 certificates of some 280 bytes make a chain shorter than TLS_PEER_CHAIN_MAX. */
#define CHAIN_CERTS 150u
#define CHAIN_END   1024u

/* ---- OpenSSL's memory ---- */

static size_t heap;

static void *
counted_malloc(size_t bytes, const char *file, int line)
{
	void *p = malloc(bytes);

	heap += malloc_usable_size(p);
	return p;
}

static void
counted_free(void *p, const char *file, int line)
{
	heap -= malloc_usable_size(p);
	free(p);
}

static void *
counted_realloc(void *p, size_t bytes, const char *file, int line)
{
	heap -= malloc_usable_size(p);
	p = realloc(p, bytes);
	heap += malloc_usable_size(p);
	return p;
}

/* ---- both sides ---- */

struct pair {
	struct tls_stream *stream;
	struct tls_io io;
	SSL *client;
	BIO *to, *from; /* to the client; from it */
	uint8_t out[65536];
	size_t took; /* heap memory taken on the server's side */
};

static struct tls_context *context;
static SSL_CTX *clients;

static enum tls_status
server_receives(struct pair *p, const uint8_t *bytes, uint32_t len)
{
	const size_t before = heap;
	enum tls_status status;
	bool resumed;

	p->io = (struct tls_io){
		.in = bytes, .in_len = len, .out = p->out, .out_max = sizeof p->out};
	status = tls_handshake(p->stream, &resumed);
	p->took += heap - before;
	return status;
}

static void
pair_open(struct pair *p, int version)
{
	const size_t before = heap;

	*p = (struct pair){.stream = tls_stream_open(context, &p->io)};
	check_ptr(p->stream);
	p->took = heap - before;
	p->client = SSL_new(clients);
	p->to = BIO_new(BIO_s_mem());
	p->from = BIO_new(BIO_s_mem());
	SSL_set_min_proto_version(p->client, version);
	SSL_set_max_proto_version(p->client, version);
	SSL_set_bio(p->client, p->to, p->from);
	SSL_set_connect_state(p->client);
}

static void
pair_close(struct pair *p)
{
	SSL_free(p->client);
	tls_stream_free(p->stream);
}

/* Moves the client's bytes to the server, and its answer to the client if asked to. */
static enum tls_status
pair_turn(struct pair *p, bool receives)
{
	static uint8_t bytes[65536];
	enum tls_status status;
	int n;

	SSL_do_handshake(p->client);
	n = BIO_read(p->from, bytes, sizeof bytes);
	check(n > 0);
	status = server_receives(p, bytes, (uint32_t)n);
	if (receives)
		BIO_write(p->to, p->out, (int)p->io.out_len);
	return status;
}

/* Writes the beginning of a message with a claimed length, in a record of `record` bytes. */
static uint32_t
claim(uint8_t *to, uint8_t type, uint32_t claimed, uint32_t record)
{
	const uint8_t head[] = {HANDSHAKE,
				3,
				3,
				(uint8_t)(record >> 8),
				(uint8_t)record,
				type,
				(uint8_t)(claimed >> 16),
				(uint8_t)(claimed >> 8),
				(uint8_t)claimed};

	memset(to, 0, TLS_RECORD_HEADER + record);
	memcpy(to, head, sizeof head);
	return TLS_RECORD_HEADER + record;
}

/* ---- memory taken ---- */

static struct files files;

static void
begin(uint32_t verify_mode)
{
	char why[TLS_WHY_BYTES];
	const struct tls_settings settings = {.chain_cert = files.cert,
					      .key = files.key,
					      .verify_mode = verify_mode,
					      .min_version = 2};

	context = tls_context_load(&settings, why);
	check_ptr(context);
}

/* Brings a stream to the state in which all but a byte of a record with the longest hello has
 * arrived. */
static void
hello_claimed(struct pair *p)
{
	static uint8_t bytes[TLS_RECORD_HEADER + RECORD_MAX];
	const uint32_t n = claim(bytes, CLIENT_HELLO, TLS_HELLO_MAX, RECORD_MAX);

	pair_open(p, TLS1_3_VERSION);
	check_eq(server_receives(p, bytes, n - 1), TLS_WAITS);
}

static void
answered(struct pair *p)
{
	pair_open(p, TLS1_3_VERSION);
	check_eq(pair_turn(p, true), TLS_WAITS);
}

static void
certificate_claimed(struct pair *p)
{
	static uint8_t bytes[TLS_RECORD_HEADER + RECORD_MAX];
	const uint32_t n = claim(bytes, CERTIFICATE, TLS_PEER_CHAIN_MAX, RECORD_MAX);

	pair_open(p, TLS1_2_VERSION);
	check_eq(pair_turn(p, false), TLS_WAITS);
	check_eq(server_receives(p, bytes, n), TLS_WAITS);
	check_eq(server_receives(p, bytes, n - 1), TLS_WAITS);
}

/* Brings it to the state in which the client has the server's answer, and its next record has
 * begun. */
static void
answered_amid_a_record(struct pair *p)
{
	static const uint8_t head[64] = {APPLICATION, 3, 3, RECORD_MAX >> 8, 0};

	answered(p);
	check_eq(server_receives(p, head, sizeof head), TLS_WAITS);
}

/* Brings it to the state in which all but the end of the client's long chain has arrived. */
static void
chain_sent(struct pair *p)
{
	static uint8_t bytes[2 * TLS_PEER_CHAIN_MAX];
	int n;

	answered(p);
	SSL_do_handshake(p->client);
	n = BIO_read(p->from, bytes, sizeof bytes);
	check(n > (int)TLS_PEER_CHAIN_MAX / 2 && n < (int)TLS_PEER_CHAIN_MAX);
	for (int at = 0; at < n - (int)CHAIN_END; at += (int)RECORD_MAX)
		check_eq(server_receives(p, bytes + at,
					 (uint32_t)(n - (int)CHAIN_END - at < (int)RECORD_MAX
							    ? n - (int)CHAIN_END - at
							    : (int)RECORD_MAX)),
			 TLS_WAITS);
}

static void
amid_a_record(struct pair *p)
{
	static const uint8_t head[64] = {APPLICATION, 3, 3, RECORD_MAX >> 8, 0};
	uint8_t got[16];
	size_t before;
	uint32_t n;

	answered(p);
	check_eq(pair_turn(p, true), TLS_DONE);
	before = heap;
	p->io = (struct tls_io){
		.in = head, .in_len = sizeof head, .out = p->out, .out_max = sizeof p->out};
	check_eq(tls_read(p->stream, got, sizeof got, &n), TLS_WAITS);
	p->took += heap - before;
}

TEST(a_stream_takes_no_more_than_is_planned)
{
	static const struct {
		void (*state)(struct pair *p);
		uint32_t verify_mode;
		bool is_open;
	} rows[] = {
		{hello_claimed, 0, false},
		{answered, 0, false},
		{answered_amid_a_record, 0, false},
		{certificate_claimed, 1, false},
		{chain_sent, 1, false},
		{amid_a_record, 0, true},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static struct pair pairs[STREAMS];
		const uint32_t most = rows[i].is_open ? tls_stream_bytes()
						      : tls_handshake_bytes(rows[i].verify_mode);
		const uint32_t least = rows[i].verify_mode != 0 ? TLS_PEER_CHAIN_MAX : most / 2;
		size_t took = 0;

		begin(rows[i].verify_mode);
		for (uint32_t k = 0; k < STREAMS; k++) {
			rows[i].state(&pairs[k]);
			took += pairs[k].took;
		}
		printf("%u: %zu bytes of heap a stream, %u are planned\n", i, took / STREAMS, most);
		check(took / STREAMS >= least && took / STREAMS <= most);
		for (uint32_t k = 0; k < STREAMS; k++)
			pair_close(&pairs[k]);
		tls_context_free(context);
	}
}

TEST(a_larger_claim_is_refused_and_takes_no_memory)
{
	static uint8_t bytes[TLS_RECORD_HEADER + RECORD_MAX];
	static struct pair p;
	uint32_t n;

	begin(1);
	for (uint32_t cut = 1; cut < 12; cut++) {
		n = claim(bytes, CLIENT_HELLO, TLS_HELLO_MAX + 1, RECORD_MAX);
		pair_open(&p, TLS1_3_VERSION);
		if (cut < 9)
			check_eq(server_receives(&p, bytes, cut), TLS_WAITS);
		check_eq(server_receives(&p, bytes + (cut < 9 ? cut : 0), n - (cut < 9 ? cut : 0)),
			 TLS_FAILED);
		check(p.took <= tls_handshake_bytes(0));
		pair_close(&p);
	}
	n = claim(bytes, CERTIFICATE, TLS_PEER_CHAIN_MAX + 1, RECORD_MAX);
	pair_open(&p, TLS1_2_VERSION);
	check_eq(pair_turn(&p, false), TLS_WAITS);
	check_eq(server_receives(&p, bytes, n), TLS_FAILED);
	pair_close(&p);
	tls_context_free(context);
}

/* ---- hellos by their headers ---- */

static uint32_t
message_put(uint8_t *to, uint8_t record_type, uint8_t type, uint32_t len, uint32_t piece)
{
	static uint8_t message[3 * RECORD_MAX];
	const uint32_t all = TLS_MESSAGE_HEADER + len;
	uint32_t at = 0;

	memset(message, type, sizeof message);
	message[1] = (uint8_t)(len >> 16);
	message[2] = (uint8_t)(len >> 8);
	message[3] = (uint8_t)len;
	for (uint32_t done = 0; done < all;) {
		const uint32_t n = piece < all - done ? piece : all - done;
		const uint8_t head[] = {record_type, 3, 3, (uint8_t)(n >> 8), (uint8_t)n};

		memcpy(to + at, head, sizeof head);
		memcpy(to + at + sizeof head, message + done, n);
		at += (uint32_t)sizeof head + n;
		done += n;
	}
	return at;
}

TEST(a_hello_is_judged_by_its_claims_in_any_pieces)
{
	static const struct {
		uint8_t record_type, type;
		uint32_t len, piece;
		bool first, again, passes;
	} rows[] = {
		{HANDSHAKE, CLIENT_HELLO, 300, 16000, true, false, true},
		{HANDSHAKE, CLIENT_HELLO, 300, 3, true, false, true},
		{HANDSHAKE, CLIENT_HELLO, TLS_HELLO_MAX, 512, true, false, true},
		{HANDSHAKE, CLIENT_HELLO, TLS_HELLO_MAX + 1, 512, true, false, false},
		{HANDSHAKE, CLIENT_HELLO, TLS_HELLO_MAX + 1, 1, true, false, false},
		{HANDSHAKE, CLIENT_HELLO, TLS_HELLO_MAX + 1, 512, false, true, false},
		{HANDSHAKE, CLIENT_HELLO, TLS_HELLO_MAX + 1, 512, false, false, true},
		{HANDSHAKE, CERTIFICATE, TLS_HELLO_MAX + 1, 512, false, true, true},
		{APPLICATION, CLIENT_HELLO, TLS_HELLO_MAX + 1, 512, false, true, true},
	};
	static uint8_t bytes[6 * RECORD_MAX + 65536];

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (uint32_t step = 1; step < 4000; step = step * 3 + 2) {
			struct tls_hello h = {0};
			bool passes = true;
			uint32_t n = rows[i].first
					     ? 0
					     : message_put(bytes, HANDSHAKE, CLIENT_HELLO, 200, 90);

			n += message_put(bytes + n, rows[i].record_type, rows[i].type, rows[i].len,
					 rows[i].piece);
			for (uint32_t at = 0; at < n && passes; at += step)
				passes = tls_hello_passes(&h, bytes + at,
							  step < n - at ? step : n - at,
							  rows[i].again);
			check_eq(passes, rows[i].passes);
		}
}

static void
make_files(void)
{
	files_make(&files, "memory", 1);
	clients = SSL_CTX_new(TLS_client_method());
	check_ptr(clients);
	SSL_CTX_use_certificate_file(clients, files.cert, SSL_FILETYPE_PEM);
	SSL_CTX_use_PrivateKey_file(clients, files.key, SSL_FILETYPE_PEM);
	for (uint32_t i = 0; i < CHAIN_CERTS; i++) {
		X509 *x = SSL_CTX_get0_certificate(clients);

		X509_up_ref(x);
		check_eq(SSL_CTX_add_extra_chain_cert(clients, x), 1);
	}
}

static void
remove_files(void)
{
	SSL_CTX_free(clients);
	files_remove(&files);
}

int
main(void)
{
	check_eq(CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free), 1);
	return tests_run(make_files, remove_files);
}
