/*
 * TLS on a whole core. Goal: requests come and replies go as records and as nothing else, whatever
 * their length; what a peer does wrong closes its connection and is counted; all is given back.
 * Method: a core, a perfect cable, and OpenSSL's client over memory at the other end. Certificates
 * are made here.
 */
#include "sim_core.h"
#include "sim_peer.h"
#include "sim_wire.h"

#include "serve/serve_internal.h"
#include "tls/tls_conns.h"

#include "support/test.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <unistd.h>

#define PEER_BYTES (3u << 20)
#define STEPS      6000u
#define PLAIN_PORT 11212u

/* ---- certificates ---- */

struct files {
	char cert[64], key[64];
};

static void
files_make(struct files *f, const char *name, long serial)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *subject = X509_get_subject_name(x);
	FILE *out;

	snprintf(f->cert, sizeof f->cert, "/tmp/test_tls-%d-%s.crt", (int)getpid(), name);
	snprintf(f->key, sizeof f->key, "/tmp/test_tls-%d-%s.key", (int)getpid(), name);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 864000);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
	X509_set_issuer_name(x, subject);
	X509_set_pubkey(x, key);
	check(X509_sign(x, key, EVP_sha256()) > 0);
	out = fopen(f->cert, "w");
	check(out != NULL && PEM_write_X509(out, x) == 1 && fclose(out) == 0);
	out = fopen(f->key, "w");
	check(out != NULL && PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 &&
	      fclose(out) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

static void
files_remove(const struct files *f)
{
	unlink(f->cert);
	unlink(f->key);
}

/* ---- a core with TLS, and a cable to it ---- */

struct world {
	struct files files;
	struct sim_cores *sc;
	struct mem_port *cable;
	struct sim_wire *wire;
	struct sim_peers *peers;
	struct region region;
	struct tls_shared shared;
	struct tls_conns *conns;
};

static void
world_create_of(struct world *w, uint32_t verify_mode, uint32_t chunks)
{
	const struct sim_faults none = {.delay_ns = 5000};
	struct sim_cores_options options = sim_cores_defaults(5);
	struct tls_conns_config cfg = {.shared = &w->shared, .plain_port = PLAIN_PORT};
	struct tls_settings settings = {.verify_mode = verify_mode, .min_version = 2};
	char why[TLS_WHY_BYTES];
	struct tls_context *context;

	files_make(&w->files, "server", 1);
	settings.chain_cert = settings.ca_cert = w->files.cert;
	settings.key = w->files.key;
	options.memory_bytes = 64u << 20;
	if (chunks != 0)
		options.stack.tcp.chunks = chunks;
	options.stack.tcp.pipes = true;
	options.stack.tcp.other_port = PLAIN_PORT;
	options.stack.tcp.active_reserve = options.stack.tcp.conns_max / 2;
	w->sc = sim_cores_create(&options);
	context = tls_context_load(&settings, why);
	check_str(why, "");
	tls_shared_begin(&w->shared, context, 1);
	cfg.conns_max = options.stack.tcp.conns_max;
	w->region = (struct region){.size = tls_conns_bytes(&cfg) + 4096};
	w->region.base = aligned_alloc(4096, (w->region.size + 4095) / 4096 * 4096);
	ensure(w->region.base != NULL);
	memset(w->region.base, 0, w->region.size);
	w->conns = tls_conns_create(&w->region, &cfg, w->sc->cores[0].core.serve,
				    w->sc->cores[0].core.stack);
	w->cable = mem_port_create(sim_peer_mac, 512, 0);
	w->wire = sim_wire_create(w->sc->cores[0].port, w->cable, &none, 1);
	w->peers = sim_peers_create(w->cable, 2);
}

static void
world_create(struct world *w, uint32_t verify_mode)
{
	world_create_of(w, verify_mode, 0);
}

static void
world_turn(struct world *w)
{
	w->sc->now_ns += 5000;
	sim_wire_turn(w->wire, w->sc->now_ns);
	sim_cores_turn(w->sc);
	sim_peers_turn(w->peers, w->sc->now_ns);
}

static uint64_t
counted(const struct world *w, enum tls_counter which)
{
	return counter_read(&tls_counters(w->conns)[which]);
}

/* Nothing of a connection is left; TIME-WAIT apart, which is over then. */
static void
all_is_given_back(struct world *w)
{
	struct stack_usage usage;

	for (uint32_t i = 0; i < 200; i++)
		world_turn(w);
	w->sc->now_ns += 120000000000ull;
	for (uint32_t i = 0; i < 200; i++)
		world_turn(w);
	stack_usage_mt(w->sc->cores[0].core.stack, &usage);
	check_eq(usage.conns, 0);
	check_eq(usage.chunks_used, 0);
	check_eq(usage.rx_frames_held, 0);
}

static void
world_destroy(struct world *w)
{
	struct core *core = &w->sc->cores[0].core;

	stack_abort_all(core->stack, w->sc->now_ns);
	world_turn(w);
	tls_shared_end(&w->shared);
	sim_peers_destroy(w->peers);
	sim_wire_destroy(w->wire);
	mem_port_destroy(w->cable);
	sim_cores_destroy(w->sc);
	free(w->region.base);
	files_remove(&w->files);
}

/* ---- OpenSSL's client ---- */

struct client {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out;
	struct sim_peer *peer;
	uint32_t taken; /* of what the peer has received */
	char *got;
	uint32_t got_len;
	bool ended; /* by close_notify */
};

static void
client_open(struct world *w, struct client *cl, uint16_t port, int version)
{
	*cl = (struct client){.ctx = SSL_CTX_new(TLS_client_method())};
	SSL_CTX_set_max_proto_version(cl->ctx, version);
	cl->ssl = SSL_new(cl->ctx);
	cl->in = BIO_new(BIO_s_mem());
	cl->out = BIO_new(BIO_s_mem());
	SSL_set_bio(cl->ssl, cl->in, cl->out);
	SSL_set_connect_state(cl->ssl);
	cl->peer = sim_peer_open(w->peers, SIM_PEERS + 1, port, PEER_BYTES, PEER_BYTES);
	cl->got = malloc(PEER_BYTES);
	ensure(cl->got != NULL);
}

static void
client_close(struct client *cl)
{
	SSL_free(cl->ssl);
	SSL_CTX_free(cl->ctx);
	free(cl->got);
}

/* What OpenSSL has for the wire goes there, and what came goes to it. */
static void
client_turn(struct client *cl)
{
	const uint32_t fresh = cl->peer->in_len - cl->taken;
	uint8_t bytes[4096];
	int n;

	if (fresh > 0) {
		BIO_write(cl->in, cl->peer->in + cl->taken, (int)fresh);
		cl->taken += fresh;
	}
	if (SSL_do_handshake(cl->ssl) == 1)
		while ((n = SSL_read(cl->ssl, cl->got + cl->got_len,
				     (int)(PEER_BYTES - cl->got_len - 1))) > 0)
			cl->got_len += (uint32_t)n;
	cl->got[cl->got_len] = '\0';
	cl->ended |= (SSL_get_shutdown(cl->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
	while ((n = BIO_read(cl->out, bytes, sizeof bytes)) > 0)
		sim_peer_send(cl->peer, bytes, (uint32_t)n);
}

static void
client_say(struct world *w, struct client *cl, const void *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < STEPS && !SSL_is_init_finished(cl->ssl); i++) {
		world_turn(w);
		client_turn(cl);
	}
	check(SSL_is_init_finished(cl->ssl));
	check_eq(SSL_write(cl->ssl, bytes, (int)len), len);
	client_turn(cl);
}

static void
client_hear(struct world *w, struct client *cl, uint32_t len)
{
	for (uint32_t i = 0; i < STEPS && cl->got_len < len && !cl->ended; i++) {
		world_turn(w);
		client_turn(cl);
	}
}

static void
requests_are_answered_in_records(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	static const char say[] = "set k 7 0 5\r\nhello\r\nget k\r\nget none k\r\n",
			  want[] = "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\nVALUE k 7 "
				   "5\r\nhello\r\nEND\r\n";

	for (uint32_t i = 0; i < 2; i++) {
		struct client cl;
		struct world w;

		world_create(&w, 0);
		client_open(&w, &cl, 2000, versions[i]);
		client_say(&w, &cl, say, sizeof say - 1);
		client_hear(&w, &cl, sizeof want - 1);
		check_str(cl.got, want);
		check_eq(SSL_version(cl.ssl), versions[i]);
		check(memmem(cl.peer->in, cl.peer->in_len, "hello", 5) == NULL);
		client_say(&w, &cl, "quit\r\n", 6);
		client_hear(&w, &cl, UINT32_MAX);
		check(cl.ended);
		cl.peer->close = true;
		check_eq(counted(&w, TLS_HANDSHAKES), 1);
		check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
		check_eq(counted(&w, TLS_CUT), 0);
		all_is_given_back(&w);
		client_close(&cl);
		world_destroy(&w);
	}
}

static void
values_of_any_length_come_back(void **state)
{
	static const uint32_t lengths[] = {1, 1900, 2048, 16384, 100000, 1000000};
	char *value = malloc(PEER_BYTES / 2), *say = malloc(PEER_BYTES / 2);
	struct client cl;
	struct world w;

	ensure(value != NULL && say != NULL);
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		const uint32_t len = lengths[i];
		uint32_t head, n;

		for (uint32_t k = 0; k < len; k++)
			value[k] = (char)('a' + (k * 7 + i) % 26);
		n = (uint32_t)sprintf(say, "set v%u 0 0 %u\r\n", i, len);
		memcpy(say + n, value, len);
		n += len;
		n += (uint32_t)sprintf(say + n, "\r\nget v%u\r\n", i);
		cl.got_len = 0;
		client_say(&w, &cl, say, n);
		head = (uint32_t)sprintf(say, "STORED\r\nVALUE v%u 0 %u\r\n", i, len);
		client_hear(&w, &cl, head + len + 7);
		check_eq(cl.got_len, head + len + 7);
		check(memcmp(cl.got, say, head) == 0);
		check(memcmp(cl.got + head, value, len) == 0);
		check_str(cl.got + head + len, "\r\nEND\r\n");
	}
	cl.peer->close = true;
	for (uint32_t i = 0; i < 100; i++)
		world_turn(&w);
	check_eq(counted(&w, TLS_CUT), 1); /* it said no close_notify */
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
	free(value);
	free(say);
}

static void
many_requests_in_one_record_are_answered_in_order(void **state)
{
	char *say = malloc(1u << 20), *want = malloc(1u << 20);
	uint32_t n = 0, m = 0;
	struct client cl;
	struct world w;

	ensure(say != NULL && want != NULL);
	for (uint32_t i = 0; i < 3000; i++) {
		n += (uint32_t)sprintf(say + n, "set key%u 0 0 4\r\nabcd\r\nmg key%u v\r\n", i, i);
		m += (uint32_t)sprintf(want + m, "STORED\r\nVA 4\r\nabcd\r\n");
	}
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, say, n);
	client_hear(&w, &cl, m);
	check_eq(cl.got_len, m);
	check(memcmp(cl.got, want, m) == 0);
	client_close(&cl);
	world_destroy(&w);
	free(say);
	free(want);
}

