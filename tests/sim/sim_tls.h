/*
 * sim_tls.h - a core with TLS at the end of a cable, and OpenSSL's client over memory at the other.
 *
 * Units:  turns of 5 us.
 * Owner:  world_destroy gives back what world_create made, certificates in /tmp with it;
 *         client_close what client_open did.
 * Thread: one.
 * Errors: what fails ends the running test.
 * Bounds: PEER_BYTES of a client, each way.
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

/* A certificate that signs itself, from an hour ago and for so many days; or for 30. */
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

/* chunks, handshakes: 0 for as many as there are by default. */
void world_create_of(struct world *w, uint32_t verify_mode, uint32_t chunks, uint32_t handshakes);
void world_create(struct world *w, uint32_t verify_mode);
void world_turn(struct world *w);
uint64_t counted(const struct world *w, enum tls_counter which);
/* Nothing of a connection is left; TIME-WAIT apart, which is over then. */
void all_is_given_back(struct world *w);
void world_destroy(struct world *w);

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

void client_open(struct world *w, struct client *cl, uint16_t port, int version);
void client_close(struct client *cl);
/* What OpenSSL has for the wire goes there, and what came goes to it. */
void client_turn(struct client *cl);
/* Behind its handshake. */
void client_say(struct world *w, struct client *cl, const void *bytes, uint32_t len);
/* Until so many bytes are here, or the stream has ended. */
void client_hear(struct world *w, struct client *cl, uint32_t len);

#endif
