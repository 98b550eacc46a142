/*
 * The client's end of a TLS stream. Goal: no handshake with a server that is not verified is ever
 * complete, and each tells the reason. A session is resumed, but not beyond the end of its server's
 * certificate. Method: the two ends of a stream in memory, and certificates that are valid now or
 * at other times.
 */
#include "sim_certs.h"
#include "tls/tls_client.h"
#include "tls/tls_stream_inside.h"

#include "support/test.h"

#include <string.h>

#define NOW_S      1700000000
#define PIPE_BYTES 65536u
#define TURNS      16u

struct direction {
	uint8_t bytes[PIPE_BYTES];
	uint32_t len, at;
};

struct end {
	struct tls_stream *stream;
	struct tls_io io;
	enum tls_status status;
	bool resumed;
};

struct world {
	struct sim_issuer issuer, other;
	struct sim_leaf leaf;
	struct tls_context *server, *client;
	struct end s, c;
	struct direction to_server, to_client;
};

/* own: the client's certificate; NULL: it has none. */
static struct tls_context *
client_load(const char *ca, const struct sim_leaf *own, char why[TLS_WHY_BYTES])
{
	const struct tls_client_files files = {.ca = ca,
					       .cert = own != NULL ? own->cert : NULL,
					       .key = own != NULL ? own->key : NULL};

	return tls_client_context_load(&files, why);
}

static void
world_create(struct world *w, const char *names, int64_t from_s, int64_t to_s)
{
	struct tls_settings settings = {.min_version = 2};
	char why[TLS_WHY_BYTES];

	memset(w, 0, sizeof *w);
	sim_issuer_make(&w->issuer, "issuer", NOW_S);
	sim_issuer_make(&w->other, "other", NOW_S);
	sim_leaf_make(&w->leaf, &w->issuer, "cache.test", names, from_s, to_s);
	settings.chain_cert = w->leaf.cert;
	settings.key = w->leaf.key;
	w->server = tls_context_load(&settings, why);
	check_str(why, "");
	w->client = client_load(w->issuer.file, NULL, why);
	check_str(why, "");
}

static void
streams_free(struct world *w)
{
	tls_stream_free(w->c.stream);
	tls_stream_free(w->s.stream);
	memset(&w->c, 0, sizeof w->c);
	memset(&w->s, 0, sizeof w->s);
	w->to_server.len = w->to_server.at = w->to_client.len = w->to_client.at = 0;
}

static void
world_destroy(struct world *w)
{
	tls_context_free(w->client);
	tls_context_free(w->server);
	sim_leaf_remove(&w->leaf);
	sim_issuer_free(&w->issuer);
	sim_issuer_free(&w->other);
}

/* ---- handshakes ---- */

static void
io_set(struct end *e, const struct direction *in, struct direction *out)
{
	e->io = (struct tls_io){.in = in->bytes + in->at,
				.in_len = in->len - in->at,
				.out = out->bytes + out->len,
				.out_max = PIPE_BYTES - out->len};
}

static void
io_done(const struct end *e, struct direction *in, struct direction *out)
{
	in->at = in->len - e->io.in_len;
	out->len += e->io.out_len;
}

static void
end_turn(struct end *e, struct direction *in, struct direction *out)
{
	if (e->status != TLS_WAITS)
		return;
	io_set(e, in, out);
	e->status = tls_handshake(e->stream, &e->resumed);
	io_done(e, in, out);
}

/* Runs a handshake to its end, at both ends. */
static void
shake_hands(struct world *w, const char *name, int64_t now_s, const struct tls_session *resume)
{
	w->c.stream = tls_client_open(w->client, &w->c.io, name, now_s, resume);
	w->s.stream = tls_stream_open(w->server, &w->s.io);
	w->c.status = w->s.status = TLS_WAITS;
	for (uint32_t i = 0; i < TURNS; i++) {
		end_turn(&w->s, &w->to_server, &w->to_client);
		end_turn(&w->c, &w->to_client, &w->to_server);
	}
}