/* Nothing is answered that is not in a record, and each is counted once. */
static void
what_is_no_handshake_is_closed_and_counted(void **state)
{
	static const struct {
		const char *say;
		uint32_t len;
	} rows[] = {
		{"get k\r\n", 7},
		{"GET / HTTP/1.1\r\n\r\n", 18},
		{"\x80\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0k", 25},
		{"\x16\3\1\xff\xff\1\0", 7},                /* a record too long */
		{"\x16\3\1\0\5\1\0\0\1\0", 10},             /* a hello too short */
		{"\x15\3\1\0\2\2\50", 7},                   /* an alert */
		{"\x17\3\3\0\5hello", 10},                  /* data before a handshake */
		{"\x16\3\1\2\0\1\0\1\xfc\3\3zzzzzzzz", 19}, /* half a hello, and the end */
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sim_peer *p;
		struct world w;

		world_create(&w, 0);
		p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
		sim_peer_send(p, rows[i].say, rows[i].len);
		for (uint32_t k = 0; k < 400; k++) {
			world_turn(&w);
			p->close = k > 100;
		}
		check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), 1);
		/* An alert is 7 bytes. */
		check(p->in_len == 0 || (p->in_len == 7 && p->in[0] == 0x15));
		check_eq(counter_read(&serve_counters(w.sc->cores[0].core.serve)[CONN_OPENED]), 0);
		all_is_given_back(&w);
		world_destroy(&w);
	}
}

