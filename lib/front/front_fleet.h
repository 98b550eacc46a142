/*
 * front_fleet.h - the state of a fleet as cores see it: where its servers are, and its ring.
 *
 * The control thread makes a whole state beside the one that is in use, and exchanges them between
 * turns; nothing of a state that a core may see is ever written.
 *
 * Shape:  two states. Control fills the draft and publishes it; a core asks once a turn which one
 *         is current, and may keep nothing of it into the next turn but numbers.
 * Owner:  the caller: front_exchange_bytes() at the alignment of a cache line, zeros.
 * Thread: turn: the core that it names. The others: the control thread; init before any core turns.
 * Errors: front_exchange_draft: NULL while a core has not seen the current state: once more, later.
 * Bounds: FRONT_SERVERS_MAX servers, CORES_MAX cores; constant time but init and copies of a ring.
 *
 * Invariants (tests/unit/front/test_front_fleet):
 * - A state that a core was given stays as it is until that core asks again.
 * - Generations grow by one; server i of one generation is that of the next unless config differs.
 */
#ifndef CLOCKOO_FRONT_FLEET_H
#define CLOCKOO_FRONT_FLEET_H

#include "base/ip_addr.h"
#include "config/lcores.h"
#include "front_config.h"

#include <stdalign.h>
#include <stdatomic.h>

/* Where a server is, as far as that is known. */
struct front_address {
	struct ip_addr ip; /* zero: its name has no address yet */
	uint16_t port;
};

struct front_state {
	uint32_t generation; /* 1 is the first that was published; 0 has no servers */
	uint32_t count;
	struct front_address address[FRONT_SERVERS_MAX];
	struct front_server server[FRONT_SERVERS_MAX];
	struct front_ring *ring; /* of this state, for FRONT_SERVERS_MAX servers */
};

struct front_exchange {
	_Atomic(struct front_state *) now;
	uint32_t cores;
	struct front_state *draft; /* the other one */
	struct {
		alignas(64) _Atomic uint32_t generation; /* seen by this core */
	} core[CORES_MAX];
	struct front_state state[2];
};

size_t front_exchange_bytes(void);

void front_exchange_init(struct front_exchange *x, uint32_t cores);

/* A copy of the current state, to be changed and published; NULL: some core has not seen that
 * yet. */
struct front_state *front_exchange_draft(struct front_exchange *x);
void front_exchange_publish(struct front_exchange *x);

/* Of a draft: the configured servers, all of them live, without addresses. */
void front_state_set(struct front_state *state, const struct front_config *config);

/* Of a draft: the address of a server of front_state_set. True: it was another. */
bool front_state_locate(struct front_state *state, uint32_t server, const struct ip_addr *ip);

/* Once a turn, before any other use of it. */
static inline const struct front_state *
front_exchange_turn_mt(struct front_exchange *x, uint32_t core)
{
	/* Pairs with front_exchange_publish: the state's content comes with it. */
	const struct front_state *now = atomic_load_explicit(&x->now, memory_order_acquire);

	/* Pairs with front_exchange_draft: reads of the other state are over. */
	if (atomic_load_explicit(&x->core[core].generation, memory_order_relaxed) !=
	    now->generation)
		atomic_store_explicit(&x->core[core].generation, now->generation,
				      memory_order_release);
	return now;
}

#endif
