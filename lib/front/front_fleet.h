/*
 * front_fleet.h - the state of a fleet as cores see it: where its servers are, its rings, and what
 * is done with the keys of each server.
 *
 * The control thread makes a whole state beside the one that is in use, and exchanges them between
 * turns; nothing of a state that a core may see is ever written. What cores find out about servers
 * is in reports beside the states.
 *
 * Shape:  two states. Control fills the draft and publishes it; a core asks once a turn which one
 *         is current, and may keep nothing of it into the next turn but numbers. A core has settled
 *         a state when no request is open that was asked under a former one.
 *         A server has a place, which it keeps while it is in the fleet; rings name places.
 * Owner:  the caller: front_exchange_bytes() at the alignment of a cache line, zeros.
 * Thread: _mt: the core that it names. The others: the control thread; init before any core turns.
 * Errors: front_exchange_draft: NULL while a core has not settled the current state: once more,
 *         later.
 * Bounds: room places, FRONT_SERVERS_MAX at most; CORES_MAX cores; constant time but init and
 *         copies of rings.
 *
 * Invariants (tests/unit/front/test_front_fleet):
 * - A state that a core was given stays as it is until that core asks again.
 * - Generations grow by one. No request is open that was asked under the generation before the
 *   former one.
 */
#ifndef CLOCKOO_FRONT_FLEET_H
#define CLOCKOO_FRONT_FLEET_H

#include "base/check.h"
#include "base/ip_addr.h"
#include "config/lcores.h"
#include "front_config.h"
#include "front_listing.h"

#include <stdalign.h>
#include <stdatomic.h>

/* What becomes of the keys that a ring gives to a server. */
enum front_condition {
	FRONT_PLACE_IN_USE,
	FRONT_PLACE_REFUSED, /* they fail at once */
	FRONT_PLACE_AWAY,    /* they are those of the server that stands in */
	FRONT_PLACE_VACANT,  /* no server has this place */
};

struct front_state {
	uint32_t generation; /* 1 is the first that was published; 0 has no servers */
	uint32_t count;      /* places */
	bool special;        /* a server is not in use, or a reload is under way */
	struct front_address address[FRONT_SERVERS_MAX];
	struct front_server server[FRONT_SERVERS_MAX];
	uint8_t condition[FRONT_SERVERS_MAX]; /* enum front_condition */
	/* Another number than before: a server that is not in use is to be probed, after a pause.
	 * 0: it is not. */
	uint32_t probe[FRONT_SERVERS_MAX];
	uint32_t pause_ms[FRONT_SERVERS_MAX];
	/* Of this state. The last two may be without points. */
	struct front_ring *ring;  /* which server has a key */
	struct front_ring *stand; /* which one stands in while that is away */
	struct front_ring *next;  /* a reload: keys that it has elsewhere are refused */
};

/* Why a connection to a server, or a request to it, failed. */
enum front_failure {
	FRONT_FAILURE_UNKNOWN,
	FRONT_FAILURE_REFUSED,     /* nothing listens at its port */
	FRONT_FAILURE_UNREACHABLE, /* the next hop does not answer */
	FRONT_FAILURE_SILENT,      /* no answer to the attempt to connect */
	FRONT_FAILURE_NO_CONN,     /* no connection of ours is free */
	FRONT_FAILURE_CLOSED,      /* it ended the connection */
	FRONT_FAILURE_LATE,        /* no answer to a request in time */
	FRONT_FAILURE_BROKEN,      /* the answer is none to what was asked */
};

/* What cores know of a server. */
struct front_report {
	alignas(64) _Atomic uint32_t failures; /* in a row, of all cores */
	_Atomic uint64_t failed_ns;            /* the last of them */
	_Atomic uint8_t why;                   /* of the last: enum front_failure */
	_Atomic uint32_t probed;               /* front_state.probe that it has answered */
	/* Unequal: it holds what a flush should have taken, and is flushed before it is used. */
	_Atomic uint32_t flush_due, flush_done;
	/* Nothing is executed any more that an earlier process of our address has sent it. */
	_Atomic bool fenced;
	/* Local ports of connections that it has answered, of all cores; 0: none. Those that find
	 * no place are taken for an earlier process's. */
	_Atomic uint16_t port[FRONT_LISTING_PORTS];
};

struct front_exchange {
	_Atomic(struct front_state *) now;
	uint32_t cores, room;
	struct front_state *draft; /* the other one */
	struct {
		alignas(64) _Atomic uint32_t settled; /* generation */
	} core[CORES_MAX];
	struct front_report report[FRONT_SERVERS_MAX];
	struct front_state state[2];
};

/* Places for so many servers. */
size_t front_exchange_bytes(uint32_t room);

void front_exchange_init(struct front_exchange *x, uint32_t cores, uint32_t room);

/* A copy of the current state, to be changed and published; NULL: some core has not settled that
 * yet. */
struct front_state *front_exchange_draft(struct front_exchange *x);
void front_exchange_publish(struct front_exchange *x);

/* Once a turn, before any other use of it. */
static inline const struct front_state *
front_exchange_turn_mt(const struct front_exchange *x)
{
	/* Pairs with front_exchange_publish: the state's content comes with it. */
	return atomic_load_explicit(&x->now, memory_order_acquire);
}

/* This core has had the state in a turn, and has settled it. */
static inline void
front_exchange_settled_mt(struct front_exchange *x, uint32_t core, const struct front_state *now)
{
	/* Pairs with front_exchange_draft: reads of the other state are over. */
	atomic_store_explicit(&x->core[core].settled, now->generation, memory_order_release);
}

/* Counted once for all connections that were there, or were tried, when it began. */
static inline uint32_t
front_report_failure_mt(struct front_report *r, uint64_t began_ns, uint64_t now_ns)
{
	if (began_ns < atomic_load_explicit(&r->failed_ns, memory_order_relaxed))
		return atomic_load_explicit(&r->failures, memory_order_relaxed);
	atomic_store_explicit(&r->failed_ns, now_ns, memory_order_relaxed);
	return atomic_fetch_add_explicit(&r->failures, 1, memory_order_relaxed) + 1;
}

static inline void
front_report_good_mt(struct front_report *r)
{
	if (unlikely(atomic_load_explicit(&r->failures, memory_order_relaxed) != 0))
		atomic_store_explicit(&r->failures, 0, memory_order_relaxed);
}

/* Before it is told that a flush has failed there, or that it is done without it. */
static inline void
front_report_owe_mt(struct front_report *r)
{
	atomic_fetch_add_explicit(&r->flush_due, 1, memory_order_release);
}

static inline bool
front_report_owes_mt(const struct front_report *r)
{
	return atomic_load_explicit(&r->flush_due, memory_order_acquire) !=
	       atomic_load_explicit(&r->flush_done, memory_order_acquire);
}

#endif
