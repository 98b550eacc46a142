/*
 * sim_tls.h - a core with TLS at one end of a cable, and OpenSSL's client in memory at the other.
 *
 * Units:  turns of 5 us.
 * Owner:  world_destroy frees what world_create made, including certificates in /tmp;
 *         client_close frees what client_open made.
 * Thread: one.
 * Errors: a failure ends the running test.
 * Bounds: PEER_BYTES of a client in each direction.
 */
#ifndef CLOCKOO_SIM_TLS_H
#define CLOCKOO_SIM_TLS_H

#include "sim_core.h"
#include "sim_peer.h"
#include "sim_wire.h"

#include "tls/tls_conns.h"

#include <openssl/ssl.h>

#define PEER_BYTES (3u << 20)
#define STEPS      6000u
#define PLAIN_PORT 11212u

struct files {
	char cert[64], key[64];
};

/* Writes a self-signed certificate, valid from an hour ago for that many days; files_make: for 30
 * days. */
void files_make_days(struct files *f, const char *name, long serial, long days);
void files_make(struct files *f, const char *name, long serial);
void files_remove(const struct files *f);

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

/* Creates the core; chunks, handshakes: 0 for the default number. */
void world_create_of(struct world *w, uint32_t verify_mode, uint32_t chunks, uint32_t handshakes);
void world_create(struct world *w, uint32_t verify_mode);
void world_turn(struct world *w);
uint64_t counted(const struct world *w, enum tls_counter which);
/* Checks that no connection holds anything, after the end of TIME-WAIT. */
void all_is_given_back(struct world *w);
void world_destroy(struct world *w);

/* ---- OpenSSL's client ---- */

struct client {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out;
	struct sim_peer *peer;
	uint32_t taken; /* bytes taken from the peer's received stream */
	char *got;
	uint32_t got_len;
	bool ended; /* the server has sent close_notify */
};

void client_open(struct world *w, struct client *cl, uint16_t port, int version);
void client_close(struct client *cl);
/* Moves bytes between OpenSSL and the peer, in both directions. */
void client_turn(struct client *cl);
/* Completes the handshake if necessary, and sends the bytes. */
void client_say(struct world *w, struct client *cl, const void *bytes, uint32_t len);
/* Runs until len bytes have arrived, or the stream has ended. */
void client_receive(struct world *w, struct client *cl, uint32_t len);
/* Creates the core, without client certificates, and a client that has received one answer. */
void world_create_served(struct world *w, struct client *cl);

#endif
