/*
 * sim_tls.c - a core with TLS, its cable, certificates, and clients.
 */
#include "sim_tls.h"

#include "zeroed.h"

#include "support/test.h"

#include <openssl/pem.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- certificates ---- */

void
files_make_days(struct files *f, const char *name, long serial, long days)
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
	X509_gmtime_adj(X509_getm_notAfter(x), days * 86400);
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

void
files_make(struct files *f, const char *name, long serial)
{
	files_make_days(f, name, serial, 30);
}

void
files_remove(const struct files *f)
{
	unlink(f->cert);
	unlink(f->key);
}

/* ---- a core with TLS, and a cable to it ---- */

void
world_create_of(struct world *w, uint32_t verify_mode, uint32_t chunks, uint32_t handshakes)
{
	const struct sim_faults none = {.delay_ns = 5000};
	struct sim_cores_options options = sim_cores_defaults(5);
	struct tls_conns_config cfg = {
		.shared = &w->shared, .plain_port = PLAIN_PORT, .handshakes_max = handshakes};
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
	w->region = zeroed_region(tls_conns_bytes(&cfg) + 4096);
	w->conns = tls_conns_create(&w->region, &cfg, w->sc->cores[0].core.serve,
				    w->sc->cores[0].core.stack);
	w->cable = mem_port_create(sim_peer_mac, 512, 0);
	w->wire = sim_wire_create(w->sc->cores[0].port, w->cable, &none, 1);
	w->peers = sim_peers_create(w->cable, 2);
}

void
world_create(struct world *w, uint32_t verify_mode)
{
	world_create_of(w, verify_mode, 0, 0);
}

void
world_turn(struct world *w)
{
	w->sc->now_ns += 5000;
	sim_wire_turn(w->wire, w->sc->now_ns);
	sim_cores_turn(w->sc);
	sim_peers_turn(w->peers, w->sc->now_ns);
}

uint64_t
counted(const struct world *w, enum tls_counter which)
{
	return counter_read(&tls_counters(w->conns)[which]);
}

void
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

void
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
	zeroed_free(w->region.base, w->region.size);
	files_remove(&w->files);
}

/* ---- OpenSSL's client ---- */

void
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
	cl->got = zeroed_memory(PEER_BYTES);
}

void
client_close(struct client *cl)
{
	SSL_free(cl->ssl);
	SSL_CTX_free(cl->ctx);
	zeroed_free(cl->got, PEER_BYTES);
}

void
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

void
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

void
client_receive(struct world *w, struct client *cl, uint32_t len)
{
	for (uint32_t i = 0; i < STEPS && cl->got_len < len && !cl->ended; i++) {
		world_turn(w);
		client_turn(cl);
	}
}

void
world_create_served(struct world *w, struct client *cl)
{
	world_create(w, 0);
	client_open(w, cl, 2000, TLS1_3_VERSION);
	client_say(w, cl, "get k\r\n", 7);
	client_receive(w, cl, 5);
	check_str(cl->got, "END\r\n");
}