/* Each port speaks one of both, and to the other answers nothing but an alert. */
static void
the_port_beside_is_in_the_clear(void **state)
{
	static const char said[] = "set k 7 0 5\r\nhello\r\nget k\r\n", asked[] = "get k\r\n",
			  found[] = "VALUE k 7 5\r\nhello\r\nEND\r\n";
	struct sim_peer *plain, *wrong;
	struct client cl;
	struct world w;

	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, said, sizeof said - 1);
	client_hear(&w, &cl, 8 + sizeof found - 1);
	check_str(cl.got + 8, found);
	w.peers->server_port = PLAIN_PORT;
	plain = sim_peer_open(w.peers, SIM_PEERS + 1, 2001, 4096, 4096);
	sim_peer_send(plain, asked, sizeof asked - 1);
	w.peers->server_port = PLAIN_PORT + 1;
	wrong = sim_peer_open(w.peers, SIM_PEERS + 1, 2002, 4096, 4096);
	for (uint32_t k = 0; k < 200; k++)
		world_turn(&w);
	check_eq(plain->in_len, sizeof found - 1);
	check_eq(memcmp(plain->in, found, plain->in_len), 0);
	check(wrong->state != PEER_OPEN);
	check_eq(counted(&w, TLS_HANDSHAKES), 1);
	check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), 0);
	plain->close = cl.peer->close = true;
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

