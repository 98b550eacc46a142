/*
 * sim_tls_crowd.h - a core with TLS, clients that behave, and a crowd of peers that do not.
 *
 * Shape:  a whole core of the program's size, and a stack as its clients, on a cable of 10 Gbit/s.
 *         A turn keeps the core busy for a fixed time, and for the cost of each frame, request and
 *         handshake step in it.
 * Units:  ns on the virtual clock.
 * Owner:  tls_world_free() frees what tls_world_of() made.
 * Thread: one.
 * Errors: a failure ends the running test; wrong answers and resets are counted.
 * Bounds: PARTIES_MAX clients and peers.
 */
#ifndef CLOCKOO_SIM_TLS_CROWD_H
#define CLOCKOO_SIM_TLS_CROWD_H

#include "sim_client.h"
#include "sim_rng.h"
#include "sim_shares.h"
#include "sim_tls.h"

#define PARTIES_MAX 1024u
#define MS_NS       1000000ull
#define SECOND_NS   (1000 * MS_NS)
#define HONEST      10u
#define SMALL       1000u
#define MIDDLE      20000u
#define LARGE       900000u

enum kind { KIND_HELLO, KIND_GET_SMALL, KIND_GET_MIDDLE, KIND_SET_MIDDLE, KINDS };

/* The bytes that a peer sends in place of a handshake. SAYS_NOTHING: it shakes hands. */
enum says { SAYS_NOTHING, SAYS_HALF_A_HELLO, SAYS_HALF_A_RECORD, SAYS_HELLO, SAYS_GARBAGE };

struct crowd {
	struct sim_row row;
	enum says says;    /* what it sends what it sends without a session */
	const char *asks;  /* the request it sends in a session; NULL: no session */
	uint32_t times;    /* requests of each peer; 0: as many as there is room for */
	uint64_t rate;     /* bytes a second that each reads */
	uint64_t again_ns; /* a peer's time from connecting to an abort; 0: none */
	uint64_t pause_ns; /* added to PAUSE_NS, the wait before it reconnects */
};

struct party {
	struct sim_client base;
	bool peer, waits; /* waits: a peer's session still has requests to send */
	uint32_t number;
	enum kind kind;
	SSL *ssl;
	BIO *in, *out;
	uint32_t asked;       /* requests on this connection */
	uint32_t got, wanted; /* bytes of the answer */
	uint64_t asked_ns, next_ns, began_ns;
	uint64_t turn_ns; /* time of the peer's next action */
	uint64_t read;    /* bytes read since its first request */
};

struct tls_world {
	struct sim_service sim;
	struct files files;
	struct region region;
	struct tls_shared shared;
	struct tls_conns *conns;
	SSL_CTX *ctx;
	struct sim_rng rng;
	const struct crowd *crowd;
	struct sim_clients clients;
	struct party party[PARTIES_MAX];
	uint32_t count;
	struct sim_waits kind[KINDS];
	uint32_t resets, good_resets, wrong;
	uint8_t hello[1024];
	uint32_t hello_len;
	uint64_t core_free_ns;
	uint32_t idle_turns;
	bool measures;
	uint32_t address[UINT16_MAX + 1]; /* address address of the client at each port */
};

struct tls_world *tls_world_of(const struct crowd *crowd);
void tls_world_free(struct tls_world *w);
/* Adds `count` clients, or peers of the crowd, which connect from now on. */
void tls_world_join(struct tls_world *w, bool peer, uint32_t count);
void tls_world_run(struct tls_world *w, uint64_t for_ns);
uint64_t tls_count_of(const struct tls_world *w, enum tls_counter which);

#endif
