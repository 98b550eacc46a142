/*
 * soak_world.h - the state of a run of soak.h, shared by soak.c and soak_judge.c.
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
	struct sim_peer *peer; /* NULL: a client of our own stack */
	struct conn *conn;     /* NULL while it is not open */
	uint32_t asked, got;
	bool begun, whole, ended, left; /* left: the client aborted */
	uint64_t deaf_until_ns;         /* the client does not read until then */
};

struct world {
	uint64_t seed;
	struct sim_rng rng;
	struct sim_cores *server;
	struct sim_stack *stack; /* the clients' stack; NULL: the clients are sim_peer's */
	struct mem_port *cable;  /* the port of sim_peer's clients */
	struct sim_peers *peers;
	struct sim_wire *wire;
	struct client client[CLIENTS_MAX];
	uint32_t clients;
	bool ours; /* the clients are our own stack */
	bool ipv6;
	uint16_t vlan;
	/* Clients stop reading for a while, at random. */
	bool deaf;
	uint32_t leave; /* permille: chance of a client to abort at each turn */
	bool quiet;     /* no event is left */
	/* The path becomes narrow at narrow_ns, and is normal again at wide_ns. */
	struct sim_router narrow;
	uint64_t narrow_ns, wide_ns;
	struct soak_result *result;
};

static inline uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- soak_judge.c ---- */

/* Records the first error in the result. */
void soak_wrong(struct world *w, const char *what, uint64_t client);
/* Checks streams, reasons and frames when all clients have ended. */
void soak_judge(struct world *w);
/* Cuts the cable: all timers fire and give up, and neither side may hold anything. */
void soak_fall_silent(struct world *w);

#endif