/* Reads what the server has sent. Returns its bytes. */
static uint32_t
client_read(struct world *w, uint8_t *to, uint32_t most)
{
	uint32_t all = 0, n;

	for (uint32_t i = 0; i < TURNS; i++) {
		io_set(&w->c, &w->to_client, &w->to_server);
		w->c.status = tls_read(w->c.stream, to + all, most - all, &n);
		io_done(&w->c, &w->to_client, &w->to_server);
		all += n;
	}
	return all;
}

static void
server_write(struct world *w, const char *text)
{
	io_set(&w->s, &w->to_server, &w->to_client);
	check_eq(tls_write(w->s.stream, (const uint8_t *)text, (uint32_t)strlen(text)), TLS_DONE);
	io_done(&w->s, &w->to_server, &w->to_client);
}

/* ---- tests ---- */

TEST(a_server_is_known_by_its_names_and_addresses)
{
	static const char *const names[] = {"cache.test",  "cache.test.", "CACHE.test",
					    "a.wild.test", "10.0.0.7",    "2001:db8::7"};
	struct world w;

	world_create(&w, "DNS:cache.test,DNS:*.wild.test,IP:10.0.0.7,IP:2001:db8::7",
		     NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint8_t got[16];

		shake_hands(&w, names[i], NOW_S, NULL);
		check_eq(w.c.status, TLS_DONE);
		check_eq(w.s.status, TLS_DONE);
		server_write(&w, "STORED\r\n");
		check_eq(client_read(&w, got, sizeof got), 8);
		check(memcmp(got, "STORED\r\n", 8) == 0);
		streams_free(&w);
	}
	world_destroy(&w);
}

/* Each server is refused before a request is sent to it, and it receives an alert. */
TEST(a_server_that_does_not_verify_is_refused_with_a_reason)
{
	static const struct {
		const char *names; /* of its certificate; NULL: the subject's alone */
		const char *asked;
		int64_t from, to; /* days */
		bool by_other;    /* the client trusts another issuer */
		enum tls_fault fault;
	} rows[] = {
		{"DNS:cache.test", "cache.test", -1, 1, true, TLS_FAULT_ISSUER},
		{"DNS:cache.test", "cache.test", -2, -1, false, TLS_FAULT_EXPIRED},
		{"DNS:cache.test", "cache.test", 1, 2, false, TLS_FAULT_EARLY},
		{"DNS:cache.test", "other.test", -1, 1, false, TLS_FAULT_NAME},
		{"DNS:cache.test", "10.0.0.7", -1, 1, false, TLS_FAULT_NAME},
		{"DNS:10.0.0.7", "10.0.0.7", -1, 1, false, TLS_FAULT_NAME},
		{"DNS:c*.test", "cache.test", -1, 1, false, TLS_FAULT_NAME},
		{NULL, "cache.test", -1, 1, false, TLS_FAULT_NAME},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char why[TLS_WHY_BYTES];
		struct world w;

		world_create(&w, rows[i].names, NOW_S + rows[i].from * SIM_DAY_S,
			     NOW_S + rows[i].to * SIM_DAY_S);
		if (rows[i].by_other) {
			tls_context_free(w.client);
			w.client = client_load(w.other.file, NULL, why);
			check_ptr(w.client);
		}
		shake_hands(&w, rows[i].asked, NOW_S, NULL);
		check_eq(w.c.status, TLS_FAILED);
		check_eq(tls_stream_fault(w.c.stream), rows[i].fault);
		check_eq(w.s.status, TLS_FAILED);
		streams_free(&w);
		world_destroy(&w);
	}
}

/* An issuer in the file is trusted by itself, even if its own issuer is not in the file. */
TEST(an_issuer_of_the_file_needs_none_itself)
{
	for (uint32_t i = 0; i < 2; i++) {
		char why[TLS_WHY_BYTES];
		struct world w;

		world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
		sim_issuer_sign(&w.issuer, &w.other);
		tls_context_free(w.client);
		w.client = client_load(i == 0 ? w.issuer.file : w.other.file, NULL, why);
		check_ptr(w.client);
		shake_hands(&w, "cache.test", NOW_S, NULL);
		check_eq(w.c.status, i == 0 ? TLS_DONE : TLS_FAILED);
		if (i == 1) /* the server does not send its issuer's certificate */
			check_eq(tls_stream_fault(w.c.stream), TLS_FAULT_ISSUER);
		streams_free(&w);
		world_destroy(&w);
	}
}