static void
a_handshake_that_does_not_end_is_ended(void **state)
{
	struct sim_peer *p;
	struct world w;

	world_create(&w, 0);
	p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
	sim_peer_send(p, "\x16\3\1\2\0\1\0\1", 8);
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(counted(&w, TLS_HANDSHAKE_TIMEOUTS), 0);
	w.sc->now_ns += TLS_HANDSHAKE_NS;
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(counted(&w, TLS_HANDSHAKE_TIMEOUTS), 1);
	p->close = true;
	all_is_given_back(&w);
	world_destroy(&w);
}

static void
a_wrong_record_closes_and_is_counted(void **state)
{
	struct client cl;
	struct world w;

	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_hear(&w, &cl, 5);
	check_str(cl.got, "END\r\n");
	sim_peer_send(cl.peer, "\x17\3\3\0\x20not a record that fits any key..", 37);
	for (uint32_t i = 0; i < 300; i++) {
		world_turn(&w);
		cl.peer->close = i > 100;
	}
	check_eq(counted(&w, TLS_PROTO_ERRORS), 1);
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

/* Of so many gets of 16 KB, each with its end behind; the peer reads none of them. */
static void
ask_and_read_nothing(struct world *w, uint16_t port, uint32_t gets)
{
	char say[256] = {0};
	struct client cl;

	client_open(w, &cl, port, TLS1_3_VERSION);
	client_say(w, &cl, "get k\r\n", 7);
	client_hear(w, &cl, 16000);
	cl.peer->window = 0;
	for (uint32_t i = 0; i < gets; i++)
		strcat(say, "get k\r\n");
	strcat(say, "quit\r\n");
	client_say(w, &cl, say, (uint32_t)strlen(say));
	for (uint32_t i = 0; i < 400; i++)
		world_turn(w);
	client_close(&cl);
}

/* -c counts sessions: wires whose session is over would fill the slots, and stay. */
static void
who_does_not_read_the_end_is_reset(void **state)
{
	enum { BYTES = 16000, GETS = 12 };
	char *say = calloc(1, BYTES + 64);
	const struct counter *serve;
	struct client cl;
	struct world w;

	ensure(say != NULL);
	world_create(&w, 0);
	serve = serve_counters(w.sc->cores[0].core.serve);
	memset(say + snprintf(say, 64, "set k 0 0 %u\r\n", BYTES), 'x', BYTES);
	strcat(say, "\r\n");
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, say, (uint32_t)strlen(say));
	client_hear(&w, &cl, 8);
	check_str(cl.got, "STORED\r\n");
	for (uint32_t i = 1; i <= GETS; i++)
		ask_and_read_nothing(&w, (uint16_t)(2000 + i), i);
	check(counter_read(&serve[CONN_ENDED]) > 0);
	check_eq(counted(&w, TLS_UNREAD), 0);
	w.sc->now_ns += TLS_UNREAD_NS;
	for (uint32_t i = 0; i < 200; i++)
		world_turn(&w);
	check(counted(&w, TLS_UNREAD) > 0);
	client_say(&w, &cl, "mn\r\n", 4);
	client_hear(&w, &cl, 12);
	check_str(cl.got, "STORED\r\nMN\r\n");
	client_close(&cl);
	free(say);
	world_destroy(&w);
}

