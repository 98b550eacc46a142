/*
 * soak_world.h - one life of soak.h while it is lived; what soak.c and soak_judge.c share.
 *
 * Units:  ns on the server's clock.
 * Thread: one.
 */
#ifndef CLOCKOO_SOAK_WORLD_H
#define CLOCKOO_SOAK_WORLD_H

#include "soak.h"

#include "sim_core.h"
#include "sim_peer.h"
#include "soak_talk.h"

#include "base/time_units.h"

#define CLIENTS_MAX 6u
#define TURN_NS     2000u

struct client {
	struct soak_talk talk;
	struct sim_peer *peer; /* sim_peer's */
	struct conn *conn;     /* our stack's, from opened() to gone() */
	uint32_t asked, got;
	bool begun, whole, ended, left; /* left: it aborted */
	uint64_t deaf_until_ns;         /* it does not read until then */
};

struct world {
	uint64_t seed;
	struct sim_rng rng;
	struct sim_cores *server;
	struct sim_stack *stack; /* of the clients; NULL: they are sim_peer's */
	struct mem_port *cable;  /* of sim_peer's */
	struct sim_peers *peers;
	struct sim_wire *wire;
	struct client client[CLIENTS_MAX];
	uint32_t clients;
	bool ours; /* the clients are our own stack */
	bool ipv6;
	uint16_t vlan;
	bool deaf;                /* clients stop reading for a while now and then */
	uint32_t leave;           /* permille: clients abort, at each look at what came */
	bool quiet;               /* nothing will ever happen again */
	struct sim_router narrow; /* the path becomes so at narrow_ns, and whole again at wide_ns */
	uint64_t narrow_ns, wide_ns;
	struct soak_result *result;
};

static inline uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- soak_judge.c ---- */

/* What is wrong first goes into the result. */
void soak_wrong(struct world *w, const char *what, uint64_t client);
/* When all have ended: streams, reasons, frames. */
void soak_judge(struct world *w);
/* The cable is cut: every timer has its say, gives up in the end, and nothing is held. */
void soak_fall_silent(struct world *w);

#endif