/* A memcached without TLS, a web server, an alert, and half a record. */
TEST(a_peer_that_does_not_speak_tls_is_named)
{
	static const struct {
		const char *says;
		uint32_t len;
		enum tls_status status;
		enum tls_fault fault;
	} rows[] = {{"ERROR\r\n", 7, TLS_FAILED, TLS_FAULT_NOT_TLS},
		    {"HTTP/1.1 400 Bad Request\r\n\r\n", 28, TLS_FAILED, TLS_FAULT_NOT_TLS},
		    {"\x15\3\3\0\2\2\50", 7, TLS_FAILED, TLS_FAULT_REFUSED},
		    {"\x16\3\3\1\0\2", 6, TLS_WAITS, 0}};
	struct world w;

	world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		w.c.stream = tls_client_open(w.client, &w.c.io, "cache.test", NOW_S, NULL);
		w.s.stream = tls_stream_open(w.server, &w.s.io);
		w.c.status = TLS_WAITS;
		memcpy(w.to_client.bytes, rows[i].says, rows[i].len);
		w.to_client.len = rows[i].len;
		for (uint32_t k = 0; k < 2; k++)
			end_turn(&w.c, &w.to_client, &w.to_server);
		check_eq(w.c.status, rows[i].status);
		if (w.c.status == TLS_FAILED)
			check_eq(tls_stream_fault(w.c.stream), rows[i].fault);
		streams_free(&w);
	}
	world_destroy(&w);
}

/* The server's tickets arrive with its first bytes. */
TEST(a_session_is_resumed_until_its_certificate_expires)
{
	struct tls_session *session;
	uint8_t got[16];
	struct world w;

	world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
	shake_hands(&w, "cache.test", NOW_S, NULL);
	check(!w.c.resumed);
	check_null(tls_client_session(w.c.stream));
	server_write(&w, "END\r\n");
	check_eq(client_read(&w, got, sizeof got), 5);
	session = tls_client_session(w.c.stream);
	check_ptr(session);
	check_null(tls_client_session(w.c.stream));
	streams_free(&w);
	shake_hands(&w, "cache.test", NOW_S + 2 * SIM_DAY_S, session);
	check_eq(w.c.status, TLS_FAILED);
	check_eq(tls_stream_fault(w.c.stream), TLS_FAULT_EXPIRED);
	streams_free(&w);
	shake_hands(&w, "cache.test", NOW_S, session);
	check(w.c.status == TLS_DONE && w.c.resumed);
	check(w.s.status == TLS_DONE && w.s.resumed);
	streams_free(&w);
	tls_session_free(session);
	world_destroy(&w);
}

/* Has the server require a certificate that the client's issuer has issued. */
static void
server_requires(struct world *w, const struct sim_leaf *own)
{
	const struct tls_settings settings = {.chain_cert = w->leaf.cert,
					      .key = w->leaf.key,
					      .ca_cert = w->issuer.file,
					      .verify_mode = 2,
					      .min_version = 2};
	char why[TLS_WHY_BYTES];

	tls_context_free(w->server);
	tls_context_free(w->client);
	w->server = tls_context_load(&settings, why);
	w->client = client_load(w->issuer.file, own, why);
	check_str(why, "");
}

/* The server's OpenSSL reads the clock, so these certificates are valid for ten years. */
TEST(a_server_that_requires_a_certificate_gets_the_clients)
{
	enum { NONE, FOREIGN, OWN, ROWS };

	for (uint32_t i = 0; i < ROWS; i++) {
		struct sim_leaf own;
		uint8_t got[16];
		struct world w;

		world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
		shake_hands(&w, "cache.test", NOW_S, NULL);
		check(!tls_client_is_asked(w.c.stream));
		streams_free(&w);
		sim_leaf_make(&own, i == FOREIGN ? &w.other : &w.issuer, "front", NULL,
			      NOW_S - SIM_DAY_S, NOW_S + 3650 * SIM_DAY_S);
		server_requires(&w, i == NONE ? NULL : &own);
		shake_hands(&w, "cache.test", NOW_S, NULL);
		check_eq(w.c.status, TLS_DONE); /* in TLS 1.3 the server judges the client later */
		check(tls_client_is_asked(w.c.stream));
		check_eq(w.s.status, i == OWN ? TLS_DONE : TLS_FAILED);
		if (i == OWN)
			server_write(&w, "END\r\n");
		check_eq(client_read(&w, got, sizeof got), i == OWN ? 5 : 0);
		streams_free(&w);
		sim_leaf_remove(&own);
		world_destroy(&w);
	}
}