static void
client_rekey(struct client *cl)
{
	check_eq(SSL_key_update(cl->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
	check_eq(SSL_do_handshake(cl->ssl), 1);
}

/* The most in one of so many turns. */
static uint64_t
rekeys_a_turn(struct world *w, struct client *cl, uint32_t clients, uint32_t turns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < turns; i++) {
		const uint64_t before = counted(w, TLS_REKEYS);

		world_turn(w);
		for (uint32_t k = 0; k < clients; k++)
			client_turn(&cl[k]);
		if (counted(w, TLS_REKEYS) - before > most)
			most = counted(w, TLS_REKEYS) - before;
	}
	return most;
}

/* A frame has room for fifty, of which each would take the core 30 us. */
static void
key_updates_are_few_and_one_a_turn(void **state)
{
	struct client cl;
	struct world w;

	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_hear(&w, &cl, 5);
	for (uint32_t i = 0; i < TLS_REKEYS_EARLY; i++)
		client_rekey(&cl);
	client_say(&w, &cl, "get k\r\n", 7);
	check_eq(rekeys_a_turn(&w, &cl, 1, 200), 1);
	check_eq(counted(&w, TLS_REKEYS), TLS_REKEYS_EARLY);
	check_str(cl.got, "END\r\nEND\r\n");
	for (uint32_t i = 0; i < 60; i++)
		client_rekey(&cl);
	check_eq(rekeys_a_turn(&w, &cl, 1, 200), 1);
	check_eq(counted(&w, TLS_REKEYS), TLS_REKEYS_EARLY + 1);
	check_eq(counted(&w, TLS_REKEYS_REFUSED), 1);
	check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
	cl.peer->close = true;
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

/* Who moves much may have other keys as often as that asks for. */
static void
key_updates_of_who_moves_much_are_no_fault(void **state)
{
	const uint32_t bytes = 1000000;
	char *say = malloc(bytes + 64);
	struct client cl;
	struct world w;

	ensure(say != NULL);
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	for (uint32_t i = 0; i < 2; i++) {
		const int head = snprintf(say, 64, "set k 0 0 %u\r\n", bytes);

		memset(say + head, 'x', bytes);
		memcpy(say + head + bytes, "\r\n", 2);
		client_say(&w, &cl, say, (uint32_t)head + bytes + 2);
		client_hear(&w, &cl, 8 * (i + 1));
	}
	check_str(cl.got, "STORED\r\nSTORED\r\n");
	for (uint32_t i = 0; i < TLS_REKEYS_EARLY + 1; i++)
		client_rekey(&cl);
	client_say(&w, &cl, "mn\r\n", 4);
	client_hear(&w, &cl, 20);
	check_str(cl.got, "STORED\r\nSTORED\r\nMN\r\n");
	check_eq(counted(&w, TLS_REKEYS_REFUSED), 0);
	client_close(&cl);
	free(say);
	world_destroy(&w);
}

static void
key_updates_of_many_are_a_few_a_turn(void **state)
{
	enum { CLIENTS = 12 };
	struct client cl[CLIENTS];
	struct world w;

	world_create(&w, 0);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_open(&w, &cl[i], (uint16_t)(2000 + i), TLS1_3_VERSION);
		client_say(&w, &cl[i], "get k\r\n", 7);
		client_hear(&w, &cl[i], 5);
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_rekey(&cl[i]);
		client_say(&w, &cl[i], "mn\r\n", 4);
	}
	check_eq(rekeys_a_turn(&w, cl, CLIENTS, 200), TLS_REKEYS_A_TURN);
	check_eq(counted(&w, TLS_REKEYS), CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		check_str(cl[i].got, "END\r\nMN\r\n");
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

static void
who_must_show_a_certificate_and_does_not_is_refused(void **state)
{
	for (uint32_t shows = 0; shows < 2; shows++) {
		struct client cl;
		struct world w;

		world_create(&w, 2);
		client_open(&w, &cl, 2000, TLS1_3_VERSION);
		if (shows != 0) {
			check_eq(SSL_use_certificate_file(cl.ssl, w.files.cert, SSL_FILETYPE_PEM),
				 1);
			check_eq(SSL_use_PrivateKey_file(cl.ssl, w.files.key, SSL_FILETYPE_PEM), 1);
		}
		client_say(&w, &cl, "get k\r\n", 7);
		for (uint32_t i = 0; i < 300; i++) {
			world_turn(&w);
			client_turn(&cl);
		}
		check_str(cl.got, shows != 0 ? "END\r\n" : "");
		check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), shows == 0);
		client_close(&cl);
		world_destroy(&w);
	}
}

/* Their hellos come at once; a step of one is all that a turn takes. */
static void
handshakes_are_taken_one_a_turn(void **state)
{
	enum { CLIENTS = 24 };
	struct client cl[CLIENTS];
	uint64_t before = 0, most = 0;
	struct world w;

	world_create(&w, 0);
	for (uint16_t i = 0; i < CLIENTS; i++)
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
	for (uint32_t i = 0; i < STEPS && before < CLIENTS; i++) {
		world_turn(&w);
		for (uint32_t k = 0; k < CLIENTS; k++)
			client_turn(&cl[k]);
		most = counted(&w, TLS_HANDSHAKES) - before > most
			       ? counted(&w, TLS_HANDSHAKES) - before
			       : most;
		before = counted(&w, TLS_HANDSHAKES);
	}
	check_eq(before, CLIENTS);
	check_eq(most, 1);
	check(counted(&w, TLS_DEFERRED) > CLIENTS);
	check(counted(&w, TLS_DEFERRED) <= 3 * CLIENTS); /* a step is put off once */
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* OpenSSL has one queue of errors a thread, which is asked while a record is not whole. */
static void
what_another_call_has_left_behind_is_no_error(void **state)
{
	char say[128] = "get ";
	struct client cl;
	struct world w;

	memset(say + 4, 'k', 100);
	memcpy(say + 104, "\r\n", 3);
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_hear(&w, &cl, 5);
	cl.peer->mss = 1;
	client_say(&w, &cl, say, 106);
	for (uint32_t i = 0; i < 100 && cl.got_len < 10; i++) {
		ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
		world_turn(&w);
		ERR_clear_error();
		client_turn(&cl);
	}
	check_str(cl.got, "END\r\nEND\r\n");
	check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
	client_close(&cl);
	world_destroy(&w);
}

/* One request; by that session's ticket, if it is not NULL. Returns the certificate's serial
 * number, and the session. */
static long
ask_once(struct world *w, uint16_t port, SSL_SESSION **session)
{
	struct client cl;
	X509 *shown;
	long serial;

	client_open(w, &cl, port, TLS1_3_VERSION);
	if (*session != NULL)
		SSL_set_session(cl.ssl, *session);
	SSL_SESSION_free(*session);
	client_say(w, &cl, "get k\r\n", 7);
	client_hear(w, &cl, 5);
	check_str(cl.got, "END\r\n");
	shown = SSL_get1_peer_certificate(cl.ssl);
	serial = ASN1_INTEGER_get(X509_get0_serialNumber(shown));
	X509_free(shown);
	/* Sessions that were not ended may not be resumed. */
	SSL_shutdown(cl.ssl);
	client_turn(&cl);
	*session = SSL_get1_session(cl.ssl);
	cl.peer->close = true;
	for (uint32_t i = 0; i < 50; i++)
		world_turn(w);
	client_close(&cl);
	return serial;
}

static void
tickets_resume_until_the_certificate_is_another(void **state)
{
	struct tls_settings settings = {.min_version = 2};
	SSL_SESSION *session = NULL;
	char why[TLS_WHY_BYTES];
	struct files other;
	struct world w;

	world_create(&w, 0);
	check_eq(ask_once(&w, 2000, &session), 1);
	check_eq(counted(&w, TLS_RESUMED), 0);
	check_eq(ask_once(&w, 2001, &session), 1);
	check_eq(counted(&w, TLS_RESUMED), 1);
	files_make(&other, "other", 2);
	settings.chain_cert = other.cert;
	settings.key = other.key;
	check(tls_shared_replace_mt(&w.shared, tls_context_load(&settings, why)));
	/* The core has not turned since. */
	check(!tls_shared_replace_mt(&w.shared, NULL));
	check_eq(ask_once(&w, 2002, &session), 2);
	check_eq(counted(&w, TLS_RESUMED), 1);
	SSL_SESSION_free(session);
	all_is_given_back(&w);
	world_destroy(&w);
	files_remove(&other);
}

static void
what_is_wrong_with_certificates_is_said_on_one_line(void **state)
{
	struct tls_settings settings = {.chain_cert = "/nowhere/cert.pem", .min_version = 2};
	char why[TLS_WHY_BYTES];
	struct files one, other;

	files_make(&one, "one", 1);
	files_make(&other, "other", 2);
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_chain_cert /nowhere/cert.pem: cannot be read", 48) == 0);
	settings.chain_cert = one.cert;
	settings.key = other.key;
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_key /tmp/", 13) == 0);
	settings.key = one.key;
	settings.ca_cert = one.key;
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_ca_cert /tmp/", 17) == 0);
	settings.ca_cert = NULL;
	settings.ciphers = "NO-SUCH-CIPHER";
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_ciphers NO-SUCH-CIPHER: ", 28) == 0);
	check(strchr(why, '\n') == NULL);
	files_remove(&one);
	files_remove(&other);
}

/* What is asked at once is more than there are chunks: wires always find some. */
static void
replies_that_take_all_chunks_go_on(void **state)
{
	enum { CHUNKS = 64, CLIENTS = 24, GETS = 40, BYTES = 1500, REPLY = 18 + BYTES + 5 };
	static char say[BYTES + 64];
	struct client cl[CLIENTS];
	uint32_t n, done = 0;
	struct world w;

	world_create_of(&w, 0, CHUNKS);
	for (uint16_t i = 0; i < CLIENTS; i++)
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
	n = (uint32_t)sprintf(say, "set v 0 0 %u\r\n", BYTES);
	memset(say + n, 'v', BYTES);
	memcpy(say + n + BYTES, "\r\n", 2);
	for (uint16_t i = 0; i < CLIENTS; i++) {
		client_say(&w, &cl[i], say, n + BYTES + 2);
		client_hear(&w, &cl[i], 8);
		cl[i].got_len = 0;
	}
	for (n = 0; n < GETS * 7; n += 7)
		memcpy(say + n, "get v\r\n", 7);
	for (uint32_t i = 0; i < CLIENTS; i++)
		SSL_write(cl[i].ssl, say, (int)n);
	for (uint32_t k = 0; k < STEPS && done < CLIENTS; k++) {
		done = 0;
		world_turn(&w);
		for (uint32_t i = 0; i < CLIENTS; i++) {
			client_turn(&cl[i]);
			done += cl[i].got_len == GETS * REPLY;
		}
	}
	check_eq(done, CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* The last eighth of the chunks is for wires: no read buffer takes of it. */
static void
requests_wait_while_only_wires_have_chunks(void **state)
{
	enum { CHUNKS = 64, KEPT = CHUNKS / 8 };
	uint8_t *taken[CHUNKS - KEPT];
	struct stack_usage usage;
	struct stack *stack;
	struct client cl;
	struct world w;

	world_create_of(&w, 0, CHUNKS);
	stack = w.sc->cores[0].core.stack;
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_hear(&w, &cl, 5);
	for (uint32_t i = 0; i < 50; i++)
		world_turn(&w);
	conn_credit_return(stack, CHUNKS); /* the turn is over */
	for (uint32_t i = 0; i < CHUNKS - KEPT; i++)
		check_ptr(taken[i] = stack_chunk_get(stack));
	client_say(&w, &cl, "get k\r\n", 7);
	for (uint32_t i = 0; i < 50; i++)
		world_turn(&w);
	stack_usage_mt(stack, &usage);
	check_eq(usage.chunks_used, CHUNKS - KEPT);
	for (uint32_t i = 0; i < CHUNKS - KEPT; i++)
		stack_chunk_put(stack, taken[i]);
	client_hear(&w, &cl, 10);
	check_str(cl.got, "END\r\nEND\r\n");
	client_close(&cl);
	world_destroy(&w);
}

/* Lines without an end hold all read buffers when it is cut: it ends all the same. */
static void
who_is_cut_while_there_is_no_buffer_ends(void **state)
{
	enum { CHUNKS = 64, CLIENTS = CHUNKS / 4 + 1 };
	struct client cl[CLIENTS];
	struct stack_usage usage;
	struct world w;

	world_create_of(&w, 0, CHUNKS);
	for (uint16_t i = CLIENTS; i-- > 0;) {
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
		client_say(&w, &cl[i], i == CLIENTS - 1 ? "get k\r\n" : "get k",
			   i == CLIENTS - 1 ? 7 : 5);
		client_hear(&w, &cl[i], i == CLIENTS - 1 ? 5 : 0);
		for (uint32_t k = 0; k < 10; k++)
			world_turn(&w);
	}
	check_str(cl[CLIENTS - 1].got, "END\r\n");
	cl[CLIENTS - 1].peer->close = true;
	for (uint32_t i = 0; i < 100; i++)
		world_turn(&w);
	check_eq(counted(&w, TLS_CUT), 1);
	stack_usage_mt(w.sc->cores[0].core.stack, &usage);
	check_eq(usage.conns, 2 * (CLIENTS - 1)); /* with their pipes */
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* Both stop at once: neither the pipe nor its wire keeps the core. */
static void
a_core_that_stops_sends_what_it_has_and_ends(void **state)
{
	bool empty = false;
	struct client cl;
	struct world w;

	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_hear(&w, &cl, 5);
	for (uint32_t i = 0; i < STEPS && !empty; i++) {
		empty = stack_drain(w.sc->cores[0].core.stack, w.sc->now_ns);
		world_turn(&w);
		client_turn(&cl);
		cl.peer->close = cl.ended;
	}
	check(empty && cl.ended);
	client_close(&cl);
	world_destroy(&w);
}

/* It stops before the handshake, in it, or behind it. */
static void
a_core_that_stops_amid_handshakes_ends_in_order(void **state)
{
	for (uint32_t when = 0; when < 60; when++) {
		bool empty = false;
		struct client cl;
		struct world w;

		world_create(&w, 0);
		client_open(&w, &cl, 2000, TLS1_3_VERSION);
		for (uint32_t i = 0; i < STEPS / 4 && !empty; i++) {
			if (i >= when)
				empty = stack_drain(w.sc->cores[0].core.stack, w.sc->now_ns);
			world_turn(&w);
			client_turn(&cl);
			cl.peer->close = cl.peer->fin_known;
		}
		check(empty);
		client_close(&cl);
		world_destroy(&w);
	}
}

/* The walk that closes them may have passed their slots. */
static void
a_stack_that_drains_opens_no_pipes(void **state)
{
	struct sim_peer *p;
	struct stack *stack;
	struct world w;

	world_create(&w, 0);
	stack = w.sc->cores[0].core.stack;
	p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(p->state, PEER_OPEN);
	stack_drain(stack, w.sc->now_ns);
	check_null(conn_pipe_open(stack, w.sc->cores[0].core.serve->sessions[0].conn));
	world_destroy(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_answered_in_records),
		cmocka_unit_test(values_of_any_length_come_back),
		cmocka_unit_test(many_requests_in_one_record_are_answered_in_order),
		cmocka_unit_test(what_is_no_handshake_is_closed_and_counted),
		cmocka_unit_test(the_port_beside_is_in_the_clear),
		cmocka_unit_test(a_handshake_that_does_not_end_is_ended),
		cmocka_unit_test(a_wrong_record_closes_and_is_counted),
		cmocka_unit_test(who_does_not_read_the_end_is_reset),
		cmocka_unit_test(key_updates_are_few_and_one_a_turn),
		cmocka_unit_test(key_updates_of_who_moves_much_are_no_fault),
		cmocka_unit_test(key_updates_of_many_are_a_few_a_turn),
		cmocka_unit_test(who_must_show_a_certificate_and_does_not_is_refused),
		cmocka_unit_test(handshakes_are_taken_one_a_turn),
		cmocka_unit_test(what_another_call_has_left_behind_is_no_error),
		cmocka_unit_test(tickets_resume_until_the_certificate_is_another),
		cmocka_unit_test(what_is_wrong_with_certificates_is_said_on_one_line),
		cmocka_unit_test(replies_that_take_all_chunks_go_on),
		cmocka_unit_test(requests_wait_while_only_wires_have_chunks),
		cmocka_unit_test(who_is_cut_while_there_is_no_buffer_ends),
		cmocka_unit_test(a_core_that_stops_sends_what_it_has_and_ends),
		cmocka_unit_test(a_core_that_stops_amid_handshakes_ends_in_order),
		cmocka_unit_test(a_stack_that_drains_opens_no_pipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