/* Issuers are valid for ten years. */
TEST(an_issuer_that_expires_soon_is_named)
{
	static const struct {
		int64_t days;
		const char *words; /* NULL: it does not expire soon */
	} rows[] = {{-2, "the issuer /CN=issuer is not valid before 2023-11-13 22:13 UTC"},
		    {0, NULL},
		    {3640, "the issuer /CN=issuer expires on 2033-11-11 22:13 UTC"},
		    {3651, "the issuer /CN=issuer has expired on 2033-11-11 22:13 UTC"}};
	struct world w;

	world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const int64_t now_s = NOW_S + rows[i].days * SIM_DAY_S;
		char words[TLS_WHY_BYTES];
		const bool near = tls_client_issuer_date_is_near(w.client, now_s, words);

		check_eq(near, rows[i].words != NULL);
		if (near)
			check_str(words, rows[i].words);
	}
	world_destroy(&w);
}

/* The server requests a key update, so the client's next bytes are encrypted with new keys, too. */
TEST(a_key_update_amid_the_stream_is_followed)
{
	uint8_t got[16];
	struct world w;
	uint32_t n;

	world_create(&w, "DNS:cache.test", NOW_S - SIM_DAY_S, NOW_S + SIM_DAY_S);
	shake_hands(&w, "cache.test", NOW_S, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		check_eq(SSL_key_update(w.s.stream->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		server_write(&w, "END\r\n");
		check_eq(client_read(&w, got, sizeof got), 5);
		io_set(&w.c, &w.to_client, &w.to_server);
		check_eq(tls_write(w.c.stream, (const uint8_t *)"get", 3), TLS_DONE);
		io_done(&w.c, &w.to_client, &w.to_server);
		for (uint32_t k = n = 0; k < TURNS && n == 0; k++) {
			io_set(&w.s, &w.to_server, &w.to_client);
			check(tls_read(w.s.stream, got, sizeof got, &n) != TLS_FAILED);
			io_done(&w.s, &w.to_server, &w.to_client);
		}
		check_eq(n, 3);
	}
	check(tls_rekeys(w.c.stream) >= 3);
	streams_free(&w);
	world_destroy(&w);
}

TEST(a_file_without_certificates_is_refused_in_one_line)
{
	struct sim_leaf leaf, missing = {"/nowhere/c.pem", "/nowhere/c.key"};
	struct sim_issuer issuer;
	char why[TLS_WHY_BYTES];

	check_null(client_load("/nowhere/ca.pem", NULL, why));
	check(strncmp(why, "--front-tls-ca /nowhere/ca.pem: cannot be read as PEM certificates",
		      66) == 0);
	check_null(strchr(why, '\n'));
	check_null(client_load("/dev/null", NULL, why));
	check(strncmp(why, "--front-tls-ca /dev/null: ", 26) == 0);
	sim_issuer_make(&issuer, "issuer", NOW_S);
	sim_leaf_make(&leaf, &issuer, "front", NULL, NOW_S, NOW_S + SIM_DAY_S);
	check_null(client_load(issuer.file, &missing, why));
	check(strncmp(why, "--front-tls-cert /nowhere/c.pem: cannot be read as a chain", 58) == 0);
	strcpy(missing.cert, leaf.cert);
	check_null(client_load(issuer.file, &missing, why));
	check(strncmp(why, "--front-tls-key /nowhere/c.key: is no private key of --front-tls-cert",
		      69) == 0);
	sim_leaf_remove(&leaf);
	sim_issuer_free(&issuer);
}
